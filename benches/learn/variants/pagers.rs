//! A pager without an end, and a long list that has one.

use super::{
    Planned,
    plot::{Plot, base64, from_base64, made_up},
    site::{Link, Place, Site, Size, links},
};
use crate::{prose::Dice, target::Target, world::Answer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Query,
    /// `/page/3/`
    Path,
    /// `?start=40`
    Offset,
    /// `list_3.html`
    File,
    /// `page-3`
    Dash,
    /// `?pageNo=3&pageSize=10`
    Sized,
    /// `?after=` and a coded number.
    Cursor,
    /// `?before=` and seconds.
    Seconds,
    /// `;page=3`
    Matrix,
    /// `/3`
    Number,
    Hex,
}

const STYLES: [Style; 11] = [
    Style::Query,
    Style::Path,
    Style::Offset,
    Style::File,
    Style::Dash,
    Style::Sized,
    Style::Cursor,
    Style::Seconds,
    Style::Matrix,
    Style::Number,
    Style::Hex,
];

/// The distances of the pages that a page leads to.
const STEPS: [&[i64]; 6] =
    [&[1], &[1, -1], &[1, 2, 3, -1, -2], &[1, 10, -1], &[1, 2, 10, 100], &[1, -1, 5, -5]];

/// How the pages of a list are addressed.
struct Pages {
    style: Style,
    base: String,
    name: String,
    size: usize,
    /// The links to other pages, as distances.
    steps: Vec<i64>,
}

impl Pages {
    fn new(dice: &mut Dice) -> Self {
        let bases = [
            "/news",
            "/blog",
            "/list.php",
            "/guestbook",
            "/archive",
            "/latest",
            "/index.php",
            "/xinwen/list",
        ];
        let base = if dice.roll(4) == 0 {
            format!("/{}", made_up(1, dice)[0])
        } else {
            (*dice.pick(&bases)).to_owned()
        };
        let names = [
            "page",
            "p",
            "paged",
            "pageNum",
            "PageIndex",
            "pg",
            "currentPage",
            "tx_news[page]",
            "yema",
        ];
        let steps = *dice.pick(&STEPS);
        Self {
            style: *dice.pick(&STYLES),
            base,
            name: (*dice.pick(&names)).to_owned(),
            size: *dice.pick(&[10, 12, 15, 20]),
            steps: steps.to_vec(),
        }
    }

    /// The address of a page; the first is 1.
    fn show(&self, page: usize) -> String {
        let (base, name, target) = (&self.base, &self.name, Target::new(self.base.as_str()));
        match self.style {
            Style::Query => target.with(name, page).show(),
            Style::Path => format!("{base}/page/{page}/"),
            Style::Offset => target.with("start", page * self.size).show(),
            Style::File => format!("{base}/list_{page}.html"),
            Style::Dash => format!("{base}/page-{page}"),
            Style::Sized => target.with(name, page).with("pageSize", self.size).show(),
            Style::Cursor => target.with("after", base64(&format!("cursor:{page}"))).show(),
            Style::Seconds => target.with("before", 1_718_409_600 - page * 86_400).show(),
            Style::Matrix => format!("{base};{name}={page}"),
            Style::Number => format!("{base}/{page}"),
            Style::Hex => target.with(name, format!("{:06x}", page * 4099)).show(),
        }
    }

    fn read(&self, target: &str) -> Option<usize> {
        let rest = target.strip_prefix(self.base.as_str())?;
        let asked = Target::parse(target);
        let page = match self.style {
            Style::Query | Style::Sized => asked.number(&self.name),
            Style::Path => rest.strip_prefix("/page/")?.trim_end_matches('/').parse().ok(),
            Style::Offset => asked.number("start").map(|start| start / self.size),
            Style::File => rest.strip_prefix("/list_")?.strip_suffix(".html")?.parse().ok(),
            Style::Dash => rest.strip_prefix("/page-")?.parse().ok(),
            Style::Cursor => {
                from_base64(asked.get("after")?)?.strip_prefix("cursor:")?.parse().ok()
            }
            Style::Seconds => {
                asked.number("before").map(|time| 1_718_409_600_usize.saturating_sub(time) / 86_400)
            }
            Style::Matrix => rest.rsplit('=').next()?.parse().ok(),
            Style::Number => rest.strip_prefix('/')?.parse().ok(),
            Style::Hex => {
                usize::from_str_radix(asked.get(&self.name)?, 16).ok().map(|page| page / 4099)
            }
        };
        page.filter(|page| (1..20_000_000).contains(page))
    }

    fn onward(&self, page: usize, last: usize) -> Vec<Link> {
        let page = i64::try_from(page).unwrap_or_default();
        let near = self.steps.iter().filter_map(|step| usize::try_from(page + step).ok());
        let near = near.filter(|page| (1..=last).contains(page));
        near.map(|page| (self.show(page), page.to_string())).collect()
    }
}

/// What follows the last page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    LastAgain,
    FirstAgain,
    AnyArticles,
    Round,
    Words,
}

/// A list of articles whose pager does not end with them.
pub(crate) fn endless(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice);
    let pages = Pages::new(dice);
    let after = *dice.pick(&[
        After::Nothing,
        After::LastAgain,
        After::FirstAgain,
        After::AnyArticles,
        After::Round,
        After::Words,
    ]);
    let lists = if dice.roll(3) == 0 { 3 } else { 1 };
    let has_teasers = dice.roll(3) > 0;
    let count = plot.site.pages();
    Planned::new(count, move |_, target| {
        let site = &plot.site;
        let name = site.prose.say("News", "新闻");
        let of_list = |list: usize, to: &str| {
            if list == 0 { to.to_owned() } else { format!("/{}{to}", ["", "en", "sport"][list]) }
        };
        let entry = |_: &mut Dice| {
            (0..lists).map(|list| (of_list(list, &pages.show(1)), name.to_owned())).collect()
        };
        plot.beside(target, entry, || {
            let list = ["/en/", "/sport/"]
                .iter()
                .position(|prefix| target.starts_with(prefix))
                .map_or(0, |list| list + 1);
            let rest = ["", "/en", "/sport"][list];
            let Some(number) = target.strip_prefix(rest).and_then(|rest| pages.read(rest)) else {
                return Answer::missing();
            };
            let listed = listed(site, list, lists);
            let chunks: Vec<&[usize]> = listed.chunks(pages.size).collect();
            let mut dice = Dice::of(&format!("pager {target}"));
            let any: Vec<usize> = (0..pages.size).map(|_| site.any(&mut dice)).collect();
            let is_after = number > chunks.len();
            let shown: &[usize] = match (is_after, after) {
                (false, _) => chunks[number - 1],
                (_, After::Nothing | After::Words) => &[],
                (_, After::LastAgain) => chunks[chunks.len() - 1],
                (_, After::FirstAgain) => chunks[0],
                (_, After::AnyArticles) => &any,
                (_, After::Round) => chunks[(number - 1) % chunks.len()],
            };
            let list_of = if has_teasers {
                site.teasers(shown)
            } else {
                links(&shown.iter().map(|page| site.link(*page)).collect::<Vec<_>>())
            };
            let onward: Vec<Link> = pages
                .onward(number, usize::MAX)
                .into_iter()
                .map(|(to, name)| (of_list(list, &to), name))
                .collect();
            let title = format!("{name} {number}");
            if is_after && after == After::Words {
                return plot.junk(target, &title, &list_of, &onward);
            }
            Answer::junk(site.other(&title, &(list_of + &links(&onward)), &[], Place::Body))
        })
    })
}

/// The articles of a list of several; those that are nowhere else are among the first hundred.
fn listed(site: &Site, list: usize, lists: usize) -> Vec<usize> {
    let mut listed: Vec<usize> = site.articles().skip(list).step_by(lists).collect();
    for (number, page) in site.hidden().enumerate() {
        listed.insert((number * 10 + 3).min(listed.len()), page);
    }
    listed
}

/// A list of 240 pages whose entries are nowhere else.
pub(crate) fn long_list(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::new(host, Size { listed: 60 + dice.roll(60), hidden: 0 }, dice);
    let pages = Pages::new(dice);
    let last = 230 + dice.roll(20);
    // Whether entries are short, as in a guest book, or a paragraph each.
    let (entries, is_short, has_last) = (4 + dice.roll(8), dice.roll(2) == 0, dice.roll(2) == 0);
    let count = plot.site.pages();
    Planned::new(count + last, move |host, target| {
        let site = &plot.site;
        let name = site.prose.say("Guest book", "留言");
        plot.beside(
            target,
            |_| vec![(pages.show(1), name.to_owned())],
            || {
                let Some(number) = pages.read(target).filter(|number| *number <= last) else {
                    return Answer::missing();
                };
                let text: String = (0..entries)
                    .map(|entry| {
                        let key = format!("{host} {number} {entry}");
                        let said = if is_short {
                            site.prose.teaser(&key)
                        } else {
                            site.prose.paragraphs(&key, 1)
                        };
                        let who = Dice::of(&key).roll(90_000);
                        format!(
                            "<div><b>{} {who}</b> {said}</div>\n",
                            site.prose.say("Guest", "网友")
                        )
                    })
                    .collect();
                let mut onward = pages.onward(number, last);
                if has_last {
                    onward.push((pages.show(last), site.prose.say("Last", "末页").to_owned()));
                }
                let html = site.other(name, &(text + &links(&onward)), &[], plot.place);
                Answer::honest(count + number - 1, html)
            },
        )
    })
}
