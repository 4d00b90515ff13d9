//! The mutants that cargo-mutants finds.

use serde_json::Value;

/// A place in a file: line and column, from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A range of text; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// One change of the code.
#[derive(Clone, Debug)]
pub(super) struct Mutant {
    /// `path:line:column: change`
    pub(super) name: String,
    pub(super) package: String,
    pub(super) file: String,
    /// The function that contains it, with its attributes. Constants have none.
    pub(super) function: Option<Span>,
    /// The return type of the function, as `-> Type`.
    pub(super) returns: String,
    /// The text that is replaced.
    pub(super) span: Span,
    pub(super) replacement: String,
}

impl Mutant {
    /// `path: change`: the name without line and column, which change.
    pub(super) fn key(&self) -> String {
        key(&self.name).unwrap_or_else(|| self.name.clone())
    }
}

/// Converts `path:line:column: change` to `path: change`.
pub(super) fn key(name: &str) -> Option<String> {
    let mut parts = name.splitn(4, ':');
    let (path, _, _, what) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(format!("{path}:{what}"))
}

/// Reads the output of `cargo mutants --list --json`.
pub(super) fn parse(json: &str) -> Result<Vec<Mutant>, String> {
    let listed: Vec<Value> = serde_json::from_str(json)
        .map_err(|error| format!("unexpected output of cargo-mutants: {error}"))?;
    let mutants = listed.iter().map(mutant).collect::<Option<_>>();
    mutants.ok_or_else(|| "cargo-mutants describes a mutant in an unknown way".into())
}

fn mutant(value: &Value) -> Option<Mutant> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(Mutant {
        name: text("name")?,
        package: text("package")?,
        file: text("file")?,
        function: span(&value["function"]["span"]),
        returns: value["function"]["return_type"].as_str().unwrap_or_default().to_owned(),
        span: span(&value["span"])?,
        replacement: text("replacement")?,
    })
}

fn span(value: &Value) -> Option<Span> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let place = |value: &Value| {
        Some(Place { line: number(&value["line"])?, column: number(&value["column"])? })
    };
    Some(Span { start: place(&value["start"])?, end: place(&value["end"])? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_mutants_are_read_and_their_key_has_no_line() {
        let json = r#"[{"name": "src/a.rs:10:5: replace f -> Result<(), E> with Ok(())", "package": "p",
            "file": "src/a.rs", "genre": "FnValue", "replacement": "Ok(())",
            "function": {"return_type": "-> Result<(), E>",
                "span": {"start": {"line": 9, "column": 1}, "end": {"line": 11, "column": 2}}},
            "span": {"start": {"line": 10, "column": 5}, "end": {"line": 10, "column": 9}}}]"#;
        let mutants = parse(json).unwrap();
        assert_eq!(mutants[0].key(), "src/a.rs: replace f -> Result<(), E> with Ok(())");
        assert_eq!(mutants[0].span.start, Place { line: 10, column: 5 });
        assert_eq!(mutants[0].function.unwrap().end, Place { line: 11, column: 2 });
        assert!(parse(r#"[{"name": "x"}]"#).is_err() && parse("{}").is_err());
    }
}
