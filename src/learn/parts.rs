//! Splits a URL into parts, computes the keys of URLs that differ in one part only, and says what a parameter is likely to be for by its name.

use std::{borrow::Cow, slice};

use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Parts that are looked at: the longest path and query, so that the cost of a URL is bounded.
const MAX_PARTS: usize = 12;
/// From this number of segments on, paths have the same shape.
const MAX_DEPTH: usize = 10;

/// The longest last segment that may be the name of a view, and the longest word before a number.
const MAX_WORD: usize = 16;
/// Names that servers give the index page of a directory.
const INDEX_PAGES: [&str; 9] = [
    "index.html",
    "index.htm",
    "index.php",
    "index.shtml",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "default.asp",
    "default.aspx",
];

/// Parameters whose value says of which kind a page is, or which program makes it, in the software that many sites run.
const TYPE_PARAMETERS: [&str; 19] = [
    "a",
    "ac",
    "act",
    "action",
    "c",
    "cmd",
    "controller",
    "do",
    "func",
    "m",
    "mod",
    "mode",
    "module",
    "op",
    "option",
    "r",
    "route",
    "task",
    "view",
];
/// Segments that say the same, after the first one; sorted.
const TYPE_SEGMENTS: [&str; 37] = [
    "annotate",
    "blame",
    "blob",
    "branches",
    "changeset",
    "commit",
    "commits",
    "compare",
    "detail",
    "details",
    "diff",
    "edit",
    "file",
    "history",
    "info",
    "issues",
    "list",
    "lists",
    "log",
    "login",
    "patch",
    "plain",
    "print",
    "profile",
    "raw",
    "refs",
    "releases",
    "rev",
    "search",
    "show",
    "snapshot",
    "space",
    "src",
    "tree",
    "user",
    "users",
    "view",
];
/// The longest value of these.
const MAX_TYPE: usize = 40;
/// Endings of programs: the name of one says of which kind its pages are.
const PROGRAMS: [&str; 9] = ["action", "asp", "aspx", "cfm", "cgi", "do", "jsp", "php", "pl"];

/// Further endings of pages.
const PAGE_ENDINGS: [&str; 2] = ["shtml", "xhtml"];
/// The longest ending of files that may be no pages.
const MAX_ENDING: usize = 5;
/// Endings of files that servers add to a path without one.
const ENDINGS: [&str; 3] = ["html", "htm", "php"];

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
    hash: u64,
    /// Of a segment: a hash of the path before it.
    pub(super) prefix: u64,
}

impl Part<'_> {
    /// The hash that stands in its place if it is left out.
    fn blank(&self) -> u64 {
        match self.kind {
            PartKind::Host => 2,
            PartKind::Segment(place) => 0x9e37_79b9 + u64::from(place),
            PartKind::Parameter => 0,
        }
    }

    /// Whether it is the same part with the same value.
    pub(super) fn is_same(&self, other: &Part<'_>) -> bool {
        self.hash == other.hash
    }

    /// A hash of name and value, if this says of which kind the page is, as `action=history` or `/history/` do, or a program that has parameters.
    pub(super) fn page_type(&self, has_parameters: bool) -> Option<u64> {
        let is_type = match self.kind {
            PartKind::Host => false,
            PartKind::Segment(place) => {
                has_parameters && self.is_program()
                    || place > 0 && TYPE_SEGMENTS.binary_search(&self.value).is_ok()
            }
            PartKind::Parameter => {
                (1..=MAX_TYPE).contains(&self.value.len())
                    && TYPE_PARAMETERS.contains(&self.name)
                    && text_kind(self.value) == TextKind::Word
            }
        };
        is_type.then_some(self.hash)
    }

    /// Whether it is the name of a program that is a word, as `viewtopic.php`.
    fn is_program(&self) -> bool {
        program(self.value).is_some_and(|stem| {
            (1..=MAX_WORD).contains(&stem.len())
                && stem.bytes().all(|it| it.is_ascii_alphabetic() || it == b'_')
        })
    }

    /// The word before the numbers of a file, which says of which kind the page is: `goods-` of `goods-17.html`, `thread-` of `thread-17-1-2.html`.
    pub(super) fn numbered(&self) -> Option<&str> {
        let stem = stem(self.value);
        let is_separator = |it: char| matches!(it, '-' | '_' | '.');
        let number = stem.find(|it: char| it.is_ascii_digit())?;
        let name = &stem[..number];
        // Ids of letters and digits begin with a few letters, too.
        let word = name.strip_suffix(is_separator)?;
        let is_word = (1..=MAX_WORD).contains(&word.len())
            && word
                .split('_')
                .all(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphabetic()));
        if !is_word {
            return None;
        }
        // `top-10-places-to-see` is a title.
        let has_number = |it: &str| it.contains(|it: char| it.is_ascii_digit());
        let after = stem[number..].split(is_separator);
        let more_words = after.fold(0, |more, it| if has_number(it) { more - 1 } else { more + 1 });
        (more_words <= 1).then_some(name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PartKind {
    Host,
    /// The segment at this place.
    Segment(u8),
    Parameter,
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
    /// The kind of page, by path and parameters, if it is asked for and there are parameters: [`Parts::show_kind`] has it in words.
    pub(super) kind: u64,
    /// How the end of the URL's path is spelt, if there are other ways to spell it.
    pub(super) spelling: Option<Spelling>,
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
        let mut rest = 0_u64;
        let mut prefix = hash("/", 7);
        let mut before = "";
        for (place, segment) in (0_u8..).zip(path.split('/').skip(1)) {
            let own = hash(segment, 16 + u64::from(place));
            if usize::from(place) < MAX_PARTS {
                let kind = PartKind::Segment(place);
                let name = if may_be_session(segment) { before } else { "" };
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
        let mut parts = Self { url, list, depth, key, kind: 0, spelling: None };
        parts.spelling = parts.present_spelling();
        parts
    }

    /// With the kind of page.
    pub(super) fn with_kind(mut self) -> Self {
        if self.parameters().next().is_some() {
            let path = self.kind_of_path();
            let kind = path.iter().fold(path.len() as u64, |all, it| hash(it, all));
            let types = self.parameters().filter_map(|part| part.page_type(true));
            self.kind = types.fold(kind, u64::wrapping_add);
        }
        self
    }

    /// What the path says of the kind of page: the path of a program, or the first of several segments if it is a word.
    fn kind_of_path(&self) -> Vec<&'a str> {
        let mut all: Vec<&str> = self.segments().map(|part| part.value).collect();
        all.retain(|it| !it.is_empty() && !INDEX_PAGES.contains(it));
        if all.last().is_some_and(|it| program(it).is_some()) {
            return all;
        }
        let is_directory = all.len() > 1 && text_kind(all[0]) == TextKind::Word;
        if is_directory { vec![all[0], "*"] } else { vec!["*"] }
    }

    /// The kind of page: the path of a program or the first segment, and the parameters that say of which kind it is.
    pub(super) fn show_kind(&self) -> String {
        let types = self.parameters().filter(|part| part.page_type(true).is_some());
        let mut types: Vec<String> =
            types.map(|part| format!("{}={}", part.name, part.value)).collect();
        types.sort_unstable();
        let mark = if types.is_empty() { "" } else { "?" };
        format!("/{}{mark}{}", self.kind_of_path().join("/"), types.join("&"))
    }

    /// The kind of page that [`Parts::show_kind`] returns for a URL with parameters.
    pub(super) fn kind_named(kind: &str) -> u64 {
        let mark = if kind.contains('?') { '&' } else { '?' };
        let url = Url::parse(&format!("http://host{kind}{mark}-"));
        url.map_or(0, |url| Parts::of(&url).with_kind().kind)
    }

    /// The key without this part.
    pub(super) fn without(key: u64, part: &Part<'_>) -> u64 {
        key.wrapping_sub(part.hash).wrapping_add(part.blank())
    }

    /// Whether two URLs are the same but for a parameter of each, at most.
    pub(super) fn differ_in_a_parameter(&self, other: &Self) -> bool {
        let keys = |parts: &Self| -> Vec<u64> {
            let without = parts.parameters().map(|part| Self::without(parts.key, part));
            without.chain([parts.key]).collect()
        };
        let of_other = keys(other);
        keys(self).iter().any(|key| of_other.contains(key))
    }

    /// The last segment: where it is in the list, and its place in the path.
    fn last(&self) -> Option<(usize, u8)> {
        let place = self.depth.checked_sub(1)?;
        Some((self.depth, u8::try_from(place).unwrap_or(u8::MAX)))
    }

    /// How the end of the path is spelt now.
    fn present_spelling(&self) -> Option<Spelling> {
        let (at, place) = self.last()?;
        let value = self.list[at].value;
        match value.rsplit_once('.') {
            _ if value.is_empty() => Some(Spelling::Slash),
            _ if INDEX_PAGES.contains(&value) => Some(Spelling::Index),
            Some((stem, ending)) => {
                (!stem.is_empty() && ENDINGS.contains(&ending)).then_some(Spelling::Ending)
            }
            None => (usize::from(place) + 1 < MAX_PARTS).then_some(Spelling::Bare),
        }
    }

    /// Changes the end of the path: an index page to the directory, a directory to the same without a slash, or a file to the same without
    /// its ending.
    pub(super) fn respell(&mut self, spelling: Spelling) {
        let Some((at, place)) = self.last().filter(|_| self.present_spelling() == Some(spelling))
        else {
            return;
        };
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
        let hash = hash(value, 16 + u64::from(place));
        (self.list[at].value, self.list[at].hash) = (value, hash);
        self.key = self.key.wrapping_sub(old.hash).wrapping_add(hash);
    }

    /// What is added to a key of this URL to get that of the same path without a slash, index page or ending.
    pub(super) fn to_bare(&self) -> u64 {
        let Some((at, place)) = self.last() else { return 0 };
        let old = self.list[at];
        let at_root = if place == 0 { hash("", 16) } else { 0 };
        let new = match self.present_spelling() {
            Some(Spelling::Slash | Spelling::Index) => at_root,
            Some(Spelling::Ending) => hash(stem(old.value), 16 + u64::from(place)),
            Some(Spelling::Bare) | None => old.hash,
        };
        new.wrapping_sub(old.hash)
    }

    /// The last segment that is not empty, if it is a word and not the first, with the keys of the URL without it, with a slash at the end and without:
    /// `amp` of `/post/amp/`, `/post/` and `/post`.
    pub(super) fn last_word(&self, key: u64) -> Option<(&'a str, [u64; 2])> {
        let (at, _) = self.last()?;
        let of = |at: usize| match self.list[at].kind {
            PartKind::Segment(place @ 1..) => {
                Some((u64::from(place), self.list[at].value, self.list[at].hash))
            }
            _ => None,
        };
        let (mut place, mut word, own) = of(at)?;
        let mut key = key.wrapping_sub(own);
        if word.is_empty() {
            let before;
            (place, word, before) = of(at - 1)?;
            key = key.wrapping_sub(before);
        }
        let is_word = text_kind(word) == TextKind::Word && (1..=MAX_WORD).contains(&word.len());
        is_word.then_some((word, [key.wrapping_add(hash("", 16 + place)), key]))
    }

    pub(super) fn segments(&self) -> slice::Iter<'_, Part<'a>> {
        self.list[1..=self.depth].iter()
    }

    pub(super) fn parameters(&self) -> slice::Iter<'_, Part<'a>> {
        self.list[self.depth + 1..].iter()
    }

    /// Whether segments that are words repeat, as in a path that grows: one occurs twice, or in the path of a file twice in a row, three times, or
    /// before the same one. `/project/docs/org/project/Class.html` is no such path.
    pub(super) fn repeats_segments(&self) -> bool {
        let words: Vec<u64> = (self.segments())
            .filter(|part| text_kind(part.value) == TextKind::Word && !part.value.is_empty())
            .map(|part| hash(part.value, 0))
            .collect();
        let is_file = self.segments().last().is_some_and(|part| part.value.contains('.'));
        let count = |word: &u64| words.iter().filter(|it| *it == word).count();
        let mut pairs = words.windows(2).enumerate();
        let mut repeats = || {
            pairs.any(|(place, pair)| {
                pair[0] == pair[1] || words.windows(2).take(place).any(|it| it == pair)
            })
        };
        words.iter().map(count).max() > Some(if is_file { 2 } else { 1 }) || repeats()
    }

    /// The pattern of the views of a path with parameters: on any host, and with any of them but `types`, hashes of those that say of which kind a
    /// page is.
    pub(super) fn view(&self, types: &[u64]) -> Option<String> {
        self.parameters().next()?;
        let mut view = String::with_capacity(64);
        view.push('*');
        for part in self.segments().take(MAX_DEPTH) {
            let is_word = text_kind(part.value) == TextKind::Word;
            view.push('/');
            view.push_str(if is_word {
                &part.value[..part.value.floor_char_boundary(40)]
            } else {
                "*"
            });
        }
        view.push('?');
        if !types.is_empty() {
            let mut chosen: Vec<_> =
                self.parameters().filter(|part| types.contains(&part.hash)).map(show).collect();
            chosen.sort_unstable();
            chosen.dedup();
            for chosen in chosen {
                view.push_str(&chosen);
                view.push('&');
            }
        }
        Some(view + "…")
    }

    /// The names of the parameters in their order, those of `types` with their values, and others with `*` for numbers with a word: `topic=12.15` is a page
    /// of a topic, and `topic=12.msg345` a post of it.
    fn names(&self, types: &[u64]) -> Vec<Cow<'a, str>> {
        let name = |part: &Part<'a>| {
            let name = &part.name[..part.name.floor_char_boundary(40)];
            if types.contains(&part.hash) {
                show(part).into()
            } else if is_mixed(part.value) {
                format!("{name}=*").into()
            } else {
                name.into()
            }
        };
        let mut names: Vec<Cow<'_, str>> = self.parameters().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The ending of a file that may be no page.
    pub(super) fn ending(&self) -> Option<&'a str> {
        let (stem, ending) = self.segments().last()?.value.rsplit_once('.')?;
        let is_ending = !stem.is_empty()
            && ending.len() <= MAX_ENDING
            && ending.bytes().all(|it| it.is_ascii_alphanumeric())
            && ending.starts_with(|it: char| it.is_ascii_alphabetic());
        let is_page =
            [&ENDINGS[..], &PROGRAMS, &PAGE_ENDINGS].iter().any(|it| it.contains(&ending));
        (is_ending && !is_page).then_some(ending)
    }

    /// The word before the numbers of the last segment, and the hashes of it and of the segment.
    pub(super) fn numbered(&self) -> Option<(&str, [u64; 2])> {
        let last = self.segments().last()?;
        let word = last.numbered()?;
        Some((word, [hash(word, 5), last.hash]))
    }

    /// The pattern, in words: host, shape of the path, unless segments repeat, and `word` before the numbers of the last one. The exact
    /// pattern has the first segment and those of `types` as they are, and names of parameters, those of `types` with their values.
    pub(super) fn pattern(
        &self,
        host: &str,
        repeats: bool,
        types: Option<&[u64]>,
        word: &str,
    ) -> String {
        let (is_exact, types) = (types.is_some(), types.unwrap_or_default());
        let mut shape = String::with_capacity(64);
        shape.push_str(host);
        let segments = self.segments().as_slice();
        let is_directory = segments.get(1).is_some_and(|next| !next.value.is_empty());
        if repeats {
            shape.push_str("/…repeated…");
        } else if segments.len() > MAX_DEPTH {
            shape.push_str("/…deep…");
        } else {
            for (place, part) in segments.iter().enumerate() {
                shape.push('/');
                let (stem, end) = part.value.rsplit_once('.').unwrap_or((part.value, ""));
                let is_last = place + 1 == segments.len();
                match text_kind(part.value) {
                    _ if part.value.is_empty() => {}
                    TextKind::Number => shape.push('#'),
                    TextKind::Word if is_exact && place == 0 && is_directory => {
                        shape.push_str(part.value);
                    }
                    _ if types.contains(&part.hash) && is_last => shape.push_str(stem),
                    _ if types.contains(&part.hash) => shape.push_str(part.value),
                    _ if !is_last => shape.push('*'),
                    _ if is_exact && text_kind(stem) == TextKind::Number => shape.push('#'),
                    _ => {
                        shape.push_str(word);
                        shape.push('*');
                    }
                }
                if is_last && !end.is_empty() && end.len() < 6 {
                    shape.push('.');
                    shape.push_str(end);
                }
            }
        }
        let names = match self.parameters().next() {
            None => Vec::new(),
            Some(_) if is_exact => self.names(types),
            Some(_) => vec!["…".into()],
        };
        for (place, name) in names.into_iter().take(MAX_PARTS).enumerate() {
            shape.push(if place == 0 { '?' } else { '&' });
            shape.push_str(&name);
        }
        shape
    }
}

/// A parameter that says of which kind the page is, with its value.
fn show(part: &Part<'_>) -> String {
    format!("{}={}", &part.name[..part.name.floor_char_boundary(40)], part.value)
}

/// The name of a program without its ending, if it is one.
fn program(segment: &str) -> Option<&str> {
    let (stem, ending) = segment.rsplit_once('.')?;
    PROGRAMS.contains(&ending).then_some(stem)
}

/// Whether a value has digits and letters.
fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|it| is(&it));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
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
    if !bytes.is_empty() && digits == bytes.len() {
        return TextKind::Number;
    }
    let is_plain = digits + letters + 6 >= bytes.len();
    if bytes.len() >= 12 && is_plain && digits * 8 >= bytes.len() || has_long_hex(bytes) {
        TextKind::Id
    } else {
        TextKind::Word
    }
}

/// The shortest segment that may be a session.
const MIN_SESSION: usize = 6;

/// Whether a segment may be the id of a session.
fn may_be_session(segment: &str) -> bool {
    text_kind(segment) == TextKind::Id
        || segment.len() >= MIN_SESSION
            && segment.bytes().all(|it| it.is_ascii_alphanumeric())
            && segment.bytes().any(|it| it.is_ascii_digit())
}

/// Whether it has a number of at least 64 bits, in hexadecimal.
fn has_long_hex(bytes: &[u8]) -> bool {
    let mut runs = bytes.split(|byte| !byte.is_ascii_hexdigit());
    runs.any(|run| run.len() >= 16 && run.iter().any(u8::is_ascii_digit))
}

/// What the name of a parameter or a last segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It says where the link was found, and only programs that count visits read it.
    Origin,
    /// If it is long, it is the id of a session.
    Session,
    /// It says where the link was found, or how the page is to look: it rarely makes a difference.
    Circumstance,
    /// It is a last segment by which software names a view of a page, and nothing else.
    View,
    /// It often selects a page, or makes a difference on a few pages.
    Content,
}

/// Campaigns and click ids; those of Google Analytics begin with `utm_`.
const ORIGINS: [&str; 9] =
    ["fbclid", "gclid", "dclid", "msclkid", "yclid", "mc_cid", "mc_eid", "_ga", "igshid"];
/// Sessions of PHP, Java, ASP.NET, `ColdFusion`, osCommerce and Zen Cart.
const SESSIONS: [&str; 12] = [
    "sid",
    "sessid",
    "session",
    "sessionid",
    "session_id",
    "phpsessid",
    "jsessionid",
    "aspsessionid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
];
/// Parameters for the origin of a link, and parameters and last segments for views of the same page.
const CIRCUMSTANCES: [&str; 18] = [
    // Where the link was found.
    "spm",
    "campaign",
    "from",
    "ref",
    "referrer",
    "referer",
    "ref_src",
    "source",
    "src",
    // The same page for telephones, for printing, in other colours, or with a form to answer opened.
    "amp",
    "print",
    "printable",
    "printer",
    "printview",
    "print_view",
    "theme",
    "skin",
    "replytocom",
];
/// Pages to print of Docsy, and the addresses of `WordPress` at which other blogs say that they name a post.
const VIEWS: [&str; 2] = ["_print", "trackback"];
/// Parameters for the page of a list, or its first item.
const PAGES: [&str; 14] = [
    "currentpage",
    "cur_page",
    "offset",
    "p",
    "page",
    "paged",
    "pageindex",
    "pageno",
    "pagenum",
    "pg",
    "pn",
    "skip",
    "st",
    "start",
];
const CONTENT: [&str; 10] =
    ["hl", "lang", "language", "locale", "page", "p", "id", "q", "query", "search"];

/// Whether this parameter chooses the page of a list.
pub(super) fn chooses_page(part: &Part<'_>) -> bool {
    part.kind == PartKind::Parameter
        && part.value.bytes().all(|byte| byte.is_ascii_digit())
        && PAGES.iter().any(|name| name.eq_ignore_ascii_case(part.name))
}

/// What this name of a parameter or a last segment says, if anything.
pub(super) fn meaning(parameter: &str) -> Option<Meaning> {
    let meanings = [
        (&ORIGINS[..], Meaning::Origin),
        (&SESSIONS, Meaning::Session),
        (&CIRCUMSTANCES, Meaning::Circumstance),
        (&VIEWS, Meaning::View),
        (&CONTENT, Meaning::Content),
    ];
    let is_it = |(names, _): &(&[&str], Meaning)| {
        names.iter().any(|name| name.eq_ignore_ascii_case(parameter))
    };
    if parameter.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("utm_")) {
        return Some(Meaning::Origin);
    }
    meanings.into_iter().find(is_it).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_name_kinds_are_sorted() {
        assert!(TYPE_SEGMENTS.is_sorted());
    }

    #[test]
    fn words_before_numbers() {
        let word = |path: &str| {
            let url = Url::parse(&format!("https://example.org/{path}")).unwrap();
            let parts = Parts::of(&url);
            parts.segments().last().unwrap().numbered().map(str::to_owned)
        };
        for (path, found) in [
            ("goods-17.html", "goods-"),
            ("thread-17-1-2.html", "thread-"),
            ("category-3-b1-min200-max1700-attr1.2-2-goods_id-DESC.html", "category-"),
            ("shop/article_cat-3.html", "article_cat-"),
            ("p-17", "p-"),
        ] {
            assert_eq!(word(path).as_deref(), Some(found), "{path}");
        }
        for path in [
            "17.html",
            "17-goods.html",
            "goods.html",
            "top-10-places-to-see.html",
            "the-great-2-day-walk.html",
            "abc12.html",
            "chapter12",
            "x3f9a.html",
            "goods-17/",
        ] {
            assert_eq!(word(path), None, "{path}");
        }
    }

    #[test]
    fn names_of_parameters() {
        assert_eq!(meaning("utm_source"), Some(Meaning::Origin));
        assert_eq!(meaning("PHPSESSID"), Some(Meaning::Session));
        assert_eq!(meaning("print"), Some(Meaning::Circumstance));
        assert_eq!(meaning("Page"), Some(Meaning::Content));
        assert_eq!(meaning("colour"), None);
    }
}
