//! Collects the secrets in all fields of a server's entry.

use mcp_config::{Environment, Remote, ServerConfig, Stdio, Template, Transport, model::SecretMap};
use mcp_safe::secrets::{Redactor, is_secret_name, looks_secret};

/// Separators between the parts of an argument or URL.
const MARKS: [char; 9] = ['=', '&', '?', '/', ':', '@', ',', ';', '#'];

/// Builds a redactor for the secrets in `expanded`: values of variables and headers, expanded variables in any field,
/// and parts of arguments and URLs that have the name or the shape of a secret.
pub(super) fn redactor(expanded: &ServerConfig, environment: &Environment) -> Redactor {
    learn(Redactor::default(), expanded, environment)
}

/// Teaches a redactor the secrets of one more server.
pub(super) fn learn(
    redactor: Redactor,
    expanded: &ServerConfig,
    environment: &Environment,
) -> Redactor {
    let mut known = SecretCollector { redactor, environment };
    match &expanded.transport {
        Transport::Stdio(program) => known.program(program),
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            known.remote(remote);
        }
        _ => {}
    }
    known.redactor
}

struct SecretCollector<'a> {
    redactor: Redactor,
    environment: &'a Environment,
}

impl SecretCollector<'_> {
    fn program(&mut self, program: &Stdio) {
        self.values(&program.env);
        self.named(program.env_pass.iter().map(String::as_str));
        self.template(&program.command);
        let mut is_value = false;
        for arg in &program.args {
            self.template(arg);
            let text = arg.expose();
            if is_value {
                self.redactor.know(text);
            }
            // `--api-key KEY`
            is_value = text.starts_with('-') && !text.contains('=') && is_secret_name(text);
        }
    }

    fn remote(&mut self, remote: &Remote) {
        self.values(&remote.env);
        self.values(&remote.headers);
        self.named(remote.env_pass.iter().map(String::as_str));
        self.template(&remote.url);
        let (_, rest) = remote.url.expose().split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            user.split(':').for_each(|part| self.redactor.know(part));
        }
        self.templates(remote.headers_helper.as_ref());
        if let Some(oauth) = &remote.oauth {
            if let Some(secret) = &oauth.client_secret {
                self.redactor.know(secret.expose());
            }
            self.templates(
                [
                    &oauth.client_id,
                    &oauth.metadata_url,
                    &oauth.authorization_url,
                    &oauth.token_url,
                    &oauth.resource,
                ]
                .into_iter()
                .flatten(),
            );
        }
    }

    fn values(&mut self, map: &SecretMap) {
        for (_, value) in map.iter() {
            self.redactor.know(value.expose());
            self.named(value.template().variables());
        }
    }

    fn templates<'t>(&mut self, templates: impl IntoIterator<Item = &'t Template>) {
        templates.into_iter().for_each(|template| self.template(template));
    }

    /// Adds the secret parts of a field that is not secret as a whole.
    fn template(&mut self, template: &Template) {
        let (before, after) = (template.unexpanded(), template.expose());
        self.named(template.variables());
        for part in after.split(MARKS).filter(|part| looks_secret(part) || !before.contains(part)) {
            self.redactor.know(part);
        }
        for pair in after.split(['?', '&', ' ']) {
            if let Some((name, value)) = pair.split_once('=')
                && is_secret_name(name)
            {
                self.redactor.know(value);
            }
        }
    }

    /// Adds the values of these environment variables.
    fn named<'t>(&mut self, names: impl Iterator<Item = &'t str>) {
        for value in names.filter_map(|name| self.environment.get(name)) {
            self.redactor.know(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_config::{ReadOptions, expand, expand::NoInputs, read};

    use super::*;

    fn redacted(entry: &str, text: &str) -> String {
        let document = format!(r#"{{"mcpServers":{{"x":{entry}}}}}"#);
        let document = read(document.as_bytes(), &ReadOptions::new("x.json"));
        let environment =
            Environment::empty().with("SLASHED", "ab/cd+ef==").with("PLAIN", "hunter22");
        let config = &document.get("x").unwrap().config;
        let expanded = expand(config, &environment, &NoInputs).unwrap();
        redactor(&expanded, &environment).redact(text).into_owned()
    }

    #[test]
    fn secrets_are_known_from_every_field() {
        for (entry, text) in [
            (r#"{"command":"x","args":["--api-key","tiger-1"]}"#, "tiger-1"),
            (r#"{"command":"x","args":["--token=tiger-1"]}"#, "tiger-1"),
            (r#"{"command":"x","args":["--to=${PLAIN}"]}"#, "hunter22"),
            (r#"{"command":"x","args":["--to","https://h/${SLASHED}"]}"#, "ab/cd+ef=="),
            (r#"{"command":"x","env":{"A":"tiger-1"}}"#, "tiger-1"),
            (r#"{"command":"x","env":{"A":"pre-${PLAIN}"}}"#, "hunter22"),
            (r#"{"command":"x","envPass":["PLAIN"]}"#, "hunter22"),
            (r#"{"url":"https://h/?key=tiger-1&v=1"}"#, "tiger-1"),
            (r#"{"url":"https://h/?v=${PLAIN}"}"#, "hunter22"),
            (r#"{"url":"https://user-1:tiger-1@h/"}"#, "tiger-1"),
            (r#"{"url":"https://h/","headers":{"X":"Bearer tiger-1"}}"#, "tiger-1"),
            (
                r#"{"url":"https://h/","oauth":{"clientId":"us","clientSecret":"tiger-1"}}"#,
                "tiger-1",
            ),
            (
                r#"{"url":"https://h/","oauth":{"clientId":"us","tokenUrl":"https://h/${PLAIN}"}}"#,
                "hunter22",
            ),
        ] {
            assert_eq!(redacted(entry, text), "[redacted]", "{entry}");
        }
    }

    #[test]
    fn ordinary_arguments_stay() {
        let entry =
            r#"{"command":"server-files","args":["--root","/srv/data","--format=markdown"]}"#;
        let text = "server-files /srv/data markdown --format";
        assert_eq!(redacted(entry, text), text);
    }
}
