//! An editorial system in Chinese whose parameters are in the path, as `ThinkPHP` has them.

use std::fmt::Display;

use crate::{
    false_traps::{Numbers, page, teaser, world},
    prose::{Dice, Language, Prose},
    software::{drawn, item, sorted},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 400;
const CATEGORIES: usize = 12;
const TAGS: usize = 60;
const USERS: usize = 20;
const LISTED: usize = 10;
const ORDERS: [&str; 3] = ["id", "hits", "comments"];

/// 400 articles. Names and values follow each other in the path, in the order in which a menu puts them. A third of the lists has the old
/// links with a query, and the front page has links without the script. Each page leads to the log-in with itself, encoded, as the page
/// to return to, and each article to a view to print.
pub(crate) fn path_info() -> World {
    let prose = Prose::new(Language::Chinese);
    let tag = |it: usize| prose.own_word(&mut Dice::of(&format!("tag {it}")));
    let tags = (0..TAGS).map(tag).collect();
    let numbers = Numbers::of((0..ARTICLES).map(|it| format!("article {it}")));
    let site = PathInfo { prose, numbers, tags };
    world("path-info", "/", ARTICLES, move |asked| site.answer(asked))
}

#[derive(Debug)]
struct PathInfo {
    prose: Prose,
    numbers: Numbers,
    tags: Vec<String>,
}

/// A page below the script, with names and values in the path.
fn below(action: &str, pairs: &[(String, String)]) -> Target {
    let pairs: String = pairs.iter().map(|(name, value)| format!("/{name}/{value}")).collect();
    Target::new(format!("/index.php/Home/{action}{pairs}.html"))
}

fn by_id(action: &str, name: &str, id: impl Display) -> Target {
    below(action, &[(name.to_owned(), id.to_string())])
}

/// Controller and action as the path, and the parameters of the path and of the query.
fn routed(asked: &Target) -> Target {
    let get = |name: &str| asked.get(name).unwrap_or("Index");
    let mut to = Target::new(format!("{}/{}", get("c"), get("a")));
    let path = asked.path.strip_prefix("/index.php").unwrap_or(&asked.path);
    if let Some(path) = path.strip_prefix("/Home/") {
        let parts: Vec<&str> = path.trim_end_matches(".html").split('/').collect();
        to.path = parts.iter().take(2).copied().collect::<Vec<_>>().join("/");
        let pairs = parts.get(2..).unwrap_or_default().chunks_exact(2);
        to.parameters = pairs.map(|it| (it[0].to_owned(), it[1].to_owned())).collect();
    }
    let query = asked.parameters.iter().filter(|it| !["m", "c", "a"].contains(&it.0.as_str()));
    to.parameters.extend(query.cloned());
    to
}

/// In base 64, as it may stand in a path.
fn encoded(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = text.as_bytes().chunks(3).flat_map(|chunk| {
        let bytes = [0, 1, 2].map(|it| u32::from(chunk.get(it).copied().unwrap_or_default()));
        let bits = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        let digit = move |it: u32| char::from(DIGITS[(bits >> (18 - 6 * it)) as usize & 63]);
        (0..=u32::try_from(chunk.len()).unwrap_or_default()).map(digit)
    });
    digits.collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|it| format!("%{it:02X}")).collect()
}

impl PathInfo {
    fn answer(&self, asked: &Target) -> Answer {
        let to = routed(asked);
        let id = to.number("id").filter(|it| *it < ARTICLES);
        let (title, body) = match (to.path.as_str(), id) {
            ("Article/detail", Some(id)) => return self.detail(asked, id),
            ("Article/print", Some(id)) => {
                let name = format!("article {id}");
                let body = self.prose.paragraphs(&name, 4);
                return self.numbers.answer(&name, page(&self.prose, &self.title(id), &body, &[]));
            }
            ("Article/lists", _) => {
                let category = to.number("cid").unwrap_or_default();
                let all = (0..ARTICLES).filter(|it| it % CATEGORIES == category).collect();
                let menu = Self::orders(&to);
                (format!("栏目{category}"), menu + &self.list(asked, &to, "cid", all))
            }
            ("Tag/index", _) => {
                let name = to.get("name").unwrap_or_default();
                let tag = self.tags.iter().position(|it| percent(it) == name);
                let is_in = |it: &usize| tag.is_some_and(|tag| tags(*it).contains(&tag));
                let all = (0..ARTICLES).filter(is_in).collect();
                (format!("标签{}", tag.unwrap_or_default()), self.list(asked, &to, "name", all))
            }
            ("User/space", _) => self.space(asked, &to),
            ("Public/login", _) => (
                "登录".to_owned(),
                "<p>请输入用户名和密码登录,或者注册一个新的帐号。</p>".to_owned(),
            ),
            ("Public/register", _) => (
                "注册".to_owned(),
                "<p>请填写用户名、密码和电子邮箱,以便注册新的帐号。</p>".to_owned(),
            ),
            ("Index/Index" | "Index/index", _) => ("首页".to_owned(), self.front()),
            _ => return Answer::missing(),
        };
        Answer::junk(self.page(asked, &title, &body, Vec::new()))
    }

    fn title(&self, id: usize) -> String {
        self.prose.title(&format!("article {id}"))
    }

    /// A page; these links stand beside its text, before those of the menu.
    fn page(
        &self,
        asked: &Target,
        title: &str,
        body: &str,
        beside: Vec<(Target, String)>,
    ) -> String {
        let categories =
            (0..CATEGORIES).map(|it| (by_id("Article/lists", "cid", it), format!("栏目{it}")));
        let login = by_id("Public/login", "backurl", encoded(&asked.show()));
        let menu: Vec<_> = beside
            .into_iter()
            .chain(categories)
            .chain([(Target::new("/index.php/Home/Index/index.html"), "首页".to_owned())])
            .chain([(login, "登录".to_owned()), (below("Public/register", &[]), "注册".to_owned())])
            .map(|(to, name)| (to.show(), name))
            .collect();
        page(&self.prose, title, body, &menu)
    }

    /// Its links leave out the script.
    fn front(&self) -> String {
        let path = |action: &str, name: &str, id: usize| {
            Target::new(format!("/Home/{action}/{name}/{id}.html"))
        };
        let newest = (ARTICLES - 20..ARTICLES).chain(drawn("hot", 20, ARTICLES)).map(|it| {
            teaser(&self.prose, &path("Article/detail", "id", it).show(), &format!("article {it}"))
        });
        let categories = (0..CATEGORIES).map(|it| item(it, &path("Article/lists", "cid", it)));
        let tags = self.tags.iter().map(|it| item(it, &by_id("Tag/index", "name", percent(it))));
        newest.chain(categories).chain(tags).collect()
    }

    /// The menu puts the order before the page of the list, and keeps it.
    fn orders(to: &Target) -> String {
        let page = to.get("p").map(|it| ("p".to_owned(), it.to_owned()));
        let category = ("cid".to_owned(), to.get("cid").unwrap_or_default().to_owned());
        let one = |order: &str| {
            let mut pairs = vec![category.clone(), ("order".to_owned(), order.to_owned())];
            pairs.extend(page.clone());
            item(order, &below("Article/lists", &pairs))
        };
        ORDERS.map(one).concat()
    }

    /// The articles on a page of a list, and the pages: their numbers stand after the parameter that names the list.
    fn list(&self, asked: &Target, to: &Target, name: &str, all: Vec<usize>) -> String {
        let all = match to.get("order") {
            Some(order) => sorted(all, order, "d"),
            None => all.into_iter().rev().collect(),
        };
        let at = to.number("p").unwrap_or(1).max(1);
        let value = to.get(name).unwrap_or_default();
        let is_old = Dice::of(&format!("links of {name} {value} {at}")).roll(3) == 0;
        let mut body = String::new();
        for it in all.iter().skip((at - 1) * LISTED).take(LISTED) {
            let old = Target::new("/index.php").with("m", "Home").with("c", "Article");
            let old = old.with("a", "detail").with("id", it);
            let own = if is_old { old } else { by_id("Article/detail", "id", it) };
            body += &teaser(&self.prose, &own.show(), &format!("article {it}"));
        }
        for it in (1..=all.len().div_ceil(LISTED)).filter(|it| *it != at) {
            let mut pairs: Vec<_> =
                to.parameters.iter().filter(|it| it.0 != "p").cloned().collect();
            pairs.insert(1.min(pairs.len()), ("p".to_owned(), it.to_string()));
            body += &item(it, &below(&to.path, &pairs));
        }
        if all.is_empty() { format!("<p>暂无内容</p>{}", item("返回", asked)) } else { body }
    }

    fn space(&self, asked: &Target, to: &Target) -> (String, String) {
        let user = to.number("uid").unwrap_or_default();
        let tab = |it: &str| {
            let pairs = [("uid", user.to_string()), ("tab", it.to_owned())];
            below("User/space", &pairs.map(|(name, value)| (name.to_owned(), value)))
        };
        let tabs = ["profile", "posts", "comments", "favorites", "fans"]
            .map(|it| item(it, &tab(it)))
            .concat();
        let body = match to.get("tab").unwrap_or("profile") {
            "posts" => {
                let all = (0..ARTICLES).filter(|it| author(*it) == user).collect();
                self.list(asked, to, "uid", all)
            }
            "profile" => {
                let mut dice = Dice::of(&format!("space {user}"));
                let rows = ["积分", "文章", "评论", "访问"];
                rows.map(|it| format!("<p>{it} {}</p>", dice.roll(9_000))).concat()
            }
            _ => "<p>暂无内容</p>".to_owned(),
        };
        (format!("用户{user}的空间"), body + &tabs)
    }

    fn detail(&self, asked: &Target, id: usize) -> Answer {
        let name = format!("article {id}");
        let mut beside = vec![
            (by_id("Article/print", "id", id), "打印".to_owned()),
            (by_id("User/space", "uid", author(id)), "作者".to_owned()),
            (by_id("Article/lists", "cid", id % CATEGORIES), "栏目".to_owned()),
        ];
        for it in tags(id) {
            let tag = &self.tags[it];
            beside.push((by_id("Tag/index", "name", percent(tag)), tag.clone()));
        }
        for near in [id.saturating_sub(CATEGORIES), id + CATEGORIES] {
            if near != id && near < ARTICLES {
                beside.push((by_id("Article/detail", "id", near), self.title(near)));
            }
        }
        let body = self.prose.paragraphs(&name, 4);
        self.numbers.answer(&name, self.page(asked, &self.title(id), &body, beside))
    }
}

fn tags(article: usize) -> Vec<usize> {
    drawn(&format!("tags of article {article}"), 3, TAGS)
}

fn author(article: usize) -> usize {
    1 + Dice::of(&format!("author of {article}")).roll(USERS)
}
