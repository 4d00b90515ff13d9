//! Images of results, shown inline where the terminal can.

use std::io::{self, IsTerminal as _};

use clap::{Arg, ArgMatches};
use mcp_bridge::tool::Content;
use mcp_client::types::ResourceContents;

use super::{content, flag};
use crate::{host::app::App, terminal::image::Graphics};

/// The flag that switches it off.
pub(super) fn flag_off() -> Arg {
    flag(
        "no-images",
        "Do not show images inline, on a terminal that can (kitty, Ghostty, iTerm2, WezTerm)",
    )
}

/// Shows the images among the parts of a result.
pub(super) fn of_result(app: &App, matches: &ArgMatches, parts: &[Content]) -> io::Result<()> {
    show(app, matches, parts.iter().filter_map(content::bytes))
}

/// Shows the images among the parts of a resource.
pub(super) fn of_resource(
    app: &App,
    matches: &ArgMatches,
    parts: &[ResourceContents],
) -> io::Result<()> {
    let blobs = parts.iter().filter_map(|part| part.blob.as_deref());
    show(app, matches, blobs.filter_map(content::decode))
}

fn show(app: &App, matches: &ArgMatches, images: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
    if app.out.json || matches.get_flag("no-images") || !io::stdout().is_terminal() {
        return Ok(());
    }
    let Some(graphics) = Graphics::detect(|name| std::env::var(name).ok()) else { return Ok(()) };
    for image in images {
        if let Some(text) = graphics.escape(&image) {
            app.out.bytes(text.as_bytes())?;
            app.out.line("")?;
        }
    }
    app.out.flush()
}
