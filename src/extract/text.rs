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
        for_each_word(text, |word| {
            self.word(word);
            self.gap = Gap::Space;
        });
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

    fn word(&mut self, word: &str) {
        if !self.out.is_empty() {
            match self.gap {
                Gap::None => {}
                Gap::Space => self.out.push(' '),
                Gap::Tab => self.out.push('\t'),
                Gap::Line => self.out.push('\n'),
            }
        }
        self.out.push_str(word);
    }
}

/// As [`str::split_whitespace`] has them. ASCII, which most text is, need not be decoded to be split, but for its vertical tab.
fn for_each_word(text: &str, emit: impl FnMut(&str)) {
    if text.is_ascii() && !text.as_bytes().contains(&0x0B) {
        text.split_ascii_whitespace().for_each(emit);
    } else {
        text.split_whitespace().for_each(emit);
    }
}

/// The text with every run of white space as one space, none at the ends.
pub(super) fn tidy(text: &str) -> String {
    let mut writer = Writer::default();
    writer.flow(text);
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::{Gap, Writer};

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
