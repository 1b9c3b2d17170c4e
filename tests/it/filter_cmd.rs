//! `pagesieve filter`: input in all its forms, decisions in order, windows kept between runs.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    cli::{lines, pagesieve, stderr, stdout},
    data::shared,
};

/// A text of many words, the same for the same number.
fn text(number: u32) -> String {
    (0..200).map(|word| format!("t{number}w{word} ")).collect()
}

/// So many documents, every third of which repeats an earlier one.
pub(crate) fn documents(count: u32) -> String {
    let line = |number: u32| {
        let subject = if number % 3 == 2 { number / 2 } else { number };
        json!({"id": format!("doc {number}"), "text": text(subject), "time": number}).to_string()
            + "\n"
    };
    (0..count).map(line).collect()
}

/// Id, verdict and match of each decision.
fn verdicts<'a>(decisions: &'a [Value]) -> Vec<(&'a str, &'a str, Option<&'a str>)> {
    let output = |line: &'a Value| {
        let [id, verdict, of] = [&line["id"], &line["verdict"], &line["match"]["id"]];
        (id.as_str().unwrap(), verdict.as_str().unwrap(), of.as_str())
    };
    decisions.iter().map(output).collect()
}

/// As `explain` compares them: what stands around the article counts for two pages of one host under two titles, and not for two of two hosts.
#[test]
fn a_saved_page_is_of_the_site_of_its_canonical_link() {
    let words = |name: &str, count: usize| -> String {
        (0..count).map(|word| format!("{name}w{word} ")).collect()
    };
    for (sites, is_unique) in [(["a", "a"], true), (["a", "b"], false), (["", ""], false)] {
        let dir = tempfile::tempdir().unwrap();
        for (name, site) in ["one", "two"].into_iter().zip(sites) {
            let link = if site.is_empty() {
                String::new()
            } else {
                format!("<link rel=canonical href=http://{site}.test/{name}>")
            };
            let html = format!(
                "<title>tea {name}</title>{link}<main><article><h1>tea</h1><p>{}</p></article></main><div><p>{}</p></div>",
                words("tea", 150),
                words(name, 120),
            );
            fs::write(dir.path().join(format!("{name}.html")), html).unwrap();
        }
        let filtered = |sites: &str| {
            let filtered = pagesieve().args(["filter", "--sites", sites]).arg(dir.path()).assert();
            lines(&filtered.success())[1]["verdict"] == "unique"
        };
        assert_eq!(filtered("links"), is_unique, "{sites:?}");
        assert_eq!(filtered("directory"), is_unique || sites == ["", ""], "{sites:?}");
        let [one, two] = ["one.html", "two.html"].map(|name| dir.path().join(name));
        let explained = stdout(&pagesieve().arg("explain").arg(one).arg(two).assert().success());
        assert_eq!(explained.contains("After A, B is unique"), is_unique, "{explained}");
    }
}

#[test]
fn every_document_gets_a_decision_in_order() {
    let near = format!("{}and one more", text(0));
    let input = [
        json!({"id": "a", "text": text(0)}),
        json!({"id": "b", "text": text(1), "unknown": [1, {"field": null}]}),
        json!({"id": "c", "text": text(0).to_uppercase()}),
        json!({"id": "d", "text": near, "time": "2001-01-01T00:00:00Z"}),
        json!({"id": "e", "html": format!("<p>{}</p>", text(1)), "url": "http://a.org/"}),
        json!({"id": "f", "html": format!("<p>{}</p>", text(1))}),
        json!({"id": "g", "text": "short"}),
        json!({"id": "h", "text": ""}),
        json!({"id": "i", "text": ""}),
    ];
    let input: String = input.iter().map(|line| line.to_string() + "\n").collect();
    let decisions =
        lines(&pagesieve().arg("filter").write_stdin(input).assert().success().stderr(""));
    assert_eq!(
        verdicts(&decisions),
        [
            ("a", "unique", None),
            ("b", "unique", None),
            ("c", "exact", Some("a")),
            ("d", "near", Some("a")),
            ("e", "exact", Some("b")),
            ("f", "exact", Some("b")),
            ("g", "unique", None),
            ("h", "unique", None),
            ("i", "unique", None),
        ]
    );
    let steps: Vec<_> = decisions.iter().map(|line| line["step"].as_str()).collect();
    assert_eq!(steps[2..6], [Some("text"), Some("near"), Some("text"), Some("body")]);
    assert_eq!(decisions[4]["url"], "http://a.org/");
    assert_eq!(decisions[7]["fingerprint"], Value::Null);
    assert_eq!(
        decisions[2]["match"],
        json!({"id": "a", "distance": 0, "signature_distance": 0, "similarity": 1})
    );
}

#[test]
fn a_document_does_not_match_an_earlier_version_of_itself() {
    let input = [
        json!({"url": "http://a.org/x", "html": format!("<p>{}", text(0))}),
        json!({"url": "http://a.org/x?utm_source=y#z", "html": format!("<p>{}", text(0))}),
        json!({"id": "3", "url": "http://b.org/x", "html": format!("<p>{}", text(0))}),
        json!({"id": "4", "url": "http://b.org/x", "html": format!("<p>{}", text(1))}),
        json!({"id": "4", "url": "http://c.org/", "html": format!("<p>{}", text(1))}),
        json!({"id": "5", "url": "http://b.org/x", "html": format!("<p>{}", text(1))}),
    ];
    let input: String = input.iter().map(|line| line.to_string() + "\n").collect();
    let decisions = lines(&pagesieve().arg("filter").write_stdin(input).assert().success());
    assert_eq!(
        verdicts(&decisions),
        [
            ("http://a.org/x", "unique", None),
            ("http://a.org/x?utm_source=y#z", "unchanged", None),
            ("3", "exact", Some("http://a.org/x")),
            ("4", "unique", None),
            ("4", "unchanged", None),
            ("5", "exact", Some("4")),
        ]
    );
}

#[test]
fn lines_that_cannot_be_read_are_reported_in_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let bad = b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\"\n\xff\n\n{\"id\":\"c\",\"text\":\"y\",\"time\":\"noon\"}\r\n{\"text\":\"z\"}\n[\"d\",\"w\"]\n{\"id\":\"e\",\"text\":\"\",\"html\":\"\"}\n{\"id\":\"f\",\"html\":\"\",\"url\":\"/x\"}\n{\"id\":\"g\",\"text\":\"z\"}";
    fs::write(directory.path().join("bad.jsonl"), bad).unwrap();
    let assert = pagesieve()
        .current_dir(&directory)
        .args(["filter", "bad.jsonl", "absent.jsonl", "a.warc.gz"])
        .assert()
        .code(1);
    let lines = lines(&assert);
    let answer = |line: &Value| match line["id"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("{}:{}", line["file"].as_str().unwrap(), line["line"]),
    };
    let answers: Vec<_> = lines.iter().map(answer).collect();
    assert_eq!(
        answers.join(" "),
        "a bad.jsonl:2 bad.jsonl:3 bad.jsonl:5 bad.jsonl:6 bad.jsonl:7 bad.jsonl:8 bad.jsonl:9 g absent.jsonl:null a.warc.gz:null"
    );
    let cut_off =
        "column 9: EOF while parsing an object: each document is one line, as `jq -c .` writes it";
    assert_eq!(lines[1]["error"], cut_off);
    insta::assert_snapshot!(stderr(&assert), @r#"
    bad.jsonl:2: column 9: EOF while parsing an object: each document is one line, as `jq -c .` writes it
    bad.jsonl:3: a document must be an object: {"id": "…", "text": "…"} or {"id": "…", "html": "…"}
    bad.jsonl:5: column 35: `time`: noon is no time; expected RFC 3339 with a time zone, or seconds or milliseconds since 1970
    bad.jsonl:6: column 12: `id` and `url` are both missing: give one of them
    bad.jsonl:7: an array is no document: write each on a line of its own, for example by `jq -c '.[]'`
    bad.jsonl:8: there must be either `text` or `html`, not both
    bad.jsonl:9: column 31: `url`: "/x" is not an absolute URL: relative URL without a base
    cannot read absent.jsonl: No such file or directory (os error 2)
    cannot read a.warc.gz: No such file or directory (os error 2)
    "#);
}

#[test]
fn directories_are_read_in_the_order_of_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str| {
        let path = directory.path().join("pages").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "<p>text").unwrap();
    };
    for path in
        ["b.html", "a/z.HTM", "a/b/c.xhtml", "c/d.html", "a.html", "notes.txt", "a/list.jsonl"]
    {
        write(path);
    }
    let decisions =
        lines(&pagesieve().current_dir(&directory).args(["filter", "pages/"]).assert().success());
    let ids: Vec<_> = decisions.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["pages/a/b/c.xhtml", "pages/a/z.HTM", "pages/a.html", "pages/b.html", "pages/c/d.html"]
    );
    let one =
        pagesieve().current_dir(&directory).args(["filter", "pages/b.html"]).assert().success();
    assert_eq!(lines(&one)[0]["id"], "pages/b.html");
}

#[test]
fn verdicts_do_not_depend_on_the_number_of_threads() {
    let run = |input: &str, options: [&str; 2], threads: &str| {
        let mut command = pagesieve();
        command.env("RAYON_NUM_THREADS", threads).arg("filter").args(options);
        stdout(&command.write_stdin(input).assert().success())
    };
    let input = documents(3000);
    let expected = run(&input, ROLLING, "1");
    for threads in ["7", "7", "2"] {
        assert_eq!(run(&input, ROLLING, threads), expected, "{threads} threads");
    }
    // So many that the index looks in its tables and does not scan.
    let (input, options) = (documents(9000), ["--set", "dedup.mode=classic"]);
    assert_eq!(run(&input, options, "7"), run(&input, options, "1"));
}

/// A window that rolls.
pub(crate) const ROLLING: [&str; 2] = ["--set", "dedup.window={entries = 300, age = '1h'}"];

#[test]
fn two_runs_over_one_state_are_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let input = documents(1200);
    let run = |state: Option<&str>, input: &str| {
        let state = state.map(|name| directory.path().join(name));
        let mut command = pagesieve();
        command.arg("filter").args(ROLLING);
        if let Some(path) = state {
            command.arg("--state").arg(path);
        }
        stdout(&command.write_stdin(input).assert().success())
    };
    let whole = run(None, &input);
    assert_eq!(run(Some("whole.db"), &input), whole);
    let cut = input.match_indices('\n').nth(437).unwrap().0 + 1;
    let halves = run(Some("halves.db"), &input[..cut]) + &run(Some("halves.db"), &input[cut..]);
    assert_eq!(halves, whole);
    assert!(whole.contains("\"exact\""), "some documents repeat others");
}

#[test]
fn a_run_that_is_repeated_emits_nothing_twice() {
    let directory = tempfile::tempdir().unwrap();
    let first = documents(60);
    let changed = text(1).replace("t1w7 ", "another ");
    let second = first.replace(text(1).trim(), changed.trim());
    let run = |state: &str, input: &str| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(["filter", "--state", state, "--kept"]);
        command.arg(state.replace("seen.db", "kept").replace("two.db", "kept-two"));
        lines(&command.write_stdin(input).assert().success())
    };
    let kept = || fs::read_to_string(directory.path().join("kept")).unwrap();
    run("seen.db", &first);
    let unique = kept();
    let again = run("seen.db", &first);
    let verdict = |line: &Value| line["verdict"].as_str().unwrap().to_owned();
    assert!(again.iter().all(|line| verdict(line) != "unique"), "{again:?}");
    // Also not if an id comes with two texts in turn.
    let both = [1, 2].map(|it| json!({"id": "x", "text": text(900 + it)}).to_string()).join("\n");
    assert_eq!(run("two.db", &both).iter().map(verdict).collect::<Vec<_>>(), ["unique", "changed"]);
    assert_eq!(run("two.db", &both).iter().map(verdict).collect::<Vec<_>>(), ["unchanged"; 2]);
    assert_eq!(again[0]["previous"]["time"], "1970-01-01T00:00:00Z");
    assert_eq!(kept(), unique, "nothing new is kept");
    let more = run("seen.db", &second);
    assert_eq!(verdict(&more[1]), "changed", "{}", more[1]);
    assert!(more[1]["previous"]["signature_distance"].as_u64().unwrap() > 0);
    assert_eq!(kept().lines().count(), unique.lines().count() + 1);
    // In memory, too.
    let all = lines(&pagesieve().arg("filter").write_stdin(first.repeat(2)).assert().success());
    assert_eq!(
        all[60..].iter().map(verdict).collect::<Vec<_>>(),
        again.iter().map(verdict).collect::<Vec<_>>()
    );
}

#[test]
fn the_name_of_a_window_means_the_same_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let filter = |state: &str, more: &[&str]| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(["filter", "--state", state]).args(more);
        command.write_stdin(documents(3)).assert()
    };
    assert_eq!(lines(&filter(":memory:", &[]).success()).len(), 3);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "it is no file");
    for (state, more, said) in [
        ("", &[][..], "the name is empty"),
        (":memory:", &["--acks"], "--acks says what is durable"),
        ("postgres://a@b.test/c#d", &[], "`serve` and the Python package"),
    ] {
        let said_in = stderr(&filter(state, more).code(2));
        assert!(said_in.contains(said), "{state}: {said_in}");
    }
}

#[test]
fn texts_without_words_repeat_each_other_also_in_pages() {
    let page = |id: &str, url: &str, signs: &str| json!({"id": id, "url": url, "html": format!("<title>{id}</title><p>{signs}</p>")});
    let input = [
        page("a", "http://a.test/", "\u{1f600} \u{1f600}"),
        page("b", "http://b.test/", "\u{1f600}\u{1f600}"),
        page("c", "http://c.test/", ""),
        page("d", "http://d.test/", ""),
    ];
    let input: String = input.iter().map(|line| format!("{line}\n")).collect();
    let decisions = lines(&pagesieve().arg("filter").write_stdin(input).assert().success());
    assert_eq!(
        verdicts(&decisions),
        [
            ("a", "unique", None),
            ("b", "exact", Some("a")),
            ("c", "unique", None),
            ("d", "unique", None)
        ]
    );
    assert!(decisions.iter().all(|line| line["thin"] == true), "{decisions:?}");
}

#[test]
fn a_similarity_without_meaning_is_refused() {
    let filter = |mode: &str, similarity: &str| {
        let [mode, similarity] =
            [format!("dedup.mode={mode}"), format!("dedup.similarity={similarity}")];
        let mut command = pagesieve();
        command.args(["filter", "--set", &mode, "--set", &similarity]).write_stdin("").assert()
    };
    assert!(stderr(&filter("strict", "0.9").code(2)).contains("`similarity` has no meaning"));
    filter("balanced", "0.9").success();
    filter("strict", "0.68").success();
}

#[test]
fn a_path_that_looks_like_a_uri_is_a_path() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["file:seen.sqlite", "file:seen?mode=memory"] {
        let judge = |id: u32| {
            let document = json!({ "id": id, "text": "The tide is high." }).to_string();
            let mut filter = pagesieve();
            filter.current_dir(&directory).args(["filter", "--state", name]);
            lines(&filter.write_stdin(document).assert().success())[0]["verdict"].clone()
        };
        assert_eq!([judge(1), judge(2)], ["unique", "exact"], "{name}");
        assert!(directory.path().join(name).metadata().unwrap().len() > 0, "{name}");
    }
}

#[test]
fn no_lock_is_left_beside_a_file_that_is_no_state() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("texts.jsonl"), documents(3)).unwrap();
    for command in ["verify", "repair"] {
        pagesieve().current_dir(&directory).args([command, "texts.jsonl"]).assert().code(2);
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
}

#[test]
fn a_state_of_other_fingerprints_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = |flags: &[&str]| {
        pagesieve()
            .current_dir(&directory)
            .args(["filter", "--state", "seen.db"])
            .args(flags)
            .write_stdin(documents(3))
            .assert()
    };
    run(&["--set", "dedup.seed=5"]).success();
    run(&[]).success();
    insta::assert_snapshot!(stderr(&run(&["--set", "dedup.seed=6"]).code(2).stdout("")), @"
    × cannot use the state seen.db
    ╰─▶ dedup.seed would be a seed of id ba78bd3f, but the state's fingerprints
        were made with a seed of id eccf94ab: leave the key out, set it as
        before, or name another file
    ");
    insta::assert_snapshot!(stderr(&run(&["--set", "dedup.segment=ngrams"]).code(2).stdout("")), @"
    × cannot use the state seen.db
    ╰─▶ dedup.segment would be ngrams, but the state's fingerprints were made
        with jieba: leave the key out, set it as before, or name another file
    ");
    fs::write(
        directory.path().join("other.db"),
        "not a database, but long enough to be looked at as one",
    )
    .unwrap();
    let other = pagesieve()
        .current_dir(&directory)
        .args(["filter", "--state", "other.db"])
        .write_stdin("")
        .assert();
    assert!(stderr(&other.code(2)).contains("name another file"));
}

#[test]
fn whoever_waits_for_each_answer_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("seen.db");
    for options in [&[][..], &["--state", state.to_str().unwrap()]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .arg("filter")
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = child.stdin.take().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        for (number, verdict) in ["unique", "exact", "exact"].iter().enumerate() {
            writeln!(to, "{}", json!({"id": number.to_string(), "text": text(0)})).unwrap();
            let mut line = String::new();
            from.read_line(&mut line).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["verdict"], *verdict);
        }
        drop(to);
        assert!(child.wait().unwrap().success());
    }
}

/// The complete lines.
pub(crate) fn complete(output: &[u8]) -> String {
    let output = str::from_utf8(output).unwrap();
    output[..output.rfind('\n').map_or(0, |end| end + 1)].to_owned()
}

/// The lines of the input after those that have a decision.
pub(crate) fn rest<'a>(input: &'a str, decisions: &str) -> &'a str {
    let decided = decisions.lines().count();
    let end = input.split_inclusive('\n').take(decided).map(str::len).sum();
    &input[end..]
}

#[test]
fn a_filter_that_is_killed_goes_on_after_the_last_decision_that_was_printed() {
    let directory = tempfile::tempdir().unwrap();
    let input = documents(4000);
    let whole = stdout(&pagesieve().arg("filter").args(ROLLING).write_stdin(&*input).assert());
    let (mut decisions, mut kills) = (String::new(), 0);
    // It prints more at a time than a pipe holds, so that it is often killed while it prints.
    for lines in (0..).map(|nth| 1 + nth * 7919 % 700) {
        fs::write(directory.path().join("rest.jsonl"), rest(&input, &decisions)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .current_dir(&directory)
            .args(["filter", "rest.jsonl", "--state", "seen.db"])
            .args(ROLLING)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut from, mut output) = (BufReader::new(child.stdout.take().unwrap()), Vec::new());
        let is_killed = (0..lines).all(|_| from.read_until(b'\n', &mut output).unwrap() > 0);
        if is_killed {
            child.kill().unwrap();
        }
        from.read_to_end(&mut output).unwrap();
        child.wait().unwrap();
        decisions += &complete(&output);
        if !is_killed {
            break;
        }
        kills += 1;
    }
    assert!(kills > 3, "{kills}");
    assert_eq!(decisions, whole);
}

#[test]
#[cfg(unix)]
fn decisions_before_a_full_disk_are_kept_and_the_next_line_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let input = documents(4000);
    let whole = stdout(&pagesieve().arg("filter").args(ROLLING).write_stdin(&*input).assert());
    let (mut decisions, mut failures) = (String::new(), 0);
    loop {
        let rest = rest(&input, &decisions);
        fs::write(directory.path().join("rest.jsonl"), rest).unwrap();
        // No file may be larger, which a write reports as it reports a full disk.
        let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", 700 + 500 * failures);
        let ended = Command::new("sh")
            .current_dir(&directory)
            .args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_pagesieve")])
            .args(["filter", "rest.jsonl", "--state", "seen.db"])
            .args(ROLLING)
            .output()
            .unwrap();
        let printed = complete(&ended.stdout);
        decisions += &printed;
        if ended.status.success() {
            break;
        }
        failures += 1;
        let told = String::from_utf8(ended.stderr).unwrap();
        let expected = match printed.lines().count() {
            0 => "no decision was printed: mend what the error says, and start again with the same input".to_owned(),
            count => format!("the last decision printed is that of rest.jsonl:{count}, and all"),
        };
        assert!(told.contains(&expected), "{told}");
    }
    assert!(failures > 1, "{failures}");
    assert_eq!(decisions, whole);
}

#[test]
#[cfg(unix)]
fn a_limit_of_the_size_of_files_is_a_full_disk_and_no_signal() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("all.jsonl"), documents(4000)).unwrap();
    let ended = Command::new("sh")
        .current_dir(&directory)
        .args(["-c", "ulimit -f 700; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pagesieve")])
        .args(["filter", "all.jsonl", "--state", "seen.db"])
        .args(ROLLING)
        .output()
        .unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(4), "{told}");
    assert!(told.contains("no room left"), "{told}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("many.jsonl");
    fs::write(&input, documents(2000)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
        .arg("filter")
        .arg(&input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_with_4() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.html"), "<p>text").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
        .arg("filter")
        .arg(directory.path())
        .stdout(full)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(4));
}

#[test]
fn real_pages_are_judged_alike_with_and_without_a_state() {
    let Some(pages) = shared("pages/faq") else { return };
    let directory = tempfile::tempdir().unwrap();
    let free = stdout(&pagesieve().arg("filter").arg(&pages).assert().success());
    let mut command = pagesieve();
    command.arg("filter").arg(&pages).arg("--state").arg(directory.path().join("seen.db"));
    assert_eq!(stdout(&command.assert().success()), free);
    assert!(free.lines().any(|line| line.contains("\"near\"")));
}

#[test]
fn a_repeated_document_leaves_the_window_in_order_of_arrival() {
    let line = |(place, number)| {
        json!({"id": format!("doc {place}"), "text": text(number)}).to_string() + "\n"
    };
    let input: String = [0, 1, 0, 2, 0].into_iter().enumerate().map(line).collect();
    let mut command = pagesieve();
    command.args(["filter", "--set", "dedup.window.entries=2"]).write_stdin(input);
    let decisions = lines(&command.assert().success());
    let matches: Vec<_> = verdicts(&decisions).into_iter().map(|(_, _, of)| of).collect();
    assert_eq!(matches, [None, None, Some("doc 0"), None, None]);
}

#[test]
fn the_removed_option_refresh_is_refused_by_name() {
    for set in ["dedup.window.refresh=false", "dedup.window={entries = 2, refresh = true}"] {
        let mut command = pagesieve();
        let refused = command.args(["filter", "--set", set]).write_stdin("").assert().code(2);
        let message = stderr(&refused).replace('│', " ");
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let why =
            "`dedup.window.refresh` was removed: the window always forgets in order of arrival";
        assert!(message.contains(why) && message.contains("delete the key"), "{message}");
    }
}

#[test]
fn the_audit_is_told() {
    let mut command = pagesieve();
    let run = command.args(["filter", "--set", "dedup.audit=1"]).write_stdin(documents(30));
    let output = stderr(&run.assert().success());
    assert!(output.starts_with("audit: ") && output.ends_with(", 0 missed\n"), "{output}");
}

#[test]
fn the_advice_on_too_little_memory_holds() {
    let filter = |set: &[&str]| {
        let mut command = pagesieve();
        command.arg("filter").args(set.iter().flat_map(|set| ["--set", set]));
        command.write_stdin(r#"{"id": "a", "text": "one"}"#).assert()
    };
    let small = "dedup.memory=100 MiB";
    let output = stderr(&filter(&[small]).code(2).stdout(""));
    let advised = |beginning: &str, end: char| {
        let (_, rest) = output.split_once(beginning).unwrap_or_else(|| panic!("{output}"));
        rest.split(end).next().unwrap().trim().to_owned()
    };
    filter(&[&format!("dedup.memory={}", advised("write `memory = \"", '"'))]).success();
    let entries = advised("entries = ", '`');
    filter(&[small, &format!("dedup.window.entries={entries}")]).success();
    assert!(!output.contains("--state"), "{output}");
    let enough_with_a_state = "dedup.memory=2 GiB";
    let output = stderr(&filter(&[enough_with_a_state]).code(2).stdout(""));
    let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("or keep the digests on disk with `--state`"), "{output}");
    let dir = tempfile::tempdir().unwrap();
    let mut command = pagesieve();
    command.args(["filter", "--set", enough_with_a_state, "--state"]).arg(dir.path().join("s"));
    command.write_stdin(r#"{"id": "a", "text": "one"}"#).assert().success();
}

#[test]
fn only_crawls_have_a_secret_seed() {
    let filter = |set: &str| {
        let mut command = pagesieve();
        command.args(["filter", "--set", set]).write_stdin(r#"{"id": "a", "text": "one"}"#);
        stderr(&command.assert().success())
    };
    assert!(
        filter("dedup.seed=secret").starts_with("dedup.seed: only `crawl` draws a secret seed")
    );
    assert_eq!(filter("dedup.seed=public"), "");
    assert_eq!(filter("dedup.seed=7"), "");
}

#[test]
fn a_time_that_counts_no_milliseconds_is_refused() {
    let line = |id: u32, at: i64| json!({"id": id.to_string(), "text": text(1), "time": at});
    let input = [
        line(1, 1_700_000_000_000),
        line(2, 1_700_000_000_000_000),
        line(3, 253_402_300_800_000),
        line(4, 1_700_000_000_001),
    ];
    let input: String = input.iter().map(|line| line.to_string() + "\n").collect();
    let filtered = pagesieve().arg("filter").write_stdin(input).assert().code(1);
    let mut decisions = lines(&filtered);
    decisions.retain(|line| line.get("error").is_none());
    assert_eq!(verdicts(&decisions), [("1", "unique", None), ("4", "exact", Some("1"))]);
    assert_eq!(stderr(&filtered).matches("or milliseconds since 1970").count(), 2);
}

#[test]
fn an_input_that_is_no_json_lines_is_one_error_with_advice() {
    let filter = |input: &str| {
        let assert = pagesieve().args(["filter"]).write_stdin(input).assert().code(1);
        (lines(&assert), stderr(&assert))
    };
    let text = "Call me Ishmael.\nSome years ago\n\nnever mind how long\n".repeat(1000);
    for (input, advice) in [
        (&*text, "jq -Rsc"),
        ("id,text\n1,a\n2,b\n", "Python package"),
        ("[\n{\"id\": 1, \"text\": \"a\"}\n]\n", "jq -c '.[]'"),
    ] {
        let (answers, said) = filter(input);
        assert_eq!((answers.len(), said.lines().count()), (1, 1), "{said}");
        assert!(answers[0]["error"].as_str().unwrap().contains(advice) && said.contains(advice));
    }
    // A line among documents, or alone, is one line.
    let document = r#"{"id": "a", "text": "A text."}"#;
    for (input, wrong) in [
        (format!("no document\n{document}\nneither\n"), 2),
        ("no document\n".to_owned(), 1),
        (format!("{document}\n{}", "no document\n".repeat(20)), 20),
    ] {
        let (answers, said) = filter(&input);
        assert_eq!((answers.len(), said.lines().count()), (input.lines().count(), wrong));
    }
}

#[test]
fn lines_that_arrive_one_by_one_and_are_no_documents_end_with_one_error() {
    let mut filter = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
        .arg("filter")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = filter.stdin.take().unwrap();
    let mut answers = BufReader::new(filter.stdout.take().unwrap()).lines();
    for number in 1..=10 {
        writeln!(input, "text").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["line"], number);
    }
    writeln!(input, "text").unwrap();
    assert!(answers.next().unwrap().unwrap().contains("jq -Rsc"));
    assert!(answers.next().is_none());
    assert_eq!(filter.wait().unwrap().code(), Some(1));
}
