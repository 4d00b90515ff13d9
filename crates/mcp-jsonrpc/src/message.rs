//! The messages of JSON-RPC 2.0: requests, notifications, responses and errors.
//!
//! <https://www.jsonrpc.org/specification>, as restricted by
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic#messages>

use std::{borrow::Cow, fmt};

use crate::{
    id::RequestId,
    json::{RawJson, write_integer, write_string},
};

/// One JSON-RPC message.
///
/// ```
/// use mcp_jsonrpc::{Message, Notification};
///
/// let hello = Message::Notification(Notification::new("notifications/initialized", None));
/// let mut line = Vec::new();
/// hello.write(&mut line);
/// assert_eq!(line, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC 2.0 is finished")]
pub enum Message {
    /// Expects a response.
    Request(Request),
    /// Expects no response.
    Notification(Notification),
    /// Responds to a request.
    Response(Response),
}

/// A message that expects a response: <https://www.jsonrpc.org/specification#request_object>.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "JSON-RPC 2.0 is finished")]
pub struct Request {
    /// The id, which the response repeats.
    pub id: RequestId,
    /// The name of the method.
    pub method: Cow<'static, str>,
    /// The parameters, if any: an object or an array.
    pub params: Option<RawJson>,
}

/// A message without a response: <https://www.jsonrpc.org/specification#notification>.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "JSON-RPC 2.0 is finished")]
pub struct Notification {
    /// The name of the method.
    pub method: Cow<'static, str>,
    /// The parameters, if any: an object or an array.
    pub params: Option<RawJson>,
}

/// The response to a request: <https://www.jsonrpc.org/specification#response_object>.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "JSON-RPC 2.0 is finished")]
pub struct Response {
    /// The id of the request. `None` if the peer could not parse the request.
    pub id: Option<RequestId>,
    /// The result or the error.
    pub outcome: Result<RawJson, ErrorObject>,
}

/// The error in a response: <https://www.jsonrpc.org/specification#error_object>.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "JSON-RPC 2.0 is finished")]
pub struct ErrorObject {
    /// One of the [`ErrorObject`] constants, or a code defined by the protocol or the peer.
    pub code: i64,
    /// A description for people. Foreign text.
    pub message: String,
    /// Further details for programs.
    pub data: Option<RawJson>,
}

impl Message {
    /// Appends the message to `out` as one line of JSON, without the newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        match self {
            Message::Request(Request { id, method, params }) => {
                out.extend_from_slice(br#","id":"#);
                id.write(out);
                write_method(method, params.as_ref(), out);
            }
            Message::Notification(Notification { method, params }) => {
                write_method(method, params.as_ref(), out);
            }
            Message::Response(Response { id, outcome }) => {
                out.extend_from_slice(br#","id":"#);
                match id {
                    Some(id) => id.write(out),
                    None => out.extend_from_slice(b"null"),
                }
                match outcome {
                    Ok(result) => {
                        out.extend_from_slice(br#","result":"#);
                        write_raw(result, out);
                    }
                    Err(error) => error.write(out),
                }
            }
        }
        out.push(b'}');
    }

    /// The method of a request or a notification.
    pub fn method(&self) -> Option<&str> {
        match self {
            Message::Request(request) => Some(&request.method),
            Message::Notification(notification) => Some(&notification.method),
            Message::Response(_) => None,
        }
    }
}

impl Request {
    /// A request for `method`.
    pub fn new(
        id: impl Into<RequestId>,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson>,
    ) -> Self {
        Self { id: id.into(), method: method.into(), params }
    }

    /// Builds the response to this request.
    pub fn answer(&self, outcome: Result<RawJson, ErrorObject>) -> Message {
        Message::Response(Response { id: Some(self.id.clone()), outcome })
    }
}

impl Notification {
    /// A notification of `method`.
    pub fn new(method: impl Into<Cow<'static, str>>, params: Option<RawJson>) -> Self {
        Self { method: method.into(), params }
    }
}

impl ErrorObject {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are invalid for the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The request failed because of an internal error.
    pub const INTERNAL_ERROR: i64 = -32603;

    /// An error without further data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#","error":{"code":"#);
        write_integer(self.code, out);
        out.extend_from_slice(br#","message":"#);
        write_string(&self.message, out);
        if let Some(data) = &self.data {
            out.extend_from_slice(br#","data":"#);
            write_raw(data, out);
        }
        out.push(b'}');
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorObject({self})")
    }
}

impl std::error::Error for ErrorObject {}

fn write_method(method: &str, params: Option<&RawJson>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#","method":"#);
    write_string(method, out);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        write_raw(params, out);
    }
}

/// Appends a raw value on one line. A value from a transport without lines may contain newlines. They are white space
/// between tokens, because newlines in strings are escaped.
fn write_raw(value: &RawJson, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value.as_bytes());
    if memchr::memchr2(b'\n', b'\r', &out[start..]).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}
