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
    /// Adds the directives of a list such as `noindex, nofollow`; unknown ones are ignored.
    pub(super) fn add(&mut self, list: &str) {
        list.split(',').for_each(|directive| self.add_one(directive));
    }

    /// Adds an `X-Robots-Tag` header. A name with a colon restricts what follows to the crawler of that name.
    pub(super) fn add_header(&mut self, value: &str, agent: Option<&str>) {
        let mut is_ours = true;
        for part in value.split(',') {
            let directive = match part.split_once(':') {
                // A colon in a date does not follow a name either.
                Some((name, _)) if takes_value(name.trim()) || name.trim().contains(' ') => {
                    continue;
                }
                Some((name, directive)) => {
                    is_ours = is_agent(name, agent);
                    directive
                }
                None => part,
            };
            if is_ours {
                self.add_one(directive);
            }
        }
    }

    fn add_one(&mut self, directive: &str) {
        let directive = directive.trim();
        let all = directive.eq_ignore_ascii_case("none");
        self.noindex |= all || directive.eq_ignore_ascii_case("noindex");
        self.nofollow |= all || directive.eq_ignore_ascii_case("nofollow");
    }
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
    use super::Directives;

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
    }
}
