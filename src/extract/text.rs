//! Writes text line by line: tidies white space and keeps track of blocks and links.

/// What separates two words. Of several in a row the largest is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    /// Between the cells of a table row.
    Tab,
    /// Between blocks.
    Line,
}

/// A piece of text between two gaps larger than a space: a line, or a cell of a table row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// What separates it from the previous segment.
    pub(super) gap: Gap,
    /// The block that contains it, as set in [`Writer`].
    pub(super) block: usize,
    /// Its start in the text.
    pub(super) start: usize,
    /// Number of its bytes that are text of links.
    pub(super) linked: usize,
    /// Number of links that begin in it.
    pub(super) links: u16,
}

/// Limit of segments.
const MAX_SEGMENTS: usize = 200_000;

/// Text under construction. No line is empty or has white space at its ends, because gaps are only written between words.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    gap: Gap,
    pub(super) segments: Vec<Segment>,
    /// The block that contains the text written next.
    pub(super) block: usize,
    /// Whether the text written next belongs to a link.
    pub(super) in_link: bool,
    /// Links that have begun since the text written last.
    pub(super) new_links: u16,
    /// Whether the limit of segments was reached, after which nothing is written.
    pub(super) is_full: bool,
}

impl Writer {
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Adds inline text: any white space becomes a single space.
    pub(super) fn flow(&mut self, text: &str) {
        let start = text.trim_start();
        if start.len() < text.len() {
            self.gap(Gap::Space);
        }
        if start.is_empty() {
            return;
        }
        for words in stretches(start) {
            self.words(words);
        }
        if !text.ends_with(char::is_whitespace) {
            self.gap = Gap::None;
        }
    }

    /// Adds preformatted text: line breaks are kept.
    pub(super) fn lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.gap(Gap::Line);
            }
            self.flow(line);
        }
    }

    /// The text of a segment.
    pub(super) fn text_of(&self, index: usize) -> &str {
        let end = self.segments.get(index + 1).map_or(self.out.len(), |next| next.start);
        &self.out[self.segments[index].start..end]
    }

    /// The text of all segments, without what separates them.
    pub(super) fn all(&self) -> &str {
        &self.out
    }

    /// The text of the segments for which `keeps` holds.
    pub(super) fn text(&self, mut keeps: impl FnMut(usize) -> bool) -> String {
        let mut text = String::with_capacity(self.out.len() + self.segments.len());
        let mut gap = Gap::None;
        for (index, segment) in self.segments.iter().enumerate() {
            gap = gap.max(segment.gap);
            if keeps(index) {
                if !text.is_empty() {
                    text.push(if gap == Gap::Tab { '\t' } else { '\n' });
                }
                text.push_str(self.text_of(index));
                gap = Gap::None;
            }
        }
        text
    }

    /// Adds words separated by single spaces, and a gap for the next word.
    fn words(&mut self, words: &str) {
        let is_new = self.segments.is_empty() || self.gap >= Gap::Tab;
        self.is_full |= is_new && self.segments.len() == MAX_SEGMENTS;
        if words.is_empty() || self.is_full {
            return;
        }
        if is_new {
            let (gap, block, start) = (self.gap, self.block, self.out.len());
            self.segments.push(Segment { gap, block, start, linked: 0, links: 0 });
        } else if self.gap == Gap::Space {
            self.out.push(' ');
        }
        self.out.push_str(words);
        self.gap = Gap::Space;
        if let Some(segment) = self.segments.last_mut()
            && self.in_link
        {
            segment.linked += words.len();
            segment.links = segment.links.saturating_add(std::mem::take(&mut self.new_links));
        }
    }
}

/// The text between white space that is not a single space between two words. Most text has none of it and is copied whole.
fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let (stretch, after) = text.split_at(other_space(text));
        rest = (!after.is_empty()).then(|| after.trim_start());
        Some(stretch.strip_suffix(' ').unwrap_or(stretch))
    })
}

/// Where white space begins that is not a single space after a word, or the end.
fn other_space(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    // White space has other bytes than these, or begins with one.
    while let Some(found) = bytes[at..].iter().position(|byte| !matches!(byte, b'!'..=0xC1)) {
        at += found;
        let is_single = found > 0 && bytes[at] == b' ';
        if !is_single && text[at..].starts_with(char::is_whitespace) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// The text with every run of white space as one space, none at the ends.
pub(super) fn tidy(text: &str) -> String {
    let mut writer = Writer::default();
    writer.flow(text);
    writer.text(|_| true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Gap, Writer, tidy};

    proptest! {
        #[test]
        fn tidy_text_is_its_words_with_single_spaces(text in "[a-c .é\u{3000} \n\t\u{b}]{0,40}") {
            let words: Vec<_> = text.split_whitespace().collect();
            prop_assert_eq!(tidy(&text), words.join(" "));
        }
    }

    #[test]
    fn the_largest_gap_between_two_words_is_written() {
        let mut writer = Writer::default();
        writer.gap(Gap::Line);
        writer.flow(" one\u{3000}\n two");
        writer.flow("-half ");
        writer.gap(Gap::Tab);
        writer.gap(Gap::Line);
        writer.flow(" three ");
        writer.gap(Gap::Tab);
        writer.flow("four");
        writer.lines("\n\n five\n  six\n");
        assert_eq!(writer.text(|_| true), "one two-half\nthree\tfour\nfive\nsix");
    }
}
