//! The `[dedup]` table.

use std::num::NonZeroU32;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{Radius, WindowOptions};
use crate::{
    fingerprint::{HashSeed, HashSeedChoice, Recipe, Segment},
    index::{BlockIndex, Plan, RefusedError},
    page::numbers::thousands,
};

/// How duplicates are recognised, and what happens to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The rule by which a candidate is accepted.
    pub mode: Mode,
    /// The radius of the index, in bits of the fingerprint: 0 to 11. By default the mode's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
    /// Where the hash of the features starts.
    pub seed: HashSeedChoice,
    /// How text without spaces is cut into words.
    pub segment: Segment,
    /// Whether traditional and simplified Chinese characters count as the same.
    pub fold_chinese: bool,
    /// Texts of fewer distinct features are judged by equality only.
    pub min_features: u32,
    /// Whether pages of one site are compared the more strictly the larger a part of them the site's template is.
    pub templates: bool,
    /// Room for the window and its index, and for the digests where they are in memory.
    #[serde(serialize_with = "crate::page::numbers::serialize_size")]
    pub memory: ByteSize,
    /// One query of the index in so many is compared with a scan, and what was missed is counted; 0 for none.
    pub audit: u32,
    /// How far back the filter remembers.
    pub window: WindowOptions,
    /// What happens to a duplicate of a page of the same site.
    pub same_site: Policy,
    /// What happens to a duplicate of another site's page.
    pub cross_site: Policy,
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

/// What happens to a duplicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Whether its body is stored.
    pub store: Store,
    /// Whether the links that only it has are followed.
    pub links: Links,
}

/// Whether a duplicate's body is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Only the decision is recorded.
    #[default]
    Skip,
    /// It is stored like a unique page, with its verdict and match.
    Keep,
}

/// Whether a duplicate's links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Links {
    /// They are kept in the state, with the reason.
    #[default]
    Skip,
    /// They are followed like a unique page's.
    Follow,
}

/// What a representative takes in the window.
const BYTES_PER_REPRESENTATIVE: u64 = 72;
/// What the digest of its text takes in memory. The digest of a body, if there is one, and each digest of a duplicate that is
/// remembered take as much again, and are not booked: how many there are nobody knows beforehand.
const BYTES_PER_DIGEST: u64 = 212;

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            radius: None,
            seed: HashSeedChoice::Secret,
            segment: Segment::default(),
            fold_chinese: true,
            min_features: 10,
            templates: true,
            memory: ByteSize::gib(4),
            audit: 0,
            window: WindowOptions::default(),
            same_site: Policy::default(),
            cross_site: Policy::default(),
        }
    }
}

impl Options {
    /// The radius of the index, in bits: as given, or the mode's.
    #[must_use]
    pub fn radius(&self) -> u32 {
        let radius = self.radius.unwrap_or(match self.mode {
            Mode::Balanced => Radius::BALANCED,
            Mode::Classic | Mode::Strict => Radius::CLASSIC,
        });
        radius.get()
    }

    /// Looks at what the values mean together.
    ///
    /// # Errors
    /// If the window may need more memory than it is given, though its digests are in a state.
    pub fn check(&self) -> Result<(), MemoryError> {
        self.plan(0).map(drop)
    }

    /// The same if the digests are in memory too.
    ///
    /// # Errors
    /// If the window may need more memory than it is given.
    pub fn check_beside_digests(&self) -> Result<(), MemoryError> {
        self.plan(BYTES_PER_DIGEST).map(drop)
    }

    /// Whether the templates of sites count: in mode `classic`, which goes by fingerprints alone, they do not.
    #[must_use]
    pub fn knows_templates(&self) -> bool {
        self.templates && self.mode != Mode::Classic
    }

    /// An empty index for the window, with the layout that is the fastest in the memory that the window leaves. The digests are
    /// elsewhere: in a state.
    ///
    /// # Errors
    /// If the window may need more memory than it is given, or the system refuses it.
    pub fn index(&self) -> Result<BlockIndex, WindowError> {
        self.index_beside(0)
    }

    /// The same if the digests are in memory too.
    ///
    /// # Errors
    /// If the window may need more memory than it is given, or the system refuses it.
    pub fn index_beside_digests(&self) -> Result<BlockIndex, WindowError> {
        self.index_beside(BYTES_PER_DIGEST)
    }

    fn index_beside(&self, digest: u64) -> Result<BlockIndex, WindowError> {
        let plan = self.plan(digest)?;
        tracing::info!(index = %plan, "the index is laid out");
        let index = BlockIndex::with_plan(plan)?;
        Ok(match NonZeroU32::new(self.audit) {
            Some(every) => index.with_audit(every),
            None => index,
        })
    }

    /// `digest` is what the digests of a representative take in memory.
    fn plan(&self, digest: u64) -> Result<Plan, MemoryError> {
        let (memory, window) = (self.memory.as_u64(), self.window.entries.get());
        let others = other_bytes(window, digest);
        let budget = memory.saturating_sub(others);
        Plan::choose(self.radius(), window, budget).map_err(|error| {
            let needed = others.saturating_add(error.needed);
            MemoryError {
                memory: self.memory,
                window,
                radius: self.radius(),
                needed: ByteSize(needed.div_ceil(bytesize::MIB).saturating_mul(bytesize::MIB)),
                entries: self.most_entries(window, digest),
            }
        })
    }

    /// For how many entries there is room, if there is none for so many.
    fn most_entries(&self, too_many: u64, digest: u64) -> u64 {
        let fits = |entries: u64| {
            let index = Plan::least_bytes(self.radius(), entries);
            other_bytes(entries, digest).saturating_add(index) <= self.memory.as_u64()
        };
        let (mut most, mut too_many) = (0, too_many);
        while most + 1 < too_many {
            let middle = most.midpoint(too_many);
            if fits(middle) {
                most = middle;
            } else {
                too_many = middle;
            }
        }
        most
    }

    /// What fingerprints depend on besides the text, with the seed that was chosen or drawn.
    #[must_use]
    pub fn recipe(&self, seed: HashSeed) -> Recipe {
        Recipe { segment: self.segment, fold_chinese: self.fold_chinese, hash_seed: seed }
    }
}

/// What a window of so many entries takes beside the index.
fn other_bytes(entries: u64, digest: u64) -> u64 {
    entries.saturating_mul(BYTES_PER_REPRESENTATIVE + digest)
}

/// Why there is no room for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The configuration gives it too little memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The system gives less than the configuration.
    #[error(
        "make room for the window's index: give the process more memory, or make `dedup.window.entries` smaller"
    )]
    Refused(#[from] RefusedError),
}

/// A window for which `dedup.memory` has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a window of {} entries at radius {radius} {}; `memory` is {}, which has room for {}",
    thousands(*.window), needs(*.needed), .memory.display().iec(), thousands(*.entries)
)]
pub struct MemoryError {
    /// The key `dedup.memory`.
    pub memory: ByteSize,
    /// The key `dedup.window.entries`.
    pub window: u64,
    /// The radius of the index.
    pub radius: u32,
    /// What the window takes at most, rounded up to whole mebibytes; `u64::MAX` if no index can be so large.
    pub needed: ByteSize,
    /// How many entries there is room for; 0 if there is none for a single one.
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
}
