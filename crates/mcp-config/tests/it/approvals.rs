//! Approvals on disk.

use std::fs;

use mcp_config::{Approval, ApprovalError, ApprovalStore};

use crate::resolution::program;

#[test]
fn decisions_are_remembered_for_one_project_and_one_content() {
    let folder = tempfile::tempdir().unwrap();
    let (project, other) = (folder.path().join("app"), folder.path().join("other"));
    fs::create_dir(&project).unwrap();
    let store = ApprovalStore::new(folder.path().join("user/approvals.json"));
    assert_eq!(store.load().unwrap().of(&project, &program("a", "x")), Approval::Unknown);
    store.update(&project, |approvals| approvals.approve(&project, &program("a", "x"))).unwrap();
    store.update(&project, |approvals| approvals.reject(&project, &program("b", "y"))).unwrap();
    let approvals = store.load().unwrap();
    assert_eq!(approvals.of(&project, &program("a", "x")), Approval::Approved);
    assert_eq!(approvals.of(&project, &program("a", "changed")), Approval::Changed);
    assert_eq!(approvals.of(&project, &program("b", "y")), Approval::Rejected);
    assert_eq!(approvals.of(&other, &program("a", "x")), Approval::Unknown);
    let approvals = store.update(&project, |approvals| approvals.forget(&project, "b")).unwrap();
    assert_eq!(approvals.of(&project, &program("b", "y")), Approval::Unknown);
}

#[test]
fn approvals_inside_the_repository_are_refused() {
    let project = tempfile::tempdir().unwrap();
    let store = ApprovalStore::new(project.path().join(".config/approvals.json"));
    let error = store.update(project.path(), |_| {}).unwrap_err();
    assert!(matches!(error, ApprovalError::InsideProject(_)));
    assert!(!project.path().join(".config").exists());
}

#[test]
fn a_damaged_store_approves_nothing_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approvals.json");
    let project = folder.path().join("app");
    let store = ApprovalStore::new(&path);
    for damaged in [
        "{",
        "[]",
        "{\"version\":2,\"projects\":{}}",
        "{\"version\":1,\"projects\":{\"p\":{\"s\":{\"approved\":true}}}}",
    ] {
        fs::write(&path, damaged).unwrap();
        assert!(matches!(store.load(), Err(ApprovalError::Malformed(_))), "{damaged}");
        assert!(
            store
                .update(&project, |approvals| approvals.approve(&project, &program("a", "x")))
                .is_err()
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}
