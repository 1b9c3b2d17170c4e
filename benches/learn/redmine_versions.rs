//! What has versions in a Redmine: the wiki and the repository.

use crate::{
    redmine::{
        FILES, PAGES, PROJECTS, REVISIONS, Tracker, USERS, changed, to, user, wiki_versions,
    },
    software::{drawn, item},
    target::Target,
    world::Answer,
};

/// The first revision of a project made all its files.
fn is_changed(file: usize, revision: usize) -> bool {
    revision % PROJECTS == file % PROJECTS
        && (revision < PROJECTS || changed(revision).contains(&file))
}

/// The revision that made the version of a file that a revision has.
fn file_version(file: usize, revision: usize) -> usize {
    (0..=revision).rev().find(|it| is_changed(file, *it)).unwrap_or_default()
}

impl Tracker {
    /// A page, an old version of it, or what is said of its versions.
    pub(crate) fn wiki_page(
        &self,
        asked: &Target,
        project: usize,
        rest: &[&str],
    ) -> Option<Answer> {
        let mut all = (0..PAGES).filter(|it| it % PROJECTS == project);
        let name = rest.first().copied().unwrap_or(&self.pages[project]);
        if ["index", "date_index"].contains(&name) {
            let body: String = all.map(|it| item(&self.pages[it], &self.wiki(it, ""))).collect();
            return Some(Answer::junk(self.page(asked, Some(project), name, &body)));
        }
        let (name, is_export) = name.strip_suffix(".html").map_or((name, false), |it| (it, true));
        let it = all.find(|it| self.pages[*it] == name)?;
        let newest = wiki_versions(it);
        let version = |text: &str| text.parse().ok().filter(|it| (1..=newest).contains(it));
        let body = match rest.get(1..).unwrap_or_default() {
            [] if is_export => {
                let text = self.wiki_text(it, newest);
                return Some(self.numbers.answer(&format!("page {it}"), text));
            }
            [] => return Some(self.wiki_version(asked, it, newest, false)),
            ["history"] => self.wiki_history(it),
            ["diff"] => {
                let [new, old] =
                    ["version", "version_from"].map(|it| asked.number(it).unwrap_or(1));
                self.wiki_diff(it, old, new)
            }
            [old] => return Some(self.wiki_version(asked, it, version(old)?, true)),
            [new, "diff"] => self.wiki_diff(it, version(new)? - 1, version(new)?),
            [new, "annotate"] => {
                let new = version(new)?;
                let lines = (1..=new).map(|old| item(old, &self.wiki(it, &format!("/{old}"))));
                lines.collect::<String>() + &self.wiki_text(it, new)
            }
            _ => return None,
        };
        Some(Answer::junk(self.page(asked, Some(project), name, &body)))
    }

    /// One paragraph differs.
    fn wiki_text(&self, page: usize, version: usize) -> String {
        self.prose.paragraphs(&format!("page {page}"), 4) + &self.wiki_change(page, version)
    }

    fn wiki_change(&self, page: usize, version: usize) -> String {
        self.prose.paragraphs(&format!("{version} of page {page}"), 1)
    }

    fn wiki_version(&self, asked: &Target, page: usize, version: usize, is_asked: bool) -> Answer {
        let (project, newest) = (page % PROJECTS, wiki_versions(page));
        let mut body = String::new();
        if is_asked {
            for near in [version - 1, version + 1] {
                if (1..=newest).contains(&near) {
                    body += &item("near", &self.wiki(page, &format!("/{near}")));
                }
            }
            body += &item("diff", &self.wiki(page, &format!("/{version}/diff")));
            body += &item("Current version", &self.wiki(page, ""));
            body += &user(1 + (page + version) % USERS);
        }
        body += &item("History", &self.wiki(page, "/history"));
        body += &self.wiki_text(page, version);
        for it in drawn(&format!("links of page {page}"), 4, PAGES / PROJECTS) {
            let it = it * PROJECTS + project;
            body += &item(&self.pages[it], &self.wiki(it, ""));
        }
        if page % 4 == 1 {
            body += &item("Our open issues", &self.pasted_query(page));
            let search = self.project(project, "/search").with("q", &self.pages[page]);
            body += &item("More", &search);
        }
        body += &self.when(project, &format!("{newest} of page {page}"));
        for ending in [".pdf", ".html", ".txt"] {
            body += &item(ending, &self.wiki(page, ending));
        }
        for (name, rest) in [("Start page", ""), ("By title", "/index"), ("By date", "/date_index")]
        {
            body += &item(name, &self.project(project, &format!("/wiki{rest}")));
        }
        let html = self.page(asked, Some(project), &self.pages[page], &body);
        if version == newest {
            self.numbers.answer(&format!("page {page}"), html)
        } else {
            Answer::junk(html)
        }
    }

    /// A list of issues as the form makes it: filters with operators and values, and columns.
    fn pasted_query(&self, page: usize) -> Target {
        let value = drawn(&format!("query of {page}"), 1, 5)[0] + 1;
        let filter = ["tracker_id", "priority_id", "category_id"][page % 3];
        let mut query = self.project(page % PROJECTS, "/issues");
        for column in ["tracker", "status", "subject", "assigned_to"] {
            query = query.with("c%5B%5D", column);
        }
        query = query.with("f%5B%5D", "status_id").with("f%5B%5D", filter).with("group_by", "");
        query = query.with(&format!("op%5B{filter}%5D"), "%3D").with("op%5Bstatus_id%5D", "o");
        query.with("set_filter", 1).with(&format!("v%5B{filter}%5D%5B%5D"), value)
    }

    /// The versions, each compared with the one before and annotated.
    fn wiki_history(&self, page: usize) -> String {
        let mut body = String::new();
        for version in (1..=wiki_versions(page)).rev() {
            body += &item(version, &self.wiki(page, &format!("/{version}")));
            body += &user(1 + (page + version) % USERS);
            body += &item("Annotate", &self.wiki(page, &format!("/{version}/annotate")));
            if version > 1 {
                let diff = self.wiki(page, "/diff").with("version", version);
                body += &item("diff", &diff.with("version_from", version - 1));
            }
        }
        body
    }

    fn wiki_diff(&self, page: usize, old: usize, new: usize) -> String {
        let views = [old, new].into_iter().filter(|it| *it > 0).map(|it| {
            item(it, &self.wiki(page, &format!("/{it}")))
                + &item("annotate", &self.wiki(page, &format!("/{it}/annotate")))
                + &self.wiki_change(page, it)
        });
        views.collect::<String>() + &item("History", &self.wiki(page, "/history"))
    }

    /// Directories, files, revisions and what is said of them, as the newest revision or another one has them.
    pub(crate) fn in_repository(
        &self,
        asked: &Target,
        project: usize,
        rest: &[&str],
    ) -> Option<Answer> {
        let newest = REVISIONS - PROJECTS + project;
        let (revision, rest) = match rest {
            ["revisions", hash, rest @ ..] => {
                (Some(self.hashes.iter().position(|it| it == hash)?), rest)
            }
            rest => (None, rest),
        };
        let at = revision.unwrap_or(newest);
        let path = rest.get(1..).unwrap_or_default().join("/");
        let file = (0..FILES).find(|it| it % PROJECTS == project && self.files[*it] == path);
        let body = match (rest.first().copied().unwrap_or_default(), file) {
            ("", _) if revision.is_some() => return Some(self.revision(asked, at)),
            ("", _) => self.tree(project, "", None) + &self.revisions(project, 1, 10),
            ("revisions", _) => self.revisions(project, asked.number("page").unwrap_or(1), 25),
            ("statistics", _) => "<p>Commits per month. Commits per author.</p>".to_owned(),
            ("show", _) => self.tree(project, &path, revision),
            ("diff", file) => self.diffs(asked, at, file),
            ("raw", Some(_)) => return Some(Answer::file("text/x-ruby")),
            ("changes", Some(file)) => {
                let all = (0..=at).rev().filter(|it| is_changed(file, *it));
                self.views(file, revision)
                    + &all.map(|it| self.revision_row(it)).collect::<String>()
            }
            ("entry", Some(file)) => {
                let body = self.views(file, revision) + &self.file_text(file, at);
                let html = self.page(asked, Some(project), &self.files[file], &body);
                let is_newest = file_version(file, at) == file_version(file, newest);
                let name = format!("file {file}");
                return Some(if is_newest {
                    self.numbers.answer(&name, html)
                } else {
                    Answer::junk(html)
                });
            }
            ("annotate", Some(file)) => {
                let lines = (0..=at).filter(|it| is_changed(file, *it));
                let lines: String = lines.map(|it| self.to_revision(it)).collect();
                self.views(file, revision) + &lines + &self.file_text(file, at)
            }
            _ => return None,
        };
        Some(Answer::junk(self.page(asked, Some(project), "Repository", &body)))
    }

    fn file_change(&self, file: usize, version: usize) -> String {
        format!("<p>{}</p>", self.prose.teaser(&format!("line {file} {version}")))
    }

    fn file_text(&self, file: usize, revision: usize) -> String {
        self.file_change(file, file_version(file, revision))
            + &self.prose.paragraphs(&format!("file {file}"), 4)
    }

    /// Below the repository, as a revision has it if one is asked for.
    fn at(&self, project: usize, revision: Option<usize>, rest: &str) -> Target {
        let of = revision.map_or_else(String::new, |it| format!("revisions/{}/", self.hashes[it]));
        self.repository(project, &(of + rest))
    }

    fn views(&self, file: usize, revision: Option<usize>) -> String {
        let (project, path) = (file % PROJECTS, &self.files[file]);
        let directory = path.split('/').next().unwrap_or_default();
        ["changes", "entry", "annotate", "raw"]
            .map(|it| item(it, &self.at(project, revision, &format!("{it}/{path}"))))
            .concat()
            + &item(directory, &self.at(project, revision, &format!("show/{directory}")))
    }

    fn tree(&self, project: usize, directory: &str, revision: Option<usize>) -> String {
        let own = (0..FILES).filter(|it| it % PROJECTS == project);
        let mut all: Vec<String> = match directory {
            "" => (0..4).map(|it| format!("show/lib{it}")).collect(),
            _ => own
                .filter(|it| self.files[*it].split('/').next() == Some(directory))
                .map(|it| format!("entry/{}", self.files[it]))
                .collect(),
        };
        all.extend(["statistics".to_owned(), "revisions".to_owned(), "revisions.atom".to_owned()]);
        let is_tree = |it: &str| it.starts_with("show") || it.starts_with("entry");
        let one = |it: &String| item(it, &self.at(project, revision.filter(|_| is_tree(it)), it));
        all.iter().map(one).collect()
    }

    fn to_revision(&self, revision: usize) -> String {
        let hash = &self.hashes[revision];
        item(
            hash,
            &to(format!(
                "/projects/{}/repository/revisions/{hash}",
                self.projects[revision % PROJECTS]
            )),
        )
    }

    fn revision_row(&self, revision: usize) -> String {
        let subject = self.prose.title(&format!("revision {revision}"));
        self.to_revision(revision) + &format!("<p>{subject}</p>") + &user(1 + revision % USERS)
    }

    /// A page of the revisions of a project, the newest first.
    fn revisions(&self, project: usize, at: usize, most: usize) -> String {
        let all: Vec<usize> = (0..REVISIONS).rev().filter(|it| it % PROJECTS == project).collect();
        let shown = all.iter().skip((at.max(1) - 1) * most).take(most);
        let own = self.repository(project, "revisions");
        let pages = (1..=all.len().div_ceil(25)).map(|it| item(it, &own.clone().with("page", it)));
        let sizes = [25, 50, 100].map(|it| item(it, &own.clone().with("per_page", it)));
        shown.map(|it| self.revision_row(*it)).chain(pages).chain(sizes).collect()
    }

    /// The message of a revision, and the files that it changed.
    fn revision(&self, asked: &Target, revision: usize) -> Answer {
        let (project, name) = (revision % PROJECTS, format!("revision {revision}"));
        let mut body = self.revision_row(revision) + &self.prose.paragraphs(&name, 2);
        for near in [revision.checked_sub(PROJECTS), Some(revision + PROJECTS)] {
            if let Some(near) = near.filter(|it| *it < REVISIONS) {
                body += &self.to_revision(near);
            }
        }
        body += &self.when(project, &name);
        body += &item("View differences", &self.at(project, Some(revision), "diff"));
        for file in changed(revision) {
            let path = &self.files[file];
            for view in ["entry", "diff"] {
                body += &item(view, &self.at(project, Some(revision), &format!("{view}/{path}")));
            }
        }
        let title = format!("Revision {}", self.hashes[revision]);
        self.numbers.answer(&name, self.page(asked, Some(project), &title, &body))
    }

    fn diffs(&self, asked: &Target, revision: usize, file: Option<usize>) -> String {
        let before = revision.saturating_sub(PROJECTS);
        let files = file.map_or_else(|| changed(revision), |it| vec![it]);
        let mut body: String = files
            .iter()
            .map(|file| {
                let versions = [before, revision].map(|it| file_version(*file, it));
                format!("<p>{}</p>", self.files[*file])
                    + &versions.map(|it| self.file_change(*file, it)).concat()
            })
            .collect();
        for kind in ["inline", "sbs"] {
            body += &item(kind, &asked.clone().set("type", kind));
        }
        body + &item("Unified diff", &to(asked.path.clone() + ".diff"))
    }
}
