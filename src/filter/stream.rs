//! The filter as a stage of a stream.

use std::{
    borrow::BorrowMut,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{
    Filter,
    document::{Document, Documents},
    store::{JudgeError, Memory, Store},
    verdict::Judgement,
};

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
        let documents = filter.borrow().documents();
        NearDedup { stream: Box::pin(self), documents, filter, document, store: PhantomData }
    }
}

impl<S: Stream> NearDupExt for S {}

/// The stream that [`NearDupExt::near_dedup`] returns.
#[derive(Debug)]
pub struct NearDedup<T, F, D, S = Memory> {
    stream: Pin<Box<T>>,
    filter: F,
    documents: Documents,
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
        let Self { stream, filter, documents, document, .. } = self.get_mut();
        stream.as_mut().poll_next(context).map(|item| {
            item.map(|item| {
                let judgement = filter.borrow_mut().judge(&document(documents, &item));
                Judged { item, judgement }
            })
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
