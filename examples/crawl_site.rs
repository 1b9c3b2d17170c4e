//! The crawler embedded in a program: crawls the host of a URL into a directory and prints the summary.
//!
//! `cargo run --release --example crawl_site -- https://example.org/ "my-crawler/1.0 (me@example.org)" runs/example`

use std::{env, error::Error, path::PathBuf};

use pagesieve::{
    crawl::{self, Control, Plan, fetch, politeness, scope::Seed},
    sink,
};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the summary is what the program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [url, user_agent, directory] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: crawl_site URL USER_AGENT DIRECTORY")?;
    let mut crawl = crawl::Options::default();
    // It must say how to reach whoever runs the crawl.
    crawl.user_agent = user_agent;
    crawl.max_pages = 1_000;
    let plan = Plan {
        name: "site".to_owned(),
        directory: PathBuf::from(directory),
        crawl,
        politeness: politeness::Options::default(),
        fetch: fetch::Options::default(),
        dedup: crawl::Dedup::default(),
        learn: pagesieve::learn::Options::default(),
        store: sink::Options::default(),
        extract: Vec::new(),
        // By default a list of seeds reaches over its host.
        seeds: vec![Seed::new(url.parse()?)],
    };
    // A token of its own could stop the crawl; the same call would continue it.
    let report = crawl::run(plan, Control::default()).await?;
    println!("{report}");
    Ok(())
}
