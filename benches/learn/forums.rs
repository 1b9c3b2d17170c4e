//! Forums as phpBB and Discuz! X have them.

use crate::{
    false_traps::{Numbers, page, world},
    honest::anchor,
    prose::{Dice, Language, Prose},
    software::{NOINDEX, canonical, drawn, item, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const FORUMS: usize = 6;
const USERS: usize = 150;

/// A topic has a first page, and more of them; forums are numbered from 2 on.
#[derive(Debug)]
struct Board {
    prose: Prose,
    numbers: Numbers,
    topics: usize,
    /// Posts on a page.
    shown: usize,
    /// Topics in a list.
    listed: usize,
}

impl Board {
    fn new(language: Language, topics: usize, shown: usize, listed: usize) -> Self {
        let prose = Prose::new(language);
        let mut board = Self { prose, numbers: Numbers::default(), topics, shown, listed };
        let parts =
            (0..topics).flat_map(|topic| (0..board.parts(topic)).map(move |it| (topic, it)));
        board.numbers = Numbers::of(parts.map(|(topic, it)| format!("topic {topic} {it}")));
        board
    }

    fn pages(&self) -> usize {
        (0..self.topics).map(|it| self.parts(it)).sum()
    }

    /// How many posts a topic has: at most 40, and mostly fewer than one page.
    fn posts(topic: usize) -> usize {
        let mut dice = Dice::of(&format!("posts in {topic}"));
        let most = if dice.roll(4) == 0 { 40 } else { 9 };
        1 + dice.roll(most)
    }

    fn parts(&self, topic: usize) -> usize {
        Self::posts(topic).div_ceil(self.shown)
    }

    /// A post's number, from which its topic and its place follow.
    fn id(topic: usize, place: usize) -> usize {
        topic * 64 + place
    }

    fn author(post: usize) -> usize {
        1 + Dice::of(&format!("author of {post}")).roll(USERS)
    }

    fn forum(topic: usize) -> usize {
        2 + topic % FORUMS
    }

    fn title(&self, topic: usize) -> String {
        self.prose.title(&format!("topic {topic}"))
    }

    fn text(&self, post: usize) -> String {
        self.prose.paragraphs(&format!("post {post}"), 1)
    }

    /// The posts on a page of a topic.
    fn on_page(&self, topic: usize, part: usize) -> impl Iterator<Item = usize> + use<> {
        let all = part * self.shown..Self::posts(topic).min((part + 1) * self.shown);
        all.map(move |it| Self::id(topic, it))
    }

    fn topic(&self, number: Option<usize>) -> Option<usize> {
        number.filter(|it| *it < self.topics)
    }

    fn page(&self, title: &str, body: &str, menu: &str) -> String {
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }
}

/// 700 topics. Every link carries the id of a session: that of the request, or a new one if there is none, or if it has expired, as one
/// in 200 has. Topics lead to a view to print, to each of their posts, and for each post to quote it, to report it, and to its author's
/// profile and posts. Who is not logged in is asked to log in. Lists have a second name with their order.
pub(crate) fn phpbb() -> World {
    let board = Board::new(Language::English, 700, 15, 25);
    let pages = board.pages();
    world("phpbb", "/index.php", pages, move |asked| {
        let given = asked.get("sid").filter(|_| Dice::of(&asked.show()).roll(200) > 0);
        let sid = given.map_or_else(|| Dice::of(&asked.show()).hex(32), str::to_owned);
        Visit { board: &board, sid, asked: &asked.clone().without("sid") }.answer()
    })
}

/// A request with its session.
struct Visit<'a> {
    board: &'a Board,
    sid: String,
    asked: &'a Target,
}

impl Visit<'_> {
    fn to(&self, label: impl std::fmt::Display, to: Target) -> String {
        item(label, &to.with("sid", &self.sid))
    }

    fn in_topic(topic: usize) -> Target {
        Target::new("/viewtopic.php").with("f", Board::forum(topic)).with("t", topic)
    }

    fn answer(&self) -> Answer {
        let asked = self.asked;
        let mode = asked.get("mode").unwrap_or_default();
        let login = "<p>Please enter your username and your password to log in. The board requires you to be registered.</p>";
        let (title, body) = match asked.path.as_str() {
            "/index.php" | "/" => ("Board index".to_owned(), self.index()),
            "/viewforum.php" => return self.forum(),
            "/viewtopic.php" => return self.topic(),
            "/memberlist.php" if mode == "viewprofile" => {
                let user = asked.number("u").unwrap_or_default();
                let joined = Dice::of(&format!("joined {user}")).roll(9_000);
                let posts = Target::new("/search.php").with("author_id", user).with("sr", "posts");
                let body = format!("<p>Username: user{user}</p><p>Joined: day {joined}</p>");
                (
                    format!("Viewing profile - user{user}"),
                    body + &self.to("Search user's posts", posts),
                )
            }
            "/memberlist.php" if mode.is_empty() => ("Members".to_owned(), self.members()),
            "/memberlist.php" if mode == "team" => {
                ("The team".to_owned(), self.to("user2", profile(2)))
            }
            "/search.php" => ("Search found matches".to_owned(), self.search()),
            "/posting.php" if mode == "quote" => {
                ("To quote you need to log in".to_owned(), login.to_owned())
            }
            "/posting.php" | "/report.php" | "/memberlist.php" => {
                ("Login".to_owned(), login.to_owned())
            }
            "/ucp.php" if ["terms", "privacy"].contains(&mode) => {
                (mode.to_owned(), self.board.prose.paragraphs(mode, 3))
            }
            "/ucp.php" if mode == "delete_cookies" => (
                mode.to_owned(),
                "<p>Are you sure you want to delete all cookies set by this board?</p>".to_owned(),
            ),
            "/ucp.php" => ("Login".to_owned(), login.to_owned()),
            "/faq.php" => ("Questions".to_owned(), self.board.prose.paragraphs("faq", 6)),
            _ => return Answer::missing(),
        };
        Answer::junk(self.page(&title, &body))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let script = |path: &str, mode: &str| Target::new(path).with("mode", mode);
        let search = |id: &str| Target::new("/search.php").with("search_id", id);
        let menu = [
            self.to("Board index", Target::new("/index.php")),
            self.to("Unanswered topics", search("unanswered")),
            self.to("Active topics", search("active_topics")),
            self.to("FAQ", Target::new("/faq.php")),
            self.to("Members", Target::new("/memberlist.php")),
            self.to("The team", script("/memberlist.php", "team")),
            self.to("Register", script("/ucp.php", "register")),
            self.to("Login", script("/ucp.php", "login")),
            self.to("Delete cookies", script("/ucp.php", "delete_cookies")),
            self.to("Privacy", script("/ucp.php", "privacy")),
            self.to("Terms", script("/ucp.php", "terms")),
        ];
        self.board.page(title, body, &menu.concat())
    }

    fn index(&self) -> String {
        let forums = (2..2 + FORUMS).map(|forum| {
            let last = Board::id(forum - 2, Board::posts(forum - 2) - 1);
            let to = Target::new("/viewtopic.php").with("f", forum).with("p", last);
            self.to(forum, Target::new("/viewforum.php").with("f", forum))
                + &self.to("last post", to)
                + &self.to("author", profile(Board::author(last)))
        });
        forums.collect()
    }

    /// Entries for topics, with their pages and their last posts.
    fn topics(&self, shown: &[usize]) -> String {
        let board = self.board;
        let one = |topic: &usize| {
            let to = Self::in_topic(*topic);
            let last = Board::id(*topic, Board::posts(*topic) - 1);
            let by_last =
                Target::new("/viewtopic.php").with("f", Board::forum(*topic)).with("p", last);
            let parts = (1..board.parts(*topic))
                .map(|it| self.to(it + 1, to.clone().with("start", it * board.shown)));
            self.to(board.title(*topic), to.clone())
                + &parts.collect::<String>()
                + &self.to("author", profile(Board::author(Board::id(*topic, 0))))
                + &self.to("last post", by_last)
        };
        shown.iter().map(one).collect()
    }

    /// A list of topics from `start` on, with the links to its other parts.
    fn list(&self, all: &[usize], order: &Target) -> String {
        let start = self.asked.number("start").unwrap_or_default();
        let shown: Vec<usize> = all.iter().copied().skip(start).take(self.board.listed).collect();
        let starts = (0..all.len().div_ceil(self.board.listed)).map(|it| {
            let start = it * self.board.listed;
            self.to(
                it + 1,
                if it == 0 { order.clone() } else { order.clone().with("start", start) },
            )
        });
        self.topics(&shown) + &starts.collect::<String>()
    }

    fn forum(&self) -> Answer {
        let forum = self.asked.number("f").unwrap_or_default();
        let all = (0..self.board.topics).filter(|it| Board::forum(*it) == forum).collect();
        let (key, direction) = (self.asked.get("sk"), self.asked.get("sd").unwrap_or("d"));
        let all = sorted(all, key.unwrap_or("t"), direction);
        if all.is_empty() {
            return Answer::missing();
        }
        let own = Target::new("/viewforum.php").with("f", forum);
        let order = own.clone().with("st", 0).with("sk", key.unwrap_or("t")).with("sd", direction);
        let post = Target::new("/posting.php").with("mode", "post").with("f", forum);
        let mark = own.clone().with("mark", "topics");
        let mut body = self.list(&all, &order)
            + &self.to("New topic", post)
            + &self.to("Mark topics read", mark);
        for key in ["a", "t", "r", "s", "v"] {
            body += &self.to(key, order.clone().set("sk", key));
        }
        body += &self.to("Ascending", order.set("sd", "a"));
        let own = match self.asked.number("start") {
            Some(start) if start > 0 => own.with("start", start),
            _ => own,
        };
        Answer::junk(with_head(&self.page(&format!("Forum {forum}"), &body), &canonical(&own)))
    }

    fn topic(&self) -> Answer {
        let (asked, board) = (self.asked, self.board);
        let by_post = asked.number("p").map(|it| (it / 64, it % 64 / board.shown));
        let by_start = asked.number("start").unwrap_or_default() / board.shown;
        let by_topic = asked.number("t").map(|it| (it, by_start));
        let known = by_topic.or(by_post).filter(|(topic, _)| *topic < board.topics);
        let Some((topic, part)) = known.filter(|(topic, part)| *part < board.parts(*topic)) else {
            return Answer::missing();
        };
        let name = format!("topic {topic} {part}");
        let to = Self::in_topic(topic);
        let at = |part: usize, to: Target| {
            if part == 0 { to } else { to.with("start", part * board.shown) }
        };
        if asked.get("view") == Some("print") {
            let posts: String = board.on_page(topic, part).map(|it| board.text(it)).collect();
            let html = page(&board.prose, &board.title(topic), &posts, &[]);
            return board.numbers.answer(&name, with_head(&html, NOINDEX));
        }
        let mut body: String = board.on_page(topic, part).map(|it| self.post(topic, it)).collect();
        for other in 0..board.parts(topic) {
            body += &self.to(other + 1, at(other, to.clone()));
        }
        let reply =
            Target::new("/posting.php").with("mode", "reply").with("f", Board::forum(topic));
        let email = Target::new("/memberlist.php").with("mode", "email").with("t", topic);
        body += &self.to("Post reply", reply.with("t", topic));
        body += &self.to("Print view", at(part, to.clone()).with("view", "print"));
        body += &self.to("Email topic", email);
        body += &self.to("Forum", Target::new("/viewforum.php").with("f", Board::forum(topic)));
        let html = self.page(&board.title(topic), &body);
        board.numbers.answer(&name, with_head(&html, &canonical(&at(part, to))))
    }

    fn post(&self, topic: usize, post: usize) -> String {
        let author = Board::author(post);
        let forum = Board::forum(topic);
        let one = Target::new("/viewtopic.php").with("p", post).with("sid", &self.sid).show();
        let quote = Target::new("/posting.php").with("mode", "quote").with("f", forum);
        let report = Target::new("/report.php").with("f", forum).with("p", post);
        let posts = Target::new("/search.php").with("author_id", author).with("sr", "posts");
        anchor(&format!("{one}#p{post}"), "Post")
            + &self.board.text(post)
            + &self.to(format!("user{author}"), profile(author))
            + &self.to("Posts", posts)
            + &self.to("Quote", quote.with("p", post))
            + &self.to("Report", report)
    }

    fn members(&self) -> String {
        let asked = self.asked;
        let (key, direction) = (asked.get("sk").unwrap_or("c"), asked.get("sd").unwrap_or("a"));
        let letter = asked.get("first_char").unwrap_or_default();
        let all = sorted((1..=USERS).collect(), key, direction).into_iter();
        let all: Vec<usize> = all
            .filter(|it| {
                letter.is_empty()
                    || Dice::of(&format!("letter {it}")).roll(26)
                        == usize::from(letter.as_bytes()[0] - b'a')
            })
            .collect();
        let start = asked.number("start").unwrap_or_default();
        let own = asked.clone().without("start");
        let mut body: String = (all.iter().skip(start).take(25))
            .map(|it| self.to(format!("user{it}"), profile(*it)))
            .collect();
        for key in ["a", "c", "d", "e"] {
            let direction = if direction == "a" { "d" } else { "a" };
            body += &self.to(key, own.clone().set("sk", key).set("sd", direction));
        }
        for letter in "abcdefghijklmnopqrstuvwxyz".chars() {
            body += &self.to(letter, own.clone().set("first_char", letter));
        }
        for list in 0..all.len().div_ceil(25) {
            body += &self.to(list + 1, own.clone().with("start", list * 25));
        }
        body
    }

    fn search(&self) -> String {
        let own = self.asked.clone().without("start");
        let Some(author) = self.asked.number("author_id") else {
            let all =
                drawn(self.asked.get("search_id").unwrap_or_default(), 120, self.board.topics);
            return self.list(&all, &own);
        };
        let posts = (0..self.board.topics)
            .flat_map(|topic| (0..Board::posts(topic)).map(move |it| Board::id(topic, it)));
        let posts: Vec<usize> = posts.filter(|it| Board::author(*it) == author).collect();
        let start = self.asked.number("start").unwrap_or_default();
        let shown = posts.iter().skip(start).take(10).map(|post| {
            let text = self.board.text(*post);
            let begin = text.split_inclusive(". ").next().unwrap_or_default();
            let to = Target::new("/viewtopic.php").with("f", Board::forum(post / 64));
            let to = to.with("t", post / 64).with("p", post);
            self.to(self.board.title(post / 64), to) + begin
        });
        let parts = (1..posts.len().div_ceil(10))
            .map(|it| self.to(it + 1, own.clone().with("start", it * 10)));
        shown.chain(parts).collect()
    }
}

fn profile(user: usize) -> Target {
    Target::new("/memberlist.php").with("mode", "viewprofile").with("u", user)
}

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
            let is_digest = asked.get("digest").is_none() || it % 5 == 0;
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
            let by = asked.get("orderby").unwrap_or_default();
            body += &item(
                range,
                &own.clone().with("orderby", by).with("filter", "dateline").with("dateline", range),
            );
        }
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
