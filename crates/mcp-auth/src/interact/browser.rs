//! Opens a page in the user's browser without a shell.

use std::{io, process::Stdio};

use mcp_transport::net::Guard;
use tokio::process::Command;
use url::Url;

/// Opens `url`, which must be `https`, or `http` on this machine.
///
/// The URL is passed as one argument to a program that opens URLs; no shell interprets it. `BROWSER` is used if it
/// names a single program.
pub fn open_browser(url: &str) -> io::Result<()> {
    if !is_fit_for_browser(url) {
        let why = "a browser page must be an https URL, or an http URL on this machine";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no browser was found");
    for (program, before) in openers() {
        let mut command = Command::new(&program);
        command.args(before).arg(url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                // The browser may run for as long as the user reads; reap it when it exits.
                tokio::spawn(async move { child.wait().await });
                return Ok(());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn openers() -> Vec<(String, &'static [&'static str])> {
    let mut openers: Vec<(String, &[&str])> = Vec::new();
    if let Ok(browser) = std::env::var("BROWSER")
        && !browser.is_empty()
        && !browser.contains(['%', ':', ' '])
    {
        openers.push((browser, &[]));
    }
    if cfg!(target_os = "macos") {
        openers.push(("open".into(), &[]));
    } else if cfg!(windows) {
        // Not `start`, which is a command of the shell.
        openers.push(("rundll32".into(), &["url.dll,FileProtocolHandler"]));
    } else {
        openers.extend(["xdg-open", "gio", "wslview"].map(|program| {
            let before: &[&str] = if program == "gio" { &["open"] } else { &[] };
            (program.to_owned(), before)
        }));
    }
    openers
}

/// Whether a browser may be sent to this URL: encrypted, or on this machine, and without a user name. Users see the
/// URL, and many would read `https://bank.test@evil.test` as a page of `bank.test`.
pub(crate) fn is_fit_for_browser(url: &str) -> bool {
    Url::parse(url).is_ok_and(|page| match page.scheme() {
        _ if !page.username().is_empty() || page.password().is_some() => false,
        "https" => page.has_host(),
        "http" => Guard::for_server("http://localhost").check_url(url).is_ok(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn open_browser_rejects_other_urls_than_web_pages() {
        for url in ["javascript:alert(1)", "file:///etc/passwd", "--help", "http://a.test/"] {
            let refused = open_browser(url).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }

    #[test]
    fn browser_urls_are_encrypted_or_local_and_name_no_user() {
        for fit in ["https://a.test/x", "http://localhost:1/", "http://[::1]/", "http://127.0.0.1/"]
        {
            assert!(is_fit_for_browser(fit), "{fit}");
        }
        let users = ["https://a.test@evil.test/", "https://:p@a.test/", "http://u@localhost/"];
        for unfit in ["javascript:alert(1)", "data:text/html,x", "file:///x", "http://a.test/", "x"]
            .into_iter()
            .chain(users)
        {
            assert!(!is_fit_for_browser(unfit), "{unfit}");
        }
    }
}
