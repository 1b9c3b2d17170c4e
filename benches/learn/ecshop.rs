//! A shop in Chinese as `ECShop` has it.

use crate::{
    false_traps::{Numbers, page, teaser, world},
    prose::{Dice, Language, Prose},
    software::{drawn, item, sorted},
    target::Target,
    world::{Answer, World},
};

const GOODS: usize = 500;
const ARTICLES: usize = 40;
const CATEGORIES: usize = 12;
const BRANDS: usize = 15;
const TAGS: usize = 40;
const LISTED: usize = 10;
const PRICES: [usize; 4] = [500, 1_000, 1_500, 2_000];
const SORTS: [&str; 3] = ["goods_id", "shop_price", "last_update"];
const LOGIN: &str = "<p>请输入用户名和密码登录,或者注册成为会员。您还没有登录,不能进行此操作。</p>";
const EMPTY: &str = "<p>目前没有任何活动,请您以后再来。</p>";
const CART: &str = "<p>您的购物车中没有商品。</p>";

/// 500 goods and 40 articles with rewritten URLs: a list has category, brand, prices, attributes, page and order in one segment. The menu for the
/// layout and the order has the URLs that are not rewritten. Searches lead to goods by their old URLs. Each entry of a list has links to put it into
/// the cart and among the favourites, each product a comparison with two others.
pub(crate) fn ecshop() -> World {
    let prose = Prose::new(Language::Chinese);
    let tag = |it: usize| prose.own_word(&mut Dice::of(&format!("tag {it}")));
    let tags = (0..TAGS).map(tag).map(|it| it.bytes().map(|it| format!("%{it:02X}")).collect());
    let tags = tags.collect();
    let goods = (1..=GOODS).map(|it| format!("good {it}"));
    let articles = (1..=ARTICLES).map(|it| format!("article {it}"));
    let shop = Shop { numbers: Numbers::of(goods.chain(articles)), prose, tags };
    world("ecshop", "/", GOODS + ARTICLES, move |asked| shop.answer(asked))
}

#[derive(Debug)]
struct Shop {
    prose: Prose,
    numbers: Numbers,
    tags: Vec<String>,
}

/// What a list is narrowed to, and its order; 0 and nothing stand for all.
#[derive(Clone, Debug, Default)]
struct Choice {
    /// `category` or `brand`.
    script: String,
    category: usize,
    brand: usize,
    least: usize,
    most: usize,
    attributes: [usize; 3],
    page: usize,
    sort: String,
    order: String,
    display: String,
}

fn attributes(text: &str) -> [usize; 3] {
    let mut values = text.split('.').map(|it| it.parse().unwrap_or_default());
    [(); 3].map(|()| values.next().unwrap_or_default())
}

impl Choice {
    /// Of `/category-3-b2-min0-max500-attr0.312.0-2-goods_id-DESC.html` or `/brand-2-c3-1-goods_id-DESC.html`.
    fn rewritten(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.strip_suffix(".html")?.split('-');
        let script = parts.next().filter(|it| ["category", "brand"].contains(it))?;
        let id = parts.next()?.parse().ok()?;
        let mut choice = Self { script: script.to_owned(), ..Self::default() };
        *(if script == "brand" { &mut choice.brand } else { &mut choice.category }) = id;
        for part in parts {
            let number = |prefix: &str| part.strip_prefix(prefix)?.parse().ok();
            if let Some(brand) = number("b") {
                choice.brand = brand;
            } else if let Some(category) = number("c") {
                choice.category = category;
            } else if let Some(least) = number("min") {
                choice.least = least;
            } else if let Some(most) = number("max") {
                choice.most = most;
            } else if let Some(values) = part.strip_prefix("attr") {
                choice.attributes = attributes(values);
            } else if let Some(page) = number("") {
                choice.page = page;
            } else if ["ASC", "DESC"].contains(&part) {
                part.clone_into(&mut choice.order);
            } else {
                part.clone_into(&mut choice.sort);
            }
        }
        Some(choice)
    }

    /// Of `/category.php?category=3&display=list&...`.
    fn plain(asked: &Target) -> Option<Self> {
        let script = asked.path.strip_prefix('/')?.strip_suffix(".php")?;
        let number = |name: &str| asked.number(name).unwrap_or_default();
        let text = |name: &str| asked.get(name).unwrap_or_default().to_owned();
        ["category", "brand"].contains(&script).then(|| Self {
            script: script.to_owned(),
            category: number("category"),
            brand: number("brand"),
            least: number("price_min"),
            most: number("price_max"),
            attributes: attributes(asked.get("filter_attr").unwrap_or_default()),
            page: number("page"),
            sort: text("sort"),
            order: text("order"),
            display: text("display"),
        })
    }

    fn narrowed(&self) -> String {
        let Self { category, brand, least, most, attributes: [a, b, c], .. } = self;
        match self.script.as_str() {
            "brand" => format!("/brand-{brand}-c{category}"),
            _ => format!("/category-{category}-b{brand}-min{least}-max{most}-attr{a}.{b}.{c}"),
        }
    }

    /// The list without a page and an order.
    fn first(&self) -> Target {
        Target::new(self.narrowed() + ".html")
    }

    fn page(&self, page: usize) -> Target {
        let (sort, order) = (self.sort(), self.order());
        Target::new(format!("{}-{page}-{sort}-{order}.html", self.narrowed()))
    }

    fn sort(&self) -> &str {
        if self.sort.is_empty() { "last_update" } else { &self.sort }
    }

    fn order(&self) -> &str {
        if self.order.is_empty() { "DESC" } else { &self.order }
    }

    /// The menu for the layout and the order.
    fn display(&self, display: &str, sort: &str, order: &str) -> Target {
        let [a, b, c] = self.attributes;
        Target::new(format!("/{}.php", self.script))
            .with("category", self.category)
            .with("display", display)
            .with("brand", self.brand)
            .with("price_min", self.least)
            .with("price_max", self.most)
            .with("filter_attr", format!("{a}.{b}.{c}"))
            .with("page", self.page.max(1))
            .with("sort", sort)
            .with("order", format!("{order}#goods_list"))
    }

    fn has(&self, good: usize) -> bool {
        (self.category == 0 || category_of(good) == self.category)
            && (self.brand == 0 || brand_of(good) == self.brand)
            && (self.most == 0 || (self.least..self.most).contains(&price_of(good)))
            && (0..3)
                .all(|it| self.attributes[it] == 0 || self.attributes[it] == attribute_of(good, it))
    }
}

fn category_of(good: usize) -> usize {
    1 + good % CATEGORIES
}

/// A category has five brands.
fn brand_of(good: usize) -> usize {
    1 + (category_of(good) * 3 + Dice::of(&format!("brand of {good}")).roll(5)) % BRANDS
}

fn price_of(good: usize) -> usize {
    Dice::of(&format!("price of {good}")).roll(2_000)
}

/// The value of the first, second or third attribute of its category.
fn attribute_of(good: usize, attribute: usize) -> usize {
    let value = 1 + Dice::of(&format!("attribute {attribute} of {good}")).roll(4);
    category_of(good) * 100 + attribute * 10 + value
}

fn good_page(good: usize) -> Target {
    Target::new(format!("/goods-{good}.html"))
}

/// As searches name it.
fn old_page(good: usize) -> Target {
    Target::new("/goods.php").with("id", good)
}

fn user(action: &str) -> Target {
    Target::new("/user.php").with("act", action)
}

fn category_page(category: usize) -> Target {
    Target::new(format!("/category-{category}-b0.html"))
}

fn brand_page(brand: usize) -> Target {
    Target::new(format!("/brand-{brand}-c0.html"))
}

impl Shop {
    fn answer(&self, asked: &Target) -> Answer {
        if let Some(good) = asked.number_below("/goods-", ".html") {
            return self.good(good);
        }
        if let Some(article) = asked.number_below("/article-", ".html") {
            return self.article(article);
        }
        if let Some(choice) = Choice::rewritten(&asked.path).or(Choice::plain(asked)) {
            return Answer::junk(self.list(&choice));
        }
        let (title, body) = match asked.path.as_str() {
            "/" | "/index.php" => ("首页", self.entries(&drawn("home", 24, GOODS), &good_page)),
            "/goods.php" => return self.good(asked.number("id").unwrap_or_default()),
            "/gallery.php" => ("商品相册", "<p>商品相册</p>".to_owned()),
            "/search.php" => ("搜索", self.search(asked)),
            "/tag_cloud.php" => {
                let tags = self.tags.iter();
                ("标签云", tags.map(|it| item("标签", &search("keywords", it))).collect())
            }
            "/brand.php" => ("品牌", (1..=BRANDS).map(|it| item(it, &brand_page(it))).collect()),
            "/pick_out.php" => ("选购中心", self.pick_out(asked)),
            "/compare.php" => ("商品比较", self.compare(asked)),
            "/flow.php" => ("购物车", CART.to_owned()),
            "/user.php" => ("用户中心", LOGIN.to_owned()),
            "/snatch.php" | "/auction.php" | "/group_buy.php" => ("活动", EMPTY.to_owned()),
            "/affiche.php" => {
                let to = asked.get("uri").unwrap_or("%2F");
                let to = [("%3A", ":"), ("%2F", "/")]
                    .iter()
                    .fold(to.to_owned(), |to, (from, by)| to.replace(from, by));
                return Answer::redirect(to);
            }
            path if path.starts_with("/article_cat-") => match Self::article_list(path) {
                Some(articles) => {
                    ("文章列表", articles.iter().map(|it| self.to_article(it)).collect())
                }
                None => return Answer::missing(),
            },
            _ => return Answer::missing(),
        };
        Answer::junk(self.page(title, &body))
    }

    fn page(&self, title: &str, body: &str) -> String {
        let categories = (1..=CATEGORIES).map(|it| item(it, &category_page(it)));
        let help = (1..=8).map(|it| item("帮助", &article_page(it)));
        let users = ["login", "register", "get_password", "collection_list"];
        let scripts = ["brand", "snatch", "auction", "group_buy", "pick_out", "tag_cloud", "index"];
        let hot = drawn("hot searches", 6, TAGS);
        let advertised = drawn("advertised", 3, GOODS).into_iter().map(|it| {
            let uri = format!("http%3A%2F%2Fecshop.test%2Fgoods-{}.html", it + 1);
            let to = Target::new("/affiche.php").with("ad_id", it % 5 + 1);
            item("广告", &to.with("uri", uri))
        });
        let menu: String = categories
            .chain(help)
            .chain((1..=5).map(|it| item("文章", &Target::new(format!("/article_cat-{it}.html")))))
            .chain(users.map(|it| item(it, &user(it))))
            .chain(scripts.map(|it| item(it, &Target::new(format!("/{it}.php")))))
            .chain(hot.iter().map(|it| item("热门", &search("keywords", &self.tags[*it]))))
            .chain(["best", "new", "hot", "promotion"].map(|it| item(it, &search("intro", it))))
            .chain([item("购物车", &Target::new("/flow.php").with("step", "cart"))])
            .chain(advertised)
            .collect();
        page(&self.prose, title, &format!("{body}<ul>{menu}</ul>"), &[])
    }

    /// Some goods by their places; the first has the number 1.
    fn entries(&self, places: &[usize], to: &dyn Fn(usize) -> Target) -> String {
        let one = |place: &usize| {
            let good = place + 1;
            let cart = Target::new("/flow.php").with("step", "add_to_cart").with("goods_id", good);
            teaser(&self.prose, &to(good).show(), &format!("good {good}"))
                + &item("购买", &cart)
                + &item("收藏", &user("collect").with("id", good))
        };
        places.iter().map(one).collect()
    }

    fn list(&self, choice: &Choice) -> String {
        let all = (0..GOODS).filter(|it| choice.has(it + 1)).collect();
        let all: Vec<usize> = sorted(all, choice.sort(), choice.order());
        let at = choice.page.max(1);
        let shown: Vec<usize> = all.iter().copied().skip((at - 1) * LISTED).take(LISTED).collect();
        let mut body = Self::facets(choice);
        let (sort, order) = (choice.sort(), choice.order());
        let shape = if choice.display.is_empty() { "grid" } else { &choice.display };
        for it in ["list", "grid", "text"] {
            body += &item(it, &choice.display(it, sort, order));
        }
        for it in SORTS {
            let turned = if it == sort && order == "DESC" { "ASC" } else { "DESC" };
            body += &item(it, &choice.display(shape, it, turned));
        }
        body += &self.entries(&shown, &good_page);
        if all.is_empty() {
            body += "<p>没有找到任何商品</p>";
        }
        let pages = (1..=all.len().div_ceil(LISTED)).filter(|it| *it != at);
        body += &pages.map(|it| item(it, &choice.page(it))).collect::<String>();
        self.page(&format!("商品列表{}", choice.category), &body)
    }

    /// Each choice keeps the others, and begins at the first page.
    fn facets(choice: &Choice) -> String {
        let one = |change: &dyn Fn(&mut Choice)| {
            let mut to = choice.clone();
            change(&mut to);
            item("筛选", &to.first())
        };
        if choice.script == "brand" {
            let of_brand = |category: &usize| {
                (0..5).any(|it| 1 + (category * 3 + it) % BRANDS == choice.brand)
            };
            let categories = (1..=CATEGORIES).filter(of_brand);
            return categories.map(|it| one(&|to| to.category = it)).collect();
        }
        let category = choice.category;
        let brands = [0].into_iter().chain((0..5).map(|it| 1 + (category * 3 + it) % BRANDS));
        let mut body: String = brands.map(|it| one(&|to| to.brand = it)).collect();
        body += &one(&|to| (to.least, to.most) = (0, 0));
        for most in PRICES {
            body += &one(&|to| (to.least, to.most) = (most - 500, most));
        }
        for at in 0..3 {
            let values = (1..=4).map(|it| category * 100 + at * 10 + it);
            body += &[0]
                .into_iter()
                .chain(values)
                .map(|it| one(&|to| to.attributes[at] = it))
                .collect::<String>();
        }
        body
    }

    fn good(&self, good: usize) -> Answer {
        if !(1..=GOODS).contains(&good) {
            return Answer::missing();
        }
        let name = format!("good {good}");
        let mut body = item("分类", &category_page(category_of(good)))
            + &item("品牌", &brand_page(brand_of(good)))
            + &self.prose.paragraphs(&name, 3)
            + &item("相册", &Target::new("/gallery.php").with("id", good))
            + &item("收藏", &user("collect").with("id", good))
            + &item("推荐", &user("affiliate").with("goodsid", good));
        for tag in tags(good) {
            body += &item("标签", &search("keywords", &self.tags[tag]));
        }
        let related = drawn(&format!("related to {good}"), 4, GOODS);
        let compared = related
            .iter()
            .take(2)
            .fold(Target::new("/compare.php").with("goods%5B%5D", good), |to, it| {
                to.with("goods%5B%5D", it + 1)
            });
        body += &item("比较", &compared);
        body += &self.entries(&related, &good_page);
        self.numbers.answer(&name, self.page(&self.prose.title(&name), &body))
    }

    fn article(&self, article: usize) -> Answer {
        if !(1..=ARTICLES).contains(&article) {
            return Answer::missing();
        }
        let name = format!("article {article}");
        let list = Target::new(format!("/article_cat-{}.html", 1 + article % 5));
        let mut body = item("分类", &list) + &self.prose.paragraphs(&name, 4);
        for near in [article.saturating_sub(5), article + 5] {
            if (1..=ARTICLES).contains(&near) {
                body += &item("上一篇", &article_page(near));
            }
        }
        self.numbers.answer(&name, self.page(&self.prose.title(&name), &body))
    }

    fn to_article(&self, to: &Target) -> String {
        let name = to.number_below("/article-", ".html");
        let title = name.map(|it| self.prose.title(&format!("article {it}")));
        item(title.unwrap_or_else(|| "下一页".to_owned()), to)
    }

    /// Five articles of a list, and its pages.
    fn article_list(path: &str) -> Option<Vec<Target>> {
        let parts = path.strip_prefix("/article_cat-")?.strip_suffix(".html")?;
        let mut parts = parts.split('-').map(|it| it.parse().ok());
        let category: usize = parts.next()??;
        let at: usize = parts.next().flatten().unwrap_or(1).max(1);
        let all = (1..=ARTICLES).rev().filter(|it| 1 + it % 5 == category);
        let shown = all.skip((at - 1) * 5).take(5).map(article_page);
        let pages = (1..=2)
            .map(|it| Target::new(format!("/article_cat-{category}-{it}-add_time-DESC.html")));
        Some(shown.chain(pages).collect())
    }

    /// The goods of a tag or of an offer. Its pages name all fields of the form.
    fn search(&self, asked: &Target) -> String {
        let words = asked.get("keywords").unwrap_or_default();
        let tag = self.tags.iter().position(|it| it == words);
        let all = match (asked.get("intro").filter(|it| !it.is_empty()), tag) {
            (Some(intro), _) => drawn(&format!("offers {intro}"), 30, GOODS),
            (None, Some(tag)) => (0..GOODS).filter(|it| tags(it + 1).contains(&tag)).collect(),
            (None, None) => Vec::new(),
        };
        let (sort, order) =
            (asked.get("sort").unwrap_or("goods_id"), asked.get("order").unwrap_or("DESC"));
        let all = sorted(all, sort, order);
        let at = asked.number("page").unwrap_or(1).max(1);
        let shown: Vec<usize> = all.iter().copied().skip((at - 1) * LISTED).take(LISTED).collect();
        let form = |sort: &str, order: &str, page: usize| {
            let to = search("keywords", words).with("category", 0).with("brand", 0);
            let to = to.with("sort", sort).with("order", order);
            let to = to.with("min_price", 0).with("max_price", 0).with("action", "");
            to.with("intro", asked.get("intro").unwrap_or_default()).with("page", page)
        };
        let mut body = self.entries(&shown, &old_page);
        for it in SORTS {
            let turned = if it == sort && order == "DESC" { "ASC" } else { "DESC" };
            body += &item(it, &form(it, turned, at));
        }
        for it in (1..=all.len().div_ceil(LISTED)).filter(|it| *it != at) {
            body += &item(it, &form(sort, order, it));
        }
        body
    }

    /// Goods by the attributes of a category, in the order in which they were chosen.
    fn pick_out(&self, asked: &Target) -> String {
        let Some(category) = asked.number("cat_id") else {
            let own = Target::new("/pick_out.php");
            return (1..=CATEGORIES).map(|it| item(it, &own.clone().with("cat_id", it))).collect();
        };
        let name = |at: usize| format!("attr%5B{}%5D", category * 10 + at);
        let choice = Choice {
            category,
            attributes: [0, 1, 2].map(|at| asked.number(&name(at)).unwrap_or_default()),
            ..Choice::default()
        };
        let all: Vec<usize> = (0..GOODS).filter(|it| choice.has(it + 1)).take(4).collect();
        let mut body = self.entries(&all, &old_page);
        for at in 0..3 {
            for it in 1..=4 {
                let value = category * 100 + at * 10 + it;
                body += &item(value, &asked.clone().set(&name(at), value));
            }
        }
        body
    }

    fn compare(&self, asked: &Target) -> String {
        let goods = asked.parameters.iter().filter_map(|it| it.1.parse::<usize>().ok());
        let goods: Vec<usize> = goods.filter(|it| (1..=GOODS).contains(it)).collect();
        let mut body = String::new();
        for good in &goods {
            body += &teaser(&self.prose, &good_page(*good).show(), &format!("good {good}"));
            if goods.len() > 2 {
                let rest = goods.iter().filter(|it| *it != good);
                let own = Target::new("/compare.php");
                body += &item("移除", &rest.fold(own, |to, it| to.with("goods%5B%5D", it)));
            }
        }
        body
    }
}

fn search(name: &str, value: &str) -> Target {
    Target::new("/search.php").with(name, value)
}

fn article_page(article: usize) -> Target {
    Target::new(format!("/article-{article}.html"))
}

fn tags(good: usize) -> Vec<usize> {
    drawn(&format!("tags of good {good}"), 2, TAGS)
}
