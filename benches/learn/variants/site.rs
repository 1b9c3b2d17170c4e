//! An honest site whose URLs and template a dice chooses.

use std::{collections::HashMap, ops::Range};

use crate::prose::{Dice, Prose};

/// A link and its name.
pub(crate) type Link = (String, String);

/// The URL that a page has for a path of the site.
type To<'a> = &'a mut dyn FnMut(&str) -> String;

#[derive(Debug)]
struct Page {
    path: String,
    title: String,
    /// The articles that it leads to.
    links: Vec<usize>,
    paragraphs: usize,
    /// Whether its links have a teaser each.
    is_list: bool,
}

/// A site whose pages are numbered: the home page, the lists, the articles, the articles that no page of the site names.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) host: String,
    pub(crate) prose: Prose,
    pages: Vec<Page>,
    numbers: HashMap<String, usize>,
    lists: usize,
    hidden: usize,
    /// Whether the links that are added to a page are part of its text, or of the template.
    is_within: bool,
}

impl Site {
    /// With so many articles that lists name, and so many that no page names.
    pub(crate) fn new(host: &str, listed: usize, hidden: usize, dice: &mut Dice) -> Self {
        let lists = 6 + dice.roll(7);
        let (list_path, article_path) = *dice.pick(&LAYOUTS);
        let sections: Vec<String> = (0..lists).map(|_| dice.word()).collect();
        let (first, step) = (1 + dice.roll(30_000), 1 + dice.roll(9));
        let mut site = Self {
            host: host.to_owned(),
            prose: Prose::new(),
            pages: Vec::new(),
            numbers: HashMap::new(),
            lists,
            hidden,
            is_within: dice.one_in(4),
        };
        let paragraphs = 1 + dice.roll(6);
        site.add("/".to_owned(), 2, true);
        for (list, section) in sections.iter().enumerate() {
            site.add(filled(list_path, section, list + 1, dice), 1, true);
        }
        for article in 0..listed + hidden {
            let (list, number) = (article % lists, first + article * step);
            let path = article_path.replace("{list}", &(list + 1).to_string());
            site.add(filled(&path, &sections[list], number, dice), paragraphs, false);
        }
        site.connect(dice);
        site
    }

    fn add(&mut self, path: String, paragraphs: usize, is_list: bool) {
        let title = self.prose.title(&format!("{}{path}", self.host));
        self.numbers.insert(path.clone(), self.pages.len());
        self.pages.push(Page { path, title, links: Vec::new(), paragraphs, is_list });
    }

    fn connect(&mut self, dice: &mut Dice) {
        let articles = self.articles();
        self.pages[0].links = articles.clone().take(10).collect();
        for article in articles.clone() {
            let list = 1 + (article - articles.start) % self.lists;
            self.pages[list].links.push(article);
        }
        for page in articles.start..self.pages.len() {
            let next = [page.saturating_sub(self.lists), page + self.lists];
            let next = next.into_iter().filter(|page| articles.contains(page));
            self.pages[page].links = next.chain((0..3).map(|_| self.any(dice))).collect();
        }
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The articles that lists name.
    pub(crate) fn articles(&self) -> Range<usize> {
        1 + self.lists..self.pages.len() - self.hidden
    }

    /// The articles that no page names.
    pub(crate) fn hidden(&self) -> Range<usize> {
        self.pages.len() - self.hidden..self.pages.len()
    }

    pub(crate) fn lists(&self) -> Range<usize> {
        1..1 + self.lists
    }

    /// Whether this is the path of the home page or of a list.
    pub(crate) fn is_list(&self, path: &str) -> bool {
        self.number(path).is_some_and(|page| self.pages[page].is_list)
    }

    pub(crate) fn number(&self, path: &str) -> Option<usize> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn path(&self, page: usize) -> &str {
        &self.pages[page].path
    }

    /// Any article that lists name.
    pub(crate) fn any(&self, dice: &mut Dice) -> usize {
        let articles = self.articles();
        articles.start + dice.roll(articles.len())
    }

    /// A page with more links.
    pub(crate) fn html(&self, page: usize, more: &[Link]) -> String {
        self.changed(page, &mut str::to_owned, more)
    }

    /// A page with its links changed.
    pub(crate) fn changed(&self, page: usize, to: To<'_>, more: &[Link]) -> String {
        let shown = &self.pages[page];
        let links = if shown.is_list {
            self.teased(&shown.links, to)
        } else {
            self.named(&shown.links, to)
        };
        self.framed(&shown.title, &(self.text(page) + &links), to, more)
    }

    /// The paragraphs of a page.
    pub(crate) fn text(&self, page: usize) -> String {
        let shown = &self.pages[page];
        self.prose.paragraphs(&format!("{}{}", self.host, shown.path), shown.paragraphs)
    }

    /// A page that is not one of the site's, in its template.
    pub(crate) fn other(&self, title: &str, body: &str) -> String {
        self.framed(title, body, &mut str::to_owned, &[])
    }

    /// Links with a teaser each.
    pub(crate) fn teasers(&self, pages: &[usize]) -> String {
        self.teased(pages, &mut str::to_owned)
    }

    /// The link to a page.
    pub(crate) fn link(&self, page: usize) -> Link {
        (self.pages[page].path.clone(), self.pages[page].title.clone())
    }

    fn teased(&self, pages: &[usize], to: To<'_>) -> String {
        let entry = |page: &usize| {
            let Page { path, title, .. } = &self.pages[*page];
            let link = anchor(&to(path), title);
            let teaser = self.prose.teaser(&format!("{}{path}", self.host));
            format!("<div class=\"entry\"><h3>{link}</h3><p>{teaser}</p></div>\n")
        };
        pages.iter().map(entry).collect()
    }

    fn named(&self, pages: &[usize], to: To<'_>) -> String {
        let named = |page: &usize| {
            let Page { path, title, .. } = &self.pages[*page];
            (to(path), title.clone())
        };
        links(&pages.iter().map(named).collect::<Vec<_>>())
    }

    fn framed(&self, title: &str, body: &str, to: To<'_>, more: &[Link]) -> String {
        let site = &self.pages[0].title;
        let more = links(more);
        let (within, beside) = if self.is_within { (&*more, "") } else { ("", &*more) };
        let sections = self.named(&(0..=self.lists).collect::<Vec<_>>(), to);
        let rights = self.prose.paragraphs(&format!("rights {}", self.host), 1);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} - {site}</title></head>\n<body><header>{site}</header>\n<nav>{sections}{beside}</nav>\n<main><article><h1>{title}</h1>\n{body}{within}</article></main>\n<footer>{rights}</footer></body></html>"
        )
    }
}

/// A list of links.
pub(crate) fn links(links: &[Link]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let entries = links.iter().map(|(to, name)| format!("<li>{}</li>", anchor(to, name)));
    format!("<ul>{}</ul>\n", entries.collect::<String>())
}

pub(crate) fn anchor(to: &str, name: &str) -> String {
    format!("<a href=\"{}\">{name}</a>", to.replace('&', "&amp;"))
}

/// How the URLs of lists and of articles look.
const LAYOUTS: [(&str, &str); 9] = [
    ("/{section}/", "/{section}/{slug}-{number}.html"),
    ("/2024/{number}/", "/2024/{list}/{day}/{slug}-{number}/"),
    ("/docs/{section}/", "/docs/{section}/{slug}/{slug}-{number}.html"),
    ("/{section}/", "/a/{section}/202306{day}/{number}.html"),
    ("/category/{number}", "/product/{number}"),
    ("/c/{number}", "/item-{number}"),
    ("/?cat={number}", "/?p={number}"),
    ("/list.php?cid={number}", "/show.php?cid={list}&id={number}"),
    ("/Default.aspx?tabid={number}", "/Default.aspx?tabid={list}&mid={number}"),
];

fn filled(layout: &str, section: &str, number: usize, dice: &mut Dice) -> String {
    let slug = [dice.word(), dice.word()].join("-");
    let day = format!("{:02}", 1 + dice.roll(28));
    let values = [
        ("{section}", section),
        ("{number}", &number.to_string()),
        ("{slug}", &slug),
        ("{day}", &day),
    ];
    values.iter().fold(layout.to_owned(), |path, (name, value)| path.replace(name, value))
}
