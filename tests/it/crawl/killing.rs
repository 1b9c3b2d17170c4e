//! A process that is killed repeatedly.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tempfile::tempdir;

use super::{
    laws,
    site::{decisions, field, lines, page, skipped, state_in},
};
use crate::server::{Reply, Request, Server};
use pagesieve::report::Report;

/// The server's pages: so many for each host, of which every fourth repeats another.
pub(super) fn web(request: &Request, pages: usize) -> Reply {
    let number: usize = match request.path.trim_start_matches('/').parse() {
        Ok(number) if number < pages => number,
        _ if request.path == "/" => 0,
        _ => return Reply::new(404, "not here"),
    };
    let links: Vec<_> = (1..=3)
        .flat_map(|step| ["a", "b"].map(|host| format!("http://{host}.test/{}", number * 2 + step)))
        .collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let name = match number % 4 {
        3 => format!("{}", number - 1),
        _ => format!("{}{number}", request.host),
    };
    page(&name, &links)
}

/// Kills the requesting process after this many requests.
#[derive(Clone, Debug, Default)]
struct Executioner {
    asked: Arc<AtomicUsize>,
    next: Arc<Mutex<Option<(usize, Child)>>>,
}

impl Executioner {
    fn observe(&self) {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some((at, child)) = &mut *self.next.lock().unwrap()
            && asked >= *at
        {
            child.kill().unwrap();
        }
    }

    /// Runs the program until it is done or `more` requests have been made. Returns whether it ended successfully.
    fn run(&self, config: &Path, more: usize) -> bool {
        self.run_until(config, more, "")
    }

    /// The same for a crawl that asks for known pages again.
    fn revisit(&self, config: &Path, more: usize, step: &str) -> bool {
        self.run_with(&["--revisit"], config, more, step)
    }

    /// The same; it also ends at the fifth commit that reaches this step.
    fn run_until(&self, config: &Path, more: usize, step: &str) -> bool {
        self.run_with(&[], config, more, step)
    }

    fn run_with(&self, options: &[&str], config: &Path, more: usize, step: &str) -> bool {
        let mut waiting = self.next.lock().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .args(["crawl", config.to_str().unwrap(), "--progress", "none"])
            .args(options)
            .env("PAGESIEVE_DIE_AT", step)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        *waiting = Some((self.asked.load(Ordering::SeqCst) + more, child));
        drop(waiting);
        loop {
            // The server needs the child to kill it, so this only polls it.
            let ended = self.next.lock().unwrap().as_mut().unwrap().1.try_wait().unwrap();
            if let Some(status) = ended {
                return status.success();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A server that takes six milliseconds for each response, and reports each request to the executioner.
fn slow_server(executioner: &Executioner) -> Server {
    let theirs = executioner.clone();
    Server::answering(move |request, _| {
        theirs.observe();
        web(request, 80).after(Duration::from_millis(6))
    })
}

/// The configuration of a crawl of this server, and its run directory.
pub(super) fn config(directory: &Path, server: &Server, name: &str) -> (PathBuf, PathBuf) {
    let (path, address) = (directory.join(format!("{name}.toml")), server.address());
    let output = directory.join(name);
    // Crawls that are killed at any time start new files.
    let rotate = if name.starts_with("parts") { "8 KiB" } else { "1 GiB" };
    let text = format!(
        r#"
        name = "killed"
        output = "{}"
        [crawl]
        user_agent = "pagesieve-test/1"
        concurrency = 1
        [politeness]
        delay = "0s"
        [fetch]
        resolve = {{ "a.test" = "{address}", "b.test" = "{address}" }}
        [dedup]
        mode = "classic"
        seed = 1
        [store]
        warc = true
        rotate = "{rotate}"
        compress = true
        [[seeds]]
        url = "http://a.test/"
        [[seeds]]
        url = "http://b.test/"
        "#,
        output.display()
    );
    fs::write(&path, text).unwrap();
    (path, output)
}

#[test]
fn a_crawl_that_is_killed_repeatedly_ends_as_one_that_was_not() {
    let executioner = Executioner::default();
    let server = slow_server(&executioner);
    let directory = tempdir().unwrap();
    let config = |name: &str| config(directory.path(), &server, name);
    let (path, whole) = config("whole");
    assert!(executioner.run(&path, usize::MAX / 2), "it ends by itself");

    let (path, parts) = config("parts");
    // Work that was not committed is repeated: each start must get further than that.
    let kills = (0..40).map(|kill| 50 + kill * 11 % 29);
    let kills = kills.take_while(|more| !executioner.run(&path, *more)).count();
    assert!((4..40).contains(&kills), "{kills}");
    assert!(
        parts.join("pages-00002.jsonl.zst").exists()
            && parts.join("warc/killed-00002.warc.gz").exists()
    );
    assert_equal(&parts, &whole);
}

/// Two runs came to the same, whatever interrupted them.
pub(super) fn assert_equal(parts: &Path, whole: &Path) {
    assert_eq!(decisions(parts), decisions(whole));
    for file in ["pages.jsonl", "duplicates.jsonl"] {
        assert_eq!(field(&lines(parts, file), "url"), field(&lines(whole, file), "url"), "{file}");
    }
    assert_eq!(field(&skipped(parts), "url"), field(&skipped(whole), "url"));
    for directory in [whole, parts] {
        laws::checked(directory, Report::read(directory).unwrap());
    }
}

/// Starts a crawl again whenever `run` has ended it, and a new one when it is done, until so many were ended in all. `run` gets the
/// configuration and how many were ended before, and returns whether the crawl ended by itself.
fn killed(kills: usize, run: impl Fn(&Executioner, &Path, usize) -> bool) {
    let executioner = Executioner::default();
    let server = slow_server(&executioner);
    let directory = tempdir().unwrap();
    let config = |name: &str| config(directory.path(), &server, name);
    let (path, whole) = config("whole");
    assert!(executioner.run(&path, usize::MAX / 2), "it ends by itself");
    let mut killed = 0;
    while killed < kills {
        let (path, parts) = config(&format!("parts {killed}"));
        let ended = (0..400).take_while(|ended| !run(&executioner, &path, killed + ended)).count();
        assert!((1..400).contains(&ended), "{ended}");
        killed += ended;
        assert_equal(&parts, &whole);
    }
}

fn killed_at_each_step(kills: usize) {
    for step in ["begun", "outputs synced", "state written", "state committed"] {
        killed(kills, |executioner, path, _| executioner.run_until(path, usize::MAX / 2, step));
    }
}

fn killed_at_random_instants(kills: usize) {
    killed(kills, |executioner, path, before| executioner.run(path, 5 + before * 37 % 61));
}

#[test]
fn a_crawl_that_is_killed_at_a_step_of_a_commit_ends_as_one_that_was_not() {
    killed_at_each_step(1);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it each_step -- --ignored`"]
fn a_crawl_that_is_killed_at_each_step_of_many_commits() {
    killed_at_each_step(20);
}

#[test]
fn a_crawl_that_is_killed_fifty_times_ends_as_one_that_was_not() {
    killed_at_random_instants(50);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it five_hundred -- --ignored`"]
fn a_crawl_that_is_killed_five_hundred_times() {
    killed_at_random_instants(500);
}

#[test]
fn a_crawl_that_is_always_killed_before_a_whole_batch_still_makes_progress() {
    let executioner = Executioner::default();
    let server = slow_server(&executioner);
    let directory = tempdir().unwrap();
    let (path, _) = config(directory.path(), &server, "short");
    // Ten requests take less than half of the time of a batch.
    let kills = (0..150).take_while(|_| !executioner.run(&path, 10)).count();
    assert!((5..150).contains(&kills), "{kills}");
}

/// What became of each visit.
#[derive(Debug, PartialEq)]
struct Visited {
    /// The lines of changes without their times.
    changes: Vec<String>,
    /// The pages, and how often each was asked for and had changed.
    visits: Vec<(String, u32, u32)>,
    /// The stored pages in order.
    pages: Vec<String>,
}

fn visited(run: &Path) -> Visited {
    let mut changes = lines(run, "changes.jsonl");
    for line in &mut changes {
        let line = line.as_object_mut().unwrap();
        assert!(line.remove("at").is_some() && line.remove("since").is_some());
    }
    let state = state_in(run);
    let sql =
        "SELECT u.url, v.visits, v.changes FROM visits v JOIN urls u ON u.id = v.url ORDER BY u.id";
    let mut rows = state.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let pages = lines(run, "pages.jsonl");
    let pages = field(&pages, "url").into_iter().map(str::to_owned).collect();
    let changes = changes.iter().map(ToString::to_string).collect();
    Visited { changes, visits: rows.map(Result::unwrap).collect(), pages }
}

#[test]
fn each_visit_of_a_crawl_that_is_killed_is_recorded_once() {
    let (executioner, pass) = (Executioner::default(), Arc::new(AtomicUsize::new(0)));
    let (theirs, passes) = (executioner.clone(), Arc::clone(&pass));
    let server = Server::answering(move |request, _| {
        theirs.observe();
        let number: usize = request.path.trim_start_matches('/').parse().unwrap_or(0);
        match (number % 5, passes.load(Ordering::SeqCst)) {
            (1, 1) => page(&format!("{} {number} anew", request.host), &["/80"]),
            (2, 1) => Reply::new(410, "gone"),
            _ => web(request, 81),
        }
        .after(Duration::from_millis(6))
    });
    let directory = tempdir().unwrap();
    let config = |name: &str| config(directory.path(), &server, name);
    let ways = [
        ("whole", ""),
        ("parts", ""),
        ("parts 2", "outputs synced"),
        ("parts 3", "state committed"),
    ];
    let mut results = Vec::new();
    for (name, step) in ways {
        let (path, run) = config(name);
        pass.store(0, Ordering::SeqCst);
        assert!(executioner.run(&path, usize::MAX / 2));
        pass.store(1, Ordering::SeqCst);
        let more = |kill: usize| match (name, step) {
            ("whole", _) | (_, "outputs synced" | "state committed") => usize::MAX / 2,
            _ => 50 + kill * 11 % 29,
        };
        let kills = (0..400).position(|kill| executioner.revisit(&path, more(kill), step));
        let kills = kills.expect("it ends, however slow the machine is");
        assert_eq!(kills == 0, name == "whole", "{name}: {kills}");
        laws::checked(&run, Report::read(&run).unwrap());
        results.push(visited(&run));
    }
    let Visited { changes, visits, .. } = &results[0];
    assert!(changes.len() > 40 && visits.iter().all(|(_, visits, _)| *visits <= 1));
    let asked = visits.iter().filter(|(_, visits, _)| *visits == 1).count();
    assert!(asked > 100, "{asked}");
    for parts in &results[1..] {
        assert_eq!(parts, &results[0]);
    }
}
