//! A wiki as `MediaWiki` has it.

use crate::{
    false_traps::{Numbers, page, world},
    prose::{Dice, Language, Prose},
    software::{NOFOLLOW, NOINDEX, drawn, item, made_up, with_head},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 520;
const ALIASES: usize = 130;
const CATEGORIES: usize = 26;
const CHANGES: usize = 600;
const NOT_LOGGED_IN: &str = "<p>You are not logged in. Your IP address will be publicly visible \
    if you make any edits.</p>";
const MISSING: &str = "<p>You have followed a link to a page that does not exist yet. To create \
    the page, start typing in the box below.</p>";
const LOGIN: &str = "<p>Log in with your username and your password. Forgot your password? Do you \
    not have an account?</p>";
const REGISTER: &str = "<p>Create an account: choose a username and a password, and enter the \
    code that you see in the picture.</p>";
const TODAY: &str = "20240530120000";

#[derive(Debug)]
struct Wiki {
    prose: Prose,
    numbers: Numbers,
    titles: Vec<String>,
    aliases: Vec<String>,
    users: Vec<String>,
}

/// 520 articles with short URLs; each page leads to its source, its sections' sources, its history, information, talk, a view to print, a
/// permanent link, what links here, related changes, and to log in with itself as the page to return to. Histories lead to old revisions and
/// comparisons, lists of changes keep the choices that were made before and add another.
pub(crate) fn mediawiki() -> World {
    let titles = made_up("title", ARTICLES, "_");
    let numbers = Numbers::of(titles.iter().cloned());
    let wiki = Wiki {
        prose: Prose::new(Language::English),
        numbers,
        titles,
        aliases: made_up("alias", ALIASES, "_"),
        users: made_up("user", 40, ""),
    };
    world("mediawiki", "/index.php/Main_Page", ARTICLES, move |asked| wiki.answer(asked))
}

fn short(title: &str) -> Target {
    Target::new(format!("/index.php/{title}"))
}

fn long(title: &str) -> Target {
    Target::new("/index.php").with("title", title)
}

impl Wiki {
    fn answer(&self, asked: &Target) -> Answer {
        let title = asked.path.strip_prefix("/index.php/").or(asked.get("title"));
        let title = title.unwrap_or("Main_Page");
        let about = title.replace('_', " ");
        let (name, body) = match asked.get("action").unwrap_or_default() {
            _ if title.starts_with("Special:") => return self.special(asked, title),
            "edit" => (format!("Editing {about}"), self.source(asked, title)),
            _ if self.revisions(title) == 0 => return Answer::missing(),
            "history" => (format!("Revision history of {about}"), self.history(asked, title)),
            "info" => {
                let mut dice = Dice::of(title);
                let rows = ["Page length", "Page ID", "Number of views", "Number of redirects"]
                    .map(|row| format!("<p>{row} {}</p>", dice.roll(90_000)));
                (format!("Information for {about}"), rows.concat())
            }
            _ => return self.view(asked, title),
        };
        Answer::junk(with_head(&self.skin(asked, title, &name, &body), NOFOLLOW))
    }

    /// How many revisions a page has; none if there is no such page.
    fn revisions(&self, title: &str) -> usize {
        let mut dice = Dice::of(title);
        match title.split_once(':') {
            Some(("Talk", _)) => usize::from(dice.roll(4) == 0) * (1 + dice.roll(5)),
            Some(("User" | "User_talk", _)) => usize::from(dice.roll(2) == 0),
            Some(("Category" | "Project", _)) => 1,
            _ if self.aliases.iter().any(|it| it == title) => 1,
            _ if title == "Main_Page" || self.titles.iter().any(|it| it == title) => {
                1 + dice.roll(12)
            }
            _ => 0,
        }
    }

    fn id(title: &str, revision: usize) -> usize {
        (1 + Dice::of(&format!("id {title}")).roll(60_000)) * 16 + revision
    }

    /// An entry for a page that may be missing.
    fn to_page(&self, title: &str) -> String {
        let missing = long(title).with("action", "edit").with("redlink", 1);
        let to = if self.revisions(title) == 0 { missing } else { short(title) };
        item(title.replace('_', " "), &to)
    }

    fn skin(&self, asked: &Target, title: &str, name: &str, body: &str) -> String {
        let mut login = long("Special:UserLogin").with("returnto", title);
        let query: Vec<String> = (asked.parameters.iter().filter(|(name, _)| name != "title"))
            .map(|(name, value)| format!("{name}%3D{value}"))
            .collect();
        if !query.is_empty() {
            login = login.with("returntoquery", query.join("%26"));
        }
        let print = long(title);
        let asked = (asked.parameters.iter().filter(|(name, _)| name != "title"))
            .fold(print, |to, (name, value)| to.with(name, value));
        let mut menu = item("Create account", &login.clone().set("title", "Special:CreateAccount"))
            + &item("Log in", &login)
            + &item("Recent changes", &short("Special:RecentChanges"))
            + &item("Random page", &short("Special:Random"))
            + &item("Special pages", &short("Special:SpecialPages"))
            + &item("Printable version", &asked.set("printable", "yes"));
        if !title.starts_with("Special:") {
            let newest = self.revisions(title).saturating_sub(1);
            let subject = title.split_once(':').map_or(title, |(_, subject)| subject);
            menu += &(self.to_page(&format!("Talk:{subject}"))
                + &item("Page", &short(title))
                + &item("Edit", &long(title).with("action", "edit"))
                + &item("View history", &long(title).with("action", "history"))
                + &item("What links here", &short(&format!("Special:WhatLinksHere/{title}")))
                + &item(
                    "Related changes",
                    &short(&format!("Special:RecentChangesLinked/{title}")),
                )
                + &item("Permanent link", &long(title).with("oldid", Self::id(title, newest)))
                + &item("Page information", &long(title).with("action", "info")));
        }
        menu += &["About", "Privacy_policy", "General_disclaimer"]
            .map(|it| item(it, &short(&format!("Project:{it}"))))
            .concat();
        page(&self.prose, name, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    /// The text of a revision: the first sentence is what changed last.
    fn text(&self, title: &str, revision: usize) -> String {
        let changed = self.prose.teaser(&format!("{title} {revision}"));
        format!("<p>{changed}</p>{}", self.prose.paragraphs(title, 4))
    }

    fn linked(title: &str) -> Vec<usize> {
        drawn(&format!("links of {title}"), 7, ARTICLES)
    }

    fn view(&self, asked: &Target, title: &str) -> Answer {
        let alias = self.aliases.iter().position(|it| it == title);
        let shown = alias.map_or(title, |it| &self.titles[it]);
        let newest = self.revisions(shown) - 1;
        let is_diff = asked.get("diff").is_some();
        let revision = asked.number("diff").or(asked.number("oldid"));
        let revision = revision.map_or(newest, |id| id % 16).min(newest);
        let mut body = String::new();
        if is_diff {
            let before = asked.number("oldid").map_or(0, |id| id % 16);
            for (sign, at) in [("-", before), ("+", revision)] {
                body += &format!("<p>{sign} {}</p>", self.prose.teaser(&format!("{shown} {at}")));
            }
        }
        if alias.is_some() {
            body += &("Redirected from ".to_owned()
                + &item(title, &long(title).with("redirect", "no")));
        }
        body += &self.text(shown, revision);
        for section in 1..=3 {
            let edit = long(shown).with("action", "edit").with("section", section);
            body += &item("edit", &edit);
        }
        if let Some(category) = title.strip_prefix("Category:") {
            body += &self.members(asked, category);
        } else {
            body += &Self::linked(shown)
                .iter()
                .map(|it| self.to_page(&self.titles[*it]))
                .collect::<String>();
            body += &self.to_page(&format!("Wanted_{}", Dice::of(shown).roll(200)));
            body += &drawn(&format!("aliases in {shown}"), 2, ALIASES)
                .iter()
                .map(|it| self.to_page(&self.aliases[*it]))
                .collect::<String>();
            body += &item("Categories", &short("Special:Categories"));
            body +=
                &Self::categories(shown).map(|it| self.to_page(&format!("Category:{it}"))).concat();
        }
        let html = self.skin(asked, title, &shown.replace('_', " "), &body);
        let is_print = asked.get("printable").is_some();
        if is_diff || revision < newest || asked.get("oldid").is_some() {
            let html = with_head(&html, NOFOLLOW);
            let is_newest = revision == newest && !is_diff;
            return if is_newest { self.numbers.answer(shown, html) } else { Answer::junk(html) };
        }
        self.numbers.answer(shown, if is_print { with_head(&html, NOINDEX) } else { html })
    }
}

impl Wiki {
    fn source(&self, asked: &Target, title: &str) -> String {
        if self.revisions(title) == 0 {
            return [MISSING, NOT_LOGGED_IN].concat();
        }
        let section = asked.number("section").unwrap_or_default();
        let source = self.text(title, self.revisions(title) - 1);
        let source: String = source.split_inclusive("</p>").skip(section).collect();
        format!("{NOT_LOGGED_IN}<textarea>{source}</textarea>")
    }

    fn history(&self, asked: &Target, title: &str) -> String {
        let newest = self.revisions(title) - 1;
        let mut body: String = [20, 50, 100, 250, 500]
            .map(|it| item(it, &long(title).with("action", "history").with("limit", it)))
            .concat();
        body += &item("oldest", &long(title).with("action", "history").with("dir", "prev"));
        let script = asked.get("curid").map_or(long(title), |it| long(title).with("curid", it));
        for revision in (0..=newest).rev() {
            let old = script.clone().with("oldid", Self::id(title, revision));
            let diff = |from: usize, to: usize| {
                let diff = script.clone().with("diff", Self::id(title, to));
                diff.with("oldid", Self::id(title, from))
            };
            body += &item("cur", &diff(revision, newest));
            body += &item("prev", &diff(revision.saturating_sub(1), revision));
            body += &item(format!("{revision} May 2024"), &old);
            let before = Self::id(title, revision.saturating_sub(1));
            let undo = long(title).with("action", "edit").with("undoafter", before);
            body += &item("undo", &undo.with("undo", Self::id(title, revision)));
            body += &self.by(&format!("{title} {revision}"));
        }
        body
    }

    /// The user who made a change, and what is said of it.
    fn by(&self, change: &str) -> String {
        let user = &self.users[drawn(change, 1, self.users.len())[0]];
        let talk = self.to_page(&format!("User_talk:{user}"));
        let contributions = item("contribs", &short(&format!("Special:Contributions/{user}")));
        let comment = self.prose.title(&format!("comment on {change}"));
        self.to_page(&format!("User:{user}")) + &talk + &contributions + &comment
    }

    /// Two categories of each page, the first of which half of all articles have.
    fn categories(title: &str) -> [usize; 2] {
        let mut dice = Dice::of(&format!("categories of {title}"));
        [dice.roll(2) * (1 + dice.roll(CATEGORIES - 1)), 1 + dice.roll(CATEGORIES - 1)]
    }

    /// 200 members of a category, from a title on or up to one.
    fn members(&self, asked: &Target, category: &str) -> String {
        const LISTED: usize = 200;
        let category: usize = category.parse().unwrap_or_default();
        let mut all: Vec<&String> =
            self.titles.iter().filter(|it| Self::categories(it).contains(&category)).collect();
        all.sort();
        let from = asked.get("pagefrom").unwrap_or_default();
        let start = match asked.get("pageuntil") {
            Some(until) => all.partition_point(|it| it.as_str() < until).saturating_sub(LISTED),
            None => all.partition_point(|it| it.as_str() < from),
        };
        let script = || long(&format!("Category:{category}"));
        let mut body = String::new();
        if start > 0 {
            body += &item("previous page", &script().with("pageuntil", all[start]));
        }
        if let Some(next) = all.get(start + LISTED) {
            body += &item("next page", &script().with("pagefrom", next));
        }
        body + &all.iter().skip(start).take(LISTED).map(|it| self.to_page(it)).collect::<String>()
    }

    fn special(&self, asked: &Target, title: &str) -> Answer {
        let (name, of) = title.split_once('/').unwrap_or((title, ""));
        let all = |shown: &dyn Fn(&String) -> bool| {
            self.titles.iter().filter(|it| shown(it)).map(|it| self.to_page(it)).collect::<String>()
        };
        let body = match name {
            "Special:Random" => return Answer::redirect(short(&self.titles[7]).show()),
            "Special:RecentChanges" => self.changes(asked, title, &|_| true),
            "Special:RecentChangesLinked" => {
                let linked = Self::linked(of);
                self.changes(asked, title, &|it| linked.contains(&it))
            }
            "Special:WhatLinksHere" => self.links_here(asked, title, of),
            "Special:Contributions" => {
                let is_own = |it: usize| Dice::of(of).roll(9) == it % 9;
                let limits = [20, 50, 100, 250, 500].map(|it| {
                    item(it, &long(title).with("offset", "").with("limit", it).with("target", of))
                });
                let log = item("logs", &long("Special:Log").with("user", of));
                limits.concat() + &log + &self.changes(asked, title, &is_own)
            }
            "Special:Categories" => {
                (0..CATEGORIES).map(|it| self.to_page(&format!("Category:{it}"))).collect()
            }
            "Special:AllPages" => {
                let from = asked.get("from").unwrap_or_default();
                let letters = ["B", "F", "M", "S"]
                    .map(|it| item(it, &long(title).with("from", it.to_lowercase())));
                letters.concat() + &all(&|it| it.as_str() >= from)
            }
            "Special:SpecialPages" => ["AllPages", "Categories", "RecentChanges", "Log"]
                .map(|it| item(it, &short(&format!("Special:{it}"))))
                .concat(),
            "Special:Log" => "<p>No matching items in log.</p>".to_owned(),
            "Special:UserLogin" => LOGIN.to_owned(),
            _ => REGISTER.to_owned(),
        };
        let name = title.trim_start_matches("Special:").replace('_', " ");
        Answer::junk(with_head(&self.skin(asked, title, &name, &body), NOFOLLOW))
    }

    /// Changes of articles, as chosen; each further choice is put before those that were made.
    fn changes(&self, asked: &Target, title: &str, is_shown: &dyn Fn(usize) -> bool) -> String {
        const HIDE: [&str; 6] =
            ["hideminor", "hidebots", "hideanons", "hideliu", "hidemyself", "hidecategorization"];
        let choose = |name: &str, value: &str| {
            let made = asked.parameters.iter().filter(|(it, _)| it != "title" && it != name);
            made.fold(long(title).with(name, value), |to, (name, value)| to.with(name, value))
        };
        let mut body = String::new();
        for (name, values) in [
            ("limit", &["50", "100", "250", "500"][..]),
            ("days", &["1", "3", "7", "14", "30"]),
            ("from", &[TODAY]),
        ] {
            body += &values.iter().map(|it| item(it, &choose(name, it))).collect::<String>();
        }
        for name in HIDE {
            let value = if asked.get(name) == Some("1") { "0" } else { "1" };
            body += &item(name, &choose(name, value));
        }
        let days = asked.number("days").unwrap_or(7);
        let is_hidden = |change: usize| {
            HIDE.iter().any(|name| {
                let default = if *name == "hidebots" { "1" } else { "0" };
                asked.get(name).unwrap_or(default) == "1"
                    && Dice::of(&format!("{name} {change}")).roll(5) == 0
            })
        };
        let changes = (0..CHANGES).filter(|it| {
            let article = Self::changed(*it);
            *it < days * CHANGES / 30 && is_shown(article) && !is_hidden(*it)
        });
        let shown =
            if asked.get("from").is_some() { 0 } else { asked.number("limit").unwrap_or(50) };
        for change in changes.take(shown) {
            let title = &self.titles[Self::changed(change)];
            let newest = self.revisions(title) - 1;
            let script = long(title).with("curid", Self::id(title, 0) / 16);
            let before = Self::id(title, newest.saturating_sub(1));
            let diff = script.clone().with("diff", Self::id(title, newest)).with("oldid", before);
            body += &(item("diff", &diff) + &item("hist", &script.with("action", "history")));
            body += &(self.to_page(title) + &self.by(&format!("{title} {newest}")));
        }
        body
    }

    fn changed(change: usize) -> usize {
        drawn(&format!("change {change}"), 1, ARTICLES)[0]
    }

    fn links_here(&self, asked: &Target, title: &str, of: &str) -> String {
        let target = self.titles.iter().position(|it| it == of);
        let choose = |name: &str, value: usize| {
            let made = asked.parameters.iter().filter(|(it, _)| it != "title" && it != name);
            made.fold(long(title).with(name, value), |to, (name, value)| to.with(name, value))
        };
        let mut body = [20, 50, 100, 250, 500].map(|it| item(it, &choose("limit", it))).concat();
        for name in ["hideredirs", "hidetrans", "hidelinks"] {
            body += &item(name, &choose(name, 1 - asked.number(name).unwrap_or_default().min(1)));
        }
        let titles = self.titles.iter().filter(|it| {
            asked.get("hidelinks") != Some("1")
                && target.is_some_and(|target| Self::linked(it).contains(&target))
        });
        for title in titles {
            body += &self.to_page(title);
            body += &item("links", &short(&format!("Special:WhatLinksHere/{title}")));
            body += &item("edit", &long(title).with("action", "edit"));
        }
        body
    }
}
