//! Spans that are sent to a collector (feature `otlp`). A body of OTLP has texts as they are, so that it is searched for them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use crate::server::{Reply, Routes, Server};

/// A collector: its URL, and what it was sent.
fn collector() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sent = Arc::<Mutex<Vec<u8>>>::default();
    let all = Arc::clone(&sent);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            assert!(head.starts_with("POST /v1/traces "), "{head}");
            for line in head.to_ascii_lowercase().lines() {
                length =
                    line.strip_prefix("content-length: ").map_or(length, |it| it.parse().unwrap());
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            all.lock().unwrap().extend(body);
            let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, sent)
}

fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|it| it == text.as_bytes())
}

#[test]
fn the_way_of_a_page_is_sent_to_the_collector() {
    let page = Reply::html("<title>Tide</title><p>The tide is high today.".to_owned());
    let site = Server::start(Routes::new().at("*", "/", page));
    let (directory, (url, sent)) = (tempfile::tempdir().unwrap(), collector());
    let status = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
        .args(["crawl", site.url("/").as_str(), "--contact", "a@b.org", "--delay", "1ms"])
        .args(["--set", "fetch.allow_private=['127.0.0.0/8']", "--out"])
        .arg(directory.path().join("run"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env("OTEL_SERVICE_NAME", "a crawl")
        .status();
    assert!(status.unwrap().success());
    let sent = sent.lock().unwrap();
    let texts =
        ["a crawl", "page", "fetch", "parse", "judge", "commit", "unique", site.url("/").as_str()]
            .map(str::to_owned);
    for text in texts {
        assert!(has(&sent, &text), "{text} was not sent");
    }
}

#[test]
fn a_collector_that_is_no_url_is_refused() {
    let refused = crate::cli::pagesieve()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "::")
        .args(["extract", "-"])
        .assert()
        .code(2);
    let message = crate::cli::stderr(&refused);
    assert!(message.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{message}");
}
