//! Which part of a page is its body text, on pages of many kinds, written by hand and modelled on no particular site.

use super::extract;

/// A page of one kind.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) name: &'static str,
    /// The markup before and after the content.
    pub(super) around: [String; 2],
    /// The content, paragraph by paragraph: its markup and the lines it shows.
    pub(super) content: Vec<(String, String)>,
}

impl Sample {
    pub(super) fn markup(&self) -> String {
        let [before, after] = &self.around;
        let content: String = self.content.iter().map(|(markup, _)| &**markup).collect();
        format!("<!DOCTYPE html><title>Page</title><body>{before}{content}{after}")
    }

    pub(super) fn text(&self) -> String {
        let lines: Vec<&str> = self.content.iter().map(|(_, text)| &**text).collect();
        lines.join("\n")
    }
}

pub(super) const ENGLISH: [&str; 8] = [
    "The harbour wall was built in two stages, the first of them in the summer after the great storm.",
    "Nobody had asked the fishermen, who would have said that the current comes from the other side.",
    "Within four years the basin had filled with sand, and the larger boats had to wait for high water.",
    "An engineer from the capital proposed a second wall, which would lead the current past the entrance.",
    "It took another decade until the money was there, and by then the fish had gone elsewhere.",
    "Today the harbour belongs to sailors; in August there are more masts than the town has inhabitants.",
    "The old wall can still be seen at low water, a line of dark stones on which cormorants dry their wings.",
    "Those who know the place walk out on it as far as the third bollard, and no further.",
];

pub(super) const CHINESE: [&str; 8] = [
    "港口的防波堤分两期建成，第一期工程在大风暴之后的那个夏天完工。",
    "没有人问过渔民的意见，不然他们会说，海流其实是从另一边来的。",
    "不到四年，港池里就积满了泥沙，大一点的船只能等到涨潮时才能进港。",
    "一位从省城来的工程师提议再修一道堤，把海流引到港口外面去。",
    "又过了十年，经费才终于有了着落，可是那时候鱼群早已经去了别处。",
    "如今港口成了帆船爱好者的天下，到了八月，桅杆比镇上的居民还要多。",
    "退潮的时候，还能看到旧堤露出的一排黑色石头，鸬鹚在上面晾晒翅膀。",
    "熟悉这里的人会沿着它走到第三个系船柱，然后就不再往前走了。",
];

fn paragraphs(texts: &[&str]) -> Vec<(String, String)> {
    texts.iter().map(|text| (format!("<p>{text}</p>\n"), (*text).to_owned())).collect()
}

fn links(class: &str, count: usize) -> String {
    let items: String = (0..count)
        .map(|number| format!("<li><a href=/{number}>Section {number}</a></li>"))
        .collect();
    format!("<div class=\"{class}\"><ul>{items}</ul></div>")
}

/// One page of each kind.
pub(super) fn samples() -> Vec<Sample> {
    vec![
        news(),
        chinese_news(),
        manual(),
        breaks(),
        forum(),
        chinese_forum(),
        product(),
        layout_tables(),
    ]
}

fn news() -> Sample {
    let before = format!(
        "{}<div class=c-17><div class=x3><h1>Sand in the basin</h1><div class=byline>By A. Writer</div></div><div class=x9>",
        links("x1", 14)
    );
    let teaser = |number: usize| {
        format!(
            "<div class=k><h3><a href=/n{number}>Another story, number {number}</a></h3><p>What happened there is output on a page of its own.</p></div>"
        )
    };
    let teasers: String = (0..6).map(teaser).collect();
    let after = format!(
        "</div></div><div class=x22>{teasers}</div><div id=comments><p>I was there, and it was not like that at all, says a reader.</p></div>{}",
        links("x30", 25)
    );
    Sample { name: "news", around: [before, after], content: paragraphs(&ENGLISH) }
}

fn chinese_news() -> Sample {
    let before = format!("{}<div class=w980><div id=zw class=nr>", links("daohang", 20));
    let after = format!(
        "</div><div class=share>分享到：微博 微信</div></div><div class=xgyd>{}</div><div class=bottom>版权所有，未经许可不得转载</div>",
        links("lb", 12)
    );
    Sample { name: "chinese news", around: [before, after], content: paragraphs(&CHINESE) }
}

fn manual() -> Sample {
    let row = |number: usize| {
        format!("<tr><td>option_{number}</td><td>{number}0 ms</td><td>Waits so long.</td></tr>")
    };
    let rows: String = (0..30).map(row).collect();
    let lines: Vec<String> =
        (0..30).map(|number| format!("option_{number}\t{number}0 ms\tWaits so long.")).collect();
    let mut content = vec![("<h1>Configuration</h1>".to_owned(), "Configuration".to_owned())];
    content.extend(paragraphs(&ENGLISH[..2]));
    content.push((format!("<table><tbody>{rows}</tbody></table>"), lines.join("\n")));
    content.push((
        "<pre>harbour --wall 2\nharbour --sand</pre>".to_owned(),
        "harbour --wall 2\nharbour --sand".to_owned(),
    ));
    content.push(("<ul><li>first</li><li>second</li></ul>".to_owned(), "first\nsecond".to_owned()));
    content.push((
        "<aside class=\"admonition warning\"><p>Mind the current.</p></aside>".to_owned(),
        "Mind the current.".to_owned(),
    ));
    content.extend(paragraphs(&ENGLISH[2..4]));
    let before = format!("{}<div role=main><div class=section>", links("sidebar", 30));
    Sample {
        name: "manual",
        around: [before, "</div></div><footer>Built on Monday</footer>".to_owned()],
        content,
    }
}

fn breaks() -> Sample {
    let content =
        ENGLISH.iter().map(|text| (format!("{text}<br><br>\n"), (*text).to_owned())).collect();
    let before = format!("<div>{}</div><div><div>", links("top", 8));
    Sample {
        name: "breaks",
        around: [
            before,
            "</div></div><div><a href=/a>Back</a> <a href=/b>Print</a></div>".to_owned(),
        ],
        content,
    }
}

fn post(number: usize, text: &str, name: &str) -> (String, String) {
    let markup = format!(
        "<div class=item id=p{number}><div class=user-info><a href=/u{number}>{name}</a></div><div class=body><p>{text}</p></div></div>\n"
    );
    (markup, text.to_owned())
}

fn forum() -> Sample {
    let posts = ENGLISH.iter().enumerate().map(|(number, text)| post(number, text, "someone"));
    let before = format!("{}<div class=thread>", links("menu", 10));
    Sample {
        name: "forum",
        around: [before, format!("</div>{}", links("footer", 9))],
        content: posts.collect(),
    }
}

fn chinese_forum() -> Sample {
    let post = |(number, text): (usize, &&str)| {
        let markup = format!(
            "<table id=pid{number}><tr><td class=pls rowspan=2><a href=/u{number}>楼主{number}</a></td><td class=plc><div class=t_f>{text}</div></td></tr></table>\n"
        );
        (markup, format!("楼主{number}\n{text}"))
    };
    let before = format!("{}<div id=postlist>", links("nv", 10));
    Sample {
        name: "chinese forum",
        around: [before, format!("</div>{}", links("ft", 9))],
        content: CHINESE.iter().enumerate().map(post).collect(),
    }
}

fn product() -> Sample {
    let mut content =
        vec![("<h1>Bollard, cast iron</h1>".to_owned(), "Bollard, cast iron".to_owned())];
    content.extend(paragraphs(&ENGLISH[..3]));
    content.push((
        "<table><tr><th>Weight</th><td>112 kg</td></tr><tr><th>Height</th><td>60 cm</td></tr></table>".to_owned(),
        "Weight\t112 kg\nHeight\t60 cm".to_owned(),
    ));
    content.push((
        "<p>Price: 1,299.00, delivery in four weeks.</p>".to_owned(),
        "Price: 1,299.00, delivery in four weeks.".to_owned(),
    ));
    let before = format!("{}<div class=p-detail>", links("shop-nav", 16));
    let after = format!("</div><div class=related-products>{}</div>", links("grid", 8));
    Sample { name: "product", around: [before, after], content }
}

fn layout_tables() -> Sample {
    let before = format!("<table><tr><td valign=top>{}</td><td>", links("", 15));
    Sample {
        name: "layout tables",
        around: [before, "</td></tr></table>".to_owned()],
        content: paragraphs(&ENGLISH),
    }
}

#[test]
fn the_body_text_of_every_kind_of_page_is_its_content() {
    for sample in samples() {
        assert_eq!(extract(&sample.markup()).text, sample.text(), "{}", sample.name);
    }
}

#[test]
fn a_page_of_comments_is_a_discussion() {
    let comments: String =
        ENGLISH.iter().map(|text| format!("<div class=comment><p>{text}</p></div>")).collect();
    let html = format!("{}<div id=comments>{comments}</div>", links("nav", 9));
    assert_eq!(extract(&html).text, ENGLISH.join("\n"));
}

#[test]
fn comments_under_an_article_are_left_out() {
    let article: String = ENGLISH[..4].iter().map(|text| format!("<p>{text}</p>")).collect();
    let comments: String = ENGLISH[4..].iter().map(|text| format!("<p>{text}</p>")).collect();
    let html =
        format!("<div class=a>{article}</div><div class=comments>{comments}{comments}</div>");
    assert_eq!(extract(&html).text, ENGLISH[..4].join("\n"));
}

#[test]
fn a_short_article_is_all_that_its_named_element_has() {
    let around = "<p>Comments are closed, as they are on all older posts of this page, for a good reason.</p>".repeat(5);
    for element in ["class=post-content", "id=articleBody", "itemprop=articleBody"] {
        let page = format!(
            "<div><div><h1>Rain</h1><p>Tuesday, by Ann</p><div {element}><p>It rained.</p><p>Then the sun came.</p></div></div><div>{around}</div></div>"
        );
        assert_eq!(extract(&page).text, "It rained.\nThen the sun came.", "{element}");
    }
    let several = "<div class=post-content><p>It rained.</p></div><div class=post-content><p>Then the sun came.</p></div>";
    assert_eq!(extract(several).text, "It rained.\nThen the sun came.", "a list of articles");
}

/// A page on which a short article has less text than what stands around it.
fn short_among_much(head: &str, article: &str) -> String {
    let comment = |text: &&str| {
        format!(
            "<div><a href=/u>Written by somebody else</a><p>{text}</p><a href=/r>Answer this now</a></div>"
        )
    };
    let around: String = ENGLISH[2..7].iter().map(comment).collect();
    format!(
        "<head>{head}</head><body>{}<div><div><div class=q1><h1>Harbour news</h1><div class=q2>{article}</div></div></div></div><div class=q3>{around}</div>",
        links("q4", 12)
    )
}

#[test]
fn a_short_article_is_found_by_what_the_page_declares() {
    let text = format!("{} {}", ENGLISH[0], ENGLISH[1]);
    let article = format!("<p>{text}</p>");
    assert!(extract(&short_among_much("", &article)).text.contains(ENGLISH[4]));
    let json =
        format!("{{\"@graph\": [{{\"@type\": \"NewsArticle\", \"articleBody\": \"{text}\"}}]}}");
    for head in [
        format!("<meta name=description content=\"{}\">", &text[..80]),
        format!("<meta property=og:description content=\"{}…\">", &text[..80]),
        format!("<script type=application/ld+json>{json}</script>"),
    ] {
        let found = extract(&short_among_much(&head, &article)).text;
        assert!(found.contains(&text), "{head}");
        assert!(!found.contains(ENGLISH[4]), "{head}: {found}");
    }
}

#[test]
fn a_named_article_is_not_hidden_by_the_names_around_it() {
    let body = "<div class=post-content><p>It rained on Tuesday, all day.</p></div>";
    let rest = format!("<div><p>{}</p><p>{}</p></div>", ENGLISH[0], ENGLISH[1]);
    for name in ["breadcrumb", "sidebar-fixed", "widget"] {
        let page = format!("<div class={name}><div>{body}</div></div>{rest}");
        assert_eq!(extract(&page).text, "It rained on Tuesday, all day.", "{name}");
    }
    let page = format!("<footer>{body}</footer>{rest}");
    assert_eq!(extract(&page).text, ENGLISH[..2].join("\n"));
}

#[test]
fn what_is_declared_but_not_shown_is_not_text() {
    let declared = ENGLISH[5..8].join(" ");
    let head = format!(
        "<meta name=description content=\"{declared}\"><script type=application/ld+json>{{\"articleBody\": \"{declared}\"}}</script>
         <script type=application/ld+json>{{ not json }}</script>"
    );
    let article: String = ENGLISH[..4].iter().map(|text| format!("<p>{text}</p>")).collect();
    let plain = extract(&format!("<div>{article}</div>")).text;
    assert_eq!(plain, ENGLISH[..4].join("\n"));
    assert_eq!(extract(&format!("<head>{head}</head><div>{article}</div>")).text, plain);
}

#[test]
fn a_motto_that_every_page_declares_does_not_hide_a_named_article() {
    let head = format!("<meta name=description content=\"{}\">", ENGLISH[6]);
    let page = format!(
        "<head>{head}</head><div><p>{}</p></div><div class=post-content><p>It rained.</p><p>Then the sun came.</p></div>",
        ENGLISH[6]
    );
    assert_eq!(extract(&page).text, "It rained.\nThen the sun came.");
}

#[test]
fn the_main_element_bounds_a_page_with_hardly_any_prose() {
    let lines = "<p>Open today</p><p>From nine</p>";
    let page = format!("<div>{}</div><main>{lines}</main><div>Call us now</div>", links("q", 9));
    assert_eq!(extract(&page).text, "Open today\nFrom nine");
    let page = format!("<div>{}</div><article>{lines}</article><p>Call us</p>", links("q", 9));
    assert_eq!(extract(&page).text, "Open today\nFrom nine");
}

#[test]
fn a_labelled_box_is_left_out() {
    let article: String = ENGLISH[..3].iter().map(|text| format!("<p>{text}</p>")).collect();
    for label in ["Related articles", "相关阅读：", "関連記事", "Mehr zum Thema", "Читайте также"]
    {
        let box_ = format!("<div><p>{label}</p>{}</div>", links("q", 5));
        let page = format!("<div>{article}{box_}</div>");
        assert_eq!(extract(&page).text, ENGLISH[..3].join("\n"), "{label}");
    }
    for label in ["12 Comments", "责任编辑：张三", "2024-05-01 12:30", "3 min read"] {
        let page = format!("<div><p>{label}</p>{article}<div>{label}</div></div>");
        assert_eq!(extract(&page).text, ENGLISH[..3].join("\n"), "{label}");
    }
}

#[test]
fn the_comments_of_a_discussion_are_its_content() {
    let comments: String =
        ENGLISH[4..].iter().map(|text| format!("<li class=comment><p>{text}</p></li>")).collect();
    let question: String = ENGLISH[..4].iter().map(|text| format!("<p>{text}</p>")).collect();
    let page = format!("<div>{question}</div><ul class=comments>{comments}</ul>");
    assert_eq!(extract(&page).text, ENGLISH[..4].join("\n"));
    for (before, after) in [
        ("<div class=forum-thread>", "</div>"),
        ("<div itemscope itemtype=https://schema.org/QAPage>", "</div>"),
    ] {
        assert_eq!(extract(&format!("{before}{page}{after}")).text, ENGLISH.join("\n"), "{before}");
    }
}

#[test]
fn numbers_of_lines_are_not_code() {
    let page = format!(
        "<div><p>{}</p><table><tr><td class=gutter><pre>1\n2</pre></td><td class=code><pre>let a;\nlet b;</pre></td></tr></table></div>",
        ENGLISH[0]
    );
    assert_eq!(extract(&page).text, format!("{}\nlet a;\nlet b;", ENGLISH[0]));
}

#[test]
fn a_named_body_without_text_of_its_own_does_not_empty_the_page() {
    let page = "<p>Open from nine.</p><div class=post-content><div class=gallery><p>The old bridge</p></div></div>";
    assert_eq!(extract(page).text, "Open from nine.\nThe old bridge");
}

#[test]
fn a_listing_is_its_links() {
    let html = format!(
        "<nav><a href=/>Home</a></nav><h1>All sections</h1>{}<footer>Impressum</footer>",
        links("", 40)
    );
    let lines: Vec<String> = (0..40).map(|number| format!("Section {number}")).collect();
    assert_eq!(extract(&html).text, format!("All sections\n{}", lines.join("\n")));
}

#[test]
fn a_list_of_teasers_is_the_text_if_there_is_no_other() {
    let teasers: String = ENGLISH
        .iter()
        .map(|text| format!("<div class=card><h2><a href=/x>Title</a></h2><p>{text}</p></div>"))
        .collect();
    let lines: Vec<String> = ENGLISH.iter().map(|text| format!("Title\n{text}")).collect();
    assert_eq!(extract(&format!("{}<div>{teasers}</div>", links("nav", 9))).text, lines.join("\n"));
}

#[test]
fn a_page_that_shows_text_has_a_text() {
    for html in [
        "<nav>Only a menu</nav>",
        "<footer><p>Only a footer.</p></footer>",
        "<div class=sidebar><p>Only a sidebar, with a sentence in it.</p></div>",
        "<body style=\"display:none\"><p>A script shows this page, which is hidden at first.</p>",
        "<div class=comments>x</div>",
        "<aside><h2><a href=/>Linked</a></h2></aside>",
        "<div class=related><p>Only what is related, and that is a sentence or two. Here is the other.</p></div>",
        &["Weather", "Market", "Letters"].map(|name| format!("<div class=widget><h4>{name}</h4><p>A sentence in a box, of which there are several, and nothing but boxes. Each has some news, but none is the news of the page, if there is any. It goes on for a while, so that it counts, and then it stops.</p></div>")).concat(),
        "<table><tr><td><nav>x</nav></td></tr></table>",
        "<p><span class=noprint>x</span>y",
    ] {
        assert_ne!(extract(html).text, "", "{html}");
    }
}

#[test]
fn a_long_sidebar_does_not_replace_a_short_main_text() {
    let entry = "noun. A narrow strip of grass between two ploughed fields.";
    let sidebar = format!("<p>{}</p><p>{}</p>", ENGLISH[0], ENGLISH[1]);
    for beside in [
        format!("<aside>{sidebar}</aside>"),
        format!("<div class=sidebar>{sidebar}</div>"),
        format!("<footer>{sidebar}</footer>"),
    ] {
        for main in ["<main><article>", "<main>", "<article>", "<div role=main>"] {
            let html = format!("{main}<h1>brade</h1><p>{entry}</p></article></div></main>{beside}");
            assert_eq!(extract(&html).text, format!("brade\n{entry}"), "{html}");
        }
        // Without a main text it is what there is.
        let html = format!("<main><h1>brade</h1></main>{beside}");
        assert!(extract(&html).text.contains(ENGLISH[0]), "{html}");
    }
}

#[test]
fn a_list_of_links_after_paragraphs_stays() {
    let list = "<ul><li><a href=/1>The first harbour of the town</a><li><a href=/2>The second harbour of the town</a></ul>";
    let manual = format!("<div><p>{}</p><p>{}</p>{list}</div>", ENGLISH[0], ENGLISH[1]);
    assert_eq!(
        extract(&manual).text,
        format!(
            "{}\nThe first harbour of the town\nThe second harbour of the town",
            ENGLISH[..2].join("\n")
        )
    );
}

#[test]
fn a_note_that_is_named_the_body_of_the_article_is_not_it() {
    let paragraphs: String = ENGLISH.iter().map(|text| format!("<p>{text} {text}</p>")).collect();
    let html = format!(
        "<title>Wall</title><div class=wrap><div class=article-body><p>Published in the summer of the storm, 10:39.</p></div>{paragraphs}</div>"
    );
    let text = extract(&html).text;
    assert!(ENGLISH.iter().all(|line| text.contains(line)), "{text}");
    // An article may be short, and another one follow in full.
    let short = ENGLISH[..4].join(" ");
    let html = format!(
        "<title>Wall</title><div class=article-body><p>{short}</p></div><div class=next>{paragraphs}</div>"
    );
    assert_eq!(extract(&html).text, short);
}

#[test]
fn parts_of_the_main_content_that_are_named_widgets_are_text_beside_other_prose() {
    let part =
        |text: &&str| format!("<div class=product-widget><h3>Stone</h3><p>{text} {text}</p></div>");
    let parts: String = ENGLISH.iter().map(part).collect();
    let html = format!(
        "<title>Wall</title><main><div class=lead><p>{} {}</p></div>{parts}</main><div class=legal><p>{}</p></div>",
        ENGLISH[0],
        ENGLISH[1],
        "The owner of these pages is the harbour of the town, as the register says. ".repeat(8)
    );
    let text = extract(&html).text;
    assert!(ENGLISH.iter().all(|line| text.contains(&format!("{line} {line}"))), "{text}");
}
