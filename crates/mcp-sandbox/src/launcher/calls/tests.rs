//! Runs the filter on numbers and arguments, as the kernel does, and then in the kernel.

use std::{process::Command, thread};

use seccompiler::sock_filter;

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// The instructions that `seccompiler` generates.
fn run(program: &[sock_filter], data: &[u8; 64]) -> u32 {
    let (mut at, mut value) = (0_usize, 0_u32);
    loop {
        let step = &program[at];
        at += 1;
        let jump = |is: bool| usize::from(if is { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                let offset = step.k as usize;
                value = u32::from_ne_bytes(data[offset..offset + 4].try_into().unwrap());
            }
            0x54 => value &= step.k,
            0x05 => at += step.k as usize,
            0x15 => at += jump(value == step.k),
            0x25 => at += jump(value > step.k),
            0x35 => at += jump(value >= step.k),
            0x06 => return step.k,
            code => panic!("instruction {code:#x}"),
        }
    }
}

fn judge(sockets: Sockets, arch: u32, call: i64, args: [u64; 2]) -> u32 {
    let mut data = [0; 64];
    data[0..4].copy_from_slice(&u32::try_from(call).unwrap().to_ne_bytes());
    data[4..8].copy_from_slice(&arch.to_ne_bytes());
    data[16..24].copy_from_slice(&args[0].to_ne_bytes());
    data[24..32].copy_from_slice(&args[1].to_ne_bytes());
    let verdicts = programs(sockets, libc::EPERM).unwrap().map(|program| run(&program, &data));
    // The kernel takes the strictest: a refusal with an error before a permission.
    verdicts.into_iter().find(|verdict| *verdict != ALLOW).unwrap_or(ALLOW)
}

fn refused(call: i64, args: [u64; 2]) -> bool {
    judge(Sockets::default(), ARCH, call, args) == ERRNO | libc::EPERM.cast_unsigned()
}

#[test]
fn every_call_of_the_list_is_refused_in_every_numbering() {
    for call in DENIED.iter().chain(DENIED_NEW).chain(DENIED_HERE) {
        for number in numbers(&[*call]) {
            assert!(refused(number, [0, 0]), "{number}");
        }
    }
    #[cfg(target_arch = "x86_64")]
    for call in DENIED_X32 {
        assert!(refused(call | X32, [0, 0]), "{call}");
    }
}

#[test]
fn ordinary_calls_are_allowed() {
    for call in
        [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_futex, libc::SYS_socketpair]
    {
        assert_eq!(judge(Sockets::default(), ARCH, call, [0, 0]), ALLOW, "{call}");
    }
}

#[test]
fn new_namespaces_and_terminal_input_are_refused_by_their_flags() {
    for flag in NEW_NAMESPACES {
        assert!(refused(libc::SYS_clone, [flag | 0x11, 0]), "{flag:#x}");
    }
    let thread = 0x003d_0f00;
    assert!(!refused(libc::SYS_clone, [thread, 0]));
    assert!(!refused(libc::SYS_clone, [17, 0]));
    assert!(refused(libc::SYS_ioctl, [0, TIOCSTI]));
    // The kernel looks at the lower half of the request only.
    assert!(refused(libc::SYS_ioctl, [0, TIOCSTI | 1 << 32]));
    assert!(refused(libc::SYS_ioctl, [0, TIOCLINUX]));
    assert!(!refused(libc::SYS_ioctl, [0, 0x5401]));
    assert_eq!(
        judge(Sockets::default(), ARCH, libc::SYS_clone3, [0, 0]),
        ERRNO | libc::ENOSYS.cast_unsigned()
    );
}

#[test]
fn only_known_kinds_of_sockets_are_allowed() {
    let kinds = |sockets: Sockets| -> Vec<u64> {
        let is_allowed =
            |family: &u64| judge(sockets, ARCH, libc::SYS_socket, [*family, 1]) == ALLOW;
        (0..64).filter(is_allowed).collect()
    };
    assert_eq!(kinds(Sockets::default()), [1, 2, 10, 16]);
    assert_eq!(kinds(Sockets { refuse_unix: true, refuse_internet: false }), [2, 10, 16]);
    assert_eq!(kinds(Sockets { refuse_unix: false, refuse_internet: true }), [1, 16]);
}

#[test]
fn programs_of_another_architecture_are_killed() {
    let i386 = 0x4000_0003;
    assert_eq!(judge(Sockets::default(), i386, 26, [0, 0]), KILL);
}

/// An error that no call returns by itself: the filter has refused it.
const REFUSED: i32 = 3999;

/// Calls with two arguments each, made by a process under the filter. Returns the error of each.
fn errors(calls: Vec<[i64; 3]>) -> Vec<i32> {
    // A filter holds for one thread, and for the processes that it starts.
    let made = thread::spawn(move || {
        restrict_with(Sockets::default(), REFUSED).unwrap();
        let text = |call: &[i64; 3]| call.map(|number| number.to_string()).join(" ");
        let script = "for (@ARGV) { my @c = map { $_ + 0 } split; $! = 0; syscall($c[0], $c[1], $c[2], 0, 0, 0, 0); \
                      print $! + 0, qq(\n) }";
        Command::new("perl").args(["-e", script]).args(calls.iter().map(text)).output().unwrap()
    });
    let output = made.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn kernel_refuses_every_call_of_the_list() {
    let mut calls: Vec<[i64; 3]> = numbers(DENIED)
        .chain(numbers(DENIED_NEW))
        .chain(numbers(DENIED_HERE))
        .map(|call| [call, 0, 0])
        .collect();
    #[cfg(target_arch = "x86_64")]
    calls.extend(DENIED_X32.iter().map(|call| [call | X32, 0, 0]));
    let flags =
        NEW_NAMESPACES.iter().map(|flag| [libc::SYS_clone, i64::try_from(*flag).unwrap(), 0]);
    calls.extend(flags);
    calls.extend(
        [TIOCSTI, TIOCLINUX].map(|call| [libc::SYS_ioctl, 0, i64::try_from(call).unwrap()]),
    );
    calls.extend([0, 3, 17, 31, 38, 40].map(|family| [libc::SYS_socket, family, 1]));
    let found = errors(calls.clone());
    assert_eq!(found.len(), calls.len());
    for (call, error) in calls.iter().zip(found) {
        assert_eq!(error, REFUSED, "{call:?}");
    }
}

#[test]
fn kernel_allows_other_calls() {
    let pid = [libc::SYS_getppid, 0, 0];
    let unix = [libc::SYS_socket, i64::from(AF_UNIX), 1];
    let size = [libc::SYS_ioctl, 0, 0x5413];
    assert!(!errors(vec![pid, unix, size]).contains(&REFUSED));
}
