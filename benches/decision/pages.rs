//! The pages of the development data, and how they are fetched.

use std::{collections::HashMap, env, fs, path::PathBuf};

use bytes::Bytes;
use pagesieve::page::Page;
use reqwest::{Client, redirect};
use tokio::task::JoinSet;
use url::Url;

use super::Outcome;

/// Requests in flight.
const CONCURRENCY: usize = 64;

/// A line of `pages.jsonl`.
#[derive(serde::Deserialize)]
struct Line {
    path: String,
    lang: String,
}

pub(super) struct Pages {
    lines: Vec<Line>,
    bodies: HashMap<String, Bytes>,
}

impl Pages {
    /// `None` where there is no development data.
    pub(super) fn load() -> Outcome<Option<Self>> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
        let data = env::var_os("PAGESIEVE_DATA").map_or_else(|| beside.into(), PathBuf::from);
        let Ok(lines) = fs::read_to_string(data.join("pages.jsonl")) else { return Ok(None) };
        let lines = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Line>, _>>()?;
        let mut bodies = HashMap::new();
        for Line { path, .. } in &lines {
            bodies.insert(format!("/{path}"), fs::read(data.join("pages").join(path))?.into());
        }
        Ok(Some(Self { lines, bodies }))
    }

    pub(super) fn body(&self, path: &str) -> Option<Bytes> {
        self.bodies.get(path).cloned()
    }

    /// The paths of the pages in a language.
    pub(super) fn paths(&self, language: &str) -> Vec<&str> {
        let of_language = self.lines.iter().filter(|line| line.lang == language);
        of_language.map(|line| line.path.as_str()).collect()
    }
}

/// Fetches all pages with a client that is set as the crawler's, in the order in which they arrive.
pub(super) async fn fetch(address: &str, paths: &[&str]) -> Outcome<Vec<Page>> {
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(8)
        .user_agent("pagesieve-bench/1 (bench@example.org)")
        .build()?;
    let (mut paths, mut tasks, mut pages) = (paths.iter(), JoinSet::new(), Vec::new());
    loop {
        for path in paths.by_ref().take(CONCURRENCY - tasks.len()) {
            let url: Url = format!("http://{address}/{path}").parse()?;
            // Each site of the data has a host of its own.
            let of_site: Url = format!("http://{path}").parse()?;
            let client = client.clone();
            tasks.spawn(async move {
                let answer = client.get(url).send().await?.error_for_status()?;
                let body = answer.bytes().await?;
                reqwest::Result::Ok(Page {
                    url: Some(of_site),
                    content_type: Some("text/html".to_owned()),
                    body: body.into(),
                    ..Page::default()
                })
            });
        }
        let Some(ended) = tasks.join_next().await else { return Ok(pages) };
        pages.push(ended??);
    }
}

/// A line of a file of pages.
#[derive(serde::Deserialize)]
struct Given {
    url: Url,
    html: String,
}

/// The pages of a file with a JSON line for each.
pub(super) fn read(file: &str) -> Outcome<Vec<Page>> {
    let lines = fs::read_to_string(file)?;
    let given = lines.lines().map(serde_json::from_str::<Given>);
    let page = |Given { url, html }| Page {
        url: Some(url),
        content_type: Some("text/html; charset=utf-8".to_owned()),
        body: html.into_bytes(),
        ..Page::default()
    };
    Ok(given.map(|given| given.map(page)).collect::<Result<_, _>>()?)
}
