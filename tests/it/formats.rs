//! `docs/formats.md`, `docs/run.md` and `docs/report.md` list exactly the fields that the program writes.

use std::{collections::BTreeSet, fs, path::Path};

use pagesieve::{
    fingerprint::Fingerprint,
    report::{
        ChangedPage, DeferredUrls, MovedSeed, NearMiss, Pass, RuleReport, Unfetched,
        UnreachableSeed, Warning,
    },
    sink::{ChangeLine, ChangeName},
    state::Reason,
};
use serde_json::{Value, json};

use crate::{
    cli::{lines, pagesieve},
    server::{Reply, Routes, Server},
};

type Fields = BTreeSet<String>;

fn document() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["formats", "run", "report"].map(|name| format!("docs/{name}.md"));
    pages.map(|page| fs::read_to_string(root.join(page)).unwrap()).concat()
}

/// The names in the first column of the tables of a section.
fn listed(section: &str) -> Fields {
    let document = document();
    let body = document.split("\n## ").find(|body| body.lines().next() == Some(section)).unwrap();
    let names = body.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.map(ToOwned::to_owned).collect()
}

/// The paths of all fields of a value. The fields of `counts.skipped` are data.
fn fields_of(value: &Value, path: &str, found: &mut Fields) {
    if !path.is_empty() {
        found.insert(path.to_owned());
    }
    match value {
        Value::Object(fields) if path != "counts.skipped" => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fields_of(value, &path, found);
            }
        }
        Value::Array(items) => {
            for item in items.iter().filter(|item| item.is_object()) {
                let mut inner = Fields::new();
                fields_of(item, "", &mut inner);
                found.extend(inner.iter().map(|name| format!("{path}[].{name}")));
            }
        }
        _ => {}
    }
}

fn fields(lines: &[Value]) -> Fields {
    let mut found = Fields::new();
    for line in lines {
        fields_of(line, "", &mut found);
    }
    found
}

/// Some words that no other name gives.
fn text(name: &str) -> String {
    (0..80).map(|word| format!("{name}{word} ")).collect()
}

fn page(name: &str, links: &str) -> Reply {
    Reply::html(format!("<title>{name}</title><p>{}</p>{links}", text(name)))
}

/// A run with stored pages, duplicates, skipped URLs, WARC files and a suspended host.
fn run(directory: &Path) {
    let links: String = ["same", "near", "dead"].map(|to| format!("<a href=/{to}>x</a>")).concat();
    let routes = Routes::new()
        .at("slow.test", "/robots.txt", Reply::text("User-agent: *\nCrawl-delay: 1000"))
        .at("a.test", "/", page("seed", &links))
        .at("a.test", "/same", page("seed", &links))
        .at("a.test", "/near", Reply::html(format!("<title>seed</title><p>{} more", text("seed"))));
    let server = Server::start(routes);
    let address = server.address();
    let config = format!(
        "[crawl]\nuser_agent = 'bot/1'\n[politeness]\ndelay = '0s'\n[store]\nwarc = true\n\
         [fetch]\nresolve = {{ 'a.test' = '{address}', 'slow.test' = '{address}' }}\n\
         [[seeds]]\nurl = 'http://a.test/'\n[[seeds]]\nurl = 'http://slow.test/'\n"
    );
    fs::write(directory.join("run.toml"), config).unwrap();
    pagesieve().current_dir(directory).args(["crawl", "run.toml"]).assert().success();
}

#[test]
fn every_field_of_a_run_is_in_the_tables_and_every_field_in_the_tables_occurs() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path());
    let read =
        |name: &str| fs::read_to_string(directory.path().join("runs/run").join(name)).unwrap();
    let read_lines = |name: &str| -> Vec<Value> {
        read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let mut decision = listed("A decision");
    decision.remove("truncated");
    decision.remove("against");
    decision.retain(|name| !name.starts_with("previous"));
    // A stored page has no match by default.
    let matched: Fields =
        decision.iter().filter(|name| name.starts_with("match.")).cloned().collect();
    let stored = &decision - &matched;
    assert_eq!(fields(&read_lines("pages.jsonl")), &listed("`pages.jsonl`") | &stored);
    assert_eq!(fields(&read_lines("duplicates.jsonl")), &listed("`duplicates.jsonl`") | &decision);

    let reasons: Fields = Reason::ALL.iter().map(ToString::to_string).collect();
    let exported = pagesieve().arg("export").arg(directory.path().join("runs/run")).assert();
    let exported = &fields(&lines(&exported.success())) | &reasons;
    assert_eq!(exported, listed("Output of `export`"));

    let mut report: Value = serde_json::from_str(&read("report.json")).unwrap();
    report.as_object_mut().unwrap().insert("warnings".to_owned(), json!([]));
    report["pass"] = json!(Pass::default());
    let changed =
        ChangedPage { url: String::new(), changes: 1, gone: None, checked: jiff::Timestamp::MIN };
    report["changed"] = json!([changed]);
    let near_miss = NearMiss { url: String::new(), of: String::new(), similarity: 0.5 };
    report["near_misses"] = json!([near_miss]);
    report["learnt"] = json!({
        "rules": [RuleReport { site: String::new(), part: String::new(), trials: 1, failures: 0, revoked: false, imported: false, dead: false }],
        "deferred": [DeferredUrls {
            pattern: String::new(),
            by: Reason::Rule,
            why: String::new(),
            evidence: String::new(),
            urls: 1,
            new: 0.0,
            new_at_most: 1.0,
            rearranged: 0.0,
        }],
        "queued": [],
    });
    let kinds: Fields =
        warnings().iter().map(|warning| warning["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(&fields(&[report]) | &kinds, listed("`report.json`"));
}

#[test]
fn every_field_of_a_change_is_in_its_table() {
    let line = ChangeLine {
        url: "http://a.test/".into(),
        at: jiff::Timestamp::MIN,
        change: ChangeName::Text,
        since: jiff::Timestamp::MIN,
        before: None,
        after: Some(Fingerprint(1)),
        distance: None,
        verdict: None,
        matched: None,
        reason: None,
        detail: None,
        status: Some(200),
        visits: 1,
        changes: 1,
    };
    let line = serde_json::to_value(line).unwrap();
    assert_eq!(fields(&[line]), listed("`changes.jsonl`"));
}

/// One warning of each kind.
fn warnings() -> Vec<Value> {
    let name = String::new;
    let seed = UnreachableSeed { url: name(), why: name(), server_error: true, answered: true };
    [
        Warning::Open { urls: 1, hosts: 1 },
        Warning::Unreachable { count: 1, seeds: vec![seed.clone()] },
        Warning::Unasked { count: 1, seeds: vec![UnreachableSeed { answered: false, ..seed }] },
        Warning::Moved { count: 1, seeds: vec![MovedSeed { url: name(), to: name() }] },
        Warning::Nothing {
            reason: None,
            skipped: 0,
            known: 0,
            example: name(),
            detail: None,
            cause: None,
        },
        Warning::Retry { urls: 1, example: name(), status: Some(502), due: jiff::Timestamp::MIN },
        Warning::NotKept { duplicates: 1, key: name() },
        Warning::Missed { missed: 1, checked: 1 },
        Warning::Deferred(Unfetched { urls: 1, new: 0, new_at_most: 1, rearranged: 0 }),
        Warning::Queued(Unfetched { urls: 1, new: 0, new_at_most: 1, rearranged: 0 }),
        Warning::Mirror { host: name(), pages: 1, duplicates: 1, of: name() },
        Warning::Scripts { pages: 1, example: name() },
        Warning::ManyDuplicates { url: name(), duplicates: 1 },
        Warning::Dropped { host: name(), url: name(), pages: 64, duplicates: 48 },
        Warning::Unrepresented { sites: 1, site: name(), pages: 1 },
    ]
    .map(|warning| serde_json::to_value(warning).unwrap())
    .to_vec()
}

#[test]
fn every_warning_is_in_the_table_with_its_fields() {
    for warning in warnings() {
        let kind = warning["kind"].as_str().unwrap();
        let document = document();
        let row = document.lines().find(|line| line.starts_with(&format!("| `{kind}` |"))).unwrap();
        let cell = row.split('|').nth(2).unwrap();
        let listed: Fields = cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect();
        let mut written = fields(std::slice::from_ref(&warning));
        written.remove("kind");
        assert_eq!(written, listed, "{kind}");
    }
}

#[test]
fn every_field_that_a_command_prints_is_in_its_table() {
    // The second document repeats the first, the third is nested too deeply to be read whole, the fourth has the article of the first, and the fifth
    // has its text in its data only.
    let html = format!("<p>{}</p>", text("a"));
    let reprint = format!("<p>{}</p><div><p>{} again</p></div>", text("b"), text("a"));
    let article = json!({"articleBody": "The ferry goes again from April on. ".repeat(9)});
    let data = format!("<script type=application/ld+json>{article}</script>");
    let input = [
        json!({"id": "1", "html": html, "url": "http://a.test/"}),
        json!({"id": "2", "html": html}),
        json!({"id": "3", "html": "<div>".repeat(1000)}),
        json!({"id": "4", "html": reprint}),
        json!({"id": "5", "html": data}),
    ];
    let input: String = input.iter().map(|line| line.to_string() + "\n").collect();
    let directory = tempfile::tempdir().unwrap();
    let known = json!({"id": "known", "text": text("known")}).to_string();
    let mut filter = pagesieve();
    filter.current_dir(&directory).args(["filter", "--state", "known.db"]);
    filter.write_stdin(known.clone()).assert().success();
    for (command, section) in [
        ("filter", "A decision"),
        ("fingerprint", "Output of `fingerprint`"),
        ("extract", "Output of `extract`"),
    ] {
        let (mut program, mut input) = (pagesieve(), input.clone());
        program.current_dir(&directory).arg(command);
        if command == "filter" {
            program.args(["--against", "known.db", "--state", "seen.db"]);
            input += &known.replace("\"known\"", "\"copy\"");
            input += "\n";
            input += &json!({"id": "1", "html": html}).to_string();
        }
        let assert = program.write_stdin(input).assert().success();
        assert_eq!(fields(&lines(&assert)), listed(section), "{command}");
    }
    let clusters = pagesieve().current_dir(&directory).args(["clusters", "seen.db"]).assert();
    assert_eq!(fields(&lines(&clusters.success())), listed("Output of `clusters`"));
    let wrong = "{}\n";
    let record = b"WARC/1.0\r\nWARC-Type: response\r\n\r\n";
    fs::write(directory.path().join("wrong.warc"), record).unwrap();
    let mut program = pagesieve();
    program.current_dir(&directory).args(["filter", "-", "wrong.warc"]);
    let errors = lines(&program.write_stdin(wrong).assert().code(1));
    assert_eq!(fields(&errors), listed("A line about an error"));
}
