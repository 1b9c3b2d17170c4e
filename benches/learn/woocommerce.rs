//! A shop as `WooCommerce` has it, with the plugins that most themes bring along.

use crate::{
    false_traps::{Numbers, page, teaser, world},
    prose::{Dice, Language, Prose},
    software::{canonical, drawn, item, made_up, nofollow, sorted, with_head},
    target::Target,
    world::{Answer, World},
};

const PRODUCTS: usize = 500;
const CATEGORIES: usize = 24;
const TAGS: usize = 40;
const LISTED: usize = 12;
const COLOURS: [&str; 6] = ["red", "blue", "green", "black", "white", "grey"];
const SIZES: [&str; 4] = ["small", "medium", "large", "extra-large"];
const ORDERS: [&str; 6] = ["menu_order", "popularity", "rating", "date", "price", "price-desc"];
const FORM: &str = "<p>Username or email address. Password. Remember me. Lost your password? \
    A link to set a new password will be sent to your email address.</p>";
const CART: &str = "<p>Your cart is currently empty.</p>";
const WISHES: &str = "<p>No products added to the wishlist.</p>";

/// 500 products in 24 categories, below six of which they lie. Lists can be narrowed by colours, sizes, ratings and prices, and have six orders, three lengths
/// and two layouts. Each entry has links to put it into the cart, on the list of wishes and among the compared, which lead back to the same
/// page, and a third of the entries links of their colours, which show the same page with this colour chosen.
pub(crate) fn woocommerce() -> World {
    let prose = Prose::new(Language::English);
    let numbers = Numbers::of((0..PRODUCTS).map(|it| format!("product {it}")));
    let shop = Shop { numbers, prose, slugs: made_up("product", PRODUCTS, "-") };
    world("woocommerce", "/", PRODUCTS, move |asked| shop.answer(asked))
}

#[derive(Debug)]
struct Shop {
    prose: Prose,
    numbers: Numbers,
    slugs: Vec<String>,
}

fn category_of(product: usize) -> usize {
    product % CATEGORIES
}

/// Three categories lie below a fourth.
fn category_path(category: usize) -> String {
    let top = category / 4 * 4;
    if category == top {
        format!("/product-category/c{top}/")
    } else {
        format!("/product-category/c{top}/c{category}/")
    }
}

fn property(product: usize, name: &str, of: usize) -> usize {
    Dice::of(&format!("{name} of {product}")).roll(of)
}

fn price(product: usize) -> usize {
    property(product, "price", 200)
}

/// Whether a list with these parameters shows a product.
fn has(asked: &Target, product: usize) -> bool {
    let chosen = |name: &str, value: &str| {
        asked.get(name).is_none_or(|it| it.split(',').any(|it| it == value))
    };
    let within = |name: &str, is_in: &dyn Fn(usize) -> bool| asked.number(name).is_none_or(is_in);
    chosen("filter_color", COLOURS[property(product, "colour", COLOURS.len())])
        && chosen("filter_size", SIZES[property(product, "size", SIZES.len())])
        && chosen("rating_filter", &property(product, "rating", 6).to_string())
        && within("min_price", &|least| price(product) >= least)
        && within("max_price", &|most| price(product) <= most)
}

fn tags(product: usize) -> Vec<usize> {
    drawn(&format!("tags of product {product}"), 2, TAGS)
}

/// With a value added to a list of values, or taken from it.
fn toggled(asked: &Target, name: &str, value: &str) -> Target {
    let mut values: Vec<&str> =
        asked.get(name).unwrap_or_default().split(',').filter(|it| !it.is_empty()).collect();
    match values.iter().position(|it| *it == value) {
        Some(at) => drop(values.remove(at)),
        None => values.push(value),
    }
    if values.is_empty() {
        asked.clone().without(name)
    } else {
        asked.clone().set(name, values.join(","))
    }
}

impl Shop {
    fn product_page(&self, product: usize) -> Target {
        Target::new(format!("/product/{}/", self.slugs[product]))
    }

    fn answer(&self, asked: &Target) -> Answer {
        if let Some(product) = asked.number("p").filter(|it| *it < PRODUCTS) {
            return Answer::redirect(self.product_page(product).show());
        }
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let (parts, at) = match &parts[..] {
            [before @ .., "page", at] => (before, at.parse().unwrap_or(1)),
            all => (all, 1),
        };
        let of_tag = |tag: &str| {
            let is_in = |it: &usize| tags(*it).iter().any(|it| format!("t{it}") == tag);
            (0..PRODUCTS).filter(is_in).collect::<Vec<_>>()
        };
        let all = match parts {
            [] if asked.get("s").is_none() => {
                return Answer::junk(self.page("Shop", &self.home(asked)));
            }
            [] => drawn(asked.get("s").unwrap_or_default(), 20, PRODUCTS),
            ["shop"] => (0..PRODUCTS).collect(),
            ["product-category", .., name] => Self::of_category(name),
            ["product-tag", tag] => of_tag(tag),
            ["product", slug] => return self.product(asked, slug),
            ["product", _, "feed"] | ["feed"] | ["comments", "feed"] => {
                return Answer::file("application/rss+xml");
            }
            ["checkout"] => return Answer::redirect("/cart/".to_owned()),
            ["cart"] => return Answer::junk(self.page("Cart", CART)),
            ["wishlist", ..] => return Answer::junk(self.page("Wishlist", WISHES)),
            ["my-account", ..] => return Answer::junk(self.page("My account", FORM)),
            [name @ ("about" | "contact" | "terms" | "privacy-policy")] => {
                return Answer::junk(self.page(name, &self.prose.paragraphs(name, 3)));
            }
            _ => return Answer::missing(),
        };
        let base = parts.iter().map(|it| format!("/{it}")).collect::<String>() + "/";
        self.list(asked, &base, &all, at)
    }

    fn of_category(name: &str) -> Vec<usize> {
        let category: usize = name[1..].parse().unwrap_or(CATEGORIES);
        let is_in = |it: &usize| {
            let own = category_of(*it);
            own == category || (category.is_multiple_of(4) && own / 4 * 4 == category)
        };
        (0..PRODUCTS).filter(is_in).collect()
    }

    fn page(&self, title: &str, body: &str) -> String {
        let categories = (0..CATEGORIES).map(|it| item(it, &Target::new(category_path(it))));
        let others = [
            "shop",
            "cart",
            "checkout",
            "my-account",
            "my-account/lost-password",
            "wishlist",
            "about",
            "contact",
            "terms",
            "privacy-policy",
            "feed",
            "comments/feed",
        ];
        let tags = (0..15).map(|it| item(it, &Target::new(format!("/product-tag/t{it}/"))));
        let menu: String = categories
            .chain(others.map(|it| item(it, &Target::new(format!("/{it}/")))))
            .chain(tags)
            .collect();
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    fn home(&self, asked: &Target) -> String {
        self.entries(asked, &drawn("featured", 8, PRODUCTS))
    }

    /// Entries with their buttons, which lead back to the list.
    fn entries(&self, asked: &Target, shown: &[usize]) -> String {
        let back = asked.clone().without("add-to-cart").without("add_to_wishlist");
        let one = |product: &usize| {
            let product = *product;
            let own = self.product_page(product);
            let nonce = Dice::of("nonce").hex(10);
            let wish = back.clone().with("add_to_wishlist", product).with("_wpnonce", &nonce);
            let compared = back
                .clone()
                .without("action")
                .without("id")
                .with("action", "yith-woocompare-add-product")
                .with("id", product);
            let mut html = teaser(&self.prose, &own.show(), &format!("product {product}"));
            html += &nofollow("Add to cart", &back.clone().with("add-to-cart", product));
            html += &nofollow("Add to wishlist", &wish);
            html += &nofollow("Compare", &compared);
            if product.is_multiple_of(3) {
                let colours = drawn(&format!("variations {product}"), 3, COLOURS.len());
                let colours = colours.iter().map(|it| {
                    item(COLOURS[*it], &own.clone().with("attribute_pa_color", COLOURS[*it]))
                });
                html += &colours.collect::<String>();
            }
            html
        };
        shown.iter().map(one).collect()
    }

    fn list(&self, asked: &Target, base: &str, all: &[usize], at: usize) -> Answer {
        let all: Vec<usize> = all.iter().copied().filter(|it| has(asked, *it)).collect();
        let order = asked.get("orderby").unwrap_or("menu_order");
        let all = sorted(all, order.trim_end_matches("-desc"), &order[order.len() - 1..]);
        let listed = asked.number("per_page").unwrap_or(LISTED).clamp(1, 48);
        let pages = all.len().div_ceil(listed);
        if at == 0 || at > pages.max(1) {
            return Answer::missing();
        }
        let shown: Vec<usize> = all.iter().copied().skip((at - 1) * listed).take(listed).collect();
        // A choice begins at the first page.
        let first = Target { path: base.to_owned(), ..asked.clone() };
        let first = ["add-to-cart", "add_to_wishlist", "_wpnonce", "action", "id"]
            .iter()
            .fold(first, |to, name| to.without(name));
        let mut body = Self::choices(&first);
        if all.is_empty() {
            body += "<p>No products were found matching your selection.</p>";
        }
        body += &self.entries(asked, &shown);
        for near in (1..=pages).filter(|it| *it != at) {
            let path = if near == 1 { base.to_owned() } else { format!("{base}page/{near}/") };
            body += &item(near, &Target { path, ..first.clone() });
        }
        let name = base.trim_matches('/').replace('/', " ");
        Answer::junk(self.page(&format!("Products: {name}"), &body))
    }

    fn choices(first: &Target) -> String {
        let mut body = String::new();
        for it in COLOURS {
            let to = toggled(first, "filter_color", it).without("query_type_color");
            let has_several = to.get("filter_color").is_some_and(|it| it.contains(','));
            let to = if has_several { to.with("query_type_color", "or") } else { to };
            body += &nofollow(it, &to);
        }
        for it in SIZES {
            body += &nofollow(it, &toggled(first, "filter_size", it));
        }
        for it in 1..=5 {
            body += &nofollow(it, &toggled(first, "rating_filter", &it.to_string()));
        }
        for it in 0..4 {
            let to = first.clone().set("min_price", it * 50).set("max_price", it * 50 + 50);
            body += &item("price", &to);
        }
        for it in ORDERS {
            body += &item(it, &first.clone().set("orderby", it));
        }
        for it in [12, 24, 36] {
            body += &item(it, &first.clone().set("per_page", it));
        }
        for it in ["grid", "list"] {
            body += &item(it, &first.clone().set("shop_view", it));
        }
        body
    }

    fn product(&self, asked: &Target, slug: &str) -> Answer {
        let Some(product) = self.slugs.iter().position(|it| it == slug) else {
            return Answer::missing();
        };
        let name = format!("product {product}");
        let own = self.product_page(product);
        let mut body = item("category", &Target::new(category_path(category_of(product))));
        body += &self.prose.paragraphs(&name, 3);
        for tag in tags(product) {
            body += &item(tag, &Target::new(format!("/product-tag/t{tag}/")));
        }
        for comment in 0..property(product, "reviews", 4) {
            let number = product * 10 + comment;
            body += &self.prose.teaser(&format!("review {number}"));
            let to = own.clone().with("replytocom", format!("{number}#respond"));
            body += &nofollow("Reply", &to);
        }
        body += &item("Reviews", &Target::new(format!("{}#reviews", own.path)));
        body += &item("Short link", &Target::new("/").with("p", product));
        body += &item("Feed", &Target::new(format!("{}feed/", own.path)));
        let related = drawn(&format!("related to product {product}"), 4, PRODUCTS);
        body += &self.entries(asked, &related);
        let html = with_head(&self.page(&self.prose.title(&name), &body), &canonical(&own));
        self.numbers.answer(&name, html)
    }
}
