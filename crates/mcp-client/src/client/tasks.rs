//! Calls that become tasks: the extension for modern servers, and
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>.

use std::collections::HashSet;

use mcp_jsonrpc::{ErrorObject, Failure, ObjectWriter, RawJson};
use mcp_types::{
    CallToolResult, Era, method,
    tasks::{Task, TaskStatus},
};

use super::{
    Client,
    request::{Ask, RESULT_TYPE},
};
use crate::{
    error::{CallError, problem},
    options::CallOptions,
};

impl Client {
    /// Returns the state of a task. Error `-32602` means that the server no longer has it.
    pub async fn task(&self, task_id: &str) -> Result<Task, CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick(method::TASKS_GET, &options);
        let task: Task = self
            .ask(&ask, &|params| {
                params.string("taskId", task_id);
            })
            .await?;
        // Some servers give this result the type `task` too, which we accept.
        self.check_type(ask.method, task.extra.get(RESULT_TYPE), "task")?;
        Ok(task)
    }

    /// Sends the responses to a task's input requests, by key.
    pub async fn update_task(
        &self,
        task_id: &str,
        input_responses: RawJson,
    ) -> Result<(), CallError> {
        self.require(Era::Modern, "updating tasks")?;
        self.quick(method::TASKS_UPDATE, &|params| {
            params.string("taskId", task_id).raw("inputResponses", &input_responses);
        })
        .await
    }

    /// Requests the cancellation of a task. The task may still finish or fail first.
    ///
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-cancellation>
    pub async fn cancel_task(&self, task_id: &str) -> Result<(), CallError> {
        self.quick(method::TASKS_CANCEL, &|params| {
            params.string("taskId", task_id);
        })
        .await
    }

    /// Follows the task that a call became to its end. If the future is dropped or fails before
    /// that, the task is cancelled.
    pub(crate) async fn follow(
        &self,
        ask: &Ask<'_>,
        created: &RawJson,
    ) -> Result<CallToolResult, CallError> {
        let shape = |error| CallError::shape(ask.method, error);
        let mut task = created.decode::<Task>().map_err(shape)?;
        let mut following = Following { client: self, task_id: task.task_id.clone(), ended: false };
        let mut answered = HashSet::new();
        loop {
            match task.status() {
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {
                    following.ended = true;
                    break;
                }
                TaskStatus::InputRequired if self.era() == Era::Legacy => break,
                TaskStatus::InputRequired => self.answer_task(&task, &mut answered).await?,
                _ => {}
            }
            tokio::time::sleep(task.poll_interval()).await;
            task = self.task(&task.task_id).await?;
        }
        match self.era() {
            // `tasks/result` blocks until the task ends, and gives the server a stream for its requests:
            // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status>
            Era::Legacy => {
                let result = self.legacy_task_result(ask, &task.task_id).await;
                following.ended |= matches!(
                    result,
                    Ok(_) | Err(CallError::Failed { failure: Failure::Rejected(_), .. })
                );
                result
            }
            Era::Modern => modern_result(&task),
        }
    }

    /// Answers each input request once. It stays listed until the server has processed the response.
    async fn answer_task(
        &self,
        task: &Task,
        answered: &mut HashSet<String>,
    ) -> Result<(), CallError> {
        let mut open = ObjectWriter::new();
        let mut any = false;
        for (key, request) in task.input_requests.iter().flat_map(RawJson::members) {
            if answered.insert(key.clone()) {
                any = true;
                open.raw(&key, &request);
            }
        }
        if any {
            let responses = self.answer_all(method::TASKS_GET, &open.finish()).await?;
            self.update_task(&task.task_id, responses).await?;
        }
        Ok(())
    }

    async fn legacy_task_result(
        &self,
        ask: &Ask<'_>,
        task_id: &str,
    ) -> Result<CallToolResult, CallError> {
        let ask = Ask { method: method::TASKS_RESULT, is_repeated: true, ..*ask };
        self.ask(&ask, &|params| {
            params.string("taskId", task_id);
        })
        .await
    }
}

fn modern_result(task: &Task) -> Result<CallToolResult, CallError> {
    const METHOD: &str = method::TASKS_GET;
    match (task.status(), &task.result, &task.error) {
        (TaskStatus::Completed, Some(result), _) => {
            result.decode().map_err(|error| CallError::shape(METHOD, error))
        }
        (TaskStatus::Failed, _, error) => {
            Err(CallError::new(METHOD, Failure::Rejected(task_error(error.as_ref()))))
        }
        (TaskStatus::Cancelled, ..) => Err(CallError::new(METHOD, Failure::Cancelled)),
        _ => Err(CallError::shape(METHOD, problem("`result` is missing"))),
    }
}

fn task_error(error: Option<&RawJson>) -> ErrorObject {
    let code = error.and_then(|error| error.get("code")).and_then(|code| code.decode().ok());
    let message = error.and_then(|error| error.get("message")).and_then(|text| text.decode().ok());
    ErrorObject {
        code: code.unwrap_or(ErrorObject::INTERNAL_ERROR),
        message: message.unwrap_or_else(|| "the task failed".into()),
        data: error.and_then(|error| error.get("data")),
    }
}

/// Cancels a task that is no longer followed. A cancellation notification would not work: the
/// request that created the task already has its response.
struct Following<'a> {
    client: &'a Client,
    task_id: String,
    ended: bool,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.client.tell(method::TASKS_CANCEL, &|params| {
                params.string("taskId", &self.task_id);
            });
        }
    }
}
