//! A Chinese site as `DedeCMS` has it: static pages, and programs below `/plus/` which show the same.

use crate::{
    false_traps::{Numbers, teaser, world},
    more_software::{frame, obeying, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{drawn, item, sorted},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 450;
const COLUMNS: [&str; 8] =
    ["xinwen", "keji", "caijing", "jiaoyu", "jiankang", "lvyou", "wenhua", "gongqiu"];
const TAGS: usize = 60;
const USERS: usize = 10;
const LISTED: usize = 20;
const ROBOTS: [&str; 17] = [
    "/plus/ad_js.php",
    "/plus/advancedsearch.php",
    "/plus/car.php",
    "/plus/carbuyaction.php",
    "/plus/shops_buyaction.php",
    "/plus/erraddsave.php",
    "/plus/posttocar.php",
    "/plus/disdls.php",
    "/plus/feedback_js.php",
    "/plus/mytag_js.php",
    "/plus/rss.php",
    "/plus/search.php",
    "/plus/recommend.php",
    "/plus/stow.php",
    "/plus/count.php",
    "/include",
    "/templets",
];

/// 450 articles in eight columns; one in five has two or three pages, each with a text of its own. The site for phones, lists of members, tags and
/// the comments of an article lead to the same articles by their numbers. The last column is a list of offers which is narrowed by place
/// and kind. Members have a space of their own, and people who are not logged in are sent to log in.
pub(crate) fn dedecms() -> World {
    let all = (0..ARTICLES).flat_map(|it| (0..parts(it)).map(move |part| (it, part)));
    let site = Site {
        prose: Prose::new(Language::Chinese),
        numbers: Numbers::of(all.map(|(it, part)| format!("article {it} {part}"))),
    };
    let pages = (0..ARTICLES).map(parts).sum();
    let answer = move |asked: &Target| site.answer(asked).unwrap_or_else(Answer::missing);
    obeying(world("dedecms", "/", pages, answer), &ROBOTS)
}

fn parts(article: usize) -> usize {
    if property("length", article, 5) == 0 { 2 + article % 2 } else { 1 }
}

#[derive(Debug)]
struct Site {
    prose: Prose,
    numbers: Numbers,
}

fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

fn property(name: &str, article: usize, of: usize) -> usize {
    Dice::of(&format!("{name} of article {article}")).roll(of)
}

fn column(article: usize) -> usize {
    property("column", article, COLUMNS.len())
}

fn tags(article: usize) -> Vec<usize> {
    drawn(&format!("tags of article {article}"), 3, TAGS)
}

fn articles(is_in: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..ARTICLES).rev().filter(|it| is_in(*it)).collect()
}

/// The static page of an article.
fn page_of(article: usize, part: usize) -> Target {
    let (year, month, day) =
        (2018 + article / 75, article % 75 / 7 + 1, property("day", article, 28) + 1);
    let part = if part == 0 { String::new() } else { format!("_{}", part + 1) };
    to(format!(
        "/a/{}/{year}/{month:02}{day:02}/{}{part}.html",
        COLUMNS[column(article)],
        article + 1
    ))
}

fn view(path: &str, article: usize, part: usize) -> Target {
    let to = to(path).with("aid", article + 1);
    if part == 0 { to } else { to.with("pageno", part + 1) }
}

fn space(user: usize, action: &str) -> Target {
    let to = to("/member/index.php").with("uid", format!("user{user}"));
    if action.is_empty() { to } else { to.with("action", action) }
}

impl Site {
    fn tag_page(tag: usize) -> Target {
        let words = Prose { language: Language::Chinese, words: Vec::new() };
        let name = words.own_word(&mut Dice::of(&format!("tag {tag}")));
        let name: String = name.bytes().map(|it| format!("%{it:02X}")).collect();
        to(format!("/tags.php?/{name}/"))
    }

    fn answer(&self, asked: &Target) -> Option<Answer> {
        let aid = || asked.number("aid")?.checked_sub(1).filter(|it| *it < ARTICLES);
        let part = asked.number("pageno").unwrap_or(1).max(1) - 1;
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let (title, body) = match &parts[..] {
            [] => ("首页", self.home()),
            ["a", name, rest @ ..] => return self.below_column(asked, name, rest),
            ["plus" | "m", "view.php"] => return self.article(asked, aid()?, part),
            ["m"] => ("手机版", Self::home_of_phones()),
            ["plus" | "m", "list.php"] => ("列表", self.list_by_number(asked)),
            ["plus", "feedback.php"] => ("评论", self.comments(asked, aid()?)),
            ["tags.php"] => ("标签", self.tagged(asked)),
            ["member", "index.php"] => ("空间", self.space(asked)?),
            ["member", ..] => {
                ("登录", "<p>用户名：密码：验证码：看不清？点击更换。忘记密码？</p>".to_owned())
            }
            ["plus", "guestbook.php"] => {
                ("留言", "<p>您的姓名：联系方式：留言内容：</p>".to_owned())
            }
            ["plus", "heightsearch.php" | "flink.php" | "flink_add.php"] => {
                ("搜索", "<p>网站名称：网址：关键词：栏目：发布时间：</p>".to_owned())
            }
            ["data", "sitemap.html"] => {
                let columns =
                    (0..COLUMNS.len()).map(|it| item(COLUMNS[it], &Self::list_page(it, 0)));
                ("网站地图", columns.collect())
            }
            ["data", ..] => return Some(Answer::file("text/xml")),
            _ => return None,
        };
        Some(Answer::junk(self.page(title, &body)))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let mut menu: String =
            (0..COLUMNS.len()).map(|it| item(COLUMNS[it], &Self::list_page(it, 0))).collect();
        for it in [
            "/member/login.php",
            "/member/index_do.php?fmdo=user&dopost=regnew",
            "/data/sitemap.html",
            "/plus/heightsearch.php",
            "/plus/guestbook.php",
            "/plus/flink.php",
            "/data/rssmap.html",
            "/tags.php",
            "/m/",
        ] {
            menu += &item(it, &Target::parse(it));
        }
        for it in drawn("hot words", 8, 100) {
            menu += &item(it, &to("/plus/search.php").with("keyword", it));
        }
        let side: String =
            drawn("hot articles", 10, ARTICLES).iter().map(|it| self.link(*it)).collect();
        let tags: String = (0..12).map(|it| item(it, &Self::tag_page(it))).collect();
        frame(&self.prose, title, &menu, body, &(side + &tags))
    }

    fn link(&self, article: usize) -> String {
        item(self.prose.title(&format!("article {article}")), &page_of(article, 0))
    }

    fn home(&self) -> String {
        let newest = (ARTICLES - 30..ARTICLES).map(|it| self.link(it));
        newest.collect::<String>() + "<p>热点新闻。推荐内容。友情链接。</p>"
    }

    fn home_of_phones() -> String {
        let columns = (0..COLUMNS.len()).map(|it| item(it, &to("/m/list.php").with("tid", it + 1)));
        let newest = (ARTICLES - 20..ARTICLES).map(|it| item(it, &view("/m/view.php", it, 0)));
        columns.chain(newest).collect()
    }

    fn list_page(column: usize, at: usize) -> Target {
        let file =
            if at == 0 { String::new() } else { format!("list_{}_{}.html", column + 1, at + 1) };
        to(format!("/a/{}/{file}", COLUMNS[column]))
    }

    fn entries(&self, shown: &[usize], own: impl Fn(usize) -> Target) -> String {
        let one = |it: &usize| {
            let user = property("writer", *it, USERS);
            item(COLUMNS[column(*it)], &Self::list_page(column(*it), 0))
                + &teaser(&self.prose, &own(*it).show(), &format!("article {it}"))
                + &item("评论", &to("/plus/feedback.php").with("aid", *it + 1))
                + &item(format!("作者：user{user}"), &space(user, ""))
        };
        shown.iter().map(one).collect()
    }

    fn below_column(&self, asked: &Target, name: &str, rest: &[&str]) -> Option<Answer> {
        let of = COLUMNS.iter().position(|it| *it == name)?;
        let number = |it: &str| it.strip_suffix(".html")?.rsplit('_').next()?.parse::<usize>().ok();
        if let [_, _, file] = rest {
            let (article, part) = match file.split_once('_') {
                Some((article, _)) => (article.parse::<usize>().ok()?, number(file)? - 1),
                None => (number(file)?, 0),
            };
            let article = article.checked_sub(1).filter(|it| *it < ARTICLES)?;
            return self.article(asked, article, part);
        }
        let at = rest.first().map_or(Some(1), |it| number(it))?.max(1) - 1;
        let all = articles(|it| column(it) == of);
        let pages = 0..all.len().div_ceil(LISTED);
        let mut body = self.entries(&shown(&all, at, LISTED), |it| page_of(it, 0));
        body += &pager(at, pages, |it| Self::list_page(of, it));
        if name == "gongqiu" {
            body += &Self::choices(&to("/plus/list.php").with("tid", of + 1));
        }
        Some(Answer::junk(self.page(name, &body)))
    }

    /// Places and kinds of offers, each of which keeps the others.
    fn choices(own: &Target) -> String {
        let mut body = String::new();
        for (name, count) in [("nativeplace", 10), ("infotype", 6)] {
            for it in 0..=count {
                body += &item(
                    it,
                    &own.clone().without("PageNo").without("TotalResult").set(name, it * 500),
                );
            }
        }
        for it in ["id", "lastpost", "click"] {
            body +=
                &item(it, &own.clone().without("PageNo").without("TotalResult").set("orderby", it));
        }
        body
    }

    fn list_by_number(&self, asked: &Target) -> String {
        let of = asked.number("tid").unwrap_or_default();
        let is = |it: usize, name: &str, count: usize| {
            asked
                .number(name)
                .is_none_or(|wanted| wanted == 0 || wanted / 500 == property(name, it, count) + 1)
        };
        let all = articles(|it| {
            column(it) + 1 == of && is(it, "nativeplace", 10) && is(it, "infotype", 6)
        });
        let all = sorted(all, asked.get("orderby").unwrap_or("id"), "d");
        let at = asked.number("PageNo").unwrap_or(1).max(1) - 1;
        let first = asked.clone().without("PageNo").set("TotalResult", all.len());
        let is_phone = asked.path.starts_with("/m/");
        let mut body = self.entries(&shown(&all, at, LISTED), |it| {
            if is_phone { view("/m/view.php", it, 0) } else { page_of(it, 0) }
        });
        if !is_phone {
            body += &Self::choices(asked);
        }
        if all.is_empty() {
            body += "<p>没有找到相关信息。</p>";
        }
        let pages = 0..all.len().div_ceil(LISTED);
        body + &pager(at, pages, |it| first.clone().with("PageNo", it + 1))
    }

    /// The name of a tag and the number of a page are in the query.
    fn tagged(&self, asked: &Target) -> String {
        let query = asked.show();
        let Some(tag) = (0..TAGS).find(|it| query.starts_with(&Self::tag_page(*it).show())) else {
            return (0..TAGS).map(|it| item(it, &Self::tag_page(it))).collect();
        };
        let own = Self::tag_page(tag).path;
        let at = query.strip_prefix(&own).and_then(|it| it.trim_matches(['/', '=']).parse().ok());
        let all = articles(|it| tags(it).contains(&tag));
        let at: usize = at.unwrap_or(1);
        let list = self.entries(&shown(&all, at - 1, 10), |it| view("/plus/view.php", it, 0));
        list + &pager(at, 1..all.len().div_ceil(10) + 1, |it| to(format!("{own}{it}/")))
    }

    fn comments(&self, asked: &Target, article: usize) -> String {
        let comments = property("comments", article, 4);
        let one = |it: usize| {
            let comment = format!("comment {it} on {article}");
            let quote =
                to("/plus/feedback.php").with("aid", article + 1).with("fid", article * 9 + it);
            let user = Dice::of(&comment).roll(USERS);
            item(user, &space(user, ""))
                + &self.prose.paragraphs(&comment, 1)
                + &item("回复", &quote.with("action", "quote"))
        };
        let all: String = (0..comments).map(one).collect();
        let empty = if comments == 0 { "<p>暂时没有评论。</p>" } else { "" };
        if asked.get("action").is_some() {
            return "<p>评价：中立。好评。差评。表情：验证码：</p>".to_owned()
                + &self.link(article);
        }
        self.link(article) + &all + empty
    }

    fn space(&self, asked: &Target) -> Option<String> {
        let user: usize = asked.get("uid")?.strip_prefix("user")?.parse().ok()?;
        let mut body = format!("<p>user{user} 的空间</p>");
        for it in ["", "infos", "article", "feeds", "friend", "guestbook"] {
            body += &item(it, &space(user, it));
        }
        if asked.get("action") == Some("article") {
            let all = articles(|it| property("writer", it, USERS) == user);
            let at = asked.number("PageNo").unwrap_or(1).max(1);
            body += &self.entries(&shown(&all, at - 1, 10), |it| view("/plus/view.php", it, 0));
            let first = asked.clone().without("PageNo").set("TotalResult", all.len());
            body +=
                &pager(at, 1..all.len().div_ceil(10) + 1, |it| first.clone().with("PageNo", it));
        } else {
            body += "<p>该用户还没有发布任何内容。</p>";
        }
        Some(body)
    }

    /// A part of an article under one of its three URLs.
    fn article(&self, asked: &Target, article: usize, part: usize) -> Option<Answer> {
        if part >= parts(article) {
            return None;
        }
        let name = format!("article {article} {part}");
        let user = property("writer", article, USERS);
        let mut body = item(format!("作者：user{user}"), &space(user, ""));
        body += &text(&self.prose, &name);
        let own = |it: usize| match asked.path.as_str() {
            path @ ("/m/view.php" | "/plus/view.php") => view(path, article, it),
            _ => page_of(article, it),
        };
        body += &pager(part, 0..parts(article), own);
        for it in tags(article) {
            body += &item(it, &Self::tag_page(it));
        }
        let id = article + 1;
        for it in ["stow", "recommend", "erraddsave"] {
            body += &item(it, &to(format!("/plus/{it}.php")).with("aid", id));
        }
        body += &item("评论", &to("/plus/feedback.php").with("aid", id));
        let gourl = page_of(article, 0).path.replace('/', "%2F");
        body += &item("登录", &to("/member/login.php").with("gourl", gourl));
        let is_phone = asked.path.starts_with("/m/");
        for near in [article.checked_sub(1), Some(article + 1).filter(|it| *it < ARTICLES)]
            .into_iter()
            .flatten()
        {
            body += &if is_phone {
                item("下一篇", &view("/m/view.php", near, 0))
            } else {
                self.link(near)
            };
        }
        let related = drawn(&format!("related to {article}"), 5, ARTICLES);
        body += &related.iter().map(|it| self.link(*it)).collect::<String>();
        let title = self.prose.title(&format!("article {article}"));
        if is_phone {
            let menu = item("手机版", &to("/m/")) + &item("电脑版", &to("/"));
            return Some(self.numbers.answer(&name, frame(&self.prose, &title, &menu, &body, "")));
        }
        Some(self.numbers.answer(&name, self.page(&title, &body)))
    }
}
