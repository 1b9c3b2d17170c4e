//! The files of a run, beyond what holds for every run.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use flate2::bufread::GzDecoder;
use pagesieve::{
    crawl,
    crawl::scope::Reach,
    crawl::{Links, Policy, Store},
};
use serde_json::Value;

use super::site::{Site, exported, html, page};
use crate::{
    cli::{pagesieve, stdout},
    server::{Reply, Routes},
    warc::warcio,
};

/// A site with a response of every kind.
fn all_kinds() -> Site {
    let links = [
        "/same",
        "/twin",
        "/near",
        "/moved",
        "/dead",
        "/shaky",
        "/pdf",
        "/hidden",
        "/forbidden",
        "/packed",
    ];
    let long = html("long", 800, &[]);
    let packed = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, html("packed", 80, &[]).as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let routes = Routes::new()
        .at("*", "/robots.txt", Reply::text("User-agent: *\nDisallow: /forbidden"))
        .at("*", "/", page("seed", &links))
        .at("*", "/same", Reply::html(long.clone()))
        .at("*", "/twin", Reply::html(long.clone()))
        .at("*", "/near", Reply::html(long.replace("<title>long", "<title>near")))
        .at("*", "/moved", Reply::redirect(301, "/target"))
        .at("*", "/target", page("target", &[]).chunked())
        .script("*", "/shaky", [Reply::new(503, "wait"), page("shaky", &[])])
        .at("*", "/pdf", Reply::new(200, "%PDF").header("Content-Type", "application/pdf"))
        .at("*", "/hidden", page("hidden", &[]).header("X-Robots-Tag", "noindex"))
        .at("*", "/packed", Reply::html(packed).header("Content-Encoding", "gzip"));
    Site::new(routes, &["a.test/"]).planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap())
}

#[test]
fn the_line_of_a_page_says_where_it_was_found() {
    let site = all_kinds();
    site.run_fast();
    let line = site.line("a.test/target");
    assert_eq!(line["id"], "http://a.test/target");
    assert_eq!(line["title"], "target");
    assert_eq!(line["status"], 200);
    assert_eq!(line["content_type"], "text/html; charset=utf-8");
    assert_eq!(line["charset"], "UTF-8");
    assert_eq!(line["referrer"], "http://a.test/moved");
    assert_eq!(line["seed"], "http://a.test/");
    assert_eq!(line["tags"], Value::Array(vec![]));
    assert_eq!(line["warc"], Value::Null);
    let text = line["text"].as_str().unwrap();
    assert_eq!(line["chars"], text.chars().count());
    let (fingerprint, signature) =
        (line["fingerprint"].as_str().unwrap(), line["signature"].as_str().unwrap());
    assert_eq!((fingerprint.len(), signature.len()), (16, 64));
    assert!(signature.starts_with(fingerprint));
    assert!(line["fetched_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(site.line("a.test/")["referrer"], Value::Null);
}

#[test]
fn store_text_false_omits_the_text() {
    let site = all_kinds().planned(|plan| plan.store.text = false);
    site.run_fast();
    let lines = site.lines("pages.jsonl");
    assert!(!lines.is_empty() && lines.iter().all(|line| line.get("text").is_none()));
}

/// A record of a WARC file: its position, header and block.
struct Found {
    file: String,
    offset: usize,
    length: usize,
    header: String,
    block: Vec<u8>,
}

impl Found {
    fn field(&self, name: &str) -> Option<&str> {
        self.header.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap()
    }
}

/// All records of a run, each read from a gzip member of its own.
fn records(directory: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for path in warcs(directory) {
        let file = fs::read(&path).unwrap();
        let mut offset = 0;
        while offset < file.len() {
            let mut rest = &file[offset..];
            let mut whole = Vec::new();
            GzDecoder::new(&mut rest).read_to_end(&mut whole).unwrap();
            let length = file.len() - offset - rest.len();
            let end = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            found.push(Found {
                file: format!("warc/{}", path.file_name().unwrap().to_str().unwrap()),
                offset,
                length,
                header: String::from_utf8(whole[..end].to_vec()).unwrap(),
                block: whole[end + 4..whole.len() - 4].to_vec(),
            });
            offset += length;
        }
    }
    found
}

fn warcs(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(directory.join("warc")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn a_warc_file_holds_every_exchange_and_lines_say_where() {
    let site = all_kinds().planned(|plan| plan.store.warc = true);
    site.run_fast();
    let records = records(site.path());
    assert_eq!(records[0].kind(), "warcinfo");
    let of = |kind: &str, path: &str| {
        let url = format!("http://a.test{path}");
        records
            .iter()
            .filter(|found| found.kind() == kind && found.field("WARC-Target-URI") == Some(&url))
            .collect::<Vec<_>>()
    };
    for path in
        ["/robots.txt", "/", "/same", "/moved", "/target", "/dead", "/pdf", "/hidden", "/packed"]
    {
        assert_eq!((of("request", path).len(), of("response", path).len()), (1, 1), "{path}");
    }
    assert_eq!(of("response", "/shaky").len(), 2, "the answer after which it was tried again, too");
    let statuses: Vec<_> =
        of("response", "/shaky").iter().map(|found| found.block[9..12].to_vec()).collect();
    assert_eq!(statuses, [b"503", b"200"]);
    assert!(of("request", "/forbidden").is_empty());
    assert_eq!(records.len(), 1 + 2 * site.server.requests().len());

    let twin = of("revisit", "/twin");
    assert_eq!(twin.len(), 1);
    assert_eq!(twin[0].field("WARC-Refers-To-Target-URI"), Some("http://a.test/same"));
    assert_eq!(of("response", "/twin").len(), 0);
    assert_eq!(of("metadata", "/near").len(), 1);
    let metadata: Value = serde_json::from_slice(&of("metadata", "/near")[0].block).unwrap();
    assert_eq!(metadata["verdict"], "exact");
    let original = of("response", "/same")[0];
    assert_eq!(twin[0].field("WARC-Refers-To-Date"), original.field("WARC-Date"));

    for line in site.lines("pages.jsonl") {
        let at = |name: &str| usize::try_from(line["warc"][name].as_u64().unwrap()).unwrap();
        let found = records
            .iter()
            .find(|found| {
                line["warc"]["file"] == found.file.as_str() && at("offset") == found.offset
            })
            .expect("a record begins there");
        assert_eq!(at("length"), found.length);
        assert_eq!(found.kind(), "response");
        assert_eq!(found.field("WARC-Target-URI"), line["url"].as_str());
    }
    let target = String::from_utf8_lossy(&of("response", "/target")[0].block).to_lowercase();
    assert!(!target.contains("transfer-encoding"), "{target}");
    let packed = of("response", "/packed")[0];
    assert!(packed.block.windows(2).any(|pair| pair == b"\x1F\x8B"), "the content coding is kept");
    let dead = String::from_utf8_lossy(&of("response", "/dead")[0].block).into_owned();
    assert!(dead.ends_with("not here"), "{dead}");
}

#[test]
fn a_response_that_broke_off_is_archived_as_truncated() {
    let slow = page("slow", &[]).drip(100, Duration::from_millis(300));
    let long = html("bomb", 20, &[]) + &"x".repeat(3 << 20);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, long.as_bytes()).unwrap();
    let bomb = encoder.finish().unwrap();
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/cut", "/slow", "/garbage", "/bomb", "/none", "/long"]))
        .at("*", "/cut", page("cut", &[]).cut(50))
        .at("*", "/slow", slow)
        .at("*", "/garbage", Reply::html("\0no gzip").header("Content-Encoding", "gzip"))
        .at("*", "/bomb", Reply::html(bomb).header("Content-Encoding", "gzip"))
        .at("*", "/long", Reply::html(html("long", 2000, &[])))
        .at("*", "/none", Reply::raw(""));
    let site = Site::new(routes, &["a.test/"]).planned(|plan| {
        plan.store.warc = true;
        plan.fetch.retries = 0;
        plan.fetch.timeout = Duration::from_millis(900);
        plan.fetch.max_body = bytesize::ByteSize(4 << 20);
    });
    site.run();
    let records = records(site.path());
    let cut = |path: &str| {
        let url = format!("http://a.test{path}");
        let found = records.iter().find(|found| {
            found.kind() == "response" && found.field("WARC-Target-URI") == Some(&url)
        });
        found.map(|found| (found.field("WARC-Truncated"), found))
    };
    let (why, found) = cut("/cut").unwrap();
    assert_eq!(why, Some("disconnect"));
    let block = String::from_utf8_lossy(&found.block).into_owned();
    let (_, body) = block.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, &html("cut", 60, &[])[..50]);
    assert!(block.to_lowercase().contains("content-length: 50\r\n"), "{block}");
    assert_eq!(cut("/slow").unwrap().0, Some("time"));
    assert_eq!(cut("/garbage").unwrap().0, Some("unspecified"));
    assert_eq!(cut("/bomb").unwrap().0, Some("length"));
    assert_eq!(cut("/long").unwrap().0, None);
    assert!(cut("/none").is_none(), "nothing came");
    let path = warcs(site.path()).pop().unwrap();
    let Some(printed) = warcio(&["check", "-v", path.to_str().unwrap()]) else { return };
    assert!(!printed.contains("fail"), "{printed}");
}

#[test]
fn a_warc_file_is_read_by_warcio() {
    let site = all_kinds().planned(|plan| plan.store.warc = true);
    site.run_fast();
    let path = warcs(site.path()).pop().unwrap();
    let Some(printed) = warcio(&["check", "-v", path.to_str().unwrap()]) else { return };
    assert!(!printed.contains("fail"), "{printed}");
    let fields = "offset,warc-type,warc-target-uri,http:status";
    let Some(printed) = warcio(&["index", "-f", fields, path.to_str().unwrap()]) else { return };
    let rows: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), records(site.path()).len());
    let count = |status: &str| rows.iter().filter(|row| row["http:status"] == status).count();
    assert_eq!((count("301"), count("404"), count("503")), (1, 1, 1));
}

#[test]
fn a_kept_duplicate_has_a_response_of_its_own_unless_the_payload_is_equal() {
    let keep = Policy::new(Store::Keep, Links::Skip);
    let site = all_kinds().planned(|plan| {
        plan.store.warc = true;
        plan.dedup.same_site = keep;
    });
    site.run_fast();
    let records = records(site.path());
    let kinds = |path: &str| {
        let url = format!("http://a.test{path}");
        let of_url = records.iter().filter(|found| found.field("WARC-Target-URI") == Some(&url));
        of_url.map(Found::kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds("/twin"), ["request", "revisit"]);
    assert_eq!(kinds("/near"), ["request", "response", "metadata"]);
    let line = site.line("a.test/near");
    assert_eq!((&line["verdict"], &line["step"]), (&"exact".into(), &"text".into()));
    let at = line["warc"]["offset"].as_u64().unwrap();
    let found = records.iter().find(|found| found.offset as u64 == at).unwrap();
    assert_eq!(found.kind(), "response");
}

#[test]
fn a_report_is_written_again_from_the_state() {
    let site = all_kinds();
    let report = site.run_fast();
    let files = ["report.json", "report.html"];
    let read = |file: &str| fs::read(site.path().join(file)).unwrap();
    let before = files.map(read);
    for file in files {
        fs::remove_file(site.path().join(file)).unwrap();
    }
    assert_eq!(crawl::report(site.path()).unwrap(), (report.clone(), true));
    assert_eq!(files.map(read), before);

    for file in files {
        fs::remove_file(site.path().join(file)).unwrap();
    }
    let asked = site.server.requests().len();
    assert_eq!(site.run().counts, report.counts);
    assert_eq!(site.server.requests().len(), asked);
}

#[test]
fn export_prints_the_urls_that_were_skipped_or_those_that_are_queued() {
    let site = all_kinds().planned(|plan| plan.crawl.max_pages = 3);
    site.run_fast();
    let export = |more: &[&str]| {
        stdout(&pagesieve().arg("export").arg(site.path()).args(more).assert().success())
    };
    let (skipped, pending) = (export(&[]), export(&["--pending"]));
    assert!(!skipped.contains("\"pending\"") && pending.contains("\"pending\""), "{pending}");
    assert_eq!(skipped.lines().chain(pending.lines()).collect::<Vec<_>>(), exported(site.path()));
    assert!(!site.path().join("skipped.jsonl").exists());
}

#[test]
fn every_url_that_was_requested_has_a_line_and_every_other_a_reason() {
    let site = all_kinds().planned(|plan| plan.seeds[0].scope = Reach::Any);
    site.run_fast();
    let outcomes = site.outcomes();
    for url in site.all_asked().keys() {
        assert!(outcomes.contains_key(url), "{url}");
    }
    for (url, outcome) in &outcomes {
        assert_eq!(
            site.asked(url) == 0,
            ["robots", "scope", "depth"].contains(&&**outcome),
            "{url}: {outcome}"
        );
    }
}
