//! The rows of the table: servers and the eras in which they are tested.

use mcp_client::{EraChoice, types::ProtocolVersion};
use serde_json::json;

use crate::{
    play::{Loss, Play, line},
    server::{Launch, Program, Reach},
};

/// A server, an era, and its calls.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) launch: Launch,
    pub(crate) choice: EraChoice,
    /// The revision that must be negotiated.
    pub(crate) version: ProtocolVersion,
    pub(crate) play: Play,
}

/// How a row gets to its era.
#[derive(Clone, Copy)]
enum Met {
    /// The server is legacy, which the client detects.
    OnlyLegacy,
    /// The server is modern, and the client requests the legacy era.
    AsLegacy,
    /// The client detects that the server is modern.
    Modern,
}

/// Every row of the table.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = published();
    rows.extend(python());
    rows.extend(node());
    rows
}

fn published() -> Vec<Row> {
    use Program::{Node, Python};
    use Reach::{Found, Http, Sse, Stdio};
    let everything = Node("mcp-server-everything");
    let filesystem = line("list_allowed_directories", "Allowed directories");
    let time = line("get_current_time", "Europe/Oslo").with(json!({"timezone": "Europe/Oslo"}));
    let git = line("git_status", "Repository status").with(json!({"repo_path": "{folder}"}));
    let mut rows = vec![
        row("everything stdio", everything, &["stdio"], Stdio, Met::OnlyLegacy, Play::everything()),
        row("everything sse", everything, &["sse"], Sse, Met::OnlyLegacy, Play::everything()),
        row(
            "everything sse (found)",
            everything,
            &["sse"],
            Found,
            Met::OnlyLegacy,
            Play::everything(),
        ),
        row(
            "everything http",
            everything,
            &["streamableHttp"],
            Http,
            Met::OnlyLegacy,
            Play::everything(),
        ),
        row(
            "filesystem stdio",
            Node("mcp-server-filesystem"),
            &["{folder}"],
            Stdio,
            Met::OnlyLegacy,
            Play::calls(14, filesystem),
        ),
        row("memory stdio", Node("mcp-server-memory"), &[], Stdio, Met::OnlyLegacy, Play::memory()),
    ];
    for met in [Met::Modern, Met::AsLegacy] {
        let git_args = &["--repository", "{folder}"];
        let fetch_args = &["--ignore-robots-txt", "--allow-private-ips"];
        rows.extend([
            row(
                "time stdio",
                Python("mcp-server-time"),
                &[],
                Stdio,
                met,
                Play::calls(2, time.clone()),
            ),
            row(
                "git stdio",
                Python("mcp-server-git"),
                git_args,
                Stdio,
                met,
                Play::calls(12, git.clone()),
            ),
            row("fetch stdio", Python("mcp-server-fetch"), fetch_args, Stdio, met, Play::fetch()),
        ]);
    }
    rows
}

fn python() -> Vec<Row> {
    use Program::{FastScript, LegacyScript, Script};
    use Reach::{Found, Http, Sse, Stdio, WebSocket};
    let mcp2 = || Play::script().asks().grows().with_note();
    // In the legacy era it sends updates about the note but rejects subscriptions.
    let mcp2_legacy = || Play::script().asks().grows();
    let lost = Some(Loss::Session("lose"));
    let (script, fast) = (Script("mcp2.py"), FastScript("fast.py"));
    vec![
        row("mcp 2.3 stdio", script, &["stdio"], Stdio, Met::Modern, mcp2()),
        row("mcp 2.3 stdio", script, &["stdio"], Stdio, Met::AsLegacy, mcp2_legacy()),
        row("mcp 2.3 http", script, &["http"], Http, Met::Modern, mcp2()),
        row("mcp 2.3 http", script, &["http"], Http, Met::AsLegacy, mcp2_legacy().lost_by(lost)),
        // The older transport does not imply an older revision.
        row("mcp 2.3 sse", script, &["sse"], Sse, Met::Modern, mcp2()),
        row("mcp 2.3 sse", script, &["sse"], Sse, Met::AsLegacy, mcp2_legacy()),
        row("mcp 2.3 sse (found)", script, &["sse"], Found, Met::OnlyLegacy, mcp2_legacy()),
        row("fastmcp 4.1 stdio", fast, &["stdio"], Stdio, Met::Modern, Play::script()),
        row(
            "fastmcp 4.1 stdio",
            fast,
            &["stdio"],
            Stdio,
            Met::AsLegacy,
            Play::script().asks().grows(),
        ),
        row("fastmcp 4.1 http", fast, &["http"], Http, Met::Modern, Play::script()),
        row(
            "fastmcp 4.1 http",
            fast,
            &["http"],
            Http,
            Met::AsLegacy,
            Play::script().asks().grows(),
        ),
        row(
            "mcp 1.30 websocket",
            LegacyScript("websocket.py"),
            &[],
            WebSocket,
            Met::OnlyLegacy,
            Play::script().asks().grows().lost_by(Some(Loss::Connection("lose"))),
        ),
    ]
}

fn node() -> Vec<Row> {
    use Program::NodeScript;
    use Reach::{Found, Http, Sse, Stdio};
    let (ts1, ts2) = (NodeScript("ts1.mjs"), NodeScript("ts2.mjs"));
    let full = || Play::script().asks().grows().with_note();
    let lost = Some(Loss::Session("lose"));
    vec![
        row("ts sdk 2.4 stdio", ts2, &["stdio"], Stdio, Met::Modern, full()),
        row(
            "ts sdk 2.4 stdio",
            ts2,
            &["stdio"],
            Stdio,
            Met::AsLegacy,
            Play::script().asks().grows(),
        ),
        row("ts sdk 2.4 http", ts2, &["http"], Http, Met::Modern, full()),
        // Without sessions it cannot elicit, notify, or match a cancellation to its call.
        row("ts sdk 2.4 http", ts2, &["http"], Http, Met::AsLegacy, Play::script().never_cancels()),
        row(
            "ts sdk 1.32 http",
            ts1,
            &["http"],
            Http,
            Met::OnlyLegacy,
            full().resumes().lost_by(lost),
        ),
        row("ts sdk 1.32 sse", ts1, &["sse"], Sse, Met::OnlyLegacy, full().lost_by(lost)),
        row("ts sdk 1.32 sse (found)", ts1, &["sse"], Found, Met::OnlyLegacy, full().lost_by(lost)),
    ]
}

fn row(
    name: &str,
    program: Program,
    args: &'static [&'static str],
    reach: Reach,
    met: Met,
    play: Play,
) -> Row {
    let (choice, version, suffix) = match met {
        Met::OnlyLegacy => (EraChoice::Auto, ProtocolVersion::V2025_11_25, ""),
        Met::AsLegacy => (EraChoice::Legacy, ProtocolVersion::V2025_11_25, " (legacy)"),
        Met::Modern => (EraChoice::Auto, ProtocolVersion::V2026_07_28, ""),
    };
    let launch = Launch { program, args, reach };
    Row { name: format!("{name}{suffix}"), launch, choice, version, play }
}
