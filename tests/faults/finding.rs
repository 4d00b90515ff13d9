//! What came of one cell.

use std::{fmt, time::Duration};

use serde_json::{Value, json};

use crate::rig::LIMIT;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What a caller of `mcp-client` sees.
    pub(crate) client: Seen,
    /// What a caller of `mcp-bridge` sees.
    pub(crate) bridge: Seen,
    /// How the server came back.
    pub(crate) recovered: String,
    /// What was left behind, or said and should not have been.
    pub(crate) leaks: Vec<String>,
}

/// What a caller sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// In a word: `answered`, or what kind of failure.
    pub(crate) what: String,
    pub(crate) class: String,
    pub(crate) delivery: String,
    pub(crate) sentence: String,
    pub(crate) pace: Pace,
}

/// How long it took, as far as that is the same every time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    #[default]
    AtOnce,
    Limit,
    Late,
}

impl Pace {
    /// No limit is below [`LIMIT`], and a machine may be busy.
    pub(crate) fn of(took: Duration) -> Self {
        if took < LIMIT * 3 / 4 {
            Pace::AtOnce
        } else if took < LIMIT * 4 {
            Pace::Limit
        } else {
            Pace::Late
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pace::AtOnce => "at once",
            Pace::Limit => "its limit",
            Pace::Late => "too late",
        })
    }
}

impl Seen {
    pub(crate) fn hang() -> Self {
        Seen { what: "HANGS".into(), pace: Pace::Late, ..Seen::default() }
    }

    fn to_json(&self) -> Value {
        json!([self.what, self.class, self.delivery, self.sentence, self.pace.to_string()])
    }

    fn from_json(json: &Value) -> Option<Self> {
        let text = |at: usize| json[at].as_str().map(str::to_owned);
        let pace = [Pace::AtOnce, Pace::Limit, Pace::Late];
        let pace = pace.into_iter().find(|pace| json[4] == pace.to_string())?;
        Some(Self { what: text(0)?, class: text(1)?, delivery: text(2)?, sentence: text(3)?, pace })
    }
}

impl Finding {
    pub(crate) fn to_json(&self) -> Value {
        json!([self.client.to_json(), self.bridge.to_json(), self.recovered, self.leaks])
    }

    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let leaks = json[3].as_array()?.iter().map(ToString::to_string);
        Some(Self {
            client: Seen::from_json(&json[0])?,
            bridge: Seen::from_json(&json[1])?,
            recovered: json[2].as_str()?.to_owned(),
            leaks: leaks.collect(),
        })
    }

    /// Whether anybody had to wait for a limit.
    pub(crate) fn is_slow(&self) -> bool {
        [&self.client, &self.bridge].iter().any(|seen| seen.pace != Pace::AtOnce)
    }

    /// What no finding may say.
    pub(crate) fn shame(&self) -> Option<String> {
        if !self.leaks.is_empty() {
            return Some(self.leaks.join("; "));
        }
        if self.client.pace == Pace::Late || self.bridge.pace == Pace::Late {
            return Some("it took longer than any limit".into());
        }
        (self.recovered == "no").then(|| "it did not recover".into())
    }
}
