//! A pager without an end, and a long list that has one.

use super::{
    addresses::Addresses,
    plot::Plot,
    site::{Link, links},
};
use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// The distances of the pages that a page leads to.
const STEPS: [&[i64]; 6] =
    [&[1], &[1, -1], &[1, 2, 3, -1, -2], &[1, 10, -1], &[1, 2, 10, 100], &[1, -1, 5, -5]];
const NAMES: [&str; 6] = ["page", "p", "PageIndex", "start", "tx_news[page]", "yema"];
/// The number of a page, its offset, seconds, a hexadecimal number.
const FORMATS: [fn(i64) -> String; 4] = [
    |page| page.to_string(),
    |page| (page * 20).to_string(),
    |page| (1_718_409_600 - page * 86_400).to_string(),
    |page| format!("{:06x}", page * 4099),
];

/// The pages of a list.
struct Pages {
    addresses: Addresses<i64>,
    name: &'static str,
    format: fn(i64) -> String,
    steps: &'static [i64],
}

impl Pages {
    fn new(dice: &mut Dice) -> Self {
        let bases = ["/news", "/blog", "/list.php", "/guestbook", "/index.php", "/xinwen/list"];
        Self {
            addresses: Addresses::new(&bases, dice),
            name: *dice.pick(&NAMES),
            format: *dice.pick(&FORMATS),
            steps: *dice.pick(&STEPS),
        }
    }

    /// The link to a page; the first is 1.
    fn link(&self, page: i64) -> Link {
        let values = [(self.name, (self.format)(page))];
        (self.addresses.write(&values, page), page.to_string())
    }

    fn onward(&self, page: i64, last: i64) -> Vec<Link> {
        let near = self.steps.iter().map(|step| page + step);
        near.filter(|page| (1..=last).contains(page)).map(|page| self.link(page)).collect()
    }
}

/// What follows the last page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    LastAgain,
    AnyArticles,
    Round,
    Words,
}

/// A list of articles whose pager does not end with them.
pub(crate) fn endless(host: &str, dice: &mut Dice) -> World {
    const SIZE: usize = 12;
    let plot = Plot::usual(host, dice);
    let (pages, has_teasers) = (Pages::new(dice), !dice.one_in(3));
    let after = *dice.pick(&[
        After::Nothing,
        After::LastAgain,
        After::AnyArticles,
        After::Round,
        After::Words,
    ]);
    // The articles that are nowhere else are among the first hundred.
    let mut listed: Vec<usize> = plot.site.articles().collect();
    for (number, page) in plot.site.hidden().enumerate() {
        listed.insert(number * 10 + 3, page);
    }
    World::new(host, plot.site.pages(), move |_, target| {
        let site = &plot.site;
        let list = || {
            let Some(page) = pages.addresses.read(target) else { return Answer::Missing };
            let chunks: Vec<&[usize]> = listed.chunks(SIZE).collect();
            let number = usize::try_from(page - 1).unwrap_or_default();
            let mut dice = Dice::of(&format!("pager {target}"));
            let any: Vec<usize> = (0..SIZE).map(|_| site.any(&mut dice)).collect();
            let is_after = number >= chunks.len();
            let shown: &[usize] = match (is_after, after) {
                (false, _) => chunks[number],
                (_, After::Nothing | After::Words) => &[],
                (_, After::LastAgain) => chunks[chunks.len() - 1],
                (_, After::AnyArticles) => &any,
                (_, After::Round) => chunks[number % chunks.len()],
            };
            let articles = if has_teasers {
                site.teasers(shown)
            } else {
                links(&shown.iter().map(|page| site.link(*page)).collect::<Vec<_>>())
            };
            let (onward, title) = (pages.onward(page, i64::MAX), format!("News {page}"));
            if is_after && after == After::Words {
                return plot.junk(target, &title, &articles, &onward);
            }
            Answer::Junk(site.other(&title, &(articles + &links(&onward))))
        };
        plot.beside(target, |_| vec![pages.link(1)], list)
    })
}

/// A list of 240 pages whose entries are nowhere else.
pub(crate) fn long_list(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::new(host, 60 + dice.roll(60), 0, dice);
    let (pages, last) = (Pages::new(dice), 230 + dice.roll(20));
    // Whether entries are short, as in a guest book, or a paragraph each.
    let (entries, is_short, has_last) = (4 + dice.roll(8), dice.one_in(2), dice.one_in(2));
    let count = plot.site.pages();
    let end = i64::try_from(last).unwrap_or_default();
    World::new(host, count + last, move |host, target| {
        let posts = || {
            let Some(page) = pages.addresses.read(target) else { return Answer::Missing };
            let entry = |entry| {
                let (key, prose) = (format!("{host} {page} {entry}"), &plot.site.prose);
                let said = if is_short { prose.teaser(&key) } else { prose.paragraphs(&key, 1) };
                format!("<div><b>Guest {}</b> {said}</div>\n", Dice::of(&key).roll(90_000))
            };
            let text: String = (0..entries).map(entry).collect();
            let mut onward = pages.onward(page, end);
            onward.extend(has_last.then(|| pages.link(end)));
            let number = count + usize::try_from(page - 1).unwrap_or_default();
            Answer::Honest(number, plot.site.other("Guest book", &(text + &links(&onward))))
        };
        plot.beside(target, |_| vec![pages.link(1)], posts)
    })
}
