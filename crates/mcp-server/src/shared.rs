//! State that all client sessions of a server share.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson};
use mcp_tool::Tool;
use mcp_types::{Era, ProtocolVersion, lists::CacheScope, meta};
use tokio::sync::Semaphore;

use crate::{
    call::{
        inbox::{CallKey, Change, Inbox},
        waiting::WaitingCalls,
    },
    options::ServeOptions,
    provide::{
        catalog::{Catalog, PromptCatalog, ResourceCatalog},
        tools::{Entry, Tools},
        watches::Watches,
    },
};

/// Returns the current tools.
pub(crate) struct Source(pub(crate) Box<dyn Fn() -> Vec<Arc<dyn Tool>> + Send + Sync>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source(..)")
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServeOptions,
    tools: RwLock<Arc<Tools>>,
    source: Option<Source>,
    pub(crate) prompts: Arc<PromptCatalog>,
    pub(crate) resources: Arc<ResourceCatalog>,
    pub(crate) waiting: WaitingCalls,
    pub(crate) listens: Arc<Semaphore>,
    /// The resources that clients have subscribed to.
    pub(crate) watches: Arc<Watches>,
    /// The inboxes of all sessions, to announce changes.
    inboxes: Mutex<Vec<Weak<Inbox>>>,
    next_key: AtomicU64,
    /// `{"io.modelcontextprotocol/serverInfo":{…}}`, the `_meta` of every modern result.
    result_meta: RawJson,
}

impl Shared {
    pub(crate) fn new(options: ServeOptions, source: Option<Source>) -> Self {
        let mut meta = ObjectWriter::new();
        // Cannot fail: all members are strings and raw JSON.
        let _ = meta.member(meta::SERVER_INFO, &options.server_info);
        let resources = Catalog::new(options.resources.clone());
        Self {
            tools: RwLock::default(),
            source,
            waiting: WaitingCalls::new(options.max_waiting, options.answer_timeout),
            listens: Arc::new(Semaphore::new(options.max_listens)),
            watches: Watches::new(resources.clone()),
            prompts: Catalog::new(options.prompts.clone()),
            resources,
            inboxes: Mutex::default(),
            next_key: AtomicU64::new(0),
            result_meta: meta.finish(),
            options,
        }
    }

    pub(crate) fn tools(&self) -> Arc<Tools> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Source(source)) = &self.source else { return known };
        let now = source();
        if known.is_made_of(&now) {
            return known;
        }
        let tools = Arc::new(Tools::new(now.into_iter().map(Entry::plain)));
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = tools.clone();
        tools
    }

    /// Changes the set of tools, and notifies all clients if it is a new set.
    pub(crate) fn change_tools(&self, change: impl FnOnce(&Tools) -> Option<Tools>) -> bool {
        let is_changed = {
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            let changed = change(&tools);
            let is_changed = changed.is_some();
            if let Some(changed) = changed {
                *tools = Arc::new(changed);
            }
            is_changed
        };
        if is_changed {
            self.announce(&Change::Tools);
        }
        is_changed
    }

    /// Opens an inbox that receives changes until it is dropped.
    pub(crate) fn open_inbox(&self) -> Arc<Inbox> {
        let inbox = Arc::new(Inbox::new(self.options.max_reports));
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|known| known.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        inbox
    }

    pub(crate) fn announce(&self, change: &Change) {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().filter_map(Weak::upgrade).for_each(|inbox| inbox.change(change));
    }

    pub(crate) fn next_key(&self) -> CallKey {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// The capabilities that the server declares.
    pub(crate) fn capabilities(&self, era: Era) -> RawJson {
        let options = &self.options;
        let mut all = ObjectWriter::new();
        all.object("tools", |tools| tools.boolean("listChanged", true));
        if self.resources.is_offered() {
            all.object("resources", |resources| {
                resources.boolean("subscribe", true).boolean("listChanged", true)
            });
        }
        if self.prompts.is_offered() {
            all.object("prompts", |prompts| prompts.boolean("listChanged", true));
        }
        if options.completions.is_some() {
            all.raw("completions", &RawJson::empty_object());
        }
        // Deprecated in the modern era, where clients set a log level per request.
        if options.logging && era == Era::Legacy {
            all.raw("logging", &RawJson::empty_object());
        }
        all.finish()
    }

    /// Writes a result: the members that the era requires, then those that `fill` writes.
    pub(crate) fn result(
        &self,
        version: ProtocolVersion,
        cache: CachePolicy,
        fill: impl FnOnce(&mut ObjectWriter),
    ) -> RawJson {
        self.result_with_meta(version, cache, None, fill)
    }

    /// Like [`result`](Self::result) with a `_meta`, which is left out if it is not an object.
    pub(crate) fn result_with_meta(
        &self,
        version: ProtocolVersion,
        cache: CachePolicy,
        own_meta: Option<&RawJson>,
        fill: impl FnOnce(&mut ObjectWriter),
    ) -> RawJson {
        let own_meta = own_meta.filter(|meta| meta.is_object());
        let mut result = ObjectWriter::with_capacity(256);
        if version.era() == Era::Legacy
            && let Some(meta) = own_meta
        {
            result.raw("_meta", meta);
        }
        if version.era() == Era::Modern {
            result.string("resultType", "complete");
            match own_meta {
                None => result.raw("_meta", &self.result_meta),
                Some(own) => result.object("_meta", |meta| {
                    meta.splice(&self.result_meta);
                    for (name, value) in own.members() {
                        if self.result_meta.get(&name).is_none() {
                            meta.raw(&name, &value);
                        }
                    }
                    meta
                }),
            };
            let ttl = match cache {
                CachePolicy::Undefined => None,
                CachePolicy::NoStore => Some(std::time::Duration::ZERO),
                CachePolicy::List => Some(self.options.list_ttl),
                CachePolicy::Contents => Some(self.options.read_ttl),
            };
            if let Some(ttl) = ttl {
                result.integer("ttlMs", i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
                result.string(
                    "cacheScope",
                    match self.options.cache_scope {
                        CacheScope::Public => "public",
                        CacheScope::Private => "private",
                    },
                );
            }
        }
        fill(&mut result);
        result.finish()
    }

    pub(crate) fn result_meta(&self) -> &RawJson {
        &self.result_meta
    }
}

/// How long a client may cache a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CachePolicy {
    /// The specification defines no caching for this kind of result.
    Undefined,
    /// The result must not be cached, although its kind can be.
    NoStore,
    /// As long as lists.
    List,
    /// As long as resource contents.
    Contents,
}

pub(crate) fn unknown_method(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, format!("unknown method `{method}`"))
}
