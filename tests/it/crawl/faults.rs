//! The program on a disk that fails (`tests/it/preload/disk.rs`), over many seeds.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use tempfile::{TempDir, tempdir};

use super::killing::{assert_equal, config, web};
use crate::{
    cli::{pagesieve, stdout},
    filter_cmd::{ROLLING, complete, documents, rest},
    preload::library,
    server::Server,
};

/// What becomes of a disk from the call `at` on.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: &'static str,
    at: u64,
    seed: u64,
}

const NONE: Fault = Fault { kind: "none", at: 0, seed: 0 };
const COUNT: Fault = Fault { kind: "count", ..NONE };
const HONEST: [&str; 8] = ["eio", "full", "dead", "no-room", "slow", "cut", "cut", "cut"];
const LYING: [&str; 2] = ["lie", "lies"];
/// The first starts have a fault; those after them have none.
const FAULTY_STARTS: u64 = 2;
const STARTS: u64 = 5;

impl Fault {
    /// That of a start. A process without a fault makes so many calls.
    fn of(kinds: &[&'static str], seed: u64, start: u64, calls: u64) -> Self {
        if start >= FAULTY_STARTS {
            return NONE;
        }
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (start << 40);
        // Some come later than all calls. A second start has less to do.
        let within = if start == 0 { calls * 5 / 4 } else { calls / 3 };
        let kind = kinds[usize::from(seed.to_be_bytes()[6]) % kinds.len()];
        Self { kind, at: 1 + (seed >> 20) % within, seed: seed >> 32 }
    }
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Failed,
    /// The power was cut.
    Cut,
    /// It refuses to continue with what it finds, and says what to do.
    Refused,
}

/// Where the program runs. Its files are in `disk`.
struct Machine {
    library: PathBuf,
    directory: TempDir,
    disk: PathBuf,
}

impl Machine {
    fn new(library: &Path) -> Self {
        let directory = tempdir().unwrap();
        let disk = directory.path().canonicalize().unwrap().join("disk");
        fs::create_dir(&disk).unwrap();
        Self { library: library.to_owned(), directory, disk }
    }

    fn start(&self, Fault { kind, at, seed }: Fault, arguments: &[&str]) -> Child {
        Command::new("timeout")
            .args(["120", "env"])
            .arg(format!("LD_PRELOAD={}", self.library.display()))
            .arg(format!("PAGESIEVE_DISK={}", self.disk.display()))
            .arg(format!("PAGESIEVE_FAULT={kind} {at} {seed}"))
            .arg(env!("CARGO_BIN_EXE_pagesieve"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(self.directory.path().join("messages")).unwrap())
            .spawn()
            .unwrap()
    }

    fn messages(&self) -> String {
        fs::read_to_string(self.directory.path().join("messages")).unwrap()
    }

    /// Waits for a process, and checks that it ends as it may with this fault.
    fn end(&self, process: Child, fault: Fault) -> End {
        let code = process.wait_with_output().unwrap().status.code();
        let messages = self.messages();
        assert!(!messages.contains("panicked"), "{fault:?}: {messages}");
        // Lines are broken anywhere.
        let words: String = messages.chars().filter(char::is_ascii_graphic).collect();
        let says = |any: &[&str]| any.iter().any(|advice| words.contains(advice));
        let disk = self.disk.display().to_string();
        match (fault.kind, code) {
            ("none" | "count" | "slow" | "eio" | "full" | "dead" | "no-room", Some(0)) => End::Done,
            ("cut", Some(99)) if messages.contains("at the end") => End::Done,
            ("cut" | "lie" | "lies", Some(99)) => End::Cut,
            ("eio" | "dead", Some(1)) | ("full" | "no-room", Some(1 | 4))
                if says(&[&disk]) && says(&["samecommandagain", "continuewith", "startagain"]) =>
            {
                End::Failed
            }
            ("none" | "lie" | "lies", Some(1 | 2))
                if says(&["`pagesieverepair`", "restoreabackup", "--fresh", "--out"]) =>
            {
                End::Refused
            }
            _ => panic!("{fault:?} ends with {code:?}: {messages}"),
        }
    }

    /// The calls of the last process, which counted them.
    fn calls(&self) -> u64 {
        let messages = self.messages();
        let count = messages.lines().find_map(|line| line.strip_prefix("disk: ")).unwrap();
        count.split(' ').next().unwrap().parse().unwrap()
    }
}

/// Checks many seeds, two at a time.
fn each(seeds: u64, check: impl Fn(u64) + Sync) {
    let (next, failed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds
        {
            if catch_unwind(AssertUnwindSafe(|| check(seed))).is_err() {
                failed.lock().unwrap().push(seed);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {seeds} seeds: {failed:?}", failed.len());
}

/// Filters these documents, ten at a time, from the first one without a decision on.
fn filter(machine: &Machine, fault: Fault, input: &str, decisions: &mut String) -> End {
    let state = machine.disk.join("seen.db");
    let arguments = [&["filter", "--state", state.to_str().unwrap()][..], &ROLLING].concat();
    let mut process = machine.start(fault, &arguments);
    let mut to = process.stdin.take().unwrap();
    let mut from = BufReader::new(process.stdout.take().unwrap());
    let lines: Vec<_> = rest(input, decisions).split_inclusive('\n').collect();
    let mut printed = Vec::new();
    for lines in lines.chunks(10) {
        let is_read = to.write_all(lines.concat().as_bytes()).is_ok();
        let mut is_answered = || from.read_until(b'\n', &mut printed).unwrap() > 0;
        if !is_read || !lines.iter().all(|_| is_answered()) {
            break;
        }
    }
    drop(to);
    from.read_until(0, &mut printed).unwrap();
    *decisions += &complete(&printed);
    machine.end(process, fault)
}

fn filters(seeds: u64) {
    let Some(library) = library("disk") else { return };
    let input = documents(240);
    let whole = stdout(&pagesieve().arg("filter").args(ROLLING).write_stdin(&*input).assert());
    let part = input.split_inclusive('\n').take(160).map(str::len).sum();
    let machine = Machine::new(&library);
    assert_eq!(filter(&machine, COUNT, &input[..part], &mut String::new()), End::Done);
    let calls = machine.calls();
    each(seeds, |seed| {
        let (machine, mut decisions) = (Machine::new(&library), String::new());
        let mut run = |start| {
            let fault = Fault::of(&HONEST, seed, start, calls);
            filter(&machine, fault, &input[..part], &mut decisions)
        };
        let ends: Vec<_> = (0..STARTS).map(&mut run).take_while(|end| *end != End::Done).collect();
        assert!(!ends.contains(&End::Refused), "{ends:?}");
        // All that was decided is still known.
        assert_eq!(filter(&machine, NONE, &input, &mut decisions), End::Done);
        assert!(decisions == whole, "{decisions}");
        pagesieve().arg("verify").arg(machine.disk.join("seen.db")).assert().success();
    });
}

/// Crawls with faults of these kinds. `check` gets how the processes ended, and what they left beside what a crawl without a fault left.
fn crawls(seeds: u64, kinds: &[&'static str], check: impl Fn(&[End], &Path, &Path) + Sync) {
    let Some(library) = library("disk") else { return };
    let server = Server::answering(|request, _| web(request, 16));
    let machine = Machine::new(&library);
    let crawl = |machine: &Machine, fault, name| {
        let (path, output) = config(&machine.disk, &server, name);
        let arguments = ["crawl", path.to_str().unwrap(), "--progress", "none"];
        (machine.end(machine.start(fault, &arguments), fault), output)
    };
    let (_, whole) = crawl(&machine, COUNT, "whole");
    let calls = machine.calls();
    // A run is verified by one at a time.
    let whole = Mutex::new(whole);
    each(seeds, |seed| {
        let machine = Machine::new(&library);
        let run = |start| crawl(&machine, Fault::of(kinds, seed, start, calls), "parts").0;
        let ends: Vec<_> = (0..STARTS).map(run).take_while(|end| *end != End::Done).collect();
        let whole = whole.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        check(&ends, &machine.disk.join("parts"), &whole);
    });
}

fn honest_crawls(seeds: u64) {
    crawls(seeds, &HONEST, |ends, parts, whole| {
        assert!(!ends.contains(&End::Refused), "{ends:?}");
        assert_equal(parts, whole);
        pagesieve().arg("verify").arg(parts).assert().success();
    });
}

#[test]
fn a_filter_on_a_disk_that_fails_decides_as_on_one_that_does_not() {
    filters(20);
}

#[test]
fn a_crawl_on_a_disk_that_fails_ends_as_on_one_that_does_not() {
    honest_crawls(20);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it a_thousand_faults -- --ignored`"]
fn a_thousand_faults() {
    filters(500);
    honest_crawls(500);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it syncs_that_do_nothing -- --ignored`"]
fn syncs_that_do_nothing_are_mostly_noticed() {
    let silent = AtomicU64::new(0);
    crawls(200, &LYING, |ends, parts, whole| {
        let verify = || pagesieve().arg("verify").arg(parts).assert().get_output().status.code();
        let is_noticed = ends.contains(&End::Refused) || verify() == Some(5);
        if !is_noticed && catch_unwind(|| assert_equal(parts, whole)).is_err() {
            silent.fetch_add(1, Ordering::Relaxed);
        }
    });
    let silent = silent.into_inner();
    assert!(silent <= 20, "{silent} of 200 differ silently");
}
