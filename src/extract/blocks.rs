//! How elements divide a page's text: which are skipped, which start a line, and the tree of the blocks that do; and of each line and block
//! how much is in links, and how much is prose.
//!
//! Text is measured in bytes and not characters, because a Chinese character carries about as much information as three Latin letters.

use std::{
    iter,
    ops::{AddAssign, Range},
};

use html5ever::LocalName;
use scraper::node::Element;

use super::{
    names::{Hint, Mark, Marks, shape_of},
    numbers::{FEW, LINE, OF_CELL, SENTENCE, SEVERAL, is_half, is_nearly_all},
    text::{Gap, Segment, Writer},
};

/// What an element is in the flow of the text, by its tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Neither the element nor its content is text.
    Skipped,
    /// The text is a label, but links in it are links.
    Control,
    Inline,
    /// A block that does not interrupt its line: it stands in for a script, and may repeat what the script showed.
    Fallback,
    /// May contain the body text: `div`, `article` and others.
    #[default]
    Container,
    Paragraph,
    Heading,
    List,
    /// A term of a list of them, or what is said of it.
    Fact,
    /// An item of a list, or a table or a part of one other than a cell.
    Part,
    /// A cell of a table, which may contain the body text as well.
    Cell,
    Preformatted,
}

impl Kind {
    pub(super) fn of(name: &LocalName) -> Self {
        match *name {
            names!(
                "script" "style" "template" "title" "svg" "iframe" "noframes" "noembed" "select" "textarea"
                "datalist" "canvas" "audio" "video" "progress" "meter" "rp" "rt" "annotation" "annotation-xml"
            ) => Self::Skipped,
            names!("button" "label") => Self::Control,
            names!("noscript") => Self::Fallback,
            names!("p") => Self::Paragraph,
            names!("h1" "h2" "h3" "h4" "h5" "h6") => Self::Heading,
            names!("ul" "ol" "dl" "menu" "dir") => Self::List,
            names!("dt" "dd") => Self::Fact,
            names!("li" "table" "thead" "tbody" "tfoot" "tr") => Self::Part,
            names!("td" "th") => Self::Cell,
            names!("pre" "listing" "plaintext" "xmp") => Self::Preformatted,
            names!(
                "address" "article" "aside" "blockquote" "body" "br" "caption" "center" "details" "dialog" "div" "fieldset"
                "figcaption" "figure" "footer" "form" "header" "hgroup" "hr" "legend" "main" "nav" "search" "section" "summary"
            ) => Self::Container,
            _ => Self::Inline,
        }
    }

    /// Whether the element is a block of its own.
    pub(super) fn is_block(self) -> bool {
        !matches!(self, Self::Skipped | Self::Control | Self::Inline)
    }

    /// What separates the element from the text around it.
    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Cell => Gap::Tab,
            kind if kind.is_block() && kind != Self::Fallback => Gap::Line,
            _ => Gap::None,
        }
    }

    /// Whether it may be the body of an article.
    pub(super) fn may_hold_text(self) -> bool {
        matches!(self, Self::Container | Self::Fallback | Self::Cell)
    }
}

/// An element that starts a line or a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The index of the block that contains it.
    pub(super) parent: usize,
    /// The index after the last block that it contains.
    pub(super) end: usize,
    /// The index of the first segment that it may contain.
    pub(super) first: usize,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
    pub(super) marks: Marks,
    /// Equal for elements of one kind; see [`shape_of`].
    pub(super) shape: u32,
}

/// The blocks of a page in page order. The first one is the page; every other one follows its parent.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    open: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { all: vec![Block::default()], open: 0 }
    }
}

impl Blocks {
    /// Opens a block in the innermost open one, before this segment. Returns its index.
    pub(super) fn open(
        &mut self,
        element: &Element,
        kind: Kind,
        marks: Marks,
        first: usize,
    ) -> usize {
        self.all.push(Block {
            parent: self.open,
            end: 0,
            first,
            kind,
            hint: marks.hint(),
            marks,
            shape: shape_of(element),
        });
        self.open = self.all.len() - 1;
        self.open
    }

    /// The kind of the innermost open block.
    pub(super) fn open_kind(&self) -> Kind {
        self.all[self.open].kind
    }

    /// Closes the innermost open block and returns the index of its parent.
    pub(super) fn close(&mut self) -> usize {
        let end = self.all.len();
        let block = &mut self.all[self.open];
        block.end = end;
        self.open = block.parent;
        self.open
    }

    pub(super) fn finish(mut self) -> Vec<Block> {
        self.all[0].end = self.all.len();
        self.all
    }
}

/// What a segment contains, or a block including the blocks in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Bytes of text, and bytes of it that are text of links.
    pub(super) bytes: usize,
    pub(super) linked: usize,
    /// Bytes of prose; see [`prose`].
    pub(super) prose: usize,
    /// Bytes outside of links that are facts: short texts in cells, or of a list of terms.
    pub(super) facts: usize,
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
        self.facts += other.facts;
        self.titles += other.titles;
        self.headings += other.headings;
        self.linked_headings += other.linked_headings;
    }
}

impl Sum {
    /// Whether most of it is text of links.
    pub(super) fn is_linked(&self) -> bool {
        is_half(self.linked, self.bytes)
    }

    /// Whether hardly any of it is text of links.
    pub(super) fn is_free(&self) -> bool {
        self.linked * FEW <= self.bytes
    }

    /// Bytes outside of links and headings.
    pub(super) fn other(&self) -> usize {
        self.bytes - self.linked - self.titles
    }
}

/// The blocks and the text of a page, measured.
#[derive(Clone, Debug)]
pub(super) struct Measured<'a> {
    pub(super) blocks: Vec<Block>,
    pub(super) writer: &'a Writer,
    /// What each segment contains, and each block.
    pub(super) segments: Vec<Sum>,
    pub(super) sums: Vec<Sum>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(blocks: Vec<Block>, writer: &'a Writer) -> Self {
        let mut page = Self { blocks, writer, segments: Vec::new(), sums: Vec::new() };
        page.segments = (0..writer.segments.len()).map(|index| page.measure(index)).collect();
        page.sums = page.add_up(|index| page.segments[index]);
        page
    }

    fn measure(&self, index: usize) -> Sum {
        let (text, linked, kind) =
            (self.text(index), self.writer.segments[index].linked, self.kind(index));
        let free = text.len() - linked;
        let is_heading = kind == Kind::Heading;
        let prose = if self.is_verse(index) { free } else { prose(text, linked, kind) };
        let is_fact = matches!(kind, Kind::Cell | Kind::Fact);
        Sum {
            bytes: text.len(),
            linked,
            prose,
            facts: if is_fact { free - prose } else { 0 },
            titles: if is_heading { free } else { 0 },
            headings: usize::from(is_heading),
            linked_headings: usize::from(is_heading && is_nearly_all(linked, text.len())),
        }
    }

    /// Whether a line is one of several sentences, however short: those of a poem, or of a dialogue.
    fn is_verse(&self, index: usize) -> bool {
        let segments = &self.writer.segments;
        let place = |at: usize| (self.kind(at), self.blocks[segments[at].block].parent);
        let is_verse = |at: usize| {
            segments[at].linked == 0
                && matches!(self.kind(at), Kind::Container | Kind::Paragraph)
                && place(at) == place(index)
                && is_sentence(self.text(at))
        };
        if !is_verse(index) {
            return false;
        }
        let before = (0..index).rev().take(SEVERAL).take_while(|&at| is_verse(at)).count();
        let after =
            (index + 1..segments.len()).take(SEVERAL).take_while(|&at| is_verse(at)).count();
        before + after >= SEVERAL
    }

    /// The text of a segment.
    pub(super) fn text(&self, segment: usize) -> &'a str {
        self.writer.text_of(segment)
    }

    /// The block of a segment.
    pub(super) fn block_of(&self, segment: usize) -> usize {
        self.writer.segments[segment].block
    }

    /// The kind of the block of a segment.
    pub(super) fn kind(&self, segment: usize) -> Kind {
        self.blocks[self.block_of(segment)].kind
    }

    pub(super) fn has(&self, block: usize, mark: Mark) -> bool {
        self.blocks[block].marks.has(mark)
    }

    /// A block and the blocks in it.
    pub(super) fn inside(&self, block: usize) -> Range<usize> {
        block..self.blocks[block].end
    }

    /// A block and the blocks that contain it, except the page.
    pub(super) fn around(&self, block: usize) -> impl Iterator<Item = usize> {
        iter::successors(Some(block), |&block| Some(self.blocks[block].parent))
            .take_while(|&block| block > 0)
    }

    /// Whether neither block is in the other one.
    pub(super) fn are_apart(&self, a: usize, b: usize) -> bool {
        a >= self.blocks[b].end || b >= self.blocks[a].end
    }

    /// The outermost blocks in a block for which something holds.
    pub(super) fn outermost(
        &self,
        root: usize,
        mut holds: impl FnMut(usize) -> bool,
    ) -> Vec<usize> {
        let (mut found, mut at) = (Vec::new(), root + 1);
        while at < self.blocks[root].end {
            if holds(at) {
                found.push(at);
                at = self.blocks[at].end;
            } else {
                at += 1;
            }
        }
        found
    }

    /// Adds up segments by block, including the blocks in it.
    pub(super) fn add_up<T: Copy + Default + AddAssign>(
        &self,
        of_segment: impl Fn(usize) -> T,
    ) -> Vec<T> {
        let mut sums = vec![T::default(); self.blocks.len()];
        for (index, segment) in self.writer.segments.iter().enumerate() {
            sums[segment.block] += of_segment(index);
        }
        for index in (1..self.blocks.len()).rev() {
            let sum = sums[index];
            sums[self.blocks[index].parent] += sum;
        }
        sums
    }

    /// The prose of each container that is not in a container inside it.
    pub(super) fn own_prose(&self) -> Vec<usize> {
        let may_hold = |&block: &usize| self.blocks[block].kind.may_hold_text();
        let mut own = vec![0; self.blocks.len()];
        for (index, sum) in self.segments.iter().enumerate() {
            let holder = self.around(self.block_of(index)).find(may_hold);
            own[holder.unwrap_or(0)] += sum.prose;
        }
        own
    }
}

/// Whether a line is prose, whatever holds it.
pub(super) fn shows_prose(writer: &Writer) -> bool {
    let is_prose = |(index, segment): (usize, &Segment)| {
        prose(writer.text_of(index), segment.linked, Kind::Container) >= SENTENCE
    };
    writer.segments.iter().enumerate().any(is_prose)
}

/// How many bytes of a line are prose. Of a line that is long or a sentence, all outside of links; in cells and code half of it; otherwise few.
/// A heading has none, and neither has a line that is mostly links.
fn prose(text: &str, linked: usize, kind: Kind) -> usize {
    let free = text.len() - linked;
    if kind == Kind::Heading || linked > free {
        0
    } else if free >= LINE || (free >= SENTENCE && is_sentence(text)) {
        free
    } else if matches!(kind, Kind::Cell | Kind::Preformatted) {
        free / OF_CELL
    } else {
        free / FEW
    }
}

/// Whether a text is prose by its length, and no code: its words are not separated by signs.
pub(super) fn is_long(text: &str) -> bool {
    text.len() >= LINE && is_sentence(text) && (!text.is_ascii() || text.contains(". "))
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
        assert_eq!(prose("Frequently asked questions and answers here", 0, Kind::Paragraph), 8);
        assert_eq!(prose("潮汐的成因，主要是月球的引力和地球的自转", 0, Kind::Container), 60);
        assert_eq!(prose("潮汐的成因主要是月球的引力", 0, Kind::Container), 7);
        assert_eq!(prose(&"word ".repeat(30), 0, Kind::Part), 150);
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
