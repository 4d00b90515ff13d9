//! Logins from end to end: a browser, a pasted URL, a device code, a gateway that waits for a login, and two that share
//! one.

use std::{path::Path, process::Stdio};

use serde_json::json;

use crate::{
    auth_server::{Authority, CANARY, browse, get},
    support::{MCP, Machine},
    wire::{Gateway, lines},
};

/// Returns a machine with a server that requires a login.
fn machine(authority: &Authority) -> Machine {
    let machine = Machine::new();
    let added = machine.run(["add", "-s", "user", "--trust", "guarded", &authority.server()]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    machine
}

/// Runs `mcp login`, and opens the URL it shows. Returns the exit code and the output.
fn log_in(machine: &Machine) -> (i32, String) {
    let mut login = machine.command(["login", "guarded"]);
    // Start no browser: the test opens the URL.
    login.env("BROWSER", "/bin/true").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = login.spawn().unwrap();
    let remarks = lines(child.stderr.take().unwrap());
    let mut said = Vec::new();
    for line in &remarks {
        if let Some(page) = line.trim().strip_prefix("http://").filter(|page| page.contains('?')) {
            browse(&format!("http://{page}"));
        } else {
            said.push(line);
        }
    }
    let output = child.wait_with_output().unwrap();
    said.push(String::from_utf8(output.stdout).unwrap());
    (output.status.code().unwrap_or(-1), said.join("\n"))
}

#[test]
fn browser_login_is_stored_until_logout() {
    let authority = Authority::start(1_000);
    let machine = machine(&authority);
    let before = machine.run(["call", "guarded/whoami"]);
    assert_eq!(before.code, 6);
    assert!(before.stderr.contains("hint: mcp login guarded"), "{}", before.stderr);
    let (code, said) = log_in(&machine);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("logged in to guarded") && !said.contains(CANARY), "{said}");
    let status = machine.run(["auth", "status", "--json"]).json();
    assert_eq!(status["servers"][0]["status"], "logged-in");
    let after = machine.run(["call", "guarded/whoami"]);
    assert_eq!((after.code, after.stdout.as_str()), (0, "ada\n"), "{}", after.stderr);
    let secrets = found(machine.home(), CANARY);
    assert!(!secrets.is_empty(), "the refresh token is stored");
    for file in secrets {
        assert!(file.starts_with(machine.home().join(".local/state/mcp/auth")), "{file:?}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains("canary-access"), "{file:?}");
    }
    let out = machine.run(["logout", "guarded", "--json"]);
    assert_eq!((out.code, out.json()["outcome"].as_str()), (0, Some("revoked")));
    assert!(authority.state.lock().unwrap().revocations > 0);
    assert!(found(machine.home(), CANARY).is_empty(), "all secrets are deleted");
    assert_eq!(machine.run(["call", "guarded/whoami"]).code, 6);
    assert_eq!(machine.run(["logout", "guarded", "--json"]).json()["outcome"], "not-logged-in");
}

#[test]
fn denied_authorization_does_not_log_in() {
    let authority = Authority::start(1_000);
    authority.state.lock().unwrap().denies = true;
    let machine = machine(&authority);
    let (code, said) = log_in(&machine);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("access_denied"), "{said}");
    assert_eq!(
        machine.run(["auth", "status", "--json"]).json()["servers"][0]["status"],
        "logged-out"
    );
}

#[test]
fn pasting_needs_a_terminal() {
    let authority = Authority::start(1_000);
    let ran = machine(&authority).run(["login", "guarded", "--no-browser"]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(ran.stderr.contains("mcp login guarded --device"), "{}", ran.stderr);
}

#[test]
fn device_code_login_works_and_is_renewed() {
    let authority = Authority::start(6);
    authority.state.lock().unwrap().has_codes = true;
    let machine = machine(&authority);
    // Without a terminal and with `--quiet`, the code is still shown.
    let mut login = machine.command(["login", "guarded", "--device", "--quiet"]);
    login.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = login.spawn().unwrap();
    let remarks = lines(child.stderr.take().unwrap());
    let shown = remarks.iter().next().unwrap();
    let (page, code) = shown.strip_prefix("open ").unwrap().split_once(" and enter ").unwrap();
    assert_eq!(page, format!("{}/activate", authority.origin));
    get(&format!("{page}?code={code}"));
    let said = remarks.iter().collect::<Vec<_>>().join("\n");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains(CANARY) && output.stdout == b"logged in to guarded\n", "{said}");
    for at in 0..8 {
        let who = machine.run(["call", "guarded/whoami"]);
        assert_eq!((who.code, who.stdout.as_str()), (0, "ada\n"), "call {at}: {}", who.stderr);
    }
    let state = authority.state.lock().unwrap();
    assert!(state.refreshes > 0 && state.double_spends == 0, "{}", state.refreshes);
    assert!(state.redirects.is_empty(), "no browser was sent anywhere");
}

#[test]
fn server_without_device_codes_is_reported_with_alternatives() {
    let authority = Authority::start(1_000);
    let ran = machine(&authority).run(["login", "guarded", "--device"]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("does not support a login with a device code"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: mcp login guarded --no-browser"), "{}", ran.stderr);
}

/// Returns a machine with a server that has these `oauth` settings.
fn configured(authority: &Authority, oauth: &serde_json::Value) -> Machine {
    let machine = Machine::new();
    let entry = json!({"type": "http", "url": authority.server(), "trust": true, "oauth": oauth});
    let added = machine.run(["add-json", "-s", "user", "guarded", &entry.to_string()]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    machine
}

#[test]
fn configured_oauth_endpoints_override_discovery() {
    let authority = Authority::start(1_000);
    let at = |path: &str| format!("{}{path}", authority.origin);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let back = format!("http://127.0.0.1:{free}/oauth/back");
    let machine = configured(
        &authority,
        &json!({"clientId": "client", "authorizationUrl": at("/authorize"),
            "tokenUrl": at("/token"), "redirectUri": back}),
    );
    let (code, said) = log_in(&machine);
    assert_eq!(code, 0, "{said}");
    assert_eq!(authority.state.lock().unwrap().redirects, [back]);
    assert_eq!(machine.run(["call", "guarded/whoami"]).code, 0);
}

#[test]
fn invalid_oauth_settings_are_reported_with_a_fix() {
    let authority = Authority::start(1_000);
    let away =
        json!({"clientId": "client", "redirectUri": "https://example.com/shows-its-address"});
    let (code, said) = log_in(&configured(&authority, &away));
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("hint: mcp login guarded --no-browser"), "{said}");
    let half = json!({"clientId": "client", "authorizationUrl": "https://example.com/authorize"});
    let (code, said) = log_in(&configured(&authority, &half));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("it requires a token URL"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn redirect_url_is_pasted_without_a_browser() {
    use crate::terminal::Session;
    let authority = Authority::start(1_000);
    let machine = machine(&authority);
    let mut session = Session::start(&machine, &["login", "guarded", "--no-browser"], &[]);
    session.expect("open this page in any browser and log in:");
    let page = session.word_with("/authorize?");
    session.expect("paste that URL here: ");
    let ended_at = get(&page).0.unwrap();
    session.type_in(&format!("{ended_at}\n"));
    session.expect("logged in to guarded");
    assert_eq!(session.end().0, 0);
    assert_eq!(machine.run(["call", "guarded/whoami"]).code, 0);
}

#[test]
fn gateway_connects_after_a_login_in_another_process() {
    let authority = Authority::start(1_000);
    let machine = machine(&authority);
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    while gateway.tools() != ["mcp__guarded__authenticate"] {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    assert_eq!(log_in(&machine).0, 0);
    while gateway.tools() != ["mcp__guarded__whoami"] {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    let who = gateway.call("mcp__guarded__whoami", &json!({}));
    assert_eq!(who["content"][0]["text"], "ada", "{who}");
    gateway.end();
}

#[test]
fn two_gateways_share_a_login_and_use_no_token_twice() {
    // Few requests per token, so that both processes have to renew it at the same time.
    let authority = Authority::start(6);
    let machine = machine(&authority);
    assert_eq!(log_in(&machine).0, 0);
    assert_eq!(machine.run(["tools"]).code, 0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut gateway = Gateway::start(&machine, &[], &json!({}));
                for at in 0..8 {
                    let who = gateway.call("mcp__guarded__whoami", &json!({}));
                    assert_eq!(who["content"][0]["text"], "ada", "call {at}: {who}");
                }
                gateway.end();
            });
        }
    });
    let state = authority.state.lock().unwrap();
    assert_eq!(state.double_spends, 0);
    assert!(state.refreshes >= 4, "{}", state.refreshes);
    drop(state);
    assert_eq!(
        machine.run(["call", "guarded/whoami"]).code,
        0,
        "the next command is logged in too"
    );
}

#[test]
fn local_program_has_no_login() {
    let machine = Machine::new();
    machine.run(["add", "-s", "user", "demo", "--", MCP, "demo", "--stdio"]);
    assert_eq!(machine.run(["login", "demo"]).code, 2);
}

/// Returns the files under `folder` that contain `word`.
fn found(folder: &Path, word: &str) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(found(&path, word));
        } else if std::fs::read(&path).is_ok_and(|b| String::from_utf8_lossy(&b).contains(word)) {
            files.push(path);
        }
    }
    files
}
