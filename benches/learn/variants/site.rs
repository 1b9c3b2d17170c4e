//! An honest site whose addresses and template a dice chooses.

use std::{collections::HashMap, ops::Range};

use crate::prose::{Dice, Language, Prose, anchor};

/// How the addresses of lists and articles look.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Sections,
    Blog,
    Docs,
    Dated,
    Shop,
    Query,
    Script,
}

const LAYOUTS: [Layout; 7] = [
    Layout::Sections,
    Layout::Blog,
    Layout::Docs,
    Layout::Dated,
    Layout::Shop,
    Layout::Query,
    Layout::Script,
];

/// Where the template has the links that are added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Navigation,
    Side,
    Footer,
    Body,
}

/// A link and its name.
pub(crate) type Link = (String, String);

/// The changes that a server makes to the links of a page.
pub(crate) struct Changes<'a> {
    /// The address of a path of the site.
    pub(crate) to: &'a mut dyn FnMut(&str) -> String,
    pub(crate) more: &'a [Link],
    pub(crate) place: Place,
}

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
    /// Whether the template has a column with the newest articles.
    has_side: bool,
    /// Sentences in the footer.
    footer: usize,
}

/// How many articles a site has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) listed: usize,
    /// These are named by no page of the site.
    pub(crate) hidden: usize,
}

impl Site {
    pub(crate) fn new(host: &str, articles: Size, dice: &mut Dice) -> Self {
        let language = *dice.pick(&[Language::English, Language::Chinese]);
        let prose = Prose::new(language);
        let lists = 6 + dice.roll(7);
        let paths = Paths::new(lists, dice);
        let mut site = Self {
            host: host.to_owned(),
            prose,
            pages: Vec::new(),
            numbers: HashMap::new(),
            lists,
            hidden: articles.hidden,
            has_side: dice.roll(2) == 0,
            footer: dice.roll(4),
        };
        let paragraphs = 1 + dice.roll(6);
        site.add("/".to_owned(), 2, true);
        for list in 0..lists {
            site.add(paths.list(list), 1, true);
        }
        for article in 0..articles.listed + articles.hidden {
            let mut path = paths.article(article, dice);
            while site.numbers.contains_key(&path) {
                path = paths.article(article, dice);
            }
            site.add(path, paragraphs, false);
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
            let any = (0..3).map(|_| articles.start + dice.roll(articles.len()));
            self.pages[page].links = next.chain(any.collect::<Vec<_>>()).collect();
        }
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The articles that lists name.
    pub(crate) fn articles(&self) -> Range<usize> {
        1 + self.lists..self.pages.len() - self.hidden
    }

    /// The articles that no list names.
    pub(crate) fn hidden(&self) -> Range<usize> {
        self.pages.len() - self.hidden..self.pages.len()
    }

    pub(crate) fn lists(&self) -> Range<usize> {
        1..1 + self.lists
    }

    pub(crate) fn number(&self, path: &str) -> Option<usize> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn path(&self, page: usize) -> &str {
        &self.pages[page].path
    }

    pub(crate) fn title(&self, page: usize) -> &str {
        &self.pages[page].title
    }

    /// Any article that lists name.
    pub(crate) fn any(&self, dice: &mut Dice) -> usize {
        let articles = self.articles();
        articles.start + dice.roll(articles.len())
    }

    pub(crate) fn html(&self, page: usize, more: &[Link], place: Place) -> String {
        self.changed(page, Changes { to: &mut str::to_owned, more, place })
    }

    pub(crate) fn changed(&self, page: usize, mut changes: Changes<'_>) -> String {
        let shown = &self.pages[page];
        let body = self.text(page)
            + &if shown.is_list {
                self.teased(&shown.links, &mut changes)
            } else {
                self.names(&shown.links, &mut changes)
            };
        self.framed(&shown.title, &body, &mut changes)
    }

    /// The paragraphs of a page.
    pub(crate) fn text(&self, page: usize) -> String {
        let shown = &self.pages[page];
        self.prose.paragraphs(&format!("{}{}", self.host, shown.path), shown.paragraphs)
    }

    /// A page that is not one of the site's, in its template.
    pub(crate) fn other(&self, title: &str, body: &str, more: &[Link], place: Place) -> String {
        self.framed(title, body, &mut Changes { to: &mut str::to_owned, more, place })
    }

    /// Links with a teaser each.
    pub(crate) fn teasers(&self, pages: &[usize]) -> String {
        self.teased(
            pages,
            &mut Changes { to: &mut str::to_owned, more: &[], place: Place::Navigation },
        )
    }

    /// The link to a page.
    pub(crate) fn link(&self, page: usize) -> Link {
        (self.pages[page].path.clone(), self.pages[page].title.clone())
    }

    fn teased(&self, pages: &[usize], changes: &mut Changes<'_>) -> String {
        let entries = pages.iter().map(|page| {
            let shown = &self.pages[*page];
            let link = anchor(&(changes.to)(&shown.path), &shown.title);
            let teaser = self.prose.teaser(&format!("{}{}", self.host, shown.path));
            format!("<div class=\"entry\"><h3>{link}</h3><p>{teaser}</p></div>\n")
        });
        entries.collect()
    }

    fn names(&self, pages: &[usize], changes: &mut Changes<'_>) -> String {
        let entries = pages.iter().map(|page| {
            let shown = &self.pages[*page];
            format!("<li>{}</li>", anchor(&(changes.to)(&shown.path), &shown.title))
        });
        format!("<ul>{}</ul>\n", entries.collect::<String>())
    }

    fn framed(&self, title: &str, body: &str, changes: &mut Changes<'_>) -> String {
        let lang = self.prose.say("en", "zh-CN");
        let site = &self.pages[0].title;
        let more = links(changes.more);
        let at = |place| if changes.place == place { more.as_str() } else { "" };
        let (above, beside, below, within) =
            (at(Place::Navigation), at(Place::Side), at(Place::Footer), at(Place::Body));
        let sections = self.names(&(0..=self.lists).collect::<Vec<_>>(), changes);
        let newest = if self.has_side {
            let first = self.articles().start;
            self.names(&(first..first + 5).collect::<Vec<_>>(), changes)
        } else {
            String::new()
        };
        let rights = self.prose.paragraphs(&format!("rights {}", self.host), self.footer);
        format!(
            "<!DOCTYPE html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{title} - {site}</title></head>\n<body><header>{site}</header>\n<nav>{sections}{above}</nav>\n<main><article><h1>{title}</h1>\n{body}{within}</article></main>\n<aside>{newest}{beside}</aside>\n<footer>{rights}{below}</footer></body></html>"
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

/// The addresses of a site.
struct Paths {
    layout: Layout,
    sections: Vec<String>,
    /// The first number of an article.
    first: usize,
    /// Between two numbers.
    step: usize,
    script: (&'static str, &'static str, &'static str),
    shop: (&'static str, &'static str),
    words: Prose,
}

impl Paths {
    fn new(lists: usize, dice: &mut Dice) -> Self {
        let words = Prose::new(Language::English);
        let scripts = [
            ("/list.php?cid=", "/show.php?cid=", "&id="),
            ("/index.asp?classid=", "/article.asp?classid=", "&articleid="),
            ("/Default.aspx?tabid=", "/Default.aspx?tabid=", "&mid="),
            ("/list.jsp?type=", "/view.jsp?type=", "&nid="),
            (
                "/index.php?option=com_content&view=category&id=",
                "/index.php?option=com_content&view=article&catid=",
                "&id=",
            ),
        ];
        let shops = [("/category/", "/product/"), ("/c/", "/p/"), ("/catalog/", "/item-")];
        Self {
            layout: *dice.pick(&LAYOUTS),
            sections: (0..lists).map(|_| words.own_word(dice)).collect(),
            first: 1 + dice.roll(30_000),
            step: 1 + dice.roll(9),
            script: *dice.pick(&scripts),
            shop: *dice.pick(&shops),
            words,
        }
    }

    fn list(&self, list: usize) -> String {
        let section = &self.sections[list];
        match self.layout {
            Layout::Sections | Layout::Dated => format!("/{section}/"),
            Layout::Blog => format!("/{}/{:02}/", 2024 - list / 12, 12 - list % 12),
            Layout::Docs => format!("/docs/{section}/"),
            Layout::Shop => format!("{}{}", self.shop.0, list + 1),
            Layout::Query => format!("/?cat={}", list + 2),
            Layout::Script => format!("{}{}", self.script.0, list + 3),
        }
    }

    fn article(&self, article: usize, dice: &mut Dice) -> String {
        let list = article % self.sections.len();
        let section = &self.sections[list];
        let slug = [self.words.own_word(dice), self.words.own_word(dice)].join("-");
        let number = self.first + article * self.step;
        match self.layout {
            Layout::Sections => format!("/{section}/{slug}-{article}.html"),
            Layout::Blog => format!("{}{:02}/{slug}/", self.list(list), 1 + dice.roll(28)),
            Layout::Docs => format!("/docs/{section}/{}/{slug}.html", self.words.own_word(dice)),
            Layout::Dated => {
                format!(
                    "/a/{section}/2023{:02}{:02}/{number}.html",
                    12 - list % 12,
                    1 + dice.roll(28)
                )
            }
            Layout::Shop => format!("{}{number}", self.shop.1),
            Layout::Query => format!("/?p={number}"),
            Layout::Script => format!("{}{}{}{number}", self.script.1, list + 3, self.script.2),
        }
    }
}
