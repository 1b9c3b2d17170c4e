//! The exit codes of all commands, as a table.

use std::fs;

use crate::cli::{pagesieve, stdout};

const GOOD: &str = "\
[crawl]
user_agent = 'bot/1.0 (+https://example.org/bot)'
[politeness]
delay = '0s'
[fetch]
retries = 0
resolve = { 'a.test' = '127.0.0.1:1' }
[[seeds]]
url = 'http://a.test/'
";

/// The arguments of a call, and its exit code. The order matters: a crawl comes before the commands that read it.
const CALLS: &[(&str, i32)] = &[
    ("", 2),
    ("--help", 0),
    ("--version", 0),
    ("fliter", 2),
    ("check good.toml", 0),
    ("check bad.toml", 2),
    ("check absent.toml", 2),
    ("check good.toml --set crawl.max_depth=x", 2),
    ("crawl bad.toml", 2),
    ("crawl absent.toml", 2),
    ("crawl good.toml --dry-run", 0),
    ("crawl good.toml --dry-run --fresh", 2),
    ("crawl good.toml --out page.html", 1),
    ("check private.toml", 2),
    ("check private.toml --offline", 2),
    ("check lost.toml", 0),
    ("check lost.toml --offline", 0),
    ("crawl good.toml", 1),
    ("crawl good.toml", 1),
    ("crawl runs/good", 2),
    ("crawl good.toml --set dedup.segment=ngrams", 2),
    ("crawl good.toml --fresh", 2),
    ("crawl good.toml --fresh --yes", 1),
    ("crawl good.toml --max-pages 0 --out spent", 1),
    ("report runs/good", 0),
    ("report absent", 2),
    ("verify runs/good", 0),
    ("verify absent", 2),
    ("verify page.html", 2),
    ("repair runs/good", 0),
    ("repair absent", 2),
    ("backup runs/good copy", 0),
    ("backup runs/good copy", 2),
    ("backup absent other", 2),
    ("verify copy", 0),
    ("export runs/good", 0),
    ("export runs/good --pending", 0),
    ("export absent", 2),
    ("explain http://a.test/ --run runs/good", 0),
    ("explain http://b.test/ --run runs/good", 1),
    ("explain http://a.test/ page.html --run runs/good", 1),
    ("explain http://a.test/ --run absent", 2),
    ("explain http://a.test/", 2),
    ("pages runs/good", 0),
    ("pages runs/good http://a.test/", 1),
    ("pages runs/good http://b.test/", 1),
    ("pages runs/good relative", 2),
    ("explain page.html", 2),
    ("explain page.html --run runs/good", 2),
    ("explain page.html page.html", 0),
    ("explain page.html lines.jsonl", 2),
    ("explain page.html absent.html", 1),
    ("lookup --run runs/good page.html", 0),
    ("lookup --run runs/good absent.html", 1),
    ("lookup --run runs/good bad.jsonl", 1),
    ("lookup --run absent page.html", 2),
    ("lookup page.html", 2),
    ("lookup runs/good page.html", 0),
    ("lookup --run runs/good runs/good page.html", 2),
    ("explain runs/good", 2),
    ("explain runs/good page.html page.html", 0),
    ("explain page.html page.html page.html", 2),
    ("explain page.html page.html page.html --run runs/good", 2),
    ("filter page.html lines.jsonl", 0),
    ("filter page.html bad.jsonl", 1),
    ("filter absent.html", 1),
    ("filter page.html --set dedup.radius=65", 2),
    ("filter page.html --config bad.toml", 2),
    ("filter page.html --state page.html", 2),
    ("filter page.html --state absent/state", 1),
    ("filter page.html --state seen", 0),
    ("filter page.html --state seen --set dedup.seed=7", 2),
    ("filter page.html --against seen", 0),
    ("filter page.html --against seen --set dedup.seed=7", 2),
    ("filter page.html --against runs/good", 0),
    ("filter page.html --against runs/good --state seen", 2),
    ("filter page.html --against runs/good --set dedup.seed=7", 2),
    ("filter page.html --against page.html", 2),
    ("filter page.html --against absent", 1),
    ("filter page.html --kept kept", 1),
    ("filter lines.jsonl --kept kept", 0),
    ("filter lines.jsonl --kept kept", 2),
    ("filter lines.jsonl --acks", 2),
    ("clusters seen", 0),
    ("clusters seen --of page.html", 0),
    ("clusters seen --of absent", 1),
    ("clusters page.html", 2),
    ("clusters runs/good", 0),
    ("clusters", 2),
    ("explain seen page.html", 0),
    ("explain absent --run seen", 1),
    ("explain http://a.test/ page.html --run seen", 2),
    ("explain page.html page.html --run seen", 0),
    ("lookup --run seen page.html", 0),
    ("pages seen", 2),
    ("links seen http://a.test/", 2),
    ("verify seen", 0),
    ("repair seen", 0),
    ("fingerprint page.html lines.jsonl", 0),
    ("fingerprint bad.jsonl", 1),
    ("fingerprint page.html --set dedup.nothing=1", 2),
    ("extract page.html lines.jsonl", 0),
    ("extract bad.jsonl", 1),
    ("extract page.html --config absent.toml", 2),
    ("robots robots.txt bot http://a.test/", 0),
    ("robots robots.txt bot http://a.test/ /relative", 1),
    ("robots absent.txt bot http://a.test/", 1),
    ("robots robots.txt", 2),
    ("--log loud filter page.html", 2),
];

#[test]
fn every_command_ends_with_its_documented_code() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("good.toml", GOOD),
        ("private.toml", &GOOD.replace("http://a.test/", "http://10.1.2.3/")),
        ("lost.toml", &GOOD.replace("http://a.test/", "http://no.such.name.invalid/")),
        ("bad.toml", "[crawl]\nmax_dept = 3\n"),
        ("page.html", "<title>Page</title><p>Some words of a page."),
        ("lines.jsonl", "{\"id\":\"a\",\"text\":\"Some words of a line.\"}\n"),
        ("bad.jsonl", "{\"id\":\"a\",\"text\":\"Some words.\"}\n{\"id\":\n"),
        ("robots.txt", "User-agent: *\nDisallow: /private\n"),
    ] {
        fs::write(directory.path().join(name), content).unwrap();
    }
    let mut wrong = Vec::new();
    for (call, expected) in CALLS {
        let mut command = pagesieve();
        let output =
            command.current_dir(&directory).args(call.split_whitespace()).output().unwrap();
        if output.status.code() != Some(*expected) {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("`{call}`: {:?}, not {expected}\n{message}", output.status.code()));
        }
        if *expected == 2 {
            assert!(output.stdout.is_empty(), "`{call}` writes to standard output");
            assert!(!output.stderr.is_empty(), "`{call}` prints no message");
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Signals during a crawl that would never end.
#[cfg(unix)]
#[test]
fn an_interrupted_crawl_says_how_to_continue() {
    use std::{
        process::{Command, Stdio},
        sync::mpsc,
    };

    use crate::server::{Reply, Server};

    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (asked, pages) = mpsc::channel();
        let server = Server::answering(move |request, _| {
            let number: u64 = request.path[1..].parse().unwrap_or(0);
            // After the end of the crawl, there is no receiver.
            let _ = asked.send(number);
            Reply::html(format!("<p>Page {number}.</p><a href={}>next</a>", number + 1))
        });
        let directory = tempfile::tempdir().unwrap();
        let config =
            GOOD.replace("127.0.0.1:1", &server.address().to_string()) + "max_depth = 1_000_000\n";
        let config = config.replace("[crawl]", "[crawl]\nmax_depth = 1_000_000");
        fs::write(directory.path().join("good.toml"), config).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_pagesieve"))
            .current_dir(&directory)
            .args(["crawl", "good.toml", "--progress", "none"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(pages.iter().any(|number| number == 5));
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let ended = child.wait_with_output().unwrap();
        let message = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{message}");
        assert!(
            message.contains("stopping: ") && message.contains("run the same command again"),
            "{message}"
        );
        let summary = String::from_utf8(ended.stdout).unwrap();
        assert!(
            summary.contains("interrupted") && summary.contains("Still queued when"),
            "{summary}"
        );
    }
}

#[test]
fn the_readme_shows_a_decision_as_filter_makes_it() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("tests/data/fingerprint/en-1.txt")).unwrap();
    // As `sed s/table/relation/`: the first of each line.
    let edited: String =
        text.lines().map(|line| line.replacen("table", "relation", 1) + "\n").collect();
    let line = |id: &str, text: &str| serde_json::json!({"id": id, "text": text}).to_string();
    let input = [line("a", &text), line("b", &edited)].join("\n");
    let decisions = stdout(&pagesieve().arg("filter").write_stdin(input).assert().success());
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme.lines().find(|line| line.starts_with("{\"id\":\"b\"")).unwrap();
    assert_eq!(decisions.lines().nth(1), Some(shown));
}
