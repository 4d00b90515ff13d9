//! Every setting of a server as one line of text. These lines are shown before an approval and hashed into
//! it.
//!
//! Each struct is destructured by name, so a new field does not compile until it has a line. Settings at
//! their default have none. Two configurations that differ have different lines.

use std::fmt::Display;

use mcp_safe::text::escape;

use super::{
    secret_map::SecretMap,
    server::{
        AlwaysLoad, AuthKind, ConnectMode, EraPin, InheritEnv, Limits, OAuth, Remote, Sdk,
        ServerConfig, Stdio, Timeouts, Tls, ToolFilter, Transport,
    },
    template::{Syntax, Template},
};

/// The lines of `config`, unexpanded, whole and escaped: `args[0] "-y"`.
pub(crate) fn lines(config: &ServerConfig) -> Vec<String> {
    let mut lines = Lines(Vec::new());
    lines.config(config);
    lines.0
}

struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, path: &str, value: impl Display) {
        self.0.push(escape(&format!("{path} {value}")).into_owned());
    }

    fn text(&mut self, path: &str, text: &str) {
        self.add(path, quoted(text));
    }

    fn maybe(&mut self, path: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(path, value);
        }
    }

    /// Text that looks like a variable but is literal in its dialect gets a different path.
    fn template(&mut self, path: &str, template: &Template) {
        let text = template.unexpanded();
        let own = Syntax::OWN.parse(text);
        if own.parts() == template.parts() {
            self.text(path, text);
        } else if template.parts().is_empty() {
            self.text(&format!("{path}.literal"), text);
        } else {
            self.text(&format!("{path}.unknown"), text);
        }
    }

    fn maybe_template(&mut self, path: &str, template: Option<&Template>) {
        if let Some(template) = template {
            self.template(path, template);
        }
    }

    fn names(&mut self, path: &str, names: &[String]) {
        for (index, name) in names.iter().enumerate() {
            self.text(&format!("{path}[{index}]"), name);
        }
    }

    fn map(&mut self, path: &str, map: &SecretMap) {
        for (name, value) in map.iter() {
            self.template(&format!("{path}.{}", key(name)), value.template());
        }
    }

    fn config(&mut self, config: &ServerConfig) {
        let ServerConfig {
            name,
            transport,
            enabled,
            timeouts: Timeouts { startup, call, total },
            tools: ToolFilter { allow, deny },
            always_load,
            trust,
            limits: Limits { description: description_limit, output },
            connect,
            era,
            auth,
            description,
            extra,
        } = config;
        self.text("name", name.as_str());
        self.text("type", transport.kind());
        match transport {
            Transport::Stdio(stdio) => self.stdio(stdio),
            Transport::Sdk(Sdk { server }) => self.maybe("server", server.as_deref().map(quoted)),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                self.remote(remote);
            }
        }
        self.maybe("enabled", (!enabled).then_some(false));
        for (path, time) in
            [("timeouts.startup", startup), ("timeouts.call", call), ("timeouts.total", total)]
        {
            self.maybe(path, time.map(|time| format!("{time:?}")));
        }
        match allow.as_deref() {
            Some([]) => self.add("tools.allow", "[]"),
            Some(allow) => self.names("tools.allow", allow),
            None => {}
        }
        self.names("tools.deny", deny);
        match always_load {
            AlwaysLoad::No => {}
            AlwaysLoad::All => self.add("alwaysLoad", true),
            AlwaysLoad::Tools(tools) if tools.is_empty() => self.add("alwaysLoad", "[]"),
            AlwaysLoad::Tools(tools) => self.names("alwaysLoad", tools),
        }
        self.maybe("trust", trust.then_some(true));
        self.maybe("limits.description", *description_limit);
        self.maybe("limits.output", *output);
        self.maybe(
            "connect",
            connect.map(|mode| match mode {
                ConnectMode::Eager => "eager",
                ConnectMode::Lazy => "lazy",
            }),
        );
        self.maybe(
            "era",
            era.as_ref().map(|era| match era {
                EraPin::Legacy => "legacy".to_owned(),
                EraPin::Modern => "modern".to_owned(),
                EraPin::Version(version) => quoted(version),
            }),
        );
        self.maybe(
            "auth",
            auth.map(|auth| match auth {
                AuthKind::None => "none",
                AuthKind::Headers => "headers",
                AuthKind::OAuth => "oauth",
            }),
        );
        self.maybe("description", description.as_deref().map(quoted));
        for (name, value) in extra {
            self.add(&format!("unknown.{}", key(name)), value);
        }
    }

    fn stdio(&mut self, stdio: &Stdio) {
        let Stdio { command, args, env, env_pass, env_unset, inherit_env, env_file, cwd, sandbox } =
            stdio;
        self.template("command", command);
        for (index, arg) in args.iter().enumerate() {
            self.template(&format!("args[{index}]"), arg);
        }
        self.map("env", env);
        self.names("envPass", env_pass);
        self.names("envUnset", env_unset);
        match inherit_env {
            InheritEnv::Safe => {}
            InheritEnv::All => self.add("inheritEnv", "all"),
        }
        self.maybe_template("envFile", env_file.as_ref());
        self.maybe_template("cwd", cwd.as_ref());
        self.maybe("sandbox", sandbox.as_ref().map(mcp_sandbox::Profile::to_json));
    }

    fn remote(&mut self, remote: &Remote) {
        let Remote { url, headers, headers_helper, oauth, tls, env, env_pass } = remote;
        self.template("url", url);
        self.map("headers", headers);
        self.maybe_template("headersHelper", headers_helper.as_ref());
        self.map("env", env);
        self.names("envPass", env_pass);
        if let Some(oauth) = oauth {
            self.oauth(oauth);
        }
        if let Some(tls) = tls {
            let Tls { ca, cert, key } = &**tls;
            self.add("tls", "{}");
            self.maybe_template("tls.ca", ca.as_ref());
            self.maybe_template("tls.cert", cert.as_ref());
            self.maybe_template("tls.key", key.as_ref());
        }
    }

    fn oauth(&mut self, oauth: &OAuth) {
        let OAuth {
            client_id,
            client_secret,
            scopes,
            callback_port,
            redirect_uri,
            metadata_url,
            authorization_url,
            token_url,
            resource,
        } = oauth;
        self.add("oauth", "{}");
        self.maybe_template("oauth.clientId", client_id.as_ref());
        let secret = client_secret.as_ref().map(super::template::SecretText::template);
        self.maybe_template("oauth.clientSecret", secret);
        self.names("oauth.scopes", scopes);
        self.maybe("oauth.callbackPort", *callback_port);
        self.maybe_template("oauth.redirectUri", redirect_uri.as_ref());
        self.maybe_template("oauth.authServerMetadataUrl", metadata_url.as_ref());
        self.maybe_template("oauth.authorizationUrl", authorization_url.as_ref());
        self.maybe_template("oauth.tokenUrl", token_url.as_ref());
        self.maybe_template("oauth.resource", resource.as_ref());
    }
}

/// Quotes as a JSON string, so that a quote in the text cannot end it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A key in a path, quoted if it could be read as another path.
fn key(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(plain) { name.to_owned() } else { quoted(name) }
}
