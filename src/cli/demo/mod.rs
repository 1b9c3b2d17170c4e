//! `pagesieve demo`: serves bundled pages on loopback, and crawls them.

mod web;

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

pub use web::{NOTICES, Server, Site, serve};

use super::{
    Exit, Failure, Out, Result,
    crawl::run_plan,
    notify,
    progress::Show,
    signals::{next_signal, runtime},
};
use crate::{
    config::Draft,
    crawl,
    report::{HTML, Report, Warning},
};

/// The licences of the pages. The file also marks a directory as that of a demo.
const NOTICES_FILE: &str = "NOTICES.md";
/// The configuration of the demo.
const CONFIG: &str = include_str!("../../../config/demo.toml");

/// Serve bundled pages on loopback, crawl them, and write a report
///
/// The pages are real documentation: two versions each of a database's manual and of an office suite's help, in English and Chinese,
/// under several host names, with a mirror. Uses only the loopback interface. Replaces an earlier demo in the same directory.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run directory
    #[arg(long, value_name = "DIR", default_value = "runs/demo")]
    out: PathBuf,
    /// Serve the report and the pages that it links to, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// How to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Show,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    if !is_replaceable(&args.out) {
        let message = format!("{} has files that are not of a demo", args.out.display());
        return Err(Failure::refused(Exit::Usage, message, "choose another directory with --out"));
    }
    crawl::delete_run(&args.out)
        .map_err(|source| Failure::Delete { path: args.out.clone(), source })?;
    let write = |source| Failure::Write { path: args.out.clone(), source };
    fs::create_dir_all(&args.out).map_err(write)?;
    fs::write(args.out.join(NOTICES_FILE), NOTICES).map_err(write)?;
    runtime()?.block_on(async {
        let server = serve(Site::unpack().map_err(Failure::Demo)?).await.map_err(Failure::Demo)?;
        let (report, exit) = crawl_site(args, &server).await?;
        print_result(report, &args.out, out)?;
        if args.serve && exit == Exit::Done {
            server.show(&args.out);
            notify(format_args!(
                "the report with links that work: http://{} (Ctrl-C ends)",
                server.address
            ));
            next_signal().await;
        }
        Ok(exit)
    })
}

/// Prints the summary. That hosts repeat others and link to pages that are not bundled is as it should be.
fn print_result(mut report: Report, directory: &Path, out: &mut Out) -> Result<()> {
    report.counts.skipped.clear();
    let (repeated, warnings): (Vec<_>, Vec<_>) =
        report.warnings.into_iter().partition(|warning| matches!(warning, Warning::Mirror { .. }));
    report.warnings = warnings;
    write!(out, "{report}").map_err(Failure::Output)?;
    if !repeated.is_empty() {
        writeln!(out, "\nThe filter has found the mirror and the other versions:")
            .map_err(Failure::Output)?;
    }
    for warning in repeated {
        if let Warning::Mirror { host, pages, duplicates } = warning {
            let line =
                format!("  {host:<24} {duplicates:>3} of {pages:>3} pages repeat other hosts");
            writeln!(out, "{line}").map_err(Failure::Output)?;
        }
    }
    let page = directory.join(HTML);
    writeln!(out, "\nreport: {}", page.display()).map_err(Failure::Output)?;
    // What was printed is read while the pages are served.
    out.flush().map_err(Failure::Output)
}

/// Whether the directory is empty or has an earlier demo.
fn is_replaceable(directory: &Path) -> bool {
    let is_free = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() != ErrorKind::NotADirectory,
    };
    is_free || directory.join(NOTICES_FILE).exists()
}

async fn crawl_site(args: &Args, server: &Server) -> Result<(Report, Exit)> {
    let (hosts, address): (Vec<_>, _) = (Site::hosts().collect(), server.address);
    notify(format_args!("serving {} on {address}", hosts.join(", ")));
    let mut draft = Draft::parse("config/demo.toml".as_ref(), CONFIG.to_owned(), &[])?;
    draft.config.fetch.resolve.extend(hosts.iter().map(|&host| (host.to_owned(), address)));
    draft.config.output = Some(args.out.clone());
    run_plan(draft.check()?.into_plan(), args.progress).await
}
