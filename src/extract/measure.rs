//! Measures the text of a page: how much of each line and block is in links, and how much is prose.
//!
//! Bytes and not characters, because a Chinese character carries about as much information as three Latin letters.

use std::ops::AddAssign;

use super::{
    blocks::{Block, Kind},
    text::{Segment, Writer},
};

/// Bytes of a line that is prose by its length alone, and of one that is prose if it has the punctuation of a sentence.
const LONG: usize = 100;
const SENTENCE: usize = 40;

/// Lines in a row that are prose if each is a sentence.
const VERSE: usize = 4;

/// What a segment contains, or a block including the blocks in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Bytes of text, and bytes of it that are text of links.
    pub(super) bytes: usize,
    pub(super) linked: usize,
    /// Bytes of prose; see [`prose`].
    pub(super) prose: usize,
    /// Bytes of headings outside of links.
    pub(super) titles: usize,
    /// Number of headings, and of headings that are links.
    pub(super) headings: usize,
    pub(super) linked_headings: usize,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.linked += other.linked;
        self.prose += other.prose;
        self.titles += other.titles;
        self.headings += other.headings;
        self.linked_headings += other.linked_headings;
    }
}

/// Measures each segment.
pub(super) fn measure_segments(blocks: &[Block], writer: &Writer) -> Vec<Sum> {
    let sum = |(index, segment): (usize, &Segment)| {
        let (text, kind) = (writer.text_of(index), blocks[segment.block].kind);
        let is_heading = kind == Kind::Heading;
        Sum {
            bytes: text.len(),
            linked: segment.linked,
            prose: if is_verse(blocks, writer, index) {
                text.len()
            } else {
                prose(text, segment.linked, kind)
            },
            titles: if is_heading { text.len() - segment.linked } else { 0 },
            headings: usize::from(is_heading),
            linked_headings: usize::from(is_heading && segment.linked * 5 >= text.len() * 4),
        }
    };
    writer.segments.iter().enumerate().map(sum).collect()
}

/// Whether a line is one of several sentences, however short: those of a poem, or of a dialogue.
fn is_verse(blocks: &[Block], writer: &Writer, index: usize) -> bool {
    let segments = &writer.segments;
    let is_short_sentence = |at: usize| {
        let kind = blocks[segments[at].block].kind;
        segments[at].linked == 0
            && matches!(kind, Kind::Container | Kind::Paragraph)
            && is_sentence(writer.text_of(at))
    };
    let is_beside = |at: usize| {
        let (one, other) = (segments[index].block, segments[at].block);
        let are_alike =
            blocks[one].kind == blocks[other].kind && blocks[one].parent == blocks[other].parent;
        (one == other || (are_alike && one > 0 && other > 0)) && is_short_sentence(at)
    };
    let is_one_of = |first: usize| (first..first + VERSE).all(|at| at == index || is_beside(at));
    is_short_sentence(index)
        && (index.saturating_sub(VERSE - 1)..=index)
            .any(|first| first + VERSE <= segments.len() && is_one_of(first))
}

/// Adds up segments by block, including the blocks in it.
pub(super) fn sum_by_block<T: Copy + Default + AddAssign>(
    blocks: &[Block],
    writer: &Writer,
    of_segment: impl Fn(usize, &Segment) -> T,
) -> Vec<T> {
    let mut sums = vec![T::default(); blocks.len()];
    for (index, segment) in writer.segments.iter().enumerate() {
        sums[segment.block] += of_segment(index, segment);
    }
    for index in (1..blocks.len()).rev() {
        let sum = sums[index];
        sums[blocks[index].parent] += sum;
    }
    sums
}

/// The prose of each container that is not in a container inside it.
pub(super) fn own_prose(blocks: &[Block], sums: &[Sum]) -> Vec<usize> {
    let may_hold = |block: usize| matches!(blocks[block].kind, Kind::Container | Kind::Cell);
    let mut own: Vec<usize> = sums.iter().map(|sum| sum.prose).collect();
    let mut holders = vec![0; blocks.len()];
    for index in 1..blocks.len() {
        let parent = blocks[index].parent;
        holders[index] = if may_hold(parent) { parent } else { holders[parent] };
        if may_hold(index) {
            own[holders[index]] -= sums[index].prose;
        } else {
            own[index] = 0;
        }
    }
    own
}

/// How many bytes of a line are prose. Of a line that is long or a sentence, all outside of links; in cells and code half of it; otherwise few.
/// A heading has none, and neither has a line that is mostly links.
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

/// Whether a line has the punctuation of a sentence: a comma, or a stop in front of a space or at the end.
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
