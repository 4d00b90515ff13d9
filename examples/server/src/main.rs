//! A server with three typed tools, a resource and a prompt.
//!
//! `cargo run -p example-server -- stdio` serves it over standard input and output. Without the argument, a client in
//! the same process tries it.

use std::{
    env,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_host::{
    ToolError,
    client::{Client, ClientOptions},
    serve::{ServeOptions, ToolServer, prompt, resource},
    tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: i64,
    /// Not zero.
    divisor: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
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
    /// What to look for.
    topic: String,
    language: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = notes();
    if env::args().nth(1).as_deref() == Some("stdio") {
        return Ok(server.serve_stdio().await?);
    }
    let client = Client::connect(&server.in_process(), ClientOptions::default()).await?;
    let result = client.call_tool("divide", &json!({"dividend": 23, "divisor": 5})).await?;
    let Quotient { quotient, remainder } = result.structured()?;
    println!("23 / 5 = {quotient}, remainder {remainder}");
    let refused = client.call_tool("divide", &json!({"dividend": 1, "divisor": 0})).await?;
    println!("1 / 0: {}", refused.text());
    client.call_tool("add_note", &json!({"text": "milk"})).await?;
    println!("{} note", client.call_tool("count_notes", &json!({})).await?.text());
    let read = client.read_resource("memo://notes").await?;
    println!("memo://notes: {}", read.contents[0].text.as_deref().unwrap_or_default());
    client.close().await;
    assert!(refused.is_error && (quotient, remainder) == (4, 3));
    Ok(())
}

fn notes() -> ToolServer {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let server = ToolServer::new(ServeOptions::new("notes", "1.0.0"));
    server.add_tool(tool("divide", "Divides two integers").read_only().run(
        |args: Division, _ctx| async move {
            let (quotient, remainder) =
                (args.dividend.checked_div(args.divisor), args.dividend.checked_rem(args.divisor));
            match (quotient, remainder) {
                (Some(quotient), Some(remainder)) => Ok(Quotient { quotient, remainder }),
                _ => Err(ToolError::new("the divisor must not be zero")),
            }
        },
    ));
    let kept = notes.clone();
    server.add_tool(tool("add_note", "Keeps a note").destructive(false).run(
        move |note: Note, _ctx| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(note.text);
            async { Ok("kept") }
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
    server
}
