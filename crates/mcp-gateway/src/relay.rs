//! Forwards requests of a server to the client: each names its server, and fields for credentials are marked.

use std::sync::Arc;

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_safe::{
    secrets::is_secret_member,
    text::{one_line, strip},
};
use mcp_types::{
    BoxFuture, ClientCapabilities, CreateMessageRequest, CreateMessageResult, ElicitRequest,
    ElicitResult, Handler, Root,
    events::{Refusal, ServerEvent},
};

/// The client of a call, as the handler for requests of servers.
pub(crate) struct Relay(Arc<dyn Handler>);

impl Relay {
    pub(crate) fn to(client: Arc<dyn Handler>) -> Arc<dyn Handler> {
        Arc::new(Self(client))
    }
}

impl Handler for Relay {
    fn capabilities(&self) -> ClientCapabilities {
        self.0.capabilities()
    }

    /// A form of the gateway itself.
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.0.elicit(request)
    }

    fn elicit_for(&self, server: &str, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.0.elicit(named(server, request))
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        self.0.sample(request)
    }

    fn sample_for(
        &self,
        server: &str,
        mut request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        // The client would include the context of all servers behind the gateway.
        request.include_context = None;
        let prompt = request.system_prompt.unwrap_or_default();
        request.system_prompt = Some(format!("{} {prompt}", tag(server)).trim_end().to_owned());
        self.0.sample(request)
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        self.0.roots()
    }

    fn event(&self, event: ServerEvent) {
        self.0.event(event);
    }
}

fn tag(server: &str) -> String {
    format!("[server {}]", one_line(server, 100))
}

fn named(server: &str, mut request: ElicitRequest) -> ElicitRequest {
    let mut credentials = Vec::new();
    if let Some(schema) = &request.requested_schema {
        request.requested_schema = Some(marked(server, schema, &mut credentials));
    }
    let warning = match credentials.join(", ") {
        fields if fields.is_empty() => String::new(),
        fields => format!("\n(Looks like a credential that this server would get: {fields})"),
    };
    request.message = format!("{} {}{warning}", tag(server), strip(&request.message));
    request
}

/// Marks the fields for credentials in the schema of a form. Their names are added to `credentials`.
fn marked(server: &str, schema: &RawJson, credentials: &mut Vec<String>) -> RawJson {
    let mut all = ObjectWriter::new();
    for (key, value) in schema.members() {
        if key == "properties" && value.is_object() {
            all.raw(&key, &marked_fields(server, &value, credentials));
        } else {
            all.raw(&key, &value);
        }
    }
    all.finish()
}

fn marked_fields(server: &str, fields: &RawJson, credentials: &mut Vec<String>) -> RawJson {
    let mut all = ObjectWriter::new();
    for (name, field) in fields.members() {
        if is_credential(&name, &field) {
            credentials.push(one_line(&name, 100).into_owned());
            all.raw(&name, &with_warning(server, &field));
        } else {
            all.raw(&name, &field);
        }
    }
    all.finish()
}

fn is_credential(name: &str, field: &RawJson) -> bool {
    let title = text(field, "title").unwrap_or_default();
    text(field, "format").is_some_and(|format| format == "password")
        || is_secret_member(name)
        || title.split_whitespace().any(is_secret_member)
}

fn with_warning(server: &str, field: &RawJson) -> RawJson {
    let mut all = ObjectWriter::new();
    let own = text(field, "description").unwrap_or_default();
    let warning = format!("[credential for the server {}] {}", one_line(server, 100), strip(&own));
    all.string("description", warning.trim_end());
    for (key, value) in field.members().filter(|(key, _)| key != "description") {
        all.raw(&key, &value);
    }
    all.finish()
}

fn text(field: &RawJson, key: &str) -> Option<String> {
    field.get(key)?.decode().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_names_its_server_and_marks_credentials() {
        let schema = RawJson::parse(
            r#"{"type":"object","properties":{"user":{"type":"string"},"pin":{"type":"string","format":"password","description":"Four digits"},"x":{"type":"string","title":"Your API token"}},"required":["user"]}"#,
        );
        let asked = ElicitRequest::form("Session\u{1b}[2J expired", schema.unwrap());
        let asked = named("evil\n[server bank]", asked);
        assert_eq!(
            asked.message,
            "[server evil [server bank]] Session[2J expired\n(Looks like a credential that this server would get: pin, x)"
        );
        assert_eq!(
            asked.requested_schema.unwrap().as_str(),
            r#"{"type":"object","properties":{"user":{"type":"string"},"pin":{"description":"[credential for the server evil [server bank]] Four digits","type":"string","format":"password"},"x":{"description":"[credential for the server evil [server bank]]","type":"string","title":"Your API token"}},"required":["user"]}"#
        );
    }

    #[test]
    fn page_names_its_server_and_keeps_its_address() {
        let mut asked = ElicitRequest::form("Sign in", RawJson::empty_object());
        asked.mode = Some("url".into());
        asked.requested_schema = None;
        asked.url = Some("https://example.com/".into());
        let asked = named("shop", asked);
        assert_eq!(asked.message, "[server shop] Sign in");
        assert_eq!(asked.url.as_deref(), Some("https://example.com/"));
    }
}
