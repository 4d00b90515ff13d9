//! A home, a project and canaries, made for one test.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use mcp_sandbox::{Entry, Launch, Level, Profile, Report};

pub(crate) struct Machine {
    _folder: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) state: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    pub(crate) report: Option<Report>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let [home, project, outside] =
            ["home", "home/project", "outside"].map(|name| root.join(name));
        for path in
            [home.join(".ssh"), home.join(".npm"), project.join(".git/hooks"), outside.clone()]
        {
            fs::create_dir_all(path).unwrap();
        }
        for (path, text) in [
            (home.join(".ssh/id"), "canary\n"),
            (home.join("plain"), "plain\n"),
            (home.join(".npm/shared"), "shared\n"),
            (project.join("readme"), "project\n"),
            (project.join(".mcp.json"), "{}"),
            (project.join(".git/config"), ""),
        ] {
            fs::write(path, text).unwrap();
        }
        let state = root.join("home/.local/state/host/sandbox/server");
        Self { _folder: folder, home, project, outside, state }
    }

    pub(crate) fn shell(&self, level: Level, script: &str, stdin: &str) -> Run {
        self.run(&Profile::new(level), script, stdin)
    }

    pub(crate) fn run(&self, profile: &Profile, script: &str, stdin: &str) -> Run {
        let launch = self.launch(profile);
        let mut child = Self::start(&mut self.command(&launch, script));
        // A server that does not read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        Self::finish(child, &launch)
    }

    pub(crate) fn spawn(&self, profile: &Profile, script: &str) -> Child {
        Self::start(&mut self.command(&self.launch(profile), script))
    }

    /// Runs where the system refuses user and mount namespaces.
    pub(crate) fn run_without_namespaces(&self, profile: &Profile, script: &str) -> Run {
        let launch = self.launch(profile);
        let command = self.command(&launch, script);
        let mut limited = Command::new("unshare");
        limited
            .args([
                "--user",
                "--map-current-user",
                "sh",
                "-c",
                r#"for kind in user mnt; do echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 9; done; exec "$@""#,
                "sh",
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::finish(Self::start(&mut limited), &launch)
    }

    fn launch(&self, profile: &Profile) -> Launch {
        let mut entry = Entry::new("/bin/sh", &self.home, &self.state);
        entry.project = Some(self.project.clone());
        let resolved = profile.resolve(&entry).unwrap();
        Launch::prepare_with(env!("CARGO_BIN_EXE_mcp-sandbox-launcher"), resolved.rules).unwrap()
    }

    fn command(&self, launch: &Launch, script: &str) -> Command {
        let (program, args) = launch.command("/bin/sh", ["-c".into(), script.into()]);
        let mut command = Command::new(program);
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin");
        command
            .env("HOME", &self.home)
            .env("P", &self.project)
            .env("O", &self.outside)
            .env("H", &self.home);
        command
    }

    fn start(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn finish(child: Child, launch: &Launch) -> Run {
        let output = child.wait_with_output().unwrap();
        Run {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            report: Report::read(launch.report()).unwrap(),
        }
    }
}
