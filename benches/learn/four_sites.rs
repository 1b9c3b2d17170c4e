//! The four development sites of the shared data, as in `tests/it/crawl/four_sites.rs`.

use std::{collections::HashMap, fs, path::Path};

use pagesieve::crawl::scope::Reach;
use regex::Regex;
use url::Url;

use crate::{
    process::Outcome,
    texts,
    world::{Answer, World},
};

pub(crate) const SITES: [&str; 4] = ["faq", "iguide", "lohelp", "pgdoc"];

/// Pages with their links.
#[derive(Debug)]
pub(crate) struct FourSites {
    pub(crate) pages: Vec<FilePage>,
    /// The number of a page by its path.
    numbers: HashMap<String, usize>,
}

/// A page of a file.
#[derive(Debug)]
pub(crate) struct FilePage {
    pub(crate) path: String,
    pub(crate) html: String,
    /// The links to pages of its host that are not addressed from elsewhere: where the address is in the page, and what it means.
    pub(crate) links: Vec<(std::ops::Range<usize>, Url)>,
}

impl FourSites {
    pub(crate) fn load() -> Outcome<Self> {
        let root = texts::data().join("pages");
        let mut files = Vec::new();
        collect(&root, &root, &mut files)?;
        files.sort();
        let mut pages = Vec::new();
        for (path, html) in files {
            let links = links(&path, &html)?;
            pages.push(FilePage { path, html, links });
        }
        let numbers =
            pages.iter().enumerate().map(|(number, page)| (page.path.clone(), number)).collect();
        Ok(Self { pages, numbers })
    }

    /// The number of the page that is at a path, if one is.
    pub(crate) fn number(&self, path: &str) -> Option<usize> {
        self.numbers.get(path).copied()
    }

    /// The pages as they are.
    pub(crate) fn plain(self) -> World {
        World {
            name: "four sites".to_owned(),
            hosts: SITES.map(|site| format!("{site}.test")).to_vec(),
            seeds: seeds(),
            reach: Reach::Host,
            pages: self.pages.len(),
            answer: Box::new(move |_, target| {
                let path = target.split('?').next().unwrap_or_default();
                self.number(path).map_or_else(Answer::missing, |number| {
                    Answer::honest(number, self.pages[number].html.clone())
                })
            }),
        }
    }
}

/// The HTML files below a directory, by their path in it.
fn collect(root: &Path, directory: &Path, files: &mut Vec<(String, String)>) -> Outcome<()> {
    let unread = |error| format!("{}: {error}; set PAGESIEVE_DATA", directory.display());
    for entry in fs::read_dir(directory).map_err(unread)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let name = path.strip_prefix(root)?.to_string_lossy();
            let html = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            files.push((format!("/{name}"), html));
        }
    }
    Ok(())
}

fn links(path: &str, html: &str) -> Outcome<Vec<(std::ops::Range<usize>, Url)>> {
    let site = path.split('/').nth(1).unwrap_or_default();
    let here: Url = format!("http://{site}.test{path}").parse()?;
    let base = Regex::new(r#"(?i)<base\s[^>]*href="([^"]*)""#)?;
    let base = base.captures(html).map_or_else(|| Ok(here.clone()), |base| here.join(&base[1]))?;
    let anchor = Regex::new(r#"(?i)<a\s[^>]*?href="([^"]*)""#)?;
    let addresses = anchor.captures_iter(html).filter_map(|found| found.get(1));
    Ok(addresses
        .filter(|address| !address.as_str().starts_with('#'))
        .filter_map(|address| Some((address.range(), base.join(address.as_str()).ok()?)))
        .filter(|(_, url)| url.host() == here.host())
        .collect())
}

/// The 22 starting pages.
pub(crate) fn seeds() -> Vec<String> {
    let mut seeds = Vec::new();
    for variant in ["amd64", "arm64", "i386", "s390x"] {
        seeds.extend(
            ["en", "zh", "ja"]
                .map(|lang| format!("http://iguide.test/iguide/{variant}/{lang}/index.html")),
        );
    }
    for variant in ["bullseye", "bookworm"] {
        seeds.push(format!("http://pgdoc.test/pgdoc/{variant}/en/index.html"));
        seeds.push(format!("http://faq.test/faq/{variant}/en/index.en.html"));
        seeds.push(format!("http://faq.test/faq/{variant}/zh/index.zh-cn.html"));
        for lang in ["zh-CN", "en-US"] {
            seeds.push(format!(
                "http://lohelp.test/lohelp/{variant}/{lang}/text/swriter/main0000.html"
            ));
        }
    }
    seeds
}
