//! A repository as gitweb and cgit show it.

use std::collections::HashMap;

use crate::{
    false_traps::{Numbers, page, world},
    honest::anchor,
    prose::{Dice, Language, Prose},
    software::{drawn, item},
    target::Target,
    world::{Answer, World},
};

pub(crate) const FILES: usize = 400;
const DIRECTORIES: usize = 25;
pub(crate) const COMMITS: usize = 1_500;
const ARCHIVE: &str = "application/gzip";
pub(crate) const NEWEST: usize = COMMITS - 1;

/// 400 files and 1,500 commits, each of which changed up to three files. The texts to be found are the newest version of each file and
/// the message of each commit.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) prose: Prose,
    pub(crate) numbers: Numbers,
    pub(crate) paths: Vec<String>,
    pub(crate) hashes: Vec<String>,
    commits: HashMap<String, usize>,
    /// The commits that changed a file, the oldest first; the first commit made all files.
    pub(crate) changes: Vec<Vec<usize>>,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let words = Prose { language: Language::English, words: Vec::new() };
        let name = |kind: &str, it: usize| words.own_word(&mut Dice::of(&format!("{kind} {it}")));
        let path = |it: usize| {
            format!(
                "{}{}/{}{it}.c",
                name("directory", it % DIRECTORIES),
                it % DIRECTORIES,
                name("file", it)
            )
        };
        let hashes: Vec<String> =
            (0..COMMITS).map(|it| Dice::of(&format!("commit {it}")).hex(40)).collect();
        let mut changes = vec![vec![0]; FILES];
        for commit in 1..COMMITS {
            for file in changed(commit) {
                changes[file].push(commit);
            }
        }
        let texts = (0..FILES).map(|it| format!("file {it}"));
        Self {
            prose: Prose::new(Language::English),
            numbers: Numbers::of(texts.chain((0..COMMITS).map(|it| format!("commit {it}")))),
            paths: (0..FILES).map(path).collect(),
            commits: hashes.iter().cloned().enumerate().map(|(it, hash)| (hash, it)).collect(),
            hashes,
            changes,
        }
    }

    /// The commit that made the version of a file that a commit has.
    fn version(&self, file: usize, commit: usize) -> usize {
        let changes = &self.changes[file];
        changes[changes.partition_point(|it| *it <= commit).max(1) - 1]
    }

    fn blob(&self, file: usize, commit: usize) -> String {
        Dice::of(&format!("blob {file} {}", self.version(file, commit))).hex(40)
    }

    pub(crate) fn commit(&self, hash: Option<&str>) -> Option<usize> {
        match hash {
            None | Some("HEAD" | "refs/heads/master") => Some(NEWEST),
            Some(hash) => self.commits.get(hash).copied(),
        }
    }

    pub(crate) fn file(&self, path: &str) -> Option<usize> {
        self.paths.iter().position(|it| it == path)
    }

    /// The files of a directory; of the root, all.
    pub(crate) fn below(&self, directory: &str) -> Vec<usize> {
        let start = format!("{directory}/");
        (0..FILES)
            .filter(|it| directory.is_empty() || self.paths[*it].starts_with(&start))
            .collect()
    }

    pub(crate) fn directories(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.paths.iter().map(|it| directory(it)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a commit changed in a file is the first sentence of its text.
    pub(crate) fn text(&self, file: usize, commit: usize) -> String {
        let version = self.version(file, commit);
        let changed = self.prose.teaser(&format!("line {file} {version}"));
        format!("<p>{changed}</p>{}", self.prose.paragraphs(&format!("file {file}"), 3))
    }

    pub(crate) fn message(&self, commit: usize) -> String {
        self.prose.paragraphs(&format!("commit {commit}"), 1)
    }

    pub(crate) fn subject(&self, commit: usize) -> String {
        self.prose.title(&format!("commit {commit}"))
    }

    fn diff(&self, file: usize, old: usize, new: usize) -> String {
        let line = |sign, commit| {
            let version = self.version(file, commit);
            format!("<p>{sign}{}</p>", self.prose.teaser(&format!("line {file} {version}")))
        };
        format!("<p>diff {}</p>{}{}", self.paths[file], line("-", old), line("+", new))
    }

    pub(crate) fn diffs(&self, old: usize, new: usize, shown: impl Fn(usize) -> bool) -> String {
        let differ = |it: &usize| self.version(*it, old) != self.version(*it, new) && shown(*it);
        (0..FILES).filter(differ).map(|it| self.diff(it, old, new)).collect()
    }

    /// The page of a file, which is to be found in its newest version.
    pub(crate) fn answer_file(&self, file: usize, commit: usize, html: String) -> Answer {
        let is_newest = self.version(file, commit) == self.version(file, NEWEST);
        if is_newest {
            self.numbers.answer(&format!("file {file}"), html)
        } else {
            Answer::junk(html)
        }
    }

    pub(crate) fn page(&self, title: &str, menu: &str, body: &str) -> String {
        page(&self.prose, title, &format!("<ul>{menu}</ul>{body}"), &[])
    }
}

pub(crate) fn changed(commit: usize) -> Vec<usize> {
    let mut files = drawn(&format!("changes of {commit}"), 1 + commit % 3, FILES);
    files.sort_unstable();
    files.dedup();
    files
}

pub(crate) fn directory(path: &str) -> &str {
    path.split_once('/').map_or("", |(directory, _)| directory)
}

/// Parameters are separated by semicolons. Commits lead to their parents, differences, trees and snapshots; trees to their files and
/// directories at this commit, and to the history of each; files to their history, their plain text and their newest version.
pub(crate) fn gitweb() -> World {
    let repository = Repository::new();
    world("gitweb", "/?p=x.git;a=summary", FILES + COMMITS, move |asked| {
        repository.gitweb(&Target::parse(&asked.show().replace(';', "&")))
    })
}

fn action(action: &str) -> Target {
    Target::new("/").with("p", "x.git").with("a", action)
}

/// An entry whose URL has semicolons.
fn entry(label: &str, to: &Target) -> String {
    format!("<li>{}</li>\n", anchor(&to.show().replace('&', ";"), label))
}

impl Repository {
    fn gitweb(&self, asked: &Target) -> Answer {
        let action = asked.get("a").unwrap_or("summary");
        let base = self.commit(asked.get("hb").or(asked.get("h")));
        let file = asked.get("f").and_then(|it| self.file(it));
        let (title, body) = match (action, file, base) {
            ("summary", ..) => ("summary".to_owned(), self.entries(0..COMMITS, 16, 0, "shortlog")),
            ("shortlog" | "log", _, Some(base)) => {
                let at = asked.number("pg").unwrap_or_default();
                (action.to_owned(), self.entries(0..base + 1, 100, at, action))
            }
            ("commit", _, Some(commit)) => {
                let html =
                    self.gitweb_page(commit, &self.subject(commit), &self.gitweb_commit(commit));
                return self.numbers.answer(&format!("commit {commit}"), html);
            }
            ("commitdiff", _, Some(commit)) => {
                let parent = asked
                    .get("hp")
                    .map_or(Some(commit.saturating_sub(1)), |it| self.commit(Some(it)));
                let Some(parent) = parent else { return Answer::missing() };
                let message = self.message(commit) + &self.diffs(parent, commit, |_| true);
                // What the commit says is on this page as well.
                let html = self.gitweb_page(commit, &self.subject(commit), &message);
                return self.numbers.answer(&format!("commit {commit}"), html);
            }
            ("tree", _, Some(commit)) => {
                let below = asked.get("f").unwrap_or_default();
                (format!("tree {below}"), self.gitweb_tree(below, commit))
            }
            ("snapshot", ..) => return Answer::file(ARCHIVE),
            ("blob_plain", ..) => return Answer::file("text/plain"),
            ("blob", Some(file), Some(commit)) => {
                let body = self.gitweb_file(file, commit) + &self.text(file, commit);
                let html = self.gitweb_page(commit, &self.paths[file], &body);
                return self.answer_file(file, commit, html);
            }
            ("blobdiff", Some(file), Some(commit)) => {
                let old = self.commit(asked.get("hpb")).unwrap_or_default();
                (format!("diff of {}", self.paths[file]), self.diff(file, old, commit))
            }
            ("history", _, Some(commit)) => {
                let below = asked.get("f").unwrap_or_default();
                (format!("history of {below}"), self.gitweb_history(below, file, commit))
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.gitweb_page(base.unwrap_or(NEWEST), &title, &body))
    }

    fn gitweb_page(&self, commit: usize, title: &str, body: &str) -> String {
        let hash = &self.hashes[commit];
        let menu = entry("summary", &action("summary"))
            + &entry(
                "shortlog",
                &if commit == NEWEST {
                    action("shortlog")
                } else {
                    action("shortlog").with("h", hash)
                },
            )
            + &entry(
                "log",
                &if commit == NEWEST { action("log") } else { action("log").with("h", hash) },
            )
            + &entry("commit", &action("commit").with("h", hash))
            + &entry("commitdiff", &action("commitdiff").with("h", hash))
            + &entry("tree", &action("tree").with("h", hash).with("hb", hash));
        self.page(title, &menu, body)
    }

    /// So many commits of these, the newest first, and the link to the next ones.
    fn entries(&self, of: std::ops::Range<usize>, count: usize, at: usize, name: &str) -> String {
        let newest = of.end - 1;
        let mut body = String::new();
        for commit in of.rev().skip(at * count).take(count) {
            let hash = &self.hashes[commit];
            body += &entry(&self.subject(commit), &action("commit").with("h", hash));
            body += &entry("commitdiff", &action("commitdiff").with("h", hash));
            body += &entry("tree", &action("tree").with("h", hash).with("hb", hash));
            body += &entry("snapshot", &action("snapshot").with("h", hash).with("sf", "tgz"));
            if name == "log" {
                body += &self.message(commit);
            }
        }
        let first = action(name);
        let first = if newest == NEWEST { first } else { first.with("h", &self.hashes[newest]) };
        let next = (newest + 1 > (at + 1) * count)
            .then(|| entry("next", &first.clone().with("pg", at + 1)));
        let back = (at > 0).then(|| entry("prev", &first.with("pg", at - 1)));
        body + &next.unwrap_or_default() + &back.unwrap_or_default()
    }

    fn gitweb_commit(&self, commit: usize) -> String {
        let (hash, parent) = (&self.hashes[commit], commit.saturating_sub(1));
        let before = &self.hashes[parent];
        let mut body = self.message(commit);
        body += &entry("parent", &action("commit").with("h", before));
        body += &entry("diff", &action("commitdiff").with("h", hash).with("hp", before));
        body += &entry("snapshot", &action("snapshot").with("h", hash).with("sf", "tgz"));
        for file in if commit == 0 { Vec::new() } else { changed(commit) } {
            let path = &self.paths[file];
            let (new, old) = (self.blob(file, commit), self.blob(file, parent));
            let at = |name: &str| action(name).with("f", path);
            let diff = at("blobdiff").with("h", &new).with("hp", &old).with("hb", hash);
            body += &entry(path, &at("blob").with("h", &new).with("hb", hash));
            body += &entry("diff", &diff.with("hpb", before));
            body += &entry("history", &at("history").with("h", &new).with("hb", hash));
        }
        body
    }

    fn gitweb_tree(&self, below: &str, commit: usize) -> String {
        let hash = &self.hashes[commit];
        let mut body = String::new();
        if below.is_empty() {
            for directory in self.directories() {
                let newest = self.below(directory).iter().map(|it| self.version(*it, commit)).max();
                let tree = Dice::of(&format!("tree {directory} {newest:?}")).hex(40);
                let at = |name: &str| {
                    action(name).with("f", directory).with("h", &tree).with("hb", hash)
                };
                body += &(entry(directory, &at("tree")) + &entry("history", &at("history")));
            }
            return body;
        }
        for file in self.below(below) {
            body += &self.gitweb_entry(file, commit);
        }
        body
    }

    fn gitweb_entry(&self, file: usize, commit: usize) -> String {
        let path = &self.paths[file];
        let at = |name: &str| {
            action(name)
                .with("f", path)
                .with("h", self.blob(file, commit))
                .with("hb", &self.hashes[commit])
        };
        entry(path, &at("blob"))
            + &entry("history", &at("history"))
            + &entry("raw", &at("blob_plain"))
    }

    fn gitweb_file(&self, file: usize, commit: usize) -> String {
        let (path, hash) = (&self.paths[file], &self.hashes[commit]);
        let at = |name: &str| action(name).with("f", path);
        let blob = self.blob(file, commit);
        entry("history", &at("history").with("h", &blob).with("hb", hash))
            + &entry("raw", &at("blob_plain").with("h", &blob).with("hb", hash))
            + &entry("HEAD", &at("blob").with("hb", "HEAD"))
            + &entry("directory", &action("tree").with("f", directory(path)).with("hb", hash))
    }

    fn gitweb_history(&self, below: &str, file: Option<usize>, commit: usize) -> String {
        let files = file.map_or_else(|| self.below(below), |it| vec![it]);
        let mut commits: Vec<usize> =
            files.iter().flat_map(|it| self.changes[*it].clone()).collect();
        commits.sort_unstable();
        commits.dedup();
        let mut body = String::new();
        for change in commits.into_iter().rev().filter(|it| *it <= commit).take(100) {
            let hash = &self.hashes[change];
            body += &entry(&self.subject(change), &action("commit").with("h", hash));
            body += &entry("commitdiff", &action("commitdiff").with("h", hash));
            let Some(file) = file else { continue };
            let path = &self.paths[file];
            body += &entry("blob", &action("blob").with("f", path).with("hb", hash));
            let diff = action("blobdiff").with("f", path).with("h", self.blob(file, NEWEST));
            let diff = diff.with("hp", self.blob(file, change)).with("hb", &self.hashes[NEWEST]);
            body += &entry("diff to current", &diff.with("hpb", hash));
        }
        body
    }
}

/// The same with the action and the file in the path, and the commit in `id`, which the tabs of a page keep, as they keep its file.
pub(crate) fn cgit() -> World {
    let repository = Repository::new();
    world("cgit", "/x.git/", FILES + COMMITS, move |asked| repository.cgit(asked))
}

fn tab(name: &str, path: &str) -> Target {
    Target::new(format!("/x.git/{name}/{path}"))
}

impl Repository {
    fn cgit(&self, asked: &Target) -> Answer {
        let Some(rest) = asked.path.strip_prefix("/x.git/") else { return Answer::missing() };
        let (name, path) = rest.split_once('/').unwrap_or(("summary", ""));
        let file = self.file(path);
        let Some(commit) = self.commit(asked.get("id")) else { return Answer::missing() };
        let shown =
            |it: usize| file.is_none_or(|file| file == it) && self.paths[it].starts_with(path);
        let body = match (name, file) {
            ("summary", _) => self.cgit_log(asked, "", commit, 10),
            ("log", _) => self.cgit_log(asked, path, commit, 50),
            ("commit", _) => {
                let html = self.cgit_page(
                    asked,
                    path,
                    &self.subject(commit),
                    &self.cgit_commit(commit, path),
                );
                return self.numbers.answer(&format!("commit {commit}"), html);
            }
            ("diff", _) => {
                let old = asked
                    .get("id2")
                    .map_or(Some(commit.saturating_sub(1)), |it| self.commit(Some(it)));
                let Some(old) = old else { return Answer::missing() };
                self.diffs(old, commit, shown)
            }
            ("patch", _) => {
                self.message(commit) + &self.diffs(commit.saturating_sub(1), commit, shown)
            }
            ("snapshot", _) => return Answer::file(ARCHIVE),
            ("plain", _) => return Answer::file("text/plain"),
            ("tree", Some(file)) => {
                let plain = item("plain", &with_id(tab("plain", path), asked));
                let body = plain + &self.text(file, commit);
                return self.answer_file(file, commit, self.cgit_page(asked, path, path, &body));
            }
            ("tree", None) => self.cgit_tree(asked, path),
            ("refs", _) => {
                item("master", &tab("log", ""))
                    + &item("snapshot", &tab("snapshot", "x-master.tar.gz"))
            }
            ("stats", _) => {
                let rows = (0..12).map(|it| {
                    format!("<p>{it} {}</p>", Dice::of(&format!("{path} {it}")).roll(99))
                });
                rows.collect()
            }
            _ => return Answer::missing(),
        };
        Answer::junk(self.cgit_page(asked, path, &format!("{name} {path}"), &body))
    }

    fn cgit_page(&self, asked: &Target, path: &str, title: &str, body: &str) -> String {
        let mut menu = item("summary", &Target::new("/x.git/")) + &item("refs", &tab("refs", ""));
        for name in ["log", "tree", "commit", "diff"] {
            menu += &item(name, &with_id(tab(name, path), asked));
        }
        menu += &item("stats", &tab("stats", path));
        if !path.is_empty() {
            menu += &item("root", &with_id(tab("tree", ""), asked));
            menu += &item("directory", &with_id(tab("tree", directory(path)), asked));
        }
        self.page(title, &menu, body)
    }

    /// Commits from `ofs` on, the newest first; of a path, those that changed it.
    fn cgit_log(&self, asked: &Target, path: &str, commit: usize, count: usize) -> String {
        let is_in = |it: &usize| {
            path.is_empty()
                || *it == 0
                || changed(*it).iter().any(|it| self.paths[*it].starts_with(path))
        };
        let all: Vec<usize> = (0..=commit).rev().filter(is_in).collect();
        let start = asked.number("ofs").unwrap_or_default();
        let is_long = asked.get("showmsg").is_some();
        let mut body = String::new();
        for commit in all.iter().skip(start).take(count) {
            let to = tab("commit", path).with("id", &self.hashes[*commit]);
            body += &item(self.subject(*commit), &to);
            if is_long {
                body += &self.message(*commit);
            }
        }
        let own = with_id(tab("log", path), asked);
        let own = if is_long { own.with("showmsg", 1) } else { own };
        if start >= count {
            body += &item("prev", &own.clone().with("ofs", start - count));
        }
        if all.len() > start + count {
            body += &item("next", &own.clone().with("ofs", start + count));
        }
        body + &item("Expand", &own.set("showmsg", 1))
    }

    fn cgit_commit(&self, commit: usize, path: &str) -> String {
        let (hash, before) = (&self.hashes[commit], &self.hashes[commit.saturating_sub(1)]);
        let mut body = self.message(commit);
        body += &item("commit", &tab("commit", path).with("id", hash));
        body += &item("patch", &tab("patch", path).with("id", hash));
        body += &item("tree", &tab("tree", path).with("id", hash));
        body += &item("parent", &tab("commit", path).with("id", before));
        body += &item("diff", &tab("diff", path).with("id", hash).with("id2", before));
        body += &item("download", &tab("snapshot", &format!("x-{hash}.tar.gz")));
        for file in if commit == 0 { Vec::new() } else { changed(commit) } {
            body += &item(&self.paths[file], &tab("diff", &self.paths[file]).with("id", hash));
        }
        body
    }

    fn cgit_tree(&self, asked: &Target, path: &str) -> String {
        let shown: Vec<&str> = match path {
            "" => self.directories(),
            _ => self.below(path).into_iter().map(|it| self.paths[it].as_str()).collect(),
        };
        let one = |path: &&str| {
            let tabs =
                ["log", "stats", "plain"].iter().take(if path.contains('/') { 3 } else { 2 });
            let tabs = tabs.map(|it| item(it, &with_id(tab(it, path), asked)));
            item(path, &with_id(tab("tree", path), asked)) + &tabs.collect::<String>()
        };
        shown.iter().map(one).collect()
    }
}

fn with_id(to: Target, asked: &Target) -> Target {
    asked.get("id").map_or(to.clone(), |it| to.with("id", it))
}
