//! What `SECURITY.md` promises, over the whole stack: nothing secret is shown, nobody leads us anywhere, no
//! name becomes a path or a command, and nobody else reads our files.

mod canary;
mod injection;
#[cfg(unix)]
mod permissions;
mod ssrf;
mod threats;

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// Every secret of these tests begins with this, so that a leak can be found.
pub(crate) const CANARY: &str = "CANARY-9f86d081";

/// Everything that anybody could have read: logs of every level, and whatever else is added.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<String>>);

impl Record {
    /// Something that can be printed for developers, in both ways.
    pub(crate) fn debug(&self, what: &dyn fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{what:?} {what:#?}");
    }

    pub(crate) fn text(&self, what: &dyn fmt::Display) {
        let _ = writeln!(self.0.lock().unwrap(), "{what}");
    }

    /// An error with all its causes.
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

/// The first place where a secret is, with what is around it. Also as `Basic` would have it.
pub(crate) fn leak(text: &str) -> Option<String> {
    // The beginning as it is, then at each of the three places that it can have in base64.
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
