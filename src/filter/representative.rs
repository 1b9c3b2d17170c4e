//! A representative, and its form in memory and in a state.

use super::{Key, Site};
use crate::{
    fingerprint::Signature,
    page::{DocId, Timestamp},
};

/// A representative: a unique document that later ones may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representative {
    /// Its number. Representatives leave the window in this order.
    pub id: DocId,
    /// When it arrived, by the window's clock.
    pub at: Timestamp,
    /// Whose document it is.
    pub key: Key,
    /// Its site, if the site's template may be learnt.
    pub site: Option<Site>,
    /// Its signature, if it can be compared by it: the text is long enough, and not too many with an equal fingerprint were there.
    pub signature: Option<Signature>,
}

/// A representative in 72 bytes: number, time, key, whether there is a signature (0 or 1), the site or 0, and the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) [u64; 9]);

impl Packed {
    pub(crate) fn of(representative: &Representative) -> Self {
        let Representative { id, at, key, site, signature } = *representative;
        let site = site.map_or(0, Site::get);
        let [a, b, c, d] = signature.map_or([0; 4], |signature| signature.0);
        Self([id.0, at.0.cast_unsigned(), key.0, signature.is_some().into(), site, a, b, c, d])
    }

    pub(crate) fn unpacked(&self) -> Representative {
        let [id, at, key, has_signature, site, signature @ ..] = self.0;
        Representative {
            id: DocId(id),
            at: Timestamp(at.cast_signed()),
            key: Key(key),
            site: Site::new(site),
            signature: (has_signature != 0).then_some(Signature(signature)),
        }
    }

    pub(super) fn id(&self) -> DocId {
        DocId(self.0[0])
    }
}
