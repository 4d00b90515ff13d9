//! What changed between two configurations of a server, or two resolutions.

use std::{collections::BTreeMap, fmt};

use crate::{
    model::{ServerConfig, Transport},
    name::ServerName,
    resolve::Resolution,
};

/// The settings in which two configurations differ, by our own names for them. Never the values.
pub(crate) fn differences(a: &ServerConfig, b: &ServerConfig) -> Vec<&'static str> {
    let ServerConfig {
        name,
        transport,
        enabled,
        timeouts,
        tools,
        always_load,
        trust,
        limits,
        connect,
        era,
        auth,
        description,
        extra,
    } = a;
    let mut differ = transport_differences(transport, &b.transport);
    let rest = [
        ("name", *name != b.name),
        ("enabled", *enabled != b.enabled),
        ("timeouts", *timeouts != b.timeouts),
        ("tools", *tools != b.tools),
        ("alwaysLoad", *always_load != b.always_load),
        ("trust", *trust != b.trust),
        ("limits", *limits != b.limits),
        ("connect", *connect != b.connect),
        ("era", *era != b.era),
        ("auth", *auth != b.auth),
        ("description", *description != b.description),
        ("other fields", *extra != b.extra),
    ];
    differ.extend(rest.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field));
    differ
}

fn transport_differences(a: &Transport, b: &Transport) -> Vec<&'static str> {
    let mut fields: Vec<(&'static str, bool)> = Vec::new();
    match (a, b) {
        (Transport::Stdio(a), Transport::Stdio(b)) => fields.extend([
            ("command", a.command != b.command),
            ("args", a.args != b.args),
            ("env", a.env != b.env || a.env_unset != b.env_unset),
            ("envPass", a.env_pass != b.env_pass),
            ("envFile", a.env_file != b.env_file),
            ("cwd", a.cwd != b.cwd),
        ]),
        (Transport::Sdk(a), Transport::Sdk(b)) => fields.push(("server", a != b)),
        _ => match (a.remote(), b.remote()) {
            (Some(ra), Some(rb)) => fields.extend([
                ("type", a.kind() != b.kind()),
                ("url", ra.url != rb.url),
                ("headers", ra.headers != rb.headers),
                ("headersHelper", ra.headers_helper != rb.headers_helper),
                ("oauth", ra.oauth != rb.oauth),
                ("tls", ra.tls != rb.tls),
                ("env", ra.env != rb.env || ra.env_pass != rb.env_pass),
            ]),
            _ => fields.push(("type", true)),
        },
    }
    fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
}

/// Which active servers came, went or changed from one resolution to the next.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Diff {
    /// Active now, not before.
    pub added: Vec<ServerName>,
    /// Active before and now, with the settings that differ.
    pub changed: Vec<(ServerName, Vec<&'static str>)>,
    /// Active before, not now.
    pub removed: Vec<ServerName>,
}

impl Diff {
    /// What it takes to get from `before` to `after`. Names in alphabetical order.
    pub fn between(before: &Resolution, after: &Resolution) -> Self {
        let by_name = |resolution: &Resolution| -> BTreeMap<ServerName, ServerConfig> {
            resolution
                .servers()
                .map(|c| (c.entry.config.name.clone(), c.entry.config.clone()))
                .collect()
        };
        let (old, new) = (by_name(before), by_name(after));
        let mut diff = Self::default();
        for (name, config) in &new {
            match old.get(name) {
                None => diff.added.push(name.clone()),
                Some(was) if was != config => {
                    diff.changed.push((name.clone(), differences(was, config)));
                }
                Some(_) => {}
            }
        }
        diff.removed.extend(old.into_keys().filter(|name| !new.contains_key(name)));
        diff
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return out.write_str("nothing changes\n");
        }
        self.added.iter().try_for_each(|name| writeln!(out, "+ {name}"))?;
        self.changed
            .iter()
            .try_for_each(|(name, fields)| writeln!(out, "~ {name} ({})", fields.join(", ")))?;
        self.removed.iter().try_for_each(|name| writeln!(out, "- {name}"))
    }
}
