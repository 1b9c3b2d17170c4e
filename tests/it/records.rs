//! WARC and WET files as input: of our own crawls, as others write them, and damaged ones.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
};

use flate2::{
    Compression,
    bufread::{GzDecoder, MultiGzDecoder},
    write::GzEncoder,
};
use serde_json::Value;

use crate::{
    cli::{lines, pagesieve, stderr, stdout},
    server::{Reply, Routes, Server},
};

/// Some words that no other name gives.
fn text(name: &str) -> String {
    (0..80).map(|word| format!("{name}{word} ")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::default());
    member.write_all(bytes).unwrap();
    member.finish().unwrap()
}

/// A frame with a checksum.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = zstd::Encoder::new(Vec::new(), 0).unwrap();
    frame.include_checksum(true).unwrap();
    frame.write_all(bytes).unwrap();
    frame.finish().unwrap()
}

/// A record of any kind.
fn record(kind: &str, uri: &str, content_type: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: 2024-05-06T07:08:09Z\r\n\
         Content-Type: {content_type}\r\n{more}Content-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

const HTTP: &str = "application/http; msgtype=response";

fn page(uri: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let block = [b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n", body].concat();
    record("response", uri, HTTP, "", &block)
}

fn html(name: &str) -> Vec<u8> {
    let uri = format!("http://{name}.test/");
    page(&uri, "Content-Type: text/html\r\n", format!("<p>{}", text(name)).as_bytes())
}

/// The ids and verdicts, or the errors.
fn answers(lines: &[Value]) -> Vec<String> {
    let answer = |line: &Value| match line["error"].as_str() {
        Some(error) => format!("{}: {error}", line["offset"]),
        None => format!("{} {}", line["id"].as_str().unwrap(), line["verdict"].as_str().unwrap()),
    };
    lines.iter().map(answer).collect()
}

/// A crawl that keeps all duplicates, with a WARC file: its lines.
fn crawl(directory: &Path) -> Vec<Value> {
    let mut routes = Routes::new();
    let links: String =
        (0..12).map(|n| format!("<a href=/{n}>x</a><a href=http://b.test/{n}>x</a>")).collect();
    routes = routes.at(
        "a.test",
        "/",
        Reply::html(format!(
            "<p>{}</p>{links}<a href=/same>x</a><a href=/again>x</a>",
            text("start")
        )),
    );
    for path in ["/same", "/again"] {
        // The same text in another body.
        let body = format!("<title>{path}</title><p>{}</p>", text("same"));
        routes = routes.at("a.test", path, Reply::html(body));
    }
    for n in 0..12 {
        let body = format!("<title>{n}</title><p>{}</p>", text(&format!("page{}x", n / 2)));
        let reply = match n % 4 {
            0 => Reply::html(gzip(body.as_bytes())).header("Content-Encoding", "gzip"),
            1 => Reply::html(body.clone()).chunked(),
            2 => Reply::new(
                200,
                format!("{body}<p>\u{e9}t\u{e9}").chars().map(|c| c as u8).collect::<Vec<_>>(),
            )
            .header("Content-Type", "text/html; charset=iso-8859-1"),
            _ => Reply::new(200, zstd::encode_all(body.as_bytes(), 0).unwrap())
                .header("Content-Type", "text/html")
                .header("Content-Encoding", "zstd"),
        };
        routes = routes.at("a.test", &format!("/{n}"), reply);
        let near = Reply::html(format!("<p>{} and one more</p>", text(&format!("page{}x", n / 2))));
        let other = if n == 3 { Reply::text(body) } else { near };
        routes = routes.at("b.test", &format!("/{n}"), other);
    }
    let server = Server::start(routes);
    let address = server.address();
    let keep = "{ store = 'keep', links = 'follow' }";
    let config = format!(
        "[crawl]\nuser_agent = 'bot/1'\nconcurrency = 1\n[politeness]\ndelay = '0s'\n[store]\nwarc = true\n\
         [fetch]\nresolve = {{ 'a.test' = '{address}', 'b.test' = '{address}' }}\n\
         [dedup]\nseed = 'public'\nsame_site = {keep}\ncross_site = {keep}\n\
         [[seeds]]\nurl = 'http://a.test/'\nscope = 'any'\n"
    );
    fs::write(directory.join("run.toml"), config).unwrap();
    pagesieve().current_dir(directory).args(["crawl", "run.toml"]).assert().success();
    let lines = fs::read_to_string(directory.join("runs/run/pages.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_warc_file_of_a_crawl_gives_the_same_decisions_in_any_compression() {
    let directory = tempfile::tempdir().unwrap();
    let pages = crawl(directory.path());
    let gz = directory.path().join("runs/run/warc/run-00000.warc.gz");
    let members = fs::read(&gz).unwrap();
    let mut plain = Vec::new();
    MultiGzDecoder::new(&members[..]).read_to_end(&mut plain).unwrap();
    let records: Vec<&[u8]> = split(&plain);
    let frames: Vec<u8> =
        records.iter().flat_map(|record| zstd::encode_all(*record, 0).unwrap()).collect();
    for (name, bytes) in [
        ("plain", plain.clone()),
        ("whole.gz", gzip(&plain)),
        ("whole.zst", zstd::encode_all(&plain[..], 0).unwrap()),
        ("records.zst", frames),
        // Compressed in blocks, regardless of the records.
        ("blocks.gz", plain.chunks(777).flat_map(gzip).collect()),
    ] {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let filter = |file: &Path| {
        let mut command = pagesieve();
        let assert = command.current_dir(&directory).arg("filter").arg(file).assert().success();
        (lines(&assert), stderr(&assert))
    };
    let (decisions, told) = filter(&gz);
    // What has the same payload as an earlier response is a revisit, without a payload of its own.
    let is_revisit = |page: &Value| {
        let offset = usize::try_from(page["warc"]["offset"].as_u64().unwrap()).unwrap();
        let mut record = String::new();
        let read = GzDecoder::new(&members[offset..]).take(100).read_to_string(&mut record);
        read.unwrap();
        record.contains("WARC-Type: revisit")
    };
    let expected: Vec<_> = pages.iter().filter(|page| !is_revisit(page)).collect();
    assert!(expected.len() < pages.len() && expected.len() > 15, "{}", expected.len());
    assert_eq!(decisions.len(), expected.len());
    for (decision, page) in decisions.iter().zip(&expected) {
        for field in
            ["id", "verdict", "step", "match", "fingerprint", "chars", "features", "lang", "thin"]
        {
            assert_eq!(decision[field], page[field], "{field} of {}", page["id"]);
        }
    }
    for verdict in ["unique", "exact", "near"] {
        let found = decisions.iter().any(|line| line["verdict"] == verdict);
        assert!(found, "{verdict}: {:?}", answers(&decisions));
    }
    assert!(
        told.starts_with("records that are no documents: ") && told.contains(" revisit, "),
        "{told}"
    );
    for name in ["plain", "whole.gz", "whole.zst", "records.zst", "blocks.gz"] {
        let (same, same_told) = filter(Path::new(name));
        assert_eq!((same, same_told), (decisions.clone(), told.clone()), "{name}");
    }
    let piped = pagesieve().arg("filter").write_stdin(members).assert().success();
    assert_eq!(lines(&piped), decisions);
}

/// The records of a plain file.
fn split(plain: &[u8]) -> Vec<&[u8]> {
    let starts = plain.windows(7).enumerate().filter(|(_, seven)| seven.starts_with(b"WARC/1."));
    let mut starts: Vec<_> = starts.map(|(at, _)| at).collect();
    starts.push(plain.len());
    starts.windows(2).map(|two| &plain[two[0]..two[1]]).collect()
}

/// Records as Common Crawl and others write them.
fn common() -> Vec<Vec<u8>> {
    let encoded = format!("<meta charset=gbk><p>{}", text("coded"));
    vec![
        record("warcinfo", "", "application/warc-fields", "", b"software: x\r\n"),
        record(
            "request",
            "http://a.test/",
            "application/http; msgtype=request",
            "",
            b"GET / HTTP/1.1\r\n\r\n",
        ),
        html("a"),
        record("metadata", "http://a.test/", "application/warc-fields", "", b"fetchTimeMs: 5\r\n"),
        // The coding is removed, and its name kept.
        page(
            "http://b.test/",
            "Content-Type: text/html\r\nX-Crawler-Content-Encoding: gzip\r\n",
            encoded.as_bytes(),
        ),
        page(
            "http://c.test/",
            "Content-Type: text/html\r\nContent-Encoding: gzip\r\n",
            encoded.as_bytes(),
        ),
        page("http://d.test/", "Content-Type: application/pdf\r\n", b"%PDF"),
        page("<http://e.test/>", "", format!("<html><p>{}", text("e")).as_bytes()),
        record(
            "response",
            "http://f.test/",
            HTTP,
            "",
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>no",
        ),
        record("response", "dns:g.test", "text/dns", "", b"g.test. A 127.0.0.1"),
        record("revisit", "http://h.test/", HTTP, "", b"HTTP/1.1 200 OK\r\n\r\n"),
        record(
            "response",
            "http://i.test/",
            HTTP,
            "WARC-Truncated: length\r\n",
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{}", text("i"))
                .as_bytes(),
        ),
        record("conversion", "http://j.test/", "text/plain", "", text("i").as_bytes()),
        record(
            "resource",
            "file:///k.html",
            "text/html",
            "",
            format!("<p>{}", text("k")).as_bytes(),
        ),
    ]
}

#[test]
fn all_kinds_of_records_are_read_or_counted() {
    for (name, file) in
        [("plain", common().concat()), ("gzip", common().iter().flat_map(|it| gzip(it)).collect())]
    {
        let assert = pagesieve().arg("filter").write_stdin(file.clone()).assert().success();
        let decisions = lines(&assert);
        assert_eq!(
            answers(&decisions),
            [
                "http://a.test/ unique",
                "http://b.test/ unique",
                "http://c.test/ exact",
                "http://e.test/ unique",
                "http://i.test/ unique",
                "http://j.test/ exact",
                "file:///k.html unique"
            ],
            "{name}"
        );
        assert_eq!(decisions[4]["truncated"], "body");
        assert_eq!(decisions[0]["url"], "http://a.test/");
        assert_eq!(
            stderr(&assert),
            "records that are no documents: 1 metadata, 1 request, 1 responses that are not HTML, 1 responses that are not HTTP, \
             1 responses with another status than 2xx, 1 revisit, 1 warcinfo\n"
        );
        let extracted = pagesieve().arg("extract").write_stdin(file).assert().success();
        assert_eq!(lines(&extracted)[1]["charset"], "GBK");
    }
}

#[test]
fn a_damaged_record_is_named_and_ends_the_file() {
    let [a, b, c] = ["a", "b", "c"].map(html);
    let uniques = ["http://a.test/ unique", "http://c.test/ unique"];
    let filter = |file: Vec<u8>| {
        let assert = pagesieve().arg("filter").write_stdin(file).assert().code(1);
        let answers = answers(&lines(&assert));
        assert_eq!(
            stderr(&assert).matches("standard input: record at byte").count(),
            1,
            "{answers:?}"
        );
        answers
    };
    let changed = |record: &[u8], from: &str, to: &str| {
        String::from_utf8(record.to_vec()).unwrap().replace(from, to).into_bytes()
    };
    let length = b.len() - b.windows(4).position(|it| it == b"\r\n\r\n").unwrap() - 8;
    let named = format!("Content-Length: {length}");
    for (from, to, why) in [
        ("WARC/1.0", "WAXC/1.0", "no record starts here"),
        ("WARC-Type", "WARC-Tope", "WARC-Type is missing or too long"),
        (&*named, "Content-Length: x", "Content-Length is missing or no number"),
        (&*named, "Content-Length: 20", "its length is not what its header says"),
        (
            &*named,
            &*format!("Content-Length: {}", length + 99),
            "its length is not what its header says",
        ),
        (&*named, "Content-Length: 60000000", "the file ends in this record"),
        ("HTTP/1.1 200", "HTXP/1.1 200", "the block has no HTTP response"),
    ] {
        let broken = changed(&b, from, to);
        // A record that is whole is skipped.
        let is_whole = why.starts_with("the block");
        let expected = |offset: usize| {
            let end = if is_whole { "" } else { "; the rest of the file is not read" };
            let mut expected = vec![uniques[0].to_owned(), format!("{offset}: {why}{end}")];
            expected.extend(is_whole.then(|| uniques[1].to_owned()));
            expected
        };
        assert_eq!(filter([&*a, &broken, &c].concat()), expected(a.len()), "{to}");
        let members = [gzip(&a), gzip(&broken), gzip(&c)].concat();
        assert_eq!(filter(members), expected(gzip(&a).len()), "{to}, compressed");
    }
    for compress in [gzip, zstd] {
        let [a, b, c] = [&a, &b, &c].map(|record| compress(record));
        for place in [12, 30, b.len() / 2, b.len() - 3] {
            let mut broken = b.clone();
            broken[place] ^= 0x55;
            let answers = filter([&*a, &broken, &c].concat());
            assert_eq!((&*answers[0], answers.len()), (uniques[0], 2), "{answers:?}");
            assert!(answers[1].starts_with(&format!("{}: ", a.len())), "{answers:?}");
        }
        let answers = filter([&*a, &b[..b.len() - 9]].concat());
        assert!(answers.len() == 2 && answers[1].contains("cannot be decompressed"), "{answers:?}");
    }
}

#[test]
fn what_looks_like_a_record_again_and_again_takes_no_longer() {
    for (start, again) in
        [("", "WARC/"), ("", "WARC/1.0\n"), ("Content-Length: 60000000\r\n\r\n", "WARC/1.0\n")]
    {
        let head = format!("WARC/1.0\r\nWARC-Type: response\r\n{start}");
        let file = head + &again.repeat(4_000_000);
        let assert = pagesieve().arg("filter").write_stdin(file).assert().code(1);
        assert_eq!(lines(&assert).len(), 1);
    }
}

#[test]
fn a_record_that_is_too_long_is_skipped() {
    let mut long = html("b");
    let text = String::from_utf8(std::mem::take(&mut long)).unwrap();
    let length = text.split("Content-Length: ").nth(1).unwrap().split('\r').next().unwrap();
    let body = 70 << 20;
    let head = text
        .split("\r\n\r\n")
        .next()
        .unwrap()
        .replace(&format!("Content-Length: {length}"), &format!("Content-Length: {body}"));
    let long = [head.as_bytes(), b"\r\n\r\n", &vec![b' '; body], b"\r\n\r\n"].concat();
    for file in [
        [html("a"), long.clone(), html("c")].concat(),
        [gzip(&html("a")), gzip(&long), gzip(&html("c"))].concat(),
    ] {
        let assert = pagesieve().arg("filter").write_stdin(file).assert().code(1);
        let answers = answers(&lines(&assert));
        assert_eq!([&*answers[0], &answers[2]], ["http://a.test/ unique", "http://c.test/ unique"]);
        assert!(answers[1].ends_with("longer than 64 MiB and was skipped"), "{answers:?}");
    }
}

#[test]
fn the_content_of_a_file_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("{{\"id\": \"line\", \"text\": \"{}\"}}\n", text("line"));
    let files: [(&str, Vec<u8>); 6] = [
        ("a.warc", line.clone().into_bytes()),
        ("b.jsonl", html("b")),
        ("c.jsonl.gz", gzip(line.as_bytes())),
        ("d.dat", zstd::encode_all(line.as_bytes(), 0).unwrap()),
        ("e.txt", format!("\u{feff}\n<!doctype html><p>{}", text("e")).into_bytes()),
        ("f.html.gz", gzip(format!("<p>{}", text("f")).as_bytes())),
    ];
    let mut command = pagesieve();
    command.current_dir(&directory).arg("filter");
    for (name, bytes) in &files {
        fs::write(directory.path().join(name), bytes).unwrap();
        command.arg(name);
    }
    let decisions = lines(&command.assert().success().stderr(""));
    assert_eq!(
        answers(&decisions),
        [
            "line unique",
            "http://b.test/ unique",
            "line unchanged",
            "line unchanged",
            "e.txt unique",
            "f.html.gz unique"
        ]
    );
}

#[test]
fn other_archives_are_refused_with_a_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = pagesieve();
    command.current_dir(&directory).arg("filter");
    for (name, bytes) in
        [("a", &b"\xfd7zXZ\0.."[..]), ("b", b"BZh91AY"), ("c", b"PK\x03\x04.."), ("d", b"PAR1..")]
    {
        fs::write(directory.path().join(name), bytes).unwrap();
        command.arg(name);
    }
    let assert = command.assert().code(1);
    insta::assert_snapshot!(stderr(&assert), @r"
    a is not read: it is compressed by xz; write `xzcat FILE | pagesieve …`
    b is not read: it is compressed by bzip2; write `bzcat FILE | pagesieve …`
    c is not read: it is a ZIP or WACZ archive; unpack it and name the files in it
    d is not read: Parquet files are read by the Python package only
    ");
    assert_eq!(stdout(&assert).lines().count(), 4);
}
