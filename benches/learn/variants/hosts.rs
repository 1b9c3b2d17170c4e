//! Subdomains without an end.

use std::collections::HashMap;

use pagesieve::crawl::scope::Reach;

use super::{
    Planned,
    plot::{Plot, made_up},
    site::Link,
};
use crate::{prose::Dice, world::Answer};

const HOSTS: usize = 12_000;

/// The names of real subdomains.
const REAL: [&str; 5] = ["blog", "docs", "support", "shop", "status"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Towns,
    Words,
    Hex,
    Numbers,
    Users,
    Dates,
    /// `www.m.www.en`
    Grown,
    Languages,
}

const NAMES: [Names; 8] = [
    Names::Towns,
    Names::Words,
    Names::Hex,
    Names::Numbers,
    Names::Users,
    Names::Dates,
    Names::Grown,
    Names::Languages,
];

/// What the root of a subdomain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A page with the words of the plot.
    Page,
    /// A page and some below it, which differ little.
    Small,
    /// The whole honest site again.
    Mirror,
}

/// The subdomains of a host.
struct Subdomains {
    plot: Plot,
    pages: usize,
    kind: Kind,
    /// All names, and the number of each.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Those with a text of their own.
    real: Vec<String>,
    /// Whether they are named by the other subdomains, and not by the home page.
    are_behind: bool,
    /// How many others a subdomain and an honest page name.
    onward: usize,
    on_page: usize,
    goes_home: bool,
}

/// Any subdomain is answered, and leads to others.
pub(crate) fn subdomains(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::open(host, dice);
    let naming = *dice.pick(&NAMES);
    let kind = *dice.pick(&[Kind::Page, Kind::Page, Kind::Small, Kind::Mirror]);
    let (onward, on_page) = (1 + dice.roll(8), 1 + dice.roll(4));
    let goes_home = dice.roll(2) == 0;
    let real = &REAL[..dice.roll(REAL.len() + 1)];
    let real: Vec<String> = real.iter().map(|name| format!("{name}.{host}")).collect();
    let are_behind = kind != Kind::Mirror && dice.roll(2) == 0;
    let names: Vec<String> =
        names_of(naming, dice).into_iter().map(|name| format!("{name}.{host}")).collect();
    let numbers = names.iter().cloned().enumerate().map(|(number, name)| (name, number)).collect();
    let hosts = names.iter().chain(&real).cloned().collect();
    let pages = plot.site.pages();
    let all = Subdomains {
        plot,
        pages,
        kind,
        names,
        numbers,
        real,
        are_behind,
        onward,
        on_page,
        goes_home,
    };
    let planned =
        Planned::new(pages + all.real.len(), move |host, target| all.answer(host, target));
    Planned { hosts, reach: Reach::Domain, ..planned }
}

impl Subdomains {
    fn answer(&self, host: &str, target: &str) -> Answer {
        let site = &self.plot.site;
        if host == site.host {
            return self.home(target);
        }
        if let Some(number) = self.real.iter().position(|name| name == host) {
            let text = site.prose.paragraphs(&format!("real {host}"), 4);
            let html = outside(
                &site.other(&site.prose.title(host), &text, &[], self.plot.place),
                &site.host,
            );
            return if target == "/" {
                Answer::honest(self.pages + number, html)
            } else {
                Answer::missing()
            };
        }
        let Some(number) = self.numbers.get(host) else { return Answer::missing() };
        if let (Kind::Mirror, Some(page)) = (self.kind, site.number(target)) {
            let others = self.draw(self.onward, &format!("{host}{target}"));
            return Answer::honest(page, site.html(page, &others, self.plot.place));
        }
        let below = target.strip_prefix("/about/").and_then(|rest| rest.parse::<usize>().ok());
        if target != "/" && (self.kind != Kind::Small || below.is_none_or(|below| below > 3)) {
            return Answer::missing();
        }
        let label = host.split('.').next().unwrap_or_default();
        let html =
            self.plot.page(&format!("{number}{target}"), label, "", &self.links(host, target));
        let html = outside(&html, &site.host);
        Answer::junk(html.replace(&format!("http://{}/about/", site.host), "/about/"))
    }

    /// What the honest host answers.
    fn home(&self, target: &str) -> Answer {
        if target == "/" && !self.are_behind {
            let more = [self.real(), self.draw(self.on_page, target)].concat();
            return Answer::honest(0, self.plot.site.html(0, &more, self.plot.place));
        }
        self.plot.beside(target, |_| self.draw(self.on_page, target), Answer::missing)
    }

    /// The links of a subdomain.
    fn links(&self, host: &str, target: &str) -> Vec<Link> {
        let mut all = self.draw(self.onward, &format!("{host}{target}"));
        if self.kind == Kind::Small {
            all.extend((1..=3).map(|below| (format!("/about/{below}"), below.to_string())));
        }
        if self.are_behind {
            all.extend(self.real());
        }
        if self.goes_home {
            let site = &self.plot.site;
            all.push((format!("http://{}/", site.host), site.title(0).to_owned()));
        }
        all
    }

    fn real(&self) -> Vec<Link> {
        self.real.iter().map(|name| (format!("http://{name}/"), name.clone())).collect()
    }

    /// Links to some subdomains, the same for the same page.
    fn draw(&self, count: usize, page: &str) -> Vec<Link> {
        let mut dice = Dice::of(&format!("subdomains {page}"));
        let names = (0..count).map(|_| dice.pick(&self.names).clone());
        names.map(|name| (format!("http://{name}/"), name)).collect()
    }
}

/// A page whose links in the template lead to the honest host.
fn outside(html: &str, home: &str) -> String {
    html.replace("href=\"/", &format!("href=\"http://{home}/"))
}

fn names_of(names: Names, dice: &mut Dice) -> Vec<String> {
    let towns = ["spring", "lake", "mill", "oak", "stone", "river", "ash", "north"];
    let ends = ["field", "ton", "ville", "ford", "port", "bury", "wick", "dale"];
    let languages = ["en", "de", "fr", "zh", "ja", "es", "it", "pt"];
    let short = ["www", "m", "en", "shop", "mail"];
    let words = made_up(400, dice);
    let name = |number: usize| match names {
        Names::Towns => format!("{}{}-{number}", dice.pick(&towns), dice.pick(&ends)),
        Names::Words => {
            format!("{}-{}", words[number % 400], words[(number / 400 * 7 + number) % 399])
        }
        Names::Hex => format!("{}{number:x}", dice.hex(8)),
        Names::Numbers => (10_000 + number * 7).to_string(),
        Names::Users => format!("{}{number}", words[number % 400]),
        Names::Dates => {
            format!("d2{:03}{:02}{:02}", number / 336, number / 28 % 12 + 1, number % 28 + 1)
        }
        Names::Grown => grown(number + 1, &short),
        Names::Languages => format!(
            "{}-{}",
            languages[number % 8],
            words[number / 8 % 400].clone() + &number.to_string()
        ),
    };
    (0..HOSTS).map(name).collect()
}

/// A number in the digits of `words`.
fn grown(mut number: usize, words: &[&str]) -> String {
    let mut all = Vec::new();
    while number > 0 {
        all.push(words[(number - 1) % words.len()]);
        number = (number - 1) / words.len();
    }
    all.join(".")
}
