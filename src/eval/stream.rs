//! Judges the texts of a corpus as a stream: in order, with the filter, as in a crawl.

use serde::Serialize;

use super::{corpus::Corpus, pairs::ratio};
use crate::{
    filter::{Blocks, Document, Filter, Key, MemoryDigests, Options, Share},
    fingerprint::Sketch,
    index::BlockIndex,
    page::{DocId, Timestamp},
};

/// How many texts of a stream had which outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounts {
    /// Texts judged.
    pub texts: u64,
    /// Texts that were dropped.
    pub dropped: u64,
    /// Texts that should be dropped: an earlier text that was kept has a similarity of 0.9 or more.
    pub repeated: u64,
    /// Texts that should be dropped and were.
    pub caught: u64,
    /// Texts that were dropped although no earlier text that was kept has a similarity of 0.5 or more. If unlisted pairs are unknown:
    /// texts that were dropped because of a text that is known to be less similar.
    pub wrong: u64,
}

impl StreamCounts {
    /// The share of the texts to drop that were dropped; `None` if there are none.
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

/// Judges the texts in order. Returns the counts of all texts, then of each language, and for each text the share of it that was known
/// to be template when it came.
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
