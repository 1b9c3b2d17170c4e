//! The numbers of a report, its warnings, and hostile text in it.

use std::{collections::HashMap, time::Duration};

use tempfile::tempdir;

use super::*;
use crate::{
    filter::{Facts, Judgement, Kind, Match, Verdict},
    page::{DocId, Lang},
    state::{NewUrl, State, SuspendCause, UrlIndex, UrlKind, UrlState},
};

/// A page to be counted, and the URL that it repeats.
#[derive(Clone)]
struct Page<'a> {
    url: &'a str,
    repeats: Option<(Kind, Step, &'a str)>,
    lang: &'a str,
}

fn unique(url: &str) -> Page<'_> {
    Page { url, repeats: None, lang: "zh" }
}

fn near<'a>(url: &'a str, of: &'a str) -> Page<'a> {
    Page { repeats: Some((Kind::Near, Step::Near, of)), ..unique(url) }
}

fn exact<'a>(url: &'a str, of: &'a str, step: Step) -> Page<'a> {
    Page { repeats: Some((Kind::Exact, step, of)), ..unique(url) }
}

/// A run that is counted.
struct Counted {
    state: State,
    urls: UrlIndex,
    /// The unique pages, by URL.
    unique: HashMap<String, DocId>,
    last: DocId,
}

impl Counted {
    fn new() -> Self {
        let state = State::in_memory().unwrap();
        state.begin().unwrap();
        let urls = UrlIndex::load(&state).unwrap();
        Self { state, urls, unique: HashMap::new(), last: DocId(0) }
    }

    /// Adds a page to the state, and what it repeats if that is not there.
    fn add_document(&mut self, page: &Page<'_>, title: &str) -> Judgement {
        let verdict = match page.repeats {
            None => Verdict::Unique,
            Some((kind, step, of)) => {
                let known = self.unique.get(of).copied();
                let of = known.unwrap_or_else(|| self.add_document(&unique(of), title).id);
                let [distance, signature_distance] =
                    if kind == Kind::Near { [2, 11] } else { [0, 0] };
                let similarity = crate::fingerprint::similarity(signature_distance);
                Verdict::Duplicate(Match {
                    of,
                    kind,
                    step,
                    distance,
                    signature_distance,
                    similarity,
                })
            }
        };
        self.last.0 += 1;
        let id = self.last;
        let facts = Facts { lang: Lang::new(page.lang), ..Facts::default() };
        let judgement = Judgement {
            id,
            at: crate::page::Timestamp(0),
            verdict,
            facts,
            nearest: None,
            previous: None,
        };
        self.state.add_document(page.url, &judgement, None).unwrap();
        let stored = page.repeats.is_none();
        self.state.describe_document(id, Some(title), stored, None, false).unwrap();
        if stored {
            self.unique.insert(page.url.to_owned(), id);
        }
        judgement
    }

    fn add(&mut self, page: &Page<'_>, title: &str) {
        self.add_document(page, title);
    }

    fn skip(&mut self, url: &str, reason: Reason) {
        let state = match reason {
            Reason::Host => return self.suspend("b.test:80", &[url]),
            Reason::Pending => UrlState::Queued,
            reason => UrlState::Skipped(reason),
        };
        self.add_url("a.test:80", url, state);
    }

    /// Adds a host that asks for a long delay, with queued URLs.
    fn suspend(&mut self, host: &str, urls: &[&str]) {
        for url in urls {
            self.add_url(host, url, UrlState::Queued);
        }
        let host = self.urls.host(&self.state, host).unwrap();
        let cause = SuspendCause::CrawlDelay(Duration::from_secs(61));
        let until = crate::page::Timestamp(1_795_219_263_000);
        self.urls.suspend_host(&self.state, host, cause, until).unwrap();
    }

    fn add_url(&mut self, host: &str, url: &str, state: UrlState) {
        let host = self.urls.host(&self.state, host).unwrap();
        let new = NewUrl {
            url,
            given: None,
            host,
            kind: UrlKind::Page,
            state,
            cause: None,
            seed: None,
            depth: 1,
            hops: 0,
            referrer: None,
            at: crate::page::Timestamp(0),
        };
        self.urls.add(&self.state, &new, None).unwrap();
    }

    fn finish(self, run: Report) -> Report {
        Builder::default().finish(&self.state, run, [false; 2]).unwrap()
    }
}

const INDEX: &str = "3 tables of 21, 21, 22 bits that no two share, 32 bits an entry, radius 0 to 3, for 10,000,000 entries, at most 300.0 MiB with their numbers";

fn facts() -> Report {
    Report {
        name: "docs".to_owned(),
        end: End::Done,
        started: crate::page::Timestamp(1_795_132_800_000).into(),
        finished: crate::page::Timestamp(1_795_132_863_000).into(),
        seconds: 63.210_4,
        fingerprint: FingerprintMethod {
            scheme: "1".to_owned(),
            seed_id: "0f1e2d3c".to_owned(),
            mode: "classic".to_owned(),
            radius: 3,
            similarity: Some(0.68),
        },
        search: Search { index: INDEX.to_owned(), audit: Audit::default() },
        warc: true,
        ..Report::default()
    }
}

/// Three hosts: documentation, its mirror, and a shop that answers everything with one login page.
fn counted_run() -> Counted {
    let mut run = Counted::new();
    let doc = |n| format!("https://docs.example.org/zh/{n}.html");
    let mirror = |n| format!("http://mirror.test:8080/zh/{n}.html");
    let login = "https://shop.example.com/login";
    for n in 0..40 {
        run.add(&unique(&doc(n)), "第一章 數據庫的安裝與配置");
    }
    for n in 0..24 {
        let step = if n % 3 == 0 { Step::Text } else { Step::Body };
        run.add(&exact(&mirror(n), &doc(n / 8), step), "第一章 數據庫的安裝與配置");
    }
    for n in 0..6 {
        let print = format!("https://www.example.org/print/{n}");
        run.add(&near(&print, &doc(1)), "第一章 數據庫的安裝與配置（打印版）");
    }
    run.add(&unique(login), "Sign in to continue");
    for n in 0..1_101 {
        let item = format!("https://shop.example.com/item?id={n}");
        run.add(&exact(&item, login, Step::Body), "Sign in to continue");
    }
    for n in 0..12 {
        run.skip(&format!("https://docs.example.org/gone/{n}"), Reason::Status);
    }
    run.skip("https://docs.example.org/secret", Reason::Noindex);
    run.skip("https://elsewhere.test/", Reason::Scope);
    run.skip("https://docs.example.org/old", Reason::DuplicateLinks);
    run
}

fn report() -> Report {
    counted_run().finish(facts())
}

#[test]
fn the_numbers_are_those_of_the_files() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(json["end"], "done");
    assert_eq!(
        json["counts"],
        serde_json::json!({
            "fetched": 1173, "unique": 41, "exact": {"body": 1117, "text": 8}, "near": 6, "stored": 41,
            "unchanged": 0, "changed": 0, "gone": 0,
            "skipped": {"scope": 1, "status": 12, "noindex": 1, "duplicate_links": 1},
        })
    );
    assert_eq!(json["started"], "2026-11-20T00:00:00Z");
    assert_eq!(json["seconds"], 63.21);
    assert_eq!(json["hosts"][1]["host"], "docs.example.org");
    assert_eq!(json["hosts"][1]["fetched"], 41);
    assert_eq!(json["hosts"][1]["failed"], 12);
    assert_eq!(json["hosts"][2]["cross_site"], 24);
    assert_eq!(json["hosts"][2]["repeats"], "docs.example.org");
    assert_eq!(json["hosts"][3]["same_site"], 6);
}

#[test]
fn doubtful_clusters_come_first_and_then_the_largest_with_their_first_members() {
    let report = report();
    assert_eq!(report.cluster_count, 4);
    let login = &report.clusters[1];
    assert_eq!((&*login.url, login.count), ("https://shop.example.com/login", 1_101));
    assert_eq!(login.title.as_deref(), Some("Sign in to continue"));
    assert_eq!(login.members.len(), 1_101);
    assert_eq!(login.members[19].url, "https://shop.example.com/item?id=19");
    assert_eq!(login.unnamed(), 0);
    let chapter = &report.clusters[0];
    assert_eq!((&*chapter.url, chapter.count), ("https://docs.example.org/zh/1.html", 14));
    let [first, .., last] = &chapter.members[..] else { panic!() };
    assert!(first.same_site && first.verdict == VerdictName::Near && first.similarity < 1.0);
    assert!(!last.same_site && last.verdict == VerdictName::Exact);
    assert_eq!(chapter.least, Some(first.similarity));
}

#[test]
fn a_mirror_and_a_page_with_many_duplicates_are_reported() {
    let shop = "https://shop.example.com/login";
    assert_eq!(
        report().warnings,
        [
            Warning::Mirror {
                host: "mirror.test:8080".to_owned(),
                pages: 24,
                duplicates: 24,
                of: "docs.example.org".to_owned(),
            },
            Warning::ManyDuplicates { url: shop.to_owned(), duplicates: 1_101 },
        ]
    );
}

#[test]
fn nineteen_pages_or_half_of_them_or_a_hundred_duplicates_give_no_warning() {
    let mut run = Counted::new();
    run.add(&unique("http://small.test/own"), "");
    for n in 0..18 {
        run.add(&near(&format!("http://small.test/{n}"), &format!("http://a.test/{n}")), "");
    }
    for n in 0..20 {
        run.add(&near(&format!("http://half.test/{n}"), &format!("http://a.test/{n}")), "");
        run.add(&unique(&format!("http://half.test/own/{n}")), "");
    }
    for n in 0..100 {
        run.add(&near(&format!("http://one.test/{n}"), "http://one.test/"), "");
    }
    assert_eq!(run.finish(facts()).warnings, []);
}

#[test]
fn sites_without_a_page_of_their_own_are_reported() {
    let mut run = Counted::new();
    for (page, of) in [
        ("http://lost.test/1", "http://a.test/1"),
        ("http://www.lost.test/2", "http://a.test/2"),
        ("http://also.test/", "http://a.test/"),
        // Another host of the same site has the page.
        ("http://www.a.test/3", "http://a.test/3"),
    ] {
        run.add(&near(page, of), "");
    }
    let warnings = run.finish(facts()).warnings;
    let site = "lost.test".to_owned();
    assert_eq!(warnings, [Warning::Unrepresented { sites: 2, site, pages: 2 }]);
    assert!(warnings[0].to_string().starts_with("2 sites without a page of their own"));
}

#[test]
fn of_many_clusters_the_largest_are_shown_with_their_members() {
    let mut run = Counted::new();
    for n in 0..60_000 {
        run.add(&near("http://a.test/copy", &format!("http://a.test/{n}")), "");
    }
    for n in 0..30 {
        run.add(&near(&format!("http://a.test/x/{n}"), "http://a.test/7"), "");
    }
    let report = run.finish(facts());
    assert_eq!(report.cluster_count, 60_000);
    assert_eq!(report.clusters.len(), CLUSTERS);
    assert_eq!(report.clusters[0].count, 31);
    assert!(report.clusters.iter().all(|cluster| cluster.unnamed() == 0));
    let html = report.html();
    assert!(html.len() < 10_000_000, "{}", html.len());
    // To see it in a browser: python/tests/test_pages.py times how long it takes to open.
    if let Some(path) = std::env::var_os("PAGESIEVE_KEEP_REPORT") {
        std::fs::write(path, html).unwrap();
    }
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let directory = tempdir().unwrap();
    let report = report();
    report.write(directory.path()).unwrap();
    assert_eq!(Report::read(directory.path()).unwrap(), report);
    let html = std::fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert_eq!(html, report.html());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn the_summary_fits_a_terminal() {
    let summary = report().to_string();
    for line in summary.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(summary, @r#"
    docs: done in 1 min 3 s

      fetched              1,173
      unique                  41     3.5 %
      exact duplicates     1,125    96.0 %   1,117 byte for byte, 8 by text
      near duplicates          6     0.5 %
      stored                  41
      skipped                 15             not fetched, or no pages:
        scope                  1  No seed admits it, by scope, include and exclude.
        status                12  The server answered with another status than 2xx.
        noindex                1  The page asks not to be indexed.
        duplicate_links        1  Only links of duplicates lead to it: not followed.

    warning: 24 of 24 pages of mirror.test:8080 are on other hosts too, such as
      docs.example.org. If it is a mirror, exclude it from the seeds. If you want
      its pages, set dedup.cross_site.store = "keep" (dedup.same_site for hosts of
      one domain).

    warning: 1,101 pages repeat one page. If it is an error, login or empty page,
      exclude the addresses that serve it. If the pages differ in content, set a
      larger dedup.similarity. The page: https://shop.example.com/login
    "#);
}

#[test]
fn what_the_index_missed_or_refused_is_reported() {
    let search =
        Search { index: INDEX.to_owned(), audit: Audit { checked: 1_000, missed: 2, over: 3 } };
    let report = Counted::new().finish(Report { end: End::Interrupted, search, ..facts() });
    assert_eq!(report.warnings, [Warning::Missed { missed: 2, checked: 1_000 }]);
    let (summary, html) = (report.to_string(), report.html());
    for output in [
        "1,000 look-ups compared with a scan, 2 missed",
        "3 pages, because 256 in the window had the same fingerprint",
    ] {
        assert!(summary.contains(output), "{summary}");
        assert!(html.contains(output), "{output}");
    }
    assert!(html.contains(INDEX) && html.contains("This is a bug"));
}

#[test]
fn a_report_without_an_index_is_read() {
    let mut json = serde_json::to_value(report()).unwrap();
    json.as_object_mut().unwrap().remove("search").unwrap();
    let read: Report = serde_json::from_value(json).unwrap();
    assert_eq!(read, Report { search: Search::default(), ..report() });
}

#[test]
fn every_reason_fits_the_summary() {
    let mut run = Counted::new();
    for reason in Reason::ALL {
        run.skip("http://a.test/", reason);
    }
    let summary = Report { name: "名".repeat(100), ..run.finish(facts()) }.to_string();
    for line in summary.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_run_without_pages_has_a_report() {
    let report = Counted::new().finish(Report { end: End::Interrupted, ..facts() });
    let html = report.html();
    assert!(html.contains("No page repeats another."));
    assert!(html.contains("interrupted"));
    assert!(report.to_string().contains("unique                   0     0.0 %"), "{report}");
}

const SCRIPT: &str = "</title></style><script>alert(1)</script><img src=x onerror='alert(2)'>\"`";
const MARKS: &str = "evil\u{202e}gnp.exe\u{2066}\u{200f}\u{1b}[31m\0\r\nline\u{85}";

/// A report in which every text that a stranger chooses is hostile.
fn hostile(text: &str) -> Report {
    let mut run = Counted::new();
    let kept = format!("javascript:alert('{text}')");
    for url in [format!("http://a.test/{text}"), format!("data:text/html,{text}")] {
        run.add(&near(&url, &kept), text);
    }
    let scheme = FingerprintMethod {
        mode: text.into(),
        scheme: text.into(),
        seed_id: text.into(),
        radius: 3,
        similarity: None,
    };
    let mut report = run.finish(Report { name: text.into(), fingerprint: scheme, ..facts() });
    report.clusters[0].lang = Some(text.into());
    report.hosts[0].host = text.into();
    report.warnings.push(Warning::ManyDuplicates { url: text.into(), duplicates: 101 });
    report.warnings.push(Warning::Mirror {
        host: text.into(),
        pages: 20,
        duplicates: 20,
        of: text.into(),
    });
    report
}

#[test]
fn markup_in_titles_and_urls_is_inert() {
    let html = hostile(SCRIPT).html();
    for forbidden in ["<img", "onerror='", "href=\"javascript", "href=\"data"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert_eq!(html.matches("<script").count(), 1, "its own");
    assert_eq!(html.matches("</title>").count(), html.matches("<title>").count());
    assert!(!html.contains("</title></style>"));
    assert_eq!(html.matches("</style>").count(), 1);
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn only_the_script_of_the_page_may_run() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use sha2::Digest as _;

    let html = report().html();
    let (_, rest) = html.split_once("<script>").unwrap();
    let (script, _) = rest.split_once("</script>").unwrap();
    let hash = STANDARD.encode(sha2::Sha256::digest(script));
    assert!(
        html.contains(&format!("script-src 'sha256-{hash}';")),
        "the script has the hash {hash}"
    );
}

#[test]
fn the_first_urls_of_each_reason_are_named() {
    let mut run = counted_run();
    for n in 0..EXAMPLES + 50 {
        run.skip(&format!("http://a.test/far/{n}"), Reason::Depth);
    }
    let report = run.finish(facts());
    let count = |reason| report.examples.iter().filter(|it| it.reason == reason).count();
    assert_eq!([count(Reason::Depth), count(Reason::Status)], [EXAMPLES, 12]);
    let html = report.html();
    let [last, next] = [EXAMPLES - 1, EXAMPLES].map(|n| format!("http://a.test/far/{n}\""));
    assert!(html.contains(&last) && !html.contains(&next));
    assert!(
        html.contains("The first 2,000 of 2,050: <code>pagesieve export RUN</code> prints all.")
    );
}

#[test]
fn the_page_shows_in_what_near_duplicates_differ() {
    let mut report = report();
    let piece = |piece: fn(String) -> Piece, text: &str| piece(text.to_owned());
    report.clusters[0].members[0].difference = vec![
        Piece::Omitted(90),
        piece(Piece::Both, "The tide "),
        piece(Piece::Kept, "is <b>"),
        piece(Piece::Repeat, "was"),
    ];
    let html = report.html();
    assert!(html.contains("… </span>The tide <del>is &#60;b&#62;</del></div>"), "{html}");
    assert!(html.contains("… </span>The tide <ins>was</ins></div>"));
}

#[test]
fn a_page_below_the_threshold_is_not_shown_at_it() {
    let mut report = report();
    let name = String::new;
    report.near_misses = vec![NearMiss { url: name(), of: name(), similarity: 0.679_9 }];
    report.similarities.add(true, 0.679_9);
    let html = report.html();
    assert!(html.contains(">0.679<") && !html.contains(">0.680<"), "{html}");
}

#[test]
fn the_search_of_the_page_knows_what_the_run_removes_from_urls() {
    let tracking = vec!["utm_*".to_owned(), "ref".to_owned()];
    let html = Report { tracking, ..report() }.html();
    assert!(html.contains("id=\"find\" data-tracking=\"utm_* ref\""));
}

#[test]
fn direction_marks_and_control_characters_are_escaped() {
    let report = hostile(MARKS);
    for text in [report.html(), report.to_string()] {
        let harmful =
            |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200f}".contains(c);
        assert!(!text.contains(harmful));
        assert!(text.contains("evil\\u{202e}gnp.exe"));
    }
}

#[test]
fn only_web_addresses_are_links() {
    let html = hostile("x").html();
    assert!(html.contains("<a href=\"http://a.test/x\">"));
    // What holds for each of them stands at the head, and none opens a window.
    assert!(html.contains("<meta name=\"referrer\" content=\"no-referrer\">"));
    assert!(html.contains("<meta name=\"robots\" content=\"noindex, nofollow\">"));
    assert!(!html.contains(" target="));
    let links: Vec<&str> = html.split("href=\"").skip(1).collect();
    assert!(links.iter().all(|link| {
        ["http", "pages", "dupl", "skip", "warc/", "report", "#"]
            .iter()
            .any(|start| link.starts_with(start))
    }));
}

#[test]
fn the_language_of_a_page_is_named_for_its_font() {
    let html = report().html();
    assert!(html.contains("<span class=\"title\" dir=\"auto\" lang=\"zh\">第一章"));
    assert!(!hostile(SCRIPT).html().contains("dir=\"auto\" lang="));
}

#[test]
fn suspended_hosts_are_listed_those_with_most_urls_first() {
    let mut run = counted_run();
    let urls = ["http://a.test/w", "http://a.test/x", "http://a.test/y", "http://a.test/z"];
    run.suspend("slow.test:80", &urls[..1]);
    run.suspend(MARKS, &urls);
    for n in 0..10 {
        run.suspend(&format!("{n}.test:80"), &urls[..2]);
    }
    let report = run.finish(facts());
    let summary = report.to_string();
    assert!(summary.contains("suspended hosts         12\n    evil\\u{202e}gnp"), "{summary}");
    assert!(summary.contains("; 2 URLs, retried after 2026-11-21 00:01 UTC\n"), "{summary}");
    assert!(summary.contains("    and 2 more hosts in the report\n"), "{summary}");
    assert!(!summary.contains("slow.test"), "it has fewest");
    assert!(summary.lines().all(|line| line.chars().count() <= 80), "{summary}");
    let html = report.html();
    assert!(html.contains("slow.test:80") && html.contains("1 URL<"), "one is no plural");
    assert!(html.contains("asks for a delay of 61 s, more than politeness.max_crawl_delay; asked"));
    assert!(serde_json::to_string(&report).unwrap().contains("slow.test:80"));
}

#[test]
fn a_run_that_is_done_without_a_page_is_reported_with_the_next_step() {
    let nothing = |skips: &[(&str, Reason)], end| {
        let mut run = Counted::new();
        for (url, reason) in skips {
            run.skip(url, *reason);
        }
        run.finish(Report { end, ..facts() })
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let skips = [
        ("http://a.test/", Reason::Redirect),
        ("http://b.test/", Reason::Redirect),
        ("http://c.test/", Reason::Scope),
    ];
    let said = nothing(&skips, End::Done);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("1 of 3 known URLs") && said[0].contains("http://c.test/"),
        "{said:?}"
    );
    assert!(nothing(&[], End::Done)[0].contains("no seed names a URL"));
    for reason in Reason::ALL {
        assert!(nothing(&[("http://a.test/", reason)], End::Done)[0].contains(&reason.to_string()));
    }
    assert_eq!(nothing(&skips, End::Interrupted), Vec::<String>::new());
    let mut run = Counted::new();
    run.add(&unique("http://a.test/"), "");
    assert_eq!(run.finish(facts()).warnings, []);
}

#[test]
fn of_large_clusters_equally_many_members_are_named() {
    let mut run = Counted::new();
    for n in 0..15_000 {
        let of = if n < 10_000 { n % 2 } else { n };
        let (kept, copy) = (format!("http://a.test/{of}"), format!("http://b.test/{n}"));
        run.add(&exact(&copy, &kept, Step::Body), "");
    }
    let report = run.finish(facts());
    let named: usize = report.clusters.iter().map(|it| it.members.len()).sum();
    assert!(named <= MEMBERS && named > MEMBERS / 2, "{named}");
    let large: Vec<_> = report.clusters.iter().filter(|it| it.unnamed() > 0).collect();
    assert_eq!(large.len(), 2);
    assert_eq!(large[0].members.len(), large[1].members.len());
}

#[test]
fn what_a_report_leaves_out_is_counted() {
    let mut run = Counted::new();
    for n in 0..10_100 {
        let (kept, copy) = (format!("http://a.test/{n}"), format!("http://b.test/{n}"));
        let page = if n % 3 == 0 { near(&copy, &kept) } else { exact(&copy, &kept, Step::Body) };
        run.add(&page, "");
    }
    let report = run.finish(facts());
    let count =
        |wanted: fn(&Cluster) -> bool| report.clusters.iter().filter(|it| wanted(it)).count();
    assert_eq!(report.clusters.len(), CLUSTERS);
    assert_eq!(count(|it| it.near > 0), 3_367);
    assert_eq!(report.omitted, Omitted { clusters: 100, pages: 100 });
    let html = report.html();
    assert!(
        html.contains("Shown are 10,000 of 10,100 groups")
            && html.contains("Left out are 100 groups")
    );
}

/// A run of this many groups with URLs of this length.
fn long_run(groups: usize, length: usize) -> Counted {
    let mut run = Counted::new();
    let url = |host: &str, n: usize| {
        let url = format!("http://{host}.test/{n}/");
        format!("{url}{}", "x".repeat(length - url.len()))
    };
    for n in 0..groups {
        run.add(&near(&url("b", n), &url("a", n)), "A title of some thirty characters");
    }
    run
}

#[test]
fn ten_thousand_groups_stay_below_ten_megabytes() {
    for length in [75, 100, 150] {
        let report = long_run(CLUSTERS, length).finish(facts());
        let html = report.html();
        let shown = html.matches("<details class=\"card cluster\"").count();
        assert!(html.len() < 10_000_000, "{} with {length} characters", html.len());
        assert!(
            shown == CLUSTERS || length > 100 && shown > CLUSTERS * 8 / 10,
            "{shown}: {length}"
        );
        let said = format!("Shown are {} of 10,000 groups", crate::page::thousands(shown as u64));
        assert_eq!(html.contains(&said), shown < CLUSTERS, "{said}");
    }
}

#[test]
fn what_others_need_groups_leave_them_and_every_cut_list_says_how_many_there_are() {
    let mut run = long_run(CLUSTERS, 300);
    let path = "y".repeat(280);
    for reason in [Reason::Depth, Reason::Scope, Reason::Robots, Reason::Budget, Reason::Status] {
        for n in 0..3_000 {
            run.skip(&format!("http://c.test/{reason}/{n}/{path}"), reason);
        }
    }
    run.skip("http://c.test/short", Reason::Noindex);
    let report = run.finish(facts());
    assert_eq!((report.broken.len(), report.broken_count), (BROKEN, 3_000));
    let html = report.html();
    assert!((9_000_000..10_000_000).contains(&html.len()), "{}", html.len());
    let groups = html.matches("<details class=\"card cluster\"").count();
    assert!((1_500..3_000).contains(&groups), "{groups}");
    assert!(html.contains("http://c.test/short"), "a short list is whole");
    assert_eq!(html.matches(" of 3,000: <code>pagesieve export RUN</code> prints all.").count(), 5);
    assert!(html.contains(" of 3,000: <code>pagesieve links RUN --broken</code> prints all"));
}

#[test]
fn room_is_shared_so_that_those_who_want_little_get_it() {
    assert_eq!(fair(10, vec![1, 2, 3]), usize::MAX);
    assert_eq!(fair(10, vec![1, 20, 30]), 4);
    assert_eq!(fair(10, vec![9, 9]), 5);
    assert_eq!(fair(0, vec![0, 1]), 0);
}

#[test]
fn of_two_hosts_with_the_same_pages_one_is_the_mirror() {
    let mut run = Counted::new();
    for n in 0..60 {
        let [a, b] = ["a", "b"].map(|host| format!("http://{host}.test/{n}"));
        // Who came first with a page is chance: no host repeats more than half of its pages.
        let (first, then) = if n % 2 == 0 { (a, b) } else { (b, a) };
        run.add(&unique(&first), "");
        run.add(&near(&then, &first), "");
    }
    let [host, of] = ["b.test", "a.test"].map(str::to_owned);
    let warnings = run.finish(facts()).warnings;
    assert_eq!(warnings, [Warning::Mirror { host, pages: 60, duplicates: 60, of }]);
}

#[test]
fn rules_about_dead_links_and_the_evidence_for_deferred_urls_are_shown() {
    let rule = RuleReport {
        site: "a.test".to_owned(),
        part: "segment 1 of /*".to_owned(),
        trials: 60,
        failures: 0,
        revoked: false,
        imported: false,
        dead: true,
    };
    let deferred = DeferredUrls {
        pattern: "a.test/*/docs/#".to_owned(),
        by: Reason::Rule,
        why: "segment 1 of /* makes no difference where nothing is".to_owned(),
        evidence: "60 dead links were compared".to_owned(),
        urls: 167,
        new: 0.5,
        new_at_most: 8.0,
        rearranged: 0.0,
    };
    let learnt = Learnt { rules: vec![rule], deferred: vec![deferred], queued: Vec::new() };
    let html = Report { learnt, ..report() }.html();
    assert!(html.contains("segment 1 of /*, where nothing is"));
    assert!(html.contains("60 dead links were compared"));
    assert!(html.contains("--h3: 'URLs'"), "a cell has its heading on a narrow screen");
}

#[test]
fn what_is_saved_is_estimated_from_what_was_received_and_stored() {
    let mut run = counted_run();
    run.state.add_to_series(&Point { fetched: 1_000, bytes: 20_000, ..Point::default() }).unwrap();
    run.skip("https://docs.example.org/old/2", Reason::Rule);
    let report = run.finish(facts());
    assert_eq!((report.saved.requests, report.saved.transfer), (2, 40));
    assert!(report.html().contains("about 40 B were not received"));
}

#[test]
fn what_a_warning_links_to_is_in_the_page_however_much_is_left_out() {
    let mut run = long_run(CLUSTERS, 300);
    for n in 0..200 {
        // It is one of the largest groups, and none of the doubtful.
        let copy = format!("http://c.test/{n}");
        run.add(&exact(&copy, "http://c.test/login", Step::Body), "Sign in");
    }
    for n in 0..=CLUSTERS {
        let host = format!("http://{n}.test/{}", "x".repeat(280));
        for copy in 0..2 {
            run.add(&unique(&format!("{host}/{copy}")), "");
        }
    }
    let mut report = run.finish(facts());
    let host = report.hosts.last().unwrap().host.clone();
    report.warnings.push(Warning::Mirror {
        host: host.clone(),
        pages: 20,
        duplicates: 20,
        of: "a.test".to_owned(),
    });
    let html = report.html();
    assert!(html.len() < 10_000_000, "{}", html.len());
    for name in ["group-http://c.test/login".to_owned(), format!("host-{host}")] {
        assert!(html.contains(&format!("<a href=\"#{name}\">Show</a>")), "{name}");
        assert_eq!(html.matches(&format!(" id=\"{name}\"")).count(), 1, "{name}");
    }
}

#[test]
fn every_warning_but_one_about_unique_pages_links_to_a_part_of_the_page() {
    let mut run = counted_run();
    run.suspend("slow.test:80", &["http://slow.test/"]);
    let mut report = run.finish(Report { end: End::Open, ..facts() });
    let urls = Unfetched::default;
    report.warnings.extend([
        Warning::Nothing {
            reason: Some(Reason::Status),
            skipped: 1,
            known: 1,
            example: String::new(),
            detail: None,
            cause: None,
        },
        Warning::Missed { missed: 1, checked: 2 },
        Warning::NotKept { duplicates: 1, key: String::new() },
    ]);
    report.learnt.deferred = vec![DeferredUrls {
        pattern: "a.test/#".to_owned(),
        by: Reason::Rule,
        why: String::new(),
        evidence: String::new(),
        urls: 1,
        new: 0.0,
        new_at_most: 1.0,
        rearranged: 0.0,
    }];
    report.warnings.push(Warning::Deferred(urls()));
    let html = report.html();
    for warning in &report.warnings {
        let part = warning.evidence().unwrap();
        assert!(html.contains(&format!(" id=\"{part}\"")), "{part}");
    }
    // A URL has no row of its own in the page: it is searched there.
    let seed = UnreachableSeed { url: "http://a.test/".to_owned(), ..Default::default() };
    let unreachable = Warning::Unreachable { count: 1, seeds: vec![seed] };
    assert_eq!(unreachable.evidence().as_deref(), Some("url-http://a.test/"));
    let scripts = Warning::Scripts { pages: 1, example: "http://a.test/".to_owned() };
    assert_eq!(scripts.evidence(), None);
}
