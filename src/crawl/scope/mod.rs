//! Where a crawl begins and how far it goes from there.
//!
//! Pure: seed files and sitemaps are read by the caller, which tells the scope the URLs found in them.

mod seed;

use std::{
    collections::{BTreeSet, HashSet},
    ops::Bound,
};

use regex::{Regex, RegexBuilder};
use url::Position;

pub use self::seed::{Reach, Seed, SeedLineError, Source, read_seed_file};
use crate::page::{NormalUrl, Origin};

/// The most memory that one compiled pattern may take, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// A seed list that cannot be compiled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// A pattern is no regular expression, or too large a one.
    #[error("compile the pattern {pattern:?} of seed list {}", .seed + 1)]
    Pattern {
        /// The seed list, from 0.
        seed: usize,
        /// The pattern as written.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
}

/// Why a URL belongs to no seed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// No list's scope admits it.
    Scope,
    /// It lies too many links away from the seeds of the lists that would admit it.
    Depth,
    /// The lists that admit it have received all the pages they may.
    Budget,
}

/// All seed lists, compiled: which of them a URL belongs to.
#[derive(Clone, Debug)]
pub struct Scope {
    lists: Vec<List>,
}

#[derive(Clone, Debug)]
struct List {
    area: Area,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    max_depth: u32,
}

/// Where the roots of a list let its pages lie.
#[derive(Clone, Debug)]
enum Area {
    Hosts(HashSet<Origin>),
    Domains(HashSet<Box<str>>),
    /// None is the beginning of another.
    Prefixes(BTreeSet<Box<str>>),
    Any,
}

impl Scope {
    /// Compiles the seed lists. They admit nothing (but for [`Reach::Any`]) until their roots are told.
    ///
    /// # Errors
    ///
    /// If a pattern is no regular expression or compiles to more than a mebibyte.
    pub fn new(seeds: &[Seed]) -> Result<Self, ScopeError> {
        let lists = seeds.iter().enumerate().map(|(number, seed)| List::new(number, seed));
        Ok(Self { lists: lists.collect::<Result<_, _>>()? })
    }

    /// Tells a root of the list number `seed`: its URL, a URL of its file, or that of its sitemap.
    ///
    /// # Panics
    ///
    /// If there is no list of this number.
    pub fn add_root(&mut self, seed: usize, root: &NormalUrl) {
        self.lists[seed].area.add(root);
    }

    /// The first seed list that admits the URL at this depth and is not `spent`.
    ///
    /// # Errors
    ///
    /// The most favourable refusal, if all refuse: a list whose budget is spent, rather than one for which the URL lies
    /// too deep, rather than one in whose scope it does not lie.
    pub fn admit(
        &self,
        url: &NormalUrl,
        depth: u32,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        self.first(spent, |list| list.admit(url, depth))
    }

    /// The same for a sitemap that another one names or redirects to: no pattern of `include` need match, for these speak of pages.
    ///
    /// # Errors
    ///
    /// As [`Scope::admit`].
    pub fn admit_sitemap(
        &self,
        url: &NormalUrl,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        self.first(spent, |list| if list.reaches(url) { Ok(()) } else { Err(Refusal::Scope) })
    }

    fn first(
        &self,
        spent: impl Fn(usize) -> bool,
        admit: impl Fn(&List) -> Result<(), Refusal>,
    ) -> Result<usize, Refusal> {
        let mut refusal = Refusal::Scope;
        for (number, list) in self.lists.iter().enumerate() {
            match admit(list) {
                Ok(()) if !spent(number) => return Ok(number),
                Ok(()) => refusal = refusal.max(Refusal::Budget),
                Err(reason) => refusal = refusal.max(reason),
            }
        }
        Err(refusal)
    }

    /// The same for a URL that the user named, by `url` or in a `file`, for the list number `seed`: if no list admits it
    /// otherwise, its own takes it although no pattern of `include` matches, since the crawl could not begin without it.
    ///
    /// # Errors
    ///
    /// As [`Scope::admit`].
    ///
    /// # Panics
    ///
    /// If there is no list of this number.
    pub fn admit_seed(
        &self,
        seed: usize,
        url: &NormalUrl,
        spent: impl Fn(usize) -> bool,
    ) -> Result<usize, Refusal> {
        let list = &self.lists[seed];
        self.admit(url, 0, &spent).or_else(|refusal| match refusal {
            Refusal::Scope if list.excludes(url) => Err(Refusal::Scope),
            Refusal::Scope if spent(seed) => Err(Refusal::Budget),
            Refusal::Scope => Ok(seed),
            _ => Err(refusal),
        })
    }
}

impl List {
    fn new(number: usize, seed: &Seed) -> Result<Self, ScopeError> {
        Ok(Self {
            area: Area::new(seed.scope),
            include: compile(number, &seed.include)?,
            exclude: compile(number, &seed.exclude)?,
            max_depth: seed.max_depth,
        })
    }

    fn admit(&self, url: &NormalUrl, depth: u32) -> Result<(), Refusal> {
        let is_included =
            || self.include.is_empty() || self.include.iter().any(|it| it.is_match(url.as_str()));
        if !self.reaches(url) || !is_included() {
            return Err(Refusal::Scope);
        }
        if depth > self.max_depth { Err(Refusal::Depth) } else { Ok(()) }
    }

    fn reaches(&self, url: &NormalUrl) -> bool {
        self.area.contains(url) && !self.excludes(url)
    }

    fn excludes(&self, url: &NormalUrl) -> bool {
        self.exclude.iter().any(|it| it.is_match(url.as_str()))
    }
}

fn compile(seed: usize, patterns: &[String]) -> Result<Vec<Regex>, ScopeError> {
    let compile = |pattern: &String| {
        RegexBuilder::new(pattern)
            .size_limit(PATTERN_SIZE)
            .build()
            .map_err(|source| ScopeError::Pattern { seed, pattern: pattern.clone(), source })
    };
    patterns.iter().map(compile).collect()
}

impl Area {
    fn new(reach: Reach) -> Self {
        match reach {
            Reach::Host => Self::Hosts(HashSet::new()),
            Reach::Domain => Self::Domains(HashSet::new()),
            Reach::Prefix => Self::Prefixes(BTreeSet::new()),
            Reach::Any => Self::Any,
        }
    }

    fn add(&mut self, root: &NormalUrl) {
        match self {
            Self::Hosts(hosts) => {
                hosts.insert(root.origin());
            }
            Self::Domains(domains) => {
                if !domains.contains(root.site()) {
                    domains.insert(root.site().into());
                }
            }
            Self::Prefixes(prefixes) => add_prefix(prefixes, directory(root)),
            Self::Any => {}
        }
    }

    fn contains(&self, url: &NormalUrl) -> bool {
        match self {
            Self::Hosts(hosts) => hosts.contains(&url.origin()),
            Self::Domains(domains) => domains.contains(url.site()),
            Self::Prefixes(prefixes) => has_prefix_of(prefixes, url.as_str()),
            Self::Any => true,
        }
    }
}

/// The URL up to its path's last slash.
fn directory(url: &NormalUrl) -> &str {
    let path = &url.as_url()[..Position::AfterPath];
    path.rsplit_once('/').map_or(path, |(start, _)| &path[..=start.len()])
}

fn add_prefix(prefixes: &mut BTreeSet<Box<str>>, prefix: &str) {
    if has_prefix_of(prefixes, prefix) {
        return;
    }
    let longer = prefixes.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    let covered: Vec<_> = longer.take_while(|it| it.starts_with(prefix)).cloned().collect();
    for it in &covered {
        prefixes.remove(it);
    }
    prefixes.insert(prefix.into());
}

/// Whether `url` begins with a member. As no member begins another, only the last that does not sort after it can.
fn has_prefix_of(prefixes: &BTreeSet<Box<str>>, url: &str) -> bool {
    let before = prefixes.range::<str, _>((Bound::Unbounded, Bound::Included(url)));
    before.last().is_some_and(|prefix| url.starts_with(&**prefix))
}
