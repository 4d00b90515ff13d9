//! Strings with variables, kept unexpanded until a connection needs their value.

use std::fmt;

mod syntax;

pub(crate) use self::syntax::Syntax;

/// A string from a configuration file, with the variables it mentions.
///
/// Each tool has its own syntax for variables (`${VAR}`, `${env:VAR}`, `{env:VAR}`, `$VAR`). Reading converts
/// them all to ours: `${VAR}`, `${VAR:-default}`, `${input:id}`, `${file:path}`, `${secret:name}`,
/// `${workspaceFolder}`, `${userHome}`. For a tool without variables, `${VAR}` is literal text.
///
/// `Debug` and `Display` print the unexpanded text even after expansion, so values of variables are never
/// printed. Only [`Template::expose`] returns the value.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Template {
    source: Box<str>,
    /// `None` for plain text, which is the usual case and keeps a server small.
    variables: Option<Box<Variables>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Variables {
    /// Empty when there is nothing to expand.
    parts: Vec<Part>,
    /// Set by expansion.
    value: Option<Box<str>>,
    /// The length of the home directory in `value`, if that has replaced a leading `~`.
    home: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Text(Box<str>),
    Variable {
        name: Box<str>,
        default: Option<Template>,
    },
    Input(Box<str>),
    File(Box<str>),
    /// `${secret:name}`: a value from the host's secret store.
    Secret(Box<str>),
    WorkspaceFolder,
    WorkspaceName,
    UserHome,
    PathSeparator,
    /// An unknown `${something:else}`; an error when expanded.
    Unknown(Box<str>),
}

impl Template {
    /// A template without variables: the text is taken literally.
    pub fn literal(text: impl Into<Box<str>>) -> Self {
        Self { source: text.into(), variables: None }
    }

    /// Parses text in our own syntax.
    ///
    /// ```
    /// # use mcp_config::Template;
    /// let header = Template::parse("Bearer ${TOKEN}");
    /// assert_eq!(header.variables().collect::<Vec<_>>(), ["TOKEN"]);
    /// ```
    pub fn parse(text: &str) -> Self {
        Syntax::OWN.parse(text)
    }

    /// `length` is an estimate of the length of the text.
    pub(crate) fn from_parts(parts: Vec<Part>, length: usize) -> Self {
        match parts.as_slice() {
            [] => Self::default(),
            [Part::Text(text)] => Self::literal(text.clone()),
            _ => {
                let mut source = String::with_capacity(length);
                for part in &parts {
                    part.write_own(&mut source);
                }
                let variables = Some(Box::new(Variables { parts, value: None, home: 0 }));
                Self { source: source.into(), variables }
            }
        }
    }

    /// The expanded value, or the text itself if it has no variables.
    pub fn expose(&self) -> &str {
        let value = self.variables.as_ref().and_then(|variables| variables.value.as_deref());
        value.unwrap_or(&self.source)
    }

    /// The text before expansion, in our own syntax.
    pub fn unexpanded(&self) -> &str {
        &self.source
    }

    /// Whether it needs no expansion.
    pub fn is_final(&self) -> bool {
        let pending =
            |variables: &Variables| variables.value.is_none() && !variables.parts.is_empty();
        !self.variables.as_deref().is_some_and(pending)
    }

    /// The environment variables it refers to, including those in defaults.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let mut names = Vec::new();
        self.visit_parts(&mut |part| {
            if let Part::Variable { name, .. } = part {
                names.push(&**name);
            }
        });
        names.into_iter()
    }

    /// The parts of the expanded text that come from files, stored secrets and inputs.
    ///
    /// Between two of them without text in between there is no border, and they are one.
    pub fn asked(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let home = self.variables.as_ref().map_or(0, |variables| variables.home);
        let mut rest = self.expose().get(home..).unwrap_or_default();
        let mut is_asked = false;
        for (place, part) in self.parts().iter().enumerate() {
            let Part::Text(text) = part else {
                is_asked |= matches!(part, Part::File(_) | Part::Secret(_) | Part::Input(_));
                continue;
            };
            let text = text.strip_prefix('~').filter(|_| place == 0 && home > 0).unwrap_or(text);
            let Some((before, after)) = rest.split_once(text) else { break };
            found.extend(is_asked.then_some(before));
            (rest, is_asked) = (after, false);
        }
        found.extend(is_asked.then_some(rest));
        found
    }

    /// Calls `visit` with every part, including those in defaults.
    pub(crate) fn visit_parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Part)) {
        for part in self.parts() {
            visit(part);
            if let Part::Variable { default: Some(default), .. } = part {
                default.visit_parts(visit);
            }
        }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        self.variables.as_ref().map(|variables| variables.parts.as_slice()).unwrap_or_default()
    }

    /// The same template with its value filled in.
    pub(crate) fn with_value(&self, value: String) -> Self {
        let parts = self.parts().to_vec();
        let variables = Some(Box::new(Variables { parts, value: Some(value.into()), home: 0 }));
        Self { source: self.source.clone(), variables }
    }

    /// The same template, whose value begins with `~`, with `home` in its place.
    pub(crate) fn with_home(&self, home: &str) -> Self {
        let rest = self.expose().strip_prefix('~').unwrap_or_default();
        let value = Some(format!("{home}{rest}").into());
        let variables = Variables { parts: self.parts().to_vec(), value, home: home.len() };
        Self { source: self.source.clone(), variables: Some(Box::new(variables)) }
    }

    /// The name of the variable if the template is exactly one variable without a default.
    pub(crate) fn sole_variable(&self) -> Option<&str> {
        match self.parts() {
            [Part::Variable { name, default: None }] => Some(name),
            _ => None,
        }
    }
}

impl Part {
    /// Writes the part as our own syntax spells it.
    pub(crate) fn write_own(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Variable { name, default: None } if syntax::is_taken(name) => {
                out.extend(["${env:", name, "}"]);
            }
            Self::Variable { name, default: None } => out.extend(["${", name, "}"]),
            Self::Variable { name, default: Some(default) } => {
                out.extend(["${", name, ":-", &default.source, "}"]);
            }
            Self::Input(id) => out.extend(["${input:", id, "}"]),
            Self::File(path) => out.extend(["${file:", path, "}"]),
            Self::Secret(name) => out.extend(["${secret:", name, "}"]),
            Self::WorkspaceFolder => out.push_str("${workspaceFolder}"),
            Self::WorkspaceName => out.push_str("${workspaceFolderBasename}"),
            Self::UserHome => out.push_str("${userHome}"),
            Self::PathSeparator => out.push_str("${pathSeparator}"),
            Self::Unknown(raw) => out.push_str(raw),
        }
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.source)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.source, out)
    }
}

/// A [`Template`] whose literal text is secret too: the value of a header, an environment variable, a client
/// secret. Printing it shows only the variables it refers to.
///
/// ```
/// # use mcp_config::SecretText;
/// assert_eq!(format!("{:?}", SecretText::parse("Bearer ${TOKEN}")), "[redacted]${TOKEN}");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct SecretText(pub(crate) Template);

impl SecretText {
    /// Parses text in our own syntax, as [`Template::parse`] does.
    pub fn parse(text: &str) -> Self {
        Self(Template::parse(text))
    }

    /// A secret without variables: the text is taken literally.
    pub fn literal(text: impl Into<Box<str>>) -> Self {
        Self(Template::literal(text))
    }

    /// The expanded value, or the text itself if it has no variables. The name makes every use easy to find.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The inner template, which prints its literal text.
    pub fn template(&self) -> &Template {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.parts().is_empty() {
            return out.write_str("[redacted]");
        }
        self.0.parts().iter().try_for_each(|part| match part {
            Part::Text(_) | Part::Unknown(_) => out.write_str("[redacted]"),
            Part::Variable { name, default: Some(_) } => write!(out, "${{{name}:-[redacted]}}"),
            other => {
                let mut text = String::new();
                other.write_own(&mut text);
                out.write_str(&text)
            }
        })
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}
