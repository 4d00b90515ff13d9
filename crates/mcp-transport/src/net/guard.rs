//! The addresses that an authorization flow may connect to.
//!
//! Every URL of a login comes from a server that may be hostile. It must not cause requests to the user's
//! local network (SSRF), so addresses that are not public are refused unless the MCP server, which the user chose, is
//! in the same zone. There are two checks: on the URL, and on the addresses its name resolves to, right before
//! connecting to exactly those.
//!
//! The owner of the MCP server's domain controls its addresses, and may change them between two requests (DNS
//! rebinding). Therefore a name permits less than an address: nothing unencrypted, no loopback literal or
//! `localhost`, no link-local address, and nothing private any more once it has resolved to another zone. And it
//! permits its zone only after the server has responded from there with a certificate for the name: a name can
//! resolve to any machine, but only its owner has a certificate for it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use url::{Host, Url};

/// The kind of network that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Zone {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network: [RFC 1918](https://www.rfc-editor.org/rfc/rfc1918#section-3),
    /// [carrier NAT](https://www.rfc-editor.org/rfc/rfc6598#section-7), [unique local](https://www.rfc-editor.org/rfc/rfc4193#section-3.1).
    Private,
    /// Link-local, metadata services, multicast, unspecified and
    /// [reserved](https://www.rfc-editor.org/rfc/rfc6890#section-2.2) addresses.
    Special,
}

impl Zone {
    /// Returns the zone of an address. An address that embeds an IPv4 address has the zone of that.
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
            // Mapped, translated and compatible forms, then 6to4: <https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5>,
            // <https://www.rfc-editor.org/rfc/rfc6052#section-2.1>, <https://www.rfc-editor.org/rfc/rfc3056#section-2>
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
            // Local-use NAT64, which may embed the IPv4 address at any position: <https://www.rfc-editor.org/rfc/rfc8215>
            | [0x64, 0xff9b, 1, ..] => Self::Special,
            [0xfc00..=0xfdff, ..] => Self::Private,
            _ => Self::Public,
        }
    }
}

/// The addresses that a login to one MCP server may connect to.
#[derive(Clone, PartialEq, Eq)]
pub struct Guard {
    home: Arc<Home>,
}

#[derive(Debug, PartialEq, Eq)]
enum Home {
    /// An address, or a name that always refers to this machine.
    Known(Zone, Option<IpAddr>),
    /// A name. Its zone is that of all its addresses.
    Named(Named),
    /// Unknown: only public addresses are permitted.
    Nowhere,
}

#[derive(Debug)]
struct Named {
    name: String,
    port: u16,
    /// Whether a response proves the server's identity.
    is_encrypted: bool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// The zone that the name resolves to.
    zone: Option<Zone>,
    /// Whether the server has responded from that zone.
    is_proven: bool,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.port) == (&other.name, other.port)
    }
}

impl Eq for Named {}

impl Named {
    /// Returns the zone of these addresses and whether the server has responded from there. The zone is public if the
    /// addresses are in several zones, or not in the zone they were in before: both are suspicious.
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
    /// The guard for a login to this MCP server. It permits public addresses and the server's zone.
    pub fn for_server(server: &str) -> Self {
        let url = Url::parse(server).ok();
        let home = url.as_ref().and_then(|url| {
            Some(match url.host()? {
                Host::Ipv4(address) => Home::Known(Zone::of(address.into()), Some(address.into())),
                Host::Ipv6(address) => Home::Known(Zone::of(address.into()), Some(address.into())),
                Host::Domain(name) if is_local_name(name) => Home::Known(Zone::Loopback, None),
                Host::Domain(name) => Home::Named(Named {
                    name: name.to_owned(),
                    port: url.port_or_known_default().unwrap_or(443),
                    is_encrypted: matches!(url.scheme(), "https" | "wss"),
                    found: Mutex::default(),
                }),
            })
        });
        Self { home: Arc::new(home.unwrap_or(Home::Nowhere)) }
    }

    /// Checks a URL: it must be `https`, or `http` on this machine if the MCP server is certainly here too, and must
    /// not have a forbidden address.
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
            // A server with a name may be in a private network. This is decided when its addresses are known.
            let is_undecided = matches!(*self.home, Home::Named(_)) && zone == Zone::Private;
            if !is_undecided {
                self.check_address(address, &[])?;
            }
        }
        Ok(url)
    }

    /// Whether the MCP server is on this machine, independent of DNS.
    fn is_here(&self) -> bool {
        matches!(*self.home, Home::Known(Zone::Loopback, _))
    }

    /// The name and port to resolve for [`check_address`](Self::check_address).
    pub fn home(&self) -> Option<(&str, u16)> {
        match &*self.home {
            Home::Named(named) => Some((&named.name, named.port)),
            _ => None,
        }
    }

    /// Checks an address right before connecting to it. `home` has the addresses of [`home`](Self::home), if it names
    /// one.
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

    /// Checks the addresses of [`home`](Self::home) right before an encrypted connection to it, at its port. The
    /// server itself may be contacted in any zone except a special one, if its name always resolves to that zone.
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

    /// Records that the server responded at [`home`](Self::home), over TLS with a certificate for its name, from one
    /// of the checked addresses. Must not be called for a response through a proxy, which resolves names separately.
    /// From now on, addresses in the server's zone are permitted.
    pub fn prove_home(&self) {
        if let Home::Named(named) = &*self.home
            && named.is_encrypted
        {
            let mut found = named.found.lock().unwrap_or_else(PoisonError::into_inner);
            // If only a proxy knows the addresses, the zone of the response is unknown.
            found.is_proven = found.zone.is_some();
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.home).finish()
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Why a URL or an address was refused. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocked {
    /// It is not a URL with a host.
    NotAUrl,
    /// It has a user name or a password.
    Userinfo,
    /// It is neither `https` nor `http`.
    Scheme,
    /// It is `http`, and not on this machine.
    NotEncrypted,
    /// It is in this zone, and the MCP server is not.
    Address(Zone),
    /// It is not public. The MCP server's name resolves to the same zone, but the server has not responded from
    /// there.
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
