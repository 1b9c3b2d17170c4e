//! A forum as Discuz! X has it.

use crate::{
    false_traps::{page, world},
    forums::{Board, FORUMS, USERS},
    prose::{Dice, Language},
    software::{drawn, item, nofollow, sorted},
    target::Target,
    world::{Answer, World},
};

/// 600 threads in Chinese. The links of a list name the list in `extra`, so that a thread has as many URLs as there are lists with it;
/// some links have the short form. For each post there are a redirect to it, its author's posts in the thread, an answer and a message; for
/// each user seven views of a space; for each thread the reverse order, a view to print, redirects to its neighbours, and the archiver.
pub(crate) fn discuz() -> World {
    let board = Board::new(Language::Chinese, 600, 10, 20);
    let pages = board.pages();
    world("discuz", "/forum.php", pages, move |asked| board.discuz(asked))
}

fn script(name: &str, module: &str) -> Target {
    Target::new(format!("/{name}.php")).with("mod", module)
}

fn space(user: usize) -> Target {
    script("home", "space").with("uid", user)
}

/// Threads are numbered from 1000 on.
fn thread(topic: usize) -> Target {
    script("forum", "viewthread").with("tid", 1_000 + topic)
}

fn short_thread(topic: usize, part: usize, list: usize) -> Target {
    Target::new(format!("/thread-{}-{}-{list}.html", 1_000 + topic, part + 1))
}

const LOGIN: &str =
    "<p>抱歉,您尚未登录,没有权限进行此操作。请输入用户名和密码登录,或者注册一个新的帐号。</p>";

impl Board {
    fn discuz(&self, asked: &Target) -> Answer {
        let module = asked.get("mod").unwrap_or_default();
        let short: Vec<usize> = asked
            .path
            .trim_end_matches(".html")
            .split('-')
            .filter_map(|it| it.parse().ok())
            .collect();
        let tid = self.topic(asked.number("tid").and_then(|tid| tid.checked_sub(1_000)));
        let part = asked.number("page").unwrap_or(1).saturating_sub(1);
        let (title, body) = match (asked.path.as_str(), module, &short[..]) {
            (path, _, [tid, part, _]) if path.starts_with("/thread-") => {
                return self.thread(asked, tid.checked_sub(1_000), part.saturating_sub(1));
            }
            (path, _, [forum, list]) if path.starts_with("/forum-") => {
                return self.forum_list(
                    &script("forum", "forumdisplay").with("fid", forum).with("page", list),
                );
            }
            ("/forum.php", "viewthread", _) => return self.thread(asked, tid, part),
            ("/forum.php", "forumdisplay", _) => return self.forum_list(asked),
            ("/forum.php", "redirect", _) => return self.redirect(asked, tid),
            ("/archiver/", ..) => return self.archive(asked),
            ("/forum.php", "guide", _) => self.guide(asked),
            ("/forum.php", "" | "misc", _) if asked.get("action").is_none() => {
                ("论坛".to_owned(), forums())
            }
            ("/misc.php", "ranklist", _) => self.ranks(asked),
            ("/misc.php", "tag", _) => {
                let all =
                    drawn(&format!("tag {}", asked.get("id").unwrap_or_default()), 10, self.topics);
                let all = all.iter().map(|it| item(self.title(*it), &short_thread(*it, 0, 1)));
                ("标签".to_owned(), all.collect())
            }
            ("/misc.php", "faq", _) => ("帮助".to_owned(), self.prose.paragraphs("faq", 5)),
            ("/home.php", "space", _) => self.space(asked),
            ("/member.php", "register", _) => (
                "注册".to_owned(),
                "<p>请填写用户名、密码和电子邮箱,以便注册新的帐号。</p>".to_owned(),
            ),
            ("/home.php" | "/member.php" | "/forum.php" | "/search.php", ..) => {
                ("登录".to_owned(), LOGIN.to_owned())
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.discuz_page(asked, &title, &body))
    }

    fn discuz_page(&self, asked: &Target, title: &str, body: &str) -> String {
        let referer = format!("http://discuz.test{}", asked.show());
        let referer =
            [("%", "%25"), (":", "%3A"), ("/", "%2F"), ("?", "%3F"), ("&", "%26"), ("=", "%3D")]
                .iter()
                .fold(referer, |it, (from, to)| it.replace(from, to));
        let login = script("member", "logging").with("action", "login");
        let menu = [
            item("登录", &login.clone().with("referer", referer)),
            item("找回密码", &login.with("viewlostpw", 1)),
            item("注册", &script("member", "register")),
            item("论坛", &Target::new("/forum.php")),
            item("导读", &script("forum", "guide")),
            item("排行榜", &script("misc", "ranklist")),
            item("空间", &script("home", "space")),
            item("搜索", &script("search", "forum")),
            item("帮助", &script("misc", "faq")),
            item("手机版", &Target::new("/forum.php").with("mobile", "yes")),
            item("小黑屋", &script("forum", "misc").with("action", "showdarkroom")),
            item("Archiver", &Target::new("/archiver/")),
        ];
        self.page(title, body, &menu.concat())
    }

    /// A list as chosen. The threads in it carry where it was.
    fn forum_list(&self, asked: &Target) -> Answer {
        let forum = asked.number("fid").unwrap_or_default();
        let is_in = |it: &usize| {
            let range = asked.number("dateline").unwrap_or(usize::MAX);
            let is_digest = asked.get("digest").is_none() || it.is_multiple_of(5);
            let age = Dice::of(&format!("age of {it}")).roll(20_000_000);
            Self::forum(*it) == forum && is_digest && age < range
        };
        let all: Vec<usize> = (0..self.topics).filter(is_in).collect();
        let all = sorted(all, asked.get("orderby").unwrap_or("lastpost"), "d");
        let at = asked.number("page").unwrap_or(1).max(1);
        if !(2..2 + FORUMS).contains(&forum) || (at - 1) * self.listed > all.len() {
            return Answer::missing();
        }
        let chosen = ["filter", "orderby", "dateline", "digest"];
        let chosen: Vec<_> = chosen.iter().filter_map(|it| Some((it, asked.get(it)?))).collect();
        let extra = chosen.iter().map(|(name, value)| format!("%26{name}%3D{value}"));
        let extra = format!("page%3D{at}{}", extra.collect::<String>());
        let own = script("forum", "forumdisplay").with("fid", forum);
        let mut body = String::new();
        for topic in all.iter().skip((at - 1) * self.listed).take(self.listed) {
            let to = thread(*topic).with("extra", &extra);
            let last =
                script("forum", "redirect").with("tid", 1_000 + topic).with("goto", "lastpost");
            body += &item(self.title(*topic), &to);
            body += &(1..self.parts(*topic))
                .map(|it| item(it + 1, &to.clone().with("page", it + 1)))
                .collect::<String>();
            body += &(item("作者", &space(Self::author(Self::id(*topic, 0))))
                + &item("最后发表", &last));
        }
        body += &choices(&own, asked.get("orderby").unwrap_or_default());
        for list in 1..=all.len().div_ceil(self.listed) {
            let to = chosen.iter().fold(own.clone(), |to, (name, value)| to.with(name, value));
            let short = Target::new(format!("/forum-{forum}-{list}.html"));
            body += &item(
                list,
                &if chosen.is_empty() && list > 1 { short } else { to.with("page", list) },
            );
        }
        body +=
            &item("发帖", &script("forum", "post").with("action", "newthread").with("fid", forum));
        Answer::junk(self.discuz_page(asked, &format!("版块 {forum}"), &body))
    }

    fn thread(&self, asked: &Target, topic: Option<usize>, part: usize) -> Answer {
        let Some(topic) = self.topic(topic).filter(|it| part < self.parts(*it)) else {
            return Answer::missing();
        };
        let (author, turned) = (asked.number("authorid"), asked.get("ordertype") == Some("1"));
        let is_print = asked.get("action") == Some("printable");
        let shown: Vec<usize> = match author {
            _ if is_print => self.on_page(topic, 0).collect(),
            Some(author) => {
                let all = (0..Self::posts(topic)).map(|it| Self::id(topic, it));
                all.filter(|it| Self::author(*it) == author).take(self.shown).collect()
            }
            None if turned => {
                let all = (0..Self::posts(topic)).rev().skip(part * self.shown).take(self.shown);
                all.map(|it| Self::id(topic, it)).collect()
            }
            None => self.on_page(topic, part).collect(),
        };
        let name = format!("topic {topic} {part}");
        let title = self.title(topic);
        if is_print {
            let posts: String = shown.iter().map(|it| self.text(*it)).collect();
            return self.numbers.answer(&name, page(&self.prose, &title, &posts, &[]));
        }
        let extra = asked.get("extra").unwrap_or_default();
        let posts: String =
            shown.iter().map(|it| self.discuz_post(topic, part, *it, extra)).collect();
        let html = self.discuz_page(asked, &title, &(posts + &self.thread_menu(topic, extra)));
        let is_part = author.is_none() && (!turned || self.parts(topic) == 1);
        if is_part { self.numbers.answer(&name, html) } else { Answer::junk(html) }
    }

    fn thread_menu(&self, topic: usize, extra: &str) -> String {
        let first = Self::id(topic, 0);
        let goto =
            |to: &str| script("forum", "redirect").with("goto", to).with("tid", 1_000 + topic);
        let own = thread(topic).with("extra", extra);
        let print =
            script("forum", "viewthread").with("action", "printable").with("tid", 1_000 + topic);
        let reply = script("forum", "post").with("action", "reply").with("fid", Self::forum(topic));
        let favourite = script("home", "spacecp").with("ac", "favorite").with("type", "thread");
        let recommend = script("forum", "misc").with("action", "recommend").with("do", "add");
        let mut menu = item("打印", &print)
            + &item("上一主题", &goto("nextoldset"))
            + &item("下一主题", &goto("nextnewset"))
            + &nofollow(
                "只看该作者",
                &thread(topic).with("page", 1).with("authorid", Self::author(first)),
            )
            + &item("倒序浏览", &own.clone().with("ordertype", 1))
            + &item("回复", &reply.with("tid", 1_000 + topic).with("extra", extra))
            + &item("收藏", &favourite.with("id", 1_000 + topic).with("formhash", "1f2e3d4c"))
            + &item("支持", &recommend.with("tid", 1_000 + topic).with("hash", "1f2e3d4c"))
            + &item("版块", &Target::new(format!("/forum-{}-1.html", Self::forum(topic))));
        for part in 0..self.parts(topic) {
            menu += &item(part + 1, &own.clone().with("page", part + 1));
        }
        for tag in drawn(&format!("tags of {topic}"), 2, 60) {
            menu += &item("标签", &script("misc", "tag").with("id", tag));
        }
        menu
    }

    fn discuz_post(&self, topic: usize, part: usize, post: usize, extra: &str) -> String {
        let (tid, author) = (1_000 + topic, Self::author(post));
        let find = script("forum", "redirect").with("goto", "findpost").with("ptid", tid);
        let only = thread(topic).with("page", part + 1).with("authorid", author);
        let reply = script("forum", "post").with("action", "reply").with("fid", Self::forum(topic));
        let reply = reply.with("tid", tid).with("repquote", post).with("extra", extra);
        let message = script("home", "spacecp").with("ac", "pm").with("op", "showmsg");
        let message = message.with("touid", author).with("pmid", 0).with("daterange", 2);
        let follow = script("home", "spacecp").with("ac", "follow").with("op", "add");
        item(format!("用户{author}"), &space(author))
            + &item("资料", &space(author).with("do", "profile"))
            + &item("楼", &find.with("pid", post))
            + &nofollow("只看该作者", &only)
            + &self.text(post)
            + &item("回复", &reply.with("page", part + 1))
            + &item("发消息", &message.with("pid", post).with("tid", tid))
            + &item("收听", &follow.with("hash", "1f2e3d4c").with("fuid", author))
    }

    /// To a post, to the last one of a thread, or to the thread before or after.
    fn redirect(&self, asked: &Target, topic: Option<usize>) -> Answer {
        let to = match (asked.get("goto").unwrap_or_default(), topic) {
            ("findpost", _) => {
                let post = asked.number("pid").unwrap_or_default();
                let page = post % 64 / self.shown + 1;
                format!(
                    "{}#pid{post}",
                    thread(post / 64).with("page", page).with("extra", "").show()
                )
            }
            ("lastpost", Some(topic)) => {
                format!("{}#lastpost", thread(topic).with("page", self.parts(topic)).show())
            }
            ("nextoldset", Some(topic)) => thread(topic.saturating_sub(FORUMS)).show(),
            ("nextnewset", Some(topic)) => thread((topic + FORUMS).min(self.topics - 1)).show(),
            _ => return Answer::missing(),
        };
        Answer::redirect(to)
    }

    /// Plain copies of all lists and threads.
    fn archive(&self, asked: &Target) -> Answer {
        let query = asked.parameters.first().map_or("", |(name, _)| name.trim_end_matches(".html"));
        let plain = |kind: &str, id: usize| Target::new(format!("/archiver/?{kind}-{id}.html"));
        let at = asked.number("page").unwrap_or(1).max(1);
        let id = |kind: &str| query.strip_prefix(kind).and_then(|it| it.parse::<usize>().ok());
        if let Some(topic) = self.topic(id("tid-").and_then(|it| it.checked_sub(1_000))) {
            let posts = self.on_page(topic, at - 1).map(|it| self.text(it));
            let body = posts.collect::<String>() + &item("查看完整版本", &thread(topic));
            let next =
                Target::new(format!("/archiver/?tid-{}.html&page={}", 1_000 + topic, at + 1));
            let next =
                if at < self.parts(topic) { item("下一页", &next) } else { String::new() };
            let html = page(&self.prose, &self.title(topic), &(body + &next), &[]);
            return self.numbers.answer(&format!("topic {topic} {}", at - 1), html);
        }
        let forum = id("fid-");
        let all = (0..self.topics).filter(|it| Some(Self::forum(*it)) == forum);
        let threads = all.skip((at - 1) * 50).take(50);
        let body = threads.map(|it| item(self.title(it), &plain("tid", 1_000 + it)));
        let lists = (1..=2).map(|it| {
            item(it, &Target::new(format!("/archiver/?fid-{}.html&page={it}", forum.unwrap_or(2))))
        });
        let forums = (2..2 + FORUMS).map(|it| item(it, &plain("fid", it)));
        Answer::junk(page(
            &self.prose,
            "Archiver",
            &body.chain(lists).chain(forums).collect::<String>(),
            &[],
        ))
    }

    fn guide(&self, asked: &Target) -> (String, String) {
        let view = asked.get("view").unwrap_or("index");
        let list = asked.number("page").unwrap_or(1).max(1);
        let all = drawn(&format!("guide {view}"), 100, self.topics);
        let shown = all.iter().skip((list - 1) * 50).take(50);
        let threads = shown.map(|it| item(self.title(*it), &short_thread(*it, 0, list)));
        let own = script("forum", "guide");
        let views = ["hot", "digest", "new", "newthread", "sofa"];
        let views = views.map(|it| item(it, &own.clone().with("view", it)));
        let lists = (1..=2).map(|it| item(it, &own.clone().with("view", view).with("page", it)));
        ("导读".to_owned(), threads.chain(views).chain(lists).collect())
    }

    fn ranks(&self, asked: &Target) -> (String, String) {
        let own = script("misc", "ranklist");
        let kind = asked.get("type").unwrap_or("member");
        let (view, by) =
            (asked.get("view").unwrap_or("replies"), asked.get("orderby").unwrap_or("all"));
        let kinds = ["member", "thread", "blog", "poll", "activity", "picture", "forum", "group"];
        let kinds = kinds.map(|it| item(it, &own.clone().with("type", it)));
        let own = own.with("type", kind);
        let views = ["replies", "views", "heats", "sharetimes", "favtimes"]
            .map(|it| item(it, &own.clone().with("view", it).with("orderby", by)));
        let ranges = ["today", "thisweek", "thismonth", "all"]
            .map(|it| item(it, &own.clone().with("view", view).with("orderby", it)));
        let all = drawn(&format!("{kind} {view} {by}"), 20, self.topics);
        let shown = all.iter().map(|it| match kind {
            "member" => item(format!("用户{}", it % USERS), &space(1 + it % USERS)),
            "thread" => item(self.title(*it), &short_thread(*it, 0, 1)),
            _ => "<p>没有相关数据</p>".to_owned(),
        });
        let shown: String = shown.collect();
        ("排行榜".to_owned(), shown + &kinds.concat() + &views.concat() + &ranges.concat())
    }

    fn space(&self, asked: &Target) -> (String, String) {
        let Some(user) = asked.number("uid") else {
            return ("登录".to_owned(), LOGIN.to_owned());
        };
        let view = asked.get("do").unwrap_or("profile");
        let views = ["thread", "blog", "album", "doing", "friend", "wall", "profile"].map(|it| {
            let to = space(user).with("do", it);
            item(
                it,
                &if it == "profile" { to } else { to.with("view", "me").with("from", "space") },
            )
        });
        let body = match view {
            "thread" => {
                let all = (0..self.topics).filter(|it| Self::author(Self::id(*it, 0)) == user);
                all.map(|it| item(self.title(it), &thread(it))).collect()
            }
            "profile" => {
                let mut dice = Dice::of(&format!("space {user}"));
                let rows = ["帖子数", "积分", "威望", "金钱", "在线时间"];
                rows.map(|it| format!("<p>{it} {}</p>", dice.roll(9_000))).concat()
            }
            _ => "<p>现在还没有相关的内容</p>".to_owned(),
        };
        (format!("用户{user}的空间"), body + &views.concat())
    }
}

fn forums() -> String {
    let forums = (2..2 + FORUMS).map(|it| {
        let dynamic = script("forum", "forumdisplay").with("fid", it);
        item(it, &dynamic) + &item(it, &Target::new(format!("/forum-{it}-1.html")))
    });
    forums.collect()
}

/// The orders of a list, and the ages of its threads, which keep the order.
fn choices(own: &Target, by: &str) -> String {
    let mut body = String::new();
    for order in [
        &[("filter", "lastpost"), ("orderby", "lastpost")][..],
        &[("filter", "heat"), ("orderby", "heats")],
        &[("filter", "hot")],
        &[("filter", "digest"), ("digest", "1")],
        &[("filter", "author"), ("orderby", "dateline")],
        &[("filter", "reply"), ("orderby", "replies")],
        &[("filter", "reply"), ("orderby", "views")],
    ] {
        body += &item(
            "排序",
            &order.iter().fold(own.clone(), |to, (name, value)| to.with(name, value)),
        );
    }
    for range in [86_400, 172_800, 604_800, 2_592_000, 7_948_800] {
        body += &item(
            range,
            &own.clone().with("orderby", by).with("filter", "dateline").with("dateline", range),
        );
    }
    body
}
