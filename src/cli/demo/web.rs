//! The web that `pagesieve demo` crawls: real documentation pages in the binary, served on loopback under several host names.
//!
//! The pages are two versions each of a database's manual and of an office suite's help. So they have duplicates like the real web: an
//! older version on the same site, an older copy on another site, and an exact mirror. `make_archive.py` makes the archive;
//! `NOTICES.md` has the licences of the pages.

use std::{
    collections::HashMap,
    fs,
    io::{self, Read},
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

use crate::{
    report,
    sink::{DUPLICATES, PAGES},
};

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
                (StatusCode::OK, (CONTENT_TYPE, HTML.to_owned()), page)
            }
            (None, "/robots.txt") => {
                (StatusCode::OK, (CONTENT_TYPE, PLAIN.to_owned()), manual.robots?.into())
            }
            _ => return None,
        })
    }
}

const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

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
        let report = fs::read_to_string(run.join(report::HTML)).ok()?;
        let local = |report: String, host| {
            report.replace(&format!("href=\"http://{host}/"), &format!("href=\"/{host}/"))
        };
        let report = Site::hosts().fold(report, local);
        return Some((StatusCode::OK, (CONTENT_TYPE, HTML.to_owned()), report.into()));
    }
    let path = path.strip_prefix('/')?;
    if [PAGES, DUPLICATES, report::JSON].contains(&path) {
        let content = fs::read(run.join(path)).ok()?;
        return Some((StatusCode::OK, (CONTENT_TYPE, PLAIN.to_owned()), content.into()));
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
        (StatusCode::NOT_FOUND, (CONTENT_TYPE, HTML.to_owned()), page.into())
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
