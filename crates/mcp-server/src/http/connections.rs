//! Open connections: how many there may be, and which one is closed to make room.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, oneshot};

/// The open connections of one listener. Clones are the same connections.
#[derive(Clone, Debug)]
pub(super) struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    table: Mutex<Table>,
    /// Signalled when a connection has ended or has become idle.
    freed: Notify,
}

impl Connections {
    pub(super) fn new(most: usize, most_per_peer: usize) -> Self {
        let table = Table { open: HashMap::new(), next: 0, most, most_per_peer };
        Self(Arc::new(Inner { table: Mutex::new(table), freed: Notify::new() }))
    }

    /// Admits a connection of `peer`, after closing an idle one if the limit is reached. Waits while all connections
    /// are in use; `None` if this peer has reached its own limit with connections in use.
    pub(super) async fn admit(&self, peer: Option<IpAddr>) -> Option<Slot> {
        let peer = peer.map(group);
        loop {
            let admitted = self.table().admit(peer);
            match admitted {
                Ok((id, closed)) => return Some(Slot { of: self.clone(), id, closed }),
                Err(Full::OfPeer) => return None,
                Err(Full::OfAll) => self.0.freed.notified().await,
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An admitted connection. Dropping it frees the place.
#[derive(Debug)]
pub(super) struct Slot {
    of: Connections,
    id: u64,
    /// Resolves when the connection has to close to make room.
    pub(super) closed: oneshot::Receiver<()>,
}

impl Slot {
    pub(super) fn activity(&self) -> Activity {
        Activity(Some((self.of.clone(), self.id)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.of.table().open.remove(&self.id);
        self.of.0.freed.notify_one();
    }
}

/// Marks a connection as in use. [`Activity::default`] belongs to no connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Option<(Connections, u64)>);

impl Activity {
    /// The connection is in use, and not closed to make room, until the result is dropped.
    pub(super) fn begin(&self) -> Working {
        if let Some((of, id)) = &self.0 {
            of.table().begin(*id);
        }
        Working(self.clone())
    }
}

/// An accepted request with an unfinished response.
#[derive(Debug)]
pub(super) struct Working(Activity);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((of, id)) = &self.0.0 {
            of.table().end(*id);
            of.0.freed.notify_one();
        }
    }
}

/// The admission rules, as plain state.
#[derive(Debug)]
struct Table {
    open: HashMap<u64, Entry>,
    /// The next connection id, and the next timestamp of becoming idle.
    next: u64,
    most: usize,
    most_per_peer: usize,
}

#[derive(Debug)]
struct Entry {
    peer: Option<IpAddr>,
    /// The number of requests being processed.
    working: usize,
    /// Whether a request was accepted before, so the client has sent the right token.
    is_known: bool,
    idle_since: u64,
    close: oneshot::Sender<()>,
}

#[derive(Debug, PartialEq)]
enum Full {
    OfPeer,
    OfAll,
}

impl Table {
    fn admit(&mut self, peer: Option<IpAddr>) -> Result<(u64, oneshot::Receiver<()>), Full> {
        let is_same = |entry: &Entry| peer.is_some() && entry.peer == peer;
        let of_peer = self.open.values().filter(|entry| is_same(entry)).count();
        if of_peer >= self.most_per_peer && !self.close_idle(is_same) {
            return Err(Full::OfPeer);
        }
        if self.open.len() >= self.most && !self.close_idle(|_| true) {
            return Err(Full::OfAll);
        }
        let id = self.tick();
        let (close, closed) = oneshot::channel();
        let entry = Entry { peer, working: 0, is_known: false, idle_since: id, close };
        self.open.insert(id, entry);
        Ok((id, closed))
    }

    /// Closes one idle connection: the oldest that never had a request accepted, else the oldest.
    fn close_idle(&mut self, is_eligible: impl Fn(&Entry) -> bool) -> bool {
        let idle = self.open.iter().filter(|(_, entry)| entry.working == 0 && is_eligible(entry));
        let oldest = idle.min_by_key(|(_, entry)| (entry.is_known, entry.idle_since));
        let Some(entry) = oldest.map(|(id, _)| *id).and_then(|id| self.open.remove(&id)) else {
            return false;
        };
        // Not an error: the connection's task may have ended.
        let _ = entry.close.send(());
        true
    }

    fn begin(&mut self, id: u64) {
        if let Some(entry) = self.open.get_mut(&id) {
            entry.working += 1;
            entry.is_known = true;
        }
    }

    fn end(&mut self, id: u64) {
        let now = self.tick();
        if let Some(entry) = self.open.get_mut(&id) {
            entry.working = entry.working.saturating_sub(1);
            entry.idle_since = now;
        }
    }

    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// The addresses that count as one peer: an IPv6 /64 network usually belongs to one customer.
fn group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(most: usize, most_per_peer: usize) -> Table {
        Table { open: HashMap::new(), next: 0, most, most_per_peer }
    }

    /// Admits a connection from an address with this last octet.
    fn admit(table: &mut Table, last: u8) -> Result<(u64, oneshot::Receiver<()>), Full> {
        table.admit(Some(IpAddr::from([192, 0, 2, last])))
    }

    fn open(table: &Table) -> Vec<u64> {
        let mut ids: Vec<u64> = table.open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn oldest_idle_connection_makes_room() {
        let mut table = table(3, 9);
        let [(a, mut closed), (b, _), (c, _)] = [1, 2, 3].map(|n| admit(&mut table, n).unwrap());
        table.begin(b);
        let (d, _) = admit(&mut table, 4).unwrap();
        assert_eq!(open(&table), [b, c, d]);
        assert!(closed.try_recv().is_ok(), "{a} was closed");
    }

    #[test]
    fn connections_without_an_accepted_request_go_first() {
        let mut table = table(2, 9);
        let (known, _) = admit(&mut table, 1).unwrap();
        table.begin(known);
        table.end(known);
        for _ in 0..5 {
            admit(&mut table, 2).unwrap();
            assert!(table.open.contains_key(&known));
        }
    }

    #[test]
    fn connections_in_use_are_not_closed() {
        let mut table = table(2, 9);
        let [(a, _), (b, _)] = [1, 2].map(|n| admit(&mut table, n).unwrap());
        table.begin(a);
        table.begin(b);
        assert_eq!(admit(&mut table, 3).unwrap_err(), Full::OfAll);
        table.end(a);
        let (c, _) = admit(&mut table, 3).unwrap();
        assert_eq!(open(&table), [b, c]);
    }

    #[test]
    fn one_peer_cannot_exhaust_all_connections() {
        let mut table = table(9, 2);
        let (other, _) = admit(&mut table, 1).unwrap();
        let [(a, _), (b, _)] = [2, 2].map(|n| admit(&mut table, n).unwrap());
        let (c, _) = admit(&mut table, 2).unwrap();
        assert_eq!(open(&table), [other, b, c], "{a} of the same peer made room");
        table.begin(b);
        table.begin(c);
        assert_eq!(admit(&mut table, 2).unwrap_err(), Full::OfPeer);
        assert!(admit(&mut table, 3).is_ok());
        for _ in 0..4 {
            assert!(table.admit(None).is_ok(), "Unix sockets have no address");
        }
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let of = |text: &str| group(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
