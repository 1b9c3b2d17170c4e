//! A site as `Joomla` has it, with its default URLs.

use crate::{
    false_traps::{Numbers, page, teaser, world},
    prose::{Dice, Language, Prose},
    software::{drawn, item, made_up},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 500;
const CATEGORIES: usize = 10;
const TAGS: usize = 40;
const LISTED: usize = 5;
const LOGIN: &str = "<p>Username. Password. Remember me. Forgot your password? Forgot your \
    username?</p>";
const MAIL: &str = "<p>Email to a friend. Your email. Subject. Send. Cancel.</p>";

/// 500 articles in ten categories, of which four have a menu item. An article has the URL of the list that leads to it: of a category, of
/// the front page, of a tag, of the archive, of a search. Each has a view to print and a form to send it by mail. A calendar of
/// events has no end, and hardly any events.
pub(crate) fn joomla() -> World {
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of((0..ARTICLES).map(|it| format!("article {it}")));
    let site = Joomla { numbers, prose, slugs: made_up("article", ARTICLES, "-") };
    world("joomla", "/", ARTICLES, move |asked| site.answer(asked))
}

#[derive(Debug)]
struct Joomla {
    prose: Prose,
    numbers: Numbers,
    slugs: Vec<String>,
}

fn category_of(article: usize) -> usize {
    Dice::of(&format!("category of {article}")).roll(CATEGORIES)
}

fn tags(article: usize) -> Vec<usize> {
    drawn(&format!("tags of article {article}"), 2, TAGS)
}

/// The path of a category: below its menu item, or of the component.
fn category_path(category: usize) -> String {
    if category < 4 {
        format!("/index.php/topic-{category}")
    } else {
        format!("/index.php/component/content/category/{}-topic-{category}", category + 8)
    }
}

fn month_of(article: usize) -> [usize; 2] {
    let month = article * 60 / ARTICLES;
    [2019 + month / 12, month % 12 + 1]
}

fn archive(year: usize, month: usize) -> Target {
    Target::new("/index.php/archived").with("year", year).with("month", month)
}

fn users(view: &str) -> Target {
    Target::new("/index.php/component/users/").with("view", view)
}

fn calendar(view: &str, month: usize) -> Target {
    let (year, month) = (month / 12, month % 12 + 1);
    Target::new(format!("/index.php/calendar/{view}/{year}/{month:02}/01/-"))
}

impl Joomla {
    /// Below a path; `menu` is the number of the menu item that a component names in the query.
    fn article_page(&self, below: &str, article: usize, menu: Option<usize>) -> Target {
        let to = Target::new(format!("{below}/{}-{}", article + 1, self.slugs[article]));
        menu.map_or(to.clone(), |menu| to.with("Itemid", menu))
    }

    fn own_page(&self, article: usize) -> Target {
        let category = category_of(article);
        if category < 4 {
            return self.article_page(&category_path(category), article, None);
        }
        let below =
            format!("/index.php/component/content/article/{}-topic-{category}", category + 8);
        self.article_page(&below, article, Some(101))
    }

    /// The article that a last segment names.
    fn named(&self, segment: &str) -> Option<usize> {
        let number: usize = segment.split('-').next()?.parse().ok()?;
        let article = number.checked_sub(1).filter(|it| *it < ARTICLES)?;
        segment.ends_with(&self.slugs[article]).then_some(article)
    }

    fn answer(&self, asked: &Target) -> Answer {
        if asked.get("format").is_some() {
            return Answer::file("application/rss+xml");
        }
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let parts = parts.strip_prefix(&["index.php"]).unwrap_or(&parts);
        if let Some(article) = parts.last().and_then(|it| self.named(it)) {
            return self.article(asked, article);
        }
        let of_category =
            |category: usize| (0..ARTICLES).filter(|it| category_of(*it) == category).collect();
        let last = |name: &str| name.rsplit('-').next()?.parse::<usize>().ok();
        let all: Vec<usize> = match parts {
            [] | ["home"] => (0..ARTICLES).step_by(3).collect(),
            ["archived"] => return self.archived(asked),
            ["component", "mailto", ..] => return Answer::junk(self.bare("Mail", MAIL)),
            ["component", "users", ..] => return Answer::junk(self.page("Login", LOGIN)),
            ["component", "search", ..] => return self.search(asked),
            ["component", "tags", "tag", name] => return self.tagged(asked, name),
            ["calendar", view, year, month, ..] => return self.calendar(view, year, month),
            ["contact"] => {
                return Answer::junk(self.page("Contact", "<p>Send an email. Name.</p>"));
            }
            [name] | ["component", "content", "category", name] => match last(name) {
                Some(category) if category < CATEGORIES => of_category(category),
                _ => return Answer::missing(),
            },
            _ => return Answer::missing(),
        };
        let to = |article| match parts {
            [] | ["home"] => self.article_page("/index.php/home", article, None),
            _ => self.own_page(article),
        };
        self.list(asked, "Articles", &all, &to)
    }

    fn bare(&self, title: &str, body: &str) -> String {
        page(&self.prose, title, body, &[])
    }

    fn page(&self, title: &str, body: &str) -> String {
        let words = drawn("searches", 6, 99);
        let menu: String = (0..4)
            .map(|it| item(it, &Target::new(category_path(it))))
            .chain((4..CATEGORIES).map(|it| item(it, &Target::new(category_path(it)))))
            .chain(
                ["home", "contact", "archived"]
                    .map(|it| item(it, &Target::new(format!("/index.php/{it}")))),
            )
            .chain(["remind", "reset", "registration", "login"].map(|it| item(it, &users(it))))
            .chain((0..12).map(|it| item(it, &archive(2023, it + 1))))
            .chain((0..15).map(|it| {
                item(it, &Target::new(format!("/index.php/component/tags/tag/{}-tag-{it}", it + 1)))
            }))
            .chain(
                drawn("popular", 5, ARTICLES).iter().map(|it| {
                    item(self.prose.title(&format!("article {it}")), &self.own_page(*it))
                }),
            )
            .chain(words.iter().map(|it| {
                let to = Target::new("/index.php/component/search/");
                let to = to.with("searchword", format!("word{it}"));
                item(it, &to.with("searchphrase", "all").with("Itemid", 435))
            }))
            .chain([item("calendar", &calendar("month.calendar", 2024 * 12))])
            .collect();
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    fn entries(&self, shown: &[usize], to: &dyn Fn(usize) -> Target) -> String {
        let one = |article: &usize| {
            let own = to(*article);
            let category = category_of(*article);
            teaser(&self.prose, &own.show(), &format!("article {article}"))
                + &item("Read more", &own)
                + &item("Category", &Target::new(category_path(category)))
                + &Self::buttons(&own, *article)
        };
        shown.iter().map(one).collect()
    }

    /// The view to print and the form to send an article by mail; they keep the URL by which it was reached.
    fn buttons(own: &Target, article: usize) -> String {
        let print = own.clone().with("tmpl", "component").with("print", 1);
        let print = print.with("layout", "default").with("page", "");
        let link = Dice::of(&format!("{} {article}", own.show())).hex(40);
        let mail = Target::new("/index.php/component/mailto/").with("tmpl", "component");
        let mail = mail.with("template", "protostar").with("link", link);
        item("Print", &print) + &item("Email", &mail)
    }

    fn list(
        &self,
        asked: &Target,
        title: &str,
        all: &[usize],
        to: &dyn Fn(usize) -> Target,
    ) -> Answer {
        let start = asked.number("start").unwrap_or_default();
        let shown: Vec<usize> = all.iter().rev().skip(start).take(LISTED).copied().collect();
        let mut body = self.entries(&shown, to);
        // Links without teasers to the next ones.
        for it in all.iter().rev().skip(start + LISTED).take(4) {
            body += &item(self.prose.title(&format!("article {it}")), &to(*it));
        }
        let pages = all.len().div_ceil(LISTED);
        let at = start / LISTED;
        for near in (at.saturating_sub(4)..at + 6).chain([pages.saturating_sub(1)]) {
            if near < pages && near != at {
                let first = asked.clone().without("start");
                let to = if near == 0 { first } else { first.with("start", near * LISTED) };
                body += &item(near, &to);
            }
        }
        let feed = |kind: &str| Target::new(&asked.path).with("format", "feed").with("type", kind);
        body += &item("rss", &feed("rss"));
        body += &item("atom", &feed("atom"));
        Answer::junk(self.page(title, &body))
    }

    fn archived(&self, asked: &Target) -> Answer {
        let date = [asked.number("year"), asked.number("month")];
        let is_in = |it: &usize| {
            month_of(*it).iter().zip(date).all(|(own, asked)| asked.is_none_or(|it| it == *own))
        };
        let all: Vec<usize> = (0..ARTICLES).filter(is_in).collect();
        let to = |article: usize| {
            let below = format!("/index.php/archived/{}-topic", category_of(article) + 8);
            self.article_page(&below, article, None)
        };
        self.list(asked, "Archived articles", &all, &to)
    }

    fn tagged(&self, asked: &Target, name: &str) -> Answer {
        let tag = name.rsplit('-').next().and_then(|it| it.parse().ok()).unwrap_or(TAGS);
        let all: Vec<usize> = (0..ARTICLES).filter(|it| tags(*it).contains(&tag)).collect();
        let to = |article: usize| {
            let category = category_of(article);
            let below =
                format!("/index.php/component/content/article/{}-topic-{category}", category + 8);
            self.article_page(&below, article, Some(102))
        };
        self.list(asked, &format!("Tag {tag}"), &all, &to)
    }

    fn search(&self, asked: &Target) -> Answer {
        let word = asked.get("searchword").unwrap_or_default();
        let all = drawn(word, 15, ARTICLES);
        let to = |article: usize| self.article_page("/index.php", article, None);
        let list = self.list(asked, "Search", &all, &to);
        match list.reply {
            crate::serve::Reply::Page(html) => {
                let mut orders = String::new();
                for it in ["newest", "oldest", "popular", "alpha", "category"] {
                    orders += &item(it, &asked.clone().set("ordering", it));
                }
                for it in ["all", "any", "exact"] {
                    orders += &item(it, &asked.clone().set("searchphrase", it));
                }
                let html = String::from_utf8_lossy(&html).replacen("<ul>", &(orders + "<ul>"), 1);
                Answer::junk(html)
            }
            _ => list,
        }
    }

    fn calendar(&self, view: &str, year: &str, month: &str) -> Answer {
        let (Ok(year), Ok(month)) = (year.parse::<usize>(), month.parse::<usize>()) else {
            return Answer::missing();
        };
        let at = year * 12 + month.saturating_sub(1);
        let mut body = format!("<p>Events for {month}/{year}</p><p>No events.</p>");
        for near in [at - 12, at - 1, at + 1, at + 12] {
            body += &item(near, &calendar(view, near));
        }
        for it in ["month.calendar", "week.listevents", "year.listevents", "day.listevents"] {
            body += &item(it, &calendar(it, at));
        }
        Answer::junk(self.page("Calendar", &body))
    }

    fn article(&self, asked: &Target, article: usize) -> Answer {
        let name = format!("article {article}");
        let text = self.prose.paragraphs(&name, 4);
        if asked.get("print").is_some() {
            return self.numbers.answer(&name, self.bare(&self.prose.title(&name), &text));
        }
        let category = category_of(article);
        let mut body = item("Category", &Target::new(category_path(category))) + &text;
        body += &Self::buttons(asked, article);
        for tag in tags(article) {
            let to = format!("/index.php/component/tags/tag/{}-tag-{tag}", tag + 1);
            body += &item(tag, &Target::new(to));
        }
        let mut near = (0..ARTICLES).filter(|it| category_of(*it) == category);
        let before = near.clone().rfind(|it| *it < article);
        for it in [before, near.find(|it| *it > article)].into_iter().flatten() {
            let below = asked.path.rsplit_once('/').map_or("", |it| it.0);
            body += &item("Next", &self.article_page(below, it, asked.number("Itemid")));
        }
        self.numbers.answer(&name, self.page(&self.prose.title(&name), &body))
    }
}
