//! Starting a run again: who owns its directory, what a changed policy changes, and what other processes may read meanwhile.

use std::{
    fs,
    path::Path,
    sync::{Mutex, mpsc},
};

use pagesieve::{
    crawl::{self, Control, CrawlError, Links, PastRun, Policy, Progress, Store},
    report::{End, Warning},
};
use tokio::{runtime::Runtime, sync::watch};

use super::{
    laws,
    site::{Site, page},
};
use crate::{
    cli::{pagesieve, stderr, stdout},
    server::{Reply, Request, Routes},
};

#[test]
fn a_directory_of_another_run_is_refused_and_left_untouched() {
    let site = Site::new(Routes::new().at("*", "/", page("a", &[])), &["a.test/"]);
    site.run();
    let before = fs::read(site.path().join("report.json")).unwrap();
    let site = site.planned(|plan| plan.name = "other".to_owned());
    let asked = site.server.requests().len();
    let errors = [
        site.try_run().unwrap_err(),
        Runtime::new().unwrap().block_on(crawl::dry_run(&site.plan)).unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_configuration(), "{error}");
        for part in ["`test`", "`other`", "--out", "--fresh", "name = \"test\""] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }
    assert_eq!(site.server.requests().len(), asked);
    assert_eq!(fs::read(site.path().join("report.json")).unwrap(), before);
    let site = site.planned(|plan| plan.name = "test".to_owned());
    site.run();
}

#[test]
fn a_directory_with_files_of_others_is_refused_and_left_untouched() {
    for name in ["pages.jsonl", "duplicates.jsonl", "skipped.jsonl", "report.json", "report.html"] {
        let site = Site::new(Routes::new().at("*", "/", page("a", &[])), &["a.test/"]);
        let theirs = site.path().join(name);
        fs::write(&theirs, "mine").unwrap();
        let errors = [
            site.try_run().unwrap_err(),
            Runtime::new().unwrap().block_on(crawl::dry_run(&site.plan)).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, CrawlError::Claimed { .. }) && error.is_configuration());
            assert!(error.to_string().contains(name), "{error}");
        }
        let left: Vec<_> = fs::read_dir(site.path()).unwrap().collect();
        assert_eq!((left.len(), fs::read(&theirs).unwrap()), (1, b"mine".to_vec()), "{name}");
        assert!(!crawl::is_run(site.path()), "nothing that --fresh would delete");
        fs::remove_file(theirs).unwrap();
        site.run();
    }
}

#[test]
fn urls_of_an_unreachable_robots_txt_are_retried_whether_it_is_obeyed_or_not() {
    let site = Site::new(Routes::new(), &["10.1.2.3/"]);
    let report = site.run_fast();
    let text = report.warnings[0].to_string();
    assert!(text.contains("http://10.1.2.3/") && text.contains("fetch.allow_private"), "{text}");
    assert!(!text.contains("obey_robots"), "{text}");
}

#[test]
fn a_directory_whose_state_is_a_filter_s_is_refused() {
    let site = Site::new(Routes::new(), &["a.test/"]);
    let state = site.path().join("state.sqlite");
    pagesieve().args(["filter", "--state"]).arg(&state).write_stdin("").assert().success();
    let error = site.try_run().unwrap_err();
    assert!(matches!(error, CrawlError::NotACrawl { .. }) && error.is_configuration(), "{error}");
}

#[test]
fn duplicates_recorded_before_keep_stay_and_the_summary_reports_them() {
    let routes = Routes::new()
        .at("*", "/", page("seed", &["/1", "/2", "/3"]))
        .at("*", "/1", page("same", &[]))
        .at("*", "/2", page("same", &[]))
        .at("*", "/3", page("same", &[]));
    let site = Site::new(routes, &["a.test/"]);
    let report = site.run();
    assert_eq!((report.counts.exact.body, report.warnings), (2, vec![]));
    let keep = Policy::new(Store::Keep, Links::default());
    let site = site.planned(|plan| plan.dedup.cross_site = keep);
    assert_eq!(site.run().warnings, [], "they are of the same site");
    let asked = site.server.requests().len();
    let site = site.planned(|plan| plan.dedup.same_site = keep);
    let report = site.run();
    assert_eq!(site.server.requests().len(), asked);
    let key = "dedup.same_site.store".to_owned();
    assert_eq!(report.warnings, [Warning::NotKept { duplicates: 2, key }]);
    let summary = report.to_string().replace("\n  ", " ");
    assert!(summary.contains("2 duplicates") && summary.contains("--fresh"), "{summary}");
    assert_eq!(site.lines("duplicates.jsonl").len(), 2);
}

#[test]
fn a_running_crawl_can_be_read_but_not_written() {
    // The second page is not served before others have read what was committed about the first.
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let reply = move |request: &Request, _: usize| match &*request.path {
        "/" => page("first", &["/late"]),
        "/late" => {
            let _ = wait.lock().unwrap().recv();
            page("late", &[])
        }
        _ => Reply::new(404, ""),
    };
    let site = Site::answering(reply, &["a.test/"]);
    let report = Runtime::new().unwrap().block_on(async {
        let (progress, mut watched) = watch::channel(Progress::default());
        let control = Control::default().with_progress(progress);
        let others = async {
            watched.wait_for(|progress| progress.counts.unique == 1).await.unwrap();
            let path = site.path().to_owned();
            tokio::task::spawn_blocking(move || others(&path)).await.unwrap();
            drop(go);
        };
        tokio::join!(crawl::run(site.plan.clone(), control), others).0.unwrap()
    });
    laws::checked(site.path(), report.clone());
    assert_eq!((report.end, report.counts.unique), (End::Done, 2));
}

/// What others see of a running crawl, one page of which has been judged.
fn others(run: &std::path::Path) {
    // The batch is committed a moment after the page was judged.
    let first = loop {
        let explanation = PastRun::open(run).unwrap().explain("http://a.test/").unwrap().unwrap();
        if explanation.document.is_some() {
            break explanation;
        }
        std::thread::yield_now();
    };
    assert_eq!(first.reason(), None);
    let (report, is_written) = crawl::report(run).unwrap();
    assert_eq!((report.end, report.counts.unique, is_written), (End::Running, 1, false));
    let output = pagesieve().arg("report").arg(run).assert().success();
    assert!(stdout(&output).starts_with("test: running in"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("a crawl is running in this directory"),
        "{}",
        stderr(&output)
    );
    let explained = pagesieve().args(["explain", "http://a.test/late", "--run"]).arg(run).assert();
    assert!(stdout(&explained.success()).contains("pending"));
    for file in ["report.json", "report.html"] {
        assert!(!run.join(file).exists(), "{file} is the crawl's to write");
    }
    let error = crawl::delete_run(run).unwrap_err();
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert!(run.join("pages.jsonl").exists());
}

#[test]
fn a_run_without_pages_says_why_and_what_to_check() {
    let forbidding = Reply::text("User-agent: *\nDisallow: /");
    let site = Site::new(
        Routes::new().at("a.test", "/robots.txt", forbidding),
        &["a.test/1", "a.test/2", "b.test/gone"],
    );
    let report = site.run();
    assert_eq!(report.end, End::Nothing);
    let [warning @ Warning::Nothing { skipped: 2, known: 3, .. }] = &*report.warnings else {
        panic!("{:?}", report.warnings)
    };
    let text = warning.to_string();
    for part in ["No page was judged", "http://a.test/1", "Disallow: / (line 2)", "--dry-run"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(report.to_string().starts_with("warning: No page was judged"), "{report}");
    assert!(report.html().contains("No page was judged"));
}

#[test]
fn a_run_of_an_old_layout_is_refused_and_left_untouched() {
    let site = Site::new(Routes::new(), &["a.test/"]);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/state/crawl-v4.sqlite");
    let state = site.path().join("state.sqlite");
    fs::copy(&data, &state).unwrap();
    let error = site.try_run().unwrap_err();
    assert!(error.is_configuration(), "{error}");
    for command in ["explain http://a.test/ --run", "verify", "repair", "report", "export"] {
        let refused = pagesieve().args(command.split(' ')).arg(site.path()).assert().code(2);
        assert!(stderr(&refused).contains("layout version 4"), "{command}: {}", stderr(&refused));
    }
    assert!(fs::read(&state).unwrap() == fs::read(data).unwrap());
}
