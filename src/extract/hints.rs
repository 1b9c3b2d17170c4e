//! What the names of classes and ids suggest of a block without proving it.

use std::sync::LazyLock;

use html5ever::local_name;
use scraper::node::Element;

use super::names::{Table, Words, judge};

/// What a block may be, besides text of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hint {
    None,
    /// Teasers of other pages: headings that are links, with little text.
    Teaser,
    /// Beside the text: related pages, teasers, widgets.
    Aside,
    /// What readers wrote about it.
    Comments,
    /// Furniture of the site, by tag, role or name.
    Furniture,
}

/// What a word of `hints.txt` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    /// The element is a note of the text.
    Note,
    Aside,
    Comments,
    /// The name speaks of the state of something else: has-sidebar.
    State,
}

static WORDS: LazyLock<Table<Word>> = LazyLock::new(|| {
    Table::read(include_str!("hints.txt"), |heading| match heading {
        "note" => Word::Note,
        "aside" => Word::Aside,
        "comments" => Word::Comments,
        _ => Word::State,
    })
});

/// What the names of the element's classes and its id suggest. Those of elements that hold the content speak of its state.
pub(super) fn hint_of(element: &Element) -> Hint {
    if matches!(
        element.name.local,
        local_name!("html") | local_name!("body") | local_name!("main") | local_name!("article")
    ) {
        return Hint::None;
    }
    match words_of(element).max() {
        Some(Word::Aside) => Hint::Aside,
        Some(Word::Comments) => Hint::Comments,
        _ => Hint::None,
    }
}

/// Whether the element calls itself a note, as documentation does that sets notes apart by `aside`.
pub(super) fn is_note(element: &Element) -> bool {
    words_of(element).any(|word| word == Word::Note)
}

fn words_of(element: &Element) -> impl Iterator<Item = Word> {
    let names = element.attrs.iter().flat_map(|(name, value)| {
        let names = match name.local {
            local_name!("class") | local_name!("id") => &**value,
            _ => "",
        };
        names.split_ascii_whitespace()
    });
    names.filter_map(word_of)
}

/// The strongest word of a name, wherever in it.
fn word_of(name: &str) -> Option<Word> {
    let strongest = |name: &str, lower: &str| {
        let words = Words { name, end: name.len() };
        words.filter_map(|(start, end)| WORDS.get(&lower[start..end])).max()
    };
    judge(name, strongest).flatten().filter(|&word| word != Word::State)
}

#[cfg(test)]
mod tests {
    use super::{Word, word_of};

    #[test]
    fn any_word_of_a_name_hints() {
        assert_eq!(word_of("article-related"), Some(Word::Aside));
        assert_eq!(word_of("RelatedPosts"), Some(Word::Aside));
        assert_eq!(word_of("comments_list"), Some(Word::Comments));
        assert_eq!(word_of("comment-share"), Some(Word::Comments));
        assert_eq!(word_of("admonition"), Some(Word::Note));
        for name in ["commentary", "unrelated", "has-related", "no-comments", "content", "", "漢字"]
        {
            assert_eq!(word_of(name), None, "{name}");
        }
    }
}
