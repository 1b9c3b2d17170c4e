//! How the texts of a state are fingerprinted: fixed when the state is created, never changed later.

use super::{State, StateError};
#[cfg(feature = "cli")]
use crate::fingerprint::Segment;
use crate::{
    filter::Options,
    fingerprint::{HashSeed, Recipe},
};

/// What a state records of its recipe: nothing before the first start.
#[derive(Debug)]
pub(crate) struct RecordedRecipe {
    pub(crate) hash_seed: Option<HashSeed>,
    /// Whether the seed was drawn, and not configured. Only crawls record it.
    pub(crate) drawn: Option<bool>,
    scheme: Option<String>,
}

/// A key by which texts would be fingerprinted in another way than those of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: &'static str,
    /// The state's value. Seeds are named by their ids.
    pub stored: String,
    /// The value in the options.
    pub wanted: String,
}

/// The parts of a scheme, in their order.
const PARTS: [&str; 3] = ["the version of the recipe", "dedup.segment", "dedup.fold_chinese"];

impl RecordedRecipe {
    /// What this state records.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(state: &State) -> Result<Self, StateError> {
        let seed = state.meta::<i64>("seed")?;
        let hash_seed = seed.map(|seed| HashSeed(seed.cast_unsigned()));
        Ok(Self { hash_seed, drawn: state.meta("seed_drawn")?, scheme: state.meta("scheme")? })
    }

    /// Records the recipe.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(super) fn write(state: &State, recipe: Recipe) -> Result<(), StateError> {
        state.set_meta("seed", recipe.hash_seed.0.cast_signed())?;
        state.set_meta("scheme", recipe.scheme())
    }

    /// In what these options ask for another recipe, if they do.
    #[must_use]
    pub(crate) fn difference(&self, options: &Options) -> Option<Difference> {
        self.other_scheme(options).or_else(|| self.other_hash_seed(options))
    }

    /// How Chinese is split, and whether its characters are folded.
    #[cfg(feature = "cli")]
    pub(crate) fn segment_and_folding(&self) -> Option<(Segment, bool)> {
        let mut parts = self.scheme.as_deref()?.split(':').skip(1);
        let segment = serde_json::from_value(serde_json::json!(parts.next()?)).ok()?;
        Some((segment, value(parts.next()?) == "true"))
    }

    fn other_scheme(&self, options: &Options) -> Option<Difference> {
        let stored = self.scheme.as_deref()?;
        // A scheme does not depend on the seed.
        let wanted = options.recipe(HashSeed::PUBLIC).scheme();
        let parts = PARTS.iter().zip(stored.split(':').zip(wanted.split(':')));
        let mut parts = parts.filter(|(_, (stored, wanted))| stored != wanted);
        parts.next().map(|(key, (stored, wanted))| Difference {
            key,
            stored: value(stored).to_owned(),
            wanted: value(wanted).to_owned(),
        })
    }

    fn other_hash_seed(&self, options: &Options) -> Option<Difference> {
        let known = self.hash_seed?;
        let wanted = match options.hash_seed.seed() {
            Some(seed) if seed != known => format!("a seed of id {}", seed.id()),
            None if self.drawn == Some(false) => "a secret seed".to_owned(),
            _ => return None,
        };
        Some(Difference {
            key: "dedup.seed",
            stored: format!("a seed of id {}", known.id()),
            wanted,
        })
    }
}

/// A part of a scheme as it stands in a configuration.
fn value(part: &str) -> &str {
    match part {
        "fold" => "true",
        "keep" => "false",
        other => other,
    }
}
