//! Server-side request forgery: every URL that a foreign party supplies, with every forbidden target.
//!
//! Connections are checked and counted; none leaves this machine.

mod documents;
mod links;
mod pages;
mod skills;
mod trap;

/// Targets that a server on the internet must not make us connect to. `PORT` is a listener of the test.
const FORBIDDEN: &[&str] = &[
    // This machine, in every notation.
    "https://127.0.0.1:PORT/x",
    "https://localhost:PORT/x",
    "https://LOCALHOST.:PORT/x",
    "https://sub.localhost:PORT/x",
    "https://2130706433:PORT/x",
    "https://0x7f.1:PORT/x",
    "https://0177.0.0.1:PORT/x",
    "https://127.1:PORT/x",
    "https://[::1]:PORT/x",
    "https://[0:0:0:0:0:ffff:127.0.0.1]:PORT/x",
    "https://[::ffff:7f00:1]:PORT/x",
    "https://here.test:PORT/x",
    // Private networks.
    "https://10.0.0.1/x",
    "https://172.16.0.1/x",
    "https://192.168.1.1/x",
    "https://100.64.0.1/x",
    "https://3232235777/x",
    "https://[fd12::1]/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[64:ff9b::a00:1]/x",
    "https://inside.test/x",
    "https://both.test/x",
    // Link-local addresses and the metadata services of clouds.
    "https://169.254.169.254/latest",
    "https://2852039166/latest",
    "https://[fe80::1]/x",
    "https://[::ffff:169.254.169.254]/x",
    "https://[64:ff9b::a9fe:a9fe]/x",
    "https://[fd00:ec2::254]/x",
    "https://100.100.100.200/x",
    "https://168.63.129.16/x",
    "https://metadata.test/x",
    "https://0.0.0.0/x",
    "https://[::]/x",
    "https://255.255.255.255/x",
    // Not encrypted, not HTTP, or with a user.
    "http://other.test/x",
    "http://127.0.0.1:PORT/x",
    "http://169.254.169.254/latest",
    "https://user:password@other.test/x",
    "https://other.test@10.0.0.1/x",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "ftp://other.test/x",
    "gopher://127.0.0.1:PORT/x",
    "data:application/json,{}",
    "javascript:alert(1)",
    "//10.0.0.1/x",
    "",
];
