//! The log that a killed process leaves.

use std::path::Path;

use super::{super::open::log_of, *};

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
    fs::copy(log_of(&from), log_of(&to)).unwrap();
    to
}

fn rows(path: &Path) -> i64 {
    State::read(path)
        .unwrap()
        .value("SELECT count(*) FROM meta WHERE value LIKE 'value%'", [])
        .unwrap()
}

#[test]
fn who_reads_a_log_leaves_it_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory);
    let files = || [fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap()];
    let before = files();
    drop(State::read(&path).unwrap());
    assert!(files() == before);
    assert_eq!(rows(&path), 120);
}
