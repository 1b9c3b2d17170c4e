//! Documents as the commands take them: from the input to a text and its sketch.

use std::path::PathBuf;

use clap::Args;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::{
    config::{Config, Draft},
    crawl::robots::product_token,
    extract::{self, Extractor, language},
    filter::{Key, Subject},
    fingerprint::{Digest, Fingerprinter, Recipe, Seed},
    input::{Chunks, Content, Documents, Input},
    page::{Lang, NormalUrl, Page, Timestamp, UrlOptions},
};

use super::exit::{Exit, Failure, mention};

/// What is read.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// JSON lines, HTML files or directories of them; standard input (JSON lines) if none is given
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// How it is read and judged.
#[derive(Debug, Args)]
pub(super) struct Settings {
    /// Take the options of this configuration; its seeds do not matter
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one key of the configuration, as in dedup.segment=ngrams
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Reads all documents, makes something of each on all cores, and hands it over in the order of the input, some at a time. What
/// cannot be read is told on standard error.
pub(super) fn in_chunks<T: Send>(
    files: Files,
    prepare: impl Fn(Input) -> T + Sync,
    mut take: impl FnMut(Vec<T>) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for chunk in Chunks::new(Documents::new(files.files)) {
        let prepared: Vec<_> = chunk.into_par_iter().map(|item| item.map(&prepare)).collect();
        let mut documents = Vec::with_capacity(prepared.len());
        for item in prepared {
            match item {
                Ok(document) => documents.push(document),
                Err(error) => {
                    mention(&error);
                    exit = Exit::Failed;
                }
            }
        }
        take(documents)?;
    }
    Ok(exit)
}

impl Settings {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let draft = match &self.config {
            Some(path) => Draft::read(path, &self.set)?,
            None => Draft::of_flags(&self.set)?,
        };
        Ok(draft.check_dedup()?)
    }
}

/// The recipe of fingerprints that nobody keeps: with the public seed, unless another is named.
pub(super) fn recipe(config: &Config) -> Recipe {
    config.dedup.recipe(config.dedup.seed.seed().unwrap_or(Seed::PUBLIC))
}

/// An extractor for whom the configuration names.
pub(super) fn extractor(config: &Config) -> Extractor {
    let token = product_token(&config.crawl.user_agent);
    let agent = (!token.is_empty()).then(|| token.to_owned());
    Extractor::new(extract::Options { agent, rules: config.extract.clone() })
}

/// What stands in a document, as the extractor sees it. A text is a document without title and links.
pub(super) fn extracted(
    extractor: &Extractor,
    input: Input,
) -> (extract::Document, Option<Digest>) {
    match input.content {
        Content::Text(text) => {
            let lang = language(&text);
            (
                extract::Document { text, lang, charset: "UTF-8", ..extract::Document::default() },
                None,
            )
        }
        Content::Html { body, charset } => {
            let digest = Digest::of(&body);
            let content_type = charset.map(|charset| format!("text/html; charset={charset}"));
            let page = Page { url: input.url, content_type, body, ..Page::default() };
            (extractor.extract(&page), Some(digest))
        }
    }
}

/// Turns documents into what is judged. Threads can share one.
#[derive(Debug)]
pub(super) struct Preparation {
    pub(super) extractor: Extractor,
    pub(super) fingerprinter: Fingerprinter,
    pub(super) urls: UrlOptions,
}

/// A document that is ready to be judged.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: String,
    pub(super) url: Option<String>,
    pub(super) subject: Subject,
}

impl Preparation {
    pub(super) fn new(config: &Config, recipe: Recipe) -> Self {
        Self {
            extractor: extractor(config),
            fingerprinter: Fingerprinter::new(recipe),
            urls: config.crawl.url_options(),
        }
    }

    pub(super) fn prepare(&self, mut input: Input) -> Prepared {
        let id = std::mem::take(&mut input.id);
        let url = input.url.as_ref().map(ToString::to_string);
        let key = match &input.url {
            Some(url) => NormalUrl::new(url, &self.urls)
                .map_or_else(|_| Key::of(url.as_str()), |url| Key::of(url.as_str())),
            None => Key::of(&id),
        };
        let at = input.at.unwrap_or_else(Timestamp::now);
        let (document, body) = extracted(&self.extractor, input);
        let subject = Subject {
            key,
            body,
            sketch: self.fingerprinter.sketch(&document.text),
            chars: u32::try_from(document.text.chars().count()).unwrap_or(u32::MAX),
            lang: document.lang.and_then(Lang::new),
            at,
        };
        Prepared { id, url, subject }
    }
}
