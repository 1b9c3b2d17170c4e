//! Which elements are text, and how the text is laid out.

use super::extract;

fn text(html: &str) -> String {
    extract(html).text
}

#[test]
fn blocks_are_on_lines_of_their_own_and_white_space_is_tidied() {
    assert_eq!(
        text(
            "<h1> Title\n here </h1>loose<p>one <b>b</b>old\u{a0}\u{3000}two<br>three</p><ul><li>a<li>b</ul><div><div>c</div></div>"
        ),
        "Title here\nloose\none bold two\nthree\na\nb\nc"
    );
}

#[test]
fn a_table_row_is_a_line_with_a_tab_between_cells() {
    assert_eq!(
        text("<table><caption>t</caption><tr><th>a<td> b c <td><td>d</tr><tr><td>e</table>"),
        "t\na\tb c\td\ne"
    );
}

#[test]
fn preformatted_text_keeps_its_lines() {
    assert_eq!(
        text("<pre>\n  one   two\n\n\tthree <b>four</b>\nfive</pre>six"),
        "one two\nthree four\nfive\nsix"
    );
}

#[test]
fn elements_that_are_not_shown_as_text_are_left_out() {
    assert_eq!(
        text(
            "<p>a<script>s</script><style>s</style><template>t</template><svg><text>v</text></svg>
             <textarea>x</textarea><select><option>o</select><button>b</button><input value=i><iframe>f</iframe><label>l</label></p>
             <div hidden>h</div><p style='display: none'>h</p><p aria-hidden=true>h</p><dialog>d</dialog><p>z<!-- c --></p>"
        ),
        "a\nz"
    );
    assert_eq!(text("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字"), "漢字");
    assert_eq!(
        text("Press <span hidden>Command</span><span hidden>Ctrl</span>+B"),
        "Press CommandCtrl+B"
    );
}

#[test]
fn text_for_readers_without_scripts_is_read() {
    assert_eq!(text("<p>One<noscript> and two</noscript></p>"), "One and two");
    assert_eq!(
        text("<p>One.</p><noscript><p>Two.</p><table><tr><td>Three</table></noscript>"),
        "One.\nTwo.\nThree"
    );
    for notice in [
        "<noscript>Please enable JavaScript to see the comments.</noscript>",
        "<noscript><div>请启用 JavaScript 后继续浏览。</div></noscript>",
        "<noscript><p>JavaScriptを有効にしてください。</p></noscript>",
        "<noscript><img src=/pixel width=1 height=1 alt=pixel></noscript>",
        "<noscript>&lt;img src=/pixel&gt;</noscript>",
        "<noscript><p>The tide waits for no one.</p></noscript>",
    ] {
        let page =
            format!("{notice}<p>The tide waits for no one.</p>{notice}<p>Not even here.</p>");
        assert_eq!(text(&page), "The tide waits for no one.\nNot even here.", "{notice}");
        let head = format!("<head>{notice}</head><body><p>The tide waits for no one.</p>");
        assert_eq!(text(&head), "The tide waits for no one.", "{notice}");
    }
}

#[test]
fn boilerplate_is_left_out_by_tag_role_and_name() {
    let boilerplate = [
        "<nav>x</nav>",
        "<header>x</header>",
        "<footer>x</footer>",
        "<aside>x</aside>",
        "<div role=navigation>x</div>",
        "<div role=banner>x</div>",
        "<div role=search>x</div>",
        "<div class=\"box sidebar\">x</div>",
        "<div id=left-sidebar>x</div>",
        "<ul class=breadcrumb><li>x</ul>",
        "<div class=navheader><table><tr><td>x</table></div>",
        "<div id=cookie-notice>x</div>",
        "<div class=\"site-footer\">x</div>",
        "<div id=header>x</div>",
        "<p class=noprint>x</p>",
        "<div class=mainMenu>x</div>",
    ];
    for html in boilerplate {
        assert_eq!(
            text(&format!("<p>The body of the page stays as it is.</p>{html}<p>All of it.</p>")),
            "The body of the page stays as it is.\nAll of it.",
            "{html}"
        );
    }
}

#[test]
fn names_that_only_resemble_boilerplate_lose_nothing() {
    for html in [
        "<article><header><h1>kept</h1></header></article>",
        "<main><header>kept</header></main>",
        "<div role=main><div class=header>kept</div></div>",
        "<div class=content-header>kept</div>",
        "<div class=sidebar-layout>kept</div>",
        "<div class=has-sidebar>kept</div>",
        "<form action=. method=post>kept</form>",
        "<article class=menu>kept</article>",
        "<div class=toc>kept</div>",
        "<p class=footnote>kept</p>",
        "<section><div class=header>kept</div></section>",
        "<div class=navigation-history-essay>kept</div>",
    ] {
        assert_eq!(
            text(&format!("<body class=\"nav-open sidebar\"><p>The body.</p>{html}")),
            "The body.\nkept",
            "{html}"
        );
    }
}

#[test]
fn a_name_that_would_drop_most_of_a_page_is_ignored() {
    let sentence =
        "A long text that the page's author put into an element with a misleading name. "
            .repeat(40);
    let html =
        format!("<div id=menu><p>{sentence}</p></div><p>Rest</p><p hidden>h</p><script>s</script>");
    assert_eq!(text(&html), sentence.trim());
    let short = "<nav><a href=a>One</a> <a href=b>Two</a></nav><p>A short page.</p>";
    assert_eq!(text(short), "A short page.");
}

#[test]
fn the_title_is_tidied_and_not_taken_from_a_drawing() {
    let title = |html: &str| extract(html).title;
    assert_eq!(
        title("<title>\n A  &amp; B </title><title>second</title>").as_deref(),
        Some("A & B")
    );
    assert_eq!(title("<body><svg><title>Drawing</title></svg><p>x"), None);
    assert_eq!(title("<title> </title>"), None);
}

#[test]
fn an_empty_page_gives_an_empty_result() {
    let document = extract("");
    assert_eq!((document.text.as_str(), document.title, document.lang), ("", None, None));
    assert_eq!((document.links.len(), document.charset, document.truncated), (0, "UTF-8", None));
}

/// Two paragraphs.
const SONGS: &str = "<p>A choir of sixty voices sang in the granary on Saturday, the first concert there since the roof was repaired.</p>
    <p>Most of the audience had come by bicycle, as the road to the granary is still closed, which nobody seemed to mind.</p>";

#[test]
fn labels_of_answers_and_of_parts_are_text_and_those_of_other_controls_are_not() {
    assert_eq!(
        text(
            "<p>Which light?</p><div><input type=radio id=a><label for=a>A white light</label></div>
             <div><label><input type=checkbox> A red light</label></div><h3><button>And why?</button></h3>
             <button aria-expanded=false>Can I take my bicycle?</button><p>Yes.</p>
             <form><label for=n>Your name</label><input id=n><button>Send</button></form>"
        ),
        "Which light?\nA white light\nA red light\nAnd why?\nCan I take my bicycle?\nYes."
    );
}

#[test]
fn what_a_script_will_show_is_text_if_it_is_nearly_all() {
    let loading = "<div>Loading, please wait…</div>";
    for hidden in [
        "<div style='display:none'>",
        "<main hidden>",
        "<div style='visibility:hidden'><div hidden>",
    ] {
        let text = text(&format!("{loading}{hidden}{SONGS}"));
        assert!(text.contains("A choir") && text.contains("bicycle"), "{hidden}: {text}");
    }
    let shown = "<p>The ferry goes again from April on, at six in the morning.</p>";
    assert_eq!(text(&format!("{shown}<div hidden>{SONGS}</div>")).lines().count(), 1);
}

#[test]
fn documents_within_the_page_are_text() {
    for page in [
        format!("<header>Archive</header><iframe srcdoc=\"{SONGS}\"></iframe>"),
        format!(
            "<header>Archive</header><my-text><template shadowrootmode=open>{SONGS}</template></my-text>"
        ),
        format!("<textarea>{SONGS}</textarea><script src=slides.js></script>"),
    ] {
        let text = text(&page);
        assert!(text.contains("A choir") && text.contains("bicycle"), "{page}: {text}");
    }
}

#[test]
fn a_page_that_shows_nothing_has_the_text_of_its_data() {
    let sentence = "A choir of sixty voices sang in the granary, the first concert since the roof was repaired. It rained. ";
    let text = sentence.repeat(3);
    for page in [
        format!(
            "<script type=application/ld+json>{{\"@type\":\"Article\",\"articleBody\":\"{text}\"}}</script><div id=root></div>"
        ),
        format!(
            "<div id=__next></div><script id=__NEXT_DATA__ type=application/json>{{\"a\":[{{\"b\":\"<p>{text}</p>\"}}]}}</script>"
        ),
    ] {
        let found = extract(&page);
        assert!(found.is_from_data, "{page}");
        assert_eq!(found.text, text.trim(), "{page}");
        let shown = extract(&format!("{page}{SONGS}"));
        assert!(!shown.is_from_data && shown.text.contains("bicycle"), "{page}");
    }
}

#[test]
fn a_formula_is_read_once_and_lines_in_spans_are_not_glued() {
    assert_eq!(
        text(
            "<p>It is <span class=katex><math><semantics><mi>E</mi><mo>=</mo><mi>m</mi><annotation encoding=application/x-tex>E = m</annotation></semantics></math><span aria-hidden=true>E=m</span></span>, always.</p>"
        ),
        "It is E=m, always."
    );
    assert_eq!(
        text(
            "<p><span>to a summer's day</span><span>with all its buds</span></p><p>an <span>in</span><span>line</span> word</p>"
        ),
        "to a summer's day\nwith all its buds\nan inline word"
    );
}
