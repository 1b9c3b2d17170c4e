//! The web that `pagesieve demo` crawls: real documentation pages in the binary, served on loopback under several host names.
//!
//! The pages are two versions each of a database's manual and of an office suite's help. So they have duplicates like the real web: an
//! older version on the same site, an older copy on another site, and an exact mirror. `make_archive.py` makes the archive;
//! `NOTICES.md` has the licences of the pages.

use std::{
    collections::HashMap,
    convert::Infallible,
    io::{self, Read},
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION},
    http::uri::Authority,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time,
};

/// A tar of pages, compressed with zstd.
static ARCHIVE: &[u8] = include_bytes!("pages.tar.zst");

/// Origin and licences of the bundled pages, as Markdown. They go wherever the pages or their texts go.
pub const NOTICES: &str = include_str!("NOTICES.md");

/// Forbids the pages that the office help links to but that are not bundled, nearly all in one directory.
const ROBOTS: Option<&str> = Some(include_str!("robots.txt"));

/// The hosts, in the order in which they are printed.
const HOSTS: [Host; 5] = [
    Host::new("docs.postgresql.test", "/15/", "postgresql-15/", "/15/tutorial.html", None),
    Host::new("archive.postgresql.test", "/13/", "postgresql-13/", "/13/tutorial.html", None),
    Host::new(
        "help.libreoffice.test",
        "/7.4/",
        "libreoffice-7.4/",
        "/7.4/zh-CN/text/swriter/guide/main.html",
        ROBOTS,
    ),
    Host::new(
        "libreoffice-help.test",
        "/7.0/",
        "libreoffice-7.0/",
        "/7.0/zh-CN/text/swriter/guide/main.html",
        ROBOTS,
    ),
    Host::new(
        "mirror.test",
        "/postgresql/15/",
        "postgresql-15/",
        "/postgresql/15/tutorial.html",
        None,
    ),
];

/// A host, and the directory of the archive that it serves.
struct Host {
    name: &'static str,
    /// The path of the directory on the host.
    root: &'static str,
    directory: &'static str,
    /// The page to redirect to instead of the title page, which is not bundled.
    start: &'static str,
    robots: Option<&'static str>,
}

impl Host {
    const fn new(
        name: &'static str,
        root: &'static str,
        directory: &'static str,
        start: &'static str,
        robots: Option<&'static str>,
    ) -> Self {
        Self { name, root, directory, start, robots }
    }
}

/// The demo's hosts and pages, in memory.
#[derive(Debug)]
pub struct Site {
    files: HashMap<String, Bytes>,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Page(Bytes),
    Robots(&'static str),
    /// A redirect to this path of the same host.
    Moved(&'static str),
    Missing,
}

impl Site {
    /// Unpacks the bundled pages, about 4 MB.
    ///
    /// # Errors
    ///
    /// If the archive in the binary is damaged.
    pub fn unpack() -> Result<Self, DemoError> {
        unpack().map(|files| Self { files }).map_err(DemoError::Unpack)
    }

    /// The host names. They end in `.test` (RFC 6761), so that only `fetch.resolve` can map them.
    pub fn hosts() -> impl Iterator<Item = &'static str> {
        HOSTS.iter().map(|host| host.name)
    }

    /// The answer of host `name` (without port, in lower case) to a request for `path`.
    fn answer(&self, name: &str, path: &str) -> Answer {
        let Some(host) = HOSTS.iter().find(|host| host.name == name) else {
            return Answer::Missing;
        };
        match (path.strip_prefix(host.root), host.robots) {
            (Some("" | "index.html"), _) => Answer::Moved(host.start),
            (Some(page), _) => self.page(host.directory, page),
            (None, Some(robots)) if path == "/robots.txt" => Answer::Robots(robots),
            (None, _) if path == "/" => Answer::Moved(host.start),
            (None, _) => Answer::Missing,
        }
    }

    fn page(&self, directory: &str, page: &str) -> Answer {
        let content = self.files.get(&format!("{directory}{page}"));
        content.map_or(Answer::Missing, |content| Answer::Page(content.clone()))
    }
}

/// Unpacks the archive into memory (less than 8 MB): from path to content.
fn unpack() -> io::Result<HashMap<String, Bytes>> {
    tar::Archive::new(zstd::Decoder::new(ARCHIVE)?)
        .entries()?
        .map(|entry| {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            Ok((path, content.into()))
        })
        .collect()
}

/// An error of the demo's server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The bundled archive cannot be read: the binary is damaged.
    #[error("cannot unpack the bundled pages")]
    Unpack(#[source] io::Error),
    /// No port on loopback is available.
    #[error("cannot listen on loopback")]
    Listen(#[source] io::Error),
}

const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The pause after a connection that could not be accepted, usually because of too many open files.
const PAUSE: Duration = Duration::from_millis(10);

/// A running server. Dropping it ends it, with all its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Server {
    /// Its address, to which every name of [`Site::hosts`] must resolve.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves `site` on a free port of 127.0.0.1.
///
/// # Errors
///
/// If no port is available.
pub async fn serve(site: Site) -> Result<Server, DemoError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(DemoError::Listen)?;
    let address = listener.local_addr().map_err(DemoError::Listen)?;
    let mut task = JoinSet::new();
    task.spawn(accept(listener, Arc::new(site)));
    Ok(Server { address, _task: task })
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(stream, Arc::clone(&site)));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                time::sleep(PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, site: Arc<Site>) {
    let service = service_fn(|request| {
        let response = respond(&site, &request);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection failed");
    }
}

fn respond<B>(site: &Site, request: &Request<B>) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return response(StatusCode::METHOD_NOT_ALLOWED, (ALLOW, "GET, HEAD"), Bytes::new());
    }
    match site.answer(&host(request), request.uri().path()) {
        Answer::Page(page) => response(StatusCode::OK, (CONTENT_TYPE, HTML), page),
        Answer::Robots(rules) => response(StatusCode::OK, (CONTENT_TYPE, PLAIN), rules.into()),
        Answer::Moved(path) => response(StatusCode::FOUND, (LOCATION, path), Bytes::new()),
        Answer::Missing => response(
            StatusCode::NOT_FOUND,
            (CONTENT_TYPE, HTML),
            "<!DOCTYPE html><title>404 Not Found</title><h1>Not Found</h1>".into(),
        ),
    }
}

fn response(
    status: StatusCode,
    (name, value): (HeaderName, &'static str),
    body: Bytes,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

/// The name in the `Host` header, in lower case and without the port; empty if there is none.
fn host<B>(request: &Request<B>) -> String {
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
        let files = unpack().unwrap();
        assert!((300..=450).contains(&(files.len() - 1)), "{} pages", files.len() - 1);
        assert!(files.values().map(Bytes::len).sum::<usize>() <= 8_000_000);
    }

    #[test]
    fn the_archive_contains_the_notices() {
        assert_eq!(unpack().unwrap()["NOTICES.md"], NOTICES);
    }

    #[test]
    fn every_page_declares_the_charset_it_is_served_with() {
        for (path, content) in unpack().unwrap() {
            let page = std::str::from_utf8(&content).unwrap().to_ascii_lowercase();
            assert!(path == "NOTICES.md" || page.contains("charset=utf-8"), "{path}");
        }
    }

    #[test]
    fn every_host_starts_at_a_page() {
        let site = Site::unpack().unwrap();
        for host in &HOSTS {
            assert!(matches!(site.answer(host.name, host.start), Answer::Page(_)), "{}", host.name);
            assert_eq!(site.answer(host.name, "/"), Answer::Moved(host.start));
            assert_eq!(site.answer(host.name, host.root), Answer::Moved(host.start));
        }
    }

    #[test]
    fn a_mirror_repeats_pages_byte_for_byte() {
        let site = Site::unpack().unwrap();
        let original = site.answer("docs.postgresql.test", "/15/ddl.html");
        assert_eq!(original, site.answer("mirror.test", "/postgresql/15/ddl.html"));
        assert_ne!(original, site.answer("archive.postgresql.test", "/13/ddl.html"));
    }
}
