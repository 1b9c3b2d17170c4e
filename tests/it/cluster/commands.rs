//! The commands that use a shared window or crawl.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use assert_cmd::assert::Assert;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::postgres::{Postgres, postgres};
use crate::{
    cli::{pagesieve, stderr, stdout},
    tls::Authority,
};

/// A service that shares a window. It is killed when it is dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(state: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .args(["serve", "--state", state, "--listen", "127.0.0.1:0"])
            .args(["--set", "dedup.memory=64 MiB", "--set", "dedup.window.entries=100000"])
            .env_remove("PAGESIEVE_TOKEN")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let address = line.strip_prefix("listening on http://").expect(&line).to_owned();
        let service = Self { child, address };
        while !service.ask("GET", "/readyz", "").contains(" 200 ") {}
        service
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn judge(&self, id: &str, text: &str) -> Value {
        let body = serde_json::json!({ "id": id, "text": text }).to_string();
        let answer = self.ask("POST", "/v1/judge", &body);
        let (_, json) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn message(assert: &Assert) -> String {
    stderr(assert).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn services_share_a_window() {
    let Some(server) = postgres() else { return };
    let address = server.address("services");
    let _ = pagesieve().args(["cluster", "drop", &address, "--yes"]).assert();
    let (one, other) = (Service::start(&address), Service::start(&address));
    let text = crate::crawl::site::text("services", 60);
    assert_eq!(one.judge("a", &text)["verdict"], "unique");
    let again = other.judge("b", &text.to_uppercase());
    assert_eq!((&again["verdict"], &again["match"]["id"]), (&"exact".into(), &"a".into()));
    assert_eq!(other.judge("c", "Other words.")["verdict"], "unique");
    let metrics = other.ask("GET", "/metrics", "");
    let has = |line: &str| assert!(metrics.lines().any(|it| it == line), "{metrics}");
    has("pagesieve_claims 2");
    has("pagesieve_claims_repeated 1");
    let status = pagesieve().args(["cluster", "status", &address]).assert().success();
    let status: Value = serde_json::from_str(&stdout(&status)).unwrap();
    assert_eq!(
        (&status["generations"][0]["records"], &status["links_open"]),
        (&2.into(), &0.into())
    );
    let dropped = pagesieve().args(["cluster", "drop", &address]).assert().code(2);
    assert!(message(&dropped).contains("--yes"), "{}", message(&dropped));
}

#[test]
fn an_address_says_what_is_wrong_with_it() {
    let refused = |address: &str, code| {
        message(&pagesieve().args(["cluster", "status", address]).assert().code(code))
    };
    let with_password = refused("postgres://me:secret@127.0.0.1/b", 2);
    assert!(with_password.contains("PGPASSWORD") && !with_password.contains("secret"));
    assert!(refused("http://127.0.0.1/b", 2).contains("postgres://USER@HOST"));
    let Some(server) = postgres() else { return };
    assert!(refused(&server.address("nothing"), 2).contains("there is no pagesieve_nothing"));
    let other = refused(&server.address("x").replace("postgres#", "none#"), 2);
    assert!(other.contains("does not exist"), "{other}");
}

#[test]
fn a_server_is_verified_where_tls_is_wanted() {
    let Some(server) = Postgres::start() else { return };
    let pem = |kind: &str, bytes: &[u8]| {
        let text = BASE64_STANDARD.encode(bytes);
        format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
    };
    let (authority, other) = (Authority::new(), Authority::new());
    let (chain, key) = authority.identity("127.0.0.1");
    let chain: String = chain.iter().map(|it| pem("CERTIFICATE", it)).collect();
    server.secure(&chain, &pem("PRIVATE KEY", key.secret_der()));
    let address = server.address("secure");
    let ask = |address: &str, authority: &Authority| {
        pagesieve()
            .args(["cluster", "status", address])
            .env("PGSSLROOTCERT", authority.file())
            .assert()
            .code(2)
    };
    let verified = address.replace("postgres#", "postgres?sslmode=verify-full#");
    let status = ask(&verified, &authority);
    assert!(message(&status).contains("there is no pagesieve_secure"), "{}", message(&status));
    let unknown = message(&ask(&verified, &other));
    assert!(unknown.contains("certificate"), "{unknown}");
    // This certificate is for the address, not for the name.
    let named = message(&ask(&verified.replace("127.0.0.1", "localhost"), &authority));
    assert!(named.contains("certificate") && named.contains("localhost"), "{named}");
}
