//! What a fetch returns and refuses, against a server on loopback.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    thread,
    time::Duration,
};

use bytesize::ByteSize;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use pagesieve::crawl::fetch::{Extent, FetchError, Fetcher, Options, Resource, Response, is_html};
use url::Url;

use crate::server::{Reply, Routes, Server};

const MIB: usize = 1 << 20;

/// A fetcher that may reach loopback and waits long enough for any honest answer.
fn open() -> Options {
    let mut options = Options::default();
    options.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    options
}

fn fetcher(options: &Options) -> Fetcher {
    Fetcher::new(options, "testsieve/1.0 (+http://sieve.test)").unwrap()
}

/// One page of a server that has no other.
async fn page(options: &Options, reply: Reply) -> Result<Response, FetchError> {
    let server = Server::start(Routes::new().at("*", "/", reply));
    fetcher(options).get(&server.url("/"), Resource::Page).await
}

/// Text of `bytes` bytes that compresses as text does.
fn text(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut text = b"<!doctype html>".to_vec();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.extend_from_slice(format!("word{} ", state >> 52).as_bytes());
    }
    text.truncate(bytes);
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let params = brotli::enc::BrotliEncoderParams { quality: 2, lgwin: 18, ..Default::default() };
    brotli::BrotliCompress(&mut &*bytes, &mut coded, &params).unwrap();
    coded
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

type Encoder = fn(&[u8]) -> Vec<u8>;

const CODINGS: [(&str, Encoder); 6] = [
    ("gzip", gzip),
    ("X-GZip", gzip),
    ("deflate", zlib),
    ("deflate", deflate),
    ("br", brotli),
    ("zstd", zstd),
];

#[tokio::test]
async fn every_content_coding_is_decoded_whatever_the_framing() {
    let html = text(300_000);
    for (name, encode) in CODINGS {
        let reply = Reply::html(encode(&html)).header("Content-Encoding", name);
        for reply in [reply.clone(), reply.clone().chunked(), reply.until_close()] {
            let answer = page(&open(), reply).await.unwrap();
            assert_eq!(answer.extent, Extent::Whole, "{name}");
            assert!(answer.body == html, "{name}");
        }
    }
}

#[tokio::test]
async fn a_body_without_coding_comes_as_it_is() {
    for coding in ["", "identity", "none", "utf-8", "identity, "] {
        let reply = Reply::html("plain").header("Content-Encoding", coding);
        assert_eq!(page(&open(), reply).await.unwrap().body, b"plain", "{coding}");
    }
}

#[tokio::test]
async fn an_empty_body_is_empty_in_every_coding() {
    for (name, encode) in CODINGS {
        for body in [Vec::new(), encode(b"")] {
            let reply = Reply::html(body).header("Content-Encoding", name);
            let answer = page(&open(), reply).await.unwrap();
            assert_eq!((answer.body.len(), answer.extent), (0, Extent::Whole), "{name}");
        }
    }
}

#[tokio::test]
async fn a_body_is_cut_at_the_limit_and_marked() {
    let html = text(3 * MIB);
    let mut options = open();
    options.max_body = ByteSize::mib(2);
    let identity: Encoder = <[u8]>::to_vec;
    for (name, encode) in CODINGS.into_iter().chain([("identity", identity)]) {
        let coded = |bytes| Reply::html(encode(bytes)).header("Content-Encoding", name);
        let cut = page(&options, coded(&html)).await.unwrap();
        assert!(cut.extent == Extent::Cut && cut.body == html[..2 * MIB], "{name}");
        assert!(cut.body.capacity() <= 2 * MIB + 1, "{name}");
        let whole = page(&options, coded(&html[..2 * MIB])).await.unwrap();
        assert!(whole.extent == Extent::Whole && whole.body.len() == 2 * MIB, "{name}");
    }
}

#[tokio::test]
async fn robots_and_sitemaps_have_limits_of_their_own() {
    let server = Server::start(Routes::new().at("*", "/", Reply::text(text(9 * MIB))));
    let fetcher = fetcher(&open());
    let robots = fetcher.get(&server.url("/"), Resource::Robots).await.unwrap();
    assert_eq!((robots.body.len(), robots.extent), (500 << 10, Extent::Cut));
    let sitemap = fetcher.get(&server.url("/"), Resource::Sitemap).await.unwrap();
    assert_eq!((sitemap.body.len(), sitemap.extent), (9 * MIB, Extent::Whole));
}

#[tokio::test]
async fn a_bomb_is_refused_in_every_coding() {
    let zeros = vec![0; 32 * MIB];
    let mut bombs: Vec<_> = CODINGS.iter().map(|(name, encode)| (*name, encode(&zeros))).collect();
    // A gibibyte each: members and frames one after the other.
    bombs.push(("gzip", gzip(&zeros).repeat(32)));
    bombs.push(("zstd", zstd(&zeros).repeat(32)));
    for (name, bomb) in bombs {
        let reply = Reply::html(bomb).header("Content-Encoding", name);
        let error = page(&open(), reply).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), ("bomb", false), "{name}");
    }
}

#[tokio::test]
async fn members_that_hold_nothing_do_not_go_on_for_ever() {
    let reply = Reply::html(gzip(b"").repeat(100_000)).header("Content-Encoding", "gzip");
    let mut options = open();
    options.max_body = ByteSize::kib(64);
    assert_eq!(page(&options, reply).await.unwrap_err().kind(), "bomb");
}

#[tokio::test]
async fn a_gzip_body_of_several_members_is_joined_and_what_follows_is_ignored() {
    let members = [gzip(b"one "), gzip(b"two "), gzip(b"three")].concat();
    for tail in [&b""[..], b"\0\0\0\0", b"trailing text", &[0x20; 5000]] {
        let reply = Reply::html([&members, tail].concat()).header("Content-Encoding", "gzip");
        assert_eq!(page(&open(), reply).await.unwrap().body, b"one two three");
    }
}

#[tokio::test]
async fn a_body_in_a_coding_we_cannot_remove_is_an_error() {
    let mut wrong_sum = gzip(&text(1000));
    let end = wrong_sum.len();
    wrong_sum[end - 6] ^= 1;
    // The web forbids windows above 8 MiB.
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(24).unwrap();
    wide.write_all(&text(1000)).unwrap();
    let wide = wide.finish().unwrap();
    for (coding, body) in [
        ("gzip,br", gzip(&gzip(b"x"))),
        ("gzip, gzip, gzip, gzip, gzip", gzip(b"x")),
        ("compress", b"\x1f\x9d\x90x".to_vec()),
        ("dcb", b"\xffDCB".to_vec()),
        ("gzip", b"\x1f\x8b\x09\0\0\0\0\0\0\0\0".to_vec()),
        ("deflate", b"\xff\xff\xff".to_vec()),
        ("br", b"\x11\x1e0123456789".to_vec()),
        ("br", b"\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()),
        ("zstd", b"\xff\xff\xff\xff".to_vec()),
        ("zstd", wide),
        ("gzip", wrong_sum),
    ] {
        let reply = Reply::html(body).header("Content-Encoding", coding);
        let error = page(&open(), reply).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), ("coding", false), "{coding}");
    }
}

#[tokio::test]
async fn a_coding_that_the_body_does_not_have_is_ignored() {
    let html = text(50_000);
    for body in [html.as_slice(), b"<p>short", b"User-agent: *", "\u{4f60}".as_bytes()] {
        for coding in
            ["gzip", "deflate", "br", "zstd", "compress", "x-own", "gzip, gzip", "br, zstd"]
        {
            for reply in [Reply::html(body), Reply::html(body).chunked()] {
                let reply = reply.header("Content-Encoding", coding).drip(4000, Duration::ZERO);
                let answer = page(&open(), reply).await.unwrap();
                assert!(answer.body == body && answer.extent == Extent::Whole, "{coding}");
            }
        }
    }
}

#[tokio::test]
async fn several_codings_are_removed_within_the_limits() {
    let html = text(300_000);
    for (codings, body) in [
        ("gzip, gzip", gzip(&gzip(&html))),
        ("gzip, gzip", gzip(&html)),
        ("br, gzip", gzip(&brotli(&html))),
        ("zstd, x-own, deflate", deflate(&html)),
    ] {
        let reply = Reply::html(body).header("Content-Encoding", codings);
        assert!(page(&open(), reply).await.unwrap().body == html, "{codings}");
    }
    let mut options = open();
    options.max_body = ByteSize::kib(64);
    let reply = Reply::html(gzip(&gzip(&html))).header("Content-Encoding", "gzip, gzip");
    let cut = page(&options, reply).await;
    assert!(cut.is_ok_and(|it| it.extent == Extent::Cut && it.body == html[..64 << 10]));
    let bomb = gzip(&gzip(&gzip(&vec![0; 256 * MIB])));
    let reply = Reply::html(bomb).header("Content-Encoding", "gzip, gzip, gzip");
    assert_eq!(page(&open(), reply).await.unwrap_err().kind(), "bomb");
}

#[tokio::test]
async fn a_missing_trailer_loses_nothing() {
    let html = text(50_000);
    for (name, body, trailer) in [("gzip", gzip(&html), 8), ("deflate", zlib(&html), 4)] {
        for missing in 1..=trailer {
            let body = &body[..body.len() - missing];
            for reply in [Reply::html(body), Reply::html(body).until_close()] {
                let answer = page(&open(), reply.header("Content-Encoding", name)).await.unwrap();
                assert!(answer.body == html, "{name} without {missing}");
            }
        }
    }
}

#[tokio::test]
async fn all_parts_of_a_gzip_head_are_passed_over() {
    let plain = gzip(b"<p>text");
    let mut head = plain[..10].to_vec();
    head[3] = 2 | 4 | 8 | 16;
    head.extend_from_slice(b"\x03\0abcname\0comment\0\x12\x34");
    let body = [&head, &plain[10..]].concat();
    let reply = Reply::html(body).header("Content-Encoding", "gzip").drip(1, Duration::ZERO);
    assert_eq!(page(&open(), reply).await.unwrap().body, b"<p>text");
}

#[tokio::test]
async fn a_head_is_bounded_by_its_bytes_and_not_by_the_number_of_its_fields() {
    let fields = "X-Field: y\r\n".repeat(3000);
    let bytes = format!("HTTP/1.1 200 OK\r\n{fields}Content-Type: text/html\r\n\r\n<p>x");
    let answer = page(&open(), Reply::raw(bytes)).await.unwrap();
    assert_eq!(
        (answer.body, answer.content_type.as_deref()),
        (b"<p>x".to_vec(), Some("text/html"))
    );
}

#[tokio::test]
async fn what_ends_the_request_for_a_large_head_says_whether_it_may_pass() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    thread::spawn(move || {
        let fields = "X-Field: y\r\n".repeat(150);
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            drop(stream.read(&mut [0; 4096]));
            // The request with room for all fields gets nothing.
            if number == 0 {
                drop(write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n"));
            }
        }
    });
    let error = fetcher(&open()).get(&url, Resource::Page).await.unwrap_err();
    assert!(error.is_retryable(), "{}", error.explain());
}

#[tokio::test]
async fn a_cut_body_is_an_error_that_may_pass() {
    let html = text(50_000);
    for reply in [Reply::html(html.clone()), Reply::html(html.clone()).chunked()] {
        let error = page(&open(), reply.cut(20_000)).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), ("body", true));
    }
    for (name, encode) in CODINGS {
        let coded = encode(&html);
        let half = coded[..coded.len() / 2].to_vec();
        let reply = Reply::html(half).until_close().header("Content-Encoding", name);
        let error = page(&open(), reply).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), ("body", true), "{name}");
    }
}

#[tokio::test]
async fn one_deadline_covers_the_head_and_the_body() {
    let mut options = open();
    options.timeout = Duration::from_millis(200);
    let slow = Duration::from_millis(20);
    let half_head = Reply::raw("HTTP/1.1 200 OK\r\nContent-Type: text/").drip(1, slow);
    let chunks = Reply::html(text(4000)).chunked().drip(40, slow);
    let silent = Reply::html("late").after(Duration::from_secs(1));
    for reply in [half_head, chunks, silent, Reply::html(text(500)).drip(10, slow)] {
        let error = page(&options, reply).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), ("timeout", true));
    }
}

#[tokio::test]
async fn answers_that_never_come_to_a_head_hold_nothing_after_the_deadline() {
    // A head with too many fields is asked for once more, with room for more of them.
    for (start, piece, connections) in [
        ("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 1),
        ("HTTP/1.1 200 OK\r\n", "X-More: y\r\n", 2),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let server = thread::spawn(move || {
            let piece = piece.repeat(1000);
            for _ in 0..connections {
                let mut stream = listener.accept().unwrap().0;
                drop(stream.read(&mut [0; 4096]));
                stream.write_all(start.as_bytes()).unwrap();
                while stream.write_all(piece.as_bytes()).is_ok() {}
            }
        });
        let mut options = open();
        options.timeout = Duration::from_millis(400);
        let error = fetcher(&options).get(&url, Resource::Page).await.unwrap_err();
        let expected = if start.is_empty() { "timeout" } else { "http" };
        assert_eq!(error.kind(), expected, "{}", error.explain());
        tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn malformed_answers_are_errors_and_never_panics() {
    let many = "x: y\r\n".repeat(100_000);
    let large = "x".repeat(2 * MIB);
    for (bytes, kind) in [
        (String::new(), "http"),
        ("garbage\r\n\r\n".to_owned(), "http"),
        ("\0\0\0\0\r\n\r\n".to_owned(), "http"),
        ("<html>no head</html>".to_owned(), "http"),
        ("HTTP/1.1".to_owned(), "http"),
        ("HTTP/1.1 two hundred\r\n\r\n".to_owned(), "http"),
        ("HTTP/9.9 200 OK\r\n\r\n".to_owned(), "http"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde".to_owned(),
            "http",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc".to_owned(), "http"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc".to_owned(),
            "http",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc".to_owned(), "body"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc".to_owned(), "body"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc"
                .to_owned(),
            "body",
        ),
        (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "http"),
        (format!("HTTP/1.1 200 OK\r\nx: {large}\r\n\r\n"), "http"),
    ] {
        let error = page(&open(), Reply::raw(bytes.as_str())).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{bytes:.80}");
        let is_large = bytes.contains(&many) || bytes.contains(&large);
        assert_eq!(error.is_retryable(), !is_large, "{bytes:.80}");
    }
}

#[tokio::test]
async fn a_malformed_header_does_not_cost_the_page() {
    let head =
        "HTTP/1.1 200 OK\r\nbad header: x\r\nContent-Type : text/html\r\nfolded: a\r\n b\r\n";
    let answer = page(&open(), Reply::raw(format!("{head}\r\n<p>hello"))).await.unwrap();
    assert_eq!(answer.content_type.as_deref(), Some("text/html"));
    assert_eq!(answer.body, b"<p>hello");
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_connected_to() {
    let server = Server::start(Routes::new().at("*", "/", Reply::html("secret")));
    let port = server.address().port();
    let fetcher = fetcher(&Options::default());
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1",
        "017700000001",
        "0177.0.0.1",
        "0177.0.0.0x1",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "１２７.0.0.1",
        "%31%32%37.0.0.1",
        "0",
        "0.0.0.0",
        "0x0",
        "127.255.255.254",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "2852039166",
        "0xA9FEA9FE",
        "172.16.0.1",
        "192.168.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "4294967295",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::80ff:fffe]",
        "[2001:db8::1]",
        "[2001:2::1]",
        "[100::1]",
        "[3fff::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[::ffff:0:127.0.0.1]",
    ] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        for limit in [Resource::Page, Resource::Robots, Resource::Sitemap] {
            let error = fetcher.get(&url, limit).await.unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), ("address", false), "{host}");
        }
    }
    // Whether these are names at all depends on the machine.
    for name in ["localhost", "LocalHost.", "ip6-localhost"] {
        let url = Url::parse(&format!("http://{name}:{port}/")).unwrap();
        let error = fetcher.get(&url, Resource::Page).await.unwrap_err();
        assert!(matches!(error.kind(), "address" | "dns"), "{name}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn other_schemes_than_http_are_refused() {
    let fetcher = fetcher(&open());
    for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "data:text/html,x", "gopher://a.test/"] {
        let error = fetcher.get(&Url::parse(url).unwrap(), Resource::Page).await.unwrap_err();
        assert_eq!(error.kind(), "address", "{url}");
    }
}

/// Options that map names to a server and permit nothing else.
fn mapped(names: &[&str], to: SocketAddr) -> Options {
    let mut options = Options::default();
    options.resolve = names.iter().map(|name| ((*name).to_owned(), to)).collect();
    options
}

#[tokio::test]
async fn a_mapped_name_reaches_its_address_and_nothing_else() {
    let routes =
        Routes::new().at("a.test", "/", Reply::html("of a")).at("b.test", "/", Reply::html("of b"));
    let server = Server::start(routes);
    let port = server.address().port();
    let fetcher = fetcher(&mapped(&["a.test", "B.test"], server.address()));
    let get = async |url: String| fetcher.get(&Url::parse(&url).unwrap(), Resource::Page).await;

    assert_eq!(get("http://a.test/".to_owned()).await.unwrap().body, b"of a");
    assert_eq!(get("http://b.test/".to_owned()).await.unwrap().body, b"of b");
    let spelled = get(format!("http://a.test:{port}/")).await.unwrap();
    assert_eq!((spelled.body, spelled.address), (b"of a".to_vec(), server.address()));
    let other_port = get(format!("http://a.test:{}/", port ^ 1)).await.unwrap_err();
    assert_eq!(other_port.kind(), "address");
    assert_eq!(get(format!("http://127.0.0.1:{port}/")).await.unwrap_err().kind(), "address");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_its_target_passes_the_guard_again() {
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/secret" => Reply::html("secret"),
        _ => Reply::redirect(302, "http://127.0.0.1:8/secret"),
    });
    let fetcher = fetcher(&mapped(&["a.test"], server.address()));
    let url = Url::parse("http://a.test/in").unwrap();
    let answer = fetcher.get(&url, Resource::Page).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.extent), (302, Extent::Skipped));
    let target = answer.redirect_target(&url).unwrap();
    assert_eq!(target.as_str(), "http://127.0.0.1:8/secret");
    assert_eq!(fetcher.get(&target, Resource::Page).await.unwrap_err().kind(), "address");
    assert_eq!((server.count("*", "/secret"), server.requests().len()), (0, 1));
}

#[tokio::test]
async fn a_redirect_target_is_resolved_and_of_http_only() {
    for (status, location, target) in [
        (301, "/b", Some("http://a.test/b")),
        (302, "b?c#d", Some("http://a.test/x/b?c#d")),
        (303, "//b.test", Some("http://b.test/")),
        (307, "https://b.test/ä", Some("https://b.test/%C3%A4")),
        (308, "http://bücher.test/", Some("http://xn--bcher-kva.test/")),
        (302, "javascript:alert(1)", None),
        (302, "file:///etc/passwd", None),
        (302, "http://[", None),
        (300, "/b", None),
        (304, "/b", None),
        (200, "/b", None),
    ] {
        let answer = page(&open(), Reply::redirect(status, location)).await.unwrap();
        let found = answer.redirect_target(&Url::parse("http://a.test/x/y").unwrap());
        assert_eq!(found.as_ref().map(Url::as_str), target, "{status} {location}");
    }
}

#[tokio::test]
async fn a_page_that_is_not_html_is_not_downloaded() {
    let video =
        "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 4294967296\r\n\r\nxx";
    let endless = Reply::new(200, text(MIB)).header("Content-Type", "audio/ogg").chunked();
    for reply in [Reply::raw(video), endless, Reply::text("short")] {
        let answer = page(&open(), reply).await.unwrap();
        assert_eq!((answer.body.len(), answer.extent), (0, Extent::Skipped));
        assert!(!is_html(answer.content_type.as_deref(), &answer.body));
    }
    let untyped = page(&open(), Reply::new(200, "<!DOCTYPE html><p>")).await.unwrap();
    assert!(is_html(untyped.content_type.as_deref(), &untyped.body));
}

#[tokio::test]
async fn one_connection_serves_pages_redirects_and_errors() {
    let server = Server::start(
        Routes::new()
            .at("*", "/page", Reply::html(gzip(&text(20_000))).header("Content-Encoding", "gzip"))
            .at("*", "/moved", Reply::redirect(301, "/page"))
            .at("*", "/image", Reply::new(200, [0; 9000]).header("Content-Type", "image/png"))
            .at("*", "/lost", Reply::new(404, text(9000)).chunked())
            .at("*", "/busy", Reply::new(503, "later").header("Retry-After", "7")),
    );
    let fetcher = fetcher(&open());
    let mut busy = None;
    for path in ["/page", "/moved", "/image", "/lost", "/busy", "/page"] {
        let answer = fetcher.get(&server.url(path), Resource::Page).await.unwrap();
        busy = busy.or(answer.retry_after);
    }
    assert_eq!((server.requests().len(), server.connections()), (6, 1));
    assert_eq!(busy, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn the_request_says_who_we_are_and_nothing_it_need_not() {
    let server = Server::start(Routes::new().at("*", "/a?b=c", Reply::html("x")));
    let mut url = server.url("/a?b=c#fragment");
    url.set_username("user").unwrap();
    url.set_password(Some("password")).unwrap();
    fetcher(&open()).get(&url, Resource::Page).await.unwrap();
    let request = server.requests().remove(0);
    assert_eq!(request.path, "/a?b=c");
    let mut names: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    assert_eq!(request.header("user-agent"), Some("testsieve/1.0 (+http://sieve.test)"));
    assert_eq!(request.header("accept-encoding"), Some("gzip, br, zstd, deflate"));
}

#[tokio::test]
async fn the_head_is_read_as_the_crawler_needs_it() {
    let reply = Reply::html("x")
        .header("X-Robots-Tag", "noindex")
        .header("X-Robots-Tag", "otherbot: nofollow")
        .header("Retry-After", "soon");
    let server = Server::start(Routes::new().at("*", "/", reply));
    let (got, exchange) =
        fetcher(&open()).exchange(&server.url("/"), Resource::Page, None, None).await;
    let answer = got.unwrap();
    assert_eq!(answer.x_robots_tag, ["noindex", "otherbot: nofollow"]);
    assert_eq!(answer.content_type.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!((answer.retry_after, answer.location.as_deref()), (None, None));
    assert!(answer.status.is_success() && exchange.is_none());
}

#[tokio::test]
async fn a_kept_exchange_has_the_body_as_received_without_transfer_coding() {
    let html = text(5000);
    let coded = gzip(&html);
    let server = Server::start(
        Routes::new()
            .at(
                "*",
                "/gzip",
                Reply::html(coded.clone()).header("Content-Encoding", "gzip").chunked(),
            )
            .at("*", "/plain", Reply::html(html.clone()))
            .at("*", "/moved", Reply::redirect(301, "/plain")),
    );
    let mut fetcher = fetcher(&open());
    fetcher.keep_exchanges = true;
    let get = async |path| {
        let (got, exchange) = fetcher.exchange(&server.url(path), Resource::Page, None, None).await;
        (got.unwrap(), exchange.unwrap())
    };

    let (_, exchange) = get("/gzip").await;
    assert_eq!(exchange.body, coded);
    let response = String::from_utf8(exchange.response_head).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/html"), "{response}");
    assert!(response.contains("content-encoding: gzip\r\n"), "{response}");
    assert!(
        !response.contains("transfer-encoding") && response.ends_with("\r\n\r\n"),
        "{response}"
    );
    let request = String::from_utf8(exchange.request_head).unwrap();
    let host = server.address();
    assert!(request.starts_with(&format!("GET /gzip HTTP/1.1\r\nhost: {host}\r\n")), "{request}");

    let (plain, exchange) = get("/plain").await;
    assert_eq!(plain.body, html);
    assert_eq!(exchange.body, html);
    let (moved, exchange) = get("/moved").await;
    assert_eq!((moved.body.len(), &*exchange.body), (0, &b"moved"[..]));
}

#[tokio::test]
async fn failures_to_connect_say_what_failed_and_whether_it_may_pass() {
    let fetcher = fetcher(&open());
    let get = async |url: &str| fetcher.get(&Url::parse(url).unwrap(), Resource::Page).await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = get(&format!("http://{closed}/")).await.unwrap_err();
    assert_eq!((refused.kind(), refused.is_retryable()), ("connect", true));
    assert_eq!(refused.to_string(), format!("connect to the host of http://{closed}/"));

    // No name server is asked for a label of more than 63 characters.
    let no_name = get(&format!("http://{}.test/", "x".repeat(70))).await.unwrap_err();
    assert_eq!((no_name.kind(), no_name.is_retryable()), ("dns", false));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain = listener.local_addr().unwrap();
    let speaker = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Closing with bytes unread would reset the connection before ours are.
        drop(std::io::copy(&mut stream, &mut std::io::sink()));
    });
    let no_tls = get(&format!("https://{plain}/")).await.unwrap_err();
    speaker.join().unwrap();
    assert_eq!((no_tls.kind(), no_tls.is_retryable()), ("tls", false));
}

#[test]
fn options_and_agents_that_cannot_be_used_are_refused() {
    let bad_key = mapped(&["a.test:80"], "127.0.0.1:1".parse().unwrap());
    for (options, agent) in [(bad_key, "fine"), (open(), "two\nlines")] {
        assert_eq!(Fetcher::new(&options, agent).unwrap_err().kind(), "setup");
    }
}

#[test]
fn options_are_read_as_documented_and_unknown_keys_are_refused() {
    let options: Options = toml::from_str(
        r#"
        timeout = "5s"
        max_body = "2 MiB"
        allow_private = ["127.0.0.0/8", "fd00::/8"]
        resolve = { "docs.test" = "127.0.0.1:8080", "six.test" = "[::1]:80" }
        "#,
    )
    .unwrap();
    assert_eq!((options.timeout, options.retries), (Duration::from_secs(5), 3));
    assert_eq!((options.max_body, options.resolve.len()), (ByteSize::mib(2), 2));
    assert_eq!(toml::from_str::<Options>("").unwrap(), Options::default());
    let written = toml::to_string(&options).unwrap();
    assert_eq!(toml::from_str::<Options>(&written).unwrap(), options);
    for bad in
        ["time_out = 1", "timeout = 5", "max_body = \"much\"", "allow_private = [\"10.0.0.0/33\"]"]
    {
        assert!(toml::from_str::<Options>(bad).is_err(), "{bad}");
    }
}
