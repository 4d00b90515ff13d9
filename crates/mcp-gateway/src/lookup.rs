//! Finds the server behind the gateway that has a resource.

use std::{sync::Arc, time::Duration};

use mcp_bridge::{Bridge, ServerState, ServerStatus, error::OfferError};
use mcp_client::{CallError, rpc::Failure};
use mcp_server::ServeError;

/// Time limit for servers that must be started before they can list resources.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Starts servers without a catalogue, so that lists are complete.
pub(crate) async fn open(bridge: &Bridge) {
    let unlisted = bridge.unlisted();
    for server in &unlisted {
        let _ = bridge.connect(server);
    }
    let is_starting = |status: &ServerStatus| {
        unlisted.contains(&status.name) || matches!(status.state, ServerState::Connecting { .. })
    };
    let starting: Vec<_> = bridge.status().into_iter().filter(is_starting).collect();
    let all = async {
        for status in &starting {
            bridge.wait_for(&status.name, ServerStatus::is_settled).await;
        }
        if !unlisted.is_empty() {
            // The list is stored in the catalogue, so that the next list does not start a server.
            bridge.resources().await;
        }
    };
    // Resources of a slower server are announced when it connects.
    let _ = tokio::time::timeout(START_LIMIT, all).await;
}

/// The server with a resource: `named` if given, then the first that lists it, then the one with the most literal
/// matching template.
pub(crate) async fn server_of(bridge: &Bridge, uri: &str, named: Option<&str>) -> Option<Arc<str>> {
    open(bridge).await;
    let is_it = |server: &str| named.is_none_or(|named| named == server);
    let listed = bridge.resources().await;
    if let Some(one) = listed.into_iter().find(|one| one.resource.uri == uri && is_it(&one.server))
    {
        return Some(one.server);
    }
    let templates = bridge.resource_templates().await;
    let mut best: Option<(usize, Arc<str>)> = None;
    for one in templates.into_iter().filter(|one| is_it(&one.server)) {
        let Some(literal) = fits(&one.template.uri_template, uri) else { continue };
        if best.as_ref().is_none_or(|(most, _)| literal > *most) {
            best = Some((literal, one.server));
        }
    }
    best.map(|(_, server)| server)
}

/// Whether a URI can match a template: the literal parts of the template occur in it, in order. Returns their length
/// in bytes.
fn fits(template: &str, uri: &str) -> Option<usize> {
    let mut pieces = template.split('{').enumerate().map(|(index, piece)| match index {
        0 => piece,
        _ => piece.split_once('}').map_or("", |(_, literal)| literal),
    });
    let start = pieces.next().unwrap_or_default();
    let mut rest = uri.strip_prefix(start)?;
    let literals: Vec<&str> = pieces.collect();
    let Some((last, between)) = literals.split_last() else {
        return rest.is_empty().then_some(start.len());
    };
    for literal in between {
        let at = rest.find(literal)?;
        rest = &rest[at + literal.len()..];
    }
    rest.ends_with(last).then(|| start.len() + literals.iter().map(|l| l.len()).sum::<usize>())
}

/// Forwards the error of a server unchanged: the client may know its code.
pub(crate) fn refused(error: OfferError) -> ServeError {
    match error {
        OfferError::Call(CallError::Failed { failure: Failure::Rejected(object), .. }) => {
            ServeError::Rpc(object)
        }
        OfferError::Call(CallError::Declined(reason)) => ServeError::Denied(reason.into()),
        other => ServeError::Internal(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn uri_matches_a_template_by_its_literal_parts() {
        assert_eq!(fits("test://template/{id}/data", "test://template/123/data"), Some(21));
        assert_eq!(fits("a:{x}/{y}", "a:1/2"), Some(3));
        assert_eq!(fits("a:b", "a:b"), Some(3));
        assert_eq!(fits("{+x}", "a:b"), Some(0));
        assert_eq!(fits("a:b", "a:bc"), None);
        assert_eq!(fits("test://template/{id}/data", "test://template/123/other"), None);
        assert_eq!(fits("test://template/{id}/data", "other://template/123/data"), None);
        assert_eq!(fits("a:{x}/{y}", "a:12"), None);
    }
}
