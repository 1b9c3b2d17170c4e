//! Requests through a proxy on loopback. Hosts are public addresses, so that no name server is asked.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use flate2::read::MultiGzDecoder;
use pagesieve::{
    crawl::{
        fetch::{Contact, FetchError, Fetcher, Options, Resource, Response},
        scope::Seed,
    },
    report::Warning,
};
use serde_json::Value;

use crate::{
    cli::{pagesieve, stderr},
    crawl::site::{Site, page},
    server::{Reply, Routes, Server},
    tls::{Answer, Authority, TlsServer},
};

/// `user:secret` in Base64.
const CREDENTIALS: &str = "Basic dXNlcjpzZWNyZXQ=";

fn options(proxy: SocketAddr) -> Options {
    let mut options = Options::default();
    options.proxy = Some(format!("http://user:secret@{proxy}").try_into().unwrap());
    options
}

async fn get(options: &Options, url: &str) -> Result<Response, FetchError> {
    let fetcher = Fetcher::new(options, "testsieve/1.0").unwrap();
    fetcher.get(&url.parse().unwrap(), Resource::Page).await
}

/// An address at which nothing listens.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The head of a refusal with this status.
fn status(status: u16) -> String {
    format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n")
}

/// A proxy that tunnels every request to `target`, or writes this instead. Returns its address and the heads of the requests.
fn tunnels(target: Result<SocketAddr, String>) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(&client).lines().map_while(Result::ok);
            let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            log.lock().unwrap().push(head.join("\n"));
            match &target {
                Ok(target) => tunnel(client, TcpStream::connect(target).unwrap()),
                Err(reply) => (&client).write_all(reply.as_bytes()).unwrap(),
            }
        }
    });
    (address, heads)
}

fn tunnel(client: TcpStream, host: TcpStream) {
    (&client).write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
    let ends = [(client.try_clone().unwrap(), host.try_clone().unwrap()), (host, client)];
    for (mut from, mut to) in ends {
        thread::spawn(move || {
            drop(std::io::copy(&mut from, &mut to));
            drop(to.shutdown(std::net::Shutdown::Write));
        });
    }
}

#[tokio::test]
async fn a_request_without_tls_goes_to_the_proxy_in_absolute_form() {
    let proxy = Server::start(Routes::new().at("1.1.1.1", "http://1.1.1.1/a?b", Reply::html("x")));
    let got = get(&options(proxy.address()), "http://1.1.1.1/a?b").await.unwrap();
    assert_eq!((got.body, got.address), (b"x".to_vec(), "1.1.1.1:80".parse().unwrap()));
    let request = proxy.requests().remove(0);
    assert_eq!(request.header("proxy-authorization"), Some(CREDENTIALS));
}

#[tokio::test]
async fn a_request_with_tls_goes_through_a_tunnel() {
    let authority = Authority::new();
    let identity = authority.identity("1.1.1.1");
    let server = TlsServer::start(identity, &["h2"], |_, _| Answer::Page("hello"));
    let (proxy, heads) = tunnels(Ok(server.address));
    let mut options = options(proxy);
    options.ca_file = Some(authority.file());
    let fetcher = Fetcher::new(&options, "testsieve/1.0").unwrap();
    for _ in 0..2 {
        let got = fetcher.get(&"https://1.1.1.1/".parse().unwrap(), Resource::Page).await.unwrap();
        assert_eq!((got.body, got.address), (b"hello".to_vec(), "1.1.1.1:443".parse().unwrap()));
    }
    let heads = heads.lock().unwrap().clone();
    assert_eq!((heads.len(), server.connections()), (1, 1), "the tunnel is used again");
    assert!(heads[0].starts_with("CONNECT 1.1.1.1:443 HTTP/1.1\n"), "{}", heads[0]);
    assert!(
        heads[0]
            .to_lowercase()
            .contains(&format!("proxy-authorization: {CREDENTIALS}").to_lowercase())
    );
    // The certificate is checked behind the proxy as without one.
    let error = get(&options, "https://1.1.1.2/").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), ("tls", false));
}

#[tokio::test]
async fn a_refusal_or_failure_of_the_proxy_says_whose_fault_it_is() {
    let unused = TlsServer::start(Authority::new().identity("1.1.1.1"), &[], |_, _| Answer::Reset);
    for (code, url, kind, why) in [
        (407, "http://1.1.1.1/", "proxy", "407 Proxy Authentication Required"),
        (407, "https://1.1.1.1/", "proxy", "proxy authorization required"),
        (502, "http://1.1.1.1/", "connect", "502 Bad Gateway"),
        (504, "http://1.1.1.1/", "connect", "504 Gateway Timeout"),
        (502, "https://1.1.1.1/", "connect", "unsuccessful"),
        (0, "http://1.1.1.1/", "proxy", "refused"),
        (0, "https://1.1.1.1/", "proxy", "refused"),
    ] {
        let proxy = if code == 0 { closed() } else { tunnels(Err(status(code))).0 };
        let error = get(&options(proxy), url).await.unwrap_err();
        let text = error.explain();
        let start = format!("{kind}: connect to the host of {url}: `fetch.proxy` {proxy}: ");
        assert!(text.starts_with(&start) && text.contains(why), "{text}");
        assert!(!text.contains("secret") && !format!("{error:?}").contains("secret"), "{text}");
        assert_eq!((error.contact(), error.is_retryable()), (Contact::Unanswered, true));
    }
    let busy = get(&options(tunnels(Err(status(503))).0), "http://1.1.1.1/").await.unwrap();
    assert_eq!(busy.status.as_u16(), 503, "it may be the host's");
    let no_name = get(&options(unused.address), "http://no.such.name.invalid/").await.unwrap_err();
    assert_eq!((no_name.kind(), unused.connections()), ("dns", 0));
    let mut lost = Options::default();
    lost.proxy = Some("http://no.such.name.invalid:3128".to_owned().try_into().unwrap());
    assert_eq!(get(&lost, "http://1.1.1.1/").await.unwrap_err().kind(), "proxy");
}

#[tokio::test]
async fn a_proxy_that_answers_nothing_or_garbage_is_a_failure_in_time() {
    let endless = format!("HTTP/1.1 200 Connected\r\nx: {}", "x".repeat(1 << 20));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (proxy, plain, tunnel) in [
        (silent.local_addr().unwrap(), "timeout", "timeout"),
        (tunnels(Err(String::new())).0, "http", "proxy"),
        (tunnels(Err("garbage\r\n\r\n".to_owned())).0, "http", "connect"),
        (tunnels(Err(endless)).0, "http", "proxy"),
    ] {
        let mut options = options(proxy);
        options.timeout = Duration::from_secs(2);
        for (url, kind) in [("http://1.1.1.1/", plain), ("https://1.1.1.1/", tunnel)] {
            let error = get(&options, url).await.unwrap_err();
            // With bytes unread, the end of the connection may be seen before the answer.
            let reset = if url.starts_with("https") { "proxy" } else { "connect" };
            assert!([kind, reset].contains(&error.kind()), "{kind}: {}", error.explain());
            // A head that is too large would be again.
            let is_too_large = error.kind() == "http" && error.explain().contains("too large");
            assert!(error.is_retryable() != is_too_large, "{}", error.explain());
        }
    }
}

#[tokio::test]
async fn credentials_arrive_as_they_were_written() {
    let proxy = Server::start(Routes::new().at("*", "http://1.1.1.1/", Reply::html("x")));
    let letters: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').collect();
    let letters = [&letters[..], b"+/"].concat();
    for letter in ('!'..='~').filter(char::is_ascii_punctuation) {
        let raw = if "/?#@%[\\]".contains(letter) { None } else { Some(letter.to_string()) };
        for written in raw.into_iter().chain([format!("%{:02X}", letter as u32)]) {
            let mut options = Options::default();
            let url = format!("http://u:{written}@{}", proxy.address());
            options.proxy = Some(url.try_into().unwrap());
            get(&options, "http://1.1.1.1/").await.unwrap();
            let bits = (u32::from(b'u') << 16) | (u32::from(b':') << 8) | letter as u32;
            let coded = [18, 12, 6, 0].map(|at| char::from(letters[(bits >> at) as usize & 63]));
            let expected = format!("Basic {}", String::from_iter(coded));
            let request = proxy.requests().pop().unwrap();
            assert_eq!(request.header("proxy-authorization"), Some(&*expected), "{written}");
        }
    }
}

#[tokio::test]
async fn the_proxy_is_not_asked_for_private_hosts_nor_for_mapped_ones() {
    let proxy = Server::start(Routes::new().at("*", "http://127.0.0.1/", Reply::html("secret")));
    let host = Server::start(Routes::new().at("a.test", "/", Reply::html("direct")));
    let mut options = options(proxy.address());
    options.resolve.insert("a.test".to_owned(), host.address());
    for url in ["http://127.0.0.1/", "https://[::1]/", "http://localhost/", "https://10.0.0.1/"] {
        let error = get(&options, url).await.unwrap_err();
        assert!(matches!(error.kind(), "address" | "dns"), "{url}: {error:?}");
    }
    let url = "http://a.test/";
    assert_eq!(get(&options, url).await.unwrap().body, b"direct");
    assert_eq!(proxy.connections(), 0);
    options.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    assert_eq!(get(&options, "http://127.0.0.1/").await.unwrap().body, b"secret");
}

#[tokio::test]
async fn a_proxy_may_have_a_name_with_a_private_address() {
    let proxy = Server::start(Routes::new().at("*", "http://1.1.1.1/", Reply::html("x")));
    let mut options = Options::default();
    let name = format!("http://localhost:{}", proxy.address().port());
    options.proxy = Some(name.try_into().unwrap());
    assert_eq!(get(&options, "http://1.1.1.1/").await.unwrap().body, b"x");
    let itself = format!("http://localhost:{}/", proxy.address().port());
    assert_eq!(get(&options, &itself).await.unwrap_err().kind(), "address");
}

/// A crawl of 1.1.1.1 through this proxy, with an archive.
fn crawl(proxy: SocketAddr) -> Site {
    Site::new(Routes::new(), &[]).planned(|plan| {
        plan.seeds = vec![Seed::new("http://1.1.1.1/".parse().unwrap())];
        plan.fetch = options(proxy);
        plan.store.warc = true;
    })
}

#[test]
fn a_crawl_through_a_proxy_writes_no_credentials() {
    let proxy = Server::start(
        Routes::new().at("*", "http://1.1.1.1/", page("a", &["/b", "http://10.1.2.3/"])).at(
            "*",
            "http://1.1.1.1/b",
            page("b", &[]),
        ),
    );
    let site = crawl(proxy.address());
    assert_eq!(site.run_fast().counts.unique, 2);
    let mut files = Vec::new();
    let directories = [site.path().to_owned(), site.path().join("warc")];
    for entry in directories.iter().flat_map(|path| fs::read_dir(path).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        if path.extension().is_some_and(|end| end == "gz") {
            let coded = std::mem::take(&mut bytes);
            MultiGzDecoder::new(&*coded).read_to_end(&mut bytes).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.contains("WARC-Target-URI: http://1.1.1.1/b"), "{text}");
            assert!(!text.contains("WARC-IP-Address"), "nobody knows it");
        }
        let text = String::from_utf8_lossy(&bytes);
        let none = ["secret", "dXNlcjpzZWNyZXQ", "roxy-"].iter().all(|word| !text.contains(word));
        assert!(none, "{}", path.display());
        files.push(path);
    }
    assert!(files.len() >= 6, "{files:?}");
}

#[test]
fn a_proxy_that_is_down_is_reported_by_name() {
    let proxy = closed();
    let report = crawl(proxy).run_fast();
    let [Warning::Unreachable { count: 1, seeds }] = &*report.warnings else {
        panic!("{:?}", report.warnings)
    };
    assert!(seeds[0].why.contains(&format!("`fetch.proxy` {proxy}: ")), "{}", seeds[0].why);
}

const SMALL: &str = "\
[crawl]
user_agent = \"bot/1.0 (+https://example.org/bot)\"
[[seeds]]
url = \"http://1.1.1.1/\"
[fetch]
";

#[test]
fn check_hides_the_password_and_names_ignored_variables() {
    let directory = tempfile::tempdir().unwrap();
    let check = |lines: &str| {
        fs::write(directory.path().join("docs.toml"), format!("{SMALL}{lines}\n")).unwrap();
        let mut command = pagesieve();
        command.current_dir(&directory).args(["--log", "info", "check", "docs.toml"]);
        command.env("HTTPS_PROXY", "http://user:secret@proxy.test:1");
        command.assert()
    };
    let checked = check("proxy = \"http://user:secret@proxy.test:3128\"").success();
    let shown = String::from_utf8(checked.get_output().stdout.clone()).unwrap();
    let shown: toml::Table = shown.parse().unwrap();
    assert_eq!(shown["fetch"]["proxy"].as_str(), Some("http://user:***@proxy.test:3128/"));
    let log = stderr(&checked);
    let lines: Vec<_> = log.lines().filter(|line| line.contains("HTTPS_PROXY")).collect();
    assert!(lines.len() == 1 && lines[0].contains("fetch.proxy"), "{log}");
    assert!(!log.contains("secret"), "{log}");
    for (wrong, why) in [
        ("proxy = \"socks5://user:secret@proxy.test:1080\"", "`proxy`: not an HTTP proxy"),
        ("proxy = \"http://user:secret@proxy.test\"\nretries = -1", "`retries`"),
        ("ca_file = \"none.pem\"", "`ca_file`: "),
    ] {
        let message = stderr(&check(wrong).code(2));
        assert!(message.contains(why) && !message.contains("secret"), "{message}");
    }
}

#[test]
fn a_crawl_does_not_use_the_proxy_of_the_environment() {
    let proxy = Server::start(Routes::new());
    let site = Server::start(Routes::new().at("*", "/", page("a", &[])));
    let directory = tempfile::tempdir().unwrap();
    let (url, allow) = (site.url("/"), "allow_private = [\"127.0.0.0/8\"]");
    let config = format!("{SMALL}{allow}\n").replace("http://1.1.1.1/", url.as_str());
    fs::write(directory.path().join("docs.toml"), config).unwrap();
    let mut command = pagesieve();
    let address = format!("http://{}", proxy.address());
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, &address);
    }
    let crawled = command.current_dir(&directory).args(["--log", "info", "crawl", "docs.toml"]);
    let log = stderr(&crawled.assert().success());
    assert_eq!(log.matches("HTTP_PROXY, http_proxy, ALL_PROXY in the").count(), 1, "{log}");
    assert_eq!((proxy.connections(), site.count("*", "/")), (0, 1));
    let lines = fs::read_to_string(directory.path().join("runs/docs/pages.jsonl")).unwrap();
    assert_eq!(lines.lines().filter(|line| line.parse::<Value>().is_ok()).count(), 1);
}
