//! A minimal host: offers every server of a configuration file as tools, with the user's logins.
//!
//! ```text
//! cargo run -p mcp-bridge --example host -- .mcp.json
//! cargo run -p mcp-bridge --example host -- .mcp.json mcp__time__get_current_time '{"timezone":"UTC"}'
//! ```

#![expect(clippy::print_stdout, reason = "a command prints")]

use std::{env, error::Error, fs, sync::Arc};

use mcp_bridge::{AskTerminal, Bridge, BridgeOptions, CallContext, Logins, LoginsOptions, RawJson};
use mcp_config::{ReadOptions, read};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("usage: host CONFIG_FILE [TOOL [ARGUMENTS]]")?;
    let logins = Logins::new(LoginsOptions::in_folder(env::temp_dir().join("mcp-host")));
    let mut options = BridgeOptions::with_logins(&logins);
    options.approver = Arc::new(AskTerminal::new());
    let bridge = Bridge::new(options);
    for entry in read(&fs::read(&file)?, &ReadOptions::new(&file)).entries {
        let mut config = entry.config.clone();
        config.trust = false; // a file cannot declare its own servers trusted
        bridge.add_server_as_written(config);
    }
    bridge.start().await;
    bridge.explain_all().iter().for_each(|why| eprintln!("{why}"));
    let Some(tool) = arguments.next() else {
        bridge.snapshot().tools().iter().for_each(|tool| println!("{}", tool.spec().name));
        return Ok(());
    };
    let text = arguments.next().unwrap_or_else(|| "{}".into());
    println!("{}", bridge.call(&tool, RawJson::parse(text)?, CallContext::default()).await);
    bridge.shutdown().await;
    Ok(())
}
