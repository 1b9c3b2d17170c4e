//! What a page shows, as lines in page order with the elements that hold them.

/// The visible text of a page, in and around its body text. Extraction makes it, and the filter judges the page's article by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub(crate) text: String,
    pub(crate) lines: Vec<Line>,
    /// For each block the one that contains it, which comes earlier. The first block is the page and contains itself.
    pub(crate) parents: Vec<u32>,
    /// Title and first heading: what the page is called.
    pub(crate) name: String,
}

/// A line of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The block element that holds it.
    pub(crate) block: u32,
    /// Where it starts in the text. It ends where the next one starts.
    pub(crate) start: usize,
    /// How many of its bytes are text of links.
    pub(crate) linked: usize,
    /// Whether it is part of the body text.
    pub(crate) is_body: bool,
}

impl Outline {
    /// The lines with their texts.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&Line, &str)> {
        let ends = self.lines.iter().skip(1).map(|next| next.start).chain([self.text.len()]);
        self.lines.iter().zip(ends).map(|(line, end)| (line, &self.text[line.start..end]))
    }
}
