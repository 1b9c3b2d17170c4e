//! `pagesieve check` validates a configuration and prints it with all defaults; `pagesieve robots` shows what a robots.txt allows.

use std::{
    fs,
    io::{self, BufRead, Write},
    path::PathBuf,
};

use url::Url;

use super::{Exit, Failure, Out, Result, crawl::first_listed, exit::runtime, notify};
use crate::{
    config::{Config, Draft},
    crawl::{
        SeedProblem, check_seeds,
        robots::{Robots, product_token},
    },
    report::counted,
    state::UrlKind,
};

/// Seeds that a message names.
const NAMED: usize = 20;

/// Validate a configuration, and print it with all defaults
///
/// Checks everything that can be checked without a request, including seed files. Refuses seeds at addresses that are not public, and warns
/// of seeds that would not be fetched, and of those whose names cannot be resolved: looks up at most 1,000 names, for at most five seconds. The output is TOML and has the same
/// meaning, apart from passwords and headers, which are hidden.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A minimal configuration says who crawls and where to begin:

    [crawl]
    user_agent = \"examplebot/1.0 (+https://example.org/bot)\"

    [[seeds]]
    url = \"https://docs.example.org/\"

Examples:
    pagesieve check docs.toml
    pagesieve check docs.toml --set crawl.max_depth=3 --set politeness.delay=5s")]
pub(super) struct CheckArgs {
    /// The configuration
    config: PathBuf,
    /// Set one key, as in `crawl.max_depth=3`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Look up no names
    #[arg(long)]
    offline: bool,
}

pub(super) fn check(args: &CheckArgs, out: &mut Out) -> Result<Exit> {
    if first_listed(&args.config).is_some() {
        let list = args.config.display();
        let message = format!("{list} is a list of URLs, not a configuration");
        let help = format!(
            "`pagesieve crawl {list} --dry-run` says what a crawl of them would fetch first"
        );
        return Err(Failure::refused(Exit::Usage, message, help));
    }
    let config = Draft::read(&args.config, &args.set)?.check()?;
    warn_of_nothing(&config)?;
    check_addresses(&config, args.offline)?;
    let toml =
        toml::to_string_pretty(&config).expect("a configuration that was read can be written");
    out.write_all(toml.as_bytes()).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

/// Warns of budgets and patterns by which nothing would be fetched.
fn warn_of_nothing(config: &Config) -> Result<()> {
    let plan = config.clone().into_plan();
    if plan.crawl.max_pages == 0 {
        notify("warning: no page would be fetched, because crawl.max_pages is 0");
    }
    let (scope, roots) = plan.roots()?;
    for (number, (seed, (kind, urls))) in plan.seeds.iter().zip(&roots).enumerate() {
        if seed.max_pages == 0 {
            let source = &seed.source;
            notify(format_args!(
                "warning: no page of {source} would be fetched, because its max_pages is 0"
            ));
        }
        let what = if *kind == UrlKind::Sitemap { "sitemap" } else { "seed" };
        let excluded = urls.iter().filter(|url| scope.admit_seed(number, url, |_| false).is_err());
        for url in excluded.take(NAMED) {
            notify(format_args!(
                "warning: the {what} {url} would not be fetched: its `exclude` matches it"
            ));
        }
    }
    Ok(())
}

/// Refuses seeds that would never be connected to, and warns of those that cannot be found now.
fn check_addresses(config: &Config, offline: bool) -> Result<()> {
    let runtime = runtime()?;
    let problems = runtime.block_on(check_seeds(&config.clone().into_plan(), offline));
    // Look-ups that are late are not waited for.
    runtime.shutdown_background();
    let (refused, lost): (Vec<_>, Vec<_>) =
        problems?.into_iter().partition(|problem| problem.is_refused);
    let lines = |problems: &[SeedProblem]| {
        let named = problems.iter().take(NAMED);
        let lines = named.map(|SeedProblem { url, why, .. }| format!("\n  {url} ({why})"));
        lines.collect::<Vec<_>>().concat()
    };
    if !lost.is_empty() {
        let hosts = counted(lost.len(), "seed host");
        notify(format_args!("warning: {hosts} cannot be resolved now:{}", lines(&lost)));
    }
    if refused.is_empty() {
        return Ok(());
    }
    let hosts = counted(refused.len(), "seed host");
    let message = format!("{hosts} would never be connected to:{}", lines(&refused));
    let help =
        "permit private networks with `fetch.allow_private`, or map names with `fetch.resolve`";
    Err(Failure::refused(Exit::Usage, message, help))
}

/// Show what a robots.txt allows an agent to fetch
///
/// Prints one line per URL, separated by tabs: `allow` or `deny`, the URL, and the deciding rule with its line number (`-` if there is
/// none). A URL that cannot be parsed is denied with the reason, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve robots robots.txt examplebot https://example.org/private/
    pagesieve robots robots.txt 'examplebot/1.0 (+bot@example.org)' < urls.txt")]
pub(super) struct RobotsArgs {
    /// The robots.txt file
    file: PathBuf,
    /// The agent: a product token, or a whole User-Agent header that begins with one
    agent: String,
    /// The URLs; if none is given, they are read from standard input, one per line
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

pub(super) fn robots(args: &RobotsArgs, out: &mut Out) -> Result<Exit> {
    let file = fs::read(&args.file).map_err(Failure::read(&args.file))?;
    let rules = Robots::parse(&file, product_token(&args.agent));
    let mut exit = Exit::Done;
    let mut decide = |text: &str| {
        let line = match Url::parse(text) {
            Ok(url) => {
                let permission = rules.decide(&url);
                let verdict = if permission.allowed { "allow" } else { "deny" };
                let rule = permission.rule.map_or_else(|| "-".to_owned(), ToString::to_string);
                format!("{verdict}\t{text}\t{rule}")
            }
            Err(error) => {
                exit = Exit::Failed;
                format!("deny\t{text}\t{error}")
            }
        };
        writeln!(out, "{line}").map_err(Failure::Output)
    };
    args.urls.iter().try_for_each(|url| decide(url))?;
    if args.urls.is_empty() {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(Failure::read("standard input"))?;
            let url = String::from_utf8_lossy(line.trim_ascii());
            if !url.is_empty() {
                decide(&url)?;
            }
        }
    }
    Ok(exit)
}
