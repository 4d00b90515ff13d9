//! Validation with a budget: small checks run inline, larger ones on a blocking thread, and too large ones are
//! skipped.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_client::RawJson;
use mcp_schema::{NotChecked, Schema, Violation};
use serde_json::Value;

use crate::sanitize::clean;

/// Checks of up to this many steps take at most a few milliseconds and run on the caller's thread.
const INLINE_STEPS: u64 = 20_000;
/// The maximum number of steps on a blocking thread, which take some tenths of a second.
const MAX_STEPS: u64 = 2_000_000;
/// Schemas and instances up to this size are parsed on the caller's thread.
const INLINE_BYTES: usize = 16 << 10;
/// The maximum size of an instance. Larger ones are not parsed.
const MAX_BYTES: usize = 8 << 20;
/// A check that takes longer disables the checks of its tool. The budget keeps checks far below this, unless
/// all blocking threads are busy.
const DEADLINE: Duration = Duration::from_secs(2);

/// One schema, compiled on first use.
#[derive(Default)]
pub(super) struct Validator {
    compiled: Arc<OnceLock<Result<Schema, NotChecked>>>,
    is_off: AtomicBool,
}

/// One check. Everything is shared, so that it can move to another thread.
#[derive(Clone)]
struct Job {
    compiled: Arc<OnceLock<Result<Schema, NotChecked>>>,
    schema: RawJson,
    text: RawJson,
    value: Option<Arc<Value>>,
}

impl Validator {
    /// Returns the problems of an instance as `path: message`. `value` is the parsed `text`, if available.
    ///
    /// # Errors
    /// Returns the reason why the instance was not checked.
    pub(super) async fn problems(
        &self,
        schema: &RawJson,
        text: &RawJson,
        value: Option<Arc<Value>>,
    ) -> Result<Vec<String>, String> {
        if self.is_off.load(Ordering::Relaxed) {
            return Err(switched_off());
        }
        let size = text.as_bytes().len();
        if size > MAX_BYTES {
            return Err(format!("it has {size} bytes, the limit is {MAX_BYTES}"));
        }
        let compiled = self.compiled.clone();
        let job = Job { compiled, schema: schema.clone(), text: text.clone(), value };
        let found = match job.run_if_small() {
            Some(found) => found,
            None => self.run_on_blocking_thread(job).await?,
        };
        let found = found.map_err(|reason| clean(&reason.to_string(), 300).text)?;
        Ok(found.iter().map(problem).collect())
    }

    /// Runs a job on a blocking thread, and waits for it up to the deadline.
    async fn run_on_blocking_thread(
        &self,
        job: Job,
    ) -> Result<Result<Vec<Violation>, NotChecked>, String> {
        let running = tokio::task::spawn_blocking(move || job.run(MAX_STEPS));
        if let Ok(Ok(found)) = tokio::time::timeout(DEADLINE, running).await {
            return Ok(found);
        }
        self.is_off.store(true, Ordering::Relaxed);
        Err(switched_off())
    }
}

impl Job {
    /// Runs the job inline. Returns `None` if that would block the caller's thread for too long.
    fn run_if_small(&self) -> Option<Result<Vec<Violation>, NotChecked>> {
        let is_ready = self.compiled.get().is_some();
        let is_small = |json: &RawJson| json.as_bytes().len() <= INLINE_BYTES;
        if !(is_ready || is_small(&self.schema)) || !(self.value.is_some() || is_small(&self.text))
        {
            return None;
        }
        Some(self.run(INLINE_STEPS))
            .filter(|found| !matches!(found, Err(NotChecked::TooManySteps(_))))
    }

    fn run(&self, budget: u64) -> Result<Vec<Violation>, NotChecked> {
        let admit = || {
            let document = serde_json::from_str(self.schema.as_str()).unwrap_or_default();
            Schema::admit(&document)
        };
        let schema = self.compiled.get_or_init(admit).as_ref().map_err(Clone::clone)?;
        match &self.value {
            Some(value) => schema.check(value, budget),
            None => match serde_json::from_str(self.text.as_str()) {
                Ok(value) => schema.check(&value, budget),
                Err(_) => Err(NotChecked::TooDeep),
            },
        }
    }
}

fn problem(violation: &Violation) -> String {
    let place = if violation.path.is_empty() { "arguments" } else { &violation.path };
    format!("{}: {}", clean(place, 200).text, clean(&violation.message, 300).text)
}

fn switched_off() -> String {
    format!("a check took longer than {} s; checks of this tool are disabled", DEADLINE.as_secs())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;

    fn raw(value: &Value) -> RawJson {
        RawJson::encode(value).unwrap()
    }

    #[tokio::test]
    async fn unbounded_schema_is_not_checked_with_a_reason() {
        let schema = raw(&json!({"properties": {"a": {"$ref": "https://evil.test/schema.json"}}}));
        let reason = Validator::default().problems(&schema, &raw(&json!({"a": 1})), None).await;
        let reason = reason.unwrap_err();
        assert!(reason.contains("https://evil.test/schema.json"), "{reason}");
    }

    #[tokio::test]
    async fn check_beyond_the_budget_is_not_started() {
        let branches: Vec<Value> = (0..5_000).map(|n| json!({ "const": n })).collect();
        let schema = raw(&json!({"items": {"anyOf": branches}}));
        let found =
            Validator::default().problems(&schema, &raw(&json!(vec![-1; 5_000])), None).await;
        assert_eq!(found, Err("checking would take more than 2000000 steps".into()));
    }

    /// The only blocking thread is busy, so the check cannot begin before its deadline.
    #[test]
    fn check_that_misses_its_deadline_disables_the_checks_of_its_tool() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(1).start_paused(true);
        let runtime = runtime.build().unwrap();
        let (release, held) = mpsc::channel::<()>();
        runtime.block_on(async {
            let busy = tokio::task::spawn_blocking(move || held.recv());
            let validator = Validator::default();
            let (schema, large) = (raw(&json!({"type": "array"})), raw(&json!(vec![1; 20_000])));
            let mut check = std::pin::pin!(validator.problems(&schema, &large, None));
            let waker = std::task::Waker::noop();
            let mut context = std::task::Context::from_waker(waker);
            assert!(check.as_mut().poll(&mut context).is_pending());
            tokio::time::advance(DEADLINE + Duration::from_millis(1)).await;
            assert_eq!(check.await, Err(switched_off()));
            drop(release);
            let _ = busy.await;
            assert_eq!(
                validator.problems(&schema, &raw(&json!([])), None).await,
                Err(switched_off())
            );
        });
    }
}
