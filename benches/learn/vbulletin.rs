//! A forum as vBulletin 3.8 and 4 have it: a program for each kind of page.

use crate::{
    false_traps::world,
    forums::{Board, FORUMS, USERS},
    more_software::{frame, pager, shown},
    prose::{Dice, Language},
    software::{NOINDEX, canonical, drawn, item, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const TOPICS: usize = 500;
const SHOWN: usize = 10;
const LISTED: usize = 20;
const SORTS: [&str; 5] = ["title", "postusername", "lastpost", "replycount", "views"];

/// 500 threads in six forums. A post has a page of its own and a link to its place; a thread has a view to print, a form to send it, two other
/// ways to show it, and leads to the ones before and after and to its first new post. Forums have five orders in two directions and
/// seven ages. The archive has each thread once more without any decoration.
pub(crate) fn vbulletin() -> World {
    forum("vbulletin", true)
}

pub(crate) fn vbulletin_without_archive() -> World {
    forum("vbulletin without archive", false)
}

fn forum(name: &str, has_archive: bool) -> World {
    let board = Board::new(Language::English, TOPICS, SHOWN, LISTED);
    let (pages, forum) = (board.pages(), Forum { board, has_archive });
    let answer = move |asked: &Target| forum.answer(asked).unwrap_or_else(Answer::missing);
    world(name, "/index.php", pages, answer)
}

#[derive(Debug)]
struct Forum {
    board: Board,
    has_archive: bool,
}

fn to(program: &str) -> Target {
    Target::new(format!("/{program}.php"))
}

fn thread(topic: usize, part: usize) -> Target {
    let to = to("showthread").with("t", topic + 1);
    if part == 0 { to } else { to.with("page", part + 1) }
}

fn member(user: usize) -> String {
    item(format!("user{user}"), &to("member").with("u", user))
}

fn last(topic: usize) -> usize {
    Board::id(topic, Board::posts(topic) - 1)
}

/// The place of a post in its thread.
fn place(post: usize) -> Target {
    to("showthread").with("p", format!("{post}#post{post}"))
}

impl Forum {
    fn answer(&self, asked: &Target) -> Option<Answer> {
        let program = asked.path.rsplit('/').next()?.strip_suffix(".php").unwrap_or_default();
        if asked.path.starts_with("/archive/") {
            return self.archive(&asked.show());
        }
        let topic = || self.board.topic(asked.number("t")?.checked_sub(1));
        let body = match program {
            "" | "index" => self.index(),
            "showthread" => return self.thread(asked),
            "showpost" => return self.post_alone(asked.number("p")?),
            "printthread" => return self.print(topic()?, asked.number("page").unwrap_or(1)),
            "forumdisplay" => return self.list(asked, asked.number("f")?),
            "member" => return self.member(asked),
            "search" => return Some(self.found(asked)),
            "memberlist" => Self::members(asked),
            "external" | "attachment" => return Some(Answer::file("application/octet-stream")),
            "misc" if asked.get("do") == Some("whoposted") => {
                let topic = topic()?;
                let posts = 0..Board::posts(topic);
                posts.map(|it| member(Board::author(Board::id(topic, it)))).collect()
            }
            "calendar" => {
                let month = asked.number("month").unwrap_or(1);
                let year = asked.number("year").unwrap_or(2012);
                let near = [year * 12 + month - 2, year * 12 + month];
                let near = near.map(|it| {
                    let to = to("calendar").with("month", it % 12 + 1).with("year", it / 12);
                    item(it, &to.with("c", 1))
                });
                format!("<p>Calendar of {month} {year}. No events.</p>") + &near.concat()
            }
            "faq" => self.board.prose.paragraphs(asked.get("faq").unwrap_or("all"), 3),
            "register" | "sendmessage" | "newreply" | "newthread" | "report" | "private"
            | "profile" | "login" | "subscription" | "misc" | "online" | "showgroups"
            | "reputation" | "album" => {
                "<p>You are not logged in or you do not have permission to access this page. User \
                 name. Password. Remember me.</p>"
                    .to_owned()
            }
            _ => return None,
        };
        Some(Answer::junk(self.page(program, &body)))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let menu = [
            "/register.php",
            "/faq.php",
            "/memberlist.php",
            "/calendar.php",
            "/search.php",
            "/search.php?do=getdaily",
            "/search.php?do=getnew",
            "/online.php",
            "/showgroups.php",
            "/archive/index.php",
            "/login.php?do=lostpw",
            "/sendmessage.php",
        ];
        let menu = menu.iter().filter(|it| self.has_archive || !it.starts_with("/archive"));
        let menu: String = menu.map(|it| item(it, &Target::parse(it))).collect();
        let forums = (2..2 + FORUMS).map(|it| item(it, &to("forumdisplay").with("f", it)));
        frame(&self.board.prose, title, &menu, body, &forums.collect::<String>())
    }

    fn index(&self) -> String {
        let one = |forum: usize| {
            let newest = (0..TOPICS).rfind(|it| Board::forum(*it) == forum).unwrap_or_default();
            let own = to("forumdisplay").with("f", forum);
            item(format!("Forum {forum}"), &own)
                + &self.board.prose.teaser(&format!("forum {forum}"))
                + &item(self.board.title(newest), &thread(newest, 0).with("goto", "newpost"))
                + &item("last", &place(last(newest)))
        };
        let forums: String = (2..2 + FORUMS).map(one).collect();
        forums + &drawn("online", 20, USERS).iter().map(|it| member(it + 1)).collect::<String>()
    }

    fn rows(&self, topics: &[usize]) -> String {
        let row = |topic: &usize| {
            let topic = *topic;
            let mut row = item(self.board.title(topic), &thread(topic, 0));
            for part in 1..self.board.parts(topic) {
                row += &item(part + 1, &thread(topic, part));
            }
            let posters = to("misc").with("do", "whoposted").with("t", topic + 1);
            row += &nofollow("replies", &posters);
            row += &nofollow("user", &to("member").with("find", "lastposter").with("t", topic + 1));
            row + &item("last", &place(last(topic)))
        };
        topics.iter().map(row).collect()
    }

    fn list(&self, asked: &Target, forum: usize) -> Option<Answer> {
        let age = |it: usize| Dice::of(&format!("age of {it}")).roll(900);
        let days = asked.number("daysprune");
        let is_in =
            |it: &usize| Board::forum(*it) == forum && days.is_none_or(|days| age(*it) < days);
        let all: Vec<usize> = (0..TOPICS).rev().filter(is_in).collect();
        if !(2..2 + FORUMS).contains(&forum) {
            return None;
        }
        let (sort, order) = (asked.get("sort"), asked.get("order").unwrap_or("desc"));
        let all = sort.map_or(all.clone(), |it| sorted(all, it, order));
        let own = to("forumdisplay").with("f", forum);
        let with = |sort: &str, order: &str, days: &str| {
            own.clone().with("daysprune", days).with("order", order).with("sort", sort)
        };
        let shown_days = asked.get("daysprune").unwrap_or("-1");
        let mut body = String::new();
        for it in SORTS {
            let order = if it == "title" || it == "postusername" { "asc" } else { "desc" };
            body += &nofollow(it, &with(it, order, shown_days));
        }
        let turned = if order == "desc" { "asc" } else { "desc" };
        body += &nofollow("reverse", &with(sort.unwrap_or("lastpost"), turned, shown_days));
        for it in ["1", "7", "30", "100", "365", "-1"] {
            body += &nofollow(it, &with(sort.unwrap_or("lastpost"), order, it));
        }
        let at = asked.number("page").unwrap_or(1).max(1);
        body += &self.rows(&shown(&all, at - 1, LISTED));
        let to = |it| match sort {
            // Pages of the usual order have it in their links, too.
            None if it == 1 => own.clone(),
            None => own.clone().with("order", "desc").with("page", it),
            Some(_) => asked.clone().without("page").with("page", it),
        };
        body += &pager(at, 1..all.len().div_ceil(LISTED) + 1, to);
        body += &item(
            "New thread",
            &Target::new("/newthread.php").with("do", "newthread").with("f", forum),
        );
        Some(Answer::junk(self.page(&format!("Forum {forum}"), &body)))
    }

    fn thread(&self, asked: &Target) -> Option<Answer> {
        let of_post = asked
            .number("p")
            .and_then(|it| Some((self.board.topic(Some(it / 64))?, it % 64 / SHOWN)));
        let (topic, part) = match of_post {
            Some(found) => found,
            None => (
                self.board.topic(asked.number("t")?.checked_sub(1))?,
                asked.number("page").unwrap_or(1).max(1) - 1,
            ),
        };
        match asked.get("goto") {
            Some("nextoldest" | "nextnewest") => {
                let step = if asked.get("goto") == Some("nextnewest") {
                    topic + FORUMS
                } else {
                    topic.wrapping_sub(FORUMS)
                };
                let to = self.board.topic(Some(step)).unwrap_or(topic);
                return Some(Answer::redirect(thread(to, 0).show()));
            }
            Some(_) => return Some(Answer::redirect(place(last(topic)).show())),
            None => {}
        }
        if part >= self.board.parts(topic) {
            return Some(Answer::redirect(thread(topic, 0).show()));
        }
        let number = |program: &str| to(program).with("t", topic + 1);
        let mut body = item("Forum", &to("forumdisplay").with("f", Board::forum(topic)));
        body += &nofollow("Print", &number("printthread"));
        body +=
            &nofollow("Email", &to("sendmessage").with("do", "sendtofriend").with("t", topic + 1));
        for mode in ["linear", "hybrid", "threaded"] {
            body += &nofollow(mode, &number("showthread").with("mode", mode));
        }
        for goto in ["nextoldest", "nextnewest"] {
            body += &nofollow(goto, &number("showthread").with("goto", goto));
        }
        body += &self.board.on_page(topic, part).map(|it| self.post(it)).collect::<String>();
        body += &pager(part, 0..self.board.parts(topic), |it| thread(topic, it));
        body += &self.rows(&drawn(&format!("similar to {topic}"), 5, TOPICS));
        let html = self.page(&self.board.title(topic), &body);
        let html = with_head(&html, &canonical(&thread(topic, part)));
        Some(self.board.numbers.answer(&format!("topic {topic} {part}"), html))
    }

    fn post(&self, post: usize) -> String {
        let number = post % 64 + 1;
        let mut html = member(Board::author(post));
        html += &nofollow(
            format!("#{number}"),
            &to("showpost").with("p", post).with("postcount", number),
        );
        if number > 1 && Dice::of(&format!("quoted in {post}")).roll(3) == 0 {
            html += &nofollow("View Post", &place(post - 1));
            html += &self.board.prose.teaser(&format!("quote {}", post - 1));
        }
        html += &self.board.text(post);
        if Dice::of(&format!("mention in {post}")).roll(12) == 0 {
            html += &item("See there", &thread(post * 7 % TOPICS, 0));
        }
        html + &item("Reply With Quote", &to("newreply").with("do", "newreply").with("p", post))
            + &nofollow("report", &to("report").with("p", post))
    }

    fn post_alone(&self, post: usize) -> Option<Answer> {
        let topic = self.board.topic(Some(post / 64)).filter(|it| post % 64 < Board::posts(*it))?;
        let body = item("Thread", &thread(topic, 0))
            + &member(Board::author(post))
            + &self.board.text(post);
        let html = frame(&self.board.prose, &self.board.title(topic), "", &body, "");
        Some(Answer::junk(with_head(&html, NOINDEX)))
    }

    /// Up to forty posts.
    fn print(&self, topic: usize, page: usize) -> Option<Answer> {
        if page > 1 {
            return None;
        }
        let texts = (0..Board::posts(topic)).map(|it| self.board.text(Board::id(topic, it)));
        let body = item("Thread", &thread(topic, 0)) + &texts.collect::<String>();
        let html = frame(&self.board.prose, &self.board.title(topic), "", &body, "");
        Some(self.whole(topic, with_head(&html, NOINDEX)))
    }

    /// A page with all posts of a thread.
    fn whole(&self, topic: usize, html: String) -> Answer {
        let first = self.board.numbers.answer(&format!("topic {topic} 0"), html);
        first.with_more(self.board.parts(topic) - 1)
    }

    /// Forums and threads by numbers in the query or path, in plain pages.
    fn archive(&self, path: &str) -> Option<Answer> {
        let number = |kind: &str| {
            let (_, rest) = path.split_once(kind)?;
            let mut parts = rest.strip_suffix(".html")?.split("-p-");
            Some((
                parts.next()?.parse::<usize>().ok()?,
                parts.next().and_then(|it| it.parse().ok()).unwrap_or(1),
            ))
        };
        let link = |label: String, kind: &str, id: usize| {
            item(label, &Target::new(format!("/archive/index.php/{kind}-{id}.html")))
        };
        let page = |title: &str, body: String| frame(&self.board.prose, title, "", &body, "");
        if let Some((id, _)) = number("/t-") {
            let topic = self.board.topic(id.checked_sub(1))?;
            let texts = (0..Board::posts(topic)).map(|it| self.board.text(Board::id(topic, it)));
            let body = item("View Full Version", &thread(topic, 0)) + &texts.collect::<String>();
            let html = page(&self.board.title(topic), body);
            return Some(self.whole(topic, html));
        }
        let Some((forum, at)) = number("/f-") else {
            let forums = (2..2 + FORUMS).map(|it| link(format!("Forum {it}"), "f", it));
            return Some(Answer::junk(page("Archive", forums.collect())));
        };
        let at: usize = at;
        let all: Vec<usize> = (0..TOPICS).filter(|it| Board::forum(*it) == forum).collect();
        let rows =
            shown(&all, at - 1, 50).into_iter().map(|it| link(self.board.title(it), "t", it + 1));
        let to = |it| Target::new(format!("/archive/index.php/f-{forum}-p-{it}.html"));
        let body = rows.collect::<String>() + &pager(at, 1..all.len().div_ceil(50) + 1, to);
        Some(Answer::junk(page("Forum", body)))
    }

    fn member(&self, asked: &Target) -> Option<Answer> {
        if asked.get("find").is_some() {
            let topic = self.board.topic(asked.number("t")?.checked_sub(1))?;
            return Some(Answer::redirect(
                to("member").with("u", Board::author(last(topic))).show(),
            ));
        }
        let user = asked.number("u").filter(|it| (1..=USERS).contains(it))?;
        let search = |what: &str| to("search").with("do", what).with("u", user);
        let mut body = format!(
            "<p>user{user}. Posts: {}.</p>",
            Dice::of(&format!("posts of {user}")).roll(900)
        );
        body += &nofollow("Posts", &search("finduser"));
        body += &nofollow("Threads", &search("finduser").with("starteronly", 1));
        for it in ["visitor_messaging", "aboutme", "friends", "statistics"] {
            body += &item(it, &to("member").with("u", user).with("tab", it));
        }
        let html = self.page(&format!("user{user}"), &body);
        Some(Answer::junk(with_head(&html, &canonical(&to("member").with("u", user)))))
    }

    /// A search redirects to its results, whose number is new each time.
    fn found(&self, asked: &Target) -> Answer {
        if asked.get("do").is_some() {
            let id = Dice::of(&asked.show()).roll(900_000) + 100_000;
            let to = to("search").with("searchid", id);
            return Answer::redirect(
                asked.get("u").map_or(to.clone(), |it| to.with("u", it)).show(),
            );
        }
        let Some(id) = asked.number("searchid") else {
            return Answer::junk(
                self.page("Search", "<p>Keywords. User name. Search in forums.</p>"),
            );
        };
        let at = asked.number("page").unwrap_or(1).max(1);
        let all = drawn(&format!("found by {id}"), 60, TOPICS);
        let to = |it| to("search").with("searchid", id).with("pp", 20).with("page", it);
        let body = self.rows(&shown(&all, at - 1, 20)) + &pager(at, 1..4, to);
        Answer::junk(with_head(&self.page("Search", &body), NOINDEX))
    }

    fn members(asked: &Target) -> String {
        let sorts = ["username", "joindate", "posts"]
            .iter()
            .flat_map(|sort| ["asc", "desc"].map(|order| (*sort, order)));
        let own = |sort: &str, order: &str| {
            to("memberlist").with("order", order).with("sort", sort).with("pp", 30)
        };
        let (sort, order) =
            (asked.get("sort").unwrap_or("username"), asked.get("order").unwrap_or("asc"));
        let all = sorted((1..=USERS).collect(), sort, order);
        let at = asked.number("page").unwrap_or(1).max(1);
        let letters =
            ('A'..='Z').map(|it| item(it, &to("memberlist").with("ltr", it).with("pp", 30)));
        let sorts: String = sorts.map(|(sort, order)| nofollow(sort, &own(sort, order))).collect();
        let rows: String = shown(&all, at - 1, 30).iter().map(|it| member(*it)).collect();
        sorts
            + &letters.collect::<String>()
            + &rows
            + &pager(at, 1..6, |it| own(sort, order).with("page", it))
    }
}
