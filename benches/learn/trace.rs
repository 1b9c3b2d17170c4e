//! Traces: what everything followed of a site gave, without its texts.
//!
//! A file is a list of traces in postcard, compressed with zstd. URLs, texts and passages are numbered in the order in which they were met, and most numbers are differences
//! to the one before.

use std::{collections::HashMap, fs, rc::Rc};

use serde::{Deserialize, Serialize};

use crate::{
    play::{Got, Shown, Source},
    process::Outcome,
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/learn/traces.zst");

/// A crawl that followed everything, up to a limit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Trace {
    pub(crate) name: String,
    /// How many texts can be found.
    pub(crate) texts: u32,
    seeds: Vec<u32>,
    /// All URLs, in the order in which they were met.
    urls: Vec<String>,
    answers: Vec<(u32, Answer)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Answer {
    Page(Page),
    Unindexed(Vec<i32>),
    File,
    Dead,
    Redirect(Option<u32>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Page {
    group: u32,
    exact: u32,
    /// Passages that follow each other: the difference to the one after those before, and how many.
    passages: Vec<(i32, u32)>,
    links: Vec<i32>,
    canonical: Option<u32>,
    found: (u32, u32),
}

fn unpacked(differences: &[i32]) -> impl Iterator<Item = u32> {
    differences.iter().scan(0_u32, |next, it| {
        let number = next.wrapping_add_signed(*it);
        *next = number + 1;
        Some(number)
    })
}

fn passages(runs: &[(i32, u32)]) -> Vec<u32> {
    let mut next = 0_u32;
    let mut all = Vec::new();
    for (difference, count) in runs {
        let start = next.wrapping_add_signed(*difference);
        next = start + count;
        all.extend(start..next);
    }
    all
}

/// The traces of a part.
pub(crate) fn read(part: &str) -> Outcome<Vec<Trace>> {
    let packed = fs::read(FILE).map_err(|error| format!("{FILE}: {error}"))?;
    let parts: Vec<(String, Vec<Trace>)> = postcard::from_bytes(&zstd::decode_all(&*packed)?)?;
    Ok(parts.into_iter().find(|it| it.0 == part).ok_or("no such part")?.1)
}

/// A trace as a source: what was not recorded asks not to be indexed, and has no links.
#[derive(Debug)]
pub(crate) struct Replay {
    seeds: Vec<Rc<str>>,
    answers: HashMap<Rc<str>, Got>,
}

impl Replay {
    pub(crate) fn of(trace: &Trace) -> Self {
        let urls: Vec<Rc<str>> = trace.urls.iter().map(|url| url.as_str().into()).collect();
        let url = |number: u32| Rc::clone(&urls[number as usize]);
        let links = |packed: &[i32]| unpacked(packed).map(url).collect::<Vec<_>>();
        let got = |answer: &Answer| match answer {
            Answer::Page(page) => Got::Page(Rc::new(Shown {
                group: page.group,
                exact: page.exact,
                passages: passages(&page.passages),
                links: links(&page.links),
                canonical: page.canonical.map(url),
                found: page.found.0..page.found.0 + page.found.1,
            })),
            Answer::Unindexed(packed) => Got::Unindexed(links(packed)),
            Answer::File => Got::File,
            Answer::Dead => Got::Dead,
            Answer::Redirect(to) => Got::Redirect(to.map(url)),
        };
        Self {
            seeds: trace.seeds.iter().map(|it| url(*it)).collect(),
            answers: trace.answers.iter().map(|(of, answer)| (url(*of), got(answer))).collect(),
        }
    }

    /// The pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter(|it| matches!(it.1, Got::Page(_))).map(|it| &**it.0)
    }

    /// What is at a URL, if it was recorded.
    pub(crate) fn get(&self, url: &str) -> Option<Got> {
        self.answers.get(url).cloned()
    }
}

impl Source for Replay {
    fn seeds(&self) -> Vec<Rc<str>> {
        self.seeds.clone()
    }

    fn fetch(&mut self, url: &Rc<str>) -> Got {
        self.answers.get(url).cloned().unwrap_or(Got::Unindexed(Vec::new()))
    }
}
