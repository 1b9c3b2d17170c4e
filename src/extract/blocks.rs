//! How elements divide a page's text: which are skipped, which start a line, and the tree of the blocks that do; and of each line and block
//! how much is in links, and how much is prose.
//!
//! Text is measured in bytes and not characters, because a Chinese character carries about as much information as three Latin letters.

use std::ops::AddAssign;

use html5ever::{LocalName, local_name};
use scraper::node::Element;

use super::{
    boilerplate::{Hint, Names, hint_of, is_main, shape_of},
    marks::Marks,
    text::{Gap, Segment, Writer},
};

/// How an element affects the flow of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Neither the element nor its content is text.
    Skipped,
    /// The text is a label, but links in it are links.
    Control,
    Inline,
    /// A block that does not interrupt its line: what stands in for a script.
    Fallback,
    Cell,
    Block,
}

impl Flow {
    pub(super) fn of(name: &LocalName) -> Self {
        match *name {
            names!("td" "th") => Self::Cell,
            names!(
                "script" "style" "template" "title" "svg" "iframe" "noframes" "noembed" "select" "textarea"
                "datalist" "canvas" "audio" "video" "progress" "meter" "rp" "rt" "annotation" "annotation-xml"
            ) => Self::Skipped,
            names!("button" "label") => Self::Control,
            names!("noscript") => Self::Fallback,
            names!(
                "address" "article" "aside" "blockquote" "body" "br" "caption" "center" "dd" "details" "dialog" "dir" "div" "dl" "dt"
                "fieldset" "figcaption" "figure" "footer" "form" "h1" "h2" "h3" "h4" "h5" "h6" "header" "hgroup" "hr" "legend" "li"
                "listing" "main" "menu" "nav" "ol" "p" "plaintext" "pre" "search" "section" "summary" "table" "tbody" "tfoot"
                "thead" "tr" "ul" "xmp"
            ) => Self::Block,
            _ => Self::Inline,
        }
    }

    /// Whether the element is a block of its own.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Fallback | Self::Cell | Self::Block)
    }

    /// What separates the element from the text around it.
    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Skipped | Self::Control | Self::Inline | Self::Fallback => Gap::None,
            Self::Cell => Gap::Tab,
            Self::Block => Gap::Line,
        }
    }
}

/// The kinds of blocks that the choice of the body text distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// May contain the body text: `div`, `article` and others.
    Container,
    Paragraph,
    Heading,
    List,
    Item,
    /// A term of a list of them, or what is said of it.
    Fact,
    /// A table or a part of one other than a cell.
    Table,
    /// A cell of a table, which may contain the body text as well.
    Cell,
    Preformatted,
}

impl Kind {
    fn of(name: &LocalName) -> Self {
        match *name {
            names!("p") => Self::Paragraph,
            names!("h1" "h2" "h3" "h4" "h5" "h6") => Self::Heading,
            names!("ul" "ol" "dl" "menu" "dir") => Self::List,
            names!("li") => Self::Item,
            names!("dt" "dd") => Self::Fact,
            names!("table" "thead" "tbody" "tfoot" "tr") => Self::Table,
            names!("td" "th") => Self::Cell,
            names!("pre" "listing") => Self::Preformatted,
            _ => Self::Container,
        }
    }
}

/// What an element is in the page, by its tag or role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landmark {
    None,
    /// The main content.
    Main,
    Article,
    /// Something beside the main content.
    Beside,
    /// It stands in for a script, and may repeat what the script showed.
    Fallback,
}

impl Landmark {
    fn of(element: &Element) -> Self {
        match element.name.local {
            local_name!("article") => Self::Article,
            local_name!("noscript") => Self::Fallback,
            names!("aside" "footer" "header" "nav" "search") => Self::Beside,
            _ if is_main(element) => Self::Main,
            _ => Self::None,
        }
    }
}

/// An element that starts a line or a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The index of the block that contains it.
    pub(super) parent: usize,
    /// The index after the last block that it contains.
    pub(super) end: usize,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
    /// Whether it says that it holds the body of an article.
    pub(super) is_body: bool,
    /// What its names say of the kind of the page.
    pub(super) marks: Marks,
    /// Whether it asks for consent to cookies.
    pub(super) is_consent: bool,
    pub(super) landmark: Landmark,
    /// Equal for elements of one kind; see [`shape_of`].
    pub(super) shape: u32,
}

/// The blocks of a page in page order. The first one is the page; every other one follows its parent.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    open: usize,
}

impl Blocks {
    pub(super) fn new() -> Self {
        let page = Block {
            parent: 0,
            end: 0,
            kind: Kind::Container,
            hint: Hint::None,
            is_body: false,
            marks: Marks::default(),
            is_consent: false,
            landmark: Landmark::None,
            shape: 0,
        };
        Self { all: vec![page], open: 0 }
    }

    /// Opens a block in the innermost open one and returns its index.
    pub(super) fn open(&mut self, element: &Element, names: Names, is_boilerplate: bool) -> usize {
        let kind = Kind::of(&element.name.local);
        let hint = if is_boilerplate { Hint::Boilerplate } else { hint_of(element, names) };
        let is_body = kind != Kind::Heading && names.is_body;
        self.all.push(Block {
            parent: self.open,
            end: 0,
            kind,
            hint,
            is_body,
            marks: Marks::of(element, names.marks),
            is_consent: false,
            landmark: Landmark::of(element),
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

/// Measures each segment.
pub(super) fn measure_segments(blocks: &[Block], writer: &Writer) -> Vec<Sum> {
    let sum = |(index, segment): (usize, &Segment)| {
        let (text, kind) = (writer.text_of(index), blocks[segment.block].kind);
        let is_heading = kind == Kind::Heading;
        let is_fact = matches!(kind, Kind::Cell | Kind::Fact);
        let prose = if is_verse(blocks, writer, index) {
            text.len()
        } else {
            prose(text, segment.linked, kind)
        };
        Sum {
            bytes: text.len(),
            linked: segment.linked,
            prose,
            facts: if is_fact { (text.len() - segment.linked).saturating_sub(prose) } else { 0 },
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

/// Whether a line is prose, whatever holds it.
pub(super) fn shows_prose(writer: &Writer) -> bool {
    let is_prose = |(index, segment): (usize, &Segment)| {
        let text = writer.text_of(index);
        prose(text, segment.linked, Kind::Container) >= SENTENCE
    };
    writer.segments.iter().enumerate().any(is_prose)
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

/// Whether a text is prose by its length, and no code: its words are not separated by signs.
pub(super) fn is_long(text: &str) -> bool {
    text.len() >= LONG && is_sentence(text) && (!text.is_ascii() || text.contains(". "))
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
