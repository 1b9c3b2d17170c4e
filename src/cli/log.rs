//! What the program says of its work while it works.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub(super) struct Options {
    /// What to log: error, warn, info, debug, trace or off; with parts of the program apart, as in `warn,pagesieve::crawl=debug`
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", value_parser = directives)]
    log: String,
    /// How to log
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}

impl Options {
    /// Begins to log to standard error.
    pub(super) fn begin(&self) {
        // The parser warns of each table that a browser would mend otherwise: of pages, not of the run.
        let filter = EnvFilter::new(format!("html5ever=error,{}", self.log));
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr);
        // It fails only if a program that embeds this one logs already.
        drop(match self.log_format {
            Format::Text => log.try_init(),
            Format::Json => log.json().try_init(),
        });
    }
}

/// What the filter takes, but for a lone word that is no level: it would be taken for a part of the program.
fn directives(text: &str) -> Result<String, String> {
    let is_lone = |part: &&str| !part.contains(['=', '[']);
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    if let Some(word) = text.split(',').map(str::trim).filter(is_lone).find(|part| !is_level(part))
    {
        return Err(format!(
            "{word:?} is no level: write error, warn, info, debug, trace or off, and of a part of the program PART=LEVEL, as in pagesieve::crawl=debug"
        ));
    }
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
