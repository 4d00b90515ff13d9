//! The settings in which two configurations of a server differ.

use super::server::{ServerConfig, Transport};

/// The names of the settings in which two configurations differ, never the values.
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
            ("inheritEnv", a.inherit_env != b.inherit_env),
            ("envPass", a.env_pass != b.env_pass),
            ("envFile", a.env_file != b.env_file),
            ("cwd", a.cwd != b.cwd),
            ("sandbox", a.sandbox != b.sandbox),
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
