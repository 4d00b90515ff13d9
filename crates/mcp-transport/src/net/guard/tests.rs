//! The addresses that are permitted for each server.

use super::*;

#[test]
fn addresses_are_judged_by_where_they_lead() {
    let cases = [
        ("8.8.8.8", Zone::Public),
        ("2606:4700::1", Zone::Public),
        ("127.9.9.9", Zone::Loopback),
        ("::1", Zone::Loopback),
        ("::ffff:127.0.0.1", Zone::Loopback),
        ("10.1.2.3", Zone::Private),
        ("172.31.0.1", Zone::Private),
        ("192.168.1.1", Zone::Private),
        ("100.64.0.1", Zone::Private),
        ("fd12::1", Zone::Private),
        ("::ffff:10.0.0.1", Zone::Private),
        ("64:ff9b::a00:1", Zone::Private),
        ("2002:0a00:0001::1", Zone::Private),
        ("169.254.169.254", Zone::Special),
        ("::ffff:169.254.169.254", Zone::Special),
        ("64:ff9b::a9fe:a9fe", Zone::Special),
        ("fe80::1", Zone::Special),
        ("fd00:ec2::254", Zone::Special),
        ("fd00:ec2::23", Zone::Special),
        ("fd00:c1::a9fe:a9fe", Zone::Special),
        ("fd20:ce::254", Zone::Special),
        ("64:ff9b:1::a00:1", Zone::Special),
        ("64:ff9b:1:a9fe:a9:fe00::", Zone::Special),
        ("100.100.100.200", Zone::Special),
        ("0.0.0.0", Zone::Special),
        ("::", Zone::Special),
        ("255.255.255.255", Zone::Special),
        ("ff02::1", Zone::Special),
    ];
    for (address, zone) in cases {
        assert_eq!(Zone::of(address.parse().unwrap()), zone, "{address}");
    }
}

#[test]
fn odd_spellings_of_an_address_are_the_address() {
    let named = Guard::for_server("https://mcp.test/");
    let public = Guard::for_server("https://8.8.8.8/");
    for host in ["0177.0.0.1", "0x7f.1", "2130706433", "127.1", "[::ffff:7f00:1]", "localhost."] {
        let url = format!("https://{host}/x");
        for guard in [&public, &named] {
            assert_eq!(guard.check_url(&url), Err(Blocked::Address(Zone::Loopback)), "{host}");
        }
    }
    // The name's addresses are not known yet, so the second check decides.
    assert!(named.check_url("https://10.0.0.1/").is_ok());
    let private = "10.0.0.1".parse().unwrap();
    let home = ["8.8.8.8".parse().unwrap()];
    assert_eq!(named.check_address(private, &home), Err(Blocked::Address(Zone::Private)));
}

#[test]
fn a_name_that_moves_opens_nothing() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let (inside, neighbour, public) = (ip("10.0.0.1"), ip("10.0.0.2"), ip("8.8.8.8"));
    let guard = || Guard::for_server("https://mcp.test/");
    let rebound = guard();
    assert!(rebound.check_address(neighbour, &[public]).is_err());
    assert!(rebound.clone().check_address(neighbour, &[inside]).is_err(), "it was public");
    let moved = guard();
    moved.check_home(&[inside]).unwrap();
    moved.prove_home();
    assert!(moved.check_address(neighbour, &[inside]).is_ok());
    assert!(moved.check_address(neighbour, &[ip("127.0.0.1")]).is_err());
    assert!(moved.check_address(neighbour, &[inside]).is_err(), "it was elsewhere");
    let special = ip("169.254.169.254");
    assert!(guard().check_address(special, &[special]).is_err(), "not even its own");
    for url in ["http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/"] {
        assert_eq!(guard().check_url(url), Err(Blocked::NotEncrypted), "{url}");
    }
}

#[test]
fn a_name_opens_its_surroundings_once_it_has_answered_from_there() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let (inside, neighbour) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let guard = Guard::for_server("https://mcp.test/");
    guard.prove_home(); // through a proxy: it is not known from where
    for address in [inside, neighbour] {
        assert_eq!(guard.check_address(address, &[inside]), Err(Blocked::Unproven));
    }
    assert_eq!(guard.check_home(&[inside]), Ok(()), "it may be asked itself");
    guard.prove_home();
    assert_eq!(guard.check_address(neighbour, &[inside]), Ok(()));
    assert!(guard.check_home(&[ip("127.0.0.1")]).is_err(), "it moved");
    let special = ip("169.254.169.254");
    assert!(Guard::for_server("https://mcp.test/").check_home(&[special]).is_err());
    // Nothing is proven without a certificate.
    let plain = Guard::for_server("http://mcp.test/");
    let _ = plain.check_home(&[inside]);
    plain.prove_home();
    assert_eq!(plain.check_address(neighbour, &[inside]), Err(Blocked::Unproven));
}

#[test]
fn private_addresses_are_reached_only_from_their_own_zone() {
    let allows = |server: &str, address: &str| {
        Guard::for_server(server).check_address(address.parse().unwrap(), &[]).is_ok()
    };
    assert!(allows("http://localhost:1/mcp", "127.0.0.1"));
    assert!(allows("http://[::1]:1/mcp", "::1"));
    assert!(allows("https://10.0.0.1/mcp", "10.9.9.9"));
    assert!(allows("https://10.0.0.1/mcp", "8.8.8.8"));
    assert!(allows("ws://127.0.0.1:1/mcp", "127.0.0.1"));
    assert!(allows("https://169.254.1.1/mcp", "169.254.1.1"));
    assert!(!allows("http://localhost:1/mcp", "10.0.0.1"));
    assert!(!allows("http://localhost:1/mcp", "169.254.169.254"));
    assert!(!allows("https://10.0.0.1/mcp", "127.0.0.1"));
    assert!(!allows("https://169.254.1.1/mcp", "169.254.169.254"));
    assert!(!allows("not a URL", "127.0.0.1"));
}

#[test]
fn a_name_is_where_all_its_addresses_are() {
    let guard = || {
        let guard = Guard::for_server("https://mcp.intra.test:8443/mcp");
        guard.check_home(&["10.0.0.1".parse().unwrap()]).unwrap();
        guard.prove_home();
        guard
    };
    assert_eq!(guard().home(), Some(("mcp.intra.test", 8443)));
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    assert!(guard().check_address(ip("10.9.9.9"), &[ip("10.0.0.1"), ip("192.168.0.1")]).is_ok());
    assert!(guard().check_address(ip("10.9.9.9"), &[ip("10.0.0.1"), ip("8.8.8.8")]).is_err());
    assert!(guard().check_address(ip("10.9.9.9"), &[]).is_err());
}

#[test]
fn urls_must_be_encrypted_or_local_and_without_users() {
    let guard = Guard::for_server("http://localhost:1/mcp");
    assert!(guard.check_url("http://localhost:2/x").is_ok());
    assert!(guard.check_url("http://127.0.0.1:2/x").is_ok());
    assert!(guard.check_url("https://as.test/x").is_ok());
    assert_eq!(guard.check_url("http://as.test/x"), Err(Blocked::NotEncrypted));
    assert_eq!(guard.check_url("https://u@as.test/x"), Err(Blocked::Userinfo));
    assert_eq!(guard.check_url("file:///etc/passwd"), Err(Blocked::NotAUrl));
    assert_eq!(guard.check_url("ftp://as.test/"), Err(Blocked::Scheme));
    assert_eq!(guard.check_url("/relative"), Err(Blocked::NotAUrl));
}

#[test]
fn public_addresses_are_permitted_before_the_server_has_responded() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let guard = Guard::for_server("https://mcp.test/");
    assert_eq!(guard.check_address(ip("8.8.4.4"), &[ip("8.8.8.8")]), Ok(()));
    assert_eq!(guard.check_home(&[ip("8.8.8.8"), ip("8.8.4.4")]), Ok(()));
    // The server's own addresses may be in two zones, but only the public one may be contacted.
    let two = [ip("8.8.8.8"), ip("10.0.0.1")];
    assert_eq!(guard.check_home(&two), Err(Blocked::Address(Zone::Private)));
    assert_eq!(Guard::for_server("https://8.8.8.8/").check_home(&two), Err(Blocked::NotAUrl));
    assert_eq!(Guard::for_server("https://8.8.8.8/").home(), None);
}

#[test]
fn names_below_localhost_are_this_machine() {
    let guard = Guard::for_server("http://mcp.localhost:1/mcp");
    assert_eq!(guard.home(), None);
    assert!(guard.check_url("http://as.LOCALHOST/x").is_ok());
    assert!(guard.check_url("https://10.0.0.1/x").is_err());
    let public = Guard::for_server("https://8.8.8.8/");
    let refused = Err(Blocked::Address(Zone::Loopback));
    assert_eq!(public.check_url("https://as.localhost/x"), refused);
    assert_eq!(public.check_url("https://[::1]/x"), refused);
    assert_eq!(public.check_url("https://:password@as.test/x"), Err(Blocked::Userinfo));
    assert_eq!(public.check_url("http://as.test/x"), Err(Blocked::NotEncrypted));
}

#[test]
fn guards_are_equal_if_they_are_for_the_same_name_and_port() {
    let guard = Guard::for_server;
    assert_eq!(guard("https://mcp.test/a"), guard("https://mcp.test:443/b"));
    assert_ne!(guard("https://mcp.test/"), guard("https://mcp.test:8443/"));
    assert_ne!(guard("https://mcp.test/"), guard("https://other.test/"));
    assert!(format!("{:?}", guard("https://mcp.test/")).contains("mcp.test"));
}

#[test]
fn refusals_say_what_is_wrong() {
    let texts = [
        (Blocked::NotAUrl, "not a URL"),
        (Blocked::Userinfo, "user name"),
        (Blocked::Scheme, "neither https nor http"),
        (Blocked::NotEncrypted, "not encrypted"),
        (Blocked::Unproven, "has not shown to be there"),
        (Blocked::Address(Zone::Loopback), "on this machine"),
        (Blocked::Address(Zone::Private), "not public"),
    ];
    for (blocked, part) in texts {
        assert!(blocked.to_string().contains(part), "{blocked}");
    }
}
