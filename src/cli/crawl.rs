//! `pagesieve crawl`: runs a crawl, or continues it.

use std::{
    cell::Cell,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::{
    Exit, Failure, Out, counted,
    progress::{self, Show, say},
    signals::stop_on_signals,
};
use crate::{
    config::Draft,
    crawl::{self, Control, Plan, Progress},
    report::{End, HTML, Report},
};

/// Crawl as a configuration says, or continue that crawl
///
/// The run directory holds everything. Running the same command again continues a run that was interrupted, or that ended at a
/// budget which has been raised since; a finished run prints its summary again. Ctrl-C brings what is in flight to its end; a
/// second one ends at once, and nothing is lost either.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve crawl docs.toml --dry-run
    pagesieve crawl docs.toml
    pagesieve crawl docs.toml --set crawl.max_pages=500 --out docs-again")]
pub(super) struct Args {
    /// The configuration
    config: PathBuf,
    /// The run directory, in place of the configuration's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set one key of the configuration, as in `crawl.max_depth=3`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Read robots.txt and sitemaps, fetch no page, and print what would be fetched and why
    #[arg(long, conflicts_with = "fresh")]
    dry_run: bool,
    /// Delete an earlier run in the same directory, and start over
    #[arg(long)]
    fresh: bool,
    /// Do not ask before deleting
    #[arg(long, requires = "fresh")]
    yes: bool,
    /// How progress is shown on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Show,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let mut plan = Draft::read(&args.config, &args.set)?.check()?.into_plan();
    if let Some(directory) = &args.out {
        plan.directory.clone_from(directory);
    }
    if args.dry_run {
        return dry_run(&plan, out);
    }
    if args.fresh && !start_over(&plan.directory, args.yes)? {
        return Ok(Exit::Usage);
    }
    let directory = plan.directory.clone();
    let (report, exit) = runtime()?.block_on(watched(plan, args.progress))?;
    tell(&report, &directory, out)?;
    if report.end == End::Interrupted {
        say("run the same command again to go on");
    }
    Ok(exit)
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)
}

/// Runs a plan to its end, showing progress; a signal stops it, and decides how the process ends.
pub(super) async fn watched(plan: Plan, show: Show) -> Result<(Report, Exit), Failure> {
    let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
    let stopped = Cell::new(Exit::Interrupted);
    let (progress, watch) = tokio::sync::watch::channel(Progress::default());
    let control = Control { stop: stop.clone(), progress: Some(progress) };
    let crawl = async {
        let report = crawl::run(plan, control).await;
        ended.cancel();
        report
    };
    let signals = ended.run_until_cancelled(stop_on_signals(stop, &stopped));
    let (report, (), _) = tokio::join!(crawl, progress::show(show, watch), signals);
    let report = report?;
    let exit = if report.end == End::Interrupted { stopped.get() } else { Exit::Done };
    Ok((report, exit))
}

/// Prints the summary of a run and where its report lies.
pub(super) fn tell(report: &Report, directory: &Path, out: &mut Out) -> Result<(), Failure> {
    let page = directory.join(HTML);
    write!(out, "{report}\nreport: {}\n", page.display()).map_err(Failure::Output)
}

/// Prints what would be fetched, a URL a line.
fn dry_run(plan: &Plan, out: &mut Out) -> Result<Exit, Failure> {
    let forecast = runtime()?.block_on(crawl::dry_run(plan))?;
    for entry in &forecast.urls {
        writeln!(out, "{entry}").map_err(Failure::Output)?;
    }
    let fetched = forecast.urls.iter().filter(|entry| entry.is_fetched()).count();
    let all = counted(forecast.urls.len() as u64, "URL");
    say(format_args!("{fetched} of {all} would be fetched first; no page was"));
    if forecast.queued > 0 {
        let queued = counted(forecast.queued, "queued URL");
        say(format_args!("the run would go on with {queued}, as far as its budgets allow"));
    }
    Ok(Exit::Done)
}

/// Deletes an earlier run, if that is wanted. Only files that a run writes are deleted.
fn start_over(directory: &Path, yes: bool) -> Result<bool, Failure> {
    if !crawl::is_run(directory) {
        return Ok(true);
    }
    if !yes && !is_agreed(directory)? {
        say(format_args!(
            "nothing was deleted; say --yes to delete the run in {}",
            directory.display()
        ));
        return Ok(false);
    }
    crawl::delete_run(directory)
        .map_err(|source| Failure::Delete { path: directory.to_owned(), source })?;
    Ok(true)
}

/// Asks on a terminal; elsewhere nobody can answer.
fn is_agreed(directory: &Path) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let ask = || {
        let mut errors = io::stderr().lock();
        write!(errors, "Delete the run in {}? [y/N] ", directory.display())?;
        errors.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    };
    ask().map_err(|source| Failure::Read { path: "standard input".into(), source })
}
