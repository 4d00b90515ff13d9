//! Reads lines from the terminal. Input typed before a question is discarded, because it answers something else.

use std::io::{self, Write};

use mcp_safe::text::strip;

/// Shows a question on stderr and reads one line; `None` at the end of input.
pub(crate) async fn line(question: String) -> Option<String> {
    ask(question, read_line).await
}

/// Like [`line()`], without echo.
///
/// # Cancel safety
/// Echo is restored on drop.
pub(crate) async fn secret(question: String) -> Option<String> {
    #[cfg(unix)]
    {
        let _echo = echo::Off::new();
        ask(question, || {
            let line = read_line();
            // The user's line feed was not echoed either.
            let _ = io::stderr().write_all(b"\n");
            line
        })
        .await
    }
    #[cfg(not(unix))]
    ask(question, || console::Term::stderr().read_secure_line().ok()).await
}

/// Asks on a separate thread, because reading blocks.
async fn ask(question: String, read: fn() -> Option<String>) -> Option<String> {
    let ask = move || {
        discard_pending();
        let mut stderr = io::stderr().lock();
        stderr.write_all(strip(&question).as_bytes()).and_then(|()| stderr.flush()).ok()?;
        drop(stderr);
        read()
    };
    tokio::task::spawn_blocking(ask).await.ok().flatten()
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

/// Discards unread input that was typed early, or injected into the terminal by another process. Input that is not
/// from a terminal stays: a script provides its answers in advance.
fn discard_pending() {
    #[cfg(unix)]
    let _ = nix::sys::termios::tcflush(io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
}

#[cfg(unix)]
mod echo {
    use std::io;

    use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

    /// Turns terminal echo off until it is dropped.
    pub(super) struct Off(Option<Termios>);

    impl Off {
        pub(super) fn new() -> Self {
            let Ok(before) = tcgetattr(io::stdin()) else { return Self(None) };
            let mut silent = before.clone();
            silent.local_flags.remove(LocalFlags::ECHO);
            let set = tcsetattr(io::stdin(), SetArg::TCSANOW, &silent);
            Self(set.is_ok().then_some(before))
        }
    }

    impl Drop for Off {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, before);
            }
        }
    }
}
