//! `filter` as a part of other programs: kept lines, acknowledgements, other states, clusters.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use crate::{
    cli::{lines, pagesieve, stderr, stdout},
    filter_cmd::{ROLLING, complete, documents, rest},
    server::{Reply, Routes, Server},
};

/// Documents with a field that nothing reads.
fn with_more(count: u32) -> String {
    documents(count).replace("{\"id\"", "{ \"more\" : [1,  \"\\u00e9\"], \"id\"")
}

/// The lines of the input with unique documents.
fn unique_lines<'a>(input: &'a str, decisions: &str) -> Vec<&'a str> {
    let decided = input.lines().zip(decisions.lines());
    let unique = decided.filter(|(_, decision)| decision.contains("\"verdict\":\"unique\""));
    unique.map(|(line, _)| line).collect()
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_pagesieve"))
        .current_dir(directory)
        .arg("filter")
        .args(arguments)
        .args(ROLLING)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn kept_lines_are_written_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let filter = |input: &str, file: &str| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(["filter", "--kept", file]);
        command.write_stdin(input).assert()
    };
    let input = with_more(300);
    let decisions = stdout(&filter(&input, "kept.jsonl").success());
    let kept = fs::read_to_string(directory.path().join("kept.jsonl")).unwrap();
    assert_eq!(kept.lines().collect::<Vec<_>>(), unique_lines(&input, &decisions));
    assert!(kept.lines().count() < 300 && kept.ends_with('\n'));
    let again = filter(&input, "kept.jsonl").code(2).stdout("");
    assert!(stderr(&again).contains("not empty"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(directory.path().join("kept.jsonl")).unwrap(), kept);
    let odd = "\u{feff}{\"id\":\"a\",\"text\":\"x\"}\r\n\n{\"id\":\"b\",\"text\":\"y\"}";
    filter(odd, "odd.jsonl").success();
    let kept = fs::read_to_string(directory.path().join("odd.jsonl")).unwrap();
    assert_eq!(kept, "{\"id\":\"a\",\"text\":\"x\"}\r\n{\"id\":\"b\",\"text\":\"y\"}\n");
}

#[test]
fn kept_lines_are_neither_lost_nor_doubled_by_kills() {
    let directory = tempfile::tempdir().unwrap();
    let input = with_more(12_000);
    let whole = stdout(&pagesieve().arg("filter").args(ROLLING).write_stdin(&*input).assert());
    let (mut decisions, mut kills) = (String::new(), 0);
    for count in (0..).map(|nth| 1 + nth * 7919 % 500) {
        fs::write(directory.path().join("rest.jsonl"), rest(&input, &decisions)).unwrap();
        let options = ["rest.jsonl", "--state", "seen.db", "--kept", "kept.jsonl"];
        let mut child = start(directory.path(), &options);
        let (mut from, mut output) = (BufReader::new(child.stdout.take().unwrap()), Vec::new());
        let is_killed = (0..count).all(|_| from.read_until(b'\n', &mut output).unwrap() > 0);
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
    assert!(kills > 5, "{kills}");
    assert_eq!(decisions, whole);
    let kept = fs::read_to_string(directory.path().join("kept.jsonl")).unwrap();
    assert_eq!(kept.lines().collect::<Vec<_>>(), unique_lines(&input, &whole));
    // What the next process finds beyond the last commit was never decided.
    let mut file = File::options().append(true).open(directory.path().join("kept.jsonl")).unwrap();
    file.write_all(b"torn").unwrap();
    let mut command = pagesieve();
    command.current_dir(&directory).args(["filter", "--state", "seen.db", "--kept", "kept.jsonl"]);
    command.args(ROLLING).write_stdin("").assert().success();
    assert_eq!(fs::read_to_string(directory.path().join("kept.jsonl")).unwrap(), kept);
    // A file that is shorter than the state says is not continued.
    fs::write(directory.path().join("kept.jsonl"), "short").unwrap();
    assert!(stderr(&command.assert().code(2)).contains("has 5 bytes"));
}

/// Compresses, or not.
type Coding<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

#[test]
fn kept_records_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let text = |n: u32| (0..99).map(|word| format!("w{n}x{word} ")).collect::<String>();
    let record = |n: u32| {
        let body = text(n / 2);
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{body}");
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nX-More: {n}\r\nWARC-Target-URI: http://a.test/{n}\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
        .into_bytes()
    };
    let gzip = |bytes: &[u8]| {
        let mut member = GzEncoder::new(Vec::new(), Compression::best());
        member.write_all(bytes).unwrap();
        member.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 7).unwrap();
    let plain = |bytes: &[u8]| bytes.to_vec();
    let info = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let filter = |name: &str, bytes: &[u8]| {
        fs::write(directory.path().join(name), bytes).unwrap();
        let kept = format!("kept-{name}");
        let mut command = pagesieve();
        command.current_dir(&directory).args(["filter", name, "--kept", &kept]).assert().success();
        let kept = directory.path().join(kept);
        let again = lines(&pagesieve().arg("filter").arg(&kept).assert().success());
        assert_eq!(again.len(), 5);
        assert!(again.iter().all(|line| line["verdict"] == "unique"));
        fs::read(kept).unwrap()
    };
    let codings: [(&str, Coding<'_>); 3] = [("plain", &plain), ("gzip", &gzip), ("zstd", &zstd)];
    for (name, coding) in codings {
        let file: Vec<u8> = std::iter::once(coding(info))
            .chain((0..10).map(|n| coding(&record(n))))
            .flatten()
            .collect();
        let kept: Vec<u8> = (0..5).flat_map(|n| coding(&record(2 * n))).collect();
        assert!(filter(name, &file) == kept, "{name}");
    }
    let all: Vec<u8> = (0..10).flat_map(record).collect();
    filter("together.gz", &gzip(&all));
    filter("together.zst", &zstd(&all));
    let mut mixed = pagesieve();
    mixed.current_dir(&directory).args(["filter", "gzip", "plain", "--kept", "mixed"]);
    assert!(stderr(&mixed.assert().code(2)).contains("with another --kept"));
    let mut mixed = pagesieve();
    mixed.current_dir(&directory).args(["filter", "gzip", "-", "--kept", "mixed-2"]);
    let line = r#"{"id": "a", "text": "other"}"#;
    assert!(stderr(&mixed.write_stdin(line).assert().code(2)).contains("with another --kept"));
}

#[test]
fn a_producer_resumes_by_acknowledgements() {
    let directory = tempfile::tempdir().unwrap();
    let input = documents(6000);
    let whole = stdout(&pagesieve().arg("filter").args(ROLLING).write_stdin(&*input).assert());
    let all: Vec<&str> = input.split_inclusive('\n').collect();
    let (mut decisions, mut done, mut kills) = (String::new(), 0, 0);
    while done < all.len() {
        let mut child = start(directory.path(), &["--state", "seen.db", "--acks"]);
        let mut to = child.stdin.take().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let lines: Vec<_> = all[done..].iter().map(ToString::to_string).collect();
        let writer = thread::spawn(move || {
            for (nth, some) in lines.chunks(13).enumerate() {
                if to.write_all(some.concat().as_bytes()).and_then(|()| to.flush()).is_err() {
                    return;
                }
                if nth % 3 == 0 {
                    thread::yield_now();
                }
            }
        });
        let (mut pending, mut read, mut line) = (String::new(), 0, String::new());
        let (first, most) = (done, if kills < 20 { 30 + kills * 37 % 90 } else { usize::MAX });
        while from.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            read += 1;
            if read == most {
                child.kill().unwrap();
                kills += 1;
            }
            let value: Value = serde_json::from_str(&line).unwrap();
            match value["durable_through"].as_u64() {
                Some(through) => {
                    done = first + usize::try_from(through).unwrap();
                    decisions += &std::mem::take(&mut pending);
                }
                None => pending += &line,
            }
            line.clear();
        }
        child.wait().unwrap();
        writer.join().unwrap();
    }
    assert!(kills > 10, "{kills}");
    assert_eq!(decisions, whole);
}

#[test]
fn acknowledgements_count_all_lines() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = pagesieve();
    command.current_dir(&directory).args(["filter", "--state", "seen.db", "--acks"]);
    let input = "\n{\"id\":\"a\",\"text\":\"x\"}\n\nwrong\n";
    let answers = lines(&command.write_stdin(input).assert().code(1));
    assert_eq!(answers.last().unwrap(), &json!({"durable_through": 4}));
    let wrong: Vec<_> = answers.iter().filter(|line| line.get("error").is_some()).collect();
    assert_eq!(wrong[0]["line"], 4);
}

#[test]
fn fields_may_have_other_names() {
    let filter = |options: &[&str], line: &str| {
        let mut command = pagesieve();
        command.arg("filter").args(options).write_stdin(line).assert()
    };
    let options = ["--id-field", "url", "--text-field", "content", "--html-field", "raw"];
    let line = r#"{"url": "http://a.test/", "content": "x", "id": [1], "text": {}, "html": 5}"#;
    let decision = &lines(&filter(&options, line).success())[0];
    assert_eq!(
        (&decision["id"], &decision["url"]),
        (&json!("http://a.test/"), &json!("http://a.test/"))
    );
    let page =
        &lines(&filter(&options, r#"{"url": "http://a.test/", "raw": "<p>x"}"#).success())[0];
    assert_eq!(page["chars"], 1);
    let wrong = stderr(&filter(&options, r#"{"url": "http://a.test/", "text": "x"}"#).code(1));
    assert_eq!(wrong, "standard input:1: `content` and `raw` are both missing: give one of them\n");
    let wrong = stderr(&filter(&["--id-field", "key"], r#"{"id": "a", "text": "x"}"#).code(1));
    assert!(wrong.contains("`key` and `url` are both missing"), "{wrong}");
}

#[test]
fn documents_of_other_states_are_found_and_these_are_only_read() {
    let directory = tempfile::tempdir().unwrap();
    let line = |id: &str, subject: &str, more: &str| {
        let text: String = (0..99).map(|word| format!("{subject}{word} ")).collect();
        json!({"id": id, "text": text + more}).to_string() + "\n"
    };
    let filter = |options: &[&str], input: &str| {
        let mut command = pagesieve();
        command.current_dir(&directory).arg("filter").args(options);
        command.write_stdin(input).assert()
    };
    filter(&["--state", "one.db"], &line("a1", "a", "")).success();
    filter(&["--state", "two.db"], &(line("b1", "b", "") + &line("a2", "a", ""))).success();
    let before = fs::read(directory.path().join("two.db")).unwrap();
    let input = [
        line("n1", "b", ""),
        line("n2", "a", "end"),
        line("n3", "c", ""),
        line("n4", "c", ""),
        line("b1", "b", ""),
    ]
    .concat();
    let against = ["--against", "one.db", "--against", "two.db"];
    for state in [&[][..], &["--state", "new.db"]] {
        let decisions = lines(&filter(&[&against, state].concat(), &input).success());
        let shown: Vec<_> = decisions
            .iter()
            .map(|line| {
                format!(
                    "{} {} {} {}",
                    line["id"], line["verdict"], line["match"]["id"], line["against"]
                )
            })
            .collect();
        assert_eq!(
            shown.join("\n").replace('"', ""),
            "n1 exact b1 two.db\nn2 near a1 one.db\nn3 unique null null\nn4 exact n3 null\nb1 unique null null"
        );
    }
    assert_eq!(fs::read(directory.path().join("two.db")).unwrap(), before);
    for (option, key) in
        [("dedup.seed=7", "dedup.seed would"), ("dedup.segment=ngrams", "dedup.segment would")]
    {
        let refused = filter(&["--against", "one.db", "--set", option], &input).code(2).stdout("");
        assert!(stderr(&refused).contains(key), "{}", stderr(&refused));
    }
}

#[test]
fn clusters_have_the_duplicates_of_each_document() {
    let directory = tempfile::tempdir().unwrap();
    let line = |id: &str, subject: &str, more: &str| {
        let text: String = (0..99).map(|word| format!("{subject}{word} ")).collect();
        json!({"id": id, "text": text + more}).to_string() + "\n"
    };
    let input = [
        line("a", "a", ""),
        line("b", "b", ""),
        line("c, \"1\"", "a", ""),
        line("d", "c", ""),
        line("e", "b", "more"),
        line("f", "a", "more"),
    ];
    let filter = |input: &[String]| {
        let mut filter = pagesieve();
        filter.current_dir(&directory).args(["filter", "--state", "seen.db"]);
        lines(&filter.write_stdin(input.concat()).assert().success())
    };
    let decisions = filter(&input);
    // Versions of a duplicate count once.
    filter(&input[4..]);
    let clusters = |options: &[&str]| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(["clusters", "seen.db"]).args(options).assert()
    };
    let all = lines(&clusters(&[]).success());
    let shown = |line: &Value| {
        let ids: Vec<_> =
            line["duplicates"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
        json!([line["id"], line["count"], ids])
    };
    assert_eq!(
        all.iter().map(shown).collect::<Vec<_>>(),
        [json!(["a", 2, ["c, \"1\"", "f"]]), json!(["b", 1, ["e"]])]
    );
    for field in ["distance", "signature_distance", "similarity"] {
        assert_eq!(all[1]["duplicates"][0][field], decisions[4]["match"][field]);
    }
    assert_eq!(lines(&clusters(&["--of", "f"]).success()), all[..1]);
    assert_eq!(lines(&clusters(&["--of", "b"]).success()), all[1..]);
    let alone = json!({"id": "d", "duplicates": [], "count": 0});
    assert_eq!(lines(&clusters(&["--of", "d"]).success()), [alone]);
    let csv = stdout(&clusters(&["--csv"]).success());
    let rows: Vec<_> = csv.lines().collect();
    assert_eq!(rows[0], "id,duplicate,verdict,step,distance,signature_distance,similarity");
    assert_eq!(rows[1], r#"a,"c, ""1""",exact,text,0,0,1"#);
    assert!(rows.len() == 4 && rows[3].starts_with("b,e,near,near,"), "{csv}");
}

/// Prints how long an answer takes. Run it in a release build, on a quiet machine.
#[test]
#[ignore = "a measurement: `cargo test --release --test it the_time_to_an_answer -- --ignored --nocapture`"]
fn the_time_to_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let input = documents(2000);
    for options in
        [&[][..], &["--state", "seen.db"], &["--state", "acks.db", "--acks", "--kept", "kept"]]
    {
        let mut child = start(directory.path(), options);
        let mut to = child.stdin.take().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let (mut times, mut line) = (Vec::new(), String::new());
        for document in input.split_inclusive('\n') {
            let began = Instant::now();
            to.write_all(document.as_bytes()).unwrap();
            from.read_line(&mut line).unwrap();
            times.push(began.elapsed());
            if options.contains(&"--acks") {
                from.read_line(&mut line).unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        }
        drop(to);
        child.wait().unwrap();
        times.sort_unstable();
        let [half, most, last] =
            [times.len() / 2, times.len() * 99 / 100, times.len() - 1].map(|at| times[at]);
        let text = format!("{options:?}: p50 {half:?}, p99 {most:?}, longest {last:?}\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn documents_are_compared_with_those_of_a_crawl_whose_hash_seed_is_secret() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Routes::new().at("*", "/", Reply::html(page(0))));
    let mut crawl = pagesieve();
    let url = format!("http://{}/", server.address());
    crawl.current_dir(&directory).args(["crawl", &url, "--contact=a@b.org", "--delay=0s"]);
    crawl.args(["--out=run", "--set", "fetch.allow_private=['127.0.0.0/8']"]).assert().success();
    let input = json!({"id": "a", "html": page(0)}).to_string() + "\n";
    let filter = |options: &[&str]| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(["filter", "--against", "run"]).args(options);
        command.write_stdin(&*input).assert()
    };
    for options in [&[][..], &["--state", "new.db"], &["--state", "new.db"]] {
        let decisions = lines(&filter(options).success());
        assert_eq!(decisions[0]["match"]["id"], *url, "{options:?}");
    }
    let mut begin = pagesieve();
    begin.current_dir(&directory).args(["filter", "--state", "public.db"]).write_stdin("");
    begin.assert().success();
    for (options, advice) in [
        (["--state", "public.db"], "a new --state FILE takes over the hash seed"),
        (["--set", "dedup.seed=7"], "leave dedup.seed out"),
        (["--against", "public.db"], "in a call of its own"),
    ] {
        let refused = stderr(&filter(&options).code(2).stdout(""));
        let refused = refused.split_whitespace().filter(|word| *word != "│");
        let refused = refused.collect::<Vec<_>>().join(" ");
        assert!(refused.contains("dedup.seed would") && refused.contains(advice), "{refused}");
    }
}

#[test]
fn all_versions_of_a_document_show_their_duplicates() {
    let directory = tempfile::tempdir().unwrap();
    let line = |id: &str, subject: &str| {
        let text: String = (0..99).map(|word| format!("{subject}{word} ")).collect();
        json!({"id": id, "text": text}).to_string() + "\n"
    };
    let input = [line("a", "old"), line("b", "old"), line("a", "new"), line("c", "new")].concat();
    let mut filter = pagesieve();
    filter.current_dir(&directory).args(["filter", "--state", "seen.db"]).write_stdin(input);
    filter.assert().success();
    let mut clusters = pagesieve();
    clusters.current_dir(&directory).args(["clusters", "seen.db", "--of", "a"]);
    let found = lines(&clusters.assert().success());
    let found: Vec<_> =
        found.iter().map(|line| json!([line["id"], line["duplicates"][0]["id"]])).collect();
    assert_eq!(found, [json!(["a", "b"]), json!(["a", "c"])]);
}

#[test]
fn the_state_of_a_filter_is_asked_like_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let text = |first: &str| {
        let words: String = (0..300).map(|word| format!("word{word} ")).collect();
        format!("{first} {words}")
    };
    let input: String = [
        json!({"id": "a", "text": text("one"), "time": "2026-01-02T03:04:05Z"}),
        json!({"id": 7, "text": text("two"), "time": "2026-01-02T03:04:06Z"}),
        json!({"id": "a", "text": "Something else.", "time": "2026-01-02T03:04:07Z"}),
        json!({"url": "http://a.test/?utm_source=x", "text": "A third one.", "time": "2026-01-02T03:04:08Z"}),
    ]
    .map(|line| line.to_string() + "\n")
    .concat();
    let call = |arguments: &[&str]| {
        let mut command = pagesieve();
        command.current_dir(&directory).args(arguments);
        command
    };
    let options = ["--set", "dedup.segment=ngrams"];
    let filter = [&["filter", "--state", "seen.db"], &options[..]].concat();
    call(&filter).write_stdin(input).assert().success();
    let explain = |id: &str| stdout(&call(&["explain", "seen.db", id]).assert().success());
    let near = explain("7");
    assert!(
        near.starts_with("7\noutcome         a near duplicate of a: ")
            && near.contains("\ndistance ")
            && near.ends_with("\njudged          2026-01-02T03:04:06Z\n"),
        "{near}"
    );
    let both = explain("a");
    let outcomes = both.lines().filter(|line| *line == "outcome         unique");
    assert_eq!(outcomes.count(), 2, "{both}");
    assert!(both.ends_with("\njudged          2026-01-02T03:04:07Z\n"), "{both}");
    assert!(explain("http://a.test").starts_with("http://a.test/?utm_source=x\n"));
    let refused = stderr(&call(&["explain", "seen.db", "none"]).assert().code(1).stdout(""));
    assert!(refused.contains("seen.db has no document none"), "{refused}");
    // By the state's own recipe.
    let lookup = |arguments: &[&str]| {
        let arguments = [&["lookup", "--run", "seen.db", "-"], arguments].concat();
        stdout(&call(&arguments).write_stdin(text("three")).assert().success())
    };
    let found = lookup(&[]);
    assert!(
        found.contains("nearest of the 1 document in the filter's window")
            && found.contains("The filter would judge it a near duplicate of a:"),
        "{found}"
    );
    let strict = lookup(&["--set", "dedup.radius=0", "--set", "dedup.article=false"]);
    assert!(strict.contains("The filter would judge it"), "{strict}");
    call(&["lookup", "--run", "seen.db", "-", "--set", "dedup.segment=jieba"])
        .write_stdin("A text.")
        .assert()
        .code(2);
    for command in ["pages", "export", "links", "rules", "report"] {
        let refused = stderr(&call(&[command, "seen.db"]).assert().code(2).stdout(""));
        let refused = refused.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(refused.contains("`explain` and `lookup` also read the state of a filter"));
    }
}

/// A page of many words.
fn page(number: u32) -> String {
    let words: String = (0..200).map(|word| format!("p{number}w{word} ")).collect();
    format!("<title>Page</title><p>{words}</p>")
}
