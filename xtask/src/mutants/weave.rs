//! Compiles many mutants at once: each function gets a copy of its body per mutant, and chooses one by a number when it is
//! called.

use std::{collections::BTreeMap, ops::Range};

use super::listed::{Mutant, Place, Span};

/// The environment variable with the number of the mutant of a run. No mutant has number 0.
pub(super) const CHOICE: &str = "MCP_XTASK_MUTANT";

/// The end of the root module of a changed crate.
pub(super) const ROOT: &str = r#"
#[doc(hidden)]
#[allow(warnings)]
pub(crate) fn chosen_mutant() -> usize {
    static CHOSEN: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| {
        ::std::env::var("MCP_XTASK_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0)
    })
}
"#;

/// A file with mutants in it.
#[derive(Debug, Default)]
pub(super) struct Woven {
    pub(super) text: String,
    /// The lines of each mutant, with its number.
    arms: Vec<(Range<usize>, usize)>,
    /// The lines of each changed function, with the numbers of its mutants.
    functions: Vec<(Range<usize>, Vec<usize>)>,
    /// Mutants outside of functions, in functions inside of others, or in functions that return an opaque type.
    pub(super) left_out: Vec<usize>,
}

impl Woven {
    fn push(&mut self, text: &str) -> Range<usize> {
        let start = self.line();
        self.text.push_str(text);
        start..self.line() + 1
    }

    fn line(&self) -> usize {
        self.text.matches('\n').count() + 1
    }

    /// The mutant whose text contains this line.
    pub(super) fn mutant_at(&self, line: usize) -> Option<usize> {
        self.arms.iter().find(|(lines, _)| lines.contains(&line)).map(|(_, number)| *number)
    }

    /// The mutants of the function that contains this line.
    pub(super) fn function_at(&self, line: usize) -> &[usize] {
        let found = self.functions.iter().find(|(lines, _)| lines.contains(&line));
        found.map_or(&[], |(_, numbers)| numbers)
    }
}

/// `source` with `mutants`, each with its number.
pub(super) fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> Woven {
    let starts: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |place: Place| {
        let start = *starts.get(place.line.checked_sub(1)?)?;
        let mut characters = source[start..].char_indices().map(|(at, _)| start + at);
        characters.nth(place.column.checked_sub(1)?).or(Some(source.len()))
    };
    let range = |span: Span| Some(offset(span.start)?..offset(span.end)?);
    let mut woven = Woven::default();
    let mut groups = BTreeMap::<Span, Vec<(usize, &Mutant)>>::new();
    for &(number, mutant) in mutants {
        match mutant.function {
            // Copies of a body that returns an opaque type would differ in type.
            Some(_) if mutant.returns.contains("impl ") => woven.left_out.push(number),
            Some(function) => groups.entry(function).or_default().push((number, mutant)),
            None => woven.left_out.push(number),
        }
    }
    let mut copied = 0;
    for (function, group) in groups {
        let body = range(function).filter(|range| range.start >= copied).and_then(|range| {
            let open = range.start + body_start(&source[range.clone()])?;
            Some(open..range.end)
        });
        let Some(body) = body else {
            woven.left_out.extend(group.iter().map(|(number, _)| number));
            continue;
        };
        let (changed, left_out): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|(number, mutant)| (number, mutant, range(mutant.span)))
            .partition(|(.., span)| {
                span.as_ref().is_some_and(|span| span.start > body.start && span.end < body.end)
            });
        woven.left_out.extend(left_out.iter().map(|(number, ..)| number));
        woven.push(&source[copied..body.start]);
        let numbers: Vec<usize> = changed.iter().map(|(number, ..)| *number).collect();
        let first = woven.line();
        woven.push(&format!(
            "{{ match crate::chosen_mutant() {{ number_of_mutant if !{numbers:?}.contains(&number_of_mutant) => {}\n",
            &source[body.clone()]
        ));
        for (number, mutant, span) in changed {
            let Some(span) = span else { continue };
            let (before, after) = (&source[body.start..span.start], &source[span.end..body.end]);
            let lines = woven.push(&format!("{number} => {before}{} {after}", mutant.replacement));
            woven.push("\n");
            woven.arms.push((lines, number));
        }
        woven.push("_ => unreachable!() } }");
        woven.functions.push((first..woven.line() + 1, numbers));
        copied = body.end;
    }
    woven.push(&source[copied..]);
    woven
}

/// The position of the brace that opens the body of a function, after its attributes, comments and signature.
fn body_start(function: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = function.get(at..).filter(|rest| !rest.is_empty()) {
        let skipped = if rest.starts_with("//") {
            rest.find('\n')?
        } else if let Some(text) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = text.find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            end? + 2
        } else {
            let c = rest.chars().next()?;
            match c {
                '{' if depth == 0 => return Some(at),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            c.len_utf8()
        };
        at += skipped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(function: Option<[usize; 4]>, span: [usize; 4], replacement: &str) -> Mutant {
        let span_of = |[line, column, end, last]: [usize; 4]| Span {
            start: Place { line, column },
            end: Place { line: end, column: last },
        };
        Mutant {
            name: String::new(),
            package: String::new(),
            file: String::new(),
            function: function.map(span_of),
            returns: String::new(),
            span: span_of(span),
            replacement: replacement.into(),
        }
    }

    #[test]
    fn each_mutant_is_a_copy_of_the_body() {
        let source = "/// `{`\n#[must(\"é}\")]\nfn f(a: [u8; 2]) -> bool {\n    a == 1\n}\nconst A: u8 = 1;\n";
        let function = Some([1, 1, 5, 2]);
        let mutants = [
            mutant(function, [4, 5, 4, 11], "true"),
            mutant(function, [4, 7, 4, 9], "!="),
            mutant(None, [6, 15, 6, 16], "0"),
        ];
        let woven = weave(source, &[(3, &mutants[0]), (4, &mutants[1]), (9, &mutants[2])]);
        let expected = "/// `{`\n#[must(\"é}\")]\nfn f(a: [u8; 2]) -> bool \
            { match crate::chosen_mutant() { number_of_mutant if ![3, 4].contains(&number_of_mutant) => {\n    a == 1\n}\n\
            3 => {\n    true \n}\n4 => {\n    a !=  1\n}\n_ => unreachable!() } }\nconst A: u8 = 1;\n";
        assert_eq!(woven.text, expected);
        assert_eq!(woven.left_out, [9]);
        assert_eq!(
            [4, 6, 8, 9, 11].map(|line| woven.mutant_at(line)),
            [None, Some(3), Some(3), Some(4), Some(4)]
        );
        assert_eq!((woven.function_at(2), woven.function_at(4)), (&[][..], &[3, 4][..]));
    }

    #[test]
    fn function_inside_of_another_is_left_out() {
        let source = "fn f() {\n    fn g() { h() }\n    g()\n}";
        let (outer, inner) = (Some([1, 1, 4, 2]), Some([2, 5, 2, 19]));
        let mutants = [mutant(outer, [2, 5, 3, 8], "()"), mutant(inner, [2, 14, 2, 17], "()")];
        let woven = weave(source, &[(1, &mutants[0]), (2, &mutants[1])]);
        assert_eq!((woven.left_out.as_slice(), woven.mutant_at(6)), (&[2][..], Some(1)));
    }
}
