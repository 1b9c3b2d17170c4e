//! The program under test: started, killed and measured.

use std::{
    fs::{self, File},
    io::Read,
    ops::Range,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// Clock ticks in a second, in /proc.
const TICKS: u32 = 100;

/// What the program used when so many pages had been served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) pages: u64,
    pub(super) cpu: Duration,
    pub(super) memory: u64,
    pub(super) files: usize,
}

#[derive(Debug)]
pub(super) struct Program {
    config: PathBuf,
    library: PathBuf,
    control: PathBuf,
    child: Option<Child>,
    /// Of the processes that have ended.
    cpu_before: Duration,
    cpu: Duration,
    /// When it was killed, was ended by a full disk, or lost its connections.
    pub(super) disturbances: Vec<Duration>,
    samples: Vec<Sample>,
    sampled: Duration,
}

impl Program {
    pub(super) fn new(config: PathBuf, library: PathBuf, control: &Path) -> Self {
        Self {
            config,
            library,
            control: control.to_owned(),
            child: None,
            cpu_before: Duration::ZERO,
            cpu: Duration::ZERO,
            disturbances: Vec::new(),
            samples: Vec::new(),
            sampled: Duration::ZERO,
        }
    }

    fn log(&self) -> PathBuf {
        self.config.with_extension("log")
    }

    pub(super) fn errors(&self) -> String {
        let mut text = String::new();
        File::open(self.log()).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    pub(super) fn start(&mut self, _: Duration) {
        let child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .args(["crawl", self.config.to_str().unwrap(), "--progress", "none"])
            .env("LD_PRELOAD", &self.library)
            .env("PAGESIEVE_MACHINE", &self.control)
            .stdout(Stdio::null())
            .stderr(File::create(self.log()).unwrap())
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Its exit code, or 128 and the signal that ended it, once it has ended.
    pub(super) fn ended(&mut self) -> Option<i32> {
        let status = self.child.as_mut()?.try_wait().unwrap()?;
        self.forget();
        status.code().or_else(|| Some(128 + status.signal()?))
    }

    fn forget(&mut self) {
        self.child = None;
        self.cpu_before += self.cpu;
        self.cpu = Duration::ZERO;
    }

    pub(super) fn kill(&mut self, now: Duration) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        self.forget();
        self.disturbances.push(now);
    }

    /// Waits until it has ended.
    pub(super) fn wait(&mut self) -> i32 {
        for _ in 0..6_000 {
            if let Some(code) = self.ended() {
                return code;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end: {}", self.errors());
    }

    /// CPU time of all processes so far.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu_before + self.cpu
    }

    /// Reads from /proc what it uses.
    pub(super) fn measure(&mut self, pages: u64, now: Duration) {
        let Some(child) = &self.child else { return };
        let proc = PathBuf::from(format!("/proc/{}", child.id()));
        let Ok(stat) = fs::read_to_string(proc.join("stat")) else { return };
        let fields: Vec<_> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let number = |place: usize| {
            fields.get(place).and_then(|field| field.parse::<u32>().ok()).unwrap_or(0)
        };
        self.cpu = self.cpu.max(Duration::from_secs(1) * (number(11) + number(12)) / TICKS);
        if now >= self.sampled + Duration::from_secs(1) {
            let memory = u64::from(number(21)) * 4096;
            let files = fs::read_dir(proc.join("fd")).map_or(0, Iterator::count);
            self.samples.push(Sample { pages, cpu: self.cpu(), memory, files });
            self.sampled = now;
        }
    }

    /// What it used in each tenth of the pages: CPU time, and the most memory and files.
    pub(super) fn tenths(&self, pages: u64) -> Vec<Sample> {
        let mut before = Sample::default();
        let tenth = |number: u64| {
            let in_tenth = |sample: &&Sample| {
                (pages * number / 10..=pages * (number + 1) / 10).contains(&sample.pages)
            };
            let samples: Vec<_> = self.samples.iter().filter(in_tenth).collect();
            let last = samples.last().map_or(before, |&&last| last);
            let (done, cpu) = (last.pages - before.pages, last.cpu.saturating_sub(before.cpu));
            before = last;
            let memory = samples.iter().map(|sample| sample.memory).max().unwrap_or(0);
            let files = samples.iter().map(|sample| sample.files).max().unwrap_or(0);
            Sample { pages: done, cpu, memory, files }
        };
        (0..10).map(tenth).collect()
    }

    /// Prints these tenths of the pages.
    pub(super) fn print(&self, pages: u64, tenths: Range<usize>) {
        for Sample { pages, cpu, memory, files } in &self.tenths(pages)[tenths] {
            println!(
                "{pages:>8} pages, {:>6} us of CPU time each, {:>4} MiB, {files:>4} files",
                cpu.as_micros() / u128::from(*pages.max(&1)),
                memory >> 20
            );
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
