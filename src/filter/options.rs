//! How documents are judged, and how much memory that takes.

use std::num::NonZeroU32;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{
    rule::{Rule, Similarity},
    window::WindowOptions,
};
use crate::{
    fingerprint::{HashSeed, HashSeedChoice, Recipe, RecipeError, Segment},
    index::{BlockIndex, MAX_RADIUS, RefusedError, TableLayout},
    page::thousands,
};

/// How duplicates are recognised.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The rule by which a candidate is accepted.
    pub mode: Mode,
    /// The radius of the index, in bits of the fingerprint: 0 to 11. By default the mode's.
    pub radius: Option<Radius>,
    /// How similar texts must be, instead of what the mode says: without a radius, and in mode `balanced` only. That of pages is
    /// [`Rule::similarity`]. Texts are compared by [`Similarity::LEAST_OF_TEXTS`] at least.
    pub similarity: Option<Similarity>,
    /// The seed of the hashes that fingerprints are made of: `seed` in a configuration.
    pub hash_seed: HashSeedChoice,
    /// How Chinese text is segmented.
    pub segment: Segment,
    /// Whether traditional and simplified Chinese characters count as the same.
    pub fold_chinese: bool,
    /// Texts of fewer distinct features are judged by equality only.
    pub min_features: u32,
    /// Whether pages are compared by what they show, not by their texts alone; in mode `balanced` only.
    pub article: bool,
    /// The numbers by which pages are compared. The configuration sets [`Rule::similarity`].
    pub rule: Rule,
    /// Room for the window and its indexes, and for the documents where they are in memory. What a filter in memory keeps of the content of
    /// pages comes on top: some 1.3 KB a page, nothing for a text.
    pub memory: ByteSize,
    /// One in this many queries of the index is compared with a scan, and missed documents are counted; 0 for none.
    pub audit: u32,
    /// How far back the filter remembers.
    pub window: WindowOptions,
}

/// The rule by which a candidate is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Fingerprints of 64 bits that differ in at most 9, if the signatures of 256 differ in at most 26: finds nearly all near
    /// duplicates and no others.
    #[default]
    Balanced,
    /// As in the literature: fingerprints of 64 bits that differ in at most 3. Finds three in four of those that are not equal.
    Classic,
    /// Fingerprints that differ in at most 3, if the signatures differ in at most 12: finds what is almost equal.
    Strict,
}

/// The radius of the index, in bits of the fingerprint: 0 to 11, and nothing else.
///
/// ```
/// use pagesieve::filter::Radius;
///
/// assert_eq!(Radius::try_from(9).map(Radius::get), Ok(9));
/// assert_eq!(Radius::try_from(12).unwrap_err().to_string(), "radius 12 is too large: write 0 to 11");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct Radius(u32);

/// A radius that the index does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("radius {0} is too large: write 0 to {MAX_RADIUS}")]
#[non_exhaustive]
pub struct RadiusError(pub u32);

/// The bits of 256 in which the signatures of texts may differ in mode `balanced`. docs/decision.md derives it.
pub(super) const BALANCED: u32 = 26;
/// What a representative takes in the window.
const BYTES_PER_REPRESENTATIVE: u64 = 72;
/// What the index of passages takes for a page.
const BYTES_PER_ARTICLE: u64 = super::keys::BYTES_PER_PAGE;
/// What the digest of its text and what is known of a document take if all is in memory. The digest of a body (some 50 bytes) and remembered duplicates
/// (some 90 bytes, 140 with a body) are not included, because their number is unknown beforehand.
pub(crate) const IN_MEMORY: u64 = 88;
/// What the digests of a document take if what is known of it is in a file: 14 bytes each, of body and text.
pub(crate) const IN_FILE: u64 = 28;

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            radius: None,
            similarity: None,
            hash_seed: HashSeedChoice::Secret,
            segment: Segment::default(),
            fold_chinese: true,
            min_features: 10,
            article: true,
            rule: Rule::default(),
            memory: ByteSize::gib(4),
            audit: 0,
            window: WindowOptions::default(),
        }
    }
}

impl Options {
    /// The radius of the index, in bits: as given, or that of the similarity, or the mode's.
    #[must_use]
    pub fn radius(&self) -> u32 {
        let of_rule = || match self.similarity {
            // As far as that of the mode for its own signatures.
            Some(similarity) => (similarity.signature_bits() * self.mode.radius())
                .div_ceil(BALANCED)
                .min(MAX_RADIUS),
            None => self.mode.radius(),
        };
        self.radius.map_or_else(of_rule, Radius::get)
    }

    /// Refuses a similarity beside what it stands for.
    ///
    /// # Errors
    /// If there is a radius or another mode too.
    pub fn check_similarity(&self) -> Result<(), OptionsError> {
        match (self.similarity, self.radius, self.mode) {
            (None, ..) | (_, None, Mode::Balanced) => Ok(()),
            (_, Some(_), _) => Err(OptionsError::Similarity("radius")),
            (_, None, _) => Err(OptionsError::Similarity("mode")),
        }
    }

    /// Checks that the window fits in `memory`, if its documents are in a file.
    ///
    /// # Errors
    /// If the window may need more memory than it is given.
    pub fn check(&self) -> Result<(), MemoryError> {
        self.layout(IN_FILE).map(drop)
    }

    /// Checks that the window fits in `memory`, if its documents are there too.
    ///
    /// # Errors
    /// If they may need more memory than they are given.
    pub fn check_with_digests(&self) -> Result<(), MemoryError> {
        self.layout(IN_MEMORY).map(drop)
    }

    /// Whether pages are compared by their content.
    #[must_use]
    pub fn compares_content(&self) -> bool {
        self.article && self.mode == Mode::Balanced
    }

    /// An empty index for the window, with the fastest layout in the memory that the window leaves, and the documents: [`IN_FILE`] or
    /// [`IN_MEMORY`].
    pub(crate) fn index(&self, per_document: u64) -> Result<BlockIndex, OptionsError> {
        let layout = self.layout(per_document)?;
        self.check_similarity()?;
        tracing::info!(index = %layout, "the index is laid out");
        let index = BlockIndex::with_layout(layout)?;
        Ok(match NonZeroU32::new(self.audit) {
            Some(every) => index.with_audit(every),
            None => index,
        })
    }

    fn layout(&self, per_document: u64) -> Result<TableLayout, MemoryError> {
        let (memory, window) = (self.memory.as_u64(), self.window.entries.get());
        let others = self.other_bytes(window, per_document);
        let budget = memory.saturating_sub(others);
        TableLayout::choose(self.radius(), window, budget).map_err(|error| {
            let needed = others.saturating_add(error.needed);
            MemoryError {
                memory: self.memory,
                window,
                radius: self.radius(),
                needed: ByteSize(needed.div_ceil(bytesize::MIB).saturating_mul(bytesize::MIB)),
                entries: self.most_entries(window, per_document),
            }
        })
    }

    /// The number of entries that fit, if `too_many` do not.
    fn most_entries(&self, too_many: u64, per_document: u64) -> u64 {
        let fits = |entries: u64| {
            let index = TableLayout::least_bytes(self.radius(), entries);
            self.other_bytes(entries, per_document).saturating_add(index) <= self.memory.as_u64()
        };
        // Bit by bit, from the highest.
        (0..u64::BITS).rev().map(|bit| 1 << bit).fold(0, |most, bit| {
            if most + bit < too_many && fits(most + bit) { most + bit } else { most }
        })
    }

    /// The memory of a window of this many entries beside the index.
    fn other_bytes(&self, entries: u64, per_document: u64) -> u64 {
        let article = if self.compares_content() { BYTES_PER_ARTICLE } else { 0 };
        entries.saturating_mul(BYTES_PER_REPRESENTATIVE + article + per_document)
    }

    /// What fingerprints depend on besides the text, with the seed that was chosen or drawn.
    #[must_use]
    pub fn recipe(&self, seed: HashSeed) -> Recipe {
        Recipe { segment: self.segment, fold_chinese: self.fold_chinese, hash_seed: seed }
    }
}

/// Options by which no filter can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The configuration gives it too little memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The system gives less than the configuration.
    #[error(
        "cannot allocate the window's index: give the process more memory, or make `window.entries` smaller"
    )]
    Refused(#[from] RefusedError),
    /// This build lacks a Cargo feature that they need.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A similarity is given beside this option.
    #[error("`similarity` says what is near, and so does `{0}`: give one of them")]
    Similarity(&'static str),
}

/// A window for which [`Options::memory`] has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a window of {} entries at radius {radius} {}; `memory` is {}, which has room for {}",
    thousands(*.window), needs(*.needed), .memory.display().iec(), thousands(*.entries)
)]
#[non_exhaustive]
pub struct MemoryError {
    /// The option `memory`.
    pub memory: ByteSize,
    /// The option `window.entries`.
    pub window: u64,
    /// The radius of the index.
    pub radius: u32,
    /// What the window takes at most, rounded up to whole mebibytes; `u64::MAX` if no index can be so large.
    pub needed: ByteSize,
    /// The number of entries that fit; 0 if not even one does.
    pub entries: u64,
}

fn needs(needed: ByteSize) -> String {
    match needed.as_u64() {
        u64::MAX => "is larger than any index can be".to_owned(),
        _ => format!("needs {}", needed.display().iec()),
    }
}

impl Mode {
    /// Its name in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Classic => "classic",
            Self::Strict => "strict",
        }
    }

    /// The radius of the index. That of `balanced` is the smallest at which none of 200 hash seeds misses more than one in twenty near
    /// duplicates of the development data that are not equal.
    fn radius(self) -> u32 {
        match self {
            Self::Balanced => 9,
            Self::Classic | Self::Strict => 3,
        }
    }
}

impl Radius {
    /// The largest.
    pub const MAX: Self = Self(MAX_RADIUS);

    /// In bits.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Radius {
    type Error = RadiusError;

    fn try_from(radius: u32) -> Result<Self, RadiusError> {
        if radius > MAX_RADIUS { Err(RadiusError(radius)) } else { Ok(Self(radius)) }
    }
}
