//! `pagesieve check`: validates a configuration and prints it with all defaults.

use std::{io::Write, path::PathBuf};

use super::{Exit, Failure, Out, Result};
use crate::config::Draft;

/// Validate a configuration, and print it with all defaults
///
/// Checks everything that can be checked without the network, including seed files. The output is TOML and has the same meaning.
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
pub(super) struct Args {
    /// The configuration
    config: PathBuf,
    /// Set one key, as in `crawl.max_depth=3`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let config = Draft::read(&args.config, &args.set)?.check()?;
    let toml =
        toml::to_string_pretty(&config).expect("a configuration that was read can be written");
    out.write_all(toml.as_bytes()).map_err(Failure::Output)?;
    Ok(Exit::Done)
}
