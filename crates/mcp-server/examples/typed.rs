//! A server with three tools, a resource and a prompt. Their schemas come from types.
//!
//! `cargo run -p mcp-server --example typed --features schemars` serves it over standard input and output.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_server::{ServeOptions, ToolServer, prompt, resource};
use mcp_tool::{ToolError, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: i64,
    /// Must not be zero.
    divisor: i64,
}

#[derive(Serialize, JsonSchema)]
struct Quotient {
    quotient: i64,
    remainder: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The aspect to look at.
    topic: String,
    language: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let server = ToolServer::new(ServeOptions::new("typed", "1.0.0"));

    server.add_tool(tool("divide", "Divides two integers").read_only().run(
        |args: Division, _ctx| async move {
            if args.divisor == 0 {
                return Err(ToolError::new("the divisor must not be zero"));
            }
            Ok(Quotient {
                quotient: args.dividend / args.divisor,
                remainder: args.dividend % args.divisor,
            })
        },
    ));

    let kept = notes.clone();
    server.add_tool(tool("add_note", "Keeps a note").destructive(false).run(
        move |note: Note, _ctx| {
            let kept = kept.clone();
            async move {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(note.text);
                Ok("kept")
            }
        },
    ));

    let kept = notes.clone();
    server.add_tool(tool("count_notes", "Counts the notes").read_only().run(move |(), _ctx| {
        let count = kept.lock().unwrap_or_else(PoisonError::into_inner).len();
        async move { Ok(count) }
    }));

    server.add_resource(resource("memo://notes", "notes").mime_type("text/plain").read(
        move || {
            let text = notes.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
            async move { Ok(text) }
        },
    ));

    server.add_prompt(prompt("review", "Reviews code").arguments::<Review>().run(
        |args, _call| async move {
            let language = args.language.unwrap_or_else(|| "Rust".to_owned());
            Ok(format!("Review this {language} code for {}.", args.topic))
        },
    ));

    server.serve_stdio().await
}
