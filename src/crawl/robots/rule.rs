//! One rule: a pattern with wildcards against the path and query of a URL.

use std::cmp::Reverse;

use url::Url;

use super::RuleRef;
use crate::page::percent;

/// What a pattern gives a meaning to, and the apostrophe, which URLs encode in the query but not in the path: encoded
/// on both sides, in a URL and in the literal parts of a pattern (RFC 9309, section 2.2.3).
const SPECIAL: &[u8] = b"*$'";

/// An `Allow` or `Disallow` line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) allow: bool,
    line: u32,
    text: Box<str>,
    /// The pattern in the form that [`Comparable`] gives URLs; a `*` in it is always a wildcard.
    pattern: Box<str>,
    /// Whether the pattern ended in `$`, which is removed.
    anchored: bool,
    /// The characters of the pattern, without which a path cannot match: most hostile patterns fail by this alone.
    needs: u128,
}

/// The path and query of a URL as patterns are compared with them: ASCII only.
pub(super) struct Comparable {
    path: String,
    /// The characters that occur, and the wildcard, which needs none.
    has: u128,
}

/// One bit for each ASCII character that occurs.
fn characters(text: &str) -> u128 {
    text.bytes().fold(0, |set, byte| set | 1 << (byte & 0x7F))
}

impl Comparable {
    pub(super) fn new(url: &Url) -> Self {
        let mut path = percent::normalise(url.path().as_bytes(), SPECIAL).into_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(&percent::normalise(query.as_bytes(), SPECIAL));
        }
        Self { has: characters(&path) | characters("*"), path }
    }
}

impl Rule {
    /// The rule of this line, or `None` for an empty pattern, which says nothing.
    pub(super) fn new(allow: bool, value: &[u8], text: &str, line: u32) -> Option<Self> {
        let (value, anchored) = match value.strip_suffix(b"$") {
            Some(start) => (start, true),
            None => (value, false),
        };
        let literals: Vec<_> = value
            .split(|byte| *byte == b'*')
            .map(|literal| percent::normalise(literal, SPECIAL))
            .collect();
        let pattern = literals.join("*").into_boxed_str();
        let is_empty = pattern.is_empty() && !anchored;
        let needs = characters(&pattern);
        (!is_empty).then(|| Self { allow, line, text: text.into(), pattern, anchored, needs })
    }

    /// The same rule for the directory, if it allows the directory's `index.html`, as Google reads it.
    pub(super) fn of_directory(&self) -> Option<Self> {
        let (directory, file) = self.pattern.rsplit_once('/')?;
        (self.allow && file.starts_with("index.htm")).then(|| Self {
            pattern: format!("{directory}/").into(),
            anchored: true,
            needs: characters(directory),
            ..self.clone()
        })
    }

    /// The order in which rules are tried.
    pub(super) fn precedence(&self) -> impl Ord + use<> {
        (Reverse(self.pattern.len() + usize::from(self.anchored)), Reverse(self.allow), self.line)
    }

    pub(super) fn place(&self) -> RuleRef<'_> {
        RuleRef { text: &self.text, line: self.line as usize }
    }

    /// Whether the pattern matches from the path's start on.
    ///
    /// Each literal part is taken where it is found first: that leaves most to the parts after it, so nothing is ever
    /// tried again, and each byte of the path is looked at by one part only.
    pub(super) fn matches(&self, url: &Comparable) -> bool {
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

/// Where `literal` begins first: linear in the length of both.
fn find(text: &str, literal: &str) -> Option<usize> {
    match literal.as_bytes() {
        [byte] => memchr::memchr(*byte, text.as_bytes()),
        literal => memchr::memmem::find(text.as_bytes(), literal),
    }
}
