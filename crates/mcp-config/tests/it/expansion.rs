//! Expansion of each field, and limits on files.

use std::fs;

use mcp_config::{
    Environment, ReadOptions, Remote, ServerConfig, Transport, expand,
    expand::{ExpandCause, NoInputs},
    read,
    resolve::Signature,
};

fn entry(text: &str) -> ServerConfig {
    let text = format!(r#"{{"mcpServers":{{"x":{text}}}}}"#);
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    document.get("x").unwrap_or_else(|| panic!("{:?}", document.diagnostics)).config.clone()
}

fn env() -> Environment {
    let mut env = Environment::empty().with("V", "value").with("HOST", "h.test");
    env.home = Some("/user/me".into());
    env
}

#[test]
fn every_field_of_an_endpoint_is_expanded() {
    let config = entry(
        r#"{"type":"http","url":"https://${HOST}/","headers":{"A":"${V}"},"headersHelper":"~/h ${V}",
            "oauth":{"clientId":"${V}1","clientSecret":"${V}2","redirectUri":"${V}3",
                "authServerMetadataUrl":"${V}4","authorizationUrl":"${V}5","tokenUrl":"${V}6","resource":"${V}7"},
            "tls":{"ca":"~/${V}a","cert":"~/${V}b","key":"~/${V}c"}}"#,
    );
    let expanded = expand(&config, &env(), &NoInputs).unwrap();
    let remote = expanded.transport.remote().unwrap();
    assert_eq!(remote.url.expose(), "https://h.test/");
    assert_eq!(remote.headers.get("A").unwrap().expose(), "value");
    let command = remote.helper_command(None, |_| None).unwrap();
    assert_eq!(command.line, ["/user/me/h", "value"]);
    let oauth = remote.oauth.as_ref().unwrap();
    assert_eq!(oauth.client_secret.as_ref().unwrap().expose(), "value2");
    let fields = [
        &oauth.client_id,
        &oauth.redirect_uri,
        &oauth.metadata_url,
        &oauth.authorization_url,
        &oauth.token_url,
        &oauth.resource,
    ];
    let values: Vec<&str> = fields.iter().map(|field| field.as_ref().unwrap().expose()).collect();
    assert_eq!(values, ["value1", "value3", "value4", "value5", "value6", "value7"]);
    let tls = remote.tls.as_ref().unwrap();
    let files = [&tls.ca, &tls.cert, &tls.key].map(|file| file.as_ref().unwrap().expose());
    assert_eq!(files, ["/user/me/valuea", "/user/me/valueb", "/user/me/valuec"]);
}

#[test]
fn every_field_of_a_program_is_expanded() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    fs::write(format!("{home}/value.env"), "").unwrap();
    let mut env = env();
    env.home = Some(home.into());
    let config = entry(
        r#"{"command":"~/${V}","args":["${V}","~","~\\x","~other","a~"],"env":{"A":"~/${V}"},
            "envFile":"~/${V}.env","cwd":"${userHome}${pathSeparator}${V}"}"#,
    );
    let expanded = expand(&config, &env, &NoInputs).unwrap();
    let Transport::Stdio(stdio) = &expanded.transport else { panic!("a program") };
    assert_eq!(stdio.command.expose(), format!("{home}/value"));
    let args: Vec<&str> = stdio.args.iter().map(mcp_config::Template::expose).collect();
    assert_eq!(args, ["value", home, &format!("{home}\\x"), "~other", "a~"]);
    assert_eq!(stdio.env.get("A").unwrap().expose(), format!("{home}/value"));
    assert_eq!(stdio.env_file.as_ref().unwrap().expose(), format!("{home}/value.env"));
    let separator = std::path::MAIN_SEPARATOR;
    assert_eq!(stdio.cwd.as_ref().unwrap().expose(), format!("{home}{separator}value"));
}

#[test]
fn variables_of_an_env_file_are_added_to_those_of_the_entry() {
    let folder = tempfile::tempdir().unwrap();
    let env = env().in_workspace(folder.path());
    let config = entry(r#"{"command":"x","env":{"A":"entry ${V}"},"envFile":"vars.env"}"#);
    let file = folder.path().join("vars.env");
    fs::write(&file, "A=file\nB='${V} CANARY' # comment\nC=1\nC=2\n").unwrap();
    let expanded = expand(&config, &env, &NoInputs).unwrap();
    let Transport::Stdio(stdio) = &expanded.transport else { panic!("a program") };
    let values: Vec<_> = stdio.env.iter().map(|(name, value)| (name, value.expose())).collect();
    assert_eq!(values, [("A", "entry value"), ("B", "${V} CANARY"), ("C", "2")]);
    assert!(!format!("{expanded:?}").contains("CANARY"));

    let failure = |env: &Environment| expand(&config, env, &NoInputs).unwrap_err();
    fs::write(&file, "A=1\n\nnonsense\n").unwrap();
    let error = failure(&env);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        error.to_string().contains("`envFile` needs the file vars.env, which could not be read")
    );
    assert_eq!(source, "line 3 is not of the form `NAME=value`");
    fs::write(&file, "A=a\0b").unwrap();
    assert!(failure(&env).to_string().contains("contains a NUL character"));
    fs::write(&file, vec![b'#'; (64 << 10) + 1]).unwrap();
    assert!(matches!(failure(&env).cause, ExpandCause::File(..)));
    fs::remove_file(&file).unwrap();
    assert!(matches!(failure(&env).cause, ExpandCause::File(..)));
    assert!(matches!(failure(&self::env()).cause, ExpandCause::NoFolder(_)));
}

#[test]
fn expansion_error_names_the_missing_value_and_its_field() {
    for (text, said) in [
        (r#"{"command":"${X}"}"#, "`command` needs the environment variable X, which is not set"),
        (r#"{"command":"x","args":["a","${X}"]}"#, "`args[1]` needs the environment variable X"),
        (r#"{"command":"x","env":{"A":"${X}"}}"#, "`env.A` needs"),
        (r#"{"command":"x","envFile":"${X}"}"#, "`envFile` needs"),
        (
            r#"{"command":"x","cwd":"${workspaceFolder}"}"#,
            "`cwd` needs the workspace folder, which is not known",
        ),
        (
            r#"{"command":"x","cwd":"${workspaceFolderBasename}"}"#,
            "`cwd` needs the workspace folder",
        ),
        (
            r#"{"type":"http","url":"https://h/${input:i}"}"#,
            "`url` needs the input `i`, which was not given",
        ),
        (r#"{"type":"http","url":"https://h/","headersHelper":"${X}"}"#, "`headersHelper` needs"),
        (
            r#"{"type":"http","url":"https://h/","oauth":{"tokenUrl":"${X}"}}"#,
            "`oauth.tokenUrl` needs",
        ),
        (
            r#"{"type":"http","url":"https://h/","oauth":{"clientSecret":"${X}"}}"#,
            "`oauth.clientSecret` needs",
        ),
        (r#"{"type":"http","url":"https://h/","tls":{"key":"${X}"}}"#, "`tls.key` needs"),
        (r#"{"command":"x","args":["${command:y}"]}"#, "`args[0]` uses ${command:y}"),
        (
            r#"{"type":"http","url":"https://h/","headers":{"A":"${NUL}"}}"#,
            "it contains a NUL character",
        ),
        (
            r#"{"type":"http","url":"https://h/","headers":{"A":"${LINE}"}}"#,
            "`headers.A` is invalid after expansion: it contains a line break",
        ),
        (
            r#"{"type":"http","url":"https://h/","headers":{"A":"${RETURN}"}}"#,
            "it contains a line break",
        ),
    ] {
        let env = env().with("NUL", "a\0b").with("LINE", "a\nb").with("RETURN", "a\rb");
        let error = expand(&entry(text), &env, &NoInputs).unwrap_err().to_string();
        assert!(error.starts_with("server `x`: ") && error.contains(said), "{text}: {error}");
    }
}

#[test]
fn file_variable_is_size_limited_and_resolves_relative_paths() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut env = Environment::empty().in_workspace(at);
    env.home = Some(at.join("home"));
    fs::create_dir(at.join("home")).unwrap();
    let value = |file: &str| {
        let url = format!("https://h/${{file:{file}}}");
        let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(&*url)));
        expand(&config, &env, &NoInputs)
            .map(|expanded| expanded.transport.remote().unwrap().url.expose()[10..].to_owned())
            .map_err(|error| match error.cause {
                ExpandCause::File(path, source) => (path, source.kind()),
                other => panic!("{other:?}"),
            })
    };
    fs::write(at.join("key"), "  in the project \n").unwrap();
    fs::write(at.join("home/key"), "at home").unwrap();
    assert_eq!(value("key").unwrap(), "in the project");
    assert_eq!(value("~/key").unwrap(), "at home");
    assert_eq!(value(&at.join("home/key").to_string_lossy()).unwrap(), "at home");
    let most = 64 << 10;
    fs::write(at.join("full"), "a".repeat(most)).unwrap();
    assert_eq!(value("full").unwrap().len(), most);
    fs::write(at.join("over"), "a".repeat(most + 1)).unwrap();
    assert_eq!(value("over").unwrap_err(), ("over".to_owned(), std::io::ErrorKind::FileTooLarge));
    assert_eq!(value("absent").unwrap_err().1, std::io::ErrorKind::NotFound);
    let config = entry(r#"{"type":"http","url":"https://h/${file:absent}"}"#);
    let error = expand(&config, &env, &NoInputs).unwrap_err();
    assert!(std::error::Error::source(&error).is_some());
    let unset = expand(&entry(r#"{"command":"${X}"}"#), &env, &NoInputs).unwrap_err();
    assert!(std::error::Error::source(&unset).is_none());
    fs::write(at.join("binary"), b"\xff\xfe").unwrap();
    assert_eq!(value("binary").unwrap_err().1, std::io::ErrorKind::InvalidData);
    // The value of a variable is not expanded again.
    fs::write(at.join("again"), "${file:key}").unwrap();
    assert_eq!(value("again").unwrap(), "${file:key}");
}

/// Servers are compared whenever files are read, which must not read secrets.
#[test]
fn file_variable_is_not_read_for_signatures() {
    let folder = tempfile::tempdir().unwrap();
    let env = Environment::empty().in_workspace(folder.path());
    for name in ["a", "b"] {
        fs::write(folder.path().join(name), "same").unwrap();
    }
    let of = |file: &str| {
        let url = format!("https://h/${{X:-${{file:{file}}}}}${{Y:-plain}}");
        let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(&*url)));
        Signature::of(&config, &env)
    };
    assert_eq!(of("a"), of("a"));
    assert_ne!(of("a"), of("b"));
}
