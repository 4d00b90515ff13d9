//! Kinds of trouble as they stand in a cassette.

use std::fmt;

use mcp_jsonrpc::{RawJson, Trouble};

use super::string;

/// How each is written. A status is written as its number.
const NAMES: &[(Trouble, &str)] = &[
    (Trouble::Refused, "refused"),
    (Trouble::CutOff, "cut-off"),
    (Trouble::Unreachable, "unreachable"),
    (Trouble::UnknownHost, "unknown-host"),
    (Trouble::Proxy, "proxy"),
    (Trouble::Tls, "tls"),
    (Trouble::TimedOut, "timed-out"),
    (Trouble::TooLarge, "too-large"),
    (Trouble::NotMcp, "not-mcp"),
    (Trouble::Session, "session"),
    (Trouble::Credentials, "credentials"),
    (Trouble::Local, "local"),
    (Trouble::Closed, "closed"),
];

/// The member for `trouble`, with a comma behind it. What is none of the others goes without saying.
pub(super) fn write_trouble(f: &mut fmt::Formatter<'_>, trouble: Trouble) -> fmt::Result {
    if let Trouble::Status(status) = trouble {
        return write!(f, r#""trouble":{status},"#);
    }
    match NAMES.iter().find(|(known, _)| *known == trouble) {
        Some((_, name)) => write!(f, r#""trouble":"{name}","#),
        None => Ok(()),
    }
}

pub(super) fn read_trouble(raw: &RawJson) -> Result<Trouble, &'static str> {
    let Some(member) = raw.get("trouble") else { return Ok(Trouble::Other) };
    if let Ok(status) = member.decode() {
        return Ok(Trouble::Status(status));
    }
    let name = string(raw, "trouble");
    let known = NAMES.iter().find(|(_, known)| name.as_deref() == Some(*known));
    known.map(|(trouble, _)| *trouble).ok_or("`trouble` is of no known kind")
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
    fn every_kind_of_trouble_is_read_as_it_was_written() {
        let status = Trouble::Status(503);
        let all = NAMES.iter().map(|(trouble, _)| *trouble).chain([status, Trouble::Other]);
        for trouble in all {
            let loss = Loss::new(Delivery::NotSent, ErrorClass::Permanent, trouble, "no");
            let failed = Event::In(Inbound::Lost { id: 1.into(), failure: loss.into() });
            let end = Event::End(CloseReason::Failed { trouble, reason: "no".into() });
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
