//! The commands robots, explain, extract and fingerprint, and what all commands have in common.

use std::fs;

use assert_cmd::{Command, assert::Assert, cargo::cargo_bin_cmd};
use serde_json::Value;

/// The program.
pub(crate) fn pagesieve() -> Command {
    let mut command = cargo_bin_cmd!("pagesieve");
    command.env_remove("NO_GRAPHICS");
    command
}

/// What it wrote to standard output.
pub(crate) fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// What it wrote to standard error.
pub(crate) fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// The lines of its standard output as JSON.
pub(crate) fn lines(assert: &Assert) -> Vec<Value> {
    stdout(assert).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const ROBOTS: &str = "\
User-agent: *
Disallow: /private/ # keep out
Allow: /private/open

User-agent: other
Disallow: /
";

#[test]
fn help_names_every_command() {
    let help = stdout(&pagesieve().arg("--help").assert().success());
    let documented = [
        "check",
        "filter",
        "fingerprint",
        "extract",
        "robots",
        "explain",
        "lookup",
        "clusters",
        "export",
        "links",
        "schema",
    ];
    for command in documented {
        assert!(help.contains(&format!("\n  {command}  ")), "{command}");
        let help = stdout(&pagesieve().args([command, "--help"]).assert().success());
        assert!(help.contains("Example") && help.contains("pagesieve "), "{command}");
    }
    let version = stdout(&pagesieve().arg("--version").assert().success());
    assert_eq!(
        version,
        format!("pagesieve {} (recipe 3, state layout 17)\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_usage_ends_with_2() {
    pagesieve().assert().code(2);
    pagesieve().arg("fliter").assert().code(2).stdout("");
    pagesieve().args(["--log", "very=loud=please", "filter"]).assert().code(2);
    pagesieve().args(["filter", "--set", "dedup.radius=12"]).assert().code(2).stdout("");
}

#[test]
fn robots_prints_the_rule_and_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("robots.txt");
    fs::write(&file, ROBOTS).unwrap();
    let urls = ["http://a.org/private/x", "http://a.org/private/open", "http://a.org/"];
    let printed = "\
deny\thttp://a.org/private/x\tDisallow: /private/ (line 2)
allow\thttp://a.org/private/open\tAllow: /private/open (line 3)
allow\thttp://a.org/\t-
";
    pagesieve()
        .arg("robots")
        .arg(&file)
        .arg("bot/1.0 (+http://b.org)")
        .args(urls)
        .assert()
        .success()
        .stdout(printed);
    let asked =
        pagesieve().arg("robots").arg(&file).arg("bot").write_stdin(urls.join("\r\n")).assert();
    asked.success().stdout(printed);
    pagesieve()
        .arg("robots")
        .arg(&file)
        .args(["Other", urls[2]])
        .assert()
        .success()
        .stdout("deny\thttp://a.org/\tDisallow: / (line 6)\n");
}

#[test]
fn robots_denies_what_is_not_a_url_and_continues() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("robots.txt");
    fs::write(&file, ROBOTS).unwrap();
    let asked = pagesieve()
        .arg("robots")
        .arg(&file)
        .arg("bot")
        .write_stdin("/relative\n\nhttp://a.org/")
        .assert();
    asked.code(1).stdout("deny\t/relative\trelative URL without a base\nallow\thttp://a.org/\t-\n");
    let absent = pagesieve().args(["robots", "absent.txt", "bot", "http://a.org/"]).assert();
    absent.code(1).stdout("");
}

#[test]
fn extract_writes_a_line_for_every_document() {
    let input = concat!(
        r#"{"id":"a","url":"http://a.org/x/","html":"<title>Tea</title><nav>Home</nav><p>Green <a href='b'>tea</a>.</p>"}"#,
        "\n",
        r#"{"id":"b","html":"<meta charset=gbk><p>\u8336\u8449</p>"}"#,
        "\n",
        r#"{"id":"c","text":""}"#,
        "\n"
    );
    let lines = lines(&pagesieve().arg("extract").write_stdin(input).assert().success());
    assert_eq!(
        lines[0],
        serde_json::json!({
            "id": "a", "url": "http://a.org/x/", "title": "Tea", "heading": null, "description": null, "text": "Green tea.",
            "links": ["http://a.org/x/b"], "lang": lines[0]["lang"], "charset": "UTF-8"
        })
    );
    assert_eq!(
        (lines[1]["text"].as_str(), lines[1]["charset"].as_str()),
        (Some("茶葉"), Some("UTF-8"))
    );
    assert_eq!((lines[2]["id"].as_str(), lines[2]["text"].as_str()), (Some("c"), Some("")));
    assert_eq!(lines.len(), 3);
}

#[test]
fn fingerprints_begin_their_signatures_and_depend_on_the_seed() {
    let input = "{\"id\":\"a\",\"text\":\"A text of some words, and more.\"}\n";
    let line = |flags: &[&str]| {
        let assert =
            pagesieve().arg("fingerprint").args(flags).write_stdin(input).assert().success();
        lines(&assert).remove(0)
    };
    let public = line(&[]);
    let (fingerprint, signature) =
        (public["fingerprint"].as_str().unwrap(), public["signature"].as_str().unwrap());
    assert_eq!((fingerprint.len(), signature.len()), (16, 64));
    assert!(signature.starts_with(fingerprint));
    assert_eq!(public.as_object().unwrap().len(), 3);
    assert_eq!(line(&["--set", "dedup.seed=public"]), public);
    assert_ne!(line(&["--set", "dedup.seed=7"]), public);
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("crawl.toml");
    fs::write(&config, "[dedup]\nseed = 7\n").unwrap();
    assert_eq!(line(&["--config", config.to_str().unwrap()]), line(&["--set", "dedup.seed=7"]));
}

#[test]
fn explain_shows_the_step_and_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let words =
        |from: u32| (from..from + 300).map(|word| format!("word{word} ")).collect::<String>();
    let write =
        |name: &str, content: String| fs::write(directory.path().join(name), content).unwrap();
    write("a.html", format!("<p>{}</p>", words(0)));
    write("same.html", format!("<div><p>{}</p></div>", words(0).to_uppercase()));
    write("near.txt", format!("{}addendum", words(0)));
    write("other.txt", words(1000));
    let explain = |a: &str, b: &str| {
        stdout(
            &pagesieve()
                .current_dir(&directory)
                .args(["explain", a, b, "--set", "dedup.mode=classic"])
                .assert()
                .success(),
        )
    };
    let assert_has =
        |text: &str, phrase: &str| assert!(text.contains(phrase), "{phrase:?} is not in\n{text}");
    assert_has(&explain("a.html", "a.html"), "B is an exact duplicate: the bodies are equal");
    assert_has(
        &explain("a.html", "same.html"),
        "B is an exact duplicate: the texts have the same words (step text)",
    );
    let near = explain("a.html", "near.txt");
    assert_has(&near, "B is a near duplicate: they are similar enough (step near): ");
    assert_has(&near, "rule classic: fingerprints differ in at most 3 of 64 bits");
    assert_has(&near, "2 of 601 features weigh more in B");
    assert_has(&near, "addendum");
    let other = explain("a.html", "other.txt");
    assert_has(&other, "B is unique: the texts are neither equal nor similar enough");
    assert_has(&other, "… and ");
    assert!(!other.contains('\x1b'), "there is no terminal");
    pagesieve().args(["explain", "absent", "absent"]).assert().code(1).stdout("");
}

#[test]
fn explain_shows_what_pages_have_in_common() {
    let directory = tempfile::tempdir().unwrap();
    let words = |name: &str, count: u32| {
        (0..count).map(|word| format!("{name}{word} ")).collect::<String>()
    };
    let write = |name: &str, site: &str, article: &str, around: &str| {
        let page = format!(
            "<title>{article}</title><link rel=canonical href=http://{site}/{name}>\
             <article><p>{site} reports<p>{}<p>{}</article><div><p>{around}</div>",
            words(article, 90),
            words(&format!("{article}more"), 90),
        );
        fs::write(directory.path().join(name), page).unwrap();
    };
    let [around, other_around] = [words("around", 30), words("elsewhere", 30)];
    write("tides.html", "a.test", "tide", &around);
    write("reprint.html", "b.test", "tide", &other_around);
    write("winds.html", "a.test", "wind", &around);
    let explain = |a: &str, b: &str, more: &[&str]| {
        let mut command = pagesieve();
        stdout(
            &command.current_dir(&directory).args(["explain", a, b]).args(more).assert().success(),
        )
    };
    let assert_has =
        |text: &str, phrase: &str| assert!(text.contains(phrase), "{phrase:?} is not in\n{text}");
    let reprint = explain("tides.html", "reprint.html", &[]);
    assert_has(&reprint, "HTML of b.test:80, by its canonical link");
    assert_has(&reprint, "B is a near duplicate: they are similar enough (step near)");
    assert_has(&reprint, "181 words of content in common, under one title\n");
    assert_has(&reprint, "1 word only in B, 1 word only in A\n");
    assert_has(&reprint, "of 0.68 needed, as pages of two hosts: one repeats the other\n");
    assert_has(&reprint, "both have:\n");
    assert_has(&reprint, "\n  tide0 tide1 ");
    assert_has(&reprint, "only A has:\n");
    assert_has(&reprint, "\n  around0 ");
    assert_has(&reprint, "\n  elsewhere0 ");
    let other = explain("tides.html", "winds.html", &[]);
    assert_has(&other, "B is unique: it is not similar enough to A");
    assert_has(
        &other,
        "words of content in common, under two titles, so what differs counts more\n",
    );
    assert_has(&other, "180 words only in B, 180 words only in A\n");
    assert_has(&other, "needed, as pages of one host: two pages\n");
    assert_has(&other, "around0 ");
    assert_has(&other, "\n  wind0 ");
    let whole = explain("tides.html", "winds.html", &["--set", "dedup.article=false"]);
    assert!(!whole.contains("words of content"), "{whole}");
    assert_has(&whole, "rule balanced: ");
}

#[test]
fn explain_shows_which_links_and_words_make_pages_differ() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, body: &str| {
        let link = "<link rel=canonical href=http://a.test/>";
        fs::write(directory.path().join(name), format!("{link}<title>Tides</title>{body}"))
            .unwrap();
    };
    let words = |from: u32, to: u32| {
        (from..to)
            .map(|word| {
                format!("tide{} ", char::from_u32(97 + word % 26).unwrap())
                    .repeat(1 + word as usize / 26)
            })
            .collect::<String>()
    };
    let list = |names: &[&str]| {
        let item = |name: &&str| format!("<li><a href=/{name}>All about {name} and more</a>");
        format!(
            "<article><p>{}<ul>{}</ul></article>",
            words(0, 10),
            names.iter().map(item).collect::<String>()
        )
    };
    write("list.html", &list(&["tides", "winds", "storms"]));
    write("other.html", &list(&["tides", "rivers", "storms"]));
    write("article.html", &format!("<article><p>{}</article>", words(0, 90)));
    write(
        "edited.html",
        &format!("<article><p>{}One More Word. {}</article>", words(0, 50), words(50, 90)),
    );
    write("thin.html", "<p>Hello");
    let explain = |a: &str, b: &str| {
        let mut command = pagesieve();
        stdout(&command.current_dir(&directory).args(["explain", a, b]).assert().success())
    };
    let assert_has =
        |text: &str, phrase: &str| assert!(text.contains(phrase), "{phrase:?} is not in\n{text}");
    let lists = explain("list.html", "other.html");
    assert_has(&lists, "(links to other pages count: 1 only in A, 1 only in B)\n");
    assert_has(&lists, "[winds]");
    assert_has(&lists, "[rivers]");
    let edited = explain("article.html", "edited.html");
    assert_has(&edited, "B is a near duplicate: they are similar enough (step near)");
    assert_has(&edited, " [one more word] ");
    let thin = explain("article.html", "thin.html");
    assert_has(&thin, "B is unique: it has fewer than three words of its own, so only");
}

#[test]
fn a_text_that_is_truncated_or_has_no_words_is_marked() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &str| fs::write(directory.path().join(name), content).unwrap();
    write("deep.html", &format!("<p>before</p>{}behind", "<div>".repeat(600)));
    write("bare.html", "<img src=a.png>");
    write("signs.txt", "… – !");
    let run = |arguments: &[&str]| pagesieve().current_dir(&directory).args(arguments).assert();
    for command in ["filter", "extract", "fingerprint"] {
        let lines = lines(&run(&[command, "deep.html", "bare.html"]).success());
        assert_eq!(lines[0]["truncated"], "depth", "{command}");
        assert_eq!(lines[1].get("truncated"), None, "{command}");
    }
    let bare = lines(&run(&["fingerprint", "bare.html"]).success()).remove(0);
    assert!(bare["fingerprint"].is_null() && bare["signature"].is_null(), "{bare}");
    let printed = stdout(&run(&["explain", "deep.html", "bare.html"]).success());
    assert!(printed.contains("truncated: its elements are nested too deeply (depth)"), "{printed}");
    assert!(printed.contains("it has no body text; navigation"), "{printed}");
    assert!(printed.contains("unique: the text of A has 1 feature, fewer than 10"), "{printed}");
    let printed = stdout(&run(&["explain", "signs.txt", "bare.html"]).success());
    assert!(printed.contains("it has no words, only punctuation or symbols"), "{printed}");
    assert!(printed.contains("unique: the text of A has no words"), "{printed}");
    for (empty, content) in [("empty.txt", ""), ("blank.txt", "\n \n")] {
        write(empty, content);
        let printed = stdout(&run(&["explain", empty, "bare.html"]).success());
        assert!(printed.contains("   text\n   it is empty\n"), "{printed}");
    }
}

#[test]
fn json_lines_are_not_explained_as_one_text() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &str| fs::write(directory.path().join(name), content).unwrap();
    write(
        "lines.jsonl",
        "\n{\"id\": \"a\", \"text\": \"ebb and flow\"}\n{\"id\": \"b\", \"text\": \"\"}\n",
    );
    write("code.txt", "{ int tide = high; }\n{}\n");
    let explain =
        |a: &str, b: &str| pagesieve().current_dir(&directory).args(["explain", a, b]).assert();
    for (a, b) in [("lines.jsonl", "code.txt"), ("code.txt", "lines.jsonl")] {
        let printed = stderr(&explain(a, b).code(2).stdout(""));
        assert!(printed.contains("lines.jsonl has JSON lines"), "{printed}");
        assert!(printed.contains("`pagesieve lookup` read JSON lines"), "{printed}");
    }
    explain("code.txt", "code.txt").success();
}

#[test]
fn a_directory_without_pages_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("lines.jsonl"), "{}").unwrap();
    for command in ["filter", "extract", "fingerprint"] {
        let assert = pagesieve().arg(command).arg(directory.path()).assert().success().stdout("");
        assert!(
            stderr(&assert).starts_with(
                "no documents were found; in directories, only files that end in .html"
            )
        );
        pagesieve().arg(command).write_stdin("{\"id\":\"a\",\"text\":\"\"}").assert().stderr("");
    }
}

#[test]
fn a_word_that_is_not_a_level_is_not_taken_for_a_part_to_log() {
    let log = |level: &str| pagesieve().args(["--log", level, "filter"]).assert();
    for level in ["bogus", "warn,loud", "", "warn,", "pagesieve=loud"] {
        log(level).code(2).stdout("");
    }
    assert!(
        stderr(&log("bogus")).contains("\"bogus\" is not a level: use error, warn, info, debug")
    );
    for level in ["off", "WARN", "warn,pagesieve::crawl=debug", "pagesieve[{url}]=info"] {
        log(level).success();
    }
}

#[cfg(feature = "demo")]
#[test]
fn a_demo_replaces_nothing_but_a_demo() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pages.jsonl");
    std::fs::write(&file, "mine").unwrap();
    let demo = |out: &std::path::Path| {
        pagesieve().args(["demo", "--progress", "none", "--out"]).arg(out).assert()
    };
    demo(directory.path()).code(2);
    // The error comes before anything is served.
    assert!(!stderr(&demo(&file).code(2)).contains("serving"));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    let empty = directory.path().join("demo");
    demo(&empty).success();
    demo(&empty).success();
}
