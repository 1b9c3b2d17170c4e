//! How elements stand in the flow of the text.

use html5ever::{LocalName, local_name};
use scraper::node::Element;

use super::text::Gap;

/// How an element stands in the flow of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Neither it nor what is in it is text.
    Skipped,
    Inline,
    Cell,
    Block,
}

impl Flow {
    pub(super) fn of(element: &Element) -> Self {
        let name = &element.name.local;
        match *name {
            local_name!("td") | local_name!("th") => Self::Cell,
            _ if is_skipped(name) => Self::Skipped,
            _ if is_set_apart(name) => Self::Block,
            _ => Self::Inline,
        }
    }

    /// Whether the element holds text in a block of its own.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Cell | Self::Block)
    }

    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Skipped | Self::Inline => Gap::None,
            Self::Cell => Gap::Tab,
            Self::Block => Gap::Line,
        }
    }
}

/// Whether neither the element nor what is in it is text.
fn is_skipped(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("script")
            | local_name!("style")
            | local_name!("template")
            | local_name!("noscript")
            | local_name!("title")
            | local_name!("svg")
            | local_name!("iframe")
            | local_name!("noframes")
            | local_name!("noembed")
            | local_name!("button")
            | local_name!("select")
            | local_name!("textarea")
            | local_name!("datalist")
            | local_name!("canvas")
            | local_name!("audio")
            | local_name!("video")
            | local_name!("progress")
            | local_name!("meter")
            | local_name!("rp")
            | local_name!("rt")
    )
}

/// Whether the element begins and ends a line.
fn is_set_apart(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("address")
            | local_name!("article")
            | local_name!("aside")
            | local_name!("blockquote")
            | local_name!("body")
            | local_name!("br")
            | local_name!("caption")
            | local_name!("center")
            | local_name!("dd")
            | local_name!("details")
            | local_name!("dialog")
            | local_name!("dir")
            | local_name!("div")
            | local_name!("dl")
            | local_name!("dt")
            | local_name!("fieldset")
            | local_name!("figcaption")
            | local_name!("figure")
            | local_name!("footer")
            | local_name!("form")
            | local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6")
            | local_name!("header")
            | local_name!("hgroup")
            | local_name!("hr")
            | local_name!("legend")
            | local_name!("li")
            | local_name!("listing")
            | local_name!("main")
            | local_name!("menu")
            | local_name!("nav")
            | local_name!("ol")
            | local_name!("p")
            | local_name!("plaintext")
            | local_name!("pre")
            | local_name!("search")
            | local_name!("section")
            | local_name!("summary")
            | local_name!("table")
            | local_name!("tbody")
            | local_name!("tfoot")
            | local_name!("thead")
            | local_name!("tr")
            | local_name!("ul")
            | local_name!("xmp")
    )
}
