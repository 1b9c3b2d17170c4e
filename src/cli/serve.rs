//! `pagesieve serve`: the filter over HTTP.

use std::{
    env, fs,
    net::{SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use tokio::{
    net::TcpListener,
    sync::{Mutex, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    Exit, Failure, Result,
    document::{Settings, Window, preparation, window},
    exit::{next_signal, runtime},
    notify,
};
use crate::{
    config::Config,
    crawl::{Control, Plan, Progress, SlowHosts},
    live::{Shown, serve as show},
    report::End,
    serve::{self, Limits, Options, ServeError},
    state::Home,
};

/// The variable that has the token.
const TOKEN: &str = "PAGESIEVE_TOKEN";

/// Judge documents over HTTP
///
/// POST a document or an array of them to /v1/judge, or lines to /v1/judge.ndjson: the same documents and decisions as those of `filter`.
/// A decision is durable when it is answered. /openapi.json describes all routes, /metrics is for Prometheus. A signal ends the service
/// within ten seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
    pagesieve serve --state seen.db
    curl -d '{\"id\": 1, \"text\": \"The tide.\"}' http://127.0.0.1:8040/v1/judge
    PAGESIEVE_TOKEN=secret pagesieve serve --state seen.db --listen 0.0.0.0:8040")]
pub(super) struct Args {
    /// The file of the window; it is created if there is none. `:memory:` forgets the window at the end. Or a PostgreSQL server, on which several
    /// services share a window: `postgres://USER@HOST/DATABASE#NAME`
    #[arg(long, value_name = "FILE|ADDRESS", value_parser = window)]
    state: Window,
    /// The address or host name and the port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8040", value_parser = addresses)]
    listen: Listen,
    /// Require the token in the first line of this file: `Authorization: Bearer TOKEN`
    ///
    /// The variable `PAGESIEVE_TOKEN` has the same meaning. An address that others can reach requires a token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    settings: Settings,
}

/// The addresses that a name stands for.
#[derive(Clone, Debug)]
pub(super) struct Listen(Vec<SocketAddr>);

pub(super) fn addresses(text: &str) -> Result<Listen, String> {
    let help = "write HOST:PORT, such as 127.0.0.1:8040, [::1]:8040 or localhost:8040";
    match text.to_socket_addrs().map(Vec::from_iter) {
        Ok(found) if !found.is_empty() => Ok(Listen(found)),
        Ok(_) => Err(format!("the name has no address: {help}")),
        Err(error) => Err(format!("{error}: {help}")),
    }
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let config = args.settings.draft(&Config::default())?.check_dedup()?;
    let token = token(args.token_file.as_deref())?;
    let help = "set PAGESIEVE_TOKEN or --token-file, or listen on 127.0.0.1";
    check_open(&args.listen, token.as_deref(), "use the filter", help)?;
    let limits = &args.limits;
    let all = [limits.queue, limits.max_batch, limits.max_body, limits.connections];
    if limits.max_batch > limits.queue || all.contains(&0) {
        return Err(Failure::refused(
            Exit::Usage,
            "--queue must be at least --max-batch, and no limit can be 0".to_owned(),
            "raise --queue or lower --max-batch; --help shows the defaults",
        ));
    }
    // What is kept in no file of the user is in one that is removed at the end.
    let home = (!matches!(args.state, Window::File(_))).then(Home::make).transpose()?;
    let in_home = || home.as_ref().map(Home::path).unwrap_or_default();
    let (state, shared, shown) = match &args.state {
        Window::File(path) => (path.clone(), None, path.clone()),
        Window::Memory => (in_home(), None, in_home()),
        Window::Shared(address) => {
            (in_home(), Some((**address).clone()), address.to_string().into())
        }
    };
    let options =
        Options { state, shared, filter: config.dedup.filter(), token, limits: limits.clone() };
    let (stopping, listen) = (CancellationToken::new(), args.listen.0.clone());
    let served = runtime()?.block_on(async {
        let prepare = |documents| preparation(&config, documents);
        let listening = |address| notify(format_args!("listening on http://{address}"));
        let (done, stop) = (CancellationToken::new(), stopping.clone());
        let signals = done.run_until_cancelled(async {
            let exit = next_signal().await;
            notify("stopping");
            stop.cancel();
            exit
        });
        let serving = async {
            let served = serve::run(listen, options, prepare, listening, stopping.clone()).await;
            done.cancel();
            served
        };
        let (served, exit) = tokio::join!(serving, signals);
        served.map(|()| exit.unwrap_or(Exit::Done))
    });
    served.map_err(|error| match error {
        ServeError::State(source) => Failure::State { path: shown, source },
        ServeError::Listen { addresses, source } => {
            Failure::Listen { address: addresses[0], source }
        }
    })
}

/// Refuses an address that others reach, without a token.
fn check_open(listen: &Listen, token: Option<&str>, what: &str, help: &str) -> Result<()> {
    let is_open = |address: &&SocketAddr| !address.ip().is_loopback();
    match listen.0.iter().find(is_open).filter(|_| token.is_none()) {
        None => Ok(()),
        Some(address) => {
            let message = format!("anybody who reaches {address} could {what}");
            Err(Failure::refused(Exit::Usage, message, help))
        }
    }
}

/// Shows a crawl on a live page until it has ended. Returns what controls it, also from the page.
pub(super) async fn show_live(
    plan: &Plan,
    listen: &Listen,
    control: Control,
    progress: watch::Receiver<Progress>,
    (end, ended): (Arc<OnceLock<Option<End>>>, CancellationToken),
    tasks: &mut JoinSet<()>,
) -> Result<Control> {
    let token = token(None)?;
    let help = "set PAGESIEVE_TOKEN, or listen on 127.0.0.1";
    check_open(listen, token.as_deref(), "see the crawl", help)?;
    let failed = |source| Failure::Listen { address: listen.0[0], source };
    let listener = TcpListener::bind(&*listen.0).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (pause, paused) = watch::channel(false);
    let (name, directory) = (plan.name.clone(), plan.directory.clone());
    let ((slowest, slow), stop) = (watch::channel(SlowHosts::default()), control.stop.clone());
    let report = Mutex::default();
    let shown = Shown { name, directory, progress, slow, end, pause, stop, token, report };
    tasks.spawn(show(listener, shown, ended));
    notify(format_args!("live page: http://{address}/"));
    Ok(control.with_pause(paused).with_slow(slowest))
}

/// The token of the file, or of the environment.
fn token(file: Option<&Path>) -> Result<Option<String>> {
    let (token, from) = match file {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(Failure::read(path))?;
            (text.lines().next().unwrap_or_default().trim().to_owned(), path.display().to_string())
        }
        None => match env::var(TOKEN) {
            Ok(token) => (token, TOKEN.to_owned()),
            Err(_) => return Ok(None),
        },
    };
    if token.is_empty() {
        let help = "put a token there, for instance of `openssl rand -hex 32`";
        return Err(Failure::refused(Exit::Usage, format!("{from} has no token"), help));
    }
    if !token.chars().all(|c| matches!(c, ' '..='~') && c != ';') {
        let message = format!("the token of {from} has characters that no cookie carries");
        let help = "take one of letters and digits, for instance of `openssl rand -hex 32`";
        return Err(Failure::refused(Exit::Usage, message, help));
    }
    Ok(Some(token))
}
