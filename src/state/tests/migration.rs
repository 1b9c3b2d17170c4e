//! States of the layout before, as the program of that time wrote them.

use std::path::Path;

use super::*;
use crate::fingerprint::Segment;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/state/");

/// A copy of a bundled file.
fn copy(name: &str, directory: &TempDir) -> PathBuf {
    let path = path(directory);
    fs::copy(Path::new(DATA).join(name), &path).unwrap();
    path
}

fn version(path: &Path) -> i64 {
    let db = Connection::open(path).unwrap();
    db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn a_filter_continues_with_a_file_of_version_4() {
    let directory = TempDir::new().unwrap();
    let path = copy("filter-v4.sqlite", &directory);
    assert_eq!(version(&path), 4);
    let options = Options::default();
    let mut filter = DurableFilter::open(&path, &options).unwrap();
    let lines = fs::read_to_string(Path::new(DATA).join("documents-v4.jsonl")).unwrap();
    let mut judged = 0;
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let document =
            filter.documents().text(&format!("again {judged}"), line["text"].as_str().unwrap());
        let verdict = filter.judge(&document).unwrap().verdict;
        assert!(!verdict.is_unique(), "document {judged} is known");
        judged += 1;
    }
    assert!(judged > 0);
    filter.commit().unwrap();
    drop(filter);
    assert_eq!(version(&path), VERSION);
    DurableFilter::open(&path, &options).unwrap();
}

#[test]
fn a_crawl_of_version_4_keeps_its_causes_and_options() {
    let directory = TempDir::new().unwrap();
    let path = copy("crawl-v4.sqlite", &directory);
    let removed = "UPDATE meta SET value = json_set(value, '$.window.refresh', json('true')) WHERE name = 'dedup'";
    Connection::open(&path).unwrap().execute(removed, []).unwrap();
    // A reader migrates it too.
    let state = State::read(&path).unwrap();
    let mut skipped = Vec::new();
    let collect = |row: UrlRow| {
        skipped.extend(row.cause.map(|cause| (cause, row.detail.unwrap())));
        Ok::<_, StateError>(())
    };
    UrlLog::load(&state).unwrap().for_each(&state, |_| true, collect).unwrap();
    let count = |wanted| skipped.iter().filter(|(cause, _)| *cause == wanted).count();
    assert_eq!((count(SkipCause::RobotsNotReceived), count(SkipCause::SameSite)), (1, 2));
    let details: Vec<&str> = skipped.iter().map(|(_, detail)| detail.as_str()).collect();
    assert!(details.contains(&"found on duplicates of pages of their own site"), "{details:?}");
    assert!(
        details.iter().any(|it| it.starts_with("robots.txt could not be had: ")),
        "{details:?}"
    );
    let options: String = state.meta("dedup").unwrap().unwrap();
    assert!(!options.contains("refresh"), "{options}");
}

#[test]
fn a_file_of_version_4_that_is_refused_stays_as_it_was() {
    let directory = TempDir::new().unwrap();
    let other = Options { segment: Segment::Ngrams, ..Options::default() };
    for (name, options) in [("filter-v4.sqlite", other), ("crawl-v4.sqlite", Options::default())] {
        let path = copy(name, &directory);
        let before = fs::read(&path).unwrap();
        let error = DurableFilter::open(&path, &options).unwrap_err();
        assert!(matches!(error, StateError::Recipe { .. } | StateError::Kind), "{error}");
        assert!(fs::read(&path).unwrap() == before, "{name} has changed");
    }
}

#[test]
fn a_file_of_version_9_gets_a_table_of_what_was_learnt() {
    let directory = TempDir::new().unwrap();
    let path = path(&directory);
    State::open(&path).unwrap().commit().unwrap();
    let state = State::open(&path).unwrap();
    let back = "DROP TABLE learnt; DROP TABLE others; PRAGMA user_version = 9";
    state.db.execute_batch(back).unwrap();
    drop(state);
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
fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let directory = TempDir::new().unwrap();
    let path = copy("filter-v4.sqlite", &directory);
    Connection::open(&path)
        .unwrap()
        .execute_batch("ALTER TABLE urls ADD COLUMN cause TEXT")
        .unwrap();
    assert!(State::open(&path).is_err());
    assert_eq!(version(&path), 4);
    let columns = "SELECT count(*) FROM pragma_table_info('templates') WHERE name = 'site'";
    let old: i64 =
        Connection::open(&path).unwrap().query_row(columns, [], |row| row.get(0)).unwrap();
    assert_eq!(old, 1);
}

#[test]
fn a_file_of_version_4_in_use_is_not_migrated_by_a_reader() {
    let directory = TempDir::new().unwrap();
    let path = copy("crawl-v4.sqlite", &directory);
    let _lock = WriteLock::take(&path).unwrap();
    assert!(matches!(State::read(&path), Err(StateError::Busy { .. })));
    assert_eq!(version(&path), 4);
}
