//! Drains the standard error of a server, and keeps its last lines.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_jsonrpc::wire::{Line, LineDecoder};
use mcp_safe::secrets::Redactor;
use tokio::{io::AsyncReadExt as _, process::ChildStderr};

/// The limits of the kept text: enough for a stack trace.
const KEPT_LINES: usize = 200;
const KEPT_BYTES: usize = 64 << 10;
const LONGEST_LINE: usize = 4 << 10;

/// A callback for each line of a server's standard error.
pub type OnStderr = Arc<dyn Fn(&str) + Send + Sync>;

/// The last lines of a server's standard error.
pub(super) struct StderrTail {
    kept: Mutex<Kept>,
    on_line: Option<OnStderr>,
    secrets: Redactor,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
}

impl fmt::Debug for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrTail").finish_non_exhaustive()
    }
}

impl StderrTail {
    pub(super) fn new(on_line: Option<OnStderr>, secrets: Redactor) -> Self {
        Self { kept: Mutex::default(), on_line, secrets }
    }

    pub(super) fn secrets(&self) -> &Redactor {
        &self.secrets
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).lines.iter().cloned().collect()
    }

    /// Reads until the end. An unread pipe would block the server after 64 KiB.
    pub(super) async fn drain(&self, mut stderr: ChildStderr) {
        let mut decoder = LineDecoder::new(LONGEST_LINE);
        // Most servers write little here, so an idle one should not hold a large buffer.
        let mut chunk = [0; 512];
        while let Ok(count) = stderr.read(&mut chunk).await {
            decoder.buffer().extend_from_slice(&chunk[..count]);
            while let Some(line) = decoder.next_line() {
                self.keep(&line);
            }
            if count == 0 {
                break;
            }
        }
        if let Some(line) = decoder.finish() {
            self.keep(&line);
        }
    }

    fn keep(&self, line: &Line) {
        let text = match line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Line::TooLong { length, head, .. } => {
                format!("{}… ({length} bytes)", String::from_utf8_lossy(head))
            }
        };
        let text = self.secrets.redact(&text).into_owned();
        if let Some(on_line) = &self.on_line {
            on_line(&text);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += text.len();
        kept.lines.push_back(text);
        while kept.lines.len() > KEPT_LINES || kept.bytes > KEPT_BYTES {
            kept.bytes -= kept.lines.pop_front().map_or(0, |line| line.len());
        }
    }
}
