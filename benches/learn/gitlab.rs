//! A project as GitLab has it, as far as a visitor who is not logged in sees it without scripts.

use std::fmt::Write;

use crate::{
    false_traps::{Numbers, world},
    more_software::{frame, obeying, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{drawn, item, made_up, sorted},
    target::Target,
    world::{Answer, World},
};

const FILES: usize = 120;
const COMMITS: usize = 150;
const ISSUES: usize = 250;
const REQUESTS: usize = 80;
const PAGES: usize = 40;
const LABELS: usize = 14;
const USERS: usize = 15;
const MILESTONES: usize = 6;
const TAGS: usize = 8;
const OWN: &str = "/orchard/pear";
const ROBOTS: [&str; 16] = [
    "/search",
    "/help",
    "/users/",
    "/*/*.git",
    "/*/-/archive/",
    "/*/*/activity",
    "/*/*/new",
    "/*/*/edit",
    "/*/*/raw",
    "/*/*/blame",
    "/*/*/commits/*/*",
    "/*/*/compare",
    "/*/*/network",
    "/*/*/graphs",
    "/*/*/merge_requests/*/diffs",
    "/*/project_members",
];

/// 120 files, 150 commits, 250 issues, 80 merge requests and 40 pages of a wiki. The texts to be found are these. A commit leads to the tree
/// and to its files as they were, a tag to the tree of its commit; commits are shown in two columns and without white space. Lists of issues
/// and of merge requests have states, labels, authors, milestones and orders, which are kept. Pages of the wiki have versions.
pub(crate) fn gitlab() -> World {
    let kinds = [
        ("file", FILES),
        ("commit", COMMITS),
        ("issue", ISSUES),
        ("request", REQUESTS),
        ("page", PAGES),
    ];
    let names = kinds
        .into_iter()
        .flat_map(|(kind, count)| (0..count).map(move |it| format!("{kind} {it}")));
    let folders = made_up("folder of gitlab", 12, "/");
    let files = made_up("file of gitlab", FILES, "_").into_iter().enumerate();
    let project = GitLab {
        prose: Prose::new(Language::English),
        numbers: Numbers::of(names),
        files: files.map(|(it, name)| format!("{}/{name}.rb", folders[it % 12])).collect(),
        hashes: (0..COMMITS).map(|it| Dice::of(&format!("gitlab {it}")).hex(40)).collect(),
        pages: made_up("page of gitlab", PAGES, "-"),
        users: made_up("user of gitlab", USERS, "."),
    };
    let pages = kinds.iter().map(|it| it.1).sum();
    let answer = move |asked: &Target| project.answer(asked).unwrap_or_else(Answer::missing);
    obeying(world("gitlab", OWN, pages, answer), &ROBOTS)
}

#[derive(Debug)]
struct GitLab {
    prose: Prose,
    numbers: Numbers,
    files: Vec<String>,
    hashes: Vec<String>,
    pages: Vec<String>,
    users: Vec<String>,
}

fn to(rest: &str) -> Target {
    Target::new(format!("{OWN}/-/{rest}"))
}

fn changed(commit: usize) -> Vec<usize> {
    drawn(&format!("files in {commit}"), 1 + commit % 3, FILES)
}

/// The commit that made the version of a file that a commit has.
fn version(file: usize, commit: usize) -> usize {
    (1..=commit).rev().find(|it| changed(*it).contains(&file)).unwrap_or(0)
}

fn labels(kind: &str, it: usize) -> Vec<usize> {
    drawn(&format!("labels of {kind} {it}"), it % 3, LABELS)
}

fn property(name: &str, kind: &str, it: usize, of: usize) -> usize {
    Dice::of(&format!("{name} of {kind} {it}")).roll(of)
}

impl GitLab {
    fn answer(&self, asked: &Target) -> Option<Answer> {
        if let Some(user) = self.users.iter().find(|it| asked.path == format!("/{it}")) {
            let body =
                format!("<p>{user}. Member since. Overview. Activity. Groups. Snippets.</p>");
            return Some(Answer::junk(self.page(user, &body)));
        }
        let Some(path) = asked.path.strip_prefix(&format!("{OWN}/-/")) else {
            return self.outside(asked);
        };
        let parts: Vec<&str> = path.split('/').collect();
        let number =
            |of: usize| parts.get(1)?.parse::<usize>().ok()?.checked_sub(1).filter(|it| *it < of);
        let (title, body) = match &parts[..] {
            ["tree", name, rest @ ..] => {
                ("Tree", self.tree(self.commit(name)?, name, &rest.join("/")))
            }
            ["blob", name, rest @ ..] => return self.blob(name, &rest.join("/")),
            ["commit", hash] => return Some(self.show_commit(self.commit(hash)?)),
            ["commit", hash, "pipelines"] => ("Pipelines", self.link(self.commit(hash)?)),
            ["commits", name] => ("Commits", self.commits(asked, self.commit(name)?)),
            ["tags"] => ("Tags", self.tags(asked)),
            ["tags", name] => ("Tag", self.tag(name)),
            ["branches", ..] => ("Branches", self.tag("main")),
            ["issues"] => ("Issues", self.list(asked, "issue", ISSUES)),
            ["issues", _] => return Some(self.item(number(ISSUES)?, "issue", "issues")),
            ["merge_requests"] => ("Requests", self.list(asked, "request", REQUESTS)),
            ["merge_requests", _] => {
                return Some(self.item(number(REQUESTS)?, "request", "merge_requests"));
            }
            ["merge_requests", _, "commits"] => ("Commits", self.link(number(REQUESTS)? % COMMITS)),
            ["merge_requests", _, "pipelines"] | ["pipelines" | "boards" | "releases"] => {
                ("Pipelines", "<p>There are currently no pipelines.</p>".to_owned())
            }
            ["milestones"] => ("Milestones", Self::milestones(asked)),
            ["milestones", _] => ("Milestone", Self::milestone(number(MILESTONES)?)),
            ["labels"] => ("Labels", (0..LABELS).map(Self::label).collect()),
            ["wikis", rest @ ..] => return self.wiki(asked, rest),
            _ => return None,
        };
        Some(Answer::junk(self.page(title, &body)))
    }

    fn outside(&self, asked: &Target) -> Option<Answer> {
        let html = match asked.path.as_str() {
            OWN => {
                self.page("Pear", &(self.tree(COMMITS - 1, "main", "") + &self.link(COMMITS - 1)))
            }
            "/orchard" | "/explore" | "/" => {
                let sorts = ["name_asc", "latest_activity_desc", "stars_desc"];
                let sorts = sorts.map(|it| item(it, &Target::new(&asked.path).with("sort", it)));
                self.page("Projects", &(item("Pear", &Target::new(OWN)) + &sorts.concat()))
            }
            "/users/sign_in" => {
                let body = "<p>Username or email. Password. Remember me. Sign in.</p>";
                frame(&self.prose, "Sign in", "", body, "")
            }
            path if path.rsplit('.').next() == Some("atom") => {
                return Some(Answer::file("application/atom+xml"));
            }
            _ => return None,
        };
        Some(Answer::junk(html))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let menu =
            ["/explore", "/help", "/search?project_id=1", "/users/sign_in?redirect_to_referer=yes"];
        let menu: String = menu.iter().map(|it| item(it, &Target::parse(it))).collect();
        let side = [
            "tree/main",
            "commits/main",
            "branches",
            "tags",
            "network/main",
            "graphs/main",
            "compare",
            "issues",
            "labels",
            "milestones",
            "boards",
            "merge_requests",
            "pipelines",
            "releases",
            "wikis/home",
        ];
        let side: String = side.iter().map(|it| item(it, &to(it))).collect();
        frame(&self.prose, title, &menu, body, &(item("Pear", &Target::new(OWN)) + &side))
    }

    fn commit(&self, name: &str) -> Option<usize> {
        let tag = name.strip_prefix("v1.").and_then(|it| it.parse::<usize>().ok());
        match name {
            "main" => Some(COMMITS - 1),
            _ if tag.is_some() => tag.map(|it| it * 18).filter(|it| *it < COMMITS),
            _ => self.hashes.iter().position(|it| it == name),
        }
    }

    fn by(&self, kind: &str, it: usize) -> String {
        let user = &self.users[property("author", kind, it, USERS)];
        item(user, &Target::new(format!("/{user}")))
    }

    fn link(&self, commit: usize) -> String {
        let own = to(&format!("commit/{}", self.hashes[commit]));
        self.by("commit", commit) + &item(self.prose.title(&format!("commit {commit}")), &own)
    }

    /// A directory under the name of a commit, a branch or a tag.
    fn tree(&self, commit: usize, name: &str, path: &str) -> String {
        let start = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut body = self.link(commit) + &item("History", &to(&format!("commits/{name}/{path}")));
        body += &item("Root", &to(&format!("tree/{name}")));
        body += &item("Download", &to(&format!("archive/{name}/pear.zip")));
        let mut folders = Vec::new();
        for (file, all) in self.files.iter().enumerate() {
            let Some(rest) = all.strip_prefix(&start) else { continue };
            if let Some((folder, _)) = rest.split_once('/') {
                folders.push(format!("{start}{folder}"));
            } else {
                body += &item(rest, &to(&format!("blob/{name}/{all}")));
                body += &self.link(version(file, commit));
            }
        }
        folders.sort_unstable();
        folders.dedup();
        for it in folders {
            body += &item(&it, &to(&format!("tree/{name}/{it}")));
        }
        body
    }

    fn blob(&self, name: &str, path: &str) -> Option<Answer> {
        let commit = self.commit(name)?;
        let file = self.files.iter().position(|it| it == path)?;
        let last = version(file, commit);
        let mut body = self.link(last);
        for it in ["raw", "blame", "commits", "edit"] {
            body += &item(it, &to(&format!("{it}/{name}/{path}")));
        }
        body += &item("Permalink", &to(&format!("blob/{}/{path}", self.hashes[commit])));
        for (at, _) in path.match_indices('/') {
            body += &item(&path[..at], &to(&format!("tree/{name}/{}", &path[..at])));
        }
        let line = self.prose.teaser(&format!("line {last} of file {file}"));
        let _ = write!(body, "<p>{line}</p>{}", text(&self.prose, &format!("file {file}")));
        let html = self.page(path, &body);
        let is_newest = last == version(file, COMMITS - 1);
        Some(if is_newest {
            self.numbers.answer(&format!("file {file}"), html)
        } else {
            Answer::junk(html)
        })
    }

    fn show_commit(&self, commit: usize) -> Answer {
        let (name, hash) = (format!("commit {commit}"), &self.hashes[commit]);
        let own = to(&format!("commit/{hash}"));
        let mut body =
            self.by("commit", commit) + &item("Browse files", &to(&format!("tree/{hash}")));
        if let Some(parent) = commit.checked_sub(1) {
            body += &item("parent", &to(&format!("commit/{}", self.hashes[parent])));
        }
        body += &text(&self.prose, &name);
        for view in ["inline", "parallel"] {
            body += &item(view, &own.clone().with("view", view));
        }
        body += &item("Hide whitespace changes", &own.clone().with("w", 1));
        body += &item("Pipelines", &to(&format!("commit/{hash}/pipelines")));
        for file in changed(commit) {
            let line = self.prose.teaser(&format!("line {commit} of file {file}"));
            let _ = write!(body, "<p>+{line}</p>");
            body += &item("View file", &to(&format!("blob/{hash}/{}", self.files[file])));
        }
        self.numbers.answer(&name, self.page(&self.prose.title(&name), &body))
    }

    fn commits(&self, asked: &Target, last: usize) -> String {
        let at = asked.number("offset").unwrap_or_default();
        let mut body = String::new();
        for it in (0..=last).rev().skip(at).take(40) {
            body += &self.link(it);
            body += &item("Browse files", &to(&format!("tree/{}", self.hashes[it])));
        }
        if at + 40 <= last {
            body += &item("Older", &asked.clone().set("offset", at + 40).set("limit", 40));
        }
        body + &item("RSS", &Target::new(format!("{}.atom", asked.path)))
    }

    fn tag(&self, name: &str) -> String {
        let own =
            ["tree", "commits", "archive", "tags"].map(|it| item(it, &to(&format!("{it}/{name}"))));
        own.concat() + &self.commit(name).map_or_else(String::new, |it| self.link(it))
    }

    fn tags(&self, asked: &Target) -> String {
        let sorts = ["name_asc", "updated_asc", "updated_desc", "version_desc"];
        let sorts = sorts.map(|it| item(it, &asked.clone().set("sort", it)));
        sorts.concat() + &(0..TAGS).map(|it| self.tag(&format!("v1.{it}"))).collect::<String>()
    }

    fn label(label: usize) -> String {
        let name = format!("label-{label}");
        ["issues", "merge_requests"]
            .map(|it| item(&name, &to(it).with("label_name%5B%5D", &name)))
            .concat()
    }

    fn milestones(asked: &Target) -> String {
        let states =
            ["opened", "closed", "all"].map(|it| item(it, &asked.clone().set("state", it)));
        let sorts = ["due_date_asc", "due_date_desc", "start_date_asc", "name_asc", "name_desc"];
        let sorts = sorts.map(|it| item(it, &asked.clone().set("sort", it)));
        let all = (0..MILESTONES).map(Self::milestone);
        states.concat() + &sorts.concat() + &all.collect::<String>()
    }

    fn milestone(milestone: usize) -> String {
        let title = format!("m{milestone}");
        item(&title, &to(&format!("milestones/{}", milestone + 1)))
            + &item("Issues", &to("issues").with("milestone_title", &title))
            + &item("Closed", &to("issues").with("milestone_title", &title).with("state", "closed"))
    }

    /// Issues or merge requests, narrowed and in an order, which each link keeps.
    fn list(&self, asked: &Target, kind: &str, count: usize) -> String {
        let section = if kind == "issue" { "issues" } else { "merge_requests" };
        let own = |it: usize| to(&format!("{section}/{}", it + 1));
        let matches = |it: &usize| {
            let closed = property("state", kind, *it, 3) > 0;
            let label = asked
                .get("label_name%5B%5D")
                .and_then(|it| it.strip_prefix("label-")?.parse().ok());
            let milestone =
                asked.get("milestone_title").and_then(|it| it.strip_prefix('m')?.parse().ok());
            let author = asked.get("author_username");
            (match asked.get("state").unwrap_or("opened") {
                "opened" => !closed,
                "closed" => closed,
                _ => true,
            }) && label.is_none_or(|label: usize| labels(kind, *it).contains(&label))
                && milestone.is_none_or(|wanted: usize| {
                    property("milestone", kind, *it, MILESTONES) == wanted
                })
                && author
                    .is_none_or(|wanted| self.users[property("author", kind, *it, USERS)] == wanted)
        };
        let all: Vec<usize> = (0..count).filter(matches).collect();
        let all = sorted(all, asked.get("sort").unwrap_or("created_date"), "desc");
        let first = asked.clone().without("page");
        let mut body = String::new();
        for state in ["opened", "closed", "all"] {
            body += &item(state, &first.clone().set("scope", "all").set("state", state));
        }
        for sort in ["priority", "created_date", "updated_desc", "milestone_due_desc", "popularity"]
        {
            body += &item(sort, &first.clone().set("sort", sort));
        }
        let at = asked.number("page").unwrap_or(1).max(1);
        for it in shown(&all, at - 1, 20) {
            body += &item(self.prose.title(&format!("{kind} {it}")), &own(it));
            body += &self.by(kind, it);
            for label in labels(kind, it) {
                let name = format!("label-{label}");
                body += &item(&name, &to(section).with("label_name%5B%5D", &name));
            }
            let title = format!("m{}", property("milestone", kind, it, MILESTONES));
            body += &item(&title, &to(section).with("milestone_title", &title));
        }
        let to_page = |it| first.clone().with("page", it);
        body += &item("RSS", &Target::new(format!("{}.atom", asked.path)));
        body + &pager(at, 1..all.len().div_ceil(20) + 1, to_page)
    }

    /// An issue or a merge request with what was said about it.
    fn item(&self, it: usize, kind: &str, section: &str) -> Answer {
        let name = format!("{kind} {it}");
        let own = to(&format!("{section}/{}", it + 1));
        let mut body = self.by(kind, it) + &text(&self.prose, &name);
        if kind == "request" {
            for tab in ["commits", "pipelines", "diffs"] {
                body += &item(tab, &Target::new(format!("{}/{tab}", own.path)));
            }
        }
        for label in labels(kind, it) {
            body += &Self::label(label);
        }
        for note in 0..property("notes", kind, it, 6) {
            let note = format!("note {note} on {name}");
            let id = Dice::of(&note).roll(100_000);
            body += &item("ago", &Target::new(format!("{}#note_{id}", own.path)));
            body += &self.prose.paragraphs(&note, 1);
            match Dice::of(&format!("kind of {note}")).roll(6) {
                0 => body += &item("mentioned", &to(&format!("issues/{}", id % ISSUES + 1))),
                1 => body += &self.link(id % COMMITS),
                2 => {
                    let file = &self.files[id % FILES];
                    let hash = &self.hashes[id % COMMITS];
                    body += &item("line", &to(&format!("blob/{hash}/{file}#L12")));
                }
                _ => {}
            }
        }
        body += &item(
            "Milestone",
            &to(&format!("milestones/{}", property("milestone", kind, it, MILESTONES) + 1)),
        );
        body += &item(
            "register or sign in",
            &Target::new("/users/sign_in").with("redirect_to_referer", "yes"),
        );
        self.numbers.answer(&name, self.page(&self.prose.title(&name), &body))
    }

    fn wiki(&self, asked: &Target, rest: &[&str]) -> Option<Answer> {
        let own = |page: usize, rest: &str| to(&format!("wikis/{}{rest}", self.pages[page]));
        if rest == ["pages"] {
            let sorts = ["title", "created_at"].map(|it| item(it, &asked.clone().set("sort", it)));
            let turns = ["asc", "desc"].map(|it| item(it, &asked.clone().set("direction", it)));
            let all: String = (0..PAGES).map(|it| item(&self.pages[it], &own(it, ""))).collect();
            return Some(Answer::junk(
                self.page("Pages", &(sorts.concat() + &turns.concat() + &all)),
            ));
        }
        let name = rest.first().filter(|it| **it != "home");
        let page = name.map_or(Some(0), |name| self.pages.iter().position(|it| it == name))?;
        let versions = 1 + property("versions", "page", page, 6);
        let hash = |it: usize| Dice::of(&format!("version {it} of page {page}")).hex(40);
        let mut body = item("Pages", &to("wikis/pages")) + &item("History", &own(page, "/history"));
        if rest.get(1) == Some(&"history") {
            for it in 0..versions {
                body += &item(it, &own(page, "").with("version_id", hash(it)));
            }
            return Some(Answer::junk(self.page("History", &body)));
        }
        let name = format!("page {page}");
        let shown = asked
            .get("version_id")
            .map_or(Some(versions - 1), |wanted| (0..versions).find(|it| hash(*it) == wanted))?;
        let line = self.prose.teaser(&format!("version {shown} of {name}"));
        let _ = write!(body, "<p>{line}</p>{}", text(&self.prose, &name));
        for it in drawn(&format!("links of {name}"), 4, PAGES) {
            body += &item(&self.pages[it], &own(it, ""));
        }
        let html = self.page(&self.pages[page], &body);
        Some(if shown + 1 == versions {
            self.numbers.answer(&name, html)
        } else {
            Answer::junk(html)
        })
    }
}
