//! An honest site with a parameter that changes a few of its pages.

use super::plot::{Plot, named};
use crate::{
    prose::Dice,
    target::Target,
    world::{Answer, World},
};

/// One page in a hundred has another text with the parameter.
pub(crate) fn parameter(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::new(host, 600 + dice.roll(400), 0, dice);
    let own = dice.made_up(2);
    let known = [
        ("lang", "de"),
        ("print", "1"),
        ("currency", "EUR"),
        ("version", "2.1"),
        ("amp", "1"),
        ("VIEW", "ALL"),
        (&own[0], &own[1]),
    ];
    let (name, value) = *dice.pick(&known);
    let (name, value) = (name.to_owned(), value.to_owned());
    // Whether the links of a page with the parameter have it too.
    let (is_kept, site) = (dice.one_in(2), plot.site);
    let mut changed: Vec<usize> = site.articles().collect();
    dice.shuffle(&mut changed);
    changed.truncate(site.pages().div_ceil(100));
    World::new(host, site.pages() + changed.len(), move |_, target| {
        let asked = Target::parse(target);
        let has = asked.get(&name).is_some();
        let path = asked.without(&name).show();
        let Some(page) = site.number(&path) else { return Answer::Missing };
        let with = |path: &str| Target::parse(path).with(&name, &value).show();
        if let (true, Some(number)) = (has, changed.iter().position(|known| *known == page)) {
            let text = site.prose.paragraphs(&format!("changed {} {path}", site.host), 4);
            return Answer::Honest(site.pages() + number, site.other(&site.link(page).1, &text));
        }
        let version = named(if has { path.clone() } else { with(&path) }, "Version");
        let mut to = |path: &str| if has && is_kept { with(path) } else { path.to_owned() };
        Answer::Honest(page, site.changed(page, &mut to, &[version]))
    })
}
