//! What kind of trouble an error is, by its type and by the step that failed, never by its words.

use std::{error::Error, io};

use mcp_jsonrpc::Trouble;

#[cfg(feature = "http")]
pub(crate) use self::step::FailedStep;

/// What an error says, or else the first of its causes that says anything.
pub(crate) fn of(error: &(dyn Error + 'static)) -> Trouble {
    causes(error).find_map(told_by).unwrap_or_default()
}

/// An error and its causes, from the outside in.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // What such an error holds is not its source.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map_or_else(|| error.source(), |held| Some(held))
    })
}

fn told_by(error: &(dyn Error + 'static)) -> Option<Trouble> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return told_by_system(error.kind());
    }
    #[cfg(feature = "http")]
    if let Some(failed) = error.downcast_ref::<FailedStep>() {
        return Some(failed.trouble());
    }
    #[cfg(feature = "tls")]
    if error.is::<rustls::Error>() {
        return Some(Trouble::Tls);
    }
    #[cfg(feature = "http")]
    if let Some(trouble) = told_by_http(error) {
        return Some(trouble);
    }
    None
}

fn told_by_system(kind: io::ErrorKind) -> Option<Trouble> {
    use io::ErrorKind as Kind;
    Some(match kind {
        // A socket file that is not there has nobody behind it either.
        Kind::ConnectionRefused | Kind::NotFound => Trouble::Refused,
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => Trouble::CutOff,
        Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::AddrNotAvailable => Trouble::Unreachable,
        Kind::TimedOut => Trouble::TimedOut,
        _ => return None,
    })
}

#[cfg(feature = "http")]
fn told_by_http(error: &(dyn Error + 'static)) -> Option<Trouble> {
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return (error.is_reset() || error.is_go_away()).then_some(Trouble::CutOff);
    }
    let error = error.downcast_ref::<hyper::Error>()?;
    if error.is_timeout() {
        return Some(Trouble::TimedOut);
    }
    if error.is_parse() {
        return Some(Trouble::NotMcp);
    }
    let is_cut_off = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    // A request given up with its connection has in its source how that broke.
    let knows_more = error.source().is_some_and(<dyn Error>::is::<hyper::Error>);
    (is_cut_off && !knows_more).then_some(Trouble::CutOff)
}

#[cfg(feature = "http")]
mod step {
    use std::{error::Error, fmt};

    use mcp_jsonrpc::Trouble;

    /// An error whose trouble is known by what was being done, and not by its type.
    #[derive(Debug)]
    pub(crate) struct FailedStep {
        trouble: Trouble,
        cause: Box<dyn Error + Send + Sync>,
    }

    impl FailedStep {
        pub(crate) fn new(
            trouble: Trouble,
            cause: impl Into<Box<dyn Error + Send + Sync>>,
        ) -> Self {
            Self { trouble, cause: cause.into() }
        }

        pub(super) fn trouble(&self) -> Trouble {
            self.trouble
        }
    }

    impl fmt::Display for FailedStep {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.cause.fmt(f)
        }
    }

    /// Its cause is behind it, also for those who ask for its type: an error of the system hides what it holds.
    impl Error for FailedStep {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.cause)
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "http", feature = "ws"))]
mod tests;
