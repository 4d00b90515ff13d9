//! System calls that a server has no use for, refused by seccomp.

use std::collections::BTreeMap;

use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Always refused with `EPERM`.
const DENIED: &[i64] = &[
    // Memory and descriptors of other processes.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Mounts and roots.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_umount2,
    // Namespaces: a new one would bring back capabilities.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Large parts of the kernel that were often attacked.
    libc::SYS_bpf,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Files by handle, past every path.
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_acct,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];
/// `open_tree_attr`, `file_setattr`: newer than the list of `libc`.
const DENIED_NEW: &[i64] = &[467];
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] =
    &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// The second numbering of x86-64, which has the same architecture for seccomp.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// Calls with a number in x32 alone: `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, `ioctl`.
#[cfg(target_arch = "x86_64")]
const DENIED_X32: &[i64] = &[521, 528, 539, 540, 514];

/// `ioctl` requests that put input into a terminal.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// Flags of `clone`: new time, mount, cgroup, UTS, IPC, user, process and network namespaces.
const NEW_NAMESPACES: &[u64] = &[
    0x80,
    0x0002_0000,
    0x0200_0000,
    0x0400_0000,
    0x0800_0000,
    0x1000_0000,
    0x2000_0000,
    0x4000_0000,
];

/// Kinds of sockets that are refused in addition to the exotic ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sockets {
    /// Those of this machine by path: the desktop's, the agents'.
    pub(super) refuse_unix: bool,
    /// Those of the network.
    pub(super) refuse_internet: bool,
}

/// Restricts this process and everything it starts.
pub(super) fn restrict(sockets: Sockets) -> Result<(), String> {
    restrict_with(sockets, libc::EPERM)
}

fn restrict_with(sockets: Sockets, errno: i32) -> Result<(), String> {
    for program in programs(sockets, errno)? {
        apply_filter(&program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

/// The filters, with the error of a refused call.
fn programs(sockets: Sockets, errno: i32) -> Result<[BpfProgram; 2], String> {
    let failed = |error: seccompiler::BackendError| format!("seccomp: {error}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let build =
        |rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32| -> Result<BpfProgram, String> {
            let errno = SeccompAction::Errno(errno.cast_unsigned());
            let filter =
                SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).map_err(failed)?;
            filter.try_into().map_err(failed)
        };
    // The flags of `clone3` are behind a pointer, out of reach for a filter. C libraries use `clone` if it is missing.
    let missing = numbers(&[libc::SYS_clone3]).map(|call| (call, Vec::new())).collect();
    Ok([build(rules(sockets).map_err(failed)?, errno)?, build(missing, libc::ENOSYS)?])
}

fn rules(sockets: Sockets) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules = BTreeMap::new();
    for list in [DENIED, DENIED_NEW, DENIED_HERE] {
        rules.extend(numbers(list).map(|call| (call, Vec::new())));
    }
    #[cfg(target_arch = "x86_64")]
    rules.extend(DENIED_X32.iter().map(|call| (call | X32, Vec::new())));
    let is = |argument: u8, operator: SeccompCmpOp, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let mut families: Vec<i32> = vec![AF_NETLINK];
    if !sockets.refuse_unix {
        families.push(AF_UNIX);
    }
    if !sockets.refuse_internet {
        families.extend([AF_INET, AF_INET6]);
    }
    let unknown: Result<Vec<_>, _> = families
        .iter()
        .map(|family| is(0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned())))
        .collect();
    let socket = vec![SeccompRule::new(unknown?)?];
    let ioctl = [TIOCSTI, TIOCLINUX]
        .map(|request| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, request)?]));
    let ioctl = ioctl.into_iter().collect::<Result<Vec<_>, _>>()?;
    let clone = NEW_NAMESPACES
        .iter()
        .map(|flag| SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(*flag), *flag)?]))
        .collect::<Result<Vec<_>, _>>()?;
    for (call, conditions) in
        [(libc::SYS_socket, socket), (libc::SYS_ioctl, ioctl), (libc::SYS_clone, clone)]
    {
        rules.extend(numbers(&[call]).map(|call| (call, conditions.clone())));
    }
    Ok(rules)
}

/// The numbers of calls, in each numbering.
fn numbers(calls: &[i64]) -> impl Iterator<Item = i64> {
    #[cfg(target_arch = "x86_64")]
    return calls.iter().flat_map(|call| [*call, call | X32]);
    #[cfg(not(target_arch = "x86_64"))]
    return calls.iter().copied();
}

#[cfg(test)]
mod tests;
