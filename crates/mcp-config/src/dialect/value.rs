//! From a node to the value a setting wants, or a finding that says why not.

use std::time::Duration;

use super::{
    claude,
    finding::{Finding, Findings, Path},
    read::Dropped,
    shape::{Kind, Shape, Unit},
};
use crate::{
    diagnostic::Problem,
    model::{AlwaysLoad, AuthKind, ConnectMode, EraPin},
    redact::shown_word,
    secret_map::SecretMap,
    template::{Part, SecretText, Syntax, Template},
    text::{Node, Value},
};

/// The words a setting may be, each with what it means. The schema lists the same ones.
pub(crate) type Words<T> = &'static [(&'static str, T)];
pub(crate) const CONNECT: Words<ConnectMode> =
    &[("eager", ConnectMode::Eager), ("lazy", ConnectMode::Lazy)];
pub(crate) const AUTH: Words<AuthKind> =
    &[("none", AuthKind::None), ("headers", AuthKind::Headers), ("oauth", AuthKind::OAuth)];

/// Reads values of one field.
pub(crate) struct Values<'r, 't, 'p> {
    pub(crate) findings: &'r mut Findings<'t>,
    pub(crate) path: &'p Path<'p>,
    pub(crate) syntax: Syntax,
}

type Read<T> = Result<T, Dropped>;

impl Values<'_, '_, '_> {
    pub(crate) fn wrong<T>(&mut self, node: &Node<'_>, expected: &str) -> Read<T> {
        self.findings.add(Finding::wrong(node, self.path, expected));
        Err(Dropped)
    }

    pub(crate) fn wrong_as<T>(&mut self, node: &Node<'_>, found: &str, expected: &str) -> Read<T> {
        let finding = Finding::wrong(node, self.path, expected);
        self.findings.add(finding.found(format!("{found} for `{}`", self.path.shown())));
        Err(Dropped)
    }

    /// A string without NUL, which no process and no header can carry.
    fn string<'n>(&mut self, node: &'n Node<'_>, expected: &str) -> Read<&'n str> {
        match node.as_str() {
            Some(text) if text.contains('\0') => {
                self.wrong_as(node, "a string with a NUL character", expected)
            }
            Some(text) => Ok(text),
            None => self.wrong(node, expected),
        }
    }

    pub(crate) fn text(&mut self, node: &Node<'_>) -> Read<String> {
        self.string(node, "a string").map(str::to_owned)
    }

    pub(crate) fn template(&mut self, node: &Node<'_>) -> Read<Template> {
        let text = self.string(node, "a string")?;
        self.note_edges(node, text);
        Ok(self.syntax.parse(text))
    }

    pub(crate) fn secret(&mut self, node: &Node<'_>) -> Read<SecretText> {
        self.template(node).map(SecretText)
    }

    /// White space at either end is invisible and nearly always a paste; the value is not shown.
    fn note_edges(&mut self, node: &Node<'_>, text: &str) {
        let bytes = text.as_bytes();
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        if edge(bytes.first()) || edge(bytes.last()) {
            let finding = Finding::note(Problem::Foreign, node.span.start).at(self.path);
            let found = format!("white space at the start or end of `{}`", self.path.shown());
            self.findings.add(finding.found(found).hint("kept; check whether it is meant"));
        }
    }

    pub(crate) fn templates(&mut self, node: &Node<'_>) -> Read<Vec<Template>> {
        let Some(items) = node.items() else { return self.wrong(node, "an array of strings") };
        items.iter().map(|item| self.scalar(item, "a string", false)).collect()
    }

    /// A string, or a number or boolean taken for one, as people write ports and switches.
    fn scalar(
        &mut self,
        node: &Node<'_>,
        expected: &str,
        numbers_are_fine: bool,
    ) -> Read<Template> {
        let text = match &node.value {
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            _ => return Ok(self.syntax.parse(self.string(node, expected)?)),
        };
        if !numbers_are_fine {
            let finding = Finding::warning(Problem::WrongType, node.span.start).at(self.path);
            let found = format!("{} in `{}`", node.kind(), self.path.shown());
            self.findings.add(finding.found(found).expected(expected).hint("read as text"));
        }
        Ok(Template::literal(text))
    }

    pub(crate) fn names(&mut self, node: &Node<'_>) -> Read<Vec<String>> {
        let Some(items) = node.items() else { return self.wrong(node, "an array of strings") };
        items.iter().map(|item| self.text(item)).collect()
    }

    /// Variables set, and variables removed.
    pub(crate) fn environment(
        &mut self,
        node: &Node<'_>,
        relaxed: bool,
    ) -> Read<(SecretMap, Vec<String>)> {
        let Some(members) = node.members() else { return self.wrong(node, "an object of strings") };
        let (mut set, mut unset) = (Vec::with_capacity(members.len()), Vec::new());
        for member in members {
            if member.key.is_empty() || member.key.contains(|c: char| c == '=' || c.is_control()) {
                let expected = "a variable's name, without `=` or control characters";
                return self.wrong_as(&member.value, "an impossible variable", expected);
            }
            if matches!(member.value.value, Value::Null) && relaxed {
                unset.push(member.key.to_string());
            } else {
                let value = self.scalar(&member.value, "a string", relaxed)?;
                set.push((&*member.key, SecretText(value)));
            }
        }
        Ok((set.into_iter().collect(), unset))
    }

    pub(crate) fn headers(&mut self, node: &Node<'_>) -> Read<SecretMap> {
        let Some(members) = node.members() else { return self.wrong(node, "an object of strings") };
        let mut headers = Vec::with_capacity(members.len());
        for member in members {
            self.header_name(&member.key, node)?;
            let value = self.scalar(&member.value, "a string", false)?;
            if value.unexpanded().contains(['\r', '\n']) {
                return self.wrong_as(&member.value, "a line break", "a header on one line");
            }
            headers.push((&*member.key, SecretText(value)));
        }
        Ok(headers.into_iter().collect())
    }

    fn header_name(&mut self, name: &str, node: &Node<'_>) -> Read<()> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            // Not repeated: it may be a whole header, pasted with its value.
            return self.wrong_as(node, "a header name that is none", "letters, digits and `-`");
        }
        Ok(())
    }

    pub(crate) fn header_variables(&mut self, node: &Node<'_>) -> Read<SecretMap> {
        let Some(members) = node.members() else {
            return self.wrong(node, "an object of variable names");
        };
        let mut headers = Vec::with_capacity(members.len());
        for member in members {
            self.header_name(&member.key, node)?;
            let variable = self.variable(&member.value)?;
            headers.push((&*member.key, SecretText(Template::from_parts(vec![variable], 32))));
        }
        Ok(headers.into_iter().collect())
    }

    pub(crate) fn bearer_variable(&mut self, node: &Node<'_>) -> Read<SecretText> {
        let parts = vec![Part::Text("Bearer ".into()), self.variable(node)?];
        Ok(SecretText(Template::from_parts(parts, 32)))
    }

    fn variable(&mut self, node: &Node<'_>) -> Read<Part> {
        let name = self.string(node, "the name of a variable")?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return self.wrong_as(node, "text that names no variable", "letters, digits and `_`");
        }
        Ok(Part::Variable { name: name.into(), default: None })
    }

    pub(crate) fn url(&mut self, node: &Node<'_>) -> Read<Template> {
        let template = self.template(node)?;
        let text = template.unexpanded().trim();
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        let known =
            ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        let good = known && rest.len() > 2 && rest.starts_with("//")
            || matches!(scheme, "unix" | "pipe" | "http+unix") && !rest.is_empty()
            || text.starts_with("${");
        if !good && template.is_final() {
            let expected = "a URL with http, https, ws, wss, unix or pipe";
            return self.wrong_as(node, "text that is no URL", expected);
        }
        Ok(template)
    }

    pub(crate) fn boolean(&mut self, node: &Node<'_>) -> Read<bool> {
        match node.value {
            Value::Bool(yes) => Ok(yes),
            _ => self.wrong(node, "true or false"),
        }
    }

    fn number(&mut self, node: &Node<'_>, expected: &str) -> Read<f64> {
        match &node.value {
            Value::Number(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
                _ => self.wrong_as(node, "a number out of range", expected),
            },
            _ => self.wrong(node, expected),
        }
    }

    pub(crate) fn count(&mut self, node: &Node<'_>) -> Read<usize> {
        let whole = match &node.value {
            Value::Number(text) => text.parse::<usize>().ok(),
            _ => None,
        };
        whole.ok_or(()).or_else(|()| self.wrong(node, "a whole number, zero or more"))
    }

    pub(crate) fn port(&mut self, node: &Node<'_>) -> Read<u16> {
        match u16::try_from(self.count(node)?) {
            Ok(port) => Ok(port),
            Err(_) => self.wrong_as(node, "a number out of range", "a port, up to 65535"),
        }
    }

    pub(crate) fn duration(&mut self, node: &Node<'_>, unit: Unit) -> Read<Option<Duration>> {
        let (expected, scale) = match unit {
            Unit::Seconds => ("a number of seconds", 1.0),
            Unit::Millis | Unit::MillisFromOneSecond => ("a number of milliseconds", 1e-3),
        };
        let number = self.number(node, expected)?;
        if unit == Unit::MillisFromOneSecond && number < 1000.0 {
            let finding = Finding::warning(Problem::Foreign, node.span.start).at(self.path);
            let found = format!("less than a second for `{}`", self.path.shown());
            self.findings
                .add(finding.found(found).expected("milliseconds, 1000 or more").hint("ignored"));
            return Ok(None);
        }
        // To the microsecond: 0.1 s and 100 ms must be the same time.
        match Duration::try_from_secs_f64(number * scale) {
            Ok(time) => Ok(u64::try_from(time.as_micros()).ok().map(Duration::from_micros)),
            Err(_) => self.wrong_as(node, "a number out of range", expected),
        }
    }

    pub(crate) fn always_load(&mut self, node: &Node<'_>) -> Read<AlwaysLoad> {
        match &node.value {
            Value::Bool(true) => Ok(AlwaysLoad::All),
            Value::Bool(false) => Ok(AlwaysLoad::No),
            Value::Array(_) => self.names(node).map(|tools| {
                if tools.is_empty() { AlwaysLoad::No } else { AlwaysLoad::Tools(tools) }
            }),
            _ => self.wrong(node, "true, false or an array of tool names"),
        }
    }

    /// Scopes as an array, or as OAuth itself writes them: one string with spaces.
    pub(crate) fn scopes(&mut self, node: &Node<'_>) -> Read<Vec<String>> {
        match node.as_str() {
            Some(text) => Ok(text.split_whitespace().map(str::to_owned).collect()),
            None if node.items().is_some() => self.names(node),
            None => self.wrong(node, "an array of scopes, or one string"),
        }
    }

    pub(crate) fn word<T: Copy>(&mut self, node: &Node<'_>, words: Words<T>) -> Read<T> {
        let text = node.as_str().unwrap_or_default();
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*meaning);
        }
        let expected = one_of(words.iter().map(|(word, _)| *word));
        let text = self.string(node, &expected)?;
        self.wrong_as(node, &shown_word(text), &expected)
    }

    pub(crate) fn era(&mut self, node: &Node<'_>) -> Read<EraPin> {
        let expected = "`legacy`, `modern` or a revision such as `2025-06-18`";
        match self.string(node, expected)? {
            "legacy" => Ok(EraPin::Legacy),
            "modern" => Ok(EraPin::Modern),
            text if text.len() <= 32 && text.bytes().filter(|byte| *byte == b'-').count() >= 2 => {
                Ok(EraPin::Version(text.to_owned()))
            }
            text => self.wrong_as(node, &shown_word(text), expected),
        }
    }

    pub(crate) fn kind(&mut self, node: &Node<'_>, shape: &Shape) -> Read<Kind> {
        let word = node.as_str().unwrap_or_default();
        if let Some((_, kind)) = shape.kinds.iter().find(|(known, _)| *known == word) {
            return Ok(*kind);
        }
        let expected = one_of(shape.kinds.iter().map(|(word, _)| *word));
        let word = self.string(node, &expected)?;
        // Another tool's word in this tool's file: clear enough, worth saying.
        let Some((_, kind)) = claude::KINDS
            .iter()
            .find(|(known, _)| known.replace('-', "_") == word.replace('-', "_"))
        else {
            return self.wrong_as(node, &shown_word(word), &expected);
        };
        let finding = Finding::note(Problem::Foreign, node.span.start).at(self.path);
        self.findings
            .add(finding.found(format!("`{word}` for `{}`", self.path.shown())).expected(expected));
        Ok(*kind)
    }

    /// `transport` written for `type`: a word, or an object with a `type` inside.
    pub(crate) fn kind_alias(&mut self, node: &Node<'_>, shape: &Shape) -> Read<Kind> {
        let hint = format!("{} ignores it; `type` is the field", shape.title);
        let finding = Finding::warning(Problem::Foreign, node.span.start).at(self.path);
        self.findings.add(finding.found("`transport`").expected("`type`").hint(hint));
        self.kind(node.get("type").unwrap_or(node), shape)
    }
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "no value here".to_owned(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
