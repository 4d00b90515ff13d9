//! Tests of approvals with real files.

use super::*;

fn server(key: &str) -> Binding {
    Binding { key: key.into(), takes_unbound: false }
}

fn hash(approvals: &ToolApprovals, permission: &str, of: &Binding) -> Option<String> {
    approvals.approved(permission, of).map(|approved| approved.hash)
}

#[test]
fn approval_survives_restart_and_applies_to_its_server_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    let (one, other) = (server("one"), server("other"));
    ToolApprovals::load(&path).unwrap().approve("mcp:a:b", &one, "h1", "{\"x\":1}");
    let again = ToolApprovals::load(&path).unwrap();
    assert_eq!(hash(&again, "mcp:a:b", &one).as_deref(), Some("h1"));
    assert_eq!(hash(&again, "mcp:a:b", &other), None, "another server of the same name");
    assert_eq!(hash(&again, "mcp:a:c", &one), None);
    again.revoke("mcp:a:b").unwrap();
    assert_eq!(ToolApprovals::load(&path).unwrap().permissions().len(), 0);
    fs::write(&path, "[]").unwrap();
    assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Malformed(_))));
}

#[test]
fn unbound_approvals_apply_to_user_entries_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    replace(&path, br#"{"mcp:a:b":{"hash":"h","definition":"{}"}}"#).unwrap();
    let approvals = ToolApprovals::load(&path).unwrap();
    let own = Binding { key: "k".into(), takes_unbound: true };
    assert_eq!(hash(&approvals, "mcp:a:b", &own).as_deref(), Some("h"));
    assert_eq!(hash(&approvals, "mcp:a:b", &server("k")), None, "an entry of a project");
    approvals.approve("mcp:c:d", &server("k"), "h", "{}");
    assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), ["mcp:a:b", "mcp:c:d"]);
}

#[cfg(unix)]
#[test]
fn approvals_file_writable_by_others_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    ToolApprovals::load(&path).unwrap().approve("mcp:a:b", &server("k"), "h", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Io(..))));
}

#[test]
fn approvals_inside_the_project_do_not_count_on_load_or_on_save() {
    let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let inside = project.path().join("state/tools.json");
    ToolApprovals::load(&inside).unwrap().approve("mcp:a:b", &server("k"), "h", "{}");
    let refused = ToolApprovals::load_for(&inside, project.path());
    assert!(matches!(refused, Err(ToolApprovalsError::InsideProject(_))), "{refused:?}");
    let missing = project.path().join("none/tools.json");
    assert!(ToolApprovals::load_for(&missing, project.path()).is_err(), "not written yet");
    let outside = state.path().join("tools.json");
    let approvals = ToolApprovals::load_for(&outside, project.path()).unwrap();
    approvals.approve("mcp:c:d", &server("k"), "h", "{}");
    assert_eq!(
        ToolApprovals::load_for(&outside, project.path()).unwrap().permissions(),
        ["mcp:c:d"]
    );
}

/// The folder is replaced by a link into the project after the approvals were loaded.
#[cfg(unix)]
#[test]
fn approval_is_not_saved_to_a_file_that_moved_into_the_project() {
    let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = state.path().join("mcp");
    fs::create_dir(&folder).unwrap();
    let approvals = ToolApprovals::load_for(folder.join("tools.json"), project.path()).unwrap();
    fs::remove_dir(&folder).unwrap();
    std::os::unix::fs::symlink(project.path(), &folder).unwrap();
    assert!(approvals.revoke("mcp:a:b").is_err());
    assert!(!project.path().join("tools.json").exists());
}

#[cfg(unix)]
#[test]
fn approval_is_not_added_to_a_file_that_others_can_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    let approvals = ToolApprovals::load(&path).unwrap();
    approvals.approve("mcp:a:b", &server("k"), "h", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(approvals.revoke("mcp:a:b").is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(hash(&approvals, "mcp:a:b", &server("k")), None, "revoked in this process");
}

#[test]
fn pin_is_saved_and_changed_definition_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    let approvals = ToolApprovals::load(&path).unwrap();
    let tools = [("mcp:a:b".to_owned(), "h1".to_owned())];
    assert!(approvals.pin(&server("k"), &tools) && !approvals.pin(&server("k"), &tools));
    approvals.save().unwrap();
    let again = ToolApprovals::load(&path).unwrap();
    assert!(again.differs_from_pin("mcp:a:b", &server("k"), "h2"));
    assert!(!again.differs_from_pin("mcp:a:b", &server("k"), "h1"));
    assert!(!again.differs_from_pin("mcp:a:b", &server("other"), "h2"), "a server without a pin");
    assert_eq!(again.permissions().len(), 0, "a pin is not an approval");
}

#[test]
fn concurrent_processes_preserve_each_others_approvals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    let (one, other) = (ToolApprovals::load(&path).unwrap(), ToolApprovals::load(&path).unwrap());
    let of = server("k");
    one.approve("mcp:a:b", &of, "h", "{}");
    other.approve("mcp:c:d", &of, "h", "{}");
    assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), ["mcp:a:b", "mcp:c:d"]);
    // A revocation by another process must survive the next change here.
    other.revoke("mcp:a:b").unwrap();
    one.lock().checked = None;
    assert_eq!(hash(&one, "mcp:a:b", &of), None, "the revocation is visible here");
    one.approve("mcp:e:f", &of, "h", "{}");
    assert_eq!(one.permissions(), ["mcp:c:d", "mcp:e:f"]);
    assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), one.permissions());
}

#[test]
fn pins_are_limited_and_known_ones_can_still_change() {
    let approvals = ToolApprovals::new();
    let tool = |number: usize, hash: &str| (format!("mcp:a:{number}"), hash.to_owned());
    let all: Vec<_> = (0..=MOST_PINS).map(|number| tool(number, "h1")).collect();
    assert!(!approvals.pin(&server("k"), &all), "there is no file to save to");
    assert_eq!(approvals.lock().tools.pins.len(), MOST_PINS);
    approvals.pin(&server("k"), &[tool(0, "h2"), tool(MOST_PINS, "h2")]);
    assert!(approvals.differs_from_pin("mcp:a:0", &server("k"), "h1"));
    assert_eq!(approvals.lock().tools.pins.len(), MOST_PINS);
    assert!(!approvals.differs_from_pin(&tool(MOST_PINS, "").0, &server("k"), "h3"));
}

#[test]
fn file_is_checked_for_changes_at_intervals_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    let (one, other) = (ToolApprovals::load(&path).unwrap(), ToolApprovals::load(&path).unwrap());
    let of = server("k");
    other.approve("mcp:a:b", &of, "h", "{}");
    one.lock().checked = Some(Instant::now() + Duration::from_secs(600));
    assert_eq!(hash(&one, "mcp:a:b", &of), None, "checked just now");
    one.lock().checked = Instant::now().checked_sub(CHECK_INTERVAL);
    assert_eq!(hash(&one, "mcp:a:b", &of).as_deref(), Some("h"));
    // What was loaded is not read again until the file changes.
    let loaded = ToolApprovals::load(&path).unwrap();
    loaded.lock().tools.approved.clear();
    loaded.lock().tools.approved.insert(
        Key::new("mcp:c:d", "k"),
        Approved { hash: "memory".into(), definition: String::new() },
    );
    assert_eq!(hash(&loaded, "mcp:c:d", &of).as_deref(), Some("memory"));
    loaded.approve("mcp:e:f", &of, "h", "{}");
    loaded.lock().tools.approved.insert(
        Key::new("mcp:c:d", "k"),
        Approved { hash: "memory".into(), definition: String::new() },
    );
    loaded.lock().checked = None;
    assert_eq!(hash(&loaded, "mcp:c:d", &of).as_deref(), Some("memory"), "its own change");
}

#[test]
fn permissions_are_listed_once_and_errors_name_the_file() {
    use std::error::Error as _;
    let approvals = ToolApprovals::new();
    for key in ["k", "other"] {
        approvals.approve("mcp:a:b", &server(key), "h", "{}");
    }
    assert_eq!(approvals.permissions(), ["mcp:a:b"]);
    approvals.revoke("mcp:c:d").unwrap();
    assert_eq!(hash(&approvals, "mcp:a:b", &server("other")).as_deref(), Some("h"));
    let error = ToolApprovalsError::Malformed("x.json".into());
    assert_eq!(error.to_string(), "x.json is not a valid approvals file");
    assert!(error.source().is_none());
    let error = ToolApprovalsError::Io("x.json".into(), std::io::Error::other("cause"));
    assert_eq!(error.to_string(), "cannot read x.json");
    assert_eq!(error.source().unwrap().to_string(), "cause");
}

#[test]
fn only_known_versions_of_the_file_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approved.json");
    for (text, is_read) in [
        (r#"{"version":2,"approved":[],"seen":[]}"#, true),
        (r#"{"version":3,"approved":[],"seen":[]}"#, false),
        (r#"{"version":2,"approved":[]}"#, false),
        (r#"{"version":2,"approved":[{"permission":"p"}],"seen":[]}"#, false),
        (r#"{"version":{"hash":"h","definition":"{}"}}"#, true),
        ("{}", true),
    ] {
        replace(&path, text.as_bytes()).unwrap();
        assert_eq!(ToolApprovals::load(&path).is_ok(), is_read, "{text}");
    }
}
