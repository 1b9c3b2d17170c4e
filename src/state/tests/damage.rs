//! States that are damaged.

use std::path::Path;

use super::{
    super::{inspect::Inspection, wal::Log},
    *,
};

/// A state that a killed process has left: nothing of its log is in the file.
fn killed(directory: &TempDir) -> PathBuf {
    let (from, to) = (directory.path().join("live"), path(directory));
    let state = State::open(&from).unwrap();
    for batch in 0..6_i64 {
        state.begin().unwrap();
        for number in 0..20 {
            state.set_meta(&format!("{batch} {number}"), "value ".repeat(40)).unwrap();
        }
        state.commit().unwrap();
    }
    fs::copy(&from, &to).unwrap();
    fs::copy(Log::path(&from), Log::path(&to)).unwrap();
    to
}

const FRAME: usize = 24 + 4_096;

/// Where the last frames of the last two commits are.
fn last_commits(log: &[u8]) -> [usize; 2] {
    let is_commit = |at: &usize| log[at + 4..at + 8] != [0; 4];
    let commits: Vec<_> = (32..log.len()).step_by(FRAME).filter(is_commit).collect();
    *commits.last_chunk().unwrap()
}

fn rows(path: &Path) -> i64 {
    State::read(path)
        .unwrap()
        .value("SELECT count(*) FROM meta WHERE value LIKE 'value%'", [])
        .unwrap()
}

#[test]
fn a_damaged_log_is_found_and_restored() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory);
    let log = fs::read(Log::path(&path)).unwrap();
    let whole = fs::read(&path).unwrap();
    assert!(Inspection::of(&path).unwrap().is_sound());
    // The header, frames and pages; the last frame is the last commit.
    for at in [
        0,
        5,
        9,
        17,
        30,
        32,
        37,
        41,
        45,
        50,
        60,
        4_200,
        log.len() / 2,
        log.len() - 4_100,
        log.len() - 20,
    ] {
        let mut damaged = log.clone();
        damaged[at] ^= 64;
        fs::write(Log::path(&path), &damaged).unwrap();
        assert!(matches!(State::open(&path), Err(StateError::Damaged(_))), "byte {at}");
        assert!(matches!(State::read(&path), Err(StateError::Damaged(_))), "byte {at}");
        let found = Log::parse(&damaged).damage.unwrap();
        assert!(found.contains(&(at as u64)), "byte {at}: {found:?}");
        assert!(Log::restore(&mut damaged));
        assert!(damaged == log, "byte {at}");
    }
    // What a kill leaves behind is not damage.
    for end in [0, 1, 31, 32, 40, 60, 32 + 4_120, log.len() - 1, log.len() - 4_110] {
        assert_eq!(Log::parse(&log[..end]).damage, None, "{end} bytes");
    }
    fs::write(&path, whole).unwrap();
    fs::write(Log::path(&path), &log).unwrap();
    assert_eq!(rows(&path), 120);
}

#[test]
fn a_commit_that_is_torn_by_a_loss_of_power_is_not_damage() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory);
    let log = fs::read(Log::path(&path)).unwrap();
    let [last_but_one, last] = last_commits(&log);
    assert!(last > last_but_one + FRAME, "the last commit has several frames");
    let without = |at: usize| {
        let mut torn = log.clone();
        torn[at + 600..at + 1112].fill(7);
        torn
    };
    assert!(Log::parse(&without(last_but_one)).damage.is_some());
    let torn = without(last_but_one + FRAME);
    assert_eq!(Log::parse(&torn).damage, None);
    fs::write(Log::path(&path), torn).unwrap();
    let state = State::open(&path).unwrap();
    // What is left of the torn commit would look like damage behind a shorter one.
    assert_eq!(Log::path(&path).metadata().unwrap().len(), 0);
    drop(state);
    assert_eq!(rows(&path), 100);
    // A header is synced before frames follow it.
    assert_eq!(Log::parse(&[0; 32]).damage, None);
}

#[test]
fn every_byte_of_the_first_page_counts() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    drop(State::open(&path).unwrap());
    let sound = fs::read(&path).unwrap();
    for (at, change) in (0..110).flat_map(|at| [1, 8, 16, 48, 255].map(|change| (at, change))) {
        let mut damaged = sound.clone();
        damaged[at] ^= change;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(Inspection::of(&path).unwrap().pages, [1], "byte {at}");
        let error = State::open(&path).unwrap_err();
        assert!(matches!(error, StateError::Damaged(_)), "byte {at}: {error:?}");
    }
}

#[test]
fn who_reads_a_log_leaves_it_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory);
    let files = || [fs::read(&path).unwrap(), fs::read(Log::path(&path)).unwrap()];
    let before = files();
    drop(State::read(&path).unwrap());
    assert!(files() == before);
    assert_eq!(rows(&path), 120);
}

#[test]
fn a_frame_that_was_half_written_over_nearly_the_same_page_is_no_damage() {
    let directory = TempDir::new().unwrap();
    let log = fs::read(Log::path(&killed(&directory))).unwrap();
    let [before, last] = last_commits(&log).map(|at| at + FRAME);
    assert!(last > before + FRAME, "the last commit has several frames");
    // A loss of power left its first frame but for a byte, and no other.
    let mut torn = log[..before + FRAME].to_vec();
    torn[before + 4_000] ^= 64;
    let parsed = Log::parse(&torn);
    assert_eq!((parsed.committed, parsed.damage), (before as u64, None));
    // With the others it is damage.
    let mut damaged = log[..last].to_vec();
    damaged[before + 4_000] ^= 64;
    assert!(Log::parse(&damaged).damage.is_some());
}
