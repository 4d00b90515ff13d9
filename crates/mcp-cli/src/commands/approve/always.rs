//! Lists and revokes permanent approvals of tools.

use mcp_bridge::trust::ToolApprovals;
use mcp_config::model::glob_matches;
use serde_json::json;

use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
};

/// Lists permanent approvals, or revokes those that match `glob`.
pub(super) fn run(app: &App, glob: Option<&String>) -> Done {
    let approvals = app.config.tool_approvals().unwrap_or_else(|| Ok(ToolApprovals::new()));
    let approvals = approvals.map_err(|e| Problem::chain(Exit::Config, &e))?;
    let mut permissions = approvals.permissions();
    if let Some(glob) = glob {
        permissions.retain(|permission| glob_matches(glob, permission));
        for permission in &permissions {
            approvals.revoke(permission).map_err(|e| Problem::chain(Exit::Config, &e))?;
        }
    }
    let key = if glob.is_some() { "revoked" } else { "always" };
    if app.out.json {
        app.out.value(&json!({ key: permissions }))?;
    } else if permissions.is_empty() {
        app.out.remark("no such tools are approved permanently");
    } else {
        for permission in &permissions {
            app.out.line(permission)?;
        }
    }
    let is_missing = glob.is_some() && permissions.is_empty();
    Ok(if is_missing { Exit::NotFound } else { Exit::Done })
}
