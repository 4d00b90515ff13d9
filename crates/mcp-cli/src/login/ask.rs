//! How the user is reached for a login: a browser here, a page anywhere and a line to paste, or a code.

use std::{io::Write, sync::Arc};

use mcp_auth::{DeviceCode, InteractError, LoopbackBrowser, Paste, Secret, Shown};
use mcp_bridge::{BoxFuture, ServerConfig};
use mcp_config::OAuth;

use crate::out::Out;

/// The browser of this machine. The page is shown too, in case none appears.
pub(crate) fn browser(config: &ServerConfig, out: Out) -> LoopbackBrowser {
    let tell = Arc::new(move |shown: Shown<'_>| match shown {
        Shown::Page(url) => out.remark(format!("log in here if no browser appears:\n  {url}")),
        Shown::Code(code) => show(out, code),
        _ => {}
    });
    let browser = LoopbackBrowser::new().with_teller(tell);
    match oauth(config).and_then(|oauth| oauth.callback_port) {
        Some(port) => browser.with_port(port),
        None => browser,
    }
}

/// A page opened anywhere, and the address it ended up at. A code is shown, if it takes one. The variables of
/// `config` are replaced already.
pub(crate) fn paste(config: &ServerConfig, out: Out) -> Paste {
    let fixed = oauth(config).and_then(|oauth| oauth.redirect_uri.as_ref());
    let ends_at = match fixed {
        Some(fixed) => format!("ends up at an address that begins with\n  {}", fixed.expose()),
        None => "shows an error at an address that begins with http://127.0.0.1".to_owned(),
    };
    let ask = move |url: String| -> BoxFuture<'static, Result<Secret, InteractError>> {
        out.instruct(format!(
            "open this page in any browser and log in:\n  {url}\nthe browser then {ends_at}"
        ));
        Box::pin(async {
            let read = || {
                let mut stderr = std::io::stderr().lock();
                stderr
                    .write_all(b"paste that address here: ")
                    .and_then(|()| stderr.flush())
                    .ok()?;
                let mut line = String::new();
                std::io::stdin().read_line(&mut line).ok().filter(|read| *read > 0)?;
                Some(line)
            };
            match tokio::task::spawn_blocking(read).await {
                Ok(Some(line)) => Ok(Secret::new(line.trim())),
                _ => Err(InteractError::Cancelled),
            }
        })
    };
    let codes = move |code: &DeviceCode| show(out, code);
    let paste = Paste::new(Arc::new(ask)).with_codes(Arc::new(codes));
    // The redirect of a client that was registered for a browser here.
    match oauth(config).and_then(|oauth| oauth.callback_port) {
        Some(port) => paste.with_redirect(format!("http://127.0.0.1:{port}/callback")),
        None => paste,
    }
}

fn show(out: Out, code: &DeviceCode) {
    out.instruct(format!("open {} and enter {}", code.verification_uri, code.user_code));
}

fn oauth(config: &ServerConfig) -> Option<&OAuth> {
    config.transport.remote()?.oauth.as_deref()
}
