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
    serve::{labels_of_the_board, names_of_the_board},
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
            .stdout(Stdio::piped())
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

    fn end(self) -> ExitStatus {
        self.child.wait_with_output().unwrap().status
    }

    /// What a crawl prints that is stopped while it is paused.
    #[cfg(unix)]
    fn summary(self) -> String {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        String::from_utf8(self.child.wait_with_output().unwrap().stdout).unwrap()
    }
}

/// The number after a text, with its commas removed.
fn number_after(text: &str, before: &str) -> u64 {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    let digits = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == ',');
    digits.filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// A site of unique pages, each with an equal and a nearly equal copy and a broken link.
fn varied() -> Server {
    let words = |number: u32| (0..200).map(|word| format!("w{number}x{word} ")).collect::<String>();
    let page = |number: u32, more: &str| {
        let links = ["", "equal-", "near-", "missing-"]
            .map(|kind| format!("<a href=/{kind}{}>x</a>", number + 1));
        Reply::html(format!(
            "<title>{number}</title><p>{}{more}</p>{}",
            words(number),
            links.concat()
        ))
    };
    let routes = (1..3_000).fold(Routes::new().at("*", "/", page(0, "")), |routes, number| {
        let at = |kind: &str| format!("/{kind}{number}");
        routes.at("*", &at(""), page(number, "")).at("*", &at("equal-"), page(number, "")).at(
            "*",
            &at("near-"),
            page(number, "and one more"),
        )
    });
    Server::start(routes)
}

#[cfg(unix)]
#[test]
fn the_terminal_the_report_the_page_and_the_metrics_have_the_same_counts() {
    let (site, directory) = (varied(), tempfile::tempdir().unwrap());
    let run = directory.path().join("run");
    let crawl = Crawl::start(&site, &run, Some("secret"));
    let bearer = format!("{HERE}Authorization: Bearer secret\r\n");
    let mut events = crawl.connect("GET /events", &bearer);
    while Crawl::event(&mut events)["counts"]["near"].as_u64().unwrap() < 3 {}
    assert!(crawl.send("POST /pause", &bearer).starts_with("HTTP/1.1 204"));
    let shown = loop {
        let event = Crawl::event(&mut events);
        if event["paused"] == true && event["in_flight"] == 0 {
            break event;
        }
    };
    let metrics = crawl.send("GET /metrics", &bearer);
    let summary = crawl.summary();
    let report = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    let (json, html) =
        (serde_json::from_str::<Value>(&report("report.json")).unwrap(), report("report.html"));
    let (counts, last) = (&json["counts"], json["series"].as_array().unwrap().last().unwrap());
    let exact =
        counts["exact"]["body"].as_u64().unwrap() + counts["exact"]["text"].as_u64().unwrap();
    let judged = |verdict: &str| format!("pages_judged_total{{verdict=\"{verdict}\"}}");
    for (name, reported, line, card, metric) in [
        (
            "fetched",
            counts["fetched"].as_u64().unwrap(),
            "  fetched ",
            "Fetched",
            "pages_fetched_total".to_owned(),
        ),
        ("unique", counts["unique"].as_u64().unwrap(), "  unique ", "Unique", judged("unique")),
        ("exact", exact, "  exact duplicates ", "Exact duplicates", judged("exact")),
        (
            "near",
            counts["near"].as_u64().unwrap(),
            "  near duplicates ",
            "Near duplicates",
            judged("near"),
        ),
    ] {
        assert!(reported > 2, "{name}: {counts}");
        let all = [
            shown["counts"][name].as_u64().unwrap(),
            last[name].as_u64().unwrap(),
            number_after(&summary, line),
            number_after(&html, &format!("<dt>{card}</dt><dd>")),
            number_after(&metrics, &format!("\npagesieve_crawl_{metric}")),
        ];
        assert_eq!(
            all, [reported; 5],
            "{name} on the page, in the series, terminal, report.html and metrics"
        );
    }
    for (name, reason, metric) in
        [("failed", "status", "urls_failed_total"), ("queued", "pending", "urls_queued")]
    {
        let reported = counts["skipped"][reason].as_u64().unwrap();
        let all = [
            shown["counts"][name].as_u64().unwrap(),
            last[name].as_u64().unwrap(),
            number_after(&summary, &format!("    {reason} ")),
            number_after(&metrics, &format!("\npagesieve_crawl_{metric}")),
        ];
        assert_eq!(all, [reported; 4], "{name} on the page, in the series, terminal and metrics");
    }
}

const HERE: &str = "Host: 127.0.0.1:8041\r\n";

#[test]
fn the_page_shows_the_crawl_and_nobody_without_a_token_stops_it() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let crawl = Crawl::start(&site, &directory.path().join("run"), None);
    let page = crawl.send("GET /", HERE);
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(page.contains("script-src 'sha256-"), "{page}");
    // Without a script it is loaded again and again.
    assert!(page.contains("<noscript><meta http-equiv=\"refresh\""), "{page}");
    assert!(number_after(&page, "<dd id=\"fetched\">") < 5_000, "{page}");
    let mut events = crawl.connect("GET /events", HERE);
    let shown = loop {
        let event = Crawl::event(&mut events);
        if event["judged"].as_array().is_some_and(|judged| judged.len() > 2) {
            break event;
        }
    };
    assert!(shown["counts"]["fetched"].as_u64().unwrap() > 2, "{shown}");
    assert_eq!(shown["judged"][0]["verdict"], "unique");
    let report = crawl.send("GET /report", HERE);
    assert!(report.contains(">running</span>") && report.contains("<h2>Hosts</h2>"), "{report}");
    let metrics = crawl.send("GET /metrics", HERE);
    for line in [
        "# TYPE pagesieve_crawl_pages_judged_total counter",
        "pagesieve_crawl_pages_judged_total{verdict=\"unique\"} ",
        "pagesieve_crawl_urls_queued ",
        "pagesieve_crawl_urls_suspended 0",
        "pagesieve_crawl_pages_bytes_total ",
        "pagesieve_crawl_urls_deferred 0",
        "pagesieve_crawl_window_documents ",
        "pagesieve_crawl_memory_bytes ",
        "pagesieve_crawl_cpu_seconds_total ",
        "pagesieve_crawl_alarms_total{kind=\"mirror\"} 0",
        "pagesieve_crawl_alarms_total{kind=\"unrepresented\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    for name in names_of_the_board().filter(|name| name.starts_with("pagesieve_crawl_")) {
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name} is not in {metrics}");
    }
    for label in labels_of_the_board() {
        assert!(metrics.contains(&format!("{label}=\"")), "no metric has a label {label}");
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
fn an_open_page_is_sent_the_end_and_where_the_report_is() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let run = directory.path().join("run");
    let crawl = Crawl::start(&site, &run, Some("secret"));
    let bearer = format!("{HERE}Authorization: Bearer secret\r\n");
    let mut events = crawl.connect("GET /events", &bearer);
    while Crawl::event(&mut events)["counts"]["fetched"].as_u64().unwrap() < 3 {}
    assert!(crawl.send("POST /stop", &bearer).starts_with("HTTP/1.1 204"));
    let last = loop {
        let event = Crawl::event(&mut events);
        if !event["end"].is_null() {
            break event;
        }
    };
    assert_eq!((&last["phase"], &last["controlled"]), (&"interrupted".into(), &false.into()));
    let report = run.join("report.html");
    assert_eq!(last["end"], format!("report: {}", report.display()));
    let json: Value =
        serde_json::from_slice(&std::fs::read(run.join("report.json")).unwrap()).unwrap();
    for name in ["fetched", "unique", "near"] {
        assert_eq!(last["counts"][name], json["counts"][name], "{name}");
    }
    assert_eq!(last["counts"]["queued"], json["counts"]["skipped"]["pending"]);
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("data:"), "{rest}");
    assert_eq!(crawl.end().code(), Some(130));
}

#[test]
fn a_directory_in_use_is_not_said_to_be_continued() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let run = directory.path().join("run");
    let mut crawl = Crawl::start(&site, &run, None);
    let mut events = crawl.connect("GET /events", HERE);
    while Crawl::event(&mut events)["counts"]["fetched"].as_u64().unwrap() < 3 {}
    let refused = crate::cli::pagesieve()
        .args(["crawl", site.url("/").as_str(), "--contact", "a@b.org", "--out"])
        .arg(&run)
        .args(["--set", "fetch.allow_private=['127.0.0.0/8']"])
        .assert()
        .failure();
    let message = crate::cli::stderr(&refused).replace('│', " ");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("in use by another process"), "{message}");
    assert!(!message.contains("continuing"), "{message}");
    crawl.child.kill().unwrap();
    crawl.child.wait().unwrap();
}

#[test]
fn a_run_that_is_going_on_is_verified_as_a_copy() {
    let (site, directory) = (endless(), tempfile::tempdir().unwrap());
    let mut crawl = Crawl::start(&site, &directory.path().join("run"), None);
    let mut events = crawl.connect("GET /events", HERE);
    while Crawl::event(&mut events)["counts"]["fetched"].as_u64().unwrap() < 3 {}
    let call = |arguments: &[&str]| {
        crate::cli::pagesieve().current_dir(directory.path()).args(arguments).assert()
    };
    let message = crate::cli::stderr(&call(&["verify", "run"]).code(1).stdout(""));
    let message = message.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        message.contains("another process writes to run")
            && message.contains("`pagesieve backup run COPY`, then `pagesieve verify COPY`"),
        "{message}"
    );
    call(&["backup", "run", "COPY"]).success();
    call(&["verify", "COPY"]).success();
    crawl.child.kill().unwrap();
    crawl.child.wait().unwrap();
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
