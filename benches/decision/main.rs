//! What the decision costs beside the work without which there is nothing to decide on.
//!
//! `cargo bench --bench decision` fetches the pages of the development data (beside the checkout, or in `PAGESIEVE_DATA`) from a
//! process that serves them on loopback, reads and judges them, all in one thread, and prints the CPU time of the decision by that of
//! all before it. Before it: asking for the page and receiving it (HTTP client and system calls; the server is not counted), decoding,
//! parsing, body text, links, language. The decision: digest of the body, sketch, look-up of both digests, of the fingerprint in
//! the index and of the signatures of what it finds, and insertion, in a window that is full of a million other documents.
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
    Digest, Document, Filter, Fingerprinter,
    extract::Extractor,
    filter::Documents,
    fingerprint::{Recipe, Segment},
    page::{Page, Timestamp},
};
use tokio::runtime::Builder;

use pages::Pages;
use process::{Outcome, Process, say};
use turns::{Spread, Target, cpu, ratio};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAYS: [Way; 4] = [
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

/// Pages of a language, a way to cut them, and what part of the work before it the decision may take.
struct Way {
    name: &'static str,
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
        let serve = serve::serve(move |_, path| pages.body(path));
        return Builder::new_current_thread().enable_all().build()?.block_on(serve);
    }
    // Without it this is a test of the bench, not a measurement.
    let (entries, rounds) =
        if arguments.iter().any(|it| it == "--bench") { (1_000_000, 9) } else { (1_000, 1) };
    compare(&pages, entries, rounds)
}

fn compare(pages: &Pages, entries: u64, rounds: usize) -> Outcome<()> {
    let mut server = Process::start(["serve"].map(OsStr::new))?;
    let address = server.line()?;
    let window = window::filled(entries);
    say(&format!(
        "{entries} documents in the window; CPU time of one thread, medians of {rounds} rounds (least-greatest)\n\n\
         µs a page               {:>8}{:>10}{:>11}{:>8}   decision / all before it",
        "fetch", "extract", "decision", "judge"
    ))?;
    for way in &WAYS {
        // Loads the dictionary.
        let fingerprinter =
            Fingerprinter::new(Recipe { segment: way.segment, ..Recipe::default() });
        black_box(fingerprinter.sketch("数据库"));
        let paths = pages.paths(way.language);
        let rounds =
            (0..rounds).map(|_| round(&address, &paths, &fingerprinter, window::copy(&window)));
        let rounds = rounds.collect::<Outcome<Vec<_>>>()?;
        say(&way.tell(&rounds, paths.len()))?;
    }
    Ok(())
}

/// CPU seconds of all pages.
#[derive(Default)]
struct Round {
    fetch: f64,
    extract: f64,
    decision: f64,
    /// Of the decision, what is not the sketch or the digest of the body.
    judge: f64,
}

fn round(
    address: &str,
    paths: &[&str],
    fingerprinter: &Fingerprinter,
    mut filter: Filter,
) -> Outcome<Round> {
    let (mut round, extractor) = (Round::default(), Extractor::default());
    let documents = filter.documents();
    let run = Builder::new_current_thread().enable_all().build()?;
    let begin = cpu();
    let fetched = run.block_on(pages::fetch(address, paths))?;
    round.fetch = cpu() - begin;
    for (arrival, page) in fetched.iter().enumerate() {
        let begin = cpu();
        let extracted = extractor.extract(page);
        let parsed = cpu();
        let document = document(&documents, page, &extracted.text, fingerprinter, arrival)?;
        let sketched = cpu();
        black_box(filter.judge(&document));
        let judged = cpu();
        round.extract += parsed - begin;
        round.decision += judged - parsed;
        round.judge += judged - sketched;
    }
    Ok(round)
}

/// The document of a page. The sketch is by the way's fingerprinter, whatever the recipe of the filter is.
fn document(
    documents: &Documents,
    page: &Page,
    text: &str,
    fingerprinter: &Fingerprinter,
    arrival: usize,
) -> Outcome<Document> {
    let url = page.url.as_ref().ok_or("a page that was fetched has a URL")?;
    let chars = text.chars().count().try_into()?;
    let document = documents.sketched(url.as_str(), fingerprinter.sketch(text), chars);
    let document = document.with_text_from(url.host_str().unwrap_or_default(), text);
    Ok(document.with_body(Digest::of(&page.body)).with_time(Timestamp(arrival.try_into()?)))
}

impl Way {
    fn tell(&self, rounds: &[Round], pages: usize) -> String {
        let times = |of: fn(&Round) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let micros =
            |of: fn(&Round) -> f64| Spread::of(times(of).into_iter()).median * 1e6 / pages as f64;
        let share =
            ratio(&times(|round| round.decision), &times(|round| round.fetch + round.extract));
        let target = self.most.map_or_else(String::new, |most| Target::AtMost(most).judge(&share));
        format!(
            "{:<24}{:>8.0}{:>10.0}{:>11.1}{:>8.1}   {:<20} {target:<20} {pages} pages",
            self.name,
            micros(|round| round.fetch),
            micros(|round| round.extract),
            micros(|round| round.decision),
            micros(|round| round.judge),
            share.show(3),
        )
    }
}
