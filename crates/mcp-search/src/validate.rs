//! Scores how well a tool's description helps a model to choose and call it.

use std::fmt;

use crate::card::Card;

mod suspicion;

/// Penalties for problems, and thresholds. A tool starts with 100.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Rules {
    /// The minimum score to pass. Default 40.
    pub pass: u8,
    /// Penalty for no description, or one below the minimum length: fewer than `least_words` words and five characters
    /// for each. Default 40.
    pub missing_description: u8,
    /// The minimum number of words of a description. Default 4.
    pub least_words: usize,
    /// Penalty for parameters without description: all of it if none has one, else in proportion. Default 20.
    pub undocumented_params: u8,
    /// Penalty for a schema without a list of required parameters. Default 10.
    pub required_unmarked: u8,
    /// Penalty for a name that is not in `snake_case`, or over 64 characters. Default 5.
    pub naming: u8,
    /// Bonus for a description with an example, up to a total of 100. Default 5.
    pub example_bonus: u8,
    /// Penalty for a description over `most_chars` characters. Default 10.
    pub too_long: u8,
    /// The maximum length of a description in characters. Default 2,048.
    pub most_chars: usize,
    /// Penalty for text that instructs the model or is invisible to users. Default 70.
    pub injection: u8,
    /// Penalty for text that contains a possible credential. Default 70.
    pub secret: u8,
}

/// A problem that can make a model choose or call the tool wrongly.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "problem", content = "detail", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Problem {
    /// There is no description.
    MissingDescription,
    /// The description is below the minimum length, with this many words. Same penalty as a missing one.
    ThinDescription(usize),
    /// These parameters have no description.
    UndocumentedParams(Vec<String>),
    /// The schema has parameters but no list of required ones.
    RequiredNotMarked,
    /// The name is not in `snake_case`, or is too long.
    Naming,
    /// The description has no example. Loses only the bonus.
    NoExample,
    /// The description has this many characters.
    TooLong(usize),
    /// The text instructs the model or is invisible to users; the string describes it.
    PromptInjection(&'static str),
    /// The text contains a possible credential of this kind. The credential itself is not included.
    Secret(&'static str),
}

/// The result of validating one tool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// From 0 to 100.
    pub score: u8,
    /// Whether the score is sufficient.
    pub passed: bool,
    /// All problems, the most severe first.
    pub problems: Vec<Problem>,
}

/// Scores tools by [`Rules`].
///
/// ```
/// use mcp_search::{Card, validate::{Problem, Validator}};
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

/// Defines a builder method for each field.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($field:ident: $kind:ty);)*) => {
        impl Rules {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

setters! {
    /// Sets the minimum score to pass.
    with_pass(pass: u8);
    /// Sets the penalty for a missing or short description.
    with_missing_description(missing_description: u8);
    /// Sets the minimum number of words of a description.
    with_least_words(least_words: usize);
    /// Sets the penalty for parameters without description.
    with_undocumented_params(undocumented_params: u8);
    /// Sets the penalty for a schema without a list of required parameters.
    with_required_unmarked(required_unmarked: u8);
    /// Sets the penalty for a name that is not in `snake_case`.
    with_naming(naming: u8);
    /// Sets the bonus for an example.
    with_example_bonus(example_bonus: u8);
    /// Sets the penalty for a description that is too long.
    with_too_long(too_long: u8);
    /// Sets the maximum length of a description in characters.
    with_most_chars(most_chars: usize);
    /// Sets the penalty for text that instructs the model.
    with_injection(injection: u8);
    /// Sets the penalty for text that contains a possible credential.
    with_secret(secret: u8);
}

impl Validator {
    /// A validator with these rules.
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
            found.push((self.rules.missing_description, Problem::ThinDescription(words)));
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

/// Lowercase letters and digits, in words joined by underscores.
fn is_well_named(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('_').filter(|part| !part.is_empty()).all(word)
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
            Self::ThinDescription(words) => write!(f, "has a description of only {words} words"),
            Self::UndocumentedParams(names) => {
                write!(f, "does not describe its parameters {}", names.join(", "))
            }
            Self::RequiredNotMarked => f.write_str("does not list its required parameters"),
            Self::Naming => f.write_str("is not named in snake_case of up to 64 characters"),
            Self::NoExample => f.write_str("has no example"),
            Self::TooLong(chars) => write!(f, "has a description of {chars} characters"),
            Self::PromptInjection(how) => write!(f, "looks like a prompt injection: {how}"),
            Self::Secret(kind) => write!(f, "seems to contain {kind}"),
        }
    }
}
