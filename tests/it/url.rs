//! The normal form of URLs.

use std::fs;

use pagesieve::page::{NormalUrl, UrlError, UrlOptions, site_of};
use proptest::prelude::*;
use serde::Deserialize;
use url::Url;

use crate::data::shared;

fn normal(text: &str) -> String {
    NormalUrl::parse(text, &UrlOptions::default()).unwrap().as_str().to_owned()
}

fn error(text: &str) -> UrlError {
    NormalUrl::parse(text, &UrlOptions::default()).unwrap_err()
}

#[test]
fn fragment_credentials_trailing_dot_and_empty_query_are_removed() {
    assert_eq!(normal("https://user:pass@Example.ORG.:443?#top"), "https://example.org/");
    assert_eq!(normal("http://user@[::1]:8080/a#b"), "http://[::1]:8080/a");
    assert_eq!(normal("http://127.1.:80/"), "http://127.0.0.1/");
}

#[test]
fn tracking_parameters_are_removed_and_all_others_stay_in_order() {
    let query = |query: &str| normal(&format!("http://a.org/?{query}"));
    assert_eq!(query("b=2&utm_source=x&a=1&FBCLID=y"), "http://a.org/?b=2&a=1");
    assert_eq!(query("utm_source=x&gclid"), "http://a.org/");
    assert_eq!(query("%75tm_id=1&id=utm_x"), "http://a.org/?id=utm_x");
    assert_eq!(query("a=&&b&utm_x"), "http://a.org/?a=&&b");
    for kept in
        ["ref=1", "source=2", "from=3", "id=4", "utm=5", "q=gclid", "share=6", "sid=7", "p=8"]
    {
        assert_eq!(query(kept), format!("http://a.org/?{kept}"));
    }
}

#[test]
fn the_list_of_tracking_parameters_is_an_option() {
    let mut options = UrlOptions::default();
    options.tracking = vec!["s*".into(), "ref".into()];
    let url = NormalUrl::parse("http://a.org/?sid=1&ref=2&reference=3&utm_x=4", &options).unwrap();
    assert_eq!(url.as_str(), "http://a.org/?reference=3&utm_x=4");
}

#[test]
fn a_url_without_a_normal_form_is_refused_with_the_reason() {
    assert!(matches!(error("example.org/a"), UrlError::Syntax(_)));
    assert_eq!(error("ftp://a.org/"), UrlError::Scheme("ftp".into()));
    assert_eq!(error("http://a.org../"), UrlError::Host("a.org..".into()));
    let length = |path: usize| format!("http://a.org/{}", "x".repeat(path - 13));
    assert_eq!(normal(&length(2048)).len(), 2048);
    assert_eq!(error(&length(2049)), UrlError::TooLong(2049));
    assert_eq!(error(&length(2049)).to_string(), "the URL has 2049 characters, the limit is 2048");
    let levels = |count: usize| format!("http://a.org{}?/", "/x".repeat(count));
    assert_eq!(normal(&levels(32)), levels(32));
    assert_eq!(error(&levels(33)).to_string(), "the path has 33 levels, the limit is 32");
    assert_eq!(normal(&format!("{}#{}", length(2000), "x".repeat(100))).len(), 2000);
}

#[test]
fn origin_and_site_are_taken_from_the_host() {
    let url = |text| NormalUrl::parse(text, &UrlOptions::default()).unwrap();
    for (text, origin, site) in [
        ("https://news.bbc.co.uk/a", "news.bbc.co.uk:443", "bbc.co.uk"),
        ("http://localhost:8080/", "localhost:8080", "localhost"),
        ("http://10.0.0.1/", "10.0.0.1:80", "10.0.0.1"),
        ("http://[2001:db8::1]/", "[2001:db8::1]:80", "[2001:db8::1]"),
        ("http://www.docs.test/", "www.docs.test:80", "docs.test"),
        ("http://co.uk/", "co.uk:80", "co.uk"),
        ("http://www.例子.中国/", "www.xn--fsqu00a.xn--fiqs8s:80", "xn--fsqu00a.xn--fiqs8s"),
    ] {
        assert_eq!((url(text).origin().as_str(), url(text).site()), (origin, site));
    }
    assert_eq!(site_of("a.github.io"), "a.github.io");
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WptCase {
    Case { input: String, base: Option<String>, href: Option<String> },
    Comment(#[expect(dead_code, reason = "comments in the list are skipped")] String),
}

#[test]
fn test_cases_of_the_url_standard_normalise_like_their_parsed_form() {
    let Some(path) = shared("urls/wpt-urltestdata.json") else { return };
    let cases: Vec<WptCase> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (mut fetched, mut refused) = (0, 0);
    for case in cases {
        let WptCase::Case { input, base, href: Some(href) } = case else { continue };
        let base = base.map(|base| Url::parse(&base).unwrap());
        let Ok(url) = Url::options().base_url(base.as_ref()).parse(&input) else { continue };
        let result = NormalUrl::new(&url, &UrlOptions::default());
        assert_eq!(result, NormalUrl::parse(&href, &UrlOptions::default()), "{input}");
        match result {
            Ok(result) => {
                assert_eq!(normal(result.as_str()), result.as_str());
                fetched += 1;
            }
            Err(error) => {
                assert!(
                    matches!(error, UrlError::Scheme(_) | UrlError::Host(_)),
                    "{input}: {error}"
                );
                refused += 1;
            }
        }
    }
    assert_eq!((fetched, refused), (227, 379));
}

/// The lines of a CSV file whose fields contain no line breaks.
fn csv(text: &str) -> impl Iterator<Item = Vec<String>> {
    let is_case = |line: &&str| !line.starts_with('#') && !line.trim().is_empty();
    text.split('\n').filter(is_case).map(|line| {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let field = fields.last_mut().unwrap();
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                ' ' if field.is_empty() && !quoted => {}
                _ => field.push(c),
            }
        }
        fields
    })
}

#[test]
fn references_resolve_as_listed() {
    let Some(path) = shared("urls/url-resolve.csv") else { return };
    for case in csv(&fs::read_to_string(path).unwrap()) {
        let base = Url::parse(&case[1]).ok();
        let url = Url::options().base_url(base.as_ref()).parse(&case[0]).unwrap();
        assert_eq!(url, Url::parse(&case[2]).unwrap());
    }
}

/// What another project's normaliser does beyond ours: it merges slashes, sorts parameters, drops empty ones and the
/// `=` before an empty value. Each of these can conflate two pages, so we do not.
fn aggressive(url: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = base.split_once("://").unwrap();
    let mut parts: Vec<_> = rest.split('/').collect();
    let last = parts.len() - 1;
    let mut at = 0;
    parts.retain(|part| {
        at += 1;
        !part.is_empty() || at - 1 == last
    });
    let mut parameters: Vec<_> = query
        .split('&')
        .map(|it| it.strip_suffix('=').unwrap_or(it))
        .filter(|it| !it.is_empty() && !it.starts_with('='))
        .collect();
    parameters.sort_unstable();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{}{mark}{}", parts.join("/"), parameters.join("&"))
}

#[test]
fn another_normaliser_differs_only_where_it_is_more_aggressive() {
    let Some(path) = shared("urls/weirdToNormalizedUrls.csv") else { return };
    let (mut equal, mut different, mut refused) = (0, 0, 0);
    for case in csv(&fs::read_to_string(path).unwrap()) {
        match NormalUrl::parse(&case[0], &UrlOptions::default()) {
            Ok(url) if url.as_str() == case[1] => equal += 1,
            Ok(url) => {
                assert_eq!(aggressive(url.as_str()), case[1], "{}", case[0]);
                different += 1;
            }
            // It completes `foo.com/index.html`, which we refuse because it is not an absolute URL.
            Err(error) => {
                let is_fetched = case[0].starts_with("http") && !case[0].starts_with("http:///");
                assert!(!is_fetched, "{}: {error}", case[0]);
                refused += 1;
            }
        }
    }
    assert_eq!((equal, different, refused), (86, 17, 9));
}

#[test]
fn a_url_is_requested_as_it_was_given() {
    let options = UrlOptions::default();
    let given = |text: &str| {
        let url = Url::parse(text).unwrap();
        let link = NormalUrl::new(&url, &options).unwrap();
        let target = NormalUrl::redirected(&url, &options).unwrap();
        assert_eq!(link, target);
        let found = [link.requested(), target.requested(), link.as_url()];
        found.map(|url| url.as_str().to_owned())
    };
    for (text, link, target, normal) in [
        ("http://u:p@a.org./%7ejoe#x", "/%7ejoe", "/%7ejoe", "/~joe"),
        ("http://a.org/a[1]?b={c}&", "/a[1]?b={c}&", "/a[1]?b={c}&", "/a%5B1%5D?b=%7Bc%7D&"),
        ("http://a.org/t?%75tm_source=own", "/t", "/t?%75tm_source=own", "/t"),
        ("http://a.org/t?gclid=1&a=%7e", "/t?a=%7e", "/t?gclid=1&a=%7e", "/t?a=~"),
        ("http://a.org/t?", "/t?", "/t?", "/t"),
        ("http://a.org/t", "/t", "/t", "/t"),
    ] {
        let expected = [link, target, normal].map(|path| format!("http://a.org{path}"));
        assert_eq!(given(text), expected, "{text}");
    }
}

#[test]
fn invalid_hosts_are_refused() {
    let Some(path) = shared("urls/invalidUrls.csv") else { return };
    for case in csv(&fs::read_to_string(path).unwrap()) {
        assert!(matches!(error(&case[0]), UrlError::Syntax(_)), "{}", case[0]);
    }
}

fn any_url() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "https?://[a-z0-9.%é-]{1,12}(:[0-9]{1,3})?[/?#].{0,30}",
        "http://a\\.b\\.?/[a-c./%0-9A-F\\\\{}|;'éツ-]{0,20}\\??[a-c&=;%0-9A-F\\[\\]|+'éutm_]{0,20}(#.{0,3})?",
    ]
}

proptest! {
    #[test]
    fn normalising_twice_changes_nothing(text in any_url()) {
        if let Ok(url) = NormalUrl::parse(&text, &UrlOptions::default()) {
            let again = NormalUrl::parse(url.as_str(), &UrlOptions::default());
            prop_assert_eq!(again.as_ref(), Ok(&url));
            prop_assert!(url.as_str().len() <= 2048 && url.as_str().is_ascii());
            prop_assert_eq!(Url::parse(url.as_str()), Ok(url.as_url().clone()));
            prop_assert!(url.origin().as_str().contains(url.site()));
        }
    }

    #[test]
    fn escaping_unreserved_characters_changes_nothing(path in "[a-z0-9_~.-]{1,8}[a-z]") {
        let escaped: Vec<_> = path.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let url = |path: &str| normal(&format!("http://a.org/{path}?{path}"));
        prop_assert_eq!(url(&escaped.concat()), url(&path));
    }
}
