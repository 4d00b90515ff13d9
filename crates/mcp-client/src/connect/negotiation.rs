//! Negotiates the protocol revision: the rules, without I/O.
//!
//! Written for transports with one shared channel (stdio, WebSocket, in-process), following
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions>
//! and <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility>.
//! `server/discover` is sent first, because some legacy servers would execute a modern `tools/call`. A server that does not
//! prove to be modern is treated as legacy, and the decision never depends on one particular error
//! code.

use mcp_jsonrpc::{ErrorClass, ErrorObject, Loss, RawJson, ShapeError};
use mcp_types::{Era, ProtocolVersion, error_code};

use crate::era::EraChoice;

/// The next step of the negotiation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Send `server/discover` with this revision.
    Probe(ProtocolVersion),
    /// Send `initialize` with this revision.
    Initialize(ProtocolVersion),
    /// Open a new link, then send `initialize`: the server exited after the probe.
    Restart(ProtocolVersion),
    /// Both sides agreed on this revision.
    Agreed(ProtocolVersion),
    /// The negotiation failed.
    Failed(Disagreement),
}

/// Why the negotiation failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Disagreement {
    /// The server supports only these revisions.
    NoCommonVersion(Vec<String>),
    /// The server responded with an error.
    Refused(ErrorObject),
    /// The server did not respond in time.
    Silent,
    /// The server closed the link.
    Closed,
    /// The host requires the modern era, and the response is not modern.
    NotModern,
    /// The response cannot be decoded.
    Unreadable(ShapeError),
    /// The request was not accepted by the server or an intermediary.
    Unavailable(Box<Loss>),
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observed {
    /// A discovery result, with the revisions it lists.
    Discovered(Vec<String>),
    /// An initialization result, with the revision the server chose.
    Initialized(String),
    /// A result without the expected members: some legacy servers respond to every method with an empty result.
    Nonsense,
    /// A result of the right kind that cannot be decoded.
    Unreadable(ShapeError),
    /// An error response.
    Refused(ErrorObject),
    /// No response in time.
    Silent,
    /// The server closed the link.
    Closed,
    /// The request was lost, but the link is still open.
    Lost(Box<Loss>),
}

/// The negotiation with one server.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent retries, each used once")]
pub(crate) struct Negotiation {
    choice: EraChoice,
    probing: bool,
    /// Whether the server has answered a probe, even with an error.
    answered_probe: bool,
    /// Retries already used.
    repeated_probe: bool,
    repeated_initialize: bool,
    restarted: bool,
}

impl Negotiation {
    pub(crate) fn start(choice: EraChoice, remembered: Option<Era>) -> (Self, Step) {
        let legacy = choice == EraChoice::Legacy
            || choice == EraChoice::Auto && remembered == Some(Era::Legacy);
        let negotiation = Self {
            choice,
            probing: !legacy,
            answered_probe: false,
            repeated_probe: false,
            repeated_initialize: false,
            restarted: false,
        };
        let step = if legacy {
            Step::Initialize(ProtocolVersion::NEWEST_LEGACY)
        } else {
            Step::Probe(ProtocolVersion::NEWEST_MODERN)
        };
        (negotiation, step)
    }

    pub(crate) fn next(&mut self, observed: Observed) -> Step {
        if self.probing { self.probed(observed) } else { self.initialized(observed) }
    }

    fn probed(&mut self, observed: Observed) -> Step {
        self.answered_probe |= !matches!(observed, Observed::Silent | Observed::Closed);
        match observed {
            // An unavailable or overloaded server, or one that requires a login, says nothing about its era.
            Observed::Lost(loss)
                if loss.class != ErrorClass::Permanent || self.choice == EraChoice::Modern =>
            {
                Step::Failed(Disagreement::Unavailable(loss))
            }
            Observed::Unreadable(error) => Step::Failed(Disagreement::Unreadable(error)),
            Observed::Discovered(versions) => {
                match ProtocolVersion::newest_of(Era::Modern, &versions) {
                    Some(version) => Step::Agreed(version),
                    None => self.legacy_of(versions),
                }
            }
            Observed::Refused(error) if error_code::is_modern(error.code) => {
                self.refused_by_modern(error)
            }
            Observed::Closed if self.choice == EraChoice::Modern || self.restarted => {
                Step::Failed(Disagreement::Closed)
            }
            // Some legacy servers exit on a request before `initialize`. They are started again without a probe.
            Observed::Closed => {
                self.restarted = true;
                self.probing = false;
                Step::Restart(ProtocolVersion::NEWEST_LEGACY)
            }
            Observed::Refused(error) if self.choice == EraChoice::Modern => {
                Step::Failed(Disagreement::Refused(error))
            }
            Observed::Silent if self.choice == EraChoice::Modern => {
                Step::Failed(Disagreement::Silent)
            }
            _ if self.choice == EraChoice::Modern => Step::Failed(Disagreement::NotModern),
            _ => self.initialize(ProtocolVersion::NEWEST_LEGACY),
        }
    }

    /// A modern server rejected the probe. Retry once, even with the same revision: some servers
    /// reject the first request regardless of its content.
    ///
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation>
    fn refused_by_modern(&mut self, error: ErrorObject) -> Step {
        let offered = supported(&error);
        let version = ProtocolVersion::newest_of(Era::Modern, &offered);
        match version {
            None if error.code == error_code::UNSUPPORTED_VERSION => self.legacy_of(offered),
            _ if self.repeated_probe => Step::Failed(Disagreement::Refused(error)),
            _ => {
                self.repeated_probe = true;
                Step::Probe(version.unwrap_or(ProtocolVersion::NEWEST_MODERN))
            }
        }
    }

    /// The server responds like a modern one but supports only legacy revisions.
    fn legacy_of(&mut self, offered: Vec<String>) -> Step {
        match ProtocolVersion::newest_of(Era::Legacy, &offered) {
            Some(version) if self.choice != EraChoice::Modern => self.initialize(version),
            _ => Step::Failed(Disagreement::NoCommonVersion(offered)),
        }
    }

    fn initialize(&mut self, version: ProtocolVersion) -> Step {
        self.probing = false;
        Step::Initialize(version)
    }

    fn initialized(&mut self, observed: Observed) -> Step {
        match observed {
            // The server may choose another revision. A client that does not support it must disconnect:
            // <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation>
            Observed::Initialized(version) => match ProtocolVersion::parse(&version) {
                Some(version) if version.era() == Era::Legacy => Step::Agreed(version),
                _ => Step::Failed(Disagreement::NoCommonVersion(vec![version])),
            },
            // The remembered era was wrong, or the probe came too early. A modern server may answer
            // `initialize` with any error, so this does not depend on one code either.
            Observed::Refused(error) if self.may_be_modern(&error) => {
                self.repeated_probe = true;
                self.probing = true;
                Step::Probe(ProtocolVersion::NEWEST_MODERN)
            }
            Observed::Refused(error) => {
                let offered = supported(&error);
                match ProtocolVersion::newest_of(Era::Legacy, &offered) {
                    Some(version) if !self.repeated_initialize => {
                        self.repeated_initialize = true;
                        Step::Initialize(version)
                    }
                    _ => Step::Failed(Disagreement::Refused(error)),
                }
            }
            Observed::Silent => Step::Failed(Disagreement::Silent),
            Observed::Closed => Step::Failed(Disagreement::Closed),
            Observed::Lost(loss) => Step::Failed(Disagreement::Unavailable(loss)),
            Observed::Unreadable(error) => Step::Failed(Disagreement::Unreadable(error)),
            Observed::Discovered(_) | Observed::Nonsense => {
                Step::Failed(Disagreement::NoCommonVersion(Vec::new()))
            }
        }
    }

    /// Whether to probe a server, once, after it refused `initialize`.
    fn may_be_modern(&self, error: &ErrorObject) -> bool {
        let names_legacy = ProtocolVersion::newest_of(Era::Legacy, &supported(error)).is_some();
        self.choice == EraChoice::Auto
            && !self.repeated_probe
            && (error_code::is_modern(error.code) || !self.answered_probe && !names_legacy)
    }
}

fn supported(error: &ErrorObject) -> Vec<String> {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    supported.and_then(|list: RawJson| list.decode().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Delivery, FailureCause};

    use super::{Observed as O, *};

    /// Plays observations against a negotiation and renders its steps.
    fn play(choice: EraChoice, remembered: Option<Era>, observed: Vec<O>) -> String {
        let (mut negotiation, first) = Negotiation::start(choice, remembered);
        let mut steps = vec![show(&first)];
        steps.extend(observed.into_iter().map(|observed| show(&negotiation.next(observed))));
        steps.join(" > ")
    }

    fn show(step: &Step) -> String {
        match step {
            Step::Probe(version) => format!("probe {version}"),
            Step::Initialize(version) => format!("initialize {version}"),
            Step::Restart(version) => format!("restart {version}"),
            Step::Agreed(version) => format!("agreed {version}"),
            Step::Failed(why) => {
                format!("failed {}", format!("{why:?}").split('(').next().unwrap())
            }
        }
    }

    fn auto(observed: Vec<O>) -> String {
        play(EraChoice::Auto, None, observed)
    }

    fn refused(code: i64) -> O {
        O::Refused(ErrorObject::new(code, "no"))
    }

    fn unsupported(versions: &str) -> O {
        let data = RawJson::parse(format!(r#"{{"supported":{versions}}}"#)).unwrap();
        O::Refused(ErrorObject { data: Some(data), ..ErrorObject::new(-32022, "no") })
    }

    fn discovered(versions: &[&str]) -> O {
        O::Discovered(versions.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn discovery_result_selects_the_newest_common_version() {
        assert_eq!(auto(vec![discovered(&["2026-07-28"])]), "probe 2026-07-28 > agreed 2026-07-28");
        assert_eq!(
            auto(vec![discovered(&["2099-01-01"])]),
            "probe 2026-07-28 > failed NoCommonVersion"
        );
        assert_eq!(
            auto(vec![
                discovered(&["2025-06-18", "2025-03-26"]),
                O::Initialized("2025-06-18".into())
            ]),
            "probe 2026-07-28 > initialize 2025-06-18 > agreed 2025-06-18"
        );
    }

    #[test]
    fn server_not_proven_modern_is_treated_as_legacy() {
        let answers =
            [-32601, -32602, -32600, -32000, -32001, -32004, -32700, -32042, 1].map(refused);
        for answer in answers.into_iter().chain([O::Silent, O::Nonsense]) {
            assert_eq!(
                auto(vec![answer, O::Initialized("2025-03-26".into())]),
                "probe 2026-07-28 > initialize 2025-11-25 > agreed 2025-03-26"
            );
        }
    }

    #[test]
    fn unavailable_server_does_not_decide_the_era() {
        let lost = |class| {
            O::Lost(Box::new(Loss::new(Delivery::NotSent, class, FailureCause::Other, "no")))
        };
        for class in [ErrorClass::Transient, ErrorClass::Auth, ErrorClass::Session] {
            assert_eq!(auto(vec![lost(class)]), "probe 2026-07-28 > failed Unavailable");
        }
        // A URL that does not exist for modern requests may belong to a legacy server.
        assert_eq!(
            auto(vec![lost(ErrorClass::Permanent), lost(ErrorClass::Permanent)]),
            "probe 2026-07-28 > initialize 2025-11-25 > failed Unavailable"
        );
    }

    #[test]
    fn an_unsupported_version_never_falls_back_to_initialize() {
        assert_eq!(
            auto(vec![unsupported(r#"["2026-07-28"]"#), discovered(&["2026-07-28"])]),
            "probe 2026-07-28 > probe 2026-07-28 > agreed 2026-07-28"
        );
        assert_eq!(
            auto(vec![unsupported(r#"["2026-07-28"]"#), unsupported(r#"["2026-07-28"]"#)]),
            "probe 2026-07-28 > probe 2026-07-28 > failed Refused"
        );
        assert_eq!(
            auto(vec![unsupported(r#"["2099-01-01"]"#)]),
            "probe 2026-07-28 > failed NoCommonVersion"
        );
        assert_eq!(
            auto(vec![unsupported(r#"["2025-11-25"]"#)]),
            "probe 2026-07-28 > initialize 2025-11-25"
        );
    }

    #[test]
    fn server_killed_by_the_probe_is_restarted_once() {
        assert_eq!(
            auto(vec![O::Closed, O::Initialized("2024-11-05".into())]),
            "probe 2026-07-28 > restart 2025-11-25 > agreed 2024-11-05"
        );
        assert_eq!(
            auto(vec![O::Closed, O::Closed]),
            "probe 2026-07-28 > restart 2025-11-25 > failed Closed"
        );
    }

    #[test]
    fn pinned_era_is_not_changed() {
        let modern = |observed| play(EraChoice::Modern, None, vec![observed]);
        assert_eq!(modern(refused(-32601)), "probe 2026-07-28 > failed Refused");
        assert_eq!(modern(O::Silent), "probe 2026-07-28 > failed Silent");
        assert_eq!(modern(O::Nonsense), "probe 2026-07-28 > failed NotModern");
        assert_eq!(modern(O::Closed), "probe 2026-07-28 > failed Closed");
        assert_eq!(
            modern(discovered(&["2025-11-25"])),
            "probe 2026-07-28 > failed NoCommonVersion"
        );
        assert_eq!(
            play(EraChoice::Legacy, Some(Era::Modern), vec![unsupported("[]")]),
            "initialize 2025-11-25 > failed Refused"
        );
    }

    #[test]
    fn wrong_remembered_era_is_corrected() {
        assert_eq!(
            play(
                EraChoice::Auto,
                Some(Era::Legacy),
                vec![unsupported(r#"["2026-07-28"]"#), discovered(&["2026-07-28"])]
            ),
            "initialize 2025-11-25 > probe 2026-07-28 > agreed 2026-07-28"
        );
        // A server that is neither modern nor legacy is not probed again and again.
        assert_eq!(
            play(
                EraChoice::Auto,
                Some(Era::Legacy),
                vec![refused(-32000), refused(-32601), refused(-32000)]
            ),
            "initialize 2025-11-25 > probe 2026-07-28 > initialize 2025-11-25 > failed Refused"
        );
    }

    #[test]
    fn legacy_server_can_request_another_version() {
        let wants =
            RawJson::parse(r#"{"supported":["2024-11-05"],"requested":"2025-11-25"}"#).unwrap();
        let error = ErrorObject { data: Some(wants), ..ErrorObject::new(-32602, "no") };
        assert_eq!(
            play(
                EraChoice::Legacy,
                None,
                vec![O::Refused(error), O::Initialized("2024-11-05".into())]
            ),
            "initialize 2025-11-25 > initialize 2024-11-05 > agreed 2024-11-05"
        );
        assert_eq!(
            play(EraChoice::Legacy, None, vec![O::Initialized("2023-01-01".into())]),
            "initialize 2025-11-25 > failed NoCommonVersion"
        );
    }
}
