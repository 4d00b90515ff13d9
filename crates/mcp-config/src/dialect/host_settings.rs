//! Reads the settings of the host.

use super::{
    finding::Dropped,
    path::Path,
    read::Reader,
    shape::{HOST_KEYS, Unit},
    value::{LEVELS, Values, Words},
};
use crate::{
    format::Node,
    model::{HostSettings, RetrySettings, RuleAction, Syntax, TrustRule},
};

const ACTIONS: Words<RuleAction> =
    &[("allow", RuleAction::Allow), ("ask", RuleAction::Ask), ("deny", RuleAction::Deny)];

type Read<T> = Result<T, Dropped>;

impl Reader<'_, '_> {
    /// Reads all host settings; an invalid one is reported and skipped.
    pub(super) fn host_settings(&mut self, root: &Node<'_>) {
        for key in HOST_KEYS {
            if let Some(node) = root.get(key) {
                let path = Path::Root.key(key);
                // The reason was reported as a diagnostic.
                let _ = self.host_setting(key, node, &path);
            }
        }
    }

    fn host_setting(&mut self, key: &str, node: &Node<'_>, path: &Path<'_>) -> Read<()> {
        match key {
            "tool_search" => return self.tool_search(node, path),
            "retry" => return self.retry(node, path),
            "sandboxMinimum" => return self.sandbox_minimum(node, path),
            "trustRules" => return self.trust_rules(node, path),
            _ => {}
        }
        let mut read = Values { findings: self.findings, path, syntax: Syntax::NONE };
        let host = &mut self.document.host;
        match key {
            "lazyLoading" if read.boolean(node)? => host.search_threshold = Some(0),
            "lazyLoading" => host.tool_search = Some(false),
            "summaryDescriptionLimit" => host.summary_limit = Some(read.count(node)?),
            "maxToolsPerSearch" => host.max_matches = Some(read.count_from_one(node)?),
            _ => host.always_load = read.names(node)?,
        }
        Ok(())
    }

    fn tool_search(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<()> {
        let mut host = HostSettings::default();
        self.host_object(
            node,
            path,
            &["enabled", "threshold", "max_matches"],
            |read, key, node| {
                match key {
                    "enabled" => host.tool_search = Some(read.boolean(node)?),
                    "threshold" => host.search_threshold = Some(read.count(node)?),
                    _ => host.max_matches = Some(read.count_from_one(node)?),
                }
                Ok(())
            },
        )?;
        let own = &mut self.document.host;
        own.tool_search = host.tool_search.or(own.tool_search);
        own.search_threshold = host.search_threshold.or(own.search_threshold);
        own.max_matches = host.max_matches.or(own.max_matches);
        Ok(())
    }

    fn retry(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<()> {
        let mut retry = RetrySettings::default();
        self.host_object(
            node,
            path,
            &["attempts", "initialDelayMs", "maxDelayMs"],
            |read, key, node| {
                match key {
                    "attempts" => retry.attempts = Some(read.count_from_one(node)?),
                    "initialDelayMs" => retry.initial_delay = read.duration(node, Unit::Millis)?,
                    _ => retry.max_delay = read.duration(node, Unit::Millis)?,
                }
                Ok(())
            },
        )?;
        self.document.host.retry = retry;
        Ok(())
    }

    /// A managed file with an unreadable minimum allows nothing until it is fixed.
    fn sandbox_minimum(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<()> {
        let level =
            Values { findings: self.findings, path, syntax: Syntax::NONE }.word(node, LEVELS);
        self.document.policy.broken |= level.is_err();
        self.document.host.sandbox_minimum = Some(level?);
        Ok(())
    }

    /// A list with an unreadable rule is not used at all, because that rule might deny.
    fn trust_rules(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<()> {
        let rules = self.rules(node, path);
        // A managed file then allows nothing until it is fixed.
        self.document.policy.broken |= rules.is_err();
        self.document.host.rules = vec![rules?];
        Ok(())
    }

    fn rules(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<Vec<TrustRule>> {
        let Some(items) = node.items() else {
            self.findings.wrong(node, path, "an array of rules");
            return Err(Dropped);
        };
        let mut rules = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let path = Path::Index(path, index);
            let (mut permission, mut pattern, mut action) = (None, "*".to_owned(), None);
            self.host_object(
                item,
                &path,
                &["permission", "pattern", "action"],
                |read, key, node| {
                    match key {
                        "permission" => permission = Some(read.text(node)?),
                        "pattern" => pattern = read.text(node)?,
                        _ => action = Some(read.word(node, ACTIONS)?),
                    }
                    Ok(())
                },
            )?;
            let (Some(permission), Some(action)) = (permission, action) else {
                self.findings.wrong(item, &path, "an object with `permission` and `action`");
                return Err(Dropped);
            };
            rules.push(TrustRule { permission, pattern, action });
        }
        Ok(rules)
    }

    /// Calls `set` with each known member of an object; unknown members are reported and ignored.
    fn host_object(
        &mut self,
        node: &Node<'_>,
        path: &Path<'_>,
        known: &[&'static str],
        mut set: impl FnMut(&mut Values<'_, '_, '_>, &str, &Node<'_>) -> Read<()>,
    ) -> Read<()> {
        let Some(members) = node.members() else {
            self.findings.wrong(node, path, "an object");
            return Err(Dropped);
        };
        for member in members {
            let path = path.key(&member.key);
            if known.contains(&&*member.key) {
                let mut read =
                    Values { findings: self.findings, path: &path, syntax: Syntax::NONE };
                set(&mut read, &member.key, &member.value)?;
            } else {
                let known = known.iter().copied();
                super::typo::note_unknown(self.findings, member, &path, known, None);
            }
        }
        Ok(())
    }
}
