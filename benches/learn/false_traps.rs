//! Sites that look like traps and are none: each page is needed, or nobody can know without looking.

use std::collections::HashMap;

use pagesieve::crawl::scope::Reach;

use crate::{
    honest::anchor,
    prose::{Dice, Language, Prose},
    target::Target,
    world::{Answer, World},
};

/// The five worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    [paginated_list, dated_archive, catalogue, forum, rare_changes].into_iter().map(|world| world())
}

/// Numbers for the pages that are to be found, by their names.
#[derive(Debug, Default)]
pub(crate) struct Numbers(HashMap<String, usize>);

impl Numbers {
    pub(crate) fn of(names: impl Iterator<Item = String>) -> Self {
        Self(names.enumerate().map(|(number, name)| (name, number)).collect())
    }

    /// The page of this name, or one that nobody needs.
    pub(crate) fn answer(&self, name: &str, html: String) -> Answer {
        match self.0.get(name) {
            Some(number) => Answer::honest(*number, html),
            None => Answer::junk(html),
        }
    }
}

/// A page in the template of a site.
pub(crate) fn page(
    prose: &Prose,
    title: &str,
    body: &str,
    navigation: &[(String, String)],
) -> String {
    let lang = prose.say("en", "zh-CN");
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body><nav><a href=\"/\">{}</a>",
        prose.say("Home", "首页")
    );
    for (to, name) in navigation {
        html += &format!(" {}", anchor(to, name));
    }
    let rights = prose.say("Terms of use. Privacy. Contact.", "使用条款。隐私政策。联系我们。");
    html + "</nav>\n<main><article><h1>"
        + title
        + "</h1>\n"
        + body
        + "</article></main>\n<footer>"
        + rights
        + "</footer></body></html>"
}

/// An article that ends with a link.
pub(crate) fn article(prose: &Prose, name: &str, back: &str) -> String {
    let body = prose.paragraphs(name, 4) + &anchor(back, prose.say("Back", "返回"));
    page(prose, &prose.title(name), &body, &[])
}

pub(crate) fn teaser(prose: &Prose, to: &str, name: &str) -> String {
    format!("<h3>{}</h3><p>{}</p>\n", anchor(to, &prose.title(name)), prose.teaser(name))
}

pub(crate) fn world(
    name: &str,
    start: &str,
    pages: usize,
    answer: impl Fn(&Target) -> Answer + Send + Sync + 'static,
) -> World {
    let host = format!("{}.test", name.replace(' ', "-").replace('%', "percent"));
    World {
        name: name.to_owned(),
        seeds: vec![format!("http://{host}{start}")],
        hosts: vec![host],
        reach: Reach::Host,
        pages,
        answer: Box::new(move |_, target| answer(&Target::parse(target))),
    }
}

/// 240 pages of a list, each with ten other items, linked by "previous" and "next" and the two after.
fn paginated_list() -> World {
    const LISTS: usize = 240;
    let prose = Prose::new(Language::Chinese);
    let lists = (1..=LISTS).map(|list| format!("list {list}"));
    let numbers = Numbers::of(lists.chain((0..LISTS * 10).map(|item| format!("item {item}"))));
    world("paginated list", "/list?page=1", LISTS * 11, move |asked| {
        if let Some(list) = asked.number("page").filter(|list| (1..=LISTS).contains(list)) {
            let items = (list - 1) * 10..list * 10;
            let mut body: String = items
                .map(|item| teaser(&prose, &format!("/item/{item}.html"), &format!("item {item}")))
                .collect();
            for near in [list.saturating_sub(1), list + 1, list + 2] {
                if (1..=LISTS).contains(&near) {
                    body += &anchor(&format!("/list?page={near}"), &format!(" {near} "));
                }
            }
            let title = format!("{} {list}", prose.say("All items, page", "全部条目 第"));
            return numbers.answer(&format!("list {list}"), page(&prose, &title, &body, &[]));
        }
        let item = asked.path.strip_prefix("/item/").and_then(|path| path.strip_suffix(".html"));
        match item.and_then(|item| item.parse().ok()).filter(|item| (0..LISTS * 10).contains(item))
        {
            Some(item) => {
                let back = format!("/list?page={}", item / 10 + 1);
                let name = format!("item {item}");
                numbers.answer(&name, article(&prose, &name, &back))
            }
            None => Answer::missing(),
        }
    })
}

/// Fourteen years of posts, reached through years, months and days: most months have one to three posts.
fn dated_archive() -> World {
    let prose = Prose::new(Language::English);
    let mut posts = Vec::new();
    for month in 2010 * 12..2024 * 12 {
        let mut dice = Dice::of(&format!("month {month}"));
        for _ in 0..=dice.roll(3) {
            let slug = prose.own_word(&mut dice) + "-" + &prose.own_word(&mut dice);
            posts.push(format!(
                "/{}/{:02}/{:02}/{slug}/",
                month / 12,
                month % 12 + 1,
                1 + dice.roll(28)
            ));
        }
    }
    let directory = |path: &str, levels: usize| {
        path.split('/').take(levels + 1).fold(String::new(), |path, part| path + part + "/")
    };
    let mut names: Vec<String> = posts.clone();
    names.push("/".to_owned());
    for levels in 1..=2 {
        names.extend(posts.iter().map(|post| directory(post, levels)));
    }
    names.sort();
    names.dedup();
    let (pages, numbers) = (names.len(), Numbers::of(names.into_iter()));
    world("dated archive", "/", pages, move |asked| {
        let path = asked.path.as_str();
        if posts.iter().any(|post| post == path) {
            return numbers.answer(path, article(&prose, path, &directory(path, 2)));
        }
        let inside: Vec<&String> = posts.iter().filter(|post| post.starts_with(path)).collect();
        let levels = path.matches('/').count() - 1;
        if inside.is_empty() || !path.ends_with('/') {
            return Answer::missing();
        }
        let mut body = prose.paragraphs(&format!("about {path}"), 1);
        if levels >= 2 {
            body += &inside.iter().map(|post| teaser(&prose, post, post)).collect::<String>();
        }
        if levels < 3 {
            let mut below: Vec<String> =
                inside.iter().map(|post| directory(post, levels + 1)).collect();
            below.dedup();
            body += &below.iter().map(|to| anchor(to, to) + " ").collect::<String>();
        }
        numbers.answer(path, page(&prose, &format!("Archive {path}"), &body, &[]))
    })
}

/// 900 products. A list shows twelve at most, so that most products are reached through a brand with a colour only. Sort orders repeat.
fn catalogue() -> World {
    const PRODUCTS: usize = 900;
    const BRANDS: usize = 15;
    const COLOURS: [&str; 8] = ["red", "green", "blue", "black", "white", "grey", "pink", "brown"];
    const SORTS: [&str; 3] = ["price", "name", "rating"];
    let prose = Prose::new(Language::English);
    let products = (0..PRODUCTS).map(|product| format!("product {product}"));
    let brands = (0..BRANDS).map(|brand| format!("brand {brand}"));
    let numbers = Numbers::of(products.chain(brands).chain(["start".to_owned()]));
    world("catalogue with facets", "/shop", PRODUCTS + BRANDS + 1, move |asked| {
        if let Some(product) =
            asked.path.strip_prefix("/product/").and_then(|id| id.parse::<usize>().ok())
        {
            let name = format!("product {product}");
            let back = Target::new("/shop").with("brand", product % BRANDS).show();
            let is_known = product < PRODUCTS;
            return if is_known {
                numbers.answer(&name, article(&prose, &name, &back))
            } else {
                Answer::missing()
            };
        }
        if asked.path != "/shop" {
            return Answer::missing();
        }
        let (brand, colour) = (asked.number("brand"), asked.get("colour"));
        let matches = |product: &usize| {
            brand.is_none_or(|brand| product % BRANDS == brand)
                && colour.is_none_or(|colour| {
                    *Dice::of(&format!("colour {product}")).pick(&COLOURS) == colour
                })
        };
        // Each product is on the list of its brand and colour.
        let most = if brand.is_some() && colour.is_some() { PRODUCTS } else { 12 };
        let mut shown: Vec<usize> = (0..PRODUCTS).filter(matches).take(most).collect();
        if let Some(sort) = asked.get("sort") {
            shown.sort_by_key(|product| Dice::of(&format!("{sort} {product}")).roll(1 << 30));
        }
        let mut body = match (brand, colour, asked.get("sort")) {
            (Some(brand), None, None) => prose.paragraphs(&format!("brand {brand}"), 3),
            _ => String::new(),
        };
        for product in shown {
            body += &teaser(&prose, &format!("/product/{product}"), &format!("product {product}"));
        }
        for brand in 0..BRANDS {
            body += &anchor(&asked.clone().set("brand", brand).show(), &format!("Brand {brand} "));
        }
        for colour in COLOURS {
            body += &anchor(&asked.clone().set("colour", colour).show(), &format!("{colour} "));
        }
        for sort in SORTS {
            body += &anchor(&asked.clone().set("sort", sort).show(), &format!("by {sort} "));
        }
        let title = format!(
            "Shop {} {}",
            brand.map_or_else(String::new, |it| it.to_string()),
            colour.unwrap_or_default()
        );
        let name = match (brand, colour, asked.get("sort")) {
            (None, None, None) => "start".to_owned(),
            (Some(brand), None, None) => format!("brand {brand}"),
            _ => String::new(),
        };
        numbers.answer(&name, page(&prose, &title, &body, &[]))
    })
}

/// 800 threads by id, some of several pages, in ten forums. Every post has a link of its own, which shows its thread.
fn forum() -> World {
    const THREADS: usize = 800;
    const FORUMS: usize = 10;
    const LISTED: usize = 20;
    let parts = |thread: usize| 1 + Dice::of(&format!("parts {thread}")).roll(8) / 5;
    let all: Vec<(usize, usize)> = (0..THREADS)
        .flat_map(|thread| (0..parts(thread)).map(move |part| (thread, part)))
        .collect();
    let prose = Prose::new(Language::Chinese);
    let threads = all.iter().map(|(thread, part)| format!("thread {thread} {part}"));
    let lists = (0..FORUMS).flat_map(|forum| {
        (0..THREADS / FORUMS / LISTED).map(move |list| format!("forum {forum} {list}"))
    });
    let numbers = Numbers::of(threads.chain(lists).chain(["start".to_owned()]));
    let pages = numbers.0.len();
    let show_thread = move |thread: usize, part: usize| {
        let body: String = (0..6)
            .map(|post| {
                let permalink = format!("/viewtopic.php?p={}", (thread * 2 + part) * 6 + post);
                format!(
                    "<div class=\"post\">{} {}</div>\n",
                    anchor(&permalink, "#"),
                    prose.paragraphs(&format!("post {thread} {part} {post}"), 1)
                )
            })
            .collect();
        let others: String = (0..parts(thread))
            .map(|part| {
                anchor(
                    &format!("/viewtopic.php?t={thread}&start={}", part * 6),
                    &format!("{part} "),
                )
            })
            .collect();
        let forum = vec![(format!("/viewforum.php?f={}", thread % FORUMS), "论坛".to_owned())];
        page(&prose, &prose.title(&format!("thread {thread}")), &(body + &others), &forum)
    };
    let prose = Prose::new(Language::Chinese);
    world("forum threads by id", "/index.php", pages, move |asked| {
        let start = asked.number("start").unwrap_or_default();
        match asked.path.as_str() {
            "/index.php" => {
                let body: String = (0..FORUMS)
                    .map(|forum| {
                        teaser(
                            &prose,
                            &format!("/viewforum.php?f={forum}"),
                            &format!("forum {forum}"),
                        )
                    })
                    .collect();
                numbers.answer("start", page(&prose, "论坛首页", &body, &[]))
            }
            "/viewforum.php" => {
                let Some(forum) = asked.number("f").filter(|forum| *forum < FORUMS) else {
                    return Answer::missing();
                };
                let list = start / LISTED;
                let listed =
                    (0..THREADS).filter(|thread| thread % FORUMS == forum).skip(start).take(LISTED);
                let mut body: String = listed
                    .map(|thread| {
                        teaser(
                            &prose,
                            &format!("/viewtopic.php?t={thread}"),
                            &format!("thread {thread}"),
                        )
                    })
                    .collect();
                for list in 0..THREADS / FORUMS / LISTED {
                    let first = Target::new("/viewforum.php").with("f", forum);
                    let to = if list == 0 { first } else { first.with("start", list * LISTED) };
                    body += &anchor(&to.show(), &format!("{list} "));
                }
                numbers.answer(
                    &format!("forum {forum} {list}"),
                    page(&prose, &format!("论坛 {forum}"), &body, &[]),
                )
            }
            "/viewtopic.php" => {
                let by_post = asked.number("p").map(|post| (post / 12, post / 6 % 2));
                let by_thread = asked.number("t").map(|thread| (thread, start / 6));
                match by_thread
                    .or(by_post)
                    .filter(|(thread, part)| *thread < THREADS && *part < parts(*thread))
                {
                    Some((thread, part)) => numbers
                        .answer(&format!("thread {thread} {part}"), show_thread(thread, part)),
                    None => Answer::missing(),
                }
            }
            _ => Answer::missing(),
        }
    })
}

/// 3,000 items; a parameter on a link of each of them changes the text of one in a hundred. Those that it changes are to be found.
fn rare_changes() -> World {
    const ITEMS: usize = 3000;
    let prose = Prose::new(Language::English);
    let is_changed = |item: usize| item % 100 == 57;
    let changed = (0..ITEMS).filter(move |item| is_changed(*item));
    let numbers = Numbers::of(changed.map(|item| format!("edition {item}")));
    let pages = numbers.0.len();
    world("1 % of pages changed", "/", pages, move |asked| {
        if asked.path == "/" || asked.path.starts_with("/part/") {
            let part = asked
                .path
                .trim_start_matches("/part/")
                .trim_start_matches('/')
                .parse()
                .unwrap_or(0_usize);
            let items = (part * 50..(part * 50 + 50).min(ITEMS))
                .map(|item| teaser(&prose, &format!("/item/{item}"), &format!("item {item}")));
            let mut body: String = items.collect();
            for part in 0..ITEMS / 50 {
                body += &anchor(&format!("/part/{part}"), &format!("{part} "));
            }
            return Answer::junk(page(&prose, &format!("Items, part {part}"), &body, &[]));
        }
        let Some(item) = asked
            .path
            .strip_prefix("/item/")
            .and_then(|item| item.parse::<usize>().ok())
            .filter(|item| *item < ITEMS)
        else {
            return Answer::missing();
        };
        let is_edition = asked.get("edition").is_some();
        let name = if is_edition && is_changed(item) {
            format!("edition {item}")
        } else {
            format!("item {item}")
        };
        let other = format!("/item/{item}?edition=intl");
        let body = prose.paragraphs(&name, 4) + &anchor(&other, "International edition");
        numbers.answer(&name, page(&prose, &prose.title(&name), &body, &[]))
    })
}
