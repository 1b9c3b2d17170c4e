//! The texts of near duplicates.

use proptest::prelude::*;

use super::super::{
    learnt::{compressed, decompressed},
    *,
};
use crate::{
    filter::{Facts, Judgement, Kind, Match, Step, Verdict},
    page::{DocId, Timestamp},
};

/// Adds a near duplicate with this number, whose text has this many characters.
fn add(state: &State, id: u64, chars: usize) -> Judgement {
    let verdict = Verdict::Duplicate(Match {
        of: DocId(1),
        kind: Kind::Near,
        step: Step::Near,
        distance: 1,
        signature_distance: 2,
        similarity: 0.99,
    });
    let facts = Facts { chars: chars.try_into().unwrap(), ..Facts::default() };
    let judgement = Judgement {
        id: DocId(id),
        at: Timestamp(0),
        verdict,
        facts,
        nearest: None,
        previous: None,
    };
    state.add_document("near", &judgement, None).unwrap();
    judgement
}

/// Keeps the text of the near duplicate of number 2.
fn keep(state: &State, text: &str) -> Judgement {
    state.keep_text(DocId(2), text, "GBK", Some("body")).unwrap();
    add(state, 2, text.chars().count())
}

fn is_refused(state: &State) -> bool {
    matches!(state.text_of(DocId(2)), Err(StateError::Damaged(what)) if what.contains("text"))
}

proptest! {
    #[test]
    fn a_text_is_read_back_as_it_was(text in any::<String>(), again in 1..200_usize) {
        let state = State::in_memory().unwrap();
        let text = text.repeat(again);
        keep(&state, &text);
        let found = state.text_of(DocId(2)).unwrap();
        let (charset, truncated) = ("GBK".to_owned(), Some("body".to_owned()));
        prop_assert_eq!(found, Some(KeptText { text, charset, truncated }));
    }

    #[test]
    fn a_damaged_text_is_refused(byte in 0..50_usize, bits in 1_u8..) {
        let state = State::in_memory().unwrap();
        let text = "the tide is high, the tide is low, and 潮 comes again";
        keep(&state, text);
        let mut packed: Vec<u8> =
            state.db.query_row("SELECT text FROM texts", [], |row| row.get(0)).unwrap();
        // The level of compression stands in the two highest bits of the second byte, and tells nothing of the text.
        let byte = 2 + byte % (packed.len() - 2);
        packed[byte] ^= bits;
        state.db.execute("UPDATE texts SET text = ?", [packed]).unwrap();
        prop_assert!(is_refused(&state));
    }
}

#[test]
fn what_is_cut_or_of_another_length_is_refused() {
    let state = State::in_memory().unwrap();
    keep(&state, &"潮".repeat(1000));
    let has = |chars: u32| state.db.execute("UPDATE documents SET chars = ?", [chars]).unwrap();
    // From 750 on there is room for the bytes.
    for chars in [0, 1, 749, 750, 999, 1001] {
        has(chars);
        assert!(is_refused(&state), "{chars}");
    }
    has(1000);
    assert!(state.text_of(DocId(2)).is_ok());
    state.db.execute("UPDATE texts SET text = substr(text, 1, length(text) - 1)", []).unwrap();
    assert!(is_refused(&state));
    has(0);
    state.db.execute("UPDATE texts SET text = x''", []).unwrap();
    assert!(is_refused(&state));
    state.db.execute("UPDATE texts SET text = NULL", []).unwrap();
    assert!(matches!(state.text_of(DocId(2)), Err(StateError::Damaged(_))));
}

#[test]
fn of_a_text_that_is_too_long_no_more_is_read() {
    let packed = compressed("\0".repeat(1 << 20));
    assert!(packed.len() < 8 << 10);
    for most in [0, 4000, (1 << 20) - 1] {
        assert_eq!(decompressed(&packed, most).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
    assert_eq!(decompressed(&packed, 1 << 20).unwrap().len(), 1 << 20);
}

#[test]
fn the_text_of_a_body_that_is_known_is_kept_once() {
    let state = State::in_memory().unwrap();
    state.keep_text_of(DocId(3), &[DocId(2)]).unwrap();
    keep(&state, "ebbs");
    assert_eq!(state.text_of(DocId(3)).unwrap(), None, "there was none");
    state.keep_text_of(DocId(4), &[DocId(1), DocId(2), DocId(3)]).unwrap();
    state.keep_text_of(DocId(5), &[]).unwrap();
    // The same body can be read in another way elsewhere.
    for id in [3, 4, 5] {
        add(&state, id, 7);
    }
    assert_eq!(state.text_of(DocId(4)).unwrap(), state.text_of(DocId(2)).unwrap());
    assert_eq!(state.text_of(DocId(4)).unwrap().unwrap().text, "ebbs");
    assert_eq!(state.text_of(DocId(5)).unwrap(), None);
    let texts: i64 =
        state.db.query_row("SELECT count(text) FROM texts", [], |row| row.get(0)).unwrap();
    assert_eq!(texts, 1);
}
