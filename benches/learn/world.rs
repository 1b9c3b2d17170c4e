//! A world that is made while it is played: its pages are extracted and judged, without HTTP.

use std::{collections::HashMap, rc::Rc};

use pagesieve::{
    Filter,
    extract::Extractor,
    filter::{self, Documents},
    fingerprint::HashSeedChoice,
    page::{NormalUrl, Page, UrlOptions},
};
use url::Url;

use crate::{
    play::{Got, Shown, Source},
    process::Outcome,
};

/// What is answered to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The page of this number, one of those that are to be found.
    Honest(usize, String),
    /// A page that nobody needs.
    Junk(String),
    Redirect(String),
    Missing,
}

/// A host that answers. The same request always gets the same answer.
pub(crate) struct World {
    host: String,
    /// How many pages are to be found; they are numbered.
    pub(crate) pages: usize,
    has_subdomains: bool,
    /// What a host answers to a path with its query.
    answer: Box<Answering>,
}

type Answering = dyn Fn(&str, &str) -> Answer;

impl World {
    pub(crate) fn new(
        host: &str,
        pages: usize,
        answer: impl Fn(&str, &str) -> Answer + 'static,
    ) -> Self {
        let (host, answer) = (host.to_owned(), Box::new(answer));
        Self { host, pages, has_subdomains: false, answer }
    }

    #[must_use]
    pub(crate) fn with_subdomains(self) -> Self {
        Self { has_subdomains: true, ..self }
    }
}

/// A world with a filter.
pub(crate) struct Live<'a> {
    world: &'a World,
    filter: Filter,
    documents: Documents,
    extractor: Extractor,
    options: UrlOptions,
    texts: HashMap<u64, u32>,
}

impl<'a> Live<'a> {
    pub(crate) fn new(world: &'a World) -> Outcome<Self> {
        let mut options = filter::Options::default();
        options.hash_seed = HashSeedChoice::Public;
        let filter = Filter::new(&options)?;
        let (documents, extractor) = (filter.documents(), Extractor::default());
        let (options, texts) = (UrlOptions::default(), HashMap::new());
        Ok(Self { world, filter, documents, extractor, options, texts })
    }

    /// The normal form of a URL, if it may be requested.
    fn normal(&self, url: &Url) -> Option<Rc<str>> {
        let below = url.host_str()?.strip_suffix(&self.world.host)?;
        let is_within = below.is_empty() || self.world.has_subdomains && below.ends_with('.');
        let normal = NormalUrl::new(url, &self.options).ok().filter(|_| is_within)?;
        Some(normal.as_str().into())
    }

    fn page(&mut self, url: &Url, html: String, number: Option<usize>) -> Got {
        let page = Page { url: Some(url.clone()), body: html.into(), ..Page::default() };
        let (document, extracted) = self.documents.page(&self.extractor, &page);
        let mut links: Vec<Rc<str>> = Vec::new();
        for link in &extracted.links {
            links.extend(self.normal(&link.url).filter(|it| !links.contains(it)));
        }
        let judgement = self.filter.judge(&document).expect("it is of this filter");
        let of = judgement.verdict.matched().map_or(judgement.id, |it| it.of);
        let count = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let hash = xxhash_rust::xxh3::xxh3_64(extracted.text.as_bytes());
        let number = number.and_then(|it| u32::try_from(it).ok());
        Got::Page(Rc::new(Shown {
            group: u32::try_from(of.0).unwrap_or(u32::MAX),
            exact: *self.texts.entry(hash).or_insert(count),
            passages: document.passages().to_vec(),
            links,
            canonical: None,
            found: number.map_or(0..0, |it| it..it + 1),
        }))
    }
}

impl Source for Live<'_> {
    fn seeds(&self) -> Vec<Rc<str>> {
        vec![format!("http://{}/", self.world.host).into()]
    }

    fn fetch(&mut self, name: &Rc<str>) -> Got {
        let Ok(url) = Url::parse(name) else { return Got::Dead };
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", url.path());
        match (self.world.answer)(url.host_str().unwrap_or_default(), &target) {
            Answer::Honest(page, html) => self.page(&url, html, Some(page)),
            Answer::Junk(html) => self.page(&url, html, None),
            Answer::Redirect(to) => {
                Got::Redirect(url.join(&to).ok().and_then(|to| self.normal(&to)))
            }
            Answer::Missing => Got::Dead,
        }
    }
}
