//! Decides which earlier document, if any, a new one repeats or nearly repeats.
//!
//! Uses [`crate::fingerprint`] and [`crate::index`]. Does no I/O: a [`Filter`] judges over a [`Store`], and [`Memory`] is the one here.
//! `DurableFilter` is the same filter over a file.
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
//! | `sketch.rs` | what is kept of a document, and what a page shows |
//! | `keys.rs` | finds earlier pages that share a passage |
//! | `compare.rs` | what two pages have in common and apart: the measure |
//! | `rule.rs` | the numbers of the measure |
//! | `template.rs` | how common the parts of a page are on its origin |
//! | `thresholds.rs` | which texts count as near |
//! | `engine.rs` | the judgement, step by step |
//! | `window.rs` | which documents may still be matched, and the index of their digests |
//! | `store.rs` | what is kept of them: the store in memory |

mod compare;
mod document;
mod engine;
mod keys;
mod options;
mod reader;
mod rule;
mod sketch;
mod store;
mod template;
mod thresholds;
mod verdict;
mod window;

#[cfg(test)]
pub(crate) mod tests;

use std::{
    borrow::BorrowMut,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use crate::{
    fingerprint::{HashSeed, Recipe},
    index::BlockIndex,
    page::DocId,
};

pub use compare::{Comparison, compare};
pub(crate) use compare::{Part, Passage};
pub use document::{Document, Documents};
pub(crate) use engine::{ComparedPages, Engine, Position};
pub(crate) use options::IN_FILE;
pub use options::{MemoryError, Mode, Options, OptionsError, Radius, RadiusError};
pub(crate) use reader::lines_of_blocks;
pub use rule::{Rule, Similarity, SimilarityError};
pub(crate) use sketch::{Content, OriginKey};
pub use sketch::{Key, Sketch};
pub(crate) use store::Known;
#[doc(hidden)]
pub use store::{Change, Ground};
pub use store::{JudgeError, Memory, Store};
pub use template::Template;
pub(crate) use template::{TemplateChange, TemplateSample};
pub use thresholds::Thresholds;
#[cfg(feature = "state")]
pub use verdict::Previous;
pub use verdict::{Facts, Judgement, Kind, Match, Step, Verdict};
#[cfg(feature = "state")]
pub use window::Representative;
pub use window::WindowOptions;

/// The duplicate filter: judges documents in order of arrival, and remembers the unique ones of the window in a store. By default that is
/// memory.
///
/// ```
/// use pagesieve::{Filter, Verdict, filter::Options};
///
/// let mut filter = Filter::new(&Options::default())?;
/// let documents = filter.documents();
/// filter.judge(&documents.text("a", "The tide is high."))?;
/// let judgement = filter.judge(&documents.text("b", "the tide is high!"))?;
/// assert!(matches!(judgement.verdict, Verdict::Duplicate(found) if found.of.0 == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Filter<S = Memory> {
    pub(crate) engine: Engine,
    pub(crate) store: S,
}

impl Filter {
    /// A filter in memory with an empty window. If the options ask for a secret seed, a random one is drawn.
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
        let engine = Engine::new(options, recipe, options.index(options::IN_MEMORY)?);
        Ok(Self { engine, store: Memory::default() })
    }
}

impl<S: Store> Filter<S> {
    /// The id of the document that another one repeats. A filter in memory keeps ids if [keys are indexed](Self::index_keys).
    ///
    /// # Errors
    /// If the store cannot be read, or an earlier call failed; memory has no such errors.
    pub fn match_of(&self, judgement: &Judgement) -> Result<Option<String>, S::Error> {
        let found = judgement.verdict.matched().map(|found| self.store.name_of(found.of));
        found.transpose().map(Option::flatten)
    }

    /// Finds documents of the window by their keys from now on: [`find`](Self::find), and [`Judgement::previous`]. Takes some 14 bytes of memory
    /// for each.
    ///
    /// ```
    /// use pagesieve::{Filter, filter::Options};
    ///
    /// let mut filter = Filter::new(&Options::default())?;
    /// filter.index_keys();
    /// let document = filter.documents().text("a", "The tide is high.");
    /// assert!(filter.judge(&document)?.is_new());
    /// let again = filter.judge(&document)?;
    /// assert!(again.previous.is_some_and(|previous| previous.is_unchanged) && !again.is_new());
    /// assert_eq!(filter.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_keys(&mut self) {
        self.engine.window.index_keys();
        self.store.keep_names();
    }
}

impl<S> Filter<S> {
    /// What makes the documents for this filter.
    #[must_use]
    pub fn documents(&self) -> Documents {
        self.engine.documents.clone()
    }

    /// The number of unique documents in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        self.engine.window.len()
    }

    /// Whether the window is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many documents it has judged since its window was begun.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.engine.position.next.0 - 1
    }

    /// The latest unique document of the window that has this key, if [keys are indexed](Self::index_keys).
    #[must_use]
    pub fn find(&self, key: Key) -> Option<window::Representative> {
        self.engine.window.latest(key)
    }

    /// How many of the documents that it has judged were exact and near duplicates.
    #[must_use]
    pub fn duplicates(&self) -> [u64; 2] {
        self.engine.position.duplicates
    }

    /// How many of them were versions without change.
    #[must_use]
    pub fn unchanged(&self) -> u64 {
        self.engine.position.unchanged
    }

    /// How many numbers were given to documents without an id, or reserved for such: the next one is free.
    #[must_use]
    pub fn numbered(&self) -> u64 {
        self.engine.position.numbered.max(self.judged())
    }

    /// Reserves the numbers below this one: they will not be given to documents without an id again. Durable with what is judged next.
    pub fn reserve_numbers(&mut self, below: u64) {
        let numbered = &mut self.engine.position.numbered;
        *numbered = below.max(*numbered);
    }

    /// The unique documents of the window that have this key, oldest first: versions of one document. Looks at the whole window.
    #[must_use]
    pub fn versions(&self, key: Key) -> Vec<DocId> {
        self.engine.window.iter().filter(|it| it.key == key).map(|it| it.id).collect()
    }

    /// The index of the window's fingerprints.
    #[must_use]
    pub fn index(&self) -> &BlockIndex {
        &self.engine.index
    }
}

/// An item of a stream and its judgement.
#[derive(Clone, Debug)]
pub struct Judged<T, E = JudgeError> {
    /// The item, unchanged.
    pub item: T,
    /// Whether it repeats an earlier one, or why it could not be judged.
    pub judgement: Result<Judgement, E>,
}

/// Adds [`near_dedup`](Self::near_dedup) to every stream.
pub trait NearDupExt: Stream + Sized {
    /// Judges every item in order. Nothing is dropped: what to do with a duplicate is the caller's choice.
    ///
    /// `filter` is a [`Filter`], a `DurableFilter` or a `&mut` to one; `document` makes a document of an item, with the
    /// filter's [`Documents`]. Fingerprinting is the expensive part: an earlier stage of the stream can do it on several threads.
    ///
    /// ```
    /// use pagesieve::{Filter, NearDupExt, filter::Options};
    /// use tokio_stream::StreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let filter = Filter::new(&Options::default())?;
    /// let pages = tokio_stream::iter([("a", "One text."), ("b", "Another text."), ("c", "one text")]);
    /// let mut judged = pages.near_dedup(filter, |documents, (id, text)| documents.text(id, text));
    /// let mut unique = Vec::new();
    /// while let Some(judged) = judged.next().await {
    ///     if judged.judgement?.verdict.is_unique() {
    ///         unique.push(judged.item.0);
    ///     }
    /// }
    /// assert_eq!(unique, ["a", "b"]);
    /// # Ok(()) }
    /// ```
    fn near_dedup<F, D, S>(self, filter: F, document: D) -> NearDedup<Self, F, D, S>
    where
        F: BorrowMut<Filter<S>>,
        D: FnMut(&Documents, &Self::Item) -> Document,
        S: Store,
    {
        NearDedup { stream: Box::pin(self), filter, document, store: PhantomData }
    }
}

impl<S: Stream> NearDupExt for S {}

/// The stream that [`NearDupExt::near_dedup`] returns.
#[derive(Debug)]
pub struct NearDedup<T, F, D, S = Memory> {
    stream: Pin<Box<T>>,
    filter: F,
    document: D,
    store: PhantomData<fn() -> S>,
}

/// Neither the filter nor the closure is ever pinned.
impl<T, F, D, S> Unpin for NearDedup<T, F, D, S> {}

impl<T, F, D, S> Stream for NearDedup<T, F, D, S>
where
    T: Stream,
    F: BorrowMut<Filter<S>>,
    D: FnMut(&Documents, &T::Item) -> Document,
    S: Store,
{
    type Item = Judged<T::Item, S::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { stream, filter, document, .. } = self.get_mut();
        let filter = filter.borrow_mut();
        let judge = |item| {
            let judgement = filter.judge(&document(&filter.documents(), &item));
            Judged { item, judgement }
        };
        stream.as_mut().poll_next(context).map(|item| item.map(judge))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
