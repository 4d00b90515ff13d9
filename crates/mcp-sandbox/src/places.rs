//! The files and folders of a system and of a home that profiles speak about.

/// Readable by every sandboxed server: programs, libraries, settings, and the kernel's own files.
pub(crate) const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/gnu/store",
    concat!("/home", "/linuxbrew/.linuxbrew"),
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/opt",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/cache/fontconfig",
    "/var/lib/ca-certificates",
];

/// System files with secrets. Only root can read them, and a server may run as root.
pub(crate) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/cloudflared",
    "/etc/cni/net.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/cryptsetup-keys.d",
    "/etc/docker/certs.d",
    "/etc/docker/key.json",
    "/etc/exim4/passwd.client",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.d/private",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/machine-id.key",
    "/etc/mysql/debian.cnf",
    "/etc/netplan",
    "/etc/openvpn",
    "/etc/pki/tls/private",
    "/etc/postfix/sasl_passwd",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/etc/wpa_supplicant",
];

/// Below the home: runtimes, package managers and their programs. Readable.
pub(crate) const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo/bin",
    ".conda",
    ".config/git/attributes",
    ".config/git/ignore",
    ".deno",
    ".dotnet",
    ".fnm",
    ".jenv",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/state/nix",
    ".n",
    ".nix-profile",
    ".nodebrew",
    ".nodenv",
    ".npm-global",
    ".npm-packages",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".rye",
    ".sdkman",
    ".volta",
    ".yarn",
    "anaconda3",
    "go/bin",
    "mambaforge",
    "miniconda3",
    "miniforge3",
];

/// Below the home: settings that are readable unless they hold credentials.
pub(crate) const SETTINGS: &[&str] = &[".config/git/config", ".gitconfig"];

/// Below the home: caches of package managers. Readable; what a server writes there stays its own.
pub(crate) const CACHES: &[&str] = &[
    ".cache/deno",
    ".cache/huggingface/assets",
    ".cache/huggingface/datasets",
    ".cache/huggingface/hub",
    ".cache/huggingface/xet",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".npm",
];

/// Variables that move such a cache.
pub(crate) const CACHE_VARIABLES: &[&str] = &[
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "UV_TOOL_DIR",
    "npm_config_cache",
];

/// Variables that name a folder with code to read.
pub(crate) const CODE_VARIABLES: &[&str] =
    &["NODE_PATH", "PYENV_ROOT", "PYTHONPATH", "VIRTUAL_ENV"];

/// Below the home: credentials, sessions and histories. Invisible even where the folder around them is granted.
pub(crate) const SECRETS: &[&str] = &[
    ".1password",
    ".Xauthority",
    ".ICEauthority",
    ".aws",
    ".azure",
    ".bash_history",
    ".bitcoin",
    ".cache/huggingface/stored_tokens",
    ".cache/huggingface/token",
    ".cache/BraveSoftware",
    ".cache/chromium",
    ".cache/google-chrome",
    ".cache/mozilla",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/BraveSoftware",
    ".config/Code",
    ".config/Cursor",
    ".config/Signal",
    ".config/Slack",
    ".config/chromium",
    ".config/configstore",
    ".config/containers",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/heroku",
    ".config/hub",
    ".config/mcp",
    ".config/microsoft-edge",
    ".config/op",
    ".config/opera",
    ".config/rclone",
    ".config/sops",
    ".config/vivaldi",
    ".cursor",
    ".docker",
    ".electrum",
    ".ethereum",
    ".fly",
    ".gemini",
    ".git-credentials",
    ".config/git/credentials",
    ".gnupg",
    ".kube",
    ".lesshst",
    ".local/share/fish",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/mcp",
    ".local/share/uv/credentials",
    ".local/state/mcp",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".sqlite_history",
    ".ssh",
    ".terraform.d",
    ".terraformrc",
    ".thunderbird",
    ".var/app",
    ".vault-token",
    ".viminfo",
    ".wget-hsts",
    ".yarnrc.yml",
    ".zsh_history",
];

/// In a project: files that other programs of the user execute or obey. Readable, not writable, where they exist.
pub(crate) const PROJECT_PROTECTED: &[&str] = &[
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".envrc",
    ".gemini",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info/attributes",
    ".git/modules",
    ".gitattributes",
    ".gitmodules",
    ".github",
    ".husky",
    ".idea",
    ".mcp",
    ".mcp.json",
    ".pre-commit-config.yaml",
    ".vscode",
    ".zed",
    "mcp.json",
];

/// Folders that are never granted as a whole because of a program or an argument in them.
pub(crate) const SHARED: &[&str] = &[
    "/", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv",
    "/tmp", "/usr", "/var", "/var/lib", "/var/tmp", "/Users", "/Volumes", "/Library", "/System",
];

/// Folders in which an argument or a variable grants nothing: devices, sockets, other processes.
pub(crate) const SPECIAL: &[&str] = &["/dev", "/proc", "/run", "/sys", "/var/run"];

/// Folders of a home that hold unrelated files: a program in one is granted alone.
pub(crate) const PERSONAL: &[&str] =
    &["Desktop", "Documents", "Downloads", "Dropbox", "Music", "Pictures", "Public", "Videos"];

/// Variables that lead to sockets and credentials of the user's session.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) const SESSION_VARIABLES: &[&str] = &[
    "AWS_SHARED_CREDENTIALS_FILE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GNOME_KEYRING_CONTROL",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Whether settings of Git hold a credential: a header, a password, or a URL with one.
pub(crate) fn holds_credentials(text: &str) -> bool {
    const WORDS: &[&str] = &["extraheader", "passw", "secret", "smtppass", "token"];
    let text = text.to_ascii_lowercase();
    // A user alone is a name; `https://TOKEN@host` is a credential, and `ssh://git@host` is not.
    let has_user = |rest: &str| {
        let end = rest.find(|c: char| c == '/' || c == '"' || c.is_whitespace());
        rest[..end.unwrap_or(rest.len())].rsplit_once('@').is_some_and(|(user, _)| user != "git")
    };
    WORDS.iter().any(|word| text.contains(word)) || text.split("://").skip(1).any(has_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_credentials_are_told_from_others() {
        for text in [
            "[http \"https://a.test\"]\n\textraHeader = AUTHORIZATION: basic eA==\n",
            "[url \"https://x-access-token:ghp_x@github.com/\"]\n\tinsteadOf = https://github.com/\n",
            "[url \"https://ghp_x@github.com/\"]\n",
            "[http]\n\tproxy = http://me:pw@proxy.test:8080\n",
            "[github]\n\toauth-Token = x\n",
            "[sendemail]\n\tsmtpPass = x\n",
        ] {
            assert!(holds_credentials(text), "{text}");
        }
        for text in [
            "[user]\n\tname = A\n\temail = a@b.test\n",
            "[url \"ssh://git@github.com/\"]\n\tinsteadOf = https://github.com/\n",
            "[credential]\n\thelper = store\n# https://a.test/x@y\n",
        ] {
            assert!(!holds_credentials(text), "{text}");
        }
    }
}
