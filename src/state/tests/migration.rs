//! States of former layouts: that of the version before is migrated, older ones are refused.

use std::path::Path;

use super::*;
use crate::fingerprint::Segment;

/// A state of the layout before, with a filter in it.
fn former(path: &Path) {
    drop(DurableFilter::open(path, &Options::default()).unwrap());
    let state = State::open(path).unwrap();
    let back = format!("DROP TABLE learnt; DROP TABLE others; PRAGMA user_version = {FORMER}");
    state.db.execute_batch(&back).unwrap();
}

fn version(path: &Path) -> i64 {
    open::open_to_read(path).unwrap().1.unwrap()
}

#[test]
fn a_state_without_checksums_is_refused_and_stays_as_it_was() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/state/crawl-v4.sqlite");
    fs::copy(data, &path).unwrap();
    let before = fs::read(&path).unwrap();
    for error in [
        State::open(&path).unwrap_err(),
        State::read(&path).unwrap_err(),
        DurableFilter::open(&path, &Options::default()).unwrap_err(),
        refuse_without_checksums(&path).unwrap_err(),
    ] {
        assert!(matches!(error, StateError::Version { found: 4, .. }), "{error}");
        assert!(error.is_misuse());
    }
    let files: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn an_older_layout_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    former(&path);
    let state = State::open(&path).unwrap();
    let older = format!("PRAGMA user_version = {}", FORMER - 1);
    state.db.execute_batch(&older).unwrap();
    state.commit().unwrap();
    drop(state);
    for error in [State::open(&path).unwrap_err(), State::read(&path).unwrap_err()] {
        assert!(matches!(error, StateError::Version { found: 8, .. }), "{error}");
    }
}

#[test]
fn a_former_state_that_is_refused_stays_as_it_was() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    former(&path);
    let before = fs::read(&path).unwrap();
    let options = Options { segment: Segment::Ngrams, ..Options::default() };
    let error = DurableFilter::open(&path, &options).unwrap_err();
    assert!(matches!(error, StateError::Recipe { .. }), "{error}");
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(version(&path), FORMER);
}

#[test]
fn a_file_of_version_9_gets_a_table_of_what_was_learnt() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    former(&path);
    let state = State::open(&path).unwrap();
    assert_eq!(state.learnt_sites().unwrap(), [""; 0]);
    for known in ["{}", "{\"through\":1}"] {
        state.keep_learnt("example.org", known).unwrap();
        assert_eq!(state.learnt("example.org").unwrap().as_deref(), Some(known));
    }
    assert_eq!(state.learnt("example.net").unwrap(), None);
    assert_eq!(state.learnt_sites().unwrap(), ["example.org"]);
    state.execute("UPDATE learnt SET known = x'00'", []).unwrap();
    assert!(matches!(state.learnt("example.org"), Err(StateError::Damaged(_))));
    state.commit().unwrap();
    drop(state);
    let found = |sql| State::read(&path).unwrap().value::<i64>(sql, []).unwrap();
    assert_eq!(found("PRAGMA user_version"), VERSION);
}

#[test]
fn an_early_file_of_version_10_gets_the_column_of_root_urls() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    let state = State::open(&path).unwrap();
    let (root_url, row) = ("http://a.test:80", RobotsRow { at: Timestamp(1), body: Vec::new() });
    state.set_robots(root_url, &row).unwrap();
    let former_name = "ALTER TABLE robots RENAME COLUMN root_url TO origin";
    state.db.execute_batch(former_name).unwrap();
    drop(state);
    for _ in 0..2 {
        assert_eq!(State::open(&path).unwrap().robots(root_url).unwrap().as_ref(), Some(&row));
    }
}

#[test]
fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    former(&path);
    let state = State::open(&path).unwrap();
    state.rollback().unwrap();
    // The first table is made before the second one fails.
    state.db.execute_batch("CREATE TABLE others (id INTEGER)").unwrap();
    drop(state);
    assert!(State::open(&path).is_err());
    let (db, version) = open::open_to_read(&path).unwrap();
    assert_eq!(version, Some(FORMER));
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'learnt'";
    assert_eq!(db.query_row(tables, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn a_former_state_in_use_is_not_migrated_by_a_reader() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    former(&path);
    let _lock = WriteLock::take(&path).unwrap();
    assert!(matches!(State::read(&path), Err(StateError::Busy { .. })));
    assert_eq!(version(&path), FORMER);
}
