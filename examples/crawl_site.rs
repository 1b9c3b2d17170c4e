//! The crawler embedded in a program: crawls the host of a URL into a directory and prints the summary.
//!
//! `cargo run --release --example crawl_site -- https://example.org/ "my-crawler/1.0 (me@example.org)" runs/example`

use std::{env, error::Error};

use pagesieve::crawl::{self, Control, Plan, scope::Seed};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the summary is what the program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [url, user_agent, directory] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: crawl_site URL USER_AGENT DIRECTORY")?;
    // By default a list of seeds reaches over its host.
    let mut plan = Plan::new("site", directory, vec![Seed::new(url.parse()?)]);
    // It must say how to reach whoever runs the crawl.
    plan.crawl.user_agent = user_agent;
    plan.crawl.max_pages = 1_000;
    // A token of its own could stop the crawl; the same call would continue it.
    let report = crawl::run(plan, Control::default()).await?;
    println!("{report}");
    Ok(())
}
