#![cfg(feature = "crawl")]

mod articles;
mod durable;
mod log;
mod queue;
mod restore;
mod texts;
mod visits;

use std::{
    fs,
    num::{NonZeroU32, NonZeroU64},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::{
    documents::{Entered, Remembered},
    open::VERSION,
    *,
};
use crate::{
    filter::{
        Document, Engine, Facts, Filter, IN_FILE, Judgement, Key, Options, OriginKey,
        Representative, Verdict,
        tests::model::{Judge, Script, script},
    },
    fingerprint::{Digest, Recipe, Signature},
    page::{DocId, Timestamp},
};

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("state.sqlite")
}

/// A durable filter that is closed and opened again.
struct InState {
    options: Options,
    equal_limit: NonZeroU32,
    filter: Option<DurableFilter>,
}

impl InState {
    fn new(script: &Script) -> Self {
        let (options, equal_limit) = (script.options.clone(), script.equal_limit);
        let mut this = Self { options, equal_limit, filter: None };
        this.open(State::in_memory().unwrap());
        this
    }

    fn open(&mut self, state: State) {
        let filter = DurableFilter::for_tests(state, &self.options, self.equal_limit);
        self.filter = Some(filter);
    }

    fn filter(&mut self) -> &mut DurableFilter {
        self.filter.as_mut().unwrap()
    }
}

impl Judge for InState {
    fn judge(&mut self, document: &Document) -> Judgement {
        let judgement = self.filter().judge(document).unwrap();
        self.filter().commit().unwrap();
        judgement
    }

    fn reopen(&mut self) {
        let state = self.filter.take().unwrap().into_state();
        self.open(state);
    }

    fn len(&self) -> usize {
        self.filter.as_ref().map_or(0, Filter::len)
    }
}

fn representative(id: u64, word: u64) -> Representative {
    let signature = word.is_multiple_of(3).then_some(Signature([word, !word, id, 7]));
    let (id, at) = (DocId(id), Timestamp(id.cast_signed() - 9));
    let mut representative = Representative::new(id, at, Key(word), signature);
    representative.origin = NonZeroU64::new(word % 5).map(OriginKey);
    representative.has_content = word.is_multiple_of(3);
    representative
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_filter_over_the_state_judges_as_the_design_says(script in script()) {
        script.play(&mut InState::new(&script))?;
    }

    #[test]
    fn representatives_are_read_back_as_they_were_kept(
        words in prop::collection::vec((1..4_u64, any::<u64>()), 0..300),
        oldest in 0..600_u64,
    ) {
        let state = State::in_memory().unwrap();
        let (mut id, mut all) = (0, Vec::new());
        for (gap, word) in words {
            id += gap;
            all.push(representative(id, word));
            remember(&state, all.last().unwrap());
        }
        let mut found = Vec::new();
        state.for_each_remembered(DocId(oldest), |one| found.extend(one.representative)).unwrap();
        all.retain(|representative| representative.id.0 >= oldest);
        prop_assert_eq!(found, all);
    }
}

/// Keeps a representative without digests.
fn remember(state: &State, representative: &Representative) {
    let judgement = Judgement { at: representative.at, ..unique(representative.id.0) };
    let (key, representative) = (representative.key, Some(representative));
    let entered = Entered { digests: &[], key, alias: None, representative };
    state.add_document("a", &judgement, Some(&entered)).unwrap();
}

#[test]
fn a_state_is_found_again_as_it_was() {
    let directory = TempDir::new().unwrap();
    let state = State::open(&path(&directory)).unwrap();
    state.begin().unwrap();
    state.set_meta("seed", 7_i64).unwrap();
    state.set_file("pages.jsonl", u64::MAX).unwrap();
    state.set_file("pages.jsonl", 12).unwrap();
    state.commit().unwrap();
    state.begin().unwrap();
    state.set_meta("seed", 8_i64).unwrap();
    drop(state);
    let state = State::open(&path(&directory)).unwrap();
    assert_eq!(state.meta::<i64>("seed").unwrap(), Some(7), "what was not committed is gone");
    assert_eq!(state.meta::<i64>("none").unwrap(), None);
    assert_eq!(state.files().unwrap(), [("pages.jsonl".to_owned(), 12)]);
}

#[test]
fn a_state_in_use_is_refused() {
    let directory = TempDir::new().unwrap();
    let state = State::open(&path(&directory)).unwrap();
    assert!(matches!(State::open(&path(&directory)), Err(StateError::Busy { .. })));
    assert!(matches!(WriteLock::take(&path(&directory)), Err(StateError::Busy { .. })));
    drop(state);
    assert!(
        WriteLock::take(&path(&directory)).is_ok(),
        "the lock is given back, though its file stays"
    );
}

#[test]
fn a_state_in_use_can_be_read_as_it_was_committed_last() {
    let directory = TempDir::new().unwrap();
    let writer = State::open(&path(&directory)).unwrap();
    let commit = |value: i64| {
        writer.begin().unwrap();
        writer.set_meta("seed", value).unwrap();
        writer.commit().unwrap();
    };
    commit(1);
    let reader = State::read(&path(&directory)).unwrap();
    assert_eq!(reader.meta::<i64>("seed").unwrap(), Some(1));
    commit(2);
    writer.begin().unwrap();
    writer.set_meta("seed", 3_i64).unwrap();
    assert_eq!(reader.meta::<i64>("seed").unwrap(), Some(1), "one look");
    assert_eq!(State::read(&path(&directory)).unwrap().meta::<i64>("seed").unwrap(), Some(2));
    assert!(reader.set_meta("seed", 4_i64).is_err());
}

#[test]
fn a_state_whose_writer_was_killed_is_read_and_opened() {
    let (directory, copy) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let writer = State::open(&path(&directory)).unwrap();
    writer.set_meta("seed", 1_i64).unwrap();
    // What a process leaves that ends without closing anything: the file and its log.
    for suffix in ["", "-wal", "-lock"] {
        let name = format!("state.sqlite{suffix}");
        fs::copy(directory.path().join(&name), copy.path().join(&name)).unwrap();
    }
    assert_eq!(State::read(&path(&copy)).unwrap().meta::<i64>("seed").unwrap(), Some(1));
    assert_eq!(State::open(&path(&copy)).unwrap().meta::<i64>("seed").unwrap(), Some(1));
}

#[test]
fn no_lock_file_is_created_beside_a_file_that_is_not_a_state() {
    let directory = TempDir::new().unwrap();
    fs::write(path(&directory), b"these are my notes").unwrap();
    assert!(State::open(&path(&directory)).is_err());
    assert!(State::read(&path(&directory)).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    fs::write(path(&directory), b"").unwrap();
    assert!(matches!(State::read(&path(&directory)), Err(StateError::Foreign { .. })));
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let file = path(&directory);
    fs::write(&file, b"short").unwrap();
    assert!(matches!(State::open(&file), Err(StateError::Foreign { .. })));
    assert_eq!(fs::read(&file).unwrap(), b"short");
    fs::write(&file, b"these are my notes, which are longer than the header of a database file is: a hundred bytes").unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(State::open(&file), Err(StateError::Foreign { .. })));
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::remove_file(&file).unwrap();
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    assert!(matches!(State::open(&file), Err(StateError::Foreign { .. })));
}

#[test]
fn a_state_of_another_version_is_refused() {
    let directory = TempDir::new().unwrap();
    let file = path(&directory);
    State::open(&file).unwrap().db.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(State::open(&file), Err(StateError::Version { found: 99, .. })));
}

#[test]
fn a_directory_is_no_state() {
    let directory = TempDir::new().unwrap();
    assert!(matches!(State::open(directory.path()), Err(StateError::Foreign { .. })));
    assert!(matches!(State::open(&directory.path().join("a/b")), Err(StateError::File { .. })));
}

#[cfg(unix)]
#[test]
fn a_new_state_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = TempDir::new().unwrap();
    let state = State::open(&path(&directory)).unwrap();
    state.set_meta("seed", 1_i64).unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{:?}",
            entry.path()
        );
    }
}

fn unique(id: u64) -> Judgement {
    let facts = Facts { features: 3, ..Facts::default() };
    Judgement {
        id: DocId(id),
        at: Timestamp(0),
        verdict: Verdict::Unique,
        facts,
        nearest: None,
        previous: None,
    }
}

#[test]
fn damaged_rows_are_errors() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let host = urls.host(&state, "a:80").unwrap();
    let id = urls.add(&state, &queue::new_url("http://a/", host), None).unwrap();
    state.add_document("a", &unique(1), None).unwrap();
    let damage = |sql: &str| state.db.execute_batch(sql).unwrap();
    let is_damage = |error: StateError| matches!(error, StateError::Damaged(_));

    damage("UPDATE urls SET state = 99");
    assert!(is_damage(state.url_by_id(id).unwrap_err()));
    assert!(is_damage(urls.take(&state, host).unwrap_err()));
    damage("UPDATE urls SET state = 0, depth = -1");
    assert!(is_damage(state.url_by_id(id).unwrap_err()));
    damage("UPDATE urls SET depth = 0, status = 70000");
    assert!(is_damage(state.url_by_id(id).unwrap_err()));
    damage("UPDATE urls SET status = NULL, cause = 9");
    assert!(is_damage(state.url_by_id(id).unwrap_err()));
    damage("UPDATE urls SET cause = NULL, kind = 5");
    assert!(is_damage(state.url_by_id(id).unwrap_err()));
    for text in ["a", "ftp://a/"] {
        damage(&format!("UPDATE urls SET kind = 0, url = '{text}'"));
        assert!(is_damage(state.url_by_id(id).unwrap_err()), "{text}");
    }

    for cause in ["1", "'Unknown'", "'{\"Unanswered\":-1}'"] {
        damage(&format!("UPDATE hosts SET cause = {cause}, until = 0"));
        assert!(is_damage(state.suspended_hosts().unwrap_err()), "{cause}");
    }

    for sql in [
        "UPDATE documents SET kind = 9",
        "UPDATE documents SET kind = 1, step = NULL",
        "UPDATE documents SET kind = 1, step = 1, match = NULL",
        "UPDATE documents SET kind = 0, chars = -1",
        "UPDATE documents SET chars = 0, payload = x'00', asked = 0",
    ] {
        damage(sql);
        let error = state.document(DocId(1)).unwrap_err();
        assert!(is_damage(error), "{sql}");
    }
    assert!(is_damage(state.name_of(DocId(7)).unwrap_err()));

    damage("UPDATE urls SET url = 'http://a/', id = 2");
    assert!(is_damage(UrlIndex::load(&state).unwrap_err()), "a URL is missing");
    damage("UPDATE urls SET id = 1, host = 7");
    assert!(is_damage(UrlIndex::load(&state).unwrap_err()), "its host is missing");

    damage("DELETE FROM documents");
    remember(&state, &representative(1, 3));
    for sql in
        ["digests = x'0011'", "digests = x'', signature = x'00'", "signature = NULL, key = NULL"]
    {
        damage(&format!("UPDATE documents SET {sql}"));
        assert!(is_damage(state.for_each_remembered(DocId(0), drop).unwrap_err()), "{sql}");
    }
}

#[test]
fn digests_come_back_from_the_rows_of_their_documents() {
    let state = State::in_memory().unwrap();
    for id in 1..=500_u64 {
        let alias = id.is_multiple_of(3).then_some(id / 3);
        let digest = Digest::of(&(id % 50).to_le_bytes());
        let entered = Entered { digests: &[digest], key: Key(id), alias, representative: None };
        state.add_document("a", &unique(id), Some(&entered)).unwrap();
    }
    for oldest in [0, 1, 77, 500, 501] {
        let options = Options::default();
        let mut engine = Engine::new(&options, Recipe::default(), options.index(IN_FILE).unwrap());
        let enter = |it: Remembered| engine.enter_digests(&it.digests, it.id, it.alias);
        state.for_each_remembered(DocId(oldest), enter).unwrap();
        for class in 0..51_u64 {
            let digest = Digest::of(&class.to_le_bytes());
            let found = engine.known_by(digest).into_iter();
            let found = found.map(|id| state.known(id, digest).unwrap().unwrap());
            let found: Vec<_> = found.map(|known| (known.id.0, known.alias)).collect();
            let expected = (oldest.max(1)..=500).filter(|id| id % 50 == class);
            let expected: Vec<_> =
                expected.map(|id| (id, id.is_multiple_of(3).then_some(id / 3))).collect();
            assert_eq!(found, expected, "{class} from {oldest} on");
        }
    }
}

#[test]
fn pages_are_found_that_link_to_a_url_also_through_redirects() {
    let state = State::in_memory().unwrap();
    let mut urls = UrlIndex::load(&state).unwrap();
    let host = urls.host(&state, "a:80").unwrap();
    let ids: Vec<UrlId> = (0..7)
        .map(|n| urls.add(&state, &queue::new_url(&format!("http://a/{n}"), host), None).unwrap())
        .collect();
    let [home, page, dead, moved, again, twice, circle] = ids[..] else { panic!() };
    for redirect in [moved, again, circle] {
        queue::settle(&mut urls, &state, redirect, Reason::Redirect);
    }
    state.set_links(home, &[page, dead, moved, dead]).unwrap();
    state.set_links(page, &[home, twice]).unwrap();
    state.set_links(moved, &[again]).unwrap();
    state.set_links(again, &[dead]).unwrap();
    state.set_links(circle, &[circle]).unwrap();
    state.set_links(twice, &[again, again, circle]).unwrap();
    assert_eq!(state.links_of(home).unwrap(), [page, dead, moved, dead]);
    assert_eq!(state.links_of(dead).unwrap(), []);
    let redirects = Redirects::load(&state, vec![moved, again, circle]).unwrap();
    assert_eq!(redirects.dead().collect::<Vec<_>>(), [circle]);
    let found = state.inlinks(&[dead, circle, twice].into(), &redirects, 9).unwrap();
    let expected = Inlinks { pages: vec![home, twice], count: 2, redirects: vec![moved, again] };
    assert_eq!(found[&dead], expected);
    assert_eq!(found[&circle], Inlinks { pages: vec![twice], count: 1, redirects: vec![] });
    assert_eq!(found[&twice], Inlinks { pages: vec![page], count: 1, redirects: vec![] });
    let first = &state.inlinks(&[dead].into(), &redirects, 1).unwrap()[&dead];
    assert_eq!((&*first.pages, first.count), (&[home][..], 2));
    state.db.execute_batch("UPDATE links SET packed = x'0101ff'").unwrap();
    let damaged = state.inlinks(&[dead].into(), &redirects, 1);
    assert!(matches!(damaged, Err(StateError::Damaged(_))));
}

#[test]
#[cfg(unix)]
fn a_state_has_one_writer_whatever_it_is_called() {
    let directory = tempfile::tempdir().unwrap();
    let path = path(&directory);
    let state = State::open(&path).unwrap();
    let link = directory.path().join("link.sqlite");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(State::open(&link), Err(StateError::Busy { .. })));
    drop(state);
    let state = State::open(&link).unwrap();
    assert!(matches!(State::open(&path), Err(StateError::Busy { .. })));
    drop(state);
    // Also while it is open, and nothing is made beside the other name.
    let state = State::open(&path).unwrap();
    let other = directory.path().join("other.sqlite");
    fs::hard_link(&path, &other).unwrap();
    assert!(matches!(State::open(&other), Err(StateError::Linked { .. })));
    assert!(!other.with_extension("sqlite-wal").exists());
    drop(state);
    assert!(matches!(State::open(&path), Err(StateError::Linked { .. })));
}
