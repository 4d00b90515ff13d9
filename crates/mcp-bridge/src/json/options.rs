//! JSON representations of options: read where they are configuration, written where they are shown.
//!
//! Members that hold code (handlers, policies, hooks, stores) are not part of the JSON. A member that is absent keeps
//! its default. Durations are in milliseconds.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};

use super::millis;
use crate::{
    conversation::ConversationOptions,
    lifecycle::Backoff,
    options::{BridgeOptions, Retry},
    output::OutputLimits,
    tools::name::NameScheme,
};

/// One member of an options struct.
trait Setting: Sized {
    fn write(&self) -> Value;
    fn read(value: Value) -> Result<Self, serde_json::Error>;
}

macro_rules! settings {
    ($($type:ty),*) => {
        $(
            impl Setting for $type {
                fn write(&self) -> Value {
                    json!(self)
                }

                fn read(value: Value) -> Result<Self, serde_json::Error> {
                    serde_json::from_value(value)
                }
            }
        )*
    };
}

settings!(bool, u32, usize, f64, String, PathBuf, (String, usize));
settings!(Backoff, Retry, OutputLimits, NameScheme);

impl Setting for Duration {
    fn write(&self) -> Value {
        json!(millis(*self))
    }

    fn read(value: Value) -> Result<Self, serde_json::Error> {
        u64::deserialize(value).map(Self::from_millis)
    }
}

impl<T: Setting> Setting for Option<T> {
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, Setting::write)
    }

    fn read(value: Value) -> Result<Self, serde_json::Error> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn write(&self) -> Value {
        self.iter().map(Setting::write).collect()
    }

    fn read(value: Value) -> Result<Self, serde_json::Error> {
        Vec::<Value>::deserialize(value)?.into_iter().map(T::read).collect()
    }
}

/// Implements `Serialize` and `Deserialize` for an options struct by a table of its members.
macro_rules! options {
    ($type:ty { $($member:literal => $field:ident;)* }) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let members = [$(($member.to_owned(), self.$field.write())),*];
                Map::from_iter(members).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut options = Self::default();
                for (member, value) in Map::<String, Value>::deserialize(deserializer)? {
                    let wrong = |error| D::Error::custom(format!("`{member}`: {error}"));
                    match &*member {
                        $($member => options.$field = Setting::read(value).map_err(wrong)?,)*
                        _ => return Err(D::Error::unknown_field(&member, &[$($member),*])),
                    }
                }
                Ok(options)
            }
        }
    };
}

options!(Backoff {
    "delaysMs" => delays;
    "attempts" => attempts;
    "shownFailed" => shown_failed;
    "jitter" => jitter;
});

options!(Retry {
    "delaysMs" => delays;
    "timeouts" => timeouts;
});

options!(OutputLimits {
    "maxChars" => max_chars;
    "tools" => tools;
    "maxParts" => max_parts;
    "maxMedia" => max_media;
    "keepStructured" => keep_structured;
});

options!(ConversationOptions {
    "allow" => allow;
    "deny" => deny;
    "planMode" => plan_mode;
    "name" => name;
});

options!(BridgeOptions {
    "names" => names;
    "keepHyphens" => keep_hyphens;
    "project" => project;
    "untrustedSampling" => untrusted_sampling;
    "untrustedRoots" => untrusted_roots;
    "backoff" => backoff;
    "lazyStart" => lazy_start;
    "localBatch" => local_batch;
    "remoteBatch" => remote_batch;
    "maxProcesses" => max_processes;
    "idleStopMs" => idle_stop;
    "pingEveryMs" => ping_every;
    "pingRemoteEveryMs" => ping_remote_every;
    "listDebounceMs" => list_debounce;
    "startLimitMs" => start_limit;
    "retry" => retry;
    "queueWhileDownMs" => queue_while_down;
    "output" => output;
    "askOnChange" => ask_on_change;
    "writePatterns" => write_patterns;
    "toolSearch" => tool_search;
    "searchThreshold" => search_threshold;
    "tokenBudget" => token_budget;
    "maxMatches" => max_matches;
    "summaryLimit" => summary_limit;
    "alwaysLoad" => always_load;
    "catalogue" => catalogue;
    "keepStubs" => keep_stubs;
    "eventCapacity" => event_capacity;
    "maxFailedCalls" => max_failed_calls;
});

const NAME_SCHEMES: [(NameScheme, &str); 4] = [
    (NameScheme::Double, "mcp__server__tool"),
    (NameScheme::Plain, "server_tool"),
    (NameScheme::Single, "mcp_server_tool"),
    (NameScheme::Own, "tool"),
];

impl Serialize for NameScheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = NAME_SCHEMES.iter().find(|(scheme, _)| scheme == self).map(|(_, name)| *name);
        name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NameScheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = NAME_SCHEMES.iter().find(|(_, name)| *name == text);
        known.map(|(scheme, _)| *scheme).ok_or_else(|| {
            let names = NAME_SCHEMES.map(|(_, name)| name).join(", ");
            D::Error::custom(format!("unknown name scheme `{text}`, expected one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_with_defaults_for_absent_members() {
        let options: BridgeOptions = serde_json::from_value(json!({
            "names": "server_tool", "lazyStart": true, "idleStopMs": 900_000, "searchThreshold": 5,
            "backoff": {"delaysMs": [1000, 2000], "attempts": 5}, "output": {"tools": [["mcp__x__*", 10]]},
        }))
        .unwrap();
        assert_eq!((options.names, options.lazy_start), (NameScheme::Plain, true));
        assert_eq!(options.idle_stop, Some(Duration::from_secs(900)));
        assert_eq!(options.backoff.delays, [1, 2].map(Duration::from_secs));
        assert_eq!((options.backoff.attempts, options.backoff.shown_failed), (Some(5), 5));
        assert_eq!(options.output.tools, [("mcp__x__*".to_owned(), 10)]);
        assert_eq!((options.search_threshold, options.max_matches), (5, 10));
    }

    #[test]
    fn written_options_are_read_back_unchanged() {
        let options = BridgeOptions::default().with_names(NameScheme::Own).with_lazy_start(true);
        let written = json!(options);
        let read: BridgeOptions = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(json!(read), written);
        let conversation =
            ConversationOptions::default().with_deny(["mcp:x:*"]).with_name("helper");
        let written = json!(conversation);
        assert_eq!(
            written,
            json!({"allow": [], "deny": ["mcp:x:*"], "planMode": false, "name": "helper"})
        );
        let read: ConversationOptions = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(json!(read), written);
    }

    #[test]
    fn unknown_and_invalid_members_are_errors() {
        let read =
            |json: Value| serde_json::from_value::<BridgeOptions>(json).unwrap_err().to_string();
        assert!(read(json!({"lazystart": true})).contains("unknown field `lazystart`"));
        assert!(read(json!({"backoff": {"jitter": "much"}})).starts_with("`backoff`: `jitter`: "));
        assert!(read(json!({"names": "mine"})).contains("unknown name scheme `mine`"));
    }
}
