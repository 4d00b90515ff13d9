//! Close frames: <https://www.rfc-editor.org/rfc/rfc6455#section-7.4> and the codes registered since,
//! <https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number>.

use mcp_jsonrpc::{ErrorClass, FailureCause};
use mcp_safe::text::one_line;

use crate::diagnostics::CloseReason;

/// The maximum length of the reason: the payload of a control frame has at most 125 bytes, and the code takes two.
/// <https://www.rfc-editor.org/rfc/rfc6455#section-5.5>
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
            1002 => "protocol error",
            1003 => "unsupported data",
            1007 => "invalid message payload",
            1008 => "policy violation",
            1009 => "message too large for the server",
            1010 => "required extension missing",
            1011 => "internal server error",
            1012 => "the server is restarting",
            1013 => "the server is overloaded",
            1014 => "a gateway received an invalid response from the server",
            3000 => "other credentials required",
            3003 => "forbidden",
            3008 => "the server closed the connection after a time limit",
            _ => "the server closed the connection",
        };
        let mut reason = format!("{what} (close code {code})");
        if !self.text.is_empty() {
            reason = format!("{reason}: {}", self.text);
        }
        // Only what a new connection does not fix is permanent.
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
                "the server refused: policy violation (close code 1008): no way".into(),
                ErrorClass::Permanent
            )
        );
        assert_eq!(told(3000, "").1, ErrorClass::Auth);
        assert_eq!(
            told(1009, ""),
            (
                "the connection failed: message too large for the server (close code 1009)".into(),
                ErrorClass::Transient
            )
        );
        assert_eq!(
            told(4711, "").0,
            "the connection failed: the server closed the connection (close code 4711)"
        );
    }
}
