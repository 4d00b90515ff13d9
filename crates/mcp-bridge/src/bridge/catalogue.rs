//! What servers offered last time, so that nothing has to be started in order to be found.

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use mcp_client::{Listing, RawJson, Tool as Listed};
use mcp_config::Fingerprint;
use mcp_search::{Catalogue, Freshness, Loaded, Origin};

use super::core::{Core, Whence};
use crate::{folder::make_private, publish::Definition, server::Server};

impl Core {
    /// Publishes what is remembered of a server, if it still has this configuration.
    pub(super) fn remembered(&self, server: &Arc<Server>) {
        if !server.config.enabled {
            return;
        }
        let Some(path) = self.path(server) else { return };
        let catalogue = match Catalogue::load(&path) {
            Loaded::Found(catalogue) => catalogue,
            Loaded::Missing => return,
            Loaded::Ignored(error) => {
                tracing::debug!(server = %server.name, %error, "a catalogue is ignored");
                return;
            }
        };
        let config = Fingerprint::of(&server.config).to_string();
        // An old list is good to search in: the first call fetches a new one before anything runs.
        if catalogue.freshness(&config, now_ms()) == Freshness::OtherConfig
            || catalogue.server() != &*server.name
        {
            return;
        }
        let mut listing = Listing::<Listed>::default();
        let read = |text: &str| RawJson::parse(text.to_owned()).ok()?.decode::<Listed>().ok();
        listing.items = catalogue.definitions().filter_map(|(text, _)| read(text)).collect();
        self.publish(server, &listing, Whence::Remembered);
    }

    /// Remembers what a server offers, without anybody waiting for it.
    pub(super) fn store(
        &self,
        server: &Arc<Server>,
        listing: &Listing<Listed>,
        tools: &[Definition],
    ) {
        let Some(path) = self.path(server) else { return };
        let mut origin = Origin::new(Fingerprint::of(&server.config).to_string(), now_ms());
        let ttl = listing.freshness.map(|freshness| freshness.ttl.as_millis());
        origin.ttl_ms = ttl.and_then(|ttl| u64::try_from(ttl).ok());
        let definitions = tools.iter().map(|tool| tool.raw.clone());
        let Ok(catalogue) = Catalogue::new(&*server.name, origin, definitions) else { return };
        self.write_soon(move || {
            path.parent().map_or(Ok(()), make_private)?;
            catalogue.store(&path)
        });
    }

    /// Writes a file without anybody waiting for it, but whoever ends the bridge.
    pub(super) fn write_soon(&self, write: impl FnOnce() -> io::Result<()> + Send + 'static) {
        let writing = tokio::task::spawn_blocking(move || {
            if let Err(error) = write() {
                tracing::debug!(%error, "what a server offers could not be kept");
            }
        });
        let mut writes = crate::server::lock(&self.writes);
        writes.retain(|write| !write.is_finished());
        writes.push(writing);
    }

    pub(super) fn path(&self, server: &Server) -> Option<PathBuf> {
        let folder = self.options.catalogue.as_ref()?;
        let mut name = crate::name::sanitise(&server.name);
        if name != *server.name {
            // Another server's name may become the same file.
            let own = Fingerprint::of(&server.config).to_string();
            name = format!("{name}-{}", &own[..8]);
        }
        Some(folder.join(format!("{name}.catalogue")))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
