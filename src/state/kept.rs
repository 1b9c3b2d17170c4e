//! A filter whose window outlives the process.

use super::{CACHED_DIGESTS, DigestTable, Restored, SignatureLog, State, StateError};
use crate::{
    filter::{Document, Filter, Judgement, Options},
    fingerprint::{HashSeed, Recipe},
    index::{Audit, BlockIndex, Index, Plan},
    page::DocId,
};

/// What `meta` says of a state that was begun by a [`KeptFilter`].
const KIND: &str = "filter";

/// A [`Filter`] that keeps its window, its digests and the names of documents in a [`State`], and goes on where it stood.
///
/// What was judged since the last [`commit`](Self::commit) is forgotten if the process ends before the next one.
/// After an error drop it, and open the state anew: what it has judged since then is in its memory and not all in the state.
#[derive(Debug)]
pub struct KeptFilter {
    state: State,
    filter: Filter<BlockIndex, DigestTable>,
    signatures: SignatureLog,
}

impl KeptFilter {
    /// Takes up the window of this state, or begins one. Also gives the recipe by which texts must be fingerprinted: with the seed of
    /// the state, or for a new one the chosen seed, which is the public one unless the options say otherwise. `tell` is told how far the
    /// window has been brought back, every two seconds.
    ///
    /// # Errors
    /// If SQLite fails, the state is that of something else, its fingerprints cannot be compared with those of these options, or
    /// their memory has no room for their window.
    pub fn open(
        state: State,
        options: &Options,
        tell: impl FnMut(Restored),
    ) -> Result<(Self, Recipe), StateError> {
        let index = options.index()?;
        let recipe = agree(&state, options)?;
        let table = DigestTable::new(state.clone(), CACHED_DIGESTS);
        let mut filter = Filter::with(options, index, table);
        let signatures = state.restore(&mut filter, tell)?;
        Ok((Self { state, filter, signatures }, recipe))
    }

    /// Judges a document and remembers it under this name.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn judge(&mut self, name: &str, subject: &Document) -> Result<Judgement, StateError> {
        self.state.begin()?;
        let judgement = self.filter.judge(subject)?;
        self.state.add_document(name, None, false, &judgement, None)?;
        if let Some(representative) = self.filter.representative(judgement.id) {
            self.signatures.push(&self.state, &representative)?;
        }
        if let Some(taught) = self.filter.taught() {
            self.state.keep_lesson(taught)?;
        }
        Ok(judgement)
    }

    /// The name of a match.
    ///
    /// # Errors
    /// If SQLite fails or there is none.
    pub fn name_of(&self, id: DocId) -> Result<String, StateError> {
        self.state.name_of(id)
    }

    /// Makes everything durable that was judged, and drops what has left the window.
    ///
    /// # Errors
    /// If SQLite fails, for instance because the disk is full.
    pub fn commit(&mut self) -> Result<(), StateError> {
        self.state.begin()?;
        self.state.keep_window(&self.filter, &mut self.signatures)?;
        self.state.drop_documents(self.filter.horizon())?;
        self.state.commit()
    }

    /// How the index is laid out.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.filter.index().plan()
    }

    /// How many representatives are in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filter.len()
    }

    /// Whether the window is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the index counted since the window was taken up.
    #[must_use]
    pub fn audit(&self) -> Audit {
        self.filter.index().audit()
    }
}

/// The recipe of the state's fingerprints, or of those that a new state will have.
fn agree(state: &State, options: &Options) -> Result<Recipe, StateError> {
    let known = state.meta::<i64>("seed")?.map(|seed| HashSeed(seed.cast_unsigned()));
    let kind: Option<String> = state.meta("kind")?;
    if known.is_some() && kind.as_deref() != Some(KIND) {
        return Err(StateError::Kind);
    }
    let chosen = options.seed.seed();
    let recipe = options.recipe(chosen.or(known).unwrap_or(HashSeed::PUBLIC));
    let scheme = recipe.scheme();
    if let Some(known) = known {
        let stored: String = state.meta("scheme")?.unwrap_or_default();
        if stored != scheme {
            return Err(StateError::Scheme { stored, wanted: scheme });
        }
        if known != recipe.hash_seed {
            return Err(StateError::Seed { stored: known.id(), wanted: recipe.hash_seed.id() });
        }
    }
    state.begin()?;
    state.set_meta("kind", KIND)?;
    state.set_meta("seed", recipe.hash_seed.0.cast_signed())?;
    state.set_meta("scheme", scheme)?;
    state.commit()?;
    Ok(recipe)
}
