//! Suggestions for unknown keys: "did you mean `headers`?"

use super::{catalogue::Dialect, finding::Findings, path::Path, shape::Shape};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity, printable},
    format::Member,
    model::edits,
};

/// Reports a key that is not in `known`, with a suggestion. `shape` is the dialect of the entry, if the key
/// belongs to one.
pub(crate) fn note_unknown(
    findings: &mut Findings<'_>,
    member: &Member<'_>,
    path: &Path<'_>,
    known: impl Iterator<Item = &'static str>,
    shape: Option<&Shape>,
) {
    let guess = || match nearest(&member.key, known) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => other_spelling(&member.key, shape?),
    };
    // Finding a suggestion is expensive, so skip it if the diagnostic would be dropped.
    let hint = if findings.is_full(Severity::Warning) { None } else { guess() };
    // A likely typo changes the server, so it is a warning. An unknown field may be from a newer version.
    let found = format!("the unknown field `{}`", printable(&member.key));
    findings.add(
        member.key_span.start,
        path,
        match hint {
            Some(hint) => Diagnostic::warning(Problem::UnknownField, found).hint(hint),
            None => Diagnostic::note(Problem::UnknownField, found).hint("kept as it is"),
        },
    );
}

/// The name of the same setting in this dialect, if `key` is another dialect's.
fn other_spelling(key: &str, shape: &Shape) -> Option<String> {
    let (dialect, foreign) = Dialect::ALL.iter().find_map(|dialect| {
        let field = dialect.shape().fields.iter().find(|field| field.key == key)?;
        Some((dialect, field))
    })?;
    let foreign = std::mem::discriminant(&foreign.slot);
    let own = shape.fields.iter().find(|field| std::mem::discriminant(&field.slot) == foreign)?;
    Some(format!("that is the {} name; use `{}` here", dialect.title(), own.key))
}

fn nearest(key: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    let allowed = if key.len() <= 4 { 1 } else { 2 };
    let folded = fold(key);
    known
        .map(|candidate| (edits(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Ignores case and separators, the most common differences.
fn fold(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_matches_are_suggested() {
        let known = || ["headers", "url", "args", "env", "headersHelper"].into_iter();
        for (key, guess) in [
            ("header", Some("headers")),
            ("haeders", Some("headers")),
            ("URL", Some("url")),
            ("headers_helper", Some("headersHelper")),
            ("arg", Some("args")),
            ("icon", None),
        ] {
            assert_eq!(nearest(key, known()), guess, "{key}");
        }
    }
}
