//! An MCP server that is never the bottleneck: blocking reads and writes, answers rendered before
//! they are asked for, and of a request only id, method and tool name read.
//!
//! ```text
//! bench-server [--tools N] [--tool-bytes N] [--legacy]
//! ```
//!
//! It speaks both eras; with `--legacy` it does not know `server/discover`.

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
    process::ExitCode,
};

use bench_server::{Request, ToolList, large_result, small_result};

const SERVER: &str = r#"{"name":"bench-server","version":"1.0.0"}"#;

fn main() -> ExitCode {
    let mut list = ToolList { tools: 20, bytes: 1024 };
    let mut legacy = false;
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        match arg.as_str() {
            "--tools" => list.tools = number(),
            "--tool-bytes" => list.bytes = number(),
            "--legacy" => legacy = true,
            _ => {
                eprintln!("bench-server: unknown argument {arg}");
                return ExitCode::FAILURE;
            }
        }
    }
    match Server::new(list, legacy).serve() {
        Ok(()) => ExitCode::SUCCESS,
        // The client went away while we were writing: its way of hanging up.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Server {
    list: ToolList,
    legacy: bool,
    /// Whether this client speaks 2026-07-28, whose results say what kind they are.
    modern: bool,
    small: Answer,
    // The big ones are rendered when first asked for: a cold start must not pay for them.
    large: Option<Answer>,
    tools: Option<Answer>,
    /// Answers not yet written.
    out: Vec<u8>,
}

/// A result in the two spellings, each up to the end of its line.
struct Answer {
    legacy: Vec<u8>,
    modern: Vec<u8>,
}

impl Answer {
    /// `extra` are the members, each with a comma behind it, that only the modern result has.
    fn new(result: &str, extra: &str) -> Self {
        let legacy = format!("{result}}}\n").into_bytes();
        let modern = format!("{{\"resultType\":\"complete\",{extra}{}}}\n", &result[1..]).into();
        Self { legacy, modern }
    }
}

impl Server {
    fn new(list: ToolList, legacy: bool) -> Self {
        Self {
            list,
            legacy,
            modern: false,
            small: Answer::new(&small_result(), ""),
            large: None,
            tools: None,
            out: Vec::with_capacity(256 << 10),
        }
    }

    /// Answers until the client closes our stdin. Whatever came in one read goes out in one write.
    fn serve(&mut self) -> io::Result<()> {
        // Plain files: std's stdout would look for line ends and flush at each.
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let mut buffer = vec![0; 256 << 10];
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                buffer.resize(2 * filled, 0);
            }
            let read = stdin.read(&mut buffer[filled..])?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
            let mut start = 0;
            while let Some(length) = buffer[start..filled].iter().position(|&byte| byte == b'\n') {
                self.answer(&buffer[start..start + length], &mut stdout)?;
                start += length + 1;
            }
            buffer.copy_within(start..filled, 0);
            filled -= start;
            self.flush(&mut stdout)?;
        }
    }

    fn answer(&mut self, line: &[u8], stdout: &mut File) -> io::Result<()> {
        let request = Request::read(line);
        let Some(id) = request.id else { return Ok(()) };
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        self.out.extend_from_slice(id);
        self.out.extend_from_slice(br#","result":"#);
        let answer = match request.method {
            b"tools/call" if request.name == b"large" => {
                self.large.get_or_insert_with(|| Answer::new(&large_result(), ""))
            }
            b"tools/call" => &self.small,
            b"tools/list" => self.tools.get_or_insert_with(|| {
                // Stale at once: a client that keeps lists must ask again each time.
                Answer::new(&self.list.result(), r#""ttlMs":0,"cacheScope":"private","#)
            }),
            _ => return self.answer_rarely(request.method, id),
        };
        let answer = if self.modern { &answer.modern } else { &answer.legacy };
        if answer.len() < 64 << 10 {
            self.out.extend_from_slice(answer);
            return Ok(());
        }
        // Straight from where it lies, after all that was answered before it.
        stdout.write_all(&self.out)?;
        self.out.clear();
        stdout.write_all(answer)
    }

    /// The methods of which there is one in a connection.
    fn answer_rarely(&mut self, method: &[u8], id: &[u8]) -> io::Result<()> {
        let capabilities = r#""capabilities":{"tools":{}}"#;
        match method {
            b"initialize" => {
                self.modern = false;
                writeln!(
                    self.out,
                    r#"{{"protocolVersion":"2025-11-25",{capabilities},"serverInfo":{SERVER}}}}}"#
                )
            }
            b"server/discover" if !self.legacy => {
                self.modern = true;
                writeln!(
                    self.out,
                    r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],{capabilities},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}}}}}"#
                )
            }
            b"ping" => self.out.write_all(b"{}}\n"),
            _ => {
                // Take back the beginning of a result.
                let head = br#"{"jsonrpc":"2.0","id":"#.len() + id.len() + br#","result":"#.len();
                self.out.truncate(self.out.len() - head);
                self.out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
                self.out.extend_from_slice(id);
                self.out
                    .write_all(b",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}\n")
            }
        }
    }

    fn flush(&mut self, stdout: &mut File) -> io::Result<()> {
        stdout.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}
