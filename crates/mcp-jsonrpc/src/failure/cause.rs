//! The cause of a failure as a value, for code that decides by it.

/// The cause of a failure, independent of its message.
///
/// The cause is recorded where the failure happens, from the OS error code or from the step that failed, so that
/// no caller parses a message. How to react is a separate question, which
/// [`ErrorClass`](crate::ErrorClass) answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCause {
    /// Connection refused: no process listens on that address.
    Refused,
    /// The connection was cut off before all was said.
    CutOff,
    /// No route through the network.
    Unreachable,
    /// The name leads to no address.
    UnknownHost,
    /// The proxy on the way cannot be reached, or does not lead any further.
    Proxy,
    /// The TLS handshake failed: a certificate was rejected, or the peer does not speak TLS.
    Tls,
    /// It took too long.
    TimedOut,
    /// Something was larger than it may be.
    TooLarge,
    /// The server answered with this HTTP status.
    Status(u16),
    /// What answers does not speak MCP, or not as it should.
    NotMcp,
    /// The server no longer knows our session.
    Session,
    /// Credentials are missing, or the server rejected them.
    Credentials,
    /// It is on our side: options, a program that cannot be started, a limit of our own.
    Local,
    /// One side closed the link cleanly.
    Closed,
    /// None of these.
    #[default]
    Other,
}
