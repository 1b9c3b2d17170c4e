//! The four development sites, as they were recorded, behind a server that puts junk on the links of their pages.

use std::rc::Rc;

use url::Url;

use crate::{
    play::{Got, Shown, Source},
    prose::Dice,
    target::Target,
    trace::{Replay, Trace},
};

/// What the server adds to links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A session id in the path of the sites with an `l` or a `p` at their beginning.
    PathSession,
    /// A session id in the query of the others.
    QuerySession,
    Tracking,
    ParameterOrder,
    Print,
    Facets,
    Calendar,
    Mirror,
}

const KINDS: [(&str, Kind); 8] = [
    ("session in path", Kind::PathSession),
    ("session in query", Kind::QuerySession),
    ("tracking", Kind::Tracking),
    ("parameter order", Kind::ParameterOrder),
    ("print view", Kind::Print),
    ("facets", Kind::Facets),
    ("calendar", Kind::Calendar),
    ("mirror", Kind::Mirror),
];

/// All junk at once, and each kind alone.
pub(crate) fn worlds(trace: &Trace, seed: u64) -> impl Iterator<Item = (String, Junk)> {
    let all: Vec<Kind> = KINDS.iter().map(|it| it.1).collect();
    let each = KINDS.iter().map(|(name, kind)| (format!("junk: {name}"), vec![*kind]));
    let all = std::iter::once(("junk: all at once".to_owned(), all)).chain(each);
    all.map(move |(name, kinds)| {
        let sites = Replay::of(trace);
        let mut paths: Vec<String> =
            sites.pages().filter_map(|it| Some(Url::parse(it).ok()?.path().to_owned())).collect();
        paths.sort();
        (name, Junk { kinds, sites, paths, seed })
    })
}

/// The sites with junk on their links.
#[derive(Debug)]
pub(crate) struct Junk {
    kinds: Vec<Kind>,
    sites: Replay,
    paths: Vec<String>,
    /// It chooses what is put on which link.
    seed: u64,
}

impl Junk {
    fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

impl Source for Junk {
    fn seeds(&self) -> Vec<Rc<str>> {
        self.sites.seeds()
    }

    fn fetch(&mut self, name: &Rc<str>) -> Got {
        let Ok(url) = Url::parse(name) else { return Got::Dead };
        let host = url.host_str().unwrap_or_default();
        let site = host.trim_start_matches("mirror.").trim_end_matches(".test").to_owned();
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let mut asked = Target::parse(&format!("{}{query}", url.path()));
        let mut session = asked.get("sid").map(str::to_owned);
        if let Some(rest) = asked.path.clone().strip_prefix("/S-") {
            let (id, path) = rest.split_once('/').unwrap_or((rest, ""));
            (session, asked.path) = (Some(id.to_owned()), format!("/{path}"));
        }
        let dice = Dice::of(&format!("{} {name}", self.seed));
        let mut links = Links { junk: self, site: &site, session, dice };
        match asked.path.as_str() {
            "/browse" if links.junk.has(Kind::Facets) => links.browse(&asked),
            "/calendar" if links.junk.has(Kind::Calendar) => links.calendar(&asked),
            path => {
                let plain = format!("http://{site}.test{path}");
                match links.junk.sites.get(&plain) {
                    Some(Got::Page(shown)) => {
                        links.page(path, &shown, asked.get("print").is_some())
                    }
                    Some(got) => got,
                    None => Got::Dead,
                }
            }
        }
    }
}

/// Makes the links of one page.
struct Links<'a> {
    junk: &'a Junk,
    site: &'a str,
    session: Option<String>,
    dice: Dice,
}

impl Links<'_> {
    /// An address that leads to a path of this site.
    fn to(&mut self, mut target: Target) -> Rc<str> {
        let is_mirror = self.junk.has(Kind::Mirror) && self.dice.roll(4) == 0;
        let host = if is_mirror { "mirror." } else { "" };
        if self.junk.has(Kind::Tracking) {
            let from = ["nav", "text", "footer", "search"][self.dice.roll(4)];
            target = target.with("from", format!("{from}{}", self.dice.roll(40)));
        }
        if self.junk.has(Kind::ParameterOrder) {
            target = target.with("theme", "light").with("v", "2").with("view", "full");
        }
        let in_path = matches!(self.site, "lohelp" | "pgdoc");
        let kind = if in_path { Kind::PathSession } else { Kind::QuerySession };
        if self.junk.has(kind) {
            let session = self.next_session();
            if in_path {
                target.path = format!("/S-{session}{}", target.path);
            } else {
                target = target.with("sid", session);
            }
        }
        if self.junk.has(Kind::ParameterOrder) {
            self.dice.shuffle(&mut target.parameters);
        }
        format!("http://{host}{}.test{}", self.site, target.show()).into()
    }

    /// Sessions end: one link in eight begins another.
    fn next_session(&mut self) -> String {
        match &self.session {
            Some(session) if self.dice.roll(8) > 0 => session.clone(),
            _ => self.dice.hex(24),
        }
    }

    /// A page with its links changed. Dead links lead where they did, and have no junk.
    fn page(&mut self, path: &str, shown: &Shown, is_print: bool) -> Got {
        let mut links = Vec::new();
        for link in &shown.links {
            let is_page = matches!(self.junk.sites.get(link), Some(Got::Page(_)));
            let target = Url::parse(link).ok().filter(|_| is_page);
            links.push(match target {
                Some(url) => self.to(Target::new(url.path())),
                None => Rc::clone(link),
            });
        }
        if self.junk.has(Kind::Print) && !is_print {
            links.push(self.to(Target::new(path).with("print", "1")));
        }
        if self.junk.has(Kind::Facets) {
            links.push(self.to(Target::new("/browse")));
        }
        if self.junk.has(Kind::Calendar) {
            links.push(self.to(Target::new("/calendar").with("month", 24_322)));
        }
        Got::Page(Rc::new(Shown { links, ..shown.clone() }))
    }

    /// A list of pages by three facets, each of which can be added, changed and removed.
    fn browse(&mut self, asked: &Target) -> Got {
        const FACETS: [(&str, [&str; 6]); 3] = [
            ("topic", ["install", "tables", "text", "network", "security", "print"]),
            ("length", ["short", "medium", "long", "very-long", "any", "one-page"]),
            ("sort", ["title", "date", "length", "rank", "author", "visits"]),
        ];
        let chosen: Vec<&str> = FACETS.iter().filter_map(|(name, _)| asked.get(name)).collect();
        let prefix = format!("/{}/", self.site);
        let junk = self.junk;
        let pages: Vec<&String> = junk.paths.iter().filter(|it| it.starts_with(&prefix)).collect();
        let name = format!("{} {}", self.site, chosen.join(" "));
        let mut matching = Dice::of(&name);
        let (mut links, mut passages) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            let path = *matching.pick(&pages);
            links.push(self.to(Target::new(path.as_str())));
            // One in four is sampled.
            passages.extend(Some(number(path)).filter(|it| it % 4 == 0));
        }
        let plain = FACETS
            .iter()
            .filter_map(|(name, _)| Some((name, asked.get(name)?)))
            .fold(Target::new("/browse"), |target, (name, value)| target.with(name, value));
        for (name, values) in FACETS {
            for value in values {
                links.push(self.to(plain.clone().set(name, value)));
            }
            links.push(self.to(plain.clone().without(name)));
        }
        made(&name, passages, links)
    }

    fn calendar(&mut self, asked: &Target) -> Got {
        let month = asked.number("month").unwrap_or(24_322);
        let months = [month.saturating_sub(1), month + 1, month.saturating_sub(12), month + 12];
        let links = months.map(|month| self.to(Target::new("/calendar").with("month", month)));
        made(&format!("month {month}"), (0..8).collect(), links.to_vec())
    }
}

fn number(name: &str) -> u32 {
    u32::try_from(xxhash_rust::xxh3::xxh3_64(name.as_bytes()) >> 33).unwrap_or_default()
}

/// A page whose text is made by the server.
fn made(name: &str, passages: Vec<u32>, links: Vec<Rc<str>>) -> Got {
    let group = number(name) | 1 << 31;
    Got::Page(Rc::new(Shown { group, exact: group, passages, links, ..Shown::default() }))
}
