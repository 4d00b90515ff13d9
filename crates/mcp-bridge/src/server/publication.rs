//! Publishes a server's state and tools to the registry.

use std::{collections::HashMap, sync::Arc};

use mcp_client::types::{Tool as Listed, lists::Listing};
use mcp_tool::Origin;

use super::{Server, call::Bridged};
use crate::{
    events::Event,
    hub::Hub,
    lifecycle::{Lifecycle, ServerState},
    tools::{
        publish::{Definition, PublishOptions, publish},
        registry::Registered,
    },
};

/// Where a list of tools comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingSource {
    /// The connected server.
    Live,
    /// The catalogue of an earlier connection.
    Cached,
}

impl Server {
    /// Publishes the state of a server, and offers or withdraws its tools accordingly.
    pub(crate) fn publish_state(&self, hub: &Hub, life: &Lifecycle, before: Option<ServerState>) {
        let state = life.shown();
        // An idle server is callable, because the call starts it, so its tools stay.
        let offered = state.is_callable() || hub.options.keep_stubs && !state.is_disabled();
        let needs_login = (state.needs_login() || life.wants_login()) && self.can_log_in();
        // A server that starts from idle is pending before and after, and keeps its tools.
        if offered || before.map(|before| before.word()) != Some(state.word()) {
            hub.registry.offer(&self.name, offered, needs_login);
        }
        self.show(life);
    }

    /// Pins definitions when first seen, and reports those that differ from their pin.
    fn pin(&self, hub: &Hub, tools: &[Definition]) {
        let approvals = &hub.options.approvals;
        let mut seen = Vec::with_capacity(tools.len());
        for Definition { spec, .. } in tools {
            let permission = spec.permission();
            if approvals.differs_from_pin(&permission, &self.binding, &spec.hash) {
                hub.bus.tell(Event::DefinitionChanged {
                    server: self.name.clone(),
                    tool: spec.name.clone(),
                    permission: permission.clone(),
                });
                // The user's answer updates the pin.
                if hub.options.ask_on_change {
                    continue;
                }
            }
            seen.push((permission, spec.hash.clone()));
        }
        if approvals.pin(&self.binding, &seen) {
            let approvals = approvals.clone();
            hub.write_soon(move || approvals.save());
        }
    }

    /// Publishes a server's tool list. Returns the number of tools.
    pub(crate) fn publish(
        self: &Arc<Self>,
        hub: &Hub,
        listing: &Listing<Listed>,
        source: ListingSource,
    ) -> usize {
        let (generation, before) = {
            let live = self.live();
            (live.generation + 1, live.hashes.clone())
        };
        let options = PublishOptions {
            server: &self.name,
            config: &self.config,
            trusted: self.trusted,
            generation,
            summary: hub.options.summary_limit,
        };
        let publication = hub.registry.naming(|namer| publish(listing, &options, namer));
        let hashes: HashMap<Arc<str>, String> = publication
            .tools
            .iter()
            .filter_map(|tool| match &tool.spec.origin {
                Origin::Server { tool: name, .. } => Some((name.clone(), tool.spec.hash.clone())),
                _ => None,
            })
            .collect();
        let count = publication.tools.len();
        if source == ListingSource::Live {
            // Store it even if it is unchanged, to update its age.
            self.store(hub, listing, &publication.tools);
            self.pin(hub, &publication.tools);
        }
        let is_first = generation == 1;
        if !is_first && hashes == before {
            // The list is unchanged, so no prompt changes.
            self.live().quarantined = publication.quarantined;
            return count;
        }
        let added = hashes.keys().filter(|name| !before.contains_key(*name)).count();
        let removed = before.keys().filter(|name| !hashes.contains_key(*name)).count();
        let changed =
            hashes.iter().filter(|(name, hash)| before.get(*name).is_some_and(|b| b != *hash));
        let changed = changed.count();
        {
            let mut live = self.live();
            live.hashes = hashes;
            live.generation = generation;
            live.quarantined = publication.quarantined;
        }
        publication.events.into_iter().for_each(|event| hub.bus.tell(event));
        let cards = publication.tools.iter().map(|tool| tool.card.clone()).collect();
        let tools = publication.tools.into_iter().filter_map(|definition| {
            let Origin::Server { tool: name, .. } = &definition.spec.origin else {
                return None;
            };
            let name = name.clone();
            let tool = Bridged::new(definition.spec.clone(), name.clone(), self);
            let server = self.binding.clone();
            Some((name, Arc::new(Registered::bridged(Arc::new(tool), definition, server))))
        });
        hub.registry.replace(&self.name, tools.collect(), cards);
        if !is_first {
            let server = self.name.clone();
            hub.bus.tell(Event::ListChanged { server, added, removed, changed });
        }
        count
    }
}
