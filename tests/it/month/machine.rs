//! The machine on which the program runs: its clock, and whether its disk is full. See `tests/it/preload/machine.rs`.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::time::{ClockId, clock_gettime};

/// An hour takes ten seconds.
const SPEED: i64 = 360;

#[derive(Debug)]
pub(super) struct Machine {
    control: File,
    pub(super) path: PathBuf,
    start: i64,
    skipped: AtomicI64,
    midnight: AtomicI64,
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap()
}

/// The real monotonic time.
fn monotonic() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Machine {
    pub(super) fn new(path: &Path) -> Self {
        let start = monotonic();
        let midnight = nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap()) - start;
        let control = File::create_new(path).unwrap();
        let path = path.to_owned();
        let machine = Self { control, path, start, skipped: 0.into(), midnight: midnight.into() };
        for (place, word) in [SPEED, start, 0, midnight, 0].into_iter().enumerate() {
            machine.set(place, word);
        }
        machine
    }

    fn set(&self, place: usize, word: i64) {
        self.control.write_all_at(&word.to_ne_bytes(), place as u64 * 8).unwrap();
    }

    /// The time that has passed by the machine's clock.
    pub(super) fn passed(&self) -> Duration {
        let nanos = (monotonic() - self.start) * SPEED + self.skipped.load(Ordering::Relaxed);
        Duration::from_nanos(nanos.try_into().unwrap())
    }

    /// The real time that takes so long by the machine's clock.
    pub(super) fn real(time: Duration) -> Duration {
        time / u32::try_from(SPEED).unwrap()
    }

    /// Skips time in which nothing happens.
    pub(super) fn skip(&self, time: Duration) {
        let before = self.skipped.fetch_add(nanos(time), Ordering::Relaxed);
        self.set(2, before + nanos(time));
    }

    /// Sets the time of day, by so many hours.
    pub(super) fn set_clock(&self, hours: i64) {
        let by = hours * nanos(Duration::from_hours(1));
        let before = self.midnight.fetch_add(by, Ordering::Relaxed);
        self.set(3, before + by);
    }

    pub(super) fn fill_disk(&self, full: bool) {
        self.set(4, full.into());
    }
}
