//! Sites of many pages with junk on their links: more pages than the learner remembers keys of.

use pagesieve::crawl::scope::Reach;

use crate::{
    honest::{Changes, Honest},
    prose::{Dice, Language},
    target::Target,
    world::{Answer, World},
};

const ARTICLES: usize = 12_000;

/// What the host answers to a path.
type Site = fn(&Honest, &str, &str) -> Answer;

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let all: [(&str, Language, Site); 4] = [
        ("many pages with sessions", Language::Chinese, sessions),
        ("many pages with marked links", Language::English, marked),
        ("many pages with print views", Language::Chinese, print_views),
        ("many pages on two hosts", Language::English, two_hosts),
    ];
    all.into_iter().map(|(name, language, answer)| {
        let host = format!("{}.test", name.replace(' ', "-"));
        let site = Honest::new(&host, language, ARTICLES);
        World {
            name: name.to_owned(),
            seeds: vec![format!("http://{host}/")],
            hosts: vec![format!("www.{host}"), host],
            reach: Reach::Domain,
            pages: site.pages(),
            answer: Box::new(move |host, target| answer(&site, host, target)),
        }
    })
}

fn article(site: &Honest, path: &str, to: &mut dyn FnMut(&str) -> String) -> Answer {
    site.number(path).map_or_else(Answer::missing, |page| {
        Answer::honest(page, site.changed(page, Changes { to, more: &[] }))
    })
}

/// All links have a session, and one in eight of them a new one.
fn sessions(site: &Honest, _: &str, target: &str) -> Answer {
    let (asked, mut dice) = (Target::parse(target), Dice::of(target));
    let session = asked.get("sid").map(str::to_owned);
    article(site, &asked.path, &mut |path| {
        let session = session.clone().filter(|_| dice.roll(8) > 0).unwrap_or_else(|| dice.hex(32));
        Target::new(path).with("sid", session).show()
    })
}

/// Half of the links say where they are.
fn marked(site: &Honest, _: &str, target: &str) -> Answer {
    let (asked, mut dice) = (Target::parse(target), Dice::of(target));
    let places = ["menu", "related", "footer", "top", "side", "home"];
    article(site, &asked.path, &mut |path| {
        let plain = Target::new(path);
        if dice.roll(2) == 0 {
            plain.show()
        } else {
            plain.with("place", *dice.pick(&places)).show()
        }
    })
}

/// Half of the links lead to the view to print.
fn print_views(site: &Honest, _: &str, target: &str) -> Answer {
    let (asked, mut dice) = (Target::parse(target), Dice::of(target));
    article(site, &asked.path, &mut |path| {
        let plain = Target::new(path);
        if dice.roll(2) == 0 { plain.show() } else { plain.with("print", "1").show() }
    })
}

/// Half of the links lead to the other host.
fn two_hosts(site: &Honest, host: &str, target: &str) -> Answer {
    let mut dice = Dice::of(&format!("{host}{target}"));
    article(site, target, &mut |path| {
        let www = if dice.roll(2) == 0 { "www." } else { "" };
        format!("http://{www}{}{path}", site.host)
    })
}
