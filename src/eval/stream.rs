//! A corpus as a stream: every text judged by the filter in order, as in a crawl.

use serde::Serialize;

use super::{corpus::Corpus, tally::ratio};
use crate::{
    filter::{Blocks, Document, Filter, Key, MemoryDigests, Options, Share},
    fingerprint::Sketch,
    index::BlockIndex,
    page::{DocId, Timestamp},
};

/// What became of the texts of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounts {
    /// Texts judged.
    pub texts: u64,
    /// Those that were dropped.
    pub dropped: u64,
    /// Those of which an earlier text that was kept is a near duplicate (0.9 or more): they should be dropped.
    pub repeated: u64,
    /// How many of these were dropped.
    pub caught: u64,
    /// Those that were dropped although no earlier text that was kept has as much as half in common with them. Where nobody knows what
    /// unlisted pairs have in common: those that were dropped for a text that is known to have less.
    pub wrong: u64,
}

impl StreamCounts {
    /// The share of the texts that should be dropped and were; `None` if there are none.
    #[must_use]
    pub fn caught_share(&self) -> Option<f64> {
        ratio(self.caught, self.repeated)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.dropped += other.dropped;
        self.repeated += other.repeated;
        self.caught += other.caught;
        self.wrong += other.wrong;
    }
}

/// Judges the texts in order, by their sketches. The counts are those of all texts, then of each language. Of each text also the share
/// that the template of its site was of it, as far as it was known when the text came.
pub(super) fn stream(
    corpus: &Corpus,
    options: &Options,
    sketches: &[Sketch],
) -> (Vec<StreamCounts>, Vec<Share>) {
    let index = BlockIndex::new(options.radius(), sketches.len() as u64, u64::MAX);
    let index = index.expect("no layout is too large for all memory");
    let mut filter = Filter::with(options, index, MemoryDigests::default());
    let mut counts = vec![StreamCounts::default(); corpus.lang_names.len() + 1];
    let mut kept = vec![false; sketches.len()];
    let mut templates = Vec::with_capacity(sketches.len());
    for (place, sketch) in sketches.iter().enumerate() {
        let subject = subject(corpus, place, sketch);
        templates.push(filter.template(&subject));
        let Ok(judgement) = filter.judge(&subject);
        kept[place] = judgement.verdict.is_unique();
        let of = judgement.verdict.matched().map(|found| place_of(found.of));
        let outcome = outcome(corpus, &kept, place, of);
        counts[0].add(&outcome);
        counts[corpus.langs[place] + 1].add(&outcome);
    }
    (counts, templates)
}

fn subject(corpus: &Corpus, place: usize, sketch: &Sketch) -> Document {
    Document {
        key: Key(place as u64),
        body: None,
        sketch: sketch.clone(),
        chars: corpus.chars[place],
        lang: None,
        at: Timestamp(0),
        blocks: Some(Blocks::of(corpus.site(place), &corpus.texts[place].text)),
    }
}

/// Documents are numbered from 1.
fn place_of(id: DocId) -> usize {
    usize::try_from(id.0 - 1).expect("the number of a text in memory")
}

fn outcome(corpus: &Corpus, kept: &[bool], place: usize, of: Option<usize>) -> StreamCounts {
    let earlier = || corpus.earlier(place).iter().filter(|(other, _)| kept[*other as usize]);
    let repeated = earlier().any(|&(_, similarity)| similarity >= 0.9);
    let justified = earlier().any(|&(_, similarity)| similarity >= 0.5);
    let wrong = of.is_some_and(|of| !justified && corpus.known(of, place));
    StreamCounts {
        texts: 1,
        dropped: u64::from(of.is_some()),
        repeated: u64::from(repeated),
        caught: u64::from(repeated && of.is_some()),
        wrong: u64::from(wrong),
    }
}
