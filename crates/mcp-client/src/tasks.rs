//! Calls that become tasks, followed to their end.

use std::collections::HashSet;

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson};

use crate::{
    client::Client,
    era::Era,
    error::CallError,
    options::CallOptions,
    request::{Ask, RESULT_TYPE, problem},
    types::{CallToolResult, Task, TaskStatus},
};

impl Client {
    /// Where a task stands. `-32602` means that the server no longer knows it.
    pub async fn task(&self, task_id: &str) -> Result<Task, CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick("tasks/get", &options);
        let task: Task = self
            .ask(&ask, &|params| {
                params.string("taskId", task_id);
            })
            .await?;
        // Some servers call this result a task too, which is no reason to refuse it.
        self.check_type(ask.method, task.extra.get(RESULT_TYPE), "task")?;
        Ok(task)
    }

    /// Gives a task what it asked for, by key.
    pub async fn update_task(
        &self,
        task_id: &str,
        input_responses: RawJson,
    ) -> Result<(), CallError> {
        self.require(Era::Modern, "updating tasks")?;
        let options = CallOptions::default();
        let ask = Ask::quick("tasks/update", &options);
        let members = |params: &mut ObjectWriter| {
            params.string("taskId", task_id).raw("inputResponses", &input_responses);
        };
        self.ask::<RawJson>(&ask, &members).await.map(drop)
    }

    /// Asks the server to end a task. It may take its time, or end otherwise first.
    pub async fn cancel_task(&self, task_id: &str) -> Result<(), CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick("tasks/cancel", &options);
        let members = |params: &mut ObjectWriter| {
            params.string("taskId", task_id);
        };
        self.ask::<RawJson>(&ask, &members).await.map(drop)
    }

    /// Follows the task that a call became, to its end. Until then, dropping the future or failing asks
    /// the server to end it too.
    pub(crate) async fn follow(
        &self,
        ask: &Ask<'_>,
        created: &RawJson,
    ) -> Result<CallToolResult, CallError> {
        let shape = |error| CallError::Shape { method: ask.method, error };
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
            // Blocks until the end, and gives the server a stream for its own requests.
            Era::Legacy => {
                let result = self.legacy_task_result(ask, &task.task_id).await;
                following.ended |= matches!(result, Ok(_) | Err(CallError::Rejected(_)));
                result
            }
            Era::Modern => modern_result(&task),
        }
    }

    /// Answers each question once; it stays listed until the server has taken the answer in.
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
            let responses = self.answer_all("tasks/get", &open.finish()).await?;
            self.update_task(&task.task_id, responses).await?;
        }
        Ok(())
    }

    async fn legacy_task_result(
        &self,
        ask: &Ask<'_>,
        task_id: &str,
    ) -> Result<CallToolResult, CallError> {
        let ask = Ask { method: "tasks/result", is_repeated: true, ..*ask };
        self.ask(&ask, &|params| {
            params.string("taskId", task_id);
        })
        .await
    }
}

fn modern_result(task: &Task) -> Result<CallToolResult, CallError> {
    const METHOD: &str = "tasks/get";
    match (task.status(), &task.result, &task.error) {
        (TaskStatus::Completed, Some(result), _) => {
            result.decode().map_err(|error| CallError::Shape { method: METHOD, error })
        }
        (TaskStatus::Failed, _, error) => Err(CallError::Rejected(task_error(error.as_ref()))),
        (TaskStatus::Cancelled, ..) => Err(CallError::Cancelled),
        _ => Err(CallError::Shape { method: METHOD, error: problem("`result` is missing") }),
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

/// Ends a task that nobody follows any more. A cancellation notice would not: the request that
/// created it has long been answered.
struct Following<'a> {
    client: &'a Client,
    task_id: String,
    ended: bool,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let options = CallOptions::default();
            let ask = Ask::quick("tasks/cancel", &options);
            let members = |params: &mut ObjectWriter| {
                params.string("taskId", &self.task_id);
            };
            let shared = self.client.0.engine.shared();
            shared.tell(ask.method, |id| self.client.params(&ask, id, None, &members));
        }
    }
}
