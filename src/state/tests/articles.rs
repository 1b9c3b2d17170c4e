//! Pages that are judged by their content, over a state.

use std::num::NonZeroU64;

use super::*;
use crate::{
    extract::Extractor,
    filter::{Step, WindowOptions},
    fingerprint::{HashSeed, Recipe},
    page::Page,
};

/// Representatives in the window.
const WINDOW: u64 = 20;

fn options() -> Options {
    let window =
        WindowOptions { entries: NonZeroU64::new(WINDOW).unwrap(), age: None, future: false };
    Options { window, ..Options::default() }
}

/// Words unlike those of other numbers.
fn words(number: u64, count: u64) -> String {
    let word = |place: u64| {
        let hash = (number * 1000 + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (0..6).map(|at| char::from(b'a' + (hash >> (4 * at) & 15) as u8)).collect::<String>()
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// A page of one of three sites: what the site repeats around an article, with a sentence of the page's own.
fn page(site: u64, path: u64, article: u64, own: u64) -> Page {
    let [above, beside] = [1, 2].map(|part| words(900 + 10 * site + part, 40));
    let body = format!(
        "<title>{}</title><div><p>{above}</div><main><article><h1>{}</h1><p>{}<p>{}</article></main><div><p>{beside}</div>",
        words(article, 3),
        words(article, 4),
        words(article, 80),
        words(500 + own, 6),
    );
    let url = format!("http://site{site}.test/{path}");
    Page { url: Some(url.parse().unwrap()), body: body.into_bytes(), ..Page::default() }
}

/// Pages of three sites: new ones, reprints on another site, versions of the same URL, equal ones, and copies under another path.
fn pages() -> Vec<Page> {
    let pages = (0..90_u64).map(|number| {
        let ago = match number % 8 {
            5 => 4,
            6 => 5,
            _ => 7,
        };
        let (site, earlier) = (number % 3, number.saturating_sub(ago));
        match number % 8 {
            3 => page(site, number, earlier, number),
            5 => page(earlier % 3, earlier, earlier, number),
            6 => page(earlier % 3, number, earlier, earlier),
            7 => page(earlier % 3, number, earlier, number),
            _ => page(site, number, number, number),
        }
    });
    pages.collect()
}

fn durable(state: State, options: &Options) -> DurableFilter {
    DurableFilter::of_filter(state, options, || HashSeed::PUBLIC, drop).unwrap()
}

#[test]
fn pages_are_judged_over_a_state_as_in_memory() {
    for every in [1, 7, 1000] {
        let mut free = Filter::of_recipe(&options(), Recipe::default()).unwrap();
        let mut filter = durable(State::in_memory().unwrap(), &options());
        let (extractor, mut steps) = (Extractor::default(), Vec::new());
        for (number, page) in (0..).zip(pages()) {
            if number % every == 0 {
                filter = durable(filter.into_state(), &options());
            }
            let (document, _) = free.documents().page(&extractor, &page);
            let document = document.with_time(Timestamp(number));
            let expected = free.judge(&document).unwrap();
            assert_eq!(
                filter.judge(&document).unwrap(),
                expected,
                "{number}, opened every {every}"
            );
            steps.push(expected.verdict.matched().map(|found| found.step));
        }
        let count = |step| steps.iter().filter(|it| **it == step).count();
        assert!(count(Some(Step::Near)) > 10, "{steps:?}");
        assert!(count(Some(Step::Body)) > 5 && count(None) > 40, "{steps:?}");
    }
}

#[test]
fn contents_leave_the_state_with_the_window() {
    let mut filter = durable(State::in_memory().unwrap(), &options());
    for page in pages() {
        let (document, _) = filter.documents().page(&Extractor::default(), &page);
        filter.judge(&document).unwrap();
    }
    let oldest = filter.engine.horizon().representative;
    let state = filter.into_state();
    for table in ["contents", "keys"] {
        let sql = format!("SELECT count(*), min(document) FROM {table}");
        let found: (i64, i64) =
            state.db.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(found, (WINDOW.cast_signed(), oldest.0.cast_signed()), "{table}");
    }
}
