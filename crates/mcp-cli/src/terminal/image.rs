//! Images on terminals that can show them: the graphics protocol of kitty, and that of iTerm2.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The largest image that is sent to a terminal, in bytes.
pub(crate) const LARGEST: usize = 8 << 20;
/// The most Base64 text that one escape sequence of kitty's protocol may hold.
const CHUNK: usize = 4096;

/// A way to show images inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graphics {
    /// kitty and Ghostty. Shows PNG only.
    Kitty,
    /// iTerm2 and `WezTerm`. Shows PNG, JPEG and GIF.
    Iterm,
}

impl Graphics {
    /// The protocol of the terminal that these variables describe. `None` if it is not known to have one.
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is = |name: &str, value: &str| variable(name).is_some_and(|found| found == value);
        let has = |name: &str| variable(name).is_some_and(|found| !found.is_empty());
        let term = variable("TERM").unwrap_or_default();
        // A multiplexer swallows the sequences, and passes the variables of its own terminal on.
        if has("TMUX") || has("STY") || term.starts_with("screen") || term.starts_with("tmux") {
            return None;
        }
        if is("TERM_PROGRAM", "iTerm.app") || is("TERM_PROGRAM", "WezTerm") {
            return Some(Self::Iterm);
        }
        let is_kitty = ["xterm-kitty", "xterm-ghostty"].contains(&term.as_str())
            || is("TERM_PROGRAM", "ghostty")
            || has("KITTY_WINDOW_ID");
        is_kitty.then_some(Self::Kitty)
    }

    /// The text that makes the terminal show an image. `None` if it cannot show these bytes, or they are too many.
    ///
    /// The bytes come from a server. They are in the text as Base64 only, so they cannot end the sequence.
    pub(crate) fn escape(self, image: &[u8]) -> Option<String> {
        let format = Format::of(image).filter(|_| image.len() <= LARGEST)?;
        match self {
            Self::Kitty if format == Format::Png => Some(kitty(&STANDARD.encode(image))),
            Self::Kitty => None,
            Self::Iterm => Some(iterm(&STANDARD.encode(image), image.len())),
        }
    }
}

/// Formats that terminals decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Png,
    Jpeg,
    Gif,
}

impl Format {
    /// By the first bytes: a server's media type is only a claim.
    fn of(image: &[u8]) -> Option<Self> {
        let starts: [(&[u8], Self); 4] = [
            (b"\x89PNG\r\n\x1a\n", Self::Png),
            (b"\xff\xd8\xff", Self::Jpeg),
            (b"GIF87a", Self::Gif),
            (b"GIF89a", Self::Gif),
        ];
        starts.iter().find(|(start, _)| image.starts_with(start)).map(|(_, format)| *format)
    }
}

/// <https://sw.kovidgoyal.net/kitty/graphics-protocol/>: transmit and display a PNG. With `q=2` the terminal does not
/// answer, which would look like input of the user.
fn kitty(base64: &str) -> String {
    let mut text = String::with_capacity(base64.len() + base64.len() / CHUNK * 16 + 64);
    let mut rest = base64;
    let mut keys = "a=T,f=100,q=2,";
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!after.is_empty());
        let _ = write!(text, "\x1b_G{keys}m={more};{chunk}\x1b\\");
        (rest, keys) = (after, "q=2,");
    }
    text
}

/// <https://iterm2.com/documentation-images.html>: a file that is displayed, and not saved.
fn iterm(base64: &str, size: usize) -> String {
    format!("\x1b]1337;File=inline=1;size={size};preserveAspectRatio=1:{base64}\x07")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";

    fn detected(variables: &[(&str, &str)]) -> Option<Graphics> {
        Graphics::detect(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn terminals_are_detected_by_their_variables() {
        for (variables, graphics) in [
            (&[("TERM", "xterm-kitty")][..], Some(Graphics::Kitty)),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(Graphics::Kitty)),
            (&[("TERM", "xterm-ghostty")], Some(Graphics::Kitty)),
            (&[("TERM_PROGRAM", "ghostty")], Some(Graphics::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(Graphics::Iterm)),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Some(Graphics::Iterm)),
            (&[("TERM", "xterm-256color")], None),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux-1/default,1,0")], None),
            (&[("TERM", "screen.xterm-kitty"), ("KITTY_WINDOW_ID", "1")], None),
            (&[("TERM", "tmux-256color"), ("TERM_PROGRAM", "iTerm.app")], None),
            (&[], None),
        ] {
            assert_eq!(detected(variables), graphics, "{variables:?}");
        }
    }

    #[test]
    fn kitty_gets_a_png_in_chunks() {
        let image = [PNG, &[0x1b; 6_000]].concat();
        let text = Graphics::Kitty.escape(&image).unwrap();
        let sequences: Vec<&str> = text.split_terminator("\x1b\\").collect();
        assert_eq!(sequences.len(), 2);
        let first = sequences[0].strip_prefix("\x1b_Ga=T,f=100,q=2,m=1;").unwrap();
        let last = sequences[1].strip_prefix("\x1b_Gq=2,m=0;").unwrap();
        assert_eq!(first.len(), CHUNK);
        assert_eq!(STANDARD.decode(first.to_owned() + last).unwrap(), image);
        assert_eq!(Graphics::Kitty.escape(b"\xff\xd8\xff"), None, "kitty does not decode JPEG");
    }

    #[test]
    fn iterm_gets_a_file_inline() {
        let text = Graphics::Iterm.escape(b"GIF89a").unwrap();
        let wanted = "\x1b]1337;File=inline=1;size=6;preserveAspectRatio=1:R0lGODlh\x07";
        assert_eq!(text, wanted);
    }

    #[test]
    fn bytes_of_a_server_cannot_end_the_sequence() {
        let image = [PNG, b"\x1b\\\x07\x1b]0;title\x07"].concat();
        for graphics in [Graphics::Kitty, Graphics::Iterm] {
            let text = graphics.escape(&image).unwrap();
            assert_eq!(
                text.matches('\x1b').count(),
                if graphics == Graphics::Kitty { 2 } else { 1 }
            );
            assert!(!text.contains("title"));
        }
    }

    #[test]
    fn other_bytes_and_large_images_are_not_shown() {
        let large = [PNG, &vec![0; LARGEST]].concat();
        for image in [&large[..], b"<svg/>", b""] {
            assert_eq!(Graphics::Iterm.escape(image), None);
        }
    }
}
