//! `after` hooks run for every outcome of a call.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_bridge::{
    CallContext, FailureKind, RawJson,
    hooks::{Hook, HookCall, Verdict, after, before},
    tool::{BoxFuture, Cancel},
    trust::{Action, Rule, Rules, TrustPolicy},
};

use crate::support::{Fake, Reply, one};

type Seen = Arc<Mutex<Vec<Option<FailureKind>>>>;

/// A hook that records the failure of each call.
fn recorder() -> (Seen, impl Hook + 'static) {
    let seen = Seen::default();
    let noted = seen.clone();
    (seen, after(move |_, outcome| noted.lock().unwrap().push(outcome.failure_kind())))
}

/// Calls the tool `a`, and cancels the call after a second.
async fn cancelled(bridge: &mcp_bridge::Bridge) -> Option<FailureKind> {
    let cancel = Cancel::new();
    let mut context = CallContext::default();
    context.cancel = Some(cancel.token());
    let calling = bridge.call("mcp__srv__a", RawJson::empty_object(), context);
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    tokio::join!(calling, cancelling).0.failure_kind()
}

#[tokio::test(start_paused = true)]
async fn after_hook_runs_for_cancelled_failed_timed_out_and_denied_calls() {
    let deny: Arc<TrustPolicy> =
        Arc::new(TrustPolicy::new(Rules::new([vec![Rule::new("mcp:srv:a", Action::Deny)]])));
    for (reply, is_denied, expected) in [
        ((|| Reply::Never) as fn() -> Reply, false, FailureKind::TimedOut),
        (|| Reply::Error(-32_000, "broken"), false, FailureKind::Rejected),
        (|| Reply::Text("done"), true, FailureKind::Denied),
    ] {
        let (seen, hook) = recorder();
        let fake = Fake::new(&["a"]);
        fake.on_call(move |_, _| reply());
        let bridge = one(&fake, |options| {
            options.hooks = vec![Arc::new(hook)];
            if is_denied {
                options.policy = deny.clone();
            }
        })
        .await;
        let calling = bridge.call("mcp__srv__a", RawJson::empty_object(), CallContext::default());
        assert_eq!(calling.await.failure_kind(), Some(expected));
        assert_eq!(*seen.lock().unwrap(), [Some(expected)]);
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_runs_the_after_hook_and_is_recorded() {
    let (seen, hook) = recorder();
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |options| options.hooks = vec![Arc::new(hook)]).await;
    assert_eq!(cancelled(&bridge).await, Some(FailureKind::Cancelled));
    assert_eq!(*seen.lock().unwrap(), [Some(FailureKind::Cancelled)]);
    let kept = bridge.failed_calls();
    assert_eq!(
        kept.iter().map(|call| call.failure.kind).collect::<Vec<_>>(),
        [FailureKind::Cancelled]
    );
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_without_hooks_is_recorded() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(cancelled(&bridge).await, Some(FailureKind::Cancelled));
    assert_eq!(bridge.failed_calls().len(), 1);
}

/// A hook with a question that is never answered.
struct Asks;

impl Hook for Asks {
    fn before<'a>(&'a self, _: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn cancellation_ends_a_before_hook_that_waits() {
    let (seen, hook) = recorder();
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        options.hooks =
            vec![Arc::new(before(|_| Verdict::Continue)), Arc::new(Asks), Arc::new(hook)];
    })
    .await;
    assert_eq!(cancelled(&bridge).await, Some(FailureKind::Cancelled));
    assert_eq!((seen.lock().unwrap().len(), fake.calls()), (1, 0));
}
