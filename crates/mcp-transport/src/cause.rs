//! Classifies errors by their type and by the step that failed, never by their text.

use std::{error::Error, io};

use mcp_jsonrpc::FailureCause;

#[cfg(feature = "net")]
pub(crate) use self::step::FailedStep;

/// Returns the kind of failure of an error, or of the first of its causes that has one.
pub(crate) fn of(error: &(dyn Error + 'static)) -> FailureCause {
    causes(error).find_map(told_by).unwrap_or_default()
}

/// Iterates over an error and its causes, from the outermost to the innermost.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The inner error of an `io::Error` is not its source, so it would be skipped.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map_or_else(|| error.source(), |held| Some(held))
    })
}

fn told_by(error: &(dyn Error + 'static)) -> Option<FailureCause> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return told_by_system(error.kind());
    }
    #[cfg(feature = "net")]
    if let Some(failed) = error.downcast_ref::<FailedStep>() {
        return Some(failed.cause());
    }
    #[cfg(feature = "net")]
    if error.is::<rustls::Error>() {
        return Some(FailureCause::Tls);
    }
    #[cfg(feature = "net")]
    if let Some(cause) = told_by_http(error) {
        return Some(cause);
    }
    None
}

fn told_by_system(kind: io::ErrorKind) -> Option<FailureCause> {
    use io::ErrorKind as Kind;
    Some(match kind {
        // A missing socket file means that no process listens either.
        Kind::ConnectionRefused | Kind::NotFound => FailureCause::Refused,
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => FailureCause::CutOff,
        Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::AddrNotAvailable => FailureCause::Unreachable,
        Kind::TimedOut => FailureCause::TimedOut,
        _ => return None,
    })
}

#[cfg(feature = "net")]
fn told_by_http(error: &(dyn Error + 'static)) -> Option<FailureCause> {
    #[cfg(feature = "http")]
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return (error.is_reset() || error.is_go_away()).then_some(FailureCause::CutOff);
    }
    let error = error.downcast_ref::<hyper::Error>()?;
    if error.is_timeout() {
        return Some(FailureCause::TimedOut);
    }
    if error.is_parse() {
        return Some(FailureCause::NotMcp);
    }
    let is_cut_off = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    // If the request failed with its connection, the source says how the connection broke.
    let knows_more = error.source().is_some_and(<dyn Error>::is::<hyper::Error>);
    (is_cut_off && !knows_more).then_some(FailureCause::CutOff)
}

#[cfg(feature = "net")]
mod step {
    use std::{error::Error, fmt};

    use mcp_jsonrpc::FailureCause;

    /// An error with a kind that follows from the failed step, not from its type.
    #[derive(Debug)]
    pub(crate) struct FailedStep {
        cause: FailureCause,
        source: Box<dyn Error + Send + Sync>,
    }

    impl FailedStep {
        pub(crate) fn new(
            cause: FailureCause,
            source: impl Into<Box<dyn Error + Send + Sync>>,
        ) -> Self {
            Self { cause, source: source.into() }
        }

        pub(super) fn cause(&self) -> FailureCause {
            self.cause
        }
    }

    impl fmt::Display for FailedStep {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.source.fmt(f)
        }
    }

    /// Returns the wrapped error, so that its type can be inspected: an `io::Error` would hide its inner error.
    impl Error for FailedStep {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.source)
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "http", feature = "ws"))]
mod tests;
