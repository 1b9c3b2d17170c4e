//! A forum as SMF 2 has it: one program whose parameters are separated by semicolons, and whose numbers have two parts.

use bytes::Bytes;

use crate::{
    false_traps::world,
    forums::{Board, FORUMS, USERS},
    more_software::{frame, pager, shown},
    prose::{Dice, Language},
    serve::Reply,
    software::{NOINDEX, item, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const TOPICS: usize = 550;
const SHOWN: usize = 15;
const LISTED: usize = 20;
const SORTS: [&str; 7] =
    ["subject", "starter", "last_poster", "replies", "views", "first_post", "last_post"];
const MAIN: &str = "/index.php";

/// 550 topics in six boards, of up to three pages. A topic leads to its print view, to each post, and to the topics
/// before and after. Boards have seven orders in both directions. Members have a profile with their posts, topics and figures; there is a
/// calendar, the latest posts, and figures of each month.
pub(crate) fn smf() -> World {
    let forum = Forum { board: Board::new(Language::English, TOPICS, SHOWN, LISTED) };
    let pages = forum.board.pages();
    world("smf", MAIN, pages, move |asked| {
        let asked = Target::parse(&asked.show().replace(';', "&"));
        forum.answer(&asked).unwrap_or_else(Answer::missing)
    })
}

/// The same with the id of a session in all links: that of the request, or a new one.
pub(crate) fn smf_with_sessions() -> World {
    let World { answer, name, .. } = smf();
    let answer = Box::new(move |host: &str, target: &str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let given =
            query.strip_prefix("PHPSESSID=").map(|it| it.split_once('&').unwrap_or((it, "")));
        let is_known = Dice::of(target).roll(300) > 0;
        let (sid, rest) = match given {
            Some((sid, rest)) if is_known => (sid.to_owned(), rest),
            Some((_, rest)) => (Dice::of(target).hex(26), rest),
            None => (Dice::of(target).hex(26), query),
        };
        let mark = if rest.is_empty() { "" } else { "?" };
        let mut given = answer(host, &format!("{path}{mark}{rest}"));
        if let Reply::Page(html) = &mut given.reply {
            let with_session = format!("href=\"{MAIN}?PHPSESSID={sid}&amp;");
            let text = String::from_utf8_lossy(html);
            let text = text.replace(&format!("href=\"{MAIN}?"), &with_session);
            // The canonical link has none.
            let text = text.replace(
                &format!("\"canonical\" {with_session}"),
                &format!("\"canonical\" href=\"{MAIN}?"),
            );
            *html =
                Bytes::from(text.replace(
                    &format!("href=\"{MAIN}\""),
                    &format!("href=\"{MAIN}?PHPSESSID={sid}\""),
                ));
        }
        given
    });
    World { answer, name: format!("{name} with sessions"), ..smf() }
}

#[derive(Debug)]
struct Forum {
    board: Board,
}

/// A link whose parameters are separated by semicolons; one without a value is a name alone.
fn link(label: impl std::fmt::Display, to: &[(&str, String)]) -> String {
    item(label, &target(to))
}

fn target(to: &[(&str, String)]) -> Target {
    let part = |(name, value): &(&str, String)| {
        if value.is_empty() { (*name).to_owned() } else { format!("{name}={value}") }
    };
    let parts: Vec<String> = to.iter().map(part).collect();
    if parts.is_empty() {
        Target::new(MAIN)
    } else {
        Target::new(format!("{MAIN}?{}", parts.join(";")))
    }
}

fn action(name: &str) -> Vec<(&'static str, String)> {
    vec![("action", name.to_owned())]
}

/// The number of a topic or board with the place where it begins.
fn from(
    kind: &'static str,
    number: usize,
    start: impl std::fmt::Display,
) -> (&'static str, String) {
    (kind, format!("{number}.{start}"))
}

fn profile(user: usize) -> String {
    link(format!("user{user}"), &[action("profile"), vec![("u", user.to_string())]].concat())
}

fn canonical(to: &[(&str, String)]) -> String {
    format!("<link rel=\"canonical\" href=\"{}\">", target(to).show())
}

/// A link to the figures of each month.
fn stats() -> String {
    let months = (1..=36).map(|it| format!("{}{:02}", 2021 + (it - 1) / 12, (it - 1) % 12 + 1));
    let month = |it: String| {
        link(&it, &[action("stats"), vec![("expand", format!("{it}#m{it}"))]].concat())
    };
    "<p>General statistics. Top posters. Top boards.</p>".to_owned()
        + &months.map(month).collect::<String>()
}

/// A month without events, and the ones around it.
fn calendar(asked: &Target) -> String {
    let at = asked.number("year").unwrap_or(2024) * 12 + asked.number("month").unwrap_or(1) - 1;
    let month = |at: usize| {
        let to = vec![("year", (at / 12).to_string()), ("month", (at % 12 + 1).to_string())];
        link(at, &[action("calendar"), to].concat())
    };
    let is_known = (2000 * 12..2040 * 12).contains(&at);
    let near = if is_known { month(at - 1) + &month(at + 1) } else { String::new() };
    format!("<p>Calendar of month {} {}. No events.</p>{near}", at % 12 + 1, at / 12)
}

impl Forum {
    fn answer(&self, asked: &Target) -> Option<Answer> {
        let split = |name: &str| {
            let (number, start) =
                asked.get(name)?.split_once('.').unwrap_or((asked.get(name)?, "0"));
            Some((number.parse::<usize>().ok()?, start.to_owned()))
        };
        match asked.get("action") {
            Some(name) => return Some(self.action(asked, name)),
            None if asked.get("board").is_some() => {
                let (board, start) = split("board")?;
                return self.list(asked, board, start.parse().ok()?);
            }
            None if asked.get("topic").is_some() => {
                let (topic, start) = split("topic")?;
                return self.topic(asked, topic.checked_sub(1).filter(|it| *it < TOPICS)?, &start);
            }
            None => {}
        }
        let one = |board: usize| {
            let last = (0..TOPICS).rfind(|it| Board::forum(*it) == board).unwrap_or_default();
            link(format!("Board {board}"), &[from("board", board, 0)]) + &self.latest(last)
        };
        let mut body: String = (2..2 + FORUMS).map(one).collect();
        for it in (TOPICS - 10..TOPICS).rev() {
            body += &self.latest(it).replacen("<a ", "<a rel=\"nofollow\" ", 1);
        }
        Some(Answer::junk(with_head(&self.page("Index", &body), &canonical(&[]))))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let names = [
            "help", "search", "calendar", "mlist", "login", "register", "recent", "stats", "who",
            "unread",
        ];
        let menu: String = names.iter().map(|it| link(it, &action(it))).collect();
        let feed = [action(".xml"), vec![("type", "rss".to_owned())]].concat();
        let menu = link("Home", &[])
            + &menu
            + &link("RSS", &feed)
            + &link("WAP2", &[("wap2", String::new())]);
        let boards: String = (2..2 + FORUMS).map(|it| link(it, &[from("board", it, 0)])).collect();
        frame(&self.board.prose, title, &menu, body, &boards)
    }

    /// The last post of a topic, by its number.
    fn latest(&self, topic: usize) -> String {
        let last = Board::id(topic, Board::posts(topic) - 1);
        let label = self.board.title(topic);
        link(label, &[from("topic", topic + 1, format!("msg{last}#new"))])
            + &profile(Board::author(last))
    }

    fn rows(&self, topics: &[usize]) -> String {
        let one = |topic: &usize| {
            let mut row = link(self.board.title(*topic), &[from("topic", topic + 1, 0)]);
            row += &profile(Board::author(Board::id(*topic, 0)));
            for part in 1..self.board.parts(*topic) {
                row += &link(part + 1, &[from("topic", topic + 1, part * SHOWN)]);
            }
            let last = Board::id(*topic, Board::posts(*topic) - 1);
            let start = (self.board.parts(*topic) - 1) * SHOWN;
            row += &link("last post", &[from("topic", topic + 1, format!("{start}#msg{last}"))]);
            row + &profile(Board::author(last))
        };
        topics.iter().map(one).collect()
    }

    fn list(&self, asked: &Target, board: usize, start: usize) -> Option<Answer> {
        let all: Vec<usize> = (0..TOPICS).rev().filter(|it| Board::forum(*it) == board).collect();
        if start >= all.len() {
            return None;
        }
        let (sort, desc) = (asked.get("sort"), asked.get("desc").is_some());
        let all = sort.map_or(all.clone(), |it| sorted(all, it, if desc { "desc" } else { "asc" }));
        let mut body = String::new();
        for it in SORTS {
            let mut to = vec![from("board", board, start), ("sort", it.to_owned())];
            to.extend((sort == Some(it) && !desc).then(|| ("desc", String::new())));
            body += &link(it, &to);
        }
        let at = start / LISTED;
        body += &self.rows(&shown(&all, at, LISTED));
        let kept = |it: usize| {
            let mut to = vec![from("board", board, it * LISTED)];
            to.extend(sort.map(|it| ("sort", it.to_owned())));
            to.extend(desc.then(|| ("desc", String::new())));
            target(&to)
        };
        body += &pager(at, 0..all.len().div_ceil(LISTED), kept);
        let html = self.page(&format!("Board {board}"), &body);
        let html = with_head(&html, &canonical(&[from("board", board, start)]));
        Some(Answer::junk(if sort.is_some() { with_head(&html, NOINDEX) } else { html }))
    }

    /// A page of a topic; all its posts; the page with one post; the last page of the topic before or after.
    fn topic(&self, asked: &Target, topic: usize, start: &str) -> Option<Answer> {
        let mut topic = topic;
        let board = Board::forum(topic);
        let posts = |it| Board::posts(it);
        let mut part = match start.strip_prefix("msg") {
            Some(post) => post.parse::<usize>().ok()? % 64 / SHOWN,
            None if start == "new" => self.board.parts(topic) - 1,
            None => start.parse::<usize>().ok()? / SHOWN,
        };
        if let Some(step) = asked.get("prev_next") {
            let step = if step == "next" { FORUMS } else { TOPICS - TOPICS % FORUMS - FORUMS };
            topic = (topic + step) % (TOPICS - TOPICS % FORUMS);
            part = self.board.parts(topic) - 1;
        }
        if part * SHOWN >= posts(topic) {
            return None;
        }
        let own = |start: &str| vec![from("topic", topic + 1, start)];
        let with = |name, value: &str| [own("0"), vec![(name, value.to_owned())]].concat();
        let mut body = link("Board", &[from("board", board, 0)]);
        body += &link("previous", &with("prev_next", "prev#new"));
        body += &link("next", &with("prev_next", "next#new"));
        body += &nofollow("Print", &target(&[action("printpage"), own("0")].concat()));
        for place in 0..posts(topic) {
            if place / SHOWN == part {
                body += &self.post(topic, place);
            }
        }
        body +=
            &pager(part, 0..self.board.parts(topic), |it| target(&own(&(it * SHOWN).to_string())));
        let html = self.page(&self.board.title(topic), &body);
        let html = with_head(&html, &canonical(&own(&(part * SHOWN).to_string())));
        let is_plain = asked.parameters.len() == 1 && !start.starts_with(['m', 'n']);
        let html = if is_plain { html } else { with_head(&html, NOINDEX) };
        Some(self.board.numbers.answer(&format!("topic {topic} {part}"), html))
    }

    fn post(&self, topic: usize, place: usize) -> String {
        let post = Board::id(topic, place);
        let own = |it: usize| vec![from("topic", it / 64 + 1, format!("msg{it}#msg{it}"))];
        let mut html =
            profile(Board::author(post)) + &nofollow(self.board.title(topic), &target(&own(post)));
        if place > 0 && Dice::of(&format!("quoted in {post}")).roll(3) == 0 {
            html += &link("Quote from", &own(post - 1));
            html += &self.board.prose.teaser(&format!("quote {}", post - 1));
        }
        html += &self.board.text(post);
        if Dice::of(&format!("file of {post}")).roll(8) == 0 {
            let file = [
                action("dlattach"),
                vec![from("topic", topic + 1, 0), ("attach", post.to_string())],
            ];
            html += &link("picture.png", &file.concat());
        }
        html
    }

    fn action(&self, asked: &Target, name: &str) -> Answer {
        let user = asked.number("u").unwrap_or(1);
        let start = asked.number("start").unwrap_or_default();
        let body = match name {
            ".xml" | "dlattach" => return Answer::file("application/rss+xml"),
            "printpage" => return self.printed(asked),
            "profile" => self.member(asked, user),
            "recent" => {
                let own = |it: usize| {
                    target(&[action("recent"), vec![("start", (it * 10).to_string())]].concat())
                };
                let all: Vec<usize> = (0..TOPICS).rev().take(100).collect();
                self.teasers(&shown(&all, start / 10, 10)).replace("<a ", "<a rel=\"nofollow\" ")
                    + &pager(start / 10, 0..10, own)
            }
            "mlist" => Self::members(asked),
            "stats" => stats(),
            "calendar" => calendar(asked),
            "help" => ["index", "registering", "loginout", "searching", "posting"]
                .map(|it| link(it, &[action("help"), vec![("page", it.to_owned())]].concat()))
                .concat(),
            _ => {
                "<p>Only registered members may do this. Username. Password. Login.</p>".to_owned()
            }
        };
        let html = self.page(name, &body);
        let summary = [action("profile"), vec![("u", user.to_string())]].concat();
        let profile = with_head(&html, &canonical(&summary));
        Answer::junk(if name == "profile" { profile } else { with_head(&html, NOINDEX) })
    }

    /// All posts of a topic on one page.
    fn printed(&self, asked: &Target) -> Answer {
        let topic = asked.get("topic").and_then(|it| it.split('.').next()?.parse::<usize>().ok());
        let topic = topic.unwrap_or(1).clamp(1, TOPICS) - 1;
        let all = (0..Board::posts(topic)).map(|it| self.board.text(Board::id(topic, it)));
        let html =
            frame(&self.board.prose, &self.board.title(topic), "", &all.collect::<String>(), "");
        let html = with_head(&html, NOINDEX);
        let first = self.board.numbers.answer(&format!("topic {topic} 0"), html);
        first.with_more(self.board.parts(topic) - 1)
    }

    fn members(asked: &Target) -> String {
        let start = asked.number("start").unwrap_or_default();
        let sort = asked.get("sort").unwrap_or("real_name");
        let all = sorted(
            (1..=USERS).collect(),
            sort,
            if asked.get("desc").is_some() { "d" } else { "a" },
        );
        let to = |sort: &str, start: usize| {
            let start = vec![("sort", sort.to_owned()), ("start", start.to_string())];
            [action("mlist"), start].concat()
        };
        let sorts = ["is_online", "real_name", "id_group", "registered", "posts"];
        let sorts = sorts
            .map(|it| nofollow(it, &target(&[to(it, 0), vec![("desc", String::new())]].concat())));
        let rows: String = shown(&all, start / 30, 30).iter().map(|it| profile(*it)).collect();
        sorts.concat() + &rows + &pager(start / 30, 0..5, |it| target(&to(sort, it * 30)))
    }

    /// The beginnings of the last posts of some topics.
    fn teasers(&self, topics: &[usize]) -> String {
        let one = |it: &usize| {
            let text = self.board.text(Board::id(*it, Board::posts(*it) - 1));
            self.latest(*it) + text.split_inclusive(". ").next().unwrap_or_default() + "</p>"
        };
        topics.iter().map(one).collect()
    }

    fn member(&self, asked: &Target, user: usize) -> String {
        let own = |rest: &[(&'static str, &str)]| {
            let rest: Vec<_> =
                rest.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            [action("profile"), vec![("u", user.to_string())], rest].concat()
        };
        let posts = own(&[("area", "showposts")]);
        let mut body = format!(
            "<p>user{user}. Posts: {}.</p>",
            Dice::of(&format!("posts of {user}")).roll(900)
        );
        body += &(link("Summary", &own(&[])) + &link("Show posts", &posts));
        body += &link("Statistics", &own(&[("area", "statistics")]));
        body += &link(
            "Message",
            &[action("pm"), vec![("sa", "send".to_owned()), ("u", user.to_string())]].concat(),
        );
        if asked.get("area") == Some("showposts") {
            let all: Vec<usize> =
                (0..TOPICS).filter(|it| Board::author(Board::id(*it, 0)) == user).collect();
            for it in ["messages", "topics", "attach"] {
                body += &link(it, &[posts.clone(), vec![("sa", it.to_owned())]].concat());
            }
            body += &self.teasers(&all);
        }
        body
    }
}
