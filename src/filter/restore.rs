//! How a filter goes on where another stood.

use serde::{Deserialize, Serialize};

use super::{Digests, Filter, Representative};
use crate::{
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
}

impl<I: Index, D: Digests> Filter<I, D> {
    /// Takes in representatives of an earlier filter's window. They come in the order of their turns, before
    /// [`resume`](Self::resume), in as many calls as one likes. One that was refreshed may come with its earlier turns too.
    pub fn restore(&mut self, representatives: impl IntoIterator<Item = Representative>) {
        // What is to enter the index together: until one leaves, for that may make room for another.
        let mut entering = Vec::new();
        let mut oldest = self.window.oldest();
        for representative in representatives {
            let Representative { id, turn, at, signature, .. } = representative;
            self.window.advance(at);
            self.window.expire();
            let superseded = if turn == id { None } else { self.window.take(id) };
            let front = self.window.oldest();
            if superseded.is_some() || (oldest.is_some() && front != oldest) {
                self.index.insert_all(entering.drain(..));
                self.index.expire(front.unwrap_or(turn));
            }
            if let Some(Representative { turn, signature: Some(_), .. }) = superseded {
                self.index.remove(turn);
            }
            entering.extend(signature.map(|signature| (turn, signature.fingerprint())));
            self.window.push(&representative);
            oldest = front.or(Some(turn));
        }
        self.index.insert_all(entering);
        self.index.expire(self.window.horizon(DocId(0)));
    }

    /// Goes on where an earlier filter stood.
    pub fn resume(&mut self, position: Position) {
        self.next = position.next;
        self.aliases = position.aliases;
        self.window.advance(position.clock);
    }

    /// Where the filter stands.
    pub fn position(&self) -> Position {
        Position { next: self.next, aliases: self.aliases, clock: self.window.clock() }
    }
}
