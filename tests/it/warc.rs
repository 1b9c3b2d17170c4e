//! WARC files: read back here, and by an independent reader (warcio) if it is installed.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::bufread::GzDecoder;
use pagesieve::{
    page::Timestamp,
    sink::{
        Mark, RecordPosition, SinkError,
        warc::{Cut, Exchange, ExchangeKind, Original, PayloadDigest, RunFields, Warc},
    },
};
use tempfile::tempdir;

use crate::{data::skip, sink::near};

const FILE: &str = "warc/docs-00000.warc.gz";

fn run() -> RunFields {
    RunFields {
        name: "docs".to_owned(),
        user_agent: "pagesieve/0.1 (+mailto:a@b.test)".to_owned(),
        obey_robots: true,
    }
}

fn exchange(uri: &str, response_head: &str, body: &'static [u8]) -> Exchange {
    Exchange {
        target_uri: uri.to_owned(),
        at: Timestamp(1_795_132_800_250),
        address: Some("127.0.0.1".parse().unwrap()),
        request_head: b"GET /a HTTP/1.1\r\nhost: docs.test\r\n\r\n".to_vec(),
        response_head: response_head.as_bytes().to_vec(),
        body: body.to_vec(),
        truncated: None,
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n";

/// The record at a position, which must be exactly one gzip member: header fields and block.
fn record(directory: &Path, position: &RecordPosition) -> (String, Vec<u8>) {
    let file = fs::read(directory.join(&position.file)).unwrap();
    let from = usize::try_from(position.offset).unwrap();
    let to = from + usize::try_from(position.length).unwrap();
    let mut member = &file[from..to];
    let mut whole = Vec::new();
    GzDecoder::new(&mut member).read_to_end(&mut whole).unwrap();
    assert!(member.is_empty(), "the position is one whole member");
    let end = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let header = String::from_utf8(whole[..end].to_vec()).unwrap();
    assert!(whole.ends_with(b"\r\n\r\n"));
    (header, whole[end + 4..whole.len() - 4].to_vec())
}

fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn write_one(exchange: &Exchange, kind: &ExchangeKind<'_>) -> (String, String) {
    let directory = tempdir().unwrap();
    let mut warc = Warc::open(directory.path(), run(), &[]).unwrap();
    let position = warc.write(exchange, kind).unwrap();
    warc.sync().unwrap();
    let (header, block) = record(directory.path(), &position);
    (header, String::from_utf8(block).unwrap())
}

#[test]
fn a_payload_digest_is_sha1_in_base_32() {
    // As other tools write the digest of nothing.
    assert_eq!(PayloadDigest::of(b"").to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
}

#[test]
fn a_response_is_found_at_its_position() {
    let (header, block) =
        write_one(&exchange("http://docs.test/a", OK, b"<p>a"), &ExchangeKind::Response);
    assert_eq!(header.lines().next(), Some("WARC/1.1"));
    assert_eq!(field(&header, "WARC-Type"), Some("response"));
    assert_eq!(field(&header, "WARC-Target-URI"), Some("http://docs.test/a"));
    assert_eq!(field(&header, "WARC-Date"), Some("2026-11-20T00:00:00.25Z"));
    assert_eq!(field(&header, "WARC-IP-Address"), Some("127.0.0.1"));
    assert_eq!(field(&header, "Content-Type"), Some("application/http;msgtype=response"));
    assert_eq!(field(&header, "Content-Length"), Some(block.len().to_string().as_str()));
    let payload = PayloadDigest::of(b"<p>a").to_string();
    assert_eq!(field(&header, "WARC-Payload-Digest"), Some(payload.as_str()));
    let whole = PayloadDigest::of(block.as_bytes()).to_string();
    assert_eq!(field(&header, "WARC-Block-Digest"), Some(whole.as_str()));
    assert_eq!(block, format!("{OK}<p>a"));
}

#[test]
fn a_record_id_is_a_uuid_of_version_4() {
    let (header, _) = write_one(&exchange("http://docs.test/a", OK, b""), &ExchangeKind::Response);
    let id = field(&header, "WARC-Record-ID").unwrap();
    let uuid = id.strip_prefix("<urn:uuid:").unwrap().strip_suffix('>').unwrap();
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12]);
    assert_eq!(uuid.as_bytes()[14], b'4');
    assert!(b"89ab".contains(&uuid.as_bytes()[19]));
    assert_ne!(field(&header, "WARC-Concurrent-To"), Some(id));
}

#[test]
fn a_transfer_coding_is_removed_and_the_length_corrected() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n";
    let (_, block) =
        write_one(&exchange("http://docs.test/a", head, b"12345"), &ExchangeKind::Response);
    assert_eq!(
        block,
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n12345"
    );
}

#[test]
fn a_cut_body_is_marked_and_its_length_corrected() {
    let head = "HTTP/2 200\r\ncontent-length: 99\r\nx-a: 1\r\n";
    let cut =
        Exchange { truncated: Some(Cut::Length), ..exchange("http://docs.test/a", head, b"12345") };
    let (header, block) = write_one(&cut, &ExchangeKind::Response);
    assert_eq!(field(&header, "WARC-Truncated"), Some("length"));
    assert_eq!(block, "HTTP/1.1 200\r\nx-a: 1\r\nContent-Length: 5\r\n\r\n12345");
}

#[test]
fn an_equal_payload_becomes_a_revisit() {
    let decision = near("http://docs.test/b", "http://docs.test/a");
    let original = Original {
        target_uri: "http://docs.test/a",
        at: Timestamp(1_795_132_800_000),
        payload: PayloadDigest::of(b"same"),
    };
    let kind =
        ExchangeKind::Duplicate { decision: &decision, original: Some(original), keep: false };
    let (header, block) = write_one(&exchange("http://docs.test/b", OK, b"same"), &kind);
    assert_eq!(field(&header, "WARC-Type"), Some("revisit"));
    assert_eq!(
        field(&header, "WARC-Profile"),
        Some("http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
    );
    assert_eq!(field(&header, "WARC-Refers-To-Target-URI"), Some("http://docs.test/a"));
    assert_eq!(field(&header, "WARC-Refers-To-Date"), Some("2026-11-20T00:00:00Z"));
    assert_eq!(block, OK);
}

#[test]
fn another_duplicate_becomes_metadata_instead_of_its_body() {
    let decision = near("http://docs.test/b", "http://docs.test/a");
    let kind = ExchangeKind::Duplicate { decision: &decision, original: None, keep: false };
    let (header, block) = write_one(&exchange("http://docs.test/b", OK, b"like it"), &kind);
    assert_eq!(field(&header, "WARC-Type"), Some("metadata"));
    assert_eq!(field(&header, "Content-Type"), Some("application/json"));
    let block: serde_json::Value = serde_json::from_str(&block).unwrap();
    assert_eq!(block["verdict"], "near");
    assert_eq!(block["match"]["id"], "http://docs.test/a");
    assert_eq!(block["response_head"], OK);
}

#[test]
fn a_duplicate_that_is_kept_has_its_response_as_well() {
    let directory = tempdir().unwrap();
    let mut warc = Warc::open(directory.path(), run(), &[]).unwrap();
    let decision = near("http://docs.test/b", "http://docs.test/a");
    let kind = ExchangeKind::Duplicate { decision: &decision, original: None, keep: true };
    let position = warc.write(&exchange("http://docs.test/b", OK, b"like it"), &kind).unwrap();
    let [mark] = warc.sync().unwrap().try_into().unwrap();
    let (header, block) = record(directory.path(), &position);
    assert_eq!(field(&header, "WARC-Type"), Some("response"));
    assert!(block.ends_with(b"like it"));
    let from = position.offset + position.length;
    let rest = RecordPosition { file: position.file, offset: from, length: mark.offset - from };
    assert_eq!(field(&record(directory.path(), &rest).0, "WARC-Type"), Some("metadata"));
}

#[test]
fn a_url_with_line_breaks_cannot_add_a_header_field() {
    let hostile = "http://docs.test/\r\nWARC-Type: warcinfo\r\n\r\n";
    let (header, _) = write_one(&exchange(hostile, OK, b""), &ExchangeKind::Response);
    assert_eq!(field(&header, "WARC-Target-URI"), Some("http://docs.test/WARC-Type: warcinfo"));
    assert_eq!(field(&header, "WARC-Type"), Some("response"));
}

#[test]
fn a_run_name_cannot_leave_the_directory() {
    let directory = tempdir().unwrap();
    let run = RunFields { name: "../../etc/名".to_owned(), ..run() };
    let mut warc = Warc::open(directory.path(), run, &[]).unwrap();
    assert_eq!(warc.sync().unwrap()[0].file, "warc/..-..-etc-名-00000.warc.gz");
}

#[test]
fn after_a_crash_writing_continues_behind_the_last_committed_member() {
    let directory = tempdir().unwrap();
    let page = |uri: &str| exchange(uri, OK, b"page");
    let mut warc = Warc::open(directory.path(), run(), &[]).unwrap();
    let first = warc.write(&page("http://docs.test/a"), &ExchangeKind::Response).unwrap();
    let committed = warc.sync().unwrap();
    warc.write(&page("http://docs.test/lost"), &ExchangeKind::Response).unwrap();
    let [torn] = warc.sync().unwrap().try_into().unwrap();
    drop(warc);
    let path = directory.path().join(FILE);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..usize::try_from(torn.offset).unwrap() - 7]).unwrap();
    fs::write(directory.path().join("warc/docs-00001.warc.gz"), b"begun after it").unwrap();

    let mut warc = Warc::open(directory.path(), run(), &committed).unwrap();
    let second = warc.write(&page("http://docs.test/b"), &ExchangeKind::Response).unwrap();
    warc.sync().unwrap();
    assert!(second.offset > first.offset + first.length);
    let uris: Vec<_> = [first, second]
        .iter()
        .map(|position| {
            field(&record(directory.path(), position).0, "WARC-Target-URI").unwrap().to_owned()
        })
        .collect();
    assert_eq!(uris, ["http://docs.test/a", "http://docs.test/b"]);
    assert_eq!(fs::read_dir(directory.path().join("warc")).unwrap().count(), 1);
}

#[test]
fn a_file_unknown_to_the_state_is_refused() {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join("warc")).unwrap();
    fs::write(directory.path().join(FILE), b"an archive").unwrap();
    let error = Warc::open(directory.path(), run(), &[]).unwrap_err();
    assert!(matches!(error, SinkError::Foreign { .. }), "{error}");
    let longer = [Mark { file: FILE.to_owned(), offset: 11 }];
    let error = Warc::open(directory.path(), run(), &longer).unwrap_err();
    assert!(matches!(error, SinkError::Shorter { .. }), "{error}");
}

/// One file with a record of each type and with the hard cases of heads and bodies.
fn sample(directory: &Path) -> (PathBuf, Vec<(RecordPosition, &'static str)>) {
    let mut warc = Warc::open(directory, run(), &[]).unwrap();
    let gzip: &[u8] =
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 4, 0, 0x43, 0xbe, 0xb7, 0xe8, 1, 0, 0, 0];
    let coded = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    let a = exchange("http://docs.test/a", coded, gzip);
    let moved = "HTTP/1.1 301 Moved Permanently\r\nLocation: /a\r\ncontent-length: 0\r\n";
    let cut = Exchange {
        truncated: Some(Cut::Time),
        address: Some("::1".parse().unwrap()),
        ..exchange("http://docs.test/long", "HTTP/2 200\r\ncontent-length: 999\r\n", b"12345")
    };
    let b = near("http://docs.test/b", "http://docs.test/a");
    let original =
        Original { target_uri: &a.target_uri, at: a.at, payload: PayloadDigest::of(&a.body) };
    let revisit = ExchangeKind::Duplicate { decision: &b, original: Some(original), keep: false };
    let metadata = ExchangeKind::Duplicate { decision: &b, original: None, keep: false };
    let kept = ExchangeKind::Duplicate { decision: &b, original: None, keep: true };
    let mut write =
        |exchange: &Exchange, kind: &ExchangeKind<'_>| warc.write(exchange, kind).unwrap();
    let positions = vec![
        (write(&a, &ExchangeKind::Response), "response"),
        (write(&exchange("http://docs.test/old", moved, b""), &ExchangeKind::Response), "response"),
        (write(&cut, &ExchangeKind::Response), "response"),
        (write(&exchange("http://docs.test/b", coded, gzip), &revisit), "revisit"),
        (write(&exchange("http://docs.test/c", OK, b"<p>c"), &metadata), "metadata"),
        (write(&exchange("http://docs.test/d", OK, b"<p>d"), &kept), "response"),
    ];
    warc.sync().unwrap();
    (directory.join(FILE), positions)
}

/// Runs warcio (`pip install warcio`) and returns what it prints, or `None` if it is not installed.
pub(crate) fn warcio(arguments: &[&str]) -> Option<String> {
    let python = |arguments: &[&str]| Command::new("python3").args(arguments).output();
    if !python(&["-c", "import warcio"]).is_ok_and(|output| output.status.success()) {
        skip("reading WARC files needs warcio: `pip install warcio`");
        return None;
    }
    let output = python(&[&["-m", "warcio.cli"], arguments].concat()).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    Some(printed)
}

#[test]
fn warcio_confirms_every_digest() {
    let directory = tempdir().unwrap();
    let (path, _) = sample(directory.path());
    let Some(printed) = warcio(&["check", "-v", path.to_str().unwrap()]) else { return };
    assert!(!printed.contains("fail"), "{printed}");
    assert_eq!(printed.matches("digest pass").count(), 13, "{printed}");
}

#[test]
fn warcio_finds_the_records_at_their_positions() {
    let directory = tempdir().unwrap();
    let (path, positions) = sample(directory.path());
    let fields = "offset,length,warc-type,warc-target-uri,http:status";
    let Some(printed) = warcio(&["index", "-f", fields, path.to_str().unwrap()]) else { return };
    let rows: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows[0]["warc-type"], "warcinfo");
    let count = |kind| rows.iter().filter(|row| row["warc-type"] == kind).count();
    assert_eq!([count("request"), count("response")], [6, 4]);
    assert_eq!([count("revisit"), count("metadata")], [1, 2]);
    for (position, kind) in positions {
        let row = rows
            .iter()
            .find(|row| row["offset"].as_str() == Some(&*position.offset.to_string()))
            .expect("a record begins there");
        assert_eq!(row["length"], position.length.to_string());
        assert_eq!(row["warc-type"], kind);
    }
    let moved = rows.iter().filter(|row| row["http:status"] == "301").count();
    assert_eq!(moved, 1, "{printed}");
}
