//! The server: the manual under any host name, and on each page a few sentences of its own.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    fs::{self, File},
    io::Read,
    path::Path,
    sync::Once,
};

use bytes::Bytes;
use regex::{Captures, Regex};
use tokio::net::TcpListener;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Outcome,
    process::say,
    serve::{self, Reply},
};

/// The pages, by path.
pub(super) struct Manual {
    pub(super) origin: &'static str,
    /// The name of the page in each directory from which following links reaches all of it.
    pub(super) start: &'static str,
    pub(super) pages: BTreeMap<String, String>,
}

impl Manual {
    pub(super) fn load() -> Outcome<Self> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
        let data = env::var_os("PAGESIEVE_DATA").unwrap_or_else(|| beside.into());
        let root = Path::new(&data).join("pages/pgdoc");
        let (origin, start, pages) = if root.is_dir() {
            ("PostgreSQL manual of the shared test data", "/index.html", read_directory(&root)?)
        } else {
            (
                "PAGESIEVE_DATA is absent: PostgreSQL manual of the demo",
                "/tutorial.html",
                read_archive()?,
            )
        };
        let mut manual = Self { origin, start, pages };
        manual.turn_dead_links()?;
        Ok(manual)
    }

    /// Only part of the manual is here. A link to elsewhere would be a request that only the crawl makes: it leads to the start instead.
    fn turn_dead_links(&mut self) -> Outcome<()> {
        let link = Regex::new(r#"href="([^":/]+\.html)"#)?;
        let known: HashSet<String> = self.pages.keys().cloned().collect();
        for (path, page) in &mut self.pages {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let turned = link.replace_all(page, |link: &Captures| {
                let known = known.contains(&format!("{directory}/{}", &link[1]));
                if known { link[0].to_owned() } else { format!("href=\"{directory}{}", self.start) }
            });
            *page = turned.into_owned();
        }
        Ok(())
    }

    /// The page at a host, with a few sentences of its own.
    fn at(&self, host: &str, path: &str) -> Option<Bytes> {
        let page = self.pages.get(path)?;
        let (content, end) = page.split_at(page.rfind("</body>").unwrap_or(page.len()));
        Some(format!("{content}<p>{}</p>{end}", sentences(&format!("{host}{path}"))).into())
    }
}

/// The pages below a directory, by their path in it.
fn read_directory(root: &Path) -> Outcome<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root)?.display();
                pages.insert(format!("/{name}"), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(pages)
}

/// The pages that the demo carries.
fn read_archive() -> Outcome<BTreeMap<String, String>> {
    let packed = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/demo/pages.tar.zst"))?;
    let mut pages = BTreeMap::new();
    for entry in tar::Archive::new(zstd::Decoder::new(packed)?).entries()? {
        let mut entry = entry?;
        let path = format!("/{}", entry.path()?.display());
        if path.starts_with("/postgresql-") {
            let mut page = String::new();
            entry.read_to_string(&mut page)?;
            pages.insert(path, page);
        }
    }
    Ok(pages)
}

/// Some sentences that no other URL has.
fn sentences(url: &str) -> String {
    let mut state = xxh3_64(url.as_bytes());
    let mut word = || {
        // Knuth's linear congruential generator (MMIX).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut sentence = || (0..15).map(|_| word()).collect::<Vec<_>>().join(" ") + ". ";
    (0..4).map(|_| sentence()).collect()
}

/// Serves the manual. Says where it listens, then when it is asked for the first time.
pub(super) async fn serve() -> Outcome<()> {
    let (manual, asked) = (Manual::load()?, Once::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(&listener.local_addr()?.to_string())?;
    let reply = move |host: &str, path: &str| {
        asked.call_once(|| drop(say("asked")));
        manual.at(host, path).map_or(Reply::Missing, Reply::Page)
    };
    serve::serve(listener, reply).await
}

const WORDS: [&str; 64] = [
    "amber", "anchor", "autumn", "barley", "basket", "beacon", "bridge", "bronze", "candle",
    "canyon", "cedar", "chimney", "cinder", "clover", "copper", "cradle", "dolphin", "drummer",
    "eagle", "ember", "falcon", "feather", "ferry", "forest", "fountain", "garden", "glacier",
    "granite", "hammer", "harbour", "harvest", "hazel", "island", "ivory", "jasmine", "kettle",
    "lantern", "lemon", "linen", "marble", "meadow", "mirror", "monsoon", "needle", "orchard",
    "otter", "paper", "pepper", "pigeon", "prairie", "quarry", "raven", "ribbon", "saddle",
    "saffron", "shadow", "silver", "thimble", "thunder", "timber", "tunnel", "velvet", "willow",
    "winter",
];
