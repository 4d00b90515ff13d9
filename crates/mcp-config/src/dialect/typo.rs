//! "Did you mean `headers`?"

use super::{
    finding::{Finding, Findings, Path},
    shape::{Field, Shape},
};
use crate::{
    diagnostic::{Problem, Severity, printable},
    dialect::Dialect,
    text::Member,
};

/// Remarks on a key the dialect does not have, with a guess at what was meant.
pub(crate) fn note_unknown(
    findings: &mut Findings<'_>,
    member: &Member<'_>,
    path: &Path<'_>,
    shape: &Shape,
) {
    let hint = guess(findings, || {
        nearest(&member.key, shape.known_keys())
            .map(|near| format!("did you mean `{near}`?"))
            .or_else(|| other_spelling(&member.key, shape))
    });
    note(findings, member, path, hint);
}

/// The same for a key inside a nested object.
pub(crate) fn note_unknown_in(
    findings: &mut Findings<'_>,
    member: &Member<'_>,
    path: &Path<'_>,
    fields: &[Field],
) {
    let known: Vec<&'static str> = fields.iter().map(|field| field.key).collect();
    note_unknown_key(findings, member, path, &known);
}

/// The same for a key of an object that is no server's.
pub(crate) fn note_unknown_key(
    findings: &mut Findings<'_>,
    member: &Member<'_>,
    path: &Path<'_>,
    known: &[&'static str],
) {
    let hint = guess(findings, || {
        let near = nearest(&member.key, known.iter().copied());
        near.map(|near| format!("did you mean `{near}`?"))
    });
    note(findings, member, path, hint);
}

/// A guess costs far more than reading the key: none is made that nobody would see.
fn guess(findings: &Findings<'_>, guess: impl Fn() -> Option<String>) -> Option<String> {
    if findings.is_full(Severity::Warning) { None } else { guess() }
}

fn note(findings: &mut Findings<'_>, member: &Member<'_>, path: &Path<'_>, hint: Option<String>) {
    let offset = member.key_span.start;
    // A likely typo changes what the server does; an unknown field alone may be from the future.
    let finding = match &hint {
        Some(_) => Finding::warning(Problem::UnknownField, offset),
        None => Finding::note(Problem::UnknownField, offset),
    };
    let finding = finding.at(path).found(format!("the unknown field `{}`", printable(&member.key)));
    findings.add(match hint {
        Some(hint) => finding.hint(hint),
        None => finding.hint("kept as it is"),
    });
}

/// The same setting under the name this dialect has for it, when `key` is another dialect's.
fn other_spelling(key: &str, shape: &Shape) -> Option<String> {
    let (dialect, foreign) = Dialect::ALL.iter().find_map(|dialect| {
        let field = dialect.shape().fields.iter().find(|field| field.key == key)?;
        Some((dialect, field))
    })?;
    let foreign = std::mem::discriminant(&foreign.slot);
    let own = shape.fields.iter().find(|field| std::mem::discriminant(&field.slot) == foreign)?;
    Some(format!("{} writes it so; here it is `{}`", dialect.title(), own.key))
}

fn nearest(key: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    let allowed = if key.len() <= 4 { 1 } else { 2 };
    known
        .map(|candidate| (distance(&fold(key), &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Case and separators are the commonest difference of all.
fn fold(key: &str) -> Vec<char> {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Edits between two words, a swap of neighbours counting as one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows: [Vec<usize>; 3] =
        [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[1][j] + 1).min(rows[2][j - 1] + 1).min(rows[1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_near_and_silent_when_they_would_be_wild() {
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
