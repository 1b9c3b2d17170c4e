//! The patterns of a URL: what its pages yield is counted for all that have one shape.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    numbers::MANY_CONTEXTS,
    parts::{Part, Parts, TextKind, hash, text_kind},
    rule::number_of,
};

/// How much the URLs of a pattern have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The shape, the first segment and the names of parameters.
    Own,
    /// All that differs in host and parameters only.
    View,
    /// The shape alone, or the first segment alone. Known texts count only if they are the answer to very many URLs, or the URL has parameters.
    Wide,
    /// All URLs of a host. Only known texts that are the answer to very many URLs count.
    Host,
}

/// A pattern of URLs.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) number: u32,
    pub(super) text: String,
    pub(super) level: Level,
}

impl Pattern {
    fn new(text: String, level: Level) -> Self {
        Self { number: pattern_id(&text, level == Level::Own), text, level }
    }
}

/// The number of a pattern.
pub(super) fn pattern_id(text: &str, is_own: bool) -> u32 {
    number_of(&[6, hash(text, 0), u64::from(is_own)])
}

/// Words of the URLs of a site, each with a set of what it was seen with. One that was seen with much says of which kind a page is, as `action=history`, `/diff/` or
/// `thread-17.html`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Words<const MAX: usize>(VecDeque<(u64, u64)>);

impl<const MAX: usize> Words<MAX> {
    /// The patterns of a URL of this host, its own first.
    pub(super) fn patterns(&self, parts: &Parts<'_>, host: &str, is_view: bool) -> Vec<Pattern> {
        let kinds = kinds(parts, |part| self.kind(part));
        let mut all = vec![Pattern::new(format!("{host}{}", parts.shape(&kinds)), Level::Own)];
        if is_view && let Some(view) = parts.view(&kinds) {
            all.push(Pattern::new(view, Level::View));
            // Facets have many words, each of which would have to end: pages of one kind have parameters of the same names, too.
            if !kinds.is_empty()
                && let Some(names) = parts.shape(&[]).split_once('?')
            {
                let view = parts.view(&[]).unwrap_or_default().replace('…', names.1);
                all.push(Pattern::new(view, Level::View));
            }
        }
        all.push(Pattern::new(format!("{host}{}", parts.wide_shape()), Level::Wide));
        if let [first, next, ..] = parts.segments()
            && !next.value.is_empty()
            && text_kind(first.value) == TextKind::Word
        {
            all.push(Pattern::new(format!("{host}/{}/…", first.value), Level::Wide));
        }
        all.push(Pattern::new(format!("{host}/…"), Level::Host));
        all
    }

    /// The word of a part that says of which kind the page is, if there is one.
    fn kind<'a>(&self, part: &Part<'a>) -> Option<&'a str> {
        let (word, _) = part.word(0)?;
        let number = number(word, part);
        let seen = self.0.iter().find(|it| it.0 == number)?.1;
        (seen.count_ones() >= MANY_CONTEXTS).then_some(word)
    }

    /// Remembers with what the words of a URL were seen. Returns whether that is new.
    pub(super) fn add(&mut self, parts: &Parts<'_>) -> bool {
        let mut is_new = false;
        kinds(parts, |part| {
            let (word, with) = part.word(parts.key.wrapping_sub(part.hash))?;
            let (number, bit) = (number(word, part), 1 << (with >> 58));
            if let Some(known) = self.0.iter_mut().find(|it| it.0 == number) {
                is_new |= known.1 & bit == 0;
                known.1 |= bit;
            } else {
                if self.0.len() >= MAX {
                    // Of those that are no kinds, the oldest makes room.
                    let oldest = self.0.iter().position(|it| it.1.count_ones() < MANY_CONTEXTS)?;
                    self.0.remove(oldest);
                }
                self.0.push_back((number, bit));
                is_new = true;
            }
            self.kind(part)
        });
        is_new
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        self.0.capacity() * 16
    }
}

fn number(word: &str, part: &Part<'_>) -> u64 {
    hash(word, hash(part.name, 21))
}

/// The words that say of which kind a page is: of its parameters, the last segment and the others, of each the last one.
fn kinds<'a>(
    parts: &Parts<'a>,
    mut kind: impl FnMut(&Part<'a>) -> Option<&'a str>,
) -> Vec<&'a str> {
    let (last, others) = parts.segments().split_last().unzip();
    let found = [
        parts.parameters().rev().find_map(&mut kind),
        last.and_then(&mut kind),
        others.unwrap_or_default().iter().rev().find_map(&mut kind),
    ];
    found.into_iter().flatten().collect()
}
