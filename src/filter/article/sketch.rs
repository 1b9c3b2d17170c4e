//! What is kept of a page to compare its article: one byte for each word, and the tree of the blocks that hold them.
//!
//! Five words in a row, at one byte each, tell passages apart as well as their text does, in a fifth of the room.

use super::{Leaf, tokens::Token};

/// A sketch takes at most so many bytes. Of a longer page the body text is kept first, then the other blocks in page order.
pub(super) const MOST_BYTES: usize = 1_800;
/// What a block takes at most.
pub(super) const BYTES_PER_LEAF: usize = 3;

const TRUNCATED: u8 = 1;

/// The words of a page in page order, and the blocks that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    pub(super) tokens: Vec<Token>,
    pub(super) leaves: Vec<Leaf>,
    /// Whether some of the page is missing.
    pub(super) is_truncated: bool,
    /// The hash of the page's title and first heading, digits left out.
    pub(super) name: u32,
    pub(super) links: Links,
}

/// The blocks of the body text of which more than half is links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// The hash of their texts.
    pub(super) hash: u32,
    /// How many there are, at most 255.
    pub(super) count: u8,
}

impl Sketch {
    /// Whether some of the page is missing.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// As bytes, for a file.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.tokens.len() + 4 * self.leaves.len() + 4);
        out.push(if self.is_truncated { TRUNCATED } else { 0 });
        out.extend(self.name.to_le_bytes());
        out.extend(self.links.hash.to_le_bytes());
        out.push(self.links.count);
        push_number(&mut out, self.leaves.len());
        for leaf in &self.leaves {
            let [linked, body] = [leaf.is_linked, leaf.is_body].map(u8::from);
            out.push(leaf.shared << 2 | linked << 1 | body);
            push_number(&mut out, leaf.tokens());
        }
        out.extend(self.tokens.iter().map(|token| token.0));
        out
    }

    /// The sketch that was packed so; `None` if the bytes are damaged.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (&name, rest) = rest.split_first_chunk()?;
        let (&hash, rest) = rest.split_first_chunk()?;
        let (&count, mut rest) = rest.split_first()?;
        let (name, hash) = (u32::from_le_bytes(name), u32::from_le_bytes(hash));
        let links = Links { hash, count };
        let count = take_number(&mut rest)?;
        let (mut leaves, mut start) = (Vec::with_capacity(count.min(bytes.len())), 0);
        for _ in 0..count {
            let (&place, after) = rest.split_first()?;
            rest = after;
            let end = start + take_number(&mut rest)?;
            let (is_linked, is_body) = (place & 2 != 0, place & 1 != 0);
            leaves.push(Leaf { start, end, shared: place >> 2, is_body, is_linked });
            start = end;
        }
        let tokens = rest.iter().map(|&byte| Token(byte)).collect();
        let is_truncated = flags == TRUNCATED;
        (rest.len() == start).then_some(Self { tokens, leaves, is_truncated, name, links })
    }
}

fn push_number(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
        if shift > 14 {
            return None;
        }
    }
}
