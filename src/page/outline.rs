//! What a page shows, line by line, with the elements that hold the lines.

/// How the names of scripts end.
const SCRIPTS: [&str; 6] = [".php", ".asp", ".aspx", ".jsp", ".cgi", ".do"];

/// The visible text of a page, in and around its body text, by which the filter compares pages. Extraction makes it; so can a
/// caller with an extraction of its own.
///
/// ```
/// use pagesieve::page::Outline;
///
/// let mut outline = Outline::new("Tea - example.org");
/// let main = outline.block(Outline::PAGE);
/// outline.line(Outline::PAGE, "Home | Contact", 14, false);
/// outline.line(main, "Green tea is not fermented.", 0, true);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    text: String,
    lines: Vec<Line>,
    /// For each block the one that contains it, which comes earlier. The first block is the page and contains itself.
    parents: Vec<u32>,
    name: String,
    /// The hashes of where its links lead, and of each whether it is in the body text.
    targets: Vec<(u32, bool)>,
}

/// A line of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The block element that holds it.
    pub(crate) block: u32,
    /// Where it starts in the text. It ends with a line break, where the next one starts.
    start: usize,
    /// How many of its bytes are text of links.
    pub(crate) linked: usize,
    /// How many links begin in it, as far as that is known.
    pub(crate) links: u16,
    /// Whether it is part of the body text.
    pub(crate) is_body: bool,
}

impl Outline {
    /// The block that is the page itself.
    pub const PAGE: u32 = 0;

    /// The outline of a page without lines. `name` is what the page is called: its title, and its first heading in a line of its own.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), parents: vec![Self::PAGE], ..Self::default() }
    }

    /// Adds an element that starts lines, in page order, and returns its number. `parent` is the element of this kind that contains it; one
    /// that is not known counts as the page.
    pub fn block(&mut self, parent: u32) -> u32 {
        let number = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        self.parents.push(if parent < number { parent } else { Self::PAGE });
        number
    }

    /// Adds a line of a block, in page order. `linked` bytes of it are text of links. `is_body`: whether it is part of the body text.
    pub fn line(&mut self, block: u32, text: &str, linked: usize, is_body: bool) {
        let block = if self.parents.get(block as usize).is_some() { block } else { Self::PAGE };
        self.lines.push(Line { block, start: self.text.len(), linked, links: 0, is_body });
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// How many links begin in the line added last.
    pub(crate) fn set_links(&mut self, links: u16) {
        if let Some(line) = self.lines.last_mut() {
            line.links = links;
        }
    }

    /// Adds where a link in the page's content leads, not one to the page itself or in its navigation, header or footer. Two pages of one origin
    /// that list, embed or refer to other pages are not the same, whatever their texts. The link is known by the last part of its path: so the pages of two versions
    /// of a manual, of two hosts and of two sessions lead to the same targets. What a script makes is known by the numbers of its query, too.
    pub fn link(&mut self, url: &str, is_body: bool) {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let path = path.split_once(';').map_or(path, |(path, _)| path);
        let path = path.split_once("://").map_or(path, |(_, path)| path);
        let path = path.split_once('/').map_or("", |(_, path)| path);
        let mut names = path.rsplit('/').filter(|name| !name.is_empty());
        let name = names.find(|name| !name.starts_with("index.")).unwrap_or_default();
        let hash_of = |text: &str| xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        let is_script = name.is_empty() || SCRIPTS.iter().any(|end| name.ends_with(end));
        let numbers = query.split('&').filter(|_| is_script).filter(|it| has_number(it));
        let numbers = numbers.map(hash_of).reduce(u64::wrapping_add);
        if !name.is_empty() || numbers.is_some() {
            let hash = hash_of(name).wrapping_add(numbers.unwrap_or_default());
            self.targets.push((u32::try_from(hash >> 32).unwrap_or(0), is_body));
        }
    }

    /// The hashes of where its links lead, and of each whether it is in the body text.
    pub(crate) fn targets(&self) -> &[(u32, bool)] {
        &self.targets
    }

    /// What the page is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// For each block the one that contains it.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// The text of a line.
    pub(crate) fn text_of(&self, line: usize) -> &str {
        let line = self.line_of(line);
        &line[..line.len() - 1]
    }

    /// A line with its line break.
    pub(crate) fn line_of(&self, line: usize) -> &str {
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next.start);
        &self.text[self.lines[line].start..end]
    }
}

/// Whether the value of a parameter is the number of something. Those of ten digits and more are times.
fn has_number(parameter: &str) -> bool {
    let value = parameter.split_once('=').map_or("", |(_, value)| value);
    (1..10).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_known_by_the_last_part_of_its_path() {
        let hash = |url: &str| {
            let mut outline = Outline::new("");
            outline.link(url, true);
            outline.targets().first().copied()
        };
        let tea = hash("https://example.org/13/tea.html");
        for same in [
            "http://www.example.com/tea.html",
            "/15/tea.html",
            "https://a.test/tea.html/index.php",
            "/tea.html;jsessionid=5f3a?from=nav7&v=2#top",
        ] {
            assert_eq!(hash(same), tea, "{same}");
        }
        let other = hash("https://example.org/tea.html/13");
        assert!(other.is_some() && other != tea);
        assert_eq!(
            hash("https://example.org/?p=7"),
            hash("https://example.org/index.php?p=7&sid=5f3a")
        );
        assert_ne!(hash("https://example.org/?p=7"), hash("https://example.org/?p=8"));
        let topic = hash("/topic.php?forum=3&topic=123&highlight=tea");
        assert_eq!(hash("/topic.php?topic=123&forum=3&t=1732550000"), topic);
        assert_ne!(hash("/topic.php?topic=124&forum=3"), topic);
        for none in
            ["https://example.org/", "https://example.org", "http://example.org/index.html", ""]
        {
            assert_eq!(hash(none), None, "{none}");
        }
    }
}
