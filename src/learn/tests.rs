//! What is kept of sites, what is imported, and how much memory it takes.

use super::{parts::Parts, *};

const SITE: &str = "example.org";

/// A learner with generated pages: page `n` is at `/page-n`, whatever the value of `sid` is.
struct Web {
    learner: Learner,
    next: u64,
}

impl Web {
    fn new(rules: &[Rule]) -> Self {
        Self { learner: Learner::new(rules), next: 1 }
    }

    fn url(page: u64, session: u64) -> Url {
        Url::parse(&format!("https://example.org/page-{page}?sid={session:016x}")).unwrap()
    }

    /// Judges a page with this text.
    fn judge(&mut self, page: u64, session: u64, text: u32) {
        let yielded =
            if session == 0 || text > 1 << 20 { Yielded::New } else { Yielded::KnownText };
        self.learner.judged(&Page {
            url: &Self::url(page, session),
            site: SITE,
            text: Some(text),
            hash: 0,
            yielded,
            is_redirected: false,
            from: None,
            links_back: true,
        });
        self.next += 1;
    }

    /// Judges each of these pages under two sessions.
    fn judge_twice(&mut self, pages: std::ops::Range<u64>) {
        for page in pages {
            for session in [0, page * 77 + 1] {
                self.judge(page, session, u32::try_from(page + 1).unwrap());
            }
        }
    }

    fn is_deferred(&mut self, page: u64) -> bool {
        let asked = (1..200).map(|it| self.learner.decide(&Self::url(page, it << 40), SITE));
        let deferred =
            asked.filter(|it| matches!(it, Placement::Deferred(DeferReason::Rule, _))).count();
        deferred > 150
    }

    /// The same after everything was kept and restored.
    fn restarted(&mut self, rules: &[Rule]) -> Self {
        let mut learner = Learner::new(rules);
        restore_all(&mut learner, self.learner.take_unsaved());
        Self { learner, next: self.next }
    }
}

fn restore_all(learner: &mut Learner, (sites, common): (Vec<Kept>, Vec<u8>)) {
    assert!(learner.restore_common(&common));
    for (site, kept) in sites {
        assert!(learner.restore(&site, &kept));
    }
}

fn sid(trials: u32) -> Rule {
    let part = RulePart::Parameter("sid".to_owned());
    Rule { site: SITE.to_owned(), part, trials, failures: 0 }
}

#[test]
fn what_is_learnt_is_kept_and_a_page_is_no_trial_twice() {
    let mut web = Web::new(&[]);
    web.judge_twice(0..100);
    let rules = web.learner.rules();
    assert_eq!(rules.len(), 1, "{rules:?}");
    assert_eq!(rules[0].rule.part.to_string(), "parameter sid");
    assert!(web.is_deferred(3));
    assert_eq!(web.learner.take_changed_rules().len(), 1);
    let mut again = web.restarted(&[]);
    assert_eq!(again.learner.rules(), rules);
    assert!(again.is_deferred(3));
    // What is told again is part of what was kept.
    again.learner.observations = 0;
    again.judge_twice(0..100);
    assert_eq!(again.learner.rules(), rules);
    again.judge_twice(100..102);
    assert!(again.learner.rules()[0].rule.trials > rules[0].rule.trials);
}

/// Observations of a site whose URLs have several hosts, words, ids, parameters and spellings; many of them repeat known texts.
fn observe_at_random(learner: &mut Learner, random: &mut impl FnMut(u32) -> u32) -> Url {
    let host = ["", "www.", "m.", "h1.", "h2."][random(5) as usize];
    let page = random(60);
    let path = [
        format!("page-{page}"),
        format!("page-{page}/"),
        format!("{}/item-{page}.html", ["news", "shop"][page as usize % 2]),
        format!("sid/{:016x}/page-{page}", u64::from(random(40)) * 0x0123_4567_89ab),
        format!("view/{page}/index.html"),
    ];
    let path = &path[random(5) as usize];
    let query = [
        String::new(),
        format!("?sid={:012x}", random(1 << 30)),
        format!("?sort={}&sid={:012x}", random(3), random(1 << 30)),
        format!("?a={}&b={}", random(2), random(2)),
        format!("?b={}&a={}", random(2), random(2)),
    ];
    let query = &query[random(5) as usize];
    let url = Url::parse(&format!("https://{host}{SITE}/{path}{query}")).unwrap();
    let from = Url::parse(&format!("https://{SITE}/page-{}", random(60))).unwrap();
    let passages: Vec<u32> = (0..20).map(|it| page * 20 + it + random(2)).collect();
    let is_new = random(200) == 0;
    let yielded = match (is_new, learner.add_passages(&passages).are_many) {
        (true, true) => Yielded::New,
        (true, false) => Yielded::KnownPassages,
        (false, _) => Yielded::KnownText,
    };
    let text = if is_new { random(1 << 20) } else { page };
    match random(14) {
        12.. => _ = learner.meet(&url, SITE),
        0 => learner.dead(&url, SITE),
        kind => learner.judged(&Page {
            url: &url,
            site: SITE,
            text: (kind > 1).then_some(text),
            hash: u16::try_from(text % 7).unwrap(),
            yielded: if kind > 1 { yielded } else { Yielded::RedirectToKnown },
            is_redirected: kind == 2,
            from: (kind > 3).then_some(&from),
            links_back: kind % 2 == 0,
        }),
    }
    url
}

#[test]
fn a_learner_that_is_kept_and_restored_at_any_point_decides_as_one_that_ran_on() {
    for seed in 1..=8_u64 {
        let new = || {
            let mut state = seed;
            move |most: u32| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
                u32::try_from((state >> 33) % u64::from(most)).unwrap()
            }
        };
        let (mut random, mut again, mut restarts) = (new(), new(), new());
        let (mut whole, mut parts) = (Learner::new(&[sid(9)]), Learner::new(&[sid(9)]));
        let (mut urls, mut kept) = (Vec::new(), HashMap::new());
        for _ in 0..1_500 {
            urls.push(observe_at_random(&mut whole, &mut random));
            observe_at_random(&mut parts, &mut again);
            if restarts(40) == 0 {
                let mut next = Learner::new(&[sid(9)]);
                let (sites, common) = parts.take_unsaved();
                kept.extend(sites);
                restore_all(&mut next, (kept.clone().into_iter().collect(), common));
                parts = next;
                for url in urls.iter().rev().take(30) {
                    let mark = if url.query().is_some() { '&' } else { '?' };
                    let more = Url::parse(&format!("{url}{mark}sid=7")).unwrap();
                    for url in [url, &more] {
                        assert_eq!(whole.decide(url, SITE), parts.decide(url, SITE), "{url}");
                        let estimates =
                            [&mut whole, &mut parts].map(|it| it.estimate(url, SITE, true));
                        assert_eq!(estimates[0], estimates[1], "{url}");
                    }
                }
            }
        }
        let group =
            |learner: &Learner| urls.iter().map(|it| learner.group(it, SITE)).collect::<Vec<_>>();
        assert_eq!(group(&whole), group(&parts));
        let is_learnt = |it: &LearntRule| !it.is_imported && !it.is_revoked;
        assert!(whole.rules().iter().any(is_learnt), "{:?}", whole.rules());
        let sorted = |learner: &Learner| {
            let mut rules = learner.rules();
            rules.sort_by(|a, b| a.rule.part.cmp(&b.rule.part));
            rules
        };
        assert_eq!(sorted(&whole), sorted(&parts));
    }
}

#[test]
fn an_imported_rule_defers_from_the_start_and_two_failures_revoke_it() {
    let mut web = Web::new(&[sid(70)]);
    web.judge(0, 0, 1);
    assert!(web.is_deferred(0));
    assert!(!web.is_deferred(1), "the first URL of a class is fetched");
    let failed = |web: &mut Web, page: u64| {
        web.judge(page, 0, u32::try_from(page).unwrap() + 1);
        web.judge(page, 5, (1 << 21) + u32::try_from(page).unwrap());
    };
    failed(&mut web, 1);
    assert!(web.is_deferred(0), "one failure is not enough");
    failed(&mut web, 2);
    assert!(!web.is_deferred(0));
    let rules = web.learner.rules();
    assert!(rules[0].is_revoked && rules[0].is_imported, "{rules:?}");
    assert_eq!((rules[0].rule.trials, rules[0].rule.failures), (72, 2));
    // It stays so in a later run, unless the configuration has it no more: then it is forgotten.
    assert!(web.restarted(&[sid(70)]).learner.rules()[0].is_revoked);
    web.judge(3, 0, 4);
    assert_eq!(web.restarted(&[]).learner.rules(), []);
}

#[test]
fn a_rule_of_the_configuration_holds_for_its_site_or_for_all() {
    let all = Rule { site: "*".to_owned(), ..sid(0) };
    let other = Rule { site: "example.net".to_owned(), ..sid(0) };
    for (rule, holds) in [(all, true), (other, false)] {
        let mut web = Web::new(&[rule]);
        web.judge(0, 0, 1);
        assert_eq!(web.is_deferred(0), holds);
    }
}

/// Judges a page of the site, or a redirect.
fn judge(learner: &mut Learner, url: &str, text: Option<u32>, yielded: Yielded) {
    learner.judged(&Page {
        url: &Url::parse(url).unwrap(),
        site: SITE,
        text,
        hash: 0,
        yielded,
        is_redirected: false,
        from: None,
        links_back: true,
    });
}

fn is_deferred_by_rule(learner: &mut Learner, urls: impl Iterator<Item = String>) -> bool {
    let urls: Vec<Url> = urls.map(|url| Url::parse(&url).unwrap()).collect();
    let deferred =
        |url: &&Url| matches!(learner.decide(url, SITE), Placement::Deferred(DeferReason::Rule, _));
    urls.iter().filter(deferred).count() * 10 > urls.len() * 9
}

#[test]
fn parts_that_never_change_alone_are_learnt_together_and_known_pages_stay_known() {
    let mut learner = Learner::new(&[]);
    // The session, the origin of the link and the page's mirror change with each request.
    let url = |page: u32, visit: u32| {
        let (host, session) = (["www", "mirror"][visit as usize % 2], page * 1_000 + visit);
        format!(
            "https://{host}.example.org/page-{page}?id={page}&from=nav{session}&sid={session:016x}"
        )
    };
    for page in 0..200 {
        for visit in 0..2 {
            let yielded = if visit == 0 { Yielded::New } else { Yielded::KnownText };
            judge(&mut learner, &url(page, visit), Some(page + 1), yielded);
        }
    }
    let rules: Vec<_> = learner.rules().iter().map(|it| it.rule.part.to_string()).collect();
    for part in ["parameter from", "parameter sid"] {
        assert!(rules.iter().any(|it| it == part), "{rules:?}");
    }
    assert!(!rules.iter().any(|it| it == "parameter id"), "{rules:?}");
    // Also the pages that were judged before the rules were known.
    assert!(is_deferred_by_rule(&mut learner, (10..200).map(|visit| url(1, visit * 2))));
    assert!(!is_deferred_by_rule(&mut learner, (10..200).map(|visit| url(1_000 + visit, 0))));
}

/// The URL of a page of a host that has as many pages as it is asked for.
fn page_of(host: u64, page: u64) -> Url {
    let (section, view) = (page % 7, page % 3);
    let url =
        format!("https://host-{host}.example/section-{section}/page-{page}?id={page}&view={view}");
    Url::parse(&url).unwrap()
}

fn visit(learner: &mut Learner, url: &Url, document: u64) {
    learner.judged(&Page {
        url,
        site: url.host_str().unwrap(),
        text: Some(u32::try_from(document).unwrap()),
        hash: 0,
        yielded: Yielded::New,
        is_redirected: false,
        from: None,
        links_back: true,
    });
}

#[test]
fn sites_that_are_not_used_make_room_and_come_back() {
    let mut learner = Learner { memory: 1 << 20, ..Learner::new(&[]) };
    let mut kept = HashMap::new();
    let mut web = Web::new(&[]);
    web.judge_twice(0..100);
    let rules = web.learner.rules();
    restore_all(&mut learner, web.learner.take_unsaved());
    // Something was learnt since.
    web.learner = learner;
    web.judge_twice(100..101);
    learner = web.learner;
    for document in 0..20_000 {
        visit(&mut learner, &page_of(document / 10, document % 10), document + 1_000);
        assert!(learner.size < 1 << 20, "{}", learner.size);
        if learner.has_evicted() {
            kept.extend(learner.take_evicted());
        }
    }
    assert!(!learner.has(SITE) && learner.needs(SITE));
    assert!(learner.restore(SITE, &kept.remove(SITE).unwrap()));
    let again: Vec<_> = learner.rules().into_iter().filter(|it| it.rule.site == SITE).collect();
    assert_eq!(again[0].rule.part, rules[0].rule.part);
    assert!(again[0].rule.trials > rules[0].rule.trials);
    assert!(learner.needs("host-1.example"));
}

#[test]
fn a_rule_defers_copies_of_pages_whose_classes_are_forgotten() {
    let mut web = Web::new(&[]);
    web.judge_twice(0..400);
    for page in 400..20_000 {
        web.judge(page, 0, u32::try_from(page + 1).unwrap());
    }
    for page in [10_000, 19_000] {
        assert!(web.is_deferred(page), "{page}");
    }
    assert!(!web.is_deferred(20_001), "it was never seen");
}

#[test]
fn a_site_takes_at_most_two_mebibytes() {
    let mut learner = Learner::new(&[]);
    let mut largest = 0;
    for page in 0..120_000_u64 {
        let (a, b) = (page % 211, page % 499);
        let word = if page < 60_000 { "" } else { &"long".repeat(50) };
        let url = format!("https://h{}.example.org/{a}/{b}/{word}-{page}?p{a}=1&q{b}=2", page % 40);
        learner.judged(&Page {
            url: &Url::parse(&url).unwrap(),
            site: SITE,
            text: Some(u32::try_from(page % 5_000).unwrap()),
            hash: 0,
            yielded: if page < 5_000 { Yielded::New } else { Yielded::KnownText },
            is_redirected: false,
            from: None,
            links_back: true,
        });
        learner.decide(&Url::parse(&format!("{url}&r={page}")).unwrap(), SITE);
        largest = largest.max(learner.size);
    }
    assert!(largest <= 2 << 20, "{largest}");
    assert!(largest > 1 << 20, "the limits are reached: {largest}");
}

/// Seconds of CPU time of this thread.
#[allow(clippy::cast_precision_loss, reason = "a time")]
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Pages of 100,000 hosts, as a wide crawl meets them: `cargo test --profile bench --lib -- --ignored --nocapture many_hosts`.
#[test]
#[ignore = "it measures: docs/learning.md has its figures"]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::print_stderr,
    reason = "it prints figures"
)]
fn many_hosts() {
    let (hosts, pages) = (100_000_u64, 2_000_000_u64);
    let mut learner = Learner::new(&[]);
    let (mut random, mut largest, mut kept) = (1_u64, 0, HashMap::new());
    let (mut document, mut round) = (0, 0_u64);
    let [mut judging, mut asking, mut keeping] = [0.0; 3];
    let mut visited = vec![0_u64; usize::try_from(hosts).unwrap()];
    while document < pages {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half of the pages are of few hosts, the other half of all in turn; a host gets some requests in a row.
        let share = (random >> 33) as f64 / (1_u64 << 31) as f64;
        let skewed = ((hosts as f64).powf(share) as u64 - 1).min(hosts - 1);
        round += 1;
        let host = if round % 2 == 0 { round / 2 % hosts } else { skewed };
        let seen = &mut visited[usize::try_from(host).unwrap()];
        let urls: Vec<Url> = (0..16).map(|more| page_of(host, *seen + more)).collect();
        let site = urls[0].host_str().unwrap();
        *seen += 8;
        let start = cpu();
        if round % 16 == 0 || learner.needs(site) {
            kept.extend(learner.take_evicted());
        }
        if learner.needs(site) {
            learner.restore(site, &kept[site]);
        }
        let kept_at = cpu();
        for url in &urls[..8] {
            document += 1;
            visit(&mut learner, url, document);
        }
        let judged_at = cpu();
        for url in &urls[8..] {
            std::hint::black_box(learner.decide(url, site));
        }
        asking += cpu() - judged_at;
        judging += judged_at - kept_at;
        keeping += kept_at - start;
        largest = largest.max(learner.size);
    }
    let used = visited.iter().filter(|it| **it > 0).count();
    let counted: usize = learner.sites.values().map(|site| site.counted).sum();
    assert_eq!(counted, learner.size);
    let [judging, asking, keeping] = [judging, asking, keeping].map(|it| it * 1e6 / pages as f64);
    eprintln!(
        "{pages} pages of {used} hosts, and a question for each: {judging:.2} µs of CPU time a page, {asking:.2} µs a question, {keeping:.2} µs to keep and restore; \
         {:.1} MiB at most for all, {} sites in memory with {} bytes each, the largest with {} bytes; {} sites kept, {} bytes each",
        largest as f64 / f64::from(1 << 20),
        learner.sites.len(),
        learner.size / learner.sites.len(),
        learner.sites.values().map(|site| site.counted).max().unwrap_or(0),
        kept.len(),
        kept.values().map(Vec::len).sum::<usize>() / kept.len().max(1),
    );
}

/// Judges a page with this text, and with this hash of it.
fn judge_text(learner: &mut Learner, url: &str, text: u32, hash: u16) {
    let last = learner.observations;
    let url = Url::parse(url).unwrap();
    let is_new = u64::from(text) > last;
    learner.judged(&Page {
        url: &url,
        site: SITE,
        text: Some(text),
        hash,
        yielded: if is_new { Yielded::New } else { Yielded::KnownText },
        is_redirected: false,
        from: None,
        links_back: true,
    });
}

fn rules_of(learner: &Learner) -> Vec<String> {
    learner.rules().iter().map(|it| it.rule.part.to_string()).collect()
}

#[test]
fn ten_pages_that_are_spelt_otherwise_are_enough_and_the_others_are_known() {
    let cases = [
        ("/", "/index.html", "name of an index page"),
        ("", ".html", "ending of a file"),
        (".htm", "", "ending of a file"),
        ("", "/", "slash at the end"),
        ("/", "", "slash at the end"),
    ];
    for (first, second, rule) in cases {
        let mut learner = Learner::new(&[]);
        let mut text = 1;
        for page in 0..12 {
            let url = format!("https://example.org/topic-{page}");
            judge_text(&mut learner, &format!("{url}{first}"), text, 1);
            if page < 10 {
                judge_text(&mut learner, &format!("{url}{second}"), text, 1);
            }
            text = u32::try_from(learner.observations).unwrap() + 1;
        }
        assert_eq!(rules_of(&learner), [rule]);
        let mut is_deferred = |end: &str| {
            let url = Url::parse(&format!("https://example.org/topic-{end}")).unwrap();
            matches!(learner.decide(&url, SITE), Placement::Deferred(..))
        };
        assert!(is_deferred(&format!("11{second}")), "{rule}");
        assert!(!is_deferred(&format!("12{second}")), "the first of a class");
        assert!(!is_deferred(&format!("11{second}?page=2")), "another page");
    }
}

#[test]
fn a_session_after_a_word_is_learnt_for_the_whole_site() {
    let mut learner = Learner::new(&[]);
    let url = |page: u32, visit: u32| {
        format!("https://example.org/page-{page}/sid/{:032x}", page * 1_000 + visit)
    };
    for page in 0..12 {
        let text = u32::try_from(learner.observations).unwrap() + 1;
        judge_text(&mut learner, &url(page, 0), text, 1);
        if page < 11 {
            judge_text(&mut learner, &url(page, 1), text, 1);
        }
    }
    assert!(rules_of(&learner).contains(&"segment after sid".to_owned()));
    assert!(is_deferred_by_rule(&mut learner, (1..50).map(|visit| url(11, visit))));
    assert!(!is_deferred_by_rule(&mut learner, (20..30).map(|page| url(page, 1))), "new pages");
}

#[test]
fn one_version_that_repeats_another_says_nothing_of_the_others() {
    for (versions, is_learnt) in [(&["v7", "latest"][..], false), (&["a", "b", "c", "d"], true)] {
        let mut learner = Learner::new(&[]);
        for page in 0..100 {
            let text = u32::try_from(learner.observations).unwrap() + 1;
            for version in versions {
                let url = format!("https://example.org/docs/{version}/{page}.html");
                judge_text(&mut learner, &url, text, 1);
            }
        }
        let is_rule = rules_of(&learner).contains(&"segment 2 of /docs/*".to_owned());
        assert_eq!(is_rule, is_learnt, "{versions:?}");
    }
}

#[test]
fn copies_under_a_parameter_say_nothing_more_of_versions() {
    for (pages, is_learnt) in [(12, false), (40, true)] {
        let mut learner = Learner::new(&[]);
        for page in 0..pages {
            let text = u32::try_from(learner.observations).unwrap() + 1;
            for query in ["", "?place=menu", "?place=top"] {
                for version in ["a", "b", "c", "d"] {
                    let url = format!("https://example.org/docs/{version}/{page}.html{query}");
                    judge_text(&mut learner, &url, text, 1);
                }
            }
        }
        let is_rule = rules_of(&learner).contains(&"segment 2 of /docs/*".to_owned());
        assert_eq!(is_rule, is_learnt, "{pages} pages");
    }
}

#[test]
fn one_page_says_little_of_what_all_versions_have() {
    let word = |number: u32| format!("v{}", letters(number));
    for (pages, versions, is_learnt) in [(6, 40, false), (20, 4, true)] {
        let mut learner = Learner::new(&[]);
        for page in 0..pages {
            let text = u32::try_from(learner.observations).unwrap() + 1;
            for version in 0..versions {
                let url = format!("https://example.org/docs/{}/{page}.html", word(version));
                judge_text(&mut learner, &url, text, 1);
            }
        }
        let is_rule = |rule: &str| rules_of(&learner).contains(&rule.to_owned());
        assert_eq!(is_rule("segment 2 of /docs/*"), is_learnt, "{pages} pages");
    }
}

#[test]
fn a_new_page_with_the_text_of_a_known_one_is_no_trial() {
    for (hash, failures) in [(1, 0), (2, 1)] {
        let mut learner = Learner::new(&[]);
        let url = |page: u32, visit: u32| format!("https://example.org/{page}?sid={visit:016x}");
        for page in 0..11 {
            let text = u32::try_from(learner.observations).unwrap() + 1;
            judge_text(&mut learner, &url(page, 0), text, 1);
            judge_text(&mut learner, &url(page, 1), text, 1);
        }
        let text = u32::try_from(learner.observations).unwrap() + 1;
        judge_text(&mut learner, &url(0, 2), text, hash);
        assert_eq!(learner.rules()[0].rule.failures, failures, "{hash}");
    }
}

#[test]
fn spellings_that_make_a_difference_are_no_rule() {
    let mut learner = Learner::new(&[]);
    let mut text = 1;
    for page in 0..100 {
        for end in ["", "/", ".html", "/index.html"] {
            judge_text(&mut learner, &format!("https://example.org/topic-{page}{end}"), text, 1);
            text = u32::try_from(learner.observations).unwrap() + 1;
        }
    }
    assert_eq!(rules_of(&learner), [""; 0]);
}

#[test]
fn a_mirror_that_repeats_exactly_needs_fewer_trials() {
    for (hash_of_mirror, enough) in [(7, 42..45), (8, 340..362)] {
        let mut learner = Learner::new(&[]);
        let trials = (1..400).find(|page| {
            let text = u32::try_from(learner.observations).unwrap() + 1;
            judge_text(&mut learner, &format!("https://example.org/page-{page}"), text, 7);
            let mirror = format!("https://mirror.example.org/page-{page}");
            judge_text(&mut learner, &mirror, text, hash_of_mirror);
            rules_of(&learner).iter().any(|rule| rule == "host mirror.example.org")
        });
        assert!(enough.contains(&trials.unwrap()), "{trials:?}");
    }
}

#[test]
fn paths_that_grow_repeat_their_segments() {
    let repeats = |path: &str| {
        let url = Url::parse(&format!("https://example.org{path}")).unwrap();
        Parts::of(&url).repeats_segments()
    };
    for path in ["/a/b/a/", "/a/b/a", "/a/a/x.html", "/a/b/c/a/b/x.html", "/a/b/a/c/a/x.html"] {
        assert!(repeats(path), "{path}");
    }
    for path in ["/a/b/c/", "/project/docs/org/project/Class.html", "/2024/2024/", "/"] {
        assert!(!repeats(path), "{path}");
    }
}

#[test]
fn one_error_text_under_many_ids_is_no_rule() {
    let mut learner = Learner::new(&[]);
    for offer in 0..300 {
        let yielded = if offer == 0 { Yielded::New } else { Yielded::KnownText };
        judge(&mut learner, &format!("https://example.org/offer/{offer}"), Some(1), yielded);
    }
    assert_eq!(rules_of(&learner), [""; 0]);
    let offers = (300..400).map(|offer| format!("https://example.org/offer/{offer}"));
    assert!(!is_deferred_by_rule(&mut learner, offers));
}

#[test]
fn lists_that_lead_back_are_requested_for_longer_than_error_pages() {
    let url = |kind: &str, of: u32| Url::parse(&format!("https://{SITE}/{kind}{}", letters(of)));
    for links_back in [true, false] {
        let mut learner = Learner::new(&[]);
        for number in 0..300 {
            learner.judged(&Page {
                url: &url("tag/", number).unwrap(),
                site: SITE,
                text: Some(number + 1),
                hash: 1,
                yielded: Yielded::KnownPassages,
                is_redirected: false,
                from: Some(&url("", number).unwrap()),
                links_back,
            });
        }
        let more = (300..400).map(|number| url("tag/", number).unwrap().to_string());
        assert_eq!(deferred(&mut learner, more) > 90, !links_back);
    }
}

/// A server answers each path with the home page, whose ten links are relative: `/tea/` leads to `/tea/tea/`, `/tea/cup/`, and so on.
#[test]
fn one_page_under_all_paths_is_not_requested_for_long() {
    let mut learner = Learner::new(&[]);
    let mut queue = std::collections::VecDeque::from([Url::parse("https://example.org/").unwrap()]);
    let mut requests = 0;
    while let Some(url) = queue.pop_front().filter(|_| requests < 3_000) {
        if requests > 0 && matches!(learner.decide(&url, SITE), Placement::Deferred(..)) {
            continue;
        }
        requests += 1;
        let yielded = if requests == 1 { Yielded::New } else { Yielded::KnownText };
        judge(&mut learner, url.as_str(), Some(1), yielded);
        queue.extend((0..10).map(|it| url.join(&format!("{}/", letters(it))).unwrap()));
    }
    assert!((100..400).contains(&requests), "{requests}");
}

/// How many of these URLs are deferred.
fn deferred(learner: &mut Learner, urls: impl Iterator<Item = String>) -> usize {
    let urls = urls.map(|url| Url::parse(&url).unwrap());
    urls.filter(|url| matches!(learner.decide(url, SITE), Placement::Deferred(..))).count()
}

#[test]
fn kinds_of_pages_that_a_parameter_names_have_a_yield_each() {
    let mut learner = Learner::new(&[]);
    let address = |kind: &str, page: u32| {
        format!("https://example.org/index.php?title=T{page}&action={kind}")
    };
    for page in 0..400 {
        let (edit, text) = (address("edit", page), page % 50 + 1);
        let yielded = if page < 50 { Yielded::New } else { Yielded::KnownText };
        judge(&mut learner, &edit, Some(text), yielded);
    }
    let edits = deferred(&mut learner, (1_000..1_100).map(|page| address("edit", page)));
    assert!(edits > 40, "{edits}");
    // Histories that were seen and give something are another pattern.
    for page in 400..440 {
        judge(&mut learner, &address("history", page), Some(page), Yielded::New);
    }
    let others = (1_000..1_100).map(|page| address("history", page));
    assert_eq!(deferred(&mut learner, others), 0);
}

#[test]
fn values_that_are_made_up_for_each_link_are_no_kinds_of_pages() {
    let mut learner = Learner::new(&[]);
    let address = |page: u32| format!("https://example.org/form-{page}?action=do-{page}-it");
    for page in 0..400 {
        judge(&mut learner, &address(page), Some(page % 50 + 1), Yielded::KnownText);
    }
    let forms = deferred(&mut learner, (1_000..1_100).map(address));
    assert!(forms > 40, "{forms}");
}

/// Of 400 pages of the first kind 350 repeat others; then come 40 of the second one. Returns how many of a hundred more of each kind are deferred.
fn deferred_of_kinds(
    address: impl Fn(&str, u32) -> String,
    kinds: [&str; 2],
    second: Yielded,
) -> [usize; 2] {
    let mut learner = Learner::new(&[]);
    for page in 0..400 {
        let yielded = if page < 50 { Yielded::New } else { Yielded::KnownText };
        judge(&mut learner, &address(kinds[0], page), Some(page % 50 + 1), yielded);
    }
    for page in 400..440 {
        judge(&mut learner, &address(kinds[1], page), Some(page), second);
    }
    kinds.map(|kind| deferred(&mut learner, (1_000..1_100).map(|page| address(kind, page))))
}

#[test]
fn kinds_of_pages_that_a_segment_names_have_a_yield_each() {
    let address = |kind: &str, page: u32| {
        format!("https://example.org/git/{}/{kind}/name-of-{page}x", letters(page % 40))
    };
    let [diffs, files] = deferred_of_kinds(address, ["diff", "tree"], Yielded::New);
    assert!(diffs > 40 && files == 0, "{diffs} {files}");
}

#[test]
fn words_before_many_numbers_have_a_yield_each() {
    let address = |kind: &str, page: u32| format!("https://example.org/{kind}{page}.html");
    let [brands, goods] = deferred_of_kinds(address, ["brand-", "goods-"], Yielded::New);
    assert!(brands > 40 && goods < 20, "{brands} {goods}");
    let [ids, others] = deferred_of_kinds(address, ["a", "b"], Yielded::KnownText);
    assert!(ids > 40 && others > 40, "ids begin with letters, too: {ids} {others}");
    let each =
        |_: &str, page: u32| format!("https://example.org/title{}-{page}.html", letters(page));
    let [titles, _] = deferred_of_kinds(each, ["", ""], Yielded::KnownText);
    assert!(titles > 40, "words of single pages: {titles}");
}

/// A word for each number.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[test]
fn programs_and_numbers_with_a_word_have_a_yield_each() {
    let program = |kind: &str, number| format!("https://example.org/{kind}.php?id={number}&tree=7");
    assert_eq!(deferred_of_kinds(program, ["pedigree", "person"], Yielded::New), [100, 0]);
    let post = |word: &str, number| {
        format!("https://example.org/7/index.php?topic={number}.{word}{number}")
    };
    assert_eq!(deferred_of_kinds(post, ["msg", ""], Yielded::New), [100, 0]);
}

#[test]
fn a_page_that_is_known_with_a_session_is_not_asked_for_without_it() {
    let mut web = Web::new(&[sid(412)]);
    web.judge(3, 5, 4);
    let mut decide = |url: &str| web.learner.decide(&Url::parse(url).unwrap(), SITE);
    let known = decide("https://example.org/page-3");
    assert!(matches!(known, Placement::Deferred(DeferReason::Rule, _)), "{known:?}");
    assert_eq!(decide("https://example.org/page-4"), Placement::Now);
    // It is another page: two failures revoke the rule.
    for page in [3, 5] {
        web.judge(page, 9, 4);
        let url = format!("https://example.org/page-{page}");
        let text = u32::try_from(page).unwrap() + (1 << 21);
        judge(&mut web.learner, &url, Some(text), Yielded::New);
    }
    web.judge(7, 5, 8);
    let url = Url::parse("https://example.org/page-7").unwrap();
    assert!(!matches!(web.learner.decide(&url, SITE), Placement::Deferred(..)));
}

#[test]
fn parameters_may_be_separated_by_semicolons() {
    let of = |url: &str| Parts::of(&Url::parse(url).unwrap()).key;
    let (by_ampersands, by_semicolons) =
        ("https://example.org/?p=x.git&a=tree", "https://example.org/?p=x.git;a=tree");
    assert_eq!(of(by_ampersands), of(by_semicolons));
}

#[test]
fn two_versions_with_other_names_say_nothing_of_a_third() {
    // The names of versions that repeat another one, and whether a rule holds for all of them.
    let names = ["latest", "stable", "lts", "edge"];
    for (names, is_learnt) in [(&names[..2], false), (&names, true)] {
        // Exact repeats, and near ones.
        for (hash, pages) in [(1, 200), (2, 600)] {
            let mut learner = Learner::new(&[]);
            let of = |version: &str, page: u32| format!("https://{SITE}/{version}/page-{page}");
            for page in 0..pages {
                let text = u32::try_from(learner.observations).unwrap() + 1;
                judge_text(&mut learner, &of("two", page), text, 1);
                let name = names[page as usize % names.len()];
                judge_text(&mut learner, &of(name, page), text, hash);
            }
            let is_general = |rule: &String| rule == "segment 1 of /*";
            assert_eq!(rules_of(&learner).iter().any(is_general), is_learnt, "{names:?} {hash}");
        }
    }
}

#[test]
fn trees_that_lack_the_same_pages_are_asked_for_each_of_them_once() {
    let url = |tree: &str, page: u32| {
        Url::parse(&format!("https://{SITE}/{tree}/docs/page-{page}.html")).unwrap()
    };
    let mut learner = Learner::new(&[]);
    let live = |learner: &mut Learner, url: &Url, text: u32| {
        learner.judged(&Page {
            url,
            site: SITE,
            text: Some(text),
            hash: 0,
            yielded: Yielded::New,
            is_redirected: false,
            from: None,
            links_back: true,
        });
    };
    for page in 0..60 {
        for tree in ["v1", "v2"] {
            // Each tree has other texts.
            let text = page * 10 + if tree == "v1" { 1 } else { 2 };
            live(&mut learner, &url(tree, page), text);
            learner.dead(&url(tree, 100 + page), SITE);
        }
    }
    for page in 1_000..1_100 {
        learner.dead(&url("v1", page), SITE);
        live(&mut learner, &url("v1", page + 1_000), page);
    }
    let reason = "segment 1 of /* makes no difference where nothing is";
    let mut deferred = |from: u32| {
        let asked = (from..from + 100).map(|page| learner.decide(&url("v2", page), SITE));
        let rule = Placement::Deferred(DeferReason::Rule, reason.to_owned());
        (asked.filter(|it| *it == rule).count(), learner.evidence(SITE, reason))
    };
    let (dead, evidence) = deferred(1_000);
    assert!((90..100).contains(&dead), "{dead}: a sample is asked for");
    let evidence = evidence.unwrap();
    assert!(evidence.starts_with("60 dead links were compared"), "{evidence}");
    assert_eq!(deferred(2_000).0, 0, "nothing is known of these but pages");
    let rules = learner.rules();
    let [LearntRule { rule, is_dead: true, is_revoked: false, .. }] = &rules[..] else {
        panic!("{rules:?}")
    };
    assert_eq!((rule.trials, rule.failures), (60, 0));
    // The other tree has two of them after all.
    for page in [1_000, 1_001] {
        live(&mut learner, &url("v2", page), page + 5_000);
    }
    let asked = (1_000..1_100).map(|page| learner.decide(&url("v2", page), SITE));
    assert!(asked.into_iter().all(|it| !matches!(it, Placement::Deferred(..))));
    assert!(learner.take_sites_to_requeue().contains(SITE));
}
