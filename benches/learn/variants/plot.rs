//! A trap beside an honest site: which pages lead to it, and what its pages say.

use super::site::{Link, Place, Site, Size, links};
use crate::{
    prose::{Dice, Language, Prose, anchor},
    world::Answer,
};

/// The honest pages that lead to a trap.
#[derive(Clone, Copy, Debug)]
enum From {
    All,
    Home,
    OneArticle,
    Articles,
    OneOfTen,
}

/// What the pages of a trap say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Nothing,
    Boilerplate,
    Teasers,
    Sentences,
    Numbers,
    Stamp,
    Address,
    NotFound,
    NearCopy,
    Words,
}

const SAYS: [Says; 10] = [
    Says::Nothing,
    Says::Boilerplate,
    Says::Teasers,
    Says::Sentences,
    Says::Numbers,
    Says::Stamp,
    Says::Address,
    Says::NotFound,
    Says::NearCopy,
    Says::Words,
];

/// What is common to the kinds.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) site: Site,
    pub(crate) place: Place,
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
    /// With so many articles, of which the hidden ones are to be named by the trap.
    pub(crate) fn new(host: &str, size: Size, dice: &mut Dice) -> Self {
        let place = *dice.pick(&[Place::Navigation, Place::Side, Place::Footer, Place::Body]);
        let froms =
            [From::All, From::All, From::Home, From::OneArticle, From::Articles, From::OneOfTen];
        Self {
            site: Site::new(host, size, dice),
            place,
            from: *dice.pick(&froms),
            says: *dice.pick(&SAYS),
            is_bare: dice.roll(4) == 0,
            honest_links: *dice.pick(&[0, 0, 1, 5, 10]),
            has_label: dice.roll(2) == 0,
        }
    }

    /// Some 300 pages, now and then up to ten of them behind the trap.
    pub(crate) fn usual(host: &str, dice: &mut Dice) -> Self {
        let hidden = if dice.roll(2) == 0 { 0 } else { 1 + dice.roll(10) };
        Self::new(host, Size { listed: 270 + dice.roll(50), hidden }, dice)
    }

    /// The same without any page behind the trap.
    pub(crate) fn open(host: &str, dice: &mut Dice) -> Self {
        Self::new(host, Size { listed: 270 + dice.roll(50), hidden: 0 }, dice)
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
        self.site.number(target).map_or_else(trap, |page| self.honest(page, entry))
    }

    fn honest(&self, page: usize, entry: impl FnOnce(&mut Dice) -> Vec<Link>) -> Answer {
        let mut dice = Dice::of(&format!("entry {page}"));
        let more = if self.leads(page) { entry(&mut dice) } else { Vec::new() };
        Answer::honest(page, self.site.html(page, &more, self.place))
    }

    /// A page of the trap; `label` is what it is about, `body` what it has beside its words.
    pub(crate) fn junk(&self, target: &str, label: &str, body: &str, onward: &[Link]) -> Answer {
        Answer::junk(self.page(target, label, body, onward))
    }

    pub(crate) fn page(&self, target: &str, label: &str, body: &str, onward: &[Link]) -> String {
        let mut dice = Dice::of(&format!("junk {target}"));
        let named: Vec<Link> =
            (0..self.honest_links).map(|_| self.site.link(self.site.any(&mut dice))).collect();
        let body = self.says(target, label) + body + &links(onward) + &links(&named);
        let title = if self.has_label { label } else { self.site.title(0) };
        if self.is_bare {
            return format!(
                "<html><head><meta charset=\"utf-8\"><title>{title}</title></head><body>{body}</body></html>"
            );
        }
        self.site.other(title, &body, &[], self.place)
    }

    /// The words of a page of the trap.
    fn says(&self, target: &str, label: &str) -> String {
        let (site, mut dice) = (&self.site, Dice::of(&format!("says {target}")));
        let prose = &site.prose;
        match self.says {
            Says::Nothing => String::new(),
            Says::Boilerplate => prose.paragraphs("boilerplate", 2),
            Says::Teasers => {
                let pages: Vec<usize> = (0..8).map(|_| site.any(&mut dice)).collect();
                site.teasers(&pages)
            }
            Says::Sentences => {
                let said = (0..3).map(|_| prose.teaser(&format!("saying {}", dice.roll(20))));
                format!("<blockquote>{}</blockquote>", said.collect::<String>())
            }
            Says::Numbers => numbers(prose, &mut dice),
            Says::Stamp => format!(
                "<p>{label}</p><p>{} 0.{:03} s, {} SQL.</p>",
                prose.say("Page generated in", "页面执行时间"),
                dice.roll(1000),
                10 + dice.roll(60)
            ),
            Says::Address => format!(
                "<p>{} <b>{label}</b></p><p>http://{}{}</p>",
                prose.say("You are looking at", "您正在浏览"),
                site.host,
                target.replace('&', "&amp;")
            ),
            Says::NotFound => {
                let pages: Vec<usize> = (0..5).map(|_| site.any(&mut dice)).collect();
                format!(
                    "<p>{} <b>{label}</b></p><h2>{}</h2>{}",
                    prose.say("We could not find", "没有找到"),
                    prose.say("You may like", "猜您喜欢"),
                    site.teasers(&pages)
                )
            }
            Says::NearCopy => {
                let copy = site.text(site.any(&mut dice));
                format!("{copy}<p>{label} {}</p>", dice.hex(6))
            }
            Says::Words => {
                let words: Vec<&str> = (0..25)
                    .map(|_| prose.words[dice.roll(200.min(prose.words.len()))].as_str())
                    .collect();
                format!("<p>{}</p>", words.join(" "))
            }
        }
    }
}

fn numbers(prose: &Prose, dice: &mut Dice) -> String {
    let rows = (0..12).map(|row| {
        let name = prose.title(&format!("row {row}"));
        format!("<tr><td>{name}</td><td>{}</td><td>{}</td></tr>", dice.roll(9000), dice.roll(100))
    });
    format!("<table>{}</table>", rows.collect::<String>())
}

/// A link that is named as it is.
pub(crate) fn plain(to: String) -> Link {
    let name = to.rsplit('/').find(|part| !part.is_empty()).unwrap_or("-").replace('&', " ");
    (to, name)
}

/// Some made-up English words.
pub(crate) fn made_up(count: usize, dice: &mut Dice) -> Vec<String> {
    let prose = Prose::new(Language::English);
    let mut words: Vec<String> = Vec::new();
    while words.len() < count {
        let word = prose.own_word(dice);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// A paragraph with this link alone.
pub(crate) fn paragraph(link: &Link) -> String {
    format!("<p>{}</p>", anchor(&link.0, &link.1))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// For URLs, without padding.
pub(crate) fn base64(text: &str) -> String {
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..=part.len() {
            let index = bits >> (18 - 6 * letter) & 63;
            out.push(char::from(BASE64[usize::try_from(index).unwrap_or_default()]));
        }
    }
    out
}

/// What [`base64`] has written.
pub(crate) fn from_base64(text: &str) -> Option<String> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes() {
        let index = BASE64.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(index).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The bytes of a word of a URL, percent-encoded if they are not ASCII.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}
