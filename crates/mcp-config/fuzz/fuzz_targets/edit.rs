//! Any text, in any dialect: an edit that succeeds does what it says and leaves the others alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_config::{Dialect, Edit, ReadOptions, ServerConfig, Stdio, Transport, edit_text, read};

fuzz_target!(|data: &[u8]| {
    let Some((pick, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let dialects = Dialect::ALL;
    let mut options = ReadOptions::new("x");
    options.dialect = Some(dialects[usize::from(*pick) % dialects.len()]);
    options.project = Some("/code/app".as_ref());
    let before = read(text.as_bytes(), &options);
    let name: mcp_config::ServerName = "added".parse().expect("a name");
    let added = ServerConfig::new(name, Transport::Stdio(Stdio::new("program")));
    let Ok(with) = edit_text(text, &options, &Edit::Put(Box::new(added.clone()))) else { return };
    let after = read(with.as_bytes(), &options);
    // Unknown fields of an entry that was there already stay; the program is what was asked for.
    let found = after.get("added").expect("what was put is there");
    assert_eq!(found.config.transport.kind(), "stdio");
    for entry in before.entries.iter().filter(|entry| entry.config.name.as_str() != "added") {
        let kept = after.entries.iter().any(|other| other.config == entry.config);
        assert!(kept, "{} was lost", entry.config.name);
    }
    let Ok(without) = edit_text(&with, &options, &Edit::Remove("added".into())) else { return };
    assert!(read(without.as_bytes(), &options).get("added").is_none());
});
