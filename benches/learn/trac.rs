//! A project as Trac has it: a wiki, tickets, a repository, and a timeline of them all.

use std::fmt::Write;

use crate::{
    false_traps::{Numbers, world},
    more_software::{beginning, frame, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{NOFOLLOW, drawn, item, made_up, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const PAGES: usize = 120;
const TICKETS: usize = 250;
pub(crate) const REVISIONS: usize = 150;
pub(crate) const FILES: usize = 80;
const MILESTONES: usize = 8;
const COMPONENTS: usize = 6;
const USERS: usize = 12;
const TODAY: usize = 1_500;
const COLUMNS: [&str; 7] = ["id", "summary", "status", "owner", "type", "priority", "milestone"];

/// 120 pages of a wiki, 250 tickets, 150 changesets and 80 files. All that has a date leads to the timeline at this second; the timeline goes
/// back without end. Pages and tickets have versions with their differences, files and directories have revisions and logs of them.
/// Queries have seven orders in both directions; people and states of tickets lead to queries.
pub(crate) fn trac() -> World {
    let kinds = [("page", PAGES), ("ticket", TICKETS), ("changeset", REVISIONS), ("file", FILES)];
    let names = kinds
        .into_iter()
        .flat_map(|(kind, count)| (0..count).map(move |it| format!("{kind} {it}")));
    let directories = made_up("directory of a project", 8, "_");
    let files = made_up("file of a project", FILES, "_").into_iter().enumerate();
    let project = Trac {
        prose: Prose::new(Language::English),
        numbers: Numbers::of(names),
        pages: made_up("Page of Trac", PAGES, "/"),
        files: files.map(|(it, name)| format!("trunk/{}/{name}.py", directories[it % 8])).collect(),
        users: made_up("developer", USERS, "."),
    };
    let pages = PAGES + TICKETS + REVISIONS + FILES;
    world("trac", "/wiki", pages, move |asked| {
        project.answer(asked).unwrap_or_else(Answer::missing)
    })
}

#[derive(Debug)]
pub(crate) struct Trac {
    pub(crate) prose: Prose,
    pub(crate) numbers: Numbers,
    pages: Vec<String>,
    pub(crate) files: Vec<String>,
    users: Vec<String>,
}

pub(crate) fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

fn roll(name: &str, of: usize) -> usize {
    Dice::of(name).roll(of)
}

fn show_day(day: usize) -> String {
    format!("{}-{:02}-{:02}", 2019 + day / 360, day % 360 / 30 + 1, day % 30 + 1)
}

fn read_day(date: &str) -> Option<usize> {
    let mut parts = date.get(..10)?.split('-').map(|it| it.parse::<usize>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    Some((year.checked_sub(2019)? * 12 + month.checked_sub(1)?) * 30 + day.checked_sub(1)?)
}

/// When something was done, with the link to the timeline.
pub(crate) fn when(name: &str) -> String {
    let (day, second) = (roll(&format!("day of {name}"), TODAY), roll(name, 86_400));
    let time = format!("{:02}%3A{:02}%3A{:02}Z", second / 3_600, second / 60 % 60, second % 60);
    let from = format!("{}T{time}", show_day(day));
    item("ago", &to("/timeline").with("from", from).with("precision", "second"))
}

fn versions(page: usize) -> usize {
    1 + roll(&format!("versions of page {page}"), 8)
}

fn comments(ticket: usize) -> usize {
    roll(&format!("comments on ticket {ticket}"), 7)
}

fn milestone(ticket: usize) -> usize {
    roll(&format!("milestone of ticket {ticket}"), MILESTONES)
}

pub(crate) fn changed(revision: usize) -> Vec<usize> {
    drawn(&format!("files in changeset {revision}"), 3, FILES)
}

pub(crate) fn changeset(revision: usize, path: &str) -> String {
    item(format!("[{}]", revision + 1), &to(format!("/changeset/{}{path}", revision + 1)))
}

impl Trac {
    fn answer(&self, asked: &Target) -> Option<Answer> {
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        if asked.get("format").is_some() {
            return Some(Answer::file("text/plain"));
        }
        let below = parts.get(1..).unwrap_or_default().join("/");
        let number =
            |of: usize| parts.get(1)?.parse::<usize>().ok()?.checked_sub(1).filter(|it| *it < of);
        let (head, body) = match &parts[..] {
            ["export" | "raw-attachment" | "zip-attachment", ..] => {
                return Some(Answer::file("application/octet-stream"));
            }
            ["wiki", "TitleIndex"] => ("", (0..PAGES).map(|it| self.page_link(it)).collect()),
            [] | ["wiki"] => return Some(self.wiki(asked, 0)),
            ["wiki", ..] => {
                return Some(self.wiki(asked, self.pages.iter().position(|it| *it == below)?));
            }
            ["ticket", _] => return Some(self.ticket(asked, number(TICKETS)?)),
            ["changeset", _, rest @ ..] => return Some(self.changeset(number(REVISIONS)?, rest)),
            ["browser", ..] => return self.browser(asked, &below),
            ["log", ..] => ("", self.log(asked, &below)),
            ["timeline"] => ("", self.timeline(asked)?),
            ["query"] => ("", self.query(asked)),
            ["report", _] => ("", self.report(asked, number(9)? + 1)),
            ["report"] => ("", (1..9).map(|it| item(it, &to(format!("/report/{it}")))).collect()),
            ["roadmap"] => ("", (0..MILESTONES).map(Self::milestone).collect::<String>()),
            ["milestone", it] => ("", Self::milestone(it.parse().ok()?)),
            ["attachment", ..] => ("", "<p>Picture of the problem. 12 KB. Download.</p>".into()),
            ["search" | "login" | "prefs" | "about", ..] => {
                ("", "<p>Changesets. Milestones. Tickets. Wiki. Search.</p>".to_owned())
            }
            _ => return None,
        };
        Some(Answer::junk(with_head(&self.frame(&below, &body), head)))
    }

    pub(crate) fn frame(&self, title: &str, body: &str) -> String {
        let menu = [
            "/login",
            "/prefs",
            "/about",
            "/wiki",
            "/timeline",
            "/roadmap",
            "/browser",
            "/report",
            "/search",
            "/wiki/TitleIndex",
        ];
        let menu: String = menu.iter().map(|it| item(it, &to(*it))).collect();
        frame(&self.prose, title, &menu, body, &self.page_link(1))
    }

    /// A link in the running text, in each of the forms that the wiki has.
    fn mention(&self, name: &str) -> String {
        let it = roll(&format!("mentioned in {name}"), 10_000);
        match it % 5 {
            0 => self.page_link(it % PAGES),
            1 => item("ticket", &to(format!("/ticket/{}", it % TICKETS + 1))),
            2 => changeset(it % REVISIONS, ""),
            3 => {
                let to = to(format!("/browser/{}", self.files[it % FILES]));
                item("source", &to.with("rev", it % REVISIONS + 1))
            }
            _ => item("comment", &to(format!("/ticket/{}#comment:1", it % TICKETS + 1))),
        }
    }

    fn page_link(&self, page: usize) -> String {
        item(&self.pages[page], &to(format!("/wiki/{}", self.pages[page])))
    }

    fn wiki(&self, asked: &Target, page: usize) -> Answer {
        let (name, own) = (format!("page {page}"), to(format!("/wiki/{}", self.pages[page])));
        let newest = versions(page);
        let version = asked.number("version").unwrap_or(newest).clamp(1, newest);
        let line = |it: usize| self.prose.teaser(&format!("version {it} of page {page}"));
        let at = |it: usize| own.clone().with("version", it);
        let edited = |it: usize| when(&format!("version {it} of page {page}"));
        let mut body = String::new();
        match asked.get("action") {
            Some("diff") => {
                body += &format!("<p>-{}</p><p>+{}</p>", line(version - 1), line(version));
                let diff = own.clone().with("action", "diff");
                body += &item("Previous", &diff.with("version", version - 1));
            }
            Some("history") => {
                for it in (1..=newest).rev() {
                    body += &(item(it, &at(it)) + &edited(it));
                }
            }
            _ => {
                let action = |it: &str| own.clone().with("action", it);
                body += &item("History", &action("history"));
                body += &item("diff", &action("diff").with("version", version));
                let _ = write!(body, "<p>{}</p>", line(version));
                body += &(text(&self.prose, &name) + &edited(version));
                for it in 0..4 {
                    body += &self.mention(&format!("{name} {it}"));
                }
                for it in drawn(&format!("files of {name}"), page % 3, 100) {
                    let file = format!("/wiki/{}/picture-{it}.png", self.pages[page]);
                    body += &item(it, &to(format!("/attachment{file}")));
                    body += &item("Download", &to(format!("/raw-attachment{file}")));
                }
                body += &nofollow("Plain Text", &own.clone().with("format", "txt"));
            }
        }
        let html = self.frame(&self.pages[page], &body);
        if asked.get("action").is_some() || asked.get("version").is_some() {
            return Answer::junk(with_head(&html, NOFOLLOW));
        }
        self.numbers.answer(&name, html)
    }

    fn find(&self, user: usize, role: &str) -> String {
        item(
            &self.users[user],
            &to("/query").with("status", "!closed").with(role, &self.users[user]),
        )
    }

    fn ticket(&self, asked: &Target, ticket: usize) -> Answer {
        let (name, own) = (format!("ticket {ticket}"), to(format!("/ticket/{}", ticket + 1)));
        let roll = |kind: &str, of: usize| roll(&format!("{kind} of {name}"), of);
        if asked.get("action").is_some() {
            let line = |it: usize| self.prose.teaser(&format!("change {it} of {name}"));
            let body = format!("<p>-{}</p><p>+{}</p>", line(0), line(1));
            return Answer::junk(with_head(&self.frame(&name, &body), NOFOLLOW));
        }
        let mut body = when(&name) + &self.find(roll("reporter", USERS), "reporter");
        body += &self.find(roll("owner", USERS), "owner");
        let component = roll("component", COMPONENTS);
        for (field, value) in [("component", component), ("priority", roll("priority", 5))] {
            body += &item(value, &to("/query").with("status", "!closed").with(field, value));
        }
        body += &item("milestone", &to(format!("/milestone/{}", milestone(ticket))));
        body += &(text(&self.prose, &name) + &self.mention(&name));
        for it in 1..=comments(ticket) {
            let comment = format!("comment {it} on {name}");
            body += &(when(&comment) + &item(it, &to(format!("{}#comment:{it}", own.path))));
            body += &self.prose.paragraphs(&comment, 1);
            if it % 3 == 0 {
                body += &self.mention(&comment);
            }
            if Dice::of(&comment).roll(12) == 0 {
                let at = own.clone().with("cnum_hist", it);
                body += &item("previous", &at.with("cversion", 0));
                let diff = own.clone().with("action", "comment-diff").with("cnum", it);
                body += &item("diff", &diff.with("version", 1));
            }
        }
        if ticket.is_multiple_of(4) {
            body += &item("diff", &own.clone().with("action", "diff").with("version", 1));
        }
        body += &nofollow("CSV", &own.clone().with("format", "csv"));
        self.numbers.answer(&name, self.frame(&self.prose.title(&name), &body))
    }

    fn milestone(milestone: usize) -> String {
        let query = |status: &str| {
            let to = to("/query").with("status", status).with("group", "resolution");
            item(status, &to.with("milestone", milestone))
        };
        let own = item(milestone, &to(format!("/milestone/{milestone}")));
        let groups: String = (0..3)
            .map(|it| {
                let by = ["component", "owner", "version"][it];
                item(by, &to(format!("/milestone/{milestone}")).with("by", by))
            })
            .collect();
        own + &query("closed") + &query("!closed") + &groups
    }

    fn rows(&self, tickets: &[usize]) -> String {
        let row = |ticket: &usize| {
            let own = to(format!("/ticket/{}", ticket + 1));
            let title = self.prose.title(&format!("ticket {ticket}"));
            item(format!("#{}", ticket + 1), &own) + &item(title, &own)
        };
        tickets.iter().map(row).collect()
    }

    fn query(&self, asked: &Target) -> String {
        let is = |name: &str, value: String| asked.get(name).is_none_or(|it| it == value);
        let of =
            |ticket: usize, kind: &str, of: usize| roll(&format!("{kind} of ticket {ticket}"), of);
        let matches = |it: &usize| {
            is("reporter", self.users[of(*it, "reporter", USERS)].clone())
                && is("owner", self.users[of(*it, "owner", USERS)].clone())
                && is("component", of(*it, "component", COMPONENTS).to_string())
                && is("priority", of(*it, "priority", 5).to_string())
                && is("milestone", milestone(*it).to_string())
        };
        let all: Vec<usize> = (0..TICKETS).filter(matches).collect();
        let (order, desc) = (asked.get("order").unwrap_or("priority"), asked.get("desc"));
        let all = sorted(all, order, if desc.is_some() { "desc" } else { "asc" });
        let base = asked.clone().without("order").without("desc").without("page").without("col");
        let base = COLUMNS.iter().fold(base, |to, it| to.with("col", it));
        let mut body = String::new();
        for column in COLUMNS {
            let to = base.clone().with("order", column);
            let turned = order == column && desc.is_none();
            body += &item(column, &if turned { to.with("desc", 1) } else { to });
        }
        let at = asked.number("page").unwrap_or(1).max(1);
        let to = |it| asked.clone().without("page").with("page", it);
        body += &self.rows(&shown(&all, at - 1, 100));
        body += &pager(at, 1..all.len().div_ceil(100) + 1, to);
        body + &nofollow("CSV", &asked.clone().with("format", "csv"))
    }

    fn report(&self, asked: &Target, report: usize) -> String {
        let all = (0..TICKETS).filter(|it| report == 1 || it % 8 == report - 1).collect();
        let (sort, asc) = (asked.get("sort").unwrap_or("ticket"), asked.get("asc") == Some("1"));
        let all = sorted(all, sort, if asc { "asc" } else { "desc" });
        let own = to(format!("/report/{report}"));
        let at = asked.number("page").unwrap_or(1).max(1);
        let sorts = ["ticket", "summary", "component", "version", "milestone", "type", "owner"];
        let asc = usize::from(!asc);
        let sorts = sorts.map(|it| item(it, &own.clone().with("sort", it).with("asc", asc)));
        let to = |it| asked.clone().without("page").with("page", it);
        let list = self.rows(&shown(&all, at - 1, 100));
        sorts.concat() + &list + &pager(at, 1..all.len().div_ceil(100) + 1, to)
    }

    /// Thirty days until one.
    fn timeline(&self, asked: &Target) -> Option<String> {
        let until = asked.get("from").map_or(Some(TODAY), read_day)?;
        let mut body = String::new();
        let happened = |name: &str| {
            let day = roll(&format!("day of {name}"), TODAY);
            day <= until && day + 30 > until
        };
        for page in 0..PAGES {
            for it in 1..=versions(page) {
                if happened(&format!("version {it} of page {page}")) {
                    let own = to(format!("/wiki/{}", self.pages[page]));
                    body += &item(&self.pages[page], &own.clone().with("version", it));
                    body += &item("diff", &own.with("action", "diff").with("version", it));
                }
            }
        }
        for it in (0..TICKETS).filter(|it| happened(&format!("ticket {it}"))) {
            body += &item(format!("Ticket {it}"), &to(format!("/ticket/{}", it + 1)));
            body += &beginning(&text(&self.prose, &format!("ticket {it}")));
        }
        for it in (0..REVISIONS).filter(|it| happened(&format!("changeset {it}"))) {
            body +=
                &(changeset(it, "") + &beginning(&text(&self.prose, &format!("changeset {it}"))));
        }
        for step in [-30_isize, 30] {
            let Some(day) = until.checked_add_signed(step).filter(|it| *it <= TODAY) else {
                continue;
            };
            let to = to("/timeline").with("from", show_day(day)).with("daysback", 30);
            body += &item("Period", &to.with("author", ""));
        }
        Some(body)
    }

    fn changeset(&self, revision: usize, rest: &[&str]) -> Answer {
        let name = format!("changeset {revision}");
        let mut body = when(&name);
        for near in [revision.checked_sub(1), Some(revision + 1).filter(|it| *it < REVISIONS)] {
            body += &near.map_or_else(String::new, |it| changeset(it, ""));
        }
        body += &(text(&self.prose, &name) + &self.mention(&name));
        for file in changed(revision) {
            let own = to(format!("/browser/{}", self.files[file]));
            body += &item(&self.files[file], &own.clone().with("rev", revision + 1));
            body += &item("previous", &own.with("rev", revision));
            let line = self.prose.teaser(&format!("line {revision} of file {file}"));
            let _ = write!(body, "<p>+{line}</p>");
        }
        body += &nofollow(
            "Unified Diff",
            &to(format!("/changeset/{}", revision + 1)).with("format", "diff"),
        );
        let title = self.prose.title(&name) + &rest.join("/");
        self.numbers.answer(&name, self.frame(&title, &body))
    }
}
