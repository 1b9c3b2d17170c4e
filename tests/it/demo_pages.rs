//! The demo's hosts as a crawler sees them.

use std::net::SocketAddr;

use pagesieve::cli::demo::{Server, Site, serve};
use reqwest::{Client, Method, Response, StatusCode, redirect::Policy};

const CONFIG: &str = include_str!("../../config/demo.toml");

async fn start() -> (Server, Client) {
    let server = serve(Site::unpack().unwrap()).await.unwrap();
    let client = client(server.address);
    (server, client)
}

fn client(address: SocketAddr) -> Client {
    let builder = Client::builder().no_proxy().redirect(Policy::none());
    Site::hosts().fold(builder, |builder, host| builder.resolve(host, address)).build().unwrap()
}

async fn get(server: &Server, client: &Client, url: &str) -> Response {
    let mut url = url::Url::parse(url).unwrap();
    url.set_port(Some(server.address.port())).unwrap();
    client.get(url).send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

fn seeds() -> Vec<String> {
    let config: toml::Table = CONFIG.parse().unwrap();
    let seeds = config["seeds"].as_array().unwrap().iter();
    seeds.map(|seed| seed["url"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_seed_of_the_demo_is_a_page() {
    let (server, client) = start().await;
    for seed in seeds() {
        let page = get(&server, &client, &seed).await;
        assert_eq!(page.status(), StatusCode::OK, "{seed}");
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        assert!(page.text().await.unwrap().contains("</html>"), "{seed}");
    }
}

#[test]
fn every_host_has_a_seed() {
    for host in Site::hosts() {
        assert!(seeds().iter().any(|seed| seed.starts_with(&format!("http://{host}/"))), "{host}");
    }
}

#[tokio::test]
async fn a_url_without_a_page_is_not_found_or_moved() {
    let (server, client) = start().await;
    for missing in [
        "http://docs.postgresql.test/15/no-such-page.html",
        "http://docs.postgresql.test/13/tutorial.html",
        "http://docs.postgresql.test/15/../NOTICES.md",
        "http://docs.postgresql.test/15/%2e%2e%2fNOTICES.md",
        "http://docs.postgresql.test/robots.txt",
    ] {
        assert_eq!(
            get(&server, &client, missing).await.status(),
            StatusCode::NOT_FOUND,
            "{missing}"
        );
    }
    let moved = get(&server, &client, "http://docs.postgresql.test/15/index.html").await;
    assert_eq!(moved.status(), StatusCode::FOUND);
    assert_eq!(header(&moved, "location"), "/15/tutorial.html");
}

#[tokio::test]
async fn a_host_that_is_not_in_the_demo_has_no_pages() {
    let (server, client) = start().await;
    let page = get(&server, &client, "http://127.0.0.1/15/tutorial.html").await;
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_help_has_a_robots_txt() {
    let (server, client) = start().await;
    let robots = get(&server, &client, "http://HELP.libreoffice.test/robots.txt").await;
    assert_eq!(header(&robots, "content-type"), "text/plain; charset=utf-8");
    assert!(robots.text().await.unwrap().contains("\nDisallow: /*/text/shared/\n"));
}

#[tokio::test]
async fn only_get_and_head_are_allowed() {
    let (server, client) = start().await;
    let url = format!("http://mirror.test:{}/postgresql/15/ddl.html", server.address.port());
    let head = client.head(&url).send().await.unwrap();
    assert_ne!(header(&head, "content-length"), "0");
    assert!(head.bytes().await.unwrap().is_empty());
    let post = client.request(Method::POST, &url).body("text").send().await.unwrap();
    assert_eq!(post.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(header(&post, "allow"), "GET, HEAD");
}

#[tokio::test]
async fn a_dropped_server_stops_although_a_client_keeps_its_connection() {
    let (server, client) = start().await;
    let address = server.address;
    get(&server, &client, "http://mirror.test/").await;
    drop(server);
    assert!(client.get(format!("http://mirror.test:{}/", address.port())).send().await.is_err());
}

#[tokio::test]
async fn a_report_that_is_served_has_links_that_a_browser_can_follow() {
    let (server, _) = start().await;
    let directory = tempfile::tempdir().unwrap();
    let report = "<a href=\"http://mirror.test/postgresql/15/ddl.html\">ddl</a>";
    std::fs::write(directory.path().join("report.html"), report).unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let get = async |path: &str| {
        client.get(format!("http://{}{path}", server.address)).send().await.unwrap()
    };
    assert_eq!(get("/").await.status(), StatusCode::NOT_FOUND);
    server.show(directory.path());
    let page = get("/").await.text().await.unwrap();
    let link = page.split('"').nth(1).unwrap();
    assert_eq!(link, "/mirror.test/postgresql/15/ddl.html");
    let linked = get(link).await;
    assert_eq!(linked.status(), StatusCode::OK);
    assert!(linked.text().await.unwrap().contains("</html>"));
    let start = get("/docs.postgresql.test/").await;
    assert_eq!(start.url().path(), "/docs.postgresql.test/15/tutorial.html");
    for path in ["/state.sqlite", "/mirror.test", "/../secret", "/a.test/"] {
        assert_eq!(get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}
