//! A server that reads its input and never answers.

use std::fs;

use crate::support::Machine;

#[test]
fn second_run_does_not_wait_for_a_silent_server() {
    let machine = Machine::with_demo();
    let starts = machine.project().join("starts");
    let script = format!("echo start >> {}; exec cat > /dev/null", starts.display());
    machine.run(["add", "-s", "user", "silent", "--", "sh", "-c", &script]);
    assert_eq!(machine.run(["tools", "demo"]).code, 0, "the other server is known");
    for command in [&["search", "weekday"][..], &["list"], &["tools"], &["stats"], &["prompts"]] {
        machine.run(["disconnect", "silent"]);
        machine.run([command, &["--timeout", "1"]].concat());
        let before = fs::read_to_string(&starts).unwrap();
        let again = machine.run(command);
        assert_eq!(again.code, 0, "{command:?}: {}", again.stderr);
        assert!(
            again.stderr.contains("a few minutes ago: silent"),
            "{command:?}: {}",
            again.stderr
        );
        let after = fs::read_to_string(&starts).unwrap();
        assert_eq!(after, before, "{command:?} started it again");
    }
}
