//! Responses, rendered in advance.

use std::io::Write;

use bench_server::{Request, ToolList, large_result, small_result};

const SERVER: &str = r#"{"name":"bench-server","version":"1.0.0"}"#;
const CAPABILITIES: &str = r#""capabilities":{"tools":{}}"#;

/// All responses of one server.
pub(crate) struct Answers {
    list: ToolList,
    legacy: bool,
    /// Whether the client speaks 2026-07-28, whose results say what kind they are.
    modern: bool,
    small: Answer,
    // Large results are rendered on first use, so that they do not slow down a cold start.
    large: Option<Answer>,
    tools: Option<Answer>,
    /// The rest of a response that is sent once per connection.
    rare: Vec<u8>,
}

/// A result in the two spellings, with the brace that ends its message.
struct Answer {
    legacy: Vec<u8>,
    modern: Vec<u8>,
}

impl Answer {
    /// `extra` are the members, each with a comma behind it, that only the modern result has.
    fn new(result: &str, extra: &str) -> Self {
        let legacy = format!("{result}}}").into_bytes();
        let modern = format!("{{\"resultType\":\"complete\",{extra}{}}}", &result[1..]).into();
        Self { legacy, modern }
    }
}

/// A message in three parts. Only the id is not known in advance.
pub(crate) struct Message<'a> {
    pub(crate) id: &'a [u8],
    /// The part after the id.
    member: &'static [u8],
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    const HEAD: &'static [u8] = br#"{"jsonrpc":"2.0","id":"#;

    pub(crate) fn len(&self) -> usize {
        Self::HEAD.len() + self.id.len() + self.member.len() + self.rest.len()
    }

    /// Appends the message without its long part, if it has one, and returns that part.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> &'a [u8] {
        const LONG: usize = 64 << 10;
        out.extend_from_slice(Self::HEAD);
        out.extend_from_slice(self.id);
        out.extend_from_slice(self.member);
        if self.rest.len() >= LONG {
            return self.rest;
        }
        out.extend_from_slice(self.rest);
        b""
    }
}

impl Answers {
    /// With `legacy`, the server does not support `server/discover`.
    pub(crate) fn new(list: ToolList, legacy: bool) -> Self {
        let small = Answer::new(&small_result(), "");
        let rare = Vec::new();
        Self { list, legacy, modern: false, small, large: None, tools: None, rare }
    }

    /// The response to `request`, or `None` for a notification.
    pub(crate) fn to<'a>(&'a mut self, request: &Request<'a>) -> Option<Message<'a>> {
        let id = request.id?;
        let answer = match request.method {
            b"tools/call" if request.name == b"large" => {
                self.large.get_or_insert_with(|| Answer::new(&large_result(), ""))
            }
            b"tools/call" => &self.small,
            b"tools/list" => self.tools.get_or_insert_with(|| {
                // Stale immediately, so that a client with a cache requests the list every time.
                Answer::new(&self.list.result(), r#""ttlMs":0,"cacheScope":"private","#)
            }),
            _ => return Some(self.rare(request.method, id)),
        };
        let rest = if self.modern { &answer.modern } else { &answer.legacy };
        Some(Message { id, member: br#","result":"#, rest })
    }

    /// Methods that are called once per connection.
    fn rare<'a>(&'a mut self, method: &[u8], id: &'a [u8]) -> Message<'a> {
        let mut member: &[u8] = br#","result":"#;
        self.rare.clear();
        let written = match method {
            b"initialize" => {
                self.modern = false;
                write!(
                    self.rare,
                    r#"{{"protocolVersion":"2025-11-25",{CAPABILITIES},"serverInfo":{SERVER}}}}}"#
                )
            }
            b"server/discover" if !self.legacy => {
                self.modern = true;
                write!(
                    self.rare,
                    r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],{CAPABILITIES},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}}}}}"#
                )
            }
            b"ping" => self.rare.write_all(b"{}}"),
            _ => {
                member = br#","error":"#;
                self.rare.write_all(br#"{"code":-32601,"message":"method not found"}}"#)
            }
        };
        written.expect("a vector takes everything");
        Message { id, member, rest: &self.rare }
    }
}
