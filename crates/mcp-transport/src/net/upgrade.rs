//! The upgrade of a connection from HTTP/1.1 to another protocol: <https://www.rfc-editor.org/rfc/rfc9110#section-7.8>.

use std::pin::pin;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::{
    connector::{Connector, Problem, Route},
    single::{self, Carrier},
    stream::Stream,
};

/// The maximum length of the response head.
const LONGEST_HEAD: usize = 32 << 10;

/// A connection after the switch to another protocol.
pub(crate) struct Upgraded {
    pub(crate) stream: TokioIo<Stream>,
    /// Bytes that arrived after the head of the response.
    pub(crate) rest: Bytes,
}

/// Opens a connection, through a tunnel if a proxy applies, and requests an upgrade with `headers`. Returns a
/// connection if the status of the response is 101. The body of another response is not read.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(crate) async fn upgrade(
    connector: &Connector,
    to: &Uri,
    headers: HeaderMap,
) -> Result<(Response<()>, Option<Upgraded>), Problem> {
    let request = single::request(Method::GET, to, headers, Bytes::new())?;
    let stream = connector.single(to, Route::Usual).await?;
    // Some servers compare header names case-sensitively.
    let mut builder = http1::Builder::new();
    builder.max_buf_size(LONGEST_HEAD).title_case_headers(true);
    let (mut sender, connection) = builder.handshake(stream).await?;
    let connection = pin!(connection.without_shutdown());
    let mut carrier = Carrier::new(connection);
    let response = carrier.carry(sender.send_request(request)).await?.map(drop);
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok((response, None));
    }
    let ended = match carrier.ended {
        Some(ended) => ended,
        None => carrier.connection.await,
    };
    let parts = ended?;
    let upgraded = Upgraded { stream: TokioIo::new(parts.io), rest: parts.read_buf };
    Ok((response, Some(upgraded)))
}

#[cfg(test)]
mod tests;
