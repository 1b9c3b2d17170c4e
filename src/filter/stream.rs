//! The filter as a stage of a stream.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{
    Filter,
    document::{Document, Documents},
    verdict::Judgement,
};

/// What judges documents: a [`Filter`], a `DurableFilter`, or a `&mut` to one of them.
pub trait Judge {
    /// The answer: a [`Judgement`], or a `Result` of one where judging can fail.
    type Answer;

    /// Judges a document and remembers it.
    fn judge(&mut self, document: &Document) -> Self::Answer;

    /// Makes documents for it.
    fn documents(&self) -> Documents;
}

impl Judge for Filter {
    type Answer = Judgement;

    fn judge(&mut self, document: &Document) -> Judgement {
        Self::judge(self, document)
    }

    fn documents(&self) -> Documents {
        (**self).documents()
    }
}

impl<J: Judge> Judge for &mut J {
    type Answer = J::Answer;

    fn judge(&mut self, document: &Document) -> J::Answer {
        (**self).judge(document)
    }

    fn documents(&self) -> Documents {
        (**self).documents()
    }
}

/// An item of a stream and its judgement.
#[derive(Clone, Debug)]
pub struct Judged<T, A = Judgement> {
    /// The item, unchanged.
    pub item: T,
    /// Whether it repeats an earlier one. A `Result` if the filter is durable.
    pub judgement: A,
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
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), pagesieve::filter::OptionsError> {
    /// let filter = Filter::new(&Options::default())?;
    /// let pages = tokio_stream::iter([("a", "One text."), ("b", "Another text."), ("c", "one text")]);
    /// let judged = pages.near_dedup(filter, |documents, (id, text)| documents.text(id, text));
    /// let unique: Vec<_> = judged.filter(|j| j.judgement.verdict.is_unique()).map(|j| j.item.0).collect().await;
    /// assert_eq!(unique, ["a", "b"]);
    /// # Ok(()) }
    /// ```
    fn near_dedup<J, D>(self, filter: J, document: D) -> NearDedup<Self, J, D>
    where
        J: Judge,
        D: FnMut(&Documents, &Self::Item) -> Document,
    {
        NearDedup { stream: Box::pin(self), documents: filter.documents(), filter, document }
    }
}

impl<S: Stream> NearDupExt for S {}

/// The stream that [`NearDupExt::near_dedup`] returns.
#[derive(Debug)]
pub struct NearDedup<S, J, D> {
    stream: Pin<Box<S>>,
    filter: J,
    documents: Documents,
    document: D,
}

/// Neither the filter nor the closure is ever pinned.
impl<S, J, D> Unpin for NearDedup<S, J, D> {}

impl<S, J, D> Stream for NearDedup<S, J, D>
where
    S: Stream,
    J: Judge,
    D: FnMut(&Documents, &S::Item) -> Document,
{
    type Item = Judged<S::Item, J::Answer>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { stream, filter, documents, document } = self.get_mut();
        stream.as_mut().poll_next(context).map(|item| {
            item.map(|item| {
                let judgement = filter.judge(&document(documents, &item));
                Judged { item, judgement }
            })
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
