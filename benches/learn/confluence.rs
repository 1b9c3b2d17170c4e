//! A wiki as Confluence (Server) has it for a visitor who is not logged in.

use crate::{
    false_traps::{Numbers, teaser, world},
    more_software::{frame, obeying, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{NOFOLLOW, drawn, item, made_up, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const SPACES: [&str; 4] = ["DOC", "DEV", "OPS", "TEAM"];
const PAGES: usize = 360;
const POSTS: usize = 80;
const LABELS: usize = 40;
const USERS: usize = 20;
const FIRST_ID: usize = 1_310_720;
const OLD: usize = 10_000_000;
const ROBOTS: [&str; 8] = [
    "/admin/",
    "/login.action",
    "/dosearchsite.action",
    "/pages/diffpages",
    "/label/",
    "/pages/copypage.action",
    "/createrssfeed.action",
    "/exportword",
];

/// 360 pages in four trees and 80 posts. A page has a name in its path, or only its number; it leads to its history, its old versions and
/// their differences, its source, its attachments and who sees it, to two exports, and to the form to log in with its own URL. Spaces have lists in three
/// orders and a blog by years, months and days.
pub(crate) fn confluence() -> World {
    let wiki = Wiki {
        prose: Prose::new(Language::English),
        numbers: Numbers::of((0..PAGES + POSTS).map(|it| format!("page {it}"))),
        names: made_up("page of confluence", PAGES + POSTS, "+"),
    };
    let answer = move |asked: &Target| wiki.answer(asked).unwrap_or_else(Answer::missing);
    obeying(world("confluence", "/", PAGES + POSTS, answer), &ROBOTS)
}

#[derive(Debug)]
struct Wiki {
    prose: Prose,
    numbers: Numbers,
    names: Vec<String>,
}

fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

fn id(page: usize) -> usize {
    FIRST_ID + page * 3
}

fn of_id(id: usize) -> Option<usize> {
    let page = id.checked_sub(FIRST_ID)?;
    (page % 3 == 0 && page / 3 < PAGES + POSTS).then_some(page / 3)
}

fn space(page: usize) -> usize {
    page % SPACES.len()
}

/// The page above one in its space.
fn above(page: usize) -> Option<usize> {
    let place = page / SPACES.len();
    (place > 0 && page < PAGES).then(|| (place - 1) / 5 * SPACES.len() + space(page))
}

fn versions(page: usize) -> usize {
    1 + Dice::of(&format!("versions of {page}")).roll(9)
}

fn labels(page: usize) -> Vec<usize> {
    drawn(&format!("labels of {page}"), page % 4, LABELS)
}

/// Year, month and day of a post.
fn date(post: usize) -> [usize; 3] {
    let month = (post - PAGES) * 36 / POSTS;
    [2019 + month / 12, month % 12 + 1, Dice::of(&format!("day of {post}")).roll(28) + 1]
}

impl Wiki {
    fn path(&self, page: usize) -> Target {
        let key = SPACES[space(page)];
        if page < PAGES {
            // Names with unusual letters are not in the path.
            if page.is_multiple_of(9) {
                return to("/pages/viewpage.action").with("pageId", id(page));
            }
            return to(format!("/display/{key}/{}", self.names[page]));
        }
        let [year, month, day] = date(page);
        to(format!("/display/{key}/{year}/{month:02}/{day:02}/{}", self.names[page]))
    }

    fn link(&self, page: usize) -> String {
        item(self.prose.title(&format!("page {page}")), &self.path(page))
    }

    fn answer(&self, asked: &Target) -> Option<Answer> {
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let page = || of_id(asked.number("pageId")?);
        let key = || SPACES.iter().position(|it| Some(*it) == asked.get("key"));
        let body = match &parts[..] {
            [] | ["index.action" | "dashboard.action"] => self.dashboard(),
            ["display", key] => self.space(SPACES.iter().position(|it| it == key)?),
            ["display", "~user", _] => "<p>Profile. Network. Recently updated.</p>".to_owned(),
            ["display", _, rest @ .., name] => match self.names.iter().position(|it| it == name) {
                Some(page) => return Some(self.page(asked, page)),
                None => self.dated(parts[1], &[rest, &[*name]].concat()),
            },
            ["pages", "viewpage.action"] if asked.number("pageId")? >= OLD => {
                return self.old_version(asked, asked.number("pageId")? - OLD);
            }
            ["pages", "viewpage.action"] => return Some(self.page(asked, page()?)),
            ["pages", "viewpageattachments.action"] => self.attachments(asked, page()?),
            ["pages", "viewpreviousversions.action"] => self.history(page()?),
            ["pages", "viewinfo.action"] => self.information(page()?),
            ["pages", "diffpagesbyversion.action"] => return Some(self.difference(asked, page()?)),
            ["pages", "viewpagesrc.action" | "releaseview.action"] => {
                return Some(self.source(page()?));
            }
            [
                "pages",
                "listpages-alphaview.action"
                | "listpages-dirview.action"
                | "reorderpages.action"
                | "recentlyupdated.action",
            ] => self.list(asked, key()?),
            ["pages", "viewrecentblogposts.action"] => self.posts(key()?),
            ["spaces", "flyingpdf", ..] | ["exportword"] | ["download", ..] | ["spaces", _] => {
                return Some(Answer::file("application/pdf"));
            }
            ["labels", "viewlabel.action"] => self.labelled(asked.number("labelId")?),
            ["users", ..] | ["login.action" | "signup.action" | "forgotuserpassword.action"] => {
                "<p>Username. Password. Remember me. Forgot your password?</p>".to_owned()
            }
            _ => return None,
        };
        Some(Answer::junk(self.frame(asked, &parts.join(" "), &body)))
    }

    fn frame(&self, asked: &Target, title: &str, body: &str) -> String {
        let here = asked.show().replace('/', "%2F").replace('?', "%3F").replace('=', "%3D");
        let login = to("/login.action").with("os_destination", here.replace('&', "%26"));
        let mut menu = item("Log in", &login);
        for it in
            ["/index.action", "/signup.action", "/users/userdirectory.action", "/dashboard.action"]
        {
            menu += &item(it, &to(it));
        }
        let mut side = String::new();
        for (number, key) in SPACES.iter().enumerate() {
            side += &item(key, &to(format!("/display/{key}")));
            side += &self.link(number);
        }
        frame(&self.prose, title, &menu, body, &side)
    }

    fn dashboard(&self) -> String {
        let newest = drawn("updated", 20, PAGES + POSTS);
        newest.iter().map(|it| self.link(*it) + &Self::changes(*it)).collect()
    }

    /// The difference of the newest version.
    fn changes(page: usize) -> String {
        let newest = versions(page);
        let to = to("/pages/diffpagesbyversion.action").with("pageId", id(page));
        let to = to.with("selectedPageVersions", newest);
        item("view change", &to.with("selectedPageVersions", newest.max(2) - 1))
    }

    fn space(&self, space: usize) -> String {
        let key = SPACES[space];
        let mut body = self.link(space);
        for it in
            ["listpages-alphaview", "listpages-dirview", "recentlyupdated", "viewrecentblogposts"]
        {
            body += &item(it, &to(format!("/pages/{it}.action")).with("key", key));
        }
        body + &self.posts(space)
    }

    fn posts(&self, space: usize) -> String {
        let all = (PAGES..PAGES + POSTS).rev().filter(|it| it % SPACES.len() == space).take(15);
        let one = |it: usize| {
            let [year, month, day] = date(it);
            teaser(&self.prose, &self.path(it).show(), &format!("page {it}"))
                + &item(day, &to(format!("/display/{}/{year}/{month:02}/{day:02}", SPACES[space])))
        };
        all.map(one).collect()
    }

    /// The posts of a month or a day.
    fn dated(&self, key: &str, parts: &[&str]) -> String {
        let numbers: Vec<usize> = parts.iter().filter_map(|it| it.parse().ok()).collect();
        let is_in = |it: &usize| {
            SPACES[space(*it)] == key
                && date(*it).iter().zip(&numbers).all(|(own, asked)| own == asked)
        };
        let mut body: String =
            (PAGES..PAGES + POSTS).filter(is_in).map(|it| self.link(it)).collect();
        if let [year, month, ..] = numbers[..] {
            for day in 1..=28 {
                let has_posts =
                    |it: &usize| SPACES[space(*it)] == key && date(*it) == [year, month, day];
                if (PAGES..PAGES + POSTS).any(|it| has_posts(&it)) {
                    body += &item(day, &to(format!("/display/{key}/{year}/{month:02}/{day:02}")));
                }
            }
            let month = (year * 12 + month).clamp(1, 40_000) - 1;
            for near in [month - 1, month + 1] {
                body +=
                    &item(near, &to(format!("/display/{key}/{}/{:02}", near / 12, near % 12 + 1)));
            }
        }
        body
    }

    fn list(&self, asked: &Target, of: usize) -> String {
        let key = SPACES[of];
        let mut all: Vec<usize> = (0..PAGES).filter(|it| space(*it) == of).collect();
        let mut body = String::new();
        if asked.path.contains("alphaview") {
            for letter in 'a'..='z' {
                let to = to("/pages/listpages-alphaview.action").with("key", key);
                body += &item(letter, &to.with("startsWith", letter));
            }
            let start = asked.get("startsWith").unwrap_or("a");
            all.retain(|it| self.names[*it].starts_with(start));
        }
        if asked.path.contains("dirview") {
            let open = asked.number("openId").and_then(of_id);
            all.retain(|it| above(*it) == open);
            for it in &all {
                body += &item(
                    "+",
                    &asked.clone().set("openId", format!("{}#selectedPageInHierarchy", id(*it))),
                );
            }
        }
        let at = asked.number("startIndex").unwrap_or_default() / 10;
        let all = sorted(all, "name", "asc");
        let to = |it| asked.clone().without("startIndex").with("startIndex", it * 10);
        body += &shown(&all, at, 10)
            .iter()
            .map(|it| self.link(*it) + &Self::changes(*it))
            .collect::<String>();
        body + &pager(at, 0..all.len().div_ceil(10), to)
    }

    fn labelled(&self, label: usize) -> String {
        let all = (0..PAGES + POSTS).filter(|it| labels(*it).contains(&label));
        all.map(|it| teaser(&self.prose, &self.path(it).show(), &format!("page {it}"))).collect()
    }

    fn page(&self, asked: &Target, page: usize) -> Answer {
        let name = format!("page {page}");
        let tool = |it: &str| to(format!("/pages/{it}.action")).with("pageId", id(page));
        let mut body = String::new();
        let mut parent = above(page);
        while let Some(it) = parent {
            body += &self.link(it);
            parent = above(it);
        }
        body += &text(&self.prose, &name);
        for it in ["viewpageattachments", "viewpreviousversions", "viewinfo", "viewpagesrc"] {
            body += &item(it, &tool(it));
        }
        body +=
            &item("PDF", &to("/spaces/flyingpdf/pdfpageexport.action").with("pageId", id(page)));
        body += &item("Word", &to("/exportword").with("pageId", id(page)));
        body += &Self::changes(page);
        for it in labels(page) {
            let key = SPACES[space(page)];
            body += &item(it, &to(format!("/label/{key}/label-{it}")));
            body += &item(it, &to("/labels/viewlabel.action").with("labelId", it));
        }
        body += &(0..PAGES)
            .filter(|it| above(*it) == Some(page))
            .map(|it| self.link(it))
            .collect::<String>();
        for it in drawn(&format!("links of {name}"), 2, PAGES) {
            body += &item("see", &to("/pages/viewpage.action").with("pageId", id(it)));
        }
        for it in 0..Dice::of(&format!("comments on {page}")).roll(4) {
            let comment = id(page) * 10 + it;
            let own =
                tool("viewpage").with("focusedCommentId", format!("{comment}#comment-{comment}"));
            let user = Dice::of(&format!("writer of {comment}")).roll(USERS);
            body += &item(user, &to(format!("/display/~user/{user}")));
            body += &self.prose.paragraphs(&format!("comment {comment}"), 1);
            body += &item("Permalink", &own);
            body += &item(
                "Reply",
                &tool("viewpage").with("replyToComment", format!("{comment}#comment-{comment}")),
            );
        }
        let html = self.frame(asked, &self.prose.title(&name), &body);
        self.numbers.answer(&name, html)
    }

    fn old_version(&self, asked: &Target, number: usize) -> Option<Answer> {
        let (page, version) = (number / 10, number % 10);
        let name = format!("page {page}");
        if page >= PAGES + POSTS || version == 0 || version >= versions(page) {
            return None;
        }
        let line = self.prose.teaser(&format!("version {version} of {page}"));
        let body = format!("<p>You are viewing an old version.</p><p>{line}</p>");
        let body = self.link(page) + &body + &text(&self.prose, &name);
        let html = self.frame(asked, &self.prose.title(&name), &body);
        Some(Answer::junk(with_head(&html, NOFOLLOW)))
    }

    fn attachments(&self, asked: &Target, page: usize) -> String {
        let sorts = ["name", "size", "creator", "date"];
        let mut body = sorts.map(|it| item(it, &asked.clone().set("sortBy", it))).concat();
        if !page.is_multiple_of(3) {
            return self.link(page) + "<p>No attachments.</p>";
        }
        for it in 0..=(page % 4) {
            body += &item(it, &to(format!("/download/attachments/{}/picture{it}.png", id(page))));
        }
        self.link(page) + &body
    }

    fn history(&self, page: usize) -> String {
        let version = |it: usize| {
            let old = to("/pages/viewpage.action").with("pageId", OLD + page * 10 + it);
            let to = to("/pages/diffpagesbyversion.action").with("pageId", id(page));
            item(format!("v. {it}"), &old)
                + &item(
                    "compare",
                    &to.with("selectedPageVersions", it).with("selectedPageVersions", it + 1),
                )
        };
        self.link(page) + &(1..versions(page)).map(version).collect::<String>()
    }

    fn information(&self, page: usize) -> String {
        let links = drawn(&format!("links of page {page}"), 2, PAGES);
        let changes =
            (1..versions(page)).rev().take(5).map(|it| format!("<p>v. {it} by a user</p>"));
        let tiny = format!("<p>Tiny link: /x/{}</p>", id(page));
        self.link(page)
            + &tiny
            + &links.iter().map(|it| self.link(*it)).collect::<String>()
            + &changes.collect::<String>()
            + &Self::changes(page)
    }

    fn difference(&self, asked: &Target, page: usize) -> Answer {
        let line = |it: usize| self.prose.teaser(&format!("version {it} of {page}"));
        let at = asked.number("selectedPageVersions").unwrap_or(1);
        let body = format!("<p>-{}</p><p>+{}</p>", line(at), line(at + 1)) + &self.link(page);
        Answer::junk(with_head(&self.frame(asked, "Difference", &body), NOFOLLOW))
    }

    fn source(&self, page: usize) -> Answer {
        let name = format!("page {page}");
        let body = text(&self.prose, &name);
        self.numbers.answer(&name, frame(&self.prose, &self.prose.title(&name), "", &body, ""))
    }
}
