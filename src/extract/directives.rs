//! Robots directives of a page: `meta name=robots` and the `X-Robots-Tag` header.
//!
//! Source: Google Search Central, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".

/// What a page asks of crawlers, by meta robots or `X-Robots-Tag`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// The page must be neither judged nor stored.
    pub noindex: bool,
    /// Its links must not be followed.
    pub nofollow: bool,
}

impl Directives {
    /// Adds the directives of a `meta` element, such as `noindex, nofollow`; unknown ones are ignored.
    pub(super) fn add(&mut self, list: &str) {
        self.read(list, |_| true);
    }

    /// Adds an `X-Robots-Tag` header. A name with a colon restricts what follows to the crawler of that name.
    pub(super) fn add_header(&mut self, value: &str, agent: Option<&str>) {
        self.read(value, |name| is_agent(name, agent));
    }

    /// Reads a list whose parts are separated by commas, semicolons or white space.
    fn read(&mut self, list: &str, is_ours: impl Fn(&str) -> bool) {
        let mut applies = true;
        for mut part in list.split([',', ';']) {
            while let Some((before, after)) = part.split_once(':') {
                let (before, after) = (before.trim(), after.trim_start());
                let (rest, name) = before.rsplit_once([' ', '\t']).unwrap_or(("", before));
                self.add_words(rest, applies);
                part = after;
                if takes_value(name) {
                    part = after.split_once([' ', '\t']).map_or("", |(_, rest)| rest);
                } else if !name.starts_with(|first: char| first.is_ascii_digit()) {
                    // It is not the hour of a date.
                    applies = is_ours(name);
                }
            }
            self.add_words(part, applies);
        }
    }

    fn add_words(&mut self, words: &str, applies: bool) {
        for directive in words.split_whitespace().filter(|_| applies) {
            let is = |name: &str| directive.eq_ignore_ascii_case(name);
            self.noindex |= is("none") || is("noindex");
            self.nofollow |= is("none") || is("nofollow");
        }
    }
}

/// The targets of a `Link` header with `rel=canonical` (RFC 8288, section 3), as written.
pub(super) fn canonical_targets(header: &str) -> impl Iterator<Item = &str> {
    header.split('<').skip(1).filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let mut is_canonical = false;
        for parameter in parameters.trim_end().trim_end_matches(',').split(';') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim().trim_matches('"');
            match &*name.trim().to_ascii_lowercase() {
                // It is about another page.
                "anchor" => return None,
                "rel" => {
                    let mut words = value.split_ascii_whitespace();
                    is_canonical = words.any(|word| word.eq_ignore_ascii_case("canonical"));
                }
                _ => {}
            }
        }
        is_canonical.then(|| target.trim())
    })
}

/// Whether `name` is this crawler's product token.
pub(super) fn is_agent(name: &str, agent: Option<&str>) -> bool {
    agent.is_some_and(|agent| agent.eq_ignore_ascii_case(name.trim()))
}

/// Whether the colon after a directive introduces its value, and not the directives for a crawler.
fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|directive| directive.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::{Directives, canonical_targets};

    fn header(value: &str) -> (bool, bool) {
        let mut found = Directives::default();
        found.add_header(value, Some("PageSieve"));
        (found.noindex, found.nofollow)
    }

    #[test]
    fn a_header_counts_when_unnamed_or_named_for_us() {
        assert_eq!(header("noindex, nofollow"), (true, true));
        assert_eq!(header("NONE"), (true, true));
        assert_eq!(header("otherbot: noindex"), (false, false));
        assert_eq!(header("pagesieve: noindex"), (true, false));
        assert_eq!(header("otherbot: noindex, nofollow, pagesieve: nofollow"), (false, true));
        assert_eq!(header("nofollow, otherbot: noindex"), (false, true));
    }

    #[test]
    fn directives_with_a_value_are_skipped() {
        assert_eq!(header("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"), (true, false));
        assert_eq!(
            header("unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow"),
            (false, true)
        );
        assert_eq!(header("max-snippet:10, max-image-preview: none"), (false, false));
        assert_eq!(header(""), (false, false));
        assert_eq!(header(":,:,,"), (false, false));
        assert_eq!(header("max-image-preview: none nofollow"), (false, true));
        assert_eq!(header("nofollow max-snippet : -1 max-image-preview:none"), (false, true));
    }

    #[test]
    fn directives_are_separated_by_anything() {
        for list in
            ["noindex; nofollow", "noindex nofollow", "noindex;nofollow", " NoIndex\n;, nofollow"]
        {
            let mut found = Directives::default();
            found.add(list);
            assert_eq!((found.noindex, found.nofollow), (true, true), "{list}");
            assert_eq!(header(list), (true, true), "{list}");
        }
        let mut found = Directives::default();
        found.add("index follow max-image-preview: none");
        assert_eq!(found, Directives::default());
        assert_eq!(header("otherbot: noindex; nofollow"), (false, false));
        assert_eq!(header("noindex otherbot: nofollow"), (true, false));
    }

    #[test]
    fn a_link_header_names_the_canonical_url() {
        let found = |header| canonical_targets(header).collect::<Vec<_>>();
        assert_eq!(found("<https://a.test/x,y;z>; rel=\"canonical\""), ["https://a.test/x,y;z"]);
        assert_eq!(
            found(
                "</a.css>; rel=preload; as=style, </b>;REL=Canonical , <c>; rel=\"next canonical\""
            ),
            ["/b", "c"]
        );
        for other in ["", "</a>", "</a; rel=canonical", "</a>; rel=next", "/a; rel=canonical"] {
            assert!(found(other).is_empty(), "{other}");
        }
        assert!(found("</a>; rel=canonical; anchor=\"/b\"").is_empty());
    }
}
