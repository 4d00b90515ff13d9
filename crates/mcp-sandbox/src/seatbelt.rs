//! The profile of `sandbox-exec`, for macOS.
//!
//! The language is that of the system's own profiles in `/System/Library/Sandbox/Profiles`. The last matching rule
//! decides.

use std::{fmt::Write as _, path::Path};

use crate::rules::{Network, Rules};

/// The program that applies a profile.
#[cfg(target_os = "macos")]
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The arguments of [`PROGRAM`] before the server's program: the profile, and the variables of the server's private folders.
#[cfg(target_os = "macos")]
pub(crate) fn arguments(rules: &Rules) -> Vec<std::ffi::OsString> {
    let home = rules.state.join("home");
    let mut args = vec!["-p".into(), profile(rules).into(), "/usr/bin/env".into()];
    for name in crate::places::SESSION_VARIABLES {
        args.extend(["-u".into(), (*name).into()]);
    }
    for name in ["HOME", "TMPDIR"] {
        args.push(format!("{name}={}", home.display()).into());
    }
    args
}

/// What every program needs in order to start.
const BASE: &str = "\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name \"com.apple.system.notification_center\")
  (global-name \"com.apple.system.opendirectoryd.libinfo\")
  (global-name \"com.apple.system.logger\")
  (global-name \"com.apple.trustd\")
  (global-name \"com.apple.trustd.agent\"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name-prefix \"apple.\"))
(allow file-read-metadata)
(allow file-read* (literal \"/\"))
(allow file-read* file-write-data file-ioctl
  (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/random\") (literal \"/dev/urandom\")
  (literal \"/dev/dtracehelper\"))
(allow pseudo-tty)
";

/// Readable parts of the system.
const SYSTEM: &[&str] = &[
    "/Applications/Xcode.app",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/System",
    "/opt/homebrew",
    "/opt/local",
    "/private/etc",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/usr/local",
];

/// Writes the profile for these rules.
pub(crate) fn profile(rules: &Rules) -> String {
    let mut text = BASE.to_owned();
    let home = rules.state.join("home");
    // Writing to a `String` cannot fail.
    let mut rule = |verb: &str, what: &str, path: &Path| {
        let _ = writeln!(text, "({verb} {what} (subpath {}))", quoted(path));
    };
    let system = SYSTEM.iter().map(Path::new);
    let read = rules.read.iter().chain(&rules.caches).map(AsRef::as_ref);
    for path in system.chain(read) {
        rule("allow", "file-read*", path);
    }
    for path in rules.write.iter().map(AsRef::as_ref).chain([home.as_path()]) {
        rule("allow", "file-read* file-write*", path);
    }
    for path in &rules.protect {
        rule("deny", "file-write*", path);
    }
    for path in &rules.hide {
        // The private home is below the state folder, which is hidden.
        if *path != rules.state {
            rule("deny", "file-read* file-write*", path);
        }
    }
    text.push_str(match &rules.network {
        Network::Open => {
            "(allow network-outbound (remote ip))\n(allow network-inbound network-bind (local ip))\n\
             (allow system-socket)\n(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
        }
        Network::Hosts(_) => "(deny network*)\n",
    });
    text
}

/// A string of the profile's language. Only quotes and backslashes have a meaning in it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_profile_denies_the_network_and_what_is_hidden() {
        let text = profile(&crate::rules::tests::rules());
        let place = |line: &str| {
            text.lines().position(|known| known == line).unwrap_or_else(|| panic!("{line}\n{text}"))
        };
        assert_eq!(place("(version 1)"), 0);
        assert_eq!(place("(deny default)"), 1);
        assert!(
            place("(allow file-read* file-write* (subpath \"/projects/p\"))")
                < place("(deny file-write* (subpath \"/projects/p/.git/hooks\"))")
        );
        place("(deny file-read* file-write* (subpath \"/projects/p/.ssh\"))");
        place("(allow file-read* (subpath \"/users/u/.npm\"))");
        place("(deny network*)");
        assert!(!text.contains("network-outbound"), "{text}");
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        let mut rules = crate::rules::tests::rules();
        rules.network = Network::Open;
        rules.read = vec!["/a\") (allow default) (\"\\".into()];
        let text = profile(&rules);
        assert!(text.contains("(subpath \"/a\\\") (allow default) (\\\"\\\\\")"), "{text}");
        assert!(text.contains("network-outbound"));
    }
}
