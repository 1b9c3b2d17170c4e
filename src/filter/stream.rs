//! The filter as a stage of anybody's stream.

use std::{borrow::BorrowMut, convert::Infallible};

use futures_core::Stream;
use tokio_stream::StreamExt;

use super::{Digests, Document, Filter, Judgement};
use crate::index::Index;

/// An item of a stream, with what was found about it.
#[derive(Clone, Debug)]
pub struct Judged<T> {
    /// The item, unchanged.
    pub item: T,
    /// Whether it repeats an earlier one.
    pub judgement: Judgement,
}

/// Adds [`near_dedup`](Self::near_dedup) to every stream.
pub trait NearDupExt: Stream + Sized {
    /// Judges every item in order. Nothing is dropped: what to do with a duplicate is the caller's choice.
    ///
    /// `filter` is a [`Filter`] or a `&mut Filter`; `subject` says what to judge of an item. Fingerprinting is the dear part: let
    /// the stages before do it on several threads, and judge here.
    ///
    /// ```
    /// use pagesieve::{Filter, Fingerprinter, NearDupExt, Document, filter, fingerprint::Recipe};
    /// use tokio_stream::StreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), filter::WindowError> {
    /// let fingerprinter = Fingerprinter::new(Recipe::default());
    /// let pages = tokio_stream::iter([("a", "One text."), ("b", "Another text."), ("c", "one text")]);
    /// let filter = Filter::new(&filter::Options::default())?;
    /// let judged = pages.near_dedup(filter, |(id, text)| Document::of_text(&fingerprinter, id, text));
    /// let unique: Vec<_> = judged.filter(|j| j.judgement.verdict.is_unique()).map(|j| j.item.0).collect().await;
    /// assert_eq!(unique, ["a", "b"]);
    /// # Ok(()) }
    /// ```
    fn near_dedup<F, I, D>(
        self,
        mut filter: F,
        mut subject: impl FnMut(&Self::Item) -> Document,
    ) -> impl Stream<Item = Judged<Self::Item>>
    where
        F: BorrowMut<Filter<I, D>>,
        I: Index,
        D: Digests<Error = Infallible>,
    {
        self.map(move |item| {
            let Ok(judgement) = filter.borrow_mut().judge(&subject(&item));
            Judged { item, judgement }
        })
    }
}

impl<S: Stream> NearDupExt for S {}
