//! The cause of a failure as a value, for code that decides by it.

/// The cause of a failure, independent of its message.
///
/// The cause is recorded where the failure happens, from the OS error code or from the step that failed, so that
/// no caller parses a message. [`ErrorClass`](crate::ErrorClass) says how to react.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCause {
    /// Connection refused: no process listens on that address.
    Refused,
    /// The connection was lost before the exchange was complete.
    CutOff,
    /// No route through the network.
    Unreachable,
    /// The host name has no address.
    UnknownHost,
    /// The proxy cannot be reached, or did not establish the connection.
    Proxy,
    /// The TLS handshake failed: a certificate was rejected, or the peer does not speak TLS.
    Tls,
    /// A time limit expired.
    TimedOut,
    /// A message or a body exceeds its size limit.
    TooLarge,
    /// The server responded with this HTTP status.
    Status(u16),
    /// The server does not speak MCP, or violates the protocol.
    NotMcp,
    /// The session no longer exists on the server.
    Session,
    /// Credentials are missing, or the server rejected them.
    Credentials,
    /// A local cause: options, a program that cannot be started, a limit of this library.
    Local,
    /// One side closed the link cleanly.
    Closed,
    /// None of these.
    #[default]
    Other,
}
