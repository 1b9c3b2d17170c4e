//! A window between runs.

use std::time::Duration;

use super::super::*;
use crate::{
    filter::{Document, Filter, Judgement, Key, Options, WindowOptions},
    fingerprint::{Digest, HashSeedChoice, Signature, Sketch},
    page::{DocId, Timestamp},
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
    Document {
        key: Key(number),
        body: Some(digest(body, "body")),
        sketch: Sketch {
            signature: Signature([word ^ noise, word, word, word]),
            features: if number.is_multiple_of(16) { 3 } else { 100 },
            digest: Some(digest(text, "text")),
        },
        chars: 100,
        lang: None,
        at: Timestamp(i64::try_from(number).unwrap()),
        blocks: None,
    }
}

fn options(entries: u64) -> Options {
    let window = WindowOptions {
        entries: entries.try_into().unwrap(),
        age: Some(Duration::from_millis(400)),
    };
    Options { window, ..Options::default() }
}

fn kept(state: &State, options: &Options) -> KeptFilter {
    KeptFilter::open(state.clone(), options, drop).unwrap().0
}

#[test]
fn a_window_that_is_closed_and_opened_again_judges_as_one_that_never_was() {
    let options = options(150);
    let mut free = Filter::new(&options).unwrap();
    let state = State::in_memory().unwrap();
    let mut filter = kept(&state, &options);
    let mut duplicates = 0;
    for number in 1..2000 {
        if number % 97 == 0 {
            filter.commit().unwrap();
            filter = kept(&state, &options);
        }
        let subject = subject(number);
        let Ok(expected) = free.judge(&subject);
        let found: Judgement = filter.judge(&number.to_string(), &subject).unwrap();
        assert_eq!(found, expected, "document {number}");
        if let Some(matched) = found.verdict.matched() {
            assert_eq!(filter.name_of(matched.of).unwrap(), matched.of.to_string());
            duplicates += 1;
        }
    }
    assert!((200..1500).contains(&duplicates), "{duplicates}");
}

#[test]
fn documents_that_left_the_window_leave_the_state() {
    let state = State::in_memory().unwrap();
    let mut filter = kept(&state, &options(5));
    for number in 1..500 {
        filter.judge(&number.to_string(), &subject(number * 4)).unwrap();
    }
    filter.commit().unwrap();
    let mut names = Vec::new();
    state.for_each_document(|document| names.push(document.name)).unwrap();
    assert_eq!(names, ["495", "496", "497", "498", "499"]);
}

#[test]
fn what_has_left_does_not_come_back_though_the_next_window_is_larger() {
    let state = State::in_memory().unwrap();
    let mut filter = kept(&state, &options(20));
    for number in 1..=300 {
        filter.judge(&number.to_string(), &subject(number * 4)).unwrap();
        filter.commit().unwrap();
    }
    let mut filter = kept(&state, &options(1000));
    assert_eq!(filter.len(), 20);
    for of in 1..=300 {
        // It repeats one in text, and another nearly.
        for number in [of * 8 + 2, of * 8 + 3] {
            let again = Document { key: Key(9), at: Timestamp(1200), ..subject(number) };
            let found = filter.judge("again", &again).unwrap().verdict.matched().copied();
            if let Some(found) = found {
                filter.name_of(found.of).unwrap();
            }
        }
    }
}

#[test]
fn what_was_not_committed_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seen.db");
    let options = options(100);
    let mut filter = kept(&State::open(&path).unwrap(), &options);
    filter.judge("committed", &subject(4)).unwrap();
    filter.commit().unwrap();
    filter.judge("lost", &subject(8)).unwrap();
    drop(filter);
    let mut filter = kept(&State::open(&path).unwrap(), &options);
    let again = Document { key: Key(99), ..subject(8) };
    let judgement = filter.judge("again", &again).unwrap();
    assert_eq!((judgement.id, judgement.verdict.is_unique()), (DocId(2), true));
    let repeated = Document { key: Key(98), ..subject(4) };
    assert_eq!(
        filter.judge("repeated", &repeated).unwrap().verdict.matched().unwrap().of,
        DocId(1)
    );
}

#[test]
fn a_document_whose_key_is_not_its_name_is_still_known_by_its_key() {
    let state = State::in_memory().unwrap();
    let options = options(100);
    let version =
        |body: &[u8]| Document { key: Key(1), body: Some(Digest::of(body)), ..subject(4) };
    let mut filter = kept(&state, &options);
    filter.judge("first", &version(b"one")).unwrap();
    filter.commit().unwrap();
    let mut filter = kept(&state, &options);
    assert!(filter.judge("second", &version(b"two")).unwrap().verdict.is_unique());
}

#[test]
fn a_state_is_held_to_its_seed_scheme_and_kind() {
    let state = State::in_memory().unwrap();
    let with =
        |seed: &str| Options { seed: serde_json::from_str(seed).unwrap(), ..Options::default() };
    let (_, recipe) = KeptFilter::open(state.clone(), &with("7"), drop).unwrap();
    assert_eq!(with("7").seed.seed(), Some(recipe.hash_seed));
    assert_eq!(with(r#""secret""#).seed, HashSeedChoice::Secret);
    let (_, again) = KeptFilter::open(state.clone(), &with(r#""secret""#), drop).unwrap();
    assert_eq!(again, recipe);
    let refusal = |options: &Options| KeptFilter::open(state.clone(), options, drop).unwrap_err();
    assert!(matches!(refusal(&with("8")), StateError::Seed { .. }));
    assert!(matches!(refusal(&with(r#""public""#)), StateError::Seed { .. }));
    let unfolded = Options { fold_chinese: false, ..with("7") };
    assert!(matches!(refusal(&unfolded), StateError::Scheme { .. }));
    let crawl = State::in_memory().unwrap();
    crawl.set_meta("seed", 7).unwrap();
    let refusal = KeptFilter::open(crawl, &with("7"), drop).unwrap_err();
    assert!(matches!(refusal, StateError::Kind) && refusal.is_misuse());
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
