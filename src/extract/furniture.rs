//! Tells a page's furniture from its body: navigation, headers and footers, sidebars, controls, cookie notes.

use std::sync::LazyLock;

use html5ever::local_name;
use scraper::node::Element;

use super::{
    hints,
    names::{Table, Words, judge},
};

/// Words of the names of classes and ids, from `furniture.txt`.
static WORDS: LazyLock<Table<Rule>> = LazyLock::new(|| {
    Table::read(include_str!("furniture.txt"), |heading| match heading {
        "whole" => Rule::Whole,
        "outside" => Rule::Outside,
        "head" => Rule::Head,
        "first" => Rule::First,
        "place" => Rule::Place,
        _ => Rule::State,
    })
});

/// What a word of the table says of a name; `furniture.txt` explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Whole,
    Outside,
    Head,
    First,
    Place,
    State,
}

/// Whether the element is furniture by its tag, its ARIA role, or a word in its classes or id.
///
/// `in_content`: whether it stands inside a `main`, `article` or `section`, where a header belongs to the text.
pub(super) fn is_furniture(element: &Element, in_content: bool) -> bool {
    match element.name.local {
        // Documentation sets notes apart by it, but names them so.
        local_name!("aside") => return !hints::is_note(element),
        local_name!("nav")
        | local_name!("footer")
        | local_name!("label")
        | local_name!("search") => return true,
        local_name!("header") if !in_content => return true,
        // These hold the content, whatever their classes say.
        local_name!("html")
        | local_name!("body")
        | local_name!("main")
        | local_name!("article")
        | local_name!("form") => return false,
        _ => {}
    }
    element.attrs.iter().any(|(name, value)| match name.local {
        local_name!("role") => is_furniture_role(value, in_content),
        local_name!("class") => {
            value.split_ascii_whitespace().any(|name| is_furniture_name(name, in_content))
        }
        local_name!("id") => is_furniture_name(value, in_content),
        _ => false,
    })
}

/// Whether the element is not shown, or only over the page, as a dialog.
///
/// A hidden `span` stays: it is one of several alternatives among which a script chooses (the key of this or that system), and the
/// sentence has a hole without them. What pages really hide (dialogs, menus, templates) are blocks.
///
/// The page itself is never hidden: where it says so, a script shows it.
pub(super) fn is_hidden(element: &Element) -> bool {
    if matches!(element.name.local, local_name!("html") | local_name!("body")) {
        return false;
    }
    element.name.local == local_name!("dialog")
        || element.attrs.iter().any(|(name, value)| match name.local {
            local_name!("hidden") => {
                element.name.local != local_name!("span")
                    && !value.eq_ignore_ascii_case("until-found")
            }
            local_name!("aria-hidden") => value.eq_ignore_ascii_case("true"),
            local_name!("style") => hides(value),
            _ => false,
        })
}

/// Whether the element holds content, in which headers belong to the text.
pub(super) fn is_content(element: &Element) -> bool {
    matches!(
        element.name.local,
        local_name!("main") | local_name!("article") | local_name!("section")
    ) || element
        .attrs
        .iter()
        .any(|(name, value)| name.local == local_name!("role") && &**value == "main")
}

fn is_furniture_role(role: &str, in_content: bool) -> bool {
    match role.trim() {
        "banner" => !in_content,
        "navigation" | "contentinfo" | "complementary" | "search" | "menu" | "menubar"
        | "toolbar" | "dialog" | "alertdialog" | "tooltip" => true,
        _ => false,
    }
}

fn hides(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(property, value)| {
        let value = value.trim_ascii().split(['!', ' ']).next().unwrap_or_default();
        let is = |name: &str, hidden: &str| {
            property.trim_ascii().eq_ignore_ascii_case(name) && value.eq_ignore_ascii_case(hidden)
        };
        is("display", "none") || is("visibility", "hidden")
    })
}

/// Judges one class or id.
fn is_furniture_name(name: &str, in_content: bool) -> bool {
    judge(name, |name, lower| {
        let end = end_without_place(name, lower);
        match WORDS.get(&lower[..end]) {
            Some(Rule::Whole | Rule::Head | Rule::First) => true,
            Some(Rule::Outside) => !in_content,
            Some(_) => false,
            None => is_compound_of_furniture(&name[..end], &lower[..end]),
        }
    })
    .unwrap_or(false)
}

/// In a compound, as in English, the last word says what the thing is.
fn is_compound_of_furniture(name: &str, lower: &str) -> bool {
    let mut words =
        Words { name, end: name.len() }.map(|(start, end)| WORDS.get(&lower[start..end]));
    match words.next() {
        Some(Some(Rule::Head)) => !words.any(|rule| rule == Some(Rule::State)),
        Some(_) => words.last() == Some(Some(Rule::First)),
        None => false,
    }
}

/// Where the name ends without the words of place behind it.
fn end_without_place(name: &str, lower: &str) -> usize {
    let words = Words { name, end: name.len() };
    words
        .filter(|&(start, end)| WORDS.get(&lower[start..end]) != Some(Rule::Place))
        .map(|(_, end)| end)
        .next()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{hides, is_furniture_name};

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
            "cookie-notice-container",
            "cookieConsent",
            "noprint",
            "rightSidebar",
        ] {
            assert!(is_furniture_name(name, false), "{name}");
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
            assert!(!is_furniture_name(name, false), "{name}");
        }
    }

    #[test]
    fn a_header_is_furniture_only_outside_of_content() {
        assert!(is_furniture_name("header", false));
        assert!(!is_furniture_name("header", true));
    }

    #[test]
    fn styles_that_hide_are_seen() {
        assert!(hides("color:red; DISPLAY : none !important"));
        assert!(hides("visibility:hidden"));
        assert!(!hides("display:block; background:url(none)"));
    }
}
