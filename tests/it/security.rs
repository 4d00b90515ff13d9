//! Tests of `SECURITY.md` over the whole stack: secrets are not shown, foreign URLs are not followed, names do not
//! become paths or commands, and files are readable by their owner only.

mod canary;
#[cfg(unix)]
mod helper;
mod injection;
#[cfg(unix)]
mod permissions;
#[cfg(unix)]
mod schema_bomb;
mod ssrf;
mod threats;
mod visible;

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// The prefix of every secret in these tests, so that a leak can be found.
pub(crate) const CANARY: &str = "CANARY-9f86d081";

/// All readable output: logs of every level, and other text that tests add.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<String>>);

impl Record {
    /// Adds a value in both `Debug` formats.
    pub(crate) fn debug(&self, what: &dyn fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{what:?} {what:#?}");
    }

    pub(crate) fn text(&self, what: &dyn fmt::Display) {
        let _ = writeln!(self.0.lock().unwrap(), "{what}");
    }

    /// Adds an error with all its causes.
    pub(crate) fn error(&self, error: &(dyn std::error::Error + 'static)) {
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.debug(&error);
            self.text(&error);
            cause = error.source();
        }
    }

    pub(crate) fn all(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

/// The first secret in `text`, with its context. Finds base64 (`Basic` credentials) too.
pub(crate) fn leak(text: &str) -> Option<String> {
    // The plain prefix, and its base64 forms at the three possible offsets.
    let marks = [CANARY, "Q0FOQVJZL", "NBTkFSWS0", "DQU5BUlkt"];
    let at = marks.iter().filter_map(|mark| text.find(mark)).min()?;
    let around = at.saturating_sub(200)..(at + 60).min(text.len());
    Some(String::from_utf8_lossy(&text.as_bytes()[around]).into_owned())
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Record {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut Fields(&mut self.0.lock().unwrap()));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        event.record(&mut Fields(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
