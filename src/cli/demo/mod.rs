//! `pagesieve demo`: serves bundled pages on loopback, and crawls them.
//!
//! The pages are two versions each of a database's manual and of an office suite's help, in the binary. So they have duplicates like the
//! real web: an older version on the same site, an older copy on another site, and an exact mirror. `make_archive.py` makes the archive;
//! `NOTICES.md` has the licences of the pages.

use std::{
    collections::HashMap,
    fs,
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{
        Method, StatusCode,
        header::{ALLOW, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION},
        uri::Authority,
    },
    response::Response,
};
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    Exit, Failure, Out, Result,
    crawl::Running,
    exit::{next_signal, runtime},
    notify,
    progress::Show,
};
use crate::{
    config::Draft,
    crawl,
    report::{HTML, JSON, Report, Warning},
    sink::{DUPLICATES, PAGES},
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
        if let Warning::Mirror { host, pages, duplicates, .. } = warning {
            let line =
                format!("  {host:<24} {duplicates:>3} of {pages:>3} pages are on other hosts too");
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
    Running::new().plan(draft.check()?.into_plan(), args.progress).await
}

/// A tar of pages, compressed with zstd.
static ARCHIVE: &[u8] = include_bytes!("pages.tar.zst");

/// Origin and licences of the bundled pages, as Markdown. They go wherever the pages or their texts go.
pub const NOTICES: &str = include_str!("NOTICES.md");

/// The hosts, in the order in which they are printed.
const HOSTS: [Host; 5] = [
    Host { name: "docs.postgresql.test", root: "/15/", files: "postgresql-15/", manual: &SQL },
    Host { name: "archive.postgresql.test", root: "/13/", files: "postgresql-13/", manual: &SQL },
    Host { name: "help.libreoffice.test", root: "/7.4/", files: "libreoffice-7.4/", manual: &HELP },
    Host { name: "libreoffice-help.test", root: "/7.0/", files: "libreoffice-7.0/", manual: &HELP },
    Host { name: "mirror.test", root: "/postgresql/15/", files: "postgresql-15/", manual: &SQL },
];

const SQL: Manual = Manual { start: "tutorial.html", robots: None };
const HELP: Manual = Manual {
    start: "zh-CN/text/swriter/guide/main.html",
    // Forbids the pages that are linked to but not bundled, nearly all in one directory.
    robots: Some(include_str!("robots.txt")),
};

/// A host of the demo.
struct Host {
    name: &'static str,
    /// The path of its files on the host.
    root: &'static str,
    /// Their directory in the archive.
    files: &'static str,
    manual: &'static Manual,
}

struct Manual {
    /// The page to redirect to instead of the title page, which is not bundled.
    start: &'static str,
    robots: Option<&'static str>,
}

/// The demo's hosts and pages, in memory.
#[derive(Debug)]
pub struct Site {
    /// Content by path in the archive.
    files: HashMap<String, Bytes>,
}

/// The run whose report is served at the addresses that are not of the demo's hosts, once there is one.
type Run = Arc<OnceLock<PathBuf>>;

/// The response to a request: its status, a header and the body.
type Parts = (StatusCode, (HeaderName, String), Bytes);

impl Site {
    /// Unpacks the bundled pages, less than 8 MB.
    ///
    /// # Errors
    ///
    /// If the archive in the binary is damaged.
    pub fn unpack() -> io::Result<Self> {
        let files = tar::Archive::new(zstd::Decoder::new(ARCHIVE)?)
            .entries()?
            .map(|entry| {
                let mut entry = entry?;
                let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                let mut content = Vec::new();
                entry.read_to_end(&mut content)?;
                Ok((path, content.into()))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { files })
    }

    /// The host names. They end in `.test` (RFC 6761), so that only `fetch.resolve` can map them.
    pub fn hosts() -> impl Iterator<Item = &'static str> {
        HOSTS.iter().map(|host| host.name)
    }

    /// The response of host `name` (without port, in lower case) to a request for `path`, if there is such a page.
    fn get(&self, name: &str, path: &str) -> Option<Parts> {
        let host = HOSTS.iter().find(|host| host.name == name)?;
        let Host { root, files, manual, .. } = host;
        Some(match (path.strip_prefix(root), path) {
            (Some("" | "index.html"), _) | (None, "/") => {
                (StatusCode::FOUND, (LOCATION, format!("{root}{}", manual.start)), Bytes::new())
            }
            (Some(page), _) => {
                let page = self.files.get(&format!("{files}{page}"))?.clone();
                (StatusCode::OK, (CONTENT_TYPE, HTML_TYPE.to_owned()), page)
            }
            (None, "/robots.txt") => {
                (StatusCode::OK, (CONTENT_TYPE, PLAIN_TYPE.to_owned()), manual.robots?.into())
            }
            _ => return None,
        })
    }
}

const HTML_TYPE: &str = "text/html; charset=utf-8";
const PLAIN_TYPE: &str = "text/plain; charset=utf-8";

/// A running server. Dropping it ends it, with all its connections.
#[derive(Debug)]
pub struct Server {
    /// Its address, to which every name of [`Site::hosts`] must resolve.
    pub address: SocketAddr,
    run: Run,
    _task: JoinSet<()>,
}

/// Serves `site` on a free port of 127.0.0.1.
///
/// # Errors
///
/// If no port is available.
pub async fn serve(site: Site) -> io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let mut task = JoinSet::new();
    let run = Run::default();
    let shown = Arc::clone(&run);
    let site = Arc::new(site);
    let router =
        Router::new().fallback(async move |request: Request| respond(&site, shown.get(), &request));
    task.spawn(async move { _ = axum::serve(listener, router).await });
    Ok(Server { address, run, _task: task })
}

impl Server {
    /// From now on also serves the report of a run of the demo at its own address, with links that a browser can follow: the pages of a
    /// host are below its name.
    pub fn show(&self, run: &Path) {
        drop(self.run.set(run.to_owned()));
    }
}

/// What a browser gets that knows none of the hosts.
fn shown(site: &Site, run: &Path, path: &str) -> Option<Parts> {
    if path == "/" {
        let report = fs::read_to_string(run.join(HTML)).ok()?;
        let local = |report: String, host| {
            report.replace(&format!("href=\"http://{host}/"), &format!("href=\"/{host}/"))
        };
        let report = Site::hosts().fold(report, local);
        return Some((StatusCode::OK, (CONTENT_TYPE, HTML_TYPE.to_owned()), report.into()));
    }
    let path = path.strip_prefix('/')?;
    if [PAGES, DUPLICATES, JSON].contains(&path) {
        let content = fs::read(run.join(path)).ok()?;
        return Some((StatusCode::OK, (CONTENT_TYPE, PLAIN_TYPE.to_owned()), content.into()));
    }
    let (host, page) = path.split_once('/')?;
    let (status, (name, value), body) = site.get(host, &format!("/{page}"))?;
    let value = if name == LOCATION { format!("/{host}{value}") } else { value };
    Some((status, (name, value), body))
}

fn respond(site: &Site, run: Option<&PathBuf>, request: &Request) -> Response {
    let path = request.uri().path();
    let is_allowed = [Method::GET, Method::HEAD].contains(request.method());
    let (status, (name, value), body) = if !is_allowed {
        (StatusCode::METHOD_NOT_ALLOWED, (ALLOW, "GET, HEAD".to_owned()), Bytes::new())
    } else if let Some(page) = site.get(&host(request), path) {
        page
    } else if let Some(page) = run.and_then(|run| shown(site, run, path)) {
        page
    } else {
        let page = "<!DOCTYPE html><title>404 Not Found</title><h1>Not Found</h1>";
        (StatusCode::NOT_FOUND, (CONTENT_TYPE, HTML_TYPE.to_owned()), page.into())
    };
    let response = Response::builder().status(status).header(name, value);
    response.body(Body::from(body)).expect("the header is ASCII")
}

/// The name in the `Host` header, in lower case and without the port; empty if there is none.
fn host(request: &Request) -> String {
    let authority = request.headers().get(HOST).map(HeaderValue::as_bytes);
    authority
        .and_then(|authority| Authority::try_from(authority).ok())
        .map(|authority| authority.host().to_ascii_lowercase())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_stays_within_its_bounds() {
        let files = Site::unpack().unwrap().files;
        assert!((300..=450).contains(&(files.len() - 1)), "{} pages", files.len() - 1);
        assert!(files.values().map(Bytes::len).sum::<usize>() <= 8_000_000);
    }

    #[test]
    fn the_archive_contains_the_notices() {
        assert_eq!(Site::unpack().unwrap().files["NOTICES.md"], NOTICES);
    }

    #[test]
    fn every_page_declares_the_charset_it_is_served_with() {
        for (path, content) in Site::unpack().unwrap().files {
            let page = std::str::from_utf8(&content).unwrap().to_ascii_lowercase();
            assert!(path == "NOTICES.md" || page.contains("charset=utf-8"), "{path}");
        }
    }

    #[test]
    fn every_host_starts_at_a_page() {
        let site = Site::unpack().unwrap();
        for host in &HOSTS {
            let start = format!("{}{}", host.root, host.manual.start);
            assert_eq!(site.get(host.name, &start).unwrap().0, StatusCode::OK, "{}", host.name);
            for title in ["/", host.root] {
                let (status, location, _) = site.get(host.name, title).unwrap();
                assert_eq!((status, location), (StatusCode::FOUND, (LOCATION, start.clone())));
            }
        }
    }

    #[test]
    fn a_mirror_repeats_pages_byte_for_byte() {
        let site = Site::unpack().unwrap();
        let original = site.get("docs.postgresql.test", "/15/ddl.html").unwrap();
        assert_eq!(original, site.get("mirror.test", "/postgresql/15/ddl.html").unwrap());
        assert_ne!(original, site.get("archive.postgresql.test", "/13/ddl.html").unwrap());
    }
}
