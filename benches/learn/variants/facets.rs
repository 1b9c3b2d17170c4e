//! Lists by facets in any order, and a catalogue whose facets lead to products that nothing else leads to.

use super::{
    Planned,
    plot::{Plot, base64, from_base64, made_up, plain},
    site::{Link, Place, Size, links},
};
use crate::{prose::Dice, target::Target, world::Answer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Path,
    Query,
    /// `?f[0]=color:red`
    Indexed,
    /// `/all/red+small`
    Plus,
    Matrix,
    /// `/color-is-red/size-is-small/`
    Is,
    Base64,
    /// `?fq=color:red&fq=size:small`
    Repeated,
    /// `/list-red-small.html`
    File,
    /// `?filter=color_red-size_small`
    Packed,
    /// `/list-1-0-4-0.html`: a number for each facet.
    Places,
}

const STYLES: [Style; 11] = [
    Style::Path,
    Style::Query,
    Style::Indexed,
    Style::Plus,
    Style::Matrix,
    Style::Is,
    Style::Base64,
    Style::Repeated,
    Style::File,
    Style::Packed,
    Style::Places,
];

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

/// The facets of a shop and how they are written in addresses.
struct Facets {
    style: Style,
    base: String,
    parameter: String,
    all: Vec<(String, Vec<String>)>,
}

impl Facets {
    fn new(count: usize, styles: &[Style], dice: &mut Dice) -> Self {
        let mut known = KNOWN.to_vec();
        dice.shuffle(&mut known);
        let flavour = dice.roll(4);
        let facets = (0..count).map(|facet| match flavour {
            0 => {
                let words = made_up(7, dice);
                (
                    format!("{}{facet}", words[0]),
                    words[1..].iter().map(|word| format!("{word}{facet}")).collect(),
                )
            }
            1 => {
                let first = 100 * (facet + 1) + dice.roll(80);
                let values = (0..6).map(|value| (first + value * 3).to_string()).collect();
                (known[facet].0.to_owned(), values)
            }
            _ => (known[facet].0.to_owned(), known[facet].1.map(str::to_owned).to_vec()),
        });
        let bases =
            ["/list", "/shop", "/collections/all", "/catalog/category", "/products", "/search"];
        Self {
            all: facets.collect(),
            style: *dice.pick(styles),
            base: (*dice.pick(&bases)).to_owned(),
            parameter: (*dice.pick(&["filter", "q", "fq", "s", "F", "_sx"])).to_owned(),
        }
    }

    fn word(&self, value: Value) -> &str {
        &self.all[value.0].1[value.1]
    }

    fn show(&self, chosen: &[Value]) -> String {
        let base = &self.base;
        let pairs = |within: &str, between: &str| {
            let pair =
                |value: &Value| format!("{}{within}{}", self.all[value.0].0, self.word(*value));
            chosen.iter().map(pair).collect::<Vec<_>>().join(between)
        };
        let words = |between: &str| {
            chosen.iter().map(|value| self.word(*value)).collect::<Vec<_>>().join(between)
        };
        if chosen.is_empty() {
            return format!("{base}/");
        }
        match self.style {
            Style::Path => format!("{base}/{}/", words("/")),
            Style::Plus => format!("{base}/{}", words("+")),
            Style::Is => format!("{base}/{}/", pairs("-is-", "/")),
            Style::File => format!("{base}-{}.html", words("-")),
            Style::Matrix => format!("{base};{}", pairs("=", ";")),
            Style::Query => format!("{base}?{}", pairs("=", "&")),
            Style::Packed => format!("{base}?{}={}", self.parameter, pairs("_", "-")),
            Style::Base64 => format!("{base}?{}={}", self.parameter, base64(&pairs(":", "|"))),
            Style::Repeated => {
                let name = format!("&{}=", self.parameter);
                format!("{base}?{}={}", self.parameter, pairs(":", &name))
            }
            Style::Indexed => {
                let one = |(place, value): (usize, &Value)| {
                    format!("f[{place}]={}:{}", self.all[value.0].0, self.word(*value))
                };
                let all: Vec<String> = chosen.iter().enumerate().map(one).collect();
                format!("{base}?{}", all.join("&"))
            }
            Style::Places => {
                let place = |facet| {
                    let value = chosen.iter().find(|value| value.0 == facet);
                    value.map_or(0, |value| value.1 + 1).to_string()
                };
                let all: Vec<String> = (0..self.all.len()).map(place).collect();
                format!("{base}-{}.html", all.join("-"))
            }
        }
    }

    fn read(&self, target: &str) -> Option<Vec<Value>> {
        let rest = target.strip_prefix(self.base.as_str())?;
        if self.style == Style::Places {
            let numbers = rest.split(|letter: char| !letter.is_ascii_digit());
            let numbers = numbers.filter_map(|part| part.parse::<usize>().ok()).enumerate();
            return Some(
                numbers
                    .filter(|(facet, value)| {
                        self.all
                            .get(*facet)
                            .is_some_and(|(_, values)| (1..=values.len()).contains(value))
                    })
                    .map(|(facet, value)| (facet, value - 1))
                    .collect(),
            );
        }
        let rest = if self.style == Style::Base64 && rest.contains('=') {
            from_base64(Target::parse(target).get(&self.parameter)?)?
        } else {
            rest.to_owned()
        };
        let find = |word: &str| {
            self.all.iter().enumerate().find_map(|(facet, (_, values))| {
                Some((facet, values.iter().position(|value| value == word)?))
            })
        };
        Some(rest.split(|letter: char| !letter.is_ascii_alphanumeric()).filter_map(find).collect())
    }

    /// Whether a page has all of these values; of one facet, one is enough.
    fn has(&self, page: usize, chosen: &[Value]) -> bool {
        chosen.iter().all(|(facet, _)| {
            let own = Dice::of(&format!("{page} {facet}")).roll(self.all[*facet].1.len());
            chosen.contains(&(*facet, own))
        })
    }
}

/// Lists of articles by facets in the order in which they were chosen.
pub(crate) fn facets(host: &str, dice: &mut Dice) -> Planned {
    let plot = Plot::usual(host, dice);
    let facets = Facets::new(4 + dice.roll(3), &STYLES, dice);
    let (adds, shown) = (dice.roll(3) == 0, 6 + dice.roll(10));
    // Now and then the lists of one value are in the navigation.
    let is_open = dice.roll(3) == 0;
    let pages = plot.site.pages();
    Planned::new(pages, move |_, target| {
        let site = &plot.site;
        let entry = |_: &mut Dice| {
            let mut all =
                vec![(facets.show(&[]), site.prose.say("All articles", "全部").to_owned())];
            if is_open {
                all.extend((0..4).map(|value| plain(facets.show(&[(0, value)]))));
            }
            all
        };
        plot.beside(target, entry, || {
            let Some(chosen) = facets.read(target) else { return Answer::missing() };
            let hidden = if chosen.is_empty() { 0..0 } else { site.hidden() };
            let found: Vec<usize> = hidden
                .chain(site.articles())
                .filter(|page| facets.has(*page, &chosen))
                .take(shown)
                .collect();
            let body = if found.is_empty() {
                format!("<p>{}</p>", site.prose.say("Nothing was found.", "没有找到商品。"))
            } else {
                site.teasers(&found)
            };
            let words: Vec<&str> = chosen.iter().map(|value| facets.word(*value)).collect();
            plot.junk(target, &words.join(", "), &body, &choices(&facets, &chosen, adds))
        })
    })
}

/// A link to each value: it is added to the chosen ones, or replaces that of its facet; a chosen one is taken away.
fn choices(facets: &Facets, chosen: &[Value], adds: bool) -> Vec<Link> {
    let mut all = Vec::new();
    for (facet, (_, values)) in facets.all.iter().enumerate() {
        for value in (0..values.len()).map(|value| (facet, value)) {
            let kept = |known: &&Value| **known != value && (adds || known.0 != facet);
            let mut next: Vec<Value> = chosen.iter().filter(kept).copied().collect();
            if !chosen.contains(&value) {
                next.push(value);
            }
            all.push((facets.show(&next), facets.word(value).to_owned()));
        }
    }
    all
}

/// Products that only the lists of two values name.
pub(crate) fn catalogue(host: &str, dice: &mut Dice) -> Planned {
    let articles = Size { listed: 60 + dice.roll(60), hidden: 240 };
    let plot = Plot::new(host, articles, dice).everywhere();
    let styles = [
        Style::Path,
        Style::Query,
        Style::Is,
        Style::File,
        Style::Packed,
        Style::Places,
        Style::Matrix,
    ];
    let facets = Facets::new(2 + dice.roll(2), &styles, dice);
    let (has_teasers, most) = (dice.roll(2) == 0, 4 + dice.roll(6));
    // Lists may be sorted, which shows the same products again.
    let orders = &["price", "name", "new"][..*dice.pick(&[0, 0, 2, 3])];
    let pages = plot.site.pages();
    Planned::new(pages, move |_, target| {
        let site = &plot.site;
        let name = site.prose.say("All products", "全部商品");
        plot.beside(
            target,
            |_| vec![(facets.show(&[]), name.to_owned())],
            || {
                let order = Target::parse(target).get("orderby").map(str::to_owned);
                let plain = Target::parse(target).without("orderby").show();
                let Some(chosen) = facets.read(&plain) else { return Answer::missing() };
                let all = site.hidden().filter(|page| facets.has(*page, &chosen));
                let most = if chosen.len() < 2 { most } else { usize::MAX };
                let mut found: Vec<usize> = all.take(most).collect();
                Dice::of(order.as_deref().unwrap_or_default()).shuffle(&mut found);
                let body = if has_teasers {
                    site.teasers(&found)
                } else {
                    links(&found.iter().map(|page| site.link(*page)).collect::<Vec<_>>())
                };
                let sorted = |by: &&str| {
                    (Target::parse(&plain).with("orderby", by).show(), (*by).to_owned())
                };
                let sorted: Vec<Link> = orders.iter().map(sorted).collect();
                let words: Vec<&str> = chosen.iter().map(|value| facets.word(*value)).collect();
                let title = format!("{name} {}", words.join(", "));
                Answer::junk(site.other(
                    &title,
                    &(links(&sorted) + &body + &links(&narrower(&facets, &chosen))),
                    &[],
                    Place::Body,
                ))
            },
        )
    })
}

/// The values of the facets after the chosen one.
fn narrower(facets: &Facets, chosen: &[Value]) -> Vec<Link> {
    let next = chosen.last().map_or(0, |value| value.0 + 1);
    let mut all = Vec::new();
    if chosen.len() < 2 {
        for facet in next..facets.all.len() {
            for value in 0..facets.all[facet].1.len() {
                let chosen: Vec<Value> = chosen.iter().copied().chain([(facet, value)]).collect();
                all.push((facets.show(&chosen), facets.word((facet, value)).to_owned()));
            }
        }
    }
    all
}
