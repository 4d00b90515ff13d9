//! Use of a server's resources, prompts, instructions and login, under the same rules as its tools.

use std::time::SystemTime;

use mcp_audit::{Kind, Record};
use mcp_client::{CallError, Client, RawJson, types::ReadResourceResult};
use mcp_tool::{CallContext, Hints, Offer, Origin, ToolOutcome, ToolSpec};
use mcp_types::method;
use serde_json::{Value, json};

use super::Server;
use crate::{
    consent::{Consent, about},
    hub::Hub,
    tools::scope::{Caller, Scope},
    trust::{Decision, PolicyCall, Subject},
};

/// Why an offer of a server was not used.
pub(crate) enum OfferFailure {
    /// Denied by a rule, the plan or the user.
    Refused(ToolOutcome),
    /// The call failed.
    Failed(CallError),
}

impl From<CallError> for OfferFailure {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

impl From<OfferFailure> for CallError {
    fn from(failure: OfferFailure) -> Self {
        match failure {
            OfferFailure::Failed(error) => error,
            OfferFailure::Refused(outcome) => {
                let text = outcome.text_content();
                CallError::Declined(text.strip_prefix("denied: ").unwrap_or(&text).into())
            }
        }
    }
}

impl Server {
    /// The specification of an offer, for policies and approvers.
    pub(crate) fn offered(&self, offer: Offer) -> ToolSpec {
        let (name, description) = match &offer {
            Offer::Resource { .. } => (method::RESOURCES_READ, "Reads a resource of the server."),
            Offer::Prompt { .. } => (method::PROMPTS_GET, "Gets a prompt of the server."),
            Offer::Login => ("login", "Logs the user in to the server."),
            _ => ("instructions", "Shows the server's instructions to the model."),
        };
        let mut spec = ToolSpec::new(name, description);
        spec.hints = Hints::claimed(None, self.trusted);
        spec.origin = Origin::Offer { server: self.name.clone(), offer };
        spec
    }

    /// Whether an offer is hidden from a conversation because its filter or a rule denies it.
    pub(crate) fn hides(&self, hub: &Hub, caller: &Caller, offer: Offer) -> bool {
        let spec = self.offered(offer);
        let decide = || hub.options.policy.decide(&PolicyCall::new(&spec, &Value::Null));
        !caller.filter.admits(&spec) || matches!(decide(), Decision::Deny(_))
    }

    /// Decides whether an offer may be used with these arguments, by the rules, the plan and the user.
    pub(crate) async fn permit(
        &self,
        use_of: Use<'_>,
        offer: Offer,
        arguments: Value,
    ) -> Result<(), ToolOutcome> {
        let Use { hub, scope, context } = use_of;
        let spec = self.offered(offer);
        let subject = Subject {
            spec: &spec,
            description: &spec.description,
            raw: "",
            server: &self.binding,
            claims_reading: false,
        };
        let shown = RawJson::encode(&arguments).unwrap_or_else(|_| RawJson::empty_object());
        let permitted = Consent { hub, scope, context }.obtain(&subject, &shown, arguments).await;
        record(use_of, &subject, permitted.is_ok());
        permitted
    }

    /// Reads a resource, starting the server if needed.
    pub(crate) async fn read(
        &self,
        use_of: Use<'_>,
        uri: &str,
    ) -> Result<ReadResourceResult, OfferFailure> {
        let client = self.reader(use_of, uri).await?;
        let reading = client.read_resource(uri);
        let owner = use_of.context.owner.clone();
        Ok(self.router.on_behalf(owner, use_of.context.on_log.clone(), reading).await?)
    }

    /// The client for reading or subscribing to a resource, if that is permitted.
    pub(crate) async fn reader(&self, use_of: Use<'_>, uri: &str) -> Result<Client, OfferFailure> {
        let resource = |listed| Offer::Resource { uri: uri.into(), listed };
        let arguments = json!({"server": &*self.name, "uri": uri});
        // Do not start a server for a URI that is denied in any case.
        if self.hides(use_of.hub, &use_of.scope.caller, resource(true)) {
            let refusal = self.permit(use_of, resource(true), arguments).await.err();
            return Err(refusal.map_or_else(
                || CallError::Unsupported("this resource").into(),
                OfferFailure::Refused,
            ));
        }
        let client = self.ready(use_of.context).await.map_err(OfferFailure::Refused)?;
        let listed = self.lists(use_of.hub, &client, uri).await;
        self.permit(use_of, resource(listed), arguments).await.map_err(OfferFailure::Refused)?;
        Ok(client)
    }

    /// Whether the server lists a resource. Asks the server only if the cached list does not have it.
    async fn lists(&self, hub: &Hub, client: &Client, uri: &str) -> bool {
        let is_known = || {
            let offers = self.offers();
            offers.resources.as_ref().is_some_and(|all| all.iter().any(|one| one.uri == uri))
        };
        if is_known() || self.trusted {
            return is_known();
        }
        if let Ok(list) = client.list_resources().await {
            self.update_offers(hub, |offers| offers.resources = Some(list.items.into()));
        }
        is_known()
    }
}

/// The parties that decide on one use of an offer.
#[derive(Clone, Copy)]
pub(crate) struct Use<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) scope: &'a Scope,
    pub(crate) context: &'a CallContext,
}

/// Records the use of an offer.
fn record(use_of: Use<'_>, subject: &Subject<'_>, is_permitted: bool) {
    let Origin::Offer { offer, .. } = &subject.spec.origin else { return };
    let (kind, target) = match offer {
        Offer::Resource { uri, .. } => (Kind::Resource, &**uri),
        Offer::Prompt { name, .. } => (Kind::Prompt, &**name),
        Offer::Login => (Kind::Login, ""),
        // Instructions are a part of each turn.
        _ => return,
    };
    use_of.hub.bus.audit(|| {
        let record = Record::new(kind, SystemTime::now());
        let record = about(
            record,
            subject.spec,
            subject.server,
            &use_of.scope.caller,
            use_of.context.client_info.as_ref(),
        );
        let decision = if is_permitted { "allow" } else { "deny" };
        let record = record.with_decision(decision, Some(&subject.spec.permission()));
        if target.is_empty() { record } else { record.with_target(target) }
    });
}
