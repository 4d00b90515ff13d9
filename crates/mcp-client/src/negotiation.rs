//! Finding out which revision a server speaks: the rules, without the waiting.
//!
//! Written for any channel that both sides share (stdio, WebSocket, in-process), after
//! 2026-07-28/basic/versioning and 2026-07-28/basic/transports/stdio. Ask `server/discover` first, because
//! some old servers would carry out a modern `tools/call`; whatever does not prove the server modern makes
//! it legacy, and the decision never hangs on one particular error code.

use mcp_jsonrpc::{ErrorClass, ErrorObject, Loss, RawJson, ShapeError};

use crate::era::{Era, EraChoice, ProtocolVersion};

pub(crate) const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Send `server/discover` as this revision.
    Probe(ProtocolVersion),
    /// Send `initialize` asking for this revision.
    Initialize(ProtocolVersion),
    /// Open a fresh link, then `initialize`: the probe was too much for the server.
    Restart(ProtocolVersion),
    /// This is the one.
    Agreed(ProtocolVersion),
    /// There is none.
    Failed(Disagreement),
}

/// Why there is no revision to speak.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Disagreement {
    /// The server speaks only these.
    NoCommonVersion(Vec<String>),
    /// The server said no.
    Refused(ErrorObject),
    /// It did not say anything in time.
    Silent,
    /// It went away.
    Closed,
    /// It is pinned to the modern era and what came back is not modern.
    NotModern,
    /// What it said cannot be read.
    Unreadable(ShapeError),
    /// It, or something on the way to it, would not take the request.
    Unavailable(Box<Loss>),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observed {
    /// A discovery, with the revisions in it.
    Discovered(Vec<String>),
    /// An initialisation, with the revision the server chose.
    Initialized(String),
    /// An answer that is none: some old servers answer anything with an empty result.
    Nonsense,
    /// An answer of the right kind with something wrong in it.
    Unreadable(ShapeError),
    /// An error.
    Refused(ErrorObject),
    /// No answer in time.
    Silent,
    /// The server went away.
    Closed,
    /// The request got lost on a link that lives on.
    Lost(Box<Loss>),
}

/// The negotiation with one server.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "second chances, each used up by itself")]
pub(crate) struct Negotiation {
    choice: EraChoice,
    probing: bool,
    /// The server has answered a probe, if only to say no.
    answered_probe: bool,
    /// Second chances that have been used up.
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
            // Being down, too busy or in want of a login says nothing about an era.
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
            Observed::Refused(error) if is_modern(&error) => self.refused_by_modern(error),
            Observed::Closed if self.choice == EraChoice::Modern || self.restarted => {
                Step::Failed(Disagreement::Closed)
            }
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

    /// A modern server says what is wrong. One repetition, even with the very same version: there are
    /// servers that refuse the first request whatever it says.
    fn refused_by_modern(&mut self, error: ErrorObject) -> Step {
        let offered = supported(&error);
        let version = ProtocolVersion::newest_of(Era::Modern, &offered);
        match version {
            None if error.code == UNSUPPORTED_VERSION => self.legacy_of(offered),
            _ if self.repeated_probe => Step::Failed(Disagreement::Refused(error)),
            _ => {
                self.repeated_probe = true;
                Step::Probe(version.unwrap_or(ProtocolVersion::NEWEST_MODERN))
            }
        }
    }

    /// A server that answers like a modern one and speaks only older revisions.
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
            Observed::Initialized(version) => match ProtocolVersion::parse(&version) {
                Some(version) if version.era() == Era::Legacy => Step::Agreed(version),
                _ => Step::Failed(Disagreement::NoCommonVersion(vec![version])),
            },
            // What we remembered was wrong, or the probe came too early for it. A modern server may say
            // anything to `initialize`, so this does not hang on a code either.
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

    /// Whether a server that refused to initialize should be asked for its era, once.
    fn may_be_modern(&self, error: &ErrorObject) -> bool {
        let names_legacy = ProtocolVersion::newest_of(Era::Legacy, &supported(error)).is_some();
        self.choice == EraChoice::Auto
            && !self.repeated_probe
            && (is_modern(error) || !self.answered_probe && !names_legacy)
    }
}

/// Whether only a modern server says this.
fn is_modern(error: &ErrorObject) -> bool {
    matches!(error.code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

fn supported(error: &ErrorObject) -> Vec<String> {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    supported.and_then(|list: RawJson| list.decode().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Delivery, Trouble};

    use super::{Observed as O, *};

    /// Plays observations against a negotiation and writes the steps down.
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
    fn a_modern_server_is_taken_at_its_word() {
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
    fn whatever_proves_nothing_modern_is_legacy() {
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
    fn being_unavailable_says_nothing_about_an_era() {
        let lost =
            |class| O::Lost(Box::new(Loss::new(Delivery::NotSent, class, Trouble::Other, "no")));
        for class in [ErrorClass::Transient, ErrorClass::Auth, ErrorClass::Session] {
            assert_eq!(auto(vec![lost(class)]), "probe 2026-07-28 > failed Unavailable");
        }
        // A page that is not there may be one of an old server.
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
    fn a_server_killed_by_the_probe_is_started_once_more() {
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
    fn pins_hold() {
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
    fn a_wrong_memory_is_corrected() {
        assert_eq!(
            play(
                EraChoice::Auto,
                Some(Era::Legacy),
                vec![unsupported(r#"["2026-07-28"]"#), discovered(&["2026-07-28"])]
            ),
            "initialize 2025-11-25 > probe 2026-07-28 > agreed 2026-07-28"
        );
        // A server that is neither is not asked for ever.
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
    fn an_older_server_may_name_the_version_it_wants() {
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
