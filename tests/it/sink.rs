//! The files of a run directory: the form of the lines, and what a killed run leaves behind.

use std::{fs, io::BufRead, path::Path};

use bytesize::ByteSize;
use pagesieve::{
    Fingerprint, Signature,
    filter::Step,
    page::Timestamp,
    sink::{
        AppendFile, DUPLICATES, Decision, DuplicateLine, Mark, MatchFields, Options, Outputs,
        PAGES, PageLine, RecordPosition, SinkError, SkippedLine, VerdictName, open_part, parts,
        replace,
    },
    state::Reason,
};
use serde_json::json;
use tempfile::tempdir;

pub(crate) fn unique(id: &str) -> Decision<'_> {
    Decision {
        id: id.into(),
        url: Some(id.into()),
        verdict: VerdictName::Unique,
        step: None,
        matched: None,
        previous: None,
        fingerprint: Some(Fingerprint(0x8c3f_0d00_0000_0001)),
        chars: 1834,
        features: 402,
        lang: Some("zh".into()),
        thin: false,
    }
}

pub(crate) fn near<'a>(id: &'a str, of: &'a str) -> Decision<'a> {
    let matched = MatchFields {
        id: Some(of.into()),
        distance: 2,
        signature_distance: 11,
        similarity: 0.990_912,
    };
    Decision {
        verdict: VerdictName::Near,
        step: Some(Step::Near),
        matched: Some(matched),
        ..unique(id)
    }
}

fn page<'a>(decision: Decision<'a>, text: &'a str) -> PageLine<'a> {
    PageLine {
        decision,
        against: None,
        title: Some("標題 \"quoted\"".into()),
        text: Some(text.into()),
        status: 200,
        content_type: Some("text/html; charset=big5".into()),
        charset: "Big5".into(),
        fetched_at: Timestamp(1_795_132_800_250).into(),
        size: 1234,
        time: Some(56),
        redirects: vec!["http://a.test/old".into()],
        heading: Some("A heading".into()),
        description: Some("What it is".into()),
        depth: 1,
        referrer: Some("http://docs.test/".into()),
        seed: Some("http://docs.test/".into()),
        tags: vec!["docs".into()],
        signature: Some(Signature([0x8c3f_0d00_0000_0001, 2, 3, 4])),
        canonical: None,
        truncated: None,
        warc: Some(RecordPosition { file: "warc/docs-00000.warc.gz".into(), offset: 4, length: 9 }),
    }
}

fn duplicate<'a>(id: &'a str, of: &'a str) -> DuplicateLine<'a> {
    DuplicateLine {
        decision: near(id, of),
        against: None,
        status: 200,
        fetched_at: Timestamp(0).into(),
        size: 1234,
        time: None,
        redirects: Vec::new(),
        depth: 2,
        referrer: None,
        seed: Some("http://docs.test/".into()),
    }
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_decision_is_written_with_its_fields_in_order() {
    let line = serde_json::to_string(&near("b", "a")).unwrap();
    insta::assert_snapshot!(line, @r#"{"id":"b","url":"b","verdict":"near","step":"near","match":{"id":"a","distance":2,"signature_distance":11,"similarity":0.9909},"fingerprint":"8c3f0d0000000001","chars":1834,"features":402,"lang":"zh","thin":false}"#);
}

#[test]
fn a_decision_without_url_leaves_the_field_out() {
    let line = serde_json::to_string(&Decision { url: None, ..unique("17") }).unwrap();
    insta::assert_snapshot!(line, @r#"{"id":"17","verdict":"unique","step":null,"match":null,"fingerprint":"8c3f0d0000000001","chars":1834,"features":402,"lang":"zh","thin":false}"#);
}

#[test]
fn an_exact_match_has_similarity_1() {
    let matched =
        MatchFields { id: Some("a".into()), distance: 0, signature_distance: 0, similarity: 1.0 };
    let line = serde_json::to_string(&matched).unwrap();
    assert_eq!(line, r#"{"id":"a","distance":0,"signature_distance":0,"similarity":1}"#);
}

#[test]
fn a_page_line_is_written_with_its_fields_in_order() {
    let line = serde_json::to_string(&page(unique("http://docs.test/a"), "一\n二")).unwrap();
    insta::assert_snapshot!(line, @r#"{"id":"http://docs.test/a","url":"http://docs.test/a","verdict":"unique","step":null,"match":null,"fingerprint":"8c3f0d0000000001","chars":1834,"features":402,"lang":"zh","thin":false,"title":"標題 \"quoted\"","heading":"A heading","description":"What it is","text":"一\n二","status":200,"content_type":"text/html; charset=big5","charset":"Big5","fetched_at":"2026-11-20T00:00:00.25Z","size":1234,"time":56,"depth":1,"referrer":"http://docs.test/","redirects":["http://a.test/old"],"seed":"http://docs.test/","tags":["docs"],"signature":"8c3f0d0000000001000000000000000200000000000000030000000000000004","canonical":null,"truncated":null,"warc":{"file":"warc/docs-00000.warc.gz","offset":4,"length":9}}"#);
}

#[test]
fn a_skipped_line_is_written_with_its_fields_in_order() {
    let line = SkippedLine {
        url: "http://docs.test/gone".into(),
        reason: Reason::Status,
        detail: Some("404".into()),
        status: Some(404),
        referrer: None,
        depth: 1,
        at: Some(Timestamp(1_795_132_800_000).into()),
    };
    insta::assert_snapshot!(serde_json::to_string(&line).unwrap(), @r#"{"url":"http://docs.test/gone","reason":"status","detail":"404","status":404,"referrer":null,"depth":1,"at":"2026-11-20T00:00:00Z"}"#);
}

#[test]
fn lines_are_read_as_they_were_written() {
    let written = page(near("http://docs.test/b", "http://docs.test/a"), "text \u{1} \"x\"");
    let line = serde_json::to_string(&written).unwrap();
    let read: PageLine<'_> = serde_json::from_str(&line).unwrap();
    assert_eq!(read.decision.matched.as_ref().unwrap().similarity.to_string(), "0.9909");
    assert_eq!(serde_json::to_string(&read).unwrap(), line);

    let line = serde_json::to_string(&duplicate("b", "a")).unwrap();
    let read: DuplicateLine<'_> = serde_json::from_str(&line).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), line);
}

#[test]
fn a_reader_ignores_unknown_fields() {
    let mut line = serde_json::to_value(duplicate("b", "a")).unwrap();
    line["later"] = json!([1]);
    let line = line.to_string();
    let read: DuplicateLine<'_> = serde_json::from_str(&line).unwrap();
    assert_eq!(read.depth, 2);
}

#[test]
fn the_torn_tail_of_a_killed_run_is_cut_off() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    let mut lines = AppendFile::open(path.clone(), 0).unwrap();
    lines.write_line(&json!({"id": 1})).unwrap();
    let committed = lines.sync().unwrap();
    fs::write(&path, content(&path) + "{\"id\": 2}\n{\"id\": tor").unwrap();

    let mut lines = AppendFile::open(path.clone(), committed).unwrap();
    lines.write_line(&json!({"id": 3})).unwrap();
    assert_eq!(lines.sync().unwrap(), lines.offset());
    assert_eq!(content(&path), "{\"id\":1}\n{\"id\":3}\n");
}

#[test]
fn a_file_shorter_than_its_mark_is_refused_with_advice() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    fs::write(&path, "{}\n").unwrap();
    let error = AppendFile::open(path.clone(), 4).unwrap_err();
    assert!(matches!(error, SinkError::Shorter { found: 3, committed: 4, .. }));
    assert!(error.to_string().contains("restore it or start over"), "{error}");
    assert_eq!(content(&path), "{}\n");
}

#[test]
fn a_row_that_cannot_be_serialised_leaves_no_trace() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    let mut lines = AppendFile::open(path.clone(), 0).unwrap();
    lines
        .write_line(&[((1, 2), 3)].into_iter().collect::<std::collections::HashMap<_, _>>())
        .unwrap_err();
    lines.write_line(&1).unwrap();
    lines.sync().unwrap();
    assert_eq!(content(&path), "1\n");
}

#[test]
fn lines_longer_than_the_buffer_arrive_whole() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    let mut lines = AppendFile::open(path.clone(), 0).unwrap();
    let long = "字".repeat(100_000);
    for _ in 0..3 {
        lines.write_line(&long).unwrap();
        lines.write_line(&"short").unwrap();
    }
    assert_eq!(lines.sync().unwrap(), fs::metadata(&path).unwrap().len());
    assert_eq!(content(&path), format!("\"{long}\"\n\"short\"\n").repeat(3));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_of_its_own_with_advice() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    // A device has no length to cut, so it cannot be opened as a growing file; a replacement is written the same way.
    std::os::unix::fs::symlink("/dev/full", directory.path().join("report.json.new")).unwrap();
    let error = replace(&directory.path().join("report.json"), b"{}").unwrap_err();
    assert!(error.is_full(), "{error:?}");
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(!AppendFile::open(path, 7).unwrap_err().is_full());
}

#[test]
fn a_run_continues_from_its_marks() {
    let directory = tempdir().unwrap();
    let run = directory.path().join("runs/docs");
    let mut outputs = Outputs::open(&run, None, &[]).unwrap();
    let start = outputs.sync().unwrap();
    outputs.write_page(&page(unique("http://docs.test/a"), "text")).unwrap();
    outputs.write_duplicate(&duplicate("b", "a")).unwrap();
    let committed = outputs.sync().unwrap();
    let whole = content(&run.join(DUPLICATES));
    outputs.write_duplicate(&duplicate("c", "a")).unwrap();
    outputs.sync().unwrap();
    drop(outputs);

    let mut outputs = Outputs::open(&run, None, &committed).unwrap();
    assert_eq!(outputs.sync().unwrap(), committed);
    assert_eq!(content(&run.join(DUPLICATES)), whole);
    drop(outputs);

    Outputs::open(&run, None, &start).unwrap();
    assert_eq!(content(&run.join(PAGES)), "");
}

/// Outputs that start a new file with each sync.
fn rotating(run: &Path, committed: &[Mark], compress: bool) -> Outputs {
    let mut outputs = Outputs::open(run, None, committed).unwrap();
    let mut options = Options::default();
    (options.rotate, options.compress) = (ByteSize::b(1), compress);
    outputs.set_rotation(options);
    outputs
}

/// The ids of the lines of all files of duplicates.
fn duplicates(run: &Path) -> Vec<String> {
    let files = parts(run, DUPLICATES).unwrap().into_iter();
    let lines = files.flat_map(|path| open_part(&path).unwrap().lines().map(Result::unwrap));
    lines
        .map(|line| serde_json::from_str::<DuplicateLine<'_>>(&line).unwrap().decision.id.into())
        .collect()
}

#[test]
fn a_full_file_that_was_not_committed_is_the_current_one_again() {
    for compress in [false, true] {
        let directory = tempdir().unwrap();
        let run = directory.path();
        let mut committed = Outputs::open(run, None, &[]).unwrap().sync().unwrap();
        let mut expected = Vec::new();
        for id in ["a", "b", "c", "d", "e", "f"] {
            // The file is full already, or only with the next line.
            let mut outputs = rotating(run, &committed, compress);
            if id > "b" {
                outputs.write_duplicate(&duplicate("lost", "a")).unwrap();
            }
            outputs.sync().unwrap();
            drop(outputs);
            let mut outputs = rotating(run, &committed, compress);
            assert_eq!(duplicates(run), expected, "what was not committed is gone");
            outputs.write_duplicate(&duplicate(id, "x")).unwrap();
            if id < "c" {
                outputs.set_rotation(Options::default());
            }
            expected.push(id.to_owned());
            let marks = outputs.sync().unwrap();
            committed.retain(|mark| marks.iter().all(|new| new.file != mark.file));
            committed.extend(marks);
        }
        drop(rotating(run, &committed, compress));
        assert_eq!(duplicates(run), expected);
        let ending = if compress { ".zst" } else { "" };
        assert!(run.join(format!("duplicates-00004.jsonl{ending}")).exists());
        assert_eq!(run.join("duplicates-00003.jsonl").exists(), !compress);
    }
}

#[test]
fn files_unknown_to_the_state_are_refused_and_left_unchanged() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(PAGES);
    fs::write(&path, "precious\n").unwrap();
    let error = Outputs::open(directory.path(), None, &[]).unwrap_err();
    assert!(matches!(error, SinkError::Foreign { .. }), "{error}");
    assert_eq!(content(&path), "precious\n");
    let mark = Mark { file: PAGES.to_owned(), offset: 9 };
    Outputs::open(directory.path(), None, &[mark]).unwrap();
}
