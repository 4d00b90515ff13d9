//! A stdio server with scripted faults.
//!
//! Arguments select its behaviour during the handshake (`legacy`, `silent`, `dies-of-probe`, …); the name of the called
//! tool selects the behaviour of the call. It parses just enough JSON to find an id.

use std::{
    collections::HashMap,
    env,
    io::{self, BufRead as _, Write},
    process,
};

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"scripted","version":"1"}}"#;

fn main() -> io::Result<()> {
    let traits: Vec<String> = env::args().skip(1).collect();
    let is = |name: &str| traits.iter().any(|known| known == name);
    let mut server = Server { out: io::stdout().lock(), seen: HashMap::new() };
    if is("banner") {
        server.noise()?;
    }
    if is("deaf") {
        // Does not read, and runs until it is killed.
        loop {
            std::thread::park();
        }
    }
    for line in io::stdin().lock().lines() {
        let line = line?;
        server.note(&line);
        let (id, method) = (member(&line, "id"), member(&line, "method"));
        match method.trim_matches('"') {
            _ if is("silent") => {}
            "server/discover" if is("dies-of-probe") => {
                eprintln!("fatal: unknown method server/discover");
                process::exit(3);
            }
            "server/discover" if is("silent-probe") => {}
            "server/discover" if is("legacy") => server.refuse(id, -32601)?,
            "server/discover" => server.answer(id, DISCOVERED)?,
            "initialize" if is("dies-of-initialize") => process::exit(4),
            "initialize" if is("late-probe") => {
                server.answer("1", DISCOVERED)?;
                server.answer(id, INITIALIZED)?;
            }
            "initialize" => server.answer(id, INITIALIZED)?,
            "tools/call" => server.call(id, &line)?,
            "ping" => server.answer(id, "{}")?,
            "tools/list" if is("gigabyte") => {
                server.answer(id, r#"{"tools":[{"name":"echo"},{"name":"gigabyte"}]}"#)?;
            }
            "tools/list" => server.answer(id, r#"{"tools":[{"name":"echo"}]}"#)?,
            _ => {}
        }
    }
    Ok(())
}

struct Server<'a> {
    out: io::StdoutLock<'a>,
    /// How often each method arrived; responses count as `answer`.
    seen: HashMap<String, usize>,
}

impl Server<'_> {
    fn call(&mut self, id: &str, line: &str) -> io::Result<()> {
        // Skip the name of the client, which every modern request contains.
        let at = line.rfind("\"name\":").unwrap_or(0);
        let tool = member(&line[at..], "name").trim_matches('"');
        match tool {
            "echo" => self.text(id, "hello"),
            // The number of messages of a method so far: `seen notifications/cancelled`.
            _ if tool.starts_with("seen ") => {
                let count = self.seen.get(&tool[5..]).copied().unwrap_or(0);
                self.text(id, &count.to_string())
            }
            "noise" => {
                self.noise()?;
                self.text("999999", "nobody asked")?;
                self.text("\"1\"", "not a number")?;
                self.text(id, "right")?;
                self.text(id, "twice")
            }
            "batch" => {
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
                writeln!(self.out, r#"[{{"jsonrpc":"2.0","method":"n/1"}},7,{answer}]"#)?;
                self.out.flush()
            }
            "wrong shape" => self.answer(id, r#"{"content":[{"type":"text","text":null}]}"#),
            "large" => self.long(id, 4096, 64),
            "gigabyte" => self.long(id, 1 << 20, 1 << 10),
            "never" => Ok(()),
            "die" => {
                eprintln!("fatal: the disk is full");
                process::exit(7)
            }
            "flood" => {
                for number in 0..50_000 {
                    writeln!(
                        self.out,
                        r#"{{"jsonrpc":"2.0","method":"n/flood","params":{{"n":{number}}}}}"#
                    )?;
                }
                self.text(id, "flooded")
            }
            // Sends requests without reading responses.
            "pings" => {
                for number in 0..50_000 {
                    writeln!(self.out, r#"{{"jsonrpc":"2.0","id":"p-{number}","method":"ping"}}"#)?;
                }
                self.text(id, "asked")
            }
            _ => self.refuse(id, -32602),
        }
    }

    /// Sends a text of this many pieces.
    fn long(&mut self, id: &str, piece: usize, pieces: usize) -> io::Result<()> {
        let head = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":""#;
        self.out.write_all(head.replace("ID", id).as_bytes())?;
        let piece = vec![b'x'; piece];
        for _ in 0..pieces {
            self.out.write_all(&piece)?;
        }
        writeln!(self.out, r#""}}]}}}}"#)?;
        self.out.flush()
    }

    fn note(&mut self, line: &str) {
        let method = member(line, "method").trim_matches('"');
        let kind = if method.is_empty() { "answer" } else { method };
        *self.seen.entry(kind.to_owned()).or_default() += 1;
    }

    /// Five lines that are not messages.
    fn noise(&mut self) -> io::Result<()> {
        self.out.write_all(b"Server v1.0 is listening\n\n{\"half\":\n\xff\xfe\x80\n[]\n")?;
        self.out.write_all(b"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}\n")?;
        self.out.flush()
    }

    fn text(&mut self, id: &str, text: &str) -> io::Result<()> {
        self.answer(id, &format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
    }

    fn answer(&mut self, id: &str, result: &str) -> io::Result<()> {
        writeln!(self.out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        self.out.flush()
    }

    fn refuse(&mut self, id: &str, code: i32) -> io::Result<()> {
        writeln!(
            self.out,
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#
        )?;
        self.out.flush()
    }
}

/// The text of the first member `name` whose value is a number or a plain string.
fn member<'a>(line: &'a str, name: &str) -> &'a str {
    let Some((_, rest)) = line.split_once(&format!("\"{name}\":")) else { return "" };
    let end = match rest.strip_prefix('"') {
        Some(text) => text.find('"').map(|at| at + 2),
        None => rest.find([',', '}']),
    };
    end.and_then(|end| rest.get(..end)).unwrap_or_default()
}
