//! Names that say what a parameter of a URL is likely to be for, before anything is known of the site.

/// What the name of a parameter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It says where the link was found, and only programs that count visits read it.
    Origin,
    /// If it is long, it is the id of a session.
    Session,
    /// It says where the link was found, or how the page is to look: it rarely makes a difference.
    Circumstance,
    /// It often selects a page, or makes a difference on a few pages.
    Content,
}

/// Campaigns and click ids; those of Google Analytics begin with `utm_`.
const ORIGINS: [&str; 9] =
    ["fbclid", "gclid", "dclid", "msclkid", "yclid", "mc_cid", "mc_eid", "_ga", "igshid"];
/// Sessions of PHP, Java, ASP.NET, `ColdFusion`, osCommerce and Zen Cart.
const SESSIONS: [&str; 12] = [
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
];
/// Parameters for the origin of a link, and parameters and last segments for views of the same page.
const CIRCUMSTANCES: [&str; 18] = [
    // Where the link was found.
    "spm",
    "campaign",
    "from",
    "ref",
    "referrer",
    "referer",
    "ref_src",
    "source",
    "src",
    // The same page for telephones, for printing, in other colours, or with a form to answer opened.
    "amp",
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
    let meanings = [
        (&ORIGINS[..], Meaning::Origin),
        (&SESSIONS, Meaning::Session),
        (&CIRCUMSTANCES, Meaning::Circumstance),
        (&CONTENT, Meaning::Content),
    ];
    let is_it = |(names, _): &(&[&str], Meaning)| {
        names.iter().any(|name| name.eq_ignore_ascii_case(parameter))
    };
    if parameter.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("utm_")) {
        return Some(Meaning::Origin);
    }
    meanings.into_iter().find(is_it).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parameters() {
        assert_eq!(meaning("utm_source"), Some(Meaning::Origin));
        assert_eq!(meaning("PHPSESSID"), Some(Meaning::Session));
        assert_eq!(meaning("print"), Some(Meaning::Circumstance));
        assert_eq!(meaning("Page"), Some(Meaning::Content));
        assert_eq!(meaning("colour"), None);
    }
}
