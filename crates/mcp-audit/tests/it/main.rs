//! The log and its verification over real files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod processes;
mod tampering;

use std::{fs, path::Path, time::SystemTime};

use mcp_audit::{
    AuditKey, AuditLog, Checkpoint, Finding, Kind, LogOptions, Reader, Record, Verification, verify,
};
use tempfile::TempDir;

/// A log with a key.
struct Fixture {
    folder: TempDir,
    key: AuditKey,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), key: AuditKey::generate().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open(&self, options: LogOptions) -> AuditLog {
        AuditLog::open(self.path(), self.key.clone(), options).unwrap()
    }

    /// Writes `count` calls.
    fn write(&self, count: usize, options: LogOptions) {
        let log = self.open(options);
        (0..count).for_each(|number| log.append(&call(&number.to_string())).unwrap());
    }

    fn verify(&self) -> Verification {
        verify(self.path(), &self.key, None).unwrap()
    }

    fn lines(&self) -> Vec<String> {
        Reader::open(self.path()).unwrap().map(|line| line.unwrap().text).collect()
    }

    fn current(&self) -> std::path::PathBuf {
        self.path().join("audit.jsonl")
    }
}

fn call(tool: &str) -> Record<'static> {
    Record::new(Kind::Call, SystemTime::UNIX_EPOCH).with_server("demo", None).with_tool(tool, None)
}

#[test]
fn line_has_every_member_and_no_contents() {
    let fixture = Fixture::new();
    let record = Record::new(Kind::Call, SystemTime::UNIX_EPOCH)
        .with_client("a client")
        .with_user("ada")
        .with_server("demo", Some("f1"))
        .with_tool("add", Some("d1"))
        .with_target("file:///a\"b")
        .with_decision("allow", Some("mcp:demo:*"))
        .with_delivery("executed")
        .with_outcome("ok")
        .with_duration(std::time::Duration::from_millis(12))
        .with_sandbox("standard")
        .with_reason("asked")
        .with_arguments(b"{\"password\":\"hunter2\"}")
        .with_result(b"the result");
    fixture.open(LogOptions::default()).append(&record).unwrap();
    let line = fixture.lines().remove(0);
    assert!(!line.contains("hunter2") && !line.contains("the result"), "{line}");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    for (member, value) in [
        ("client", "a client"),
        ("user", "ada"),
        ("server", "demo"),
        ("fingerprint", "f1"),
        ("tool", "add"),
        ("definition", "d1"),
        ("target", "file:///a\"b"),
        ("decision", "allow"),
        ("rule", "mcp:demo:*"),
        ("delivery", "executed"),
        ("outcome", "ok"),
        ("sandbox", "standard"),
        ("reason", "asked"),
        ("event", "call"),
        ("time", "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(line[member], value, "{member}");
    }
    assert_eq!((line["seq"].as_u64(), line["ms"].as_u64()), (Some(1), Some(12)));
    assert_eq!(line["arguments"]["bytes"], 22);
    assert_eq!(line["arguments"]["hash"].as_str().unwrap().len(), 64);
    assert!(fixture.verify().is_intact());
}

#[test]
fn contents_are_written_only_on_request() {
    let fixture = Fixture::new();
    let log = fixture.open(LogOptions::default().with_contents(true));
    log.append(&call("a").with_arguments(b"{\"a\":1}").with_result(&vec![b'x'; 100_000])).unwrap();
    let line: serde_json::Value = serde_json::from_str(&fixture.lines()[0]).unwrap();
    assert_eq!(line["arguments"]["text"], "{\"a\":1}");
    assert_eq!(line["result"]["bytes"], 100_000);
    assert_eq!(line["result"]["text"].as_str().unwrap().len(), 64 << 10);
}

#[test]
fn equal_contents_have_equal_hashes_under_one_key_only() {
    let hash = |fixture: &Fixture| {
        fixture.open(LogOptions::default()).append(&call("a").with_arguments(b"{}")).unwrap();
        let line: serde_json::Value =
            serde_json::from_str(fixture.lines().last().unwrap()).unwrap();
        line["arguments"]["hash"].as_str().unwrap().to_owned()
    };
    let (one, other) = (Fixture::new(), Fixture::new());
    assert_eq!(hash(&one), hash(&one));
    assert_ne!(hash(&one), hash(&other));
}

#[test]
fn rotation_keeps_the_chain_and_deleted_files_are_on_record() {
    let fixture = Fixture::new();
    let options = LogOptions::default().with_max_bytes(1_000).with_max_files(3);
    fixture.write(40, options);
    let files = fs::read_dir(fixture.path()).unwrap().count();
    // Three old files, the current one, the head and the lock.
    assert_eq!(files, 6);
    for file in fs::read_dir(fixture.path()).unwrap() {
        assert!(file.unwrap().metadata().unwrap().len() <= 1_000);
    }
    let found = fixture.verify();
    assert!(found.is_intact() && found.first > 1, "{found:?}");
    // Every line that is still there is verified, and no call was lost at the end.
    assert_eq!(found.lines, found.last - found.first + 1);
    assert!(fixture.lines().iter().rev().take(3).any(|line| line.contains("\"tool\":\"39\"")));
}

#[test]
fn deleting_the_oldest_file_by_hand_is_found() {
    let fixture = Fixture::new();
    fixture.write(20, LogOptions::default().with_max_bytes(1_000));
    let mut files: Vec<_> = fs::read_dir(fixture.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("audit-"))
        .collect();
    files.sort();
    fs::remove_file(&files[0]).unwrap();
    let found = fixture.verify();
    assert!(matches!(found.findings[..], [Finding::StartMissing { .. }]), "{found:?}");
}

#[test]
fn log_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let folder = fixture.path().join("audit");
    let log = AuditLog::open(&folder, fixture.key.clone(), LogOptions::default()).unwrap();
    log.append(&call("a")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn checkpoint_detects_an_older_copy_of_the_folder() {
    let fixture = Fixture::new();
    fixture.write(3, LogOptions::default());
    let copy = |to: &Path| {
        for file in fs::read_dir(fixture.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    };
    let old = tempfile::tempdir().unwrap();
    copy(old.path());
    fixture.write(2, LogOptions::default());
    let checkpoint = fixture.open(LogOptions::default()).checkpoint().unwrap();
    assert_eq!(checkpoint.line(), 5);
    let checkpoint = Checkpoint::from_text(&checkpoint.to_text()).unwrap();
    let with = |folder: &Path| verify(folder, &fixture.key, Some(&checkpoint)).unwrap();
    assert!(with(fixture.path()).is_intact());
    // The copy is sound, so only the checkpoint tells.
    assert!(verify(old.path(), &fixture.key, None).unwrap().is_intact());
    assert_eq!(with(old.path()).findings, [Finding::EndMissing { from: 4, to: 5 }]);
    // The old copy goes on with other lines.
    let log = AuditLog::open(old.path(), fixture.key.clone(), LogOptions::default()).unwrap();
    (0..3).for_each(|_| log.append(&call("other")).unwrap());
    assert_eq!(with(old.path()).findings, [Finding::Checkpoint { line: 5 }]);
}

#[test]
fn wrong_key_verifies_nothing() {
    let fixture = Fixture::new();
    fixture.write(3, LogOptions::default());
    let found = verify(fixture.path(), &AuditKey::generate().unwrap(), None).unwrap();
    assert_eq!(found.count, 4, "{found:?}");
}
