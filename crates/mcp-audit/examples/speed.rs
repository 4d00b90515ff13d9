//! Measures the time of one line: `cargo run --release -p mcp-audit --example speed`.
#![expect(clippy::print_stdout, reason = "a program that tells a figure")]

use std::{
    error::Error,
    time::{Instant, SystemTime},
};

use mcp_audit::{AuditKey, AuditLog, Kind, LogOptions, Record};

const LINES: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let log = AuditLog::open(folder.path(), AuditKey::generate()?, LogOptions::default())?;
    for bytes in [128, 16 << 10, 1 << 20] {
        let result = vec![b'x'; bytes];
        let lines = if bytes > 100_000 { 200 } else { LINES };
        let began = Instant::now();
        for _ in 0..lines {
            let record = Record::new(Kind::Call, SystemTime::now())
                .with_server("github", Some("0123456789abcdef"))
                .with_tool("create_issue", Some("0123456789abcdef"))
                .with_decision("allow", Some("mcp:github:*"))
                .with_arguments(b"{\"title\":\"Crash\"}")
                .with_result(&result);
            log.append(&record)?;
        }
        println!("result of {bytes} bytes: {:.1?} a line", began.elapsed() / lines);
    }
    Ok(())
}
