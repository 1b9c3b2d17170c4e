//! Seed lists and what they admit.

use pagesieve::{
    crawl::scope::{Reach, Scope, ScopeError, Seed, Source, read_seed_file},
    page::{NormalUrl, UrlOptions},
    state::Reason,
};
use proptest::prelude::*;
use url::Url;

fn url(text: &str) -> NormalUrl {
    NormalUrl::parse(text, &UrlOptions::default()).unwrap()
}

fn seed(text: &str, scope: Reach) -> Seed {
    let mut seed = Seed::new(Url::parse(text).unwrap());
    seed.scope = scope;
    seed
}

/// A list with these patterns.
fn filtered(include: &[&str], exclude: &[&str]) -> Seed {
    let mut seed = seed("http://a.org/", Reach::Host);
    seed.include = include.iter().map(ToString::to_string).collect();
    seed.exclude = exclude.iter().map(ToString::to_string).collect();
    seed
}

fn scope(seeds: &[Seed]) -> Scope {
    let mut scope = Scope::new(seeds).unwrap();
    for (number, seed) in seeds.iter().enumerate() {
        if let Source::Url(root) = &seed.source {
            scope.add_root(number, &url(root.as_str()));
        }
    }
    scope
}

fn admits(seed: Seed, text: &str) -> bool {
    scope(&[seed]).admit(&url(text), 1, |_| false).is_ok()
}

#[test]
fn a_seed_table_has_the_defaults_that_are_documented() {
    let seed: Seed = toml::from_str("url = 'http://docs.test/index.html'").unwrap();
    assert_eq!(seed, Seed::new(Url::parse("http://docs.test/index.html").unwrap()));
    let expected = "url = \"http://docs.test/index.html\"\nscope = \"host\"\ninclude = []\nexclude = []\n\
                    max_pages = 100000\nsitemaps = false\nlearn = true\ntags = []\n";
    assert_eq!(toml::to_string(&seed).unwrap(), expected);
}

#[test]
fn a_seed_table_has_exactly_one_source() {
    let error = |text| toml::from_str::<Seed>(text).unwrap_err().to_string();
    for text in ["scope = 'any'", "url = 'http://a.org'\nfile = 'a.txt'"] {
        assert!(
            error(text).contains("exactly one of `url`, `urls`, `file` and `sitemap`"),
            "{text}"
        );
    }
    assert!(error("url = 'http://a.org'\nmax_page = 1").contains("unknown field `max_page`"));
    let seed: Seed = toml::from_str("file = 'a.txt'\nscope = 'domain'").unwrap();
    assert_eq!((seed.source, seed.scope), (Source::File("a.txt".into()), Reach::Domain));
}

#[test]
fn host_is_a_name_with_its_port() {
    let root = || seed("http://a.org/x/", Reach::Host);
    assert!(admits(root(), "http://a.org/y"));
    for other in ["http://a.org:8080/x/", "https://a.org/x/", "http://www.a.org/x/"] {
        assert!(!admits(root(), other), "{other}");
    }
}

#[test]
fn domain_is_the_registrable_one_whatever_scheme_and_port() {
    let root = || seed("http://www.a.co.uk/", Reach::Domain);
    assert!(admits(root(), "https://news.a.co.uk:8443/"));
    assert!(!admits(root(), "http://b.co.uk/"));
    assert!(!admits(seed("http://127.0.0.1/", Reach::Domain), "http://127.0.0.2/"));
}

#[test]
fn prefix_is_the_url_up_to_its_last_slash() {
    let root = || seed("http://a.org/x/index.html?next=/y/", Reach::Prefix);
    assert!(admits(root(), "http://a.org/x/z") && admits(root(), "http://a.org/x/"));
    for other in ["http://a.org/x", "http://a.org/xy/", "https://a.org/x/z"] {
        assert!(!admits(root(), other), "{other}");
    }
    assert!(admits(seed("http://a.org", Reach::Prefix), "http://a.org/b"));
}

#[test]
fn patterns_are_asked_of_the_whole_normal_url() {
    assert!(admits(filtered(&["^http://a\\.org/x", "\\.html$"], &[]), "http://a.org/b.html"));
    assert!(!admits(filtered(&["^/x"], &[]), "http://a.org/x"));
    assert!(!admits(filtered(&["x"], &["y", "z$"]), "http://a.org/xz"));
}

#[test]
fn a_pattern_that_cannot_be_compiled_names_its_list() {
    for pattern in ["(", "\\w{100}{100}"] {
        let lists = [filtered(&[], &[]), filtered(&[], &[pattern])];
        let error = Scope::new(&lists).unwrap_err();
        assert!(matches!(&error, ScopeError { seed: 1, .. }));
        assert!(error.to_string().ends_with("of seed list 2"), "{error}");
    }
}

#[test]
fn a_url_belongs_to_the_first_list_that_admits_it_and_is_not_spent() {
    let lists = scope(&[
        seed("http://a.org/x/", Reach::Prefix),
        seed("http://a.org/", Reach::Host),
        seed("http://b.org/", Reach::Any),
    ]);
    let first = |text, spent: &[usize]| lists.admit(&url(text), 1, |list| spent.contains(&list));
    assert_eq!(first("http://a.org/x/1", &[]), Ok(0));
    assert_eq!(first("http://a.org/x/1", &[0]), Ok(1));
    assert_eq!(first("http://a.org/y", &[]), Ok(1));
    assert_eq!(first("http://c.org/", &[0, 1]), Ok(2));
    assert_eq!(first("http://a.org/x/1", &[0, 1, 2]), Err(Reason::Budget));
}

#[test]
fn the_most_favourable_refusal_is_reported() {
    let mut shallow = seed("http://a.org/", Reach::Host);
    shallow.max_depth = Some(1);
    let mut deep = seed("http://a.org/x/", Reach::Prefix);
    deep.max_depth = Some(20);
    let lists = scope(&[deep, shallow]);
    let refusal = |text, depth, spent| lists.admit(&url(text), depth, |_| spent).unwrap_err();
    assert_eq!(refusal("http://b.org/", 0, true), Reason::Scope);
    assert_eq!(refusal("http://a.org/", 2, false), Reason::Depth);
    assert_eq!(refusal("http://a.org/x/", 2, true), Reason::Budget);
    assert_eq!(lists.admit(&url("http://a.org/x/"), 20, |_| false), Ok(0));
    assert_eq!(refusal("http://a.org/x/", 21, false), Reason::Depth);
}

#[test]
fn a_seed_need_not_match_what_its_links_must() {
    let lists = scope(&[filtered(&["/docs/"], &[]), filtered(&["/news/"], &["x"])]);
    let root = |list, text, spent| lists.admit_seed(list, &url(text), |_| spent);
    assert_eq!(root(1, "http://a.org/", false), Ok(1));
    assert_eq!(root(1, "http://a.org/docs/", false), Ok(0));
    assert_eq!(root(1, "http://a.org/x", false), Err(Reason::Scope));
    assert_eq!(root(1, "http://a.org/", true), Err(Reason::Budget));
    assert_eq!(lists.admit(&url("http://a.org/"), 0, |_| false), Err(Reason::Scope));
}

#[test]
fn a_list_of_many_roots_admits_what_any_of_them_does() {
    let mut lists = Scope::new(&[seed("http://unused.org/", Reach::Prefix)]).unwrap();
    for number in (0..100_000).rev() {
        lists.add_root(0, &url(&format!("http://a.org/{}/{number}/index.html", number % 10)));
    }
    let admits = |text| lists.admit(&url(text), 1, |_| false).is_ok();
    assert!(admits("http://a.org/7/99997/a") && !admits("http://a.org/8/99997/a"));
}

#[test]
fn a_move_to_https_or_to_or_from_www_takes_the_scope_along() {
    let moved = |from: &str, reach, to: &str| {
        let mut scope = scope(&[seed(from, reach)]);
        scope.follow_move(&url(from), &url(to)).then_some(scope)
    };
    for (from, to) in [
        ("http://a.org/", "https://a.org/"),
        ("http://a.org/", "https://www.a.org/home"),
        ("https://www.a.org/", "https://a.org/"),
        ("http://www.a.org:8080/", "http://a.org:8080/x"),
    ] {
        let scope = moved(from, Reach::Host, to).unwrap();
        for place in [from, to] {
            assert!(scope.admit(&url(place), 1, |_| false).is_ok(), "{from} {to}: {place}");
        }
        assert!(moved(from, Reach::Domain, to).is_none(), "nothing new");
    }
    for to in ["http://b.org/", "http://a.a.org/", "http://a.org:81/", "http://a.org/b"] {
        assert!(moved("http://a.org/", Reach::Host, to).is_none(), "{to}");
    }
    assert!(moved("https://a.org/", Reach::Host, "http://a.org:80/").is_none());
    let scope = moved("http://a.org/docs/", Reach::Prefix, "https://www.a.org/").unwrap();
    assert!(scope.admit(&url("https://www.a.org/docs/a"), 1, |_| false).is_ok());
    assert!(scope.admit(&url("https://www.a.org/b"), 1, |_| false).is_err());
}

#[test]
fn a_seed_file_has_a_url_a_line_and_comments() {
    let file = "\u{FEFF}http://a.org/#top\r\n\n  # comment\nhttp://b.org/ # another\n";
    let urls = read_seed_file(file.as_bytes(), &UrlOptions::default()).unwrap();
    assert_eq!(urls, [url("http://a.org/"), url("http://b.org/")]);
}

#[test]
fn every_bad_line_of_a_seed_file_is_named() {
    let file = b"http://a.org/\nexample.org\n\nftp://a.org/\nhttp://\xFF/\n";
    let errors = read_seed_file(file, &UrlOptions::default()).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 4, 5]);
    assert_eq!(errors[0].to_string(), "cannot read \"example.org\" in line 2");
}

#[test]
fn a_seed_has_no_credentials() {
    for seed in [
        "url = 'http://me:word@a.org'",
        "urls = ['http://me@a.org']",
        "sitemap = 'http://:word@a.org'",
    ] {
        let error = toml::from_str::<Seed>(seed).unwrap_err().to_string();
        assert!(error.contains("[[fetch.access]]"), "{error}");
    }
    let errors = read_seed_file(b"http://me:word@a.org/", &UrlOptions::default()).unwrap_err();
    assert!(errors[0].source.to_string().contains("[[fetch.access]]"));
}

proptest! {
    #[test]
    fn prefixes_admit_what_begins_with_one_of_them(
        roots in prop::collection::vec("[ab/]{0,5}", 1..8),
        path in "[ab/]{0,6}",
    ) {
        let mut lists = Scope::new(&[seed("http://unused.org/", Reach::Prefix)]).unwrap();
        let begin = |root: &str| {
            let url = url(&format!("http://h/{root}"));
            url.as_str()[..=url.as_str().rfind('/').unwrap()].to_owned()
        };
        for root in &roots {
            lists.add_root(0, &url(&format!("http://h/{root}")));
        }
        let url = url(&format!("http://h/{path}"));
        let expected = roots.iter().any(|root| url.as_str().starts_with(&begin(root)));
        prop_assert_eq!(lists.admit(&url, 0, |_| false).is_ok(), expected);
    }

    #[test]
    fn reading_a_seed_file_never_panics(file: Vec<u8>) {
        let _ = read_seed_file(&file, &UrlOptions::default());
    }
}
