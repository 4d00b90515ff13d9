//! A server that requires a login: the user logs in with a browser, and its tools appear.

use std::{path::Path, sync::Arc};

use mcp_auth::{interact::LoopbackBrowser, store::StoreMode};
use mcp_bridge::{
    Bridge, Logins, LoginsOptions, ServerConfig, ServerState, connect::DefaultConnector,
};
use mcp_config::{Remote, Transport};
use mcp_tests::soon;
use tokio::time::timeout;

use super::{call, options, reached};
use crate::auth::browser::{PATIENCE, packages, person, servers};

/// A host with its state in `folder`, the server as `docs`, and a second server `beside`.
async fn bridge(server: &str, folder: &Path, browser: Option<LoopbackBrowser>) -> Bridge {
    let mut options = options();
    let mut logins = LoginsOptions::in_folder(folder);
    logins.store = StoreMode::File;
    let browser = browser.map(Arc::new);
    // Without the test's browser, none may be opened.
    let no_page = |_: &str| Err(std::io::Error::other("no browser"));
    let nobody = move || LoopbackBrowser::new().with_opener(Arc::new(no_page));
    logins.interact = Some(Arc::new(move |_| match &browser {
        Some(browser) => browser.clone(),
        None => Arc::new(nobody()),
    }));
    let logins = Arc::new(Logins::new(logins));
    options.connector = Arc::new(DefaultConnector::new().identify(logins));
    let bridge = Bridge::new(options);
    let transport = Transport::Http(Remote::new(server));
    let mut docs = ServerConfig::new("docs".parse().unwrap(), transport);
    docs.trust = true;
    bridge.add_server_as_written(docs);
    bridge.add_server_as_written(super::config("beside"));
    soon("the start", bridge.start()).await;
    bridge
}

fn names(bridge: &Bridge) -> Vec<String> {
    let turn = bridge.snapshot();
    let all = turn.tools().iter().map(|tool| tool.spec().name.clone());
    all.filter(|name| name.starts_with("mcp__docs")).collect()
}

#[tokio::test]
async fn tools_of_a_server_appear_after_its_login() {
    let Some(packages) = packages() else { return };
    let (_servers, server) = servers(&packages).await;
    let state = tempfile::tempdir().unwrap();
    let (browser, mut browsers) = person(&packages, &state.path().join("done.png"));
    let bridge = bridge(&server, state.path(), Some(browser)).await;

    assert_eq!(bridge.status()[0].state, ServerState::NeedsLogin);
    assert_eq!(names(&bridge), ["mcp__docs__authenticate"]);
    assert_eq!(bridge.explain("docs").unwrap().next_step, "log in to it");
    assert_eq!(
        call(&bridge, "mcp__beside__echo").await,
        "{}",
        "other servers do not wait for the login"
    );

    let arguments = mcp_bridge::RawJson::empty_object();
    let context = mcp_bridge::CallContext::default();
    let logging_in = bridge.call("mcp__docs__authenticate", arguments, context);
    let outcome = timeout(PATIENCE, logging_in).await.expect("the login took too long");
    assert!(!outcome.is_error, "{outcome}");
    let mut browser = browsers.try_recv().expect("no page was opened");
    let closed = timeout(PATIENCE, browser.wait()).await.expect("the browser stays open").unwrap();
    assert!(closed.success(), "{closed}");

    // Without waiting: the login tool returns once the server has settled.
    assert_eq!(bridge.status()[0].state, ServerState::Connected);
    assert_eq!(names(&bridge), ["mcp__docs__whoami"]);
    let said = call(&bridge, "mcp__docs__whoami").await;
    assert!(said.starts_with("ada with mcp:tools"), "{said}");
    soon("the end", bridge.shutdown()).await;

    // Another host with the same state connects without a login.
    let again = self::bridge(&server, state.path(), None).await;
    reached(&again, "docs", ServerState::is_connected).await;
    let said = call(&again, "mcp__docs__whoami").await;
    assert!(said.contains(r#""refreshes":1"#), "{said}");
}
