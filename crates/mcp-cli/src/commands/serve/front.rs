//! Where the gateway accepts clients: stdin and stdout, a TCP address, or a Unix socket.

use std::{io::IsTerminal, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::{Arg, ArgMatches, value_parser};
use mcp_gateway::Gateway;
use mcp_server::http::{AccessToken, HttpServeOptions};

use super::{
    super::flag,
    clients::Recorded,
    journal::Journal,
    token::{self, GatewayToken},
};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, own_gateway},
};

pub(super) fn arguments() -> [Arg; 5] {
    [
        Arg::new("http")
            .long("http")
            .value_name("ADDRESS")
            .value_parser(address)
            .help("Serve over HTTP at this address or port, under /mcp; clients need a token"),
        Arg::new("socket")
            .long("socket")
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with("http")
            .help("Serve over HTTP at this Unix socket, for processes of this user; no token needed"),
        Arg::new("token-env")
            .long("token-env")
            .value_name("NAME")
            .requires("http")
            .help("Environment variable with the token, at least 16 characters; default: one is generated and stored"),
        flag("no-token", "Serve without a token: every user and program of this machine may call every tool")
            .requires("http")
            .conflicts_with("token-env"),
        Arg::new("drain")
            .long("drain")
            .value_name("SECONDS")
            .value_parser(value_parser!(u64))
            .default_value("1")
            .help("How long calls in flight may continue after SIGTERM or Ctrl-C"),
    ]
}

/// Parses an address to listen on: `127.0.0.1:8400`, `localhost:8400`, `:8400` or `8400`. The default host is loopback.
pub(in super::super) fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback =
        |port: &str| port.parse().map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    let local = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text);
    text.parse().or_else(|_| loopback(local)).map_err(|_| {
        "expected an address such as 127.0.0.1:8400, localhost:8400 or 8400".to_owned()
    })
}

/// Returns how long calls in flight may continue after the gateway is asked to stop.
pub(in super::super) fn drain_timeout(matches: &ArgMatches) -> Duration {
    Duration::from_secs(matches.get_one("drain").copied().unwrap_or(1))
}

/// Serves until the client disconnects, the listener fails, or the user stops the gateway.
pub(super) async fn listen(
    app: &App,
    matches: &ArgMatches,
    gateway: &Gateway,
    journal: &Arc<Journal>,
) -> Done {
    if let Some(address) = matches.get_one::<SocketAddr>("http") {
        over_tcp(app, matches, gateway, address, journal).await?;
    } else if let Some(path) = matches.get_one::<PathBuf>("socket") {
        over_unix(app, gateway, path, journal).await?;
    } else {
        if std::io::stdin().is_terminal() {
            app.out
                .remark("waiting for JSON-RPC on stdin, as started by an agent; see `mcp install`");
        }
        let _client = journal.client("stdin");
        gateway.serve_stdio(stop(app, gateway)).await?;
    }
    Ok(Exit::Done)
}

async fn over_tcp(
    app: &App,
    matches: &ArgMatches,
    gateway: &Gateway,
    address: &SocketAddr,
    journal: &Arc<Journal>,
) -> Result<(), Problem> {
    let mut options = HttpServeOptions::default();
    options.bearer = bearer(app, matches, address)?;
    if !address.ip().is_loopback() {
        options.allowed_hosts.push("*".into());
    }
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| cannot_listen(&address.to_string(), &error))?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}{}", options.path);
    own_gateway::remember(&app.config.places, &url);
    app.out.remark(format!("serving at {url}"));
    let listener = Recorded { inner: listener, journal: journal.clone() };
    Ok(gateway.serve_http(listener, options, stop(app, gateway)).await?)
}

#[cfg(unix)]
async fn over_unix(
    app: &App,
    gateway: &Gateway,
    path: &std::path::Path,
    journal: &Arc<Journal>,
) -> Result<(), Problem> {
    let listener = mcp_server::http::UnixSocket::bind(path);
    let listener = listener.map_err(|error| cannot_listen(&path.to_string_lossy(), &error))?;
    let options = HttpServeOptions::default();
    app.out.remark(format!(
        "serving at the Unix socket {}, under {}",
        path.display(),
        options.path
    ));
    let listener = Recorded { inner: listener, journal: journal.clone() };
    Ok(gateway.serve_http(listener, options, stop(app, gateway)).await?)
}

#[cfg(not(unix))]
async fn over_unix(
    _: &App,
    _: &Gateway,
    _: &std::path::Path,
    _: &Arc<Journal>,
) -> Result<(), Problem> {
    Err(Problem::usage("this system has no Unix sockets").hint("use --http"))
}

fn cannot_listen(place: &str, error: &std::io::Error) -> Problem {
    Problem::new(Exit::Failed, format!("could not listen at {place}: {error}"))
}

/// Returns the token that clients need, and tells the user where it is stored.
fn bearer(
    app: &App,
    matches: &ArgMatches,
    address: &SocketAddr,
) -> Result<Option<AccessToken>, Problem> {
    if matches.get_flag("no-token") {
        if !address.ip().is_loopback() {
            let message = format!("{address} can be reached from other machines");
            return Err(Problem::usage(message).hint("remove --no-token"));
        }
        app.out.instruct(
            "warning: no token: every user and every program of this machine can call every tool, and approve \
             its own calls",
        );
        return Ok(None);
    }
    if let Some(name) = matches.get_one::<String>("token-env") {
        return token::from_variable(name).map(Some);
    }
    let GatewayToken { token, file, is_new } = GatewayToken::load_or_generate(app)?;
    let place = file.map_or_else(String::new, |file| format!(" (stored in {})", file.display()));
    if is_new {
        app.out.instruct(format!("clients send: Authorization: Bearer {}{place}", token.expose()));
    } else {
        app.out.remark(format!("clients need the token{place}"));
    }
    Ok(Some(token))
}

/// Waits until the gateway is asked to stop, and reports if that takes a while.
async fn stop(app: &App, gateway: &Gateway) {
    app.interrupt.cancelled().await;
    let left = gateway.calls_in_flight();
    if left > 0 {
        app.out.remark(format!("waiting for {left} calls in flight"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_leave_out_the_host() {
        for text in ["127.0.0.1:8400", "localhost:8400", ":8400", "8400"] {
            assert_eq!(address(text), Ok(SocketAddr::from(([127, 0, 0, 1], 8400))), "{text}");
        }
        assert!(address("[::]:1").is_ok_and(|address| address.is_ipv6()));
        assert!(address("example.com:80").is_err() && address("99999").is_err());
    }
}
