//! Skills name files by URI. Such a URI is only ever sent to the server that named it.

use mcp_client::{ClientOptions, diagnostics::ErrorClass, skills::SkillError};
use serde_json::{Value, json};

use super::trap::{Trap, targets};
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{MODERN, connect_with, modern, to},
};

const TEXT: &str = "---\nname: s\ndescription: d\n---\nSee [this](https://127.0.0.1/x).\n";
/// The digest of `TEXT`, from `sha256sum`.
const DIGEST: &str = "sha256:35538fd0a96caafdcad100615063acde72b328b1af263b82679bf49d91f84dc9";

/// URIs that would cause harm if they were resolved as URLs or paths.
fn uris(trap: &Trap) -> Vec<String> {
    let port = trap.port;
    let mut all = targets(trap);
    all.extend([
        "/etc/passwd".to_owned(),
        "../../../etc/passwd".to_owned(),
        "skill://../../etc/passwd".to_owned(),
        format!("skill://127.0.0.1:{port}/SKILL.md"),
        format!("skill://s/SKILL.md\r\nhost: 127.0.0.1:{port}\r\n\r\nGET /x HTTP/1.1"),
        "skill://s/\u{0}SKILL.md".to_owned(),
    ]);
    all
}

/// A server with one skill whose files have the given URI.
async fn with_skill(exchange: Exchange, uri: String) -> Done {
    match &*exchange.word() {
        "server/discover" => {
            let extensions = json!({ "io.modelcontextprotocol/skills": {} });
            exchange
                .result(json!({
                    "resultType": "complete", "supportedVersions": [MODERN],
                    "capabilities": { "resources": {}, "extensions": extensions },
                }))
                .await
        }
        "skills/list" => {
            let file = json!({ "uri": uri, "digest": DIGEST, "size": TEXT.len() });
            let front = json!({ "name": "s", "description": "d" });
            let skill = json!({ "uri": uri, "frontmatter": front, "resources": [file] });
            exchange.result(json!({ "resultType": "complete", "skills": [skill] })).await
        }
        "resources/read" => {
            // The contents claim yet another URI.
            let contents = json!([{ "uri": "file:///etc/passwd", "text": TEXT }]);
            exchange.result(json!({ "resultType": "complete", "contents": contents })).await
        }
        _ => modern(exchange).await,
    }
}

#[tokio::test]
async fn skill_uris_are_read_from_the_server_that_named_them() {
    let trap = Trap::set().await;
    for uri in uris(&trap) {
        let named = uri.clone();
        let server = Server::start(move |exchange| with_skill(exchange, named.clone())).await;
        let client = connect_with(to(&server), ClientOptions::default()).await;
        let listed = mcp_tests::soon("the list", client.list_skills()).await.unwrap();
        let skill = &listed.items[0];
        let loaded = mcp_tests::soon("the skill", client.load_skill(skill)).await;
        assert_eq!(loaded.unwrap().text(), TEXT, "{uri:?}");
        // One request to the same server, with the URI as a parameter.
        let read = server.only("resources/read");
        let params: &Value = &read.message()["params"];
        assert_eq!((&*read.verb, &*read.path, &params["uri"]), ("POST", "/mcp", &json!(uri)));
        let words = server.words();
        assert!(!words.iter().any(|word| word == "GET"), "{uri:?}: {words:?}");
        let hosts: Vec<_> =
            server.seen().iter().map(|s| s.header("host").map(str::to_owned)).collect();
        assert!(hosts.iter().all(|host| *host == hosts[0]), "{uri:?}: {hosts:?}");
    }
    assert_eq!(trap.visits().await, 0);
}

#[tokio::test]
async fn skill_file_not_listed_by_its_server_is_not_requested() {
    let trap = Trap::set().await;
    let server = Server::start(|exchange| with_skill(exchange, "skill://s/SKILL.md".into())).await;
    let client = connect_with(to(&server), ClientOptions::default()).await;
    let listed = mcp_tests::soon("the list", client.list_skills()).await.unwrap();
    for uri in uris(&trap) {
        let reading = client.read_skill_file(&listed.items[0], &uri);
        let error = mcp_tests::soon("the refusal", reading).await.unwrap_err();
        assert!(matches!(error, SkillError::NotListed { .. }), "{uri:?}: {error}");
        assert_eq!(error.class(), ErrorClass::Permanent);
        assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
    }
    assert_eq!(server.all("resources/read").len(), 0);
    assert_eq!(trap.visits().await, 0);
}
