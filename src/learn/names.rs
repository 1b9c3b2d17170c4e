//! Names that say what a parameter of a URL is likely to be for, before anything is known of the site.

/// What the name of a parameter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It says who asks, where the link was found, or how the page is to look: it rarely makes a difference.
    Circumstance,
    /// It often selects a page, or makes a difference on a few pages.
    Content,
}

/// Parameters for sessions, for the origin of a link, and for views of the same page.
const CIRCUMSTANCES: [&str; 38] = [
    // Sessions: PHP, Java, ASP.NET, ColdFusion, osCommerce, Zen Cart.
    "sid",
    "sessid",
    "session",
    "sessionid",
    "session_id",
    "phpsessid",
    "jsessionid",
    "aspsessionid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
    // Campaigns and click ids; those of Google Analytics begin with `utm_`.
    "fbclid",
    "gclid",
    "dclid",
    "msclkid",
    "yclid",
    "mc_cid",
    "mc_eid",
    "_ga",
    "igshid",
    "spm",
    "campaign",
    // Where the link was found.
    "from",
    "ref",
    "referrer",
    "referer",
    "ref_src",
    "source",
    "src",
    // The same page for printing, in other colours, or with a form to answer opened.
    "print",
    "printable",
    "printer",
    "printview",
    "print_view",
    "theme",
    "skin",
    "replytocom",
];
const CONTENT: [&str; 10] =
    ["hl", "lang", "language", "locale", "page", "p", "id", "q", "query", "search"];

/// What this name of a parameter says, if anything.
pub(super) fn meaning(parameter: &str) -> Option<Meaning> {
    let name = parameter.to_ascii_lowercase();
    if name.starts_with("utm_") || CIRCUMSTANCES.contains(&name.as_str()) {
        Some(Meaning::Circumstance)
    } else {
        CONTENT.contains(&name.as_str()).then_some(Meaning::Content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parameters() {
        for name in ["utm_source", "PHPSESSID", "sid", "print"] {
            assert_eq!(meaning(name), Some(Meaning::Circumstance), "{name}");
        }
        assert_eq!(meaning("Page"), Some(Meaning::Content));
        assert_eq!(meaning("colour"), None);
    }
}
