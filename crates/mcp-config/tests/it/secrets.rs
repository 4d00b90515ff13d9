//! Secrets are never printed.

use mcp_config::{
    Document, Environment, Layers, ReadOptions, Remote, Scope, ServerConfig, Transport, expand,
    expand::{AskInput, NoInputs},
    model::InheritEnv,
    read, resolve,
};

const FILE: &str = r#"{"mcpServers":{
  "a":{"command":"x","args":["--key","${FROM_ENV}"],"env":{"LITERAL":"env-literal","N":"${FROM_ENV}"}},
  "b":{"type":"http","url":"https://user:url-password@h/mcp?key=query-secret",
       "headers":{"Authorization":"Bearer header-literal","X":"${FROM_ENV:-default-secret}"},
       "oauth":{"clientId":"public","clientSecret":"oauth-literal"}},
  "c":{"url":"https://h/","headers":{"Authorization":["array-secret"]}},
  "d":{"url":"https://h/","headers":{"Authorization":"broken-secret\n"}},
  "e":{"command":"x","env":{"A=B":"name-secret"}},
  "f":{"command":"x","env":{"A":{"deep":"deep-secret"}}},
  "g":{"type":"http","url":"https://h/${FROM_ENV}/mcp"},
  "h":{"command":"${FROM_ENV}"},
  "i":{"command":"x","args":["--api-key","arg-secret","--token=arg-token","-e","DB_PASSWORD=arg-password",
       "--pat","arg-pat","-e","SESSION_COOKIE=arg-cookie"],
       "unheard":{"of":"extra-secret"}},
  "j":{"url":"https://h/j","headersHelper":"get --secret helper-secret"},
  "k":{"url":"https://h/","auth":"Bearer auth-secret"},
  "l":{"url":"https://h/","type":"Type-secret"},
  "m":{"command":"x","connect":"Connect-secret"},
  "n":{"command":"x","era":"Era_secret"},
  "o":{"url":"https://h/","headers":{"Authorization: Bearer colon-secret":""}}
}}"#;

const SECRETS: [&str; 23] = [
    "env-literal",
    "url-password",
    "query-secret",
    "header-literal",
    "default-secret",
    "oauth-literal",
    "array-secret",
    "broken-secret",
    "name-secret",
    "deep-secret",
    "value-from-env",
    "arg-secret",
    "arg-token",
    "arg-password",
    "arg-pat",
    "arg-cookie",
    "extra-secret",
    "helper-secret",
    "auth-secret",
    "Type-secret",
    "Connect-secret",
    "Era_secret",
    "colon-secret",
];

fn assert_silent(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} shows {secret}: {text}");
    }
}

#[test]
fn no_debug_display_explanation_or_diagnostic_shows_a_secret() {
    let document = read(FILE.as_bytes(), &ReadOptions::new(".mcp.json"));
    assert_eq!(document.entries.len(), 6);
    assert_eq!(document.diagnostics.len(), 10);
    assert_silent("a document", &format!("{document:?}"));
    for diagnostic in &document.diagnostics {
        assert_silent("a diagnostic", &diagnostic.to_string());
    }
    let mut layers = Layers::new();
    layers.env = Environment::empty().with("FROM_ENV", "value-from-env");
    layers.push(Scope::User, document.clone());
    // The same servers under other names are duplicates, whose signatures are shown.
    let renamed = document.entries.iter().map(|entry| {
        let mut config = entry.config.clone();
        config.name = format!("{}2", config.name).parse().unwrap();
        config
    });
    layers.push(Scope::Cloud, Document::from_servers("cloud", renamed));
    assert_silent("layers", &format!("{layers:?}"));
    let resolution = resolve(&layers);
    assert_silent("a resolution", &format!("{resolution:?}"));
    assert_eq!(resolution.servers().count(), 6, "the others are duplicates");
    for name in [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "a2", "b2",
        "g2", "h2", "i2", "j2",
    ] {
        assert_silent("an explanation", &resolution.explain(name).to_string());
        assert_silent("an explanation", &format!("{:?}", resolution.explain(name)));
    }
    for entry in &document.entries {
        let expanded = expand(&entry.config, &layers.env, &NoInputs).unwrap();
        assert_silent("an expanded server", &format!("{expanded:?} {expanded:#?}"));
    }
}

#[test]
fn expose_returns_the_secret_values() {
    let document = read(FILE.as_bytes(), &ReadOptions::new(".mcp.json"));
    let env = Environment::empty().with("FROM_ENV", "value-from-env");
    let expanded = expand(&document.get("b").unwrap().config, &env, &NoInputs).unwrap();
    let remote = expanded.transport.remote().unwrap();
    assert_eq!(remote.headers.get("X").unwrap().expose(), "value-from-env");
    assert_eq!(remote.url.expose(), "https://user:url-password@h/mcp?key=query-secret");
}

#[test]
fn unset_variables_fail_with_their_name() {
    let text = r#"{"mcpServers":{
      "unset":{"command":"x","args":["ok","${NOPE}"]},
      "recursive":{"command":"${SELF}"},
      "injected":{"url":"https://h/","headers":{"X":"${NEWLINE}"}},
      "asked":{"command":"${input:token}"},
      "unknown":{"command":"${command:pick}"},
      "nowhere":{"command":"${workspaceFolder}/x"},
      "homeless":{"command":"~/x"},
      "missing":{"url":"https://h/","headers":{"X":"${file:/nonexistent/secret}"}}
    }}"#;
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    let env = Environment::empty().with("SELF", "${SELF}").with("NEWLINE", "a\r\nEvil: 1");
    let outcome = |name: &str| match expand(&document.get(name).unwrap().config, &env, &NoInputs) {
        Ok(server) => match &server.transport {
            mcp_config::Transport::Stdio(stdio) => format!("runs {}", stdio.command.expose()),
            _ => "connects".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    for (name, expected) in [
        (
            "unset",
            "server `unset`: `args[1]` needs the environment variable NOPE, which is not set",
        ),
        ("recursive", "runs ${SELF}"),
        (
            "injected",
            "server `injected`: `headers.X` is invalid after expansion: it contains a line break",
        ),
        ("asked", "server `asked`: `command` needs the input `token`, which was not given"),
        (
            "unknown",
            "server `unknown`: `command` uses ${command:pick}, which is not a known variable",
        ),
        ("nowhere", "server `nowhere`: `command` needs the workspace folder, which is not known"),
        ("homeless", "server `homeless`: `command` needs the home directory, which is not known"),
        (
            "missing",
            "server `missing`: `headers.X` needs the file /nonexistent/secret, which could not be read",
        ),
    ] {
        assert_eq!(outcome(name), expected);
    }
}

struct Store;

impl AskInput for Store {
    fn input(&self, _id: &str) -> Option<String> {
        None
    }

    fn secret(&self, name: &str) -> Option<String> {
        (name == "github").then(|| "stored-value".to_owned())
    }
}

#[test]
fn secret_variable_is_read_from_the_secret_store() {
    let text = r#"{"mcpServers":{"x":{"type":"http","url":"https://h/",
        "headers":{"Authorization":"Bearer ${secret:github}"}}}}"#;
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    let config = &document.get("x").unwrap().config;
    let env = Environment::empty();
    let expanded = expand(config, &env, &Store).unwrap();
    let header = expanded.transport.remote().unwrap().headers.get("Authorization").unwrap();
    assert_eq!(header.expose(), "Bearer stored-value");
    assert!(!format!("{expanded:?}").contains("stored-value"));
    let error = expand(config, &env, &NoInputs).unwrap_err().to_string();
    assert!(
        error.contains("the secret `github`, which is not stored; run `mcp secret set github`")
    );
    let other = ServerConfig::new(
        "y".parse().unwrap(),
        Transport::Http(Remote::new("https://h/?k=${secret:other}")),
    );
    assert!(expand(&other, &env, &Store).is_err());
    // In files of other tools it is literal text.
    let claude = text.replace("{\"mcpServers\"", "{\"projects\":{},\"mcpServers\"");
    let claude = read(claude.as_bytes(), &ReadOptions::new("/user/me/.claude.json"));
    let remote = claude.get("x").unwrap().config.transport.remote().unwrap();
    assert!(remote.headers.get("Authorization").unwrap().template().is_final());
}

#[test]
fn inherit_env_defaults_to_safe_and_rejects_unknown_values() {
    let of = |text: &str| {
        let text = format!(r#"{{"mcpServers":{{"x":{{"command":"x"{text}}}}}}}"#);
        let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
        match document.get("x").map(|entry| entry.config.transport.clone()) {
            Some(Transport::Stdio(stdio)) => Ok(stdio.inherit_env),
            _ => Err(document.diagnostics[0].to_string()),
        }
    };
    assert_eq!(of(""), Ok(InheritEnv::Safe));
    assert_eq!(of(r#","inheritEnv":"safe""#), Ok(InheritEnv::Safe));
    assert_eq!(of(r#","inheritEnv":"all""#), Ok(InheritEnv::All));
    assert!(of(r#","inheritEnv":"some""#).unwrap_err().contains("expected `safe` or `all`"));
}
