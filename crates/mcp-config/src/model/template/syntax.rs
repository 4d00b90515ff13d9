//! The variable syntax of each tool, as data, with one reader and one writer.

use super::{Part, Template};

/// The variable forms that a tool supports. Everything else is literal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent spellings, not states")]
pub(crate) struct Syntax {
    /// `${VAR}` and `${VAR:-default}`.
    pub(crate) plain: bool,
    /// `${env:VAR}`, `${input:x}`, `${workspaceFolder}`, `${userHome}` and similar.
    pub(crate) editor: bool,
    /// `${file:path}`.
    pub(crate) file: bool,
    /// `${secret:name}`.
    pub(crate) secret: bool,
    /// `$VAR` and `%VAR%`, where an unset variable is empty.
    pub(crate) shell: bool,
    /// `{env:VAR}` and `{file:path}`.
    pub(crate) braces: bool,
}

/// How deep defaults may nest: `${A:-${B:-${C}}}` is three.
const MAX_NESTING: usize = 8;

/// The longest text between `${` and `}` that is parsed, in bytes.
const MAX_BODY: usize = 4096;

impl Syntax {
    pub(crate) const NONE: Self = Self {
        plain: false,
        editor: false,
        file: false,
        secret: false,
        shell: false,
        braces: false,
    };
    pub(crate) const OWN: Self =
        Self { plain: true, editor: true, file: true, secret: true, ..Self::NONE };
    pub(crate) const PLAIN: Self = Self { plain: true, ..Self::NONE };
    pub(crate) const EDITOR: Self = Self { editor: true, ..Self::NONE };
    pub(crate) const EDITOR_AND_FILE: Self = Self { editor: true, file: true, ..Self::NONE };
    pub(crate) const SHELL: Self = Self { plain: true, shell: true, ..Self::NONE };
    pub(crate) const PLAIN_AND_BRACES: Self = Self { plain: true, braces: true, ..Self::NONE };
    pub(crate) const BRACES: Self = Self { braces: true, ..Self::NONE };

    pub(crate) fn parse(self, text: &str) -> Template {
        match self.next_special(text) {
            Some(_) => self.parse_nested(text, 0),
            None => Template::literal(text),
        }
    }

    /// Where the next variable could begin.
    fn next_special(self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        if self.shell {
            memchr::memchr2(b'$', b'%', bytes)
        } else if self.braces && self.plain {
            memchr::memchr2(b'$', b'{', bytes)
        } else if self.braces {
            memchr::memchr(b'{', bytes)
        } else if self == Self::NONE {
            None
        } else {
            memchr::memchr(b'$', bytes)
        }
    }

    fn parse_nested(self, text: &str, depth: usize) -> Template {
        let mut parts = Vec::new();
        // The text from `plain` to `at` is literal.
        let (mut plain, mut at) = (0, 0);
        while let Some(special) = self.next_special(&text[at..]).filter(|_| depth < MAX_NESTING) {
            at += special;
            let Some((part, length)) = self.part(&text[at..], depth) else {
                at += 1;
                continue;
            };
            if plain < at {
                parts.push(Part::Text(text[plain..at].into()));
            }
            parts.push(part);
            at += length;
            plain = at;
        }
        if plain < text.len() {
            parts.push(Part::Text(text[plain..].into()));
        }
        Template::from_parts(parts, text.len())
    }

    /// The variable that `text` begins with, and its length in bytes.
    fn part(self, text: &str, depth: usize) -> Option<(Part, usize)> {
        if let Some(after) = text.strip_prefix("${") {
            let body = &after[..closing_brace(after)?];
            return Some((self.body(body, text, depth)?, body.len() + 3));
        }
        if let Some(after) = text.strip_prefix('{').filter(|_| self.braces) {
            if !after.starts_with("env:") && !after.starts_with("file:") {
                return None;
            }
            let body = &after[..after.bytes().take(MAX_BODY).position(|byte| byte == b'}')?];
            let part = match body.split_once(':')? {
                ("env", name) if is_name(name) => variable(name, Some("")),
                ("file", path) if !path.is_empty() => Part::File(path.into()),
                _ => return None,
            };
            return Some((part, body.len() + 2));
        }
        if !self.shell {
            return None;
        }
        if let Some(after) = text.strip_prefix('$') {
            let length = name_length(after);
            return (length > 0).then(|| (variable(&after[..length], Some("")), length + 1));
        }
        let after = text.strip_prefix('%')?;
        let length = name_length(after);
        let closed = length > 0 && after[length..].starts_with('%');
        closed.then(|| (variable(&after[..length], Some("")), length + 2))
    }

    /// Parses the text between `${` and `}`; `None` if it is literal text in this syntax.
    fn body(self, body: &str, text: &str, depth: usize) -> Option<Part> {
        if let Some(part) = editor_word(body).filter(|_| self.editor) {
            return Some(part);
        }
        let (name, default) = name_and_default(body);
        if self.plain && is_name(name) {
            let default = match default {
                Some(default) => Some(self.parse_nested(default, depth + 1)),
                // An unset variable is empty in this syntax, so make the empty default explicit.
                None => self.shell.then(Template::default),
            };
            return Some(Part::Variable { name: name.into(), default });
        }
        match body.split_once(':') {
            Some(("env", rest)) if self.editor => {
                let (name, default) = name_and_default(rest);
                let default = default.map(|default| self.parse_nested(default, depth + 1));
                is_name(name).then(|| Part::Variable { name: name.into(), default })
            }
            Some(("input", id)) if self.editor => Some(Part::Input(id.into())),
            Some(("file", path)) if self.file => Some(Part::File(path.into())),
            Some(("secret", name)) if self.secret => Some(Part::Secret(name.into())),
            _ => self.editor.then(|| Part::Unknown(text[..body.len() + 3].into())),
        }
    }

    /// Writes `template` in this syntax; `None` if it cannot be expressed.
    pub(crate) fn write(self, template: &Template) -> Option<String> {
        let mut out = String::new();
        if template.parts().is_empty() {
            out.push_str(&template.source);
        }
        for part in template.parts() {
            self.write_part(part, &mut out)?;
        }
        // Parse the output again to verify that nothing was lost, such as a `$` in literal text.
        let back = self.parse(&out);
        (back.source == template.source && back.parts() == template.parts()).then_some(out)
    }

    fn write_part(self, part: &Part, out: &mut String) -> Option<()> {
        match part {
            Part::Variable { name, default } => {
                let empty_default = default.as_ref().is_some_and(|d| *d == Template::default());
                match default {
                    _ if self.shell && empty_default => out.extend(["${", name, "}"]),
                    _ if self.braces && !self.plain && empty_default => {
                        out.extend(["{env:", name, "}"]);
                    }
                    // An unset variable is empty in this syntax, unlike in this template.
                    _ if self.braces && !self.plain => return None,
                    None if self.shell => return None,
                    None if self.plain && !(self.editor && is_taken(name)) => {
                        out.extend(["${", name, "}"]);
                    }
                    None if self.editor => out.extend(["${env:", name, "}"]),
                    Some(default) if self.plain => {
                        out.extend(["${", name, ":-", &self.write(default)?, "}"]);
                    }
                    _ => return None,
                }
            }
            Part::File(path) if self.braces => out.extend(["{file:", path, "}"]),
            other => other.write_own(out),
        }
        Some(())
    }
}

/// The predefined variables of editors, without a prefix.
fn editor_word(body: &str) -> Option<Part> {
    Some(match body {
        "workspaceFolder" | "workspaceRoot" => Part::WorkspaceFolder,
        "workspaceFolderBasename" => Part::WorkspaceName,
        "userHome" => Part::UserHome,
        "pathSeparator" | "/" => Part::PathSeparator,
        _ => return None,
    })
}

/// Whether a variable of this name needs the `env:` prefix because the bare name is predefined.
pub(super) fn is_taken(name: &str) -> bool {
    editor_word(name).is_some()
}

fn name_and_default(text: &str) -> (&str, Option<&str>) {
    text.split_once(":-").map_or((text, None), |(name, default)| (name, Some(default)))
}

fn variable(name: &str, default: Option<&str>) -> Part {
    Part::Variable { name: name.into(), default: default.map(Template::literal) }
}

/// The position of the brace that closes the one before `text`, skipping nested `${…}`.
///
/// Stops after a few levels and a few thousand bytes, so a file full of `${` is parsed in linear time.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate().take(MAX_BODY) {
        match byte {
            b'{' if at > 0 && bytes[at - 1] == b'$' => {
                open += 1;
                if open > MAX_NESTING {
                    return None;
                }
            }
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_syntax_is_converted_to_ours() {
        let cases = [
            (Syntax::OWN, "a ${X} ${env:Y} ${Z:-d}", "a ${X} ${Y} ${Z:-d}"),
            (Syntax::EDITOR, "${env:X}/${/}", "${X}/${pathSeparator}"),
            (Syntax::SHELL, "$X-%Y%-${Z}", "${X:-}-${Y:-}-${Z:-}"),
            (Syntax::BRACES, "Bearer {env:X}{file:~/k}", "Bearer ${X:-}${file:~/k}"),
            (Syntax::NONE, "${X} $X {env:X}", "${X} $X {env:X}"),
            (Syntax::PLAIN, "${env:X} $X ${", "${env:X} $X ${"),
        ];
        for (syntax, text, own) in cases {
            assert_eq!(syntax.parse(text).unexpanded(), own, "{text}");
        }
        assert!(Syntax::NONE.parse("${X}").is_final());
        assert!(!Syntax::OWN.parse("${X}").is_final());
    }

    #[test]
    fn template_is_written_only_if_it_reads_back_unchanged() {
        let token = Template::parse("Bearer ${TOKEN}");
        assert_eq!(Syntax::PLAIN.write(&token).as_deref(), Some("Bearer ${TOKEN}"));
        assert_eq!(Syntax::EDITOR.write(&token).as_deref(), Some("Bearer ${env:TOKEN}"));
        assert_eq!(Syntax::NONE.write(&token), None);
        assert_eq!(Syntax::PLAIN.write(&Template::literal("pa${ss}word")), None);
        assert_eq!(
            Syntax::NONE.write(&Template::literal("pa${ss}word")).as_deref(),
            Some("pa${ss}word")
        );
    }

    /// Found by fuzzing: an environment variable with the name of a predefined variable.
    #[test]
    fn variable_named_like_a_predefined_one_keeps_its_prefix() {
        for text in ["${env:workspaceFolder}", "${env:userHome}"] {
            let variable = Template::parse(text);
            assert_eq!(variable.unexpanded(), text);
            assert_eq!(Template::parse(variable.unexpanded()), variable);
            assert_eq!(Syntax::OWN.write(&variable).as_deref(), Some(text));
        }
        let claudes = Syntax::PLAIN.parse("${userHome}");
        assert_eq!(claudes.unexpanded(), "${env:userHome}");
        assert_eq!(Syntax::PLAIN.write(&claudes).as_deref(), Some("${userHome}"));
    }

    #[test]
    fn defaults_nested_too_deep_are_literal_text() {
        let deep = |levels: usize| "${A:-".repeat(levels) + &"}".repeat(levels);
        assert_eq!(Template::parse(&deep(MAX_NESTING)).variables().count(), MAX_NESTING);
        assert!(Template::parse(&deep(40)).variables().count() <= MAX_NESTING + 1);
        assert_eq!(Template::parse("${A:-${B}}").variables().collect::<Vec<_>>(), ["A", "B"]);
    }
}
