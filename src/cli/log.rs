//! What the program says of its work while it works.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub(super) struct Options {
    /// What to log: error, warn, info, debug or trace, or for parts of the program, as in `warn,pagesieve::crawl=debug`
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
        let filter = EnvFilter::new(&self.log);
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

fn directives(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
