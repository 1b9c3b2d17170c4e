//! Several filters that share one window.

use std::{collections::HashMap, thread};

use pagesieve::{
    Document, DurableFilter, Filter,
    cluster::{Address, drop_run, status},
    extract::Extractor,
    filter::{Options, Verdict},
    fingerprint::{HashSeed, HashSeedChoice},
    page::{Outline, Page},
};
use serde_json::Value;

use proptest::{prelude::*, test_runner::TestRunner};

use super::{
    crawl::note,
    postgres::{Postgres, postgres, skip_without_server},
};
use crate::data::shared;

/// Words without meaning, the same for the same number.
fn words(number: u64, count: usize) -> Vec<String> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let word = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("w{}", (state >> 33) % 5000)
    };
    (0..count).map(word).collect()
}

/// One of a cluster of near documents: as it is, with a word changed, in other letters, or with a few words more.
fn variant(cluster: u64, kind: u8) -> String {
    let mut words = words(cluster, 400);
    match kind % 4 {
        0 => {}
        1 => "changed".clone_into(&mut words[200]),
        2 => words.iter_mut().for_each(|word| *word = word.to_uppercase()),
        _ => words.extend(["and", "some", "more"].map(str::to_owned)),
    }
    words.join(" ")
}

fn text(filter: &DurableFilter, id: &str, (cluster, kind): (u64, u8)) -> Document {
    filter.documents().text(id, &variant(cluster, kind))
}

/// A page of a site with a template, or of none.
fn page(filter: &DurableFilter, id: &str, site: u64, document: (u64, u8)) -> Document {
    let mut outline = Outline::new(&format!("Title {}", document.0));
    let menu = words(1_000_000 + site, 30).join(" ");
    outline.line(Outline::PAGE, &menu, 0, false);
    let text = variant(document.0, document.1);
    outline.line(Outline::PAGE, &text, 0, true);
    filter.documents().outlined(id, Some(&format!("site{site}.test:443")), &text, &outline)
}

/// The default options, changed.
fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    options.window.entries = 100_000.try_into().unwrap();
    options.memory = bytesize::ByteSize::mib(64);
    change(&mut options);
    options
}

fn share(server: &Postgres, name: &str) -> DurableFilter {
    share_with(server, name, &with(|_| ())).unwrap()
}

fn share_with(
    server: &Postgres,
    name: &str,
    options: &Options,
) -> Result<DurableFilter, pagesieve::state::StateError> {
    DurableFilter::share(&server.address(name).parse().unwrap(), options)
}

/// Begins a window that no other test has.
fn fresh(server: &Postgres, name: &str) -> Address {
    let address: Address = server.address(name).parse().unwrap();
    let _ = drop_run(&address);
    address
}

#[test]
fn a_document_that_another_filter_has_is_a_duplicate() {
    let Some(server) = postgres() else { return };
    fresh(server, "two");
    let (mut one, mut other) = (share(server, "two"), share(server, "two"));
    let first = one.judge(&text(&one, "http://a.test/", (1, 0))).unwrap();
    assert_eq!(first.verdict, Verdict::Unique);
    for kind in 0..4 {
        let document = text(&other, &format!("http://b.test/{kind}"), (1, kind));
        let peeked = other.peek(&document).unwrap();
        let judged = other.judge(&document).unwrap();
        let found = judged.verdict.matched().expect("a duplicate");
        assert_eq!(other.id_of(found.of).unwrap(), "http://a.test/");
        assert_eq!(peeked.verdict.matched().map(|it| it.kind), Some(found.kind));
    }
    assert!(other.judge(&text(&other, "c", (2, 0))).unwrap().verdict.is_unique());
    other.commit().unwrap();
    // A short text is known by its digest only.
    for (filter, is_unique) in [(&mut one, true), (&mut other, false)] {
        let short = filter.documents().text(&format!("short {is_unique}"), "Two words");
        assert_eq!(filter.judge(&short).unwrap().verdict.is_unique(), is_unique);
    }
}

/// They share keys, so each is compared with those before it, which more than once hold some.
#[test]
fn documents_that_quote_the_same_are_all_kept() {
    let Some(server) = postgres() else { return };
    fresh(server, "quotes");
    let quoted = words(7, 200).join(" ");
    let quoting = |filter: &DurableFilter, number: u64| {
        let text = format!("{} {quoted}", words(100 + number, 400).join(" "));
        filter.documents().text(&format!("http://{number}.test/"), &text)
    };
    for number in 0..20 {
        let mut filter = share(server, "quotes");
        assert!(filter.judge(&quoting(&filter, number)).unwrap().verdict.is_unique(), "{number}");
        filter.commit().unwrap();
    }
    let mut last = share(server, "quotes");
    let again = last.judge(&quoting(&last, 3)).unwrap();
    assert!(again.verdict.is_unique(), "the same document is itself");
    let copy = last.documents().text("copy", &format!("{} {quoted}", words(103, 400).join(" ")));
    let found = last.judge(&copy).unwrap();
    assert!(found.verdict.matched().is_some());
}

#[test]
fn what_is_looked_at_or_removed_is_not_claimed() {
    let Some(server) = postgres() else { return };
    fresh(server, "removed");
    let (mut one, mut other) = (share(server, "removed"), share(server, "removed"));
    let document = text(&one, "a", (1, 0));
    assert!(one.peek(&document).unwrap().verdict.is_unique());
    let judged = other.judge(&text(&other, "b", (1, 1))).unwrap();
    assert!(judged.verdict.is_unique(), "what was looked at is not kept");
    assert!(other.remove(judged.id).unwrap());
    other.commit().unwrap();
    assert!(one.judge(&document).unwrap().verdict.is_unique(), "what was removed is not known");
}

#[test]
fn the_same_document_judged_again_after_a_crash_is_itself() {
    let Some(server) = postgres() else { return };
    fresh(server, "again");
    for _ in 0..3 {
        let mut filter = share(server, "again");
        let judged = filter.judge(&text(&filter, "a", (1, 0))).unwrap();
        assert!(judged.verdict.is_unique(), "{judged:?}");
        let found = filter.judge(&text(&filter, "b", (1, 1))).unwrap();
        assert!(!found.verdict.is_unique());
    }
}

#[test]
fn one_filter_alone_decides_as_a_local_one() {
    let Some(server) = postgres() else { return };
    let name = "alone";
    let document = (0..12_u64, any::<u8>(), 0..3_u64, any::<bool>());
    let stream = prop::collection::vec(document, 1..40);
    let runner = &mut TestRunner::new(ProptestConfig { cases: 8, ..ProptestConfig::default() });
    let ran = runner.run(&stream, |stream| {
        fresh(server, name);
        let mut shared = share(server, name);
        let mut local =
            Filter::new(&with(|it| it.hash_seed = HashSeedChoice::Fixed(HashSeed::PUBLIC)))
                .unwrap();
        for (number, (cluster, kind, site, is_page)) in stream.into_iter().enumerate() {
            let id = format!("http://site{site}.test/{number}");
            let document = if is_page {
                page(&shared, &id, site, (cluster, kind))
            } else {
                text(&shared, &id, (cluster, kind))
            };
            let [one, other] = [shared.judge(&document).unwrap(), local.judge(&document).unwrap()];
            prop_assert_eq!((one.verdict, one.id), (other.verdict, other.id));
        }
        Ok(())
    });
    ran.unwrap();
}

/// Judges a stream by several filters at once. Returns the clusters of which the kept documents are.
fn judge_at_once(server: &Postgres, name: &str, streams: Vec<Vec<(u64, u8)>>) -> Vec<u64> {
    let one = |(number, stream): (usize, Vec<(u64, u8)>)| {
        let mut filter = share(server, name);
        let mut kept = Vec::new();
        for (place, document) in stream.into_iter().enumerate() {
            let id = format!("http://site{number}.test/{place}");
            let judged = if place % 2 == 0 {
                filter.judge(&page(&filter, &id, number as u64, document)).unwrap()
            } else {
                filter.judge(&text(&filter, &id, document)).unwrap()
            };
            if let Some(found) = judged.verdict.matched() {
                assert!(!filter.id_of(found.of).unwrap().is_empty());
            } else {
                kept.push(document.0);
            }
        }
        kept
    };
    thread::scope(|scope| {
        let all: Vec<_> =
            streams.into_iter().enumerate().map(|it| scope.spawn(|| one(it))).collect();
        all.into_iter().flat_map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn of_each_cluster_one_document_is_kept_by_one_of_several_filters() {
    let Some(server) = postgres() else { return };
    let stream = prop::collection::vec((0..30_u64, any::<u8>()), 20..50);
    let streams = prop::collection::vec(stream, 4);
    let runner = &mut TestRunner::new(ProptestConfig { cases: 3, ..ProptestConfig::default() });
    let ran = runner.run(&streams, |streams| {
        fresh(server, "several");
        let all: std::collections::BTreeSet<u64> =
            streams.iter().flatten().map(|(cluster, _)| *cluster).collect();
        let mut kept = judge_at_once(server, "several", streams);
        kept.sort_unstable();
        prop_assert_eq!(kept, all.into_iter().collect::<Vec<_>>());
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn a_window_rolls_by_generations() {
    let Some(server) = postgres() else { return };
    let address = fresh(server, "rolling");
    let window = pagesieve::filter::WindowOptions::new(200.try_into().unwrap(), None);
    let options = with(|it| it.window = window);
    let mut filter = share_with(server, "rolling", &options).unwrap();
    for number in 0..1500 {
        filter.judge(&text(&filter, &number.to_string(), (number, 0))).unwrap();
    }
    let generations = status(&address).unwrap()["generations"].clone();
    assert_eq!(generations.as_array().unwrap().len(), 2);
    assert!(generations[0]["generation"].as_i64() > Some(2), "{generations}");
    let mut other = share_with(server, "rolling", &options).unwrap();
    let mut is_known = |cluster: u64| {
        let document = text(&other, &format!("again {cluster}"), (cluster, 1));
        !other.judge(&document).unwrap().verdict.is_unique()
    };
    assert!((1300..1500).all(&mut is_known), "the last ones are known");
    assert!(!(0..200).any(&mut is_known), "the first ones are forgotten");
}

#[test]
fn who_does_not_agree_is_refused() {
    let Some(server) = postgres() else { return };
    fresh(server, "agreed");
    let _filter = share(server, "agreed");
    let options = with(|it| it.fold_chinese = false);
    let refused = share_with(server, "agreed", &options).unwrap_err().to_string();
    assert!(refused.contains("recipe") && refused.contains("same options"), "{refused}");
    let options = with(|it| it.min_features = 3);
    let refused = share_with(server, "agreed", &options).unwrap_err().to_string();
    assert!(refused.contains("configuration"), "{refused}");
}

#[test]
fn after_a_crash_of_the_server_the_keys_are_made_again() {
    let Some(mut server) = Postgres::start() else { return skip_without_server() };
    let mut filter = share(&server, "crash");
    let mut urls = HashMap::new();
    for cluster in 0..40 {
        let id = format!("http://a.test/{cluster}");
        assert!(filter.judge(&text(&filter, &id, (cluster, 0))).unwrap().verdict.is_unique());
        urls.insert(cluster, id);
    }
    // The log is written within a second.
    thread::sleep(std::time::Duration::from_secs(1));
    server.kill();
    server.resume();
    let mut other = share(&server, "crash");
    for cluster in 0..40 {
        let judged = other.judge(&text(&other, &format!("b {cluster}"), (cluster, 1))).unwrap();
        let found = judged.verdict.matched().expect("it is known");
        assert_eq!(other.id_of(found.of).unwrap(), urls[&cluster]);
    }
    assert!(filter.judge(&text(&filter, "more", (100, 0))).unwrap().verdict.is_unique());
}

/// The pages of the development data, each variant of a site as a site of its own, dealt out to three filters by site: how many duplicates they
/// recognise, and how many one filter does.
#[test]
#[ignore = "it measures: `cargo test --release --test it recognition_across -- --ignored --nocapture`"]
fn recognition_across_filters() {
    let (Some(server), Some(data)) = (postgres(), shared("pages.jsonl")) else { return };
    fresh(server, "recognition");
    let mut one =
        Filter::new(&with(|it| it.hash_seed = HashSeedChoice::Fixed(HashSeed::PUBLIC))).unwrap();
    let mut several: Vec<_> = (0..3).map(|_| share(server, "recognition")).collect();
    let (extractor, mut counts) = (Extractor::default(), [0, 0, 0, 0]);
    let mut pages: Vec<Value> = std::fs::read_to_string(&data)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The same order for all, in which variants follow each other.
    pages.sort_by_key(|page| (page["rel"].to_string(), page["path"].to_string()));
    for page in &pages {
        let (path, variant) = (page["path"].as_str().unwrap(), page["variant"].as_str().unwrap());
        let url = format!("http://{variant}.{}.test/{path}", page["site"].as_str().unwrap());
        let body = std::fs::read(data.parent().unwrap().join("pages").join(path)).unwrap();
        let page = Page { url: url.parse().ok(), body, ..Page::default() };
        let (document, _) = several[0].documents().page(&extractor, &page);
        let place = variant.bytes().map(usize::from).sum::<usize>() % 3;
        let of_one = !one.judge(&document).unwrap().verdict.is_unique();
        let of_several = !several[place].judge(&document).unwrap().verdict.is_unique();
        counts[usize::from(of_one) + 2 * usize::from(of_several)] += 1;
    }
    let [neither, only_one, only_several, both] = counts;
    note(format_args!(
        "{neither} unique, {both} recognised by both, {only_one} by one filter only, {only_several} by three only"
    ));
    assert!(both + only_several >= (both + only_one) * 95 / 100);
}

/// Unique pages, judged by eight filters at once.
#[test]
#[ignore = "it measures: `cargo test --release --test it cost_of_a_claim -- --ignored --nocapture`"]
fn the_cost_of_a_claim() {
    let Some(server) = Postgres::start() else { return skip_without_server() };
    let (before, server) = (server.cpu(), &server);
    let one = |number: u64| {
        let mut filter = share(server, "cost");
        let mut took = Vec::new();
        for place in 0..2500_u64 {
            let id = format!("http://site{number}.test/{place}");
            let document =
                page(&filter, &id, number * 10_000 + place, (number * 10_000 + place, 0));
            let began = std::time::Instant::now();
            assert!(filter.judge(&document).unwrap().verdict.is_unique());
            took.push(began.elapsed());
        }
        took
    };
    let mut took: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|number| scope.spawn(move || one(number))).collect();
        all.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    took.sort();
    // Statistics of processes come late.
    thread::sleep(std::time::Duration::from_secs(1));
    let micros = (server.cpu() - before) * 1e6 / f64::from(u32::try_from(took.len()).unwrap());
    let (half, most) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    let generations = &status(&server.address("cost").parse().unwrap()).unwrap()["generations"];
    note(format_args!(
        "{micros:.0} us of the server's CPU, p50 {half:?}, p99 {most:?}, {generations}"
    ));
}
