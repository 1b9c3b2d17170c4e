//! Pages made to exhaust memory or CPU: each is read and judged in a process of its own, which reports what it took.

use std::{env, fs, process::Command};

use pagesieve::{Filter, extract::Extractor, filter::Options, page::Page};
use rustix::time::{ClockId, clock_gettime};

/// What a page may take on top of an ordinary one: bytes of memory, and milliseconds of CPU in an optimised build.
const MEMORY: u64 = 128 << 20;
const CPU: u64 = 1_000;
/// Builds without optimisation are slower by at most this.
const SLOWER: u64 = if cfg!(debug_assertions) { 15 } else { 1 };
/// The default of `fetch.max_body`.
const LENGTH: usize = 8 << 20;
/// Names the page to a process that reads it.
const PAGE: &str = "PAGESIEVE_TEST_PAGE";

#[test]
fn long_addresses_and_many_links_are_bounded() {
    measure(&["base", "long links", "long queries", "long hosts"]);
}

#[test]
fn characters_that_grow_or_combine_are_bounded() {
    measure(&["nul", "nul in words", "marks", "ligatures", "words of ligatures", "accents"]);
}

#[test]
fn text_without_end_is_bounded() {
    measure(&[
        "han",
        "random han",
        "spaced han",
        "rare han",
        "kana",
        "words",
        "short words",
        "paragraphs",
        "lines of words",
        "links and words",
        "lines",
        "h1",
    ]);
}

#[test]
fn bytes_of_no_or_any_charset_are_bounded() {
    measure(&["invalid", "any bytes", "escapes", "utf-16", "latin"]);
}

#[test]
fn markup_without_end_is_bounded() {
    measure(&[
        "closing tags",
        "references",
        "classes",
        "a class",
        "attributes",
        "forms",
        "table text",
        "misnested",
        "headings",
        "deep refreshes",
        "comments on comments",
    ]);
}

#[test]
fn structured_data_without_end_is_bounded() {
    measure(&["deep json", "json of numbers", "json of members", "many json"]);
}

/// The page of this name.
fn page(name: &str) -> Vec<u8> {
    let repeat = |start: &str, unit: &str| {
        [start, &unit.repeat((LENGTH - start.len()) / unit.len())].concat().into_bytes()
    };
    match name {
        "ordinary" => "<title>Tea</title><p>Green tea is not fermented.中文的文本".into(),
        "base" => {
            let base = format!("<base href=http://example.org/{}/>", "a".repeat(140_000));
            full(&base, |n| format!("<a href={n}>x</a>"))
        }
        "long links" => full("", |n| format!("<a href={n}/{}>x</a>", "b".repeat(1_900))),
        "long queries" => full("", |n| format!("<a href='?{n}{}'>x</a>", "&a=b".repeat(200))),
        "long hosts" => {
            full("", |n| format!("<a href=http://{}>x</a>", letters('\u{4e00}', 20_000, n, 480)))
        }
        "nul" => repeat("", "\0"),
        "nul in words" => full("", |n| format!("{n}\0 ")),
        "marks" => repeat("a", "\u{301}\u{323}"),
        "ligatures" => repeat("", "\u{fdfa}"),
        "words of ligatures" => repeat("", "\u{fdfa} "),
        "accents" => full("", |n| format!("é{:x} ", mixed(n))),
        "han" => full("", |n| letters('\u{4e00}', 20_000, n, 16)),
        "random han" => full("", |n| letters('\u{4e00}', 20_901, random(n), 16)),
        "spaced han" => full("", |n| letters('\u{4e00}', 20_901, random(n), 1) + " "),
        "rare han" => full("", |n| letters('\u{20000}', 40_000, n, 16)),
        "kana" => full("", |n| letters('\u{3041}', 80, n, 16)),
        "words" => full("", |n| format!("{:x} ", mixed(n))),
        "short words" => full("", |n| format!("{} ", letters('a', 26, random(n), 3))),
        "paragraphs" => full("", |n| format!("<p>{}", words(n, 7))),
        "lines of words" => full("<pre>", |n| format!("{}\n", words(n, 6))),
        "links and words" => full("", |n| match n {
            ..10_000 => format!("<a href=/{n}/{}>{}</a>", "y".repeat(300), words(n, 3)),
            _ => words(n, 1),
        }),
        "lines" => repeat("<pre>", "a\n"),
        "h1" => repeat("<h1>", "x "),
        "invalid" => vec![0xff; LENGTH],
        "any bytes" => (0..LENGTH).map(byte).collect(),
        "escapes" => b"\x1b$Bab\x1b(B".repeat(LENGTH / 8),
        "utf-16" => b"<\0".repeat(LENGTH / 2),
        "latin" => {
            let text = (0..LENGTH).map(|n| byte(n) | 0xa0);
            b"<meta charset=iso-8859-1>".iter().copied().chain(text).collect()
        }
        "closing tags" => repeat("", "</p>"),
        "references" => repeat("", "&x"),
        "classes" => repeat("", "<p class='a b c d e f g h i' id=bbbbbbbbb>x"),
        "a class" => full("<p class='", |n| format!("c{n} ")),
        "attributes" => full("", |n| format!("<p id={n}{}>", " lang=bbbbbbbbb a".repeat(100))),
        "forms" => repeat("", "<form>x"),
        "table text" => repeat("<table><tr>", "x<td>"),
        "misnested" => repeat("", "<b><p></b>x</p>"),
        "headings" => repeat("", "<h1></h1>"),
        "deep refreshes" => {
            full(&"<div>".repeat(500), |n| format!("<meta http-equiv=refresh content='0;url={n}'>"))
        }
        "comments on comments" => {
            full("", |n| format!("<div class='comment reply' id=comment-{n}>x {n}</div>"))
        }
        "deep json" => repeat("<script type=application/ld+json>", "["),
        "json of numbers" => repeat("<script type=application/ld+json>[0", ",0"),
        "json of members" => {
            full("<script type=application/ld+json>{", |n| format!("\"{n:x}\":[],"))
        }
        "many json" => {
            let json = format!("{}{}", "[".repeat(100), "]".repeat(100));
            repeat("", &format!("<script type=application/ld+json>{json}</script>"))
        }
        name => panic!("there is no page {name}"),
    }
}

/// Repeats what `unit` writes up to the longest body.
fn full(start: &str, unit: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut page = Vec::with_capacity(LENGTH);
    page.extend_from_slice(start.as_bytes());
    let fits = |page: &Vec<u8>, unit: &String| page.len() + unit.len() <= LENGTH;
    for unit in (0..).map(unit) {
        if !fits(&page, &unit) {
            break;
        }
        page.extend_from_slice(unit.as_bytes());
    }
    page
}

/// A number without order.
fn mixed(n: usize) -> u64 {
    let n = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    n.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 8
}

/// The seed of letters that no other one repeats.
fn random(n: usize) -> usize {
    usize::try_from(mixed(mixed(n).try_into().unwrap())).unwrap() >> 8
}

/// Different words.
fn words(n: usize, count: usize) -> String {
    (0..count).map(|word| format!("{:x} ", (n * count + word) * 7_919 % 1_310_001)).collect()
}

fn byte(n: usize) -> u8 {
    mixed(n).to_le_bytes()[0]
}

/// Letters of the `count` from `first` on.
fn letters(first: char, count: u64, seed: usize, length: usize) -> String {
    let letter = |n| u32::try_from(mixed(seed * length + n) % count).unwrap();
    (0..length).filter_map(|n| char::from_u32(u32::from(first) + letter(n))).collect()
}

/// Reads each page in a process, and compares what it takes with the bounds.
#[expect(clippy::print_stdout, reason = "what is measured is output")]
fn measure(names: &[&str]) {
    for name in names {
        let mut process = Command::new(env::current_exe().unwrap());
        process.args(["--exact", "evil::read_one_page", "--ignored", "--nocapture"]);
        let output = process.env(PAGE, name).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let took = output.lines().find_map(|line| line.split_once("took "));
        let (_, took) = took.unwrap_or_else(|| panic!("{name}: {output}"));
        let took: Vec<u64> = took.split(' ').map(|number| number.parse().unwrap()).collect();
        println!("{name}: {} MiB, {} ms", took[0] >> 20, took[1]);
        assert!(took[0] <= MEMORY, "{name} took {} MiB", took[0] >> 20);
        assert!(took[1] <= CPU * SLOWER, "{name} took {} ms of CPU", took[1]);
    }
}

#[expect(clippy::print_stdout, reason = "what is measured is output")]
#[test]
#[ignore = "a process of the other tests"]
fn read_one_page() {
    let name = env::var(PAGE).unwrap_or("ordinary".to_owned());
    let mut filter = Filter::new(&Options::default()).unwrap();
    let (documents, extractor) = (filter.documents(), Extractor::default());
    let mut judge = |body: Vec<u8>| {
        let page = Page { url: "http://example.org/dir/".parse().ok(), body, ..Page::default() };
        let (document, _) = documents.page(&extractor, &page);
        filter.judge(&document).unwrap();
    };
    judge(page("ordinary"));
    let body = page(&name);
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let (memory, cpu) = (peak_memory(), cpu_time());
    judge(body);
    println!("took {} {}", peak_memory().saturating_sub(memory), cpu_time() - cpu);
}

/// The most memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The CPU time of this process in milliseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec * 1_000 + time.tv_nsec / 1_000_000).unwrap()
}
