//! Crawls that several processes share: each is a member, and all are killed and stopped at any time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use pagesieve::cluster::{Address, drop_run, forget, status};
use serde_json::Value;
use tempfile::TempDir;

use super::postgres::{Postgres, postgres, signal, skip_without_server};
use crate::{
    crawl::site::{lines, text},
    server::{Reply, Request, Server},
};

/// A web of sites. Page `n` of a site is linked from pages `n - 1` of two others, so most links lead to other members.
#[derive(Default)]
struct Web {
    sites: usize,
    pages: usize,
    /// Every third page but the first shows one of these articles, and so do pages of two other sites.
    articles: usize,
    /// Whether pages have four times as much text, and a menu of their site, as most have.
    is_large: bool,
}

impl Web {
    /// The article that a page shows, and in which variant, if others show it too.
    fn article(&self, site: usize, page: usize) -> Option<(usize, usize)> {
        if page == 0 || !page.is_multiple_of(3) {
            return None;
        }
        let place = (page / 3 - 1) * self.sites + site;
        let (article, variant) = (place % self.articles, place / self.articles);
        // Each is on so many sites.
        (variant < 3).then_some((article, variant))
    }

    fn html(&self, site: usize, page: usize) -> String {
        let name = match self.article(site, page) {
            Some((article, _)) => format!("article {article}"),
            None => format!("page {site} {page}"),
        };
        let mut words = text(&name, if self.is_large { 1000 } else { 250 });
        match self.article(site, page) {
            Some((_, 1)) => words = words.replacen(' ', &format!(" word{site} "), 1),
            Some((_, 2)) => words += " and a few more words",
            _ => {}
        }
        let (title, menu) = (text(&name, 4), text(&format!("menu {site} {page}"), 25));
        let mut html = format!(
            "<title>{title}</title><nav><p>{menu}</p></nav><article><h1>{title}</h1><p>{words}</p></article>"
        );
        if page + 1 < self.pages {
            for other in [1, 5] {
                let to = (site + other) % self.sites;
                let _ = write!(html, "<a href=\"http://s{to}.test/{}\">next</a>", page + 1);
            }
        }
        let menu = if self.is_large { 40 } else { 0 };
        for other in (0..menu).map(|it| (page + it) % (self.pages - 1) + 1) {
            let _ = write!(html, "<li><a href=\"http://s{site}.test/{other}\">page {other}</a>");
        }
        html + &format!("<footer>{}</footer>", text(&format!("footer {site} {page}"), 15))
    }

    fn reply(&self, request: &Request) -> Reply {
        let site = request.host.trim_start_matches('s').trim_end_matches(".test").parse();
        let page = match request.path.trim_start_matches('/') {
            "" => Ok(0),
            path => path.parse(),
        };
        match (site, page) {
            (Ok(site), Ok(page)) if site < self.sites && page < self.pages => {
                Reply::html(self.html(site, page))
            }
            _ => Reply::new(404, "not here"),
        }
    }

    fn urls(&self) -> BTreeSet<String> {
        let url = |site, page| match page {
            0 => format!("http://s{site}.test/"),
            page => format!("http://s{site}.test/{page}"),
        };
        (0..self.sites).flat_map(|site| (0..self.pages).map(move |page| url(site, page))).collect()
    }

    /// The article of a URL, if others show it too.
    fn article_of(&self, url: &str) -> Option<usize> {
        let (host, path) = url.strip_prefix("http://s")?.split_once(".test/")?;
        Some(self.article(host.parse().ok()?, path.parse().ok()?)?.0)
    }
}

/// A shared crawl of a web.
struct Crawl {
    web: Arc<Web>,
    server: Server,
    directory: TempDir,
    /// Empty if it is one process's own.
    address: String,
    members: u32,
    /// How often each run directory was moved, if it is at each start after a kill.
    moves: Option<Mutex<BTreeMap<u32, usize>>>,
}

impl Crawl {
    fn new(
        postgres: &Postgres,
        name: &str,
        web: Web,
        members: u32,
        (delay, most): (&str, u64),
    ) -> Self {
        let web = Arc::new(web);
        let theirs = Arc::clone(&web);
        // Pauses that differ from page to page.
        let pause = |request: &Request| {
            let sum: usize =
                request.path.bytes().chain(request.host.bytes()).map(usize::from).sum();
            Duration::from_millis(sum as u64 * 7 % 12)
        };
        let server =
            Server::answering(move |request, _| theirs.reply(request).after(pause(request)));
        let directory = tempfile::tempdir().unwrap();
        let mut toml = format!(
            "name = \"{name}\"\n[crawl]\nuser_agent = \"pagesieve-test/1\"\nmax_pages = {most}\n\
             [politeness]\ndelay = \"{delay}\"\nadaptive = 0\n\
             [dedup]\nmemory = \"64 MiB\"\nwindow = {{ entries = 100000 }}\n\
             same_site = {{ links = \"follow\" }}\ncross_site = {{ links = \"follow\" }}\n[fetch.resolve]\n"
        );
        for site in 0..web.sites {
            let _ = writeln!(toml, "\"s{site}.test\" = \"{}\"", server.address());
        }
        for site in 0..web.sites {
            let _ = write!(toml, "[[seeds]]\nurl = \"http://s{site}.test/\"\n");
        }
        fs::write(directory.path().join("crawl.toml"), toml).unwrap();
        let address = postgres.address(name);
        let _ = drop_run(&address.parse().unwrap());
        Self { web, server, directory, address, members, moves: None }
    }

    fn run_directory(&self, member: u32) -> PathBuf {
        let moves = self.moves.as_ref().map(|it| it.lock().unwrap().get(&member).copied());
        let name = format!("member{member}-{}", moves.flatten().unwrap_or(0));
        self.directory.path().join(name)
    }

    /// Moves the directory of a member that was killed, if they are moved.
    fn moved(&self, member: u32) {
        let before = self.run_directory(member);
        if let Some(moves) = &self.moves {
            *moves.lock().unwrap().entry(member).or_default() += 1;
            if before.exists() {
                fs::rename(before, self.run_directory(member)).unwrap();
            }
        }
    }

    fn start(&self, member: u32) -> Child {
        self.start_in(member, &self.run_directory(member))
    }

    fn start_in(&self, member: u32, directory: &Path) -> Child {
        let log = self.directory.path().join(format!("log{member}"));
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagesieve"));
        command
            .arg("crawl")
            .arg(self.directory.path().join("crawl.toml"))
            .arg("--out")
            .arg(directory)
            .args(["--progress", "none"]);
        if !self.address.is_empty() {
            let [number, members] = [member, self.members].map(|it| it.to_string());
            command.args(["--cluster", &self.address, "--member", &number, "--members", &members]);
        }
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    fn log(&self, member: u32) -> String {
        fs::read_to_string(self.directory.path().join(format!("log{member}"))).unwrap_or_default()
    }

    /// Runs all members to the end, and does something to them meanwhile.
    fn run(&self, mut meanwhile: impl FnMut(usize, &mut [Child])) {
        let mut members: Vec<Child> = (0..self.members).map(|member| self.start(member)).collect();
        let mut requests = (0, Instant::now());
        for step in 0_usize.. {
            thread::sleep(Duration::from_millis(20));
            for (member, child) in (0..).zip(&mut members) {
                match child.try_wait().unwrap() {
                    Some(status) if !status.success() => {
                        assert_eq!(status.code(), None, "{}", self.log(member));
                        // It was killed.
                        self.moved(member);
                        *child = self.start(member);
                    }
                    _ => {}
                }
            }
            if members.iter_mut().all(|it| it.try_wait().unwrap().is_some_and(|it| it.success())) {
                return;
            }
            // However long it takes on a machine that has other work.
            if step.is_multiple_of(500) {
                let all = self.server.requests().len();
                if all > requests.0 {
                    requests = (all, Instant::now());
                }
                let logs = || (0..self.members).map(|member| self.log(member)).collect::<String>();
                assert!(requests.1.elapsed() < Duration::from_mins(10), "it hangs: {}", logs());
            }
            meanwhile(step, &mut members);
        }
    }

    /// Checks that every page was judged, and one page of each article kept. Returns the articles that were kept more than once.
    fn check(&self) -> BTreeMap<usize, Vec<String>> {
        let (mut judged, mut kept) = (BTreeMap::new(), BTreeMap::<usize, Vec<String>>::new());
        let mut matches = Vec::new();
        for member in 0..self.members {
            let directory = self.run_directory(member);
            for (file, is_kept) in [("pages.jsonl", true), ("duplicates.jsonl", false)] {
                for line in lines(&directory, file) {
                    let url = line["url"].as_str().unwrap().to_owned();
                    if let Some(article) = self.web.article_of(&url).filter(|_| is_kept) {
                        kept.entry(article).or_default().push(url.clone());
                    }
                    if !is_kept {
                        matches
                            .push((url.clone(), line["match"]["id"].as_str().unwrap().to_owned()));
                    }
                    let before = judged.insert(url, is_kept);
                    assert_eq!(before, None, "a URL has one line: {line}");
                }
            }
        }
        let all = self.web.urls();
        assert_eq!(judged.keys().cloned().collect::<BTreeSet<_>>(), all, "every page is judged");
        for (url, of) in matches {
            assert_eq!(judged.get(&of), Some(&true), "{url} was dropped, and {of} not kept");
            assert_eq!(self.web.article_of(&url), self.web.article_of(&of), "{url} is not {of}");
        }
        let alone = all.iter().filter(|url| self.web.article_of(url).is_none());
        for url in alone {
            assert!(judged[url], "{url} repeats nothing");
        }
        let articles: BTreeSet<_> = all.iter().filter_map(|url| self.web.article_of(url)).collect();
        assert_eq!(kept.keys().copied().collect::<BTreeSet<_>>(), articles, "each is kept");
        kept.retain(|_, urls| urls.len() > 1);
        kept
    }

    fn status(&self) -> Value {
        status(&self.address.parse::<Address>().unwrap()).unwrap()
    }
}

/// A sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Kills and stops members: one in so many steps. Who is stopped goes on some steps later.
fn disturb(seed: u64, every: usize, most: usize) -> impl FnMut(usize, &mut [Child]) {
    let (mut random, mut done, mut stopped) = (Random(seed), 0, Vec::new());
    move |step, members| {
        stopped.retain(|&(until, pid): &(usize, u32)| {
            if until <= step {
                signal("-CONT", &pid.to_string());
            }
            until > step
        });
        if random.below(every) == 0 && done < most {
            done += 1;
            let member = random.below(members.len());
            if random.below(3) == 0 {
                signal("-STOP", &members[member].id().to_string());
                stopped.push((step + random.below(100), members[member].id()));
            } else {
                let _ = members[member].kill();
            }
        }
    }
}

#[test]
fn three_members_fetch_every_page_once_and_keep_one_of_each_cluster() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 12, pages: 10, articles: 11, ..Web::default() };
    let crawl = Crawl::new(server, "three", web, 3, ("0s", 1000));
    crawl.run(|_, _| ());
    assert_eq!(crawl.check(), BTreeMap::new());
    let pages = crawl.server.requests().iter().filter(|it| it.path != "/robots.txt").count();
    assert_eq!(pages, crawl.web.urls().len(), "each is asked for once");
    let status = crawl.status();
    assert_eq!((&status["is_over"], &status["links_open"]), (&true.into(), &0.into()), "{status}");
    let sum = |name: &str| -> i64 {
        status["members"].as_array().unwrap().iter().map(|it| it[name].as_i64().unwrap()).sum()
    };
    let report = crate::cli::pagesieve().args(["report", "--cluster", &crawl.address]).assert();
    let report: Value = serde_json::from_str(&crate::cli::stdout(&report)).unwrap();
    assert_eq!(report["counts"]["fetched"], crawl.web.urls().len());
    assert!(sum("batches_received") > 0 && sum("batches_received") == sum("batches_sent"));

    // A finished member ends again.
    let mut again: Vec<Child> = (0..3).map(|member| crawl.start(member)).collect();
    assert!(again.iter_mut().all(|it| it.wait().unwrap().success()));
}

#[test]
fn members_that_are_killed_lose_nothing_and_keep_one_of_each_cluster() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 15, pages: 13, articles: 20, ..Web::default() };
    let crawl = Crawl::new(server, "killed", web, 3, ("0s", 1000));
    crawl.run(disturb(1, 10, 12));
    let twice = crawl.check();
    assert_eq!(twice, BTreeMap::new());
}

#[test]
fn the_budget_is_that_of_all_members() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 12, pages: 10, articles: 12, ..Web::default() };
    let crawl = Crawl::new(server, "budget", web, 3, ("0s", 50));
    crawl.run(|_, _| ());
    let judged = |member| {
        let directory = crawl.run_directory(member);
        lines(&directory, "pages.jsonl").len() + lines(&directory, "duplicates.jsonl").len()
    };
    assert_eq!((0..3).map(judged).sum::<usize>(), 50);
}

#[test]
fn a_member_is_one_directory_in_one_process() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 6, pages: 30, articles: 6, ..Web::default() };
    let crawl = Crawl::new(server, "owned", web, 2, ("100ms", 1000));
    let mut first = crawl.start(0);
    let other = crawl.directory.path().join("other");
    let address: Address = crawl.address.parse().unwrap();
    let is_running = || status(&address).is_ok_and(|it| it["members"][0]["is_running"] == true);
    while !is_running() {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!crawl.start_in(0, &other).wait().unwrap().success());
    assert!(crawl.log(0).contains("belongs to another run directory"), "{}", crawl.log(0));
    assert!(forget(&address, 0).unwrap_err().to_string().contains("is running"));
    first.kill().unwrap();
    first.wait().unwrap();
    while is_running() {
        thread::sleep(Duration::from_millis(20));
    }
    forget(&address, 0).unwrap();
    fs::remove_dir_all(&other).unwrap();
    let mut second = crawl.start_in(0, &other);
    while !is_running() {
        assert_eq!(second.try_wait().unwrap(), None, "{}", crawl.log(0));
        thread::sleep(Duration::from_millis(20));
    }
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn a_server_that_is_away_is_waited_for() {
    server_is_away(100, 60);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it away_for_a_minute -- --ignored`"]
fn a_server_that_is_away_for_a_minute_is_waited_for() {
    server_is_away(3000, 3000);
}

/// It is frozen for some steps, and stopped for some.
fn server_is_away(frozen: usize, stopped: usize) {
    let Some(mut postgres) = Postgres::start() else { return skip_without_server() };
    let web = Web { sites: 12, pages: 14, articles: 14, ..Web::default() };
    let crawl = Crawl::new(&postgres, "away", web, 3, ("0s", 1000));
    let [thaws, stops] = [30 + frozen, 60 + frozen];
    crawl.run(|step, _| {
        if step == 30 {
            postgres.freeze(true);
        } else if step == thaws {
            postgres.freeze(false);
        } else if step == stops {
            // It ends in order, and starts again.
            postgres.stop();
        } else if step == stops + stopped {
            postgres.resume();
        }
    });
    assert_eq!(crawl.check(), BTreeMap::new());
}

#[test]
fn a_server_that_is_killed_loses_a_second_at_most() {
    let Some(mut postgres) = Postgres::start() else { return skip_without_server() };
    let web = Web { sites: 12, pages: 16, articles: 16, ..Web::default() };
    let crawl = Crawl::new(&postgres, "crashes", web, 3, ("50ms", 1000));
    let mut kills = 0;
    crawl.run(|step, _| {
        if step % 60 == 40 && kills < 3 {
            kills += 1;
            postgres.kill();
            postgres.resume();
        }
    });
    // All but what was claimed in the second before.
    let twice = crawl.check();
    assert!(twice.len() <= 2 * kills, "{twice:?}");
}

#[test]
fn the_delay_holds_while_members_are_killed_and_move() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 5, pages: 7, articles: 5, ..Web::default() };
    let mut crawl = Crawl::new(server, "polite", web, 2, ("200ms", 1000));
    crawl.moves = Some(Mutex::default());
    crawl.run(disturb(2, 15, 8));
    crawl.check();
    let mut last: BTreeMap<String, Instant> = BTreeMap::new();
    for request in crawl.server.requests() {
        if let Some(before) = last.insert(request.host.clone(), request.at) {
            let gap = request.at.duration_since(before);
            assert!(gap >= Duration::from_millis(200), "{gap:?} at {}", request.host);
        }
    }
}

/// A process that was stopped for so long that another one has its lease sends nothing when it wakes.
#[test]
#[ignore = "it takes half a minute: `cargo test --test it fenced -- --ignored`"]
fn a_member_that_wakes_after_another_took_over_is_fenced() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 4, pages: 60, articles: 4, ..Web::default() };
    let crawl = Crawl::new(server, "fenced", web, 1, ("20ms", 10_000));
    let mut first = crawl.start(0);
    thread::sleep(Duration::from_secs(1));
    signal("-STOP", &first.id().to_string());
    let copy = crawl.directory.path().join("copy");
    let copied = Command::new("cp").arg("-r").arg(crawl.run_directory(0)).arg(&copy).status();
    assert!(copied.unwrap().success());
    let mut second = crawl.start_in(0, &copy);
    assert!(second.wait().unwrap().success(), "{}", crawl.log(0));
    let before = crawl.server.requests().len();
    signal("-CONT", &first.id().to_string());
    assert!(!first.wait().unwrap().success());
    assert!(crawl.log(0).contains("taken over"), "{}", crawl.log(0));
    assert_eq!(crawl.server.requests().len(), before, "it sends nothing");
}

/// The acceptance: 300 clusters over 60 sites, and 50 rounds with kills and stops of members.
#[test]
#[ignore = "it takes an hour: `ROUNDS=50 cargo test --test it fifty_rounds -- --ignored`"]
fn fifty_rounds_of_kills() {
    let Some(server) = postgres() else { return };
    for round in 0..rounds(50) {
        let web = Web { sites: 60, pages: 46, articles: 300, ..Web::default() };
        let crawl = Crawl::new(server, "rounds", web, 3, ("0s", 10_000));
        crawl.run(disturb(round, 25, 30));
        assert_eq!(crawl.check(), BTreeMap::new(), "round {round}");
        note(format_args!("round {round}"));
    }
}

#[test]
#[ignore = "it takes many minutes: `ROUNDS=20 cargo test --test it twenty_rounds -- --ignored`"]
fn twenty_rounds_of_kills_of_the_server() {
    let Some(mut postgres) = Postgres::start() else { return skip_without_server() };
    let (mut kills, mut twice) = (0, 0);
    for round in 0..rounds(20) {
        let web = Web { sites: 60, pages: 10, articles: 120, ..Web::default() };
        let name = format!("server{round}");
        let crawl = Crawl::new(&postgres, &name, web, 3, ("50ms", 10_000));
        let mut random = Random(round);
        crawl.run(|_, _| {
            if random.below(60) == 0 {
                kills += 1;
                postgres.kill();
                postgres.resume();
            }
        });
        twice += crawl.check().len();
        note(format_args!("round {round}: {kills} kills, {twice} kept twice"));
    }
    assert!(twice <= kills * 4, "{kills} kills, {twice} kept twice");
}

/// No run ends before all is done, whatever the delays.
#[test]
#[ignore = "it takes many minutes: `ROUNDS=200 cargo test --test it no_run_ends -- --ignored`"]
fn no_run_ends_early() {
    let Some(server) = postgres() else { return };
    let mut random = Random(1);
    for round in 0..rounds(200) {
        let (sites, pages) = (2 + random.below(6), 2 + random.below(7));
        let delay = format!("{}ms", random.below(60));
        let web = Web { sites, pages, articles: 200, ..Web::default() };
        let members = 2 + u32::try_from(random.below(3)).unwrap();
        let crawl = Crawl::new(server, "early", web, members, (&delay, 10_000));
        crawl.run(|_, _| ());
        crawl.check();
        note(format_args!("round {round}: {sites} sites, {pages} pages, {members} members"));
    }
}

/// 10^5 links between members arrive though these are killed.
#[test]
#[ignore = "it takes many minutes: `cargo test --test it a_hundred_thousand -- --ignored`"]
fn a_hundred_thousand_links_arrive() {
    let Some(server) = postgres() else { return };
    let web = Web { sites: 300, pages: 250, articles: 1, ..Web::default() };
    let crawl = Crawl::new(server, "links", web, 3, ("0s", 1_000_000));
    crawl.run(disturb(5, 1000, usize::MAX));
    crawl.check();
    note(crawl.status());
}

/// What a page costs three members, and one process that shares nothing. Pages that repeat none at home are claimed.
#[test]
#[ignore = "it measures: `cargo test --release --test it cost_of_three -- --ignored --nocapture`"]
fn the_cost_of_three_members() {
    let Some(server) = Postgres::start() else { return skip_without_server() };
    let micros = |members, is_shared: bool, is_large| {
        let web = Web { sites: 60, pages: 100, articles: 600, is_large };
        let mut crawl = Crawl::new(&server, "cpu", web, members, ("0s", 10_000));
        if !is_shared {
            crawl.address.clear();
        }
        let before = server.cpu();
        crawl.run(|_, _| ());
        // Statistics of processes come late.
        thread::sleep(Duration::from_secs(1));
        crawl.check();
        let of_member = |member| {
            let report = fs::read_to_string(crawl.run_directory(member).join("report.json"));
            let report: Value = serde_json::from_str(&report.unwrap()).unwrap();
            report["series"].as_array().unwrap().last().unwrap()["cpu"].as_f64().unwrap()
        };
        let pages = f64::from(u32::try_from(crawl.web.urls().len()).unwrap());
        let all = (0..members).map(of_member).sum::<f64>();
        [all, server.cpu() - before].map(|seconds| (seconds * 1e6 / pages).round())
    };
    for is_large in [false, false, true, true] {
        let [alone, _] = micros(1, false, is_large);
        let [of_three, of_server] = micros(3, true, is_large);
        let size = if is_large { "large" } else { "small" };
        note(format_args!(
            "{size}: {alone} us a page alone; {of_three} us in three members, {:.2} times as much, and {of_server} us of the server",
            of_three / alone
        ));
    }
}

#[test]
#[ignore = "it mounts a file system, as root: `cargo test --test it full_disk_of -- --ignored`"]
fn a_full_disk_of_the_server_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let mount = |size: &str| {
        let options = format!("size={size}");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &options, "none"]).arg(directory.path());
        command.status().unwrap().success()
    };
    assert!(mount("110m"));
    let mut postgres = Postgres::start_in(tempfile::tempdir_in(directory.path()).unwrap()).unwrap();
    let web = Web { sites: 12, pages: 14, articles: 14, ..Web::default() };
    let crawl = Crawl::new(&postgres, "full", web, 3, ("20ms", 1000));
    let filler = directory.path().join("filler");
    let mut pages = [0, 0];
    crawl.run(|step, _| match step {
        60 => {
            // All that is left.
            let _ = fs::write(&filler, vec![1; 200 << 20]);
        }
        100 => pages[0] = crawl.server.requests().len(),
        250 => pages[1] = crawl.server.requests().len(),
        251 => fs::remove_file(&filler).unwrap(),
        _ => {}
    });
    note(format_args!("requests while the disk was full: {pages:?}"));
    assert_eq!(crawl.check(), BTreeMap::new());
    postgres.stop();
    drop(postgres);
    Command::new("umount").arg("-l").arg(directory.path()).status().unwrap();
}

/// How many rounds a long test has.
fn rounds(most: u64) -> u64 {
    std::env::var("ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(most)
}

pub(crate) fn note(line: impl std::fmt::Display) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
