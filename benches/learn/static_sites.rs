//! Static sites of public repositories, served as GitHub Pages would: directories by their index pages, pages without their ending.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use pagesieve::crawl::scope::Reach;
use serde::Deserialize;
use url::Url;

use crate::{
    process::Outcome,
    world::{Answer, World},
};

/// A site of the manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticSite {
    host: String,
    repository: String,
    #[expect(dead_code, reason = "for people who fetch it")]
    commit: String,
    lang: String,
    /// The directory of the repository that is the site.
    #[serde(default)]
    root: String,
    /// Nobody has seen the site before the learner was finished.
    #[serde(default)]
    not_looked_at: bool,
}

#[derive(Deserialize)]
struct Manifest {
    site: Vec<StaticSite>,
}

/// The sites of this file, or of `static_sites.toml`.
pub(crate) fn manifest(file: Option<&Path>) -> Outcome<Vec<StaticSite>> {
    let text = match file {
        Some(file) => {
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        None => include_str!("static_sites.toml").to_owned(),
    };
    Ok(toml::from_str::<Manifest>(&text)?.site)
}

impl StaticSite {
    pub(crate) fn world(&self, directory: &Path) -> Outcome<World> {
        let root = directory.join(self.repository.replace('/', "+")).join(&self.root);
        let mut files = Vec::new();
        collect(&root, &mut files)?;
        files.sort();
        let numbers: HashMap<PathBuf, usize> =
            files.into_iter().enumerate().map(|(number, file)| (file, number)).collect();
        let mark = if self.not_looked_at { ", not looked at" } else { "" };
        let host = self.host.clone();
        Ok(World {
            name: format!("{host} ({}{mark})", self.lang),
            seeds: vec![format!("http://{host}/")],
            hosts: vec![host.clone()],
            reach: Reach::Host,
            pages: numbers.len(),
            answer: Box::new(move |_, target| {
                answer(&root, &numbers, &host, target).unwrap_or_else(Answer::missing)
            }),
        })
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    let unread = |error| format!("{}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(unread)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "html" || ending == "htm") {
            files.push(path);
        }
    }
    Ok(())
}

fn answer(
    root: &Path,
    numbers: &HashMap<PathBuf, usize>,
    host: &str,
    target: &str,
) -> Option<Answer> {
    let path = target.split('?').next()?;
    let decoded = Url::parse(&format!("file://{path}")).ok()?.to_file_path().ok()?;
    let file = root.join(decoded.strip_prefix("/").ok()?);
    let found = if path.ends_with('/') {
        file.join("index.html")
    } else if numbers.contains_key(&file) {
        file
    } else if file.is_dir() {
        return Some(Answer::redirect(format!("{path}/")));
    } else {
        let mut name = file.into_os_string();
        name.push(".html");
        name.into()
    };
    let number = *numbers.get(&found)?;
    let html = String::from_utf8_lossy(&fs::read(found).ok()?).into_owned();
    // The sites name themselves with https.
    let secure = format!("https://{host}/");
    Some(Answer::honest(number, html.replace(&secure, &format!("http://{host}/"))))
}
