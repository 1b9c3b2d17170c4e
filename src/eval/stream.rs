//! Judges the texts of a corpus as a stream: in order, with the filter, as in a crawl. Those of pages are judged by their articles.

use std::num::NonZeroU64;

use bytesize::ByteSize;
use serde::Serialize;

use super::{corpus::Corpus, pairs::ratio};
use crate::{
    filter::{Filter, Options, Share, WindowOptions},
    fingerprint::Sketch,
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
    let entries = NonZeroU64::new(sketches.len() as u64).unwrap_or(NonZeroU64::MIN);
    let window = WindowOptions { entries, age: None };
    let options = Options { window, memory: ByteSize(u64::MAX), ..options.clone() };
    let mut filter = Filter::new(&options).expect("no layout is too large for all memory");
    let documents = filter.documents();
    let mut counts = vec![StreamCounts::default(); corpus.lang_names.len() + 1];
    let mut kept = vec![false; sketches.len()];
    let mut templates = Vec::with_capacity(sketches.len());
    for (place, sketch) in sketches.iter().enumerate() {
        let (id, host, text) =
            (place.to_string(), &*corpus.hosts[place], &*corpus.texts[place].text);
        let document = match corpus.outlines.get(place) {
            Some(outline) => {
                let page = documents.outlined(&id, Some(host), text, outline);
                page.with_text_sketch(sketch.clone()).with_time(Timestamp(0))
            }
            None => documents
                .sketched(&id, sketch.clone(), corpus.chars[place])
                .with_text_from(host, text),
        };
        templates.push(filter.template(&document));
        let judgement = filter.judge(&document);
        kept[place] = judgement.verdict.is_unique();
        // Documents are numbered from 1.
        let place_of = |id: DocId| usize::try_from(id.0 - 1).expect("a text in memory");
        let of = judgement.verdict.matched().map(|found| place_of(found.of));
        let outcome = outcome(corpus, &kept, place, of);
        counts[0].add(&outcome);
        counts[corpus.langs[place] + 1].add(&outcome);
    }
    (counts, templates)
}

fn outcome(corpus: &Corpus, kept: &[bool], place: usize, of: Option<usize>) -> StreamCounts {
    let earlier = || corpus.earlier[place].iter().filter(|(other, _)| kept[*other]);
    let repeated = earlier().any(|&(_, similarity)| similarity >= 0.9);
    let justified = earlier().any(|&(_, similarity)| similarity >= 0.5);
    let wrong = of.is_some_and(|of| !justified && corpus.is_known(of, place));
    StreamCounts {
        texts: 1,
        dropped: u64::from(of.is_some()),
        repeated: u64::from(repeated),
        caught: u64::from(repeated && of.is_some()),
        wrong: u64::from(wrong),
    }
}
