//! A wiki as `DokuWiki` has it.

use crate::{
    false_traps::{Numbers, page, world},
    prose::{Dice, Language, Prose},
    software::{NOFOLLOW, drawn, item, made_up, with_head},
    target::Target,
    world::{Answer, World},
};

const PAGES: usize = 300;
const NAMESPACES: usize = 20;
const PICTURES: usize = 60;
const WANTED: usize = 80;
const LOGIN: &str = "<p>You are currently not logged in! Enter your authentication credentials \
    below to log in. You need to have cookies enabled to log in.</p>";
const MISSING: &str = "<p>You have followed a link to a topic that does not exist yet. If \
    permissions allow, you may create it by clicking on Create this page.</p>";
const OLD: &str = "<p>This is an old revision of the document!</p>";

/// 300 pages in 20 namespaces. Each page leads to its source, its old revisions, what links to it, three exports, and with itself as the page
/// to return to, to the log-in, the recent changes, the tree of namespaces and the manager of pictures, which keep it. Revisions are
/// compared in pairs and two layouts. Searches mark their words on the pages that they find.
pub(crate) fn dokuwiki() -> World {
    let namespaces = made_up("namespace", NAMESPACES, "_");
    let names = made_up("wiki page", PAGES, "_");
    let id = |it: usize| {
        let name = if it < NAMESPACES { "start" } else { &names[it] };
        format!("{}:{name}", namespaces[it % NAMESPACES])
    };
    let ids: Vec<String> = (0..PAGES).map(id).collect();
    let pictures = made_up("picture", PICTURES, "-").into_iter().enumerate();
    let wiki = Dokuwiki {
        prose: Prose::new(Language::English),
        numbers: Numbers::of(ids.iter().cloned()),
        pictures: pictures
            .map(|(it, name)| format!("{}:{name}.png", namespaces[it % NAMESPACES]))
            .collect(),
        wanted: made_up("wanted", WANTED, "_"),
        words: made_up("word", 40, ""),
        ids,
        namespaces,
    };
    world("dokuwiki", "/doku.php", PAGES, move |asked| wiki.answer(asked))
}

#[derive(Debug)]
struct Dokuwiki {
    prose: Prose,
    numbers: Numbers,
    ids: Vec<String>,
    namespaces: Vec<String>,
    pictures: Vec<String>,
    wanted: Vec<String>,
    words: Vec<String>,
}

fn doku(id: &str) -> Target {
    Target::new("/doku.php").with("id", id)
}

fn act(id: &str, action: &str) -> Target {
    doku(id).with("do", action)
}

fn namespace(id: &str) -> &str {
    id.rsplit_once(':').map_or("", |(namespace, _)| namespace)
}

/// How many old revisions a page has.
fn old_revisions(id: &str) -> usize {
    Dice::of(&format!("revisions of {id}")).roll(6)
}

/// The time of a revision.
fn stamp(id: &str, revision: usize) -> usize {
    1_200_000_000 + Dice::of(&format!("time of {id}")).roll(400_000_000) + revision * 86_413
}

impl Dokuwiki {
    fn answer(&self, asked: &Target) -> Answer {
        let id = asked.get("id").unwrap_or("start");
        match asked.path.as_str() {
            "/" | "/doku.php" => {}
            "/feed.php" => return Answer::file("application/rss+xml"),
            "/lib/exe/fetch.php" => return Answer::file("image/png"),
            "/lib/exe/detail.php" => return self.detail(asked, id),
            _ => return Answer::missing(),
        }
        let tree = if asked.get("idx").is_some() { "index" } else { "show" };
        let (title, body) = match asked.get("do").unwrap_or(tree) {
            "edit" => (format!("{id} (read only)"), self.source(asked, id)),
            "revisions" => ("Old Revisions".to_owned(), self.revisions(id)),
            "backlink" => ("Backlinks".to_owned(), self.backlinks(id)),
            "index" => ("Sitemap".to_owned(), self.tree(asked, id)),
            "recent" => ("Recent Changes".to_owned(), self.recent(asked, id)),
            "login" => ("Login".to_owned(), LOGIN.to_owned()),
            "media" => ("Media Manager".to_owned(), self.media(asked, id)),
            "diff" => ("Differences".to_owned(), self.diff(asked, id)),
            "search" => ("Search".to_owned(), self.search(asked, id)),
            "export_raw" => return Answer::file("text/plain"),
            "export_pdf" => return Answer::file("application/pdf"),
            action => return self.show(asked, id, action == "export_xhtml"),
        };
        Answer::junk(with_head(&self.skin(id, None, &title, &body), NOFOLLOW))
    }

    /// The exports are in the head of the page too.
    fn skin(&self, id: &str, revision: Option<usize>, title: &str, body: &str) -> String {
        let edit = act(id, "edit");
        let menu = [
            item("Log In", &act(id, "login").with("sectok", "")),
            item("Recent Changes", &act(id, "recent")),
            item("Media Manager", &act(id, "media").with("ns", namespace(id))),
            item("Sitemap", &act(id, "index")),
            item("Show pagesource", &revision.map_or(edit.clone(), |it| edit.with("rev", it))),
            item("Old revisions", &act(id, "revisions")),
            item("Backlinks", &act(id, "backlink")),
            item("Export to PDF", &act(id, "export_pdf")),
            item("Plain HTML", &act(id, "export_xhtml")),
            item("Wiki markup", &act(id, "export_raw")),
        ];
        let here = [doku("start"), doku(&format!("{}:start", namespace(id)))];
        let here = here.map(|it| item("here", &it)).concat();
        let sidebar = self.namespaces.iter().map(|it| item(it, &doku(&format!("{it}:start"))));
        let sidebar: String = sidebar.collect();
        let body = format!("{here}{body}<ul>{sidebar}{}</ul>", menu.concat());
        let feeds =
            ["/feed.php".to_owned(), format!("/feed.php?mode=list&amp;ns={}", namespace(id))];
        let feeds = feeds.map(|it| {
            format!("<link rel=\"alternate\" type=\"application/rss+xml\" href=\"{it}\">")
        });
        with_head(&page(&self.prose, title, &body, &[]), &feeds.concat())
    }

    /// The text of a revision: one paragraph differs.
    fn text(&self, id: &str, revision: usize) -> String {
        let changed = self.prose.paragraphs(&format!("{id} {revision}"), 1);
        self.prose.paragraphs(&format!("wiki {id}"), 4) + &changed
    }

    fn is_page(&self, id: &str) -> bool {
        id == "start" || self.ids.iter().any(|it| it == id)
    }

    fn linked(id: &str) -> Vec<usize> {
        drawn(&format!("links of {id}"), 5, PAGES)
    }

    /// A page, one of its revisions, or its text alone.
    fn show(&self, asked: &Target, id: &str, is_bare: bool) -> Answer {
        if !self.is_page(id) {
            return Answer::junk(self.skin(id, None, "This topic does not exist yet", MISSING));
        }
        let old = asked.number("rev");
        let newest = old_revisions(id);
        let revision = old.and_then(|old| (0..newest).find(|it| stamp(id, *it) == old));
        let mut body = revision.map_or_else(String::new, |_| OLD.to_owned());
        body += &self.text(id, revision.unwrap_or(newest));
        body += &Self::linked(id)
            .iter()
            .map(|it| item(&self.ids[*it], &doku(&self.ids[*it])))
            .collect::<String>();
        for it in drawn(&format!("wanted in {id}"), 1, WANTED) {
            body += &item(&self.wanted[it], &doku(&self.wanted[it]));
        }
        for it in drawn(&format!("pictures of {id}"), Dice::of(id).roll(3), PICTURES) {
            let picture = &self.pictures[it];
            let detail = Target::new("/lib/exe/detail.php").with("id", id).with("media", picture);
            body += &item("picture", &detail);
            body += &item("file", &Target::new("/lib/exe/fetch.php").with("media", picture));
        }
        if id.ends_with("start") {
            body += &self
                .ids
                .iter()
                .filter(|it| namespace(it) == namespace(id))
                .map(|it| item(it, &doku(it)))
                .collect::<String>();
            for it in drawn(&format!("cloud of {id}"), 4, self.words.len()) {
                let word = &self.words[it];
                body += &item(word, &act(id, "search").with("q", word));
            }
        }
        let title = self.prose.title(&format!("wiki {id}"));
        if is_bare {
            return self.numbers.answer(id, page(&self.prose, &title, &body, &[]));
        }
        let html = self.skin(id, revision.and(old), &title, &body);
        if revision.is_some() {
            Answer::junk(with_head(&html, NOFOLLOW))
        } else {
            self.numbers.answer(id, html)
        }
    }

    fn source(&self, asked: &Target, id: &str) -> String {
        let newest = old_revisions(id);
        let revision = asked.number("rev");
        let revision = revision.and_then(|old| (0..newest).find(|it| stamp(id, *it) == old));
        let text = self.text(id, revision.unwrap_or(newest));
        let text = if self.is_page(id) { text.as_str() } else { "" };
        format!(
            "<p>This page is read only. You can view the source, but not change it.</p><textarea>{text}</textarea>"
        )
    }

    fn revisions(&self, id: &str) -> String {
        if !self.is_page(id) {
            return "<p>Nothing was found.</p>".to_owned();
        }
        let mut body = item("current", &doku(id));
        for revision in (0..old_revisions(id)).rev() {
            let own = doku(id).with("rev", stamp(id, revision));
            let comment = self.prose.title(&format!("comment on {id} {revision}"));
            body += &(item("diff", &own.clone().with("do", "diff")) + &item(comment, &own));
        }
        body
    }

    fn backlinks(&self, id: &str) -> String {
        let number = self.ids.iter().position(|it| it == id);
        let all =
            self.ids.iter().filter(|it| number.is_some_and(|it2| Self::linked(it).contains(&it2)));
        let all: String = all.map(|it| item(it, &doku(it))).collect();
        "<p>This is a list of pages that seem to link back to the current page.</p>".to_owned()
            + &all
    }

    /// The namespaces, and the pages in the one that is open.
    fn tree(&self, asked: &Target, id: &str) -> String {
        let open = asked.get("idx").unwrap_or(namespace(id));
        let one = |space: &String| {
            let pages = self.ids.iter().filter(|it| namespace(it) == space && space == open);
            let pages: String = pages.map(|it| item(it, &doku(it))).collect();
            item(space, &doku(id).with("idx", space)) + &pages
        };
        self.namespaces.iter().map(one).collect::<String>() + &item("start", &doku("start"))
    }

    fn recent(&self, asked: &Target, id: &str) -> String {
        let first = asked.number("first").unwrap_or_default();
        let changed = drawn("recent", 100, PAGES);
        let mut body = String::new();
        for it in changed.iter().skip(first).take(20) {
            let changed = &self.ids[*it];
            body += &(item("diff", &act(changed, "diff"))
                + &item("revisions", &act(changed, "revisions"))
                + &item(changed, &doku(changed))
                + &self.prose.title(&format!("comment on {changed}")));
        }
        if first + 20 < changed.len() {
            body += &item("less recent", &act(id, "recent").with("first", first + 20));
        }
        body
    }

    /// Two revisions: those that were chosen, an old one and the newest, or the last two.
    fn diff(&self, asked: &Target, id: &str) -> String {
        let newest = old_revisions(id);
        let find = |name: &str| {
            let asked = asked.number(name)?;
            (0..=newest).find(|it| stamp(id, *it) == asked)
        };
        if !self.is_page(id) || newest == 0 {
            return "<p>No differences.</p>".to_owned();
        }
        let left = find("rev2%5B0%5D").or(find("rev")).unwrap_or(newest - 1);
        let right = find("rev2%5B1%5D").unwrap_or(newest);
        let to = |left: usize, right: usize, layout: &str| {
            let to = act(id, "diff").with("rev2%5B0%5D", stamp(id, left));
            to.with("rev2%5B1%5D", stamp(id, right)).with("difftype", layout)
        };
        let layout = asked.get("difftype").unwrap_or("sidebyside");
        let mut body = ["sidebyside", "inline"].map(|it| item(it, &to(left, right, it))).concat();
        body += &item("Link to this comparison view", &to(left, right, layout));
        for revision in [left, right] {
            let own = doku(id);
            let own = if revision == newest { own } else { own.with("rev", stamp(id, revision)) };
            body += &item("revision", &own);
            body += &self.prose.paragraphs(&format!("{id} {revision}"), 1);
        }
        for (left, right) in [
            (left.wrapping_sub(1), right),
            (left + 1, right),
            (left, right + 1),
            (left, right.wrapping_sub(1)),
        ] {
            if left < right && right <= newest {
                body += &item("next", &to(left, right, layout));
            }
        }
        body
    }

    /// Pictures of a namespace, and one of them; all links keep what was chosen.
    fn media(&self, asked: &Target, id: &str) -> String {
        let kept = ["tab_files", "tab_details", "image", "ns"];
        let to = |changes: &[(&str, &str)]| {
            let of = |name: &str| {
                let change = changes.iter().find(|it| it.0 == name);
                change.map(|it| it.1.to_owned()).or(asked.get(name).map(str::to_owned))
            };
            let kept = kept.iter().filter_map(|it| Some((it, of(it)?)));
            kept.fold(act(id, "media"), |to, (name, value)| to.with(name, value))
        };
        let shown = asked.get("ns").unwrap_or_default();
        let spaces = self.namespaces.iter();
        let mut body: String =
            spaces.map(|it| item(it, &act(id, "media").with("ns", it))).collect();
        body +=
            &["files", "upload", "search"].map(|it| item(it, &to(&[("tab_files", it)]))).concat();
        match asked.get("tab_files").unwrap_or("files") {
            "files" => {
                let in_space = self.pictures.iter().filter(|it| namespace(it) == shown);
                let one = |it: &String| {
                    item(it, &to(&[("image", it), ("tab_details", "view"), ("tab_files", "files")]))
                };
                body += &in_space.map(one).collect::<String>();
            }
            "upload" => body += "<p>Sorry, you don't have enough rights to upload files.</p>",
            _ => body += "<p>Search in this namespace.</p>",
        }
        if let Some(image) = asked.get("image") {
            body += &["view", "history"].map(|it| item(it, &to(&[("tab_details", it)]))).concat();
            body += &item(image, &Target::new("/lib/exe/fetch.php").with("media", image));
            body += &self.prose.teaser(&format!("data of {image}"));
        }
        body
    }

    /// Pages that have a word, which is marked there.
    fn search(&self, asked: &Target, id: &str) -> String {
        let query = asked.get("q").unwrap_or(id);
        let word = query.split('+').next().unwrap_or_default();
        let is_in = |it: &&usize| {
            query.split_once("+@").is_none_or(|(_, space)| namespace(&self.ids[**it]) == space)
        };
        let all = drawn(&format!("pages with {word}"), 12, PAGES);
        let mut body: String = all
            .iter()
            .filter(is_in)
            .map(|it| {
                let found = &self.ids[*it];
                let to = doku(found).with("s%5B%5D", word);
                item(found, &to) + &self.prose.teaser(&format!("{word} in {found}"))
            })
            .collect();
        body += &item("last modified", &act(id, "search").with("q", query).with("srt", "mtime"));
        for it in &all[..3] {
            let space = namespace(&self.ids[*it]);
            body += &item(space, &act(id, "search").with("q", format!("{word}+@{space}")));
        }
        body
    }

    fn detail(&self, asked: &Target, id: &str) -> Answer {
        let picture = asked.get("media").unwrap_or_default();
        let body = [
            item(picture, &Target::new("/lib/exe/fetch.php").with("media", picture)),
            self.prose.teaser(&format!("data of {picture}")),
            item("Back to the page", &doku(id)),
            item(
                "Media Manager",
                &act(id, "media").with("ns", namespace(picture)).with("image", picture),
            ),
        ];
        Answer::junk(page(&self.prose, picture, &body.concat(), &[]))
    }
}
