//! Tasks: requests with a result that is fetched later.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task>; the extension of 2026-07-28 renames some members.

use std::time::Duration;

use mcp_jsonrpc::RawJson;

use crate::open::open;

open! {
    /// A task, as `tasks/get` returns it in either era.
    pub struct Task {
        /// The id, by which it is requested.
        required task_id: String = "taskId",
        /// The status on the wire. See [`Task::status`].
        lenient status: String = "status",
        /// A description of the status. Foreign text.
        optional status_message: Option<String> = "statusMessage",
        /// How often to poll, in milliseconds (2026-07-28).
        optional poll_interval_ms: Option<f64> = "pollIntervalMs",
        /// How often to poll, in milliseconds (2025-11-25).
        optional poll_interval: Option<f64> = "pollInterval",
        /// Requests for input, by key.
        optional input_requests: Option<RawJson> = "inputRequests",
        /// The result.
        optional result: Option<RawJson> = "result",
        /// The error.
        optional error: Option<RawJson> = "error",
    }
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// The task is running.
    Working,
    /// The task needs input from the client.
    InputRequired,
    /// The task has completed.
    Completed,
    /// The task has failed.
    Failed,
    /// The task was cancelled.
    Cancelled,
    /// A status that this version does not define.
    Unknown,
}

impl Task {
    /// The status.
    pub fn status(&self) -> TaskStatus {
        match self.status.as_str() {
            // `submitted` is from SEP-1686, before 2025-11-25 was published.
            "working" | "submitted" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired,
            "completed" => TaskStatus::Completed,
            "failed" => TaskStatus::Failed,
            "cancelled" => TaskStatus::Cancelled,
            _ => TaskStatus::Unknown,
        }
    }

    /// How long to wait before the next poll: the server's value, within limits.
    pub fn poll_interval(&self) -> Duration {
        // The limits keep a server from causing a busy loop, or a result that is fetched only hours later.
        const USUAL: f64 = 1_000.0;
        let wanted = self.poll_interval_ms.or(self.poll_interval).filter(|ms| ms.is_finite());
        Duration::from_secs_f64(wanted.unwrap_or(USUAL).clamp(10.0, 60_000.0) / 1_000.0)
    }
}
