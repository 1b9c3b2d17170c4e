//! TLS with certificates of an authority of our own, and HTTP/2, against servers on loopback.

use std::{
    collections::HashMap,
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use h2::Reason;
use hyper::Response;
use pagesieve::crawl::{
    fetch::{FetchError, Fetcher, Options, Resource, Response as Page},
    scope::Seed,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
    server::TlsStream,
};
use url::Url;

use crate::{
    crawl::site::{Site, html, lines},
    server::Routes,
};

/// What a server sends, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// A root and an authority below it, whose certificates servers have.
pub(crate) struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("test")
    }

    fn named(name: &str) -> Self {
        let params = |level| {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, format!("{name} {level}"));
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params
        };
        let key = || KeyPair::generate().unwrap();
        let root = CertifiedIssuer::self_signed(params("root"), key()).unwrap();
        let issuer = CertifiedIssuer::signed_by(params("issuer"), key(), &root).unwrap();
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("root.pem"), root.pem()).unwrap();
        Self { root, issuer, directory }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("root.pem")
    }

    /// A certificate for `name`, with the chain to the root.
    pub(crate) fn identity(&self, name: &str) -> Identity {
        self.changed(name, |_| ())
    }

    fn changed(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        (vec![leaf.der().clone(), self.issuer.der().clone()], private(&key))
    }
}

fn private(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(key.serialize_der()).unwrap()
}

/// What a server does with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Page(&'static str),
    /// A page with this many headers of 100 bytes.
    Headers(usize),
    /// Resets the stream.
    Reset,
    /// Closes the connection with a GOAWAY.
    GoAway,
    /// Resets the stream, because HTTP/1.1 is required.
    Refuse,
}

/// A server that speaks TLS until the test process ends.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl TlsServer {
    /// Answers `path`, requested `count` times before, over these protocols.
    pub(crate) fn start(
        identity: Identity,
        protocols: &[&str],
        answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(identity.0, identity.1)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (counter, counts) = (Arc::clone(&connections), Mutex::default());
        let answer = Arc::new(move |path: &str| answer(path, count(&counts, path)));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let (listener, mut tasks) =
                    (TcpListener::from_std(listener).unwrap(), JoinSet::new());
                while let Ok((stream, _)) = listener.accept().await {
                    counter.fetch_add(1, Ordering::SeqCst);
                    tasks.spawn(serve(acceptor.clone(), stream, Arc::clone(&answer)));
                }
            });
        });
        Self { address, connections }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn count(counts: &Mutex<HashMap<String, usize>>, path: &str) -> usize {
    let mut counts = counts.lock().unwrap();
    let count = counts.entry(path.to_owned()).or_default();
    *count += 1;
    *count - 1
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    answer: Arc<impl Fn(&str) -> Answer + Send + Sync>,
) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        drop(serve_http2(stream, &*answer).await);
    } else {
        drop(serve_http1(stream, &*answer).await);
    }
}

/// Answers one request.
async fn serve_http1(
    mut stream: TlsStream<TcpStream>,
    answer: &(dyn Fn(&str) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let Answer::Page(body) = answer(head.split(' ').nth(1).unwrap()) else { return Ok(()) };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}");
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).await?;
    stream.shutdown().await
}

async fn serve_http2(
    stream: TlsStream<TcpStream>,
    answer: &(dyn Fn(&str) -> Answer + Send + Sync),
) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(request) = connection.accept().await {
        let (request, mut respond) = request?;
        let mut response = Response::builder().header("content-type", "text/html");
        let body = match answer(request.uri().path()) {
            Answer::Page(body) => body,
            Answer::Headers(number) => {
                for header in 0..number {
                    response = response.header(format!("x-{header}"), "x".repeat(100));
                }
                "many"
            }
            Answer::Reset => {
                respond.send_reset(Reason::INTERNAL_ERROR);
                continue;
            }
            Answer::Refuse => {
                respond.send_reset(Reason::HTTP_1_1_REQUIRED);
                continue;
            }
            Answer::GoAway => {
                connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                continue;
            }
        };
        let mut sending = respond.send_response(response.body(()).unwrap(), false)?;
        sending.send_data(Bytes::from_static(body.as_bytes()), true)?;
    }
    Ok(())
}

/// A fetcher that trusts `authority` and finds a.test at `address`.
fn fetcher(authority: &Authority, address: SocketAddr) -> Fetcher {
    let mut options = Options::default();
    options.resolve = [("a.test".to_owned(), address)].into();
    options.ca_file = Some(authority.file());
    Fetcher::new(&options, "testsieve/1.0").unwrap()
}

async fn get(fetcher: &Fetcher, path: &str) -> Result<Page, FetchError> {
    fetcher.get(&Url::parse(&format!("https://a.test{path}")).unwrap(), Resource::Page).await
}

#[tokio::test]
async fn a_chain_of_an_authority_of_the_configuration_is_trusted() {
    let authority = Authority::new();
    for protocols in [&[][..], &["http/1.1"], &["h2", "http/1.1"]] {
        let identity = authority.identity("a.test");
        let server = TlsServer::start(identity, protocols, |_, _| Answer::Page("hello"));
        let page = get(&fetcher(&authority, server.address), "/").await.unwrap();
        assert_eq!((page.body, page.address), (b"hello".to_vec(), server.address));
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_trusted_is_a_failure_that_says_why() {
    let authority = Authority::new();
    let own = KeyPair::generate().unwrap();
    let self_signed = CertificateParams::new(["a.test".to_owned()]).unwrap();
    let self_signed = self_signed.self_signed(&own).unwrap();
    let year = |from, to| {
        move |params: &mut CertificateParams| {
            params.not_before = date_time_ymd(from, 1, 1);
            params.not_after = date_time_ymd(to, 1, 1);
        }
    };
    let mut headless = authority.identity("a.test");
    headless.0.truncate(1);
    for (identity, why) in [
        (authority.identity("b.test"), "the certificate is not for a.test, but for b.test: check"),
        (authority.changed("a.test", year(2020, 2021)), "certificate expired on 2021-01-01: its"),
        (authority.changed("a.test", year(2120, 2121)), "not valid yet, but from 2120-01-01 on"),
        (
            (vec![self_signed.der().clone()], private(&own)),
            "the host's certificate is self-signed: if you trust it, name it",
        ),
        (
            Authority::named("other").identity("a.test"),
            "is not known here, or the host does not send the certificates between: if you trust it, name the authority's certificate in fetch.ca_file",
        ),
        (headless, "the authority of the host's certificate is not known here"),
        (
            (vec![authority.root.der().clone()], private(authority.root.key())),
            "fetch.ca_file cannot help",
        ),
    ] {
        let server = TlsServer::start(identity, &["h2"], |_, _| Answer::Page("secret"));
        let error = get(&fetcher(&authority, server.address), "/").await.unwrap_err();
        let text = error.explain();
        assert!(text.starts_with("tls: trust the host of https://a.test/: "), "{text}");
        assert!(text.contains(why), "{why}: {text}");
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_if_ca_file_has_it() {
    let authority = Authority::new();
    let own = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["a.test".to_owned()]).unwrap();
    let certificate = certificate.self_signed(&own).unwrap();
    fs::write(authority.file(), certificate.pem()).unwrap();
    let identity = (vec![certificate.der().clone()], private(&own));
    let server = TlsServer::start(identity, &["h2"], |_, _| Answer::Page("hello"));
    assert_eq!(get(&fetcher(&authority, server.address), "/").await.unwrap().body, b"hello");
}

#[test]
fn a_seed_with_a_certificate_that_cannot_be_trusted_is_named_with_the_reason() {
    let authority = Authority::new();
    let server =
        TlsServer::start(authority.identity("b.test"), &["h2"], |_, _| Answer::Page("hello"));
    let site = Site::new(Routes::new(), &[]).planned(|plan| {
        plan.seeds = vec![Seed::new("https://a.test/".parse().unwrap())];
        plan.fetch.resolve = [("a.test".to_owned(), server.address)].into();
        plan.fetch.ca_file = Some(authority.file());
    });
    let report = site.run();
    let warning = report.warnings[0].to_string();
    assert!(warning.contains("https://a.test/"), "{warning}");
    assert!(warning.contains("the certificate is not for a.test, but for b.test"), "{warning}");
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_a_timeout() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = Options::default();
    options.resolve = [("a.test".to_owned(), silent.local_addr().unwrap())].into();
    options.timeout = Duration::from_millis(400);
    let error = get(&Fetcher::new(&options, "testsieve/1.0").unwrap(), "/").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), ("timeout", true));
}

#[tokio::test]
async fn one_http_2_connection_serves_all_requests() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.identity("a.test"), &["h2"], |path, _| match path {
        "/few" => Answer::Headers(10),
        _ => Answer::Page("hello"),
    });
    let fetcher = fetcher(&authority, server.address);
    for path in ["/", "/few", "/again"] {
        assert!(get(&fetcher, path).await.unwrap().status.is_success());
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn http_2_heads_are_bounded_and_broken_streams_may_be_tried_again() {
    let authority = Authority::new();
    let server =
        TlsServer::start(authority.identity("a.test"), &["h2"], |path, count| match path {
            "/many" => Answer::Headers(2_000),
            "/reset" if count == 0 => Answer::Reset,
            "/goaway" if count == 0 => Answer::GoAway,
            _ => Answer::Page("hello"),
        });
    let fetcher = fetcher(&authority, server.address);
    for path in ["/many", "/reset", "/goaway"] {
        let error = get(&fetcher, path).await.unwrap_err();
        // After a GOAWAY, the client may see the end of the connection first.
        assert!(matches!(error.kind(), "http" | "connect"), "{path}: {error:?}");
        assert!(error.is_retryable(), "{path}: {error:?}");
    }
    for path in ["/reset", "/goaway"] {
        assert_eq!(get(&fetcher, path).await.unwrap().body, b"hello", "{path}");
    }
}

#[tokio::test]
async fn a_host_that_refuses_http_2_is_asked_by_http_1() {
    let authority = Authority::new();
    for refusal in [Answer::Refuse, Answer::GoAway] {
        let protocols = ["h2", "http/1.1"];
        let server =
            TlsServer::start(authority.identity("a.test"), &protocols, move |path, count| {
                if path == "/" && count == 0 { refusal } else { Answer::Page("hello") }
            });
        let fetcher = fetcher(&authority, server.address);
        for connections in 2..5 {
            assert_eq!(get(&fetcher, "/").await.unwrap().body, b"hello", "{refusal:?}");
            // Over HTTP/1 this server closes each connection.
            assert_eq!(server.connections(), connections, "{refusal:?}");
        }
    }
}

#[test]
fn a_crawl_over_http_2_survives_resets_and_goaways() {
    let authority = Authority::new();
    let (a, b) = (html("a", 60, &["/b"]).leak(), html("b", 60, &[]).leak());
    let server = TlsServer::start(authority.identity("a.test"), &["h2"], |path, count| {
        match (path, count) {
            ("/", 0) | ("/b", 1) => Answer::Reset,
            ("/b", 0) | ("/", 1) => Answer::GoAway,
            ("/", _) => Answer::Page(a),
            ("/b", _) => Answer::Page(b),
            _ => Answer::Page(""),
        }
    });
    let site = Site::new(Routes::new(), &[]).planned(|plan| {
        plan.seeds = vec![Seed::new("https://a.test/".parse().unwrap())];
        plan.fetch.resolve = [("a.test".to_owned(), server.address)].into();
        plan.fetch.ca_file = Some(authority.file());
    });
    let report = site.run_fast();
    assert_eq!((report.counts.unique, report.counts.skipped), (2, [].into()));
    assert_eq!(lines(site.path(), "pages.jsonl").len(), 2);
}

#[test]
fn a_ca_file_without_certificates_is_refused() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("ca.pem");
    for (content, why) in [
        (None, "No such file"),
        (Some(&b""[..]), "no valid certificate"),
        (Some(b"-----BEGIN CERTIFICATE-----\nxx"), "no valid certificate"),
        (
            Some(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "no valid certificate",
        ),
        (Some(b"\xff\x00"), "no valid certificate"),
    ] {
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let mut options = Options::default();
        options.ca_file = Some(file.clone());
        let error = Fetcher::new(&options, "testsieve/1.0").unwrap_err().explain();
        assert!(error.starts_with("setup: ") && error.contains(why), "{error}");
    }
}
