//! A site as Drupal 8 has it, with a few of its most common modules.

use crate::{
    false_traps::{Numbers, teaser, world},
    more_software::{frame, obeying, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{canonical, drawn, item, made_up, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 450;
const CHAPTERS: usize = 150;
const NODES: usize = ARTICLES + CHAPTERS;
const TOPICS: usize = 10;
const KINDS: usize = 4;
const TAGS: usize = 80;
const MONTHS: usize = 60;
const LISTED: usize = 10;
const ROBOTS: [&str; 9] = [
    "/core/",
    "/admin/",
    "/comment/reply/",
    "/filter/tips/",
    "/node/add/",
    "/search/",
    "/user/register/",
    "/user/password/",
    "/user/login/",
];
const FEED: &str = "application/rss+xml";

/// 450 articles and 150 chapters of a handbook. A node has an alias, which is its canonical URL, and comments, whose permalinks show the
/// node; each leads to the forms to log in and to register, which lead back. Articles are in a view with exposed filters as links, a
/// table which is sorted by its columns, a search with facets, the lists of ten topics, of 80 tags and of 60 months. Nodes have a view to
/// print, and chapters an export with all chapters below.
pub(crate) fn drupal() -> World {
    let site = Drupal {
        prose: Prose::new(Language::English),
        numbers: Numbers::of((0..NODES).map(|it| format!("node {it}"))),
        slugs: made_up("node of a site", NODES, "-"),
    };
    obeying(world("drupal", "/", NODES, move |asked| site.answer(asked)), &ROBOTS)
}

#[derive(Debug)]
struct Drupal {
    prose: Prose,
    numbers: Numbers,
    slugs: Vec<String>,
}

fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

fn property(name: &str, node: usize, of: usize) -> usize {
    Dice::of(&format!("{name} of node {node}")).roll(of)
}

fn topic(node: usize) -> usize {
    property("topic", node, TOPICS)
}

fn month(node: usize) -> usize {
    (ARTICLES - 1 - node) * MONTHS / ARTICLES
}

fn tags(node: usize) -> Vec<usize> {
    drawn(&format!("tags of node {node}"), 3, TAGS)
}

/// The chapter above one; the first chapter is the handbook itself.
fn above(chapter: usize) -> Option<usize> {
    (chapter > 0).then(|| (chapter - 1) / 6)
}

fn articles(is_in: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..ARTICLES).filter(|it| is_in(*it)).collect()
}

impl Drupal {
    fn alias(&self, node: usize) -> Target {
        let section = if node < ARTICLES { "articles" } else { "handbook" };
        to(format!("/{section}/{}", self.slugs[node]))
    }

    fn link(&self, node: usize) -> String {
        item(self.prose.title(&format!("node {node}")), &self.alias(node))
    }

    fn answer(&self, asked: &Target) -> Answer {
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let number = |it: &str| it.parse::<usize>().ok();
        let node = |it: &str| number(it)?.checked_sub(1).filter(|it| *it < NODES);
        let named = |slug: &str| self.slugs.iter().position(|it| it == slug);
        let all = match &parts[..] {
            ["rss.xml"] | ["taxonomy", "term", _, "feed"] => return Answer::file(FEED),
            ["articles" | "handbook", slug] => return self.node(asked, named(slug)),
            ["node", id] => return self.node(asked, node(id)),
            ["node", id, "printable", "print"] => return self.print(node(id)),
            ["comment", id] => return self.node(asked, number(id).map(|it| it / 16)),
            ["book", "export", "html", id] => {
                return self.export(node(id).and_then(|it| it.checked_sub(ARTICLES)));
            }
            ["articles"] => return self.view(asked),
            ["library"] => return self.table(asked),
            ["catalog"] => return self.facets(asked),
            ["user", form] => return self.form(form),
            ["contact"] => return self.form("contact"),
            ["filter", "tips"] => return self.form("filter tips"),
            [] | ["node"] => articles(|it| it % 3 == 0),
            ["topics", it] => {
                let it = it.strip_prefix("topic-").and_then(number);
                articles(|node| Some(topic(node)) == it)
            }
            ["tags", it] => {
                let it = it.strip_prefix("tag-").and_then(number);
                articles(|node| tags(node).iter().any(|tag| Some(*tag) == it))
            }
            ["archive", it] => {
                let it = number(it).map(|it| it / 100 * 12 + it % 100);
                articles(|node| Some(2019 * 12 + 1 + month(node)) == it)
            }
            _ => return Answer::missing(),
        };
        let title = parts.last().unwrap_or(&"Welcome");
        Answer::junk(self.page(title, &self.list(asked, &all, LISTED)))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let menu = ["/articles", "/library", "/catalog", "/contact", "/user/login", "/rss.xml"];
        let menu: String = menu.iter().map(|it| item(it, &to(*it))).collect();
        let mut side = self.link(ARTICLES);
        side += &(1..7).map(|it| self.link(ARTICLES + it)).collect::<String>();
        side +=
            &(0..TOPICS).map(|it| item(it, &to(format!("/topics/topic-{it}")))).collect::<String>();
        for month in 0..12 {
            side += &item(month, &to(format!("/archive/2023{:02}", month + 1)));
        }
        side += &(0..5).map(|it| self.link(it)).collect::<String>();
        frame(&self.prose, title, &menu, body, &side)
    }

    fn form(&self, form: &str) -> Answer {
        let body = match form {
            "login" => "<p>Username. Enter your username. Password. Log in.</p>",
            "register" => "<p>Email address. Username. Create new account.</p>",
            "password" => "<p>Username or email address. Instructions will be sent.</p>",
            _ => "<p>Your name. Your email address. Subject. Message. Send.</p>",
        };
        let tabs = ["register", "password"].map(|it| item(it, &to(format!("/user/{it}"))));
        Answer::junk(self.page(form, &(tabs.concat() + body)))
    }

    fn pages(asked: &Target, all: &[usize], listed: usize) -> (Vec<usize>, String) {
        let at = asked.number("page").unwrap_or_default();
        let to = |it| asked.clone().without("page").with("page", it);
        (shown(all, at, listed), pager(at, 0..all.len().div_ceil(listed), to))
    }

    fn list(&self, asked: &Target, all: &[usize], listed: usize) -> String {
        let (shown, pager) = Self::pages(asked, all, listed);
        let mut body = String::new();
        for node in shown {
            let own = self.alias(node);
            body += &teaser(&self.prose, &own.show(), &format!("node {node}"));
            body += &item("Read more", &own);
            body += &Self::to_comment(&own);
        }
        if all.is_empty() {
            body += "<p>There is currently no content.</p>";
        }
        body + &pager
    }

    /// The forms that lead back to the comments.
    fn to_comment(own: &Target) -> String {
        let to = |form: &str| {
            let form = to(format!("/user/{form}"));
            form.with("destination", format!("{}%23comment-form", own.path))
        };
        item("Log in", &to("login")) + &item("register", &to("register"))
    }

    /// Exposed filters as links, each of which keeps the others.
    fn view(&self, asked: &Target) -> Answer {
        let is = |name: &str, value: usize| {
            asked.get(name).is_none_or(|it| it == "All" || it == value.to_string())
        };
        let all = articles(|it| {
            is("field_topic_target_id", topic(it)) && is("field_kind", property("kind", it, KINDS))
        });
        let order = asked.get("sort_order").unwrap_or("DESC");
        let all = sorted(all, asked.get("sort_by").unwrap_or("created"), order);
        let values = |count: usize| {
            let numbers = (0..count).map(|it| it.to_string());
            ["All".to_owned()].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        let words = |of: &[&str]| of.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let filters = [
            ("field_topic_target_id", values(TOPICS)),
            ("field_kind", values(KINDS)),
            ("sort_by", words(&["created", "title", "changed"])),
            ("sort_order", words(&["ASC", "DESC"])),
            ("items_per_page", words(&["10", "25", "50"])),
        ];
        let mut body = String::new();
        for (name, values) in &filters {
            for value in values {
                body += &item(value, &asked.clone().without("page").set(name, value));
            }
        }
        let listed = asked.number("items_per_page").unwrap_or(LISTED).clamp(10, 50);
        Answer::junk(self.page("Articles", &(body + &self.list(asked, &all, listed))))
    }

    fn table(&self, asked: &Target) -> Answer {
        let (order, sort) = (asked.get("order"), asked.get("sort").unwrap_or("asc"));
        let all = sorted(articles(|_| true), order.unwrap_or("title"), sort);
        let (shown, pager) = Self::pages(asked, &all, 50);
        let mut body = String::new();
        for column in ["title", "field_topic", "created", "changed"] {
            let turned = if order == Some(column) && sort == "asc" { "desc" } else { "asc" };
            body += &item(column, &to("/library").with("order", column).with("sort", turned));
        }
        for node in shown {
            let topic = topic(node);
            body += &self.link(node);
            body += &item(topic, &to(format!("/topics/topic-{topic}")));
        }
        Answer::junk(self.page("Library", &(body + &pager)))
    }

    /// A search whose facets are added in the order in which they are chosen.
    fn facets(&self, asked: &Target) -> Answer {
        let kinds = [("topic", TOPICS), ("writer", 8), ("level", 3), ("year", 5)];
        let value = |name: &str, node: usize| match name {
            "topic" => topic(node),
            "year" => month(node) / 12,
            _ => property(name, node, kinds.iter().find(|it| it.0 == name).map_or(1, |it| it.1)),
        };
        let active: Vec<&String> =
            asked.parameters.iter().filter(|it| it.0.starts_with("f%5B")).map(|it| &it.1).collect();
        let facet = |name: &str, node: usize| format!("{name}%3A{}", value(name, node));
        let has = |node: usize, wanted: &str| kinds.iter().any(|it| facet(it.0, node) == wanted);
        let all = articles(|node| active.iter().all(|it| has(node, it)));
        let with = |chosen: Vec<String>| {
            let chosen = chosen.into_iter().enumerate();
            chosen.fold(to("/catalog"), |to, (it, value)| to.with(&format!("f%5B{it}%5D"), value))
        };
        let mut body = String::new();
        for (name, count) in kinds {
            for it in 0..count {
                let this = format!("{name}%3A{it}");
                let rest: Vec<String> =
                    active.iter().filter(|it| ***it != this).map(|it| (*it).clone()).collect();
                if active.contains(&&this) {
                    body += &nofollow(format!("(-) {this}"), &with(rest));
                } else if all.iter().any(|node| has(*node, &this)) {
                    body += &nofollow(&this, &with([rest, vec![this.clone()]].concat()));
                }
            }
        }
        Answer::junk(self.page("Catalog", &(body + &self.list(asked, &all, LISTED))))
    }

    fn comments(&self, node: usize) -> String {
        let one = |it: usize| {
            let id = node * 16 + it;
            let own = to(format!("/comment/{id}#comment-{id}"));
            let reply = to(format!("/comment/reply/node/{}/comment/{id}", node + 1));
            item(self.prose.title(&format!("comment {id}")), &own)
                + &self.prose.paragraphs(&format!("comment {id}"), 1)
                + &item("reply", &reply)
        };
        (0..property("comments", node, 6)).map(one).collect()
    }

    fn node(&self, asked: &Target, node: Option<usize>) -> Answer {
        let Some(node) = node.filter(|it| *it < NODES) else { return Answer::missing() };
        if asked.path.starts_with("/comment") && node >= ARTICLES {
            return Answer::missing();
        }
        let (name, own) = (format!("node {node}"), self.alias(node));
        let mut body = text(&self.prose, &name);
        if property("mentions", node, 3) == 0 {
            let other = property("mentioned", node, NODES) + 1;
            body += &item("See also", &to(format!("/node/{other}")));
        }
        body += &item("Printer-friendly", &to(format!("/node/{}/printable/print", node + 1)));
        if node < ARTICLES {
            body += &item("topic", &to(format!("/topics/topic-{}", topic(node))));
            for tag in tags(node) {
                body += &item(tag, &to(format!("/tags/tag-{tag}")));
            }
            body += &self.comments(node);
            body += &Self::to_comment(&own);
        } else {
            let chapter = node - ARTICLES;
            let near = [chapter.checked_sub(1), above(chapter), Some(chapter + 1)];
            let below = (0..CHAPTERS).filter(|it| above(*it) == Some(chapter)).map(Some);
            for it in near.into_iter().chain(below).flatten().filter(|it| *it < CHAPTERS) {
                body += &self.link(ARTICLES + it);
            }
            body += &item("All below", &to(format!("/book/export/html/{}", node + 1)));
        }
        let html = self.page(&self.prose.title(&name), &body);
        self.numbers.answer(&name, with_head(&html, &canonical(&own)))
    }

    fn print(&self, node: Option<usize>) -> Answer {
        let Some(node) = node else { return Answer::missing() };
        let name = format!("node {node}");
        let body = text(&self.prose, &name) + &item("Source URL", &self.alias(node));
        self.numbers.answer(&name, frame(&self.prose, &self.prose.title(&name), "", &body, ""))
    }

    /// A chapter and those below it.
    fn export(&self, chapter: Option<usize>) -> Answer {
        let Some(chapter) = chapter.filter(|it| *it < CHAPTERS) else { return Answer::missing() };
        let (mut all, mut at) = (vec![chapter], 0);
        while at < all.len() {
            let parent = all[at];
            all.extend((0..CHAPTERS).filter(|it| above(*it) == Some(parent)));
            at += 1;
        }
        let one = |it: &usize| text(&self.prose, &format!("node {}", ARTICLES + it));
        let body: String = all.iter().map(one).collect();
        let name = format!("node {}", ARTICLES + chapter);
        Answer::junk(frame(&self.prose, &self.prose.title(&name), "", &body, ""))
    }
}
