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
fn links_made_in_one_start_grant_nothing_in_the_next() {
    let machine = Machine::new();
    let mut profile = Profile::new(Level::Standard);
    profile.write = vec!["out".into()];
    machine.run(&profile, "ln -s $H/.ssh $P/out", "");
    assert_eq!(fs::read_link(machine.project.join("out")).unwrap(), machine.home.join(".ssh"));
    let run = machine.run(&profile, "cat $P/out/id; echo key > $P/out/authorized_keys", "");
    assert!(!run.stdout.contains("canary"), "{run:?}");
    assert!(!machine.home.join(".ssh/authorized_keys").exists(), "{run:?}");
}

#[test]
fn private_home_cannot_lead_mounts_elsewhere() {
    let mut machine = Machine::new();
    let project = machine.home.join("work/project");
    fs::create_dir_all(machine.home.join("work")).unwrap();
    fs::rename(&machine.project, &project).unwrap();
    machine.project = project;
    // In the private home `work` only holds the place of a mount, so it can be renamed.
    let moved = "cd /; mv ~/work ~/moved && ln -s ~/moved ~/work && echo moved";
    let run = machine.shell(Level::Standard, moved, "");
    assert_eq!(run.stdout, "moved\n", "{run:?}");
    let script =
        "echo bad > $P/.git/hooks/pre-commit; echo bad > ~/moved/project/.git/hooks/pre-commit";
    let run = machine.shell(Level::Standard, script, "");
    assert!(!machine.project.join(".git/hooks/pre-commit").exists(), "{run:?}");
    assert!(run.stderr.contains("has become a link"), "{run:?}");
}

#[test]
fn secrets_in_a_written_folder_cannot_be_moved_out_of_hiding() {
    let machine = Machine::new();
    let folder = machine.home.join(".config/git");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("credentials"), "canary\n").unwrap();
    let mut profile = Profile::new(Level::Standard);
    profile.write = vec!["~/.config".into()];
    machine.run(&profile, "echo plain > ~/.config/new; mv ~/.config/git ~/.config/moved", "");
    assert!(machine.home.join(".config/new").exists());
    let run = machine.run(&profile, "cat ~/.config/*/credentials", "");
    assert!(!run.stdout.contains("canary"), "{run:?}");
    assert!(folder.join("credentials").exists());
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
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let mut expected = vec![Measure::Processes, Measure::Ipc, Measure::Mounts];
    // The limit on processes of a user does not hold for root.
    expected.extend(is_root.then_some(Measure::Limits));
    assert_eq!(missing, expected, "{run:?}");
    assert!(run.report.as_ref().unwrap().missing[2].reason.contains("can be changed"), "{run:?}");
    // Landlock alone keeps the secrets.
    assert_eq!(run.stdout, "started\nproject\n", "{run:?}");
    profile.required = true;
    let run = machine.run_without_namespaces(&profile, script);
    assert_eq!((run.stdout.as_str(), run.code), ("", Some(125)), "{run:?}");
    assert!(run.stderr.contains("this system lacks processes"), "{run:?}");
    assert_eq!(run.report, None);
}

#[test]
fn hosts_without_a_proxy_and_busy_caches_are_remarks_and_not_lacks() {
    let machine = Machine::new();
    let mut profile = Profile::new(Level::Strict);
    profile.hosts = vec!["a.test".parse().unwrap()];
    profile.required = true;
    let report = machine.run(&profile, "true", "").report.expect("a report");
    assert_eq!(report.missing, []);
    assert!(report.applied.contains(&Measure::Network));
    assert!(report.remarks[0].contains("there is no proxy"), "{report:?}");
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

/// The filter's own tests make every refused call.
#[test]
fn servers_run_under_both_filters() {
    let run = Machine::new().shell(Level::Standard, "grep ^Seccomp /proc/self/status", "");
    assert_eq!(run.stdout, "Seccomp:\t2\nSeccomp_filters:\t2\n", "{run:?}");
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
