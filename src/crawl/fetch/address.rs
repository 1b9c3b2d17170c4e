//! Decides which addresses may be connected to: the one place that prevents requests into private networks.
//!
//! Names go through [`GuardedNames`], the only resolver of the HTTP client, so that it connects only to checked addresses, whatever the
//! name resolves to a moment later. Literal addresses are checked with the URL. The peer of the connection is checked once more.
//! A proxy resolves names itself, so a name must have checked addresses only ([`Guard::resolve_all`]) before the proxy is asked.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Why a name has no address: an error of the resolver, or a [`Refusal`].
pub(super) type Source = Box<dyn std::error::Error + Send + Sync>;

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
    #[error("{0} is not globally routable: to permit it, set fetch.allow_private=[\"{net}\"]", net = IpNet::from(*.0))]
    Private(IpAddr),
    #[error("`fetch.resolve` permits {name} only at {mapped}, not at port {port}")]
    Port { name: String, mapped: SocketAddr, port: u16 },
    #[error("`{0}` is neither http nor https")]
    Scheme(String),
    #[error("the address of the connection's peer is not known")]
    UnknownPeer,
}

/// A key of `fetch.resolve` that is not a name.
#[derive(Debug, thiserror::Error)]
#[error("`fetch.resolve`: `{0}` is not a host name")]
pub(super) struct BadName(String);

/// The addresses that may be connected to.
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

    /// Refuses what can be refused before a connection is made: literal addresses, ports of mapped names, other schemes.
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

    /// Refuses a peer that is neither mapped to the URL's host nor allowed by itself.
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

    /// The addresses of a name that may be connected to. A mapped address keeps its port: the client uses it unless the URL has one.
    pub(super) async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, Source> {
        if let Some(mapped) = self.mapped(name) {
            return Ok(vec![mapped]);
        }
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(self.admit(found)?)
    }

    /// The first address of a name that something else resolves again and connects to: all its addresses must be ones that may be
    /// connected to.
    pub(super) async fn resolve_all(&self, name: &str) -> Result<IpAddr, Source> {
        let found: Vec<_> = tokio::net::lookup_host((name, 0)).await?.collect();
        found.iter().try_for_each(|address| self.check_address(address.ip()))?;
        Ok(found.first().ok_or("the name has no address")?.ip())
    }

    /// The addresses of these that may be connected to.
    fn admit(&self, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, Refusal> {
        let (admitted, refused): (Vec<_>, Vec<_>) =
            found.partition(|address| self.check_address(address.ip()).is_ok());
        match refused.last() {
            Some(address) if admitted.is_empty() => Err(Refusal::Private(address.ip())),
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

    /// Whether the host of `url` is mapped: then it is connected to without a proxy.
    pub(super) fn is_mapped(&self, url: &Url) -> bool {
        url.domain().is_some_and(|name| self.mapped(name).is_some())
    }

    fn mapped(&self, name: &str) -> Option<SocketAddr> {
        self.mapped.get(undotted(name)).copied()
    }
}

/// A name without the root's dot at its end: it is the same name.
fn undotted(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// The only resolver of the HTTP client: an address that it does not return cannot be connected to.
#[derive(Clone, Debug)]
pub(super) struct GuardedNames {
    pub(super) guard: Arc<Guard>,
    /// The name of the proxy, which may have a private address: the user has chosen it.
    pub(super) proxy: Option<String>,
}

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { guard, proxy } = self.clone();
        Box::pin(async move {
            let name = name.as_str();
            if proxy.as_deref() == Some(name) && guard.mapped(name).is_none() {
                let found: Vec<_> = tokio::net::lookup_host((name, 0)).await?.collect();
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let found = guard.resolve(name).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow: &[&str], resolve: &[(&str, &str)]) -> Guard {
        let allow: Vec<IpNet> = allow.iter().map(|net| net.parse().unwrap()).collect();
        let resolve =
            resolve.iter().map(|(name, to)| ((*name).to_owned(), to.parse().unwrap())).collect();
        Guard::new(&allow, &resolve).unwrap()
    }

    fn url(url: &str) -> Url {
        Url::parse(url).unwrap()
    }

    #[test]
    fn addresses_of_no_public_host_are_not_global() {
        for ip in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
        ] {
            assert!(!is_global(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn addresses_beside_the_special_networks_are_global() {
        for ip in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.31.196.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2000::1",
            "2001:200::1",
            "2001:db7::1",
            "2001:db9::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2606:4700::1111",
            "2620:4f:8000::1",
            "3ffe:ffff::1",
            "3fff:1000::1",
        ] {
            assert!(is_global(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn a_name_that_resolves_to_public_and_private_addresses_keeps_the_public_ones() {
        let found = ["127.0.0.1:0", "1.1.1.1:0", "[::1]:0"].map(|a| a.parse().unwrap());
        let admitted = guard(&[], &[]).admit(found.into_iter());
        assert_eq!(admitted, Ok(vec!["1.1.1.1:0".parse().unwrap()]));
        let refused = guard(&[], &[]).admit(found.into_iter().filter(|a| a.ip().is_loopback()));
        assert_eq!(refused, Err(Refusal::Private("::1".parse().unwrap())));
    }

    #[test]
    fn allow_private_admits_its_networks_and_no_others() {
        let guard = guard(&["127.0.0.0/8", "fd00::/8"], &[]);
        assert!(guard.check_url(&url("http://127.1/")).is_ok());
        assert!(guard.check_url(&url("http://[fd00::1]:81/")).is_ok());
        assert!(guard.check_url(&url("http://10.0.0.1/")).is_err());
        assert!(guard.check_url(&url("http://[::ffff:127.0.0.1]/")).is_err());
    }

    #[test]
    fn a_mapped_name_is_permitted_at_its_own_port_only() {
        let strict = guard(&[], &[("Docs.Test", "127.0.0.1:8080")]);
        assert!(strict.check_url(&url("http://docs.test/")).is_ok());
        assert!(strict.check_url(&url("https://docs.test./")).is_ok());
        assert!(strict.check_url(&url("http://docs.test:8080/")).is_ok());
        assert!(matches!(
            strict.check_url(&url("http://docs.test:8081/")),
            Err(Refusal::Port { port: 8081, .. })
        ));
        let open = guard(&["127.0.0.0/8"], &[("docs.test", "127.0.0.1:8080")]);
        assert!(open.check_url(&url("http://docs.test:8081/")).is_ok());
    }

    #[test]
    fn the_peer_must_be_the_mapped_address_or_admissible() {
        let guard = guard(&[], &[("docs.test", "127.0.0.1:8080")]);
        let peer = |host: &str, peer: &str| {
            guard.check_peer(&url(&format!("http://{host}/")), Some(peer.parse().unwrap()))
        };
        assert!(peer("docs.test", "127.0.0.1:8080").is_ok());
        assert!(peer("docs.test", "127.0.0.2:8080").is_err());
        assert!(peer("else.test", "127.0.0.1:8080").is_err());
        assert!(peer("else.test", "1.1.1.1:80").is_ok());
        assert_eq!(guard.check_peer(&url("http://a.test"), None), Err(Refusal::UnknownPeer));
    }

    #[test]
    fn a_key_of_resolve_must_be_a_name() {
        for key in ["127.0.0.1", "[::1]", "docs.test:80", "http://docs.test", "", "a b"] {
            let resolve = BTreeMap::from([(key.to_owned(), "127.0.0.1:1".parse().unwrap())]);
            assert!(Guard::new(&[], &resolve).is_err(), "{key:?}");
        }
    }
}
