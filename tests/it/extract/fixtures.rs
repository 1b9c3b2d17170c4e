//! Whole pages, written by hand.

use pagesieve::{
    extract::{Directives, Extracted},
    page::Page,
};

use super::extractor;

macro_rules! fixture {
    ($name:literal) => {
        read(include_bytes!(concat!("../../data/extract/", $name)))
    };
}

fn read(body: &[u8]) -> Extracted {
    let url = "http://coast.test/notes/page.html".parse().ok();
    extractor().extract(&Page { url, body: body.to_vec(), ..Page::default() })
}

fn urls(document: &Extracted) -> Vec<&str> {
    document.links.iter().map(|link| link.url.as_str()).collect()
}

#[test]
fn an_article_is_extracted_without_its_boilerplate() {
    let document = fixture!("article.html");
    assert_eq!(document.title.as_deref(), Some("How tides work — Coast Notes"));
    assert_eq!(
        document.text,
        "How tides work\nBy A. Writer\n\
         The sea rises and falls twice a day, because the pull of the moon is stronger on the side that faces it.\n\
         High water at noon.\nPort\tRange\nBrest\t6.1 m\nhigh 06:12\nlow 12:25\nSee spring tides and the moon."
    );
    assert_eq!(
        urls(&document),
        [
            "http://coast.test/notes/page.html",
            "http://coast.test/",
            "http://coast.test/notes/",
            "http://coast.test/about",
            "http://coast.test/notes/spring-tides.html",
            "https://example.org/moon",
            "https://share.example/?u=1",
            "http://coast.test/notes/waves",
        ]
    );
    assert!(document.links.iter().all(|link| link.nofollow == (link.url.path() == "/moon")));
    assert_eq!(
        document.canonical.as_ref().map(url::Url::as_str),
        Some("http://coast.test/notes/tides")
    );
    assert_eq!(document.robots, Directives::default());
    assert_eq!((document.lang, document.charset, document.truncated), (Some("en"), "UTF-8", None));
}

#[test]
fn a_chinese_page_in_gb18030_is_read() {
    let document = fixture!("tides-gb18030.html");
    assert_eq!(document.title.as_deref(), Some("潮汐的成因"));
    assert_eq!(
        document.text,
        "潮汐的成因\n海水每天涨落两次，因为月球的引力在面向它的一侧更强。𠮷野家旁边的码头也不例外。\n\
         满月和新月时的潮差最大，称为大潮。"
    );
    assert_eq!((document.lang, document.charset), (Some("zh"), "gb18030"));
    assert_eq!(urls(&document), ["http://coast.test/", "http://coast.test/notes/dachao.html"]);
}

#[test]
fn a_frameset_has_links_and_no_text() {
    let document = fixture!("frameset.html");
    assert_eq!(document.text, "");
    assert_eq!(
        urls(&document),
        ["http://coast.test/notes/toc.html", "http://coast.test/notes/intro.html"]
    );
}

#[test]
fn a_page_that_is_one_form_keeps_its_text() {
    let document = fixture!("aspnet-form.html");
    assert_eq!(
        document.text,
        "Opening hours\nThe library is open from Monday to Friday, ten to six.\nOn holidays it is closed."
    );
    assert_eq!(urls(&document), ["http://coast.test/notes/Contact.aspx"]);
}

#[test]
fn a_cookie_notice_is_dropped_and_a_recipe_for_cookies_stays() {
    let document = fixture!("cookie-note.html");
    assert_eq!(
        document.text,
        "Mürbe Kekse\nDas Mehl mit dem Zucker und der kalten Butter verkneten und eine Stunde ruhen lassen.\n\
         300 g Mehl\n200 g Butter"
    );
    assert_eq!(document.lang, Some("de"));
}
