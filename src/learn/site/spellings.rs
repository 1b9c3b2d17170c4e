//! URLs that are spelt otherwise: parameters in another order, an index page, an ending, a slash.

use super::{
    super::{
        parts::{Parts, Spelling},
        rule::RulePart,
    },
    ABSENT,
};

/// The classes of URLs that are spelt differently, each with the spelling of this one: with the same parameters in any order, if there are several, and
/// with the same path but for a slash, an index page or an ending.
pub(super) fn spellings(parts: &Parts<'_>, key: u64) -> impl Iterator<Item = (u64, u16)> {
    let order = (parts.parameters().count() > 1).then(|| (key.rotate_left(17), ABSENT));
    let bare = key.wrapping_add(parts.to_bare()).rotate_left(41);
    order.into_iter().chain(parts.spelling.map(|spelling| (bare, 1 + spelling as u16)))
}

/// What makes no difference if URLs with these two spellings have the same page.
pub(super) fn spelt_otherwise(known: u16, own: u16) -> Option<RulePart> {
    let is = |a: Spelling, b: Spelling| {
        let (a, b) = (1 + a as u16, 1 + b as u16);
        (known, own) == (a, b) || (known, own) == (b, a)
    };
    match (known, own) {
        (ABSENT, ABSENT) => Some(RulePart::Order),
        _ if is(Spelling::Slash, Spelling::Index) => Some(RulePart::Index),
        _ if is(Spelling::Bare, Spelling::Slash) => Some(RulePart::Slash),
        _ if is(Spelling::Bare, Spelling::Ending) => Some(RulePart::Ending),
        _ => None,
    }
}

/// What makes no difference if these URLs, which are the same but for their spelling, have the same page.
pub(super) fn respelt(a: &Parts<'_>, b: &Parts<'_>) -> Option<RulePart> {
    let bare = |parts: &Parts<'_>| parts.key.wrapping_add(parts.to_bare());
    let (of_a, of_b) = (a.spelling?, b.spelling?);
    if bare(a) != bare(b) {
        return None;
    }
    spelt_otherwise(1 + of_a as u16, 1 + of_b as u16)
}
