//! `pagesieve eval` on a small sample, and the quality of the filter on the development data.

#[cfg(feature = "demo")]
mod bundled;
mod development;
mod features;
mod forgery;
mod seeds;

use std::{fs, io::Cursor};

use assert_cmd::Command;
use pagesieve::eval::{Corpus, CorpusError, Text, Unlisted, evaluate, hash_seeds, read_texts};
use pagesieve::filter::Options;
use serde_json::Value;

use crate::cli::stderr;

const PAIRS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eval/pairs.jsonl");
const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eval/texts.jsonl");

fn eval(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagesieve").unwrap();
    command.arg("eval").args(args);
    command
}

fn json(args: &[&str]) -> Value {
    let output = eval(args).arg("--json").assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

fn text(id: &str, text: &str) -> Text {
    Text { id: id.to_owned(), lang: None, text: text.to_owned() }
}

#[test]
fn the_sample_is_judged_by_band_group_and_radius() {
    let found = json(&[PAIRS, "--texts", TEXTS, "--seeds", "3"]);
    assert_eq!(
        (&found["texts"], &found["pairs"], &found["listed"]),
        (&40.into(), &780.into(), &20.into())
    );
    let all = &found["groups"][0];
    assert_eq!(
        all["counts"]["pairs"].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>(),
        3 * 780
    );
    assert_eq!((&all["by"], &all["wrong"]), (&"all".into(), &0.into()));
    assert!(all["recall"].as_f64() > Some(0.9), "{all}");
    let names: Vec<_> = found["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "all",
            "en",
            "zh",
            "two languages",
            "100 to 300",
            "300 to 1,000",
            "1,000 to 10,000",
            "same site",
            "different sites"
        ]
    );
    let recall: Vec<_> =
        all["radii"].as_array().unwrap().iter().map(|at| at["recall"].as_f64().unwrap()).collect();
    assert_eq!(recall.len(), 17);
    assert!(recall.is_sorted());
    let unconfirmed = all["unconfirmed"].as_array().unwrap();
    for (confirmed, unconfirmed) in all["radii"].as_array().unwrap().iter().zip(unconfirmed) {
        assert!(confirmed["recall"].as_f64() <= unconfirmed["recall"].as_f64());
    }
    assert_eq!(found["stream"][0]["texts"], 3 * 40);
    assert_eq!(found["stream"][0]["wrong"], 0);
}

#[test]
fn the_table_and_the_picture_show_the_figures() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("quality.html");
    let output =
        eval(&[PAIRS, "--texts", TEXTS, "--html", page.to_str().unwrap()]).assert().success();
    let table = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for part in [
        "780 pairs of 40 texts (20 listed)",
        "near pairs found",
        "equal texts",
        "as a stream",
        "wrongly dropped",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.matches("<polyline").count() > 8 && page.contains("viewBox"));
    assert!(!page.contains("<script") && !page.contains("http:") && !page.contains("https:"));
}

#[test]
fn pages_are_evaluated_as_their_extracted_texts() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("a")).unwrap();
    let words = |from: u32| (from..from + 80).map(|n| format!("word{n} ")).collect::<String>();
    for (name, words) in [("a/1.html", words(0)), ("a/2.html", words(0)), ("b.html", words(500))] {
        fs::write(directory.path().join(name), format!("<title>t</title><body><p>{words}</p>"))
            .unwrap();
    }
    let pairs = directory.path().join("pairs.jsonl");
    fs::write(&pairs, r#"{"a": "a/1.html", "b": "a/2.html", "label": "near"}"#).unwrap();
    let found = json(&[pairs.to_str().unwrap(), "--pages", directory.path().to_str().unwrap()]);
    assert_eq!((&found["texts"], &found["pairs"]), (&3.into(), &3.into()));
    assert_eq!(found["groups"][0]["recall"], 1.0);
    assert_eq!(
        (&found["stream"][0]["dropped"], &found["stream"][0]["caught"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn if_unlisted_pairs_are_unknown_only_listed_ones_are_judged() {
    let words = |from: u32| (from..from + 80).map(|n| format!("word{n} ")).collect::<String>();
    let texts = || {
        vec![
            text("a", &words(0)),
            text("b", &words(0)),
            text("c", &words(0)),
            text("d", &words(900)),
        ]
    };
    let listed = r#"{"path_a": "a", "path_b": "b", "jaccard": 1.0}"#.to_owned()
        + "\n\n"
        + r#"{"a": "d", "b": "a", "label": "different"}"#;
    let judge = |unlisted| {
        let corpus = Corpus::new(texts(), Cursor::new(&listed), unlisted).unwrap();
        evaluate(&corpus, &Options::default(), &hash_seeds(1))
    };
    let (different, unknown) = (judge(Unlisted::Different), judge(Unlisted::Unknown));
    assert_eq!(
        (different.pairs, different.all().wrong),
        (6, 2),
        "c repeats a and b, but no line lists that"
    );
    assert_eq!((unknown.pairs, unknown.all().wrong), (2, 0));
    assert_eq!((different.stream[0].counts.wrong, unknown.stream[0].counts.wrong), (1, 0));
    assert_eq!(different.stream[0].counts.caught, 1);
}

#[test]
fn an_error_in_pairs_or_texts_names_its_line() {
    let texts = || vec![text("a", "one"), text("b", "two")];
    let refusal = |line: &str| {
        Corpus::new(texts(), Cursor::new(line), Unlisted::Different).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(r#"{"a": "a", "b": "x", "jaccard": 0.5}"#),
        r#"line 1 names "x", but no text has this id"#
    );
    assert_eq!(
        refusal(r#"{"a": "a", "b": "a", "jaccard": 0.5}"#),
        "line 1: a pair needs two different texts"
    );
    assert_eq!(
        refusal(r#"{"a": "a", "b": "b", "jaccard": 1.5}"#),
        "line 1: `jaccard` is not from 0 to 1"
    );
    let twice =
        [r#"{"a": "a", "b": "b", "jaccard": 0.5}"#, r#"{"a": "b", "b": "a", "jaccard": 0.6}"#]
            .join("\n");
    assert_eq!(
        refusal(&twice),
        "line 2: an earlier line has the same pair with another similarity"
    );
    assert_eq!(refusal(r#"{"a": "a", "b": "b"}"#), "line 1: `jaccard` or `label` is missing");
    assert_eq!(refusal(r#"{"a": "a"}"#), r#"line 1 is not a pair {"a", "b", "jaccard"}"#);
    assert!(matches!(read_texts(Cursor::new("\n{}")), Err(CorpusError::Form { line: 2, .. })));
    let none = read_texts(Cursor::new("\n")).unwrap_err();
    assert!(none.to_string().contains(r#"no texts: each line must be one, {"id", "text"}"#));
    let doubled = vec![text("a", "one"), text("a", "two")];
    assert!(
        matches!(Corpus::new(doubled, Cursor::new(""), Unlisted::Different), Err(CorpusError::Doubled(id)) if id == "a")
    );
    // The message names the file that is wrong, and gives the cause once.
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pairs = file("pairs.jsonl", r#"{"a": "a", "b": "b", "label": "alike"}"#);
    let one = file("one.jsonl", r#"{"id": "a", "text": "one"}"#);
    let two = file(
        "two.jsonl",
        &[r#"{"id": "a", "text": "1"}"#, r#"{"id": "b", "text": "2"}"#].join("\n"),
    );
    let message =
        |texts: &str| stderr(&eval(&[&pairs, "--texts", texts]).assert().code(1).stdout(""));
    assert!(
        message(&one).contains("one.jsonl") && !message(&one).contains("pairs.jsonl"),
        "{}",
        message(&one)
    );
    assert_eq!(message(&two).matches("unknown variant").count(), 1, "{}", message(&two));
    eval(&["absent.jsonl", "--texts", TEXTS]).assert().code(1).stdout("");
    eval(&[PAIRS]).assert().code(2).stdout("");
}
