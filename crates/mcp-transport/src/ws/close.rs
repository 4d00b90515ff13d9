//! Close frames: RFC 6455 §7.4 and the codes registered since.

use mcp_jsonrpc::{ErrorClass, FailureCause};
use mcp_safe::text::one_line;

use crate::diagnostics::CloseReason;

/// The maximum length of the reason in a close frame.
const LONGEST_TEXT: usize = 123;

/// A close frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Goodbye {
    /// `None` if the server did not send one.
    pub(super) code: Option<u16>,
    /// Foreign text, reduced to one printable line.
    pub(super) text: String,
}

/// The payload for a normal close.
pub(super) const NORMAL: [u8; 2] = 1000_u16.to_be_bytes();
/// The payload for a close after a protocol error of the server.
pub(super) const PROTOCOL_ERROR: [u8; 2] = 1002_u16.to_be_bytes();

impl Goodbye {
    /// Parses the payload of a close frame. `None` if it is not empty and too short for a code.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        match payload {
            [] => Some(Self::default()),
            [high, low, text @ ..] => {
                let text = one_line(&String::from_utf8_lossy(text), LONGEST_TEXT).into_owned();
                Some(Self { code: Some(u16::from_be_bytes([*high, *low])), text })
            }
            _ => None,
        }
    }

    /// Returns the reason to report.
    pub(super) fn reason(&self) -> CloseReason {
        let Some(code) = self.code else { return CloseReason::Ended };
        let what = match code {
            1000 | 1001 => return CloseReason::Ended,
            1002 => "it says that we break the protocol",
            1003 => "it does not take this kind of data",
            1007 => "it could not read what we sent",
            1008 => "it refuses by its policy",
            1009 => "what we sent is too large for it",
            1010 => "it wants an extension that we lack",
            1011 => "something went wrong on its side",
            1012 => "it restarts",
            1013 => "it has too much to do",
            1014 => "a gateway got no good answer from it",
            3000 => "it wants other credentials",
            3003 => "it does not allow this",
            3008 => "its time was up",
            _ => "it closed the connection",
        };
        let mut reason = format!("{what} (close code {code})");
        if !self.text.is_empty() {
            reason = format!("{reason}: {}", self.text);
        }
        match code {
            3000 => CloseReason::Refused { class: ErrorClass::Auth, reason },
            1003 | 1008 | 1010 | 3003 => {
                CloseReason::Refused { class: ErrorClass::Permanent, reason }
            }
            1002 | 1007 => CloseReason::Failed { cause: FailureCause::NotMcp, reason },
            1009 => CloseReason::Failed { cause: FailureCause::TooLarge, reason },
            3008 => CloseReason::Failed { cause: FailureCause::TimedOut, reason },
            _ => CloseReason::Failed { cause: FailureCause::Other, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u16, text: &str) -> (String, ErrorClass) {
        let payload = [&code.to_be_bytes(), text.as_bytes()].concat();
        let reason = Goodbye::read(&payload).expect("a close frame").reason();
        (reason.to_string(), reason.class())
    }

    #[test]
    fn codes_say_whose_move_it_is() {
        assert_eq!(Goodbye::read(&[]).map(|bye| bye.reason()), Some(CloseReason::Ended));
        assert_eq!(Goodbye::read(&[3]), None);
        assert_eq!(told(1000, "bye").0, "the server ended the connection");
        assert_eq!(told(1001, "").1, ErrorClass::Transient);
        assert_eq!(
            told(1008, "no\nway\u{202e}"),
            (
                "the server refused: it refuses by its policy (close code 1008): no way".into(),
                ErrorClass::Permanent
            )
        );
        assert_eq!(told(3000, "").1, ErrorClass::Auth);
        assert_eq!(
            told(1009, ""),
            (
                "the connection failed: what we sent is too large for it (close code 1009)".into(),
                ErrorClass::Transient
            )
        );
        assert_eq!(
            told(4711, "").0,
            "the connection failed: it closed the connection (close code 4711)"
        );
    }
}
