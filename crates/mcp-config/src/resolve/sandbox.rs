//! Sandboxes that a repository or a provider asks for: they may be stricter than the default, and not looser.

use std::sync::Arc;

use mcp_sandbox::{Level, Limits, Profile};

use crate::{
    diagnostic::{Diagnostic, Problem},
    dialect::Entry,
    model::{Scope, Transport},
};

/// The entry as it counts in `scope`. The user has not written entries of a project or a provider, so where their
/// sandbox is looser than `default`, the default applies.
pub(super) fn limited(entry: &Arc<Entry>, scope: Scope, default: &Profile) -> Arc<Entry> {
    let Some(asked) = asked(entry, scope) else { return Arc::clone(entry) };
    let (profile, _) = tightened(asked, default);
    if profile == *asked {
        return Arc::clone(entry);
    }
    let mut limited = Entry::clone(entry);
    if let Transport::Stdio(stdio) = &mut limited.config.transport {
        // Without a profile the host's default counts, also on systems that have no sandboxes.
        stdio.sandbox = (profile != *default).then_some(profile);
    }
    Arc::new(limited)
}

/// The diagnostic for an entry whose sandbox is looser than `default`.
pub(super) fn diagnostic(entry: &Entry, scope: Scope, default: &Profile) -> Option<Diagnostic> {
    let (_, loosened) = tightened(asked(entry, scope)?, default);
    if loosened.is_empty() {
        return None;
    }
    let found = format!("a sandbox that is looser than the default: {}", loosened.join(", "));
    let finding = Diagnostic::warning(Problem::Ignored, found);
    let finding = finding.hint("ignored; to use it, put the server into a file of your own");
    let server = Some(entry.config.name.as_str().to_owned());
    Some(Diagnostic { place: entry.place.clone(), server, ..finding })
}

/// The sandbox that an entry asks for, if its scope may only tighten.
fn asked(entry: &Entry, scope: Scope) -> Option<&Profile> {
    match &entry.config.transport {
        Transport::Stdio(stdio) if matches!(scope, Scope::Project | Scope::Cloud) => {
            stdio.sandbox.as_ref()
        }
        _ => None,
    }
}

/// The stricter of both in each member, and the members in which `asked` is looser.
fn tightened(asked: &Profile, default: &Profile) -> (Profile, Vec<&'static str>) {
    let mut strict = asked.clone();
    strict.level = asked.level.max(default.level);
    if strict.project_access() > default.project_access() {
        strict.project = Some(default.project_access());
    }
    strict.read.retain(|path| default.read.contains(path));
    strict.write.retain(|path| default.write.contains(path));
    // A default below `strict` leaves the network open, so any list of hosts restricts it.
    strict.hosts.retain(|host| default.level < Level::Strict || default.hosts.contains(host));
    strict.required |= default.required;
    let (own, least) = (&asked.limits, &default.limits);
    strict.limits.processes = own.processes.min(least.processes);
    strict.limits.open_files = own.open_files.min(least.open_files);
    strict.limits.file_bytes = own.file_bytes.min(least.file_bytes);
    strict.limits.memory_bytes = own.memory_bytes.min(least.memory_bytes);
    // What an entry does not name, it has not asked for.
    let names_limits = *own != Limits::default();
    let loosened = [
        ("profile", strict.level != asked.level),
        ("project", asked.project.is_some() && strict.project != asked.project),
        ("read", strict.read != asked.read),
        ("write", strict.write != asked.write),
        ("hosts", strict.hosts != asked.hosts),
        ("limits", strict.limits != asked.limits && names_limits),
    ];
    (
        strict,
        loosened.into_iter().filter(|(_, is_looser)| *is_looser).map(|(name, _)| name).collect(),
    )
}
