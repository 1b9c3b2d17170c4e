//! Reads the lines of a robots.txt into the rules for one agent.

use std::{borrow::Cow, time::Duration};

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::{Robots, RobotsRule, product_token};

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

/// The sitemaps that the file names, for all agents alike.
pub(super) fn sitemaps(file: &[u8]) -> Vec<Url> {
    let bytes = without_bom(whole_lines(file));
    lines(&bytes)
        .filter_map(directive)
        .filter(|(name, _)| SITEMAP.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes())))
        .filter_map(|(_, url)| Url::parse(str::from_utf8(url).ok()?).ok())
        .take(MAX_SITEMAPS)
        .collect()
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
        let line = &line[..line.len().min(MAX_LINE)];
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
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
