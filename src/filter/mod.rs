//! Decides which earlier document, if any, a new one repeats or nearly repeats.
//!
//! Uses [`crate::fingerprint`] and [`crate::index`]. Does no I/O and cannot fail; `DurableFilter` keeps the same window in a file.
//!
//! Judging has four steps, each more expensive than the one before, and the first that decides ends it: the digest of the body, the digest
//! of the text, the search for candidates, and the comparison with them. The README counts the crawler's check of the URL as a step before
//! these; [`Step::Near`] stands for the last two. A [`Key`] identifies a document across its versions.
//!
//! Texts are found by their fingerprints and compared by their signatures (`thresholds.rs`). Pages that come with an outline, as HTML does, are
//! also found by the passages that they share, and compared by what they show (`compare.rs`), in mode `balanced` and unless
//! [`Options::article`] is off. A page and a text are compared as texts.
//!
//! Three rules keep the verdicts sound. *Only unique documents are matched*: a duplicate's digests become aliases of the document that it
//! repeats, so every duplicate refers directly to a unique document. *A document never matches an earlier version of itself*: documents with the same key are
//! skipped. *A text of few features is judged by equality only*: its fingerprint would mean too little. A page may still match by its content.
//!
//! Equal versions of one document do not match each other. Of these, the oldest 256 in the window are known by their digests, as an index
//! holds 256 equal fingerprints. If all of these leave while later ones stay, an equal text is not found until it comes again.
//!
//! Verdicts depend on the documents and their order only. A filter judges on one thread; [`Documents`] can be made on many.
//! Representatives leave the window in the order of their numbers.
//!
//! Pages of one origin are not duplicates because of what all of them have in common. The filter learns how common each block is on an origin
//! (`template.rs`), and compares pages with regard to it.
//!
//! | file | what it does |
//! |---|---|
//! | `reader.rs` | reads the outline of a page |
//! | `content.rs`, `sketch.rs` | what is kept of a page, and of a document |
//! | `keys.rs` | finds earlier pages that share a passage |
//! | `compare.rs` | what two pages have in common and apart: the measure, with all its numbers |
//! | `template.rs` | how common the parts of a page are on its origin |
//! | `thresholds.rs` | which texts count as near |
//! | `engine.rs` | the judgement, step by step |

mod compare;
mod content;
mod digests;
mod document;
mod engine;
mod incremental;
mod key;
mod keys;
mod options;
mod reader;
mod sketch;
mod stream;
mod template;
mod thresholds;
mod verdict;
mod window;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Deref;

use crate::{
    fingerprint::{HashSeed, Recipe},
    page::DocId,
};

pub use compare::{Comparison, Rule, compare};
pub(crate) use compare::{Part, Passage};
pub(crate) use content::Content;
pub(crate) use digests::{Digests, DigestsMut, Horizon, Known, MemoryDigests};
pub use document::{Document, Documents};
#[cfg(feature = "cli")]
pub(crate) use engine::ComparedPages;
pub use engine::Engine;
pub(crate) use engine::{Change, Position};
pub use key::Key;
pub(crate) use key::OriginKey;
pub use options::{
    MemoryError, Mode, Options, OptionsError, Radius, RadiusError, Similarity, SimilarityError,
};

#[cfg(feature = "cli")]
pub(crate) use reader::lines_of_blocks;
pub use sketch::Sketch;
pub use stream::{Judge, Judged, NearDedup, NearDupExt};
pub use template::Template;
pub(crate) use template::{TemplateChange, TemplateSample};
pub use thresholds::Thresholds;
pub use verdict::{Facts, Judgement, Kind, Match, Step, Verdict};
pub use window::WindowOptions;
#[cfg(feature = "state")]
pub(crate) use window::{Packed, Representative};

/// The duplicate filter in memory: judges documents in order of arrival, and remembers the unique ones of the window.
///
/// ```
/// use pagesieve::{Filter, Verdict, filter::Options};
///
/// let mut filter = Filter::new(&Options::default())?;
/// let documents = filter.documents();
/// filter.judge(&documents.text("a", "The tide is high."));
/// let judgement = filter.judge(&documents.text("b", "the tide is high!"));
/// assert!(matches!(judgement.verdict, Verdict::Duplicate(found) if found.of.0 == 1));
/// # Ok::<(), pagesieve::filter::OptionsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter {
    pub(crate) engine: Engine,
    digests: MemoryDigests,
}

impl Filter {
    /// A filter with an empty window. If the options ask for a secret seed, a random one is drawn.
    ///
    /// # Errors
    /// If the memory of `options` has no room for their window, the system refuses it, or this build lacks a Cargo feature that they need.
    pub fn new(options: &Options) -> Result<Self, OptionsError> {
        let seed = options.hash_seed.seed().unwrap_or_else(HashSeed::random);
        Self::of_recipe(options, options.recipe(seed))
    }

    /// A filter for documents that are made by this recipe.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn of_recipe(options: &Options, recipe: Recipe) -> Result<Self, OptionsError> {
        recipe.check()?;
        let engine = Engine::new(options, recipe, options.index_with_digests()?);
        Ok(Self { engine, digests: MemoryDigests::default() })
    }

    /// Judges a document and remembers it.
    ///
    /// # Panics
    /// If the document was made for a filter with another recipe.
    pub fn judge(&mut self, document: &Document) -> Judgement {
        let Ok(change) = self.engine.judge(&mut self.digests, document);
        change.judgement
    }

    /// The bytes of memory that it keeps of the content of pages.
    #[must_use]
    pub fn contents_size(&self) -> usize {
        self.digests.contents_size()
    }

    /// Removes a representative: from now on nothing repeats it. Returns whether it was in the window.
    pub fn remove(&mut self, id: DocId) -> bool {
        self.engine.remove(id)
    }
}

impl Deref for Filter {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

/// Callers move filters between threads.
const fn assert_send<T: Send>() {}
const _: () = assert_send::<Filter>();
const _: () = assert_send::<Documents>();
