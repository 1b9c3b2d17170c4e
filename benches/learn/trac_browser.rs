//! The repository of the site in `trac`: directories and files in each revision, and logs of them.

use std::fmt::Write;

use crate::{
    more_software::{beginning, text},
    software::{NOFOLLOW, NOINDEX, item, nofollow, with_head},
    target::Target,
    trac::{FILES, REVISIONS, Trac, changed, changeset, to, when},
    world::Answer,
};

/// The changesets of a file or of a directory until one, the newest first; numbers are from 0 on.
fn history(is_below: impl Fn(usize) -> bool, until: usize) -> Vec<usize> {
    let all = (0..REVISIONS).rev().filter(|it| *it < until);
    all.filter(|it| *it == 0 || changed(*it).into_iter().any(&is_below)).collect()
}

impl Trac {
    fn below(&self, path: &str) -> Vec<usize> {
        let start = format!("{path}/");
        let is_in = |it: &str| path.is_empty() || it == path || it.starts_with(&start);
        (0..FILES).filter(|it| is_in(&self.files[*it])).collect()
    }

    /// A directory or a file, in the newest revision or in an older one.
    pub(crate) fn browser(&self, asked: &Target, path: &str) -> Option<Answer> {
        let below = self.below(path);
        let rev = asked.number("rev").filter(|it| *it <= REVISIONS);
        let until = rev.unwrap_or(REVISIONS);
        let kept = |path: &str| {
            let to = to(format!("/browser/{path}"));
            rev.map_or(to.clone(), |it| to.with("rev", it))
        };
        let log = |path: &str| item("log", &to(format!("/log/{path}")).with("rev", until));
        let last = *history(|it| below.contains(&it), until).first()?;
        let parents = path.match_indices('/').map(|it| item("up", &kept(&path[..it.0])));
        let mut body = item("root", &kept("")) + &parents.collect::<String>();
        body += &(changeset(last, &format!("/{path}")) + &item("Log", &to(format!("/log/{path}"))));
        if let [file] = below[..]
            && self.files[file] == path
        {
            let line = self.prose.teaser(&format!("line {last} of file {file}"));
            body += &item("Blame", &asked.clone().set("annotate", "blame"));
            body += &item("previous", &to(&asked.path).with("rev", last));
            body += &(when(&format!("changeset {last}")) + &changeset(last, ""));
            let name = format!("file {file}");
            body += &format!("<p>{line}</p>{}", text(&self.prose, &name));
            body += &nofollow("Original", &to(format!("/export/{until}/{path}")));
            let html = self.frame(path, &body);
            let newest = *history(|it| it == file, REVISIONS).first()?;
            return Some(match asked.get("annotate") {
                Some(_) => Answer::junk(with_head(&html, NOFOLLOW)),
                None if last == newest => self.numbers.answer(&name, html),
                None => Answer::junk(html),
            });
        }
        for order in ["name", "size", "date", "author"] {
            let to = asked.clone().without("desc").set("order", order);
            let turned = asked.get("order") == Some(order) && asked.get("desc").is_none();
            body += &item(order, &if turned { to.with("desc", 1) } else { to });
        }
        let depth = if path.is_empty() { 0 } else { path.split('/').count() };
        let mut entries: Vec<String> = below
            .iter()
            .map(|it| self.files[*it].split('/').take(depth + 1).collect::<Vec<_>>().join("/"))
            .collect();
        entries.dedup();
        entries.sort_unstable();
        entries.dedup();
        for entry in entries {
            let files = self.below(&entry);
            let last = *history(|it| files.contains(&it), until).first()?;
            body += &(item(&entry, &kept(&entry)) + &log(&entry) + &changeset(last, ""));
            let title = self.prose.title(&format!("changeset {last}"));
            let _ = write!(body, "<p>{title}</p>");
        }
        Some(Answer::junk(with_head(&self.frame(path, &body), NOINDEX)))
    }

    pub(crate) fn log(&self, asked: &Target, path: &str) -> String {
        let below = self.below(path);
        let until = asked.number("rev").unwrap_or(REVISIONS);
        let all = history(|it| below.contains(&it), until);
        let mut body = item("Latest", &to(format!("/browser/{path}")));
        for it in all.iter().take(30) {
            let at = |kind: &str| to(format!("/{kind}/{path}")).with("rev", it + 1);
            body += &(item("log", &at("log")) + &item(it, &at("browser")) + &changeset(*it, ""));
            body += &(changeset(*it, &format!("/{path}")) + &when(&format!("changeset {it}")));
            body += &beginning(&text(&self.prose, &format!("changeset {it}")));
        }
        if let Some(it) = all.get(30) {
            let to = to(format!("/log/{path}")).with("limit", 30);
            body += &item("Older", &to.with("rev", it + 1).with("mode", "stop_on_copy"));
        }
        body + &nofollow("RSS", &asked.clone().with("format", "rss"))
    }
}
