//! What is printed: a row for each crawl.

use std::{collections::HashMap, sync::Arc};

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
    texts: usize,
}

impl Truth {
    /// Every page has a text of its own.
    pub(crate) fn each(pages: usize) -> Self {
        Self { text_of: (0..pages).map(|page| (page, page)).collect(), texts: pages }
    }

    /// By the filter's verdicts on everything that links reach.
    pub(crate) fn of(world: &Arc<World>) -> Outcome<Self> {
        let settings = Settings {
            links: Links::Follow,
            flight: 1,
            max_pages: 1_000_000,
            max_depth: Some(10_000),
            keep: None,
        };
        let crawled = crawl(world, &settings)?;
        let (mut text_of, mut texts) = (HashMap::new(), HashMap::new());
        for request in &crawled.requests {
            let (Some(page), Some(unique)) = (request.page, crawled.unique_of.get(&request.url))
            else {
                continue;
            };
            let number = texts.len();
            text_of.insert(page, *texts.entry(unique).or_insert(number));
        }
        Ok(Self { texts: texts.len(), text_of })
    }
}

pub(crate) fn head() -> &'static str {
    "| world | policy | in flight | requests | pages | judged unique | texts found | lost | share lost | requests beside | wasted pages a text | s |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
}

/// Requests beside are those that did not find a text.
pub(crate) fn row(
    name: &str,
    policy: &str,
    flight: usize,
    crawled: &Crawled,
    truth: &Truth,
) -> String {
    let texts = crawled.texts(|page| truth.text_of.get(&page).copied());
    let (found, requests, pages) = (texts.len(), crawled.requests.len(), crawled.fetched());
    let lost = truth.texts - found;
    format!(
        "| {name} | {policy} | {flight} | {requests} | {pages} | {} | {found} of {} | {lost} | {:.2} % | {} | {:.2} | {:.1} |",
        crawled.stored,
        truth.texts,
        percent(lost, truth.texts),
        requests - found,
        percent(pages - found, found.max(1)) / 100.0,
        crawled.seconds,
    )
}

#[expect(clippy::cast_precision_loss, reason = "pages are few")]
fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of as f64
}
