//! Which addresses an authorization may lead to.
//!
//! Every URL of a login comes from a server that may be hostile. It must not make us knock on doors of the
//! user's own network, so addresses that are not public are refused unless the MCP server, which the user
//! chose, is in the same place. The check comes twice: on the URL, and on the addresses its name resolves to,
//! right before a connection is made to exactly those.
//!
//! Whoever owns the MCP server's name decides where it points, and may change that between two requests. So
//! a name opens less than an address: nothing unencrypted, nothing on this machine that is not a name, no
//! link-local neighbour, and nothing inside any more once it has pointed anywhere else. And it opens its
//! surroundings only after it has answered from there with its own certificate: a name can be pointed at
//! somebody else's machine, but that machine cannot prove to be the name.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use url::{Host, Url};

use crate::origin::web;

/// Whose neighbourhood an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Zone {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// A network of its own: RFC 1918, carrier NAT, unique local.
    Private,
    /// Link-local, metadata services, multicast, unspecified and reserved addresses.
    Special,
}

impl Zone {
    /// The zone of an address. One that carries an IPv4 address inside is judged by that.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        match (a, b, c, d) {
            (127, ..) => Self::Loopback,
            // The first two are metadata services outside the link-local range.
            (168, 63, 129, 16)
            | (100, 100, 100, 200)
            | (0 | 224..=255, ..)
            | (169, 254, ..)
            | (192, 0, 0 | 2, _)
            | (198, 51, 100, _)
            | (203, 0, 113, _) => Self::Special,
            (10, ..)
            | (192, 168, ..)
            | (172, 16..=31, ..)
            | (100, 64..=127, ..)
            | (198, 18 | 19, ..) => Self::Private,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let segments = address.segments();
        let embedded = |high: u16, low: u16| {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match segments {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Mapped, translated (NAT64) and compatible forms, then 6to4.
            [0, 0, 0, 0, 0, 0xffff | 0, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => embedded(high, low),
            // Metadata services of clouds, inside the range of unique local addresses.
            [0xfd00, 0xec2 | 0xc1, 0, 0, ..]
            | [0xfd20, 0xce, 0, 0, ..]
            | [0xfe80..=0xffff, ..]
            | [0x2001, 0xdb8 | 0, ..]
            | [0x100, 0, 0, 0, ..]
            // NAT64 of a network's own (RFC 8215), which may put the IPv4 address anywhere inside.
            | [0x64, 0xff9b, 1, ..] => Self::Special,
            [0xfc00..=0xfdff, ..] => Self::Private,
            _ => Self::Public,
        }
    }
}

/// What a login to one MCP server may connect to.
#[derive(Clone, PartialEq, Eq)]
pub struct Guard {
    home: Arc<Home>,
}

#[derive(Debug, PartialEq, Eq)]
enum Home {
    /// An address, or a name that can only mean this machine.
    Known(Zone, Option<IpAddr>),
    /// A name; its zone is that of all the addresses it has.
    Named(Named),
    /// The internet and nothing else.
    Nowhere,
}

#[derive(Debug)]
struct Named {
    name: String,
    port: u16,
    /// Whether an answer from there proves that it is there.
    is_encrypted: bool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Where it points.
    zone: Option<Zone>,
    /// Whether it has answered from there.
    is_proven: bool,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.port) == (&other.name, other.port)
    }
}

impl Eq for Named {}

impl Named {
    /// The zone of these addresses, if it has always been that one, and whether the name has answered from
    /// there. A name that moves is on the internet, and so is one that points at several zones: both are up
    /// to something.
    fn zone(&self, addresses: &[IpAddr]) -> (Zone, bool) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = addresses.first() else { return (Zone::Public, false) };
        let first = Zone::of(*first);
        let is_one = addresses.iter().all(|address| Zone::of(*address) == first);
        let is_same = found.zone.is_none_or(|known| known == first);
        let zone = if is_one && is_same { first } else { Zone::Public };
        found.zone = Some(zone);
        (zone, found.is_proven)
    }
}

impl Guard {
    /// What this MCP server's login may reach: the internet, and the server's own surroundings.
    pub fn for_server(server: &str) -> Self {
        let url = web(server).or_else(|| Url::parse(server).ok());
        let home = url.as_ref().and_then(|url| {
            Some(match url.host()? {
                Host::Ipv4(address) => Home::Known(Zone::of(address.into()), Some(address.into())),
                Host::Ipv6(address) => Home::Known(Zone::of(address.into()), Some(address.into())),
                Host::Domain(name) if is_local_name(name) => Home::Known(Zone::Loopback, None),
                Host::Domain(name) => Home::Named(Named {
                    name: name.to_owned(),
                    port: url.port_or_known_default().unwrap_or(443),
                    is_encrypted: url.scheme() == "https",
                    found: Mutex::default(),
                }),
            })
        });
        Self { home: Arc::new(home.unwrap_or(Home::Nowhere)) }
    }

    /// Judges a URL by what it says: `https`, or `http` on this machine if the MCP server is certainly here
    /// too, and no address that is off limits.
    pub fn check_url(&self, url: &str) -> Result<Url, Blocked> {
        let url = Url::parse(url).map_err(|_| Blocked::NotAUrl)?;
        let host = url.host().ok_or(Blocked::NotAUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::Userinfo);
        }
        let zone = match host {
            Host::Ipv4(address) => Some((Zone::of(address.into()), address.into())),
            Host::Ipv6(address) => Some((Zone::of(address.into()), address.into())),
            Host::Domain(name) if is_local_name(name) => {
                Some((Zone::Loopback, Ipv4Addr::LOCALHOST.into()))
            }
            Host::Domain(_) => None,
        };
        match url.scheme() {
            "https" => {}
            "http" if matches!(zone, Some((Zone::Loopback, _))) && self.is_here() => {}
            "http" => return Err(Blocked::NotEncrypted),
            _ => return Err(Blocked::Scheme),
        }
        if let Some((zone, address)) = zone {
            // A server that has a name may be in a network of its own; its addresses decide, when they are
            // known.
            let is_undecided = matches!(*self.home, Home::Named(_)) && zone == Zone::Private;
            if !is_undecided {
                self.check_address(address, &[])?;
            }
        }
        Ok(url)
    }

    /// Whether the MCP server is on this machine, whatever any name server says.
    fn is_here(&self) -> bool {
        matches!(*self.home, Home::Known(Zone::Loopback, _))
    }

    /// The name and port whose addresses are wanted by [`check_address`](Self::check_address).
    pub fn home(&self) -> Option<(&str, u16)> {
        match &*self.home {
            Home::Named(named) => Some((&named.name, named.port)),
            _ => None,
        }
    }

    /// Judges an address right before it is connected to. `home` has the addresses of
    /// [`home`](Self::home), if it names one.
    pub fn check_address(&self, address: IpAddr, home: &[IpAddr]) -> Result<(), Blocked> {
        let zone = Zone::of(address);
        let (home_zone, is_home) = match &*self.home {
            Home::Known(zone, at) => (*zone, *at == Some(address)),
            Home::Nowhere => (Zone::Public, false),
            Home::Named(named) => match named.zone(home) {
                (home_zone, false) if zone == home_zone && zone != Zone::Public => {
                    return Err(Blocked::Unproven);
                }
                (home_zone, _) => (home_zone, false),
            },
        };
        let is_allowed = match zone {
            Zone::Public => true,
            Zone::Special => is_home,
            zone => zone == home_zone,
        };
        if is_allowed { Ok(()) } else { Err(Blocked::Address(zone)) }
    }

    /// Judges the addresses of [`home`](Self::home) right before an encrypted connection to it is made, at
    /// its own port: the server itself may be asked wherever its name points, if that is always the same
    /// zone.
    pub fn check_home(&self, addresses: &[IpAddr]) -> Result<(), Blocked> {
        let Home::Named(named) = &*self.home else { return Err(Blocked::NotAUrl) };
        let (home_zone, _) = named.zone(addresses);
        for zone in addresses.iter().map(|address| Zone::of(*address)) {
            if zone == Zone::Special || (zone != Zone::Public && zone != home_zone) {
                return Err(Blocked::Address(zone));
            }
        }
        Ok(())
    }

    /// The server answered at [`home`](Self::home), over TLS and with a certificate for its name, from one of
    /// the addresses that were judged and not through a proxy, which has a name server of its own. From now on
    /// it may lead to its neighbours.
    pub fn prove_home(&self) {
        if let Home::Named(named) = &*self.home
            && named.is_encrypted
        {
            let mut found = named.found.lock().unwrap_or_else(PoisonError::into_inner);
            // Where only a proxy knows its addresses, nobody knows where it answered from.
            found.is_proven = found.zone.is_some();
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.home).finish()
    }
}

/// Whether a URL is one a browser may be sent to: encrypted, or on this machine. It names no user: people are
/// shown it, and many would read `https://bank.test@evil.test` as the wrong one of the two.
pub(crate) fn is_fit_for_browser(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => false,
        "https" => url.has_host(),
        "http" => match url.host() {
            Some(Host::Domain(name)) => is_local_name(name),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        },
        _ => false,
    })
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Why a URL or an address was refused, before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocked {
    /// It is no URL with a host.
    NotAUrl,
    /// It has a user name or a password.
    Userinfo,
    /// It is neither `https` nor `http`.
    Scheme,
    /// It is `http`, and not on this machine.
    NotEncrypted,
    /// It is in this zone, and the MCP server is not.
    Address(Zone),
    /// It is not public. The MCP server's name points there too, but the server has not answered from there.
    Unproven,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAUrl => "it is not a URL",
            Self::Userinfo => "its URL carries a user name",
            Self::Scheme => "its URL is neither https nor http",
            Self::NotEncrypted => "it is not encrypted, and not on this machine",
            Self::Unproven => {
                "it is at an address that is not public, and the MCP server has not shown to be there"
            }
            Self::Address(Zone::Loopback) => "it is on this machine, and the MCP server is not",
            Self::Address(_) => "it is at an address that is not public, and the MCP server is not",
        })
    }
}

impl std::error::Error for Blocked {}

#[cfg(test)]
mod tests;
