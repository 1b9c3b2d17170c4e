//! Recognises boilerplate: navigation, headers and footers, sidebars, cookie notices, related pages, comments.
//!
//! An element is judged by its tag, its ARIA role, and the words in its classes and its id. Words of `boilerplate.txt` decide; words of
//! `hints.txt` only suggest, and the scoring (`score.rs`) weighs them against the text.

use std::sync::LazyLock;

use foldhash::HashMap;
use html5ever::local_name;
use scraper::node::Element;

use super::{
    marks::{Marks, marks_of},
    words::{MAX_NAME, Words, attribute, with_lower_case, words_of},
};

static BOILERPLATE: LazyLock<Words<Rule>> = LazyLock::new(|| {
    Words::parse(include_str!("boilerplate.txt"), |heading| match heading {
        "whole" => Rule::Whole,
        "outside" => Rule::Outside,
        "head" => Rule::Head,
        "first" => Rule::First,
        "place" => Rule::Place,
        _ => Rule::State,
    })
});

static HINTS: LazyLock<Words<HintWord>> = LazyLock::new(|| {
    Words::parse(include_str!("hints.txt"), |heading| match heading {
        "subject" => HintWord::Subject,
        "body" => HintWord::Body,
        "build" => HintWord::Build,
        "note" => HintWord::Note,
        "aside" => HintWord::Aside,
        "comments" => HintWord::Comments,
        _ => HintWord::State,
    })
});

/// The meaning of a word of `boilerplate.txt`, which explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Whole,
    Outside,
    Head,
    First,
    Place,
    State,
}

/// The meaning of a word of `hints.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HintWord {
    /// A name with a word of both is that of an article's body: post-content.
    Subject,
    Body,
    Build,
    /// The element is a note that belongs to the text.
    Note,
    Aside,
    Comments,
    /// The name describes the state of something else: has-sidebar.
    State,
}

/// What a block may be, other than text of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hint {
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

/// Whether the element is boilerplate by its tag, its ARIA role, or a word in its classes or its id.
///
/// `in_content`: whether it is inside a `main`, `article` or `section`, where a header belongs to the text.
pub(super) fn is_boilerplate(element: &Element, names: Names, in_content: bool) -> bool {
    match element.name.local {
        // Documentation uses it for notes, but names them so.
        local_name!("aside") => return names.hint != Some(HintWord::Note),
        names!("nav" "footer" "search") => return true,
        local_name!("header") if !in_content => return true,
        // These contain the text, whatever their classes say.
        names!("html" "body" "main" "article" "form") => return false,
        _ => {}
    }
    names.boilerplate == Place::Anywhere
        || (names.boilerplate == Place::Outside && !in_content)
        || attribute(element, &local_name!("role"))
            .is_some_and(|role| is_boilerplate_role(role, in_content))
}

/// Where a name is that of boilerplate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    #[default]
    Nowhere,
    /// Outside of content.
    Outside,
    Anywhere,
}

/// What the classes and the id of an element say of it, or one of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    boilerplate: Place,
    hint: Option<HintWord>,
    /// Whether it holds the body of an article, by microdata or by a name such as post-content.
    pub(super) is_body: bool,
    /// Bits of [`Marks`](super::marks::Marks).
    pub(super) marks: u16,
}

impl Names {
    fn add(&mut self, other: Self) {
        self.boilerplate = self.boilerplate.max(other.boilerplate);
        self.hint = self.hint.max(other.hint);
        self.is_body |= other.is_body;
        self.marks |= other.marks;
    }

    /// What one name says.
    fn of_name(name: &str) -> Self {
        let judge = |lower: &str| Self {
            boilerplate: boilerplate_of(name, lower),
            hint: hint_word_of(name, lower),
            is_body: names_article_body(name, lower),
            marks: marks_of(name, lower),
        };
        with_lower_case(name, judge).unwrap_or_default()
    }
}

/// The names of a page that were judged. Most elements have names that others have.
#[derive(Debug, Default)]
pub(super) struct KnownNames<'a>(HashMap<&'a str, Names>);

impl<'a> KnownNames<'a> {
    /// Judges the names of an element.
    pub(super) fn of(&mut self, element: &'a Element) -> Names {
        let mut names = Names::default();
        for (name, value) in &element.attrs {
            let words = value.split_ascii_whitespace();
            match name.local {
                names!("class" "id") => words.for_each(|name| {
                    names.add(*self.0.entry(name).or_insert_with(|| Names::of_name(name)));
                }),
                local_name!("itemprop") => words.for_each(|name| match name {
                    "articleBody" => names.is_body = true,
                    "text" => names.marks |= Marks::POST,
                    _ => {}
                }),
                _ => {}
            }
        }
        names
    }
}

/// Whether the element is content, inside which headers belong to the text.
pub(super) fn is_content(element: &Element) -> bool {
    matches!(element.name.local, names!("article" "section")) || is_main(element)
}

/// Whether the element holds the main content, as it says.
pub(super) fn is_main(element: &Element) -> bool {
    element.name.local == local_name!("main")
        || attribute(element, &local_name!("role")) == Some("main")
}

fn is_boilerplate_role(role: &str, in_content: bool) -> bool {
    match role.trim() {
        "banner" => !in_content,
        "navigation" | "contentinfo" | "complementary" | "search" | "menu" | "menubar"
        | "toolbar" | "dialog" | "alertdialog" | "tooltip" => true,
        _ => false,
    }
}

fn boilerplate_of(name: &str, lower: &str) -> Place {
    let end = end_without_place(name, lower);
    match BOILERPLATE.get(&lower[..end]) {
        Some(Rule::Whole | Rule::Head | Rule::First) => Place::Anywhere,
        Some(Rule::Outside) => Place::Outside,
        None if is_compound_of_boilerplate(&name[..end], &lower[..end]) => Place::Anywhere,
        _ => Place::Nowhere,
    }
}

/// In a compound the last word says what the thing is, as in English.
fn is_compound_of_boilerplate(name: &str, lower: &str) -> bool {
    let mut words = words_of(name).map(|(start, end)| BOILERPLATE.get(&lower[start..end]));
    match words.next() {
        Some(Some(Rule::Head | Rule::First)) => !words.any(|rule| rule == Some(Rule::State)),
        Some(_) => words.last() == Some(Some(Rule::First)),
        None => false,
    }
}

/// The end of the name without trailing words of place.
fn end_without_place(name: &str, lower: &str) -> usize {
    let decides =
        |&(start, end): &(usize, usize)| BOILERPLATE.get(&lower[start..end]) != Some(Rule::Place);
    words_of(name).find(decides).map_or(0, |(_, end)| end)
}

/// What the names of the element's classes and its id suggest. Those of elements that contain the text describe its state.
pub(super) fn hint_of(element: &Element, names: Names) -> Hint {
    if matches!(element.name.local, names!("html" "body" "main" "article")) {
        return Hint::None;
    }
    match names.hint {
        Some(HintWord::Aside) => Hint::Aside,
        Some(HintWord::Comments) => Hint::Comments,
        _ => Hint::None,
    }
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

/// Whether a name is made of words for an article and for its text.
fn names_article_body(name: &str, lower: &str) -> bool {
    let (mut has_subject, mut has_body) = (false, false);
    let all = words_of(name).all(|(start, end)| {
        let word = &lower[start..end];
        let meaning = HINTS.get(word);
        let is_both = meaning.is_none() && is_subject_and_body(word);
        has_subject |= is_both || meaning == Some(HintWord::Subject);
        has_body |= is_both || meaning == Some(HintWord::Body);
        is_both || meaning.is_some_and(|meaning| meaning <= HintWord::Build)
    });
    all && has_subject && has_body
}

/// Whether a word is made of two, as `articlebody` is.
fn is_subject_and_body(word: &str) -> bool {
    let is_body = |&at: &usize| HINTS.get(&word[at..]) == Some(HintWord::Body);
    let starts = word.char_indices().map(|(at, _)| at).skip(1);
    starts.filter(is_body).any(|at| HINTS.get(&word[..at]) == Some(HintWord::Subject))
}

/// The strongest word anywhere in a name.
fn hint_word_of(name: &str, lower: &str) -> Option<HintWord> {
    let meaning = |(start, end): (usize, usize)| {
        let word = &lower[start..end];
        let is_state = BOILERPLATE.get(word) == Some(Rule::State);
        HINTS.get(word).or(is_state.then_some(HintWord::State))
    };
    words_of(name)
        .filter_map(meaning)
        .max()
        .filter(|word| (HintWord::Note..HintWord::State).contains(word))
}

#[cfg(test)]
mod tests {
    use super::{HintWord, Names, Place};

    fn is_boilerplate_name(name: &str, in_content: bool) -> bool {
        match Names::of_name(name).boilerplate {
            Place::Anywhere => true,
            Place::Outside => !in_content,
            Place::Nowhere => false,
        }
    }

    fn names_article_body(name: &str) -> bool {
        Names::of_name(name).is_body
    }

    fn hint_word_of(name: &str) -> Option<HintWord> {
        Names::of_name(name).hint
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
            assert!(is_boilerplate_name(name, false), "{name}");
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
            assert!(!is_boilerplate_name(name, false), "{name}");
        }
    }

    #[test]
    fn a_header_is_boilerplate_only_outside_of_content() {
        assert!(is_boilerplate_name("header", false));
        assert!(!is_boilerplate_name("header", true));
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
            assert!(names_article_body(name), "{name}");
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
            assert!(!names_article_body(name), "{name}");
        }
    }

    #[test]
    fn any_word_of_a_name_can_be_a_hint() {
        assert_eq!(hint_word_of("article-related"), Some(HintWord::Aside));
        assert_eq!(hint_word_of("RelatedPosts"), Some(HintWord::Aside));
        assert_eq!(hint_word_of("comments_list"), Some(HintWord::Comments));
        assert_eq!(hint_word_of("comment-share"), Some(HintWord::Comments));
        assert_eq!(hint_word_of("callout"), Some(HintWord::Note));
        for name in ["commentary", "unrelated", "has-related", "no-comments", "content", "", "漢字"]
        {
            assert_eq!(hint_word_of(name), None, "{name}");
        }
    }
}
