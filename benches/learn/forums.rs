//! What forums have in common, and one as phpBB has it.

use crate::{
    false_traps::{Numbers, page, world},
    honest::anchor,
    prose::{Dice, Language, Prose},
    software::{NOINDEX, canonical, drawn, item, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

pub(crate) const FORUMS: usize = 6;
pub(crate) const USERS: usize = 150;
const LOGIN: &str = "<p>Please enter your username and your password to log in. The board \
    requires you to be registered.</p>";

/// A topic has a first page, and more of them; forums are numbered from 2 on.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) prose: Prose,
    pub(crate) numbers: Numbers,
    pub(crate) topics: usize,
    /// Posts on a page.
    pub(crate) shown: usize,
    /// Topics in a list.
    pub(crate) listed: usize,
}

impl Board {
    pub(crate) fn new(language: Language, topics: usize, shown: usize, listed: usize) -> Self {
        let prose = Prose::new(language);
        let mut board = Self { prose, numbers: Numbers::default(), topics, shown, listed };
        let parts =
            (0..topics).flat_map(|topic| (0..board.parts(topic)).map(move |it| (topic, it)));
        board.numbers = Numbers::of(parts.map(|(topic, it)| format!("topic {topic} {it}")));
        board
    }

    pub(crate) fn pages(&self) -> usize {
        (0..self.topics).map(|it| self.parts(it)).sum()
    }

    /// How many posts a topic has: at most 40, and mostly fewer than one page.
    pub(crate) fn posts(topic: usize) -> usize {
        let mut dice = Dice::of(&format!("posts in {topic}"));
        let most = if dice.roll(4) == 0 { 40 } else { 9 };
        1 + dice.roll(most)
    }

    pub(crate) fn parts(&self, topic: usize) -> usize {
        Self::posts(topic).div_ceil(self.shown)
    }

    /// A post's number, from which its topic and its place follow.
    pub(crate) fn id(topic: usize, place: usize) -> usize {
        topic * 64 + place
    }

    pub(crate) fn author(post: usize) -> usize {
        1 + Dice::of(&format!("author of {post}")).roll(USERS)
    }

    pub(crate) fn forum(topic: usize) -> usize {
        2 + topic % FORUMS
    }

    pub(crate) fn title(&self, topic: usize) -> String {
        self.prose.title(&format!("topic {topic}"))
    }

    pub(crate) fn text(&self, post: usize) -> String {
        self.prose.paragraphs(&format!("post {post}"), 1)
    }

    /// The posts on a page of a topic.
    pub(crate) fn on_page(&self, topic: usize, part: usize) -> impl Iterator<Item = usize> + use<> {
        let all = part * self.shown..Self::posts(topic).min((part + 1) * self.shown);
        all.map(move |it| Self::id(topic, it))
    }

    pub(crate) fn topic(&self, number: Option<usize>) -> Option<usize> {
        number.filter(|it| *it < self.topics)
    }

    pub(crate) fn page(&self, title: &str, body: &str, menu: &str) -> String {
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
                ("To quote you need to log in".to_owned(), LOGIN.to_owned())
            }
            "/posting.php" | "/report.php" | "/memberlist.php" => {
                ("Login".to_owned(), LOGIN.to_owned())
            }
            "/ucp.php" if ["terms", "privacy"].contains(&mode) => {
                (mode.to_owned(), self.board.prose.paragraphs(mode, 3))
            }
            "/ucp.php" if mode == "delete_cookies" => (
                mode.to_owned(),
                "<p>Are you sure you want to delete all cookies set by this board?</p>".to_owned(),
            ),
            "/ucp.php" => ("Login".to_owned(), LOGIN.to_owned()),
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
