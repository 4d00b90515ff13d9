//! Collects the secrets in all fields of a server's entry.

use mcp_config::{Environment, ServerConfig, Stdio, Template, Transport, model::Value};
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
    for value in expanded.values() {
        match value {
            Value::Secret(secret) => {
                known.redactor.know(secret.expose());
                known.filled_in(secret.template());
            }
            Value::Text(template) => known.template(template),
            Value::Passed(name) => known.named(std::iter::once(name)),
        }
    }
    if let Transport::Stdio(program) = &expanded.transport {
        known.arguments(program);
    }
    known.redactor
}

struct SecretCollector<'a> {
    redactor: Redactor,
    environment: &'a Environment,
}

impl SecretCollector<'_> {
    /// Adds the values of options with the name of a secret: `--api-key KEY`.
    fn arguments(&mut self, program: &Stdio) {
        let mut is_value = false;
        for text in program.args.iter().map(Template::expose) {
            if is_value {
                self.redactor.know(text);
            }
            is_value = text.starts_with('-') && !text.contains('=') && is_secret_name(text);
        }
    }

    /// Adds the secret parts of a field that is not secret as a whole.
    fn template(&mut self, template: &Template) {
        let (before, after) = (template.unexpanded(), template.expose());
        self.filled_in(template);
        self.user(after);
        // The folders of the project and the home directory are ordinary words.
        let has_values = template.variables().next().is_some() || !template.asked().is_empty();
        let is_new = |part: &str| has_values && !before.contains(part);
        for part in after.split(MARKS).filter(|part| looks_secret(part) || is_new(part)) {
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

    /// Adds the values that were filled in, each alone: the text around them may be missing elsewhere.
    fn filled_in(&mut self, template: &Template) {
        self.named(template.variables());
        template.asked().into_iter().for_each(|value| self.redactor.know(value));
    }

    /// Adds the user and the password of a URL.
    fn user(&mut self, url: &str) {
        let (_, rest) = url.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            user.split(':').for_each(|part| self.redactor.know(part));
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
    use mcp_config::{ReadOptions, expand, expand::AskInput, read};

    use super::*;

    struct Stored;

    impl AskInput for Stored {
        fn input(&self, _id: &str) -> Option<String> {
            Some("in/put=lion-3".to_owned())
        }

        fn secret(&self, _name: &str) -> Option<String> {
            Some("st/ored=lion-2".to_owned())
        }
    }

    /// `text` after redaction. The file `key` of the workspace has the secret `fi/le=lion-1`.
    fn redacted(entry: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("workspace");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("key"), "fi/le=lion-1\n").unwrap();
        std::fs::write(place.join("vars"), "A=tiger-1\n").unwrap();
        let document = format!(r#"{{"mcpServers":{{"x":{entry}}}}}"#);
        let document = read(document.as_bytes(), &ReadOptions::new("x.json"));
        let environment =
            Environment::empty().with("SLASHED", "ab/cd+ef==").with("PLAIN", "hunter22");
        let mut environment = environment.in_workspace(&place);
        environment.home = Some(place);
        let config = &document.get("x").unwrap().config;
        let expanded = expand(config, &environment, &Stored).unwrap();
        redactor(&expanded, &environment).redact(text).into_owned()
    }

    #[test]
    fn values_of_files_stored_secrets_and_inputs_are_known_in_every_field() {
        for field in [
            r#""command":"VALUE""#,
            r#""command":"x","args":["--to","https://h/VALUE/x"]"#,
            r#""command":"x","cwd":"/srv/VALUE""#,
            r#""command":"x","env":{"A":"pre-VALUE"}"#,
            r#""url":"https://h/VALUE""#,
            r#""url":"https://h/","headers":{"A":"VALUE"}"#,
            r#""url":"https://h/","headersHelper":"h VALUE""#,
            r#""url":"https://h/","tls":{"ca":"/VALUE.pem"}"#,
            r#""url":"https://h/","tls":{"cert":"/VALUE.pem","key":"k"}"#,
            r#""url":"https://h/","tls":{"cert":"c","key":"~/VALUE"}"#,
            r#""url":"https://h/","oauth":{"redirectUri":"http://127.0.0.1:1/VALUE"}"#,
            r#""url":"https://h/","oauth":{"clientId":"VALUE"}"#,
            r#""url":"https://h/","oauth":{"clientId":"c","clientSecret":"VALUE"}"#,
            r#""url":"https://h/","oauth":{"resource":"https://h/VALUE"}"#,
        ] {
            for (written, value) in [
                ("${file:key}", "fi/le=lion-1"),
                ("${secret:s}", "st/ored=lion-2"),
                ("${input:i}", "in/put=lion-3"),
            ] {
                let entry = format!("{{{}}}", field.replace("VALUE", written));
                // Whole, and not only the parts between `/` and `=` that are long enough.
                assert_eq!(redacted(&entry, value), "[redacted]", "{entry}");
            }
        }
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
            (r#"{"command":"x","cwd":"/srv/${PLAIN}"}"#, "hunter22"),
            (r#"{"command":"x","envFile":"${workspaceFolder}/vars"}"#, "tiger-1"),
            (r#"{"url":"https://h/","tls":{"ca":"/ca/${PLAIN}"}}"#, "hunter22"),
            (
                r#"{"url":"https://h/","oauth":{"clientId":"us","redirectUri":"http://127.0.0.1:1/${PLAIN}"}}"#,
                "hunter22",
            ),
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
        let entry = r#"{"command":"~/server","cwd":"${workspaceFolder}"}"#;
        assert_eq!(redacted(entry, "a workspace"), "a workspace");
    }
}
