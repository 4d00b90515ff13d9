//! How well a tool's description serves a model that has to choose and call it.

use std::fmt;

use crate::card::Card;

mod suspicion;

/// What each problem costs, and what is enough. A tool starts with 100.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// The least score that passes. Default 40.
    pub pass: u8,
    /// No description. Default 40.
    pub missing_description: u8,
    /// A description of fewer than `least_words` words. Default 20.
    pub thin_description: u8,
    /// Default 4.
    pub least_words: usize,
    /// Parameters without description: all of it if none has one, else in proportion. Default 20.
    pub undocumented_params: u8,
    /// A schema that does not say which parameters are required. Default 10.
    pub required_unmarked: u8,
    /// A name that is not words joined by `_`, `-` or `.`, or is over 64 characters. Default 5.
    pub naming: u8,
    /// Gained by a description that shows an example, up to 100 in all. Default 5.
    pub example_bonus: u8,
    /// A description over `most_chars` characters. Default 10.
    pub too_long: u8,
    /// Default 2,048.
    pub most_chars: usize,
    /// Text that gives the model orders or hides from people. Default 70.
    pub injection: u8,
    /// Text that holds what looks like a credential. Default 70.
    pub secret: u8,
}

/// Something that will make a model choose or call the tool wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no description.
    MissingDescription,
    /// The description has this many words.
    ThinDescription(usize),
    /// These parameters have no description.
    UndocumentedParams(Vec<String>),
    /// The schema has parameters and no list of required ones.
    RequiredNotMarked,
    /// The name is not words joined by `_`, `-` or `.`, or is too long.
    Naming,
    /// The description shows no example. Costs nothing but the bonus.
    NoExample,
    /// The description has this many characters.
    TooLong(usize),
    /// The text gives the model orders or hides from people; this says how.
    PromptInjection(&'static str),
    /// The text holds what looks like a credential of this kind, which is not repeated here.
    Secret(&'static str),
}

/// What the validator thinks of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// From 0 to 100.
    pub score: u8,
    /// Whether the score is enough.
    pub passed: bool,
    /// Everything that was found, the gravest first.
    pub problems: Vec<Problem>,
}

/// Scores tools by [`Rules`].
///
/// ```
/// use mcp_search::{Card, Problem, Validator};
///
/// let report = Validator::default().check(&Card::new("id", "files", "read_file"));
/// assert_eq!(report.score, 60);
/// assert!(report.passed);
/// assert!(report.problems.contains(&Problem::MissingDescription));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Validator {
    rules: Rules,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            pass: 40,
            missing_description: 40,
            thin_description: 20,
            least_words: 4,
            undocumented_params: 20,
            required_unmarked: 10,
            naming: 5,
            example_bonus: 5,
            too_long: 10,
            most_chars: 2048,
            injection: 70,
            secret: 70,
        }
    }
}

impl Validator {
    /// A validator with rules of its own.
    pub fn new(rules: Rules) -> Self {
        Self { rules }
    }

    /// Scores one tool.
    pub fn check(&self, card: &Card) -> Report {
        let mut found: Vec<(u8, Problem)> = Vec::new();
        self.description(card, &mut found);
        self.params(card, &mut found);
        if !is_well_named(&card.name) {
            found.push((self.rules.naming, Problem::Naming));
        }
        if let Some(kind) = suspicion::injection(card) {
            found.push((self.rules.injection, Problem::PromptInjection(kind)));
        }
        if let Some(kind) = suspicion::secret(card) {
            found.push((self.rules.secret, Problem::Secret(kind)));
        }
        let bonus = if shows_example(&card.description) { self.rules.example_bonus } else { 0 };
        if bonus == 0 {
            found.push((0, Problem::NoExample));
        }
        let lost = found.iter().map(|(cost, _)| u32::from(*cost)).sum::<u32>();
        let score = (100 + u32::from(bonus)).saturating_sub(lost).min(100);
        let score = u8::try_from(score).unwrap_or(100);
        found.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        let problems = found.into_iter().map(|(_, problem)| problem).collect();
        Report { score, passed: score >= self.rules.pass, problems }
    }

    fn description(&self, card: &Card, found: &mut Vec<(u8, Problem)>) {
        let words = card.description.split_whitespace().take(self.rules.least_words).count();
        let chars = card.description.chars().count();
        if words == 0 {
            found.push((self.rules.missing_description, Problem::MissingDescription));
        } else if words < self.rules.least_words && chars < 5 * self.rules.least_words {
            found.push((self.rules.thin_description, Problem::ThinDescription(words)));
        }
        if chars > self.rules.most_chars {
            found.push((self.rules.too_long, Problem::TooLong(chars)));
        }
    }

    fn params(&self, card: &Card, found: &mut Vec<(u8, Problem)>) {
        let bare: Vec<String> = card
            .params
            .iter()
            .filter(|param| param.description.trim().is_empty())
            .map(|param| param.name.clone())
            .collect();
        if !bare.is_empty() {
            let share = usize::from(self.rules.undocumented_params) * bare.len();
            let cost = u8::try_from(share.div_ceil(card.params.len())).unwrap_or(u8::MAX);
            found.push((cost, Problem::UndocumentedParams(bare)));
        }
        if !card.params.is_empty() && card.params.iter().all(|param| param.required.is_none()) {
            found.push((self.rules.required_unmarked, Problem::RequiredNotMarked));
        }
    }
}

/// Small letters and digits, in words joined by one sign each.
fn is_well_named(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split(['_', '-', '.']).filter(|part| !part.is_empty()).all(word)
}

fn shows_example(description: &str) -> bool {
    let text = description.to_lowercase();
    ["example", "e.g.", "for instance", "such as", "usage:", "```"]
        .iter()
        .any(|sign| text.contains(sign))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingDescription => f.write_str("has no description"),
            Self::ThinDescription(words) => write!(f, "describes itself in {words} words"),
            Self::UndocumentedParams(names) => {
                write!(f, "does not describe its parameters {}", names.join(", "))
            }
            Self::RequiredNotMarked => f.write_str("does not say which parameters are required"),
            Self::Naming => f.write_str("is not named in snake_case of up to 64 characters"),
            Self::NoExample => f.write_str("shows no example"),
            Self::TooLong(chars) => write!(f, "describes itself in {chars} characters"),
            Self::PromptInjection(how) => write!(f, "looks like a prompt injection: {how}"),
            Self::Secret(kind) => write!(f, "holds what looks like {kind}"),
        }
    }
}
