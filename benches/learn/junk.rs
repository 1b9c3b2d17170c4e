//! The four development sites, as they were recorded, behind a server that puts junk on the links of their pages.

use std::rc::Rc;

use url::Url;

use crate::{
    play::{Got, Shown, Source},
    prose::Dice,
    target::Target,
    trace::{Replay, Trace},
};

const KINDS: [&str; 8] = [
    "session in path",
    "session in query",
    "tracking",
    "parameter order",
    "print view",
    "facets",
    "calendar",
    "mirror",
];

/// All junk at once, and each kind alone.
pub(crate) fn kinds() -> impl Iterator<Item = Vec<&'static str>> {
    [KINDS.to_vec()].into_iter().chain(KINDS.map(|kind| vec![kind]))
}

/// The sites with junk on their links.
#[derive(Debug)]
pub(crate) struct Junk {
    kinds: Vec<&'static str>,
    sites: Replay,
    paths: Vec<String>,
    /// It chooses what is put on which link.
    seed: u64,
}

impl Junk {
    pub(crate) fn new(trace: &Trace, kinds: &[&'static str], seed: u64) -> Self {
        let sites = Replay::of(trace);
        let path = |url: &str| Some(Url::parse(url).ok()?.path().to_owned());
        let mut paths: Vec<String> = sites.pages().filter_map(path).collect();
        paths.sort();
        Self { kinds: kinds.to_vec(), sites, paths, seed }
    }

    fn has(&self, kind: &str) -> bool {
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
            "/browse" if self.has("facets") => links.browse(&asked),
            "/calendar" if self.has("calendar") => links.calendar(&asked),
            path => match self.sites.get(&format!("http://{site}.test{path}")) {
                Some(Got::Page(shown)) => links.page(path, &shown, asked.get("print").is_some()),
                other => other.unwrap_or(Got::Dead),
            },
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
    /// A URL that leads to a path of this site.
    fn to(&mut self, mut target: Target) -> Rc<str> {
        let is_mirror = self.junk.has("mirror") && self.dice.one_in(4);
        let host = if is_mirror { "mirror." } else { "" };
        if self.junk.has("tracking") {
            let from = ["nav", "text", "footer", "search"][self.dice.roll(4)];
            target = target.with("from", format!("{from}{}", self.dice.roll(40)));
        }
        if self.junk.has("parameter order") {
            target = target.with("theme", "light").with("v", "2").with("view", "full");
        }
        // Two of the sites have their sessions in the path.
        if matches!(self.site, "lohelp" | "pgdoc") {
            if self.junk.has("session in path") {
                target.path = format!("/S-{}{}", self.next_session(), target.path);
            }
        } else if self.junk.has("session in query") {
            target = target.with("sid", self.next_session());
        }
        if self.junk.has("parameter order") {
            self.dice.shuffle(&mut target.parameters);
        }
        format!("http://{host}{}.test{}", self.site, target.show()).into()
    }

    /// Sessions end: one link in eight begins another.
    fn next_session(&mut self) -> String {
        match &self.session {
            Some(session) if !self.dice.one_in(8) => session.clone(),
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
        if self.junk.has("print view") && !is_print {
            links.push(self.to(Target::new(path).with("print", "1")));
        }
        if self.junk.has("facets") {
            links.push(self.to(Target::new("/browse")));
        }
        if self.junk.has("calendar") {
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
        let chosen = FACETS.iter().filter_map(|(name, _)| Some((name, asked.get(name)?)));
        let values: Vec<&str> = chosen.clone().map(|it| it.1).collect();
        let plain =
            chosen.fold(Target::new("/browse"), |target, (name, value)| target.with(name, value));
        let name = format!("{} {}", self.site, values.join(" "));
        let prefix = format!("/{}/", self.site);
        let junk = self.junk;
        let pages: Vec<&String> = junk.paths.iter().filter(|it| it.starts_with(&prefix)).collect();
        let mut matching = Dice::of(&name);
        let (mut links, mut passages) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            let path = *matching.pick(&pages);
            links.push(self.to(Target::new(path.as_str())));
            // One in four is sampled.
            passages.extend(Some(number(path)).filter(|it| it % 4 == 0));
        }
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
