//! What a host's robots.txt lets our agent fetch: RFC 9309, and where that is silent, what Google documents.
//!
//! Pure: the bytes and the status come from the caller, which also keeps what was made of them for a day.

mod inquiry;
mod parse;
mod rule;

use std::{fmt, time::Duration};

use url::Url;

pub(super) use self::inquiry::Inquiry;
use self::rule::{Comparable, Rule};
use crate::state::ROBOTS_NOT_HAD;

/// For how long a robots.txt is valid (RFC 9309, section 2.4).
pub(super) const VALID: Duration = Duration::from_hours(24);

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

/// The rules of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    /// Longest pattern first, and allowing before disallowing ones, so that the first that matches decides.
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<Box<str>>,
    unreachable: Option<Box<str>>,
}

/// Whether a URL may be fetched, and which rule says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The rule that decides; `None` if none matches, or if robots.txt could not be had.
    pub rule: Option<RuleRef<'a>>,
}

/// A rule where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRef<'a> {
    /// The line as written, without comment and white space around it.
    pub text: &'a str,
    /// Its number in the file, from 1.
    pub line: usize,
}

impl fmt::Display for RuleRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.text, self.line)
    }
}

/// What an answer to the request for robots.txt means (RFC 9309, section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// 2xx: the body holds the rules.
    Found,
    /// 3xx whose target is not followed any more, and 4xx except 429: there are no rules, all may be fetched.
    Unavailable,
    /// 429, 5xx and what is no final status: nothing may be fetched for now; ask again.
    Unreachable,
}

impl Availability {
    /// What this HTTP status means. Redirects are for the caller to follow, five at least.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Found,
            429 => Self::Unreachable,
            300..=499 => Self::Unavailable,
            _ => Self::Unreachable,
        }
    }
}

impl Robots {
    /// Reads a robots.txt and keeps what concerns `agent`, a product token, which is compared without case.
    ///
    /// Never fails: what cannot be understood is passed over. The file is read up to 500 KiB (to the last whole line),
    /// a line up to 16 KiB, and 10,000 rules are kept.
    ///
    /// ```
    /// use pagesieve::crawl::robots::Robots;
    /// use url::Url;
    ///
    /// let robots = Robots::parse(b"User-agent: *\nDisallow: /private/ # keep out", "pagesieve");
    /// let decision = robots.decide(&Url::parse("http://example.org/private/a")?);
    /// assert!(!decision.allowed);
    /// assert_eq!(decision.rule.map(|rule| rule.to_string()).as_deref(), Some("Disallow: /private/ (line 2)"));
    /// # Ok::<(), url::ParseError>(())
    /// ```
    #[must_use]
    pub fn parse(file: &[u8], agent: &str) -> Self {
        parse::parse(file, agent)
    }

    /// What the answer to the request for robots.txt permits, by its status and its body.
    #[must_use]
    pub fn from_answer(status: u16, body: &[u8], agent: &str) -> Self {
        match Availability::of_status(status) {
            Availability::Found => Self::parse(body, agent),
            Availability::Unavailable => Self::allow_all(),
            Availability::Unreachable => Self::unreachable(&format!("status {status}")),
        }
    }

    /// No rules: every URL is allowed.
    #[must_use]
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// No answer: every URL is refused for now, for the reason given.
    #[must_use]
    pub fn unreachable(reason: &str) -> Self {
        Self { unreachable: Some(reason.into()), ..Self::default() }
    }

    /// Why robots.txt could not be had, if so; then everything is refused and it is to be asked for again.
    #[must_use]
    pub fn unreachable_reason(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// Why this URL of the host may not be fetched, if so: the rule with its line, or why robots.txt could not be had.
    #[must_use]
    pub fn refusal(&self, url: &Url) -> Option<String> {
        if let Some(why) = self.unreachable_reason() {
            return Some(format!("{ROBOTS_NOT_HAD}{why}"));
        }
        let decision = self.decide(url);
        (!decision.allowed).then(|| decision.rule.map_or_else(String::new, |rule| rule.to_string()))
    }

    /// Whether this URL of the host may be fetched. robots.txt itself always may.
    ///
    /// The longest pattern that matches the path and query decides, an allowing one before a disallowing one of equal
    /// length (RFC 9309, section 2.2.2). Takes time proportional to the length of all patterns, and for each pattern
    /// with a wildcard to that of the URL.
    #[must_use]
    pub fn decide(&self, url: &Url) -> Decision<'_> {
        if url.path() == "/robots.txt" {
            return Decision { allowed: true, rule: None };
        }
        let url = Comparable::new(url);
        match self.rules.iter().find(|rule| rule.matches(&url)) {
            Some(rule) => Decision { allowed: rule.allow, rule: Some(rule.place()) },
            None => Decision { allowed: self.unreachable.is_none(), rule: None },
        }
    }

    /// The least time between two requests that the file asks of our agent; the longest, if there are several.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The sitemaps that the file names, whichever agent it speaks of, each once; relative ones (no standard, but
    /// found) are resolved against `base`, the URL of robots.txt.
    pub fn sitemaps(&self, base: &Url) -> impl Iterator<Item = Url> {
        self.sitemaps.iter().filter_map(|text| base.join(text).ok())
    }
}
