//! Ways to log in: a local browser, a pasted redirect URL, or a
//! [device code](https://www.rfc-editor.org/rfc/rfc8628).

use std::sync::Arc;

use mcp_auth::{
    InteractError, Secret,
    interact::{DeviceCode, LoopbackBrowser, Paste, Shown},
};
use mcp_bridge::{ServerConfig, tool::BoxFuture};
use mcp_config::model::OAuth;

use crate::terminal::{input, out::Out};

/// Opens the browser of this machine, and prints the URL in case none opens.
pub(crate) fn browser(config: &ServerConfig, out: Out) -> LoopbackBrowser {
    let tell = Arc::new(move |shown: Shown<'_>| match shown {
        Shown::Page(url) => out.remark(format!("log in here if no browser opens:\n  {url}")),
        Shown::Code(code) => show(out, code),
        _ => {}
    });
    let browser = LoopbackBrowser::new().with_message_handler(tell);
    match oauth(config).and_then(|oauth| oauth.callback_port) {
        Some(port) => browser.with_port(port),
        None => browser,
    }
}

/// Prints a URL for any browser, and asks for the URL it redirects to. Shows a device code if the server uses one.
/// The variables of `config` must be expanded.
pub(crate) fn paste(config: &ServerConfig, out: Out) -> Paste {
    let fixed = oauth(config).and_then(|oauth| oauth.redirect_uri.as_ref());
    let ends_at = match fixed {
        Some(fixed) => format!("is redirected to a URL that begins with\n  {}", fixed.expose()),
        None => "shows an error at a URL that begins with http://127.0.0.1".to_owned(),
    };
    let ask = move |url: String| -> BoxFuture<'static, Result<Secret, InteractError>> {
        out.instruct(format!(
            "open this page in any browser and log in:\n  {url}\nthe browser then {ends_at}"
        ));
        Box::pin(async {
            let line = input::line("paste that URL here: ".into()).await;
            line.map(|line| Secret::new(line.trim())).ok_or(InteractError::Cancelled)
        })
    };
    let codes = move |code: &DeviceCode| show(out, code);
    let paste = Paste::new(Arc::new(ask)).with_codes(Arc::new(codes));
    // Use the redirect URI that the client was registered with for a local browser.
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
