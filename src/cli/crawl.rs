//! `pagesieve crawl` runs or continues a crawl, of a configuration or of URLs with the defaults of all keys and a contact; `pagesieve report`
//! writes its report again.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{self, BufRead, IsTerminal, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::{Arc, OnceLock},
    time::Duration,
};

use clap::ValueEnum;
use serde_json::json;
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;
use toml::Value;
use url::{Host, Url};

#[cfg(feature = "serve")]
use super::serve;
use super::{
    Exit, Failure, Out, Result, cluster,
    compare::compare,
    exit::{next_signal, runtime},
    notify,
    progress::{self, Show},
    write_line,
};
use crate::{
    config::{Draft, is_contact},
    crawl::{
        self, Control, CrawlError, Plan, Progress, Standing,
        fetch::Access,
        scope::{read_seed_file, seed_lines},
    },
    page::{NormalUrl, UrlOptions, thousands},
    report::{End, HTML, Report, Warning, counted, minute},
};

/// Crawl the sites of a configuration, or of URLs
///
/// The run directory holds everything. The same command again continues a run that was interrupted, or that stopped at a budget that you
/// have since raised; a finished run prints its summary again. Ctrl-C finishes the requests in flight; a second Ctrl-C stops at once. Nothing
/// is lost in either case.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
    pagesieve crawl https://docs.example.org/ --max-pages 1000
    pagesieve crawl https://example.org/docs/ --scope prefix --exclude '\\.pdf$'
    cat urls.txt | pagesieve crawl - --max-depth 0 --out listed
    pagesieve crawl docs.toml --dry-run
    pagesieve crawl docs.toml
    pagesieve crawl docs.toml --set crawl.max_pages=500 --out docs-again")]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// The run directory, instead of the configured one
    #[arg(short, long, value_name = "DIR", alias = "output")]
    out: Option<PathBuf>,
    /// Read robots.txt and sitemaps but no pages, and print what would be fetched and why
    #[arg(long, conflicts_with = "fresh")]
    dry_run: bool,
    /// Delete an earlier run in the same directory, and start over
    #[arg(long)]
    fresh: bool,
    /// Request known pages again and record changes: all of them, or those that are due by `crawl.revisit_after`
    #[arg(long, conflicts_with_all = ["dry_run", "fresh"])]
    revisit: bool,
    /// Request URLs again whose failure may have passed: all of them, also those that failed just now
    #[arg(long, conflicts_with_all = ["dry_run", "fresh"])]
    retry_failed: bool,
    /// Do not ask before deleting
    #[arg(long, requires = "fresh")]
    yes: bool,
    /// Print the summary as one JSON document: the counts, the warnings and the end of report.json
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,
    /// Crawl as one of several machines that share the crawl on this PostgreSQL server: `postgres://USER@HOST/DATABASE`
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["dry_run", "revisit"])]
    cluster: Option<String>,
    /// The member that the run directory is, from 0: it owns a part of the sites; `auto` takes a free one
    #[arg(long, value_name = "N", requires = "cluster", default_value = "auto", value_parser = member)]
    member: Wanted,
    /// The number of members, if this is the first one: more than machines, because it is fixed
    #[arg(long, value_name = "N", requires = "cluster", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    members: u32,
    /// How to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Show,
    /// Show the crawl on a web page while it runs; a token in `PAGESIEVE_TOKEN` lets the page pause and stop it
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8041", value_parser = serve::addresses)]
    live: Option<serve::Listen>,
}

/// A member, or any.
#[derive(Clone, Copy, Debug)]
struct Wanted(Option<u32>);

fn member(text: &str) -> Result<Wanted, String> {
    if text == "auto" {
        return Ok(Wanted(None));
    }
    let number = text.parse().map_err(|_| "write a number from 0, or auto".to_owned())?;
    Ok(Wanted(Some(number)))
}

/// Write the report of a run again, and print its summary; or compare two runs
///
/// With a second run, prints the counts of both, and the URLs that only one has or of which something else became.
///
/// While a crawl is running in the directory, prints only the summary as of its last commit and writes no files. Where nothing can be
/// written, prints only the summary too.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// The run directory
    #[arg(value_name = "RUN", required_unless_present = "cluster")]
    directory: Option<PathBuf>,
    /// Another run directory, to compare the first with
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    /// Name all URLs of a comparison, not the first 20 of each kind
    #[arg(long, requires = "other")]
    all: bool,
    /// Instead: print the counts of all members of the crawl at this address together, as JSON
    #[arg(long, value_name = "ADDRESS", conflicts_with = "directory")]
    cluster: Option<String>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit> {
    let mut plan = args.target.draft(args.out.as_deref())?.check()?.into_plan();
    if args.revisit {
        plan.crawl.revisit_after.get_or_insert(Duration::ZERO);
    }
    plan.retry_failed = args.retry_failed;
    if let Some(address) = &args.cluster {
        let address = cluster::read(address)?;
        plan.cluster = Some(crawl::Cluster::new(address, args.member.0, args.members));
    }
    if args.dry_run {
        return dry_run(&plan, out);
    }
    if args.fresh && !delete(&plan.directory, args.yes)? {
        return Ok(Exit::Usage);
    }
    say_what_is_continued(&plan);
    let directory = plan.directory.clone();
    let runtime = runtime()?;
    let run = runtime.block_on(async {
        let run = Running::new();
        #[cfg(feature = "serve")]
        let run = run.shown(&plan, args.live.as_ref()).await?;
        run.plan(plan, args.progress).await
    });
    // Look-ups of names that still run are not waited for.
    runtime.shutdown_background();
    let (report, exit) = run.inspect_err(|failure| {
        if matches!(failure, Failure::Crawl(error) if error.is_io()) {
            let is_begun = crawl::is_run(&directory);
            let kept = if is_begun { "what was committed is kept: " } else { "" };
            let directory = directory.display();
            notify(format_args!(
                "{kept}run the same command again when files in {directory} can be read and written"
            ));
        }
    })?;
    if args.json {
        write_line(out, &summary(&report, &directory)?)?;
    } else {
        print_summary(&report, &directory, out)?;
    }
    if matches!(report.end, End::Interrupted | End::Open) {
        notify("run the same command again to continue");
    }
    Ok(exit)
}

/// If the directory holds a run, says that it is continued, and with which budget. What is wrong with it, its start says.
fn say_what_is_continued(plan: &Plan) {
    let run = crawl::standing(&plan.directory);
    let Ok(run) = run else { return };
    if run.name != plan.name {
        return;
    }
    say_how_far(plan, &run);
    let seeds: Vec<_> = plan.seeds.iter().map(|seed| seed.source.to_string()).collect();
    let former: Vec<_> = run.seeds.into_iter().filter(|seed| !seeds.contains(seed)).collect();
    if let [first, more @ ..] = &former[..] {
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {}", counted(more, "other")),
        };
        notify(format_args!(
            "the last start had the seed {first}{more}: its pages count as seen, and its queued URLs are fetched as far as the present seeds admit them"
        ));
    }
}

/// Says whether a run is continued, and with which budget, or is finished.
fn say_how_far(plan: &Plan, run: &Standing) {
    let (most, counts) = (plan.crawl.max_pages, run.counts);
    let (directory, began) = (plan.directory.display(), minute(run.started.into()));
    let fetched = counted(counts.fetched, "page");
    if run.end == End::Done && plan.crawl.revisit_after.is_none() && counts.queued == 0 {
        notify(format_args!(
            "the run in {directory}, which began at {began}, is finished: {fetched} fetched; only what failed hours ago or is newly admitted is asked for (--revisit asks for known pages again, --fresh starts over, --out DIR begins another run)"
        ));
        return;
    }
    let budget = match most.saturating_sub(counts.fetched) {
        0 => format!(
            "the budget of {} is spent: raise it with --max-pages or crawl.max_pages",
            counted(most, "page")
        ),
        left => format!("up to {} by crawl.max_pages = {most}", counted(left, "more page")),
    };
    let suspended = match counts.suspended {
        0 => String::new(),
        urls => format!(", {} at suspended hosts", thousands(urls)),
    };
    notify(format_args!(
        "continuing the run in {directory}, which began at {began}: {fetched} fetched, {} queued{suspended}, {budget} (--fresh starts over, --out DIR begins another run)",
        thousands(counts.queued),
    ));
}

pub(super) fn report(args: &ReportArgs, out: &mut Out) -> Result<Exit> {
    if let Some(address) = &args.cluster {
        return cluster::report(address, out);
    }
    let directory = args.directory.as_deref().unwrap_or(Path::new(""));
    if let Some(other) = &args.other {
        return compare(out, [directory, other], args.all);
    }
    let (report, is_written) = crawl::report(directory)?;
    if is_written {
        print_summary(&report, directory, out)?;
        return Ok(Exit::Done);
    }
    write!(out, "{report}").map_err(Failure::Output)?;
    notify(match report.end {
        End::Running => "a crawl is running in this directory; it writes its report when it ends",
        _ => "the directory cannot be written, so its report stays as it is",
    });
    Ok(Exit::Done)
}

/// How long open pages may take to be sent the end.
const SHOWN_END: Duration = Duration::from_millis(500);

/// A crawl that is about to run.
pub(super) struct Running {
    control: Control,
    watch: watch::Receiver<Progress>,
    /// How it has ended: `None` with an error.
    end: Arc<OnceLock<Option<End>>>,
    ended: CancellationToken,
    /// What shows it. It ends with the crawl.
    tasks: JoinSet<()>,
}

impl Running {
    pub(super) fn new() -> Self {
        let (progress, watch) = watch::channel(Progress::default());
        let control = Control::default().with_progress(progress);
        let (end, ended) = (Arc::default(), CancellationToken::new());
        Self { control, watch, end, ended, tasks: JoinSet::new() }
    }

    /// The same, on a live page, if there is an address for it.
    #[cfg(feature = "serve")]
    async fn shown(mut self, plan: &Plan, listen: Option<&serve::Listen>) -> Result<Self> {
        if let Some(listen) = listen {
            let (watch, end) = (self.watch.clone(), (Arc::clone(&self.end), self.ended.clone()));
            let shown = serve::show_live(plan, listen, self.control, watch, end, &mut self.tasks);
            self.control = shown.await?;
        }
        Ok(self)
    }

    /// Runs a plan to its end and shows its progress. A signal stops it and decides the exit code.
    pub(super) async fn plan(self, plan: Plan, show: Show) -> Result<(Report, Exit)> {
        let Self { control, watch, end, ended, mut tasks } = self;
        let (stop, stopped) = (control.stop.clone(), Cell::new(Exit::Interrupted));
        // A member of a shared crawl may own no site that has pages.
        let is_shared = plan.cluster.is_some();
        let crawl = async {
            let report = crawl::run(plan, control).await;
            end.get_or_init(|| report.as_ref().ok().map(|report| report.end));
            ended.cancel();
            report
        };
        let signals = ended.run_until_cancelled(stop_on_signals(stop, &stopped));
        let (report, (), _) = tokio::join!(crawl, progress::show(show, watch), signals);
        // Open pages show the end.
        let shown = async { while tasks.join_next().await.is_some() {} };
        drop(timeout(SHOWN_END, shown).await);
        let report = report?;
        let exit = match report.end {
            End::Interrupted => stopped.get(),
            End::Nothing if is_shared => Exit::Done,
            _ => exit(&report),
        };
        Ok((report, exit))
    }
}

/// The exit code of a run.
fn exit(report: &Report) -> Exit {
    let is_unreachable = |warning: &Warning| matches!(warning, Warning::Unreachable { .. });
    match report.end {
        End::Interrupted => Exit::Interrupted,
        End::Nothing => Exit::Failed,
        End::Budget if report.counts.fetched == 0 => Exit::Failed,
        _ if report.counts.fetched == 0 && report.warnings.iter().any(is_unreachable) => {
            Exit::Failed
        }
        End::Open => Exit::Open,
        End::Done | End::Budget | End::Running => Exit::Done,
    }
}

/// The first signal stops the run in order and sets `stopped`; the second ends the process.
async fn stop_on_signals(stop: CancellationToken, stopped: &Cell<Exit>) {
    loop {
        let exit = next_signal().await;
        if stop.is_cancelled() {
            process::exit(exit as i32);
        }
        notify("stopping: finishing the requests in flight (a second signal stops at once)");
        stopped.set(exit);
        stop.cancel();
    }
}

/// Prints the summary of a run and the path of its report.
pub(super) fn print_summary(report: &Report, directory: &Path, out: &mut Out) -> Result<()> {
    let page = directory.join(HTML);
    write!(out, "{report}\nreport: {}\n", page.display()).map_err(Failure::Output)
}

/// The summary for programs: what `report.json` has about the whole run.
fn summary(report: &Report, directory: &Path) -> Result<serde_json::Value> {
    let mut all = serde_json::to_value(report).map_err(|error| Failure::Output(error.into()))?;
    let names = ["name", "end", "counts", "warnings", "started", "finished", "seconds"];
    let fields = names.map(|name| (name, all[name].take()));
    Ok(fields.into_iter().chain([("directory", json!(directory))]).collect())
}

/// Prints what would be fetched, one URL per line.
fn dry_run(plan: &Plan, out: &mut Out) -> Result<Exit> {
    let forecast = runtime()?.block_on(crawl::dry_run(plan))?;
    for entry in &forecast.urls {
        writeln!(out, "{entry}").map_err(Failure::Output)?;
    }
    let fetched = forecast.urls.iter().filter(|entry| entry.is_fetched()).count();
    let all = counted(forecast.urls.len(), "URL");
    notify(format_args!("{fetched} of {all} would be fetched first; no page was fetched"));
    if forecast.queued > 0 {
        let queued = counted(forecast.queued, "queued URL");
        notify(format_args!("the run would continue with {queued}, as far as its budgets allow"));
    }
    Ok(Exit::Done)
}

/// Deletes an earlier run, but only the files that a run writes. Returns false if the user does not agree.
fn delete(directory: &Path, yes: bool) -> Result<bool> {
    if !crawl::is_run(directory) {
        return Ok(true);
    }
    if !yes && !user_agrees(directory)? {
        let directory = directory.display();
        notify(format_args!("nothing was deleted; add --yes to delete the run in {directory}"));
        return Ok(false);
    }
    crawl::delete_run(directory)
        .map_err(|source| Failure::Delete { path: directory.to_owned(), source })?;
    Ok(true)
}

/// Asks the user, if standard input is a terminal.
fn user_agrees(directory: &Path) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut answer = String::new();
    drop(write!(io::stderr(), "Delete the run in {}? [y/N] ", directory.display()));
    io::stdin().read_line(&mut answer).map_err(Failure::read("standard input"))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The file of the contact, below the user's directory of configurations.
const CONTACT: &str = "pagesieve/contact";

/// What to crawl, and the keys that have an option of their own.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// The configuration; or one or more URLs, a file with a URL on each line, or `-` for standard input: their hosts are crawled with the defaults,
    /// into runs/HOST
    #[arg(required = true, value_name = "CONFIG|URL")]
    targets: Vec<PathBuf>,
    /// Who crawls, for the sites' owners: an email address or an http URL, if no user agent is configured (for URLs, asked once on a terminal, and
    /// kept)
    #[arg(long, value_name = "ADDRESS", value_parser = contact)]
    contact: Option<String>,
    /// Stop after this many pages
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// Follow at most this many links from a seed
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
    /// The minimum pause between two requests to a host, as in `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    delay: Option<Duration>,
    /// The whole User-Agent, instead of one with the contact
    #[arg(long, value_name = "TEXT", conflicts_with = "contact")]
    user_agent: Option<String>,
    /// A header for the hosts of the seeds, and no other; can be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// How far from the URLs pages may lie (for URLs)
    #[arg(long, value_name = "SCOPE", value_enum)]
    scope: Option<Scope>,
    /// Only URLs that this regular expression matches, or another one that is given so (for URLs)
    #[arg(long, value_name = "REGEX")]
    include: Vec<String>,
    /// No URLs that this regular expression matches; can be repeated (for URLs)
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// Set one key of the configuration, as in `crawl.max_depth=3`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// How far from the URLs pages may lie.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Scope {
    /// On the same name and port
    Host,
    /// In the same registrable domain
    Domain,
    /// Below the directory of the URL
    Prefix,
    /// Anywhere
    Any,
}

impl Target {
    /// The configuration, with the options applied. Its output is `out`, if there is one.
    pub(super) fn draft(&self, out: Option<&Path>) -> Result<Draft> {
        let (first, seeds) = self.seeds()?;
        let is_of_urls = first.is_some();
        let mut draft = if let Some(first) = first {
            self.draft_of(&first, seeds)?
        } else {
            if self.scope.is_some() || !self.include.is_empty() || !self.exclude.is_empty() {
                let message = "--scope, --include and --exclude are for URLs";
                let help = "a configuration has these keys in each of its [[seeds]]";
                return Err(Failure::refused(Exit::Usage, message.to_owned(), help));
            }
            self.draft_of_file(&self.targets[0])?
        };
        self.add_headers(&mut draft)?;
        if let Some(out) = out {
            draft.config.output = Some(out.to_owned());
        }
        if is_of_urls {
            let output = draft.config.output.as_deref().unwrap_or(Path::new("")).display();
            let user_agent = &draft.config.crawl.user_agent;
            notify(format_args!("crawling as {user_agent:?}; the run directory is {output}"));
        }
        Ok(draft)
    }

    /// The configuration in this file. A contact makes a user agent only if it has none.
    fn draft_of_file(&self, config: &Path) -> Result<Draft> {
        if let Some(url) = as_host(config).filter(|_| !config.exists()) {
            let message = format!("cannot read the configuration {}", config.display());
            let help = format!("did you mean {url}? A URL begins with https:// or http://");
            return Err(Failure::refused(Exit::Usage, message, help));
        }
        if crawl::is_run(config) {
            let run = config.display();
            let message = format!("{run} is the directory of a run, and no configuration");
            let help = format!(
                "continue it with what it was begun with: `pagesieve crawl CONFIG --out {run}`, or the URLs in place of CONFIG"
            );
            return Err(Failure::refused(Exit::Usage, message, help));
        }
        let mut draft = Draft::read(config, &self.flags())?;
        let agent = &mut draft.config.crawl.user_agent;
        match self.contact.as_deref() {
            Some(contact) if agent.is_empty() => *agent = user_agent(contact),
            Some(_) => notify(format_args!(
                "crawling as {agent:?}: --contact replaces no user agent that is configured"
            )),
            None => {}
        }
        Ok(draft)
    }

    /// What to crawl as tables of `[[seeds]]`, with the first URL; none if a configuration is named.
    fn seeds(&self) -> Result<(Option<String>, Vec<toml::Table>)> {
        let (mut first, mut seeds) = (None, Vec::new());
        for target in &self.targets {
            let (key, value, url) = if let Some(url) = as_url(target) {
                ("url", url.into(), url.to_owned())
            } else if target == Path::new("-") {
                let mut text = String::new();
                let read = io::stdin().read_to_string(&mut text);
                read.map_err(Failure::read("standard input"))?;
                let bad = |errors| {
                    let path = PathBuf::from("standard input");
                    Failure::from(CrawlError::SeedLines { path, errors })
                };
                read_seed_file(text.as_bytes(), &UrlOptions::default()).map_err(bad)?;
                let urls: Vec<Value> = seed_lines(&text).map(Value::from).collect();
                let first = urls.first().and_then(Value::as_str).map(str::to_owned);
                let none = || {
                    let message = "standard input has no URL".to_owned();
                    Failure::refused(Exit::Usage, message, "write one URL a line, with https://")
                };
                let first = first.ok_or_else(none)?;
                ("urls", urls.into(), first)
            } else if let Some(url) = first_listed(target) {
                let path = std::path::absolute(target).map_err(Failure::read(target))?;
                ("file", path.display().to_string().into(), url)
            } else if self.targets.len() > 1 {
                let message = format!(
                    "a crawl takes one configuration, or only URLs: {} is no URL, and no file that lists URLs",
                    target.display()
                );
                let help = "URLs begin with https:// or http://; a configuration names several in [[seeds]]";
                return Err(Failure::refused(Exit::Usage, message, help));
            } else {
                break;
            };
            first.get_or_insert(url);
            seeds.push(toml::Table::from_iter([(key.to_owned(), value)]));
        }
        Ok((first, seeds))
    }

    /// Sends the headers of the options to the hosts of the seeds.
    fn add_headers(&self, draft: &mut Draft) -> Result<()> {
        if self.header.is_empty() {
            return Ok(());
        }
        let headers: BTreeMap<_, _> = self.header.iter().cloned().collect();
        let plan = draft.config.clone().into_plan();
        let (_, roots) = plan.roots()?;
        let urls = roots.iter().flat_map(|(_, urls)| urls.iter().map(NormalUrl::root_url));
        let root_urls: BTreeSet<String> = urls.collect();
        for root_url in root_urls {
            let url = Url::parse(&root_url).expect("a root URL is a URL");
            draft.config.fetch.access.push(Access::new(url, headers.clone()));
        }
        Ok(())
    }

    /// The defaults with these URLs. The contact is that of the options, or one that was asked for, now or earlier.
    fn draft_of(&self, first: &str, mut seeds: Vec<toml::Table>) -> Result<Draft> {
        let scope = self.scope.and_then(|scope| scope.to_possible_value());
        for seed in &mut seeds {
            if let Some(scope) = &scope {
                seed.insert("scope".to_owned(), scope.get_name().into());
            }
            for (key, patterns) in [("include", &self.include), ("exclude", &self.exclude)] {
                seed.insert(key.to_owned(), patterns.clone().into());
            }
        }
        let config = [("name", name(first)?.into()), ("seeds", seeds.into())];
        let config = config.map(|(key, value): (&str, Value)| (key.to_owned(), value));
        let toml = toml::Table::from_iter(config).to_string();
        let mut draft = Draft::parse(Path::new("URL"), toml, &self.flags())?;
        if draft.config.crawl.user_agent.is_empty() {
            let contact = self.contact.clone().map_or_else(kept_contact, Ok)?;
            draft.config.crawl.user_agent = user_agent(&contact);
        }
        Ok(draft)
    }

    /// The options as `--set` flags; those that were written as such come last and count.
    fn flags(&self) -> Vec<String> {
        let quoted = |text: String| Value::from(text);
        let agent = self.user_agent.clone().map(quoted);
        let delay = self.delay.map(|delay| {
            quoted(humantime_serde::re::humantime::format_duration(delay).to_string())
        });
        let keys = [
            agent.map(|agent| format!("crawl.user_agent={agent}")),
            self.max_depth.map(|depth| format!("crawl.max_depth={depth}")),
            self.max_pages.map(|pages| format!("crawl.max_pages={pages}")),
            delay.map(|delay| format!("politeness.delay={delay}")),
        ];
        keys.into_iter().flatten().chain(self.set.iter().cloned()).collect()
    }
}

fn as_url(target: &Path) -> Option<&str> {
    let scheme = |url: &&str| {
        let start = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        start.starts_with("http://") || start == "https://"
    };
    target.to_str().filter(scheme)
}

/// The URL that a target without a scheme may mean: that of an address, of `localhost`, or of a name with a known suffix.
fn as_host(target: &Path) -> Option<Url> {
    let target = target.to_str()?;
    let url = Url::parse(&format!("http://{target}")).ok()?;
    match url.host()? {
        Host::Domain(name) if name != "localhost" => {
            let is_name = psl::suffix(name.as_bytes())?.is_known();
            is_name.then(|| Url::parse(&format!("https://{target}")).ok())?
        }
        _ => Some(url),
    }
}

/// The first URL of a file that lists URLs; `None` if it is none, as a configuration, which begins otherwise.
pub(super) fn first_listed(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let first = seed_lines(&text).next().filter(|first| as_url(Path::new(first)).is_some());
    first.map(str::to_owned)
}

fn header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':').filter(|(name, _)| !name.trim().is_empty());
    let (name, value) = parts.ok_or("write it as `Name: value`")?;
    let header = (name.trim().to_owned(), value.trim().to_owned());
    let nowhere = Url::parse("http://localhost").expect("a URL");
    Access::new(nowhere, BTreeMap::from([header.clone()])).header_map()?;
    Ok(header)
}

/// A URL with a host.
pub(super) fn absolute(url: &str) -> Result<Url> {
    let refused = |why: &str| {
        let help = "URLs are absolute, as in https://docs.example.org/";
        Failure::refused(Exit::Usage, format!("{url:?} is not a URL: {why}"), help)
    };
    let parsed = Url::parse(url).map_err(|error| refused(&error.to_string()))?;
    if parsed.has_host() { Ok(parsed) } else { Err(refused("it has no host")) }
}

/// The name of the run: the host, with the port if the URL has one.
fn name(url: &str) -> Result<String> {
    let parsed = absolute(url)?;
    let host = parsed.host_str().unwrap_or_default();
    Ok(parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}-{port}")))
}

fn contact(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_contact(text)
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || !c.is_ascii())
    {
        return Ok(text.to_owned());
    }
    Err("write an email address or an http URL, such as you@example.org".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime_serde::re::humantime::parse_duration(text);
    duration.map_err(|error| format!("{error}: write 500ms, 2s or 1m"))
}

fn user_agent(contact: &str) -> String {
    let plus = if contact.contains("://") { "+" } else { "" };
    concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")).to_owned()
        + &format!(" ({plus}{contact})")
}

/// The contact that was given earlier, or else is given now, if there is someone to ask.
fn kept_contact() -> Result<String> {
    let file = directory().map(|directory| directory.join(CONTACT));
    let kept = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    if let Some(kept) = kept.and_then(|text| contact(&text).ok()) {
        return Ok(kept);
    }
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    let given = if can_ask { ask(io::stdin().lock(), io::stderr().lock())? } else { None };
    let Some(given) = given else {
        let message = "a crawl needs a contact, so that the owner of a site can reach you";
        let help =
            "add --contact with an email address or an http URL: `--contact you@example.org`";
        return Err(Failure::refused(Exit::Usage, message.to_owned(), help));
    };
    if let Some(file) = file {
        let parent = file.parent().unwrap_or(&file);
        let saved =
            fs::create_dir_all(parent).and_then(|()| fs::write(&file, format!("{given}\n")));
        notify(match saved {
            Ok(()) => format!("the contact is kept in {}", file.display()),
            Err(error) => format!("cannot keep the contact in {}: {error}", file.display()),
        });
    }
    Ok(given)
}

/// Asks until the answer is a contact, or until there is no more answer.
fn ask(mut answers: impl BufRead, mut questions: impl Write) -> Result<Option<String>> {
    let question = "The owners of sites see who crawls them.\nYour email address, or the URL of a page about your crawl: ";
    loop {
        drop(write!(questions, "{question}").and_then(|()| questions.flush()));
        let mut answer = String::new();
        if answers.read_line(&mut answer).map_err(Failure::read("standard input"))? == 0 {
            return Ok(None);
        }
        match contact(&answer) {
            Ok(contact) => return Ok(Some(contact)),
            Err(why) => drop(writeln!(questions, "{why}")),
        }
    }
}

/// The user's directory of configurations.
fn directory() -> Option<PathBuf> {
    let named =
        |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let system = if cfg!(windows) { named("APPDATA") } else { named("XDG_CONFIG_HOME") };
    system.or_else(|| Some(env::home_dir()?.join(".config")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_the_host_and_port() {
        assert_eq!(name("https://Docs.Example.org/a").unwrap(), "docs.example.org");
        assert_eq!(name("http://127.0.0.1:8080/").unwrap(), "127.0.0.1-8080");
        assert!(name("http://").is_err());
    }

    #[test]
    fn a_host_without_a_scheme_is_known() {
        let meant = |target: &str| as_host(Path::new(target)).map(String::from);
        let local = meant("127.0.0.1:8111");
        assert_eq!(local.as_deref(), Some("http://127.0.0.1:8111/"));
        assert_eq!(meant("localhost").as_deref(), Some("http://localhost/"));
        assert_eq!(meant("docs.example.org/a").as_deref(), Some("https://docs.example.org/a"));
        for file in ["absent.toml", "configs/absent.toml", "../absent", "absent"] {
            assert_eq!(meant(file), None, "{file}");
        }
    }

    #[test]
    fn the_contact_is_asked_for_until_it_is_one() {
        let mut questions = Vec::new();
        let given = ask("nobody\n  a@b.org \n".as_bytes(), &mut questions).unwrap();
        assert_eq!(given.as_deref(), Some("a@b.org"));
        assert!(String::from_utf8(questions).unwrap().contains("you@example.org"));
        assert_eq!(ask("".as_bytes(), Vec::new()).unwrap(), None);
    }

    #[test]
    fn the_user_agent_names_the_contact() {
        assert!(user_agent("a@b.org").ends_with(" (a@b.org)"));
        assert!(user_agent("https://b.org/bot").ends_with(" (+https://b.org/bot)"));
        assert!(contact("https://b.org/bot\r\nX: y").is_err());
    }
}
