//! Writes body text: words, and the gaps between them.

/// What stands between two words. Of several in a row the greatest is written.
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

/// Text under construction. No line is empty or has space at its ends, because a gap is written only between words.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    gap: Gap,
}

impl Writer {
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Adds text as it flows: any white space is a single space.
    pub(super) fn flow(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.gap(Gap::Space);
        }
        for words in stretches(text) {
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

    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds words with a space between any two, and one to come.
    fn words(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            match self.gap {
                Gap::None => {}
                Gap::Space => self.out.push(' '),
                Gap::Tab => self.out.push('\t'),
                Gap::Line => self.out.push('\n'),
            }
        }
        self.out.push_str(words);
        self.gap = Gap::Space;
    }
}

/// The text between white space that is not just a space between two words. Most text is so, and can be copied whole.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "a branch would be mispredicted at every other word"
)]
fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut after_space = true;
    let ends = move |char: char| {
        let is_space =
            (char == ' ') | matches!(char, '\t'..='\r') | (char > '\x7F' && char.is_whitespace());
        let ends = is_space & ((char != ' ') | after_space);
        after_space = is_space;
        ends
    };
    text.split(ends).map(|stretch| stretch.strip_suffix(' ').unwrap_or(stretch))
}

/// The text with every run of white space as one space, none at the ends.
pub(super) fn tidy(text: &str) -> String {
    let mut writer = Writer::default();
    writer.flow(text);
    writer.finish()
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
    fn the_greatest_gap_between_two_words_is_written() {
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
        assert_eq!(writer.finish(), "one two-half\nthree\tfour\nfive\nsix");
    }
}
