//! What many known URLs cost: a crawl without a network. Needs Linux, and some 2 GB of disk for 10^7 URLs:
//!
//!     URLS=10000000 cargo test --profile bench --lib -- --ignored --nocapture many_known_urls

#![expect(
    clippy::print_stderr,
    clippy::cast_precision_loss,
    reason = "it is asked for its figures"
)]

use std::{collections::VecDeque, env, fs, path::Path, time::Instant as Clock};

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::*;
use crate::{
    crawl::{
        schedule::Task,
        scope::{Reach, Seed},
        worker::{Fetched, Outcome, Parsed, Received},
    },
    extract::Extractor,
    page::{NormalUrl, Page, Validators},
    report::End,
    state::Queued,
};

/// Links of a page.
const LINKS: u64 = 100;
/// Pages of the second part, for which ten links are new.
const LATER: u64 = 3_000;

fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Seconds of CPU time of this thread.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A number of this process in a file of `/proc/self`, in bytes.
fn of_process(file: &str, name: &str, unit: u64) -> u64 {
    let text = fs::read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * unit
}

fn written() -> u64 {
    of_process("io", "write_bytes:", 1)
}

/// A web of which every page links to known URLs and to new ones, on any host.
struct Web {
    hosts: u64,
    known: u64,
    fetched: u64,
}

impl Web {
    fn url(&self, number: u64) -> NormalUrl {
        let host = mix(number) % self.hosts;
        let url =
            format!("http://h{host}.example/articles/{:x}/page-{number}.html", mix(!number) >> 40);
        NormalUrl::parse(&url, &UrlOptions::default()).unwrap()
    }

    /// A page with so many new links.
    fn page(&mut self, url: &NormalUrl, documents: &crate::filter::Documents, new: u64) -> Parsed {
        let number = mix(self.fetched + 1);
        self.fetched += 1;
        let words = (0..250).map(|word| format!("w{:x} ", mix(number + word / 3) % 50_000));
        let body = format!(
            "<title>Page {number}</title><h1>Page {number}</h1><p>{}</p>",
            words.collect::<String>()
        );
        let page = Page {
            url: Some(Url::parse(url.as_str()).unwrap()),
            body: body.into_bytes(),
            ..Page::default()
        };
        let (document, extracted) = documents.page(&Extractor::default(), &page);
        let known = (new..LINKS).map(|link| mix(number ^ (link << 32)) % self.known);
        let links =
            (self.known..self.known + new).chain(known).map(|link| self.url(link)).collect();
        self.known += new;
        Parsed { document, extracted, canonical: None, links }
    }
}

fn task(queued: Queued) -> Arc<Task> {
    Arc::new(Task::for_tests(queued))
}

/// Records pages until `goes_on` says no. Prints what each costs.
fn crawl(engine: &mut Engine, web: &mut Web, what: &str, new: u64, goes_on: impl Fn(&Web) -> bool) {
    let documents = engine.filter.documents();
    let (before, stored, mut pages, mut seconds) = (written(), size(engine), 0, 0.0);
    let mut waiting = VecDeque::new();
    while goes_on(web) {
        if waiting.is_empty() {
            for host in engine.urls.queue.rotation().take(5_000).collect::<Vec<_>>() {
                waiting.extend(engine.urls.take(engine.filter.state(), host).unwrap());
                engine.move_to_back(host).unwrap();
            }
        }
        let queued = waiting.pop_front().expect("there are always new URLs");
        let parsed = web.page(&queued.url.url, &documents, new);
        let received = Received {
            status: 200,
            content_type: None,
            at: Timestamp::now(),
            size: 0,
            took: Duration::ZERO,
            is_cut: false,
            validators: Validators::default(),
            share: None,
        };
        let outcome = Outcome::Page(received, Box::new(parsed));
        let fetched =
            Fetched { task: task(queued), outcome, exchange: None, span: tracing::Span::none() };
        let began = cpu();
        engine.begin_batch().unwrap();
        engine.record_fetched(fetched).unwrap();
        if engine.batch.urls >= BATCH {
            engine.commit().unwrap();
        }
        seconds += cpu() - began;
        pages += 1;
    }
    let began = cpu();
    engine.commit().unwrap();
    seconds += cpu() - began;
    let (written, grown) = (written() - before, size(engine) - stored);
    eprintln!(
        "{what}: {pages} pages, {} URLs known, {:.0} links a second of CPU time, {:.0} us a page, {} bytes written a page, {:.1} times what is stored, {} bytes of memory",
        web.known,
        (pages * LINKS) as f64 / seconds,
        seconds * 1e6 / pages as f64,
        written / pages,
        written as f64 / grown as f64,
        of_process("status", "VmRSS:", 1024),
    );
}

/// Bytes of the run directory.
fn size(engine: &Engine) -> u64 {
    let files = fs::read_dir(&engine.plan.directory).unwrap();
    let files = files.map(|file| file.unwrap());
    let files = files.filter(|file| !file.file_name().to_string_lossy().ends_with("-wal"));
    files.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
#[ignore = "it takes minutes and much disk; the head of the file has its command"]
fn many_known_urls() {
    let urls: u64 = env::var("URLS").map_or(300_000, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut seed = Seed::new("http://h0.example/".parse().unwrap());
    seed.scope = Reach::Any;
    seed.max_pages = u64::MAX;
    let mut plan = Plan::new("scale", directory.path().join("run"), vec![seed]);
    (plan.crawl.max_depth, plan.crawl.max_pages) = (u32::MAX, u64::MAX);
    let plan = Arc::new(plan);
    let mut engine = Engine::start(Arc::clone(&plan), CancellationToken::new(), drop).unwrap();
    let mut web = Web { hosts: (urls / 100).max(1), known: 1, fetched: 0 };
    eprintln!("at start: {} bytes of memory", of_process("status", "VmRSS:", 1024));
    crawl(&mut engine, &mut web, "first half, all links new", LINKS, |web| web.known < urls / 2);
    crawl(&mut engine, &mut web, "second half, all links new", LINKS, |web| web.known < urls);
    let end = web.fetched + LATER;
    crawl(&mut engine, &mut web, "ten links new", 10, |web| web.fetched < end);
    crawl(&mut engine, &mut web, "no link new", 0, |web| web.fetched < end + LATER);
    eprintln!("{:.0} bytes a URL in the state", state_size(&plan) as f64 / web.known as f64);
    let (began, clock) = (cpu(), Clock::now());
    engine.finish(End::Interrupted).unwrap();
    drop(engine);
    eprintln!(
        "stopped in {:.2} s of CPU time, {:.2} s",
        cpu() - began,
        clock.elapsed().as_secs_f64()
    );
    let (began, clock) = (cpu(), Clock::now());
    let engine = Engine::start(plan, CancellationToken::new(), drop).unwrap();
    eprintln!(
        "started in {:.2} s of CPU time, {:.2} s, {} URLs wait, {} bytes of memory",
        cpu() - began,
        clock.elapsed().as_secs_f64(),
        engine.urls.open(),
        of_process("status", "VmRSS:", 1024)
    );
}

fn state_size(plan: &Plan) -> u64 {
    let path = plan.directory.join(crate::crawl::plan::STATE);
    path.metadata().unwrap().len()
}
