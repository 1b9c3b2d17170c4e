//! `pagesieve crawl` with URLs instead of a configuration, and its output for programs.

use std::{fs, path::Path};

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
    assert!(more.contains("up to 9 more pages by crawl.max_pages = 10"), "{more}");
    let seed = format!("the last start had the seed http://{}/:", server.address());
    assert!(more.contains(&seed), "{more}");
}
