//! Opens a page in the user's browser, without a shell.

use std::{io, process::Stdio};

use tokio::process::Command;

use crate::guard::is_fit_for_browser;

/// Opens `url`, which must be `https`, or `http` on this machine.
///
/// The URL is one argument of a program that takes URLs; no shell looks at it. `BROWSER` is used where it
/// is set to one program.
pub fn open_browser(url: &str) -> io::Result<()> {
    if !is_fit_for_browser(url) {
        let why = "a browser is sent to https pages only, or to this machine";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no browser was found");
    for (program, before) in openers() {
        let mut command = Command::new(&program);
        command.args(before).arg(url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                // It may stay open for as long as the user reads; somebody must collect it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_pages_are_opened() {
        for url in ["javascript:alert(1)", "file:///etc/passwd", "--help", "http://a.test/"] {
            let refused = open_browser(url).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }
}
