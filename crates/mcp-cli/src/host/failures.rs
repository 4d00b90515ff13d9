//! Remembers recent failures of servers, so that lists and searches do not wait for them again.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use mcp_bridge::{Bridge, ServerState};
use mcp_config::approval::Fingerprint;
use mcp_safe::fs::{create_folder, read, replace};
use serde_json::{Map, Value, json};

use crate::{
    host::config::Config,
    terminal::{out::brief, server_state},
};

/// How long a failure is remembered.
const REMEMBERED: Duration = Duration::from_secs(5 * 60);
/// The largest file that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// The remembered failures, by server configuration.
#[derive(Debug)]
pub(crate) struct Failures<'a> {
    config: &'a Config,
    known: BTreeMap<String, (u64, String)>,
}

impl<'a> Failures<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        let known = file(config).map(|path| load(&path)).unwrap_or_default();
        Self { config, known }
    }

    /// Returns why a server failed in the last minutes, if it did.
    pub(crate) fn of(&self, server: &str) -> Option<&str> {
        let (_, problem) = self.known.get(&self.key(server)?)?;
        Some(problem)
    }

    fn key(&self, server: &str) -> Option<String> {
        let config = &self.config.resolution.get(server)?.entry.config;
        Some(Fingerprint::of(config).to_string())
    }

    /// Remembers which of `names` have just failed, and forgets failures of servers that connected.
    pub(crate) fn note(mut self, bridge: &Bridge, names: &[String]) {
        let before = self.known.clone();
        let now = now();
        for status in bridge.status() {
            if !names.iter().any(|name| **name == *status.name) {
                continue;
            }
            let Some(key) = self.key(&status.name) else { continue };
            let is_late = matches!(status.state, ServerState::Connecting { .. });
            let has_failed = is_late
                || matches!(status.state, ServerState::Failed { .. } | ServerState::Waiting { .. });
            let problem = server_state::reason(bridge, &status)
                .or_else(|| is_late.then(|| "it did not respond in time".to_owned()));
            match problem.filter(|_| has_failed) {
                Some(problem) => {
                    self.known.insert(key, (now, brief(&problem, 500)));
                }
                None if status.state.is_connected() => drop(self.known.remove(&key)),
                None => {}
            }
        }
        if before != self.known
            && let Some(path) = file(self.config)
        {
            let all: Map<String, Value> = self
                .known
                .into_iter()
                .map(|(key, (at, problem))| (key, json!({"at": at, "problem": problem})))
                .collect();
            // If the file cannot be written, the next command tries the server again.
            let _ = path.parent().map(create_folder);
            let _ = replace(&path, Value::Object(all).to_string().as_bytes());
        }
    }
}

fn file(config: &Config) -> Option<PathBuf> {
    Some(config.places.cache.as_ref()?.join("failures.json"))
}

fn load(path: &std::path::Path) -> BTreeMap<String, (u64, String)> {
    let text = read(path, LARGEST).ok().flatten().unwrap_or_default();
    let all: Map<String, Value> = serde_json::from_slice(&text).unwrap_or_default();
    let limit = u64::try_from(REMEMBERED.as_millis()).unwrap_or(u64::MAX);
    let oldest = now().saturating_sub(limit);
    let entry = |(key, value): (String, Value)| {
        let at = value["at"].as_u64().filter(|at| (oldest..=now()).contains(at))?;
        Some((key, (at, value["problem"].as_str()?.to_owned())))
    };
    all.into_iter().filter_map(entry).collect()
}

fn now() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
