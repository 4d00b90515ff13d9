//! Images of results at a terminal that can show them.

use serde_json::json;

use crate::{scripted::Scripted, support::Machine, terminal::Session};

/// The first bytes of a PNG file.
const PNG: &str = "iVBORw0KGgo=";
const KITTY: &str = "\u{1b}_Ga=T,f=100,q=2,m=0;iVBORw0KGgo=\u{1b}\\";
const ITERM: &str = "\u{1b}]1337;File=inline=1;size=8;preserveAspectRatio=1:iVBORw0KGgo=\u{7}";

const CALL: &[&str] = &["call", "pics/draw", "-y"];
const READ: &[&str] = &["read", "pics", "pics://logo"];

fn machine_with_images() -> Machine {
    let machine = Machine::new();
    let tool = json!({"name": "draw", "inputSchema": {"type": "object"}});
    let server = Scripted::add(&machine, "pics", &["--trust"]).tools(&json!([tool]));
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    server.result("tools/call", &json!({"content": [image]}));
    let resource = json!({"uri": "pics://logo", "name": "logo"});
    server.result("resources/list", &json!({"resources": [resource]}));
    let contents = json!({"uri": "pics://logo", "blob": PNG, "mimeType": "image/png"});
    server.result("resources/read", &json!({"contents": [contents]}));
    machine
}

#[test]
fn images_are_shown_by_terminals_that_can() {
    let machine = machine_with_images();
    for command in [CALL, READ] {
        for (variable, sequence) in
            [(("TERM", "xterm-kitty"), KITTY), (("TERM_PROGRAM", "iTerm.app"), ITERM)]
        {
            let mut session = Session::start(&machine, command, &[variable]);
            session.expect("image/png, 8 bytes");
            session.expect(sequence);
            assert_eq!(session.end().0, 0);
        }
    }
}

#[test]
fn images_are_not_shown_elsewhere() {
    let machine = machine_with_images();
    let kitty = ("TERM", "xterm-kitty");
    for command in [CALL, READ] {
        for (flag, variable) in
            [("--no-images", kitty), ("--json", kitty), ("-q", ("TERM", "xterm"))]
        {
            let session = Session::start(&machine, &[command, &[flag]].concat(), &[variable]);
            let (code, screen) = session.end();
            assert_eq!(code, 0, "{screen}");
            assert!(screen.contains("image/png") && !screen.contains("\u{1b}_G"), "{screen:?}");
        }
        let mut piped = machine.command(command);
        let output = piped.env(kitty.0, kitty.1).output().unwrap();
        assert_eq!(output.stdout, b"\x89PNG\r\n\x1a\n", "a pipe gets the bytes");
    }
}
