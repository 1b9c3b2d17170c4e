//! Whether a page shows hardly anything until its scripts run.

use html5ever::local_name;
use scraper::{ElementRef, Html};

use super::{
    boilerplate::attribute,
    declared::is_json,
    hidden::{is_notice, text_of},
};

/// A page with more characters of body text shows something without its scripts.
const MAX_TEXT: usize = 200;
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
    &*element.name.local == "app-root"
        || id.is_some_and(|id| {
            matches!(
                id,
                "root"
                    | "app"
                    | "__next"
                    | "__nuxt"
                    | "___gatsby"
                    | "react-root"
                    | "svelte"
                    | "q-app"
                    | "main-app"
            )
        })
}
