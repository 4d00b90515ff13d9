//! The part of HTTP/1.1 that the clients use. The path selects the form of the response to a POST.

use std::io::Write;

use bench_server::Request;
use tungstenite::handshake::derive_accept_key;

use crate::{
    answers::Answers,
    connection::{Out, Step},
};

/// Takes the first request in `input`.
pub(crate) fn step(input: &[u8], answers: &mut Answers, out: &mut Out) -> Step {
    let Some(end) = find(input, b"\r\n\r\n") else { return Step::Wait };
    let head = &input[..end + 2];
    let (method, path) = request_line(head);
    let length = header(head, b"content-length").map_or(0, number);
    let taken = end + 4 + length;
    if input.len() < taken {
        return Step::Wait;
    }
    match method {
        b"POST" => post(path, &input[end + 4..taken], answers, out),
        b"GET" => match header(head, b"sec-websocket-key") {
            Some(key) => {
                upgrade(key, out);
                return Step::Upgraded(taken);
            }
            // The stream for messages without a request stays silent.
            None if path == b"/sse" => out.add(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                  cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
            None => out.add(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"),
        },
        _ => out.add(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    }
    Step::Taken(taken)
}

fn post(path: &[u8], body: &[u8], answers: &mut Answers, out: &mut Out) {
    let request = Request::read(body);
    let opens = request.method == b"initialize";
    let Some(message) = answers.to(&request) else {
        return out.add(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
    };
    out.add(b"HTTP/1.1 200 OK\r\n");
    if opens {
        // The same session for all clients: nothing depends on it.
        out.add(b"mcp-session-id: 3f8a41d2-7c55-4e0b-9d6a-bench\r\n");
    }
    if path == b"/sse" {
        let (before, after) = (&b"event: message\ndata: "[..], &b"\n\n"[..]);
        let length = before.len() + message.len() + after.len();
        out.add(
            b"content-type: text/event-stream\r\ncache-control: no-cache\r\n\
              transfer-encoding: chunked\r\n\r\n",
        );
        let _ = write!(out.buffer(), "{length:x}\r\n");
        out.add(before);
        out.message(&message);
        out.add(after);
        out.add(b"\r\n");
        // Real servers do not know yet that the stream ends here, so the end is a separate write.
        out.cut();
        out.add(b"0\r\n\r\n");
    } else {
        let length = message.len();
        let _ = write!(
            out.buffer(),
            "content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        out.message(&message);
    }
}

fn upgrade(key: &[u8], out: &mut Out) {
    let _ = write!(
        out.buffer(),
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-protocol: mcp\r\nsec-websocket-accept: {}\r\n\r\n",
        derive_accept_key(key)
    );
}

/// Method and path of a request.
fn request_line(head: &[u8]) -> (&[u8], &[u8]) {
    let mut words = head.split(|&byte| byte == b' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The value of a header. The case of names is ignored.
fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|&byte| byte == b'\n').find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":").filter(|_| key.eq_ignore_ascii_case(name))?;
        Some(value.trim_ascii())
    })
}

fn number(digits: &[u8]) -> usize {
    digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_apart() {
        let head = b"POST /sse HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n";
        assert_eq!(request_line(head), (&b"POST"[..], &b"/sse"[..]));
        assert_eq!(header(head, b"content-length").map(number), Some(12));
        assert_eq!(header(head, b"content"), None);
        assert_eq!(find(head, b"\r\n\r\n"), None);
    }
}
