//! Lists by facets in any order: traps, and a catalogue whose facets lead to products that nothing else leads to.

use super::{
    addresses::Addresses,
    plot::{Plot, named, plain},
    site::{Link, links},
};
use crate::{
    prose::Dice,
    target::Target,
    world::{Answer, World},
};

const KNOWN: [(&str, [&str; 6]); 8] = [
    ("color", ["red", "green", "blue", "black", "white", "grey"]),
    ("size", ["xs", "small", "medium", "large", "xlarge", "onesize"]),
    ("material", ["cotton", "wool", "linen", "silk", "leather", "denim"]),
    ("state", ["new", "used", "sale", "outlet", "rare", "classic"]),
    ("order", ["rank", "priceasc", "pricedesc", "nameasc", "dateasc", "datedesc"]),
    ("leixing", ["nanzhuang", "nvzhuang", "tongzhuang", "xie", "bao", "peishi"]),
    ("diqu", ["beijing", "shanghai", "guangzhou", "shenzhen", "hangzhou", "chengdu"]),
    ("mode", ["grid", "table", "gallery", "compact", "full", "map"]),
];

/// A value, by its facet and its place.
type Value = (usize, usize);

/// The facets of a shop.
struct Facets {
    addresses: Addresses<Vec<Value>>,
    all: Vec<(String, Vec<String>)>,
}

impl Facets {
    fn new(count: usize, dice: &mut Dice) -> Self {
        let mut known = KNOWN.to_vec();
        dice.shuffle(&mut known);
        let flavour = dice.roll(4);
        let facet = |facet: usize| {
            let (name, values) = known[facet];
            let first = 100 * (facet + 1) + dice.roll(80);
            match flavour {
                0 => {
                    let words = dice.made_up(7).into_iter().map(|word| format!("{word}{facet}"));
                    let words: Vec<String> = words.collect();
                    (words[0].clone(), words[1..].to_vec())
                }
                1 => (name.to_owned(), (0..6).map(|it| (first + it * 3).to_string()).collect()),
                _ => (name.to_owned(), values.map(str::to_owned).to_vec()),
            }
        };
        let all = (0..count).map(facet).collect();
        let bases = ["/list", "/shop", "/collections/all", "/catalog/category", "/search"];
        Self { all, addresses: Addresses::new(&bases, dice) }
    }

    fn word(&self, value: Value) -> &str {
        &self.all[value.0].1[value.1]
    }

    fn label(&self, chosen: &[Value]) -> String {
        chosen.iter().map(|value| self.word(*value)).collect::<Vec<_>>().join(", ")
    }

    fn link(&self, chosen: &[Value], name: &str) -> Link {
        let values = chosen.iter().map(|it| (self.all[it.0].0.as_str(), self.word(*it).to_owned()));
        named(self.addresses.write(&values.collect::<Vec<_>>(), chosen.to_vec()), name)
    }

    /// Whether a page has all of these values; of one facet, one is enough.
    fn has(page: usize, chosen: &[Value]) -> bool {
        chosen.iter().all(|(facet, _)| {
            let own = Dice::of(&format!("{page} {facet}")).roll(6);
            chosen.contains(&(*facet, own))
        })
    }

    /// A link to each value from this facet on.
    fn values(&self, from: usize) -> impl Iterator<Item = Value> {
        (from..self.all.len()).flat_map(|facet| (0..6).map(move |value| (facet, value)))
    }
}

/// Lists of articles by facets in the order in which they were chosen.
pub(crate) fn facets(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::usual(host, dice);
    let facets = Facets::new(4 + dice.roll(3), dice);
    // Whether a facet may have several values, and whether the lists of one value are in the navigation.
    let (adds, shown, is_open) = (dice.one_in(3), 6 + dice.roll(10), dice.one_in(3));
    World::new(host, plot.site.pages(), move |_, target| {
        let site = &plot.site;
        let mut entry = vec![facets.link(&[], "All articles")];
        let in_navigation = facets.values(0).take(if is_open { 4 } else { 0 });
        entry.extend(in_navigation.map(|value| facets.link(&[value], facets.word(value))));
        let list = || {
            let Some(chosen) = facets.addresses.read(target) else { return Answer::Missing };
            let hidden = if chosen.is_empty() { 0..0 } else { site.hidden() };
            let found = hidden.chain(site.articles()).filter(|page| Facets::has(*page, &chosen));
            let found: Vec<usize> = found.take(shown).collect();
            let body = if found.is_empty() {
                "<p>Nothing was found.</p>".to_owned()
            } else {
                site.teasers(&found)
            };
            // A value is added to the chosen ones, or replaces that of its facet; a chosen one is taken away.
            let choice = |value: Value| {
                let kept = |it: &&Value| **it != value && (adds || it.0 != value.0);
                let mut next: Vec<Value> = chosen.iter().filter(kept).copied().collect();
                next.extend(Some(value).filter(|it| !chosen.contains(it)));
                facets.link(&next, facets.word(value))
            };
            let onward: Vec<Link> = facets.values(0).map(choice).collect();
            plot.junk(target, &facets.label(&chosen), &body, &onward)
        };
        plot.beside(target, |_| entry, list)
    })
}

/// Products that only the lists of two values name.
pub(crate) fn catalogue(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::new(host, 60 + dice.roll(60), 240, dice).everywhere();
    let facets = Facets::new(2 + dice.roll(2), dice);
    let (has_teasers, most) = (dice.one_in(2), 4 + dice.roll(6));
    World::new(host, plot.site.pages(), move |_, target| {
        let site = &plot.site;
        let list = || {
            let Some(chosen) = facets.addresses.read(target) else { return Answer::Missing };
            let all = site.hidden().filter(|page| Facets::has(*page, &chosen));
            let is_narrow = chosen.len() == 2;
            let found: Vec<usize> = all.take(if is_narrow { usize::MAX } else { most }).collect();
            let body = if has_teasers {
                site.teasers(&found)
            } else {
                links(&found.iter().map(|page| site.link(*page)).collect::<Vec<_>>())
            };
            // The values of the facets after the chosen one.
            let next = chosen.last().map_or(0, |value| value.0 + 1);
            let narrower = facets.values(if is_narrow { usize::MAX } else { next });
            let narrower = narrower
                .map(|value| facets.link(&[&chosen[..], &[value]].concat(), facets.word(value)));
            let title = format!("All products {}", facets.label(&chosen));
            Answer::Junk(site.other(&title, &(body + &links(&narrower.collect::<Vec<_>>()))))
        };
        plot.beside(target, |_| vec![facets.link(&[], "All products")], list)
    })
}

/// Lists by facets in any order, each with a random dozen of sixty known products in one paragraph.
pub(crate) fn rearranged(host: &str, dice: &mut Dice) -> World {
    let plot = Plot::usual(host, dice);
    let base = *dice.pick(&["/find", "/products.php", "/catalogue/all", "/s"]);
    let (names, values) = (dice.made_up(6), dice.made_up(5));
    World::new(host, plot.site.pages(), move |host, target| {
        let find = || {
            let asked = Target::parse(target);
            if asked.path != base {
                return Answer::Missing;
            }
            let mut shown = Dice::of(target);
            let product = |_| plot.site.prose.teaser(&format!("{host} product {}", shown.roll(60)));
            let body = format!("<p>{}</p>", (0..12).map(product).collect::<String>());
            let pairs = names.iter().flat_map(|name| values.iter().map(move |it| (name, it)));
            let with = |(name, value): (&String, &String)| {
                asked.clone().without(name).with(name, value).show()
            };
            let onward: Vec<Link> = pairs.map(|it| plain(with(it))).collect();
            plot.junk(target, "Find", &body, &onward)
        };
        let entry = vec![plain(format!("{base}?{}={}", names[0], values[0]))];
        plot.beside(target, |_| entry, find)
    })
}
