//! What is kept of judged pages to ask for them again.

use super::*;
use crate::{page::Validators, state::Visit};

fn visit(number: u64) -> Visit {
    Visit {
        validators: Validators::new(Some(b"\"7\""), Some(b"Sun, 06 Nov 1994 08:49:37 GMT")),
        text: Some(Digest([7; 16])),
        lost: Some(Reason::Status),
        visits: 7,
        changes: 3,
        span: u64::MAX,
        ..Visit::first(DocId(number), Timestamp(-5))
    }
}

#[test]
fn a_visit_is_read_as_it_was_written() {
    let state = State::in_memory().unwrap();
    assert_eq!(state.visit(UrlId(1)).unwrap(), None);
    assert_eq!(state.visit_counts().unwrap(), (0, 0));
    for visit in [visit(9), Visit::first(DocId(u64::MAX), Timestamp(i64::MAX))] {
        state.set_visit(UrlId(1), &visit).unwrap();
        assert_eq!(state.visit(UrlId(1)).unwrap(), Some(visit));
    }
    state.set_visit(UrlId(2), &visit(1)).unwrap();
    assert_eq!(state.visit_counts().unwrap(), (4, 3));
}

#[test]
fn a_damaged_visit_is_an_error_or_has_no_validators() {
    let state = State::in_memory().unwrap();
    state.set_visit(UrlId(1), &visit(1)).unwrap();
    state.execute("UPDATE visits SET etag = 'a' || char(13, 10) || 'X: y'", []).unwrap();
    assert_eq!(state.visit(UrlId(1)).unwrap().unwrap().validators.etag(), None);
    for set in ["lost = 99", "text = x'00'", "visits = -1"] {
        state.begin().unwrap();
        state.execute(&format!("UPDATE visits SET {set}"), []).unwrap();
        assert!(matches!(state.visit(UrlId(1)), Err(StateError::Damaged(_))), "{set}");
        state.rollback().unwrap();
    }
}
