//! `mcp up`, `mcp down`, `mcp status`: control the background host, which keeps servers running between commands.

#[cfg(unix)]
mod control;
#[cfg(unix)]
mod gateways;

use clap::{Arg, ArgAction, Command, value_parser};

use super::flag;

/// Default idle time in seconds before the host stops.
const IDLE: &str = "900";

pub(super) fn up_command() -> Command {
    Command::new("up")
        .about("Keep servers running between commands: start the background host")
        .long_about(
            "Keep servers running between commands: start the background host.\n\n\
             The host starts a local server when a command first needs it, and keeps it until `mcp down`, \
             `mcp disconnect NAME`, or 15 minutes without a command. `mcp call`, `tools`, `read`, `prompt` and the \
             others use it while it runs. There is one host per project and set of files. Questions about calls are asked \
             by the command that calls. Commands connect to remote servers directly.",
        )
        .after_help("Examples:\n  mcp up\n  mcp up --auto\n  mcp up --idle 3600")
        .arg(flag("auto", "Let commands start it when they need a server, from now on").conflicts_with("no-auto"))
        .arg(flag("no-auto", "Do not let commands start it any more"))
        .arg(
            Arg::new("idle")
                .long("idle")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..=86_400))
                .default_value(IDLE)
                .help("Stop after this time without a command"),
        )
        .arg(flag("foreground", "Run the host in the foreground, and log to stderr"))
        .arg(Arg::new("detach").long("detach").action(ArgAction::SetTrue).hide(true))
}

pub(super) fn down_command() -> Command {
    Command::new("down")
        .about("Stop the background host and its servers")
        .after_help("Examples:\n  mcp down\n  mcp down --all")
        .arg(flag("all", "Also stop the hosts of other projects"))
}

pub(super) fn status_command() -> Command {
    Command::new("status")
        .about("Show background hosts and gateways: their servers, clients, calls in flight and last failures")
        .after_help("Examples:\n  mcp status\n  mcp status --json")
}

#[cfg(unix)]
pub(super) use self::control::{auto_start, down, status, up};

#[cfg(not(unix))]
mod missing {
    use clap::ArgMatches;

    use crate::{
        exit::{Done, Problem},
        host::app::App,
    };

    fn no_sockets() -> Done {
        Err(Problem::usage("this system has no Unix sockets").hint("use `mcp serve --http`"))
    }

    pub(in super::super) async fn up(_: &App, _: &ArgMatches) -> Done {
        no_sockets()
    }

    pub(in super::super) async fn down(_: &App, _: &ArgMatches) -> Done {
        no_sockets()
    }

    pub(in super::super) async fn status(_: &App, _: &ArgMatches) -> Done {
        no_sockets()
    }

    pub(in super::super) async fn auto_start(_: &App) {}
}
#[cfg(not(unix))]
pub(super) use self::missing::{auto_start, down, status, up};
