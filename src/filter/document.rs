//! What the filter judges.

use super::{Blocks, Facts, Site};
use crate::{
    extract::language,
    fingerprint::{Digest, Fingerprinter, Sketch},
    page::{Lang, Origin, Timestamp},
};

/// Whose document it is: a hash of its URL or of the caller's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The key of a URL or of any other id: its XXH3 hash.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
    }
}

/// A document to be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Whose document it is.
    pub key: Key,
    /// The digest of its body, if it has one apart from its text.
    pub body: Option<Digest>,
    /// What the fingerprinter made of its text.
    pub sketch: Sketch,
    /// Characters of its text.
    pub chars: u32,
    /// The language of its text.
    pub lang: Option<Lang>,
    /// When it arrived. A time before an earlier document's counts as that document's.
    pub at: Timestamp,
    /// The blocks of its text, if it is of a site whose template may be learnt.
    pub blocks: Option<Blocks>,
}

impl Document {
    /// A text without a body apart from it, arriving now. `id` says whose it is, and if it is a URL, of which site.
    #[must_use]
    pub fn of_text(fingerprinter: &Fingerprinter, id: &str, text: &str) -> Self {
        Self {
            key: Key::of(id),
            body: None,
            sketch: fingerprinter.sketch(text),
            chars: u32::try_from(text.chars().count()).unwrap_or(u32::MAX),
            lang: language(text).and_then(Lang::new),
            at: Timestamp::now(),
            blocks: Origin::named(id).map(|host| Blocks::of(Site::of(host.as_str()), text)),
        }
    }

    pub(super) fn site(&self) -> Option<Site> {
        self.blocks.as_ref().map(Blocks::site)
    }

    pub(super) fn facts(&self) -> Facts {
        let Sketch { signature, features, .. } = self.sketch;
        Facts {
            fingerprint: (features > 0).then(|| signature.fingerprint()),
            chars: self.chars,
            features,
            lang: self.lang,
        }
    }
}
