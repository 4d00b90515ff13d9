//! Converts a server's tool list into tools for a model, one tool at a time.

use std::{collections::HashSet, sync::Arc};

use mcp_client::{
    RawJson,
    types::{Tool as Listed, lists::Listing},
};
use mcp_config::{ServerConfig, model::AlwaysLoad};
use mcp_search::{Card, catalogue::definition_hash};
use mcp_tool::{Hints, Origin, ToolSpec};
use serde_json::Value;

use crate::{
    events::Event,
    sanitize::{self, clean, summary},
    tools::name::{Namer, is_called},
    tools::schema,
};

/// The maximum length of a tool name in bytes.
const LONGEST_NAME: usize = 1024;

/// A tool of a server, ready to be offered.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) spec: ToolSpec,
    /// The full description, which may be truncated in the prompt.
    pub(crate) description: String,
    pub(crate) summary: String,
    /// Whether the description is truncated in the prompt.
    pub(crate) is_cut: bool,
    /// Whether the tool stays in the prompt when others are deferred to search.
    pub(crate) always_load: bool,
    pub(crate) card: Arc<Card>,
    /// The definition as the server sent it.
    pub(crate) raw: Arc<str>,
}

/// A quarantined tool: it is not offered because its definition is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// The server's name of the tool, sanitized and truncated.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

/// The result of publishing one list.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    pub(crate) tools: Vec<Definition>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) events: Vec<Event>,
}

/// How the tools of a server are published.
pub(crate) struct PublishOptions<'a> {
    pub(crate) server: &'a Arc<str>,
    pub(crate) config: &'a ServerConfig,
    pub(crate) trusted: bool,
    pub(crate) generation: u64,
    /// The length of a summary in characters.
    pub(crate) summary: usize,
}

/// Converts every tool separately, so that a defective tool does not affect the others.
pub(crate) fn publish(
    listing: &Listing<Listed>,
    options: &PublishOptions<'_>,
    namer: &mut Namer,
) -> Publication {
    let mut publication = Publication::default();
    if listing.truncated {
        let (server, kept) = (options.server.clone(), listing.items.len());
        publication.events.push(Event::ListCut { server, kept });
    }
    if let Some(problem) = &listing.problem {
        publication.quarantine(options, "(the list)", &format!("no array of tools: {problem}"));
    }
    for rejected in &listing.rejected {
        let name = rejected.name.as_deref().unwrap_or("(without a name)");
        publication.quarantine(options, name, &format!("it cannot be read: {}", rejected.error));
    }
    let mut seen = HashSet::new();
    for tool in &listing.items {
        if !options.config.tools.admits(&tool.name) || !is_for_models(tool) {
            continue;
        }
        if tool.name.is_empty() {
            publication.quarantine(options, "", "its name is empty");
        } else if tool.name.len() > LONGEST_NAME {
            let reason = format!("its name has {} bytes", tool.name.len());
            publication.quarantine(options, &tool.name, &reason);
        } else if !seen.insert(tool.name.as_str()) {
            let reason = "another tool of this server has the same name";
            publication.quarantine(options, &tool.name, reason);
        } else {
            match schema::admit(&tool.input_schema) {
                Ok(input) => publication.offer(options, tool, input, namer),
                Err(broken) => publication.quarantine(options, &tool.name, &broken.to_string()),
            }
        }
    }
    publication
}

/// Whether models may call the tool. In MCP Apps, a tool can be restricted to the app's own page.
fn is_for_models(tool: &Listed) -> bool {
    let visibility = tool.meta.as_ref().and_then(|meta| meta.get("ui")?.get("visibility"));
    let Some(visibility) = visibility.and_then(|raw| raw.decode::<Vec<String>>().ok()) else {
        return true;
    };
    visibility.is_empty() || visibility.iter().any(|who| who == "model")
}

impl Publication {
    fn quarantine(&mut self, options: &PublishOptions<'_>, tool: &str, reason: &str) {
        let tool = clean(tool, 80).text;
        let reason = clean(reason, 300).text;
        self.events.push(Event::Quarantined {
            server: options.server.clone(),
            tool: tool.clone(),
            reason: reason.clone(),
        });
        self.quarantined.push(Quarantined { tool, reason });
    }

    fn offer(
        &mut self,
        options: &PublishOptions<'_>,
        tool: &Listed,
        input: RawJson,
        namer: &mut Namer,
    ) {
        let Ok(raw) = RawJson::encode(tool) else {
            return self.quarantine(
                options,
                &tool.name,
                "its definition cannot be encoded as JSON",
            );
        };
        let (name, was_taken) = namer.name(options.server, &tool.name);
        let server = options.server.clone();
        if was_taken {
            let (tool, name) = (clean(&tool.name, 80).text, name.clone());
            self.events.push(Event::NameTaken { server: server.clone(), tool, name });
        }
        let said = tool.description.as_deref().filter(|text| !text.trim().is_empty());
        let default = || format!("MCP tool {} from {server}", tool.name);
        let whole = said.map_or_else(default, str::to_owned);
        let usual = if options.trusted { sanitize::DESCRIPTION } else { sanitize::UNTRUSTED };
        let most = options.config.limits.description.unwrap_or(usual);
        let full = clean(&whole, sanitize::WHOLE);
        if full.redacted {
            let tool = clean(&tool.name, 80).text;
            self.events.push(Event::DescriptionRedacted { server: server.clone(), tool });
        }
        let shown = clean(&whole, most.min(sanitize::DESCRIPTION));
        let value: Value = serde_json::from_str(raw.as_str()).unwrap_or_default();
        let mut card = Card::from_definition(&name, &*server, &value);
        card.description = clean(&whole, sanitize::DESCRIPTION).text;
        let output_schema = tool.output_schema.as_ref().filter(|schema| {
            let reasonable = schema::is_reasonable(schema);
            if !reasonable {
                let tool = clean(&tool.name, 80).text;
                tracing::warn!(%server, tool, "results are not checked: the output schema is too large, too deep or not an object");
            }
            reasonable
        });
        let mut spec = ToolSpec::new(name, shown.text);
        spec.title = tool.title.as_deref().map(|title| clean(title, sanitize::SUMMARY).text);
        spec.input_schema = input;
        spec.output_schema = output_schema.map(RawJson::detached);
        spec.hints = Hints::claimed(tool.annotations.as_ref(), options.trusted);
        spec.origin = Origin::Server { server, tool: tool.name.as_str().into() };
        spec.hash = definition_hash(&value);
        spec.generation = options.generation;
        spec.meta = tool.meta.as_ref().map(RawJson::detached);
        let always_load = match &options.config.always_load {
            AlwaysLoad::All => true,
            AlwaysLoad::Tools(listed) => {
                listed.iter().any(|known| *known == tool.name || is_called(&spec.name, known))
            }
            _ => false,
        };
        self.tools.push(Definition {
            summary: summary(&full.text, options.summary),
            description: full.text,
            is_cut: shown.cut,
            always_load,
            card: Arc::new(card),
            raw: raw.as_str().into(),
            spec,
        });
    }
}

#[cfg(test)]
mod tests {
    use mcp_config::{Sdk, Transport};

    use super::*;
    use crate::tools::name::NameScheme;

    fn listing(tools: &str) -> Listing<Listed> {
        let tools: Vec<RawJson> = RawJson::parse(tools.to_owned()).unwrap().decode().unwrap();
        let mut listing = Listing::default();
        listing.items = tools.iter().map(|tool| tool.decode().unwrap()).collect();
        listing
    }

    fn published(tools: &str, trusted: bool) -> Publication {
        publish_listing(&listing(tools), trusted)
    }

    fn publish_listing(listing: &Listing<Listed>, trusted: bool) -> Publication {
        let mut config = ServerConfig::new("srv".parse().unwrap(), Transport::Sdk(Sdk::default()));
        config.tools.deny.push("hidden_*".into());
        let server = "srv".into();
        let options = PublishOptions {
            server: &server,
            config: &config,
            trusted,
            generation: 1,
            summary: sanitize::SUMMARY,
        };
        publish(listing, &options, &mut Namer::new(NameScheme::Double))
    }

    #[test]
    fn list_without_an_array_is_empty_and_reported() {
        let mut listing = listing("[]");
        listing.problem = Some(serde::de::Error::custom("expected an array"));
        let publication = publish_listing(&listing, true);
        assert!(publication.tools.is_empty());
        let reasons: Vec<_> = publication.quarantined.iter().map(|q| q.reason.as_str()).collect();
        assert_eq!(reasons, ["no array of tools: expected an array"]);
    }

    #[test]
    fn defective_tool_is_quarantined_without_affecting_others() {
        let publication = published(
            r#"[{"name":"good","inputSchema":{"type":"object"}},
                {"name":"","inputSchema":{}},
                {"name":"array","inputSchema":{"type":"array"}},
                {"name":"good"},
                {"name":"hidden_one"},
                {"name":"app_only","_meta":{"ui":{"visibility":["app"]}}}]"#,
            true,
        );
        let names: Vec<_> = publication.tools.iter().map(|t| t.spec.name.as_str()).collect();
        assert_eq!(names, ["mcp__srv__good"]);
        assert_eq!(publication.tools[0].spec.description, "MCP tool good from srv");
        let reasons: Vec<_> = publication.quarantined.iter().map(|q| q.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "its name is empty",
                "its input schema has type \"array\", but arguments are always an object",
                "another tool of this server has the same name",
            ]
        );
    }

    #[test]
    fn excessive_output_schema_is_dropped() {
        let deep = r#"{"items":"#.repeat(70) + "{}" + &"}".repeat(70);
        let tools = format!(
            r#"[{{"name":"a","outputSchema":{deep}}},{{"name":"b","outputSchema":7}},{{"name":"c","outputSchema":{{"type":"object"}}}}]"#
        );
        let publication = published(&tools, true);
        let has: Vec<_> =
            publication.tools.iter().map(|tool| tool.spec.output_schema.is_some()).collect();
        assert_eq!(has, [false, false, true]);
    }

    #[test]
    fn untrusted_description_is_short_in_the_prompt_and_full_in_the_index() {
        let tools = format!(
            r#"[{{"name":"x","description":"{} ghp_0123456789abcdefghijABCDEFGHIJ012345"}}]"#,
            "word ".repeat(100)
        );
        let publication = published(&tools, false);
        let tool = &publication.tools[0];
        assert_eq!(tool.spec.description.chars().count(), 200);
        assert!(tool.description.ends_with("[redacted]") && tool.summary.chars().count() <= 100);
        assert!(matches!(publication.events[..], [Event::DescriptionRedacted { .. }]));
        assert_eq!(tool.card.description, tool.description, "no key reaches the index");
    }
}
