//! Parses the YAML of front matter: one mapping, converted to JSON.
//!
//! Plain scalars follow the core schema of YAML 1.2. Anchors, aliases, tags and duplicate keys are
//! rejected, because parsers disagree about them or they expand to large values.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// The maximum nesting depth of values.
const MAX_DEPTH: usize = 32;

/// Parses a mapping. Errors contain no text of the file, only the line number and a fixed message.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Box<str>> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| problem(error.marker(), "not YAML"))?;
        builder.take(event).map_err(|what| problem(&span.start, what))?;
    }
    match builder.root {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Err("the front matter is not a mapping".into()),
    }
}

fn problem(at: &Marker, what: &str) -> Box<str> {
    // Lines count from one, and the `---` line comes before the first.
    format!("front matter, line {}: {what}", at.line() + 1).into()
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Value>,
}

/// A collection that is still being read.
enum Open {
    List(Vec<Value>),
    /// With the key that still needs a value.
    Mapping(Map<String, Value>, Option<String>),
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::Alias(_) => Err("an alias"),
            Event::Scalar(_, _, 1.., _)
            | Event::SequenceStart(1.., _)
            | Event::MappingStart(1.., _) => Err("an anchor"),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err("a tag"),
            Event::Scalar(text, style, ..) => match self.open.last_mut() {
                Some(Open::Mapping(_, name @ None)) => {
                    *name = Some(text.into_owned());
                    Ok(())
                }
                _ if style == ScalarStyle::Plain => self.value(plain(&text)?),
                _ => self.value(Value::String(text.into_owned())),
            },
            Event::SequenceStart(..) => self.start(Open::List(Vec::new())),
            Event::MappingStart(..) => self.start(Open::Mapping(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(items)) => self.value(Value::Array(items)),
                Some(Open::Mapping(fields, _)) => self.value(Value::Object(fields)),
                None => Ok(()),
            },
            Event::DocumentStart(_) if self.root.is_some() => Err("a second document"),
            _ => Ok(()),
        }
    }

    fn start(&mut self, collection: Open) -> Result<(), &'static str> {
        if self.open.len() == MAX_DEPTH {
            return Err("too many levels of nesting");
        }
        if let Some(Open::Mapping(_, None)) = self.open.last() {
            return Err("a collection as a key");
        }
        self.open.push(collection);
        Ok(())
    }

    fn value(&mut self, value: Value) -> Result<(), &'static str> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Mapping(fields, name)) => {
                let name = name.take().ok_or("a collection as a key")?;
                if fields.insert(name, value).is_some() {
                    return Err("a duplicate key");
                }
            }
        }
        Ok(())
    }
}

/// Converts a plain scalar.
fn plain(text: &str) -> Result<Value, &'static str> {
    const NOT_IN_JSON: &str = "a number that JSON cannot represent";
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Err(NOT_IN_JSON),
        _ if is_infinite(text) => return Err(NOT_IN_JSON),
        _ => match radix(text) {
            Some((digits, radix)) => {
                u64::from_str_radix(digits, radix).map_err(|_| NOT_IN_JSON)?.into()
            }
            None if is_number(text) => Value::Number(number(text).ok_or(NOT_IN_JSON)?),
            None => Value::String(text.into()),
        },
    })
}

fn is_infinite(text: &str) -> bool {
    matches!(unsigned(text), ".inf" | ".Inf" | ".INF")
}

/// Returns the digits and the radix of an octal or hexadecimal number.
fn radix(text: &str) -> Option<(&str, u32)> {
    let (digits, radix) = match text.strip_prefix("0o") {
        Some(digits) => (digits, 8),
        None => (text.strip_prefix("0x")?, 16),
    };
    (!digits.is_empty() && digits.chars().all(|c| c.is_digit(radix))).then_some((digits, radix))
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_number(text: &str) -> bool {
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned(text).split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, unsigned(exponent)),
        None => (unsigned(text), "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    are_digits(whole)
        && are_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && are_digits(exponent)
        && !exponent.is_empty()
}

fn number(text: &str) -> Option<Number> {
    let whole = text.strip_prefix('+').unwrap_or(text);
    let exact = whole.parse::<i64>().map(Number::from);
    exact
        .or_else(|_| whole.parse::<u64>().map(Number::from))
        .ok()
        .or_else(|| Number::from_f64(text.parse().ok()?))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}
