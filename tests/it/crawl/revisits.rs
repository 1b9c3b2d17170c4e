//! Known pages that are asked for again, and what had changed.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pagesieve::{
    crawl::{Control, Links, PastRun, Policy, Store},
    report::{End, Pass, Report},
    state::Reason,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    laws,
    site::{Site, field, html, lines, page, state, text},
};
use crate::{
    cli::{pagesieve, stdout},
    server::{Reply, Request, Routes},
};

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// One request after the other, so that the order of pages is known.
fn one_by_one(site: Site) -> Site {
    site.planned(|plan| plan.crawl.concurrency = 1.try_into().unwrap())
}

/// Asks for all known pages again.
fn revisit(site: &Site) -> Report {
    revisit_after(site, Duration::ZERO)
}

/// Asks for the pages again that are due.
fn revisit_after(site: &Site, after: Duration) -> Report {
    let mut plan = site.plan.clone();
    plan.crawl.revisit_after = Some(after);
    laws::checked(site.path(), super::site::run(plan))
}

fn changes(site: &Site) -> Vec<Value> {
    site.lines("changes.jsonl")
}

/// What each line says: the path, how the page had changed, and the verdict or the reason.
fn summary(site: &Site) -> Vec<String> {
    let line = |line: &Value| {
        let path = line["url"].as_str().unwrap().trim_start_matches("http://a.test");
        let why = line["verdict"].as_str().or(line["reason"].as_str()).unwrap_or_default();
        format!("{path} {} {why}", line["change"].as_str().unwrap()).trim_end().to_owned()
    };
    changes(site).iter().map(line).collect()
}

/// Says that the visits were so much earlier.
fn age(site: &Site, by: Duration) {
    let sql = "UPDATE visits SET checked = checked - ?";
    state(site).execute(sql, [i64::try_from(by.as_millis()).unwrap()]).unwrap();
}

/// A server whose answers depend on how often the pass was counted up.
fn passes(
    reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
) -> (Site, Arc<AtomicUsize>) {
    let pass = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&pass);
    let site = Site::answering(
        move |request, _| reply(request, theirs.load(Ordering::SeqCst)),
        &["a.test/"],
    );
    (one_by_one(site), pass)
}

#[test]
fn a_page_is_asked_for_by_the_validators_that_it_came_with() {
    let by_etag = |request: &Request| request.header("if-none-match") == Some("W/\"7\"");
    let by_date = |request: &Request| request.header("if-modified-since") == Some(DATE);
    let site = Site::answering(
        move |request, count| {
            match &*request.path {
                "/" => page("seed", &["/date", "/none"]).header("ETag", "W/\"7\""),
                "/date" => page("date", &[]).header("Last-Modified", DATE),
                // It has nothing to ask by, and nothing new.
                "/none" => page("none", &[]),
                _ => Reply::new(404, ""),
            }
            .pipe(|full| {
                if count > 0 && (by_etag(request) || by_date(request)) {
                    Reply::new(304, "")
                } else {
                    full
                }
            })
        },
        &["a.test/"],
    );
    let first = site.run();
    let report = revisit(&site);
    assert_eq!(report.end, End::Done);
    assert_eq!((report.counts.unchanged, report.counts.changed), (3, 0));
    assert_eq!(
        (report.counts.fetched, report.counts.stored),
        (first.counts.fetched, first.counts.stored)
    );
    assert_eq!(changes(&site), Vec::<Value>::new());
    assert_eq!(site.skipped(), Vec::<Value>::new());
    let asked = site.server.requests();
    let of = |path: &str, place: usize| {
        asked.iter().filter(|request| request.path == path).nth(place).unwrap().clone()
    };
    let conditions = ["if-none-match", "if-modified-since"];
    for path in ["/", "/date", "/none"] {
        assert!(conditions.iter().all(|name| of(path, 0).header(name).is_none()), "{path}");
    }
    assert_eq!(
        conditions.map(|name| of("/", 1).header(name).map(str::to_owned)),
        [Some("W/\"7\"".to_owned()), None]
    );
    assert_eq!(of("/date", 1).header("if-modified-since"), Some(DATE));
    assert!(conditions.iter().all(|name| of("/none", 1).header(name).is_none()));
    assert_eq!(revisit(&site).counts.unchanged, 6, "validators outlive a 304");
}

/// To write a match before what is done with its value.
trait Pipe: Sized {
    fn pipe<T>(self, then: impl FnOnce(Self) -> T) -> T {
        then(self)
    }
}

impl Pipe for Reply {}

#[test]
fn a_changed_text_is_stored_again_with_its_distance() {
    let (site, pass) = passes(|request, pass| match (&*request.path, pass) {
        ("/", _) => page("seed", &["/a", "/b"]),
        ("/a", 0) => page("a", &[]),
        ("/a", _) => page("a anew", &[]),
        // Other bytes, the same text.
        ("/b", pass) => Reply::html(html("b", 60, &[]) + &format!("<!-- {pass} -->")),
        _ => Reply::new(404, ""),
    });
    site.run();
    pass.store(1, Ordering::SeqCst);
    let report = revisit(&site);
    assert_eq!((report.counts.unchanged, report.counts.changed), (2, 1));
    assert_eq!((report.counts.fetched, report.counts.unique, report.counts.stored), (4, 4, 4));
    let [change] = &changes(&site)[..] else { panic!("one page has changed") };
    let pages = site.lines("pages.jsonl");
    let versions: Vec<_> = pages.iter().filter(|line| line["id"] == "http://a.test/a").collect();
    let bits =
        |line: &Value| u64::from_str_radix(line["fingerprint"].as_str().unwrap(), 16).unwrap();
    let distance = (bits(versions[0]) ^ bits(versions[1])).count_ones();
    assert!(distance > 9);
    let expected = json!({
        "url": "http://a.test/a",
        "at": versions[1]["fetched_at"],
        "change": "text",
        "since": versions[0]["fetched_at"],
        "before": versions[0]["fingerprint"],
        "after": versions[1]["fingerprint"],
        "distance": distance,
        "verdict": "unique",
        "match": null,
        "reason": null,
        "detail": null,
        "status": 200,
        "visits": 1,
        "changes": 1,
    });
    assert_eq!(change, &expected);
    assert!(report.to_string().contains("changed"), "{report}");
    assert_eq!(revisit(&site).counts.changed, 1, "the new version is what is known now");
    let mut explain = pagesieve();
    explain.args(["explain", "http://a.test/a", "http://a.test/b", "--run"]).arg(site.path());
    let explained = explain.assert().success();
    let word = text("a anew", 1);
    assert!(stdout(&explained).contains(&word), "{word}: {}", stdout(&explained));
}

#[test]
fn a_new_version_takes_the_place_of_the_former_one_in_the_filter() {
    let (site, pass) = passes(|request, pass| match (&*request.path, pass) {
        ("/", 0) => page("seed", &["/a", "/b", "/c"]),
        ("/", _) => page("seed", &["/a", "/b", "/c", "/old", "/new"]),
        ("/a", 0) | ("/old", _) => page("old", &[]),
        ("/a" | "/new", _) => page("new", &[]),
        // It repeats a page from the first pass on, and another one from the second.
        ("/b", 0) | ("/c", _) => page("c", &[]),
        ("/b", _) => page("seed", &[]),
        _ => Reply::new(404, ""),
    });
    site.run();
    assert_eq!(site.outcomes()["a.test/c"], "exact");
    pass.store(1, Ordering::SeqCst);
    let report = revisit(&site);
    assert_eq!(summary(&site), ["/a text unique", "/b text exact"]);
    assert_eq!(changes(&site)[1]["match"], "http://a.test/");
    // No known page has the old text any more.
    assert_eq!(site.outcomes()["a.test/old"], "unique");
    assert_eq!(site.line("a.test/new")["match"]["id"], "http://a.test/a");
    assert_eq!(report.counts.unchanged, 2);
    let again = revisit(&site);
    assert_eq!((again.counts.changed, again.counts.unchanged), (2, 8));
}

#[test]
fn a_duplicate_whose_text_has_become_its_own_is_judged_like_any_page() {
    let (site, pass) = passes(|request, pass| match (&*request.path, pass) {
        ("/", _) => page("seed", &["/a", "/b"]),
        ("/a", _) | ("/b", 0) => page("same", &["/hidden"]),
        ("/b", _) => page("its own", &["/found"]),
        (path, _) => page(path, &[]),
    });
    site.run();
    assert_eq!(site.outcomes()["a.test/b"], "exact");
    pass.store(1, Ordering::SeqCst);
    revisit(&site);
    assert_eq!(summary(&site), ["/b text unique"]);
    assert_eq!(site.outcomes()["a.test/found"], "unique", "links of a changed page are followed");
    assert_eq!(revisit(&site).counts.changed, 1);
}

#[test]
fn links_of_a_page_with_the_same_text_are_followed_as_its_verdict_says() {
    let (site, pass) = passes(|request, pass| {
        let links = |first: &str| if pass == 0 { vec![] } else { vec![first.to_owned()] };
        let linked = |name: &str, links: Vec<String>| {
            page(name, &links.iter().map(String::as_str).collect::<Vec<_>>())
        };
        match &*request.path {
            "/" => page("seed", &["/a", "/b"]),
            "/a" => linked("same", links("/followed")),
            "/b" => linked("same", links("/skipped")),
            other => page(other, &[]),
        }
    });
    site.run();
    pass.store(1, Ordering::SeqCst);
    assert_eq!(revisit(&site).counts.unchanged, 3);
    assert_eq!(site.outcomes()["a.test/followed"], "unique");
    assert_eq!(site.outcomes()["a.test/skipped"], "duplicate_links");
}

#[test]
fn a_server_that_refuses_the_question_is_asked_without_it() {
    let statuses = [("/400", 400), ("/412", 412), ("/501", 501), ("/403", 403), ("/410", 410)];
    let (site, pass) = passes(move |request, pass| {
        let path = &*request.path;
        let full = |text: &str| page(text, &[]).header("ETag", "\"x\"");
        let asks = request.header("if-none-match").is_some();
        match statuses.iter().find(|(name, _)| *name == path) {
            None if path == "/" => page("seed", &["/400", "/412", "/501", "/403", "/410"]),
            None => Reply::new(404, ""),
            Some((_, 403 | 410)) if pass == 0 => full(path),
            Some((_, status @ (403 | 410))) => Reply::new(*status, ""),
            Some((_, status)) if asks => Reply::new(*status, ""),
            Some(_) => full(if pass > 0 && path == "/501" { "another" } else { path }),
        }
    });
    site.run();
    pass.store(1, Ordering::SeqCst);
    let report = revisit(&site);
    assert_eq!(summary(&site), ["/501 text unique", "/410 gone status"]);
    let found = Pass { unchanged: 3, changed: 1, gone: 1, back: 0, new: 0 };
    assert_eq!(report.pass, Some(found));
    for (path, asked) in [("/400", 3), ("/412", 3), ("/501", 3), ("/403", 2), ("/410", 2)] {
        assert_eq!(site.server.count("a.test", path), asked, "{path}");
    }
}

#[test]
fn a_page_that_is_gone_stays_stored_and_may_come_back() {
    let (site, pass) = passes(|request, pass| match (&*request.path, pass) {
        ("/", _) => page("seed", &["/404", "/moved", "/hidden", "/pdf"]),
        ("/404", 1 | 2) => Reply::new(404, "not here"),
        ("/moved", 1) => Reply::redirect(301, "/there"),
        ("/hidden", 1) => page("/hidden", &[]).header("X-Robots-Tag", "noindex"),
        ("/pdf", 1) => Reply::new(200, "%PDF").header("Content-Type", "application/pdf"),
        (path, _) => page(path, &[]),
    });
    site.run();
    let before = site.lines("pages.jsonl");
    pass.store(1, Ordering::SeqCst);
    let report = revisit(&site);
    let gone = [
        "/404 gone status",
        "/moved gone redirect",
        "/hidden gone noindex",
        "/pdf gone content_type",
    ];
    assert_eq!(summary(&site), gone);
    let found = Pass { unchanged: 1, changed: 0, gone: 4, back: 0, new: 1 };
    assert_eq!((report.pass, report.counts.gone), (Some(found), 4));
    assert_eq!((report.counts.unchanged, report.counts.changed), (1, 4));
    assert_eq!(
        (&changes(&site)[0]["status"], &changes(&site)[0]["after"]),
        (&json!(404), &json!(null))
    );
    assert_eq!(changes(&site)[1]["detail"], "http://a.test/there");
    assert_eq!(site.lines("pages.jsonl")[..5], before[..], "what was stored stays");
    assert_eq!(site.outcomes()["a.test/there"], "unique");
    assert_eq!(report.counts.all_skipped(), 0);
    let rows = stdout(&pagesieve().arg("pages").arg(site.path()).assert().success());
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let of = |path: &str| {
        let url = format!("http://a.test{path}");
        rows.iter().find(|row| row["url"] == *url).unwrap()["gone"].clone()
    };
    assert_eq!(
        [of("/404"), of("/moved"), of("/")],
        [json!("status"), json!("redirect"), json!(null)]
    );
    // One page, in any spelling.
    let page = |url: &str| pagesieve().arg("pages").arg(site.path()).arg(url).assert();
    let row = stdout(&page("http://A.test/moved?utm_source=x").success());
    let row: Vec<Value> = row.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let all = rows.iter().filter(|row| row["url"] == "http://a.test/moved");
    assert_eq!(row, all.cloned().collect::<Vec<_>>());
    page("http://a.test/unknown").code(1).stdout("");
    let explained = PastRun::open(site.path()).unwrap().explain("http://a.test/404").unwrap();
    let revisits = explained.unwrap().revisits.unwrap();
    assert_eq!((revisits.visits, revisits.changes, revisits.gone), (1, 1, Some(Reason::Status)));

    pass.store(2, Ordering::SeqCst);
    let report = revisit(&site);
    let back = ["/moved back", "/hidden back", "/pdf back"];
    assert_eq!(summary(&site)[4..], back, "a page that is still gone has no second line");
    assert_eq!((report.counts.unchanged, report.counts.changed), (4, 7));
    let found = Pass { unchanged: 3, changed: 0, gone: 0, back: 3, new: 0 };
    assert_eq!((report.pass, report.counts.gone), (Some(found), 4), "of this pass alone");
    let text = report.to_string();
    assert!(
        text.contains("this pass                6") && text.contains("all passes              11"),
        "{text}"
    );
    assert_eq!(site.run().pass, None, "this start makes no pass");
    pass.store(3, Ordering::SeqCst);
    revisit(&site);
    assert_eq!(summary(&site)[7..], ["/404 back"]);
}

#[test]
fn a_failure_changes_nothing_and_the_page_stays_due() {
    let (site, pass) = passes(|request, pass| match (&*request.path, pass) {
        ("/", _) => page("seed", &["/error", "/broken", "/odd"]),
        ("/error", 1) => Reply::new(503, "later"),
        ("/broken", 1) => page("/broken", &[]).cut(5),
        // It was not asked for changes.
        ("/odd", 1) => Reply::new(304, ""),
        (path, _) => page(path, &[]),
    });
    let site = site.planned(|plan| plan.fetch.retries = 0);
    let first = site.run();
    pass.store(1, Ordering::SeqCst);
    let report = revisit(&site);
    assert_eq!((report.counts.unchanged, report.counts.changed), (1, 0));
    assert_eq!(report.counts.skipped, first.counts.skipped);
    assert_eq!(report.broken, []);
    pass.store(2, Ordering::SeqCst);
    let before = site.server.requests().len();
    let report = revisit_after(&site, Duration::from_hours(24 * 365));
    assert_eq!(site.server.requests().len(), before, "nothing is due for a year");
    assert_eq!(report.counts.unchanged, 1);
    assert_eq!(revisit(&site).counts.unchanged, 5);
}

#[test]
fn hostile_validators_are_not_sent() {
    let long = format!("\"{}\"", "x".repeat(4_000));
    let etags =
        [long.as_str(), "*", "\"a\", \"b\"", "\"tab\there\"", "\"h\u{e9}\"", "bare", "\"\x7f\""];
    let etags: Vec<String> = etags.iter().map(|&etag| etag.to_owned()).collect();
    let links: Vec<String> = (0..etags.len()).map(|number| format!("/{number}")).collect();
    let site = Site::answering(
        move |request, _| match request.path.trim_start_matches('/').parse::<usize>() {
            Ok(number) => page(&request.path, &[])
                .header("ETag", &etags[number])
                .header("Last-Modified", "never; ever"),
            Err(_) => page("seed", &links.iter().map(String::as_str).collect::<Vec<_>>())
                .header("ETag", "\"one\"")
                .header("ETag", "\"other\""),
        },
        &["a.test/"],
    );
    site.run();
    assert_eq!(revisit(&site).counts.unchanged, 8);
    for request in site.server.requests() {
        for name in ["if-none-match", "if-modified-since"] {
            assert_eq!(request.header(name), None, "{}", request.path);
        }
    }
}

#[test]
fn validators_of_a_redirect_are_not_sent_to_its_target_nor_back() {
    let site =
        Site::new(
            Routes::new()
                .at("*", "/", Reply::redirect(301, "/there").header("ETag", "\"from\""))
                .at("*", "/there", page("there", &[]).header("ETag", "\"there\"")),
            &["a.test/"],
        );
    site.run();
    revisit(&site);
    let sent: Vec<_> = site
        .server
        .requests()
        .iter()
        .filter(|request| request.path != "/robots.txt")
        .map(|request| (request.path.clone(), request.header("if-none-match").map(str::to_owned)))
        .collect();
    let expected = [("/", None), ("/there", None), ("/there", Some("\"there\""))];
    let expected = expected.map(|(path, tag)| (path.to_owned(), tag.map(str::to_owned)));
    assert_eq!(sent, expected, "a redirect is no page to be asked for again");
}

#[test]
fn a_page_that_changes_often_is_asked_for_more_often() {
    let count = AtomicUsize::new(0);
    let site = Site::answering(
        move |request, _| match &*request.path {
            "/" => page("seed", &["/news", "/rules"]),
            "/news" => page(&format!("news {}", count.fetch_add(1, Ordering::SeqCst)), &[]),
            _ => page("rules", &[]),
        },
        &["a.test/"],
    );
    site.run();
    let day = Duration::from_hours(24);
    for _ in 0..40 {
        age(&site, day / 2);
        revisit_after(&site, day);
    }
    // Of twenty days: four times a day, but no more than a start of the program every half day; and once in eight days.
    let (news, rules) = (site.asked("a.test/news") - 1, site.asked("a.test/rules") - 1);
    assert!((35..=40).contains(&news), "{news}");
    assert!((3..=4).contains(&rules), "{rules}");
    assert_eq!(changes(&site).len(), news);
}

#[test]
fn without_the_option_no_page_is_asked_for_again() {
    let site = Site::new(Routes::new().at("*", "/", page("seed", &[])), &["a.test/"]);
    site.run();
    site.run();
    assert_eq!(site.asked("a.test/"), 1);
}

#[test]
fn a_spent_budget_permits_no_visits_and_a_changed_page_counts() {
    let (site, pass) = passes(|request, pass| match &*request.path {
        "/" => page("seed", &["/a", "/b", "/c"]),
        path => page(&format!("{path} {pass}"), &[]),
    });
    let site = site.planned(|plan| plan.crawl.max_pages = 4);
    site.run();
    pass.store(1, Ordering::SeqCst);
    let before = site.server.requests().len();
    revisit(&site);
    assert_eq!(site.server.requests().len(), before);
    let site = site.planned(|plan| plan.crawl.max_pages = 6);
    let mut plan = site.plan.clone();
    plan.crawl.revisit_after = Some(Duration::ZERO);
    let report = super::site::run(plan);
    assert_eq!((report.end, report.counts.changed), (End::Budget, 2));
    let site = site.planned(|plan| plan.crawl.max_pages = 100);
    assert_eq!(site.run().counts.changed, 3, "what is left of a pass is still to be done");
    assert_eq!(site.asked("a.test/a"), 2);
}

#[test]
fn a_page_that_was_learnt_from_is_no_trial_again() {
    let learn = Policy::new(Store::Skip, Links::Learn);
    let (site, pass) = passes(|request, pass| {
        let number: usize = request.path.trim_start_matches("/page-").parse().unwrap_or(0);
        let links = (number * 2 + 1..=number * 2 + 2).filter(|it| *it < 40);
        let links: Vec<_> = links.map(|it| format!("/page-{it}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        page(&format!("{number} {pass}"), &links)
    });
    let site = site.planned(|plan| {
        (plan.dedup.same_site, plan.dedup.cross_site) = (learn, learn);
    });
    site.run();
    for number in 1..5 {
        pass.store(number, Ordering::SeqCst);
        assert_eq!(revisit(&site).counts.changed, 40 * number as u64);
    }
    let report = site.run();
    assert_eq!(report.learnt.rules, []);
    assert_eq!(report.counts.all_skipped(), 0);
}

#[test]
fn changes_are_verified_copied_rotated_and_deleted_with_the_run() {
    let (site, pass) = passes(|request, pass| {
        let links: Vec<String> = (0..20).map(|number| format!("/{number}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        page(&format!("{} {pass}", request.path), &links)
    });
    let site = site.planned(|plan| {
        plan.store.rotate = "2 KiB".parse().unwrap();
        plan.store.compress = true;
    });
    site.run();
    for number in 1..4 {
        pass.store(number, Ordering::SeqCst);
        revisit(&site);
    }
    assert_eq!(changes(&site).len(), 63);
    assert!(site.path().join("changes-00002.jsonl.zst").exists());
    let copy = TempDir::new().unwrap();
    let target = copy.path().join("run");
    pagesieve().arg("backup").args([site.path(), &target]).assert().success();
    assert_eq!(lines(&target, "changes.jsonl"), changes(&site));

    let site = site.planned(|plan| plan.store = Default::default());
    pass.store(4, Ordering::SeqCst);
    revisit(&site);
    let path = site.path().join("changes.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[100..110] {
        *byte ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let found = pagesieve().arg("verify").arg(site.path()).assert().code(5);
    assert!(stdout(&found).contains("changes.jsonl: bytes"), "{}", stdout(&found));
    assert!(stdout(&found).contains("http://a.test/"), "{}", stdout(&found));
    pagesieve().arg("repair").arg(site.path()).assert().code(5);
    pagesieve().arg("verify").arg(site.path()).assert().success();
    pagesieve::crawl::delete_run(site.path()).unwrap();
    let left: Vec<_> = fs::read_dir(site.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.to_string_lossy().contains("damaged")), "{left:?}");
}

#[test]
fn a_changed_page_has_text_of_its_own_in_each_line() {
    let (site, pass) = passes(|request, pass| page(&format!("{} {pass}", request.path), &[]));
    site.run();
    pass.store(1, Ordering::SeqCst);
    revisit(&site);
    let pages = site.lines("pages.jsonl");
    let texts = field(&pages, "text");
    assert_eq!(texts, [text("/ 0", 60), text("/ 1", 60)]);
}

#[test]
fn a_host_that_does_not_answer_holds_up_no_later_pass() {
    let pass = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&pass);
    let reply = move |request: &Request, _: usize| {
        let pass = theirs.load(Ordering::SeqCst);
        match (&*request.host, pass) {
            ("b.test", 1) => Reply::raw(""),
            (host, pass) => page(&format!("{host} {pass}"), &[]),
        }
    };
    let site = one_by_one(Site::answering(reply, &["a.test/", "b.test/"]))
        .planned(|plan| plan.fetch.retries = 0);
    site.run();
    for number in 1..3 {
        pass.store(number, Ordering::SeqCst);
        let mut plan = site.plan.clone();
        plan.crawl.revisit_after = Some(Duration::ZERO);
        super::site::run_fast(plan, Control::default()).unwrap();
    }
    let paths: Vec<_> = changes(&site).iter().map(|line| line["url"].to_string()).collect();
    assert_eq!(paths.iter().filter(|url| url.contains("a.test")).count(), 2, "{paths:?}");
    assert_eq!(paths.iter().filter(|url| url.contains("b.test")).count(), 1, "{paths:?}");
}

#[test]
fn the_command_asks_again_and_says_what_has_changed() {
    let (site, pass) = passes(|request, pass| page(&format!("{} {pass}", request.path), &[]));
    let directory = TempDir::new().unwrap();
    let address = site.server.address();
    let config = format!(
        "output = 'run'\n[crawl]\nuser_agent = 'bot/1'\n[politeness]\ndelay = '0s'\n\
         [fetch]\nresolve = {{ 'a.test' = '{address}' }}\n[[seeds]]\nurl = 'http://a.test/'\n"
    );
    fs::write(directory.path().join("run.toml"), config).unwrap();
    let crawl = |options: &[&str]| -> Value {
        let mut crawl = pagesieve();
        crawl.current_dir(&directory).args(["crawl", "run.toml", "--json"]).args(options);
        serde_json::from_str(&stdout(&crawl.assert().success())).unwrap()
    };
    let counts = |summary: &Value| {
        ["unchanged", "changed"].map(|name| summary["counts"][name].as_u64().unwrap())
    };
    assert_eq!(counts(&crawl(&["--revisit"])), [0, 0], "a new run has nothing to ask for again");
    assert_eq!(counts(&crawl(&["--revisit"])), [1, 0]);
    pass.store(1, Ordering::SeqCst);
    assert_eq!(counts(&crawl(&["--set", "crawl.revisit_after='7d'"])), [1, 0], "it is not due");
    assert_eq!(counts(&crawl(&["--set", "crawl.revisit_after='0s'"])), [1, 1]);
    assert_eq!(counts(&crawl(&[])), [1, 1]);
    assert_eq!(lines(&directory.path().join("run"), "changes.jsonl").len(), 1);
    let refused = ["--dry-run", "--fresh"];
    for option in refused {
        let mut crawl = pagesieve();
        crawl.current_dir(&directory).args(["crawl", "run.toml", "--revisit", option]);
        crawl.assert().code(2);
    }
}
