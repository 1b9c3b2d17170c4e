//! The registries in numbers, and what the guard lets through.

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
