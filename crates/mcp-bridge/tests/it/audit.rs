//! Records of calls, decisions, approvals and servers, for an audit log.

use std::sync::{Arc, Mutex};

use mcp_audit::{AuditKey, AuditLog, Auditor, LogOptions, Reader, Record, verify};
use mcp_bridge::{
    Approval, ApprovalRequest, Approver, Bridge, BridgeOptions, CallContext, RawJson,
    tool::BoxFuture,
    trust::{Action, Rule, Rules, TrustPolicy},
};
use serde_json::{Value, json};

use crate::support::{Fake, call, config, fakes, options};

/// The records so far, as JSON without times.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<Value>>>);

impl Records {
    fn auditor(&self) -> impl Fn(&Record<'_>) + Send + Sync + 'static {
        let records = self.0.clone();
        move |record: &Record<'_>| {
            let mut record: Value = serde_json::from_str(&record.to_json()).unwrap();
            record.as_object_mut().unwrap().remove("time");
            records.lock().unwrap().push(record);
        }
    }

    /// The records of one kind.
    fn of(&self, kind: &str) -> Vec<Value> {
        let records = self.0.lock().unwrap();
        records.iter().filter(|record| record["event"] == kind).cloned().collect()
    }
}

struct Says(Approval);

impl Approver for Says {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

fn bridge(fake: &Fake, records: &Records, change: impl FnOnce(&mut BridgeOptions)) -> Bridge {
    let mut options = options(&fakes([("srv", fake)]));
    options.audit = Some(Arc::new(records.auditor()));
    change(&mut options);
    let bridge = Bridge::new(options);
    let mut server = config("srv");
    server.trust = false;
    bridge.add_server_as_written(server);
    bridge
}

#[tokio::test(start_paused = true)]
async fn call_is_recorded_with_client_server_tool_and_end() {
    let (fake, records) = (Fake::new(&["a"]), Records::default());
    let bridge = bridge(&fake, &records, |options| {
        let rules = Rules::new([vec![Rule::new("mcp:srv:*", Action::Allow)]]);
        options.policy = Arc::new(TrustPolicy::new(rules));
    });
    bridge.start().await;
    let client = RawJson::parse(r#"{"name":"agent\u001b[31m","version":"2.1"}"#).unwrap();
    let context = CallContext::default().with_client_info(client);
    assert!(!bridge.call("mcp__srv__a", RawJson::empty_object(), context).await.is_error);
    let [one] = &records.of("call")[..] else { panic!("{:?}", records.of("call")) };
    assert_eq!(one["tool"], "mcp__srv__a");
    assert_eq!(one["server"], "srv");
    assert_eq!(one["decision"], "allow");
    assert_eq!(one["outcome"], "ok");
    assert_eq!(one["delivery"], "executed");
    // A client cannot move the terminal of the log's reader.
    assert_eq!(one["client"], "agent[31m 2.1");
    assert!(one["fingerprint"].as_str().is_some_and(|text| text.len() >= 32), "{one}");
    assert!(one["definition"].as_str().is_some_and(|text| !text.is_empty()), "{one}");
    assert!(one["ms"].is_u64(), "{one}");
    bridge.shutdown().await;
    assert_eq!(records.of("server.start").len(), 1);
    assert_eq!(records.of("server.stop").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn denial_by_rule_and_answers_of_the_user_are_recorded() {
    let (fake, records) = (Fake::new(&["a", "shell"]), Records::default());
    let bridge = bridge(&fake, &records, |options| {
        let rules = Rules::new([vec![Rule::new("mcp:*:shell", Action::Deny)]]);
        options.policy = Arc::new(TrustPolicy::new(rules));
        options.approver = Arc::new(Says(Approval::Once));
    });
    bridge.start().await;
    assert!(call(&bridge, "mcp__srv__shell").await.is_error);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    let decisions = records.of("decision");
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    assert_eq!(decisions[0]["decision"], "deny");
    assert_eq!(decisions[0]["rule"], "mcp:srv:shell");
    let answers = records.of("approval");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(
        (&answers[0]["decision"], &answers[0]["tool"]),
        (&json!("once"), &json!("mcp__srv__a"))
    );
    let calls = records.of("call");
    let ends: Vec<_> = calls.iter().map(|call| (&call["decision"], &call["delivery"])).collect();
    let (denied, allowed) = (json!("deny"), json!("allow"));
    let (not_sent, executed) = (json!("not_sent"), json!("executed"));
    assert_eq!(ends, [(&denied, &not_sent), (&allowed, &executed)]);
}

#[tokio::test(start_paused = true)]
async fn call_that_its_caller_drops_is_recorded() {
    let (fake, records) = (Fake::new(&["a"]), Records::default());
    let bridge = bridge(&fake, &records, |options| {
        options.approver = Arc::new(Says(Approval::Once));
    });
    bridge.start().await;
    let mut waiting =
        Box::pin(bridge.call("mcp__srv__a", RawJson::empty_object(), CallContext::default()));
    let first = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx))).await;
    assert!(first.is_pending());
    drop(waiting);
    let calls = records.of("call");
    let [one] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((&one["outcome"], &one["delivery"]), (&json!("cancelled"), &json!("unknown")));
}

#[tokio::test(start_paused = true)]
async fn log_of_a_bridge_verifies_and_hides_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let key = AuditKey::generate().unwrap();
    let log = AuditLog::open(folder.path(), key.clone(), LogOptions::default()).unwrap();
    let (fake, records) = (Fake::new(&["a"]), Records::default());
    let bridge = bridge(&fake, &records, |options| {
        let append = move |record: &Record<'_>| log.append(record).unwrap();
        options.audit = Some(Arc::new(append) as Arc<dyn Auditor>);
        options.approver = Arc::new(Says(Approval::Once));
    });
    bridge.start().await;
    let arguments = RawJson::parse(r#"{"password":"hunter2"}"#).unwrap();
    let _ = bridge.call("mcp__srv__a", arguments, CallContext::default()).await;
    bridge.shutdown().await;
    let found = verify(folder.path(), &key, None).unwrap();
    assert!(found.is_intact() && found.lines >= 4, "{found:?}");
    let lines: Vec<String> =
        Reader::open(folder.path()).unwrap().map(|line| line.unwrap().text).collect();
    assert!(!lines.join("\n").contains("hunter2"), "{lines:?}");
    let call: Value = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["event"] == "call")
        .unwrap();
    assert_eq!(call["arguments"]["bytes"], 22);
}
