//! A forum as `XenForo` 2 has it: a segment of the path says what a page is, the next one has a name and an id.

use crate::{
    false_traps::world,
    forums::{Board, FORUMS, USERS},
    prose::{Dice, Language},
    software::{canonical, drawn, item, made_up, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const TOPICS: usize = 600;
const LISTED: usize = 20;
const TAGS: usize = 60;
const PREFIXES: usize = 4;
const ORDERS: [&str; 5] = ["title", "post_date", "reply_count", "view_count", "last_post_date"];
const DAYS: [usize; 7] = [7, 14, 30, 60, 90, 182, 365];
const LOGIN: &str = "<p>You must be logged in to do that. Your name or email address. Password. \
    Forgot your password? Don't have an account? Register now.</p>";
const NO_RESULTS: &str = "<p>Oops! We ran into some problems. No results found.</p>";
const NOTHING: &str = "<p>There are no more items to show.</p>";
const FEED: &str = "application/rss+xml";

/// 600 threads in six forums, one in eight of two pages. Each post has a permalink and links to quote it, to rate it and to report it; threads
/// have tags, similar threads and the latest ones beside them, and posts lead to others by old names, by ids alone and through redirects. A list
/// has five orders in both directions, and is narrowed to a prefix, an author or an age, which its order and its pages keep. The header of a list
/// has the orders and ages as links, as `XenForo` 1 and many styles have it.
pub(crate) fn xenforo() -> World {
    let forum = Forum {
        board: Board::new(Language::English, TOPICS, LISTED, LISTED),
        users: made_up("member", USERS, "-"),
        tags: made_up("tag", TAGS, "-"),
        forums: made_up("forum", FORUMS, "-"),
    };
    let pages = forum.board.pages();
    world("xenforo", "/", pages, move |asked| forum.answer(asked))
}

#[derive(Debug)]
struct Forum {
    board: Board,
    users: Vec<String>,
    tags: Vec<String>,
    forums: Vec<String>,
}

fn to(path: &str) -> Target {
    Target::new(path)
}

/// The id at the end of `name.17`, or alone.
fn id(segment: &str) -> Option<usize> {
    segment.rsplit('.').next()?.parse().ok()
}

fn tags(topic: usize) -> Vec<usize> {
    drawn(&format!("tags of {topic}"), Dice::of(&format!("tagged {topic}")).roll(4), TAGS)
}

fn tag_page(name: &str) -> String {
    item(name, &to(&format!("/tags/{name}/")))
}

/// From 1 on; 0 is no prefix.
fn prefix(topic: usize) -> usize {
    Dice::of(&format!("prefix of {topic}")).roll(PREFIXES + 1)
}

fn starter(topic: usize) -> usize {
    Board::author(Board::id(topic, 0))
}

fn last_post(topic: usize) -> usize {
    Board::id(topic, Board::posts(topic) - 1)
}

/// How many days ago something was written in it.
fn age(topic: usize) -> usize {
    Dice::of(&format!("age of {topic}")).roll(900)
}

fn post_page(post: usize, rest: &str) -> Target {
    to(&format!("/posts/{post}/{rest}"))
}

impl Forum {
    fn slug(&self, topic: usize) -> String {
        self.board.title(topic).to_lowercase().replace(' ', "-")
    }

    /// As it was named before its title was changed.
    fn old_slug(&self, topic: usize) -> String {
        self.slug(topic).split('-').take(2).collect::<Vec<_>>().join("-")
    }

    /// Threads are numbered from 1 on.
    fn thread(&self, topic: usize, rest: &str) -> Target {
        to(&format!("/threads/{}.{}/{rest}", self.slug(topic), topic + 1))
    }

    fn part(&self, topic: usize, part: usize) -> Target {
        let rest = if part == 0 { String::new() } else { format!("page-{}", part + 1) };
        self.thread(topic, &rest)
    }

    fn permalink(&self, post: usize) -> Target {
        self.thread(post / 64, &format!("post-{post}"))
    }

    fn forum(&self, forum: usize, rest: &str) -> Target {
        to(&format!("/forums/{}.{forum}/{rest}", self.forums[forum - 2]))
    }

    fn member(&self, user: usize, rest: &str) -> Target {
        to(&format!("/members/{}.{user}/{rest}", self.users[user - 1]))
    }

    fn by(&self, user: usize) -> String {
        item(&self.users[user - 1], &self.member(user, ""))
    }

    fn answer(&self, asked: &Target) -> Answer {
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let title = parts.join(" ");
        let body = match &parts[..] {
            [] | ["forums"] => self.index(),
            ["forums", name, rest @ ..] => return self.list(asked, id(name), rest),
            ["threads", name, rest @ ..] => return self.below_thread(name, rest),
            ["posts", post, rest @ ..] => return self.below_post(id(post), rest),
            ["goto", "post"] => return self.below_post(asked.number("id"), &[]),
            ["members"] => self.members(asked),
            ["members", name, rest @ ..] => match id(name).filter(|it| (1..=USERS).contains(it)) {
                Some(user) => self.profile(asked, user, rest),
                None => return Answer::missing(),
            },
            ["whats-new" | "find-new", rest @ ..] => return self.news(asked, rest),
            ["tags"] => self.tags.iter().map(|it| tag_page(it)).collect(),
            ["tags", name, ..] => match self.tags.iter().position(|it| it == name) {
                Some(tag) => {
                    let all = (0..TOPICS).filter(|it| tags(*it).contains(&tag));
                    self.entries(&all.collect::<Vec<_>>())
                }
                None => return Answer::missing(),
            },
            ["search", "member"] => NO_RESULTS.to_owned(),
            ["online"] => drawn("online", 12, USERS).iter().map(|it| self.by(it + 1)).collect(),
            ["help", name] => self.board.prose.paragraphs(name, 4),
            ["help"] => ["terms", "privacy-policy", "cookies", "smilies", "bb-codes", "trophies"]
                .map(|it| item(it, &to(&format!("/help/{it}/"))))
                .concat(),
            ["search"] => "<p>Keywords. Search titles only. Posted by. Newer than.</p>".to_owned(),
            ["misc", "style" | "language"] => ["1", "2", "3"].map(|it| chooser(asked, it)).concat(),
            ["misc", "contact"] => {
                "<p>Your name. Your email address. Subject. Message.</p>".to_owned()
            }
            ["login" | "register" | "lost-password" | "account" | "attachments", ..] => {
                LOGIN.to_owned()
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.page(&title, &body))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let menu = [
            "/",
            "/whats-new/posts/",
            "/search/?type=post",
            "/whats-new/",
            "/whats-new/latest-activity",
            "/members/",
            "/online/",
            "/tags/",
            "/login/",
            "/register/",
            "/search/",
            "/misc/style",
            "/misc/language",
            "/misc/contact",
            "/help/terms/",
            "/help/privacy-policy/",
            "/help/",
            "/account/dismiss-notice?notice_id=1",
        ];
        let menu: String = menu.iter().map(|it| item(it, &Target::parse(it))).collect();
        let feed =
            "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/forums/-/index.rss\">";
        with_head(&self.board.page(title, body, &menu), feed)
    }

    fn index(&self) -> String {
        let one = |forum: usize| {
            let last =
                (0..TOPICS).filter(|it| Board::forum(*it) == forum).min_by_key(|it| age(*it));
            let last = last.map_or_else(String::new, |it| self.latest(it));
            item(&self.forums[forum - 2], &self.forum(forum, ""))
                + &item("RSS", &self.forum(forum, "index.rss"))
                + &last
        };
        let forums: String = (2..2 + FORUMS).map(one).collect();
        forums + &drawn("online", 8, USERS).iter().map(|it| self.by(it + 1)).collect::<String>()
    }

    fn latest(&self, topic: usize) -> String {
        let last = last_post(topic);
        item(self.board.title(topic), &self.permalink(last)) + &self.by(Board::author(last))
    }

    /// Rows of a list.
    fn entries(&self, topics: &[usize]) -> String {
        let one = |topic: &usize| {
            let (topic, own) = (*topic, self.forum(Board::forum(*topic), ""));
            let mut row = String::new();
            if prefix(topic) > 0 {
                row += &item("prefix", &own.clone().with("prefix_id", prefix(topic)));
            }
            row += &item(self.board.title(topic), &self.thread(topic, ""));
            row += &self.by(starter(topic));
            for part in 1..self.board.parts(topic) {
                row += &item(part + 1, &self.part(topic, part));
            }
            row += &item(self.forums[Board::forum(topic) - 2].as_str(), &own);
            row += &item("last message", &self.thread(topic, "latest"));
            row + &self.by(Board::author(last_post(topic)))
        };
        topics.iter().map(one).collect()
    }

    /// A forum in the order and with the filters that were chosen.
    fn list(&self, asked: &Target, forum: Option<usize>, rest: &[&str]) -> Answer {
        let forum = forum.filter(|it| (2..2 + FORUMS).contains(it));
        let (Some(forum), at) = (forum, page_number(rest)) else { return Answer::missing() };
        if rest.first().is_some_and(|it| it.ends_with("rss")) {
            return Answer::file(FEED);
        }
        if rest.first() == Some(&"post-thread") {
            return Answer::redirect("/login/".to_owned());
        }
        let is_in = |it: &usize| {
            let is = |name: &str, value: usize| asked.number(name).is_none_or(|it| it == value);
            Board::forum(*it) == forum
                && is("prefix_id", prefix(*it))
                && is("starter_id", starter(*it))
                && asked.number("last_days").is_none_or(|days| age(*it) < days)
        };
        let all: Vec<usize> = (0..TOPICS).filter(is_in).collect();
        let order = asked.get("order").unwrap_or("last_post_date");
        let all = sorted(all, order, asked.get("direction").unwrap_or("desc"));
        let lists = all.len().div_ceil(LISTED).max(1);
        if at > lists {
            return Answer::redirect(
                Target { path: self.forum(forum, "").path, ..asked.clone() }.show(),
            );
        }
        let shown: Vec<usize> = all.iter().copied().skip((at - 1) * LISTED).take(LISTED).collect();
        let mut body = self.choices(asked, forum) + &self.entries(&shown);
        if all.is_empty() {
            body += "<p>There are no threads matching your filters.</p>";
        }
        let of = |at: usize| {
            let rest = if at == 1 { String::new() } else { format!("page-{at}") };
            self.forum(forum, &rest)
        };
        for it in (1..=lists).filter(|it| *it != at) {
            let (path, parameters) = (of(it).path, asked.parameters.clone());
            body += &item(it, &Target { path, parameters });
        }
        body += &item("Post thread", &self.forum(forum, "post-thread"));
        let html = self.page(&self.forums[forum - 2], &body);
        Answer::junk(with_head(&html, &canonical(&of(at))))
    }

    /// Orders, which keep the filters, filters, which keep the order, and links to take filters away.
    fn choices(&self, asked: &Target, forum: usize) -> String {
        let own = Target { path: self.forum(forum, "").path, ..asked.clone() };
        let bare = own.clone().without("order").without("direction");
        let mut body = String::new();
        for order in ORDERS {
            let is_chosen = asked.get("order") == Some(order);
            let turned = match asked.get("direction") {
                Some("desc") if is_chosen => "asc",
                _ if order == "title" && !is_chosen => "asc",
                _ => "desc",
            };
            body += &item(order, &bare.clone().with("order", order).with("direction", turned));
        }
        for days in DAYS {
            body += &item(days, &own.clone().without("last_days").with("last_days", days));
        }
        for filter in ["prefix_id", "starter_id", "last_days"] {
            if asked.get(filter).is_some() {
                body += &item("Remove filter", &own.clone().without(filter));
            }
        }
        let starters = drawn(&format!("starters in {forum}"), 5, USERS);
        let starters = starters
            .iter()
            .map(|it| item(&self.users[*it], &self.forum(forum, "").with("starter_id", it + 1)));
        body + &starters.collect::<String>()
    }

    /// A page of a thread under its own name, and redirects.
    fn below_thread(&self, name: &str, rest: &[&str]) -> Answer {
        let topic = self.board.topic(id(name).and_then(|it| it.checked_sub(1)));
        let Some(topic) = topic else { return Answer::missing() };
        let post = rest.first().and_then(|it| it.strip_prefix("post-")?.parse().ok());
        match rest {
            ["reply"] => return Answer::redirect("/login/".to_owned()),
            ["latest"] => return self.below_post(Some(last_post(topic)), &[]),
            ["unread"] => return Answer::redirect(self.thread(topic, "").show()),
            [_] if post.is_some() => return self.below_post(post, &[]),
            _ => {}
        }
        let part = page_number(rest) - 1;
        if part >= self.board.parts(topic) {
            return Answer::redirect(self.part(topic, self.board.parts(topic) - 1).show());
        }
        let own = self.part(topic, part);
        if self.thread(topic, "").path.split('/').nth(2) != Some(name) {
            return Answer::redirect(own.show());
        }
        let mut body = item("Forum", &self.forum(Board::forum(topic), ""))
            + &self.by(starter(topic))
            + &item("start date", &self.thread(topic, ""));
        body += &tags(topic).iter().map(|it| tag_page(&self.tags[*it])).collect::<String>();
        body += &self.board.on_page(topic, part).map(|it| self.post(it)).collect::<String>();
        for it in (0..self.board.parts(topic)).filter(|it| *it != part) {
            body += &item(it + 1, &self.part(topic, it));
        }
        body += &item("You must log in or register to reply here.", &to("/login/"));
        body += &self.entries(&drawn(&format!("similar to {topic}"), 5, TOPICS));
        let newest = drawn("latest posts", 5, TOPICS);
        body += &newest.iter().map(|it| self.latest(*it)).collect::<String>();
        let html = self.page(&self.board.title(topic), &body);
        let html = with_head(&html, &canonical(&own));
        self.board.numbers.answer(&format!("topic {topic} {part}"), html)
    }

    /// A post with the links around it. Some quote an earlier post, some lead to other threads, some have a file, some were rated.
    fn post(&self, post: usize) -> String {
        let (topic, place, author) = (post / 64, post % 64, Board::author(post));
        let mut dice = Dice::of(&format!("kind of {post}"));
        let mut html = self.by(author)
            + &self.by(author)
            + &item("date", &self.permalink(post))
            + &item(format!("#{}", place + 1), &self.permalink(post));
        if place > 0 && dice.roll(3) == 0 {
            let quoted = Board::id(topic, dice.roll(place));
            html += &item("said:", &to("/goto/post").with("id", quoted));
            html += &format!("<blockquote>{}</blockquote>", self.begin(quoted));
        }
        html += &self.board.text(post);
        if dice.roll(6) == 0 {
            html += &self.mention(dice.roll(TOPICS), dice.roll(5));
        }
        if dice.roll(10) == 0 {
            html += &item("picture", &to(&format!("/attachments/picture-jpg.{post}/")));
        }
        if dice.roll(4) == 0 {
            html += &item("3 others", &post_page(post, "reactions"));
        }
        html + &item("Like", &post_page(post, "react").with("reaction_id", 1))
            + &item("Reply", &self.thread(topic, "reply").with("quote", post))
            + &item("Report", &post_page(post, "report"))
    }

    /// Another thread as people paste its URL.
    fn mention(&self, topic: usize, kind: usize) -> String {
        let to = match kind {
            0 => to(&format!("/threads/{}/", topic + 1)),
            1 => to(&format!("/threads/{}.{}/", self.old_slug(topic), topic + 1)),
            2 => self.thread(topic, "unread"),
            3 => post_page(last_post(topic), ""),
            _ => self.thread(topic, ""),
        };
        item("See there", &to)
    }

    /// The post in its thread, or what can be done with it.
    fn below_post(&self, post: Option<usize>, rest: &[&str]) -> Answer {
        let Some(post) = post.filter(|it| it / 64 < TOPICS && it % 64 < Board::posts(it / 64))
        else {
            return Answer::missing();
        };
        let body = match rest {
            [] => {
                let part = self.part(post / 64, post % 64 / LISTED).show();
                return Answer::redirect(format!("{part}#post-{post}"));
            }
            ["reactions"] => {
                let all = drawn(&format!("reactions to {post}"), 4, USERS);
                all.iter().map(|it| self.by(it + 1)).collect()
            }
            ["react" | "report"] => LOGIN.to_owned(),
            _ => return Answer::missing(),
        };
        Answer::junk(self.page(rest[0], &body))
    }

    fn members(&self, asked: &Target) -> String {
        let keys = ["most_messages", "highest_reaction_score", "most_points", "staff_members"];
        let key = asked.get("key").unwrap_or_default();
        let count = if key.is_empty() { 15 } else { 20 };
        let shown = drawn(&format!("members {key}"), count, USERS);
        keys.map(|it| item(it, &to("/members/").with("key", it))).concat()
            + &shown.iter().map(|it| self.by(it + 1)).collect::<String>()
    }

    /// A short profile, or one of its tabs, which a page has alone.
    fn profile(&self, asked: &Target, user: usize, rest: &[&str]) -> String {
        let mut dice = Dice::of(&format!("member {user}"));
        match rest.first() {
            Some(&"latest-activity") => {
                self.activity(asked, &self.member(user, "latest-activity"), 30)
            }
            Some(&"recent-content") => (0..TOPICS)
                .filter(|it| starter(*it) == user)
                .take(15)
                .map(|it| {
                    let begin = self.begin(Board::id(it, 0));
                    item(self.board.title(it), &self.thread(it, "")) + &begin
                })
                .collect(),
            Some(&"about") => {
                let tabs = ["trophies", "following", "followers"];
                let signature = self.board.prose.teaser(&format!("signature of {user}"));
                let signature = if dice.roll(3) == 0 { &*signature } else { "" };
                tabs.map(|it| item(it, &self.member(user, it))).concat() + signature
            }
            Some(_) => NOTHING.to_owned(),
            None => {
                let find = to("/search/member").with("user_id", user);
                ["Messages", "Reaction score", "Points", "Joined"]
                    .map(|it| format!("<p>{it} {}</p>", dice.roll(9_000)))
                    .concat()
                    + &["", "latest-activity", "recent-content", "about"]
                        .map(|it| item(it, &self.member(user, it)))
                        .concat()
                    + &item("Find all content", &find)
                    + &item("Find all threads", &find.with("content", "thread"))
            }
        }
    }

    /// The first sentence of a post.
    fn begin(&self, post: usize) -> String {
        let text = self.board.text(post);
        text.split_inclusive(". ").next().unwrap_or_default().to_owned() + "</p>"
    }

    /// Fifteen events before one; older ones have a link of their own as long as there are some.
    fn activity(&self, asked: &Target, own: &Target, events: usize) -> String {
        let before = asked.number("before_id").unwrap_or(events).min(events);
        let mut body = String::new();
        for event in (before.saturating_sub(15)..before).rev() {
            let topic = drawn(&format!("event {event} of {}", own.path), 1, TOPICS)[0];
            body += &self.by(starter(topic));
            body += &item(self.board.title(topic), &self.permalink(last_post(topic)));
            body += &self.begin(last_post(topic));
        }
        if before > 15 {
            body += &item("Show older items", &own.clone().with("before_id", before - 15));
        }
        body
    }

    /// A search is kept under a number, which each choice makes anew.
    fn news(&self, asked: &Target, rest: &[&str]) -> Answer {
        const FILTERS: [&str; 4] = ["unread", "participated", "started", "unanswered"];
        let number = |of: &str| Dice::of(of).roll(900_000) + 100_000;
        let (body, list) = match rest {
            [] => {
                let newest = drawn("latest posts", 10, TOPICS);
                (self.entries(&newest), to("/whats-new/posts/"))
            }
            ["latest-activity"] => {
                (self.activity(asked, &to("/whats-new/latest-activity"), 600), to("/whats-new/"))
            }
            ["posts"] => {
                let kept = number(&asked.show());
                return Answer::redirect(format!("/whats-new/posts/{kept}/"));
            }
            ["posts", kept, rest @ ..] if id(kept).is_some() => {
                let (at, list) = (page_number(rest), to(&format!("/whats-new/posts/{kept}/")));
                let all = drawn("new posts", 100, TOPICS);
                let all: Vec<usize> =
                    all.into_iter().skip((at - 1) * LISTED).take(LISTED).collect();
                let lists = (1..=5).filter(|it| *it != at);
                let lists = lists.map(|it| item(it, &to(&format!("{}page-{it}", list.path))));
                (self.entries(&all) + &lists.collect::<String>(), list)
            }
            _ => return Answer::missing(),
        };
        let filters = FILTERS.map(|it| item(it, &to("/whats-new/posts/").with(it, 1)));
        let skip = item("Show all", &to("/whats-new/posts/").with("skip", 1));
        let again = item("New posts", &list);
        Answer::junk(self.page("What's new", &(body + &filters.concat() + &skip + &again)))
    }
}

/// Of `page-2`, or the first.
fn page_number(rest: &[&str]) -> usize {
    let number = rest.first().and_then(|it| it.strip_prefix("page-")?.parse().ok());
    number.unwrap_or(1).max(1)
}

/// Each choice of a style or language leads back to the page.
fn chooser(asked: &Target, choice: &str) -> String {
    let kind = if asked.path.ends_with("style") { "style_id" } else { "language_id" };
    item(
        choice,
        &to(&asked.path).with(kind, choice).with("_xfRedirect", "%2F").with("t", "1f2e3d4c"),
    )
}
