//! Real programs under the launcher, on this kernel.
#![cfg(target_os = "linux")]
#![cfg_attr(
    target_os = "linux",
    expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")
)]

mod machine;

use std::{fs, path::Path, time::Instant};

use mcp_sandbox::{Level, Measure, Profile};

use crate::machine::Machine;

#[test]
fn server_gets_its_arguments_streams_and_exit_code() {
    let machine = Machine::new();
    let run = machine.shell(
        Level::Standard,
        r#"read line; echo "got $line"; echo problem >&2; exit 7"#,
        "hello\n",
    );
    assert_eq!((run.stdout.as_str(), run.code), ("got hello\n", Some(7)), "{run:?}");
    assert!(run.stderr.contains("problem"), "{run:?}");
}

#[test]
fn everything_is_applied_on_a_current_kernel() {
    assert!(mcp_sandbox::is_supported());
    let machine = Machine::new();
    let run = machine.shell(Level::Strict, "true", "");
    let report = run.report.expect("a report");
    assert_eq!(report.missing, [], "{report:?}");
    for measure in [
        Measure::Files,
        Measure::Scopes,
        Measure::Privileges,
        Measure::SystemCalls,
        Measure::Processes,
        Measure::Mounts,
        Measure::Ipc,
        Measure::Network,
        Measure::Limits,
        Measure::Session,
    ] {
        assert!(report.applied.contains(&measure), "{measure}");
    }
}

#[test]
fn home_is_private_and_kept_between_starts() {
    let machine = Machine::new();
    let run = machine.shell(Level::Standard, "cat ~/.ssh/id; ls -A ~; echo kept > ~/note", "");
    assert!(!run.stdout.contains("canary"), "{run:?}");
    assert!(!machine.home.join("note").exists());
    let run = machine.shell(Level::Standard, "cat ~/note", "");
    assert_eq!(run.stdout, "kept\n", "{run:?}");
}

#[test]
fn project_is_written_under_standard_except_for_files_that_others_execute() {
    let machine = Machine::new();
    let script = "echo new > $P/new; echo bad > $P/.git/hooks/pre-commit; echo bad > $P/.mcp.json; \
                  mv $P/.git $P/.git2; rm -rf $P/.git/hooks; echo ok > $P/.git/index";
    let run = machine.shell(Level::Standard, script, "");
    assert_eq!(fs::read_to_string(machine.project.join("new")).unwrap(), "new\n", "{run:?}");
    assert_eq!(fs::read_to_string(machine.project.join(".git/index")).unwrap(), "ok\n", "{run:?}");
    assert_eq!(fs::read_to_string(machine.project.join(".mcp.json")).unwrap(), "{}");
    assert!(!machine.project.join(".git/hooks/pre-commit").exists());
    assert!(machine.project.join(".git/hooks").exists(), "{run:?}");
    assert!(!machine.project.join(".git2").exists());
}

#[test]
fn project_is_read_only_under_strict() {
    let machine = Machine::new();
    let run = machine.shell(
        Level::Strict,
        "cat $P/readme; echo new > $P/new; echo more >> $P/readme",
        "",
    );
    assert_eq!(run.stdout, "project\n", "{run:?}");
    assert!(!machine.project.join("new").exists());
    assert_eq!(fs::read_to_string(machine.project.join("readme")).unwrap(), "project\n");
}

#[test]
fn profile_grants_and_hides() {
    let machine = Machine::new();
    let mut profile = Profile::new(Level::Strict);
    profile.read = vec!["~".into()];
    profile.write = vec![machine.outside.to_str().unwrap().into()];
    let script = "cat ~/plain ~/.ssh/id; ls ~/.ssh; echo w > $O/written; echo w > ~/plain";
    let run = machine.run(&profile, script, "");
    assert_eq!(run.stdout, "plain\n", "{run:?}");
    assert_eq!(fs::read_to_string(machine.outside.join("written")).unwrap(), "w\n");
    assert_eq!(fs::read_to_string(machine.home.join("plain")).unwrap(), "plain\n");
}

#[test]
fn caches_are_shared_for_reading_and_private_for_writing() {
    let machine = Machine::new();
    let run = machine.shell(
        Level::Standard,
        "cat ~/.npm/shared; echo poison > ~/.npm/shared; echo mine > ~/.npm/own",
        "",
    );
    assert_eq!(run.stdout, "shared\n", "{run:?}");
    assert_eq!(fs::read_to_string(machine.home.join(".npm/shared")).unwrap(), "shared\n");
    assert!(!machine.home.join(".npm/own").exists());
    let run = machine.shell(Level::Standard, "cat ~/.npm/own ~/.npm/shared", "");
    assert_eq!(run.stdout, "mine\npoison\n", "{run:?}");
}

#[test]
fn other_processes_are_invisible_and_none_outlives_the_server() {
    let machine = Machine::new();
    let script = "ls -d /proc/[0-9]* | wc -l; (setsid sh -c 'while :; do echo alive > /tmp/x; sleep 1; done' &) ; echo $$";
    let started = Instant::now();
    let run = machine.shell(Level::Standard, script, "");
    let processes: usize = run.stdout.lines().next().unwrap().parse().unwrap();
    // The launcher, the shell, `ls` and `wc`.
    assert!(processes <= 5, "{run:?}");
    // The orphan holds standard output: the run would wait for it.
    assert!(run.code == Some(0) && started.elapsed().as_secs() < 60, "{run:?}");
}

#[test]
fn killing_the_launcher_ends_the_server() {
    let machine = Machine::new();
    let mut child = machine.spawn(&Profile::new(Level::Standard), "echo ready; sleep 1000");
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // The end of the stream: no process holds it any more.
    line.clear();
    assert_eq!(std::io::BufRead::read_line(&mut output, &mut line).unwrap(), 0);
}

#[test]
fn required_profile_refuses_to_start_on_a_system_without_namespaces() {
    let machine = Machine::new();
    let mut profile = Profile::new(Level::Standard);
    let script = "echo started; cat ~/.ssh/id; cat $H/.ssh/id $H/plain; cat $P/readme";
    let run = machine.run_without_namespaces(&profile, script);
    let report = run.report.as_ref().expect("a report");
    let missing: Vec<Measure> = report.missing.iter().map(|missing| missing.measure).collect();
    assert_eq!(missing, [Measure::Processes, Measure::Ipc, Measure::Mounts], "{run:?}");
    // Landlock alone keeps the secrets.
    assert_eq!(run.stdout, "started\nproject\n", "{run:?}");
    profile.required = true;
    let run = machine.run_without_namespaces(&profile, script);
    assert_eq!((run.stdout.as_str(), run.code), ("", Some(125)), "{run:?}");
    assert!(run.stderr.contains("this system lacks processes"), "{run:?}");
    assert_eq!(run.report, None);
}

#[test]
fn report_is_out_of_reach_for_the_server() {
    let machine = Machine::new();
    let mut profile = Profile::new(Level::Standard);
    profile.read = vec!["~".into()];
    let script =
        format!("ls -A {0}; echo forged > {0}/reports/x; rm -rf {0}", machine.state.display());
    let run = machine.run(&profile, &script, "");
    assert!(!run.stdout.contains("reports"), "{run:?}");
    assert!(run.report.is_some());
    let names = fs::read_dir(machine.state.join("reports")).unwrap().count();
    assert_eq!(names, 1);
}

/// The filter's own tests cover every refused call and argument. Here the kernel decides, about those that fail in
/// another way without the filter: `EFAULT`, `EBADF`, or not at all.
#[test]
fn refused_system_calls_fail_in_a_server() {
    let calls = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_quotactl_fd,
    ];
    let numbers: Vec<String> = calls.iter().map(ToString::to_string).collect();
    let perl = "for (@ARGV) { $! = 0; syscall($_, 0, 0, 0, 0, 0); print $! + 0, qq(\n) }";
    let script =
        format!("perl -e '{perl}' {0}; grep ^Seccomp: /proc/self/status", numbers.join(" "));
    let machine = Machine::new();
    let run = machine.shell(Level::Standard, &script, "");
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.pop(), Some("Seccomp:\t2"), "{run:?}");
    assert_eq!(lines, vec!["1"; calls.len()], "{run:?}");
}

#[test]
fn plans_that_cannot_be_read_start_nothing() {
    let launcher = Path::new(env!("CARGO_BIN_EXE_mcp-sandbox-launcher"));
    for args in [vec![], vec!["{}"], vec!["{}", "/bin/echo", "started"]] {
        let output = std::process::Command::new(launcher)
            .arg("mcp-sandbox:launch")
            .args(args)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(output.stdout.is_empty());
        assert!(
            String::from_utf8_lossy(&output.stderr)
                .starts_with("mcp-sandbox: server not started: ")
        );
    }
    let output = std::process::Command::new(launcher).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
