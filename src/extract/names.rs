//! What an element is by its tag, its role and its names: classes and ids are judged word by word, by the table in `names.txt`.
//!
//! A name never decides alone: [`Hint`]s are weighed against the text (`hints.rs`).

use std::{iter, sync::LazyLock};

use foldhash::HashMap;
use html5ever::{LocalName, local_name};
use scraper::node::Element;

/// Defines [`Mark`] with the names of its values, which are the headings of `names.txt`.
macro_rules! marks {
    ($($(#[$doc:meta])* $mark:ident)+) => {
        /// What a word, a name or an element is. The first ones are explained by `names.txt`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(super) enum Mark {
            $($(#[$doc])* $mark),+
        }

        impl Mark {
            const HEADINGS: &[(&str, Self)] = &[$((stringify!($mark), Self::$mark)),+];
        }
    };
}

marks! {
    Whole Outside Head Place State Subject Text Build Note Aside Comments Question
    Discussion Thread Card User OfUser Goods Sku Price Reviews List
    /// The element is boilerplate, or is outside of content.
    Boilerplate
    OutsideBoilerplate
    /// It says that it holds the body of an article.
    Body
    /// It has the text of a post, by microdata.
    Post
    /// It asks for consent to cookies.
    Consent
    /// The main content, an article, or something beside them, by tag or role.
    Main
    Article
    Beside
}

/// A set of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u32);

impl Marks {
    pub(super) fn has(self, mark: Mark) -> bool {
        self.0 >> mark as u32 & 1 == 1
    }

    pub(super) fn has_any<const N: usize>(self, marks: [Mark; N]) -> bool {
        marks.into_iter().any(|mark| self.has(mark))
    }

    pub(super) fn set(&mut self, mark: Mark, has: bool) {
        self.0 = self.0 & !(1 << mark as u32) | u32::from(has) << mark as u32;
    }
}

static WORDS: LazyLock<HashMap<&str, Marks>> = LazyLock::new(|| {
    let mut words = HashMap::<&str, Marks>::default();
    for (heading, line) in with_headings(include_str!("names.txt")) {
        let meant = Mark::HEADINGS.iter().find(|(name, _)| *name == heading);
        let mark = meant.expect("each heading is the name of a mark").1;
        for word in line.split(' ') {
            words.entry(word).or_default().set(mark, true);
        }
    }
    words
});

/// The lines of a table of words, each with the heading that it stands under.
pub(super) fn with_headings(
    table: &'static str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = table.split("\n[").filter_map(|section| section.split_once("]\n"));
    sections.flat_map(|(heading, lines)| {
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        lines.lines().filter(is_entry).map(move |line| (heading, line))
    })
}

fn marks_of(word: &str) -> Marks {
    WORDS.get(word).copied().unwrap_or_default()
}

impl Marks {
    /// What one name says.
    fn of_name(name: &str) -> Self {
        let lower = &*name.to_ascii_lowercase();
        // From the last to the first.
        let words: Vec<(usize, Marks)> = words_of(name)
            .map(|(start, end)| (end, of_body(&lower[start..end], marks_of(&lower[start..end]))))
            .collect();
        let any = |mark| words.iter().any(|(_, word)| word.has(mark));
        let mut marks = Marks::default();
        let places = words.iter().take_while(|(_, word)| word.has(Mark::Place)).count();
        // In a compound the last word says what the thing is, as in English.
        if let [(end, head), others @ ..] = &words[places..] {
            let whole = if others.is_empty() { *head } else { marks_of(&lower[..*end]) };
            let is_head = head.has(Mark::Head);
            let is_state = others.iter().any(|(_, word)| word.has(Mark::State));
            let is_whole = whole.has_any([Mark::Whole, Mark::Head]);
            marks.set(Mark::Boilerplate, is_whole || (is_head && !is_state));
            marks.set(Mark::OutsideBoilerplate, whole.has(Mark::Outside));
        }
        let is_state = any(Mark::State) || any(Mark::Question);
        for mark in [Mark::Note, Mark::Aside, Mark::Comments] {
            marks.set(mark, any(mark) && !is_state);
        }
        let is_body =
            words.iter().all(|(_, word)| word.has_any([Mark::Subject, Mark::Text, Mark::Build]));
        marks.set(Mark::Body, is_body && any(Mark::Subject) && any(Mark::Text));
        // A class may say how a page was filed.
        if words.len() > 1 && (lower.starts_with("category-") || lower.starts_with("tag-")) {
            return marks;
        }
        for mark in [Mark::Discussion, Mark::Goods, Mark::Sku, Mark::Price, Mark::Reviews] {
            marks.set(mark, any(mark));
        }
        marks.set(Mark::List, any(Mark::List) && !lower.bytes().any(|byte| byte.is_ascii_digit()));
        marks.set(Mark::Thread, any(Mark::Thread) || marks_of(lower).has(Mark::Thread));
        let is_card = words.iter().all(|(_, word)| word.has_any([Mark::User, Mark::OfUser]));
        marks.set(Mark::Card, any(Mark::Card) || (is_card && any(Mark::User)));
        marks
    }
}

/// The marks of a word, which may be made of two, as `articlebody` is.
fn of_body(word: &str, mut marks: Marks) -> Marks {
    if marks == Marks::default() {
        let starts = word.char_indices().map(|(at, _)| at).skip(1);
        let is_both = starts
            .filter(|&at| marks_of(&word[at..]).has(Mark::Text))
            .any(|at| marks_of(&word[..at]).has(Mark::Subject));
        marks.set(Mark::Subject, is_both);
        marks.set(Mark::Text, is_both);
    }
    marks
}

/// The names of a page that were judged. Most elements have names that others have.
#[derive(Debug, Default)]
pub(super) struct KnownNames<'a>(HashMap<&'a str, Marks>);

impl<'a> KnownNames<'a> {
    /// Judges an element.
    ///
    /// `in_content`: whether it is inside a `main`, `article` or `section`, where a header belongs to the text.
    pub(super) fn judge(&mut self, element: &'a Element, in_content: bool) -> Marks {
        let mut marks = Marks::default();
        for (name, value) in &element.attrs {
            // Longer ones are generated and mean nothing.
            let words = value.split_ascii_whitespace().filter(|name| name.len() <= MAX_NAME);
            match name.local {
                names!("class" "id") => words.for_each(|name| {
                    marks.0 |= self.0.entry(name).or_insert_with(|| Marks::of_name(name)).0;
                }),
                local_name!("itemprop") => words.for_each(|name| {
                    marks.set(Mark::Body, name == "articleBody" || marks.has(Mark::Body));
                    marks.set(Mark::Post, name == "text" || marks.has(Mark::Post));
                }),
                _ => {}
            }
        }
        marks.of_element(element, in_content)
    }
}

impl Marks {
    /// What an element is whose names say this.
    fn of_element(mut self, element: &Element, in_content: bool) -> Self {
        let role = attribute(element, &local_name!("role")).map_or("", str::trim);
        let is_outermost = matches!(element.name.local, names!("html" "body" "main"));
        let classes = attribute(element, &local_name!("class"));
        if !is_outermost || classes.is_none() {
            self.set(Mark::List, false);
        }
        let are_goods = is_outermost && self.has(Mark::Goods) && !self.has(Mark::List);
        self.set(Mark::Sku, are_goods || self.has(Mark::Sku));
        let is_boilerplate = match element.name.local {
            // Documentation uses it for notes, but names them so.
            local_name!("aside") => {
                !self.has(Mark::Note) || self.has(Mark::Aside) || self.has(Mark::Comments)
            }
            names!("nav" "footer" "search") => true,
            local_name!("header") if !in_content => true,
            // These contain the text, whatever their classes say.
            names!("html" "body" "main" "article" "form") => false,
            _ => {
                self.has(Mark::Boilerplate)
                    || self.has(Mark::OutsideBoilerplate) && !in_content
                    || is_boilerplate_role(role, in_content)
            }
        };
        self.set(Mark::Boilerplate, is_boilerplate);
        match element.name.local {
            // What contains the text describes the state of the page.
            names!("html" "body" "main" "article") => {
                self.set(Mark::Aside, false);
                self.set(Mark::Comments, false);
            }
            names!("h1" "h2" "h3" "h4" "h5" "h6") => self.set(Mark::Body, false),
            _ => {}
        }
        let name = &element.name.local;
        let is_beside = matches!(*name, names!("aside" "footer" "header" "nav" "search"));
        let is_article = *name == local_name!("article");
        self.set(Mark::Article, is_article);
        self.set(Mark::Main, is_main(element) && !is_article && !is_beside);
        self.set(Mark::Beside, is_beside);
        self
    }

    /// What the element may be, other than text of the page.
    pub(super) fn hint(self) -> Hint {
        let hints = [
            (Mark::Boilerplate, Hint::Boilerplate),
            (Mark::Comments, Hint::Comments),
            (Mark::Aside, Hint::Aside),
        ];
        hints.into_iter().find(|&(mark, _)| self.has(mark)).map_or(Hint::None, |(_, hint)| hint)
    }
}

/// What a block may be, other than text of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hint {
    #[default]
    None,
    /// Teasers of other pages: headings that are links, with little text.
    Teaser,
    /// Beside the text: related pages, teasers, widgets.
    Aside,
    /// Comments by readers.
    Comments,
    /// Boilerplate of the site, by tag, role or name.
    Boilerplate,
}

/// Whether the element is content, inside which headers belong to the text.
pub(super) fn is_content(element: &Element) -> bool {
    matches!(element.name.local, names!("article" "section")) || is_main(element)
}

/// Whether the element holds the main content, as it says.
fn is_main(element: &Element) -> bool {
    element.name.local == local_name!("main")
        || attribute(element, &local_name!("role")) == Some("main")
}

fn is_boilerplate_role(role: &str, in_content: bool) -> bool {
    match role {
        "banner" => !in_content,
        "navigation" | "contentinfo" | "complementary" | "search" | "menu" | "menubar"
        | "toolbar" | "dialog" | "alertdialog" | "tooltip" => true,
        _ => false,
    }
}

/// The longest name that is read.
const MAX_NAME: usize = 40;

/// The value of an attribute.
pub(super) fn attribute<'a>(element: &'a Element, wanted: &LocalName) -> Option<&'a str> {
    element.attrs.iter().find(|(name, _)| name.local == *wanted).map(|(_, value)| &**value)
}

/// What elements of one kind have in common, such as the posts of a thread: the tag, the first class and the id, without digits. Zero if
/// the element has no name.
pub(super) fn shape_of(element: &Element) -> u32 {
    let class = attribute(element, &local_name!("class"))
        .and_then(|classes| classes.split_ascii_whitespace().next());
    let id = attribute(element, &local_name!("id"));
    if class.or(id).is_none() {
        return 0;
    }
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let names = [Some(&*element.name.local), class, id].into_iter().flatten();
    let letters = |name: &'_ str| {
        name.bytes()
            .take(MAX_NAME)
            .filter(|byte| !byte.is_ascii_digit())
            .chain([b' '])
            .fold(0, hash)
    };
    names.map(letters).fold(0x811C_9DC5, |all: u32, one| all.rotate_left(5) ^ one).max(1)
}

/// The words of a name from the last to the first, as ranges. A word starts after `-` or `_`, and at a capital between small letters.
fn words_of(name: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = name;
    iter::from_fn(move || {
        rest = rest.trim_end_matches(['-', '_']);
        let (bytes, end) = (rest.as_bytes(), rest.len());
        let is_small = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
        let starts = |&at: &usize| {
            matches!(bytes[at - 1], b'-' | b'_')
                || (bytes[at].is_ascii_uppercase() && is_small(at - 1) && is_small(at + 1))
        };
        let start = (1..end).rev().find(starts).unwrap_or(0);
        rest = &rest[..start];
        (end > 0).then_some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::{Mark, Marks};

    fn has(name: &str, mark: Mark) -> bool {
        Marks::of_name(name).has(mark)
    }

    #[test]
    fn the_last_word_of_a_name_decides() {
        for name in [
            "nav",
            "navheader",
            "page-footer",
            "siteFooter",
            "sidebar-left",
            "left_sidebar",
            "SideBar",
            "main-nav",
            "nav-wrapper",
            "breadcrumb",
            "rightSidebar",
        ] {
            assert!(has(name, Mark::Boilerplate), "{name}");
        }
        for name in [
            "content-header",
            "sidebar-layout",
            "has-sidebar",
            "withSidebar",
            "cookie-recipe",
            "content",
            "navigator-guide",
            "footnotes",
            "menu-item-description",
            "article",
            "toc",
            "headline",
            "footer-free-layout",
            "",
            "-",
            "漢字",
        ] {
            assert!(!has(name, Mark::Boilerplate), "{name}");
        }
    }

    #[test]
    fn a_header_is_boilerplate_only_outside_of_content() {
        assert!(has("header", Mark::OutsideBoilerplate));
        assert!(!has("header", Mark::Boilerplate));
    }

    #[test]
    fn names_of_an_article_and_its_text_name_its_body() {
        let named = [
            "post-content",
            "articleBody",
            "entry_content",
            "js-article-text",
            "ArticleContent",
            "articlecontent",
        ];
        for name in named {
            assert!(has(name, Mark::Body), "{name}");
        }
        let others = [
            "content",
            "post",
            "post-list",
            "related-post-content",
            "comment-body",
            "post-content-footer",
            "js-page",
            "",
        ];
        for name in others {
            assert!(!has(name, Mark::Body), "{name}");
        }
    }

    #[test]
    fn any_word_of_a_name_can_be_a_hint() {
        for (name, mark) in [
            ("article-related", Mark::Aside),
            ("RelatedPosts", Mark::Aside),
            ("comments_list", Mark::Comments),
            ("comment-share", Mark::Comments),
            ("callout", Mark::Note),
        ] {
            assert!(has(name, mark), "{name}");
        }
        for name in ["commentary", "unrelated", "has-related", "no-comments", "content", "", "漢字"]
        {
            let hints = [Mark::Note, Mark::Aside, Mark::Comments];
            assert!(!Marks::of_name(name).has_any(hints), "{name}");
        }
    }

    #[test]
    fn a_generated_name_does_not_name_a_discussion() {
        for name in ["qa", "site-qa", "qa-list", "pageTopic"] {
            assert!(has(name, Mark::Discussion), "{name}");
        }
        assert!(!has("theme-yiXxQA", Mark::Discussion));
    }
}
