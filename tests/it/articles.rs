//! Pages that try to mislead the filter, and pages without content.

use std::hash::{DefaultHasher, Hash, Hasher};

use pagesieve::{
    Document, Filter,
    extract::Extractor,
    filter::{Judgement, Options, Step},
    fingerprint::{HashSeed, HashSeedChoice},
    page::{Outline, Page, Timestamp},
};

fn filter() -> Filter {
    Filter::new(&Options::default()).unwrap()
}

fn document(filter: &Filter, url: &str, html: &str) -> Document {
    let page = Page {
        url: Some(format!("http://{url}").parse().unwrap()),
        body: html.as_bytes().to_vec(),
        ..Page::default()
    };
    filter.documents().page(&Extractor::default(), &page).0.with_time(Timestamp(0))
}

fn judge(filter: &mut Filter, url: &str, html: &str) -> Judgement {
    let document = document(filter, url, html);
    filter.judge(&document).unwrap()
}

/// Words unlike those of any other name.
fn words(name: &str, count: usize) -> String {
    let word = |place: usize| {
        let mut hasher = DefaultHasher::new();
        (name, place).hash(&mut hasher);
        let hash = hasher.finish();
        (0..6).map(|at| char::from(b'a' + (hash >> (4 * at) & 15) as u8)).collect::<String>()
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// An article of this name, in two paragraphs.
fn article(name: &str, count: usize) -> String {
    let [one, two] = ["one", "two"].map(|part| words(&format!("{name} {part}"), count / 2));
    format!("<h1>{}</h1><p>{one}</p><p>{two}</p>", words(name, 4))
}

/// A page of this title in what a site has on all pages.
fn framed(boilerplate: &str, title: &str, content: &str) -> String {
    let part = |part: &str| words(&format!("{boilerplate} {part}"), 40);
    format!(
        "<!doctype html><title>{}</title><div><p>{}</p></div><main><article>{content}</article></main><div><p>{}</p></div>",
        words(title, 4),
        part("above"),
        part("below")
    )
}

/// Neither do they become boilerplate of their site.
#[test]
fn copies_under_many_titles_are_all_found() {
    for kind in ["title and heading", "title"] {
        let mut filter = filter();
        for number in 0..40 {
            let name = words(&format!("name {number}"), 4);
            let heading = if kind == "title" { String::new() } else { format!("<h2>{name}</h2>") };
            let html = framed("a", &name, &format!("{heading}{}", article("tea", 150)));
            let found = judge(&mut filter, &format!("a.test/{number}"), &html).verdict;
            assert_eq!(found.is_unique(), number == 0, "{kind} {number}");
        }
    }
}

/// However many pages have that furniture, and however little of the article is left in one piece.
#[test]
fn the_furniture_of_a_site_hides_no_copy_of_another_one() {
    for pages in 0..=12 {
        let mut filter = filter();
        let original = framed("a", "tea", &article("tea", 150));
        assert!(judge(&mut filter, "a.test/1", &original).verdict.is_unique());
        for number in 0..pages {
            let html = framed("b", &format!("{number}"), &article(&format!("{number}"), 150));
            assert!(judge(&mut filter, &format!("b.test/{number}"), &html).verdict.is_unique());
        }
        let mut number = 0;
        let edited: Vec<String> = article("tea", 150)
            .split(' ')
            .map(|word| {
                number += 1;
                if number % 14 == 0 { words(&format!("edit {number}"), 1) } else { word.to_owned() }
            })
            .collect();
        let found =
            judge(&mut filter, "b.test/tea", &framed("b", "tea", &edited.join(" "))).verdict;
        assert_eq!(found.matched().map(|found| found.of.0), Some(1), "{pages} pages of the site");
    }
}

#[test]
fn text_that_is_hidden_changes_nothing() {
    let filter = filter();
    let content = article("tea", 120);
    let plain = document(&filter, "a.test/1", &framed("a", "tea", &content));
    let hidden = words("hidden", 300);
    for how in [
        "hidden",
        "aria-hidden=true",
        "style='display:none'",
        "style='color:red; visibility: hidden'",
        "style='font-size:0'",
        "style='font-size: 0px;'",
    ] {
        for element in ["div", "p", "span"] {
            let extra = format!("{content}<{element} {how}>{hidden}</{element}>");
            let page = document(&filter, "a.test/1", &framed("a", "tea", &extra));
            // All that is judged beside the bytes: text, article and boilerplate.
            let page = page.with_body(pagesieve::Digest::of(b""));
            assert!(page == plain.clone().with_body(pagesieve::Digest::of(b"")), "{element} {how}");
        }
    }
}

/// A few words that are repeated a thousand times count once, so pages are still told apart by their articles. Many keywords are text like
/// any other: pages of two origins that contain little else can be near duplicates of each other.
#[test]
fn keywords_that_are_repeated_hide_no_articles() {
    let keywords = format!("<p>{}</p>", "cheap shoes buy online now ".repeat(1000));
    let below = format!("<div>{keywords}</div>");
    let one_site = ["a.test/1", "a.test/2", "a.test/3"];
    let three_sites = ["a.test/1", "b.test/1", "c.test/1"];
    for (count, urls) in [(60, one_site), (200, one_site), (1200, one_site), (1200, three_sites)] {
        for [within, after] in [["", below.as_str()], [&keywords, ""]] {
            let mut filter = filter();
            for (url, name) in urls.into_iter().zip(["tea", "coffee", "milk"]) {
                let content = format!("{}{within}", article(name, count));
                let html = framed(&url[..1], name, &content) + after;
                let judgement = judge(&mut filter, url, &html);
                assert!(judgement.verdict.is_unique(), "{url} of {count} words: {judgement:?}");
            }
        }
    }
}

/// An article in the boilerplate of another site is the article, wherever it appeared first. The copied boilerplate alone makes no duplicate: on
/// the other site it is known as boilerplate, and it is not the article of either page.
#[test]
fn copied_boilerplate_does_not_hide_an_article_and_is_none() {
    let mut filter = filter();
    for name in ["one", "two", "three", "four"] {
        let html = framed("b", name, &article(name, 150));
        assert!(judge(&mut filter, &format!("b.test/{name}"), &html).verdict.is_unique());
    }
    let first = judge(&mut filter, "a.test/tea", &framed("a", "tea", &article("tea", 150)));
    let copy = judge(&mut filter, "c.test/tea", &framed("b", "tea", &article("tea", 150)));
    assert_eq!(copy.verdict.matched().map(|found| found.of), Some(first.id));
    let other = judge(&mut filter, "c.test/milk", &framed("b", "milk", &article("milk", 150)));
    assert!(other.verdict.is_unique(), "{other:?}");
}

#[test]
fn a_page_of_boilerplate_only_is_thin_and_unique() {
    // Of long articles nothing beside them is kept, but it becomes boilerplate as well.
    for words in [150, 4000] {
        let mut filter = filter();
        let mut judge =
            |name: &str, html: &str| judge(&mut filter, &format!("a.test/{name}"), html);
        for name in ["one", "two", "three", "four"] {
            let judgement = judge(name, &framed("a", name, &article(name, words)));
            assert!(!judgement.facts.thin && judgement.verdict.is_unique());
        }
        let empty = |title: &str| framed("a", title, "");
        for title in ["map", "chart", "table"] {
            let judgement = judge(title, &empty(title));
            assert!(judgement.facts.thin && judgement.verdict.is_unique(), "{judgement:?}");
        }
        let equal = judge("equal", &empty("chart"));
        assert_eq!(equal.verdict.matched().map(|found| found.step), Some(Step::Body));
        assert!(equal.facts.thin);
    }
}

/// A page with links in its article and in a box of related pages.
fn linking(
    article: &str,
    links: std::ops::Range<usize>,
    related: std::ops::Range<usize>,
) -> String {
    let list = |numbers: std::ops::Range<usize>| -> String {
        numbers.map(|number| format!("<a href=/p/{number}>here</a> ")).collect()
    };
    let content = format!("<p>{}</p><div>{}</div>", words(article, 60), list(links));
    let related = format!("<div class=related-posts>{}</div>", list(related));
    framed("a", "slides", &content).replace("</main>", &format!("</main>{related}"))
}

#[test]
fn pages_of_one_text_whose_links_lead_elsewhere_are_two() {
    let mut filter = filter();
    let mut judge = |path: &str, html: &str| judge(&mut filter, &format!("a.test{path}"), html);
    for number in 0..3 {
        let html = framed("a", &format!("other {number}"), &article(&number.to_string(), 80));
        assert!(judge(&format!("/{number}"), &html).verdict.is_unique());
    }
    let may = linking("slides", 0..6, 100..110);
    assert!(judge("/may", &may).verdict.is_unique());
    let session = (0..6).fold(may.clone(), |html, number| {
        html.replace(&format!("/p/{number}>"), &format!("/p/{number}?sid=5f3a7c&from=nav{number}>"))
    });
    let repeated = [
        ("/print", linking("slides", 0..6, 200..210), "only related pages are others"),
        ("/v2/may", may.replace("href=/p/", "href=/v2/p/"), "a tree of copies"),
        ("/session", session, "the same with the id of a session and the origin in each link"),
        ("/some", linking("slides", 1..7, 100..110), "most links are the same"),
        ("/none", linking("slides", 0..2, 0..0), "four links are missing"),
    ];
    for (path, html, why) in repeated {
        let found = judge(path, &html).verdict;
        assert!(!found.is_unique(), "{path}: {why}");
    }
    let june = linking("slides", 10..16, 100..110);
    assert!(judge("/june", &june).verdict.is_unique(), "its links lead to other pages");
}

/// What pages have in common that share no prose, such as how many posts there are, and of when. The site's note makes it less than half of
/// the body text.
fn labelled(name: &str, content: &str) -> String {
    let labels = [1, 2, 3].map(|number| format!("<p>{}</p>", words(&format!("label {number}"), 5)));
    framed("a", name, &format!("<p>{}</p>{}{content}", words("note", 40), labels.concat()))
}

/// A filter that knows the note and the boilerplate of a site.
fn filter_that_knows_the_site() -> Filter {
    knowing_the_site(filter())
}

fn knowing_the_site(mut filter: Filter) -> Filter {
    for number in 0..3 {
        let content = format!("<p>{}</p>{}", words("note", 40), article(&number.to_string(), 80));
        let html = framed("a", &format!("other {number}"), &content);
        assert!(judge(&mut filter, &format!("a.test/{number}"), &html).verdict.is_unique());
    }
    filter
}

#[test]
fn pages_without_prose_in_common_are_two_if_they_lead_to_another_page() {
    let list = |name: &str, links: [&str; 2]| {
        let links = links.map(|link| format!("<a href={link}>here</a> "));
        labelled(name, &format!("<div>{}</div>", links.concat()))
    };
    let mut filter = filter_that_knows_the_site();
    let mut judge = |path: &str, html: &str| judge(&mut filter, &format!("a.test{path}"), html);
    assert!(judge("/tea", &list("tea", ["/p/1", "#top"])).verdict.is_unique());
    let same = judge("/same", &list("tea", ["/p/1#more", "#end"]));
    assert!(!same.verdict.is_unique(), "anchors lead nowhere else");
    let other = judge("/other", &list("tea", ["/p/2", "#top"]));
    assert!(other.verdict.is_unique(), "it leads to another post");
}

#[test]
fn pages_of_one_name_without_prose_in_common_are_two_if_their_links_say_other_words() {
    let mut filter = filter_that_knows_the_site();
    let mut judge = |path: &str, html: &str| judge(&mut filter, &format!("a.test{path}"), html);
    let list = |tree: &str, language: &str| {
        let posts = [1, 2, 3, 4, 5, 6, 7, 8].map(|number| {
            let title = words(&format!("{language} {number}"), 8);
            format!("<p><a href=/{tree}/p/{number}>{title}</a></p>")
        });
        labelled("tea", &posts.concat())
    };
    assert!(judge("/en/tea", &list("en", "en")).verdict.is_unique());
    assert!(!judge("/v2/tea", &list("v2", "en")).verdict.is_unique());
    assert!(judge("/ja/tea", &list("ja", "ja")).verdict.is_unique(), "its titles are others");
}

#[test]
fn titles_that_two_lists_link_to_are_no_prose_in_common() {
    let mut filter = filter_that_knows_the_site();
    let mut judge = |path: &str, html: &str| judge(&mut filter, &format!("a.test{path}"), html);
    let list = |name: &str, posts: [usize; 3]| {
        let pinned = [1, 2].map(|number| {
            format!("<p><a href=/{number}>{}</a></p>", words(&format!("pinned {number}"), 60))
        });
        let posts = posts.map(|number| format!("<a href=/p/{number}>here</a> "));
        framed("a", name, &format!("{}<div>{}</div>", pinned.concat(), posts.concat()))
    };
    assert!(judge("/tea", &list("tea", [1, 2, 3])).verdict.is_unique());
    assert!(!judge("/again", &list("tea", [1, 2, 3])).verdict.is_unique(), "the same posts");
    assert!(judge("/milk", &list("milk", [4, 5, 6])).verdict.is_unique(), "other posts");
}

#[test]
fn lists_with_excerpts_are_two_if_many_entries_differ() {
    let mut filter = filter_that_knows_the_site();
    let mut judge = |path: &str, html: &str| judge(&mut filter, &format!("a.test{path}"), html);
    let post = |post: usize| {
        let (title, excerpt) =
            (words(&format!("title {post}"), 5), words(&format!("excerpt {post}"), 40));
        format!("<section><h2><a href=/post-{post}>{title}</a></h2><p>{excerpt}</p></section>")
    };
    let list = |title: &str, of: &str, posts: std::ops::Range<usize>| {
        let posts = posts.map(post).collect::<String>();
        framed("a", title, &format!("<p>All posts {of}</p>{posts}"))
    };
    for number in 1..4 {
        let posts = list("tea", &format!("on page {number}"), number * 8..number * 8 + 8);
        assert!(judge(&format!("/page/{number}"), &posts).verdict.is_unique());
    }
    assert!(
        !judge("/2022/", &list("tea", "of 2022", 16..24)).verdict.is_unique(),
        "the same entries"
    );
    let other = judge("/2023/", &list("tea", "of 2023", 20..28));
    assert!(other.verdict.is_unique(), "half of the entries are others");
    // Two versions of a list.
    assert!(judge("/v1/milk", &list("milk", "of milk", 40..48)).verdict.is_unique());
    assert!(!judge("/v2/milk", &list("milk", "of milk", 41..49)).verdict.is_unique());
    let article = |teaser: usize| {
        let heading = format!("<h1><a href=/>{}</a></h1>", words("tea", 4));
        framed("a", "tea", &format!("{heading}<p>{}</p>{}", words("about tea", 400), post(teaser)))
    };
    assert!(judge("/a", &article(50)).verdict.is_unique());
    assert!(!judge("/b", &article(51)).verdict.is_unique(), "an article with another teaser");
}

/// A page of these lines of its body text, each with whether it is a link, and of a line beside it.
fn outlined(filter: &Filter, body: &[(&str, bool)], beside: &str) -> Document {
    let mut outline = Outline::new("tea");
    for (line, is_link) in body {
        let block = outline.block(Outline::PAGE);
        outline.line(block, line, if *is_link { line.len() } else { 0 }, true);
    }
    let block = outline.block(Outline::PAGE);
    outline.line(block, beside, 0, false);
    let text = body.iter().map(|(line, _)| *line).collect::<Vec<_>>().join("\n");
    let id = format!("{text} {beside}");
    filter.documents().outlined(&id, Some("a.test:80"), &text, &outline)
}

fn repeat(pages: [&dyn Fn(&Filter) -> Document; 2]) -> bool {
    repeat_in(filter_that_knows_the_site(), pages)
}

fn repeat_in(mut filter: Filter, pages: [&dyn Fn(&Filter) -> Document; 2]) -> bool {
    let pages = pages.map(|page| page(&filter));
    let [first, second] = pages.map(|page| filter.judge(&page).unwrap().verdict);
    assert!(first.is_unique());
    !second.is_unique()
}

#[test]
fn words_of_links_weigh_less_than_other_words() {
    let tea = words("about tea", 40);
    let page = |teasers: &str, is_link: bool| {
        let (tea, teasers) = (tea.clone(), words(teasers, 30));
        move |filter: &Filter| outlined(filter, &[(&tea, false), (&teasers, is_link)], "")
    };
    assert!(repeat([&page("some", true), &page("others", true)]));
    assert!(!repeat([&page("some", false), &page("others", false)]));
}

#[test]
fn around_an_equal_body_text_more_may_differ() {
    let tea = words("about tea", 60);
    let page = |body: &str, beside: &str| {
        let (line, beside) = (format!("{tea} {body}"), beside.to_owned());
        move |filter: &Filter| outlined(filter, &[(&line, false)], &beside)
    };
    let some = words("some", 40);
    assert!(repeat([&page("", ""), &page("", &some)]));
    assert!(!repeat([&page("", ""), &page(&some, "")]), "so much of it is in the body text");
}

#[test]
fn long_pages_may_differ_in_links_but_not_in_their_ends() {
    let page = |teasers: &str, end: &str| {
        let beginning = words("tea", 2000);
        let (end, teasers) = (words(&format!("end {end}"), 900), words(teasers, 400));
        move |filter: &Filter| {
            outlined(filter, &[(&beginning, false), (&end, false), (&teasers, true)], "")
        }
    };
    // Which words of a long page are in its sketch depends on the hash seed.
    let repeats = |other: [&str; 2]| {
        let seeds = (0..40).map(|number| HashSeedChoice::Fixed(HashSeed(number)));
        let repeats = seeds.filter(|hash_seed| {
            let mut options = Options::default();
            options.hash_seed = *hash_seed;
            let filter = knowing_the_site(Filter::new(&options).unwrap());
            repeat_in(filter, [&page("some", "tea"), &page(other[0], other[1])])
        });
        repeats.count()
    };
    let (of_the_same, of_another) = (repeats(["others", "tea"]), repeats(["some", "milk"]));
    assert!(of_the_same >= 34, "{of_the_same} of 40");
    assert!(of_another <= 3, "{of_another} of 40");
}
