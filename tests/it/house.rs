//! The rules of the house: which module may import which, and how large a function may grow.
//!
//! The rules are data here. ARCHITECTURE.md says the same to people, and a test keeps the two equal.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{imports::Imports, tokens::Source};

/// The modules; each imports only from rows below its own.
const MODULES: &[&[&str]] = &[
    &["cli"],
    &["config", "live"],
    &["serve"],
    &["input"],
    &["crawl", "eval"],
    &["learn"],
    &["report"],
    &["sink"],
    &["state"],
    &["cluster"],
    &["submission"],
    &["filter"],
    &["index"],
    &["fingerprint"],
    &["extract"],
    &["page"],
];

/// The parts of `crawl`, and what each may import from. Its `mod.rs` may import from all of them, and none of them from it.
const CRAWL: &[(&str, &[&str])] = &[
    ("upkeep", &["control", "plan", "directory"]),
    ("dry_run", &["engine", "control", "plan", "directory", "fetch"]),
    (
        "engine",
        &[
            "control",
            "worker",
            "schedule",
            "plan",
            "directory",
            "against",
            "cluster",
            "read_run",
            "learnt",
            "sitemap",
            "robots",
            "scope",
            "politeness",
        ],
    ),
    ("worker", &["schedule", "plan", "sitemap", "robots", "politeness", "fetch"]),
    ("schedule", &["robots", "politeness"]),
    ("read_run", &["control", "plan", "directory", "learnt"]),
    ("against", &["plan", "directory"]),
    ("cluster", &["control", "plan"]),
    ("control", &[]),
    ("learnt", &[]),
    ("directory", &["plan"]),
    ("plan", &["scope", "politeness", "fetch"]),
    ("sitemap", &[]),
    ("robots", &["fetch"]),
    ("scope", &[]),
    ("politeness", &[]),
    ("fetch", &[]),
];

/// Names that say nothing: a helper lives with its caller, a type with its maker, an error with its cause.
const NAMELESS: &[&str] =
    &["util", "utils", "types", "common", "error", "errors", "helpers", "misc"];

const MAX_FUNCTION: usize = 60;
/// Files to open to follow a page from a seed to a stored line.
const WAY_OF_A_PAGE: usize = 14;
const INDEX_FILES: usize = 14;
/// Without blank lines, comments and tests.
const INDEX_LINES: usize = 2000;
const INDEX_LEVELS: usize = 6;

#[test]
fn a_module_imports_only_from_modules_to_its_right() {
    assert_none(sources().iter().flat_map(|(file, source)| misdirected(file, source)));
}

#[test]
fn every_module_is_listed_and_has_a_name_that_says_something() {
    let known: Vec<&str> =
        MODULES.iter().copied().flatten().copied().chain(["lib", "main"]).collect();
    let modules = fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap().path());
    let names = modules.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    assert_none(
        names.filter(|name| NAMELESS.contains(&name.as_str()) || !known.contains(&name.as_str())),
    );
}

#[test]
fn functions_stay_small() {
    assert_none(sources().iter().flat_map(|(file, source)| oversized(file, source)));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources();
    let circles = Imports::of(sources.iter().map(|(_, source)| source)).circles();
    let shown = |circle: Vec<Vec<String>>| {
        circle.iter().map(|file| file.join("::")).collect::<Vec<_>>().join(", ")
    };
    assert_none(circles.into_iter().map(shown));
}

#[test]
fn the_index_stays_small_enough_to_be_read() {
    let sources = sources();
    let files = sources.iter().filter(|(file, _)| file.starts_with("index"));
    let lines: Vec<usize> = files.map(|(_, source)| source.lines_of_code()).collect();
    assert!(lines.len() <= INDEX_FILES, "src/index has {} files", lines.len());
    let lines: usize = lines.iter().sum();
    assert!(lines <= INDEX_LINES, "src/index has {lines} lines of code");
    let levels = Imports::of(sources.iter().map(|(_, source)| source)).levels("index");
    assert!(levels <= INDEX_LEVELS, "src/index has {levels} levels of imports");
}

#[test]
fn nothing_is_printed_past_the_writers_and_one_place_selects() {
    let called = |(file, source): &(PathBuf, Source)| {
        let forbidden = |name: &str| match name {
            "print" | "println" | "eprint" | "eprintln" | "dbg" => true,
            "select" => file != Path::new("crawl/engine/mod.rs"),
            _ => false,
        };
        let found = source.macros().filter(|token| forbidden(&token.text));
        found
            .map(|token| format!("{}:{}: {}!", file.display(), token.line, token.text))
            .collect::<Vec<_>>()
    };
    assert_none(sources().iter().flat_map(called));
}

#[test]
fn the_architecture_page_has_the_same_order() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let order: Vec<String> = MODULES.iter().map(|row| row.join(", ")).collect();
    assert!(page.contains(&order.join(" -> ")), "{}", order.join(" -> "));
    for (part, others) in CRAWL {
        let row = format!(
            "| `{part}` | {} |",
            if others.is_empty() { "-".to_owned() } else { others.join(", ") }
        );
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn the_way_of_a_page_is_short() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, way) = page.split_once("## The way of a page").unwrap();
    let (way, _) = way.split_once("Where else to look").unwrap();
    let files: BTreeSet<&str> = named_files(way).collect();
    assert!(files.len() <= WAY_OF_A_PAGE, "{}: {files:?}", files.len());
}

#[test]
fn the_files_that_the_architecture_page_names_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (page, _) = page.split_once("## Imports within the crawl").unwrap();
    let is_missing = |file: &&str| {
        !["src", "."].map(|it| root().join(it).join(file)).iter().any(|it| it.exists())
    };
    assert_none(named_files(page).filter(is_missing).map(str::to_owned));
}

#[test]
fn each_question_of_the_architecture_page_is_answered_by_two_files() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rows) = page.split_once("Where else to look").unwrap();
    let (rows, _) = rows.split_once("## Imports within the crawl").unwrap();
    let wrong = |row: &str| {
        let answer = row.strip_prefix("| ")?.split(" | ").nth(1)?;
        let files: BTreeSet<&str> = named_files(answer).collect();
        if files.len() > 2 {
            return Some(format!("{} files: {row}", files.len()));
        }
        let code: String = files
            .iter()
            .flat_map(|file| fs::read_to_string(root().join("src").join(file)))
            .collect();
        let names = answer.split('`').skip(1).step_by(2).filter(|name| !name.contains(['.', '/']));
        let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        let missing = names.map(last).find(|name| !files.is_empty() && !code.contains(name));
        missing.map(|name| format!("{name} is in none of its files: {row}"))
    };
    assert_none(rows.lines().filter_map(wrong));
}

#[test]
fn the_tests_that_the_architecture_page_names_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, invariants) = page.split_once("## Invariants").unwrap();
    let (invariants, _) = invariants.split_once("\n## ").unwrap();
    let code: String = ["src", "tests"]
        .iter()
        .flat_map(|directory| rust_files(&root().join(directory)))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let named = invariants.split('`').filter(|name| name.matches('_').count() > 1);
    assert_none(named.filter(|name| !code.contains(&format!("fn {name}("))).map(str::to_owned));
}

/// The gate compiles each package that they share once.
#[test]
fn the_crates_of_their_own_lock_the_same_versions() {
    let versions = |file: &str| -> BTreeSet<(String, String)> {
        // The published package has none of these crates.
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let value = |line: &str| Some(line.split('"').nth(1)?.to_owned());
        let packages = text.split("[[package]]\n").filter_map(|package| {
            let mut lines = package.lines();
            Some((value(lines.next()?)?, value(lines.next()?)?))
        });
        packages.collect()
    };
    // What cargo takes for the same, if one of two is asked for.
    let compatible = |(name, version): &(String, String)| {
        let (major, rest) = version.split_once('.').unwrap_or_default();
        let minor = if major == "0" { rest.split('.').next() } else { None };
        (name.clone(), major.to_owned(), minor.map(str::to_owned))
    };
    let own = versions("Cargo.lock");
    let known: BTreeSet<_> = own.iter().map(compatible).collect();
    for file in ["benches/peers/Cargo.lock", "fuzz/Cargo.lock", "python/Cargo.lock"] {
        let others = versions(file);
        let differs = others.difference(&own).filter(|it| known.contains(&compatible(it)));
        assert_none(differs.map(|(name, version)| {
            format!(
                "{file}: {name} {version}; copy Cargo.lock there, and cargo adds what is missing"
            )
        }));
    }
}

#[test]
fn what_breaks_a_rule_is_found() {
    let found =
        |file: &str, text: &str| misdirected(Path::new(file), &Source::new(Path::new(file), text));
    assert_eq!(
        found("index/mod.rs", "use crate::{\n    page::DocId,\n    filter::Filter,\n};").len(),
        1
    );
    assert_eq!(found("eval/mod.rs", "fn f() { crate::crawl::run() }").len(), 1);
    assert_eq!(found("filter/mod.rs", "use crate::Index;").len(), 1);
    assert_eq!(found("crawl/robots.rs", "use crate::crawl::schedule::Schedule;").len(), 1);
    assert_eq!(found("crawl/scope/mod.rs", "use super::CrawlError;").len(), 1);
    assert_eq!(
        found("crawl/mod.rs", "use crate::crawl::schedule::Schedule; use crate::page::DocId;")
            .len(),
        0
    );
    let long = format!("fn f() {{\n{}}}\n", "f();\n".repeat(MAX_FUNCTION));
    assert_eq!(oversized(Path::new("a.rs"), &Source::new(Path::new("a.rs"), &long)).len(), 1);
}

/// The Rust files that a text has in back quotes.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"))
}

/// What a file names that it may not.
fn misdirected(file: &Path, source: &Source) -> Vec<String> {
    let mentions = source.mentions().into_iter();
    mentions
        .filter_map(|mention| {
            let why = misdirection(&source.module, &mention.path)?;
            Some(format!("{}:{}: {}: {why}", file.display(), mention.line, mention.path.join("::")))
        })
        .collect()
}

fn misdirection(from: &[String], to: &[String]) -> Option<&'static str> {
    // The crate's root declares and re-exports: it may name everything.
    let own = from.first()?;
    let row = |name: &str| MODULES.iter().position(|row| row.contains(&name));
    let Some(below) = to.first().and_then(|to| row(to)) else {
        return Some("goes through the crate's root");
    };
    if to[0] != *own && row(own).is_none_or(|above| above >= below) {
        return Some("is not below it");
    }
    if to[0] != "crawl" || own != "crawl" || from.len() == 1 {
        return None;
    }
    let Some((_, others)) = CRAWL.iter().find(|(part, _)| *part == from[1]) else {
        return Some("stands in a part of the crawl that is not listed");
    };
    match to.get(1) {
        Some(part) if *part == from[1] || others.contains(&part.as_str()) => None,
        Some(part) if CRAWL.iter().any(|(known, _)| known == part) => Some("is not below it"),
        _ => Some("goes through crawl/mod.rs"),
    }
}

/// What has grown too large in a file.
fn oversized(file: &Path, source: &Source) -> Vec<String> {
    let functions = source.functions().into_iter();
    functions
        .filter(|(_, _, lines)| *lines >= MAX_FUNCTION)
        .map(|(name, line, lines)| format!("{}:{line}: {name} has {lines} lines", file.display()))
        .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file without its tests, by its path within `src`.
fn sources() -> Vec<(PathBuf, Source)> {
    let src = root().join("src");
    let read = |path: PathBuf| {
        let file = path.strip_prefix(&src).unwrap().to_owned();
        let source = Source::new(&file, &fs::read_to_string(&path).unwrap());
        (file, source)
    };
    let mut sources: Vec<_> = rust_files(&src).into_iter().map(read).collect();
    let tests: Vec<Vec<String>> =
        sources.iter().flat_map(|(_, source)| source.tests.clone()).collect();
    sources.retain(|(_, source)| !tests.iter().any(|test| source.module.starts_with(test)));
    sources
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[track_caller]
fn assert_none(offences: impl Iterator<Item = String>) {
    let offences: Vec<String> = offences.collect();
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}
