//! Hosts that accept connections and never answer, and a process with few file descriptors.
#![allow(clippy::print_stdout, reason = "the figures are for whoever runs the measurement")]

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use pagesieve::{
    crawl::{self, Control, Plan, Progress},
    report::Report,
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::site::{self, page};
use crate::server::{Reply, Request, Server};

const GOOD: usize = 20;
const PAGES: usize = 400;

/// The address of a server that accepts every connection and never answers.
fn silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut held = Vec::new();
        held.extend(listener.incoming());
    });
    address
}

fn reply(request: &Request, _: usize) -> Reply {
    let links: Vec<_> = (1..PAGES).map(|n| format!("/{n}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    match &*request.path {
        "/" => page(&request.host, &links),
        "/robots.txt" => Reply::text(""),
        path => page(&format!("{}{path}", request.host), &[]),
    }
}

/// A plan to crawl good hosts, and this many silent ones whose seeds stand between theirs.
fn plan(server: &Server, directory: &TempDir, hosts: usize) -> Plan {
    let (silent_at, every) = (silent(), hosts / GOOD + 1);
    let named = (0..GOOD * every).map(|place| match place % every {
        0 => (format!("good{place}.test"), server.address()),
        _ => (format!("silent{place}.test"), silent_at),
    });
    let resolve: BTreeMap<_, _> = named.collect();
    let seeds: Vec<_> = resolve.keys().map(|name| format!("http://{name}/")).collect();
    let mut plan = site::plan(server, directory.path(), &["none.test"], &seeds);
    plan.fetch.resolve = resolve;
    plan
}

/// Runs until all good pages are fetched. Returns the report, and how many were fetched a second.
fn rate(hosts: usize) -> (Report, f64) {
    let (server, directory) = (Server::answering(reply), TempDir::new().unwrap());
    let (progress, mut watched) = watch::channel(Progress::default());
    let stop = CancellationToken::new();
    let control = Control::default().with_stop(stop.clone()).with_progress(progress);
    let all = u32::try_from(GOOD * PAGES).unwrap();
    Runtime::new().unwrap().block_on(async {
        let began = Instant::now();
        let watching = async {
            drop(watched.wait_for(|progress| progress.counts.fetched >= u64::from(all)).await);
            stop.cancel();
            began.elapsed()
        };
        let plan = plan(&server, &directory, hosts);
        let (report, took) = tokio::join!(crawl::run(plan, control), watching);
        (report.unwrap(), f64::from(all) / took.as_secs_f64())
    })
}

/// Prints what docs/reliability.md says about silent hosts.
#[test]
#[ignore = "a measurement of a minute or two: `cargo test --release --test it silent_hosts -- --ignored --nocapture`"]
fn silent_hosts_and_the_rate_of_good_ones() {
    let rates = [0, 100, 1_000].map(|hosts| {
        let (report, rate) = rate(hosts);
        assert_eq!(report.counts.fetched, (GOOD * PAGES) as u64);
        println!("{hosts:>5} silent hosts: {rate:.0} good pages a second");
        rate
    });
    println!("beside 1,000: {:.0} %", 100.0 * rates[2] / rates[0]);
}

/// A configuration of the program for these hosts.
fn config(directory: &TempDir, hosts: &BTreeMap<String, SocketAddr>) {
    let resolve: String = hosts.iter().map(|(name, to)| format!("'{name}' = '{to}'\n")).collect();
    let seeds: String =
        hosts.keys().map(|name| format!("[[seeds]]\nurl = 'http://{name}/'\n")).collect();
    let config = format!(
        "[crawl]\nuser_agent = 'bot/1'\n[politeness]\ndelay = '0s'\n[fetch]\ntimeout = '1h'\n[fetch.resolve]\n{resolve}\n{seeds}"
    );
    fs::write(directory.path().join("run.toml"), config).unwrap();
}

/// The program as started by a shell, which first runs `before`.
fn program(directory: &TempDir, before: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_pagesieve");
    Command::new("sh")
        .current_dir(directory)
        .args(["-c", &format!("{before}; exec '{program}' crawl run.toml --progress none")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_crawl_of_silent_hosts() {
    let directory = TempDir::new().unwrap();
    let address = silent();
    config(&directory, &(0..100).map(|n| (format!("h{n}.test"), address)).collect());
    let child = program(&directory, "true");
    thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(143), "{ended:?}");
    assert!(began.elapsed() < Duration::from_mins(10), "it waits for none of them");
}

#[cfg(unix)]
#[test]
fn a_process_with_few_file_descriptors_loses_nothing() {
    let (server, directory) = (Server::answering(one_page), TempDir::new().unwrap());
    config(&directory, &(0..200).map(|n| (format!("h{n}.test"), server.address())).collect());
    let ended = program(&directory, "ulimit -n 64").wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let report = Report::read(&directory.path().join("runs/run")).unwrap();
    assert_eq!((report.counts.unique, report.counts.skipped), (200, [].into()));
}

#[cfg(unix)]
#[test]
fn a_process_with_too_few_file_descriptors_says_so_at_once() {
    let (server, directory) = (Server::answering(one_page), TempDir::new().unwrap());
    config(&directory, &[("h.test".to_owned(), server.address())].into());
    let ended = program(&directory, "ulimit -n 31").wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("31 files") && said.contains("ulimit -n"), "{said}");
    assert_eq!(server.requests().len(), 0);
}

fn one_page(request: &Request, _: usize) -> Reply {
    page(&request.host, &[])
}

/// The address of a server that answers with this again and again, a piece at a time.
fn endless(start: &'static str, piece: &'static str, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                drop(stream.read(&mut [0; 4096]));
                drop(stream.write_all(start.as_bytes()));
                while stream.write_all(piece.as_bytes()).is_ok() {
                    thread::sleep(pause);
                }
            });
        }
    });
    address
}

#[test]
fn answers_without_end_delay_no_other_host() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let links: Vec<String> = (1..12).map(|n| format!("/{n}")).collect();
    let server = Server::answering(move |request, _| match &*request.path {
        "/robots.txt" => Reply::text(""),
        "/" => page("/", &links.iter().map(String::as_str).collect::<Vec<_>>()),
        path => page(path, &[]),
    });
    let directory = TempDir::new().unwrap();
    let mut hosts: BTreeMap<_, _> = [("z.test".to_owned(), server.address())].into();
    for n in 0..11 {
        let address = match n % 3 {
            0 => endless("", early, Duration::ZERO),
            1 => endless("", early, Duration::from_millis(20)),
            _ => endless("HTTP/1.1 200 OK\r\n", "X: y\r\n", Duration::from_millis(20)),
        };
        hosts.insert(format!("h{n}.test"), address);
    }
    let seeds: Vec<_> = hosts.keys().map(|name| format!("http://{name}/")).collect();
    let mut plan = site::plan(&server, directory.path(), &["none.test"], &seeds);
    plan.fetch.resolve = hosts;
    plan.crawl.concurrency = 8.try_into().unwrap();
    // Who waits until one of those is given up does not come to an end here.
    plan.fetch.timeout = Duration::from_hours(1);
    let stop = CancellationToken::new();
    let (progress, mut watched) = watch::channel(Progress::default());
    let control = Control::default().with_stop(stop.clone()).with_progress(progress);
    Runtime::new().unwrap().block_on(async {
        let watching = async {
            let all = watched.wait_for(|progress| progress.counts.fetched >= 12);
            let in_time = timeout(Duration::from_mins(5), all).await.is_ok();
            stop.cancel();
            in_time
        };
        let (report, in_time) = tokio::join!(crawl::run(plan, control), watching);
        assert_eq!((report.unwrap().counts.fetched, in_time), (12, true));
    });
}
