//! The text form of failure kinds in a recording.

use std::fmt;

use mcp_jsonrpc::{FailureCause, RawJson};

use super::string;

/// The name of each kind. A status is written as its number.
const NAMES: &[(FailureCause, &str)] = &[
    (FailureCause::Refused, "refused"),
    (FailureCause::CutOff, "cut-off"),
    (FailureCause::Unreachable, "unreachable"),
    (FailureCause::UnknownHost, "unknown-host"),
    (FailureCause::Proxy, "proxy"),
    (FailureCause::Tls, "tls"),
    (FailureCause::TimedOut, "timed-out"),
    (FailureCause::TooLarge, "too-large"),
    (FailureCause::NotMcp, "not-mcp"),
    (FailureCause::Session, "session"),
    (FailureCause::Credentials, "credentials"),
    (FailureCause::Local, "local"),
    (FailureCause::Closed, "closed"),
];

/// Writes the member for `cause`, followed by a comma. `Other` is the default and is omitted.
pub(super) fn write_cause(f: &mut fmt::Formatter<'_>, cause: FailureCause) -> fmt::Result {
    if let FailureCause::Status(status) = cause {
        return write!(f, r#""trouble":{status},"#);
    }
    match NAMES.iter().find(|(known, _)| *known == cause) {
        Some((_, name)) => write!(f, r#""trouble":"{name}","#),
        None => Ok(()),
    }
}

pub(super) fn read_cause(raw: &RawJson) -> Result<FailureCause, &'static str> {
    let Some(member) = raw.get("trouble") else { return Ok(FailureCause::Other) };
    if let Ok(status) = member.decode() {
        return Ok(FailureCause::Status(status));
    }
    let name = string(raw, "trouble");
    let known = NAMES.iter().find(|(_, known)| name.as_deref() == Some(*known));
    known.map(|(cause, _)| *cause).ok_or("`cause` is of no known kind")
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Delivery, ErrorClass, Loss};

    use super::{
        super::{Cassette, Entry, Event},
        *,
    };
    use crate::{diagnostics::CloseReason, link::Inbound};

    #[test]
    fn every_failure_cause_round_trips_through_a_recording() {
        let status = FailureCause::Status(503);
        let all = NAMES.iter().map(|(cause, _)| *cause).chain([status, FailureCause::Other]);
        for cause in all {
            let loss = Loss::new(Delivery::NotSent, ErrorClass::Permanent, cause, "no");
            let failed = Event::In(Inbound::Lost { id: 1.into(), failure: loss.into() });
            let end = Event::End(CloseReason::Failed { cause, reason: "no".into() });
            let entries = [failed, end].map(|event| Entry { link: 1, event }).into();
            let cassette = Cassette { entries };
            assert_eq!(cassette.to_string().parse(), Ok(cassette));
        }
    }

    #[test]
    fn a_cassette_from_before_there_were_kinds_is_read_and_an_unknown_kind_is_not() {
        let old = r#"{"link":1,"end":"failed","reason":"no"}"#;
        let read: Cassette = old.parse().unwrap();
        assert_eq!(read.to_string().trim_end(), old);
        let strange = old.replace("failed\"", r#"failed","trouble":"ghosts""#);
        assert!(strange.parse::<Cassette>().is_err());
    }
}
