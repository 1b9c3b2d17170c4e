//! Paths that grow, because the server answers to any and its links are relative.

use super::{
    Planned,
    plot::{Plot, Says, encoded, made_up},
    site::{Changes, Link},
};
use crate::{prose::Dice, world::Answer};

/// How a path of parts is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `news/press/`, with relative links.
    Relative,
    /// `news/press/`, with the whole path in each link.
    Absolute,
    /// `news/press/index.html`
    Index,
    /// `index.php/news/index.php/press`
    PathInfo,
    /// `?dir=news/press`
    Query,
}

const STYLES: [Style; 5] =
    [Style::Relative, Style::Absolute, Style::Index, Style::PathInfo, Style::Query];

const PARTS: [&[&str]; 9] = [
    &["news", "archive", "press", "media"],
    &["en", "de", "fr", "zh"],
    &["css", "js", "images", "fonts", "lib"],
    &["current", "latest"],
    &["pub"],
    &["About", "Contact", "Products", "NEWS"],
    &["首页", "新闻", "产品"],
    &["2021", "2022", "2023"],
    &["about-us", "our-team", "jobs", "imprint", "privacy", "sitemap"],
];

/// A tree of directories that contain each other.
struct Growing {
    plot: Plot,
    style: Style,
    base: String,
    parts: Vec<String>,
    /// Whether the last part stands for a page of its own, which is to be found.
    is_real: bool,
    /// Whether each page has words of its own.
    has_noise: bool,
    /// Whether a part may follow itself.
    repeats: bool,
}

/// The text depends on the last part only.
pub(crate) fn growing(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::open(host, dice);
    planned(plot, false, dice)
}

/// Each page has some noise of its own in a frame that depends on the last part.
pub(crate) fn with_noise(host: &str, dice: &mut Dice) -> Planned {
    let noisy = [
        Says::Sentences,
        Says::Numbers,
        Says::Stamp,
        Says::Address,
        Says::Words,
        Says::Teasers,
        Says::NearCopy,
    ];
    let plot = Plot::open(host, dice).saying(*dice.pick(&noisy));
    planned(plot, true, dice)
}

fn planned(plot: Plot, has_noise: bool, dice: &mut Dice) -> Planned {
    let parts: Vec<String> = if dice.roll(4) == 0 {
        let count = 2 + dice.roll(5);
        made_up(count, dice)
    } else {
        dice.pick(&PARTS).iter().map(|part| encoded(part)).collect()
    };
    let bases = ["/archive", "/files", "/pub", "/static", "/old", "/mirror", "/docs2"];
    let growing = Growing {
        style: *dice.pick(&STYLES),
        base: (*dice.pick(&bases)).to_owned(),
        is_real: !has_noise && dice.roll(2) == 0,
        has_noise,
        repeats: parts.len() == 1 || dice.roll(4) == 0,
        parts,
        plot,
    };
    let pages = growing.plot.site.pages();
    let real = if growing.is_real { growing.parts.len() } else { 0 };
    Planned::new(pages + real, move |_, target| {
        let entry = |_: &mut Dice| {
            vec![(growing.show(&[]), growing.plot.site.prose.say("Archive", "存档").to_owned())]
        };
        growing.plot.beside(target, entry, || growing.answer(target))
    })
}

impl Growing {
    fn show(&self, parts: &[&str]) -> String {
        let (base, all) = (&self.base, parts.join("/"));
        let end = if parts.is_empty() { "" } else { "/" };
        match self.style {
            Style::Relative | Style::Absolute => format!("{base}/{all}{end}"),
            Style::Index => format!("{base}/{all}{end}index.html"),
            Style::PathInfo => {
                let all: String = parts.iter().map(|part| format!("/index.php/{part}")).collect();
                if all.is_empty() { format!("{base}/index.php") } else { format!("{base}{all}") }
            }
            Style::Query => format!("{base}?dir={all}"),
        }
    }

    /// The link to a part below these ones.
    fn link(&self, parts: &[&str], next: &str) -> Link {
        let to = match self.style {
            Style::Relative => format!("{next}/"),
            Style::Index => format!("{next}/index.html"),
            Style::PathInfo if !parts.is_empty() => format!("index.php/{next}"),
            _ => self.show(&[parts, &[next]].concat()),
        };
        let to = if self.style == Style::PathInfo && !parts.is_empty() {
            // Relative to the last part, which has no slash at its end.
            format!("{}/{to}", parts.last().copied().unwrap_or_default())
        } else {
            to
        };
        (to, next.to_owned())
    }

    fn answer(&self, target: &str) -> Answer {
        let Some(rest) = target.strip_prefix(self.base.as_str()) else { return Answer::missing() };
        let rest = rest.strip_prefix("?dir=").unwrap_or(rest);
        let frame = ["", "index.html", "index.php"];
        let parts: Vec<&str> = rest.split('/').filter(|part| !frame.contains(part)).collect();
        if !parts.iter().all(|part| self.parts.iter().any(|known| known == part)) {
            return Answer::missing();
        }
        let last = parts.last().copied().unwrap_or_default();
        let next = self.parts.iter().filter(|part| self.repeats || *part != last);
        let onward: Vec<Link> = next.map(|part| self.link(&parts, part)).collect();
        let site = &self.plot.site;
        let title = site.prose.title(&format!("grown {last}"));
        if let Some(number) =
            self.parts.iter().position(|part| part == last).filter(|_| self.is_real)
        {
            let text = site.prose.paragraphs(&format!("grown {} {last}", site.host), 4);
            let html =
                site.other(&title, &(text + &super::site::links(&onward)), &[], self.plot.place);
            return Answer::honest(site.pages() + number, html);
        }
        if self.has_noise {
            let text = site.prose.paragraphs(&format!("grown {last}"), 1);
            return self.plot.junk(target, &parts.join(" / "), &text, &onward);
        }
        self.plot.junk(last, &title, "", &onward)
    }
}

/// Which links lack their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    All,
    Articles,
    Lists,
}

/// Links lack their first slash or their scheme, so that the directory of the page is put before them; the server looks at the end of a
/// path only, or says that there is no such page.
pub(crate) fn nested(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::open(host, dice);
    let in_root = plot.site.path(plot.site.articles().start).matches('/').count() < 2;
    let has_host = in_root || dice.roll(4) == 0;
    let is_soft = dice.roll(3) == 0;
    let broken = if is_soft {
        Broken::Lists
    } else {
        *dice.pick(&[Broken::All, Broken::Articles, Broken::Lists])
    };
    let pages = plot.site.pages();
    Planned::new(pages, move |host, target| {
        let site = &plot.site;
        let to = |path: &str| {
            let is_list = site.number(path).is_some_and(|page| page < site.articles().start);
            let is_broken = match broken {
                Broken::All => true,
                Broken::Articles => !is_list,
                Broken::Lists => is_list,
            };
            if !is_broken || path == "/" {
                path.to_owned()
            } else if has_host {
                format!("{host}{path}")
            } else {
                path[1..].to_owned()
            }
        };
        let slashes = target.match_indices('/').map(|(at, _)| at);
        let found = slashes.clone().find_map(|at| site.number(&target[at..]));
        match found {
            Some(page) if !is_soft || site.number(target).is_some() => Answer::honest(
                page,
                site.changed(page, Changes { to: &mut { to }, more: &[], place: plot.place }),
            ),
            Some(_) => {
                let name = |list| (to(site.path(list)), site.title(list).to_owned());
                let onward: Vec<Link> = site.lists().map(name).collect();
                plot.junk(target, site.prose.say("Page not found", "页面不存在"), "", &onward)
            }
            None => Answer::missing(),
        }
    })
}
