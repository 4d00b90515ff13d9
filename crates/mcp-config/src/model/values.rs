//! The texts of an entry that expansion fills in, for hosts that remove them from logs and recordings.

use super::{
    secret_map::SecretMap,
    server::{OAuth, Remote, Sdk, ServerConfig, Stdio, Tls, Transport},
    template::{SecretText, Template},
};

/// One text of an entry, or a variable that it passes on.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a host that redacts has to handle each kind")]
pub enum Value<'c> {
    /// A text that is secret as a whole: the value of a header or variable, a client secret.
    Secret(&'c SecretText),
    /// A text that is not secret as a whole: a command, an argument, a path, a URL.
    Text(&'c Template),
    /// The name of a variable of the host that is passed on.
    Passed(&'c str),
}

impl ServerConfig {
    /// Every text of the entry that may contain a secret once it is expanded.
    ///
    /// ```
    /// use mcp_config::{ServerConfig, Stdio, Transport, model::Value};
    ///
    /// let mut program = Stdio::new("server");
    /// program.cwd = Some("/srv/${secret:tenant}".into());
    /// let config = ServerConfig::new("x".parse()?, Transport::Stdio(program));
    /// let texts = config.values().into_iter().filter(|value| matches!(value, Value::Text(_)));
    /// assert_eq!(texts.count(), 2);
    /// # Ok::<(), mcp_config::model::NameError>(())
    /// ```
    pub fn values(&self) -> Vec<Value<'_>> {
        // Structs are destructured, so that a new field does not compile until it is listed or left out on purpose.
        let Self {
            transport,
            name: _,
            enabled: _,
            timeouts: _,
            tools: _,
            always_load: _,
            trust: _,
            limits: _,
            connect: _,
            era: _,
            auth: _,
            description: _,
            extra: _,
        } = self;
        let mut all = Values(Vec::new());
        match transport {
            Transport::Stdio(stdio) => all.stdio(stdio),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                all.remote(remote);
            }
            Transport::Sdk(Sdk { server: _ }) => {}
        }
        all.0
    }
}

struct Values<'c>(Vec<Value<'c>>);

impl<'c> Values<'c> {
    fn stdio(&mut self, stdio: &'c Stdio) {
        let Stdio {
            command,
            args,
            env,
            env_pass,
            env_unset: _,
            inherit_env: _,
            env_file,
            cwd,
            sandbox: _,
        } = stdio;
        self.secrets(env);
        self.passed(env_pass);
        self.texts(std::iter::once(command).chain(args).chain(env_file).chain(cwd));
    }

    fn remote(&mut self, remote: &'c Remote) {
        let Remote { url, headers, headers_helper, oauth, tls, env, env_pass } = remote;
        self.secrets(env);
        self.secrets(headers);
        self.passed(env_pass);
        self.texts(std::iter::once(url).chain(headers_helper));
        if let Some(oauth) = oauth {
            self.oauth(oauth);
        }
        if let Some(tls) = tls {
            let Tls { ca, cert, key } = &**tls;
            self.texts([ca, cert, key].into_iter().flatten());
        }
    }

    fn oauth(&mut self, oauth: &'c OAuth) {
        let OAuth {
            client_id,
            client_secret,
            scopes: _,
            callback_port: _,
            redirect_uri,
            metadata_url,
            authorization_url,
            token_url,
            resource,
        } = oauth;
        self.0.extend(client_secret.iter().map(Value::Secret));
        let texts = [client_id, redirect_uri, metadata_url, authorization_url, token_url, resource];
        self.texts(texts.into_iter().flatten());
    }

    fn secrets(&mut self, map: &'c SecretMap) {
        self.0.extend(map.iter().map(|(_, value)| Value::Secret(value)));
    }

    fn passed(&mut self, names: &'c [String]) {
        self.0.extend(names.iter().map(|name| Value::Passed(name)));
    }

    fn texts(&mut self, templates: impl Iterator<Item = &'c Template>) {
        self.0.extend(templates.map(Value::Text));
    }
}
