//! Texts, and what is known of pairs of them.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    io::{self, BufRead},
};

use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

/// A text to be judged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Text {
    /// By what the pairs name it: a path, a URL or any other id.
    #[serde(alias = "path", alias = "url")]
    pub id: String,
    /// Its language, for whoever wants figures by language.
    pub lang: Option<String>,
    /// The text itself.
    #[serde(alias = "main_text")]
    pub text: String,
}

/// What is true of a pair that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unlisted {
    /// Its texts are different: the list holds every pair of a similarity of 0.3 or more.
    #[default]
    Different,
    /// Nobody knows; only listed pairs are judged.
    Unknown,
}

/// Why texts or pairs could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A line could not be read from its file.
    #[error("read line {line}")]
    Read {
        /// The line, from 1.
        line: usize,
        /// Why not.
        source: io::Error,
    },
    /// A line is none of the expected form.
    #[error("line {line} is no {expected}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// What it should be.
        expected: &'static str,
        /// Why it is not.
        source: serde_json::Error,
    },
    /// Two texts have one id.
    #[error("two texts have the id {0:?}")]
    Doubled(String),
    /// A pair names a text that is not there.
    #[error("line {line} names {id:?}, which is none of the texts")]
    Missing {
        /// The line, from 1.
        line: usize,
        /// The id.
        id: String,
    },
    /// A pair of a text with itself, or one whose similarity is not from 0 to 1 or differs from what an earlier line says.
    #[error("line {line}: {what}")]
    Pair {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// There are no texts where they were looked for.
    #[error("it holds no texts: each line is to be one, {TEXT}, as JSON")]
    NoTexts,
    /// There are fewer than two texts, or more than can be counted.
    #[error("there must be at least two texts and fewer than 2^32, not {0}")]
    Number(usize),
}

/// The form of a text.
const TEXT: &str = r#"{"id", "text"}"#;

/// Texts with the similarity of their pairs: the Jaccard coefficient of their sets of shingles, or what people say.
#[derive(Debug)]
pub struct Corpus {
    pub(super) texts: Vec<Text>,
    /// Characters of each text.
    pub(super) chars: Vec<u32>,
    /// The number of each text's language and of its site.
    pub(super) langs: Vec<usize>,
    pub(super) sites: Vec<usize>,
    pub(super) lang_names: Vec<String>,
    pub(super) unlisted: Unlisted,
    /// By the places of two texts, the smaller first.
    similarity: HashMap<(u32, u32), f32>,
    /// Of each text the earlier ones with which it is listed.
    earlier: Vec<Vec<(u32, f32)>>,
}

/// A line of the list of pairs; what else stands there does not matter.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "path_a", alias = "id_a", alias = "url_a")]
    a: String,
    #[serde(alias = "path_b", alias = "id_b", alias = "url_b")]
    b: String,
    jaccard: Option<f32>,
    label: Option<Label>,
}

/// What people say of a pair: stands for the least similarity of its band.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Label {
    Near,
    Related,
    Weak,
    Different,
}

impl Corpus {
    /// How many pairs are listed.
    #[must_use]
    pub fn listed(&self) -> usize {
        self.similarity.len()
    }

    /// Texts, and pairs of them as lines of JSON: `{"a", "b", "jaccard"}`, or `"label"`: `near` (0.9 or more), `related` (0.5),
    /// `weak` (0.3) or `different`, which does not count beside a `jaccard`. The fields of the ids may be named `path_a` and `path_b` as well.
    ///
    /// # Errors
    /// If a line cannot be read, or names a text that is not there.
    pub fn new(
        texts: Vec<Text>,
        pairs: impl BufRead,
        unlisted: Unlisted,
    ) -> Result<Self, CorpusError> {
        let places = places(&texts)?;
        let mut similarity = HashMap::new();
        let mut earlier = vec![Vec::new(); texts.len()];
        for (line, pair) in lines::<Line>(pairs, r#"{"a", "b", "jaccard"} of a pair"#) {
            let pair = pair?;
            let place = |id: &str| {
                let missing = || CorpusError::Missing { line, id: id.to_owned() };
                places.get(id).copied().ok_or_else(missing)
            };
            let (a, b) = (place(&pair.a)?, place(&pair.b)?);
            let neither = CorpusError::Pair { line, what: "it has neither `jaccard` nor `label`" };
            let value = pair.similarity().ok_or(neither)?;
            let (a, b) = (a.min(b), a.max(b));
            check(line, a, b, value)?;
            match similarity.entry((a, b)) {
                Entry::Vacant(vacant) => {
                    vacant.insert(value);
                    earlier[b as usize].push((a, value));
                }
                Entry::Occupied(occupied) if (occupied.get() - value).abs() > 1e-6 => {
                    let what = "the pair is listed before with another similarity";
                    return Err(CorpusError::Pair { line, what });
                }
                Entry::Occupied(_) => {}
            }
        }
        let (lang_names, langs) = numbered(
            texts.iter().map(|text| text.lang.clone().unwrap_or_else(|| "unknown".into())),
        );
        let (_, sites) = numbered(texts.iter().map(|text| site(&text.id)));
        let chars = texts.iter().map(|text| count(&text.text)).collect();
        Ok(Self { texts, chars, langs, sites, lang_names, unlisted, similarity, earlier })
    }

    /// The texts, in the order of the stream.
    #[must_use]
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// The similarity of the texts at these places; `None` if nobody knows it.
    #[must_use]
    pub fn similarity(&self, a: u32, b: u32) -> Option<f32> {
        let listed = self.similarity.get(&(a.min(b), a.max(b))).copied();
        listed.or((self.unlisted == Unlisted::Different).then_some(0.0))
    }

    /// Whether it is known what the texts at these places have in common.
    pub(super) fn known(&self, a: usize, b: usize) -> bool {
        let listed = || self.earlier[a.max(b)].iter().any(|&(other, _)| other as usize == a.min(b));
        self.unlisted == Unlisted::Different || listed()
    }

    /// Every pair whose similarity is known, by the places of its texts, the smaller first, and that similarity.
    pub(super) fn each_pair(&self, mut judge: impl FnMut(u32, u32, f32)) {
        if self.unlisted == Unlisted::Unknown {
            return self.similarity.iter().for_each(|(&(a, b), &value)| judge(a, b, value));
        }
        for (b, listed) in (0..).zip(&self.earlier) {
            let mut row = vec![0.0; b as usize];
            for &(a, value) in listed {
                row[a as usize] = value;
            }
            (0..).zip(row).for_each(|(a, value)| judge(a, b, value));
        }
    }

    /// The earlier texts with which the text at this place is listed, with their similarity.
    pub(super) fn earlier(&self, place: usize) -> &[(u32, f32)] {
        &self.earlier[place]
    }

    /// The listed pairs, in order of their texts.
    pub(super) fn listed_pairs(&self) -> Vec<(u32, u32, f32)> {
        let mut pairs: Vec<_> =
            self.similarity.iter().map(|(&(a, b), &value)| (a, b, value)).collect();
        pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        pairs
    }

    /// A name for the site of the text at this place.
    pub(super) fn site(&self, place: usize) -> String {
        self.sites[place].to_string()
    }
}

impl CorpusError {
    /// Whether it is the texts that are wrong, and not the list of pairs.
    #[must_use]
    pub fn is_of_texts(&self) -> bool {
        matches!(self, Self::Doubled(_) | Self::Number(_))
    }
}

impl Line {
    /// What was measured, or else what people say.
    fn similarity(&self) -> Option<f32> {
        self.jaccard.or_else(|| self.label.map(Label::similarity))
    }
}

impl Label {
    fn similarity(self) -> f32 {
        match self {
            Self::Near => 0.9,
            Self::Related => 0.5,
            Self::Weak => 0.3,
            Self::Different => 0.0,
        }
    }
}

/// Reads texts as lines of JSON: `{"id", "lang", "text"}`; the fields may be named `path` and `main_text` as well.
///
/// # Errors
/// If a line cannot be read, or there is none.
pub fn read_texts(texts: impl BufRead) -> Result<Vec<Text>, CorpusError> {
    let lines = lines(texts, r#"text {"id", "text"}"#);
    let texts: Vec<_> = lines.map(|(_, text)| text).collect::<Result<_, _>>()?;
    if texts.is_empty() { Err(CorpusError::NoTexts) } else { Ok(texts) }
}

fn lines<T: DeserializeOwned>(
    from: impl BufRead,
    expected: &'static str,
) -> impl Iterator<Item = (usize, Result<T, CorpusError>)> {
    let filled = |line: &(usize, io::Result<String>)| {
        !line.1.as_ref().is_ok_and(|text| text.trim().is_empty())
    };
    (1..).zip(from.lines()).filter(filled).map(move |(line, text)| {
        let parsed = text.map_err(|source| CorpusError::Read { line, source }).and_then(|text| {
            serde_json::from_str(&text).map_err(|source| CorpusError::Form {
                line,
                expected,
                source,
            })
        });
        (line, parsed)
    })
}

fn places(texts: &[Text]) -> Result<HashMap<String, u32>, CorpusError> {
    let number = u32::try_from(texts.len()).ok().filter(|&number| number > 1);
    let number = number.ok_or(CorpusError::Number(texts.len()))?;
    let mut places = HashMap::new();
    for (place, text) in (0..number).zip(texts) {
        if places.insert(text.id.clone(), place).is_some() {
            return Err(CorpusError::Doubled(text.id.clone()));
        }
    }
    Ok(places)
}

fn check(line: usize, a: u32, b: u32, value: f32) -> Result<(), CorpusError> {
    if a == b {
        return Err(CorpusError::Pair { line, what: "it pairs a text with itself" });
    }
    if !(0.0..=1.0).contains(&value) {
        return Err(CorpusError::Pair { line, what: "`jaccard` is not from 0 to 1" });
    }
    Ok(())
}

/// The host of a URL, or the first directory of a path.
fn site(id: &str) -> String {
    let host = Url::parse(id).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| id.split('/').next().unwrap_or_default().to_owned())
}

/// Distinct names in order, and the number of each item's.
fn numbered(items: impl Iterator<Item = String>) -> (Vec<String>, Vec<usize>) {
    let items: Vec<_> = items.collect();
    let mut numbers: BTreeMap<&str, usize> = items.iter().map(|item| (item.as_str(), 0)).collect();
    numbers.values_mut().enumerate().for_each(|(number, slot)| *slot = number);
    let of_items = items.iter().map(|item| numbers[item.as_str()]).collect();
    (numbers.into_keys().map(str::to_owned).collect(), of_items)
}

fn count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
