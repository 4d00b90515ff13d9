//! An English stemmer: the Snowball project's English algorithm (Porter 2) with its later
//! corrections.
//!
//! Words that are not plain ASCII letters are returned unchanged, because they may be of another
//! language.

/// The stem of `word`, which must be folded.
pub(crate) fn stem_of(word: impl Into<String>) -> String {
    let mut word = word.into();
    stem(&mut word);
    word
}

/// Stems `word`, which must be folded, in place.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    if let Some(known) = exception(word) {
        *word = known.to_owned();
        return;
    }
    let mut stemmer = Stemmer::new(std::mem::take(word).into_bytes());
    stemmer.plural();
    if !matches!(
        stemmer.word.as_slice(),
        b"evening"
            | b"inning"
            | b"outing"
            | b"canning"
            | b"herring"
            | b"earring"
            | b"proceed"
            | b"exceed"
            | b"succeed"
    ) {
        stemmer.past_and_gerund();
        stemmer.final_y();
        stemmer.double_suffixes();
        stemmer.single_suffixes();
        stemmer.residual_suffixes();
        stemmer.final_e_and_l();
    }
    *word = stemmer.into_word();
}

fn exception(word: &str) -> Option<&str> {
    Some(match word {
        "skis" => "ski",
        "skies" => "sky",
        "dying" => "die",
        "lying" => "lie",
        "tying" => "tie",
        "idly" => "idl",
        "gently" => "gentl",
        "ugly" => "ugli",
        "early" => "earli",
        "only" => "onli",
        "singly" => "singl",
        "sky" | "news" | "howe" | "atlas" | "cosmos" | "bias" | "andes" => word,
        _ => return None,
    })
}

/// Prefixes that are not shortened: "organic" is not "organize".
const PREFIXES: [&str; 8] =
    ["gener", "commun", "arsen", "univers", "later", "emerg", "organ", "inter"];

/// The word as bytes, with `Y` for a `y` that is a consonant, and its two regions.
struct Stemmer {
    word: Vec<u8>,
    /// The start of the first region: after the first consonant that follows a vowel.
    r1: usize,
    /// The same again within the first region.
    r2: usize,
}

impl Stemmer {
    fn new(mut word: Vec<u8>) -> Self {
        for i in 0..word.len() {
            if word[i] == b'y' && (i == 0 || is_vowel(word[i - 1])) {
                word[i] = b'Y';
            }
        }
        let r1 = PREFIXES
            .iter()
            .find(|prefix| word.starts_with(prefix.as_bytes()))
            .map_or_else(|| region(&word, 0), |prefix| prefix.len());
        let r2 = region(&word, r1);
        Self { word, r1, r2 }
    }

    fn into_word(mut self) -> String {
        self.word.make_ascii_lowercase();
        String::from_utf8(self.word).unwrap_or_default()
    }

    /// Length of the word without `suffix`, if it ends in it.
    fn without(&self, suffix: &str) -> Option<usize> {
        self.word.ends_with(suffix.as_bytes()).then(|| self.word.len() - suffix.len())
    }

    fn replace(&mut self, from: usize, with: &str) {
        self.word.truncate(from);
        self.word.extend_from_slice(with.as_bytes());
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.word[..end].iter().any(|&b| is_vowel(b))
    }

    fn plural(&mut self) {
        if let Some(at) = self.without("sses") {
            self.replace(at, "ss");
        } else if let Some(at) = self.without("ied").or_else(|| self.without("ies")) {
            self.replace(at, if at > 1 { "i" } else { "ie" });
        } else if self.without("us").is_none()
            && self.without("ss").is_none()
            && let Some(at) = self.without("s")
            && self.has_vowel_before(at.saturating_sub(1))
        {
            self.word.truncate(at);
        }
    }

    fn past_and_gerund(&mut self) {
        if let Some(at) = self.without("eedly").or_else(|| self.without("eed")) {
            if at >= self.r1 {
                self.replace(at, "ee");
            }
            return;
        }
        let Some(at) = ["ingly", "edly", "ing", "ed"].iter().find_map(|s| self.without(s)) else {
            return;
        };
        if !self.has_vowel_before(at) {
            return;
        }
        self.word.truncate(at);
        if ["at", "bl", "iz"].iter().any(|s| self.without(s).is_some()) {
            self.word.push(b'e');
        } else if self.ends_in_double() {
            self.word.pop();
        } else if self.is_short() {
            self.word.push(b'e');
        }
    }

    fn ends_in_double(&self) -> bool {
        match self.word.as_slice() {
            // "add" and "egg" are words.
            [b'a' | b'e' | b'o', a, b] if a == b => false,
            [.., a, b] => a == b && b"bdfgmnprt".contains(b),
            _ => false,
        }
    }

    fn is_short(&self) -> bool {
        self.r1 >= self.word.len() && self.ends_in_short_syllable(self.word.len())
    }

    fn ends_in_short_syllable(&self, end: usize) -> bool {
        match &self.word[..end] {
            [vowel, consonant] => is_vowel(*vowel) && !is_vowel(*consonant),
            [.., before, vowel, consonant] => {
                !is_vowel(*before)
                    && is_vowel(*vowel)
                    && !is_vowel(*consonant)
                    && !b"wxY".contains(consonant)
            }
            _ => false,
        }
    }

    fn final_y(&mut self) {
        if let [_, .., before, last @ (b'y' | b'Y')] = self.word.as_mut_slice()
            && !is_vowel(*before)
        {
            *last = b'i';
        }
    }

    fn double_suffixes(&mut self) {
        const TABLE: &[(&str, &str)] = &[
            ("ational", "ate"),
            ("fulness", "ful"),
            ("iveness", "ive"),
            ("ization", "ize"),
            ("ousness", "ous"),
            ("biliti", "ble"),
            ("lessli", "less"),
            ("tional", "tion"),
            ("alism", "al"),
            ("aliti", "al"),
            ("ation", "ate"),
            ("entli", "ent"),
            ("fulli", "ful"),
            ("ogist", "og"),
            ("iviti", "ive"),
            ("ousli", "ous"),
            ("abli", "able"),
            ("alli", "al"),
            ("anci", "ance"),
            ("ator", "ate"),
            ("enci", "ence"),
            ("izer", "ize"),
            ("bli", "ble"),
        ];
        if self.replace_longest(TABLE) {
            return;
        }
        if let Some(at) = self.without("ogi") {
            if at >= self.r1 && self.is_behind(at, b"l") {
                self.replace(at, "og");
            }
        } else if let Some(at) = self.without("li")
            && at >= self.r1
            && self.is_behind(at, b"cdeghkmnrt")
        {
            self.word.truncate(at);
        }
    }

    fn single_suffixes(&mut self) {
        const TABLE: &[(&str, &str)] = &[
            ("ational", "ate"),
            ("tional", "tion"),
            ("alize", "al"),
            ("icate", "ic"),
            ("iciti", "ic"),
            ("ical", "ic"),
            ("ness", ""),
            ("ful", ""),
        ];
        if !self.replace_longest(TABLE)
            && let Some(at) = self.without("ative")
            && at >= self.r2
        {
            self.word.truncate(at);
        }
    }

    fn residual_suffixes(&mut self) {
        const SUFFIXES: [&str; 17] = [
            "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti",
            "ous", "ive", "ize", "al", "er", "ic",
        ];
        if let Some(at) = SUFFIXES.iter().find_map(|suffix| self.without(suffix)) {
            if at >= self.r2 {
                self.word.truncate(at);
            }
        } else if let Some(at) = self.without("ion")
            && at >= self.r2
            && self.is_behind(at, b"st")
        {
            self.word.truncate(at);
        }
    }

    fn final_e_and_l(&mut self) {
        let at = self.word.len() - 1;
        match self.word[at] {
            b'e' if at >= self.r2 || (at >= self.r1 && !self.ends_in_short_syllable(at)) => {
                self.word.truncate(at);
            }
            b'l' if at >= self.r2 && self.is_behind(at, b"l") => self.word.truncate(at),
            _ => {}
        }
    }

    /// Whether one of `letters` precedes `at`.
    fn is_behind(&self, at: usize, letters: &[u8]) -> bool {
        self.word[..at].last().is_some_and(|letter| letters.contains(letter))
    }

    /// Whether the word ends in an entry of `table`, which is ordered by length. The first such suffix
    /// is replaced if it is in the first region.
    fn replace_longest(&mut self, table: &[(&str, &str)]) -> bool {
        let found = table.iter().find_map(|(suffix, with)| Some((self.without(suffix)?, with)));
        if let Some((at, with)) = found
            && at >= self.r1
        {
            self.replace(at, with);
        }
        found.is_some()
    }
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// The start of the region after the first vowel-consonant pair at or after `from`.
fn region(word: &[u8], from: usize) -> usize {
    (from + 1..word.len())
        .find(|&i| is_vowel(word[i - 1]) && !is_vowel(word[i]))
        .map_or(word.len(), |i| i + 1)
}

#[cfg(test)]
mod tests {
    use super::stem;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    /// Pairs from the algorithm's published sample vocabulary.
    #[test]
    fn agrees_with_the_published_vocabulary() {
        for (word, expected) in [
            ("consigned", "consign"),
            ("consistency", "consist"),
            ("consolatory", "consolatori"),
            ("consolidating", "consolid"),
            ("knightly", "knight"),
            ("kneeling", "kneel"),
            ("generously", "generous"),
            ("generation", "generat"),
            ("communication", "communic"),
            ("skies", "sky"),
            ("dying", "die"),
            ("ties", "tie"),
            ("cries", "cri"),
            ("gas", "gas"),
            ("gaps", "gap"),
            ("hoping", "hope"),
            ("hopping", "hop"),
            ("luxuriated", "luxuri"),
            ("by", "by"),
            ("say", "say"),
            ("cry", "cri"),
            ("exceeding", "exceed"),
            ("databases", "databas"),
            ("added", "add"),
            ("organic", "organic"),
            ("organization", "organiz"),
            ("repositories", "repositori"),
            ("repository", "repositori"),
            ("queries", "queri"),
        ] {
            assert_eq!(stemmed(word), expected, "{word}");
        }
    }

    #[test]
    fn other_scripts_and_short_words_are_left_alone() {
        for word in ["ab", "k8s", "straße", "天气", ""] {
            assert_eq!(stemmed(word), word);
        }
    }
}
