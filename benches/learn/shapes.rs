//! Shapes that many sites have: twelve honest ones, and more ways to have many URLs for few texts.

use crate::{
    false_traps::{Numbers, page, teaser, world},
    honest::anchor,
    prose::{Dice, Language, Prose},
    target::Target,
    world::{Answer, World},
};

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let all: [fn() -> World; 24] = [
        wiki,
        shop,
        shop_in_paths,
        threads,
        languages,
        gallery,
        mailing_list,
        versions,
        bilingual,
        anchors,
        chain,
        news,
        search,
        login,
        replies,
        || companions("amp pages", false),
        || companions("amp pages with canonical links", true),
        tags,
        grid,
        stamps,
        days,
        || maze("maze of new texts", true),
        || maze("maze of a few texts", false),
        labyrinth,
    ];
    all.into_iter().map(|world| world())
}

fn names(kind: &'static str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{kind} {number}"))
}

/// Some pages of `count`, drawn by a name.
fn some(name: &str, count: usize, of: usize) -> Vec<usize> {
    let mut dice = Dice::of(name);
    (0..count).map(|_| dice.roll(of)).collect()
}

fn links(to: impl Iterator<Item = String>) -> String {
    to.map(|to| anchor(&to, &to) + " ").collect()
}

/// The article `name`, with these links below it.
fn linked(prose: &Prose, name: &str, to: impl Iterator<Item = String>) -> String {
    page(prose, &prose.title(name), &(prose.paragraphs(name, 4) + &links(to)), &[])
}

fn below(path: &str, prefix: &str, end: usize) -> Option<usize> {
    path.strip_prefix(prefix)?.parse().ok().filter(|number| *number < end)
}

/// 400 articles, each with a history of its revisions, old revisions that differ in a sentence, and comparisons of them.
fn wiki() -> World {
    const ARTICLES: usize = 400;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("topic", ARTICLES));
    let words: Vec<String> = (0..ARTICLES)
        .map(|topic| format!("Topic_{}", Dice::of(&format!("t{topic}")).hex(6)))
        .collect();
    world("wiki with history", "/wiki/Main", ARTICLES, move |asked| {
        let title = asked.path.strip_prefix("/wiki/").or(asked.get("title")).unwrap_or_default();
        if title == "Main" {
            let all = some("main", 30, ARTICLES);
            return Answer::junk(linked(
                &prose,
                "main",
                all.iter().map(|it| format!("/wiki/{}", words[*it])),
            ));
        }
        let Some(topic) = words.iter().position(|word| word == title) else {
            return Answer::missing();
        };
        let name = format!("topic {topic}");
        let revisions = 2 + Dice::of(&name).roll(8);
        let script = || Target::new("/w/index.php").with("title", title);
        let old = |revision: usize| script().with("oldid", topic * 10 + revision);
        let mut to: Vec<String> = vec![script().with("action", "history").show()];
        if asked.get("action") == Some("history") {
            let rows = (0..revisions).map(|revision| {
                let diff = old(revision).with("diff", topic * 10 + revision + 1).show();
                anchor(&old(revision).show(), &format!("revision {revision} of {title}"))
                    + &anchor(&diff, "compare")
                    + "<br>"
            });
            let body: String = rows.collect();
            return Answer::junk(page(&prose, &format!("History of {title}"), &body, &[]));
        }
        let revision = asked.number("oldid").map(|id| id % 10);
        let changed = |revision: usize| prose.teaser(&format!("{name} revision {revision}"));
        if asked.get("diff").is_some() {
            let revision = revision.unwrap_or_default();
            let body = format!("<p>- {}</p><p>+ {}</p>", changed(revision), changed(revision + 1));
            return Answer::junk(page(&prose, &format!("Changes of {title}"), &body, &[]));
        }
        let mut body = prose.paragraphs(&name, 5);
        if let Some(revision) = revision {
            body = format!("<p>{}</p>{body}", changed(revision));
            to.push(format!("/wiki/{title}"));
        }
        to.push(format!("/wiki/{}", words[(topic + 1) % ARTICLES]));
        to.extend(some(&name, 6, ARTICLES).iter().map(|it| format!("/wiki/{}", words[*it])));
        body += &links(to.into_iter());
        let html = page(&prose, title, &body, &[]);
        if revision.is_some() { Answer::junk(html) } else { numbers.answer(&name, html) }
    })
}

/// 1,200 products in 20 categories, in lists of ten that can be sorted and filtered.
fn shop() -> World {
    const PRODUCTS: usize = 1_200;
    const CATEGORIES: usize = 20;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("product", PRODUCTS));
    world("shop with sorted lists", "/c/0", PRODUCTS, move |asked| {
        if let Some(product) = below(&asked.path, "/p/", PRODUCTS) {
            let related = some(&format!("related {product}"), 4, PRODUCTS);
            let to = related.iter().map(|it| format!("/p/{it}?ref=related"));
            let name = format!("product {product}");
            let to = to.chain([format!("/c/{}", product % CATEGORIES)]);
            return numbers.answer(&name, linked(&prose, &name, to));
        }
        let Some(category) = below(&asked.path, "/c/", CATEGORIES) else {
            return Answer::missing();
        };
        let stock = asked.get("stock").is_some();
        let mut products: Vec<usize> = (0..PRODUCTS / CATEGORIES)
            .map(|place| place * CATEGORIES + category)
            .filter(|product| !stock || product % 3 > 0)
            .collect();
        if let Some(sort) = asked.get("sort") {
            products.sort_by_key(|it| Dice::of(&format!("{sort} {it}")).roll(1 << 30));
        }
        let list = asked.number("page").unwrap_or(1).max(1);
        let mut body: String = (products.iter().skip((list - 1) * 10).take(10))
            .map(|it| teaser(&prose, &format!("/p/{it}"), &format!("product {it}")))
            .collect();
        let without = asked.clone().without("page");
        body += &links(
            (0..CATEGORIES)
                .map(|category| format!("/c/{category}"))
                .chain(
                    ["price", "name", "new"].map(|sort| without.clone().set("sort", sort).show()),
                )
                .chain([without.clone().set("stock", "yes").show()])
                .chain(
                    (1..=products.len().div_ceil(10))
                        .map(|list| asked.clone().set("page", list).show()),
                ),
        );
        Answer::junk(page(&prose, &format!("Category {category}"), &body, &[]))
    })
}

/// 600 products in lists whose order, view and page are segments.
fn shop_in_paths() -> World {
    const PRODUCTS: usize = 600;
    const CATEGORIES: usize = 10;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("product", PRODUCTS));
    world("shop with lists in paths", "/list/0/new/grid/1", PRODUCTS, move |asked| {
        if let Some(product) = below(&asked.path, "/item/", PRODUCTS) {
            let name = format!("product {product}");
            let to = format!("/list/{}/new/grid/1", product % CATEGORIES);
            return numbers.answer(&name, linked(&prose, &name, [to].into_iter()));
        }
        let parts: Vec<&str> = asked.path.split('/').skip(2).collect();
        let [category, sort, view, list] = parts[..] else { return Answer::missing() };
        let (Ok(category), Ok(list)) = (category.parse::<usize>(), list.parse::<usize>()) else {
            return Answer::missing();
        };
        let mut products: Vec<usize> = (0..PRODUCTS / CATEGORIES)
            .map(|place| place * CATEGORIES + category % CATEGORIES)
            .collect();
        products.sort_by_key(|it| Dice::of(&format!("{sort} {it}")).roll(1 << 30));
        let shown = products.iter().skip(list.saturating_sub(1) * 12).take(12);
        let mut body: String = shown
            .map(|it| teaser(&prose, &format!("/item/{it}"), &format!("product {it}")))
            .collect();
        let sorts =
            ["new", "price", "name", "rank"].map(|it| format!("/list/{category}/{it}/{view}/1"));
        let views =
            ["grid", "rows", "text"].map(|it| format!("/list/{category}/{sort}/{it}/{list}"));
        let lists = (1..=5).map(|it| format!("/list/{category}/{sort}/{view}/{it}"));
        let categories = (0..CATEGORIES).map(|it| format!("/list/{it}/{sort}/{view}/1"));
        body += &links(sorts.into_iter().chain(views).chain(lists).chain(categories));
        Answer::junk(page(&prose, &format!("Category {category}"), &body, &[]))
    })
}

/// 500 threads with links to answer, to print and to each post, in lists with a sort, an order and a range of days.
fn threads() -> World {
    const THREADS: usize = 500;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("thread", THREADS));
    world("forum with sorted lists", "/list.php?f=0", THREADS, move |asked| {
        let thread = asked.number("t").filter(|thread| *thread < THREADS);
        match (asked.path.as_str(), thread) {
            ("/thread.php", Some(thread)) => {
                let name = format!("thread {thread}");
                let script = |path: &str| Target::new(path).with("t", thread);
                let posts = (0..5).map(|it| script("/thread.php").with("post", it).show());
                let replies = (0..5).map(|it| script("/reply.php").with("quote", it).show());
                let print = [script("/thread.php").with("print", 1).show()];
                let list = [Target::new("/list.php").with("f", thread % 5).show()];
                let to = posts.chain(replies).chain(print).chain(list);
                numbers.answer(&name, linked(&prose, &name, to))
            }
            ("/reply.php", Some(_)) => {
                Answer::junk(page(&prose, "Reply", "<p>Log in to write a reply.</p>", &[]))
            }
            ("/list.php", None) => {
                let forum = asked.number("f").unwrap_or_default() % 5;
                let mut all: Vec<usize> = (0..THREADS / 5).map(|it| it * 5 + forum).collect();
                let key = |name| asked.get(name).unwrap_or_default();
                let order = format!("{} {} {}", key("sort"), key("dir"), key("days"));
                all.sort_by_key(|it| Dice::of(&format!("{order} {it}")).roll(1 << 30));
                let start = asked.number("start").unwrap_or_default();
                let shown = all.iter().skip(start).take(20);
                let mut body: String = shown
                    .map(|it| {
                        teaser(&prose, &format!("/thread.php?t={it}"), &format!("thread {it}"))
                    })
                    .collect();
                let first = asked.clone().without("start");
                let set = |name: &'static str, values: &[&str]| -> Vec<String> {
                    values.iter().map(|it| first.clone().set(name, it).show()).collect()
                };
                let choices = [
                    set("sort", &["time", "author", "title", "views"]),
                    set("dir", &["up", "down"]),
                    set("days", &["1", "7", "30", "365"]),
                ];
                let starts = (0..5).map(|it| asked.clone().set("start", it * 20).show());
                let forums = (0..5).map(|it| Target::new("/list.php").with("f", it).show());
                body += &links(choices.into_iter().flatten().chain(starts).chain(forums));
                Answer::junk(page(&prose, &format!("Forum {forum}"), &body, &[]))
            }
            _ => Answer::missing(),
        }
    })
}

/// 300 pages in English, and in four languages into which half of them are translated; the others are shown in English.
fn languages() -> World {
    const PAGES: usize = 300;
    const LANGUAGES: [&str; 5] = ["en", "de", "fr", "it", "nl"];
    let prose = Prose::new(Language::English);
    let text = |lang: &str, number: usize| {
        let is_translated = Dice::of(&format!("{lang} has {number}")).roll(2) == 0;
        let shown = if is_translated { lang } else { "en" };
        format!("page {number} in {shown}")
    };
    let mut all: Vec<String> = (LANGUAGES.iter())
        .flat_map(|lang| (0..PAGES).map(move |number| text(lang, number)))
        .collect();
    all.sort();
    all.dedup();
    let (count, numbers) = (all.len(), Numbers::of(all.into_iter()));
    world("languages half translated", "/en/0", count, move |asked| {
        let in_path = |lang: &&&str| asked.path.starts_with(&format!("/{lang}/"));
        let lang = LANGUAGES.iter().find(in_path).unwrap_or(&"");
        let Some(number) = below(&asked.path, &format!("/{lang}/"), PAGES) else {
            return Answer::missing();
        };
        let near = [number * 2 + 1, number * 2 + 2, number / 2];
        let near = near.into_iter().map(|it| format!("/{lang}/{}", it % PAGES));
        let others = LANGUAGES.map(|lang| format!("/{lang}/{number}"));
        let name = text(lang, number);
        numbers.answer(&name, linked(&prose, &name, near.chain(others)))
    })
}

/// 1,000 photos, each of which leads to the one before and the one after, with a short caption.
fn gallery() -> World {
    const PHOTOS: usize = 1_000;
    let prose = Prose::new(Language::Chinese);
    let numbers = Numbers::of(names("photo", PHOTOS));
    world("gallery of 1,000 photos", "/photo/0.html", PHOTOS, move |asked| {
        let path = asked.path.trim_end_matches(".html");
        let Some(photo) = below(path, "/photo/", PHOTOS) else { return Answer::missing() };
        let name = format!("photo {photo}");
        let near = [photo.saturating_sub(1), photo + 1].map(|it| format!("/photo/{it}.html"));
        let body = prose.paragraphs(&name, 1) + &links(near.into_iter());
        numbers.answer(&name, page(&prose, &prose.title(&name), &body, &[]))
    })
}

/// 1,500 messages in 50 months, each month in four orders.
fn mailing_list() -> World {
    const MESSAGES: usize = 1_500;
    const EACH: usize = 30;
    const ORDERS: [&str; 4] = ["thread", "date", "author", "subject"];
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("message", MESSAGES));
    let month_of = |month: usize| format!("/list/{}-{:02}/", 2000 + month / 12, month % 12 + 1);
    world("archive of a mailing list", "/list/", MESSAGES, move |asked| {
        let months = 0..MESSAGES / EACH;
        if asked.path == "/list/" {
            let all = months
                .flat_map(|month| ORDERS.map(|order| format!("{}{order}.html", month_of(month))));
            return Answer::junk(page(&prose, "Archives", &links(all), &[]));
        }
        let Some(month) = months.clone().find(|month| asked.path.starts_with(&month_of(*month)))
        else {
            return Answer::missing();
        };
        let name = asked.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".html");
        let other =
            links(ORDERS.map(|order| format!("{}{order}.html", month_of(month))).into_iter());
        let address = |message: usize| format!("{}{message:06}.html", month_of(message / EACH));
        if ORDERS.contains(&name) {
            let mut all: Vec<usize> = (month * EACH..(month + 1) * EACH).collect();
            if name != "date" {
                all.sort_by_key(|it| Dice::of(&format!("{name} {it}")).roll(1 << 30));
            }
            let body: String = (all.iter())
                .map(|it| {
                    format!(
                        "<li>{} {}</li>",
                        anchor(&address(*it), &prose.title(&format!("message {it}"))),
                        prose.own_word(&mut Dice::of(&format!("author {it}")))
                    )
                })
                .collect();
            return Answer::junk(page(
                &prose,
                &format!("{month} by {name}"),
                &(body + &other),
                &[],
            ));
        }
        let Some(message) = name.parse().ok().filter(|it: &usize| it / EACH == month) else {
            return Answer::missing();
        };
        let near = [message.saturating_sub(1), (message + 1).min(MESSAGES - 1)].map(address);
        let name = format!("message {message}");
        let body = prose.paragraphs(&name, 2) + &links(near.into_iter()) + &other;
        numbers.answer(&name, page(&prose, &prose.title(&name), &body, &[]))
    })
}

/// 250 pages of a manual in eight versions: a page changes in one version of twelve.
fn versions() -> World {
    const PAGES: usize = 250;
    const VERSIONS: usize = 8;
    let prose = Prose::new(Language::English);
    let text = |version: usize, number: usize| {
        let since = (1..=version).filter(|it| Dice::of(&format!("{it} of {number}")).roll(12) == 0);
        format!("text {number} since {}", since.max().unwrap_or(0))
    };
    let mut all: Vec<String> = (0..VERSIONS)
        .flat_map(|version| (0..PAGES).map(move |number| text(version, number)))
        .collect();
    all.sort();
    all.dedup();
    let (count, numbers) = (all.len(), Numbers::of(all.into_iter()));
    world("manual in eight versions", "/docs/latest/0.html", count, move |asked| {
        let mut parts = asked.path.split('/').skip(2);
        let (version, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let number = name.strip_suffix(".html").and_then(|it| it.parse::<usize>().ok());
        let Some(number) = number.filter(|number| *number < PAGES) else {
            return Answer::missing();
        };
        let shown = version.strip_prefix("v").and_then(|it| it.parse().ok());
        let shown = shown.unwrap_or(VERSIONS - 1).min(VERSIONS - 1);
        let near = [number.saturating_sub(1), (number + 1) % PAGES, number / 2];
        let near = near.into_iter().map(|it| format!("/docs/{version}/{it}.html"));
        let others = (0..VERSIONS).map(|it| format!("/docs/v{it}/{number}.html"));
        let name = text(shown, number);
        numbers.answer(&name, linked(&prose, &name, near.chain(others)))
    })
}

/// 400 pages in English and in Chinese, chosen by the first segment; each leads to its counterpart, with a parameter too.
fn bilingual() -> World {
    const PAGES: usize = 400;
    let all = ["en", "zh"].map(|lang| (0..PAGES).map(move |it| format!("{lang} {it}")));
    let numbers = Numbers::of(all.into_iter().flatten());
    let (english, chinese) = (Prose::new(Language::English), Prose::new(Language::Chinese));
    world("bilingual site", "/en/0", PAGES * 2, move |asked| {
        let by_path =
            |lang: &'static str| Some((lang, below(&asked.path, &format!("/{lang}/"), PAGES)?));
        let Some((lang, number)) = by_path("en").or_else(|| by_path("zh")) else {
            return Answer::missing();
        };
        let prose = if lang == "en" { &english } else { &chinese };
        let other = if lang == "en" { "zh" } else { "en" };
        let near = [number * 2 + 1, number * 2 + 2, number / 2]
            .map(|it| format!("/{lang}/{}", it % PAGES));
        let both = [format!("/{other}/{number}"), format!("/{lang}/{number}?setlang={lang}")];
        let name = format!("{lang} {number}");
        numbers.answer(&name, linked(prose, &name, near.into_iter().chain(both)))
    })
}

/// 150 pages of documentation, each with twelve sections that have an address each, which shows the whole page.
fn anchors() -> World {
    const PAGES: usize = 150;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("page", PAGES));
    world("sections as pages", "/docs/0/", PAGES, move |asked| {
        let number = asked.path.split('/').nth(2).and_then(|it| it.parse::<usize>().ok());
        let Some(number) = number.filter(|number| *number < PAGES) else {
            return Answer::missing();
        };
        let sections = (0..12).map(|section| {
            let word = prose.own_word(&mut Dice::of(&format!("{number} {section}")));
            format!("/docs/{number}/{word}")
        });
        let near = [number * 2 + 1, number * 2 + 2].map(|it| format!("/docs/{}/", it % PAGES));
        let name = format!("page {number}");
        numbers.answer(&name, linked(&prose, &name, sections.chain(near)))
    })
}

/// 1,000 posts, each of which leads to the one before and the one after only.
fn chain() -> World {
    const POSTS: usize = 1_000;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("post", POSTS));
    let slugs: Vec<String> = (0..POSTS)
        .map(|post| {
            let mut dice = Dice::of(&format!("slug {post}"));
            format!("/{}-{}/", prose.own_word(&mut dice), prose.own_word(&mut dice))
        })
        .collect();
    world("blog of 1,000 posts in a chain", &slugs[0].clone(), POSTS, move |asked| {
        let Some(post) = slugs.iter().position(|slug| *slug == asked.path) else {
            return Answer::missing();
        };
        let near = [post.saturating_sub(1), (post + 1).min(POSTS - 1)];
        let name = format!("post {post}");
        numbers.answer(&name, linked(&prose, &name, near.into_iter().map(|it| slugs[it].clone())))
    })
}

/// 4,000 articles with ids up to 20,000, of which each leads to the five before it and to lists.
fn news() -> World {
    const ARTICLES: usize = 4_000;
    let prose = Prose::new(Language::Chinese);
    let numbers = Numbers::of(names("article", ARTICLES));
    world("news by id", "/", ARTICLES, move |asked| {
        let address = |article: usize| format!("/news/{}", article * 5 + article % 5);
        let section = below(&asked.path, "/section/", 8);
        if asked.path == "/" || section.is_some() {
            let section = section.unwrap_or(0);
            let last = asked.number("before").unwrap_or(ARTICLES).min(ARTICLES);
            let shown = (0..last).rev().filter(|it| it % 8 == section).take(20);
            let mut body: String =
                shown.map(|it| teaser(&prose, &address(it), &format!("article {it}"))).collect();
            body += &links((0..8).map(|it| format!("/section/{it}")));
            body += &links(
                [format!("/section/{section}?before={}", last.saturating_sub(160))].into_iter(),
            );
            return Answer::junk(page(&prose, "新闻", &body, &[]));
        }
        let id = below(&asked.path, "/news/", ARTICLES * 5);
        let Some(article) = id.map(|id| id / 5).filter(|it| address(*it) == asked.path) else {
            return Answer::missing();
        };
        let name = format!("article {article}");
        let before = (1..=5).filter_map(|it| article.checked_sub(it * 8)).map(address);
        numbers.answer(
            &name,
            linked(&prose, &name, before.chain([format!("/section/{}", article % 8)])),
        )
    })
}

/// 300 articles, each with six words that lead to search results, which lead to searches for two words and to more results.
fn search() -> World {
    const ARTICLES: usize = 300;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("article", ARTICLES));
    let word = |number: usize| {
        let prose = Prose { language: Language::English, words: Vec::new() };
        prose.own_word(&mut Dice::of(&format!("word {}", number % 500)))
    };
    world("search results", "/a/0", ARTICLES, move |asked| {
        if asked.path == "/search" {
            let query = asked.get("q").unwrap_or_default();
            let list = asked.number("page").unwrap_or(1);
            let mut body: String = some(&format!("{query} {list}"), 8, ARTICLES)
                .iter()
                .map(|it| teaser(&prose, &format!("/a/{it}"), &format!("article {it}")))
                .collect();
            body += &links([asked.clone().set("page", list + 1).show()].into_iter());
            if !query.contains('+') {
                let more = some(&format!("more {query}"), 6, 500);
                body += &links(more.iter().map(|it| {
                    Target::new("/search").with("q", format!("{query}+{}", word(*it))).show()
                }));
            }
            return Answer::junk(page(&prose, &format!("Results for {query}"), &body, &[]));
        }
        let Some(number) = below(&asked.path, "/a/", ARTICLES) else { return Answer::missing() };
        let name = format!("article {number}");
        let near = [number * 2 + 1, number * 2 + 2].map(|it| format!("/a/{}", it % ARTICLES));
        let words = some(&format!("words of {number}"), 6, 500);
        let words = words.iter().map(|it| format!("/search?q={}", word(*it)));
        numbers.answer(&name, linked(&prose, &name, near.into_iter().chain(words)))
    })
}

/// 1,000 pages; each links to a form to log in, which has the address of the page to return to as a parameter.
fn login() -> World {
    tree("log in and return", 1_000, |number, asked| {
        (asked.path == "/login")
            .then(|| "<p>Enter your name and your password to go on.</p>".to_owned())
            .ok_or_else(|| vec![format!("/login?return=/a/{number}"), format!("/a/{number}/share")])
    })
}

/// 300 posts with eight comments each; every comment has an address to reply to it, which shows the post.
fn replies() -> World {
    tree("addresses of replies", 300, |number, _| {
        Err((0..8).map(|reply| format!("/a/{number}?replytocom={}", number * 8 + reply)).collect())
    })
}

/// Each link has the time at which its page was made.
fn stamps() -> World {
    const PAGES: usize = 400;
    let prose = Prose::new(Language::Chinese);
    let numbers = Numbers::of(names("page", PAGES));
    world("time stamps on links", "/a/0", PAGES, move |asked| {
        let Some(number) = below(&asked.path, "/a/", PAGES) else { return Answer::missing() };
        let time = Dice::of(&asked.show()).roll(1 << 40);
        let near = [number * 2 + 1, number * 2 + 2, number / 2, 0];
        let name = format!("page {number}");
        let near = near.into_iter().map(|it| format!("/a/{}?_={time}", it % PAGES));
        numbers.answer(&name, linked(&prose, &name, near))
    })
}

/// Pages in a tree; `extra` answers what is none of them, or else gives more links for a page.
fn tree(
    name: &str,
    pages: usize,
    extra: impl Fn(usize, &Target) -> Result<String, Vec<String>> + Send + Sync + 'static,
) -> World {
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("page", pages));
    world(name, "/a/0", pages, move |asked| {
        let number = below(&asked.path, "/a/", pages);
        let more = match extra(number.unwrap_or_default(), asked) {
            Ok(body) => return Answer::junk(page(&prose, "", &body, &[])),
            Err(more) => more,
        };
        let Some(number) = number else { return Answer::missing() };
        let near =
            [number * 2 + 1, number * 2 + 2, number / 2].map(|it| format!("/a/{}", it % pages));
        let name = format!("page {number}");
        numbers.answer(&name, linked(&prose, &name, near.into_iter().chain(more)))
    })
}

/// 400 articles, each with the same text once more below it; with canonical links if these are wanted.
fn companions(name: &str, is_canonical: bool) -> World {
    const PAGES: usize = 400;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("page", PAGES));
    let slug = |number: usize| format!("/{}-{number}/", Dice::of(&format!("c{number}")).hex(5));
    let slugs: Vec<String> = (0..PAGES).map(slug).collect();
    world(name, &slugs[0].clone(), PAGES, move |asked| {
        let path = asked.path.strip_suffix("amp/").unwrap_or(&asked.path);
        let Some(number) = slugs.iter().position(|slug| slug == path) else {
            return Answer::missing();
        };
        let amp = if path == asked.path { "" } else { "amp/" };
        let near = [number * 2 + 1, number * 2 + 2, number / 2];
        let near = near.into_iter().map(|it| format!("{}{amp}", slugs[it % PAGES]));
        let name = format!("page {number}");
        let html = linked(&prose, &name, near.chain([format!("{path}amp/")]));
        let canonical = format!("<head><link rel=\"canonical\" href=\"{path}\">");
        let html = if is_canonical { html.replace("<head>", &canonical) } else { html };
        numbers.answer(&name, html)
    })
}

/// 300 articles, and lists of them by any set of 40 tags.
fn tags() -> World {
    let prose = Prose::new(Language::English);
    tree("sets of tags", 300, move |number, asked| {
        let Some(set) = asked.path.strip_prefix("/tag/") else {
            return Err(some(&format!("tags {number}"), 3, 40)
                .iter()
                .map(|it| format!("/tag/t{it}"))
                .collect());
        };
        let body: String = some(set, 6, 300)
            .iter()
            .map(|it| teaser(&prose, &format!("/a/{it}"), &format!("page {it}")))
            .collect();
        let more = some(&format!("more {set}"), 8, 40);
        Ok(body + &links(more.iter().map(|it| format!("/tag/{set}+t{it}"))))
    })
}

/// A map whose tiles lead to their neighbours.
fn grid() -> World {
    tree("map without an end", 300, |_, asked| {
        let Some(rest) = asked.path.strip_prefix("/map/") else {
            return Err(vec!["/map/500/500".to_owned()]);
        };
        let (x, y) = rest.split_once('/').unwrap_or_default();
        let (x, y) = (x.parse::<usize>().unwrap_or(1), y.parse::<usize>().unwrap_or(1));
        let near = [(x + 1, y), (x, y + 1), (x.saturating_sub(1), y), (x, y.saturating_sub(1))];
        let near = near.into_iter().map(|(x, y)| format!("/map/{x}/{y}"));
        Ok(format!(
            "<p>Map of the country at {x} degrees east and {y} degrees north.</p>{}",
            links(near)
        ))
    })
}

/// Days without an end that have a new sentence each.
fn days() -> World {
    let prose = Prose::new(Language::English);
    tree("a sentence a day", 300, move |_, asked| {
        let Some(day) = asked.path.strip_prefix("/day/") else {
            return Err(vec!["/day/20000".to_owned()]);
        };
        let day = day.parse::<usize>().unwrap_or_default();
        let near = [day + 1, day.saturating_sub(1), day + 7].map(|it| format!("/day/{it}"));
        Ok(format!("<p>{}</p>{}", prose.teaser(&format!("day {day}")), links(near.into_iter())))
    })
}

/// Pages that lead to five others each, without an end, by paths of two words.
fn maze(name: &str, is_new: bool) -> World {
    let prose = Prose::new(Language::English);
    tree(name, 300, move |_, asked| {
        let Some(rest) = asked.path.strip_prefix("/maze/") else {
            return Err(vec!["/maze/in/it".to_owned()]);
        };
        let mut dice = Dice::of(rest);
        let text = if is_new { rest.to_owned() } else { format!("room {}", dice.roll(30)) };
        let to: Vec<String> = (0..5)
            .map(|_| format!("/maze/{}/{}", prose.own_word(&mut dice), prose.own_word(&mut dice)))
            .collect();
        Ok(prose.paragraphs(&text, 4) + &links(to.into_iter()))
    })
}

/// The same, but each room has a directory of its own, of one word.
fn labyrinth() -> World {
    let prose = Prose::new(Language::English);
    tree("maze of new directories", 300, move |_, asked| {
        if asked.path.starts_with("/a/") {
            return Err(vec!["/in/".to_owned()]);
        }
        let mut dice = Dice::of(&asked.path);
        let to = (0..5).map(|_| format!("/{}/", prose.own_word(&mut dice))).collect::<Vec<_>>();
        Ok(prose.paragraphs(&asked.path, 4) + &links(to.into_iter()))
    })
}
