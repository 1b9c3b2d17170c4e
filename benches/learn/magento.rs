//! A shop as Magento 2 has it, in a theme whose choices are links.

use crate::{
    false_traps::{Numbers, teaser, world},
    more_software::{frame, pager, shown, text},
    prose::{Dice, Language, Prose},
    software::{drawn, item, made_up, sorted},
    target::Target,
    world::{Answer, World},
};

const PRODUCTS: usize = 500;
const ABOUT: usize = 8;
const TOPS: usize = 5;
const BELOW: usize = 5;
const LISTED: usize = 12;
/// What a list can be narrowed by, and to how many values.
const FACETS: [(&str, usize); 5] =
    [("color", 10), ("size", 5), ("material", 6), ("price", 6), ("activity", 4)];

/// 500 products in 25 categories below five, and eight pages about the shop. A product has a URL of its own, one in each of its categories and
/// in those above, and the one of its number. Lists are narrowed by five facets, sorted in two directions, and longer or shorter; each
/// choice keeps the others. All pages lead to the form to log in, and products to the list to compare and to the wish list, with the URL from
/// which they are reached. Some links have the id of a session, which is kept.
pub(crate) fn magento() -> World {
    shop("magento", false)
}

/// The same; one page in sixty begins a session, whose id is then on all links.
pub(crate) fn magento_with_sessions() -> World {
    shop("magento with sessions", true)
}

fn shop(name: &str, has_sessions: bool) -> World {
    let names = (0..PRODUCTS).map(|it| format!("product {it}"));
    let shop = Shop {
        has_sessions,
        prose: Prose::new(Language::English),
        numbers: Numbers::of(names.chain((0..ABOUT).map(|it| format!("about {it}")))),
        products: made_up("product of magento", PRODUCTS, "-"),
        categories: made_up("category of magento", TOPS * (BELOW + 1), "-"),
    };
    let answer = move |asked: &Target| shop.answer(asked).unwrap_or_else(Answer::missing);
    world(name, "/", PRODUCTS + ABOUT, answer)
}

#[derive(Debug)]
struct Shop {
    has_sessions: bool,
    prose: Prose,
    numbers: Numbers,
    products: Vec<String>,
    categories: Vec<String>,
}

fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

/// As it is in a path.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0, |bits, it| bits << 8 | usize::from(*part.get(it).unwrap_or(&0)));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit > part.len() { ',' } else { char::from(DIGITS[value]) });
        }
    }
    out
}

fn property(name: &str, product: usize, of: usize) -> usize {
    Dice::of(&format!("{name} of product {product}")).roll(of)
}

/// One category below a top one, or two.
fn categories(product: usize) -> Vec<usize> {
    let mut all = drawn(&format!("categories of product {product}"), 1 + product % 2, TOPS * BELOW);
    all.dedup();
    all
}

impl Shop {
    /// The path of a top category, or of one below.
    fn path(&self, top: usize, below: Option<usize>) -> String {
        let names = &self.categories;
        below.map_or_else(
            || names[top].clone(),
            |it| format!("{}/{}", names[top], names[TOPS + top * BELOW + it]),
        )
    }

    fn answer(&self, asked: &Target) -> Option<Answer> {
        let path = asked.path.trim_matches('/');
        let parts: Vec<&str> = path.split('/').collect();
        let number = |at: usize| parts.get(at)?.parse::<usize>().ok().filter(|it| *it < PRODUCTS);
        let form = |title, body: &str| {
            Some(Answer::junk(self.page(asked, title, &format!("<p>{body}</p>"))))
        };
        let login = "/customer/account/login/";
        match &parts[..] {
            [""] => {
                let new = drawn("new products", 12, PRODUCTS);
                Some(Answer::junk(self.page(asked, "Home", &self.products(asked, "", &new))))
            }
            ["customer", "account", "login", ..] => {
                form("Customer Login", "If you have an account, sign in with your email address.")
            }
            ["customer", "account", "create" | "forgotpassword"] => {
                form("Account", "First name. Last name. Email. Password. Strength: no password.")
            }
            ["customer" | "wishlist" | "sendfriend" | "sales", ..] => {
                Some(Answer::redirect(login.to_owned()))
            }
            ["catalog", "product_compare", "add", ..] => Some(Answer::redirect("/".to_owned())),
            ["catalog", "product_compare", ..] => {
                form("Compare Products", "You have no items to compare.")
            }
            ["checkout", ..] => form("Cart", "You have no items in your shopping cart."),
            ["contact"] => form("Contact Us", "Jot us a note and we'll get back to you quickly."),
            ["catalogsearch", "advanced"] => form("Advanced Search", "Product name. SKU. Price."),
            ["catalogsearch", "result", ..] => {
                let all = drawn(asked.get("q")?, 30, PRODUCTS);
                Some(Answer::junk(self.page(asked, "Search", &self.list(asked, "", &all))))
            }
            ["search", "term", "popular"] => Some(Answer::junk(self.popular(asked))),
            ["catalog", "product", "view", "id", ..] => Some(self.product(asked, number(4)?)),
            ["review", "product", "list", "id", ..] => {
                Some(Answer::junk(self.reviews(asked, number(4)?)))
            }
            ["about", name] => {
                let name = format!("about {}", name.strip_prefix("page-")?);
                let html = self.page(asked, &self.prose.title(&name), &text(&self.prose, &name));
                Some(self.numbers.answer(&name, html))
            }
            _ => {
                let path = path.strip_suffix(".html")?;
                let slug = path.rsplit('/').next()?;
                match self.products.iter().position(|it| it == slug) {
                    Some(product) => Some(self.product(asked, product)),
                    None => self.category(asked, path),
                }
            }
        }
    }

    fn popular(&self, asked: &Target) -> String {
        let to = |word: &usize| to("/catalogsearch/result/").with("q", format!("word{word}"));
        let words = drawn("popular terms", 40, 200);
        let words: String = words.iter().map(|it| item(it, &to(it))).collect();
        self.page(asked, "Popular", &words)
    }

    /// The links keep the session of the request.
    fn page(&self, asked: &Target, title: &str, body: &str) -> String {
        let here = base64(&format!("http://shop.test{}", asked.show()));
        let mut menu = item("Sign In", &to(format!("/customer/account/login/referer/{here}/")));
        for it in ["/customer/account/create/", "/wishlist/", "/checkout/cart/", "/contact/"] {
            menu += &item(it, &to(it));
        }
        for top in 0..TOPS {
            let all = [None].into_iter().chain((0..BELOW).map(Some));
            for path in all.map(|it| self.path(top, it)) {
                menu += &item(&path, &to(format!("/{path}.html")));
            }
        }
        let mut side = item("Compare", &to(format!("/catalog/product_compare/index/uenc/{here}/")));
        for it in ["/search/term/popular/", "/catalogsearch/advanced/", "/sales/guest/form/"] {
            side += &item(it, &to(it));
        }
        side +=
            &(0..ABOUT).map(|it| item(it, &to(format!("/about/page-{it}")))).collect::<String>();
        let html = frame(&self.prose, title, &menu, body, &side);
        match asked.get("SID") {
            Some(sid) => Self::with_session(&html, sid),
            None if self.has_sessions && Dice::of(&asked.show()).roll(60) == 0 => {
                let sid = Dice::of(&format!("session {}", asked.show())).hex(26);
                let (head, rest) = html.split_once("<nav>").unwrap_or_default();
                format!("{head}<nav>{}", Self::with_session(rest, &sid))
            }
            None => html,
        }
    }

    /// With this session in all links that have none.
    fn with_session(html: &str, sid: &str) -> String {
        let link = |part: &str| {
            let Some((to, rest)) = part.split_once('"') else { return part.to_owned() };
            if to.contains("SID=") {
                return format!("{to}\"{rest}");
            }
            let mark = if to.contains('?') { "&amp;" } else { "?" };
            format!("{to}{mark}SID={sid}\"{rest}")
        };
        let parts: Vec<&str> = html.split("href=\"").collect();
        let rest: String = parts[1..].iter().map(|it| format!("href=\"{}", link(it))).collect();
        parts[0].to_owned() + &rest
    }

    /// Products with their URLs in a category, and what can be done with each.
    fn products(&self, asked: &Target, category: &str, shown: &[usize]) -> String {
        let here = base64(&format!("http://shop.test{}", asked.show()));
        let one = |it: &usize| {
            let own = if it.is_multiple_of(12) && !category.is_empty() {
                format!(
                    "/catalog/product/view/id/{it}/s/{}/category/{}/",
                    self.products[*it],
                    it % 40
                )
            } else if category.is_empty() {
                format!("/{}.html", self.products[*it])
            } else {
                format!("/{category}/{}.html", self.products[*it])
            };
            teaser(&self.prose, &own, &format!("product {it}"))
                + &item("Reviews", &to(format!("{own}#reviews")))
                + &Self::actions(*it, &here)
        };
        shown.iter().map(one).collect()
    }

    fn actions(product: usize, here: &str) -> String {
        item("Wish List", &to(format!("/wishlist/index/add/product/{product}/")))
            + &item(
                "Compare",
                &to(format!("/catalog/product_compare/add/product/{product}/uenc/{here}/")),
            )
    }

    fn category(&self, asked: &Target, path: &str) -> Option<Answer> {
        let top = (0..TOPS).find(|it| path.split('/').next() == Some(&self.categories[*it]))?;
        let below = (0..BELOW).map(Some).chain([None]).find(|it| self.path(top, *it) == path)?;
        let is_in = |it: &usize| match below {
            Some(below) => categories(*it).contains(&(top * BELOW + below)),
            None => categories(*it).iter().any(|it| it / BELOW == top),
        };
        let all: Vec<usize> = (0..PRODUCTS).filter(is_in).collect();
        Some(Answer::junk(self.page(asked, path, &self.list(asked, path, &all))))
    }

    fn list(&self, asked: &Target, category: &str, all: &[usize]) -> String {
        let is = |it: usize, name: &str, of: usize| {
            asked.number(name).is_none_or(|wanted| wanted == property(name, it, of))
        };
        let matches = |it: &usize| FACETS.iter().all(|(name, of)| is(*it, name, *of));
        let all: Vec<usize> = all.iter().copied().filter(matches).collect();
        let direction = asked.get("product_list_dir").unwrap_or("asc");
        let all = sorted(all, asked.get("product_list_order").unwrap_or("position"), direction);
        let listed = asked.number("product_list_limit").unwrap_or(LISTED).clamp(9, 36);
        let first = asked.clone().without("p");
        let mut body = String::new();
        for (name, of) in FACETS {
            if asked.get(name).is_some() {
                body += &item(format!("Remove {name}"), &first.clone().without(name));
                continue;
            }
            for value in (0..of).filter(|it| all.iter().any(|at| property(name, *at, of) == *it)) {
                body += &item(format!("{name} {value}"), &first.clone().with(name, value));
            }
        }
        if FACETS.iter().any(|it| asked.get(it.0).is_some()) {
            body += &item("Clear All", &to(&asked.path));
        }
        for order in ["position", "name", "price"] {
            body += &item(order, &first.clone().set("product_list_order", order));
        }
        let turned = if direction == "asc" { "desc" } else { "asc" };
        body += &item(turned, &first.clone().set("product_list_dir", turned));
        for limit in [12, 24, 36] {
            body += &item(limit, &first.clone().set("product_list_limit", limit));
        }
        for mode in ["grid", "list"] {
            body += &item(mode, &first.clone().set("product_list_mode", mode));
        }
        let at = asked.number("p").unwrap_or(1).max(1);
        body += &self.products(asked, category, &shown(&all, at - 1, listed));
        let pages = 1..all.len().div_ceil(listed) + 1;
        body + &pager(at, pages, |it| first.clone().with("p", it))
    }

    fn product(&self, asked: &Target, product: usize) -> Answer {
        let name = format!("product {product}");
        let here = base64(&format!("http://shop.test{}", asked.show()));
        let mut body = text(&self.prose, &name) + &Self::actions(product, &here);
        let send = format!("/sendfriend/product/send/id/{product}/");
        body += &item("Email", &to(send));
        body += &item("Reviews", &to(format!("/review/product/list/id/{product}/")));
        let related = drawn(&format!("related to {name}"), 4, PRODUCTS);
        body += &self.products(asked, "", &related);
        self.numbers.answer(&name, self.page(asked, &self.prose.title(&name), &body))
    }

    fn reviews(&self, asked: &Target, product: usize) -> String {
        let reviews = property("reviews", product, 4);
        let review = |it| self.prose.teaser(&format!("review {it} of {product}"));
        let mut body = item("Product", &to(format!("/{}.html", self.products[product])));
        body += &(0..reviews).map(|it| format!("<p>{}</p>", review(it))).collect::<String>();
        if reviews == 0 {
            body += "<p>Be the first to review this product.</p>";
        }
        self.page(asked, &self.prose.title(&format!("product {product}")), &body)
    }
}
