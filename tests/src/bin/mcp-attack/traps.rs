//! Listeners, a terminal and another process: what a server must not reach.

use std::{
    error::Error,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    process::{Child, Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    pty::openpty,
    unistd::ttyname,
};
use serde_json::{Value, json};

use crate::machine::Machine;

/// An address for documentation, which the namespace has given to its loopback interface: the internet.
const INTERNET: &str = "203.0.113.7";
const PORT: u16 = 8000;
/// Holds the secret in its memory, arguments, environment and an open file.
const BYSTANDER: &str = "\
import sys, time
file = open(sys.argv[1])
kept = [file.read() for _ in range(1)] * 2
parts = [str(number) + kept[0] for number in range(2000)]
print(file.fileno(), flush=True)
time.sleep(100000)
";

pub(crate) struct Traps {
    tcp: Vec<(&'static str, TcpListener)>,
    udp: UdpSocket,
    unix: Vec<(&'static str, UnixListener)>,
    terminal: File,
    _slave: File,
    pub(crate) bystander: Child,
    pub(crate) targets: Value,
    files: [String; 2],
    names: [String; 2],
}

impl Traps {
    pub(crate) fn set(
        machine: &Machine,
        python: &std::path::Path,
        number: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let tcp = [("internet", INTERNET), ("loopback", "127.0.0.1"), ("loopback", "::1")];
        let tcp = tcp.into_iter().map(|(name, address)| {
            let listener = TcpListener::bind((address, PORT))?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>((name, listener))
        });
        let tcp = tcp.collect::<Result<Vec<_>, _>>()?;
        let udp = UdpSocket::bind((INTERNET, PORT))?;
        udp.set_nonblocking(true)?;

        let abstract_name = format!("mcp-attack-{number}");
        let bus = machine.home.join("bus");
        let paths = [
            ("session bus", bus.clone()),
            ("agent", machine.home.join(".gnupg/S.gpg-agent")),
            ("containers", machine.outside.join("containers.sock")),
        ];
        let mut unix = Vec::new();
        for (name, path) in paths {
            unix.push((name, UnixListener::bind(path)?));
        }
        unix.push((
            "abstract socket",
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?,
        ));
        unix.iter().try_for_each(|(_, listener)| listener.set_nonblocking(true))?;

        let pty = openpty(None, None)?;
        fcntl(&pty.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let terminal_name = ttyname(&pty.slave)?;

        let secret = machine.outside.join("ledger.txt");
        let mut bystander = Command::new(python)
            .args(["-c", BYSTANDER])
            .arg(&secret)
            .arg(&machine.canary)
            .env("TOKEN", &machine.canary)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(bystander.stdout.take().ok_or("no output")?).read_line(&mut line)?;

        let [shm, drop] = ["shared", "drop"].map(|name| format!("mcp-attack-{name}-{number}"));
        let files = [format!("/dev/shm/{shm}"), format!("/tmp/{shm}")];
        for file in &files {
            fs::write(file, format!("canary {}\n", machine.canary))?;
        }
        let (_, most_files) =
            nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)?;
        let targets = json!({
            "home": machine.home, "project": machine.project, "outside": machine.outside, "state": machine.state,
            "internet": INTERNET, "port": PORT, "bus": bus, "abstract": abstract_name,
            "host": bystander.id(), "bystander": bystander.id(), "open": line.trim().parse::<i32>()?,
            "shm": shm, "drop": drop, "terminal": terminal_name, "most_files": most_files,
            "launcher_copy": machine.outside.join("launcher"),
        });
        Ok(Self {
            tcp,
            udp,
            unix,
            terminal: File::from(pty.master),
            _slave: File::from(pty.slave),
            bystander,
            targets,
            files,
            names: [format!("/tmp/{drop}"), format!("/dev/shm/{drop}")],
        })
    }

    /// The network connections and datagrams that arrived.
    pub(crate) fn network(&self) -> Vec<String> {
        let streams = self.tcp.iter().filter(|(_, listener)| listener.accept().is_ok());
        let mut found: Vec<String> =
            streams.map(|(name, _)| format!("connection to {name}")).collect();
        if self.udp.recv(&mut [0; 2048]).is_ok() {
            found.push("datagram".into());
        }
        found
    }

    /// Connections to sockets of the session, and text on the terminal.
    pub(crate) fn session(&self) -> Vec<String> {
        let sockets = self.unix.iter().filter(|(_, listener)| listener.accept().is_ok());
        let mut found: Vec<String> =
            sockets.map(|(name, _)| format!("connection to {name}")).collect();
        if (&self.terminal).read(&mut [0; 256]).is_ok_and(|length| length > 0) {
            found.push("text on the terminal".into());
        }
        found
    }

    /// Files left where other programs find them.
    pub(crate) fn dropped(&self) -> Vec<String> {
        self.names.iter().filter(|name| fs::exists(name).unwrap_or(true)).cloned().collect()
    }

    pub(crate) fn remove(mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
        for entry in ["/tmp", "/dev/shm"]
            .iter()
            .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        {
            if entry.file_name().to_string_lossy().starts_with("mcp-attack-") {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}
