//! The cost of a page of 18 KB: parsed by scraper alone, and extracted completely.

use std::{fmt::Write as _, hint::black_box};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pagesieve::{
    extract::Extractor,
    page::{Page, language},
};
use scraper::Html;

fn extract(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("extract");
    for (name, sentence) in [
        (
            "latin",
            "The <em>quick</em> brown fox jumps over the <a href=\"/dogs/lazy\">lazy dog</a> &amp; runs away.",
        ),
        (
            "chinese",
            "敏捷的<em>棕色</em>狐狸跳過了那隻<a href=\"/dogs/lazy\">懶惰的狗</a>，然後跑得無影無蹤。",
        ),
    ] {
        let markup = manual(sentence);
        let page = Page {
            url: "http://example.org/manual/page.html".parse().ok(),
            body: markup.clone().into_bytes(),
            ..Page::default()
        };
        let extractor = Extractor::default();
        let text = extractor.extract(&page).text;
        group.throughput(Throughput::Bytes(markup.len() as u64));
        group.bench_function(format!("{name}/scraper alone"), |bench| {
            bench.iter(|| Html::parse_document(black_box(&markup)));
        });
        group.bench_function(format!("{name}/document"), |bench| {
            bench.iter(|| extractor.extract(black_box(&page)));
        });
        group.bench_function(format!("{name}/language"), |bench| {
            bench.iter(|| language(black_box(&text)));
        });
    }
    group.finish();
}

/// A page as generators of manuals make it: navigation, headings, paragraphs, lists, a table.
fn manual(sentence: &str) -> String {
    let mut html = String::from(
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Manual</title>\
         <link rel=canonical href=/manual/page.html></head><body class=\"page has-sidebar\"><nav class=\"main-nav\"><ul>",
    );
    for link in 0..40 {
        let _ = write!(
            html,
            "<li class=\"item level-2\"><a class=\"ref\" href=\"chapter-{link}.html\">Chapter {link}</a></li>"
        );
    }
    html.push_str("</ul></nav><main id=content>");
    for section in 0..30 {
        let _ = write!(
            html,
            "<div class=\"sect1\" id=\"s{section}\"><h2 class=\"title\">Section {section}</h2>\n<p class=\"para\">{sentence} {sentence}</p>\
             <ul class=\"itemizedlist\"><li class=\"listitem\">{sentence}</li></ul>\
             <table class=\"informal\"><tr><td>one</td><td>{section}</td></tr></table></div>\n"
        );
    }
    html.push_str("</main><footer><p>Copyright</p></footer></body></html>");
    html
}

criterion_group!(benches, extract);
criterion_main!(benches);
