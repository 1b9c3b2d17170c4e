//! A world that is made while it is played: its pages are extracted and judged, without HTTP.

use std::{collections::HashMap, rc::Rc};

use pagesieve::{
    Filter,
    crawl::scope::Reach,
    extract::Extractor,
    filter::{self, Documents},
    fingerprint::HashSeedChoice,
    page::{NormalUrl, Page, UrlOptions, site_of},
};
use url::Url;

use crate::{
    play::{Got, Shown, Source},
    process::Outcome,
    world::{Reply, World},
};

/// A world with a filter.
pub(crate) struct Live<'a> {
    world: &'a World,
    filter: Filter,
    documents: Documents,
    extractor: Extractor,
    options: UrlOptions,
    texts: HashMap<u64, u32>,
    /// Whether pages are to be found by their numbers in the world, or by the filter's verdicts.
    is_numbered: bool,
}

impl<'a> Live<'a> {
    pub(crate) fn new(world: &'a World, is_numbered: bool) -> Outcome<Self> {
        let mut options = filter::Options::default();
        options.hash_seed = HashSeedChoice::Public;
        let filter = Filter::new(&options)?;
        Ok(Self {
            world,
            documents: filter.documents(),
            filter,
            extractor: Extractor::default(),
            options: UrlOptions::default(),
            texts: HashMap::new(),
            is_numbered,
        })
    }

    fn normal(&self, url: &Url) -> Option<Rc<str>> {
        let host = url.host_str()?;
        let is_within = match self.world.reach {
            Reach::Domain => self.world.hosts.iter().any(|it| site_of(it) == site_of(host)),
            _ => self
                .world
                .seeds
                .iter()
                .any(|seed| Url::parse(seed).is_ok_and(|seed| seed.host_str() == Some(host))),
        };
        let is_within = is_within && url.scheme() == "http";
        is_within
            .then(|| NormalUrl::new(url, &self.options).ok())
            .flatten()
            .map(|it| it.as_str().into())
    }

    fn page(&mut self, url: &Url, body: Vec<u8>, found: Option<(usize, usize)>) -> Got {
        let page = Page { url: Some(url.clone()), body, ..Page::default() };
        let (document, extracted) = self.documents.page(&self.extractor, &page);
        let mut links: Vec<Rc<str>> = Vec::new();
        let followed =
            extracted.links.iter().filter(|it| !it.nofollow && !extracted.robots.nofollow);
        for link in followed {
            if let Some(link) = self.normal(&link.url)
                && !links.contains(&link)
            {
                links.push(link);
            }
        }
        if extracted.robots.noindex {
            return Got::Unindexed(links);
        }
        let judgement = self.filter.judge(&document).expect("it is of this filter");
        let of = judgement.verdict.matched().map_or(judgement.id, |it| it.of);
        let group = u32::try_from(of.0).unwrap_or(u32::MAX);
        let count = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let hash = xxhash_rust::xxh3::xxh3_64(extracted.text.as_bytes());
        let exact = *self.texts.entry(hash).or_insert(count);
        let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        let found = match found {
            Some(_) if !self.is_numbered => group..group + 1,
            Some((page, more)) => number(page)..number(page + more + 1),
            None => 0..0,
        };
        Got::Page(Rc::new(Shown {
            group,
            exact,
            passages: document.passages().to_vec(),
            links,
            canonical: extracted.canonical.as_ref().and_then(|it| self.normal(it)),
            found,
        }))
    }
}

impl Source for Live<'_> {
    fn seeds(&self) -> Vec<Rc<str>> {
        let seeds = self.world.seeds.iter().filter_map(|seed| Url::parse(seed).ok());
        seeds.filter_map(|seed| self.normal(&seed)).collect()
    }

    fn fetch(&mut self, name: &Rc<str>) -> Got {
        let Ok(url) = Url::parse(name) else { return Got::Dead };
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let answer = (self.world.answer)(url.host_str().unwrap_or_default(), &target);
        match answer.reply {
            Reply::Page(body) => {
                self.page(&url, body.to_vec(), answer.page.map(|page| (page, answer.more)))
            }
            Reply::Redirect(to) => {
                Got::Redirect(url.join(&to).ok().and_then(|to| self.normal(&to)))
            }
            Reply::Missing => Got::Dead,
        }
    }
}
