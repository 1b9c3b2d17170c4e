//! What a whole crawl costs, beside a loop that only fetches the same pages and one that fetches them and parses them with scraper.
//!
//! `cargo bench --bench crawl` serves the 246 pages of the PostgreSQL manual from the shared test data under 20 host names, and adds
//! to each page a few sentences made from its URL: no two bodies or texts are equal, so that every page is parsed, fingerprinted and
//! looked up. Each measurement has a process of its own, and a server in another. CPU is user and system time, memory the peak.

use std::{
    collections::{BTreeMap, HashSet},
    convert::Infallible,
    env,
    error::Error,
    ffi::OsStr,
    fs::{self, File},
    hint::black_box,
    io::{BufRead, BufReader, Lines, Read, Write, stdin, stdout},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Arc, Once},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use pagesieve::{
    crawl::{self, Control, Plan, fetch, politeness, scope::Seed},
    filter::{self, Links, Policy, Store},
    sink,
};
use regex::{Captures, Regex};
use reqwest::{Client, redirect};
use scraper::Html;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Requests in flight in all: of the crawl, and of the loops.
const CONCURRENCY: usize = 64;
/// Requests in flight to each host, so that the hosts together have room for all.
const PER_HOST: usize = 4;
const USER_AGENT: &str = "pagesieve-bench/1 (bench@example.org)";

/// What the crawl may cost: times the CPU of the loop that fetches and parses, and MiB.
const MOST_CPU: f64 = 2.0;
const MOST_MEMORY: f64 = 150.0;

/// The unit in which Linux tells CPU time to programs, whatever its own.
const TICKS_PER_SECOND: f64 = 100.0;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => Runtime::new()?.block_on(serve()),
        ["measure", program, address, directory] => {
            let urls: Vec<Url> =
                stdin().lines().map(|url| Ok(url?.parse()?)).collect::<Outcome<_>>()?;
            let address = address.parse()?;
            let run = Runtime::new()?;
            let pages = match *program {
                CRAWL => run.block_on(crawl(urls, address, directory.into())),
                program => run.block_on(fetch_all(urls, address, program == PARSE)),
            }?;
            say(&serde_json::to_string(&Usage {
                pages,
                cpu: cpu("self")?,
                memory: peak_memory()?,
            })?)
        }
        // Without it this is a test of the bench, not a measurement.
        options if options.contains(&"--bench") => compare(20, 5),
        _ => compare(1, 1),
    }
}

// What is measured, each in a process of its own.

const FETCH: &str = "fetch";
const PARSE: &str = "fetch and parse";
const CRAWL: &str = "crawl";

/// What such a process says at its end: CPU in seconds, memory in MiB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Usage {
    pages: u64,
    cpu: f64,
    memory: f64,
}

async fn crawl(seeds: Vec<Url>, address: SocketAddr, directory: PathBuf) -> Outcome<u64> {
    let policy = Policy { store: Store::Keep, links: Links::Follow };
    let plan = Plan {
        name: "bench".to_owned(),
        directory,
        crawl: crawl::Options {
            user_agent: USER_AGENT.to_owned(),
            concurrency: CONCURRENCY.try_into()?,
            ..Default::default()
        },
        politeness: politeness::Options {
            delay: Duration::ZERO,
            per_host: PER_HOST.try_into()?,
            obey_robots: false,
            ..Default::default()
        },
        fetch: fetch::Options {
            resolve: hosts_of(&seeds).map(|host| (host.to_owned(), address)).collect(),
            ..Default::default()
        },
        dedup: filter::Options { same_site: policy, cross_site: policy, ..Default::default() },
        store: sink::Options::default(),
        seeds: seeds.into_iter().map(Seed::new).collect(),
    };
    let counts = crawl::run(plan, Control::default()).await?.counts;
    if counts.unique + counts.near != counts.stored {
        return Err("two pages have the same text".into());
    }
    Ok(counts.stored)
}

/// Fetches with a client that is set as the crawler's.
async fn fetch_all(urls: Vec<Url>, address: SocketAddr, parses: bool) -> Outcome<u64> {
    let builder =
        Client::builder().no_proxy().redirect(redirect::Policy::none()).pool_max_idle_per_host(8);
    let builder = builder.user_agent(USER_AGENT).timeout(Duration::from_secs(30));
    let client =
        hosts_of(&urls).fold(builder, |builder, host| builder.resolve(host, address)).build()?;
    let (mut urls, mut tasks, mut pages) = (urls.into_iter(), JoinSet::new(), 0);
    loop {
        for url in urls.by_ref().take(CONCURRENCY - tasks.len()) {
            let client = client.clone();
            tasks.spawn(async move {
                let body = client.get(url).send().await?.error_for_status()?.bytes().await?;
                if parses {
                    black_box(Html::parse_document(&String::from_utf8_lossy(&body)));
                }
                reqwest::Result::Ok(())
            });
        }
        let Some(ended) = tasks.join_next().await else { return Ok(pages) };
        ended??;
        pages += 1;
    }
}

fn hosts_of(urls: &[Url]) -> impl Iterator<Item = &str> {
    urls.iter().filter_map(Url::host_str)
}

/// User and system time of a process in seconds.
fn cpu(process: &str) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields = stat.rsplit_once(')').ok_or("no name")?.1.split_ascii_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// The most memory that this process has had, in MiB.
fn peak_memory() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

// The comparison.

/// One measurement: times in seconds.
#[derive(Clone, Copy, Debug)]
struct Measured {
    usage: Usage,
    wall: f64,
    /// CPU and time from the start of the process to its first request.
    start: (f64, f64),
}

fn compare(hosts: usize, rounds: usize) -> Outcome<()> {
    let manual = Manual::load()?;
    let pages = manual.pages.len() * hosts;
    say(&format!("{}, {hosts} host names: {pages} pages; {rounds} rounds", manual.origin))?;
    let all: Vec<&str> = manual.pages.keys().map(String::as_str).collect();
    let starts: Vec<&str> =
        all.iter().copied().filter(|path| path.ends_with(manual.start)).collect();
    let mut subjects = [(FETCH, &all), (PARSE, &all), (CRAWL, &starts)]
        .map(|(name, paths)| (name, paths, Vec::new()));
    for _ in 0..rounds {
        for (program, paths, measured) in &mut subjects {
            let found = Measured::of(program, &urls(hosts, paths))?;
            if found.usage.pages != pages as u64 {
                return Err(
                    format!("{program}: {} pages instead of {pages}", found.usage.pages).into()
                );
            }
            measured.push(found);
        }
    }
    say(&table(&subjects.map(|(name, _, measured)| (name, measured)), pages))
}

/// The paths at all hosts, those of one host far from each other.
fn urls(hosts: usize, paths: &[&str]) -> String {
    let hosts = |path| (0..hosts).map(move |host| (host, path));
    let urls = paths.iter().flat_map(|path| hosts(path));
    urls.map(|(host, path)| format!("http://host-{host}.test{path}\n")).collect()
}

impl Measured {
    fn of(program: &str, urls: &str) -> Outcome<Self> {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut server = Process::start(["serve"].map(OsStr::new))?;
        let address = server.line()?;
        let began = Instant::now();
        let run = directory.path().join("run");
        let arguments = [OsStr::new("measure"), program.as_ref(), address.as_ref(), run.as_ref()];
        let mut measured = Process::start(arguments)?;
        measured.child.stdin.take().ok_or("no input")?.write_all(urls.as_bytes())?;
        // The server's next line says that it is asked for the first time.
        server.line()?;
        let start = (cpu(&measured.child.id().to_string())?, began.elapsed().as_secs_f64());
        let usage = serde_json::from_str(&measured.line()?)?;
        Ok(Self { usage, wall: began.elapsed().as_secs_f64(), start })
    }
}

/// This program with other arguments; it ends with this value.
struct Process {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start<const N: usize>(arguments: [&OsStr; N]) -> Outcome<Self> {
        let mut command = Command::new(env::current_exe()?);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        Ok(Self { child, output })
    }

    /// The next line that it writes.
    fn line(&mut self) -> Outcome<String> {
        Ok(self.output.next().ok_or("a process has failed")??)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn table(subjects: &[(&str, Vec<Measured>); 3], pages: usize) -> String {
    let [_, (_, parse), (_, crawl)] = subjects;
    let ratio = |measured: &[Measured]| {
        spread(measured.iter().zip(parse).map(|(this, parse)| this.usage.cpu / parse.usage.cpu))
    };
    let mut table = format!(
        "\n{:<18}{:>12}{:>20}{:>22}{:>20}{:>20}\n",
        "median (range)", "ms a page", "CPU s", "x fetch and parse", "time s", "peak memory MiB"
    );
    for (name, measured) in subjects {
        let of = |value: fn(&Measured) -> f64| spread(measured.iter().map(value));
        let (cpu, wall, memory) =
            (of(|it| it.usage.cpu), of(|it| it.wall), of(|it| it.usage.memory));
        let each = cpu.1 * 1000.0 / pages as f64;
        table += &format!(
            "{name:<18}{each:>12.3}{:>20}{:>22}{:>20}{:>20}\n",
            show(cpu, 2),
            show(ratio(measured), 2),
            show(wall, 2),
            show(memory, 0)
        );
    }
    let of = |value: fn(&Measured) -> f64| spread(crawl.iter().map(value));
    let (cpu, wall) =
        (show(of(|it| it.start.0 * 1000.0), 0), show(of(|it| it.start.1 * 1000.0), 0));
    let within = ratio(crawl).1 <= MOST_CPU && of(|it| it.usage.memory).2 < MOST_MEMORY;
    table
        + &format!(
            "\nthe crawl's start, until its first request (contained above): CPU {cpu} ms, time {wall} ms\n\
         at most {MOST_CPU:.1} times the CPU of fetch and parse, and under {MOST_MEMORY:.0} MiB: {}",
            if within { "yes" } else { "NO" }
        )
}

/// Least, median and greatest.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}

fn show((least, median, greatest): (f64, f64, f64), digits: usize) -> String {
    format!("{median:.digits$} ({least:.digits$}-{greatest:.digits$})")
}

#[expect(clippy::print_stdout, reason = "what is measured is told")]
fn say(text: &str) -> Outcome<()> {
    println!("{text}");
    Ok(stdout().flush()?)
}

// The server.

/// The pages, by path.
struct Manual {
    origin: String,
    /// The name of the page in each directory from which following links reaches all of it.
    start: &'static str,
    pages: BTreeMap<String, String>,
}

impl Manual {
    fn load() -> Outcome<Self> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
        let data = env::var_os("PAGESIEVE_DATA").unwrap_or_else(|| beside.into());
        let root = Path::new(&data).join("pages/pgdoc");
        let (origin, start, pages) = if root.is_dir() {
            ("PostgreSQL manual of the shared test data", "/index.html", read_directory(&root)?)
        } else {
            (
                "PAGESIEVE_DATA is absent: PostgreSQL manual of the demo",
                "/tutorial.html",
                read_archive()?,
            )
        };
        let pages = pages.into_iter().map(|(path, page)| (path, page));
        let mut manual = Self { origin: origin.to_owned(), start, pages: pages.collect() };
        manual.turn_dead_links()?;
        Ok(manual)
    }

    /// Only part of the manual is here. A link to elsewhere would be a request that only the crawl makes: it leads to the start instead.
    fn turn_dead_links(&mut self) -> Outcome<()> {
        let link = Regex::new(r#"href="([^":/]+\.html)"#)?;
        let known: HashSet<String> = self.pages.keys().cloned().collect();
        for (path, page) in &mut self.pages {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let turned = link.replace_all(page, |link: &Captures| {
                let known = known.contains(&format!("{directory}/{}", &link[1]));
                if known { link[0].to_owned() } else { format!("href=\"{directory}{}", self.start) }
            });
            *page = turned.into_owned();
        }
        Ok(())
    }

    /// The page at a host, with a few sentences of its own.
    fn at(&self, host: &str, path: &str) -> Option<Bytes> {
        let page = self.pages.get(path)?;
        let (content, end) = page.split_at(page.rfind("</body>").unwrap_or(page.len()));
        Some(format!("{content}<p>{}</p>{end}", sentences(&format!("{host}{path}"))).into())
    }
}

/// The pages below a directory, by their path in it.
fn read_directory(root: &Path) -> Outcome<Vec<(String, String)>> {
    let mut pages = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root)?.display();
                pages.push((format!("/{name}"), fs::read_to_string(&path)?));
            }
        }
    }
    Ok(pages)
}

/// The pages that the demo carries.
fn read_archive() -> Outcome<Vec<(String, String)>> {
    let packed = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/demo/pages.tar.zst"))?;
    let mut pages = Vec::new();
    for entry in tar::Archive::new(zstd::Decoder::new(packed)?).entries()? {
        let mut entry = entry?;
        let path = format!("/{}", entry.path()?.display());
        if path.starts_with("/postgresql-") {
            let mut page = String::new();
            entry.read_to_string(&mut page)?;
            pages.push((path, page));
        }
    }
    Ok(pages)
}

/// Some sentences that no other URL has.
fn sentences(url: &str) -> String {
    let mut state = xxh3_64(url.as_bytes());
    let mut word = || {
        // Knuth's linear congruential generator (MMIX).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut sentence = || (0..15).map(|_| word()).collect::<Vec<_>>().join(" ") + ". ";
    (0..4).map(|_| sentence()).collect()
}

/// Says where it listens, then when it is asked for the first time.
async fn serve() -> Outcome<()> {
    let manual = Arc::new(Manual::load()?);
    let asked = Arc::new(Once::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&listener.local_addr()?.to_string())?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (manual, asked) = (Arc::clone(&manual), Arc::clone(&asked));
        let service = service_fn(move |request| {
            asked.call_once(|| drop(say("asked")));
            let answer = answer(&manual, &request);
            async { Ok::<_, Infallible>(answer) }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

fn answer(manual: &Manual, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let page = manual.at(host, request.uri().path());
    let mut response = Response::new(Full::new(page.clone().unwrap_or_default()));
    if page.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

const WORDS: [&str; 64] = [
    "amber", "anchor", "autumn", "barley", "basket", "beacon", "bridge", "bronze", "candle",
    "canyon", "cedar", "chimney", "cinder", "clover", "copper", "cradle", "dolphin", "drummer",
    "eagle", "ember", "falcon", "feather", "ferry", "forest", "fountain", "garden", "glacier",
    "granite", "hammer", "harbour", "harvest", "hazel", "island", "ivory", "jasmine", "kettle",
    "lantern", "lemon", "linen", "marble", "meadow", "mirror", "monsoon", "needle", "orchard",
    "otter", "paper", "pepper", "pigeon", "prairie", "quarry", "raven", "ribbon", "saddle",
    "saffron", "shadow", "silver", "thimble", "thunder", "timber", "tunnel", "velvet", "willow",
    "winter",
];
