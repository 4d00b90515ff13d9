//! The JSON form of a profile.

use serde_json::{Map, Value, json};

use super::{Access, Level, Limits, Profile};
use crate::{error::ProfileError, fields::Fields, host::HostRule};

pub(super) fn profile(value: &Value) -> Result<Profile, ProfileError> {
    if let Some(name) = value.as_str() {
        return Ok(Profile::new(level("", name)?));
    }
    let mut fields = Fields::new(value)?;
    let name = fields.text("profile")?.unwrap_or_else(|| Level::Standard.name().into());
    let mut profile = Profile::new(level("profile", &name)?);
    profile.project = fields.text("project")?.map(|name| access(&name)).transpose()?;
    profile.read = fields.strings("read")?;
    profile.write = fields.strings("write")?;
    for path in profile.read.iter().chain(&profile.write) {
        check_path(path)?;
    }
    let hosts = fields.strings("hosts")?;
    profile.hosts = hosts.iter().map(|host| host.parse::<HostRule>()).collect::<Result<_, _>>()?;
    profile.required = fields.boolean("required")?.unwrap_or(false);
    if let Some(limits) = fields.take("limits") {
        profile.limits = read_limits(&limits)?;
    }
    fields.finish()?;
    check(&profile)?;
    Ok(profile)
}

/// Rejects settings that would have no effect: their author expects one.
fn check(profile: &Profile) -> Result<(), ProfileError> {
    if profile.level == Level::Off && *profile != Profile::new(Level::Off) {
        return Err(ProfileError::new("profile", "`off` permits everything and takes no settings"));
    }
    if profile.level == Level::Standard && !profile.hosts.is_empty() {
        return Err(ProfileError::new(
            "hosts",
            "needs the profile `strict`: `standard` permits all",
        ));
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), ProfileError> {
    if path.split('/').any(|part| part == "..") {
        return Err(ProfileError::new("", format!("has the path `{path}`, which leads upwards")));
    }
    let names_a_user = path.starts_with('~') && path != "~" && !path.starts_with("~/");
    if names_a_user {
        return Err(ProfileError::new(
            "",
            format!("has the path `{path}`; only `~/` is supported"),
        ));
    }
    Ok(())
}

fn level(member: &str, name: &str) -> Result<Level, ProfileError> {
    Level::from_name(name).ok_or_else(|| {
        let problem = format!("is `{name}`; the profiles are `off`, `standard` and `strict`");
        ProfileError::new(member, problem)
    })
}

fn access(name: &str) -> Result<Access, ProfileError> {
    match name {
        "none" => Ok(Access::None),
        "read" => Ok(Access::Read),
        "write" => Ok(Access::Write),
        _ => Err(ProfileError::new("project", "must be `none`, `read` or `write`")),
    }
}

pub(crate) fn read_limits(value: &Value) -> Result<Limits, ProfileError> {
    let mut fields =
        Fields::new(value).map_err(|_| ProfileError::new("limits", "must be an object"))?;
    let mut limits = Limits::default();
    for (name, slot) in [
        ("processes", &mut limits.processes),
        ("open_files", &mut limits.open_files),
        ("file_bytes", &mut limits.file_bytes),
        ("memory_bytes", &mut limits.memory_bytes),
    ] {
        if let Some(number) = fields.number(name)? {
            *slot = number;
        }
    }
    fields.finish()?;
    Ok(limits)
}

pub(crate) fn limits_to_json(limits: &Limits) -> Value {
    json!({
        "processes": limits.processes,
        "open_files": limits.open_files,
        "file_bytes": limits.file_bytes,
        "memory_bytes": limits.memory_bytes,
    })
}

pub(super) fn to_json(profile: &Profile) -> Value {
    if *profile == Profile::new(profile.level) {
        return profile.level.name().into();
    }
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("profile", profile.level.name().into());
    if let Some(access) = profile.project {
        let name = match access {
            Access::None => "none",
            Access::Read => "read",
            Access::Write => "write",
        };
        put("project", name.into());
    }
    if !profile.read.is_empty() {
        put("read", profile.read.clone().into());
    }
    if !profile.write.is_empty() {
        put("write", profile.write.clone().into());
    }
    if !profile.hosts.is_empty() {
        put("hosts", profile.hosts.iter().map(ToString::to_string).collect());
    }
    if profile.required {
        put("required", true.into());
    }
    if profile.limits != Limits::default() {
        put("limits", limits_to_json(&profile.limits));
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_objects_are_read() {
        assert_eq!(profile(&json!("standard")).unwrap(), Profile::new(Level::Standard));
        let value = json!({
            "profile": "strict", "project": "write", "read": ["~/data"], "write": ["out"],
            "hosts": ["*.github.com:8443"], "required": true, "limits": {"processes": 64},
        });
        let read = profile(&value).unwrap();
        assert_eq!(read.project_access(), Access::Write);
        assert_eq!(read.limits.processes, 64);
        assert_eq!(read.limits.open_files, Limits::default().open_files);
        assert_eq!(profile(&to_json(&read)).unwrap(), read);
        assert_eq!(read.to_string(), "strict (adjusted)");
    }

    #[test]
    fn everything_unknown_is_refused_and_named() {
        for (value, member) in [
            (json!("none"), ""),
            (json!(null), ""),
            (json!(["standard"]), ""),
            (json!({"profile": "lax"}), "profile"),
            (json!({"reads": ["/a"]}), "reads"),
            (json!({"read": "/a"}), "read"),
            (json!({"read": [""]}), "read"),
            (json!({"read": ["a\u{0}b"]}), "read"),
            (json!({"write": ["/a/../b"]}), ""),
            (json!({"write": ["~root/x"]}), ""),
            (json!({"read": vec!["/a"; 300]}), "read"),
            (json!({"project": "all"}), "project"),
            (json!({"required": 1}), "required"),
            (json!({"limits": {"processes": 0}}), "processes"),
            (json!({"limits": {"cpu": 1}}), "cpu"),
            (json!({"limits": 3}), "limits"),
            (json!({"hosts": ["a.test"]}), "hosts"),
            (json!({"profile": "strict", "hosts": ["http://a.test"]}), "hosts"),
            (json!({"profile": "off", "read": ["/a"]}), "profile"),
        ] {
            let error = profile(&value).expect_err(&value.to_string());
            assert_eq!(error.member(), member, "{value}: {error}");
        }
    }

    proptest! {
        #[test]
        fn written_profiles_are_read_back(
            level in 1_usize..3, project in 0_usize..4, read in prop::collection::vec("[a-z~]{1,3}", 0..3),
            required: bool, processes in 1_u64..u64::MAX,
        ) {
            let mut given = Profile::new([Level::Off, Level::Standard, Level::Strict][level]);
            given.project = [None, Some(Access::None), Some(Access::Read), Some(Access::Write)][project];
            given.read = read.into_iter().filter(|path| check_path(path).is_ok()).collect();
            given.required = required;
            given.limits.processes = processes;
            prop_assert_eq!(profile(&to_json(&given)).unwrap(), given);
        }
    }
}
