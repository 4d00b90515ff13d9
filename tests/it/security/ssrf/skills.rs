//! Skills name files by URI. A URI is a word for the server that named it, whatever it looks like.

use mcp_client::{ClientOptions, ErrorClass, SkillError};
use serde_json::{Value, json};

use super::trap::{Trap, targets};
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{MODERN, connect_with, modern, to},
};

const TEXT: &str = "---\nname: s\ndescription: d\n---\nSee [this](https://127.0.0.1/x).\n";
/// Of that, as `sha256sum` has it.
const DIGEST: &str = "sha256:35538fd0a96caafdcad100615063acde72b328b1af263b82679bf49d91f84dc9";

/// URIs that would do something to whoever took them for more than words.
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

/// A server with one skill, whose files have a URI of somebody's choice.
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
            // What comes back says that it is from somewhere else again.
            let contents = json!([{ "uri": "file:///etc/passwd", "text": TEXT }]);
            exchange.result(json!({ "resultType": "complete", "contents": contents })).await
        }
        _ => modern(exchange).await,
    }
}

#[tokio::test]
async fn a_skill_is_read_from_its_own_server_whatever_its_uris_name() {
    let trap = Trap::set().await;
    for uri in uris(&trap) {
        let named = uri.clone();
        let server = Server::start(move |exchange| with_skill(exchange, named.clone())).await;
        let client = connect_with(to(&server), ClientOptions::default()).await;
        let listed = mcp_tests::soon("the list", client.list_skills()).await.unwrap();
        let skill = &listed.items[0];
        let loaded = mcp_tests::soon("the skill", client.load_skill(skill)).await;
        assert_eq!(loaded.unwrap().text(), TEXT, "{uri:?}");
        // One request, to the place where everything else went, with the URI as a word in it.
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
async fn a_file_that_no_skill_lists_is_not_asked_for() {
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
