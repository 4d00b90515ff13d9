//! The audit log of a gateway, from its start to its end.

use std::{sync::Arc, time::SystemTime};

use clap::ArgMatches;
use mcp_audit::{Auditor as _, Kind, Record};

use crate::host::{app::App, audit::Audit};

/// Opens the log and records the start, unless `--no-audit` is given. Without a log the gateway runs too, and says so.
pub(super) async fn begin(app: &App, matches: &ArgMatches) -> Option<Arc<Audit>> {
    if matches.get_flag("no-audit") {
        return None;
    }
    match Audit::open(app, matches.get_flag("audit-contents")).await {
        Ok(audit) => {
            let version = concat!("mcp ", env!("CARGO_PKG_VERSION"));
            let start = Record::new(Kind::HostStart, SystemTime::now()).with_reason(version);
            audit.record(&start);
            audit.checkpoint().await;
            Some(audit)
        }
        Err(problem) => {
            app.out.instruct(format!("no audit log is kept: {}", problem.message));
            None
        }
    }
}

/// Records the end, and stores the last line beside the key.
pub(super) async fn end(audit: Option<&Audit>) {
    let Some(audit) = audit else { return };
    audit.record(&Record::new(Kind::HostStop, SystemTime::now()));
    audit.checkpoint().await;
}
