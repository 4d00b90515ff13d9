//! User, process, mount, IPC and network namespaces.

use std::fs;

use nix::{
    sched::{CloneFlags, unshare},
    unistd::{getegid, geteuid},
};
use rustix::{
    io,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink,
        recv, sendto, socket_with,
    },
    thread::{CapabilitySet, configure_capability_in_ambient_set},
};

use super::privileges;

/// Moves this process into a user namespace, and its children into a process namespace.
pub(super) fn user_and_processes() -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID)
        .map_err(|error| failed("the system refuses user namespaces", &error.desc()))?;
    // Users keep their id: files they create belong to them. Groups can only be mapped once they cannot be dropped.
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(file, text).map_err(|error| failed(file, &error))?;
    }
    // The inner process is a new program, which loses capabilities that are not ambient, unless the user is root.
    privileges::make_inheritable().map_err(|error| failed("capabilities", &error))?;
    let ambient = CapabilitySet::SYS_ADMIN
        | CapabilitySet::NET_ADMIN
        | CapabilitySet::SETPCAP
        | CapabilitySet::DAC_OVERRIDE;
    for capability in ambient.iter() {
        configure_capability_in_ambient_set(capability, true)
            .map_err(|error| failed("capabilities", &error))?;
    }
    Ok(())
}

pub(super) fn mounts() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNS)
        .map_err(|error| format!("no mount namespace: {}", error.desc()))
}

pub(super) fn ipc() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWIPC).map_err(|error| format!("no IPC namespace: {}", error.desc()))
}

/// A network with nothing but a loopback interface.
pub(super) fn network() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| format!("no network namespace: {}", error.desc()))?;
    // Programs that cannot bind to loopback are rare, so a failure does not leave the namespace useless.
    let _ = start_loopback();
    Ok(())
}

/// Sends `RTM_NEWLINK` for interface 1, which is loopback in every namespace, with the flag `IFF_UP`.
fn start_loopback() -> io::Result<()> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ACK: u16 = 1 | 4;
    // Without a protocol: `NETLINK_ROUTE` is 0.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(LENGTH as usize);
    // struct nlmsghdr: length, type, flags, sequence, port.
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ACK.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    // struct ifinfomsg: family, padding, type, index, flags, changed flags.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 128];
    recv(&socket, &mut answer, RecvFlags::empty()).map(drop)
}
