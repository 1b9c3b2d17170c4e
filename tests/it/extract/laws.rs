//! Laws that hold for any bytes.

use pagesieve::extract::{Extracted, Extractor};
use proptest::prelude::*;

use super::{extractor, page};

/// Bytes with much markup.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "<p>", "</p>", "<div class=\"nav\">", "</div>", "<a href=\"", "/x#y", "\">", "<br>", "<pre>", "</pre>", "<table><tr><td>", "<base href=",
            "<b>", "</b>", "<i>", "<script>", "</script>", "<!--", "-->", "<meta charset=gbk>", "<meta name=robots content=none>", "<title>", "<svg>",
            "<template>", "<form>", "</form>", " \u{3000}\n", "&nbsp;", "&#0;", "中文", "<main>", "<nav>", "\u{85}", "<frameset><frame src=//h/>",
            "<link rel=canonical href='?q'>", "<a href='mailto:x'>", "<a href=http://[>", "<li>", "<select>", "<math>", "<title></title>",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => "\\PC{0,12}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn facts(document: &Extracted) -> String {
    format!("{document:?}")
}

proptest! {
    #[test]
    fn any_bytes_can_be_extracted_and_always_with_the_same_result(body in soup()) {
        let first = extractor().extract(&page(&body));
        prop_assert_eq!(facts(&first), facts(&extractor().extract(&page(&body))));
    }

    #[test]
    fn no_line_of_the_text_is_empty_or_has_space_at_its_ends(body in soup()) {
        let document = extractor().extract(&page(&body));
        if !document.text.is_empty() {
            for line in document.text.split('\n') {
                prop_assert_eq!(line, line.trim());
                prop_assert!(!line.is_empty());
            }
        }
    }

    #[test]
    fn links_are_absolute_without_fragment_and_unique(body in soup()) {
        let document = extractor().extract(&page(&body));
        let mut seen = std::collections::HashSet::new();
        for link in &document.links {
            prop_assert!(matches!(link.url.scheme(), "http" | "https"));
            prop_assert_eq!(link.url.fragment(), None);
            prop_assert!(seen.insert(link.url.clone()));
        }
    }

    #[test]
    fn any_content_type_and_header_is_accepted(kind in "\\PC{0,40}", header in "[a-z:, -]{0,40}", body in soup()) {
        let page = pagesieve::page::Page { content_type: Some(kind), x_robots_tag: vec![header], ..page(&body) };
        let document = extractor().extract(&page);
        prop_assert!(!document.charset.is_empty());
    }
}

#[test]
fn an_extractor_can_be_shared_among_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Extractor>();
}
