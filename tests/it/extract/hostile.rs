//! Pages made to keep a parser busy for minutes: each is cut at a limit and keeps the text before it.

use std::fmt::Write as _;

use pagesieve::extract::{Extracted, Truncation};

use super::{extract, extractor, page};

#[test]
fn nesting_stops_at_the_depth_where_browsers_stop() {
    for (open, close) in [
        ("<div>", "</div>"),
        ("<ul><li>", "</li></ul>"),
        ("<span>", "</span>"),
        ("<table><tr><td>", ""),
        ("<svg>", "</svg>"),
    ] {
        let count = 64_000;
        let document =
            extract(&format!("<p>before</p>{}within{}", open.repeat(count), close.repeat(count)));
        assert_eq!(document.truncated, Some(Truncation::Depth), "{open}");
        assert_eq!(document.text, "before", "{open}");
    }
}

#[test]
fn a_page_just_within_the_depth_is_whole() {
    let nested =
        |depth: usize| extract(&format!("{}text{}", "<div>".repeat(depth), "</div>".repeat(depth)));
    // The elements html and body are open as well.
    assert_eq!(nested(508).truncated, None);
    assert_eq!(nested(508).text, "text");
    assert_eq!(nested(520).truncated, Some(Truncation::Depth));
    assert_eq!(nested(520).text, "");
}

#[test]
fn siblings_are_not_nesting() {
    for unit in
        ["<p>a", "<li>a", "<br>", "<div>a</div>", "<b>a</b>", "<img>", "<tr><td>a", "<option>a"]
    {
        let document = extract(&unit.repeat(5_000));
        assert_eq!(document.truncated, None, "{unit}");
    }
}

#[test]
fn formatting_elements_that_wait_to_be_reopened_are_bounded() {
    let mut html = String::from("<p>before</p>");
    for index in 0..3_000 {
        let _ = write!(html, "<p><font color={index} class=c{index}></p>");
    }
    html.push_str(&"<p>again</p>".repeat(20_000));
    let document = extract(&html);
    assert_eq!(document.truncated, None);
    assert_eq!(document.text.lines().count(), 20_001);

    let mut html = String::from("<p>");
    for name in ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
    {
        for _ in 0..4 {
            let _ = write!(html, "<{name} id=a class=b title=c>");
        }
    }
    html.push_str(&"<p>again</p>".repeat(100_000));
    assert_eq!(extract(&html).truncated, Some(Truncation::Nodes));
}

#[test]
fn links_that_are_never_closed_are_bounded() {
    let mut html = String::new();
    for index in 0..30_000 {
        let _ = write!(html, "<a href=/{index}>x<table><tr><td>");
    }
    let document = extract(&html);
    assert_eq!(document.truncated, Some(Truncation::Depth));
    assert!(document.links.len() < 512);
}

#[test]
fn a_tag_has_at_most_256_attributes() {
    let tag = |count: usize, tag: &str| {
        let mut html = format!("<p>before</p><{tag} ");
        (0..count).for_each(|index| {
            let _ = write!(html, "a{index} ");
        });
        extract(&(html + ">after"))
    };
    assert_eq!(tag(256, "div").truncated, None);
    assert_eq!(tag(256, "div").text, "before\nafter");
    for (count, name) in
        [(257, "div"), (10_000, "div"), (100_000, "div"), (100_000, "/div"), (300, "/p")]
    {
        let document = tag(count, name);
        assert_eq!(document.truncated, Some(Truncation::Attributes), "{count} of {name}");
        assert_eq!(document.text, "before");
    }
}

#[test]
fn a_flood_of_attributes_cannot_be_hidden() {
    let mut flood = String::new();
    (0..200_000).for_each(|index| {
        let _ = write!(flood, "a{index} ");
    });
    for start in [
        "<div a='>' ",
        "<div a=\"<!--\" ",
        "<!-- <b c=' --><div ",
        "<script>'<b c=\"'</script><div ",
        "<div data='<p>' b=\"</p>\" c='>' ",
        "<div/",
        "<title>x</title><div \"",
        &format!("{}<div ", "</>".repeat(20_000)),
    ] {
        let document = extract(&format!("<p>before</p>{start}{flood}>after"));
        assert_eq!(document.truncated, Some(Truncation::Attributes), "{start}");
        assert_eq!(document.text, "before", "{start}");
    }
    let long_value_first = format!("<div a='{}' {flood}>", "> b ".repeat(50_000));
    assert_eq!(extract(&long_value_first).truncated, Some(Truncation::Attributes));
}

#[test]
fn long_comments_and_values_are_not_floods() {
    let words = "many words, <b>bold</b> and \"quoted\" and it's <p class=a>\n".repeat(4_000);
    let plain = "many words without any end ".repeat(8_000);
    let base64 = "iVBORw0KGgo/AAAA+NSUhEUgA/".repeat(20_000);
    for hidden in [
        format!("<!-- {words} -->"),
        format!("<!-- {plain} -->"),
        format!("<script>{words}</script>"),
        format!("<style>{plain}</style>"),
        format!("<img src=\"data:image/png;base64,{base64}\">"),
        format!("<div data-page=\"{plain}\"></div>"),
        format!(
            "<p name=\"<b>{} {}\"></p>",
            "<i class=a></i>".repeat(2_000),
            "for(a=1;a<b;a++) c d e f ".repeat(2_000)
        ),
        format!("<div data-page='{{&quot;a&quot;: {}}}'></div>", words.replace('\'', "")),
    ] {
        let document = extract(&format!("<p>before</p>{hidden}<p>after</p>"));
        assert_eq!(document.truncated, None, "{}", &hidden[..60]);
        assert_eq!(document.text, "before\nafter", "{}", &hidden[..60]);
    }
}

#[test]
fn a_page_has_at_most_200_000_nodes() {
    let document = extract(&"<p>x</p>".repeat(1_000_000));
    assert_eq!(document.truncated, Some(Truncation::Nodes));
    let lines = document.text.lines().count();
    assert!(
        (99_000..=100_000).contains(&lines),
        "{lines} paragraphs of one element and one text each"
    );
    assert_eq!(extract(&"<p>x</p>".repeat(90_000)).truncated, None);
}

#[test]
fn a_page_has_at_most_5_mib_of_text_and_200_000_lines() {
    let text = "many words. ".repeat(440_000);
    let document = extract(&format!("<p>{text}</p>"));
    assert_eq!(document.truncated, Some(Truncation::Text));
    assert!((5 << 20) - document.text.len() < 20_000, "{}", document.text.len());
    for code in ["script", "style"] {
        let html = format!("<{code}>{text}</{code}><p>after</p>");
        assert_eq!((extract(&html).truncated, extract(&html).text), (None, "after".to_owned()));
    }
    let lines = |count: usize| extract(&format!("<pre>{}</pre>", "a\n".repeat(count)));
    assert_eq!(lines(200_000).truncated, None);
    assert_eq!(lines(200_001).truncated, Some(Truncation::Text));
    assert_eq!(lines(300_000).text.lines().count(), 200_000);
}

#[test]
fn tags_and_texts_that_search_a_deep_page_are_bounded() {
    let deep = format!("<b>{}", "<span>".repeat(500));
    for tag in ["</li>", "</p>", "</a>", "</table>", "</h1>", "</x>", "\n<!>", "&lt;<!>"] {
        let document = extract(&format!("before{deep}{}", tag.repeat(1_000_000)));
        assert_eq!(document.truncated, Some(Truncation::Depth), "{tag}");
        assert!(document.text.starts_with("before"), "{tag}");
    }
    assert_eq!(extract(&format!("before{}", "</x>".repeat(1_000_000))).truncated, None);
}

#[test]
fn inputs_that_are_long_but_linear_are_read_whole() {
    let whole = |html: &str| -> Extracted {
        let document = extractor().extract(&page(html.as_bytes()));
        assert_eq!(document.truncated, None);
        document
    };
    assert_eq!(whole(&"<".repeat(2_000_000)).text.len(), 2_000_000);
    assert_eq!(whole(&"&amp;".repeat(1_000_000)).text.len(), 1_000_000);
    assert_eq!(whole(&format!("<!--{}-->x", "c".repeat(8_000_000))).text, "x");
    assert_eq!(whole(&"text ".repeat(1_000_000)).text.len(), 4_999_999);
    assert_eq!(whole(&format!("<p class='{}'>x", "c ".repeat(1_000_000))).text, "x");
    assert_eq!(whole(&"\0".repeat(1_000_000)).text, "");
}

#[test]
fn nested_formatting_tables_and_templates_are_bounded() {
    for unit in [
        "<b>",
        "<table>",
        "<svg>",
        "<select>",
        "<template>",
        "<a>",
        "<form><div></form>",
        "<b><p>",
        "<td><p><b><i></p><table><td>",
    ] {
        let document = extract(&format!("before{}", unit.repeat(16_000)));
        assert!(document.text.starts_with("before"), "{unit}");
    }
}

#[test]
fn hidden_text_is_not_body_text() {
    let shown = "The tide waits for no one, as everybody in the harbour knows.";
    let spam = "Cheap boats, best boats, boats for sale, buy boats online today. ".repeat(30);
    for hiding in [
        "hidden",
        "hidden=''",
        "aria-hidden=true",
        "style='display:none'",
        "style='color:red;Display: NONE !important'",
        "style='visibility: hidden'",
        "style='font-size:0'",
        "style='width:0;height:0;overflow:hidden'",
        "style='max-height:0px;overflow:hidden'",
        "style='position:absolute;left:-9999px'",
        "style='text-indent:-9999px'",
    ] {
        for name in ["div", "p", "section", "span", "b", "font", "em", "article", "td"] {
            let hidden = format!("<{name} {hiding}>{spam}</{name}>");
            let hidden = if name == "td" { format!("<table><tr>{hidden}</table>") } else { hidden };
            for page in
                [format!("{hidden}<p>{shown}</p>"), format!("<p>{shown}</p><div>{hidden}</div>")]
            {
                assert_eq!(extract(&page).text, shown, "{name} {hiding}");
            }
        }
    }
}

/// A reader opens the panels, and a script moves the late parts to their places. So text can be smuggled in here, which readers of the
/// page could find as well.
#[test]
fn panels_and_late_parts_of_a_page_are_body_text() {
    let shown = "The tide waits for no one, as everybody in the harbour knows.";
    let later = "The keeper of the lighthouse writes the height of the water down, hour by hour.";
    let text = format!("{shown}\n{later}");
    for hiding in [
        "hidden role=tabpanel",
        "role=region style='display:none'",
        "hidden id=S:0",
        "id='S:1a' hidden",
    ] {
        let page = format!("<p>{shown}</p><div {hiding}><p>{later}</p></div>");
        assert_eq!(extract(&page).text, text, "{hiding}");
    }
    for hiding in
        ["role=tabpanel aria-hidden=true", "hidden id=S:", "hidden id=S:x", "hidden role=dialog"]
    {
        let page = format!("<p>{shown}</p><div {hiding}><p>{later}</p></div>");
        assert_eq!(extract(&page).text, shown, "{hiding}");
    }
}

/// They are shown to readers, so they are text. Nothing tells a list of keywords from a poem or a price list.
#[test]
fn repeated_keywords_that_are_shown_are_body_text() {
    let (shown, spam) =
        ("The tide waits for no one, as they say.", "boats boats boats ".repeat(100));
    let document = extract(&format!("<div><p>{shown}</p><p>{spam}</p></div>"));
    assert_eq!(document.text, format!("{shown}\n{}", spam.trim()));
    // In the meta elements they do not count.
    let meta =
        format!("<meta name=keywords content='{spam}'><meta name=description content='{spam}'>");
    assert_eq!(extract(&format!("{meta}<p>{shown}</p>")).text, shown);
}

#[test]
fn only_the_first_documents_within_a_page_are_read() {
    let frame = "<iframe srcdoc='<p>The ferry goes again from April on, at six in the morning.</p>'></iframe>";
    assert_eq!(extract(&frame.repeat(100)).text.lines().count(), 16);
}
