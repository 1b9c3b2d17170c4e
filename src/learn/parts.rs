//! Splits a URL into parts, and computes the keys of URLs that differ in one part only.

use std::collections::HashSet;

use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    numbers::{CIRCUMSTANCES, CONTENT, ENDINGS, IGNORED, INDEX, MAX_DEPTH, MAX_PARTS, MAX_WORD},
    trial::Prior,
};

/// How the end of a path is spelt: many servers have a page under several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `/a`
    Bare,
    /// `/a/`
    Slash,
    /// `/a/index.html`
    Index,
    /// `/a.html`
    Ending,
}

/// What kind of text a segment or value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TextKind {
    /// Letters, perhaps with digits in between.
    Word,
    /// Digits only.
    Number,
    /// Long, and too mixed for a word: an id, a session.
    Id,
}

/// A part that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) kind: PartKind,
    /// The name of a parameter; of a segment that looks like an id, the word before it, as `sid` in `/about/sid/4f0c81b2`.
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// Of kind, name and value.
    pub(super) hash: u64,
    /// Of a segment: a hash of the path before it.
    pub(super) prefix: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PartKind {
    Host,
    /// The segment at this place.
    Segment(u8),
    Parameter,
}

impl<'a> Part<'a> {
    /// The hash that stands in its place if it is left out.
    fn blank(&self) -> u64 {
        match self.kind {
            PartKind::Host => 2,
            PartKind::Segment(place) => 0x9e37_79b9 + u64::from(place),
            PartKind::Parameter => 0,
        }
    }

    pub(super) fn is_segment(&self) -> bool {
        matches!(self.kind, PartKind::Segment(_))
    }

    /// A hash of its value, not 0.
    pub(super) fn short_value(&self) -> u16 {
        ((hash(self.value, 9) >> 48) as u16).max(1)
    }

    /// What its name says; of a part whose values all look like ids (`has_ids`), that they are made for each link.
    pub(super) fn prior(&self, has_ids: bool) -> Prior {
        let is_in = |names: &str| names.split(' ').any(|it| it.eq_ignore_ascii_case(self.name));
        match self.kind {
            _ if is_in(IGNORED) || self.name.starts_with("utm_") => Prior::Expected,
            PartKind::Parameter if is_in(CIRCUMSTANCES) => Prior::Likely,
            PartKind::Parameter if is_in(CONTENT) => Prior::Selective,
            _ if has_ids => Prior::Likely,
            PartKind::Parameter => Prior::Selective,
            PartKind::Segment(_) | PartKind::Host => Prior::None,
        }
    }

    /// The word that may say of which kind the page is, and a hash of what it was seen with: a value of a parameter or a segment after the first one,
    /// or the word before the number of a file, as `thread-` of `thread-17.html`, or the name of a program.
    pub(super) fn word(&self, others: u64) -> Option<(&'a str, u64)> {
        let stem = stem(self.value);
        let is_word = |it: &str| {
            (1..=MAX_WORD).contains(&it.len())
                && it.bytes().all(|it| it.is_ascii_alphabetic() || b"_-/".contains(&it))
        };
        match self.kind {
            PartKind::Host => None,
            PartKind::Parameter => is_word(self.value).then_some((self.value, others)),
            PartKind::Segment(place) => {
                if is_word(stem) {
                    let is_file = stem.len() < self.value.len();
                    return (place > 0 || is_file)
                        .then_some((stem, if is_file { others } else { self.prefix }));
                }
                let number = stem.find(|it: char| it.is_ascii_digit())?;
                let name = &stem[..number];
                let is_mark = |it: char| matches!(it, '-' | '_' | '.');
                is_word(name.strip_suffix(is_mark)?).then(|| (name, hash(&stem[number..], 5)))
            }
        }
    }
}

/// A URL as its parts.
#[derive(Clone, Debug)]
pub(super) struct Parts<'a> {
    pub(super) url: &'a Url,
    /// The host, the segments of the path, the parameters.
    pub(super) list: Vec<Part<'a>>,
    /// How many segments there are.
    depth: usize,
    /// The sum of all parts' hashes: the order of parameters does not count.
    pub(super) key: u64,
}

pub(super) fn hash(text: &str, seed: u64) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), seed)
}

impl<'a> Parts<'a> {
    pub(super) fn of(url: &'a Url) -> Self {
        let mut list = Vec::with_capacity(8);
        let host = url.host_str().unwrap_or_default();
        let (kind, hash_of_host) = (PartKind::Host, hash(host, 1));
        list.push(Part { kind, name: "", value: host, hash: hash_of_host, prefix: 0 });
        let (path, inner) = url.path().split_once(';').unwrap_or((url.path(), ""));
        let (mut rest, mut prefix, mut before) = (0_u64, hash("/", 7), "");
        for (place, segment) in (0_u8..).zip(path.split('/').skip(1)) {
            let own = hash(segment, 16 + u64::from(place));
            if usize::from(place) < MAX_PARTS {
                let kind = PartKind::Segment(place);
                let name = if is_id(segment) { before } else { "" };
                list.push(Part { kind, name, value: segment, hash: own, prefix });
                prefix = hash(segment, prefix);
                before = if text_kind(segment) == TextKind::Word { segment } else { "" };
            } else {
                rest = rest.rotate_left(5) ^ own;
            }
        }
        let depth = list.len() - 1;
        let query = url.query().unwrap_or_default();
        let parameters =
            inner.split(';').chain(query.split(['&', ';'])).filter(|it| !it.is_empty());
        for (number, parameter) in parameters.enumerate() {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let hash = hash(value, hash(name, 3));
            if number < MAX_PARTS {
                list.push(Part { kind: PartKind::Parameter, name, value, hash, prefix: 0 });
            } else {
                rest = rest.wrapping_add(hash);
            }
        }
        let key = list.iter().fold(rest, |key, part| key.wrapping_add(part.hash));
        Self { url, list, depth, key }
    }

    /// The key without this part.
    pub(super) fn without(key: u64, part: &Part<'_>) -> u64 {
        key.wrapping_sub(part.hash).wrapping_add(part.blank())
    }

    /// The key of the path alone.
    pub(super) fn path_key(&self) -> u64 {
        self.parameters().chain(&self.list[..1]).fold(self.key, Self::without)
    }

    /// The last segment: where it is in the list, and its place in the path.
    fn last(&self) -> (usize, u64) {
        (self.depth, (self.depth as u64).saturating_sub(1))
    }

    /// How the end of the path is spelt.
    pub(super) fn spelling(&self) -> Option<Spelling> {
        let (at, _) = self.last();
        let value = self.list[at].value;
        match value.rsplit_once('.') {
            _ if self.depth == 0 || self.depth >= MAX_PARTS => None,
            _ if value.is_empty() => Some(Spelling::Slash),
            Some((stem, _)) if INDEX.contains(&stem) => Some(Spelling::Index),
            Some((stem, ending)) => {
                (!stem.is_empty() && ENDINGS.contains(&ending)).then_some(Spelling::Ending)
            }
            None => Some(Spelling::Bare),
        }
    }

    /// Changes the end of the path: an index page to the directory, a directory to the same without a slash, or a file to the same without
    /// its ending.
    pub(super) fn respell(&mut self, spelling: Spelling) {
        let (at, place) = self.last();
        if self.spelling() != Some(spelling) {
            return;
        }
        let old = self.list[at];
        let value = match spelling {
            Spelling::Bare => return,
            Spelling::Slash if place == 0 => return,
            Spelling::Slash => {
                self.list.remove(at);
                self.depth -= 1;
                self.key = self.key.wrapping_sub(old.hash);
                return;
            }
            Spelling::Index => "",
            Spelling::Ending => stem(old.value),
        };
        let hash = hash(value, 16 + place);
        (self.list[at].value, self.list[at].hash) = (value, hash);
        self.key = self.key.wrapping_sub(old.hash).wrapping_add(hash);
    }

    /// The key of the same path without a slash, index page or ending, and the same parameters.
    pub(super) fn bare_key(&self, key: u64) -> u64 {
        let (at, place) = self.last();
        let old = self.list[at];
        let at_root = if place == 0 { hash("", 16) } else { 0 };
        let new = match self.spelling() {
            Some(Spelling::Slash | Spelling::Index) => at_root,
            Some(Spelling::Ending) => hash(stem(old.value), 16 + place),
            Some(Spelling::Bare) | None => old.hash,
        };
        key.wrapping_add(new).wrapping_sub(old.hash)
    }

    pub(super) fn segments(&self) -> &[Part<'a>] {
        &self.list[1..=self.depth]
    }

    pub(super) fn parameters(&self) -> std::slice::Iter<'_, Part<'a>> {
        self.list[self.depth + 1..].iter()
    }

    /// The path before a segment, without the last slash.
    pub(super) fn path_before(&self, part: &Part<'_>) -> String {
        let before = self.segments().iter().take_while(|it| it.hash != part.hash);
        before.flat_map(|it| ["/", it.value]).collect()
    }

    /// Whether segments that are words repeat, as in a path that grows.
    pub(super) fn repeats_segments(&self) -> bool {
        let words: Vec<u64> = (self.segments().iter())
            .filter(|part| text_kind(part.value) == TextKind::Word && !part.value.is_empty())
            .map(|part| hash(part.value, 0))
            .collect();
        // The files of a package may repeat the name of the project.
        let most =
            if self.segments().last().is_some_and(|part| part.value.contains('.')) { 2 } else { 1 };
        let count = |word: &u64| words.iter().filter(|it| *it == word).count();
        let mut pairs = HashSet::new();
        words.iter().any(|word| count(word) > most)
            || words.windows(2).any(|pair| pair[0] == pair[1] || !pairs.insert(pair))
    }

    /// The path with the shape of each segment, unless it repeats them or has too many.
    fn path_shape(&self, mut write: impl FnMut(&mut String, usize, &Part<'a>)) -> String {
        let mut shape = String::with_capacity(64);
        if self.repeats_segments() {
            shape.push_str("/…repeated…");
        } else if self.depth > MAX_DEPTH {
            shape.push_str("/…deep…");
        } else {
            for (place, part) in self.segments().iter().enumerate() {
                shape.push('/');
                if !part.value.is_empty() {
                    write(&mut shape, place, part);
                }
            }
        }
        shape
    }

    /// The shape of the URL in words: the path with `#` for numbers and `*` for other segments, and the names of the parameters. A segment stays as it is if it is the
    /// first of several, and so do the words of `kinds`.
    pub(super) fn shape(&self, kinds: &[&str]) -> String {
        let is_directory = self.segments().get(1).is_some_and(|next| !next.value.is_empty());
        let mut shape = self.path_shape(|shape, place, part| {
            let (stem, end) = part.value.rsplit_once('.').unwrap_or((part.value, ""));
            let of_kind = part.word(0).map(|it| it.0).filter(|word| kinds.contains(word));
            match text_kind(stem) {
                _ if of_kind == Some(stem) => shape.push_str(stem),
                TextKind::Word if place == 0 && is_directory => shape.push_str(cut(part.value)),
                TextKind::Number => shape.push('#'),
                _ => {
                    shape.push_str(of_kind.unwrap_or_default());
                    shape.push('*');
                }
            }
            if place + 1 == self.depth && !end.is_empty() && end.len() < 6 {
                shape.push('.');
                shape.push_str(end);
            }
        });
        let mut names: Vec<String> = self.parameters().map(|part| name(part, kinds)).collect();
        names.sort_unstable();
        names.dedup();
        for (place, name) in names.into_iter().enumerate() {
            shape.push(if place == 0 { '?' } else { '&' });
            shape.push_str(&name);
        }
        shape
    }

    /// The shape alone: how many segments there are, and whether there are parameters.
    pub(super) fn wide_shape(&self) -> String {
        let mut shape = self.path_shape(|shape, _, part| {
            shape.push(if text_kind(part.value) == TextKind::Number { '#' } else { '*' });
        });
        if self.parameters().next().is_some() {
            shape.push_str("?…");
        }
        shape
    }

    /// The pattern of the views of a path: any parameters on any host.
    pub(super) fn view(&self, kinds: &[&str]) -> Option<String> {
        self.parameters().next()?;
        let mut view = String::with_capacity(64);
        view.push('*');
        for part in self.segments().iter().take(MAX_DEPTH) {
            view.push('/');
            let is_word = text_kind(part.value) == TextKind::Word;
            view.push_str(if is_word { cut(part.value) } else { "*" });
        }
        view.push('?');
        for part in self.parameters() {
            if part.word(0).is_some_and(|(word, _)| kinds.contains(&word)) {
                view.push_str(&name(part, kinds));
                view.push('&');
            }
        }
        Some(view + "…")
    }
}

/// The name of a parameter, with its value if that is of a kind, and with `*` for numbers with a word: `topic=12.15` is a page of a topic, and `topic=12.msg345`
/// a post of it.
fn name(part: &Part<'_>, kinds: &[&str]) -> String {
    let name = cut(part.name);
    let has = |is: fn(&u8) -> bool| part.value.bytes().any(|it| is(&it));
    if kinds.contains(&part.value) {
        format!("{name}={}", part.value)
    } else if has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
        format!("{name}=*")
    } else {
        name.to_owned()
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(40)]
}

/// The name of a file without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// What kind of text this is.
pub(super) fn text_kind(text: &str) -> TextKind {
    let bytes = text.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_plain = digits + letters + 6 >= bytes.len();
    if !bytes.is_empty() && digits == bytes.len() {
        TextKind::Number
    } else if bytes.len() >= 12 && is_plain && (digits * 8 >= bytes.len() || is_mixed(bytes))
        || has_long_hex(bytes)
    {
        TextKind::Id
    } else {
        TextKind::Word
    }
}

/// Whether it has digits, capitals and small letters, as base64.
fn is_mixed(bytes: &[u8]) -> bool {
    bytes.len() >= 16
        && [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase]
            .iter()
            .all(|is| bytes.iter().any(is))
}

/// Whether it has a number of at least 64 bits, in hexadecimal.
fn has_long_hex(bytes: &[u8]) -> bool {
    let mut runs = bytes.split(|byte| !byte.is_ascii_hexdigit());
    runs.any(|run| run.len() >= 16 && run.iter().any(u8::is_ascii_digit))
}

/// Whether a value may be an id that was made for a link, as of a session.
pub(super) fn is_id(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    text_kind(value) == TextKind::Id
        || value.len() >= 5 && has_digit && value.bytes().all(|it| it.is_ascii_alphanumeric())
}
