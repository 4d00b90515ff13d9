//! Serde representations of servers, rules and diagnostics. They are part of the public API.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser, ser::SerializeStruct};
use serde_json::{Map, Value as Json};

use crate::{
    diagnostic::{Diagnostic, Place, Position, Problem, Severity},
    dialect::{Dialect, encode, fits, read_server},
    model::{RuleAction, Scope, ServerConfig, TrustRule},
};

/// `{"name": …, "entry": {…}}`, with the entry as in our own files. It contains the entry's secrets.
impl Serialize for ServerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lost = fits(Dialect::McpJson, self);
        if !lost.is_empty() {
            let message = format!(
                "server `{}` has settings that cannot be serialized: {}",
                self.name,
                lost.join(", ")
            );
            return Err(ser::Error::custom(message));
        }
        let entry: Map<String, Json> = encode(Dialect::McpJson, self).into_iter().collect();
        let mut object = serializer.serialize_struct("ServerConfig", 2)?;
        object.serialize_field("name", self.name.as_str())?;
        object.serialize_field("entry", &entry)?;
        object.end()
    }
}

/// The same format as [`Serialize`].
impl<'de> Deserialize<'de> for ServerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::<String, Json>::deserialize(deserializer)?;
        let entry = object.remove("entry").ok_or_else(|| de::Error::missing_field("entry"))?;
        let name = object.remove("name").ok_or_else(|| de::Error::missing_field("name"))?;
        let name = name.as_str().ok_or_else(|| de::Error::custom("`name` is not a string"))?;
        read_server(name, &entry.to_string()).map_err(|found| {
            let cause = found.first().map(Diagnostic::message).unwrap_or_default();
            de::Error::custom(format!("not the entry of a server: {cause}"))
        })
    }
}

/// As its name, such as `user`.
impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// From its name.
impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| de::Error::custom("not the name of a scope"))
    }
}

impl RuleAction {
    const WORDS: [(Self, &'static str); 3] =
        [(Self::Allow, "allow"), (Self::Ask, "ask"), (Self::Deny, "deny")];
}

/// As `allow`, `ask` or `deny`.
impl Serialize for RuleAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let word = Self::WORDS.iter().find(|(action, _)| action == self).map(|(_, word)| *word);
        serializer.serialize_str(word.unwrap_or("deny"))
    }
}

/// The same format as [`Serialize`].
impl<'de> Deserialize<'de> for RuleAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let action = Self::WORDS.iter().find(|(_, word)| *word == text).map(|(action, _)| *action);
        action.ok_or_else(|| de::Error::custom("expected `allow`, `ask` or `deny`"))
    }
}

/// As in `trustRules` of a file.
impl Serialize for TrustRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("TrustRule", 3)?;
        object.serialize_field("permission", &self.permission)?;
        object.serialize_field("pattern", &self.pattern)?;
        object.serialize_field("action", &self.action)?;
        object.end()
    }
}

/// As in `trustRules` of a file: without a `pattern`, every call.
impl<'de> Deserialize<'de> for TrustRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::<String, Json>::deserialize(deserializer)?;
        // Reject unknown keys, because a rule that is only partly understood might deny.
        if let Some(key) =
            object.keys().find(|key| !["permission", "pattern", "action"].contains(&key.as_str()))
        {
            return Err(de::Error::unknown_field(key, &["permission", "pattern", "action"]));
        }
        let text = |key: &'static str| match object.get(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(de::Error::custom(format!("`{key}` is not a string"))),
        };
        let action = object.get("action").ok_or_else(|| de::Error::missing_field("action"))?;
        Ok(Self {
            permission: text("permission")?
                .ok_or_else(|| de::Error::missing_field("permission"))?,
            pattern: text("pattern")?.unwrap_or_else(|| "*".to_owned()),
            action: RuleAction::deserialize(action).map_err(de::Error::custom)?,
        })
    }
}

/// As `error`, `warning` or `hint`.
impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        })
    }
}

/// As its name with hyphens, such as `unknown-field`.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Unreadable => "unreadable",
            Self::Syntax => "syntax",
            Self::UnknownDialect => "unknown-dialect",
            Self::RelaxedSyntax => "relaxed-syntax",
            Self::WrongType => "wrong-type",
            Self::UnknownField => "unknown-field",
            Self::DuplicateKey => "duplicate-key",
            Self::BadName => "bad-name",
            Self::BadTransport => "bad-transport",
            Self::NotPortable => "not-portable",
            Self::Foreign => "foreign",
            Self::Ignored => "ignored",
            Self::Omitted => "omitted",
            Self::Provider => "provider",
        })
    }
}

/// As `{"line": 1, "column": 1}`.
impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Position", 2)?;
        object.serialize_field("line", &self.line)?;
        object.serialize_field("column", &self.column)?;
        object.end()
    }
}

/// As `{"file": …, "position": {…} or null, "pointer": …}`.
impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Place", 3)?;
        object.serialize_field("file", &*self.file)?;
        object.serialize_field("position", &self.position)?;
        object.serialize_field("pointer", &self.pointer)?;
        object.end()
    }
}

/// As an object of its fields.
impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Diagnostic", 7)?;
        object.serialize_field("place", &self.place)?;
        object.serialize_field("severity", &self.severity)?;
        object.serialize_field("problem", &self.problem)?;
        object.serialize_field("server", &self.server)?;
        object.serialize_field("found", &self.found)?;
        object.serialize_field("expected", &self.expected)?;
        object.serialize_field("hint", &self.hint)?;
        object.end()
    }
}
