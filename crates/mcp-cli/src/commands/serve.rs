//! `mcp serve`: runs the gateway.

mod audit;
mod clients;
mod denials;
mod follow;
mod front;
mod journal;
mod register;
mod rules;
mod search;
mod share;
pub(super) mod token;

use std::sync::Arc;

use clap::{Arg, ArgMatches, Command};
use mcp_audit::Auditor;
use mcp_bridge::{ApprovalRequest, BridgeOptions, output::Spill, tool::NameScheme};
use mcp_gateway::{Gateway, GatewayOptions};

pub(super) use self::front::{address, drain_timeout};
use self::{follow::Settings, journal::Journal};
use super::{flag, text};
use crate::{
    exit::{Done, Exit},
    host::app::App,
};

pub(super) fn command() -> Command {
    Command::new("serve")
        .about("Run the gateway: one MCP server in front of all others")
        .long_about(
            "Run the gateway: one MCP server in front of all others, over stdin and stdout, HTTP, or a Unix socket.\n\n\
             `--mode all` offers every tool; `--mode search` offers only `tool_search`, `tool_call` and `tool_read`, so that \
             a model does not get hundreds. Over HTTP, clients send a token: it is generated at the first start, printed \
             once, and kept in the state folder; `mcp install --http` writes it into a client's entry. Changes of the configuration, and SIGHUP, take effect without \
             dropping a call.",
        )
        .after_help(
            "Examples:\n  mcp serve\n  mcp serve --mode search --deny-tool 'mcp:*:delete_*'\n  \
             mcp serve --http 8000\n  mcp serve --socket ~/.local/state/mcp/gateway.sock\n  mcp install --client cursor",
        )
        .args(search::arguments())
        .arg(
            Arg::new("names")
                .long("names")
                .value_parser(["full", "server", "own"])
                .default_value("full")
                .help("How tools and prompts are named; full: mcp__SERVER__TOOL, server: SERVER_TOOL, own: TOOL"),
        )
        .arg(flag(
            "no-resource-tools",
            "Do not offer list_mcp_resources and read_mcp_resource, for clients with their own",
        ))
        .args(front::arguments())
        .args(rules::arguments())
        .arg(flag("share", "Share local servers with `mcp call` and other commands: run as the background host, or use it"))
        .arg(flag("no-audit", "Keep no audit log; `mcp audit show` prints it"))
        .arg(flag("audit-contents", "Record arguments and results in the audit log, not only their hashes"))
        .arg(flag("no-log", "Keep no log file; `mcp doctor` shows where it is"))
        .arg(flag("trust-host", "Let the connecting agent ask its user"))
        .arg(flag("allow-sampling", "Let servers that are not trusted use the client's model"))
        .arg(flag("allow-roots", "Tell servers that are not trusted the client's roots"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let sharing = share::begin(app, matches);
    let audit = audit::begin(app, matches).await;
    let settings = Settings::new(app, matches);
    let mut options = bridge_options(app, matches, &settings);
    options.audit = audit.clone().map(|audit| audit as Arc<dyn Auditor>);
    let gateway = app.gateway(options, gateway_options(app, matches));
    let mut events = gateway.bridge().events();
    let journal = Journal::begin(app, matches);
    let done = tokio::select! {
        done = serve(app, matches, &gateway, &journal, &settings) => done,
        () = share::run(app, sharing) => Ok(Exit::Done),
        () = register::run(app, &gateway, &journal) => Ok(Exit::Done),
        () = journal.follow(gateway.bridge(), &mut events) => Ok(Exit::Done),
    };
    journal.end(gateway.bridge(), &mut events).await;
    audit::end(audit.as_deref()).await;
    done
}

async fn serve(
    app: &App,
    matches: &ArgMatches,
    gateway: &Gateway,
    journal: &Arc<Journal>,
    settings: &Settings,
) -> Done {
    tokio::select! {
        () = gateway.open() => {}
        () = app.interrupt.cancelled() => {}
    }
    app.out.remark(match gateway.bridge().status().len() {
        1 => "gateway for 1 server".to_owned(),
        count => format!("gateway for {count} servers"),
    });
    tokio::select! {
        done = front::listen(app, matches, gateway, journal) => done,
        () = follow::configuration(app, gateway, journal, settings) => Ok(Exit::Done),
        () = denials::report(app, gateway) => Ok(Exit::Done),
    }
}

fn bridge_options(app: &App, matches: &ArgMatches, settings: &Settings) -> BridgeOptions {
    let mut options = app.options();
    if !matches.get_flag("share") {
        // By default, agents do not share servers (such as a browser) with the user's terminal.
        options.connector = app.direct_connector();
    }
    options.policy = settings.policy.clone();
    options.names = match text(matches, "names") {
        "own" => NameScheme::Own,
        "server" => NameScheme::Plain,
        _ => NameScheme::Double,
    };
    options.untrusted_sampling = matches.get_flag("allow-sampling");
    options.untrusted_roots = matches.get_flag("allow-roots");
    search::apply(matches, &app.config.resolution.host, &mut options);
    if let Some(cache) = &app.config.places.cache {
        options.output.spill = Some(Arc::new(Spill::new(cache.join("results"))));
    }
    options
}

fn gateway_options(app: &App, matches: &ArgMatches) -> GatewayOptions {
    let mut options = GatewayOptions::new("mcp", env!("CARGO_PKG_VERSION"));
    options.mode = search::mode(matches, &app.config.resolution.host);
    options.resource_tools = !matches.get_flag("no-resource-tools");
    options.drain_timeout = front::drain_timeout(matches);
    options.consent.trust_client = matches.get_flag("trust-host");
    options.consent.advice = Some(advice);
    options
}

/// Returns advice on how to allow a call that was denied without asking the user.
fn advice(request: &ApprovalRequest) -> String {
    if request.changed.is_some() {
        return "Review the change with `mcp call`".into();
    }
    format!(
        "Allow it with `mcp serve --allow-tool {}`, trust the server (`\"trust\": true` in its entry), or leave the \
         question to the client with `--trust-host`",
        request.permission
    )
}
