//! Subdomains without an end.

use super::{
    plot::{Plot, plain},
    site::Link,
};
use crate::{
    prose::Dice,
    world::{Answer, World},
};

/// How the nth subdomain is named, with these words.
type Naming = fn(usize, &[String]) -> String;

const NAMES: [Naming; 5] = [
    |number, words| format!("{}-{}", words[number % 400], words[number / 30]),
    |number, words| format!("{}{number}", words[number % 400]),
    |number, _| (10_000 + number * 7).to_string(),
    |number, _| format!("d2{:03}{:02}{:02}", number / 336, number / 28 % 12 + 1, number % 28 + 1),
    // `www.m.www.en`
    |number, _| {
        let digit = |it: &u32| ["www", "m", "en", "shop", "mail"][number / 5_usize.pow(*it) % 5];
        let digits = (0..6).take_while(|it| number >= 5_usize.pow(*it)).map(|it| digit(&it));
        format!("m.{}", digits.collect::<Vec<_>>().join("."))
    },
];

/// The subdomains of a host.
struct Subdomains {
    plot: Plot,
    /// Whether each subdomain is the whole honest site again.
    is_mirror: bool,
    naming: Naming,
    words: Vec<String>,
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
pub(crate) fn subdomains(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::open(host, dice);
    let is_mirror = dice.one_in(4);
    let real = ["blog", "docs", "support", "shop", "status"];
    let real = real.iter().take(dice.roll(6)).map(|name| format!("{name}.{host}"));
    let all = Subdomains {
        plot,
        is_mirror,
        naming: *dice.pick(&NAMES),
        words: dice.made_up(400),
        real: real.collect(),
        are_behind: !is_mirror && dice.one_in(2),
        onward: 1 + dice.roll(8),
        on_page: 1 + dice.roll(4),
        goes_home: dice.one_in(2),
    };
    let pages = all.plot.site.pages() + all.real.len();
    World::new(host, pages, move |host, target| all.answer(host, target)).with_subdomains()
}

impl Subdomains {
    fn answer(&self, host: &str, target: &str) -> Answer {
        let site = &self.plot.site;
        if host == site.host {
            return self.home(target);
        }
        let others = self.draw(self.onward, &format!("{host}{target}"));
        if let Some(number) = self.real.iter().position(|name| name == host) {
            let text = site.prose.paragraphs(&format!("real {host}"), 4);
            let html = self.outside(&site.other(&site.prose.title(host), &text));
            let is_it = target == "/";
            return if is_it {
                Answer::Honest(site.pages() + number, html)
            } else {
                Answer::Missing
            };
        }
        if let (true, Some(page)) = (self.is_mirror, site.number(target)) {
            return Answer::Honest(page, site.html(page, &others));
        }
        if target != "/" {
            return Answer::Missing;
        }
        let mut onward = others;
        if self.are_behind {
            onward.extend(self.real());
        }
        if self.goes_home {
            onward.push((format!("http://{}/", site.host), site.link(0).1));
        }
        let label = host.split('.').next().unwrap_or_default();
        match self.plot.junk(&format!("{host}{target}"), label, "", &onward) {
            Answer::Junk(html) => Answer::Junk(self.outside(&html)),
            other => other,
        }
    }

    /// What the honest host answers.
    fn home(&self, target: &str) -> Answer {
        let mut others = self.draw(self.on_page, target);
        if target == "/" && !self.are_behind {
            others.extend(self.real());
            return Answer::Honest(0, self.plot.site.html(0, &others));
        }
        self.plot.beside(target, |_| others, || Answer::Missing)
    }

    fn real(&self) -> impl Iterator<Item = Link> {
        self.real.iter().map(|name| (format!("http://{name}/"), name.clone()))
    }

    /// Links to some of 12,000 subdomains, the same for the same page.
    fn draw(&self, count: usize, page: &str) -> Vec<Link> {
        let mut dice = Dice::of(&format!("subdomains {page}"));
        let names = (0..count).map(|_| (self.naming)(dice.roll(12_000), &self.words));
        names.map(|name| plain(format!("http://{name}.{}/", self.plot.site.host))).collect()
    }

    /// A page whose links in the template lead to the honest host.
    fn outside(&self, html: &str) -> String {
        html.replace("href=\"/", &format!("href=\"http://{}/", self.plot.site.host))
    }
}
