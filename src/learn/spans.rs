//! Ordered values of a part, such as versions: what lies between two pages with the same text has that text too, as a rule.

/// Words for the newest version, or for one that is not finished.
const NEWEST: [&str; 11] = [
    "current", "latest", "stable", "main", "master", "trunk", "head", "next", "dev", "devel",
    "nightly",
];

/// The place of a value among versions or numbers; none if it looks like neither.
pub(super) fn version(value: &str) -> Option<u32> {
    if NEWEST.contains(&value) {
        return Some(u32::MAX);
    }
    let value = value.strip_prefix('v').unwrap_or(value);
    let is_padded =
        value.len() > 1 && value.bytes().all(|it| it.is_ascii_digit()) && value.starts_with('0');
    if is_padded || value.len() > 12 || !value.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (numbers, rest) = value.split_at(end);
    let is_final =
        !["a", "b", "rc", "-a", "-b", "-rc", "dev"].iter().any(|it| rest.starts_with(it));
    if is_final && !matches!(rest, "" | "x") {
        return None;
    }
    let mut fields = numbers.split('.').filter(|it| !it.is_empty());
    let mut field = |most: u32| match fields.next() {
        None => Some(0),
        Some(digits) => digits.parse::<u32>().ok().filter(|it| *it <= most),
    };
    Some(field(2_047)? << 21 | field(1_023)? << 11 | field(1_023)? << 1 | u32::from(is_final))
}

/// For each of some texts, the lowest and the highest version that has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spans([(u32, u32, u32); 4]);

impl Spans {
    /// This version has the text.
    pub(super) fn add(&mut self, group: u32, version: u32) {
        let of_text = self.0.iter_mut().find(|(known, ..)| [group, 0].contains(known));
        if let Some((known, low, high)) = of_text {
            if *known == 0 {
                (*known, *low, *high) = (group, version, version);
            }
            (*low, *high) = ((*low).min(version), (*high).max(version));
        }
    }

    /// Whether a lower and a higher version have the same text.
    pub(super) fn enclose(&self, version: u32) -> bool {
        self.0.iter().any(|(_, low, high)| *low < version && version < *high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_and_words_are_none() {
        let ordered =
            ["2.7", "v3", "3.2", "3.10b1", "3.10rc1", "3.10", "3.10.1", "13", "2024", "latest"];
        let places: Vec<u32> = ordered.iter().map(|it| version(it).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        for value in ["amd64", "en", "", "page", "v", "2024-01-02", "12345", "3.2.html"] {
            assert_eq!(version(value), None, "{value}");
        }
    }

    #[test]
    fn what_lies_between_two_pages_with_the_same_text() {
        let mut spans = Spans::default();
        spans.add(1, 10);
        spans.add(2, 12);
        assert!(!spans.enclose(11));
        spans.add(1, 20);
        assert!(spans.enclose(11) && spans.enclose(19) && !spans.enclose(20) && !spans.enclose(21));
    }
}
