//! The catalogue: tools of the last connection, so that they can be searched without starting the server.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use mcp_client::{
    RawJson,
    types::{Tool as Listed, lists::Listing},
};
use mcp_safe::fs::create_folder;
use mcp_search::catalogue::{Catalogue, CatalogueFolder, Freshness, Loaded, Origin};

use super::{Server, publication::ListingSource};
use crate::{hub::Hub, tools::publish::Definition};

impl Server {
    /// Publishes the tools in the catalogue if the configuration is the same.
    pub(super) fn load_cached_tools(self: &Arc<Self>, hub: &Hub) {
        if !self.config.enabled {
            return;
        }
        let Some(folder) = catalogues(hub) else { return };
        let catalogue = match folder.load(&self.name, &self.binding.key) {
            Loaded::Found(catalogue) => catalogue,
            Loaded::Missing => return,
            Loaded::Ignored(error) => {
                tracing::debug!(server = %self.name, %error, "cannot read the catalogue; it is ignored");
                return;
            }
        };
        // An outdated list is good enough for search: the first call starts the server and fetches a new one.
        if catalogue.freshness(&self.binding.key, now_ms()) == Freshness::OtherConfig {
            return;
        }
        let mut listing = Listing::<Listed>::default();
        let read = |text: &str| RawJson::parse(text.to_owned()).ok()?.decode::<Listed>().ok();
        listing.items = catalogue.definitions().filter_map(|(text, _)| read(text)).collect();
        self.publish(hub, &listing, ListingSource::Cached);
    }

    /// Writes the catalogue in the background.
    pub(super) fn store(&self, hub: &Hub, listing: &Listing<Listed>, tools: &[Definition]) {
        let Some(folder) = catalogues(hub) else { return };
        let Some(path) = self.catalogue_path(hub) else { return };
        let mut origin = Origin::new(&self.binding.key, now_ms());
        let ttl = listing.freshness.map(|freshness| freshness.ttl.as_millis());
        origin.ttl_ms = ttl.and_then(|ttl| u64::try_from(ttl).ok());
        let definitions = tools.iter().map(|tool| tool.raw.clone());
        let Ok(catalogue) = Catalogue::new(&*self.name, origin, definitions) else { return };
        hub.write_soon(move || {
            path.parent().map_or(Ok(()), create_folder)?;
            folder.store(&catalogue)
        });
    }

    pub(super) fn catalogue_path(&self, hub: &Hub) -> Option<PathBuf> {
        Some(catalogues(hub)?.path(&self.name, &self.binding.key))
    }
}

/// The folder of the catalogues, if the host set one.
fn catalogues(hub: &Hub) -> Option<CatalogueFolder> {
    hub.options.catalogue.as_ref().map(CatalogueFolder::new)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
