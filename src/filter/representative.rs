//! A representative, and its form in memory and in a state.

use super::{Key, Site};
use crate::{
    fingerprint::Signature,
    page::{DocId, Timestamp},
};

/// A representative: a unique document that later ones may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representative {
    /// Its number.
    pub id: DocId,
    /// Its place in the order in which representatives leave: its number, or if hits refresh, that of the document that repeated it
    /// last, which is larger.
    pub turn: DocId,
    /// When it arrived, or was refreshed, by the window's clock.
    pub at: Timestamp,
    /// Whose document it is.
    pub key: Key,
    /// The site of which it is, if its template may be learnt.
    pub site: Option<Site>,
    /// Its signature, if it can be compared by it: the text is long enough, and not too many with an equal fingerprint were there.
    pub signature: Option<Signature>,
}

/// A representative in 72 bytes: number, time, key, a word that says whether there is a signature (bit 0), whether it is gone (bit 1)
/// and by how much the turn is ahead of the number (the others), the site or 0, and the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) [u64; 9]);

const MARK: usize = 3;
const HAS_SIGNATURE: u64 = 1;
const GONE: u64 = 2;
const AHEAD: u32 = 2;

impl Packed {
    pub(crate) fn of(representative: &Representative) -> Self {
        let Representative { id, turn, at, key, site, signature } = *representative;
        let has_signature = if signature.is_some() { HAS_SIGNATURE } else { 0 };
        let mark = (turn.0 - id.0) << AHEAD | has_signature;
        let site = site.map_or(0, Site::get);
        let [a, b, c, d] = signature.map_or([0; 4], |signature| signature.0);
        Self([id.0, at.0.cast_unsigned(), key.0, mark, site, a, b, c, d])
    }

    pub(crate) fn unpacked(&self) -> Representative {
        let [id, at, key, mark, site, signature @ ..] = self.0;
        Representative {
            id: DocId(id),
            turn: self.turn(),
            at: Timestamp(at.cast_signed()),
            key: Key(key),
            site: Site::new(site),
            signature: (mark & HAS_SIGNATURE != 0).then_some(Signature(signature)),
        }
    }

    pub(super) fn turn(&self) -> DocId {
        DocId(self.0[0].wrapping_add(self.0[MARK] >> AHEAD))
    }

    /// Whether it left the window before its turn.
    pub(super) fn is_gone(&self) -> bool {
        self.0[MARK] & GONE != 0
    }

    pub(super) fn set_gone(&mut self) {
        self.0[MARK] |= GONE;
    }
}
