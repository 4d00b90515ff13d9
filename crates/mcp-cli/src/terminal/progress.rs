//! Progress bars on a terminal; nothing is shown elsewhere.

use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcp_client::{Progress, types::OnProgress};

use crate::terminal::out::brief;

/// The servers that are still connecting.
#[derive(Debug)]
pub(crate) struct Waiting {
    bar: ProgressBar,
    left: Mutex<Vec<String>>,
}

impl Waiting {
    pub(crate) fn new(names: &[String]) -> Self {
        let bar = if names.is_empty() { ProgressBar::hidden() } else { spinner() };
        let waiting = Self { bar, left: Mutex::new(names.to_vec()) };
        waiting.show();
        waiting
    }

    pub(crate) fn arrived(&self, name: &str) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).retain(|left| left != name);
        self.show();
    }

    fn show(&self) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.bar.set_message(format!("connecting: {}", brief(&left.join(", "), 60)));
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallBar(ProgressBar);

impl CallBar {
    pub(crate) fn new(tool: &str) -> Self {
        let bar = spinner();
        bar.set_message(brief(tool, 60));
        Self(bar)
    }

    /// Returns a callback for progress notifications.
    pub(crate) fn reports(&self) -> OnProgress {
        let bar = self.0.clone();
        Arc::new(move |report| show(&bar, &report))
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn show(bar: &ProgressBar, report: &Progress) {
    let what = report.message.as_deref().map(|text| brief(text, 60)).unwrap_or_default();
    let message = match report.total.filter(|total| *total > 0.0) {
        Some(total) => {
            let share = (report.progress / total).clamp(0.0, 1.0);
            format!("{:>3.0} % {what}", share * 100.0)
        }
        None => format!("{} {what}", report.progress),
    };
    bar.set_message(message);
    bar.tick();
}

fn spinner() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
