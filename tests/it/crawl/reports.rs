//! When a report is written again, from what, and what can be read where nothing can be written.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use pagesieve::{
    crawl::{self, PastRun, verify},
    filter::Mode,
    report::{End, Piece, Warning},
};

use super::site::{Site, exported, page, text};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Request, Routes},
};

/// It answers with the same page from the hundredth on.
fn turning() -> Site {
    let number = |path: &str| path.trim_start_matches('/').parse::<u32>().ok();
    let answer = move |request: &Request, _: usize| {
        let links: Vec<String> = (1..=200).map(|number| format!("/{number}")).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        match number(&request.path) {
            Some(number @ ..100) => page(&format!("page {number}"), &[]),
            Some(_) => page("please log in", &[]),
            None => page("home", &links),
        }
    };
    Site::answering(answer, &["a.test/"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap())
}

#[test]
fn a_host_that_turns_into_duplicates_is_reported() {
    let site = turning();
    let report = site.run();
    let dropped = report.warnings.iter().find_map(|warning| match warning {
        Warning::Dropped { host, pages, duplicates, .. } => {
            Some((host.as_str(), *pages, *duplicates))
        }
        _ => None,
    });
    assert_eq!(dropped, Some(("a.test", 64, 48)), "{:?}", report.warnings);
    let now = PastRun::open(site.path()).unwrap().recent(1).unwrap();
    let alarm = now.alarms[0].to_string();
    assert!(alarm.starts_with("48 of the last 64 pages of a.test"), "{alarm}");
    assert_eq!(now.alarms[0].evidence().as_deref(), Some("host-a.test"));
    let html = fs::read_to_string(site.path().join("report.html")).unwrap();
    assert!(html.contains("48 of the last 64 pages of a.test"));
    assert!(html.contains("<a href=\"#host-a.test\">") && html.contains("<tr id=\"host-a.test\">"));
}

#[test]
fn sites_that_end_without_a_page_of_their_own_are_noticed_while_the_crawl_runs() {
    let routes = Routes::new()
        .at("a.test", "/", page("the page", &["http://b.test/", "http://c.test/"]))
        .at("b.test", "/", page("the page", &[]))
        .at("c.test", "/", page("the page", &["/own"]))
        .at("c.test", "/own", page("another page", &[]));
    let site = Site::new(routes, &["a.test/", "b.test/", "c.test/"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    let report = site.run();
    let lost = Warning::Unrepresented { sites: 1, site: "b.test".to_owned(), pages: 1 };
    assert!(report.warnings.contains(&lost), "{:?}", report.warnings);
    let now = PastRun::open(site.path()).unwrap().recent(1).unwrap();
    assert_eq!(now.alarms, [lost]);
}

#[test]
fn a_host_that_turns_into_duplicates_gets_no_more_requests_if_that_is_asked_for() {
    let site = turning().planned(|plan| plan.politeness.pause_on_alarm = true);
    let report = site.run();
    assert_eq!((report.counts.unique, report.counts.duplicates()), (101, 48));
    assert!(report.suspended[0].why.contains("pause_on_alarm"), "{:?}", report.suspended);
    assert_eq!(report.end, End::Open, "it is not done");
    assert_eq!(report.suspended[0].urls, 52);
    let site = site.planned(|plan| plan.politeness.pause_on_alarm = false);
    assert_eq!(site.run().counts.fetched, 201, "the next start goes on");
}

/// A run with a stored page, a duplicate, a URL that failed and one that is queued.
fn run() -> Site {
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/dead", "/same", "/late"]))
        .at("*", "/same", page("seed", &[]))
        .at("*", "/late", page("late", &[]))
        .at("*", "/dead", Reply::new(404, ""));
    let site = Site::new(routes, &["a.test/"]).planned(|plan| {
        plan.crawl.max_pages = 2;
        plan.crawl.concurrency = 1.try_into().unwrap();
    });
    site.run();
    site
}

fn files(site: &Site) -> [Vec<u8>; 2] {
    ["report.json", "report.html"].map(|file| fs::read(site.path().join(file)).unwrap())
}

/// What `report` says when it refuses the run, whose report stays as it is.
fn refusal(site: &Site) -> String {
    let before = files(site);
    let refused = pagesieve().arg("report").arg(site.path()).assert().code(2).stdout("");
    assert_eq!(files(site), before);
    stderr(&refused).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_report_is_not_replaced_from_a_state_that_is_not_its_own() {
    let site = run();
    let state = site.path().join("state.sqlite");
    let good = fs::read(&state).unwrap();
    for bad in ["", "these are my notes, which are no database"] {
        fs::write(&state, bad).unwrap();
        let message = refusal(&site);
        assert!(message.contains("state.sqlite"), "{message}");
        assert_eq!(fs::read(&state).unwrap(), bad.as_bytes(), "nothing is made of it");
    }
    let error = site.try_run().unwrap_err();
    assert!(error.is_configuration(), "{error}");

    fs::remove_file(&state).unwrap();
    pagesieve().args(["filter", "--state"]).arg(&state).write_stdin("").assert().success();
    assert!(refusal(&site).contains("`pagesieve filter`"));

    fs::copy(run().path().join("state.sqlite"), &state).unwrap();
    let message = refusal(&site);
    assert!(
        message.contains("the report of another run") && message.contains("`test`"),
        "{message}"
    );

    fs::write(&state, good).unwrap();
    let before = files(&site);
    assert!(crawl::report(site.path()).unwrap().1);
    assert_eq!(files(&site), before);
}

#[test]
fn a_start_that_judges_nothing_does_not_change_how_the_run_was_judged() {
    let site = run().planned(|plan| plan.dedup.mode = Mode::Classic);
    assert_eq!(site.run().fingerprint.mode, "balanced");
    assert_eq!(crawl::report(site.path()).unwrap().0.fingerprint.mode, "balanced");
    let past = PastRun::open(site.path()).unwrap().options().unwrap();
    assert_eq!(past.mode, Mode::Balanced);
    let site = site.planned(|plan| plan.crawl.max_pages = 3);
    assert_eq!(site.run().fingerprint.mode, "classic", "its last page was judged so");
}

/// Runs the program as somebody who cannot write the run directory, which is readable for all then.
fn read_only(site: &Site, arguments: &[&str]) -> Output {
    let allow =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    for file in fs::read_dir(site.path()).unwrap() {
        allow(&file.unwrap().path(), 0o444);
    }
    allow(site.path(), 0o555);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagesieve"));
    command.args(arguments).current_dir("/");
    if rustix::process::geteuid().is_root() {
        // Permissions are nothing to root.
        std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    }
    let output = command.output().unwrap();
    allow(site.path(), 0o755);
    output
}

#[test]
fn a_run_that_cannot_be_written_can_be_read() {
    let site = run();
    let (before, directory) = (files(&site), site.path().to_str().unwrap());
    let succeed = |arguments: &[&str]| {
        let output = read_only(&site, arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {message}");
        (String::from_utf8(output.stdout).unwrap(), message)
    };
    let (summary, message) = succeed(&["report", directory]);
    assert!(summary.contains("fetched                  2"), "{summary}");
    assert!(message.contains("its report stays as it is"), "{message}");
    assert_eq!(files(&site), before);
    let (skipped, _) = succeed(&["export", directory]);
    let (pending, _) = succeed(&["export", directory, "--pending"]);
    assert_eq!(skipped.lines().chain(pending.lines()).collect::<Vec<_>>(), exported(site.path()));
    let (explained, _) = succeed(&["explain", "http://a.test/same", "--run", directory]);
    assert!(explained.contains("exact duplicate of http://a.test/"), "{explained}");
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fingerprint/en-1.txt");
    assert!(succeed(&["lookup", "--run", directory, text]).0.contains("unique"));
}

#[test]
fn what_a_killed_crawl_left_is_read_where_nothing_can_be_written_or_it_says_what_is_missing() {
    let site = run();
    let (state, copy) = (site.path().join("state.sqlite"), run());
    let db = rusqlite::Connection::open(&state).unwrap();
    db.execute_batch("UPDATE meta SET value = 'killed' WHERE name = 'name'").unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("state.sqlite{suffix}");
        fs::copy(site.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let directory = copy.path().to_str().unwrap();
    let output = read_only(&copy, &["report", directory]);
    let (summary, message) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    assert!(summary.starts_with(b"killed: "), "its last commit is in the log: {message}");
    fs::remove_file(copy.path().join("state.sqlite-shm")).unwrap();
    let output = read_only(&copy, &["report", directory]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["state.sqlite-wal has its last commits", "state.sqlite-shm", "copy the directory"]
    {
        assert!(message.replace("│ ", "").contains(part), "{part}: {message}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_on_a_full_disk_ends_with_4() {
    let site = run();
    let before = files(&site);
    std::os::unix::fs::symlink("/dev/full", site.path().join("report.json.new")).unwrap();
    pagesieve().arg("report").arg(site.path()).assert().code(4);
    assert_eq!(files(&site), before);
}

/// A run with a page, one that differs from it in a word, and one that has half of its words.
fn run_of_similar_pages() -> Site {
    let whole = text("tide", 200);
    let word = text("tide", 50).split(' ').next_back().unwrap().to_owned();
    let (half, _) = whole.split_at(whole.len() / 2);
    let reply = |text: &str, links: &str| {
        Reply::html(format!("<!doctype html><title>Tides</title><p>{text}</p>{links}"))
    };
    let routes = Routes::new()
        .at("*", "/", reply(&whole, "<a href=/near></a><a href=/half></a>"))
        .at("*", "/near", reply(&whole.replace(&word, "ebb"), ""))
        .at("*", "/half", reply(&format!("{half}</p><p>{}", text("moon", 200)), ""));
    let site = Site::new(routes, &["a.test/"])
        .planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap());
    site.run();
    site
}

#[test]
fn the_report_shows_in_what_pages_differ_and_how_near_others_came() {
    let site = run_of_similar_pages();
    let report = crawl::report(site.path()).unwrap().0;
    assert_eq!((report.counts.unique, report.counts.near), (2, 1));
    let [cluster] = &report.clusters[..] else { panic!("{:?}", report.clusters) };
    let difference = &cluster.members[0].difference;
    assert!(difference.iter().any(|it| matches!(it, Piece::Kept(_))), "{difference:?}");
    assert!(difference.contains(&Piece::Repeat("ebb".to_owned())), "{difference:?}");
    let of = |counts: &[u64]| counts.iter().sum::<u64>();
    assert_eq!((of(&report.similarities.near), of(&report.similarities.unique)), (1, 1));
    assert_eq!((of(&report.distributions.size), &*report.distributions.depth), (3, &[1, 2][..]));
    let explained = pagesieve()
        .args(["explain", "http://a.test/half", "--run"])
        .arg(site.path())
        .assert()
        .success();
    let nearest = "nearest         http://a.test/: similarity 0.";
    assert!(stdout(&explained).contains(nearest), "{}", stdout(&explained));
}

#[test]
fn two_runs_are_compared_by_what_became_of_their_urls() {
    let (old, new) = (run(), run_of_similar_pages());
    let compare = |a: &Site, b: &Site| {
        let compared = pagesieve().arg("report").args([a.path(), b.path()]).assert().success();
        (stdout(&compared), stderr(&compared))
    };
    let (output, _) = compare(&old, &new);
    for line in [
        "  fetched                    2          3         +1",
        "  exact duplicates           1          0         -1",
        "pages only in A: 1 URL\n  http://a.test/same  exact duplicate\n",
        "pages only in B: 2 URLs\n  http://a.test/half  unique\n  http://a.test/near  near duplicate\n",
        "skipped, and only in A: 1 URL\n  http://a.test/dead  skipped: status\n",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let site = turning();
    site.run();
    let (few, _) = compare(&old, &site);
    assert!(
        few.contains("pages only in B: 200 URLs") && few.contains("  and 180 others: --all"),
        "{few}"
    );
    let mut all = pagesieve();
    let all =
        stdout(&all.arg("report").args([old.path(), site.path()]).arg("--all").assert().success());
    assert!(all.contains("/187  exact duplicate\n") && !few.contains("/187 "), "{all}");
    let (output, message) = compare(&new, &new);
    assert!(!output.contains("URL") && message.contains("the same outcomes"), "{output}{message}");
}

#[test]
fn near_duplicates_are_reviewed_once_and_the_answers_are_kept() {
    let site = run_of_similar_pages();
    let review = |answers: &str| {
        let reviewed = pagesieve()
            .arg("review")
            .arg(site.path())
            .write_stdin(answers.to_owned())
            .assert()
            .success();
        stdout(&reviewed)
    };
    // The answer is taken back: there is nothing to be taken back before it.
    let output = review("perhaps\nb\nn\nb\n");
    assert!(output.contains("no answer"), "{output}");
    let output = review("u\nb\ny\n");
    for line in [
        "  kept     http://a.test/\n  dropped  http://a.test/near\n",
        "Only the kept page has [-this-], only the dropped one has {+this+}",
        "{+ebb+}",
        "Does    http://a.test/near\nrepeat  http://a.test/ ?\n[y]es, [n]o, [u]nsure, [b]ack",
        "right: 1 of 1 near duplicate asked about\nprecision: 100.0 %, 100.0 to 100.0 %",
        "of the 1 near duplicate of this run",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let output = review("n\n");
    assert!(!output.contains("dropped") && output.contains("1 of 1 near"), "{output}");
    fs::remove_file(site.path().join("review.jsonl")).unwrap();
    for answers in ["u\n", ""] {
        let output = review(answers);
        assert!(output.contains("unsure: 1 more, counted neither as right nor"), "{output}");
        assert!(output.contains("no estimate of the precision: every answer is"), "{output}");
    }
    assert!(verify(site.path()).unwrap().damage.is_empty());
}
