//! What a host's robots.txt lets our agent fetch: RFC 9309, and where that is silent, what Google documents.
//!
//! If robots.txt cannot be fetched (no response, 429 or 5xx after all retries), no URL of its host is fetched until it can. With another
//! 4xx, or more than five redirects, everything is allowed.
//!
//! Pure: `worker.rs` (`fetch_robots`) makes the requests and passes in the responses, once the schedule returns `Start::Robots`. The
//! state keeps each file as received, by root URL (`State::robots` in `state/hosts.rs`). It is valid for a day; then it is requested again.

use std::{borrow::Cow, cmp::Reverse, fmt, time::Duration};

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::fetch::{Contact, FetchError, Response};
use crate::page::{NormalUrl, normalise};

/// For how long a robots.txt is valid (RFC 9309, section 2.4).
pub(super) const VALID: Duration = Duration::from_hours(24);

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// What a pattern gives a meaning to, and the apostrophe, which URLs encode in the query but not in the path: encoded on both sides,
/// in a URL and in the literal parts of a pattern (RFC 9309, section 2.2.3).
const SPECIAL: &[u8] = b"*$'";

/// The product token of a `User-Agent` header: its first characters that are letters, `-` or `_`.
///
/// ```
/// use pagesieve::crawl::robots::product_token;
///
/// assert_eq!(product_token("pagesieve/0.1 (+mailto:me@example.org)"), "pagesieve");
/// ```
#[must_use]
pub fn product_token(user_agent: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
    user_agent.find(|c| !is_part(c)).map_or(user_agent, |end| &user_agent[..end])
}

/// The rules of one robots.txt for one agent. The default has none: every URL is allowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    /// Longest pattern first, and allowing before disallowing ones, so that the first that matches decides.
    rules: Vec<RobotsRule>,
    crawl_delay: Option<Duration>,
    unreachable: Option<(Box<str>, Contact)>,
}

/// Whether a URL may be fetched, and which rule says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permission<'a> {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The rule that decides; `None` if none matches, or if robots.txt is unreachable.
    pub rule: Option<&'a RobotsRule>,
}

impl Robots {
    /// Reads a robots.txt and keeps the rules for `agent`, a product token, compared without case.
    ///
    /// Never fails: lines that make no sense are skipped. Reads at most 500 KiB of the file (up to the last whole line) and 16 KiB of a
    /// line, and keeps at most 10,000 rules.
    ///
    /// ```
    /// use pagesieve::crawl::robots::Robots;
    /// use url::Url;
    ///
    /// let robots = Robots::parse(b"User-agent: *\nDisallow: /private/ # keep out", "pagesieve");
    /// let permission = robots.decide(&Url::parse("http://example.org/private/a")?);
    /// assert!(!permission.allowed);
    /// assert_eq!(permission.rule.map(|rule| rule.to_string()).as_deref(), Some("Disallow: /private/ (line 2)"));
    /// # Ok::<(), url::ParseError>(())
    /// ```
    #[must_use]
    pub fn parse(file: &[u8], agent: &str) -> Self {
        parse(file, agent)
    }

    /// No usable response to a request that came so far: every URL is refused for now, for this reason.
    #[must_use]
    pub fn unreachable(reason: &str, contact: Contact) -> Self {
        Self { unreachable: Some((reason.into(), contact)), ..Self::default() }
    }

    /// How far the request for robots.txt came, if it is unreachable.
    #[must_use]
    pub(super) fn contact(&self) -> Option<Contact> {
        self.unreachable.as_ref().map(|&(_, contact)| contact)
    }

    /// Why this URL of the host may not be fetched, if it may not: the rule with its line, or why robots.txt is unreachable.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<String> {
        match &self.unreachable {
            Some((why, Contact::Answered)) => {
                return Some(format!("robots.txt could not be fetched: {why}"));
            }
            // Nothing else could be fetched from this host either.
            Some((why, _)) => return Some(why.to_string()),
            None => {}
        }
        let permission = self.decide(url);
        (!permission.allowed).then(|| permission.rule.map_or_else(String::new, ToString::to_string))
    }

    /// Whether this URL of the host may be fetched. robots.txt itself always may.
    ///
    /// The longest pattern that matches the path and query decides; of two of equal length, the one that allows (RFC 9309, section
    /// 2.2.2). Takes time proportional to the total length of the patterns, and for each pattern with a wildcard to that of the URL.
    #[must_use]
    pub fn decide(&self, url: &Url) -> Permission<'_> {
        if url.path() == "/robots.txt" {
            return Permission { allowed: true, rule: None };
        }
        let url = Comparable::new(url);
        match self.rules.iter().find(|rule| rule.matches(&url)) {
            Some(rule) => Permission { allowed: rule.allow, rule: Some(rule) },
            None => Permission { allowed: self.unreachable.is_none(), rule: None },
        }
    }

    /// The minimum time between two requests that the file asks of our agent; the longest one, if there are several.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

/// The sitemaps that a robots.txt names, for all agents alike: the first 1,000. What is no absolute URL, as sitemaps.org demands, is an error.
///
/// ```
/// use pagesieve::crawl::robots::sitemaps;
///
/// let found = sitemaps(b"Disallow: /private/\nSitemap: http://example.org/sitemap.xml # all");
/// assert_eq!(found[0].as_ref().unwrap().as_str(), "http://example.org/sitemap.xml");
/// ```
#[must_use]
pub fn sitemaps(file: &[u8]) -> Vec<Result<Url, String>> {
    let bytes = without_bom(whole_lines(file));
    lines(&bytes)
        .filter_map(|line| directive(statement(line)))
        .filter(|(name, _)| SITEMAP.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes())))
        .map(|(_, url)| String::from_utf8_lossy(url))
        .map(|url| Url::parse(&url).map_err(|_| url.into_owned()))
        .take(MAX_SITEMAPS)
        .collect()
}

/// The request for one robots.txt, and its redirects.
#[derive(Clone, Debug)]
pub(super) struct RobotsRequest {
    url: Url,
    redirects: usize,
}

/// What a response means for a [`RobotsRequest`].
#[derive(Debug)]
pub(super) enum RobotsResponse {
    /// The request now has another URL.
    Redirect,
    /// The content; empty if there is no robots.txt.
    Content(Vec<u8>),
    /// Why there is none for now, and how far the request came.
    Unreachable(String, Contact),
}

impl RobotsRequest {
    /// The request for the robots.txt that applies to this URL.
    pub(super) fn new(url: &NormalUrl) -> Self {
        let mut url = url.as_url().clone();
        url.set_path("/robots.txt");
        url.set_query(None);
        Self { url, redirects: 0 }
    }

    #[cfg(test)]
    pub(super) fn redirected_to(url: &str) -> Self {
        Self { url: Url::parse(url).expect("a URL"), redirects: 1 }
    }

    /// Whether a redirect has led elsewhere.
    pub(super) fn is_redirected(&self) -> bool {
        self.redirects > 0
    }

    /// Name and port of the host that gets the next request.
    pub(super) fn host(&self) -> String {
        let name = self.url.host_str().unwrap_or_default();
        format!("{name}:{}", self.url.port_or_known_default().unwrap_or_default())
    }

    /// The URL of the next request.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Takes in a response.
    pub(super) fn receive(&mut self, got: Result<Response, FetchError>) -> RobotsResponse {
        let response = match got {
            Ok(response) => response,
            Err(error) => {
                return RobotsResponse::Unreachable(error.explain(), error.contact());
            }
        };
        if let Some(target) = response.redirect_target(&self.url) {
            (self.url, self.redirects) = (target, self.redirects + 1);
            return match self.redirects {
                0..=MAX_REDIRECTS => RobotsResponse::Redirect,
                _ => RobotsResponse::Content(Vec::new()),
            };
        }
        RobotsResponse::of_status(response.status.as_u16(), response.body)
    }
}

impl RobotsResponse {
    /// What a status means that is not a redirect to be followed (RFC 9309, section 2.3.1).
    fn of_status(status: u16, body: Vec<u8>) -> Self {
        match status {
            200..=299 => Self::Content(body),
            300..=428 | 430..=499 => Self::Content(Vec::new()),
            _ => Self::Unreachable(format!("status {status}"), Contact::Answered),
        }
    }
}

/// An `Allow` or `Disallow` line.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsRule {
    /// The line as written, without comment and white space around it.
    pub text: Box<str>,
    /// Its number in the file, from 1.
    pub line: u32,
    allow: bool,
    /// The pattern, normalised like the URLs in [`Comparable`]; a `*` in it is always a wildcard.
    pattern: Box<str>,
    /// Whether the pattern ended in `$`, which is removed.
    anchored: bool,
    /// The characters of the pattern. A path without one of them cannot match, which alone rejects most hostile patterns.
    needs: u128,
}

impl fmt::Display for RobotsRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.text, self.line)
    }
}

/// The path and query of a URL as patterns are compared with them: ASCII only.
struct Comparable {
    path: String,
    /// The characters that occur, and the wildcard, which needs none.
    has: u128,
}

/// One bit for each ASCII character that occurs.
fn characters(text: &str) -> u128 {
    text.bytes().fold(0, |set, byte| set | 1 << (byte & 0x7F))
}

impl Comparable {
    fn new(url: &Url) -> Self {
        let mut path = normalise(url.path().as_bytes(), SPECIAL).into_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(&normalise(query.as_bytes(), SPECIAL));
        }
        Self { has: characters(&path) | characters("*"), path }
    }
}

impl RobotsRule {
    /// The rule of this line, or `None` for an empty pattern, which has no effect.
    fn new(allow: bool, value: &[u8], text: &str, line: u32) -> Option<Self> {
        let (value, anchored) = match value.strip_suffix(b"$") {
            Some(start) => (start, true),
            None => (value, false),
        };
        let literals: Vec<_> =
            value.split(|byte| *byte == b'*').map(|literal| normalise(literal, SPECIAL)).collect();
        let pattern = literals.join("*").into_boxed_str();
        let is_empty = pattern.is_empty() && !anchored;
        let needs = characters(&pattern);
        (!is_empty).then(|| Self { allow, line, text: text.into(), pattern, anchored, needs })
    }

    /// The same rule for the directory, if it allows the directory's `index.html`: Google reads it so.
    fn of_directory(&self) -> Option<Self> {
        let (directory, file) = self.pattern.rsplit_once('/')?;
        (self.allow && file.starts_with("index.htm")).then(|| Self {
            pattern: format!("{directory}/").into(),
            anchored: true,
            needs: characters(directory),
            ..self.clone()
        })
    }

    /// The order in which rules are tried.
    fn precedence(&self) -> impl Ord + use<> {
        (Reverse(self.pattern.len() + usize::from(self.anchored)), Reverse(self.allow), self.line)
    }

    /// Whether the pattern matches a prefix of the path.
    ///
    /// Each literal part matches at its first occurrence, which leaves the most to the later parts. So there is no backtracking, and each
    /// byte of the path is compared with one part only.
    fn matches(&self, url: &Comparable) -> bool {
        if self.needs & !url.has != 0 {
            return false;
        }
        let path = url.path.as_str();
        let Some((start, wild)) = self.pattern.split_once('*') else {
            return if self.anchored {
                path == &*self.pattern
            } else {
                path.starts_with(&*self.pattern)
            };
        };
        let Some(mut rest) = path.strip_prefix(start) else { return false };
        let (middle, end) = wild.rsplit_once('*').unwrap_or(("", wild));
        for literal in middle.split('*') {
            match find(rest, literal) {
                Some(at) => rest = &rest[at + literal.len()..],
                None => return false,
            }
        }
        if self.anchored { rest.ends_with(end) } else { find(rest, end).is_some() }
    }
}

/// The first occurrence of `literal`, in time linear in both lengths.
fn find(text: &str, literal: &str) -> Option<usize> {
    match literal.as_bytes() {
        [byte] => memchr::memchr(*byte, text.as_bytes()),
        literal => memchr::memmem::find(text.as_bytes(), literal),
    }
}

/// Longer files are cut at the last whole line before this; RFC 9309, section 2.5, demands at least as much.
const MAX_FILE: usize = 500 * 1024;
/// Longer lines are cut.
const MAX_LINE: usize = 16 * 1024;
/// Further rules are ignored.
const MAX_RULES: usize = 10_000;

/// Further sitemaps are ignored.
const MAX_SITEMAPS: usize = 1_000;

/// Spellings of the directives, with the slips that Google's parser accepts, and `desallow`.
const USER_AGENT: &[&str] = &["user-agent", "useragent", "user agent"];
const DISALLOW: &[&str] =
    &["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"];
const CRAWL_DELAY: &[&str] = &["crawl-delay", "crawldelay", "crawl delay"];
const SITEMAP: &[&str] = &["sitemap", "site-map"];

/// The rules for our agent, or for all others.
#[derive(Default)]
struct Group {
    named: bool,
    rules: Vec<RobotsRule>,
    crawl_delay: Option<Duration>,
}

#[derive(Default)]
struct Parser<'a> {
    agent: &'a str,
    ours: Group,
    others: Group,
    /// Which of the two the current group is for.
    in_ours: bool,
    in_others: bool,
    /// Whether the group has a rule, so that the next user-agent line begins another group.
    has_rule: bool,
}

pub(super) fn parse(file: &[u8], agent: &str) -> Robots {
    let mut parser = Parser { agent, ..Parser::default() };
    let bytes = without_bom(whole_lines(file));
    for (number, line) in (1..).zip(lines(&bytes)) {
        parser.line(line, number);
    }
    parser.finish()
}

/// The part of the file that is read.
fn whole_lines(file: &[u8]) -> &[u8] {
    if file.len() <= MAX_FILE {
        return file;
    }
    let head = &file[..MAX_FILE];
    let end = head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    end.map_or(&[], |end| &head[..end])
}

/// The file without byte order mark; UTF-16 becomes UTF-8. The UTF-8 mark may be incomplete, as in Google's parser.
fn without_bom(file: &[u8]) -> Cow<'_, [u8]> {
    if let Some((encoding, mark)) = Encoding::for_bom(file)
        && encoding != UTF_8
    {
        let (text, _) = encoding.decode_without_bom_handling(&file[mark..]);
        return Cow::Owned(text.into_owned().into_bytes());
    }
    let marks: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\xEF\xBB", b"\xEF"];
    Cow::Borrowed(marks.iter().find_map(|mark| file.strip_prefix(*mark)).unwrap_or(file))
}

/// Lines end with CR, LF or both.
fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split(|byte| *byte == b'\n').flat_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.split(|byte| *byte == b'\r')
    })
}

/// A line without its comment and white space around it.
fn statement(line: &[u8]) -> &[u8] {
    let line = &line[..line.len().min(MAX_LINE)];
    line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii()
}

/// The name of a directive and its value, without comment. Without a colon, two words are accepted.
fn directive(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (name, value) = if let Some(colon) = line.iter().position(|byte| *byte == b':') {
        (&line[..colon], &line[colon + 1..])
    } else {
        line.split_at(line.iter().position(is_space)?)
    };
    let (name, value) = (name.trim_ascii(), value.trim_ascii());
    let has_colon = line.contains(&b':');
    (has_colon || !value.iter().any(is_space)).then_some((name, value))
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], number: u32) {
        let line = statement(line);
        let Some((name, value)) = directive(line) else { return };
        let is =
            |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        if is(USER_AGENT) {
            self.user_agent(&String::from_utf8_lossy(value));
        } else if is(&["allow"]) {
            self.rule(true, value, line, number);
        } else if is(DISALLOW) {
            self.rule(false, value, line, number);
        } else if is(CRAWL_DELAY) {
            self.crawl_delay(&String::from_utf8_lossy(value));
        }
    }

    fn user_agent(&mut self, value: &str) {
        if self.has_rule {
            (self.in_ours, self.in_others, self.has_rule) = (false, false, false);
        }
        if value == "*" || value.starts_with("* ") || value.starts_with("*\t") {
            (self.in_others, self.others.named) = (true, true);
        } else if self.is_ours(value) {
            (self.in_ours, self.ours.named) = (true, true);
        }
    }

    /// Whether the line names our agent: by its product token, or by its first word up to a slash, because not every agent's name is a
    /// token.
    fn is_ours(&self, value: &str) -> bool {
        let word = value.split([' ', '\t', '/']).next().unwrap_or_default();
        !self.agent.is_empty()
            && [product_token(value), word].iter().any(|name| name.eq_ignore_ascii_case(self.agent))
    }

    fn rule(&mut self, allow: bool, value: &[u8], line: &[u8], number: u32) {
        self.has_rule |= self.in_ours || self.in_others;
        let Some(group) = self.group() else { return };
        let room = MAX_RULES.saturating_sub(group.rules.len());
        let rule = RobotsRule::new(allow, value, &String::from_utf8_lossy(line), number);
        let directory = rule.as_ref().and_then(RobotsRule::of_directory);
        group.rules.extend(rule.into_iter().chain(directory).take(room));
    }

    fn crawl_delay(&mut self, value: &str) {
        let seconds =
            value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if let Some(group) = self.group() {
            group.crawl_delay = group.crawl_delay.max(seconds);
        }
    }

    /// Where the rules of the current group belong. A group that names us and all others is kept for us only, because the others' rules
    /// are then not used.
    fn group(&mut self) -> Option<&mut Group> {
        match (self.in_ours, self.in_others) {
            (true, _) => Some(&mut self.ours),
            (false, true) => Some(&mut self.others),
            (false, false) => None,
        }
    }

    fn finish(self) -> Robots {
        let mut group = if self.ours.named { self.ours } else { self.others };
        group.rules.sort_by_key(RobotsRule::precedence);
        group.rules.shrink_to_fit();
        Robots { rules: group.rules, crawl_delay: group.crawl_delay, unreachable: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sitemaps_are_named_with_comments_and_what_is_no_url_is_told() {
        let file = b"Sitemap: http://a.test/1.xml # news\r\nsitemap:http://a.test/2.xml#x\n\
                     # Sitemap: http://a.test/no.xml\nSitemap: /3.xml\nSitemap:\nSite-Map: http://a.test/\xE4";
        let shown = sitemaps(file).into_iter().map(|it| it.map(|url| url.to_string()));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                Ok("http://a.test/1.xml".to_owned()),
                Ok("http://a.test/2.xml".to_owned()),
                Err("/3.xml".to_owned()),
                Err(String::new()),
                Ok("http://a.test/%EF%BF%BD".to_owned()),
            ]
        );
    }

    #[test]
    fn a_status_without_rules_allows_all_or_nothing() {
        let body = || b"User-agent: *\nDisallow: /".to_vec();
        for (status, expected) in [
            (200, Ok(body())),
            (301, Ok(Vec::new())),
            (403, Ok(Vec::new())),
            (404, Ok(Vec::new())),
            (429, Err("status 429")),
            (500, Err("status 500")),
            (503, Err("status 503")),
            (102, Err("status 102")),
        ] {
            match RobotsResponse::of_status(status, body()) {
                RobotsResponse::Content(content) => assert_eq!(Ok(content), expected),
                RobotsResponse::Unreachable(why, _) => assert_eq!(Err(&*why), expected),
                RobotsResponse::Redirect => panic!("{status} is no redirect"),
            }
        }
    }
}
