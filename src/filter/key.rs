//! The hashes by which the filter knows documents and origins.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Identifies a document across its versions: the hash of its URL or of the caller's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The key of a URL or of any other id: its XXH3 hash.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
    }

    /// Another one.
    #[cfg(feature = "cli")]
    pub(crate) fn other(self) -> Self {
        Self(!self.0)
    }
}

/// Identifies an origin, whose pages may share a template: the hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct OriginKey(NonZeroU64);

impl OriginKey {
    /// The key of this name. Crawls use the host with its port.
    pub(crate) fn of(name: &str) -> Self {
        let hash = xxhash_rust::xxh3::xxh3_64(name.as_bytes());
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN))
    }

    /// The key with this number, which is not 0.
    pub(crate) fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// Its number.
    pub(crate) fn get(self) -> u64 {
        self.0.get()
    }
}
