//! Measures text: how much of it is prose, block by block.

use super::{
    blocks::{Block, Kind},
    text::{Segment, Writer},
};

/// Bytes of a line that are prose for their number alone, and those that are if there is punctuation of a sentence among them.
const LONG: usize = 100;
const SENTENCE: usize = 40;

/// What a block holds, blocks in it included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Bytes of text, and those of them that are text of links.
    pub(super) bytes: usize,
    pub(super) linked: usize,
    /// Bytes of prose; see [`prose`].
    pub(super) prose: usize,
    /// Bytes of headings that are no links.
    pub(super) titles: usize,
    /// Headings, and those of them that are links.
    pub(super) headings: usize,
    pub(super) linked_headings: usize,
}

impl Sum {
    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.linked += other.linked;
        self.prose += other.prose;
        self.titles += other.titles;
        self.headings += other.headings;
        self.linked_headings += other.linked_headings;
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self {
            bytes: self.bytes - other.bytes,
            linked: self.linked - other.linked,
            prose: self.prose - other.prose,
            titles: self.titles - other.titles,
            headings: self.headings - other.headings,
            linked_headings: self.linked_headings - other.linked_headings,
        }
    }
}

/// What each segment holds.
pub(super) fn segments(blocks: &[Block], writer: &Writer) -> Vec<Sum> {
    let sum = |(index, segment): (usize, &Segment)| {
        let (text, kind) = (writer.text_of(index), blocks[segment.block].kind);
        let is_heading = kind == Kind::Heading;
        Sum {
            bytes: text.len(),
            linked: segment.linked,
            prose: prose(text, segment.linked, kind),
            titles: if is_heading { text.len() - segment.linked } else { 0 },
            headings: usize::from(is_heading),
            linked_headings: usize::from(is_heading && segment.linked * 5 >= text.len() * 4),
        }
    };
    writer.segments().iter().enumerate().map(sum).collect()
}

/// Adds what the segments hold to their blocks and to all around them.
pub(super) fn blocks(
    blocks: &[Block],
    writer: &Writer,
    mut of_segment: impl FnMut(usize, &Segment) -> Sum,
) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); blocks.len()];
    for (index, segment) in writer.segments().iter().enumerate() {
        sums[segment.block].add(of_segment(index, segment));
    }
    for index in (1..blocks.len()).rev() {
        let sum = sums[index];
        sums[blocks[index].parent].add(sum);
    }
    sums
}

/// How many bytes of a line are prose: all outside of links if it is long or a sentence, half in cells and code, few otherwise, none
/// in a heading or if most of it is links.
///
/// Bytes and not characters, because a Chinese character says about as much as three Latin letters.
fn prose(text: &str, linked: usize, kind: Kind) -> usize {
    let free = text.len() - linked;
    if kind == Kind::Heading || linked > free {
        0
    } else if free >= LONG || (free >= SENTENCE && is_sentence(text)) {
        free
    } else if matches!(kind, Kind::Cell | Kind::Preformatted) {
        free / 2
    } else {
        free / 6
    }
}

/// Whether there is punctuation by which sentences are known: a comma, a stop in front of a space or at the end.
fn is_sentence(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.ends_with(['.', '!', '?', ':', '"', '”', '…', '»', '。', '！', '？', '」'])
        || bytes.contains(&b',')
        || bytes
            .windows(2)
            .any(|pair| matches!(pair[0], b'.' | b'!' | b'?' | b';' | b':') && pair[1] == b' ')
        || (!text.is_ascii()
            && text.contains(['、', '。', '，', '！', '？', '；', '：', '،', '۔', '।']))
}

#[cfg(test)]
mod tests {
    use super::{Kind, prose};

    #[test]
    fn sentences_are_prose_and_labels_are_not() {
        let sentence = "The tide, as everyone knows, waits for no one.";
        assert_eq!(prose(sentence, 0, Kind::Paragraph), sentence.len());
        assert_eq!(prose("Frequently asked questions and answers here", 0, Kind::Paragraph), 7);
        assert_eq!(prose("潮汐的成因，主要是月球的引力和地球的自转", 0, Kind::Container), 60);
        assert_eq!(prose("潮汐的成因主要是月球的引力", 0, Kind::Container), 6);
        assert_eq!(prose(&"word ".repeat(30), 0, Kind::Item), 150);
    }

    #[test]
    fn headings_and_links_are_not_prose_and_cells_are_half() {
        let sentence = "The tide, as everyone knows, waits for no one.";
        assert_eq!(prose(sentence, 0, Kind::Heading), 0);
        assert_eq!(prose(sentence, 24, Kind::Paragraph), 0);
        assert_eq!(prose(sentence, 6, Kind::Paragraph), sentence.len() - 6);
        assert_eq!(prose("high water", 0, Kind::Cell), 5);
    }
}
