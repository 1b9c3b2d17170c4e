//! `pagesieve crawl --live`: the page, its events, the metrics, and who may use them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    serve::names_of_the_board,
    server::{Reply, Routes, Server},
};

/// A site with far more pages than a test waits for.
fn endless() -> Server {
    let page = |number: u32| {
        let words: String = (0..60).map(|word| format!("w{number}x{word} ")).collect();
        let next = number + 1;
        Reply::html(format!("<title>Page {number}</title><p>{words}<a href=/{next}>next</a>"))
    };
    let routes = (1..5_000).fold(Routes::new().at("*", "/", page(0)), |routes, number| {
        routes.at("*", &format!("/{number}"), page(number))
    });
    Server::start(routes)
}

struct Crawl {
    child: Child,
    address: SocketAddr,
}

impl Crawl {
    fn start(site: &Server, out: &Path, token: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagesieve"));
        command
            .args(["crawl", site.url("/").as_str(), "--contact", "a@b.org", "--delay", "20ms"])
            .args(["--set", "fetch.allow_private=['127.0.0.0/8']", "--live=127.0.0.1:0", "--out"])
            .arg(out)
            .env_remove("PAGESIEVE_TOKEN")
            .envs(token.map(|token| ("PAGESIEVE_TOKEN", token)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            line.unwrap().strip_prefix("live page: http://")?.strip_suffix('/')?.parse().ok()
        });
        thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.unwrap() }
    }

    fn connect(&self, head: &str, headers: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(
            stream,
            "{head} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: 0\r\n\r\n"
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// The whole answer.
    fn send(&self, head: &str, headers: &str) -> String {
        let mut answer = String::new();
        self.connect(head, headers).read_to_string(&mut answer).unwrap();
        answer
    }

    /// The next event of a stream.
    fn event(stream: &mut BufReader<TcpStream>) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

const HERE: &str = "Host: 127.0.0.1:8041\r\n";

#[test]
fn the_page_shows_the_crawl_and_nobody_without_a_token_stops_it() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let crawl = Crawl::start(&site, &directory.path().join("run"), None);
    let page = crawl.send("GET /", HERE);
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(page.contains("<script src=\"live.js\" defer>"), "{page}");
    for (path, kind) in [("/live.js", "text/javascript"), ("/report.css", "text/css")] {
        assert!(crawl.send(&format!("GET {path}"), HERE).contains(kind), "{path}");
    }
    let mut events = crawl.connect("GET /events", HERE);
    let shown = loop {
        let event = Crawl::event(&mut events);
        if event["judged"].as_array().is_some_and(|judged| judged.len() > 2) {
            break event;
        }
    };
    assert!(shown["counts"]["fetched"].as_u64().unwrap() > 2, "{shown}");
    assert_eq!(shown["judged"][0]["verdict"], "unique");
    let metrics = crawl.send("GET /metrics", HERE);
    for line in [
        "# TYPE pagesieve_crawl_pages_judged_total counter",
        "pagesieve_crawl_pages_judged_total{verdict=\"unique\"} ",
        "pagesieve_crawl_urls_queued ",
        "pagesieve_crawl_pages_bytes_total ",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    for name in names_of_the_board().filter(|name| name.starts_with("pagesieve_crawl_")) {
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name} is not in {metrics}");
    }
    assert!(crawl.send("POST /stop", HERE).starts_with("HTTP/1.1 403"));
    // A name that an attacker lets lead to this machine.
    assert!(crawl.send("GET /", "Host: evil.test\r\n").starts_with("HTTP/1.1 403"));

    #[cfg(unix)]
    {
        let pid = crawl.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        // A page is open.
        assert_eq!(crawl.end().code(), Some(143));
        drop(events);
    }
}

#[test]
fn who_has_the_token_pauses_resumes_and_stops_the_crawl() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let crawl = Crawl::start(&site, &directory.path().join("run"), Some("secret"));
    assert!(crawl.send("GET /", HERE).starts_with("HTTP/1.1 401"));
    assert!(crawl.send("POST /stop", HERE).starts_with("HTTP/1.1 401"));
    let login = crawl.send("GET /?token=secret", HERE);
    assert!(login.contains("set-cookie: pagesieve=secret; HttpOnly; SameSite=Strict"), "{login}");
    let cookie = format!("{HERE}Cookie: other=1; pagesieve=secret\r\n");
    assert!(crawl.send("GET /", &cookie).starts_with("HTTP/1.1 200"));
    let bearer = format!("{HERE}Authorization: Bearer secret\r\n");
    let mut events = crawl.connect("GET /events", &bearer);
    while Crawl::event(&mut events)["counts"]["fetched"].as_u64().unwrap() < 3 {}

    assert!(crawl.send("POST /pause", &bearer).starts_with("HTTP/1.1 204"));
    while Crawl::event(&mut events)["paused"] != true {}
    // What was in flight ends.
    while Crawl::event(&mut events)["in_flight"] != 0 {}
    let paused = site.requests().len();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(site.requests().len(), paused);

    assert!(crawl.send("POST /resume", &bearer).starts_with("HTTP/1.1 204"));
    while site.requests().len() <= paused {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(crawl.send("POST /nothing", &bearer).starts_with("HTTP/1.1 404"));
    assert!(crawl.send("POST /stop", &bearer).starts_with("HTTP/1.1 204"));
    assert_eq!(crawl.end().code(), Some(130));
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let refused = crate::cli::pagesieve()
        .current_dir(directory.path())
        .env_remove("PAGESIEVE_TOKEN")
        .args(["crawl", "http://a.test/", "--contact", "a@b.org", "--live=0.0.0.0:0"])
        .assert()
        .code(2);
    let message = crate::cli::stderr(&refused);
    assert!(
        message.contains("could see the crawl") && message.contains("PAGESIEVE_TOKEN"),
        "{message}"
    );
}
