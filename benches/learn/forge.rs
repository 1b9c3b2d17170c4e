//! A repository as Gitea and the like show it: what a page is, a segment of its path says.

use crate::{
    false_traps::{Numbers, world},
    prose::Dice,
    repositories::{COMMITS, FILES, NEWEST, Repository, changed, directory},
    software::{drawn, item, sorted},
    target::Target,
    world::{Answer, World},
};

const ISSUES: usize = 200;
const LISTED: usize = 20;
const LABELS: usize = 5;
const TEXT: &str = "text/plain";
const LOGIN: &str = "<p>Sign in with your user name and your password, or register an account.</p>";
const EMPTY: &str = "<p>No results matched your search. Try a different one.</p>";

/// 400 files, 1,500 commits and 200 issues. Each page of a file leads to its versions, its lines with the commits that wrote them and its history;
/// lists of issues have a menu of states, orders and labels, which keep what was chosen.
pub(crate) fn forge() -> World {
    let mut forge = Repository::new();
    let files = (0..FILES).map(|it| format!("file {it}"));
    let commits = (0..COMMITS).map(|it| format!("commit {it}"));
    let names = files.chain(commits).chain((0..ISSUES).map(|it| format!("issue {it}")));
    forge.numbers = Numbers::of(names);
    world("forge", "/o/x", FILES + COMMITS + ISSUES, move |asked| forge.forge(asked))
}

fn at(path: &str) -> Target {
    Target::new(format!("/o/x/{path}"))
}

impl Repository {
    fn forge(&self, asked: &Target) -> Answer {
        let Some(rest) = asked.path.strip_prefix("/o/x") else { return self.outside(asked) };
        let rest: Vec<&str> = rest.split('/').skip(1).collect();
        let (title, body) = match rest[..] {
            [] | ["src", "branch", "main"] => ("x".to_owned(), self.forge_tree("", "branch/main")),
            ["src" | "raw" | "blame" | "commits", kind, of, ..] => {
                return self.forge_file(asked, rest[0], [kind, of], &rest[3..].join("/"));
            }
            ["commit", name] => return self.forge_commit(asked, name),
            ["issues", number] => return self.issue(asked, number),
            ["issues", ..] => ("Issues".to_owned(), self.issues(asked)),
            ["pulls", ..] => ("Pull Requests".to_owned(), EMPTY.to_owned() + &menu(asked)),
            ["activity", ..] => {
                let periods = ["daily", "halfweekly", "weekly", "monthly", "quarterly", "yearly"];
                let periods = periods.map(|it| item(it, &at(&format!("activity/{it}"))));
                let name = rest.get(1).copied().unwrap_or("weekly");
                (format!("Activity {name}"), periods.concat() + EMPTY)
            }
            ["releases" | "tags" | "branches", ..] => {
                let archive = item("main.tar.gz", &at("archive/main.tar.gz"));
                (rest[0].to_owned(), item("main", &at("src/branch/main")) + &archive)
            }
            ["stars" | "watchers" | "forks", ..] => {
                let users = drawn(rest[0], 9, 20);
                let users = users.iter().map(|it| item(it, &Target::new(format!("/user-{it}"))));
                (rest[0].to_owned(), users.collect())
            }
            ["archive", ..] => return Answer::file("application/gzip"),
            _ => return Answer::missing(),
        };
        Answer::junk(self.forge_page(asked, &title, &body))
    }

    /// Pages of users, the list of repositories, and the form to sign in.
    fn outside(&self, asked: &Target) -> Answer {
        let sorts = ["recentupdate", "newest", "oldest", "alphabetically", "moststars"];
        let (title, body) = match asked.path.as_str() {
            "/user/login" => ("Sign In", LOGIN.to_owned()),
            "/explore/repos" => {
                let sorts = sorts.map(|it| item(it, &asked.clone().set("sort", it).set("q", "")));
                ("Explore", item("o/x", &Target::new("/o/x")) + &sorts.concat())
            }
            path if path == "/o" || path.starts_with("/user-") => {
                let tabs = ["repositories", "activity", "stars", "followers"];
                let tabs = tabs.map(|it| item(it, &asked.clone().set("tab", it)));
                ("User", tabs.concat() + &self.prose.teaser(path))
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.forge_page(asked, title, &body))
    }

    fn forge_page(&self, asked: &Target, title: &str, body: &str) -> String {
        let login = Target::new("/user/login").with("redirect_to", asked.path.replace('/', "%2F"));
        let parts = ["issues", "pulls", "releases", "tags", "branches", "activity"];
        let social = ["stars", "watchers", "forks", "commits/branch/main"];
        let parts: String = parts.iter().chain(&social).map(|it| item(it, &at(it))).collect();
        let outside = item("Explore", &Target::new("/explore/repos"))
            + &item("o", &Target::new("/o"))
            + &item("x", &Target::new("/o/x"))
            + &item("Sign In", &login);
        self.page(title, &(outside + &parts), body)
    }

    /// A file or directory as a branch or a commit has it: its text, its lines with their commits, or its history.
    fn forge_file(&self, asked: &Target, view: &str, of: [&str; 2], path: &str) -> Answer {
        let commit = match of {
            ["branch", "main"] => Some(NEWEST),
            ["commit", hash] => self.commit(Some(hash)),
            _ => None,
        };
        let (Some(commit), file) = (commit, self.file(path)) else { return Answer::missing() };
        let of = of.join("/");
        let body = match (view, file) {
            ("commits", _) => self.forge_history(asked, path, commit),
            ("src", Some(file)) => {
                let body = self.views(&of, path) + &self.text(file, commit);
                let html = self.forge_page(asked, path, &body);
                return self.answer_file(file, commit, html);
            }
            ("src", None) if !self.below(path).is_empty() => self.forge_tree(path, &of),
            ("raw", Some(_)) => return Answer::file(TEXT),
            ("blame", Some(file)) => {
                let subject = format!("<p>{}</p>", self.subject(self.changes[file][0]));
                self.views(&of, path) + &subject + &self.text(file, commit)
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.forge_page(asked, &format!("{view} {path}"), &body))
    }

    fn views(&self, of: &str, path: &str) -> String {
        let newest = self.hashes[NEWEST].as_str();
        ["raw", "blame", "commits"].map(|it| item(it, &at(&format!("{it}/{of}/{path}")))).concat()
            + &item("permalink", &at(&format!("src/commit/{newest}/{path}")))
            + &item("directory", &at(&format!("src/{of}/{}", directory(path))))
    }

    fn forge_tree(&self, path: &str, of: &str) -> String {
        let shown: Vec<&str> = match path {
            "" => self.directories(),
            _ => self.below(path).into_iter().map(|it| self.paths[it].as_str()).collect(),
        };
        let one = |it: &&str| item(it, &at(&format!("src/{of}/{it}")));
        item("history", &at(&format!("commits/{of}/{path}")))
            + &shown.iter().map(one).collect::<String>()
    }

    /// Commits of a path in pages, the newest first, each with the path as it had it.
    fn forge_history(&self, asked: &Target, path: &str, commit: usize) -> String {
        let is_in = |it: &usize| {
            path.is_empty() || changed(*it).iter().any(|it| self.paths[*it].starts_with(path))
        };
        let all: Vec<usize> = (0..=commit).rev().filter(is_in).collect();
        let page = asked.number("page").unwrap_or(1).max(1);
        let mut body = String::new();
        for commit in all.iter().skip((page - 1) * LISTED).take(LISTED) {
            let hash = &self.hashes[*commit];
            body += &item(self.subject(*commit), &at(&format!("commit/{hash}")));
            body += &item("view", &at(&format!("src/commit/{hash}/{path}")));
        }
        if all.len() > page * LISTED {
            body += &item("older", &asked.clone().set("page", page + 1));
        }
        if page > 1 {
            body += &item("newer", &asked.clone().set("page", page - 1));
        }
        body
    }

    fn forge_commit(&self, asked: &Target, name: &str) -> Answer {
        let (hash, ending) = name.split_once('.').unwrap_or((name, ""));
        let Some(commit) = self.commit(Some(hash)) else { return Answer::missing() };
        if matches!(ending, "patch" | "diff") {
            return Answer::file(TEXT);
        }
        let before = commit.saturating_sub(1);
        let mut body = self.message(commit) + &self.diffs(before, commit, |_| true);
        for to in [
            format!("commit/{}", self.hashes[before]),
            format!("src/commit/{hash}"),
            format!("commit/{hash}.patch"),
            format!("commit/{hash}.diff"),
        ] {
            body += &item(&to, &at(&to));
        }
        for file in changed(commit) {
            let path = &self.paths[file];
            body += &item(path, &at(&format!("src/commit/{hash}/{path}")));
        }
        for view in ["split", "unified"] {
            body += &item(view, &at(&format!("commit/{hash}")).with("style", view));
        }
        let html = self.forge_page(asked, &self.subject(commit), &body);
        self.numbers.answer(&format!("commit {commit}"), html)
    }

    fn issue(&self, asked: &Target, number: &str) -> Answer {
        let Some(issue) = number.parse().ok().filter(|it| *it < ISSUES) else {
            return Answer::missing();
        };
        let name = format!("issue {issue}");
        let body = self.prose.paragraphs(&name, 3)
            + &item("label", &at("issues").with("labels", label(issue)))
            + &item("author", &Target::new(format!("/user-{}", issue % 20)));
        self.numbers.answer(&name, self.forge_page(asked, &self.prose.title(&name), &body))
    }

    fn issues(&self, asked: &Target) -> String {
        let is_shown = |it: &usize| {
            let state = if it.is_multiple_of(3) { "open" } else { "closed" };
            let is_of = |name: &str, value: &str| match asked.get(name) {
                None | Some("" | "0" | "all") => true,
                Some(asked) => asked == value,
            };
            asked.get("state").unwrap_or("open") == state
                && is_of("labels", &label(*it).to_string())
        };
        let all = sorted(
            (0..ISSUES).filter(is_shown).collect(),
            asked.get("sort").unwrap_or("latest"),
            "d",
        );
        let page = asked.number("page").unwrap_or(1).max(1);
        let shown = all.iter().skip((page - 1) * LISTED).take(LISTED);
        let mut body = menu(asked);
        for issue in shown {
            let name = self.prose.title(&format!("issue {issue}"));
            body += &item(name, &at(&format!("issues/{issue}")));
        }
        let pages =
            (1..=all.len().div_ceil(LISTED)).map(|it| item(it, &asked.clone().set("page", it)));
        body + &pages.collect::<String>()
    }
}

fn label(issue: usize) -> usize {
    1 + Dice::of(&format!("label of {issue}")).roll(LABELS)
}

/// Links that change one choice and keep the others.
fn menu(asked: &Target) -> String {
    let names = ["q", "type", "sort", "state", "labels", "milestone", "assignee", "poster"];
    let defaults = ["", "all", "latest", "open", "", "0", "0", "0"];
    let chosen = names.iter().zip(defaults).fold(Target::new(&asked.path), |to, (name, value)| {
        to.with(name, asked.get(name).unwrap_or(value))
    });
    let labels: Vec<String> = (0..=LABELS).map(|it| it.to_string()).collect();
    let sorts = ["latest", "oldest", "recentupdate", "leastupdate", "mostcomment", "leastcomment"];
    let mut body = String::new();
    for (name, values) in [
        ("state", vec!["open", "closed"]),
        ("sort", sorts.to_vec()),
        ("labels", labels.iter().map(String::as_str).collect()),
        ("type", vec!["all", "created_by", "assigned"]),
    ] {
        body += &values
            .iter()
            .map(|it| item(format!("{name} {it}"), &chosen.clone().set(name, it)))
            .collect::<String>();
    }
    body
}
