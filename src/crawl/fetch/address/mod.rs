//! Decides which addresses may be connected to: the one choke point against requests into private networks.
//!
//! A name passes through [`GuardedNames`], the only resolver the HTTP client has, so that it connects to nothing but
//! addresses that were looked at, whatever the name resolves to a moment later. A literal address is never shown to a
//! resolver and is checked with the URL. The peer of the finished connection is checked once more.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    iter,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// IPv4 networks that are not globally reachable, and multicast: IANA IPv4 Special-Purpose Address Registry (RFC 6890),
/// as of 2024-12. The few anycast service addresses inside 192.0.0.0/24 serve no pages and are refused with it.
const LOCAL_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10), // shared by carriers (RFC 6598)
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16), // link-local, and the metadata services of clouds
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 88, 99, 0, 24), // 6to4 relays (RFC 7526)
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15), // benchmarks (RFC 2544)
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4), // multicast (RFC 5771)
    v4(240, 0, 0, 0, 4),
];

/// The only IPv6 space that is assigned as global unicast (RFC 4291). Loopback, unique local, link-local, multicast and
/// the forms that carry an IPv4 address in front of it (mapped, compatible, NAT64) lie outside.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

/// Networks inside [`GLOBAL_V6`] that are refused: IANA IPv6 Special-Purpose Address Registry, as of 2024-12.
const LOCAL_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 0, 23), // protocol assignments: Teredo, benchmarks, ORCHID
    v6(0x2001, 0xdb8, 0, 32),
    v6(0x2002, 0, 0, 16), // 6to4, which carries an IPv4 address
    v6(0x3fff, 0, 0, 20),
];

/// Whether packets to `ip` leave for the public internet, by the registries of IANA.
///
/// Stricter than the registries in one point: IPv6 forms that carry an IPv4 address (NAT64, 6to4, Teredo) are never
/// global, because what they carry may be private.
fn is_global(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !LOCAL_V4.iter().any(|net| net.contains(&ip)),
        IpAddr::V6(ip) => GLOBAL_V6.contains(&ip) && !LOCAL_V6.iter().any(|net| net.contains(&ip)),
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

/// Why a URL or a connection is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("{0} is not globally routable and `fetch.allow_private` does not permit it")]
    Private(IpAddr),
    #[error("`fetch.resolve` permits {name} only at {mapped}, not at port {port}")]
    Port { name: String, mapped: SocketAddr, port: u16 },
    #[error("`{0}` is neither http nor https")]
    Scheme(String),
    #[error("the address of the connection's peer is not known")]
    UnknownPeer,
}

/// A key of `fetch.resolve` that is no name.
#[derive(Debug, thiserror::Error)]
#[error("`fetch.resolve`: `{0}` is not a host name")]
pub(super) struct BadName(String);

/// What may be connected to.
#[derive(Debug)]
pub(super) struct Guard {
    allowed: Vec<IpNet>,
    mapped: BTreeMap<String, SocketAddr>,
}

impl Guard {
    pub(super) fn new(
        allow_private: &[IpNet],
        resolve: &BTreeMap<String, SocketAddr>,
    ) -> Result<Self, BadName> {
        let mapped = resolve
            .iter()
            .map(|(key, address)| match Host::parse(key) {
                Ok(Host::Domain(name)) => Ok((undotted(&name).to_owned(), *address)),
                _ => Err(BadName(key.clone())),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { allowed: allow_private.to_vec(), mapped })
    }

    /// Refuses what can be refused before a connection is made: literal addresses, ports of mapped names, foreign schemes.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        match url.host() {
            Some(Host::Ipv4(ip)) => self.check_address(ip.into()),
            Some(Host::Ipv6(ip)) => self.check_address(ip.into()),
            Some(Host::Domain(name)) => self.check_port(name, url.port()),
            None => Ok(()),
        }
    }

    /// Refuses a peer that is neither the one mapped to the URL's host nor admissible by itself.
    pub(super) fn check_peer(
        &self,
        url: &Url,
        peer: Option<SocketAddr>,
    ) -> Result<SocketAddr, Refusal> {
        let peer = peer.ok_or(Refusal::UnknownPeer)?;
        let mapped = url.domain().and_then(|name| self.mapped(name));
        if mapped.is_none_or(|mapped| mapped.ip() != peer.ip()) {
            self.check_address(peer.ip())?;
        }
        Ok(peer)
    }

    /// Of the addresses a name resolved to, those that may be connected to.
    fn admit(&self, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, Refusal> {
        let mut refused = None;
        let admitted: Vec<_> = found
            .filter(|address| match self.check_address(address.ip()) {
                Ok(()) => true,
                Err(refusal) => {
                    refused = Some(refusal);
                    false
                }
            })
            .collect();
        match refused {
            Some(refusal) if admitted.is_empty() => Err(refusal),
            _ => Ok(admitted),
        }
    }

    fn check_address(&self, ip: IpAddr) -> Result<(), Refusal> {
        if is_global(ip) || self.permits_private(ip) { Ok(()) } else { Err(Refusal::Private(ip)) }
    }

    fn check_port(&self, name: &str, port: Option<u16>) -> Result<(), Refusal> {
        match (self.mapped(name), port) {
            (Some(mapped), Some(port))
                if port != mapped.port() && !self.permits_private(mapped.ip()) =>
            {
                Err(Refusal::Port { name: name.to_owned(), mapped, port })
            }
            _ => Ok(()),
        }
    }

    fn permits_private(&self, ip: IpAddr) -> bool {
        self.allowed.iter().any(|net| net.contains(&ip))
    }

    fn mapped(&self, name: &str) -> Option<SocketAddr> {
        self.mapped.get(undotted(name)).copied()
    }
}

/// A name without the dot of the root at its end, which makes no other name of it.
fn undotted(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// The only resolver of the HTTP client: what it does not return cannot be connected to.
#[derive(Clone, Debug)]
pub(super) struct GuardedNames(pub(super) Arc<Guard>);

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            // A mapped address keeps its port: the client uses it unless the URL spells one.
            if let Some(mapped) = guard.mapped(name.as_str()) {
                return Ok(Box::new(iter::once(mapped)) as Addrs);
            }
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(guard.admit(found)?.into_iter()) as Addrs)
        })
    }
}
