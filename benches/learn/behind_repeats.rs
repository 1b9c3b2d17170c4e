//! Honest sites whose texts lie behind many repeats: a crawler that gives up early loses them.

use crate::{
    false_traps::{Numbers, page, teaser, world},
    honest::anchor,
    prose::{Dice, Language, Prose},
    target::Target,
    world::{Answer, World},
};

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    [expired_offers(), cars(), one_path(), gaps(), events()].into_iter()
}

fn names(kind: &'static str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{kind} {number}"))
}

fn links(to: impl Iterator<Item = String>) -> String {
    to.map(|to| anchor(&to, &to) + " ").collect()
}

/// 1,500 offers, the oldest first, of which the first 900 have expired: they answer with one and the same text.
fn expired_offers() -> World {
    const OFFERS: usize = 1_500;
    const EXPIRED: usize = 900;
    const LISTED: usize = 50;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("offer", OFFERS - EXPIRED));
    let months = || (0..OFFERS / LISTED).map(|month| format!("/offers/{month}/"));
    world("expired offers", "/", OFFERS - EXPIRED, move |asked| {
        if asked.path == "/" {
            return Answer::junk(page(&prose, "Offers", &links(months()), &[]));
        }
        if let Some(month) = asked.number_below("/offers/", "/") {
            let offers = (0..OFFERS).skip(month * LISTED).take(LISTED);
            let listed: String = offers
                .map(|it| anchor(&format!("/offer/{it}"), &prose.title(&format!("{it}"))) + " ")
                .collect();
            return Answer::junk(page(&prose, &format!("Offers of month {month}"), &listed, &[]));
        }
        match asked.number_below("/offer/", "") {
            Some(offer) if offer < EXPIRED => Answer::junk(page(
                &prose,
                "Offer",
                "<p>This offer has expired. Please search for another one.</p>",
                &[],
            )),
            Some(offer) if offer < OFFERS => {
                let name = format!("offer {}", offer - EXPIRED);
                numbers.answer(
                    &name,
                    page(&prose, &prose.title(&name), &prose.paragraphs(&name, 3), &[]),
                )
            }
            _ => Answer::missing(),
        }
    })
}

/// 1,500 cars, of which a list shows 60 at most, so that two or three facets lead to most of them.
fn cars() -> World {
    const CARS: usize = 1_500;
    const FACETS: [(&str, usize); 4] = [("make", 15), ("year", 15), ("fuel", 3), ("doors", 4)];
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("car", CARS));
    let value = |car: usize, facet: &str, values: usize| {
        Dice::of(&format!("{facet} of {car}")).roll(values)
    };
    world("cars behind facets", "/cars", CARS, move |asked| {
        if let Some(car) = asked.number_below("/car/", "").filter(|car| *car < CARS) {
            let name = format!("car {car}");
            return numbers.answer(
                &name,
                page(&prose, &prose.title(&name), &prose.paragraphs(&name, 2), &[]),
            );
        }
        if asked.path != "/cars" {
            return Answer::missing();
        }
        let is_chosen = |car: &usize| {
            FACETS.iter().all(|(facet, values)| {
                asked.number(facet).is_none_or(|it| it == value(*car, facet, *values))
            })
        };
        let mut cars: Vec<usize> = (0..CARS).filter(is_chosen).collect();
        let found = cars.len();
        if asked.get("sort").is_some() {
            cars.sort_by_key(|car| Dice::of(&format!("price {car}")).roll(1 << 20));
        }
        let list = asked.number("page").unwrap_or(0).min(2);
        let shown = cars.iter().skip(list * 20).take(20);
        let mut body: String = shown
            .map(|it| anchor(&format!("/car/{it}"), &prose.title(&format!("car {it}"))) + " ")
            .collect();
        let first = asked.clone().without("page");
        let lists = (1..found.div_ceil(20).min(3)).map(|it| first.clone().with("page", it).show());
        let sorted =
            [first.clone().set("sort", "price").show(), first.clone().set("view", "grid").show()];
        let facets = FACETS.iter().filter(|(facet, _)| asked.get(facet).is_none()).flat_map(
            |(facet, values)| (0..*values).map(|it| first.clone().with(facet, it).show()),
        );
        body += &links(lists.chain(sorted).chain(facets));
        Answer::junk(page(&prose, &format!("{found} cars"), &body, &[]))
    })
}

/// A shop of 600 products, all of whose pages have one path; lists keep their parameters on the links to products.
fn one_path() -> World {
    const PRODUCTS: usize = 600;
    const CATEGORIES: usize = 12;
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of(names("product", PRODUCTS));
    let script = |route: &str| Target::new("/index.php").with("route", route);
    world("shop behind one path", "/index.php?route=category&path=0", PRODUCTS, move |asked| {
        let account = || ["login", "compare", "cart"].map(|it| script(it).show());
        let categories = || (0..CATEGORIES).map(|it| script("category").with("path", it).show());
        let product = asked.number("product_id").filter(|it| *it < PRODUCTS);
        match (asked.get("route").unwrap_or_default(), product) {
            ("product", Some(product)) => {
                let name = format!("product {product}");
                let related = (1..=4).map(|it| {
                    script("product").with("product_id", (product * 7 + it * 31) % PRODUCTS).show()
                });
                let own =
                    ["wishlist", "compare"].map(|it| script(it).with("product_id", product).show());
                let body = prose.paragraphs(&name, 3)
                    + &links(related.chain(own).chain(account()).chain(categories()));
                numbers.answer(&name, page(&prose, &prose.title(&name), &body, &[]))
            }
            ("category", None) => {
                let category = asked.number("path").unwrap_or(0) % CATEGORIES;
                let mut products: Vec<usize> =
                    (0..PRODUCTS).filter(|it| it % CATEGORIES == category).collect();
                let order = format!("{:?} {:?}", asked.get("sort"), asked.get("order"));
                products.sort_by_key(|it| Dice::of(&format!("{order} {it}")).roll(1 << 20));
                let limit = asked.number("limit").unwrap_or(15).clamp(1, 100);
                let list = asked.number("page").unwrap_or(0);
                let first = asked.clone().without("page");
                let address = |it: &usize| {
                    first.clone().set("route", "product").with("product_id", it).show()
                };
                let shown = products.iter().skip(list * limit).take(limit);
                let mut body: String = shown
                    .map(|it| anchor(&address(it), &prose.title(&format!("product {it}"))) + " ")
                    .collect();
                let sorts = ["name", "price", "rating"].into_iter().flat_map(|sort| {
                    ["up", "down"]
                        .map(|order| first.clone().set("sort", sort).set("order", order).show())
                });
                let limits = [15, 25, 50, 100].map(|it| first.clone().set("limit", it).show());
                let lists = (1..products.len().div_ceil(limit))
                    .map(|it| first.clone().with("page", it).show());
                body +=
                    &links(lists.chain(sorts).chain(limits).chain(account()).chain(categories()));
                Answer::junk(page(&prose, &format!("Category {category}"), &body, &[]))
            }
            _ => {
                Answer::junk(page(&prose, "Account", "<p>Please log in to use this page.</p>", &[]))
            }
        }
    })
}

/// News by id, which lead to the ids before and after; two of three ids are missing, in gaps of up to 80, and say so with status 200.
fn gaps() -> World {
    const IDS: usize = 2_400;
    let prose = Prose::new(Language::Chinese);
    let mut dice = Dice::of("gaps");
    let mut ids = Vec::new();
    let mut id = 0;
    while id < IDS {
        let news = 10 + dice.roll(40);
        ids.extend(id..(id + news).min(IDS));
        id += news + dice.roll(80);
    }
    let numbers = Numbers::of(ids.iter().map(|it| format!("news {it}")));
    let count = ids.len();
    world("ids with gaps", &format!("/news.php?id={}", ids[count / 2]), count, move |asked| {
        let Some(id) = asked.number("id").filter(|id| *id < IDS) else { return Answer::missing() };
        let near = [id.saturating_sub(1), (id + 1).min(IDS - 1)];
        let near = links(near.iter().map(|it| Target::new("/news.php").with("id", it).show()));
        if ids.binary_search(&id).is_err() {
            return Answer::junk(page(
                &prose,
                "没有找到",
                &format!("<p>没有找到这条新闻。</p>{near}"),
                &[],
            ));
        }
        let name = format!("news {id}");
        numbers.answer(
            &name,
            page(&prose, &prose.title(&name), &(prose.paragraphs(&name, 3) + &near), &[]),
        )
    })
}

/// Events of 20 years, which only their months lead to; half of the months have none, and there is always a next month and one before.
fn events() -> World {
    const FIRST: usize = 2_005 * 12;
    const LAST: usize = 2_024 * 12 + 6;
    let prose = Prose::new(Language::English);
    let months: Vec<usize> =
        (FIRST..=LAST).filter(|it| Dice::of(&format!("month {it}")).roll(2) == 0).collect();
    let numbers = Numbers::of(months.iter().map(|it| format!("event {it}")));
    let count = months.len();
    let address = |month: usize| format!("/events/{}/{}/", month / 12, month % 12 + 1);
    world("events in a calendar without end", &address(LAST), count, move |asked| {
        if let Some(month) =
            asked.number_below("/event/", "/").filter(|it| months.binary_search(it).is_ok())
        {
            let name = format!("event {month}");
            return numbers.answer(
                &name,
                page(&prose, &prose.title(&name), &prose.paragraphs(&name, 3), &[]),
            );
        }
        let mut parts = asked.path.split('/').skip(2).map_while(|it| it.parse::<usize>().ok());
        let (Some(year), Some(number @ 1..=12)) = (parts.next(), parts.next()) else {
            return Answer::missing();
        };
        let month = year * 12 + number - 1;
        let own = months
            .binary_search(&month)
            .is_ok()
            .then(|| teaser(&prose, &format!("/event/{month}/"), &format!("event {month}")));
        let near = links([address(month.saturating_sub(1)), address(month + 1)].into_iter());
        Answer::junk(page(
            &prose,
            &format!("Events in {number}/{year}"),
            &(own.unwrap_or_default() + &near),
            &[],
        ))
    })
}
