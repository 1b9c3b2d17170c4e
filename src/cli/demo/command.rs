//! `pagesieve demo`: serves the bundled pages on loopback, and crawls them.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use tokio_util::sync::CancellationToken;

use super::{NOTICES, Site, serve};
use crate::{
    cli::{
        Exit, Failure, Out,
        crawl::{runtime, tell, watched},
        progress::{Show, say},
    },
    config::Draft,
    crawl::{self, Plan},
    report::Report,
};

/// The notices of the pages' licences, which also mark the directory as a demo's.
const NOTICES_FILE: &str = "NOTICES.md";
/// The configuration of the demo.
const CONFIG: &str = include_str!("../../../config/demo.toml");

/// Serve bundled pages on loopback, crawl them, and show what comes of it
///
/// Real documentation pages: two versions each of a database's manual and of an office suite's help, in English and Chinese, under
/// several host names, with a mirror. Nothing but the loopback interface is used. An earlier demo in the same directory is replaced.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Where the run is kept
    #[arg(long, value_name = "DIR", default_value = "runs/demo")]
    out: PathBuf,
    /// How progress is shown on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Show,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    if !is_ours(&args.out) {
        return Err(Failure::NoDemo { path: args.out.clone() });
    }
    crawl::delete_run(&args.out)
        .map_err(|source| Failure::Delete { path: args.out.clone(), source })?;
    let write = |source| Failure::Write { path: args.out.clone(), source };
    fs::create_dir_all(&args.out).map_err(write)?;
    fs::write(args.out.join(NOTICES_FILE), NOTICES).map_err(write)?;
    let (report, exit) = runtime()?.block_on(crawl_site(args))?;
    tell(&report, &args.out, out)?;
    Ok(exit)
}

/// Whether the directory is empty or holds an earlier demo: nothing else is replaced.
fn is_ours(directory: &Path) -> bool {
    let is_free = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() != ErrorKind::NotADirectory,
    };
    is_free || directory.join(NOTICES_FILE).exists()
}

async fn crawl_site(args: &Args) -> Result<(Report, Exit), Failure> {
    let (site, stop) = (Site::unpack()?, CancellationToken::new());
    let hosts: Vec<_> = Site::hosts().collect();
    let server = serve(site, stop.clone()).await?;
    say(format_args!("serving {} on {}", hosts.join(", "), server.address()));
    let report = watched(plan(args, &hosts, server.address())?, args.progress).await;
    stop.cancel();
    server.stopped().await;
    report
}

fn plan(args: &Args, hosts: &[&str], address: std::net::SocketAddr) -> Result<Plan, Failure> {
    let mut draft = Draft::parse("config/demo.toml".as_ref(), CONFIG.to_owned(), &[])?;
    let names = hosts.iter().map(|&host| (host.to_owned(), address));
    draft.config.fetch.resolve.extend(names);
    draft.config.output = Some(args.out.clone());
    Ok(draft.check()?.into_plan())
}
