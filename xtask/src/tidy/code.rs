//! Removes comments and literals from Rust code, so that rules about code do not match prose.

/// Replaces every comment, string and character literal by spaces. Line numbers do not change.
pub(super) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let word = word_length(rest);
        let prose = if word == 0 || is_raw_prefix(&rest[..word]) { prose_length(rest) } else { 0 };
        let (taken, is_prose) = match (prose, word) {
            (0, 0) => (rest.chars().next().map_or(1, char::len_utf8), false),
            (0, _) => (word, false),
            (_, _) => (prose, true),
        };
        let (piece, tail) = rest.split_at(taken);
        if is_prose {
            code.extend(piece.chars().map(|c| if c == '\n' { c } else { ' ' }));
        } else {
            code.push_str(piece);
        }
        rest = tail;
    }
    code
}

/// The length of the identifier, keyword or number that starts here.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn is_raw_prefix(word: &str) -> bool {
    matches!(word, "r" | "br" | "cr")
}

/// The length of the comment or literal that starts here; 0 when it is something else.
fn prose_length(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_length(text);
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    if text.starts_with('\'') {
        return character_length(text);
    }
    raw_string_length(text)
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Up to and including the closing quote; a backslash escapes the next character.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// `'x'` and `'\n'` are literals, `'a` is a lifetime or a label.
fn character_length(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => quoted_length(text, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#` and their byte and C forms. A raw identifier (`r#type`) is not one.
fn raw_string_length(text: &str) -> usize {
    let Some(prefix) = ["r", "br", "cr"].into_iter().find(|prefix| text.starts_with(prefix)) else {
        return 0;
    };
    let body = &text[prefix.len()..];
    let hashes = body.len() - body.trim_start_matches('#').len();
    if !body[hashes..].starts_with('"') {
        return 0;
    }
    let opening = prefix.len() + hashes + 1;
    let closing = format!("\"{}", "#".repeat(hashes));
    text[opening..].find(&closing).map_or(text.len(), |at| opening + at + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows runs of spaces as one.
    fn left(source: &str) -> String {
        code_only(source).split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_removed_and_lines_are_kept() {
        assert_eq!(left("a // todo!()\nb /* x /* y */ z\n */ c"), "a \nb \n c");
        assert_eq!(left("/// println!()\nfn f() {}"), "\nfn f() {}");
    }

    #[test]
    fn strings_are_removed_with_any_content() {
        assert_eq!(left(r#"f("dbg!(\" // ", b"x") + g"#), "f( , b ) + g");
        assert_eq!(left(r###"f(r#"a " b"#, br"\", cr##"x"# y"##) + g"###), "f( , , ) + g");
    }

    #[test]
    fn characters_are_removed_and_lifetimes_are_kept() {
        assert_eq!(left(r"('\'', '\u{1F600}', '/', 'é', x)"), "( , , , , x)");
        assert_eq!(
            left("fn f<'a>(x: &'a str) { 'b: loop {} }"),
            "fn f<'a>(x: &'a str) { 'b: loop {} }"
        );
    }

    #[test]
    fn identifiers_that_look_like_literal_prefixes_are_kept() {
        assert_eq!(left("r#type + for_r + br + cr"), "r#type + for_r + br + cr");
        assert_eq!(left("attr\"x\""), "attr");
    }

    #[test]
    fn unfinished_literals_end_with_the_file() {
        for source in ["\"abc", "r#\"abc", "/* abc", "'\\", "//", "'", "r#", "\"\\"] {
            assert_eq!(code_only(source).len(), source.len(), "{source}");
        }
    }
}
