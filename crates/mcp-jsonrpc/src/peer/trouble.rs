//! What kind of trouble a failure was, for whoever decides by it.

/// What went wrong on the way, whatever words it was told in.
///
/// It is found out where the failure happens, from the system's code or from the step that failed, so that nobody
/// has to search a text for it later. What to do about a failure is another question, which
/// [`ErrorClass`](crate::ErrorClass) answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trouble {
    /// Nobody listens there.
    Refused,
    /// The connection was cut off before all was said.
    CutOff,
    /// There is no way through the network.
    Unreachable,
    /// The name leads to no address.
    UnknownHost,
    /// The proxy on the way cannot be reached, or does not lead any further.
    Proxy,
    /// There is no secure connection: one side does not trust the other, or does not speak TLS.
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
    /// There are no credentials, or the server does not take them.
    Credentials,
    /// It is on our side: options, a program that cannot be started, a limit of our own.
    Local,
    /// One side closed the link in good order.
    Closed,
    /// None of these.
    #[default]
    Other,
}
