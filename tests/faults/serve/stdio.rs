//! The stdio server.

use std::{
    io::{self, BufRead as _, Write as _},
    thread,
};

use super::{BETWEEN_BYTES, die, freeze};
use crate::script::{Say, Script};

pub(crate) fn serve(script: &Script) {
    let mut held = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str(&line.unwrap_or_default()) else { continue };
        for say in script.hear(&message) {
            match say {
                Say::Message(message) => {
                    write(format!("{message}\n").as_bytes());
                    held.drain(..).for_each(|later: String| write(later.as_bytes()));
                }
                Say::Garbage(bytes) => write(bytes),
                Say::Drip(message) => drip(format!("{message}\n").bytes()),
                Say::EndlessDrip => {
                    thread::spawn(|| drip(std::iter::repeat(b' ')));
                }
                Say::Silence | Say::Status(..) => {}
                Say::Hold(message) => held.push(format!("{message}\n")),
                Say::HangUp => return,
                Say::Die => die(),
                Say::Freeze => freeze(),
            }
        }
    }
}

/// Writes to stdout. Errors are ignored: the host may have gone.
fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

fn drip(bytes: impl Iterator<Item = u8>) {
    for byte in bytes {
        write(&[byte]);
        thread::sleep(BETWEEN_BYTES);
    }
}
