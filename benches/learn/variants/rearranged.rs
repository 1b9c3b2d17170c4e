//! Lists by facets in any order, each with a random dozen of sixty known products in one paragraph.

use super::{
    Planned,
    plot::{Plot, made_up},
    site::Link,
};
use crate::{prose::Dice, target::Target, world::Answer};

const PRODUCTS: usize = 60;

pub(crate) fn rearranged(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice);
    let base = (*dice.pick(&["/find", "/products.php", "/catalogue/all", "/s"])).to_owned();
    let (names, values) = (made_up(6, dice), made_up(5, dice));
    let pages = plot.site.pages();
    Planned::new(pages, move |_, target| {
        let entry =
            |_: &mut Dice| vec![(format!("{base}?{}={}", names[0], values[0]), "Find".to_owned())];
        plot.beside(target, entry, || {
            let asked = Target::parse(target);
            if asked.path != base {
                return Answer::missing();
            }
            let mut shown = Dice::of(target);
            let products = (0..12).map(|_| {
                plot.site.prose.teaser(&format!(
                    "{} product {}",
                    plot.site.host,
                    shown.roll(PRODUCTS)
                ))
            });
            let body = format!("<p>{}</p>", products.collect::<String>());
            let onward: Vec<Link> = names
                .iter()
                .flat_map(|name| values.iter().map(move |value| (name, value)))
                .map(|(name, value)| {
                    (asked.clone().without(name).with(name, value).show(), value.clone())
                })
                .collect();
            plot.junk(target, "Find", &body, &onward)
        })
    })
}
