//! How the user is reached for a login: a browser here, or a page anywhere and a line to paste.

use std::{io::Write, sync::Arc};

use mcp_auth::{InteractError, LoopbackBrowser, Paste, Secret, Shown};
use mcp_bridge::ServerConfig;

use crate::out::Out;

/// The browser of this machine. The page is shown too, in case none appears.
pub(crate) fn browser(config: &ServerConfig, out: Out) -> LoopbackBrowser {
    let oauth = config.transport.remote().and_then(|remote| remote.oauth.as_ref());
    let port = oauth.and_then(|oauth| oauth.callback_port);
    let tell = Arc::new(move |shown: Shown<'_>| match shown {
        Shown::Page(url) => out.remark(format!("log in here if no browser appears:\n  {url}")),
        Shown::Code(code) => {
            out.remark(format!("open {} and enter {}", code.verification_uri, code.user_code));
        }
        _ => {}
    });
    let browser = LoopbackBrowser::new().with_teller(tell);
    match port {
        Some(port) => browser.with_port(port),
        None => browser,
    }
}

/// A page opened anywhere, and the address it ended up at.
pub(crate) fn paste(out: Out) -> Paste {
    let ask = move |url: String| -> mcp_bridge::BoxFuture<'static, Result<Secret, InteractError>> {
        Box::pin(async move {
            out.remark(format!(
                "open this page in any browser and log in:\n  {url}\nthe browser then shows an error at an \
                 address that begins with http://127.0.0.1"
            ));
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
    let codes = move |code: &mcp_auth::DeviceCode| {
        out.remark(format!("open {} and enter {}", code.verification_uri, code.user_code));
    };
    Paste::new(Arc::new(ask)).with_codes(Arc::new(codes))
}
