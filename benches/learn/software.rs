//! Sites of well-known software, with its default URLs: a shop and a blog. The wikis, the forums, the repositories and others are in files of
//! their own.
//!
//! Robots tags and `rel=nofollow` are where the software has them. A world `without robots tags` is the same site without them, as
//! themes, plugins and older versions have it, so that a crawler has to learn what they say.

use std::fmt::Display;

use bytes::Bytes;

use crate::{
    discuz::discuz,
    dokuwiki::dokuwiki,
    ecshop::ecshop,
    false_traps::{Numbers, page, teaser, world},
    forge::forge,
    forums::phpbb,
    honest::anchor,
    joomla::joomla,
    path_info::path_info,
    prose::{Dice, Language, Prose},
    redmine::redmine,
    repositories,
    serve::Reply,
    target::Target,
    wiki::mediawiki,
    woocommerce::woocommerce,
    world::{Answer, World},
    xenforo::xenforo,
};

pub(crate) const NOINDEX: &str = "<meta name=\"robots\" content=\"noindex\">";
pub(crate) const NOFOLLOW: &str = "<meta name=\"robots\" content=\"noindex,nofollow\">";

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let shipped = [mediawiki, opencart, phpbb, discuz, wordpress, woocommerce];
    let open = [
        mediawiki,
        dokuwiki,
        discuz,
        wordpress,
        woocommerce,
        repositories::gitweb,
        repositories::cgit,
    ];
    shipped
        .into_iter()
        .map(|world| as_shipped(world()))
        .chain(open.into_iter().map(|world| without_robots_tags(world())))
        .chain([ecshop(), path_info(), forge(), joomla(), xenforo(), redmine()])
}

/// A page that asks not to be indexed has no text that is to be found.
pub(crate) fn as_shipped(world: World) -> World {
    let World { answer, .. } = world;
    let answer = Box::new(move |host: &str, target: &str| {
        let mut given = answer(host, target);
        if matches!(&given.reply, Reply::Page(html) if html.windows(7).any(|it| it == b"noindex")) {
            given.page = None;
        }
        given
    });
    World { answer, ..world }
}

pub(crate) fn without_robots_tags(world: World) -> World {
    let World { answer, name, .. } = world;
    let answer = Box::new(move |host: &str, target: &str| {
        let mut given = answer(host, target);
        if let Reply::Page(html) = &mut given.reply {
            let plain = String::from_utf8_lossy(html);
            let plain = [NOINDEX, NOFOLLOW, " rel=\"nofollow\""]
                .iter()
                .fold(plain.into_owned(), |plain, tag| plain.replace(tag, ""));
            *html = Bytes::from(plain);
        }
        given
    });
    World { answer, name: format!("{name} without robots tags"), ..world }
}

/// An entry of a menu or of a list.
pub(crate) fn item(label: impl Display, to: &Target) -> String {
    format!("<li>{}</li>\n", anchor(&to.show(), &label.to_string()))
}

/// The same for a link that is not to be followed.
pub(crate) fn nofollow(label: impl Display, to: &Target) -> String {
    item(label, to).replacen("<a ", "<a rel=\"nofollow\" ", 1)
}

/// With this in the head of the page.
pub(crate) fn with_head(html: &str, head: &str) -> String {
    html.replacen("</head>", &format!("{head}</head>"), 1)
}

pub(crate) fn canonical(to: &Target) -> String {
    format!("<link rel=\"canonical\" href=\"{}\">", to.show().replace('&', "&amp;"))
}

/// `count` names that differ, with this between their two words.
pub(crate) fn made_up(kind: &str, count: usize, between: &str) -> Vec<String> {
    let words = Prose { language: Language::English, words: Vec::new() };
    let name = |it: usize| {
        let mut dice = Dice::of(&format!("{kind} {it}"));
        [words.own_word(&mut dice), words.own_word(&mut dice)].join(between)
    };
    (0..count).map(name).collect()
}

/// Some of `of` things, drawn by a name.
pub(crate) fn drawn(name: &str, count: usize, of: usize) -> Vec<usize> {
    let mut dice = Dice::of(name);
    (0..count).map(|_| dice.roll(of)).collect()
}

/// In an order that the name of a key gives; `DESC` or `d` turns it round.
pub(crate) fn sorted(mut all: Vec<usize>, key: &str, direction: &str) -> Vec<usize> {
    all.sort_by_key(|it| Dice::of(&format!("{key} of {it}")).roll(1 << 30));
    if direction.starts_with(['D', 'd']) {
        all.reverse();
    }
    all
}

const PRODUCTS: usize = 600;
const TAGS: usize = 60;
const MAKERS: usize = 24;
const EMPTY: &str = "<p>You have not chosen any products to compare.</p>";
const LOGIN: &str = "<p>I am a returning customer. By creating an account you will be able to \
    shop faster.</p>";
const FORM: &str = "<p>Please fill in the form: your first name, your last name and your \
    address.</p>";

/// 600 products in 8 categories and 24 below them. All links to lists and products keep the chosen sort, order and limit. The lists of
/// categories, makers and tags put their own parameters on the links to products, which name their canonical URL. The choices are
/// links, as many themes have them. Wish list, orders and the like redirect to the form to log in.
fn opencart() -> World {
    let shop = Shop {
        prose: Prose::new(Language::English),
        numbers: Numbers::of((0..PRODUCTS).map(|it| format!("product {it}"))),
    };
    world("opencart", "/index.php?route=common/home", PRODUCTS, move |asked| shop.answer(asked))
}

#[derive(Debug)]
struct Shop {
    prose: Prose,
    numbers: Numbers,
}

fn route(to: &str) -> Target {
    Target::new("/index.php").with("route", to)
}

impl Shop {
    fn answer(&self, asked: &Target) -> Answer {
        let Some(to) = asked.get("route") else {
            return Answer::junk(self.page("Your Store", &self.products(asked, &[1, 2, 3, 4])));
        };
        let product = asked.number("product_id").filter(|it| *it < PRODUCTS);
        let html = match to {
            "product/product" => return self.product(asked, product),
            "product/product/review" => match product {
                Some(product) if product % 2 == 0 => {
                    self.prose.teaser(&format!("review {product}"))
                }
                _ => "<p>There are no reviews for this product.</p>".to_owned(),
            },
            "product/category" => self.category(asked),
            "product/manufacturer/info" => {
                let maker = asked.number("manufacturer_id").unwrap_or_default();
                let all = (0..PRODUCTS).filter(|it| it % MAKERS == maker).collect();
                self.page(&format!("Maker {maker}"), &self.list(asked, all))
            }
            "product/search" => {
                let tag = asked.get("tag").and_then(|it| it.strip_prefix("tag")?.parse().ok());
                let all =
                    (0..PRODUCTS).filter(|it| tag.is_some_and(|tag| tags(*it).contains(&tag)));
                self.page("Search", &self.list(asked, all.collect()))
            }
            "product/special" => {
                self.page("Special Offers", &self.list(asked, drawn("special", 60, PRODUCTS)))
            }
            "product/manufacturer" => {
                let makers = (0..MAKERS).map(|it| {
                    item(it, &route("product/manufacturer/info").with("manufacturer_id", it))
                });
                self.page("Find Your Favorite Brand", &makers.collect::<String>())
            }
            "information/information" => {
                let name = format!("information {}", asked.get("information_id").unwrap_or("0"));
                self.page("Information", &self.prose.paragraphs(&name, 3))
            }
            "information/sitemap" => self.page("Site Map", ""),
            "common/home" => self.page("Your Store", &self.products(asked, &[1, 2, 3, 4])),
            "product/compare" => self.page("Product Comparison", EMPTY),
            "checkout/cart" => self.page("Shopping Cart", "<p>Your shopping cart is empty!</p>"),
            "checkout/checkout" => return Answer::redirect(route("checkout/cart").show()),
            "account/login" | "affiliate/login" => self.page("Account Login", LOGIN),
            "account/register"
            | "account/return/add"
            | "information/contact"
            | "account/voucher" => self.page(to, FORM),
            _ => return Answer::redirect(route("account/login").show()),
        };
        Answer::junk(html)
    }

    fn page(&self, title: &str, body: &str) -> String {
        let top = (20..28).map(|it| {
            let below = (0..3).map(|at| {
                let path = format!("{it}_{}", it * 3 + at);
                item(&path, &route("product/category").with("path", &path))
            });
            item(it, &route("product/category").with("path", it)) + &below.collect::<String>()
        });
        let account = [
            "account/register",
            "account/login",
            "account/wishlist",
            "checkout/cart",
            "checkout/checkout",
            "information/contact",
            "account/return/add",
            "information/sitemap",
            "product/manufacturer",
            "account/voucher",
            "affiliate/login",
            "product/special",
            "account/account",
            "account/order",
            "account/newsletter",
        ];
        let information =
            (3..7).map(|it| item(it, &route("information/information").with("information_id", it)));
        let menu: String =
            top.chain(account.map(|it| item(it, &route(it)))).chain(information).collect();
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    /// Products with their links, which keep what was asked for.
    fn products(&self, asked: &Target, shown: &[usize]) -> String {
        let kept = ["path", "manufacturer_id", "tag", "sort", "order", "limit"];
        let to = |product: &usize| {
            let first = kept.iter().take(2).filter_map(|it| Some((it, asked.get(it)?)));
            let to = first.fold(route("product/product"), |to, (name, value)| to.with(name, value));
            let rest = kept.iter().skip(2).filter_map(|it| Some((it, asked.get(it)?)));
            let to = to.with("product_id", product);
            rest.fold(to, |to, (name, value)| to.with(name, value))
        };
        let one = |it: &usize| teaser(&self.prose, &to(it).show(), &format!("product {it}"));
        shown.iter().map(one).collect()
    }

    fn list(&self, asked: &Target, all: Vec<usize>) -> String {
        let (sort, order) = (asked.get("sort"), asked.get("order").unwrap_or("ASC"));
        let all = sorted(all, sort.unwrap_or("p.sort_order"), order);
        let limit = asked.number("limit").unwrap_or(15).clamp(1, 100);
        let at = asked.number("page").unwrap_or(1).max(1);
        let shown: Vec<usize> = all.iter().copied().skip((at - 1) * limit).take(limit).collect();
        let first = asked.clone().without("page");
        let plain = first.clone().without("sort").without("order").without("limit");
        let limits = |to: Target| asked.get("limit").map_or(to.clone(), |it| to.with("limit", it));
        let sorts = ["p.sort_order", "pd.name", "p.price", "rating", "p.model"];
        let sorts = sorts.iter().flat_map(|sort| ["ASC", "DESC"].map(|order| (*sort, order)));
        let mut body = self.products(asked, &shown);
        for (sort, order) in sorts.skip(1) {
            let to = limits(plain.clone().with("sort", sort).with("order", order));
            body += &item(format!("{sort} {order}"), &to);
        }
        for limit in [15, 25, 50, 75, 100] {
            body += &item(limit, &first.clone().without("limit").with("limit", limit));
        }
        for at in 1..=all.len().div_ceil(limit) {
            body += &item(at, &first.clone().with("page", at));
        }
        body + &item("Product Compare", &route("product/compare"))
    }

    fn category(&self, asked: &Target) -> String {
        let path = asked.get("path").unwrap_or("20");
        let id: usize = path.rsplit('_').next().and_then(|it| it.parse().ok()).unwrap_or_default();
        let is_in = |it: &usize| [60 + it % 24, 20 + it % 24 / 3].contains(&id);
        let list = self.list(asked, (0..PRODUCTS).filter(is_in).collect());
        let own = route("product/category").with("path", path);
        let own = asked.get("page").map_or(own.clone(), |it| own.with("page", it));
        with_head(&self.page(&format!("Category {path}"), &list), &canonical(&own))
    }

    fn product(&self, asked: &Target, product: Option<usize>) -> Answer {
        let Some(product) = product else { return Answer::missing() };
        let name = format!("product {product}");
        let mut body = String::new();
        if let Some(path) = asked.get("path") {
            let kept = ["sort", "order", "limit"];
            let to = route("product/category").with("path", path);
            let kept = kept.iter().filter_map(|it| Some((it, asked.get(it)?)));
            body += &item(path, &kept.fold(to, |to, (name, value)| to.with(name, value)));
        }
        body += &self.prose.paragraphs(&name, 3);
        let maker = product % MAKERS;
        body += &item(maker, &route("product/manufacturer/info").with("manufacturer_id", maker));
        for tag in tags(product) {
            body += &item(tag, &route("product/search").with("tag", format!("tag{tag}")));
        }
        body += &item("Reviews", &route("product/product/review").with("product_id", product));
        let own = route("product/product").with("product_id", product);
        for it in drawn(&format!("related {product}"), 4, PRODUCTS) {
            body += &item(
                self.prose.title(&format!("product {it}")),
                &own.clone().set("product_id", it),
            );
        }
        let html = with_head(&self.page(&self.prose.title(&name), &body), &canonical(&own));
        self.numbers.answer(&name, html)
    }
}

fn tags(product: usize) -> Vec<usize> {
    drawn(&format!("tags of {product}"), 3, TAGS)
}

const POSTS: usize = 500;
const FIRST_YEAR: usize = 2016;
const FEED: &str = "application/rss+xml";

/// 500 posts of eight years, with lists by category, tag, author, year, month and day in pages of ten, a calendar, links to answer a
/// comment and to share, short links, feeds of the site, the comments and each post, and a page for each picture.
fn wordpress() -> World {
    let blog = Blog {
        prose: Prose::new(Language::English),
        numbers: Numbers::of((0..POSTS).map(|it| format!("post {it}"))),
        slugs: made_up("slug", POSTS, "-"),
    };
    world("wordpress", "/", POSTS, move |asked| blog.answer(asked))
}

#[derive(Debug)]
struct Blog {
    prose: Prose,
    numbers: Numbers,
    slugs: Vec<String>,
}

/// Year, month and day of a post.
fn date(post: usize) -> [usize; 3] {
    let month = post * 96 / POSTS;
    [FIRST_YEAR + month / 12, month % 12 + 1, 1 + Dice::of(&format!("day {post}")).roll(28)]
}

impl Blog {
    fn path(&self, post: usize) -> String {
        let [year, month, _] = date(post);
        format!("/{year}/{month:02}/{}/", self.slugs[post])
    }

    fn answer(&self, asked: &Target) -> Answer {
        if let Some(post) = asked.number("p").filter(|it| *it < POSTS) {
            return Answer::redirect(self.path(post));
        }
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let (parts, at) = match &parts[..] {
            [before @ .., "page", at] => (before, at.parse().unwrap_or(1)),
            all => (all, 1),
        };
        let number = |part: &str| part.parse::<usize>().ok();
        let drawn_from = |kind: &str, of: usize, count: usize, name: &str| {
            let is_in = |post: &usize| {
                drawn(&format!("{kind} of {post}"), count, of)
                    .iter()
                    .any(|it| format!("{kind}-{it}") == name)
            };
            (0..POSTS).filter(is_in).collect::<Vec<_>>()
        };
        let all = match parts {
            [] if asked.get("s").is_some() => {
                let all = drawn(asked.get("s").unwrap_or_default(), 12, POSTS);
                return self.list(&asked.path, "Search Results", &all, at, NOINDEX);
            }
            [] => (0..POSTS).collect(),
            ["feed"] | ["comments", "feed"] => return Answer::file(FEED),
            ["category", name] => drawn_from("topic", 12, 1, name),
            ["tag", name] => drawn_from("tag", 120, 3, name),
            ["author", name] => drawn_from("writer", 6, 1, name),
            ["wp-login.php"] => {
                return Answer::junk(self.page(
                    "Log In",
                    "<p>Username or email address. Password. Lost your password?</p>",
                    None,
                ));
            }
            [year] if number(year).is_some() => dated(&[number(year)]),
            [year, month] if number(month).is_some() => dated(&[number(year), number(month)]),
            [year, month, day] if number(day).is_some() => {
                dated(&[number(year), number(month), number(day)])
            }
            [_, _, slug, rest @ ..] => return self.below_post(asked, slug, rest),
            _ => return Answer::missing(),
        };
        let name = parts.last().map_or("The Blog".to_owned(), |it| format!("Archives: {it}"));
        self.list(
            &format!("/{}", parts.iter().map(|it| format!("{it}/")).collect::<String>()),
            &name,
            &all,
            at,
            "",
        )
    }

    fn list(&self, path: &str, name: &str, all: &[usize], at: usize, head: &str) -> Answer {
        let pages = all.len().div_ceil(10);
        if all.is_empty() || at > pages || at == 0 {
            return Answer::missing();
        }
        let mut shown = all.iter().rev().skip((at - 1) * 10).take(10);
        let mut body: String = shown
            .clone()
            .map(|it| teaser(&self.prose, &self.path(*it), &format!("post {it}")))
            .collect();
        for near in [1, at.saturating_sub(1), at + 1, pages] {
            if near != at && (1..=pages).contains(&near) {
                let to = if near == 1 { path.to_owned() } else { format!("{path}page/{near}/") };
                body += &item(near, &Target::new(to));
            }
        }
        let month = shown.next_back().map(|it| date(*it));
        Answer::junk(with_head(&self.page(name, &body, month), head))
    }

    /// A page with the calendar of a month, or of the last one.
    fn page(&self, title: &str, body: &str, month: Option<[usize; 3]>) -> String {
        let [year, month, _] = month.unwrap_or(date(POSTS - 1));
        let mut days: Vec<usize> =
            dated(&[Some(year), Some(month)]).into_iter().map(|it| date(it)[2]).collect();
        days.sort_unstable();
        days.dedup();
        let mut menu: String = (days.iter())
            .map(|day| item(day, &Target::new(format!("/{year}/{month:02}/{day:02}/"))))
            .collect();
        let months = year * 12 + month - 1;
        for near in [months - 1, months + 1] {
            if (FIRST_YEAR * 12..(FIRST_YEAR + 8) * 12).contains(&near) {
                menu +=
                    &item("month", &Target::new(format!("/{}/{:02}/", near / 12, near % 12 + 1)));
            }
        }
        for back in 0..12 {
            let near = (FIRST_YEAR + 8) * 12 - 1 - back;
            menu += &item("archive", &Target::new(format!("/{}/{:02}/", near / 12, near % 12 + 1)));
        }
        menu += &(0..12)
            .map(|it| item(it, &Target::new(format!("/category/topic-{it}/"))))
            .collect::<String>();
        for post in POSTS - 5..POSTS {
            menu += &item(self.prose.title(&format!("post {post}")), &Target::new(self.path(post)));
        }
        menu += &["/wp-login.php", "/feed/", "/comments/feed/"]
            .map(|it| item(it, &Target::new(it)))
            .concat();
        menu += &drawn("searches", 8, 99)
            .iter()
            .map(|it| item(it, &Target::new("/").with("s", format!("word{it}"))))
            .collect::<String>();
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    fn comment(&self, post: usize, number: usize) -> String {
        let comment = post * 10 + number;
        let to = Target::new(self.path(post)).with("replytocom", format!("{comment}#respond"));
        let words = self.prose.teaser(&format!("comment {comment}"));
        format!("<p>{words}</p>{}", nofollow("Reply", &to))
    }

    /// A post, its feed, or the page of one of its pictures.
    fn below_post(&self, asked: &Target, slug: &str, rest: &[&str]) -> Answer {
        let Some(post) = self.slugs.iter().position(|it| it == slug) else {
            return Answer::missing();
        };
        let comments = Dice::of(&format!("comments on {post}")).roll(6);
        let comments: String = (0..comments).map(|it| self.comment(post, it)).collect();
        let title = self.prose.title(&format!("post {post}"));
        let own = Target::new(self.path(post));
        match rest {
            [] if asked.get("share").is_some() => Answer::redirect(format!(
                "https://twitter.com/intent/tweet?url={}",
                self.path(post)
            )),
            [] => self.post(post, &own, &comments),
            ["feed"] => Answer::file(FEED),
            [picture] if picture.starts_with("image-") => {
                let body = format!("<p>{picture}</p>{}", item(title, &own));
                Answer::junk(self.page(picture, &body, Some(date(post))))
            }
            _ => Answer::missing(),
        }
    }

    fn post(&self, post: usize, own: &Target, comments: &str) -> Answer {
        let name = format!("post {post}");
        let [year, month, day] = date(post);
        let mut body = self.prose.paragraphs(&name, 4);
        for picture in 0..post % 3 {
            body += &item("picture", &Target::new(format!("{}image-{picture}/", own.path)));
        }
        for network in ["twitter", "facebook", "reddit"] {
            body += &nofollow(network, &own.clone().with("share", network));
        }
        body += &item("Short link", &Target::new("/").with("p", post));
        body += &item("Comments feed", &Target::new(format!("{}feed/", own.path)));
        body += &item(day, &Target::new(format!("/{year}/{month:02}/{day:02}/")));
        for (kind, path, count, of) in
            [("topic", "category", 1, 12), ("tag", "tag", 3, 120), ("writer", "author", 1, 6)]
        {
            for it in drawn(&format!("{kind} of {post}"), count, of) {
                body += &item(it, &Target::new(format!("/{path}/{kind}-{it}/")));
            }
        }
        for near in [post.saturating_sub(1), (post + 1).min(POSTS - 1)] {
            body += &item(self.prose.title(&format!("post {near}")), &Target::new(self.path(near)));
        }
        let login =
            format!("http://wordpress.test{}", own.path).replace(':', "%3A").replace('/', "%2F");
        body += comments;
        body += &item("log in", &Target::new("/wp-login.php").with("redirect_to", login));
        let html = self.page(&self.prose.title(&name), &body, None);
        self.numbers.answer(&name, with_head(&html, &canonical(own)))
    }
}

/// The posts of a year, a month or a day.
fn dated(date_of: &[Option<usize>]) -> Vec<usize> {
    let is_in =
        |post: &usize| date(*post).iter().zip(date_of).all(|(own, asked)| Some(*own) == *asked);
    (0..POSTS).filter(is_in).collect()
}
