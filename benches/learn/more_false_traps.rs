//! Sixteen more honest sites that look like traps. Their pages have a header, a menu, a sidebar and a footer, which are often longer than what is new.

use std::collections::{HashMap, HashSet};

use crate::{
    false_traps::{Numbers, page, teaser, world},
    honest::anchor,
    more_traps::block,
    prose::{Dice, Language, Prose},
    target::Target,
    world::{Answer, World},
};

/// The worlds.
pub(crate) fn worlds() -> impl Iterator<Item = World> {
    let all: [fn() -> World; 16] = [
        colours,
        || dictionary(false),
        || dictionary(true),
        law,
        questions,
        || genealogy(false),
        || genealogy(true),
        bible,
        novels,
        recurring_events,
        museum,
        || timetable(false),
        || timetable(true),
        typo3,
        || portal(false),
        || portal(true),
    ];
    all.into_iter().map(|world| world())
}

/// The template of a site.
struct Site {
    prose: Prose,
    menu: Vec<(String, String)>,
    /// The same on all pages.
    aside: String,
}

impl Site {
    /// With these paths in the menu. The sidebar has two paragraphs if it is long, else two lines.
    fn new(name: &str, language: Language, is_long: bool, menu: &[&str]) -> Self {
        let prose = Prose::new(language);
        let menu = menu.iter().map(|to| ((*to).to_owned(), prose.title(to))).collect();
        let text = |kind: &str| {
            let name = format!("{kind} {name}");
            if is_long {
                prose.paragraphs(&name, 1)
            } else {
                format!("<p>{}</p>", prose.title(&name))
            }
        };
        let aside = format!(
            "<h4>{}</h4>{}<h4>{}</h4>{}",
            prose.say("About us", "关于我们"),
            text("about"),
            prose.say("Notice", "公告"),
            text("notice"),
        );
        Self { prose, menu, aside }
    }

    fn page(&self, title: &str, body: &str) -> String {
        let aside = format!("<aside>{}</aside>\n<footer>", self.aside);
        page(&self.prose, title, body, &self.menu).replacen("<footer>", &aside, 1)
    }

    fn article(&self, name: &str, body: &str) -> String {
        self.page(&self.prose.title(name), body)
    }

    fn titled(&self, to: String, name: &str) -> (String, String) {
        (to, self.prose.title(name))
    }

    /// At most so many bytes of prose.
    fn short(&self, name: &str, bytes: usize) -> String {
        let text = self.prose.teaser(name) + &self.prose.teaser(&format!("{name} more"));
        let mut short = String::new();
        for part in text.split_inclusive([' ', '。']) {
            for letter in part.chars() {
                if short.len() + letter.len_utf8() > bytes {
                    return short;
                }
                short.push(letter);
            }
        }
        short
    }
}

/// Links whose names are the last values in them.
fn plain(links: impl Iterator<Item = String>) -> impl Iterator<Item = (String, String)> {
    links.map(|to| {
        let name = to.trim_end_matches('/').rsplit(['/', '=']).next().unwrap_or_default();
        let name = name.trim_end_matches(".html").trim_end_matches(".php").to_owned();
        (to, name)
    })
}

fn below(asked: &Target, prefix: &str, suffix: &str, end: usize) -> Option<usize> {
    asked.number_below(prefix, suffix).filter(|number| *number < end)
}

/// 150 products in four colours each, whose texts differ by half. A size changes nothing; both choices keep the other.
fn colours() -> World {
    const PRODUCTS: usize = 150;
    const CATEGORIES: usize = 6;
    const ALL: [&str; 8] = ["red", "green", "blue", "black", "white", "grey", "pink", "brown"];
    const SIZES: [&str; 5] = ["xs", "s", "m", "l", "xl"];
    let own = |product: usize| {
        let mut all = ALL.to_vec();
        Dice::of(&format!("colours {product}")).shuffle(&mut all);
        all.truncate(4);
        all
    };
    let names = (0..PRODUCTS).flat_map(|product| {
        own(product).into_iter().map(move |colour| format!("product {product} in {colour}"))
    });
    let numbers = Numbers::of(names);
    let site = Site::new(
        "colours",
        Language::English,
        false,
        &["/c/0", "/c/1", "/c/2", "/c/3", "/c/4", "/c/5"],
    );
    world("products in four colours", "/c/0", PRODUCTS * 4, move |asked| {
        if let Some(category) = below(asked, "/c/", "", CATEGORIES) {
            let list: String = (0..PRODUCTS)
                .filter(|it| it % CATEGORIES == category)
                .map(|it| teaser(&site.prose, &format!("/item/{it}"), &format!("product {it}")))
                .collect();
            return Answer::junk(site.page(&format!("Category {category}"), &list));
        }
        let Some(product) = below(asked, "/item/", "", PRODUCTS) else { return Answer::missing() };
        let colours = own(product);
        let colour = asked.get("colour").unwrap_or(colours[0]);
        if !colours.contains(&colour) {
            return Answer::missing();
        }
        let name = format!("product {product} in {colour}");
        let choose = |key: &str, values: &[&str]| {
            block(
                key,
                values.iter().map(|it| (asked.clone().set(key, it).show(), (*it).to_owned())),
            )
        };
        let body = site.prose.paragraphs(&format!("product {product}"), 2)
            + &site.prose.paragraphs(&name, 2)
            + &choose("colour", &colours)
            + &choose("size", &SIZES);
        let title = site.prose.title(&format!("product {product}"));
        numbers.answer(&name, site.page(&format!("{title}, {colour}"), &body))
    })
}

/// 2,000 entries of 60 to 120 bytes each, with the entries before and after, others to see, and a form to report a mistake.
fn dictionary(is_long: bool) -> World {
    const ENTRIES: usize = 2_000;
    const LISTED: usize = 50;
    let name =
        if is_long { "dictionary beside a long sidebar" } else { "dictionary of short entries" };
    let site = Site::new(
        "dictionary",
        Language::English,
        is_long,
        &["/browse/0", "/about", "/games", "/word-of-the-day"],
    );
    let (mut dice, mut known) = (Dice::of("dictionary"), HashSet::new());
    while known.len() < ENTRIES {
        known.insert(site.prose.own_word(&mut dice) + ["", "s", "ing", "er"][dice.roll(4)]);
    }
    let mut words: Vec<String> = known.into_iter().collect();
    words.sort_unstable();
    let numbers = Numbers::of(words.iter().cloned());
    world(name, "/browse/0", ENTRIES, move |asked| {
        let link = |it: usize| (format!("/entry/{}", words[it]), words[it].clone());
        if let Some(list) = below(asked, "/browse/", "", ENTRIES / LISTED) {
            let entries = (list * LISTED..(list + 1) * LISTED).map(link);
            let lists = (0..ENTRIES / LISTED)
                .map(|list| (format!("/browse/{list}"), words[list * LISTED][..3].to_owned()));
            let body = block("Entries", entries) + &block("Browse", lists);
            return Answer::junk(site.page("Browse the dictionary", &body));
        }
        if asked.path == "/report" {
            let form = "<p>Have you found a mistake? Write to us, and name the entry.</p>";
            return Answer::junk(site.page("Report a mistake", form));
        }
        let word = asked.path.strip_prefix("/entry/").unwrap_or_default();
        let Ok(number) = words.binary_search_by(|it| it.as_str().cmp(word)) else {
            return Answer::missing();
        };
        let bytes = 60 + Dice::of(word).roll(60);
        let near = (number.saturating_sub(4)..(number + 5).min(ENTRIES)).map(link);
        let mut dice = Dice::of(&format!("see {word}"));
        let see = (0..2).map(|_| link(dice.roll(ENTRIES)));
        let report = [(format!("/report?entry={word}"), "Report a mistake".to_owned())];
        let body = format!(
            "<p><b>{word}</b>, <i>noun.</i> {}</p>{}{}{}",
            site.short(word, bytes),
            block("See also", see),
            block("Nearby entries", near),
            block("Help", report.into_iter())
        );
        numbers.answer(word, site.page(&format!("{word}: definition"), &body))
    })
}

/// Four codes of 300 articles in Chinese: a sentence or two, which name other articles. One in twenty was repealed, and says only that.
fn law() -> World {
    const CODES: usize = 4;
    const ARTICLES: usize = 300;
    const CHAPTER: usize = 25;
    let site =
        Site::new("law", Language::Chinese, false, &["/law/0/", "/law/1/", "/law/2/", "/law/3/"]);
    let is_repealed = |code, article| Dice::of(&format!("{code} {article}")).roll(20) == 0;
    let all = (0..CODES).flat_map(|code| (0..ARTICLES).map(move |article| (code, article)));
    let kept = all.filter(|(code, article)| !is_repealed(*code, *article));
    let names: Vec<String> = kept.map(|(code, article)| format!("{code} {article}")).collect();
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    let link = |code: usize, article: usize| {
        (format!("/law/{code}/article-{}.html", article + 1), format!("第{}条", article + 1))
    };
    world("codes of law by article", "/law/0/", count, move |asked| {
        let mut parts = asked.path.split('/').skip(2);
        let code = parts.next().and_then(|it| it.parse::<usize>().ok());
        let Some(code) = code.filter(|code| *code < CODES) else { return Answer::missing() };
        let file = Target::new(parts.next().unwrap_or_default());
        let chapters = (0..ARTICLES / CHAPTER)
            .map(|it| (format!("/law/{code}/chapter-{it}.html"), format!("第{it}章")));
        if file.path.is_empty() {
            return Answer::junk(site.page("目录", &block("目录", chapters)));
        }
        if let Some(chapter) = below(&file, "chapter-", ".html", ARTICLES / CHAPTER) {
            let articles = (chapter * CHAPTER..(chapter + 1) * CHAPTER).map(|it| link(code, it));
            return Answer::junk(site.page(&format!("第{chapter}章"), &block("条文", articles)));
        }
        let Some(article) = file.number_below("article-", ".html").and_then(|it| it.checked_sub(1))
        else {
            return Answer::missing();
        };
        if article >= ARTICLES {
            return Answer::missing();
        }
        let name = format!("{code} {article}");
        let mut dice = Dice::of(&format!("refers {name}"));
        let mut body = if is_repealed(code, article) {
            "<p>（本条已废止）</p>".to_owned()
        } else {
            let (to, other) = link(code, dice.roll(ARTICLES));
            format!("<p>{}依照{}。</p>", site.short(&name, 200), anchor(&to, &other))
        };
        let near = [article.saturating_sub(1), (article + 1).min(ARTICLES - 1)];
        body += &block("相关条文", near.into_iter().map(|it| link(code, it)));
        body += &block("目录", chapters.skip(article / CHAPTER).take(1));
        numbers.answer(&name, site.page(&format!("第{}条", article + 1), &body))
    })
}

const QUESTIONS: usize = 500;

/// How many pages of answers a question has.
fn answer_pages(question: usize) -> usize {
    1 + Dice::of(&format!("answers {question}")).roll(10) / 8
}

/// The answers of a page in an order. Of a question with one page, an order changes nothing else.
fn answers(site: &Site, question: usize, order: &str, list: usize) -> String {
    let mut all: Vec<usize> = (0..answer_pages(question) * 4).collect();
    if order != "votes" {
        all.sort_by_key(|it| Dice::of(&format!("{order} {question} {it}")).roll(1 << 20));
    }
    let shown = all.iter().skip((list - 1) * 4).take(4);
    let one = |it: &usize| {
        let id = question * 10 + it;
        let share = anchor(&format!("/a/{id}"), "share");
        format!("<div>{}{share}</div>\n", site.prose.paragraphs(&format!("answer {id}"), 1))
    };
    shown.map(one).collect()
}

/// Questions, perhaps with one tag, in an order.
fn question_list(
    site: &Site,
    asked: &Target,
    list: usize,
    address: impl Fn(usize) -> String,
) -> Answer {
    let mut all: Vec<usize> = (0..QUESTIONS).collect();
    if asked.path != "/questions" {
        all.retain(|it| asked.path.ends_with(&format!("/t{}", it % 20)));
    }
    if let Some(tab) = asked.get("tab") {
        all.sort_by_key(|it| Dice::of(&format!("{tab} {it}")).roll(1 << 20));
    }
    let entries: String = (all.iter().skip((list - 1) * 20).take(20))
        .map(|it| teaser(&site.prose, &address(*it), &format!("question {it}")))
        .collect();
    let lists = (1..=all.len().div_ceil(20)).map(|it| asked.clone().set("page", it).show());
    let tabs = ["newest", "active", "unanswered"]
        .map(|it| asked.clone().without("page").set("tab", it).show());
    let tagged = (0..20).map(|it| format!("/questions/tagged/t{it}"));
    let body = entries + &block("Pages", plain(lists.chain(tabs).chain(tagged)));
    Answer::junk(site.page("All questions", &body))
}

/// 500 questions by id, with a slug, in three orders of their answers; some answers are on a second page. Short links redirect. Lists have tabs.
fn questions() -> World {
    const TABS: [&str; 3] = ["votes", "oldest", "newest"];
    let site = Site::new(
        "questions",
        Language::English,
        false,
        &["/questions", "/tags", "/users", "/help"],
    );
    let names = (0..QUESTIONS)
        .flat_map(|it| (1..=answer_pages(it)).map(move |list| format!("question {it} {list}")));
    let names: Vec<String> = names.collect();
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    let slug = |question: usize| {
        let words = Prose { language: Language::English, words: Vec::new() };
        let mut dice = Dice::of(&format!("slug {question}"));
        [0; 3].map(|_| words.own_word(&mut dice)).join("-")
    };
    let address =
        move |question: usize| format!("/questions/{}/{}", 1_000 + question * 7, slug(question));
    world("questions with ordered answers", "/questions", count, move |asked| {
        let link = |it: usize| site.titled(address(it), &format!("question {it}"));
        let list = asked.number("page").unwrap_or(1).max(1);
        let short = below(asked, "/q/", "", QUESTIONS)
            .or(below(asked, "/a/", "", QUESTIONS * 10).map(|it| it / 10));
        if let Some(question) = short {
            return Answer::redirect(address(question));
        }
        if asked.path == "/questions" || asked.path.starts_with("/questions/tagged/") {
            return question_list(&site, asked, list, address);
        }
        let Some(question) = (0..QUESTIONS).find(|it| address(*it) == asked.path) else {
            return Answer::missing();
        };
        let tab = asked.get("answertab").unwrap_or("votes");
        let mut body = site.prose.paragraphs(&format!("question {question}"), 2)
            + &answers(&site, question, tab, list);
        let tabs = TABS.map(|it| asked.clone().without("page").set("answertab", it).show());
        let lists = (2..=answer_pages(question)).map(|it| asked.clone().set("page", it).show());
        body += &block("Answers", plain(tabs.into_iter().chain(lists)));
        let mut dice = Dice::of(&format!("linked {question}"));
        body += &block("Related", (0..6).map(|_| link(dice.roll(QUESTIONS))));
        body += &block("Share", plain([format!("/q/{question}")].into_iter()));
        let html = site.article(&format!("question {question}"), &body);
        let is_own = tab == "votes" || answer_pages(question) == 1;
        if is_own {
            numbers.answer(&format!("question {question} {list}"), html)
        } else {
            Answer::junk(html)
        }
    })
}

const PERSONS: usize = 1_500;

/// Those to whom the page of a person leads.
fn relatives(person: usize) -> [(&'static str, usize); 6] {
    [
        ("Father", (person * 2 + 2) % PERSONS),
        ("Mother", (person * 2 + 3) % PERSONS),
        ("Spouse", person ^ 1),
        ("Child", person.saturating_sub(2) / 2),
        ("Brother", (person + 2) % PERSONS),
        ("Cousin", (person * 31 + 7) % PERSONS),
    ]
}

/// A person with two parents, four grandparents and their parents.
fn ancestors(person: usize) -> Vec<usize> {
    let mut all = vec![person];
    for at in 0..7 {
        let parents = relatives(all[at]);
        all.extend([parents[0].1, parents[1].1]);
    }
    all
}

/// The address of a page about a person.
fn script(path: &str, person: usize) -> Target {
    Target::new(path).with("id", format!("I{person}")).with("tree", "main")
}

/// A name, and when and where a person lived.
fn life(site: &Site, person: usize) -> (String, String) {
    let (prose, mut dice) = (&site.prose, Dice::of(&format!("life {person}")));
    let name = [prose.own_word(&mut dice), prose.own_word(&mut dice)].join(" ");
    let born = 1_600 + dice.roll(300);
    let mut town = || prose.own_word(&mut Dice::of(&format!("town {}", dice.roll(200))));
    let (here, there) = (town(), town());
    let trades = ["smith", "farmer", "weaver", "miller", "teacher", "sailor", "tailor", "clerk"];
    let trade = *dice.pick(&trades);
    let (month, age) = (dice.roll(12) + 1, 20 + dice.roll(60));
    let life =
        format!("Born {month}/{born} in {here}, died {} in {there}. Trade: {trade}.", born + age);
    (name, life)
}

/// 1,500 persons of one tree, who lead to their relatives; a pedigree for each, the kinship of any two, and a file.
fn genealogy(is_long: bool) -> World {
    let name = if is_long { "persons beside a long sidebar" } else { "persons of a family tree" };
    let site =
        Site::new("genealogy", Language::English, is_long, &["/", "/surnames.php", "/help.php"]);
    let numbers = Numbers::of((0..PERSONS).map(|it| format!("person {it}")));
    world(name, "/", PERSONS, move |asked| {
        let link = |it: usize| (script("/person.php", it).show(), life(&site, it).0);
        let id = |name| {
            asked.get(name)?.strip_prefix('I')?.parse().ok().filter(|it: &usize| *it < PERSONS)
        };
        let Some(person) = id("id") else {
            let body = block("Begin with", [link(0), link(1)].into_iter());
            return Answer::junk(site.page("Our family", &body));
        };
        let (name, life_of) = life(&site, person);
        let kin = |other: usize| {
            (
                script("/relationship.php", person).with("id2", format!("I{other}")).show(),
                life(&site, other).0,
            )
        };
        match asked.path.as_str() {
            "/person.php" => {
                let mut body = format!("<p>{life_of}</p>");
                if person % 3 == 0 {
                    body += &site.prose.paragraphs(&format!("notes {person}"), 1);
                }
                for (kind, other) in relatives(person) {
                    body += &format!("<p>{kind}: {}</p>", anchor(&link(other).0, &link(other).1));
                }
                let more = ["/pedigree.php", "/descend.php", "/export.php"]
                    .map(|it| script(it, person).show());
                body += &block("Charts", plain(more.into_iter()));
                let kin = relatives(person).into_iter().take(2).map(|it| kin(it.1));
                body += &block("How related", kin);
                numbers.answer(&format!("person {person}"), site.page(&name, &body))
            }
            "/pedigree.php" | "/descend.php" => {
                let rows: String = ancestors(person)
                    .into_iter()
                    .map(|it| {
                        format!("<p>{} {}</p>", anchor(&link(it).0, &link(it).1), life(&site, it).1)
                    })
                    .collect();
                Answer::junk(site.page(&format!("Chart of {name}"), &rows))
            }
            "/relationship.php" => {
                let other = id("id2").unwrap_or_default();
                let text = format!(
                    "<p>{name} and {} are relatives of degree {}.</p>",
                    life(&site, other).0,
                    (person + other) % 9 + 1
                );
                let more = relatives(other).into_iter().map(|it| kin(it.1));
                Answer::junk(site.page("Relationship", &(text + &block("Others", more))))
            }
            "/export.php" => Answer::file("text/x-gedcom"),
            _ => Answer::missing(),
        }
    })
}

const BOOKS: usize = 20;
const CHAPTERS: usize = 15;
const VERSES: usize = 10;
const VERSIONS: [&str; 3] = ["first", "new", "cuv"];

/// A verse; the second version has every third word of the first changed.
fn verse(prose: &Prose, version: usize, book: usize, chapter: usize, number: usize) -> String {
    let name = format!("verse {book} {chapter} {number}");
    let text = prose.teaser(&name);
    if version != 1 {
        return text;
    }
    let mut dice = Dice::of(&format!("other {name}"));
    let words = text
        .split(' ')
        .enumerate()
        .map(|(at, word)| if at % 3 == 1 { prose.own_word(&mut dice) } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// The version, the book, the chapter and perhaps the verse of a path.
fn place(path: &str) -> Option<(usize, usize, usize, Option<usize>)> {
    let mut parts = path.strip_suffix(".html")?.split('/').skip(1);
    let version = parts.next()?;
    let version = VERSIONS.iter().position(|it| *it == version)?;
    let book = parts.next()?.parse().ok().filter(|book| *book < BOOKS)?;
    let chapter = parts.next()?;
    let (chapter, verse) = match chapter.split_once('-') {
        Some((chapter, verse)) => (chapter, Some(verse.parse().ok()?)),
        None => (chapter, None),
    };
    let chapter = chapter.parse().ok().filter(|chapter| (1..=CHAPTERS).contains(chapter))?;
    Some((version, book, chapter, verse))
}

/// 300 chapters in three versions, of which one is Chinese. Each verse has an address with its neighbours, and two versions stand side by side.
fn bible() -> World {
    let site = Site::new(
        "bible",
        Language::English,
        false,
        &["/first/0/1.html", "/new/0/1.html", "/cuv/0/1.html"],
    );
    let chinese = Prose::new(Language::Chinese);
    let names = VERSIONS.iter().flat_map(|version| {
        (0..BOOKS * CHAPTERS)
            .map(move |it| format!("{version} {} {}", it / CHAPTERS, it % CHAPTERS + 1))
    });
    let numbers = Numbers::of(names);
    world("chapters in three versions", "/first/0/1.html", BOOKS * CHAPTERS * 3, move |asked| {
        let path = asked.path.strip_prefix("/parallel").unwrap_or(&asked.path);
        let Some((at, book, chapter, only)) = place(path) else { return Answer::missing() };
        let version = VERSIONS[at];
        let text = |version: usize| -> String {
            let prose = if version == 2 { &chinese } else { &site.prose };
            let shown = (1..=VERSES).filter(|it| only.is_none_or(|only| it.abs_diff(only) < 2));
            shown
                .map(|it| {
                    let number = anchor(
                        &format!("/{}/{book}/{chapter}-{it}.html", VERSIONS[version]),
                        &it.to_string(),
                    );
                    format!("<p>{number} {}</p>", verse(prose, version, book, chapter, it))
                })
                .collect()
        };
        let is_parallel = path != asked.path;
        let mut body = text(at);
        if is_parallel {
            body += &text((at + 1) % 3);
        }
        let address = |version: &str, book: usize, chapter: usize| {
            format!("/{version}/{book}/{chapter}.html")
        };
        let next = if chapter < CHAPTERS { (book, chapter + 1) } else { ((book + 1) % BOOKS, 1) };
        let others = VERSIONS.map(|it| address(it, book, chapter));
        let near = [address(version, next.0, next.1), address(version, book, chapter.max(2) - 1)];
        let parallel = [format!("/parallel/{version}/{book}/{chapter}.html")];
        let books = (0..BOOKS).map(|it| address(version, it, 1));
        body +=
            &block("Chapters", plain(near.into_iter().chain(others).chain(parallel).chain(books)));
        let html = site.page(&format!("Book {book}, chapter {chapter}"), &body);
        if is_parallel || only.is_some() {
            return Answer::junk(html);
        }
        numbers.answer(&format!("{version} {book} {chapter}"), html)
    })
}

const NOVELS: usize = 24;
/// Chapters of a novel.
const LONG: usize = 30;

fn pages_of_chapter(novel: usize, chapter: usize) -> usize {
    1 + usize::from(Dice::of(&format!("{novel} {chapter}")).roll(4) > 0)
}

fn chapter_id(novel: usize, chapter: usize) -> usize {
    41_000 + novel * 977 + chapter * 3
}

fn chapter_address(novel: usize, chapter: usize, list: usize) -> String {
    let list = if list == 1 { String::new() } else { format!("_{list}") };
    format!("/book/{}/{}{list}.html", novel + 10, chapter_id(novel, chapter))
}

/// The addresses of the page before and of the next one; the last page leads to the novel.
fn neighbours(novel: usize, chapter: usize, list: usize) -> (String, String) {
    let next = if list < pages_of_chapter(novel, chapter) {
        chapter_address(novel, chapter, list + 1)
    } else if chapter + 1 < LONG {
        chapter_address(novel, chapter + 1, 1)
    } else {
        format!("/book/{}/", novel + 10)
    };
    let before = if list > 1 { chapter } else { chapter.max(1) - 1 };
    (chapter_address(novel, before, 1), next)
}

/// 24 Chinese novels of 30 chapters, most of which have a second page. Each page leads to a bookmark, a report and a vote for its chapter.
fn novels() -> World {
    let menu = ["/sort/0_1.html", "/sort/1_1.html", "/top/allvisit.html", "/full/"];
    let site = Site::new("novels", Language::Chinese, false, &menu);
    let names: Vec<String> = (0..NOVELS)
        .flat_map(|novel| (0..LONG).map(move |it| (novel, it)))
        .flat_map(|(novel, it)| {
            let lists = 1..=pages_of_chapter(novel, it);
            lists.map(move |list| format!("chapter {novel} {it} {list}"))
        })
        .chain((0..NOVELS).map(|novel| format!("novel {novel}")))
        .collect();
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    world("novels by chapter and page", "/sort/0_1.html", count, move |asked| {
        let index =
            |novel: usize| site.titled(format!("/book/{}/", novel + 10), &format!("novel {novel}"));
        if ["/sort/", "/top/", "/full/"].iter().any(|it| asked.path.starts_with(it)) {
            let shown = (0..NOVELS).filter(|it| !asked.path.starts_with("/sort/0") || it % 2 == 0);
            return Answer::junk(site.page("小说排行", &block("小说", shown.map(index))));
        }
        if ["/bookmark.php", "/report.php", "/vote.php"].contains(&asked.path.as_str()) {
            return Answer::junk(
                site.page("登录", "<p>请先登录。用户名，密码。没有账号？请先注册。</p>"),
            );
        }
        let mut parts = asked.path.split('/').skip(2);
        let novel = parts.next().and_then(|it| it.parse::<usize>().ok()?.checked_sub(10));
        let Some(novel) = novel.filter(|it| *it < NOVELS) else { return Answer::missing() };
        let address = |chapter: usize, list: usize| chapter_address(novel, chapter, list);
        let file = parts.next().unwrap_or_default();
        let chapter_name = |it: usize| site.prose.title(&format!("chapter {novel} {it}"));
        if file.is_empty() {
            let chapters = (0..LONG).map(|it| (address(it, 1), chapter_name(it)));
            let body =
                site.prose.paragraphs(&format!("novel {novel}"), 1) + &block("目录", chapters);
            return numbers
                .answer(&format!("novel {novel}"), site.article(&format!("novel {novel}"), &body));
        }
        let at = (0..LONG).flat_map(|it| [(it, 1), (it, 2)]);
        let at = at
            .filter(|(it, list)| *list <= pages_of_chapter(novel, *it))
            .find(|(it, list)| address(*it, *list) == asked.path);
        let Some((chapter, list)) = at else { return Answer::missing() };
        let name = format!("chapter {novel} {chapter} {list}");
        let (before, next) = neighbours(novel, chapter, list);
        let own = ["bookmark", "report", "vote"].map(|it| {
            let script = Target::new(format!("/{it}.php")).with("aid", novel + 10);
            script.with("cid", chapter_id(novel, chapter)).show()
        });
        let body = site.prose.paragraphs(&name, 6)
            + &block(
                "",
                [(before, "上一页".to_owned()), index(novel), (next, "下一页".to_owned())]
                    .into_iter(),
            )
            + &block("", plain(own.into_iter()));
        numbers.answer(&name, site.page(&format!("{} ({list})", chapter_name(chapter)), &body))
    })
}

/// 100 pages of events, of which 90 have the same ten that come every week, and ten have five of their own besides.
fn recurring_events() -> World {
    const LISTS: usize = 100;
    const WEEKLY: usize = 12;
    let site = Site::new(
        "recurring",
        Language::English,
        false,
        &["/events/?page=1", "/venues/", "/contact/"],
    );
    let own = |list: usize| list % 10 == 7;
    let names = (1..=LISTS).filter(|it| own(*it)).flat_map(|list| {
        (0..5).map(move |it| format!("event {list} {it}")).chain([format!("list {list}")])
    });
    let names: Vec<String> =
        names.chain((0..WEEKLY).map(|it| format!("event weekly {it}"))).collect();
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    world("events that come every week", "/events/?page=1", count, move |asked| {
        let entry = |list: &str, it: usize| {
            teaser(&site.prose, &format!("/event/{list}-{it}/"), &format!("event {list} {it}"))
        };
        if let Some(event) = asked.path.strip_prefix("/event/") {
            let name = format!("event {}", event.trim_end_matches('/').replace('-', " "));
            return numbers.answer(&name, site.article(&name, &site.prose.paragraphs(&name, 3)));
        }
        let Some(list) = asked.number("page").filter(|it| (1..=LISTS).contains(it)) else {
            return Answer::missing();
        };
        let mut body = String::new();
        if own(list) {
            body += &(0..5).map(|it| entry(&list.to_string(), it)).collect::<String>();
        }
        body += &(0..10).map(|it| entry("weekly", (it + list / 50) % WEEKLY)).collect::<String>();
        let near = [list.max(2) - 1, (list + 1).min(LISTS), (list + 2).min(LISTS), LISTS];
        body += &block("Pages", plain(near.into_iter().map(|it| format!("/events/?page={it}"))));
        let html = site.page("Events", &body);
        numbers.answer(&format!("list {list}"), html)
    })
}

/// 900 objects in Chinese with ids with gaps: a title, measures and a sentence beside a long text that all have. An id without an object says so.
fn museum() -> World {
    const OBJECTS: usize = 900;
    const ROOMS: usize = 12;
    let site =
        Site::new("museum", Language::Chinese, false, &["/room/0", "/visit", "/shop", "/news"]);
    let mut dice = Dice::of("museum");
    let mut id = 10_000;
    let ids: Vec<usize> = (0..OBJECTS)
        .map(|_| {
            id += 1 + if dice.roll(5) == 0 { dice.roll(12) } else { 0 };
            id
        })
        .collect();
    let numbers = Numbers::of(ids.iter().map(|it| format!("object {it}")));
    world("objects of a museum", "/room/0", OBJECTS, move |asked| {
        let link = |id: usize| site.titled(format!("/object/{id}"), &format!("object {id}"));
        if let Some(room) = below(asked, "/room/", "", ROOMS) {
            let list = asked.number("page").unwrap_or(0);
            let shown = ids.iter().filter(|it| *it % ROOMS == room).skip(list * 24).take(24);
            let lists = (0..4).map(|it| format!("/room/{room}?page={it}"));
            let rooms = (0..ROOMS).map(|it| format!("/room/{it}"));
            let body = block("展品", shown.map(|it| link(*it)))
                + &block("展厅", plain(lists.chain(rooms)));
            return Answer::junk(site.page(&format!("展厅 {room}"), &body));
        }
        let id = below(asked, "/object/", "", ids[OBJECTS - 1] + 1).filter(|it| *it >= ids[0]);
        let Some(id) = id else { return Answer::missing() };
        let near = [id - 1, id + 1].map(|it| (format!("/object/{it}"), format!("编号 {it}")));
        let near = block("相邻编号", near.into_iter());
        if ids.binary_search(&id).is_err() {
            return Answer::junk(
                site.page("没有展品", &format!("<p>该编号的展品尚未上线。</p>{near}")),
            );
        }
        let name = format!("object {id}");
        let mut dice = Dice::of(&name);
        let kinds = ["青瓷", "铜镜", "玉佩", "书画", "漆器", "陶俑", "钱币", "织绣"];
        let body = format!(
            "<p>类别：{}。尺寸：{} × {} 厘米。入藏编号：{id}。</p><p>{}</p>{}{near}",
            dice.pick(&kinds),
            dice.roll(90) + 3,
            dice.roll(60) + 2,
            site.short(&name, 150),
            site.prose.paragraphs("how to order a picture of an object", 3),
        );
        numbers.answer(&name, site.article(&name, &body))
    })
}

/// 30 lines of 12 stops in Chinese, whose times differ on three kinds of days; a plan for a journey at any time, and a view to print.
fn timetable(is_long: bool) -> World {
    const LINES: usize = 30;
    const STOPS: usize = 12;
    const DAYS: [&str; 3] = ["workday", "saturday", "sunday"];
    let name = if is_long { "times of buses beside a long sidebar" } else { "times of buses" };
    let site = Site::new(
        "timetable",
        Language::Chinese,
        is_long,
        &["/line/0", "/line/1", "/fares", "/map"],
    );
    let names = (0..LINES * STOPS)
        .flat_map(|it| DAYS.map(|day| format!("{} {} {day}", it / STOPS, it % STOPS)));
    let numbers = Numbers::of(names);
    world(name, "/line/0", LINES * STOPS * 3, move |asked| {
        let plan = |from: usize, time: usize| {
            let time = format!("{:02}:{:02}", time / 60 % 24, time % 60);
            Target::new("/plan").with("from", from).with("time", time).show()
        };
        if asked.path == "/plan" {
            let from = asked.number("from").unwrap_or_default();
            let time = asked.get("time").and_then(|it| it.split_once(':')).unwrap_or(("8", "0"));
            let time =
                time.0.parse::<usize>().unwrap_or(8) * 60 + time.1.parse::<usize>().unwrap_or(0);
            let body = format!("<p>从 {from} 号站出发，步行 {} 分钟后乘车。</p>", time % 13 + 2);
            let other = [plan(from, time + 7), plan(from, time + 1_433)];
            return Answer::junk(
                site.page("出行方案", &(body + &block("其他时间", plain(other.into_iter())))),
            );
        }
        let mut parts = asked.path.split('/').skip(2);
        let line = parts.next().and_then(|it| it.parse::<usize>().ok()).filter(|it| *it < LINES);
        let Some(line) = line else { return Answer::missing() };
        let stops = (0..STOPS).map(|it| format!("/line/{line}/stop/{it}"));
        let Some(stop) =
            asked.number_below(&format!("/line/{line}/stop/"), "").filter(|it| *it < STOPS)
        else {
            let lines = (0..LINES).map(|it| format!("/line/{it}"));
            let body = block("站点", plain(stops)) + &block("线路", plain(lines));
            return Answer::junk(site.page(&format!("{line} 路"), &body));
        };
        let day = asked.get("day").unwrap_or(DAYS[0]);
        let mut dice = Dice::of(&format!("times {line} {stop} {day}"));
        let mut body = "<table>".to_owned();
        for hour in 5..23 {
            let mut minutes: Vec<usize> = (0..=dice.roll(5)).map(|_| dice.roll(60)).collect();
            minutes.sort_unstable();
            let minutes: Vec<String> = minutes.iter().map(|it| format!("{it:02}")).collect();
            body += &format!("<tr><td>{hour}</td><td>{}</td></tr>", minutes.join(" "));
        }
        let days = DAYS.map(|it| asked.clone().set("day", it).show());
        let print = [asked.clone().set("print", 1).show(), plan(line * STOPS + stop, 480)];
        body += "</table>";
        body += &block("日期", plain(days.into_iter().chain(print)));
        body += &block("站点", plain(stops));
        let title = format!("{line} 路 {} 站", site.prose.title(&format!("stop {line} {stop}")));
        numbers.answer(&format!("{line} {stop} {day}"), site.page(&title, &body))
    })
}

/// 450 pages behind one path, selected by `id`. `L` selects a language, into which a third of the pages is translated. Links to related pages have the page that they are on,
/// and a hash of their parameters; languages and the view to print keep both.
fn typo3() -> World {
    const PAGES: usize = 450;
    let site = Site::new(
        "typo3",
        Language::English,
        false,
        &["/index.php?id=1", "/index.php?id=2", "/index.php?id=3"],
    );
    let chinese = Prose::new(Language::Chinese);
    let is_translated = |id: usize| Dice::of(&format!("translated {id}")).roll(3) == 0;
    let mut names: Vec<String> = (0..PAGES).map(|id| format!("en {id}")).collect();
    names.extend((0..PAGES).filter(|id| is_translated(*id)).map(|id| format!("zh {id}")));
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    world("everything by id", "/index.php?id=0", count, move |asked| {
        let id = asked.number("id").filter(|id| *id < PAGES && asked.path == "/index.php");
        let Some(id) = id else { return Answer::missing() };
        let lang = asked.number("L").unwrap_or_default();
        let is_chinese = lang == 1 && is_translated(id);
        let name = format!("{} {id}", if is_chinese { "zh" } else { "en" });
        let address = |id: usize| {
            let to = Target::new("/index.php").with("id", id);
            if lang == 0 { to } else { to.with("L", lang) }
        };
        let titled = |id: usize, to: Target| site.titled(to.show(), &format!("en {id}"));
        let near = [id * 2 + 1, id * 2 + 2, id / 2].map(|it| it % PAGES);
        let near = near.map(|it| titled(it, address(it)));
        let mut dice = Dice::of(&format!("related {id}"));
        let related = [0; 3].map(|_| {
            let other = dice.roll(PAGES);
            let to = address(other).with("tx_news[back]", id);
            let hash = Dice::of(&to.show()).hex(32);
            titled(other, to.with("cHash", hash))
        });
        let other =
            [("L", 0, "English"), ("L", 1, "中文"), ("L", 2, "Deutsch"), ("type", 98, "Print")];
        let other =
            other.map(|(key, value, name)| (asked.clone().set(key, value).show(), name.to_owned()));
        let prose = if is_chinese { &chinese } else { &site.prose };
        let body = prose.paragraphs(&name, 4)
            + &block("Pages", near.into_iter().chain(related))
            + &block("View", other.into_iter());
        numbers.answer(&name, site.page(&prose.title(&name), &body))
    })
}

const NEWS: usize = 800;

/// The address of a page of a news.
fn news_address(news: usize, list: usize) -> String {
    let (day, id) = (news / 3, news * 37 % 999_983);
    let list = if list == 1 { String::new() } else { format!("_{list}") };
    let date = format!("{}{:02}{:02}", 2_019 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
    format!("/a/{date}/{id:06}{list}.html")
}

/// 800 news in Chinese by date and id, whose comments, long articles and pictures have pages of their own: `_2.html`, `/comments/` and `p=3`.
fn portal(is_long: bool) -> World {
    let name = if is_long { "portal beside a long sidebar" } else { "portal with pages of news" };
    let site = Site::new(
        "portal",
        Language::Chinese,
        is_long,
        &["/roll/1.html", "/sports/", "/finance/", "/tech/"],
    );
    let pages = |news: usize| 1 + Dice::of(&format!("pages {news}")).roll(12) / 9;
    let pictures = |news: usize| if news % 10 == 3 { 5 } else { 0 };
    let address = news_address;
    let mut names = Vec::new();
    for news in 0..NEWS {
        names.extend((1..=pages(news)).map(|it| format!("news {news} {it}")));
        names.extend((1..=pictures(news)).map(|it| format!("picture {news} {it}")));
    }
    let paths =
        (0..NEWS).flat_map(|news| (1..=pages(news)).map(move |it| (address(news, it), (news, it))));
    let paths: HashMap<String, (usize, usize)> = paths.collect();
    let (count, numbers) = (names.len(), Numbers::of(names.into_iter()));
    world(name, "/roll/1.html", count, move |asked| {
        let entry = |it: usize| teaser(&site.prose, &address(it, 1), &format!("news {it}"));
        let list = below(asked, "/roll/", ".html", NEWS / 20 + 1).filter(|it| *it > 0);
        if list.is_some() || ["/sports/", "/finance/", "/tech/"].contains(&asked.path.as_str()) {
            let list = list.unwrap_or(1);
            let entries: String = ((list - 1) * 20..list * 20).map(entry).collect();
            let lists = (1..=NEWS / 20).map(|it| format!("/roll/{it}.html"));
            return Answer::junk(site.page("滚动新闻", &(entries + &block("翻页", plain(lists)))));
        }
        if asked.path == "/comments/" {
            return Answer::junk(
                site.page("评论", "<p>暂无评论。登录后发表评论，请遵守网上公德。</p>"),
            );
        }
        if asked.path == "/slide.php" {
            let (news, picture) =
                (asked.number("id").unwrap_or_default(), asked.number("p").unwrap_or(1));
            let name = format!("picture {news} {picture}");
            let others = (1..=pictures(news)).map(|it| format!("/slide.php?id={news}&p={it}"));
            let body = format!("<p>{}</p>{}", site.short(&name, 180), block("图集", plain(others)));
            return numbers.answer(&name, site.article(&format!("news {news}"), &body));
        }
        let Some((news, list)) = paths.get(&asked.path).copied() else { return Answer::missing() };
        let name = format!("news {news} {list}");
        let lists = (1..=pages(news)).map(|it| address(news, it));
        let slide = (pictures(news) > 0).then(|| format!("/slide.php?id={news}&p=1"));
        let comments = Target::new("/comments/").with("docid", news * 37).show();
        let mut dice = Dice::of(&format!("related {news}"));
        let related = (0..4).map(|_| address(dice.roll(NEWS), 1));
        let body = site.prose.paragraphs(&name, 4)
            + &block("", plain(lists.chain(slide).chain([comments])))
            + &block("相关新闻", plain(related));
        numbers.answer(&name, site.article(&format!("news {news}"), &body))
    })
}
