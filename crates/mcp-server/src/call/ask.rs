//! Requests of a running call to its client: elicitation, sampling, roots.

use mcp_jsonrpc::{ErrorObject, RawJson, ShapeError};
use mcp_types::{
    ClientCapabilities, CreateMessageRequest, ElicitAction, ElicitRequest, ElicitResult, method,
};
use tokio::sync::oneshot;

use crate::error::ClientNeed;

/// A request to the client: elicitation, sampling, or its roots.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub(crate) need: ClientNeed,
    pub(crate) method: &'static str,
    pub(crate) params: RawJson,
}

/// A question that was sent, and the channel for its response.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) key: String,
    pub(crate) question: Question,
    pub(crate) reply: oneshot::Sender<Result<RawJson, ErrorObject>>,
}

impl Question {
    /// A form or a URL for the user.
    pub fn elicit(request: &ElicitRequest) -> Result<Self, ShapeError> {
        let need = if request.is_url() { ClientNeed::Page } else { ClientNeed::Form };
        Ok(Self { need, method: method::ELICITATION_CREATE, params: RawJson::encode(request)? })
    }

    /// A completion by the client's model.
    pub fn sample(request: &CreateMessageRequest) -> Result<Self, ShapeError> {
        let params = RawJson::encode(request)?;
        Ok(Self { need: ClientNeed::Sampling, method: method::SAMPLING_CREATE_MESSAGE, params })
    }

    /// The list of the client's roots.
    pub fn roots() -> Self {
        Self {
            need: ClientNeed::Roots,
            method: method::ROOTS_LIST,
            params: RawJson::empty_object(),
        }
    }

    /// Whether `answer` has the shape of a result for this question.
    pub(crate) fn is_answered_by(&self, answer: &RawJson) -> bool {
        let has = |name: &str, first: u8| {
            answer.get(name).is_some_and(|value| value.as_bytes().first() == Some(&first))
        };
        match self.need {
            ClientNeed::Form | ClientNeed::Page => read_elicited(answer).is_some(),
            ClientNeed::Sampling => has("role", b'"') && answer.get("content").is_some(),
            ClientNeed::Roots => has("roots", b'['),
        }
    }
}

/// Parses the result of an elicitation.
pub(crate) fn read_elicited(answer: &RawJson) -> Option<ElicitResult> {
    let action = match answer.get("action")?.decode::<String>().ok()?.as_str() {
        "accept" => ElicitAction::Accept,
        "decline" => ElicitAction::Decline,
        "cancel" => ElicitAction::Cancel,
        _ => return None,
    };
    let content = answer.get("content").filter(RawJson::is_object);
    Some(match (action, content) {
        (ElicitAction::Accept, Some(content)) => ElicitResult::accept(content.detached()),
        (ElicitAction::Accept, None) => ElicitResult::accept_url(),
        (ElicitAction::Decline, _) => ElicitResult::decline(),
        (ElicitAction::Cancel, _) => ElicitResult::cancel(),
    })
}

/// Parses the capabilities of a client. `elicitation: {}` means forms only:
/// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#capabilities>
pub(crate) fn read_capabilities(declared: &RawJson) -> ClientCapabilities {
    let mut all = ClientCapabilities::default();
    let member = |of: &RawJson, name: &str| of.get(name).filter(RawJson::is_object);
    if let Some(modes) = member(declared, "elicitation") {
        all.elicitation_url = member(&modes, "url").is_some();
        all.elicitation_form = member(&modes, "form").is_some() || !all.elicitation_url;
    }
    if let Some(sampling) = member(declared, "sampling") {
        all.sampling = true;
        all.sampling_tools = member(&sampling, "tools").is_some();
    }
    if let Some(roots) = member(declared, "roots") {
        all.roots = true;
        let changes = roots.get("listChanged");
        all.roots_list_changed = changes.is_some_and(|flag| flag.as_str() == "true");
    }
    for (id, settings) in member(declared, "extensions").iter().flat_map(RawJson::members) {
        all.extensions.push((id, settings.detached()));
    }
    all
}

/// Whether `declared` contains the capability that `need` names.
pub(crate) fn offers(declared: &ClientCapabilities, need: ClientNeed) -> bool {
    match need {
        ClientNeed::Form => declared.elicitation_form,
        ClientNeed::Page => declared.elicitation_url,
        ClientNeed::Sampling => declared.sampling,
        ClientNeed::Roots => declared.roots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn elicitation_without_a_mode_means_forms_only() {
        let forms = read_capabilities(&json(r#"{"elicitation":{}}"#));
        assert!(forms.elicitation_form && !forms.elicitation_url);
        let pages = read_capabilities(&json(r#"{"elicitation":{"url":{}},"sampling":true}"#));
        assert!(!pages.elicitation_form && pages.elicitation_url && !pages.sampling);
    }

    #[test]
    fn question_accepts_only_well_formed_results() {
        let form = Question::elicit(&ElicitRequest::form("?", RawJson::empty_object())).unwrap();
        assert!(form.is_answered_by(&json(r#"{"action":"decline"}"#)));
        for wrong in ["12345", "null", r#"{"action":"perhaps"}"#, "[]"] {
            assert!(!form.is_answered_by(&json(wrong)), "{wrong}");
        }
        assert!(Question::roots().is_answered_by(&json(r#"{"roots":[]}"#)));
        assert!(!Question::roots().is_answered_by(&json(r#"{"roots":{}}"#)));
    }
}
