//! Work that outlives the request that started it.

use std::time::Duration;

use mcp_jsonrpc::RawJson;

use super::open::open;

open! {
    /// A task, as `tasks/get` describes it in either era.
    pub struct Task {
        /// What to ask for it by.
        required task_id: String = "taskId",
        /// Where it stands: see [`Task::status`].
        lenient status: String = "status",
        /// What it is doing. Foreign text.
        optional status_message: Option<String> = "statusMessage",
        /// How often to look (2026-07-28).
        optional poll_interval_ms: Option<f64> = "pollIntervalMs",
        /// How often to look (2025-11-25).
        optional poll_interval: Option<f64> = "pollInterval",
        /// What it needs from us, by key.
        optional input_requests: Option<RawJson> = "inputRequests",
        /// What came of it.
        optional result: Option<RawJson> = "result",
        /// What went wrong with it.
        optional error: Option<RawJson> = "error",
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// It is running.
    Working,
    /// It needs something from us.
    InputRequired,
    /// It is done.
    Completed,
    /// It ended in an error.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Something newer than this version.
    Unknown,
}

impl Task {
    /// Where the task stands.
    pub fn status(&self) -> TaskStatus {
        match self.status.as_str() {
            "working" | "submitted" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired,
            "completed" => TaskStatus::Completed,
            "failed" => TaskStatus::Failed,
            "cancelled" => TaskStatus::Cancelled,
            _ => TaskStatus::Unknown,
        }
    }

    /// How long to wait before looking again: what the server asks for, within reason.
    pub fn poll_interval(&self) -> Duration {
        const USUAL: f64 = 1_000.0;
        let wanted = self.poll_interval_ms.or(self.poll_interval).filter(|ms| ms.is_finite());
        Duration::from_secs_f64(wanted.unwrap_or(USUAL).clamp(10.0, 60_000.0) / 1_000.0)
    }
}
