//! `pagesieve crawl` with URLs instead of a configuration, and its output for programs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::{Command, assert::Assert};
use serde_json::Value;

use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Routes, Server},
};

/// The program in `directory`, which also has the user's configurations.
fn pagesieve_in(directory: &Path) -> Command {
    let mut command = pagesieve();
    command.current_dir(directory).env("XDG_CONFIG_HOME", directory.join("config"));
    command
}

/// What it wrote to standard error, in one line.
fn message(assert: &Assert) -> String {
    stderr(assert).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lets the program connect to loopback.
const PRIVATE: [&str; 2] = ["--set", "fetch.allow_private=['127.0.0.0/8']"];

fn site() -> Server {
    Server::start(
        Routes::new().at("*", "/", Reply::html("<p>The first page.</p><a href=/next>next</a>")).at(
            "*",
            "/next",
            Reply::html("<p>Another page, with other words.</p>"),
        ),
    )
}

#[test]
fn a_url_and_a_contact_are_enough_for_a_crawl() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.address());
    let crawled = pagesieve_in(directory.path())
        .args(["crawl", &url, "--contact", "a@b.org", "--delay", "0s", "--max-pages", "1"])
        .args(PRIVATE)
        .assert()
        .success();
    let run = format!("runs/127.0.0.1-{}", server.address().port());
    assert!(stderr(&crawled).contains(&run), "{}", stderr(&crawled));
    assert!(stdout(&crawled).contains("budget spent"));
    assert_eq!(
        fs::read_to_string(directory.path().join(run).join("pages.jsonl")).unwrap().lines().count(),
        1
    );
    let agent = format!("pagesieve/{} (a@b.org)", env!("CARGO_PKG_VERSION"));
    assert!(server.requests().iter().all(|request| request.header("user-agent") == Some(&agent)));
}

#[test]
fn a_contact_replaces_no_user_agent_that_is_configured() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let seed = format!("[[seeds]]\nurl = 'http://{}/'\n", server.address());
    let own = "ours/2.0 (+https://example.org/bot)";
    fs::write(directory.path().join("own.toml"), format!("crawl.user_agent = '{own}'\n{seed}"))
        .unwrap();
    fs::write(directory.path().join("none.toml"), seed).unwrap();
    let made = format!("pagesieve/{} (a@b.org)", env!("CARGO_PKG_VERSION"));
    for (config, agent) in [("own.toml", own), ("none.toml", &made)] {
        let before = server.requests().len();
        pagesieve_in(directory.path())
            .args(["crawl", config, "--contact", "a@b.org", "--delay", "0s"])
            .args(PRIVATE)
            .assert()
            .success();
        let requests = &server.requests()[before..];
        assert!(!requests.is_empty());
        assert!(requests.iter().all(|request| request.header("user-agent") == Some(agent)));
    }
}

#[test]
fn without_a_terminal_a_crawl_of_a_url_needs_a_contact() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.address());
    let refused = pagesieve_in(directory.path()).args(["crawl", &url]).assert().code(2).stdout("");
    assert!(message(&refused).contains("--contact you@example.org"), "{}", message(&refused));
    assert!(!directory.path().join("runs").exists());
    // A contact that was given earlier.
    fs::create_dir_all(directory.path().join("config/pagesieve")).unwrap();
    fs::write(directory.path().join("config/pagesieve/contact"), "https://b.org/bot\n").unwrap();
    let mut crawl = pagesieve_in(directory.path());
    crawl.args(["crawl", &url, "--delay", "0s"]).args(PRIVATE).assert().success();
    assert!(server.requests()[0].header("user-agent").unwrap().ends_with(" (+https://b.org/bot)"));
}

#[test]
fn what_is_neither_a_configuration_nor_only_urls_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (targets, why) in [
        (&["http://a.test/", "b.toml"][..], "only URLs"),
        (&["a.toml", "b.toml"], "only URLs"),
        (&["http://"], "is not a URL"),
        (&["a.test"], "begins with https://"),
        (&["127.0.0.1:8111"], "did you mean http://127.0.0.1:8111/?"),
        (&["docs.example.org"], "did you mean https://docs.example.org/?"),
        (&["http://a.test/", "--contact", "nobody"], "email address"),
    ] {
        let refused = pagesieve_in(directory.path()).arg("crawl").args(targets).assert().code(2);
        assert!(message(&refused).contains(why), "{targets:?}: {}", message(&refused));
    }
}

#[test]
fn the_summary_for_programs_is_one_document() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.address());
    let mut crawl = pagesieve_in(directory.path());
    crawl
        .args(["crawl", &url, "--contact=a@b.org", "--delay=0s", "--json", "--out=run"])
        .args(PRIVATE);
    let summary: Value = serde_json::from_str(&stdout(&crawl.assert().success())).unwrap();
    let report = fs::read(directory.path().join("run/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(summary["directory"], "run");
    for field in ["name", "end", "counts", "warnings", "started", "finished", "seconds"] {
        assert_eq!(summary[field], report[field], "{field}");
    }
    assert_eq!(summary["counts"]["unique"], 2);
}

#[test]
fn with_json_logs_standard_error_has_nothing_else() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.address());
    let last = |args: &[&str], code| {
        let mut command = pagesieve_in(directory.path());
        let ended =
            command.args(["--log-format", "json"]).args(args).args(PRIVATE).assert().code(code);
        let lines = stderr(&ended);
        let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
        lines.next_back().unwrap()
    };
    let line = last(&["crawl", &url, "--contact=a@b.org", "--delay=0s", "--progress=plain"], 0);
    assert_eq!(line["level"], "INFO");
    let line = last(&["crawl", &url], 2);
    assert_eq!(line["level"], "ERROR");
    assert!(line["fields"]["help"].as_str().unwrap().contains("--contact"), "{line}");
    let line = last(&["crawl", &url, "--set", "crawl.max_dept=3"], 2);
    assert!(line["fields"]["message"].as_str().unwrap().contains("max_dept"), "{line}");
    let line = last(&["crawl", &url, "--nothing"], 2);
    assert!(line["fields"]["message"].as_str().unwrap().contains("--nothing"), "{line}");
}

#[test]
fn a_start_says_that_a_run_is_continued_and_what_is_left_of_its_budget() {
    let (server, directory) = (site(), tempfile::tempdir().unwrap());
    let crawl = |path: &str, pages: &str| {
        let url = format!("http://{}{path}", server.address());
        let mut crawl = pagesieve_in(directory.path());
        crawl.args(["crawl", &url, "--contact=a@b.org", "--delay=0s", "--max-pages", pages]);
        message(&crawl.args(PRIVATE).assert().success())
    };
    assert!(!crawl("/", "1").contains("continuing"));
    let spent = crawl("/", "1");
    assert!(spent.contains("1 page fetched, 1 queued, the budget of 1 page is spent"), "{spent}");
    assert!(spent.contains("--max-pages") && spent.contains("--fresh"), "{spent}");
    assert!(!spent.contains("had the seed"), "{spent}");
    let more = crawl("/next", "10");
    assert!(!more.contains("is finished"), "{more}");
    assert!(more.contains("up to 9 more pages by crawl.max_pages = 10"), "{more}");
    let seed = format!("the last start had the seed http://{}/:", server.address());
    assert!(more.contains(&seed), "{more}");
    let finished = crawl("/next", "10");
    assert!(finished.contains("is finished: 2 pages fetched"), "{finished}");
    assert!(finished.contains("--revisit") && !finished.contains("continuing"), "{finished}");
}

#[test]
fn the_options_of_a_crawl_of_urls_narrow_it() {
    let pages: String = ["/docs/a", "/docs/b.html?x", "/blog/c"]
        .map(|path| format!("<a href='{path}'>{path}</a> "))
        .concat();
    let mut routes = Routes::new()
        .at("*", "/docs/", Reply::html(format!("<p>The start of the manual.</p>{pages}")))
        .at(
            "*",
            "/docs/a",
            Reply::html("<h1>Part A</h1><p>A part of it.</p><a href=/docs/deep>deep</a>"),
        );
    for path in ["/docs/b.html?x", "/blog/c", "/docs/deep"] {
        routes = routes.at("*", path, Reply::html(format!("<p>The page {path}.</p>")));
    }
    let (server, directory) = (Server::start(routes), tempfile::tempdir().unwrap());
    let url = format!("http://{}/docs/", server.address());
    let crawl = |arguments: &[&str]| {
        let mut command = pagesieve_in(directory.path());
        command.args(["crawl", "--delay", "0s", "--contact", "a@b.org", "--fresh", "--yes"]);
        command.args(PRIVATE).args(arguments);
        command
    };
    let fetched = |arguments: &[&str]| {
        let before = server.requests().len();
        crawl(arguments).assert().success();
        let requests = server.requests();
        let paths = requests[before..].iter().map(|request| request.path.clone());
        let mut paths: Vec<String> = paths.filter(|path| path != "/robots.txt").collect();
        paths.sort();
        paths
    };
    assert_eq!(fetched(&[&url, "--scope", "prefix"]).len(), 4);
    assert_eq!(fetched(&[&url, "--max-depth", "0"]), ["/docs/"]);
    assert_eq!(
        fetched(&[&url, "--include", "/docs/", "--exclude", "[?]", "--exclude", "deep$"]),
        ["/docs/", "/docs/a"]
    );
    let list = directory.path().join("urls.txt");
    fs::write(&list, format!("# pages\n{url}a\n{url}deep\n")).unwrap();
    assert_eq!(fetched(&[list.to_str().unwrap(), "--max-depth", "0"]), ["/docs/a", "/docs/deep"]);
    let before = server.requests().len();
    crawl(&["-", "--max-depth", "0"]).write_stdin(format!("{url}a\n\n{url}\n")).assert().success();
    assert_eq!(server.requests().len() - before, 3, "robots.txt too");
    crawl(&["-"]).write_stdin("# nothing\n").assert().code(2);
    let bad = crawl(&["-"]).write_stdin(format!("{url}\nno url\n")).assert().code(2);
    assert!(
        message(&bad)
            .contains("standard input: 1 bad line, the first: cannot read \"no url\" in line 2")
    );
    crawl(&["docs.toml", "--scope", "any"]).assert().code(2);

    let run = format!("runs/127.0.0.1-{}", server.address().port());
    let csv = pagesieve_in(directory.path()).args(["pages", &run, "--csv"]).assert().success();
    let csv = stdout(&csv);
    let rows: Vec<_> = csv.lines().collect();
    assert!(rows[0].starts_with("url,verdict,match,similarity,status,title,heading,"), "{csv}");
    assert_eq!(rows.len(), 3);
    assert!(csv.contains(&format!("{url}a,unique,,,200,,Part A,")), "{csv}");
    let json = pagesieve_in(directory.path()).args(["pages", &run]).assert().success();
    let first: Value = serde_json::from_str(stdout(&json).lines().next().unwrap()).unwrap();
    assert!(first["size"].as_u64() > Some(20) && first["time"].is_u64(), "{first}");
}

/// The files below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn headers_and_logins_go_to_the_hosts_of_the_seeds_only_and_into_no_output() {
    let (other, directory) = (site(), tempfile::tempdir().unwrap());
    let link = format!("<p>A page.</p><a href='http://{}/'>other</a>", other.address());
    let server = Server::start(Routes::new().at("*", "/", Reply::html(link)));
    let url = format!("http://{}/", server.address());
    let access = format!("fetch.access=[{{ url = '{url}', user = 'me', password = 'PASSWORD' }}]");
    let config = ["--set", "store.warc=true", "--set", &access, "--scope", "any"];
    pagesieve_in(directory.path())
        .args(["crawl", &url, "--delay", "0s", "--user-agent", "bot/2 (+http://b.org)"])
        .args(["--header", "X-Key: SECRET", "--log", "trace"])
        .args(PRIVATE)
        .args(config)
        .assert()
        .success();
    for request in server.requests() {
        assert_eq!(request.header("x-key"), Some("SECRET"));
        assert_eq!(request.header("authorization"), Some("Basic bWU6UEFTU1dPUkQ="));
        assert_eq!(request.header("user-agent"), Some("bot/2 (+http://b.org)"));
    }
    assert!(!other.requests().is_empty());
    for request in other.requests() {
        assert_eq!((request.header("x-key"), request.header("authorization")), (None, None));
    }
    let run = directory.path().join(format!("runs/127.0.0.1-{}", server.address().port()));
    for file in files_below(&run) {
        let bytes = fs::read(&file).unwrap();
        let text = if file.extension().is_some_and(|end| end == "gz") {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&*bytes), &mut text)
                .unwrap();
            text
        } else {
            bytes
        };
        for secret in ["SECRET", "PASSWORD", "bWU6UEFTU1dPUkQ="] {
            let is_there = text.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} in {}", file.display());
        }
    }
}

#[test]
fn a_crawl_that_judges_no_page_says_so_first_and_fails() {
    let replies = [
        ("a page that is missing", Reply::new(404, ""), "1 seed gave no page: ", "(status 404)"),
        (
            "a PDF",
            Reply::new(200, "%PDF-1.7").header("Content-Type", "application/pdf"),
            "No page was judged",
            "content_type",
        ),
    ];
    for (what, reply, begin, why) in replies {
        let server = Server::start(Routes::new().at("*", "/", reply));
        let directory = tempfile::tempdir().unwrap();
        let url = format!("http://{}/", server.address());
        let crawled = pagesieve_in(directory.path())
            .args(["crawl", &url, "--contact", "a@b.org", "--delay", "0s"])
            .args(PRIVATE)
            .assert()
            .code(1);
        let summary = stdout(&crawled);
        assert!(summary.starts_with(&format!("warning: {begin}")), "{what}: {summary}");
        assert!(summary.contains(why), "{what}: {summary}");
        assert_eq!(summary.matches("warning: ").count(), 1, "{what}: {summary}");
        assert!(
            summary.contains("ended without a page") && !summary.contains(": done"),
            "{what}: {summary}"
        );
    }
}

#[test]
fn check_warns_of_seeds_and_sitemaps_that_their_own_patterns_exclude() {
    let directory = tempfile::tempdir().unwrap();
    let warnings = |seed: &str| {
        let toml = format!("[crawl]\nuser_agent = 'bot/1.0 (+a@b.org)'\n[[seeds]]\n{seed}\n");
        fs::write(directory.path().join("docs.toml"), toml).unwrap();
        let mut check = pagesieve_in(directory.path());
        message(&check.args(["check", "docs.toml", "--offline"]).assert().success())
    };
    let excluded = "would not be fetched: its `exclude` matches it";
    let sitemap = "sitemap = 'https://example.org/sitemap.xml'";
    assert_eq!(
        warnings(&format!("{sitemap}\nexclude = ['sitemap']")),
        format!("warning: the sitemap https://example.org/sitemap.xml {excluded}")
    );
    assert_eq!(warnings(&format!("{sitemap}\nexclude = ['/docs/']")), "");
    assert_eq!(
        warnings("url = 'https://example.org/docs/'\nexclude = ['/docs/']"),
        format!("warning: the seed https://example.org/docs/ {excluded}")
    );
}
