//! A disk that fails, under the state and the outputs: `tests/it/preload/disk.rs`.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    panic::catch_unwind,
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
const KINDS: [&str; 8] = ["eio", "full", "dead", "no-room", "slow", "cut", "cut", "cut"];

impl Fault {
    /// That of a start. One without a fault makes so many calls.
    fn of(seed: u64, start: u64, calls: u64) -> Self {
        if start > 1 {
            return NONE;
        }
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ start << 40;
        let at = 1 + (seed >> 20) % (calls * 5 / 4 >> (2 * start));
        Self { kind: KINDS[(seed >> 8) as usize % KINDS.len()], at, seed: seed >> 32 }
    }
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Failed,
    /// The power was cut.
    Cut,
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

    fn start(&self, fault: Fault, arguments: &[&str]) -> Child {
        let Fault { kind, at, seed } = fault;
        Command::new("timeout")
            .args(["60", "env"])
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
        // Without the lines that miette draws and breaks.
        let words: String = messages.chars().filter(|c| c.is_ascii_graphic()).collect();
        match (fault.kind, code) {
            ("slow" | "none" | "count" | "eio" | "full" | "dead" | "no-room", Some(0)) => End::Done,
            ("cut", Some(99)) if messages.contains("at the end") => End::Done,
            ("cut", Some(99)) => End::Cut,
            ("eio" | "dead", Some(1)) | ("full" | "no-room", Some(1 | 4)) => {
                let file = self.disk.display().to_string();
                assert!(
                    words.contains(&file)
                        && (words.contains("again") || words.contains("continuewith")),
                    "{fault:?}: {messages}"
                );
                End::Failed
            }
            _ => panic!("{fault:?} ends with {code:?}: {messages}"),
        }
    }

    /// The calls of a process without a fault.
    fn calls(&self) -> u64 {
        let messages = self.messages();
        let count = messages.lines().find_map(|line| line.strip_prefix("disk: ")).unwrap();
        count.split(' ').next().unwrap().parse().unwrap()
    }
}

/// Does something for many seeds, two at a time.
fn each(seeds: u64, check: impl Fn(u64) + Sync + std::panic::RefUnwindSafe) {
    let (next, failed) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < seeds
                {
                    if catch_unwind(|| check(seed)).is_err() {
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {seeds} seeds: {failed:?}", failed.len());
}

/// Filters these documents, ten at a time, from the first one without a decision on. Returns how the process ended.
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
        let mut answered = || from.read_until(b'\n', &mut printed).unwrap() > 0;
        if !is_read || !lines.iter().all(|_| answered()) {
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
    let half = input.split_inclusive('\n').take(160).map(str::len).sum();
    let machine = Machine::new(&library);
    assert_eq!(
        filter(&machine, Fault { kind: "count", ..NONE }, &input, &mut String::new()),
        End::Done
    );
    let calls = machine.calls();
    eprintln!("{calls} calls");
    each(seeds, |seed| {
        let machine = Machine::new(&library);
        let mut decisions = String::new();
        let run = |start, decisions: &mut _| {
            filter(&machine, Fault::of(seed, start, calls), &input[..half], decisions)
        };
        let starts = (0..9).take_while(|start| run(*start, &mut decisions) != End::Done).count();
        assert!(starts < 9);
        // What was decided is still known.
        assert_eq!(filter(&machine, NONE, &input, &mut decisions), End::Done);
        assert_eq!(decisions, whole, "{seed}");
        pagesieve().arg("verify").arg(machine.disk.join("seen.db")).assert().success();
    });
}

fn crawls(seeds: u64) {
    let Some(library) = library("disk") else { return };
    let server = Server::answering(|request, _| web(request, 16));
    let machine = Machine::new(&library);
    let crawl = |machine: &Machine, fault, name| {
        let (path, output) = config(&machine.disk, &server, name);
        let arguments = ["crawl", path.to_str().unwrap(), "--progress", "none"];
        (machine.end(machine.start(fault, &arguments), fault), output)
    };
    let (_, whole) = crawl(&machine, Fault { kind: "count", ..NONE }, "whole");
    let calls = machine.calls();
    eprintln!("{calls} calls");
    each(seeds, |seed| {
        let machine = Machine::new(&library);
        let run = |start| crawl(&machine, Fault::of(seed, start, calls), "parts").0;
        let starts = (0..9).take_while(|start| run(*start) != End::Done).count();
        assert!(starts < 9);
        let parts = machine.disk.join("parts");
        assert_equal(&parts, &whole);
        pagesieve().arg("verify").arg(&parts).assert().success();
    });
}

#[test]
fn a_filter_on_a_disk_that_fails_decides_as_on_one_that_does_not() {
    filters(200);
}

#[test]
fn a_crawl_on_a_disk_that_fails_ends_as_on_one_that_does_not() {
    crawls(100);
}

#[test]
#[ignore = "it takes minutes: `cargo test --test it a_thousand_faults -- --ignored`"]
fn a_thousand_faults() {
    filters(500);
    crawls(500);
}
