//! Rules that select the body text of certain pages.

use std::path::Path;

use pagesieve::{
    config::Draft,
    extract::{Extractor, Options, Rules},
    page::Page,
};

fn text(rules: &str, html: &str) -> String {
    let rules: Rules = toml::from_str(rules).unwrap();
    let mut options = Options::default();
    options.rules = vec![rules];
    let extractor = Extractor::new(options);
    let url = "http://www.coast.test/thread/1".parse().ok();
    extractor.extract(&Page { url, body: html.as_bytes().to_vec(), ..Page::default() }).text
}

const PAGE: &str = "<nav class=\"crumbs\" data-x=1>Home</nav><h1>Title</h1><div class=post><p>One, which is long enough to be a sentence.</p>\
    <blockquote>Quoted.</blockquote></div><div class=post>Two <b class=sig>Signed</b><span hidden>h</span></div><p>Rest of the page.</p>";

#[test]
fn kept_elements_are_the_text_and_nothing_else() {
    assert_eq!(
        text("site = 'coast.test'\nkeep = ['.post', 'nav[data-x]']", PAGE),
        "Home\nOne, which is long enough to be a sentence.\nQuoted.\nTwo Signedh"
    );
}

#[test]
fn dropped_elements_are_not_text_wherever_they_are() {
    assert_eq!(
        text(
            "site = 'coast.test/thread/'\nkeep = ['.post']\ndrop = ['blockquote', '.post:nth-of-type(2)']",
            PAGE
        ),
        "One, which is long enough to be a sentence."
    );
    assert!(!text("site = 'coast.test'\ndrop = ['blockquote']", PAGE).contains("Quoted"));
}

#[test]
fn a_page_without_a_kept_element_is_read_by_scoring() {
    let without = text("site = 'other.test'\nkeep = ['.post']", PAGE);
    assert_eq!(text("site = 'coast.test'\nkeep = ['.article']", PAGE), without);
    assert!(without.contains("Rest of the page."));
}

fn refusal(toml: &str) -> String {
    let error = Draft::parse(Path::new("crawl.toml"), toml.to_owned(), &[]).unwrap_err();
    format!("{:?}", miette::Report::new(error))
}

#[test]
fn a_configuration_with_a_bad_selector_is_refused_at_its_line() {
    let shown = refusal(
        "[crawl]\nmax_pages = 1\n\n[[extract]]\nsite = 'coast.test'\nkeep = ['.post', 'p >> b']\n",
    );
    assert!(shown.contains("`p >> b` is not a CSS selector"), "{shown}");
    assert!(shown.contains("crawl.toml:6"), "{shown}");
    let shown = refusal("[[extract]]\nsite = 'https://coast.test'\n");
    assert!(shown.contains("`https://coast.test` is not a valid site"), "{shown}");
    assert!(shown.contains("crawl.toml:2"), "{shown}");
    assert!(refusal("[[extract]]\nsite = 'coast.test'\nkept = ['p']\n").contains("kept"));
}
