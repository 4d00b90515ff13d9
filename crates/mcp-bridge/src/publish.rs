//! From a server's list of tools to what is offered to a model, one tool at a time.

use std::{collections::HashSet, sync::Arc};

use mcp_client::{Listing, RawJson, Tool as Listed};
use mcp_config::{AlwaysLoad, ServerConfig};
use mcp_search::{Card, definition_hash};
use serde_json::Value;

use crate::{
    events::Event,
    hygiene::{self, clean, summary},
    name::Namer,
    schema,
    tool::{Hints, Origin, ToolSpec},
};

/// Longer names are no names.
const LONGEST_NAME: usize = 1024;

/// One tool of a server, ready to be offered.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) spec: ToolSpec,
    /// The whole description, where the prompt has only its beginning.
    pub(crate) description: String,
    pub(crate) summary: String,
    /// Stays in the prompt when others are searched for.
    pub(crate) always_load: bool,
    pub(crate) card: Arc<Card>,
    /// As the server sent it.
    pub(crate) raw: Arc<str>,
}

/// A tool that is not offered, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// Its name on the server, cleaned and cut.
    pub tool: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What came of one list.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    pub(crate) tools: Vec<Definition>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) events: Vec<Event>,
}

/// How to treat a server's tools.
pub(crate) struct Terms<'a> {
    pub(crate) server: &'a Arc<str>,
    pub(crate) config: &'a ServerConfig,
    pub(crate) trusted: bool,
    pub(crate) generation: u64,
}

/// Looks at every tool by itself: what is wrong with one costs only that one.
pub(crate) fn publish(
    listing: &Listing<Listed>,
    terms: &Terms<'_>,
    namer: &mut Namer,
) -> Publication {
    let mut publication = Publication::default();
    if listing.truncated {
        let (server, kept) = (terms.server.clone(), listing.items.len());
        publication.events.push(Event::ListCut { server, kept });
    }
    for rejected in &listing.rejected {
        let name = rejected.name.as_deref().unwrap_or("(without a name)");
        publication.set_aside(terms, name, &format!("it cannot be read: {}", rejected.error));
    }
    let mut seen = HashSet::new();
    for tool in &listing.items {
        if !terms.config.tools.admits(&tool.name) || !is_for_models(tool) {
            continue;
        }
        if tool.name.is_empty() {
            publication.set_aside(terms, "", "its name is empty");
        } else if tool.name.len() > LONGEST_NAME {
            let reason = format!("its name has {} bytes", tool.name.len());
            publication.set_aside(terms, &tool.name, &reason);
        } else if !seen.insert(tool.name.as_str()) {
            let reason = "another tool of this server has the same name";
            publication.set_aside(terms, &tool.name, reason);
        } else {
            match schema::admit(&tool.input_schema) {
                Ok(input) => publication.offer(terms, tool, input, namer),
                Err(broken) => publication.set_aside(terms, &tool.name, &broken.to_string()),
            }
        }
    }
    publication
}

/// MCP Apps: a tool that only an app's own page may call.
fn is_for_models(tool: &Listed) -> bool {
    let visibility = tool.meta.as_ref().and_then(|meta| meta.get("ui")?.get("visibility"));
    let Some(visibility) = visibility.and_then(|raw| raw.decode::<Vec<String>>().ok()) else {
        return true;
    };
    visibility.is_empty() || visibility.iter().any(|who| who == "model")
}

impl Publication {
    fn set_aside(&mut self, terms: &Terms<'_>, tool: &str, reason: &str) {
        let tool = clean(tool, 80).text;
        let reason = clean(reason, 300).text;
        self.events.push(Event::Quarantined {
            server: terms.server.clone(),
            tool: tool.clone(),
            reason: reason.clone(),
        });
        self.quarantined.push(Quarantined { tool, reason });
    }

    fn offer(&mut self, terms: &Terms<'_>, tool: &Listed, input: RawJson, namer: &mut Namer) {
        let Ok(raw) = RawJson::encode(tool) else {
            return self.set_aside(terms, &tool.name, "it cannot be written again");
        };
        let (name, was_taken) = namer.name(terms.server, &tool.name);
        let server = terms.server.clone();
        if was_taken {
            let (tool, name) = (clean(&tool.name, 80).text, name.clone());
            self.events.push(Event::NameTaken { server: server.clone(), tool, name });
        }
        let said = tool.description.as_deref().filter(|text| !text.trim().is_empty());
        let default = || format!("Tool {} of the MCP server {server}.", tool.display_name());
        let whole = said.map_or_else(default, str::to_owned);
        let most = terms.config.limits.description.unwrap_or(hygiene::DESCRIPTION);
        let full = clean(&whole, most.min(hygiene::DESCRIPTION));
        if full.redacted {
            let tool = clean(&tool.name, 80).text;
            self.events.push(Event::DescriptionRedacted { server: server.clone(), tool });
        }
        let shown = if terms.trusted {
            full.text.clone()
        } else {
            clean(&whole, most.min(hygiene::UNTRUSTED)).text
        };
        let value: Value = serde_json::from_str(raw.as_str()).unwrap_or_default();
        let mut card = Card::from_definition(&name, &*server, &value);
        card.description.clone_from(&full.text);
        let output_schema = tool.output_schema.as_ref().filter(|schema| {
            let reasonable = schema::is_reasonable(schema);
            if !reasonable {
                let tool = clean(&tool.name, 80).text;
                tracing::warn!(%server, tool, "results are not checked: the schema is no reasonable one");
            }
            reasonable
        });
        let output_schema = output_schema.map(RawJson::detached);
        let spec = ToolSpec {
            name,
            title: tool.title.as_deref().map(|title| clean(title, hygiene::SUMMARY).text),
            description: shown,
            input_schema: input,
            output_schema,
            hints: Hints::claimed(tool.annotations.as_ref(), terms.trusted),
            origin: Origin::Server { server, tool: tool.name.as_str().into() },
            hash: definition_hash(&value),
            generation: terms.generation,
        };
        let always_load = match &terms.config.always_load {
            AlwaysLoad::All => true,
            AlwaysLoad::Tools(listed) => {
                listed.iter().any(|known| *known == tool.name || *known == spec.name)
            }
            _ => false,
        };
        self.tools.push(Definition {
            summary: summary(&full.text, hygiene::SUMMARY),
            description: full.text,
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
    use crate::name::NameScheme;

    fn listing(tools: &str) -> Listing<Listed> {
        let tools: Vec<RawJson> = RawJson::parse(tools.to_owned()).unwrap().decode().unwrap();
        let mut listing = Listing::default();
        listing.items = tools.iter().map(|tool| tool.decode().unwrap()).collect();
        listing
    }

    fn published(tools: &str, trusted: bool) -> Publication {
        let mut config = ServerConfig::new("srv".parse().unwrap(), Transport::Sdk(Sdk::default()));
        config.tools.deny.push("hidden_*".into());
        let server = "srv".into();
        let terms = Terms { server: &server, config: &config, trusted, generation: 1 };
        publish(&listing(tools), &terms, &mut Namer::new(NameScheme::Double))
    }

    #[test]
    fn one_bad_tool_costs_only_itself_and_says_why() {
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
        assert_eq!(publication.tools[0].spec.description, "Tool good of the MCP server srv.");
        let reasons: Vec<_> = publication.quarantined.iter().map(|q| q.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "its name is empty",
                "its input schema is for \"array\", and arguments are always an object",
                "another tool of this server has the same name",
            ]
        );
    }

    #[test]
    fn a_schema_of_results_that_is_too_much_is_done_without() {
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
    fn an_untrusted_description_is_short_in_the_prompt_and_whole_for_the_search() {
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
