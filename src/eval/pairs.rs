//! All pairs of a corpus, judged and counted by group.

use serde::Serialize;

use super::{
    corpus::Corpus,
    tally::{Counts, Tally, band},
};

/// What pairs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// All pairs.
    All,
    /// The language of both texts, or that they have two.
    Language,
    /// Characters of the shorter text.
    Length,
    /// Whether both are of one site: of one host, if they are named by URLs, or else of one first directory.
    Site,
}

/// Some of the pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// What they have in common.
    pub by: Axis,
    /// Its value.
    pub name: String,
}

/// Where bands of length begin, in characters.
const LENGTHS: [(u32, &str); 5] = [
    (0, "under 100"),
    (100, "100 to 300"),
    (300, "300 to 1,000"),
    (1_000, "1,000 to 10,000"),
    (10_000, "10,000 or more"),
];

/// Judges every pair. `found` says of two texts, by their places, at which radius they are reported, if at all.
pub(super) fn tallies(
    corpus: &Corpus,
    found: impl Fn(u32, u32) -> Option<u32>,
) -> Vec<(Group, Tally)> {
    let languages = corpus.lang_names.len();
    let mut all = Tally::new();
    let mut by_language = vec![Tally::new(); languages + 1];
    let mut by_length = vec![Tally::new(); LENGTHS.len()];
    let mut by_site = vec![Tally::new(); 2];
    corpus.each_pair(|a, b, similarity| {
        let (x, y) = (a as usize, b as usize);
        let equal = similarity >= 0.9 && corpus.texts[x].text == corpus.texts[y].text;
        let (band, found) = (band(similarity, equal), found(a, b));
        let language = if corpus.langs[x] == corpus.langs[y] { corpus.langs[x] } else { languages };
        let shorter = corpus.chars[x].min(corpus.chars[y]);
        let length = LENGTHS.iter().rposition(|(from, _)| shorter >= *from).unwrap_or(0);
        let site = usize::from(corpus.sites[x] != corpus.sites[y]);
        for tally in
            [&mut all, &mut by_language[language], &mut by_length[length], &mut by_site[site]]
        {
            tally.count(band, found);
        }
    });
    let languages = corpus.lang_names.iter().map(String::as_str).chain(["two languages"]);
    let named = [(Axis::All, "all", all)]
        .into_iter()
        .chain(languages.zip(by_language).map(|(name, tally)| (Axis::Language, name, tally)))
        .chain(
            LENGTHS
                .into_iter()
                .zip(by_length)
                .map(|((_, name), tally)| (Axis::Length, name, tally)),
        )
        .chain(
            ["same site", "different sites"]
                .into_iter()
                .zip(by_site)
                .map(|(name, tally)| (Axis::Site, name, tally)),
        );
    named.map(|(by, name, tally)| (Group { by, name: name.to_owned() }, tally)).collect()
}

/// Judges every pair of a corpus by a rule of one's own. `alike` says of two texts, by their places, whether they are near duplicates.
///
/// ```
/// use pagesieve::eval::{Corpus, Text, Unlisted, count_pairs};
///
/// let text = |id: &str, text: &str| Text { id: id.into(), lang: None, text: text.into() };
/// let texts = vec![text("a", "ebb"), text("b", "ebbs"), text("c", "flow")];
/// let pairs = br#"{"a": "a", "b": "b", "jaccard": 0.9}"#;
/// let corpus = Corpus::new(texts, &pairs[..], Unlisted::Different)?;
/// let counts = count_pairs(&corpus, |a, b| corpus.texts()[a].text[..1] == corpus.texts()[b].text[..1]);
/// assert_eq!((counts.recall(), counts.wrong()), (Some(1.0), 0));
/// # Ok::<(), pagesieve::eval::CorpusError>(())
/// ```
pub fn count_pairs(corpus: &Corpus, alike: impl Fn(usize, usize) -> bool) -> Counts {
    let mut tally = Tally::new();
    corpus.each_pair(|a, b, similarity| {
        let (a, b) = (a as usize, b as usize);
        let equal = similarity >= 0.9 && corpus.texts[a].text == corpus.texts[b].text;
        tally.count(band(similarity, equal), alike(a, b).then_some(0));
    });
    tally.at(0)
}
