//! robots.txt: comparison with other parsers, the rules of RFC 9309, hostile files.

use std::{collections::HashMap, fs, time::Duration};

use pagesieve::crawl::{
    fetch::Contact,
    robots::{Robots, product_token},
};
use proptest::prelude::*;
use serde::Deserialize;
use url::Url;

use crate::data::shared;

const HOST: &str = "http://foo.bar/";

fn url(text: &str) -> Url {
    Url::parse(HOST).unwrap().join(text).unwrap()
}

fn allows(robots: &Robots, path: &str) -> bool {
    robots.decide(&url(path)).allowed
}

/// Whether these lines, for all agents, let `path` be fetched.
fn allowed_by(lines: &str, path: &str) -> bool {
    allows(&Robots::parse(format!("User-agent: *\n{lines}").as_bytes(), "bot"), path)
}

#[derive(Deserialize)]
struct GoogleCase {
    test: String,
    robots: String,
    agent: String,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    differs: Vec<String>,
}

/// Replaces `{a3}` by `aaa`.
fn expand(text: &str) -> String {
    let mut parts = text.split(['{', '}']);
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(run), Some(plain)) = (parts.next(), parts.next()) {
        out += &run[..1].repeat(run[1..].parse().unwrap());
        out += plain;
    }
    out
}

/// The three that differ are those where Google's parser demands an encoding that RFC 9309, section 2.2.2, undoes:
/// its own table has `/foo/bar/%62%61%7A` match `/foo/bar/baz`, and a raw character equal to its encoding.
#[test]
fn google_s_own_assertions_hold_except_three_that_the_rfc_decides_otherwise() {
    let (mut agree, mut differ) = (0, 0);
    for line in include_str!("data/robots_google.jsonl").lines().skip(1) {
        let case: GoogleCase = serde_json::from_str(line).unwrap();
        let robots = Robots::parse(expand(&case.robots).as_bytes(), &case.agent);
        for (urls, allowed) in [(&case.allow, true), (&case.deny, false), (&case.differs, true)] {
            for text in urls {
                assert_eq!(allows(&robots, &expand(text)), allowed, "{}: {text}", case.test);
            }
        }
        agree += case.allow.len() + case.deny.len();
        differ += case.differs.len();
    }
    assert_eq!((agree, differ), (142, 3));
}

#[derive(Deserialize)]
struct Verdict {
    file: String,
    agent: String,
    url: Url,
    allowed: bool,
}

#[test]
fn all_verdicts_on_real_files_agree() {
    let Some(root) = shared("robots") else { return };
    let mut files = HashMap::new();
    let verdicts = fs::read_to_string(root.join("verdicts.jsonl")).unwrap();
    let mut wrong = Vec::new();
    for line in verdicts.lines() {
        let verdict: Verdict = serde_json::from_str(line).unwrap();
        let path = root.join(&verdict.file);
        let bytes = files.entry(verdict.file).or_insert_with(|| fs::read(path).unwrap());
        let robots = Robots::parse(bytes, &verdict.agent);
        if robots.decide(&verdict.url).allowed != verdict.allowed {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(verdicts.lines().count(), 3743);
}

#[test]
fn every_collected_file_can_be_read_for_every_agent() {
    let Some(root) = shared("robots") else { return };
    for folder in ["real", "cases"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            for agent in ["Googlebot", "examplebot", "*", ""] {
                let _ = allows(&Robots::parse(&bytes, agent), "/a?b=c");
            }
        }
    }
}

fn case(name: &str, agent: &str) -> Option<Robots> {
    Some(Robots::parse(&fs::read(shared("robots/cases")?.join(name)).unwrap(), agent))
}

#[test]
fn files_in_utf_16_are_read_by_their_byte_order_mark() {
    for name in
        ["robots-with-utf8-bom.txt", "robots-with-utf16be-bom.txt", "robots-with-utf16le-bom.txt"]
    {
        let Some(robots) = case(name, "bot") else { return };
        assert!(!allows(&robots, "/login.aspx"), "{name}");
    }
}

#[test]
fn slips_that_others_accept_are_accepted() {
    let file = "directive-typos-robots.txt";
    let Some(robots) = case(file, "bot1") else { return };
    assert!(!allows(&robots, "/desallow/") && !allows(&robots, "/dissalow/"));
    assert!(!allows(&case(file, "bot2").unwrap(), "/useragent/"));
    assert!(!allows(&case(file, "bot4").unwrap(), "/useragent-no-colon/"));
    let robots = case("format-errors-robots.txt", "bot1").unwrap();
    assert!(!allows(&robots, "/whitespace-before-colon/") && !allows(&robots, "/no-colon/"));
}

#[test]
fn records_that_are_no_rules_do_not_end_a_group() {
    for agent in ["mybot", "yourbot"] {
        let Some(robots) = case("crawl-delay-group-merging.txt", agent) else { return };
        assert!(!allows(&robots, "/private/"), "{agent}");
        assert!(
            !allows(&case("extensions-group-merging.txt", agent).unwrap(), "/private/"),
            "{agent}"
        );
    }
    let delay = |agent| case("crawl-delay-group-merging.txt", agent).unwrap().crawl_delay();
    assert_eq!(delay("mybot"), Some(Duration::from_secs(10)));
    assert_eq!(delay("another"), Some(Duration::from_secs(30)));
}

#[test]
fn a_group_for_us_and_all_others_is_ours_alone() {
    let Some(robots) = case("merge-rules.txt", "wget") else { return };
    assert!(allows(&robots, "/foo/bar") && !allows(&robots, "/tmp/bar"));
    assert!(!allows(&case("merge-rules.txt", "bot").unwrap(), "/foo/bar"));
}

#[test]
fn names_that_are_no_product_tokens_still_name_their_agent() {
    let file = b"User-agent: MJ12bot/v1.4\nDisallow: /a\nUser-agent: 360Spider\nDisallow: /b";
    assert!(!allows(&Robots::parse(file, "mj12bot"), "/a"));
    assert!(!allows(&Robots::parse(file, "360spider"), "/b"));
    assert!(!allows(&Robots::parse(file, "MJ"), "/a"));
    assert_eq!(product_token("360Spider"), "");
}

#[test]
fn encoded_and_raw_characters_are_equal_unless_reserved() {
    for (rule, path) in [
        ("/foo/bar/ツ", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/ツ"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/%7euser", "/~user"),
        ("/a|b", "/a%7Cb"),
        ("/*?q='x'", "/s?q='x'"),
        ("/100%", "/100%25"),
    ] {
        assert!(!allowed_by(&format!("Disallow: {rule}"), path), "{rule} {path}");
    }
    assert!(allowed_by("Disallow: /a%2Fb", "/a/b"));
    assert!(allowed_by("Disallow: /a/b", "/a%2Fb"));
    assert!(!allowed_by("Disallow: /a%2fb", "/a%2Fb"));
}

#[test]
fn special_characters_are_matched_verbatim_when_encoded() {
    for (rule, path) in [
        ("/file-with-a-%2A.html", "/file-with-a-*.html"),
        ("/foo-%24", "/foo-$"),
        ("/foo$bar", "/foo$bar"),
    ] {
        assert!(!allowed_by(&format!("Disallow: {rule}"), path), "{rule}");
    }
    assert!(allowed_by("Disallow: /file-%2A.html", "/file-a.html"));
}

#[test]
fn a_decision_names_the_rule_and_its_line() {
    let robots = Robots::parse(b"\r\nUser-agent: bot\r\rAllow: /\n  Disallow : /a  # why\n", "bot");
    let decision = robots.decide(&url("/ab"));
    assert!(!decision.allowed);
    let rule = decision.rule.unwrap();
    assert_eq!((&*rule.text, rule.line), ("Disallow : /a", 5));
    assert_eq!(robots.decide(&url("/b")).rule.unwrap().to_string(), "Allow: / (line 4)");
    assert_eq!(Robots::parse(b"User-agent: bot", "bot").decide(&url("/b")).rule, None);
}

#[test]
fn robots_txt_itself_may_always_be_fetched() {
    assert!(allowed_by("Disallow: /", "/robots.txt"));
    assert!(!allowed_by("Disallow: /", "/robots.txt/a"));
}

#[test]
fn without_rules_everything_is_allowed_or_nothing() {
    let unreachable = Robots::unreachable("timed out", Contact::Unanswered);
    assert_eq!(unreachable.refusal(&url("/a")).as_deref(), Some("timed out"));
    assert!(!allows(&unreachable, "/a"));
    assert!(allows(&Robots::default(), "/a"));
}

#[test]
fn crawl_delay_is_seconds_of_our_group_and_nonsense_is_passed_over() {
    let delay = |value: &str| {
        let file = format!(
            "User-agent: *\nCrawl-delay: 9\n\nDisallow:\nUser-agent: bot\nCrawl-delay: {value}\n"
        );
        Robots::parse(file.as_bytes(), "bot").crawl_delay()
    };
    assert_eq!(delay("2.5 # seconds"), Some(Duration::from_millis(2500)));
    for value in ["", "-1", "NaN", "inf", "1e300", "soon"] {
        assert_eq!(delay(value), None, "{value}");
    }
    assert_eq!(delay("1\nCrawl-delay: 3\nCrawl-delay: 2"), Some(Duration::from_secs(3)));
}

#[test]
fn a_file_is_cut_at_the_last_whole_line_before_500_kib() {
    let head = "User-agent: *\nDisallow: /a\n#";
    let limit = 500 * 1024;
    let file = |comment: usize| format!("{head}{}\nDisallow: /bcdef\n", "x".repeat(comment));
    let whole = Robots::parse(file(limit - head.len() - 18).as_bytes(), "bot");
    assert!(!allows(&whole, "/bcdef"));
    let cut = Robots::parse(file(limit - head.len() - 10).as_bytes(), "bot");
    assert!(!allows(&cut, "/a") && allows(&cut, "/bcdef"));
    assert!(allows(&Robots::parse("x".repeat(limit + 1).as_bytes(), "bot"), "/"));
}

#[test]
fn ten_thousand_rules_are_kept() {
    let rules: Vec<_> = (0..20_000).map(|number| format!("Disallow: /{number}$\n")).collect();
    let rules = rules.concat();
    assert!(!allowed_by(&rules, "/9999"));
    assert!(allowed_by(&rules, "/10000"));
}

/// A matcher that tries all ways does not end; a published one takes 3.8 seconds.
#[test]
fn fifty_stars_against_a_long_path_are_answered() {
    let file = format!("User-agent: *\nDisallow: /{}b$", "*a".repeat(50));
    let path = format!("/{}", "a".repeat(2000));
    let robots = Robots::parse(file.as_bytes(), "bot");
    assert!(allows(&robots, &path));
    assert!(!allows(&robots, &format!("{path}b")));
}

/// The pattern matcher as one would define it: every way a star can be read.
fn matches_by_definition(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], _) | ([b'$'], []) => true,
        ([b'*', pattern @ ..], _) => {
            (0..=path.len()).any(|skip| matches_by_definition(pattern, &path[skip..]))
        }
        ([a, pattern @ ..], [b, path @ ..]) => a == b && matches_by_definition(pattern, path),
        _ => false,
    }
}

proptest! {
    #[test]
    fn reading_and_deciding_never_panics(file: Vec<u8>, agent: String, path: String) {
        let robots = Robots::parse(&file, &agent);
        if let Ok(url) = url("/").join(&path) {
            let _ = robots.decide(&url);
        }
    }

    #[test]
    fn files_that_look_like_robots_txt_never_panic(
        lines in prop::collection::vec("(user-agent|allow|disallow|sitemap|crawl-delay|x)? ?:? ?[*$/%a-cA-F0-9é#]{0,12}[\r\n]{0,2}", 0..20),
        path in "/a[*$/%a-c0-9é]{0,12}",
    ) {
        let _ = allows(&Robots::parse(lines.concat().as_bytes(), "a"), &path);
    }

    #[test]
    fn a_pattern_matches_as_defined(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
        let expected = matches_by_definition(pattern.as_bytes(), path.as_bytes());
        prop_assert_eq!(!allowed_by(&format!("Disallow: {pattern}"), &path), expected);
    }

    #[test]
    fn the_longest_pattern_decides(
        rules in prop::collection::vec((any::<bool>(), "/[ab*]{0,4}\\$?"), 0..6),
        path in "/[ab]{0,6}",
    ) {
        let line = |(allow, pattern): &(bool, String)| {
            format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" })
        };
        let expected = rules
            .iter()
            .filter(|(_, pattern)| matches_by_definition(pattern.as_bytes(), path.as_bytes()))
            .map(|(allow, pattern)| (pattern.len(), *allow))
            .max();
        let lines: String = rules.iter().map(line).collect();
        prop_assert_eq!(allowed_by(&lines, &path), expected.is_none_or(|(_, allow)| allow));
    }
}
