//! Why a URL of a run was kept, dropped or not crawled.

use std::path::Path;

use super::{directory::STATE, error::CrawlError};
use crate::{
    fingerprint::Seed,
    page::{NormalUrl, UrlOptions},
    state::{Document, Reason, State, UrlRow, UrlState},
};

/// What a run knows of a URL.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its row: state, reason, depth.
    pub url: UrlRow,
    /// Where it was found first.
    pub referrer: Option<String>,
    /// Why its host is set aside, if it is.
    pub aside: Option<String>,
    /// What was found about it, if it was judged.
    pub document: Option<Document>,
    /// What it repeats, if it is a duplicate.
    pub matched: Option<Document>,
}

impl Account {
    /// Why it was skipped, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self.url.state {
            UrlState::Judged => None,
            UrlState::Skipped(reason) => Some(reason),
            UrlState::Queued if self.aside.is_some() => Some(Reason::Host),
            UrlState::Queued => Some(Reason::Pending),
        }
    }
}

/// The seed of a run's hashes, so that texts can be compared with its pages.
///
/// # Errors
/// If there is no run in the directory, or its state cannot be read.
pub fn run_seed(directory: &Path) -> Result<Seed, CrawlError> {
    let seed: Option<i64> = open(directory)?.meta("seed")?;
    seed.map(|seed| Seed(seed.cast_unsigned()))
        .ok_or_else(|| CrawlError::NoRun { path: directory.to_owned() })
}

/// What a run knows of a URL: `None` if it never heard of it. Redirects are not followed; the account of a redirecting URL says where
/// it leads.
///
/// # Errors
/// If there is no run in the directory, its state cannot be read, or `url` is none.
pub fn account(directory: &Path, url: &str) -> Result<Option<Account>, CrawlError> {
    let state = open(directory)?;
    let normal = NormalUrl::parse(url, &UrlOptions::default())?;
    let kept = NormalUrl::parse(url, &UrlOptions { tracking: Vec::new() })?;
    let found = match state.url(normal.as_str())? {
        Some(row) => Some(row),
        None => state.url(kept.as_str())?,
    };
    let Some(url) = found else { return Ok(None) };
    let referrer = url.referrer.map(|id| state.url_by_id(id)).transpose()?.flatten();
    let aside = state.hosts_aside()?.into_iter().find(|aside| aside.host == url.host);
    let judged = url.state == UrlState::Judged;
    let document = if judged { state.document_named(&url.url)? } else { None };
    let of = document.as_ref().and_then(|document| document.judgement.verdict.matched());
    let matched = of.map(|of| state.document(of.of)).transpose()?.flatten();
    Ok(Some(Account {
        referrer: referrer.map(|row| row.url),
        aside: aside.map(|aside| aside.to_string()),
        url,
        document,
        matched,
    }))
}

fn open(directory: &Path) -> Result<State, CrawlError> {
    let path = directory.join(STATE);
    if !path.is_file() {
        return Err(CrawlError::NoRun { path: directory.to_owned() });
    }
    Ok(State::read(&path)?)
}
