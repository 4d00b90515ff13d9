//! Consent to calls: elicitation from the user of the client that made the call.

use mcp_bridge::{Approval, ApprovalRequest, Approver};
use mcp_safe::text::{escape, one_line};
use mcp_tool::RawJson;
use mcp_types::{BoxFuture, ElicitAction, ElicitRequest};
use serde_json::json;

/// The maximum number of characters of arguments that are shown. A longer call is refused: the user would consent to
/// arguments that are not shown.
const MOST_ARGUMENTS: usize = 16_000;

/// The maximum number of characters of a changed definition that are shown. The question says if there are more; the
/// answer applies to one call only.
const MOST_CHANGES: usize = 2_000;

/// An [`Approver`] that asks the user through the client.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ClientConsent {
    /// Whether the client asks its user about every call, so that the gateway does not. Default no.
    pub trust_client: bool,
    /// Advice for the operator of the gateway on how to allow a call that was refused without an answer of the user.
    /// Default: none.
    pub advice: Option<fn(&ApprovalRequest) -> String>,
}

impl Approver for ClientConsent {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            // The client does not know about a definition that changed since it was approved, so ask anyway.
            if self.trust_client && request.changed.is_none() {
                return Approval::Once;
            }
            let owner = request.owner.as_deref();
            let Some(owner) = owner.filter(|owner| owner.capabilities().elicitation_form) else {
                return Approval::Unasked(
                    self.explain("this client does not support elicitation", &request),
                );
            };
            let message = match message(&request) {
                Ok(message) => message,
                Err(problem) => return Approval::Unasked(self.explain(&problem, &request)),
            };
            let answer = owner.elicit(ElicitRequest::form(message, schema())).await;
            let run = answer.content.and_then(|content| content.get("run"));
            // Require `true`: a form may come back without the fields that were not ticked.
            let is_yes = run.is_some_and(|run| run.as_str() == "true");
            match answer.action {
                ElicitAction::Accept if is_yes => Approval::Once,
                ElicitAction::Accept => Approval::Deny,
                // Some clients decline automatically, without showing the form.
                ElicitAction::Decline | ElicitAction::Cancel => {
                    Approval::Declined(self.explain("the client declined the question", &request))
                }
            }
        })
    }
}

impl ClientConsent {
    /// Sets whether questions are left to the client.
    #[must_use]
    pub fn with_trust_client(mut self, trust: bool) -> Self {
        self.trust_client = trust;
        self
    }

    /// Sets the advice for calls that were refused without an answer of the user.
    #[must_use]
    pub fn with_advice(mut self, advice: fn(&ApprovalRequest) -> String) -> Self {
        self.advice = Some(advice);
        self
    }

    /// Why a call did not run, followed by the advice.
    fn explain(&self, problem: &str, request: &ApprovalRequest) -> String {
        let advice = self.advice.map(|advice| format!(". {}", advice(request))).unwrap_or_default();
        format!("{}, and {problem}{advice}", request.reason)
    }
}

/// The message of the form: our sentences with foreign text in quotes, and the complete arguments last.
///
/// # Errors
/// If the arguments are too long to be shown.
fn message(request: &ApprovalRequest) -> Result<String, String> {
    let ApprovalRequest { permission, server, description, reason, changed, .. } = request;
    let arguments = escape(request.arguments.as_str());
    let length = arguments.chars().count();
    if length > MOST_ARGUMENTS {
        return Err(format!("its arguments are too long to be shown: {length} characters"));
    }
    let of_server =
        server.as_ref().map_or_else(String::new, |name| format!("\nServer: {}", quoted(name, 100)));
    let changed = changed.as_deref().map_or_else(String::new, |changed| {
        let is_cut =
            request.changed_is_cut || one_line(changed, usize::MAX).chars().count() > MOST_CHANGES;
        let cut = if is_cut { " (too long to be shown completely)" } else { "" };
        format!("\nChanged since it was approved{cut}: {}", quoted(changed, MOST_CHANGES))
    });
    Ok(format!(
        "Run {}? Reason for this question: {}.{of_server}\nDescription by the server: {}{changed}\nArguments: {arguments}",
        quoted(permission, 300),
        one_line(reason, 300),
        quoted(description, 500),
    ))
}

/// Quotes foreign text on one line, with quotation marks in it escaped.
fn quoted(text: &str, most: usize) -> String {
    format!("\"{}\"", one_line(text, most).replace('\\', "\\\\").replace('"', "\\\""))
}

fn schema() -> RawJson {
    let schema = json!({"type": "object", "required": ["run"], "properties": {"run": {
        "type": "boolean", "title": "Run it", "default": false}}});
    RawJson::encode(&schema).unwrap_or_else(|_| RawJson::empty_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_end_its_quotation_or_its_line() {
        assert_eq!(
            quoted("clock\"? It only reads.\n\nArguments: {}\u{1b}[8m", 300),
            "\"clock\\\"? It only reads. Arguments: {}[8m\""
        );
        assert_eq!(quoted("a\\\" b", 300), "\"a\\\\\\\" b\"");
    }

    #[test]
    fn options_of_a_consent_are_kept() {
        let consent = ClientConsent::default();
        assert!(!consent.trust_client && consent.advice.is_none());
        let consent = consent.with_trust_client(true).with_advice(|_| "ask again".to_owned());
        assert!(consent.trust_client && consent.advice.is_some());
    }

    #[test]
    fn form_starts_with_no() {
        let run = schema().get("properties").and_then(|properties| properties.get("run"));
        assert_eq!(run.and_then(|run| run.get("default")).unwrap().as_str(), "false");
    }
}
