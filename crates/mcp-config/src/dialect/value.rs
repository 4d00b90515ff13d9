//! Converts nodes to the values of settings, or reports why they are invalid.

use std::time::Duration;

use mcp_safe::text::escape;
use mcp_sandbox::{Level, Profile};

use super::{
    claude,
    finding::{Dropped, Findings},
    path::Path,
    shape::{Kind, Shape, Unit},
};
use crate::{
    diagnostic::{Diagnostic, Problem},
    format::{Node, Value},
    model::{
        AlwaysLoad, AuthKind, ConnectMode, EraPin, InheritEnv, Part, SecretMap, SecretText, Syntax,
        Template, hides_host, shown_word,
    },
};

/// The allowed words of a setting with their meaning. The schema lists the same words.
pub(crate) type Words<T> = &'static [(&'static str, T)];
pub(crate) const CONNECT: Words<ConnectMode> =
    &[("eager", ConnectMode::Eager), ("lazy", ConnectMode::Lazy)];
pub(crate) const AUTH: Words<AuthKind> =
    &[("none", AuthKind::None), ("headers", AuthKind::Headers), ("oauth", AuthKind::OAuth)];
pub(crate) const INHERIT_ENV: Words<InheritEnv> =
    &[("safe", InheritEnv::Safe), ("all", InheritEnv::All)];
pub(crate) const LEVELS: Words<Level> =
    &[("off", Level::Off), ("standard", Level::Standard), ("strict", Level::Strict)];

/// Reads the values of one field.
pub(crate) struct Values<'r, 't, 'p> {
    pub(crate) findings: &'r mut Findings<'t>,
    pub(crate) path: &'p Path<'p>,
    pub(crate) syntax: Syntax,
}

type Read<T> = Result<T, Dropped>;

impl Values<'_, '_, '_> {
    pub(crate) fn wrong<T>(&mut self, node: &Node<'_>, expected: &str) -> Read<T> {
        self.findings.wrong(node, self.path, expected);
        Err(Dropped)
    }

    fn add(&mut self, node: &Node<'_>, finding: Diagnostic) {
        self.findings.add(node.span.start, self.path, finding);
    }

    pub(crate) fn wrong_as<T>(&mut self, node: &Node<'_>, found: &str, expected: &str) -> Read<T> {
        let found = format!("{found} for `{}`", self.path.shown());
        self.add(node, Diagnostic::error(Problem::WrongType, found).expected(expected));
        Err(Dropped)
    }

    /// A string without NUL, which neither processes nor headers can carry.
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
        self.note_surrounding_space(node, text);
        Ok(self.syntax.parse(text))
    }

    pub(crate) fn secret(&mut self, node: &Node<'_>) -> Read<SecretText> {
        self.template(node).map(SecretText)
    }

    /// Reports surrounding white space, which is invisible and usually pasted by mistake. The value is not
    /// shown.
    fn note_surrounding_space(&mut self, node: &Node<'_>, text: &str) {
        let bytes = text.as_bytes();
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        if edge(bytes.first()) || edge(bytes.last()) {
            let found = format!("white space at the start or end of `{}`", self.path.shown());
            let finding = Diagnostic::note(Problem::Foreign, found);
            self.add(node, finding.hint("kept; remove it if it is not intended"));
        }
    }

    pub(crate) fn templates(&mut self, node: &Node<'_>) -> Read<Vec<Template>> {
        let Some(items) = node.items() else { return self.wrong(node, "an array of strings") };
        items.iter().map(|item| self.scalar(item, "a string", false)).collect()
    }

    /// Reads a string, or a number or boolean as a string, as users write ports and flags.
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
            let found = format!("{} in `{}`", node.kind(), self.path.shown());
            let finding = Diagnostic::warning(Problem::WrongType, found);
            self.add(node, finding.expected(expected).hint("read as text"));
        }
        Ok(Template::literal(text))
    }

    pub(crate) fn names(&mut self, node: &Node<'_>) -> Read<Vec<String>> {
        let Some(items) = node.items() else { return self.wrong(node, "an array of strings") };
        items.iter().map(|item| self.text(item)).collect()
    }

    /// The variables to set, and the names of those to remove.
    pub(crate) fn environment(
        &mut self,
        node: &Node<'_>,
        relaxed: bool,
    ) -> Read<(SecretMap, Vec<String>)> {
        let Some(members) = node.members() else { return self.wrong(node, "an object of strings") };
        let (mut set, mut unset) = (Vec::with_capacity(members.len()), Vec::new());
        for member in members {
            self.variable_name(&member.key, &member.value)?;
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
            let value = self.header_value(&member.value)?;
            headers.push((&*member.key, SecretText(value)));
        }
        Ok(headers.into_iter().collect())
    }

    fn header_value(&mut self, node: &Node<'_>) -> Read<Template> {
        let value = self.scalar(node, "a string", false)?;
        if value.unexpanded().contains(['\r', '\n']) {
            return self.wrong_as(node, "a line break", "a header on one line");
        }
        Ok(value)
    }

    fn variable_name(&mut self, name: &str, node: &Node<'_>) -> Read<()> {
        if name.is_empty() || name.contains(|c: char| c == '=' || c.is_control()) {
            let expected = "a variable's name, without `=` or control characters";
            return self.wrong_as(node, "an invalid variable name", expected);
        }
        Ok(())
    }

    /// Variables as an array of `name` and `value`.
    pub(crate) fn env_pairs(&mut self, node: &Node<'_>) -> Read<SecretMap> {
        let mut map = SecretMap::new();
        for (name, value) in self.pairs(node)? {
            self.variable_name(name, value)?;
            map.insert(name, SecretText(self.scalar(value, "a string", false)?));
        }
        Ok(map)
    }

    /// Headers as an array of `name` and `value`.
    pub(crate) fn header_pairs(&mut self, node: &Node<'_>) -> Read<SecretMap> {
        let mut map = SecretMap::new();
        for (name, value) in self.pairs(node)? {
            self.header_name(name, value)?;
            map.insert(name, SecretText(self.header_value(value)?));
        }
        Ok(map)
    }

    fn pairs<'n, 't>(&mut self, node: &'n Node<'t>) -> Read<Vec<(&'n str, &'n Node<'t>)>> {
        let pair = |item: &'n Node<'t>| Some((item.get("name")?.as_str()?, item.get("value")?));
        let all = node.items().and_then(|items| items.iter().map(pair).collect());
        all.ok_or(()).or_else(|()| self.wrong(node, "an array of objects with `name` and `value`"))
    }

    fn header_name(&mut self, name: &str, node: &Node<'_>) -> Read<()> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            // Do not repeat it: it may be a whole header, pasted with its value.
            return self.wrong_as(node, "an invalid header name", "letters, digits and `-`");
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
            return self.wrong_as(node, "an invalid variable name", "letters, digits and `_`");
        }
        Ok(Part::Variable { name: name.into(), default: None })
    }

    /// A URL whose host cannot be changed by the value of a variable.
    pub(crate) fn url_template(&mut self, node: &Node<'_>) -> Read<Template> {
        let template = self.template(node)?;
        if hides_host(&template) {
            let expected = "a URL whose host does not depend on a variable";
            return self.wrong_as(node, "a variable before `@`", expected);
        }
        Ok(template)
    }

    pub(crate) fn url(&mut self, node: &Node<'_>) -> Read<Template> {
        let template = self.url_template(node)?;
        let text = template.unexpanded().trim();
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        let known =
            ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        let good = known && rest.len() > 2 && rest.starts_with("//")
            || matches!(scheme, "unix" | "pipe" | "http+unix") && !rest.is_empty()
            || text.starts_with("${");
        if !good && template.is_final() {
            let expected = "a URL with http, https, ws, wss, unix or pipe";
            return self.wrong_as(node, "text that is not a URL", expected);
        }
        Ok(template)
    }

    pub(crate) fn boolean(&mut self, node: &Node<'_>) -> Read<bool> {
        match node.value {
            Value::Bool(yes) => Ok(yes),
            _ => self.wrong(node, "true or false"),
        }
    }

    pub(crate) fn count(&mut self, node: &Node<'_>) -> Read<usize> {
        let whole = match &node.value {
            Value::Number(text) => text.parse::<usize>().ok(),
            _ => None,
        };
        whole.ok_or(()).or_else(|()| self.wrong(node, "a whole number, zero or more"))
    }

    pub(crate) fn count_from_one(&mut self, node: &Node<'_>) -> Read<usize> {
        match self.count(node)? {
            0 => self.wrong_as(node, "zero", "a whole number, one or more"),
            count => Ok(count),
        }
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
        let Value::Number(text) = &node.value else { return self.wrong(node, expected) };
        // Text that does not parse becomes NaN, which the conversion below rejects.
        let number = text.parse::<f64>().unwrap_or(f64::NAN);
        if unit == Unit::MillisFromOneSecond && (0.0..1000.0).contains(&number) {
            let found = format!("less than a second for `{}`", self.path.shown());
            let finding = Diagnostic::warning(Problem::Foreign, found);
            self.add(node, finding.expected("milliseconds, 1000 or more").hint("ignored"));
            return Ok(None);
        }
        // Round to microseconds, so that 0.1 s and 100 ms are equal.
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

    /// The sandbox of a local server. An invalid profile drops the entry: the server must not start with fewer
    /// restrictions than were meant.
    pub(crate) fn sandbox(&mut self, node: &Node<'_>) -> Read<Profile> {
        Profile::from_json(&node.to_json()).map_err(|error| {
            let found = format!("an invalid profile for `{}`", self.path.shown());
            let finding = Diagnostic::error(Problem::WrongType, found);
            let finding = finding.expected("`off`, `standard`, `strict` or an object");
            self.add(node, finding.hint(escape(&error.to_string())));
            Dropped
        })
    }

    /// Scopes as an array, or as one string separated by spaces
    /// (<https://www.rfc-editor.org/rfc/rfc6749#section-3.3>).
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
        // A value from another tool's format is unambiguous: accept it with a warning.
        let Some((_, kind)) = claude::KINDS
            .iter()
            .find(|(known, _)| known.replace('-', "_") == word.replace('-', "_"))
        else {
            return self.wrong_as(node, &shown_word(word), &expected);
        };
        let found = format!("`{word}` for `{}`", self.path.shown());
        self.add(node, Diagnostic::note(Problem::Foreign, found).expected(expected));
        Ok(*kind)
    }

    /// `transport` written for `type`: a word, or an object with a `type` inside.
    pub(crate) fn kind_alias(&mut self, node: &Node<'_>, shape: &Shape) -> Read<Kind> {
        let hint = format!("{} ignores it; use `type`", shape.title);
        let finding = Diagnostic::warning(Problem::Foreign, "`transport`");
        self.add(node, finding.expected("`type`").hint(hint));
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
