//! The result of one cell.

use std::{fmt, time::Duration};

use serde_json::{Value, json};

use crate::rig::LIMIT;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The result for a caller of `mcp-client`.
    pub(crate) client: Seen,
    /// The result for a caller of `mcp-bridge`.
    pub(crate) bridge: Seen,
    /// How the server recovered.
    pub(crate) recovered: String,
    /// Leaked resources and leaked secrets.
    pub(crate) leaks: Vec<String>,
}

/// The result as a caller sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// `answered`, or the kind of failure.
    pub(crate) what: String,
    pub(crate) class: String,
    pub(crate) delivery: String,
    pub(crate) sentence: String,
    pub(crate) pace: Pace,
}

/// How long the call took, as far as that is stable between runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    #[default]
    AtOnce,
    Limit,
    Late,
}

impl Pace {
    /// Every limit is at least [`LIMIT`]; the margin allows for a busy machine.
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
        Seen { what: "HANG_LIMIT".into(), pace: Pace::Late, ..Seen::default() }
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

    /// Whether a call ran into a limit.
    pub(crate) fn is_slow(&self) -> bool {
        [&self.client, &self.bridge].iter().any(|seen| seen.pace != Pace::AtOnce)
    }

    /// Why this finding fails the run, if it does.
    pub(crate) fn problem(&self) -> Option<String> {
        if !self.leaks.is_empty() {
            return Some(self.leaks.join("; "));
        }
        if self.client.pace == Pace::Late || self.bridge.pace == Pace::Late {
            return Some("it took longer than any limit".into());
        }
        (self.recovered == "no").then(|| "it did not recover".into())
    }
}
