//! Validates values against their fields.

use std::fmt;

use mcp_jsonrpc::RawJson;

use super::{Choice, Field, FieldKind, FieldValue, TextFormat, format, is_whole, value_of};

/// Why a value is invalid for its field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FieldError {
    /// The name of the field.
    pub field: String,
    /// The violation.
    pub problem: FieldProblem,
}

/// A violation of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The field is required, but its value is missing.
    Missing,
    /// The form does not have this field.
    Unknown,
    /// The value must be text.
    NotText,
    /// The value must be a number.
    NotANumber,
    /// The value must be a whole number.
    NotAnInteger,
    /// The value must be a boolean.
    NotABoolean,
    /// The value must be a list of choices.
    NotAList,
    /// The text has fewer characters than this.
    TooShort(u64),
    /// The text has more characters than this.
    TooLong(u64),
    /// The number is less than this.
    TooSmall(f64),
    /// The number is greater than this.
    TooLarge(f64),
    /// There are fewer choices than this.
    TooFew(u64),
    /// There are more choices than this.
    TooMany(u64),
    /// The text does not have this format.
    Format(TextFormat),
    /// None of the choices has this value.
    NotAChoice(String),
}

impl Field {
    /// Checks a value.
    ///
    /// # Errors
    /// The violation, worded for the user.
    pub fn check(&self, value: &FieldValue) -> Result<(), FieldError> {
        self.kind.check(value).map_err(|problem| self.error(problem))
    }

    /// Parses a line that the user typed: text as it is, numbers, `yes` and `no`, choices by value or title, several
    /// choices separated by commas. The returned value is valid for the field.
    ///
    /// # Errors
    /// The violation, worded for the user.
    pub fn parse(&self, typed: &str) -> Result<FieldValue, FieldError> {
        let value = self.kind.parse(typed).map_err(|problem| self.error(problem))?;
        self.check(&value)?;
        Ok(value)
    }

    fn error(&self, problem: FieldProblem) -> FieldError {
        FieldError { field: self.name.clone(), problem }
    }
}

/// Checks the content of a response: each field, and that all required fields are present.
pub(crate) fn check_content(fields: &[Field], content: &RawJson) -> Result<(), FieldError> {
    for (name, raw) in content.members() {
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            return Err(FieldError { field: name, problem: FieldProblem::Unknown });
        };
        match value_of(&raw) {
            Some(value) => field.check(&value)?,
            None => return Err(field.error(field.kind.wrong_type())),
        }
    }
    match fields.iter().find(|field| field.is_required && content.get(&field.name).is_none()) {
        Some(field) => Err(field.error(FieldProblem::Missing)),
        None => Ok(()),
    }
}

impl FieldKind {
    fn wrong_type(&self) -> FieldProblem {
        match self {
            Self::Text { .. } | Self::One(_) => FieldProblem::NotText,
            Self::Number { .. } => FieldProblem::NotANumber,
            Self::Boolean => FieldProblem::NotABoolean,
            Self::Many { .. } => FieldProblem::NotAList,
        }
    }

    fn check(&self, value: &FieldValue) -> Result<(), FieldProblem> {
        match (self, value) {
            (Self::Text { format, min_length, max_length }, FieldValue::Text(text)) => {
                // JSON Schema counts characters, not bytes.
                let length = text.chars().count() as u64;
                at_least(length, *min_length, FieldProblem::TooShort)?;
                at_most(length, *max_length, FieldProblem::TooLong)?;
                match format {
                    Some(format) if !format::fits(format, text) => {
                        Err(FieldProblem::Format(format.clone()))
                    }
                    _ => Ok(()),
                }
            }
            (Self::Number { is_integer, minimum, maximum }, FieldValue::Number(number)) => {
                // JSON has no infinity, although Rust parses `inf` as a number.
                if !number.is_finite() {
                    return Err(FieldProblem::NotANumber);
                }
                if *is_integer && !is_whole(*number) {
                    return Err(FieldProblem::NotAnInteger);
                }
                at_least(*number, *minimum, FieldProblem::TooSmall)?;
                at_most(*number, *maximum, FieldProblem::TooLarge)
            }
            (Self::Boolean, FieldValue::Boolean(_)) => Ok(()),
            (Self::One(choices), FieldValue::Text(value)) => is_choice(choices, value),
            (Self::Many { choices, min_items, max_items }, FieldValue::Many(values)) => {
                at_least(values.len() as u64, *min_items, FieldProblem::TooFew)?;
                at_most(values.len() as u64, *max_items, FieldProblem::TooMany)?;
                values.iter().try_for_each(|value| is_choice(choices, value))
            }
            _ => Err(self.wrong_type()),
        }
    }

    fn parse(&self, typed: &str) -> Result<FieldValue, FieldProblem> {
        Ok(match self {
            Self::Text { .. } => FieldValue::Text(typed.to_owned()),
            Self::Number { .. } => match typed.trim().parse() {
                Ok(number) => FieldValue::Number(number),
                Err(_) => return Err(FieldProblem::NotANumber),
            },
            Self::Boolean => match typed.trim().to_lowercase().as_str() {
                "y" | "yes" | "true" | "1" => FieldValue::Boolean(true),
                "n" | "no" | "false" | "0" => FieldValue::Boolean(false),
                _ => return Err(FieldProblem::NotABoolean),
            },
            Self::One(choices) => FieldValue::Text(chosen(choices, typed.trim())?),
            Self::Many { choices, .. } => {
                let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
                let values: Result<_, _> = words.map(|word| chosen(choices, word)).collect();
                FieldValue::Many(values?)
            }
        })
    }
}

fn at_least<T: PartialOrd + Copy>(
    value: T,
    least: Option<T>,
    problem: fn(T) -> FieldProblem,
) -> Result<(), FieldProblem> {
    match least {
        Some(least) if value < least => Err(problem(least)),
        _ => Ok(()),
    }
}

fn at_most<T: PartialOrd + Copy>(
    value: T,
    most: Option<T>,
    problem: fn(T) -> FieldProblem,
) -> Result<(), FieldProblem> {
    match most {
        Some(most) if value > most => Err(problem(most)),
        _ => Ok(()),
    }
}

fn is_choice(choices: &[Choice], value: &str) -> Result<(), FieldProblem> {
    let is_known = choices.iter().any(|choice| choice.value == value);
    if is_known { Ok(()) } else { Err(FieldProblem::NotAChoice(value.to_owned())) }
}

/// The choice that the user typed: values are preferred to titles, and exact matches to those that ignore case.
fn chosen(choices: &[Choice], typed: &str) -> Result<String, FieldProblem> {
    let exact = choices.iter().find(|choice| choice.value == typed);
    let found = exact.or_else(|| {
        choices.iter().find(|choice| {
            choice.label().eq_ignore_ascii_case(typed) || choice.value.eq_ignore_ascii_case(typed)
        })
    });
    match found {
        Some(choice) => Ok(choice.value.clone()),
        None => Err(FieldProblem::NotAChoice(typed.to_owned())),
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.problem)
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is required"),
            Self::Unknown => f.write_str("is not a field of the form"),
            Self::NotText => f.write_str("must be text"),
            Self::NotANumber => f.write_str("must be a number"),
            Self::NotAnInteger => f.write_str("must be a whole number"),
            Self::NotABoolean => f.write_str("must be yes or no"),
            Self::NotAList => f.write_str("must be a list of choices"),
            Self::TooShort(least) => write!(f, "must have at least {least} characters"),
            Self::TooLong(most) => write!(f, "must have at most {most} characters"),
            Self::TooSmall(least) => write!(f, "must be at least {least}"),
            Self::TooLarge(most) => write!(f, "must be at most {most}"),
            Self::TooFew(least) => write!(f, "must have at least {least} choices"),
            Self::TooMany(most) => write!(f, "must have at most {most} choices"),
            Self::Format(format) => write!(f, "must be {format}"),
            Self::NotAChoice(value) => write!(f, "must be one of the choices, not `{value}`"),
        }
    }
}

impl fmt::Display for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Email => f.write_str("an email address"),
            Self::Uri => f.write_str("a URI"),
            Self::Date => f.write_str("a date, such as 2026-07-28"),
            Self::DateTime => f.write_str("a date with a time, such as 2026-07-28T12:00:00Z"),
            Self::Other(name) => write!(f, "of the format `{name}`"),
        }
    }
}

impl std::error::Error for FieldError {}
