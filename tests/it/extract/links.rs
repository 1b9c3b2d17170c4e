//! Links, base, canonical link, refresh and robots directives.

use pagesieve::{
    extract::{Directives, Extracted},
    page::Page,
};

use super::{extract, extractor, page};

fn urls(document: &Extracted) -> Vec<&str> {
    document.links.iter().map(|link| link.url.as_str()).collect()
}

#[test]
fn links_are_resolved_in_page_order_each_once() {
    let document = extract(
        "<meta http-equiv=refresh content='5; url=/moved'><nav><a href=b#top>b</a></nav>
         <map><area href='../c?x=1'></map><iframe src=//other.test/d></iframe><a href=' \n/e '>e</a>
         <a href=b>again</a> <a href=mailto:me@x>m</a> <a href='javascript:void(0)'>j</a> <a href='ftp://x/'>f</a> <a>none</a>
         <a href='http://['>bad</a><div hidden><a href=hidden>h</a></div><footer><a href=foot>f</a></footer>",
    );
    assert_eq!(
        urls(&document),
        [
            "http://example.org/moved",
            "http://example.org/dir/b",
            "http://example.org/c?x=1",
            "http://other.test/d",
            "http://example.org/e",
            "http://example.org/dir/hidden",
            "http://example.org/dir/foot",
        ]
    );
}

#[test]
fn frames_are_links() {
    let document = extract(
        "<frameset><frame src=a.html><frame src=b.html></frameset><noframes><a href=c>c</a></noframes>",
    );
    assert_eq!(urls(&document), ["http://example.org/dir/a.html", "http://example.org/dir/b.html"]);
}

#[test]
fn links_in_template_script_or_a_comment_are_ignored() {
    let document = extract(
        "<template><a href=/no>no</a></template><!-- <a href=/no>no</a> --><script>'<a href=/no>'</script>",
    );
    assert_eq!(urls(&document), Vec::<&str>::new());
}

#[test]
fn links_in_noscript_and_button_are_followed() {
    let document = extract(
        "<noscript><meta http-equiv=refresh content='0; url=/plain'><a href=/a>a</a></noscript>
         <p>Text <button><a href=/b>b</a></button></p><noscript><p>JavaScript is off: <a href=/c>c</a></noscript>",
    );
    assert_eq!(
        urls(&document),
        ["http://example.org/a", "http://example.org/b", "http://example.org/c"]
    );
}

#[test]
fn links_in_drawings_are_followed() {
    let document = extract(
        "<svg><title>t</title><a xlink:href='/a?x'><text>no text</text></a><g><a href=/b rel=nofollow><path/></a></g></svg><p>Text",
    );
    assert_eq!(urls(&document), ["http://example.org/a?x", "http://example.org/b"]);
    assert_eq!(document.links.iter().map(|link| link.nofollow).collect::<Vec<_>>(), [false, true]);
    assert_eq!(document.text, "Text");
}

#[test]
fn a_query_is_encoded_as_the_page_and_a_path_in_utf_8() {
    for (charset, query) in [
        ("gbk", "%C4%E3%BA%C3"),
        ("big5", "%A7A%A6n"),
        ("utf-8", "%E4%BD%A0%E5%A5%BD"),
        ("windows-1252", "%26%2320320%3B%26%2322909%3B"),
    ] {
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let markup = "<a href='/%C4%E3?a=b&amp;q=&#20320;&#22909;#&#20320;'>a</a><a href='/&#20320;?'>b</a>\
                      <link rel=canonical href='?q=&#20320;&#22909;'>";
        let html = format!("<meta charset={charset}>{markup}");
        let document = extractor().extract(&page(&encoding.encode(&html).0));
        let found = urls(&document);
        assert_eq!(found[0], format!("http://example.org/%C4%E3?a=b&q={query}"), "{charset}");
        assert_eq!(found[1], "http://example.org/%E4%BD%A0?", "{charset}");
    }
}

#[test]
fn headers_refresh_and_name_the_canonical_url_as_elements_do() {
    let of = |body: &str| {
        let page = Page {
            refresh: Some("0; url=../next".to_owned()),
            link: vec!["</a.css>; rel=preload".to_owned(), "<here>; rel=canonical".to_owned()],
            ..page(body.as_bytes())
        };
        extractor().extract(&page)
    };
    let document = of("<a href=b>b</a>");
    assert_eq!(urls(&document), ["http://example.org/next", "http://example.org/dir/b"]);
    assert_eq!(document.canonical.unwrap().as_str(), "http://example.org/dir/here");
    let document = of("<link rel=canonical href=there>");
    assert_eq!(document.canonical.unwrap().as_str(), "http://example.org/dir/there");
}

#[test]
fn a_visitor_counter_does_not_end_the_head() {
    let head = "<noscript><style>p{}</style><img src=/count alt=x><div>x</div><meta name=robots content=nofollow></noscript>";
    let document =
        extract(&format!("<html><head>{head}<link rel=canonical href=/real></head><p>x"));
    assert_eq!(document.canonical.unwrap().as_str(), "http://example.org/real");
    assert_eq!((document.robots.nofollow, document.text.as_str()), (true, "x"));
    let unclosed = extract("<head><noscript><img src=/count></head><body><p>All of it.");
    assert_eq!(unclosed.text, "All of it.");
}

#[test]
fn the_first_base_with_an_address_applies_to_all_links() {
    let document = extract(
        "<a href=x>x</a><base target=_top><base href=../../up/><base href=/other/><a href=#frag>y</a>",
    );
    assert_eq!(urls(&document), ["http://example.org/up/x", "http://example.org/up/"]);
    let unusable = extract("<base href='javascript:1'><a href=x>x</a>");
    assert_eq!(urls(&unusable), ["http://example.org/dir/x"]);
}

#[test]
fn html_of_unknown_origin_has_only_absolute_links() {
    let body = b"<a href=x>x</a><a href=http://a.test/y>y</a>".to_vec();
    assert_eq!(urls(&extractor().extract(&Page { body, ..Page::default() })), ["http://a.test/y"]);
    let body = b"<base href=http://a.test/z/><a href=x>x</a>".to_vec();
    assert_eq!(
        urls(&extractor().extract(&Page { body, ..Page::default() })),
        ["http://a.test/z/x"]
    );
}

#[test]
fn a_link_is_nofollow_only_if_every_occurrence_is() {
    let document = extract(
        "<a rel='external NoFollow' href=a>a</a><a rel=nofollow href=b>b</a><a href=b#x>b</a>",
    );
    let marks: Vec<_> = document.links.iter().map(|link| link.nofollow).collect();
    assert_eq!(marks, [true, false]);
}

#[test]
fn of_many_links_ten_thousand_are_kept() {
    let html = (0..12_000).fold(String::new(), |html, n| html + &format!("<a href=/{n}>x</a>"));
    let document = extract(&html);
    assert_eq!(document.links.len(), 10_000);
    assert_eq!(document.links[9_999].url.path(), "/9999");
}

#[test]
fn the_canonical_link_is_the_first_valid_one_of_the_head() {
    let canonical = |html: &str| extract(html).canonical.map(String::from);
    assert_eq!(
        canonical(
            "<head><link rel=canonical href='mailto:x'><link rel='Canonical x' href=real#f><link rel=canonical href=late></head>"
        ),
        Some("http://example.org/dir/real".to_owned())
    );
    assert_eq!(canonical("<body><p>x<link rel=canonical href=in-body>"), None);
    assert_eq!(canonical("<link rel=alternate href=x>"), None);
}

#[test]
fn robots_directives_of_meta_and_header_add_up() {
    let directives = |html: &str, headers: &[&str]| {
        let x_robots_tag = headers.iter().map(ToString::to_string).collect();
        let Directives { noindex, nofollow } =
            extractor().extract(&Page { x_robots_tag, ..page(html.as_bytes()) }).robots;
        (noindex, nofollow)
    };
    assert_eq!(directives("<meta name=robots content='NOINDEX , follow'>", &[]), (true, false));
    assert_eq!(directives("<meta name=PageSieve content=nofollow>", &[]), (false, true));
    assert_eq!(directives("<meta name=otherbot content=none>", &[]), (false, false));
    assert_eq!(directives("<meta name=robots content=noindex>", &["nofollow"]), (true, true));
    assert_eq!(directives("", &["otherbot: none", "pagesieve: noindex"]), (true, false));
    assert_eq!(directives("<meta name=robots content=none>", &["all"]), (true, true));
    assert_eq!(directives("<p>x", &[]), (false, false));
}

#[test]
fn without_a_product_token_only_unnamed_directives_count() {
    let body = b"<meta name=pagesieve content=none><meta name='' content=none>".to_vec();
    let document =
        pagesieve::extract::Extractor::default().extract(&Page { body, ..Page::default() });
    assert_eq!(document.robots, Directives::default());
}

#[test]
fn links_have_at_most_2048_characters_and_4_mib_together() {
    let address = |length: usize| format!("/{}", "a".repeat(length - "http://example.org/".len()));
    let linked =
        |base: &str, href: &str| extract(&format!("<base href={base}><a href={href}>x</a>")).links;
    assert_eq!(linked("/", &address(2048))[0].url.as_str().len(), 2048);
    assert_eq!(linked("/", &address(2049)), []);
    assert_eq!(linked("/", &format!("b#{}", "c".repeat(9_000)))[0].url.path(), "/b");
    // A base that is too long is none.
    assert_eq!(linked(&(address(2040) + "/"), "bcdefghij"), []);
    assert_eq!(linked(&(address(2049) + "/"), "b")[0].url.path(), "/dir/b");
    assert_eq!(linked("/", &format!("http://{}/", "a.".repeat(200))), []);
    let many: String =
        (1_000..5_000).map(|n| format!("<a href={}{n}>x</a>", address(2_000))).collect();
    assert_eq!(extract(&many).links.len(), (4 << 20) / 2_004 + 1);
}
