//! Texts, and the known similarity of pairs of them.

use std::{
    collections::{BTreeSet, HashMap},
    io::{self, BufRead},
};

use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use crate::page::Outline;

/// A text of a corpus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Text {
    /// The id that pairs name it by: a path, a URL or any other string.
    #[serde(alias = "path", alias = "url")]
    pub id: String,
    /// Its language, for figures by language.
    pub lang: Option<String>,
    /// The text itself.
    #[serde(alias = "main_text")]
    pub text: String,
}

/// What is known about a pair that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unlisted {
    /// Its texts are different: the list has every pair with a similarity of 0.3 or more.
    #[default]
    Different,
    /// Nothing: only listed pairs are judged.
    Unknown,
}

/// Why texts or pairs could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A line cannot be read.
    #[error("cannot read line {line}")]
    Read {
        /// The line, from 1.
        line: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A line does not have the expected form.
    #[error("line {line} is not a {expected}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// What was expected.
        expected: &'static str,
        /// Why it is not that.
        source: serde_json::Error,
    },
    /// Two texts have the same id.
    #[error("two texts have the id {0:?}")]
    Doubled(String),
    /// A pair names an unknown text.
    #[error("line {line} names {id:?}, but no text has this id")]
    Missing {
        /// The line, from 1.
        line: usize,
        /// The id.
        id: String,
    },
    /// A pair of a text with itself, or with a similarity that is missing, not from 0 to 1, or different from that of an earlier line.
    #[error("line {line}: {what}")]
    Pair {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The file has no texts.
    #[error("it has no texts: each line must be one, {TEXT}, as JSON")]
    NoTexts,
    /// There are fewer than two texts.
    #[error("there must be at least two texts, not {0}")]
    Number(usize),
}

/// The form of a text.
const TEXT: &str = r#"{"id", "text"}"#;

/// Texts with the similarity of their pairs: the Jaccard coefficient of their sets of shingles, or a label.
#[derive(Debug)]
pub struct Corpus {
    pub(super) texts: Vec<Text>,
    /// Characters of each text.
    pub(super) chars: Vec<u32>,
    /// The number of each text's language among the names.
    pub(super) langs: Vec<usize>,
    pub(super) lang_names: Vec<String>,
    /// The host name of each text, or the first directory of its path: the filter learns its template by it, and the report calls it a site.
    pub(super) hosts: Vec<String>,
    /// The outline of the page of each text; empty if they come from no pages.
    pub(super) outlines: Vec<Outline>,
    pub(super) unlisted: Unlisted,
    /// For each text the earlier texts with which it is listed, and the similarity.
    pub(super) earlier: Vec<Vec<(usize, f32)>>,
}

/// A line of the list of pairs; other fields are ignored.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "path_a", alias = "id_a", alias = "url_a")]
    a: String,
    #[serde(alias = "path_b", alias = "id_b", alias = "url_b")]
    b: String,
    jaccard: Option<f32>,
    label: Option<Label>,
}

/// A label that people gave to a pair: stands for the least similarity of its band.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Label {
    Near,
    Related,
    Weak,
    Different,
}

impl Corpus {
    /// The same texts as those of pages with these outlines, one for each text: the stream judges pages by their articles.
    ///
    /// # Panics
    /// If there are not as many outlines as texts.
    #[must_use]
    pub fn with_outlines(self, outlines: Vec<Outline>) -> Self {
        assert_eq!(outlines.len(), self.texts.len(), "each text is of a page");
        Self { outlines, ..self }
    }

    /// How many pairs are listed.
    #[must_use]
    pub fn listed(&self) -> usize {
        self.earlier.iter().map(Vec::len).sum()
    }

    /// Reads pairs of these texts as JSON lines: `{"a", "b", "jaccard"}`, or instead of `jaccard` a `"label"`: `near` (0.9 or more),
    /// `related` (0.5), `weak` (0.3) or `different`. If a line has both, `jaccard` counts. The ids may also be named `path_a` and `path_b`.
    ///
    /// # Errors
    /// If a line cannot be read, or names an unknown text.
    pub fn new(
        texts: Vec<Text>,
        pairs: impl BufRead,
        unlisted: Unlisted,
    ) -> Result<Self, CorpusError> {
        let places = places(&texts)?;
        let mut earlier = vec![Vec::new(); texts.len()];
        for (line, pair) in lines::<Line>(pairs, r#"pair {"a", "b", "jaccard"}"#) {
            let pair = pair?;
            let place = |id: &str| {
                let missing = || CorpusError::Missing { line, id: id.to_owned() };
                places.get(id).copied().ok_or_else(missing)
            };
            let (a, b) = (place(&pair.a)?, place(&pair.b)?);
            let neither = CorpusError::Pair { line, what: "`jaccard` or `label` is missing" };
            let value = pair.similarity().ok_or(neither)?;
            let (a, b) = (a.min(b), a.max(b));
            let listed = find(&earlier[b], a);
            let wrong = match listed {
                _ if a == b => "a pair needs two different texts",
                _ if !(0.0..=1.0).contains(&value) => "`jaccard` is not from 0 to 1",
                Some(other) if (other - value).abs() > 1e-6 => {
                    "an earlier line has the same pair with another similarity"
                }
                Some(_) => continue,
                None => {
                    earlier[b].push((a, value));
                    continue;
                }
            };
            return Err(CorpusError::Pair { line, what: wrong });
        }
        let lang = |text: &Text| text.lang.clone().unwrap_or_else(|| "unknown".to_owned());
        let names: BTreeSet<_> = texts.iter().map(lang).collect();
        let number = |text| names.iter().position(|name| *name == lang(text)).unwrap_or_default();
        let chars = |text: &Text| u32::try_from(text.text.chars().count()).unwrap_or(u32::MAX);
        Ok(Self {
            chars: texts.iter().map(chars).collect(),
            langs: texts.iter().map(number).collect(),
            hosts: texts.iter().map(|text| host(&text.id)).collect(),
            outlines: Vec::new(),
            lang_names: names.into_iter().collect(),
            texts,
            unlisted,
            earlier,
        })
    }

    /// The texts, in the order of the stream.
    #[must_use]
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Whether the similarity of the texts at these places is known.
    pub(super) fn is_known(&self, earlier: usize, later: usize) -> bool {
        self.unlisted == Unlisted::Different || find(&self.earlier[later], earlier).is_some()
    }

    /// Calls `judge` with every pair of known similarity: the places of its texts, the smaller first, and the similarity.
    pub(super) fn each_pair(&self, mut judge: impl FnMut(usize, usize, f32)) {
        for (b, listed) in self.earlier.iter().enumerate() {
            if self.unlisted == Unlisted::Unknown {
                for &(a, value) in listed {
                    judge(a, b, value);
                }
                continue;
            }
            let mut row = vec![0.0; b];
            for &(a, value) in listed {
                row[a] = value;
            }
            row.into_iter().enumerate().for_each(|(a, value)| judge(a, b, value));
        }
    }
}

impl Line {
    /// The measured similarity, or else that of the label.
    fn similarity(&self) -> Option<f32> {
        let of_label = |label| match label {
            Label::Near => 0.9,
            Label::Related => 0.5,
            Label::Weak => 0.3,
            Label::Different => 0.0,
        };
        self.jaccard.or_else(|| self.label.map(of_label))
    }
}

/// Reads texts as JSON lines: `{"id", "lang", "text"}`. The fields may also be named `path` and `main_text`.
///
/// # Errors
/// If a line cannot be read, or there are no lines.
pub fn read_texts(texts: impl BufRead) -> Result<Vec<Text>, CorpusError> {
    let lines = lines(texts, r#"text {"id", "text"}"#);
    let texts: Vec<_> = lines.map(|(_, text)| text).collect::<Result<_, _>>()?;
    if texts.is_empty() { Err(CorpusError::NoTexts) } else { Ok(texts) }
}

fn lines<T: DeserializeOwned>(
    from: impl BufRead,
    expected: &'static str,
) -> impl Iterator<Item = (usize, Result<T, CorpusError>)> {
    let is_filled = |text: &io::Result<String>| !text.as_ref().is_ok_and(|it| it.trim().is_empty());
    let lines = (1..).zip(from.lines()).filter(move |(_, text)| is_filled(text));
    lines.map(move |(line, text)| {
        let form = |source| CorpusError::Form { line, expected, source };
        let text = text.map_err(|source| CorpusError::Read { line, source });
        (line, text.and_then(|text| serde_json::from_str(&text).map_err(form)))
    })
}

fn places(texts: &[Text]) -> Result<HashMap<&str, usize>, CorpusError> {
    if texts.len() < 2 {
        return Err(CorpusError::Number(texts.len()));
    }
    let mut places = HashMap::new();
    for (place, text) in texts.iter().enumerate() {
        if places.insert(text.id.as_str(), place).is_some() {
            return Err(CorpusError::Doubled(text.id.clone()));
        }
    }
    Ok(places)
}

/// The host of a URL, or the first directory of a path.
fn host(id: &str) -> String {
    let host = Url::parse(id).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| id.split('/').next().unwrap_or_default().to_owned())
}

fn find(listed: &[(usize, f32)], place: usize) -> Option<f32> {
    listed.iter().find(|(other, _)| *other == place).map(|(_, value)| *value)
}
