//! Targets for results of servers and URLs of elicitations.

use std::fmt::Debug;

use mcp_client::{
    CallToolResult, Content, ElicitRequest,
    types::{
        Completion, CreateMessageRequest, GetPromptResult, Prompt, Resource, ResourceContents,
        ResourceTemplate, ServerCapabilities, Tool, events::LogMessage, tasks::Task,
    },
};
use mcp_jsonrpc::RawJson;
use serde::{Serialize, de::DeserializeOwned};
use url::{Host, Url};

/// Any JSON as any result type: a parsed value is serialized and parsed to the same value.
pub(crate) fn content(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    again::<CallToolResult>(&raw);
    again::<Content>(&raw);
    again::<Tool>(&raw);
    again::<Resource>(&raw);
    again::<ResourceTemplate>(&raw);
    again::<ResourceContents>(&raw);
    again::<Prompt>(&raw);
    again::<GetPromptResult>(&raw);
    again::<Completion>(&raw);
    again::<ServerCapabilities>(&raw);
    again::<LogMessage>(&raw);
    again::<CreateMessageRequest>(&raw);
    again::<ElicitRequest>(&raw);
    again::<Task>(&raw);
    if let Ok(result) = raw.decode::<CallToolResult>() {
        let texts = result.content.iter().filter_map(Content::as_text).count();
        assert!(texts == 0 || result.text().split('\n').count() >= texts);
    }
}

/// Any URL of an elicitation: if accepted, a browser parses it as a user reads it.
pub(crate) fn pages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if !mcp_client::fuzz::is_page(text) {
        return;
    }
    let Ok(url) = Url::parse(text) else { return };
    assert_eq!((url.username(), url.password()), ("", None));
    // The authority without a port. A host may be written in more than one way.
    let (_, rest) = text.split_once("://").expect("a page has a host");
    let seen = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let seen = match seen.strip_prefix('[').and_then(|seen| seen.split_once(']')) {
        Some((address, _)) => Host::Ipv6(address.parse().expect("an address in brackets")),
        None => match seen.split(':').next().unwrap_or_default() {
            name if name.parse::<std::net::Ipv4Addr>().is_ok() => {
                Host::Ipv4(name.parse().expect("it was just parsed"))
            }
            name => Host::Domain(name.to_ascii_lowercase()),
        },
    };
    let host = url.host().expect("a page has a host").to_owned();
    assert_eq!(host, seen, "{url}");
    let is_here = match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    assert!(url.scheme() == "https" || url.scheme() == "http" && is_here, "{url}");
}

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(raw: &RawJson) {
    let Ok(read) = raw.decode::<T>() else { return };
    let written = RawJson::encode(&read).expect("a parsed value can be serialized");
    let again = written.decode::<T>();
    assert_eq!(again.as_ref(), Ok(&read), "{}", written.as_str());
}
