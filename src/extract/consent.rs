//! Recognises boxes that ask for consent to cookies, by what they say.

use std::{iter, sync::LazyLock};

use super::{
    blocks::{Block, Kind, Landmark},
    measure::Sum,
    text::Writer,
};

/// The longest text that asks for consent.
const LONGEST: usize = 2000;

static CONSENT: LazyLock<Phrases> = LazyLock::new(|| Phrases::parse(include_str!("consent.txt")));

/// Marks boxes that ask for consent to cookies. They stand outside of the article, and hold nothing else.
pub(super) fn mark_consent(blocks: &mut [Block], writer: &Writer, sums: &[Sum]) {
    if !CONSENT.are_named_in(writer.all()) {
        return;
    }
    for index in 0..writer.segments.len() {
        if !CONSENT.are_in(writer.text_of(index)) {
            continue;
        }
        let mut outermost = 0;
        let mut block = writer.segments[index].block;
        while block > 0
            && sums[block].bytes <= LONGEST
            && sums[block].bytes * 2 <= sums[0].bytes.max(LONGEST)
            && sums[block].titles == 0
        {
            outermost = block;
            block = blocks[block].parent;
        }
        let is_box = blocks[outermost].kind == Kind::Container && !is_in_article(blocks, outermost);
        if outermost > 0 && is_box && sums[outermost].bytes < sums[0].bytes {
            blocks[outermost].is_consent = true;
        }
    }
}

fn is_in_article(blocks: &[Block], block: usize) -> bool {
    iter::successors(Some(block), |&block| (block > 0).then(|| blocks[block].parent)).any(|block| {
        blocks[block].is_body
            || matches!(blocks[block].landmark, Landmark::Article | Landmark::Main)
    })
}

/// The phrases of `consent.txt`.
#[derive(Debug, Default)]
struct Phrases {
    names: Vec<&'static str>,
    phrases: Vec<&'static str>,
}

impl Phrases {
    fn parse(file: &'static str) -> Self {
        let (mut all, mut is_name) = (Self::default(), false);
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line {
                "[name]" => is_name = true,
                "[phrase]" => is_name = false,
                _ if is_name => all.names.push(line),
                _ => all.phrases.push(line),
            }
        }
        all
    }

    /// Whether a text has one of the names.
    fn are_named_in(&self, text: &str) -> bool {
        self.names.iter().any(|name| text.contains(name))
    }

    /// Whether a line asks for consent.
    fn are_in(&self, line: &str) -> bool {
        self.are_named_in(line) && {
            let lower = line.to_lowercase();
            self.phrases.iter().any(|phrase| lower.contains(phrase))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CONSENT;

    #[test]
    fn lines_that_ask_for_consent_are_recognised() {
        for line in ["We use cookies.", "ACCEPT ALL COOKIES", "当サイトではクッキーを使用します"]
        {
            assert!(CONSENT.are_in(line), "{line}");
        }
        for line in ["We and our partners grow tea.", "A cookie is a text file.", ""] {
            assert!(!CONSENT.are_in(line), "{line}");
        }
    }
}
