//! Serves TCP with one thread and epoll, so that many clients need no more threads than one.

use std::{
    collections::HashMap,
    io::{self, Write},
    net::{Ipv4Addr, TcpListener},
};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::{answers::Answers, connection::Connection};

const STDIN: u64 = 0;
const LISTENER: u64 = 1;

/// Prints the address as a line on stdout, and serves until stdin is closed.
pub(crate) fn serve(mut answers: Answers) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
    // The parent process holds the other end, which closes even if the parent crashes.
    epoll.add(io::stdin(), EpollEvent::new(EpollFlags::EPOLLIN, STDIN))?;
    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let mut last = LISTENER;
    let mut events = [EpollEvent::empty(); 64];
    let mut buffer = vec![0; 64 << 10];
    loop {
        let ready = epoll.wait(&mut events, EpollTimeout::NONE)?;
        for event in &events[..ready] {
            let token = event.data();
            if token == STDIN {
                return Ok(());
            }
            if token == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    last += 1;
                    let connection = Connection::new(stream)?;
                    epoll.add(connection.stream(), EpollEvent::new(EpollFlags::EPOLLIN, last))?;
                    connections.insert(last, connection);
                }
                continue;
            }
            let Some(connection) = connections.get_mut(&token) else { continue };
            let was_blocked = connection.is_blocked();
            // Errors of a connection end only that connection.
            if !connection.serve(&mut answers, &mut buffer).unwrap_or(false) {
                // Closing the socket removes it from epoll.
                connections.remove(&token);
                continue;
            }
            let is_blocked = connection.is_blocked();
            if is_blocked != was_blocked {
                let wanted = if is_blocked { EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN };
                epoll.modify(connection.stream(), &mut EpollEvent::new(wanted, token))?;
            }
        }
    }
}
