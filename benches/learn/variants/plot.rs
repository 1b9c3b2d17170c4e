//! A trap beside an honest site: which pages lead to it, and what its pages say.

use super::site::{Link, Site, links};
use crate::{prose::Dice, world::Answer};

/// The honest pages that lead to a trap.
#[derive(Clone, Copy, Debug)]
enum From {
    All,
    Home,
    OneArticle,
    Articles,
    OneOfTen,
}

/// What the pages of a trap say. None is all new: nobody can tell such pages from honest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Nothing,
    Boilerplate,
    Teasers,
    Sentences,
    Numbers,
    Stamp,
    NotFound,
    NearCopy,
}

/// What differs on each page.
pub(crate) const NOISE: [Says; 5] =
    [Says::Sentences, Says::Numbers, Says::Stamp, Says::Teasers, Says::NearCopy];

/// What is common to the kinds.
pub(crate) struct Plot {
    pub(crate) site: Site,
    from: From,
    says: Says,
    /// Whether the trap's pages are without the template of the site.
    is_bare: bool,
    /// How many honest pages are named on a page of the trap.
    honest_links: usize,
    /// Whether the title has the label.
    has_label: bool,
}

impl Plot {
    /// With so many articles; the hidden ones are to be named by the trap.
    pub(crate) fn new(host: &str, listed: usize, hidden: usize, dice: &mut Dice) -> Self {
        let froms =
            [From::All, From::All, From::Home, From::OneArticle, From::Articles, From::OneOfTen];
        let says = [&NOISE[..], &[Says::Nothing, Says::Boilerplate, Says::NotFound]].concat();
        Self {
            site: Site::new(host, listed, hidden, dice),
            from: *dice.pick(&froms),
            says: *dice.pick(&says),
            is_bare: dice.one_in(4),
            honest_links: *dice.pick(&[0, 0, 1, 5, 10]),
            has_label: dice.one_in(2),
        }
    }

    /// Some 300 pages, now and then up to ten of them behind the trap.
    pub(crate) fn usual(host: &str, dice: &mut Dice) -> Self {
        let hidden = if dice.one_in(2) { 0 } else { 1 + dice.roll(10) };
        Self::new(host, 270 + dice.roll(50), hidden, dice)
    }

    /// The same without any page behind the trap.
    pub(crate) fn open(host: &str, dice: &mut Dice) -> Self {
        Self::new(host, 270 + dice.roll(50), 0, dice)
    }

    /// A trap that every page leads to.
    #[must_use]
    pub(crate) fn everywhere(self) -> Self {
        Self { from: From::All, ..self }
    }

    /// A trap whose pages say this.
    #[must_use]
    pub(crate) fn saying(self, says: Says) -> Self {
        Self { says, ..self }
    }

    fn leads(&self, page: usize) -> bool {
        let articles = self.site.articles();
        match self.from {
            From::All => true,
            From::Home => page == 0,
            From::OneArticle => page == articles.start + articles.len() / 3,
            From::Articles => page >= articles.start,
            From::OneOfTen => page.is_multiple_of(10),
        }
    }

    /// An honest page, with the links to the trap if it has them; or else what `trap` has.
    pub(crate) fn beside(
        &self,
        target: &str,
        entry: impl FnOnce(&mut Dice) -> Vec<Link>,
        trap: impl FnOnce() -> Answer,
    ) -> Answer {
        let Some(page) = self.site.number(target) else { return trap() };
        let mut dice = Dice::of(&format!("entry {page}"));
        let more = if self.leads(page) { entry(&mut dice) } else { Vec::new() };
        Answer::Honest(page, self.site.html(page, &more))
    }

    /// A page of the trap; `label` is what it is about, `body` what it has beside its words. The same `key` has the same page.
    pub(crate) fn junk(&self, key: &str, label: &str, body: &str, onward: &[Link]) -> Answer {
        let mut dice = Dice::of(&format!("junk {key}"));
        let named: Vec<Link> =
            (0..self.honest_links).map(|_| self.site.link(self.site.any(&mut dice))).collect();
        let body = self.words(key, label) + body + &links(onward) + &links(&named);
        let title = if self.has_label { label } else { "Welcome" };
        Answer::Junk(if self.is_bare {
            format!("<html><head><title>{title}</title></head><body>{body}</body></html>")
        } else {
            self.site.other(title, &body)
        })
    }

    /// The words of a page of the trap.
    fn words(&self, key: &str, label: &str) -> String {
        let (site, mut dice) = (&self.site, Dice::of(&format!("says {key}")));
        let prose = &site.prose;
        let mut teasers = |count: usize| {
            site.teasers(&(0..count).map(|_| site.any(&mut dice)).collect::<Vec<_>>())
        };
        match self.says {
            Says::Nothing => String::new(),
            Says::Boilerplate => prose.paragraphs("boilerplate", 2),
            Says::Teasers => teasers(8),
            Says::NotFound => {
                let teasers = teasers(5);
                format!("<p>We could not find <b>{label}</b></p><h2>You may like</h2>{teasers}")
            }
            Says::Sentences => {
                let said = (0..3).map(|_| prose.teaser(&format!("saying {}", dice.roll(20))));
                format!("<blockquote>{}</blockquote>", said.collect::<String>())
            }
            Says::Numbers => {
                // Three of twelve figures are new on each page.
                let row = |row: usize| {
                    let name = prose.title(&format!("row {row}"));
                    let value = if row.is_multiple_of(4) { dice.roll(9_000) } else { row * 71 };
                    format!("<tr><td>{name}</td><td>{value}</td></tr>")
                };
                format!("<table>{}</table>", (0..12).map(row).collect::<String>())
            }
            Says::Stamp => {
                let milliseconds = dice.roll(1000);
                format!(
                    "<p>You are at <b>{label}</b></p><p>Generated in 0.{milliseconds:03} s.</p>"
                )
            }
            Says::NearCopy => {
                let copy = site.text(site.any(&mut dice));
                format!("{copy}<p>{label} {}</p>", dice.hex(6))
            }
        }
    }
}

/// A link that is named as it is.
pub(crate) fn plain(to: String) -> Link {
    let name = to.rsplit('/').find(|part| !part.is_empty()).unwrap_or("-").replace('&', " ");
    (to, name)
}

/// A link with this name.
pub(crate) fn named(to: String, name: &str) -> Link {
    (to, name.to_owned())
}
