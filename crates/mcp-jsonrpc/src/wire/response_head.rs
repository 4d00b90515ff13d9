//! The head of a response: parsed only as far as needed to find its call.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::decode::{Decoded, decode, error_object};
use crate::{
    failure::Failure,
    id::RequestId,
    json::{Backing, RawJson, ShapeError, members},
    message::{Message, Response},
};

/// A response that has not been parsed beyond its id.
///
/// Nearly all responses begin or end in one of two ways, which is enough to find the call. The rest
/// is then read once, directly into the caller's type and in the caller's own task; a
/// megabyte of text is not scanned twice.
///
/// ```
/// use mcp_jsonrpc::wire::Reply;
///
/// let frame = br#"{"jsonrpc":"2.0","id":7,"result":["a","b"]}"#.as_slice().into();
/// let reply = Reply::recognize(&frame).expect("the usual form");
/// assert_eq!(*reply.id(), 7.into());
/// assert_eq!(reply.decode::<Vec<String>>()?, ["a", "b"]);
/// # Ok::<(), mcp_jsonrpc::Failure>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    id: RequestId,
    body: Body,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    /// The result, known to be well formed.
    Result(RawJson),
    /// A whole frame that looks like a response. It has not been validated.
    Frame(Bytes),
}

/// How this workspace, Python and most others write responses.
const ID_FIRST: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
/// How the TypeScript SDK writes them.
const RESULT_FIRST: &[u8] = br#"{"result":"#;
const ID_LAST: &[u8] = br#","jsonrpc":"2.0","id":"#;

impl Reply {
    pub(crate) fn new(id: RequestId, result: RawJson) -> Self {
        Self { id, body: Body::Result(result) }
    }

    /// Accepts `frame` as a response with a result, if it has one of the two usual forms. Other
    /// forms, and all errors, are read by [`decode`](crate::wire::decode()).
    pub fn recognize(frame: &Bytes) -> Option<Self> {
        let id = id_first(frame).or_else(|| id_last(frame))?;
        Some(Self { id: id.into(), body: Body::Frame(frame.clone()) })
    }

    /// The id of the request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Reads the result as a `T`.
    pub fn decode<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self.body {
            Body::Result(raw) => raw.decode().map_err(Failure::Malformed),
            Body::Frame(frame) => read(&frame, &self.id),
        }
    }

    /// The result without decoding.
    pub fn into_raw(self) -> Result<RawJson, Failure> {
        match self.body {
            Body::Result(raw) => Ok(raw),
            Body::Frame(_) => self.decode(),
        }
    }

    /// Decodes the whole message. `None` if it is not a valid message.
    pub fn into_message(self) -> Option<Message> {
        let frame = match self.body {
            Body::Result(raw) => {
                let response = Response { id: Some(self.id), outcome: Ok(raw) };
                return Some(Message::Response(response));
            }
            Body::Frame(frame) => frame,
        };
        match decode(&frame) {
            Ok(Decoded::One(message)) => Some(message),
            _ => None,
        }
    }
}

fn id_first(frame: &[u8]) -> Option<i64> {
    let rest = frame.strip_prefix(ID_FIRST)?;
    let digits = digits(rest.iter());
    rest[digits..].starts_with(br#","result":"#).then(|| number(&rest[..digits]))?
}

/// Inside a string the quotes of this ending would be escaped, so it can only be the end of the
/// outermost object.
fn id_last(frame: &[u8]) -> Option<i64> {
    let rest = frame.strip_prefix(RESULT_FIRST)?.strip_suffix(b"}")?;
    let (before, id) = rest.split_at(rest.len() - digits(rest.iter().rev()));
    before.ends_with(ID_LAST).then(|| number(id))?
}

fn digits<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes.take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Reads `frame` as the response to `expected`, and its result as a `T`.
fn read<T: DeserializeOwned>(frame: &Bytes, expected: &RequestId) -> Result<T, Failure> {
    let problem = |text| Failure::Malformed(ShapeError::new(text));
    let text = std::str::from_utf8(frame).map_err(|_| problem("not UTF-8"))?;
    let _scope = Backing::enter(frame);
    let (mut is_version_2, mut id, mut result, mut error) = (false, None, None, None);
    let read = members(text, |name, value| {
        match name {
            "jsonrpc" => is_version_2 = value.text()? == r#""2.0""#,
            "id" => id = RequestId::read(value.text()?),
            "result" => result = Some(value.decode()?),
            "error" => error = Some(value.decode::<RawJson>()?).filter(|error| !error.is_null()),
            _ => drop(value.text()?),
        }
        Ok(())
    });
    read.map_err(Failure::Malformed)?;
    if let Some(error) = error {
        return Err(Failure::Rejected(error_object(&error)));
    }
    if !is_version_2 || id.as_ref() != Some(expected) {
        return Err(problem("not the answer it looked like"));
    }
    result.ok_or_else(|| problem("`result` is missing"))
}
