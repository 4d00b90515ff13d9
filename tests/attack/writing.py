"""Files that other programs execute, and terminals."""

import os
import socket

from files import shell

ATTACKS = {}


def attack(kind):
    def add(function):
        ATTACKS[function.__name__.replace("_", "-")] = (kind, function)
        return function

    return add


def append(path, text="echo owned\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write(text)


for name, path in {
    "shell-startup": ".bashrc",
    "login-startup": ".profile",
    "authorized-keys": ".ssh/authorized_keys",
    "desktop-autostart": ".config/autostart/x.desktop",
    "user-service": ".config/systemd/user/x.service",
    "program-in-path": ".local/bin/git",
    "git-settings": ".gitconfig",
    "host-configuration": ".config/mcp/mcp.json",
    "host-approvals": ".local/state/mcp/approvals.json",
    "agent-settings": ".claude.json",
    "package-cache": ".npm/_npx/run.js",
    "package-settings": ".npmrc",
}.items():
    ATTACKS["write-" + name] = ("startup", lambda t, path=path: append(os.path.join(t["home"], path)))

for name, path in {
    "git-hook": ".git/hooks/pre-commit",
    "repository-settings": ".git/config",
    "project-servers": ".mcp.json",
    "editor-tasks": ".vscode/tasks.json",
    "directory-environment": ".envrc",
}.items():
    ATTACKS["write-" + name] = ("startup", lambda t, path=path: append(os.path.join(t["project"], path)))


@attack("startup")
def write_outside(t):
    append(t["outside"] + "/ledger.txt")


@attack("startup")
def write_outside_over_link(t):
    os.symlink(t["outside"] + "/ledger.txt", "/tmp/mcp-attack-ledger")
    append("/tmp/mcp-attack-ledger")


@attack("startup")
def replace_repository(t):
    os.rename(t["project"] + "/.git", t["project"] + "/.git-old")
    append(t["project"] + "/.git/hooks/pre-commit")


@attack("startup")
def replace_hooks_folder(t):
    os.rename(t["project"] + "/.git/hooks", t["project"] + "/.git/hooks-old")
    append(t["project"] + "/.git/hooks/pre-commit")


@attack("startup")
def delete_secrets(t):
    return shell(f"rm -rf {t['home']}/.ssh {t['outside']}/ledger.txt")


@attack("startup")
def change_mode(t):
    os.chmod(t["home"] + "/.ssh/id_ed25519", 0o666)


@attack("startup")
def truncate_by_path(t):
    os.truncate(t["outside"] + "/ledger.txt", 1)


@attack("startup")
def leave_file_for_others(t):
    append("/tmp/" + t["drop"])


@attack("startup")
def leave_shared_memory(t):
    append("/dev/shm/" + t["drop"])


@attack("startup")
def socket_file_outside(t):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(t["outside"] + "/new.sock")


@attack("terminal")
def text_on_terminal_of_user(t):
    handle = os.open(t["terminal"], os.O_WRONLY | os.O_NOCTTY)
    return os.write(handle, b"\x1b]0;canary-typed\x07")


@attack("terminal")
def text_on_all_terminals(t):
    return shell("for t in /dev/pts/[0-9]*; do printf canary-typed > $t; done")
