//! Recognises boilerplate: navigation, headers and footers, sidebars, cookie notices, related pages, comments.
//!
//! An element is judged by its tag, its ARIA role, and the words in its classes and its id. Words of `boilerplate.txt` decide; words of
//! `hints.txt` only suggest, and the scoring (`score.rs`) weighs them against the text.

use std::{iter, sync::LazyLock};

use html5ever::{LocalName, local_name};
use scraper::node::Element;

/// The longest name that is read; longer ones are generated and mean nothing.
const MAX_NAME: usize = 40;

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
pub(super) fn is_boilerplate(element: &Element, in_content: bool) -> bool {
    match element.name.local {
        // Documentation uses it for notes, but names them so.
        local_name!("aside") => return hint_words_of(element).all(|word| word != HintWord::Note),
        names!("nav" "footer" "search") => return true,
        local_name!("header") if !in_content => return true,
        // These contain the text, whatever their classes say.
        names!("html" "body" "main" "article" "form") => return false,
        _ => {}
    }
    element.attrs.iter().any(|(name, value)| match name.local {
        local_name!("role") => is_boilerplate_role(value, in_content),
        local_name!("class") => {
            value.split_ascii_whitespace().any(|name| is_boilerplate_name(name, in_content))
        }
        local_name!("id") => is_boilerplate_name(value, in_content),
        _ => false,
    })
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

/// The value of an attribute.
pub(super) fn attribute<'a>(element: &'a Element, wanted: &LocalName) -> Option<&'a str> {
    element.attrs.iter().find(|(name, _)| name.local == *wanted).map(|(_, value)| &**value)
}

fn is_boilerplate_role(role: &str, in_content: bool) -> bool {
    match role.trim() {
        "banner" => !in_content,
        "navigation" | "contentinfo" | "complementary" | "search" | "menu" | "menubar"
        | "toolbar" | "dialog" | "alertdialog" | "tooltip" => true,
        _ => false,
    }
}

/// Judges one class or id.
fn is_boilerplate_name(name: &str, in_content: bool) -> bool {
    with_lower_case(name, |lower| {
        let end = end_without_place(name, lower);
        match BOILERPLATE.get(&lower[..end]) {
            Some(Rule::Whole | Rule::Head | Rule::First) => true,
            Some(Rule::Outside) => !in_content,
            Some(_) => false,
            None => is_compound_of_boilerplate(&name[..end], &lower[..end]),
        }
    })
    .unwrap_or(false)
}

/// In a compound the last word says what the thing is, as in English.
fn is_compound_of_boilerplate(name: &str, lower: &str) -> bool {
    let mut words = words_of(name).map(|(start, end)| BOILERPLATE.get(&lower[start..end]));
    match words.next() {
        Some(Some(Rule::Head)) => !words.any(|rule| rule == Some(Rule::State)),
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
pub(super) fn hint_of(element: &Element) -> Hint {
    if matches!(element.name.local, names!("html" "body" "main" "article")) {
        return Hint::None;
    }
    match hint_words_of(element).max() {
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

/// Whether the element says that it holds the body of an article: by microdata, or by a name such as post-content.
pub(super) fn is_article_body(element: &Element) -> bool {
    element.attrs.iter().any(|(name, value)| match name.local {
        local_name!("itemprop") => value.split_ascii_whitespace().any(|name| name == "articleBody"),
        names!("class" "id") => value.split_ascii_whitespace().any(names_article_body),
        _ => false,
    })
}

fn names_article_body(name: &str) -> bool {
    with_lower_case(name, |lower| {
        let (mut has_subject, mut has_body) = (false, false);
        words_of(name).all(|(start, end)| {
            let word = &lower[start..end];
            let meaning = HINTS.get(word);
            let is_both = meaning.is_none() && is_subject_and_body(word);
            has_subject |= is_both || meaning == Some(HintWord::Subject);
            has_body |= is_both || meaning == Some(HintWord::Body);
            is_both || meaning.is_some_and(|meaning| meaning <= HintWord::Build)
        }) && has_subject
            && has_body
    })
    .unwrap_or(false)
}

/// Whether a word is made of two, as `articlebody` is.
fn is_subject_and_body(word: &str) -> bool {
    let is_body = |&at: &usize| HINTS.get(&word[at..]) == Some(HintWord::Body);
    let starts = word.char_indices().map(|(at, _)| at).skip(1);
    starts.filter(is_body).any(|at| HINTS.get(&word[..at]) == Some(HintWord::Subject))
}

fn hint_words_of(element: &Element) -> impl Iterator<Item = HintWord> {
    let named = element.attrs.iter().filter(|(name, _)| matches!(name.local, names!("class" "id")));
    named.flat_map(|(_, value)| value.split_ascii_whitespace()).filter_map(hint_word_of)
}

/// The strongest word anywhere in a name.
fn hint_word_of(name: &str) -> Option<HintWord> {
    let strongest =
        |lower: &str| words_of(name).filter_map(|(start, end)| HINTS.get(&lower[start..end])).max();
    with_lower_case(name, strongest)
        .flatten()
        .filter(|word| (HintWord::Note..HintWord::State).contains(word))
}

/// Words with their meanings, from a text file.
#[derive(Debug)]
pub(super) struct Words<R> {
    /// By length, first and last byte: nearly all have one word at most.
    slots: Vec<Vec<(&'static str, R)>>,
}

impl<R: Copy> Words<R> {
    /// Parses words under headings in brackets; `meaning_of` maps headings. Lines that start with `#` are comments.
    pub(super) fn parse(file: &'static str, meaning_of: impl Fn(&str) -> R) -> Self {
        let mut slots: Vec<Vec<(&str, R)>> = vec![Vec::new(); SLOTS];
        let mut meaning = None;
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if let Some(heading) = line.strip_prefix('[') {
                meaning = Some(meaning_of(heading.trim_end_matches(']')));
            } else if let Some(meaning) = meaning {
                for word in line.split_whitespace() {
                    let slot = &mut slots[slot(word)];
                    // Of several meanings the last one counts.
                    slot.retain(|(known, _)| *known != word);
                    slot.push((word, meaning));
                }
            }
        }
        Self { slots }
    }

    /// The meaning of a word.
    pub(super) fn get(&self, word: &str) -> Option<R> {
        let same = self.slots[slot(word)].iter().find(|(known, _)| *known == word);
        same.map(|(_, meaning)| *meaning)
    }
}

/// Slots of [`Words`].
const SLOTS: usize = 1 << 10;

fn slot(word: &str) -> usize {
    let [first, .., last] = *word.as_bytes() else { return word.len() };
    (usize::from(first) * 31 + usize::from(last) * 5 + word.len()) % SLOTS
}

/// The result of `judge` for a name in lower case; `None` for a name that is too long.
pub(super) fn with_lower_case<T>(name: &str, judge: impl FnOnce(&str) -> T) -> Option<T> {
    let mut buffer = [0; MAX_NAME];
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    Some(judge(str::from_utf8(lower).ok()?))
}

/// The words of a name from the last to the first, as ranges. A word starts after `-` or `_`, and at a capital that follows a
/// small letter.
pub(super) fn words_of(name: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = name;
    iter::from_fn(move || {
        rest = rest.trim_end_matches(['-', '_']);
        let (bytes, end) = (rest.as_bytes(), rest.len());
        let starts = |&at: &usize| {
            matches!(bytes[at - 1], b'-' | b'_')
                || (bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
        };
        let start = (1..end).rev().find(starts).unwrap_or(0);
        rest = &rest[..start];
        (end > 0).then_some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::{HintWord, hint_word_of, is_boilerplate_name, names_article_body};

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
