//! How a filter goes on where another stood.

use serde::{Deserialize, Serialize};

use super::{Digests, Filter, Representative};
use crate::{
    fingerprint::Fingerprint,
    index::Index,
    page::{DocId, Timestamp},
};

/// Where a filter stood, so that another can go on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of the next document.
    pub next: DocId,
    /// How many aliases there ever were.
    pub aliases: u64,
    /// The window's clock.
    pub clock: Timestamp,
    /// The oldest representative of the window. What came before has left it, and does not come back though the next window be larger.
    pub oldest: DocId,
}

impl<I: Index, D: Digests> Filter<I, D> {
    /// Takes in representatives of an earlier filter's window. `give` gives them to the function that it is called with, oldest
    /// first, before [`resume`](Self::resume), in as many calls as one likes. Returns what `give` returns.
    ///
    /// ```
    /// use pagesieve::filter::{Filter, Options};
    ///
    /// let options = Options::default();
    /// let earlier = Filter::new(&options)?;
    /// let mut filter = Filter::new(&options)?;
    /// filter.restore(|take| earlier.representatives().for_each(take));
    /// filter.resume(earlier.position());
    /// # Ok::<(), pagesieve::filter::WindowError>(())
    /// ```
    pub fn restore<R>(&mut self, give: impl FnOnce(&mut dyn FnMut(Representative)) -> R) -> R {
        let oldest = self.window.oldest();
        let mut restoring = Restoring { filter: self, entering: Vec::new(), oldest };
        let given = give(&mut |representative| restoring.take(representative));
        restoring.enter();
        self.index.expire(self.window.horizon(DocId(0)));
        given
    }

    /// Goes on where an earlier filter stood.
    pub fn resume(&mut self, position: Position) {
        self.next = position.next;
        self.aliases = position.aliases;
        self.window.advance(position.clock);
    }

    /// Where the filter stands.
    pub fn position(&self) -> Position {
        Position {
            next: self.next,
            aliases: self.aliases,
            clock: self.window.clock(),
            oldest: self.window.horizon(self.next),
        }
    }
}

/// As many enter the index together.
const TOGETHER: usize = 1 << 20;

/// A filter to which representatives come back.
struct Restoring<'f, I, D> {
    filter: &'f mut Filter<I, D>,
    /// What is to enter the index together: until one leaves, for that may make room for another.
    entering: Vec<(DocId, Fingerprint)>,
    /// The number of the oldest representative of the window.
    oldest: Option<DocId>,
}

impl<I: Index, D: Digests> Restoring<'_, I, D> {
    fn take(&mut self, representative: Representative) {
        let Representative { id, at, signature, .. } = representative;
        let window = &mut self.filter.window;
        window.advance(at);
        window.expire();
        let front = window.oldest();
        window.push(&representative);
        if self.oldest.is_some() && front != self.oldest {
            self.enter();
            self.filter.index.expire(front.unwrap_or(id));
        }
        self.entering.extend(signature.map(|signature| (id, signature.fingerprint())));
        if self.entering.len() == TOGETHER {
            self.enter();
        }
        self.oldest = front.or(Some(id));
    }

    fn enter(&mut self) {
        self.filter.index.insert_all(self.entering.drain(..));
    }
}
