//! A durable filter between runs, and after failures.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use super::{super::*, VERSION};
use crate::{
    filter::{Document, Documents, Filter, JudgeError, Key, Options, WindowOptions},
    fingerprint::{Digest, HashSeed, HashSeedChoice, Recipe, Signature, Sketch},
    page::{DocId, Timestamp},
    submission::Identity,
};

/// A document of its own, unless its number says that it repeats an earlier one in body, text or nearly.
fn subject(number: u64) -> Document {
    let original = if number.is_multiple_of(4) { number } else { number / 2 };
    let digest = |of: u64, part: &str| Digest::of(format!("{part} {of}").as_bytes());
    let word = original.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (body, text, noise) = match number % 4 {
        0 => (number, number, 0),
        1 => (original, number, 0),
        2 => (number, original, 0),
        _ => (number, number, 1 << (number % 64)),
    };
    let sketch = Sketch {
        signature: Signature([word ^ noise, word, word, word]),
        features: if number.is_multiple_of(16) { 3 } else { 100 },
        digest: Some(digest(text, "text")),
    };
    let document =
        Documents::new(Recipe::default(), false).sketched(&number.to_string(), sketch, 100);
    let at = Timestamp(i64::try_from(number).unwrap());
    document.with_key(Key(number)).with_body(digest(body, "body")).with_time(at)
}

fn options(entries: u64) -> Options {
    let window = WindowOptions {
        entries: entries.try_into().unwrap(),
        age: Some(Duration::from_millis(400)),
        future: false,
    };
    Options { window, ..Options::default() }
}

fn durable(state: State, options: &Options) -> DurableFilter {
    DurableFilter::of_filter(state, options, || HashSeed::PUBLIC, drop).unwrap()
}

#[test]
fn a_window_that_is_closed_and_opened_again_judges_as_one_that_stayed_open() {
    let options = options(150);
    let mut free = Filter::of_recipe(&options, Recipe::default()).unwrap();
    let mut filter = durable(State::in_memory().unwrap(), &options);
    let (mut duplicates, mut removed) = (0, 0);
    for number in 1..2000 {
        if number % 97 == 0 {
            filter = durable(filter.into_state(), &options);
        }
        if number % 7 == 0 {
            let id = DocId(number - number % 300);
            let was_there = filter.remove(id).unwrap();
            assert_eq!(was_there, free.remove(id).unwrap(), "document {id}");
            assert_eq!(filter.versions(Key(id.0)), free.versions(Key(id.0)));
            removed += u32::from(was_there);
        }
        let subject = Document { id: number.to_string(), ..subject(number) };
        let expected = free.judge(&subject).unwrap();
        let found = filter.judge(&subject).unwrap();
        assert_eq!(found, expected, "document {number}");
        if let Some(matched) = found.verdict.matched() {
            assert_eq!(filter.id_of(matched.of).unwrap(), matched.of.to_string());
            duplicates += 1;
        }
    }
    assert!((200..1500).contains(&duplicates), "{duplicates}");
    assert!(removed > 5 && filter.judged() == 1999 && free.judged() == 1999, "{removed}");
}

#[test]
fn documents_that_left_the_window_leave_the_state() {
    let mut filter = durable(State::in_memory().unwrap(), &options(5));
    for number in 1..500_u64 {
        filter.judge(&Document { id: number.to_string(), ..subject(number * 4) }).unwrap();
    }
    let state = filter.into_state();
    let mut names = Vec::new();
    let collect = |document: JudgedDocument| {
        names.push(document.name);
        Ok(())
    };
    state.for_each_document(collect).unwrap();
    assert_eq!(names, ["495", "496", "497", "498", "499"]);
}

#[test]
fn what_has_left_does_not_come_back_though_the_next_window_is_larger() {
    let mut filter = durable(State::in_memory().unwrap(), &options(20));
    for number in 1..=300 {
        filter.judge(&subject(number * 4)).unwrap();
        filter.commit().unwrap();
    }
    let mut filter = durable(filter.into_state(), &options(1000));
    assert_eq!(filter.len(), 20);
    for of in 1..=300 {
        // It repeats one in text, and another nearly.
        for number in [of * 8 + 2, of * 8 + 3] {
            let again = subject(number).with_key(Key(9)).with_time(Timestamp(1200));
            if let Some(found) = filter.judge(&again).unwrap().verdict.matched().copied() {
                filter.id_of(found.of).unwrap();
            }
        }
    }
}

#[test]
fn what_was_not_committed_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seen.db");
    let options = options(100);
    let open = || durable(State::open(&path).unwrap(), &options);
    let mut filter = open();
    filter.judge(&subject(4)).unwrap();
    filter.commit().unwrap();
    filter.judge(&subject(8)).unwrap();
    drop(filter);
    let mut filter = open();
    let judgement = filter.judge(&subject(8).with_key(Key(99))).unwrap();
    assert_eq!((judgement.id, judgement.verdict.is_unique()), (DocId(2), true));
    let repeated = filter.judge(&subject(4).with_key(Key(98))).unwrap();
    assert_eq!(repeated.verdict.matched().unwrap().of, DocId(1));
}

#[test]
fn after_a_rollback_every_call_is_an_error_until_the_file_is_opened_again() {
    let mut filter = durable(State::in_memory().unwrap(), &options(100));
    filter.judge(&subject(4)).unwrap();
    filter.commit().unwrap();
    filter.judge(&subject(8)).unwrap();
    filter.rollback().unwrap();
    every_call_fails(&mut filter);
    let mut filter = durable(filter.store.state, &options(100));
    assert_eq!(filter.judge(&subject(12)).unwrap().id, DocId(2));
}

#[test]
fn after_a_statement_that_failed_every_call_is_an_error() {
    let mut filter = durable(State::in_memory().unwrap(), &options(100));
    filter.judge(&subject(4)).unwrap();
    // The number of the next document is taken.
    let sql = "INSERT INTO documents SELECT 2, name, title, at, stored, kind, step, match, distance, \
               signature_distance, fingerprint, chars, features, lang, payload, asked, similarity, thin, digests, alias, key, nearest, origin, signature FROM documents";
    assert_eq!(filter.store.state.db.execute(sql, []).unwrap(), 1);
    assert!(matches!(filter.judge(&subject(8)), Err(StateError::Database(_))));
    every_call_fails(&mut filter);
}

#[test]
fn a_transaction_that_was_lost_is_noticed() {
    let mut filter = durable(State::in_memory().unwrap(), &options(100));
    filter.judge(&subject(4)).unwrap();
    // As SQLite does by itself after some errors.
    filter.store.state.db.execute_batch("ROLLBACK").unwrap();
    every_call_fails(&mut filter);
}

fn every_call_fails(filter: &mut DurableFilter) {
    for _ in 0..2 {
        assert!(matches!(filter.judge(&subject(12)), Err(StateError::RolledBack)));
        assert!(matches!(filter.commit(), Err(StateError::RolledBack)));
        assert!(matches!(filter.id_of(DocId(1)), Err(StateError::RolledBack)));
    }
}

#[test]
fn a_document_whose_key_is_not_the_hash_of_its_id_is_still_known_by_its_key() {
    let options = options(100);
    let version = |body: &[u8]| subject(4).with_key(Key(1)).with_body(Digest::of(body));
    let mut filter = durable(State::in_memory().unwrap(), &options);
    filter.judge(&version(b"one")).unwrap();
    let mut filter = durable(filter.into_state(), &options);
    assert!(filter.judge(&version(b"two")).unwrap().verdict.is_unique());
}

#[test]
fn a_document_made_by_another_recipe_is_refused_and_nothing_else() {
    let mut filter = durable(State::in_memory().unwrap(), &options(100));
    let foreign = Documents::new(Recipe { hash_seed: HashSeed(7), ..Recipe::default() }, false);
    let refused = filter.judge(&foreign.text("a", "A text."));
    assert!(matches!(refused, Err(StateError::Judge(JudgeError::Recipe))));
    assert_eq!(filter.judge(&subject(4)).unwrap().id, DocId(1));
}

#[test]
fn a_state_is_held_to_its_recipe_and_kind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seen.db");
    let with = |seed: &str| Options {
        hash_seed: serde_json::from_str(seed).unwrap(),
        ..Options::default()
    };
    let recipe = |options: &Options| {
        DurableFilter::open(&path, options)
            .map(|filter| filter.documents().fingerprinter().recipe())
    };
    let first = recipe(&with("7")).unwrap();
    assert_eq!(with("7").hash_seed.seed(), Some(first.hash_seed));
    assert_eq!(with(r#""secret""#).hash_seed, HashSeedChoice::Secret);
    assert_eq!(recipe(&with(r#""secret""#)).unwrap(), first);
    let refused = |options: &Options| match recipe(options).unwrap_err() {
        StateError::Recipe(difference) => difference.key,
        error => panic!("{error}"),
    };
    assert_eq!(refused(&with("8")), "dedup.seed");
    assert_eq!(refused(&with(r#""public""#)), "dedup.seed");
    assert_eq!(refused(&Options { fold_chinese: false, ..with("7") }), "dedup.fold_chinese");
    let crawl = State::in_memory().unwrap();
    crawl.set_meta("seed", 7).unwrap();
    let refusal = DurableFilter::of_filter(crawl, &with("7"), HashSeed::random, drop).unwrap_err();
    assert!(matches!(refusal, StateError::Kind) && refusal.is_misuse());
}

#[test]
fn a_drawn_seed_is_secret_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let filter = DurableFilter::open(&directory.path().join(name), &Options::default());
        filter.unwrap().documents().fingerprinter().recipe().hash_seed
    };
    let (a, b) = (open("a"), open("b"));
    assert!(a != b && a != HashSeed::PUBLIC && a == open("a"));
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database ".repeat(100)).unwrap();
    assert!(matches!(State::open(&text), Err(StateError::Foreign { .. })));
    assert_eq!(std::fs::read(&text).unwrap().len(), 1500);
    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(matches!(State::open(&foreign), Err(StateError::Foreign { .. })));
    let ours = directory.path().join("ours.db");
    let first = State::open(&ours).unwrap();
    assert!(matches!(State::open(&ours), Err(StateError::Busy { .. })));
    first.db.pragma_update(None, "user_version", VERSION + 1).unwrap();
    drop(first);
    assert!(matches!(State::open(&ours), Err(StateError::Version { .. })));
}

#[test]
#[cfg(target_os = "linux")]
fn a_state_that_is_open_is_in_use_under_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let [first, other, link, target] =
        ["first.db", "other.db", "link.db", "target.db"].map(|name| directory.path().join(name));
    let open = State::open(&first).unwrap();
    std::fs::rename(&first, &other).unwrap();
    assert!(matches!(WriteLock::take(&other), Err(StateError::Busy { .. })));
    drop(open);
    drop(State::open(&other).unwrap());
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let open = State::open(&link).unwrap();
    assert!(matches!(State::open(&target), Err(StateError::Busy { .. })));
    drop(open);
}

#[test]
fn an_opening_that_is_cancelled_lets_go_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite");
    let options = options(150);
    let mut filter = DurableFilter::open(&path, &options).unwrap();
    let recipe = filter.documents().fingerprinter().recipe();
    for number in 1..9 {
        let sketch = subject(number * 4).sketch.text;
        let documents = Documents::new(recipe, false);
        filter.judge(&documents.sketched(&number.to_string(), sketch, 100)).unwrap();
    }
    filter.commit().unwrap();
    let judged = filter.judged();
    drop(filter);
    let open = |cancelled: bool| {
        let cancelled = Arc::new(AtomicBool::new(cancelled));
        DurableFilter::open_or_create(&path, &options, HashSeed::PUBLIC, cancelled)
    };
    assert!(matches!(open(true), Err(StateError::Cancelled)));
    assert_eq!(open(false).unwrap().judged(), judged, "it is neither changed nor in use");
}

#[test]
fn a_document_is_removed_with_its_versions_that_were_duplicates() {
    let mut filter = durable(State::in_memory().unwrap(), &options(150));
    let documents = filter.documents();
    for (id, text) in [("a", "One text."), ("b", "One text."), ("b", "Another."), ("c", "Another.")]
    {
        filter.judge(&documents.text(id, text)).unwrap();
    }
    let named = |id: &str| Identity { name: id.to_owned(), key: Key::of(id) };
    let rows = |filter: &DurableFilter, id: &str| filter.state().documents_of(&named(id)).unwrap();
    assert_eq!(rows(&filter, "b").len(), 2);
    let versions = rows(&filter, "b");
    assert!(filter.remove_versions(&versions).unwrap());
    assert!(rows(&filter, "b").is_empty() && rows(&filter, "a").len() == 1);
    let versions = rows(&filter, "c");
    assert!(!filter.remove_versions(&versions).unwrap(), "a duplicate stays");
    assert_eq!(rows(&filter, "c").len(), 1);
    assert!(filter.judge(&documents.text("d", "Another.")).unwrap().verdict.is_unique());
}
