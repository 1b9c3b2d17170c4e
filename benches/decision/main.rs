//! What the decision costs beside the work without which there is nothing to decide on.
//!
//! `cargo bench --bench decision` fetches the pages of the development data (beside the checkout, or in `PAGESIEVE_DATA`) from a
//! process that serves them on loopback, reads and judges them, all in one thread, and prints the CPU time of the decision by that of
//! all before it. Before it: asking for the page and receiving it (HTTP client and system calls; the server is not counted), decoding,
//! parsing, body text, links, language. The decision: digest of the body, sketch, what is kept of the article, look-up of both digests,
//! of the fingerprint and of the article's passages in their indexes, comparison with what they find, and insertion, in a window that is
//! full of a million other documents. It is also made without the comparison of articles.
//!
//! `cargo bench --bench decision -- pages.jsonl` does so for the pages of a file, which are not fetched: lines with `url` and `html`.
//!
//! `cargo bench --bench decision -- --bytes` prints what such a window takes in memory.
#![allow(clippy::cast_precision_loss, reason = "pages are few")]

mod bytes;
mod pages;
#[path = "../measure/process.rs"]
mod process;
#[path = "../measure/serve.rs"]
mod serve;
#[path = "../measure/turns.rs"]
mod turns;
mod window;

use std::{env, ffi::OsStr, hint::black_box};

use pagesieve::{
    Digest, Filter,
    extract::{Extracted, Extractor},
    fingerprint::Segment,
    page::{Origin, Page, Timestamp},
};
use tokio::{net::TcpListener, runtime::Builder};

use pages::Pages;
use process::{Outcome, Process, say};
use serve::Reply;
use turns::{Spread, Target, cpu, ratio};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAYS: [Way<'static>; 4] = [
    Way { name: "English", language: "en", segment: Segment::Jieba, most: Some(0.20) },
    Way {
        name: "Chinese by characters",
        language: "zh",
        segment: Segment::Ngrams,
        most: Some(0.25),
    },
    Way { name: "Chinese by jieba", language: "zh", segment: Segment::Jieba, most: Some(0.60) },
    Way { name: "Japanese by jieba", language: "ja", segment: Segment::Jieba, most: None },
];

/// How much longer than without comparison of articles the decision may take.
const MOST_TIMES_WITHOUT: f64 = 1.5;

/// Pages of a language, a way to cut them, and what part of the work before it the decision may take.
struct Way<'a> {
    name: &'a str,
    language: &'static str,
    segment: Segment,
    most: Option<f64>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|it| it == "--bytes") {
        return bytes::print(1_000_000);
    }
    let Some(pages) = Pages::load()? else {
        return say("SKIPPED: the development data is absent (see PAGESIEVE_DATA)");
    };
    if arguments == ["serve"] {
        let serve = async move {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            say(&listener.local_addr()?.to_string())?;
            let reply =
                move |_: &str, path: &str| pages.body(path).map_or(Reply::Missing, Reply::Page);
            serve::serve(listener, reply).await
        };
        return Builder::new_current_thread().enable_all().build()?.block_on(serve);
    }
    // Without it this is a test of the bench, not a measurement.
    let (entries, rounds) =
        if arguments.iter().any(|it| it == "--bench") { (1_000_000, 9) } else { (1_000, 1) };
    say(&format!(
        "{entries} documents in the window; CPU time of one thread, medians of {rounds} rounds (least-greatest)\n\n\
         µs a page               {:>8}{:>10}{:>11}{:>8}   {:<22}decision / the same without articles",
        "fetch", "extract", "decision", "judge", "decision / all before"
    ))?;
    let files: Vec<_> = arguments.iter().filter(|it| !it.starts_with("--")).collect();
    if !files.is_empty() {
        for file in files {
            let way = Way { name: file, language: "", segment: Segment::Jieba, most: None };
            way.compare(entries, rounds, || pages::read(file))?;
        }
        return Ok(());
    }
    let mut server = Process::start(["serve"].map(OsStr::new))?;
    let address = server.line()?;
    for way in WAYS {
        let paths = pages.paths(way.language);
        way.compare(entries, rounds, || {
            let run = Builder::new_current_thread().enable_all().build()?;
            run.block_on(pages::fetch(&address, &paths))
        })?;
    }
    Ok(())
}

/// CPU seconds of all pages.
#[derive(Default)]
struct Round {
    pages: usize,
    fetch: f64,
    extract: f64,
    decision: f64,
    /// Of the decision, what is not done on the page alone.
    judge: f64,
    /// The decision without comparison of articles.
    without: f64,
}

fn round(fetch: impl Fn() -> Outcome<Vec<Page>>, filters: [Filter; 2]) -> Outcome<Round> {
    let (mut round, extractor) = (Round::default(), Extractor::default());
    let [mut with, mut without] = filters;
    let begin = cpu();
    let fetched = fetch()?;
    round.fetch = cpu() - begin;
    round.pages = fetched.len();
    for (arrival, page) in fetched.iter().enumerate() {
        let begin = cpu();
        let extracted = extractor.extract(page);
        round.extract += cpu() - begin;
        let [of_page, judge] = decide(&mut with, page, &extracted, arrival)?;
        round.decision += of_page + judge;
        round.judge += judge;
        round.without += decide(&mut without, page, &extracted, arrival)?.iter().sum::<f64>();
    }
    Ok(round)
}

/// CPU seconds of making the document of a page, and of judging it.
fn decide(
    filter: &mut Filter,
    page: &Page,
    extracted: &Extracted,
    arrival: usize,
) -> Outcome<[f64; 2]> {
    let begin = cpu();
    let url = page.url.as_ref().ok_or("a page that was fetched has a URL")?;
    let body = Some(Digest::of(&page.body));
    let origin = Origin::of(url);
    let document = filter.documents().extracted(url.as_str(), origin.as_ref(), extracted, body);
    let document = document.with_time(Timestamp(arrival.try_into()?));
    let made = cpu();
    black_box(filter.judge(&document))?;
    Ok([made - begin, cpu() - made])
}

impl Way<'_> {
    fn compare(
        &self,
        entries: u64,
        rounds: usize,
        fetch: impl Fn() -> Outcome<Vec<Page>>,
    ) -> Outcome<()> {
        // With and without comparison of articles.
        let windows = [true, false].map(|article| window::filled(entries, self.segment, article));
        // Loads the dictionary.
        black_box(windows[0].documents().text("", "数据库"));
        let rounds = (0..rounds).map(|_| round(&fetch, windows.each_ref().map(window::copy)));
        say(&self.tell(&rounds.collect::<Outcome<Vec<_>>>()?))
    }

    fn tell(&self, rounds: &[Round]) -> String {
        let pages = rounds[0].pages;
        let times = |of: fn(&Round) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let micros =
            |of: fn(&Round) -> f64| Spread::of(times(of).into_iter()).median * 1e6 / pages as f64;
        let share =
            ratio(&times(|round| round.decision), &times(|round| round.fetch + round.extract));
        let times_without = ratio(&times(|round| round.decision), &times(|round| round.without));
        let target = self.most.map_or_else(String::new, |most| Target::AtMost(most).judge(&share));
        format!(
            "{:<24}{:>8.0}{:>10.0}{:>11.1}{:>8.1}   {:<20} {target:<20} {:<20} {} {pages} pages",
            self.name,
            micros(|round| round.fetch),
            micros(|round| round.extract),
            micros(|round| round.decision),
            micros(|round| round.judge),
            share.show(3),
            times_without.show(2),
            Target::AtMost(MOST_TIMES_WITHOUT).judge(&times_without),
        )
    }
}
