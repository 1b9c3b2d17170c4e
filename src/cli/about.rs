//! What the program prints about itself: completions for shells, manual pages, the schema of the configuration.

use std::{fs, io::Write, path::PathBuf, sync::LazyLock};

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Exit, Failure, Out, Result};
use crate::{config, fingerprint, state};

/// The version of the program, of its fingerprints and of its state.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (program, recipe, layout) = (env!("CARGO_PKG_VERSION"), fingerprint::RECIPE, state::LAYOUT);
    format!("{program} (recipe {recipe}, state layout {layout})")
});

/// Print a script that completes commands and options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    source <(pagesieve completions bash)    in ~/.bashrc
    pagesieve completions fish > ~/.config/fish/completions/pagesieve.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page of the program, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve man | man -l -
    pagesieve man ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write a page for each command into this directory
    directory: Option<PathBuf>,
}

/// Print the JSON schema of the configuration, for editors
///
/// Editors that know TOML (Even Better TOML, taplo) complete and check a configuration that begins with the line
/// `#:schema ./pagesieve.schema.json`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
    pagesieve schema > pagesieve.schema.json")]
pub(super) struct SchemaArgs {}

pub(super) fn completions(args: &CompletionsArgs, out: &mut Out) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pagesieve", &mut script);
    out.write_all(&script).map_err(Failure::Output)?;
    Ok(Exit::Done)
}

pub(super) fn man(args: &ManArgs, out: &mut Out) -> Result<Exit> {
    let Some(directory) = &args.directory else {
        clap_mangen::Man::new(Cli::command()).render(out).map_err(Failure::Output)?;
        return Ok(Exit::Done);
    };
    let write = |source| Failure::Write { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(write)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(write)?;
    Ok(Exit::Done)
}

pub(super) fn schema(_: &SchemaArgs, out: &mut Out) -> Result<Exit> {
    out.write_all(config::SCHEMA.as_bytes()).map_err(Failure::Output)?;
    Ok(Exit::Done)
}
