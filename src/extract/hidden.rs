//! Which elements a reader of the page does not see.
//!
//! Only what an element says of itself counts: its attributes and its inline style. Style sheets are not read.
//!
//! Also whether the page shows hardly anything until its scripts run.

use html5ever::{LocalName, local_name};
use scraper::{ElementRef, Html, Node, node::Element};

use super::{declared::is_json, names::attribute};

/// A hidden `span` with more text than this is no word among alternatives.
const ALTERNATIVE: usize = 200;
/// A `noscript` with more text than this says more than that scripts are needed.
const NOTICE: usize = 1000;
/// Nodes that are read to find out.
const NODES: usize = 100;
/// Pixels outside of the page's edge from which something is out of sight.
const OUT_OF_SIGHT: f32 = 900.0;

/// Whether the element is not shown, or only over the page, as a dialog.
///
/// A hidden `span` with a sentence counts as shown: it is one of several alternatives from which a script chooses (the key on this or that
/// system), and the sentence would have a gap without it. Things that pages really hide (dialogs, menus, templates) are blocks.
///
/// Neither are panels that readers open, nor parts of the page that a script only moves.
///
/// The page itself is never hidden: a script shows it later.
pub(super) fn is_hidden(node: ElementRef<'_>) -> bool {
    let element = node.value();
    match element.name.local {
        names!("html" "body") => false,
        local_name!("dialog") => true,
        local_name!("noscript") => is_notice(node),
        _ => element.attrs.iter().any(|(name, value)| {
            let is_alternative = || {
                element.name.local == local_name!("span")
                    && name.local == local_name!("hidden")
                    && text_of(node, ALTERNATIVE).len() <= ALTERNATIVE
            };
            let is_shown_later = || {
                name.local != local_name!("aria-hidden")
                    && (is_panel(element) || is_streamed(element))
            };
            hides(&name.local, value) && !is_alternative() && !is_shown_later()
        }),
    }
}

/// Whether the element is a panel that readers open: a tab, or a part of an accordion.
fn is_panel(element: &Element) -> bool {
    attribute(element, &local_name!("role"))
        .is_some_and(|role| matches!(role.trim(), "tabpanel" | "region"))
}

/// Whether the element is a part of the page that came late, and that a script moves to its place: React names them `S:0`, `S:1a`.
fn is_streamed(element: &Element) -> bool {
    attribute(element, &local_name!("id")).and_then(|id| id.strip_prefix("S:")).is_some_and(
        |number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit()),
    )
}

/// Whether an attribute hides its element.
pub(super) fn hides(name: &LocalName, value: &str) -> bool {
    match *name {
        local_name!("hidden") => !value.eq_ignore_ascii_case("until-found"),
        local_name!("aria-hidden") => value.eq_ignore_ascii_case("true"),
        local_name!("style") => style_hides(value),
        _ => false,
    }
}

/// Whether a `noscript` only asks for scripts, or has markup in the place of text, as in pages that a browser saved.
pub(super) fn is_notice(node: ElementRef<'_>) -> bool {
    let text = text_of(node, NOTICE).to_lowercase();
    if text.starts_with('<') {
        return true;
    }
    let asks = ["javascript", "java script", "scripting", "脚本", "腳本", "スクリプト"];
    text.len() <= NOTICE && asks.iter().any(|word| text.contains(word))
}

/// The text of an element up to the node that exceeds `most` bytes.
pub(super) fn text_of(node: ElementRef<'_>, most: usize) -> String {
    let mut text = String::new();
    for node in node.descendants().take(NODES) {
        let is_code = |parent: ElementRef<'_>| parent.value().name.local == local_name!("script");
        if let Node::Text(part) = node.value()
            && !node.parent().and_then(ElementRef::wrap).is_some_and(is_code)
        {
            text.push_str(part.trim_ascii());
        }
        if text.len() > most {
            break;
        }
    }
    text
}

/// Whether an inline style hides: by display or visibility, by a size of zero, or by a place outside of the page.
///
/// Transparency does not count: pages fade their text in by a script.
fn style_hides(style: &str) -> bool {
    let (mut is_flat, mut is_cut, mut is_placed, mut is_away) = (false, false, false, false);
    for (property, value) in style.split(';').filter_map(|rule| rule.split_once(':')) {
        let property = property.trim_ascii().to_ascii_lowercase();
        let value = value.trim_ascii().split('!').next().unwrap_or_default().trim_ascii_end();
        let is = |keyword: &str| value.eq_ignore_ascii_case(keyword);
        let is_zero = || number_of(value) == Some(0.0);
        let is_far = || number_of(value).is_some_and(|number| number <= -OUT_OF_SIGHT);
        match property.as_str() {
            "display" if is("none") => return true,
            "visibility" if is("hidden") || is("collapse") => return true,
            "font-size" if is_zero() => return true,
            "text-indent" if is_far() => return true,
            "width" | "height" | "max-width" | "max-height" => is_flat |= is_zero(),
            "overflow" | "overflow-x" | "overflow-y" => is_cut |= is("hidden") || is("clip"),
            "position" => is_placed |= is("absolute") || is("fixed"),
            "left" | "top" | "right" | "margin-left" | "margin-top" => is_away |= is_far(),
            _ => {}
        }
    }
    is_flat && is_cut || is_placed && is_away
}

/// The number at the start of a length, whatever its unit.
fn number_of(length: &str) -> Option<f32> {
    let is_part = |char: char| char.is_ascii_digit() || matches!(char, '.' | '-' | '+');
    let end = length.find(|char| !is_part(char)).unwrap_or(length.len());
    length[..end].parse().ok()
}

/// A page with more characters of body text shows something without its scripts.
const MAX_TEXT: usize = 200;
/// Ids of elements into which frameworks write pages.
const ROOTS: [&str; 9] =
    ["root", "app", "__next", "__nuxt", "___gatsby", "react-root", "svelte", "q-app", "main-app"];
/// The root of an application may say in this many bytes that it is loading.
const LOADING: usize = 40;

/// Whether the page has scripts, hardly any text, and either an element into which frameworks write the page and which is empty, or a
/// `noscript` that asks for scripts.
pub(super) fn needs_scripts(html: &Html, text: &str) -> bool {
    if text.chars().nth(MAX_TEXT).is_some() {
        return false;
    }
    let (mut has_script, mut waits) = (false, false);
    for element in html.tree.nodes().filter_map(ElementRef::wrap) {
        match element.value().name.local {
            local_name!("script") => {
                let kind = attribute(element.value(), &local_name!("type"));
                has_script |= !kind.is_some_and(is_json);
            }
            local_name!("noscript") => waits |= is_notice(element),
            _ => waits |= is_root(element) && text_of(element, LOADING).trim().len() <= LOADING,
        }
    }
    has_script && waits
}

/// Whether a framework writes the page into this element.
fn is_root(element: ElementRef<'_>) -> bool {
    let element = element.value();
    let id = attribute(element, &local_name!("id"));
    &*element.name.local == "app-root" || id.is_some_and(|id| ROOTS.contains(&id))
}

#[cfg(test)]
mod tests {
    use super::style_hides;

    #[test]
    fn styles_that_hide_are_recognised() {
        for style in [
            "color:red; DISPLAY : none !important",
            "visibility:hidden",
            "font-size:0",
            "FONT-SIZE: 0.0em;color:#fff",
            "width:0;height:0;overflow:hidden",
            "max-height: 0px; overflow-y: hidden",
            "position:absolute;left:-9999px",
            "position: fixed; top: -1000em",
            "text-indent:-9999px",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in [
            "display:block; background:url(none)",
            "font-size:0.9em",
            "height:0;padding-bottom:56%",
            "overflow:hidden;height:auto",
            "position:absolute;left:-20px",
            "margin-left:-1px",
            "opacity:0",
            "width:",
            ";:;",
            "",
        ] {
            assert!(!style_hides(style), "{style}");
        }
    }
}
