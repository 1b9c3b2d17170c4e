//! What is printed: a row for each crawl.

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use pagesieve::crawl::Links;

use crate::{
    process::Outcome,
    run::{Crawled, Settings, crawl},
    world::World,
};

/// Which pages have the same text.
#[derive(Debug)]
pub(crate) struct Truth {
    text_of: HashMap<usize, usize>,
    /// The first URL of each text, if it is known.
    urls: Vec<String>,
    texts: usize,
}

impl Truth {
    /// Every page has a text of its own.
    pub(crate) fn each(pages: usize) -> Self {
        Self {
            text_of: (0..pages).map(|page| (page, page)).collect(),
            urls: Vec::new(),
            texts: pages,
        }
    }

    /// By the filter's verdicts on everything that links reach.
    pub(crate) fn of(world: &Arc<World>, seed: u64) -> Outcome<Self> {
        let settings = Settings {
            links: Links::Follow,
            flight: 1,
            seed,
            max_pages: 1_000_000,
            max_depth: Some(10_000),
            keep: None,
        };
        let crawled = crawl(world, &settings)?;
        let (mut text_of, mut texts, mut urls) = (HashMap::new(), HashMap::new(), Vec::new());
        for request in &crawled.requests {
            let (Some(page), Some(unique)) = (request.page, crawled.unique_of.get(&request.url))
            else {
                continue;
            };
            let number = texts.len();
            let text = *texts.entry(unique).or_insert(number);
            if text == number {
                urls.push(request.url.clone());
            }
            text_of.insert(page, text);
        }
        Ok(Self { texts: texts.len(), text_of, urls })
    }

    /// Writes the texts that were not found: the first URL of each, or the number of the page.
    pub(crate) fn write_lost(&self, crawled: &Crawled, path: &Path) -> Outcome<()> {
        let found = crawled.texts(|page| self.text_of.get(&page).copied());
        let lost = (0..self.texts).filter(|text| !found.contains(text));
        let name = |text: usize| self.urls.get(text).cloned().unwrap_or(text.to_string());
        Ok(fs::write(path, lost.map(|text| name(text) + "\n").collect::<String>())?)
    }
}

pub(crate) fn head() -> &'static str {
    "| world | policy | in flight | seed | requests | pages | judged unique | texts found | lost | share lost | requests beside | wasted pages a text | s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
}

/// What a crawl took, and what it found.
#[derive(Debug)]
pub(crate) struct Row {
    requests: usize,
    pages: usize,
    stored: u64,
    found: usize,
    texts: usize,
    seconds: f64,
}

impl Row {
    pub(crate) fn of(crawled: &Crawled, truth: &Truth) -> Self {
        Self {
            requests: crawled.requests.len(),
            pages: crawled.fetched(),
            stored: crawled.stored,
            found: crawled.texts(|page| truth.text_of.get(&page).copied()).len(),
            texts: truth.texts,
            seconds: crawled.seconds,
        }
    }

    /// Requests beside are those that did not find a text.
    pub(crate) fn show(&self, name: &str, policy: &str, flight: usize, seed: u64) -> String {
        let Self { requests, pages, stored, found, texts, seconds } = *self;
        let lost = texts - found;
        format!(
            "| {name} | {policy} | {flight} | {seed} | {requests} | {pages} | {stored} | {found} of {texts} | {lost} | {:.2} % | {} | {:.2} | {seconds:.1} |",
            percent(lost, texts),
            requests - found,
            self.waste(),
        )
    }

    /// Wasted pages a text.
    fn waste(&self) -> f64 {
        percent(self.pages - self.found, self.found.max(1)) / 100.0
    }
}

/// The median and the worst of several seeds, in each column for itself.
pub(crate) fn summary(rows: &[Row], policy: &str, flight: usize) -> String {
    let sorted = |of: &dyn Fn(&Row) -> usize| {
        let mut all: Vec<usize> = rows.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let (requests, pages) = (sorted(&|row| row.requests), sorted(&|row| row.pages));
    let (beside, lost) =
        (sorted(&|row| row.requests - row.found), sorted(&|row| row.texts - row.found));
    let line = |name: &str, at: usize| {
        format!(
            "| *{name}* | {policy} | {flight} | | {} | {} | | | {} | | {} | | |",
            requests[at], pages[at], lost[at], beside[at]
        )
    };
    line("median", rows.len() / 2) + "\n" + &line("worst", rows.len() - 1)
}

#[expect(clippy::cast_precision_loss, reason = "pages are few")]
fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of as f64
}
