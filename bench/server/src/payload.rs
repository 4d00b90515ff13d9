//! The results of the server: the same bytes in every run, in the form of real servers.

use std::fmt::Write;

/// The size of a tool list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolList {
    /// Number of tools.
    pub tools: usize,
    /// Bytes of JSON each tool takes, within some tens of bytes.
    pub bytes: usize,
}

impl ToolList {
    /// The result of `tools/list` with all tools in one page.
    pub fn result(self) -> String {
        let mut words = Words::default();
        let mut out = String::with_capacity(self.tools * (self.bytes + 64) + 64);
        out.push_str(r#"{"tools":["#);
        for index in 0..self.tools {
            if index > 0 {
                out.push(',');
            }
            tool(&mut out, index, self.bytes, &mut words);
        }
        out.push_str("]}");
        out
    }
}

/// A result of 128 bytes.
pub fn small_result() -> String {
    let head = r#"{"content":[{"type":"text","text":""#;
    let tail = r#""}],"isError":false}"#;
    let text = Words::default().prose(128 - head.len() - tail.len());
    format!("{head}{text}{tail}")
}

/// A result whose one text, once decoded, is 1 MiB: source code and log lines, so an escape every
/// thirty bytes or so and some characters outside ASCII.
pub fn large_result() -> String {
    const TEXT: usize = 1 << 20;
    let mut words = Words::default();
    let mut text = String::with_capacity(TEXT + TEXT / 16);
    let mut decoded = 0;
    let mut number = 0;
    while decoded < TEXT {
        number += 1;
        let before = text.len();
        let words = words.prose(44);
        // Each arm ends with the number of bytes its escapes add to what a decoder yields.
        let escapes = match number % 16 {
            0 => {
                let _ = write!(text, r"\t\t// {words}: „{number}“, {number} µs, see §{number}\n");
                3
            }
            1 | 6 | 11 => {
                let _ = write!(text, r#"    {{ \"path\": \"/srv/{words}\" }},\n"#);
                5
            }
            2 | 5 | 8 | 13 => {
                let _ = write!(text, r#"\tlet {words} = \"{number}\";\n"#);
                4
            }
            _ => {
                let _ = write!(text, r"2026-07-28T12:00:00Z INFO {words} took {number} ms\n");
                1
            }
        };
        decoded += text.len() - before - escapes;
    }
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}"#)
}

/// The same size without a single escape.
pub fn plain_result() -> String {
    let text = Words::default().prose(1 << 20);
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}"#)
}

/// A short text beside 1 MiB of records for programs.
pub fn structured_result() -> String {
    let mut words = Words::default();
    let mut records = String::with_capacity((1 << 20) + 256);
    while records.len() < 1 << 20 {
        let comma = if records.is_empty() { "" } else { "," };
        let (id, name, path) = (records.len(), words.prose(12), words.prose(40));
        let _ = write!(
            records,
            r#"{comma}{{"id":{id},"name":"{name}","path":"/srv/{path}","size":1.5e3,"open":true,"tags":["a","b"],"owner":null}}"#
        );
    }
    format!(
        r#"{{"content":[{{"type":"text","text":"records"}}],"structuredContent":{{"records":[{records}]}},"isError":false}}"#
    )
}

/// The response to `id` with `result`, as a line with its newline.
pub fn line(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

/// One tool: half of its bytes in the description, most of the rest in those of its three
/// parameters. Large tools are large because of their prose; a schema that grew along with it
/// would favour clients that leave schemas unparsed.
fn tool(out: &mut String, index: usize, bytes: usize, words: &mut Words) {
    const PARAMETERS: usize = 3;
    let end = out.len() + bytes;
    let prose = bytes.saturating_sub(560);
    let _ = write!(
        out,
        r#"{{"name":"tool_{index}","title":"Tool {index}","description":"{}","inputSchema":{{"type":"object","properties":{{"#,
        words.paragraphs(prose / 2)
    );
    for parameter in 0..PARAMETERS {
        let comma = if parameter > 0 { "," } else { "" };
        let kind = match parameter % 3 {
            0 => r#""type":"string","minLength":1,"pattern":"^[a-z\\d_]+$""#,
            1 => r#""type":"array","items":{"type":"string","enum":["one","two","three"]}"#,
            _ => r#""type":"number","minimum":0,"default":1.5"#,
        };
        let description = words.paragraphs(prose / 2 / PARAMETERS);
        let _ =
            write!(out, r#"{comma}"field_{parameter}":{{{kind},"description":"{description}"}}"#);
    }
    out.push_str(
        r#"},"required":["field_0"],"additionalProperties":false},"annotations":{"title":""#,
    );
    let tail = r#"","readOnlyHint":true,"openWorldHint":false}}"#;
    // The last title is padded, so that every tool has the same size.
    let missing = end.saturating_sub(out.len() + tail.len()).max(8);
    out.push_str(&words.prose(missing));
    out.push_str(tail);
}

/// An endless, repeatable stream of words.
struct Words(u64);

impl Default for Words {
    fn default() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }
}

impl Words {
    fn next(&mut self) -> &'static str {
        const WORDS: [&str; 32] = [
            "returns",
            "the",
            "list",
            "of",
            "open",
            "issues",
            "in",
            "a",
            "repository",
            "and",
            "their",
            "labels",
            "when",
            "given",
            "path",
            "file",
            "content",
            "is",
            "written",
            "to",
            "query",
            "results",
            "are",
            "sorted",
            "by",
            "date",
            "unless",
            "otherwise",
            "requested",
            "server",
            "limit",
            "each",
        ];
        // xorshift64: no dependency, and the same text on every machine.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        WORDS[(self.0 >> 59) as usize]
    }

    /// Exactly `bytes` of words.
    fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(self.next());
            text.push(' ');
        }
        text.truncate(bytes);
        text
    }

    /// About `bytes` of paragraphs with the line breaks and quotes descriptions have.
    fn paragraphs(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 256);
        while text.len() < bytes {
            let rest = bytes - text.len();
            text.push_str(&self.prose(rest.min(160)));
            if rest > 200 {
                text.push_str(r#".\n- \"state\": "#);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_weigh_what_was_asked_for() {
        for (tools, bytes) in [(20, 1024), (100, 4096), (10, 60 << 10)] {
            let size = ToolList { tools, bytes }.result().len();
            assert!(size.abs_diff(tools * bytes) < tools * 40 + 20, "{size} for {tools} x {bytes}");
        }
    }

    #[test]
    fn the_small_result_is_128_bytes() {
        assert_eq!(small_result().len(), 128);
    }

    #[test]
    fn the_large_result_is_little_more_than_a_mebibyte() {
        let size = large_result().len();
        assert!((1 << 20..(1 << 20) + (1 << 17)).contains(&size), "{size}");
    }
}
