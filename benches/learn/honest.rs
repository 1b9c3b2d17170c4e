//! An honest site: a home page, sections, and articles with navigation, teasers and related pages.

use std::collections::HashMap;

use crate::prose::{Dice, Language, Prose};

/// A site whose pages are numbered: the home page, the sections, the articles.
#[derive(Debug)]
pub(crate) struct Honest {
    pub(crate) host: String,
    pub(crate) prose: Prose,
    paths: Vec<String>,
    numbers: HashMap<String, usize>,
    titles: Vec<String>,
}

const SECTIONS: usize = 8;

/// The changes that a server makes to the links of a page.
pub(crate) struct Changes<'a> {
    /// The address of a path of the site.
    pub(crate) to: &'a mut dyn FnMut(&str) -> String,
    /// Links in the navigation, with their names.
    pub(crate) more: &'a [(String, &'a str)],
}

impl Honest {
    pub(crate) fn new(host: &str, language: Language, articles: usize) -> Self {
        let (prose, mut dice) = (Prose::new(language), Dice::of(host));
        let words = Prose::new(Language::English);
        let mut paths = vec!["/".to_owned()];
        let sections: Vec<String> = (0..SECTIONS).map(|_| words.own_word(&mut dice)).collect();
        paths.extend(sections.iter().map(|section| format!("/{section}/")));
        paths.extend((0..articles).map(|article| {
            let slug = [words.own_word(&mut dice), words.own_word(&mut dice)].join("-");
            format!("/{}/{slug}-{article}.html", sections[article % SECTIONS])
        }));
        let titles = paths.iter().map(|path| prose.title(&format!("{host}{path}"))).collect();
        let numbers = paths.iter().cloned().enumerate().map(|(page, path)| (path, page)).collect();
        Self { host: host.to_owned(), prose, paths, numbers, titles }
    }

    pub(crate) fn pages(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn number(&self, path: &str) -> Option<usize> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn path(&self, page: usize) -> &str {
        &self.paths[page]
    }

    /// A page with more links in its navigation.
    pub(crate) fn html(&self, page: usize, more: &[(String, &str)]) -> String {
        self.changed(page, Changes { to: &mut str::to_owned, more })
    }

    pub(crate) fn changed(&self, page: usize, mut changes: Changes<'_>) -> String {
        let mut body = String::new();
        if page == 0 {
            body += &self.prose.paragraphs(&self.name(page), 2);
            let mut dice = Dice::of(&self.name(page));
            let shown: Vec<usize> = (0..10).map(|_| self.any_article(&mut dice)).collect();
            body += &self.list(&shown, &mut changes);
        } else if page <= SECTIONS {
            body += &self.prose.paragraphs(&self.name(page), 1);
            let articles = (SECTIONS + 1..self.pages())
                .filter(|article| (article - SECTIONS - 1) % SECTIONS == page - 1);
            body += &self.list(&articles.collect::<Vec<_>>(), &mut changes);
        } else {
            body += &self.prose.paragraphs(&self.name(page), 5);
            let mut dice = Dice::of(&format!("related {}", self.name(page)));
            let next = [page.saturating_sub(SECTIONS), page + SECTIONS];
            let next = next.into_iter().filter(|page| (SECTIONS + 1..self.pages()).contains(page));
            let related: Vec<usize> =
                next.chain((0..3).map(|_| self.any_article(&mut dice))).collect();
            body += &format!("<h2>{}</h2>", self.prose.say("Related pages", "相关文章"));
            body += &self.names(&related, &mut changes);
        }
        self.framed(&self.titles[page], &body, &mut changes)
    }

    /// A page that is not one of the site's, in its template.
    pub(crate) fn other(&self, title: &str, body: &str, more: &[(String, &str)]) -> String {
        self.framed(title, body, &mut Changes { to: &mut str::to_owned, more })
    }

    /// The same at another host.
    pub(crate) fn other_host(&self, title: &str, body: &str, more: &[(String, &str)]) -> String {
        let mut to = |path: &str| format!("http://{}{path}", self.host);
        self.framed(title, body, &mut Changes { to: &mut to, more })
    }

    /// Links with a teaser each.
    pub(crate) fn teasers(&self, pages: &[usize]) -> String {
        self.list(pages, &mut Changes { to: &mut str::to_owned, more: &[] })
    }

    /// Any article, drawn.
    pub(crate) fn any_article(&self, dice: &mut Dice) -> usize {
        SECTIONS + 1 + dice.roll(self.pages() - SECTIONS - 1)
    }

    fn name(&self, page: usize) -> String {
        format!("{}{}", self.host, self.paths[page])
    }

    fn list(&self, pages: &[usize], changes: &mut Changes<'_>) -> String {
        let entries = pages.iter().map(|page| {
            let link = anchor(&(changes.to)(&self.paths[*page]), &self.titles[*page]);
            format!(
                "<div class=\"entry\"><h3>{link}</h3><p>{}</p></div>\n",
                self.prose.teaser(&self.name(*page))
            )
        });
        entries.collect()
    }

    fn names(&self, pages: &[usize], changes: &mut Changes<'_>) -> String {
        let entries = pages.iter().map(|page| {
            format!("<li>{}</li>", anchor(&(changes.to)(&self.paths[*page]), &self.titles[*page]))
        });
        format!("<ul>{}</ul>\n", entries.collect::<String>())
    }

    fn framed(&self, title: &str, body: &str, changes: &mut Changes<'_>) -> String {
        let lang = self.prose.say("en", "zh-CN");
        let site = &self.titles[0];
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{title} - {site}</title></head>\n<body><header>{site}</header>\n<nav><ul>"
        );
        let sections =
            (0..=SECTIONS).map(|page| ((changes.to)(&self.paths[page]), &*self.titles[page]));
        let more = changes.more.iter().map(|(to, name)| (to.clone(), *name));
        for (to, name) in sections.collect::<Vec<_>>().into_iter().chain(more) {
            html += &format!("<li>{}</li>", anchor(&to, name));
        }
        let rights = self.prose.say(
            "All rights reserved. Contact the editors by mail. Terms of use and privacy.",
            "版权所有。请通过邮件联系编辑。使用条款与隐私政策。",
        );
        html + "</ul></nav>\n<main><article><h1>"
            + title
            + "</h1>\n"
            + body
            + "</article></main>\n<footer><p>"
            + rights
            + "</p></footer></body></html>"
    }
}

pub(crate) fn anchor(to: &str, name: &str) -> String {
    format!("<a href=\"{}\">{name}</a>", to.replace('&', "&amp;"))
}
