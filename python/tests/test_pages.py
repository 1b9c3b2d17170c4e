"""`report.html` and the live page in a browser: Debian's Chromium, driven by Playwright, and axe for accessibility.

With `PAGESIEVE_SHOTS=DIR` pictures of all of them are kept there. With `PAGESIEVE_REPORT=FILE` the time is printed in which that
report opens: `PAGESIEVE_KEEP_REPORT=FILE cargo test --lib of_many_clusters` writes one of 10,000 groups.
"""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from conftest import article

WIDTHS = [390, 820, 1024, 1600]
SCHEMES = ["light", "dark"]
TOKEN = "a token"


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("axe_playwright_python", reason="axe is absent")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium: pages are not tested in a browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Window:
    """A page, and what went wrong on it."""

    def __init__(self, page, url: str):
        self.page, self.url, self.faults = page, url, []
        page.on("console", lambda said: said.type in ("error", "warning") and self.faults.append(said.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.note(request.url))
        page.on("popup", lambda popup: self.faults.append(f"window: {popup.url}"))
        begun = time.perf_counter()
        page.goto(url)
        self.seconds = time.perf_counter() - begun

    def note(self, url: str):
        """Only files beside the page are asked for."""
        beside = re.split("[?#]", self.url)[0].rsplit("/", 1)[0] + "/"
        if not url.startswith(beside):
            self.faults.append(f"request: {url}")

    def check(self):
        from axe_playwright_python.sync_playwright import Axe

        assert self.faults == []
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(wider) <= 0, "it scrolls sideways"
        cut = "[...document.querySelectorAll('.stack')].filter(it => it.offsetWidth > it.parentElement.clientWidth).map(it => it.parentElement.ariaLabel)"
        assert self.page.evaluate(cut) == [], "tables are cut off"
        found = Axe().run(self.page).response["violations"]
        grave = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        said = [f"{fault['id']}: {node['html'][:200]} {node['failureSummary']}" for fault in grave for node in fault["nodes"][:5]]
        assert not said, "\n".join(said)

    def keep(self, name: str):
        if folder := os.environ.get("PAGESIEVE_SHOTS"):
            self.page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)


@contextmanager
def window(chromium, url: str, width: int, scheme: str, **more):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    yield Window(context.new_page(), url)
    context.close()


PAGE = '<!doctype html><html lang="en"><head><title>{0}</title></head><body><article><h1>{0}</h1>{1}</article>{2}</body></html>'


def line(server, out: Path, *more: str) -> list[str]:
    return [
        *("crawl", *(f"http://{host}:{server.server_port}/" for host in ("127.0.0.1", "localhost"))),
        *("--contact", "a@b.org", "--set", "fetch.allow_private=['127.0.0.0/8']", "--out", str(out), *more),
    ]


def crawl(program: Path, server, out: Path) -> str:
    """The URL of the report."""
    subprocess.run([program, *line(server, out, "--delay", "1ms")], check=True, capture_output=True)
    return (out / "report.html").as_uri()


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """Articles with copies that differ in a few words, with equal copies, and with links that are broken, redirected or out of scope."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "print").mkdir()
    links = ["gone.html", "print", "http://elsewhere.test/"]
    for number in range(12):
        text = article(f"library {number}")
        (folder / f"{number}.html").write_text(PAGE.format(f"Article {number}", text, '<a href="gone.html">next</a>'))
        words = text.split(" ")
        words[20 + number] = "another"
        (folder / f"print/{number}.html").write_text(PAGE.format(f"Article {number}", " ".join(words), ""))
        links += [f"{number}.html", f"print/{number}.html", f"{number}.html?sort=name"]
    links = "".join(f'<p><a href="{link}">{escape(link)}</a></p>' for link in links)
    (folder / "print/index.html").write_text(PAGE.format("Print", article("print"), ""))
    (folder / "index.html").write_text(PAGE.format("Library", article("index"), links))
    return folder


def hostile() -> list[str]:
    """A hundred kinds of text that a page that trusts them would run, show as markup, or fall apart at."""
    act = "document.body.innerHTML='hit'"
    tags = [
        f"<script>{act}</script>", f"<SCRIPT SRC=//evil.test/x></SCRIPT>", f"<img src=x onerror={act}>",
        f"<svg onload={act}>", f"<svg><script>{act}</script></svg>", f"<body onload={act}>",
        f"<iframe src=javascript:{act}>", f"<iframe srcdoc='<script>{act}</script>'>", "<object data=//evil.test/x>",
        "<embed src=//evil.test/x>", "<base href=//evil.test/>", "<link rel=stylesheet href=//evil.test/x.css>",
        "<meta http-equiv=refresh content='0;url=//evil.test/'>", "<style>*{display:none}</style>",
        "<style>@import '//evil.test/x'</style>", "<form action=//evil.test/><input name=a autofocus>",
        f"<input autofocus onfocus={act}>", f"<button formaction=javascript:{act}>x", f"<details open ontoggle={act}>",
        f"<video><source onerror={act}>", f"<audio src=x onerror={act}>", f"<marquee onstart={act}>",
        f"<math><mtext><script>{act}</script>", f"<a href=javascript:{act}>x</a>", "<a href=data:text/html,x>x</a>",
        f"<select autofocus onfocus={act}>", f"<textarea autofocus onfocus={act}>", f"<keygen autofocus onfocus={act}>",
        "<frameset><frame src=//evil.test/>", f"<template><script>{act}</script></template>",
        f"<noscript><p title='</noscript><img src=x onerror={act}>'>", f"<xmp><img src=x onerror={act}></xmp>",
        "<plaintext>", "<table><tr><td>x", "<dialog open>x</dialog>", f"<p style=position:fixed;inset:0>x",
        "<p onmouseover=x style=width:9999px>x", f"<isindex action=javascript:{act}>", "<bgsound src=//evil.test/>",
        f"<x onclick={act}>x", "<!-- x", "<![CDATA[ x ]]>", "<?php echo 1 ?>", "<%= 1 %>", "<!DOCTYPE x>", "</p>",
    ]
    ends = [
        f"</title><script>{act}</script>", f"</style><script>{act}</script>", f"</script><script>{act}</script>",
        f"--><script>{act}</script>", f"]]><script>{act}</script>", f"</textarea><script>{act}</script>",
        f"</details></div><script>{act}</script>", f'"><script>{act}</script>', f"'><script>{act}</script>",
        f'" onmouseover="{act}', f"' onmouseover='{act}", f"` onmouseover=`{act}", f'" autofocus onfocus="{act}',
        f"\\\"><script>{act}</script>", f"</svg><script>{act}</script>", "</main></body></html>",
    ]
    words = [
        "{{7*7}}", "${7*7}", "#{7*7}", "{% raw %}", "{%- include 'x' -%}", "{{ report|safe }}", "<%= 7*7 %>", "[[7*7]]",
        "&lt;script&gt;", "&amp;lt;b&amp;gt;", "&#60;b&#62;", "&#x3c;b&#x3e;", "%3Cscript%3E", "\\u003cscript\\u003e",
        "\\x3cscript\\x3e", f"javascript:{act}", f"JaVaScRiPt:{act}", "data:text/html;base64,PHNjcmlwdD4=",
        f"vbscript:{act}", "'; DROP TABLE documents; --", "' OR 1=1 --", "=1+1", "@SUM(1)", "+cmd|' /C calc'!A0",
        "$(reboot)", "`reboot`", "| reboot", "%s%s%n", "../../etc/passwd", "C:\\aux", "null", "NaN", "undefined",
        "__proto__", "constructor.prototype", "true", "-0", "1e309", "\u0336".join("struck out"), "e" + "\u0301" * 60,
    ]
    breaking = ["W" * 4000, "\u202eright to left", "\u2066isolated", "zero\u200bwidth", "\u05e9\u05dc\u05d5\u05dd <b>",
                "\U0001f469\u200d\U0001f469\u200d\U0001f467 family", "\ufeffmark", "soft\u00adhyphen" * 40]
    return tags + ends + words + breaking


@pytest.fixture(scope="module")
def trap(tmp_path_factory) -> tuple[Path, list[str]]:
    """A site with hostile titles, texts and addresses: a page of each kind, and one that differs in it."""
    folder, texts = tmp_path_factory.mktemp("trap"), hostile()
    links = []
    for number, text in enumerate(texts):
        words, shown = article(f"trap {number}"), escape(text)
        for side in ("a", "b"):
            # It stands in what differs, too.
            body = words.replace(".", f". {side} {shown} ", 1) if side == "b" else words
            (folder / f"{number}{side}.html").write_text(PAGE.format(shown, body, ""))
            links.append(f"{number}{side}.html?{quote(text[:200])}#{escape(text[:50])}")
        links.append(f"gone-{quote(text[:60], safe='')}.html")
    links = "".join(f'<p><a href="{escape(link)}">x</a></p>' for link in links)
    (folder / "index.html").write_text(PAGE.format("Trap", article("trap"), links))
    return folder, texts


@pytest.fixture(scope="module")
def reports(program, serve, library, trap, tmp_path_factory) -> dict[str, str]:
    runs = tmp_path_factory.mktemp("runs")
    return {name: crawl(program, serve(folder), runs / name) for name, folder in (("library", library), ("trap", trap[0]))}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["library", "trap"])
def test_the_report_is_sound_and_accessible(chromium, reports, name, width, scheme):
    with window(chromium, reports[name], width, scheme) as shown:
        # What lies off the screen is not drawn otherwise.
        shown.page.evaluate("for (const it of document.querySelectorAll('.cluster')) it.style.contentVisibility = 'visible'")
        shown.page.evaluate("for (const it of document.querySelectorAll('.cluster:nth-child(-n+3), .difference, #skipped ~ details')) it.open = true")
        shown.keep(f"report-{name}-{width}-{scheme}")
        shown.check()


def test_groups_are_searched_and_tables_sorted(chromium, reports):
    with window(chromium, reports["library"], 1024, "light") as shown:
        page = shown.page
        seen = lambda: page.locator("#clusters > details:visible").count()
        everything = seen()
        page.fill("#find", "article 7")
        assert 0 < seen() < everything
        page.fill("#find", "")
        page.select_option("#kind", "near")
        near = seen()
        assert 0 < near <= everything
        page.fill("#least", "1000")
        assert seen() == 0
        hosts = page.locator("#hosts table.sortable")
        hosts.locator("th button").nth(1).click()
        assert hosts.locator("th").nth(1).get_attribute("aria-sort") == "descending"
        assert shown.faults == []


def test_what_became_of_a_url_is_found(chromium, reports):
    with window(chromium, reports["library"], 1024, "light") as shown:
        page = shown.page
        page.fill("#find", "print/7.html")
        assert page.locator("#clusters li.found").first.is_visible()
        assert page.locator(".overview").is_hidden() and page.locator("#broken").is_hidden()
        url = page.locator("#clusters li.found a").first.text_content()
        page.fill("#find", f"{url}?utm_source=x&gclid=1#top")
        assert page.locator("#clusters li.found").first.is_visible()
        page.fill("#find", f"{url}?other=x")
        assert page.locator("#nothing").is_visible()
        page.fill("#find", "gone.html")
        assert page.locator("#skipped tbody tr:visible").count() > 0
        assert page.locator("#broken tbody tr:visible").count() > 0
        reasons = page.locator("#skipped details")
        found = page.locator("#skipped details:has(tbody tr:not([hidden]))").count()
        assert reasons.count() > page.locator("#skipped details:visible").count() == found
        # What is found with it is about others.
        page.fill("#find", url[:-1])
        assert page.locator("#nothing").is_visible() and page.locator("#clusters li.found").first.is_visible()
        page.fill("#find", "http://nowhere.test/")
        assert page.locator("#nothing").is_visible() and page.locator("section:visible").count() == 0
        assert "explain URL --run RUN" in page.locator("#nothing").text_content()
        page.fill("#find", "")
        assert page.locator(".overview").is_visible() and page.locator("#nothing").is_hidden()
        assert shown.faults == []


def test_a_search_says_how_many_rows_of_each_table_it_has_found(chromium, reports):
    with window(chromium, reports["library"], 1024, "light") as shown:
        page, notes = shown.page, "#hosts p:has-text(' shown'), #broken p:has-text(' shown')"
        assert page.locator(notes).count() == 0
        page.fill("#find", "localhost")
        found = page.locator("#hosts tbody tr:visible").count()
        assert found > 0 and page.locator("#hosts p:has-text(' shown')").text_content() == f"{found} of 2 shown"
        found = page.locator("#broken tbody tr:visible").count()
        assert page.locator("#broken p:has-text(' shown')").text_content() == f"{found} of 2 shown"
        # Tables without a row that is found are left out.
        assert page.locator("#threshold:visible, #skipped .scroll:visible:not(:has(tbody tr:visible))").count() == 0
        page.fill("#find", "")
        assert page.locator("#threshold .scroll").first.is_visible()
        assert page.locator("#hosts p:has-text(' shown')").is_hidden()
        assert shown.faults == []


@pytest.fixture(scope="module")
def mirrored(serve, tmp_path_factory) -> tuple:
    """A server whose pages two hosts have, all of them, and one page that more than a hundred others repeat."""
    site = tmp_path_factory.mktemp("mirrored")
    links = ""
    for number in range(150):
        text = article("login") if number >= 30 else article(f"mirrored {number}")
        (site / f"{number}.html").write_text(PAGE.format(f"Page {number}", text, ""))
        links += f'<a href="{number}.html">x</a>'
    (site / "index.html").write_text(PAGE.format("Index", article("mirrored"), links))
    return serve(site), ["--set", "dedup.same_site.links='follow'", "--set", "dedup.cross_site.links='follow'"]


def check_that_alarms_lead_to_their_evidence(page, kinds: set):
    """Each link of a warning leads to the row or the group that it is about, open and in sight."""
    links = page.locator("#attention ~ .warning a").evaluate_all("all => all.map(it => it.getAttribute('href'))")
    assert {link.split("-")[0] for link in links} >= kinds
    for link in links:
        page.locator(f"#attention ~ .warning a[href='{link}']").first.click()
        target = page.locator(f"[id='{link[1:]}']")
        target.wait_for()
        assert target.evaluate("it => { const box = it.getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0; }"), link
        assert target.evaluate("it => it.tagName !== 'DETAILS' || it.open"), link


def test_a_warning_links_to_the_row_or_group_that_it_is_about(chromium, program, mirrored, tmp_path):
    server, follow = mirrored
    subprocess.run([program, *line(server, tmp_path / "run", "--delay", "1ms", *follow)], check=True, capture_output=True)
    report = (tmp_path / "run/report.html").as_uri()
    with window(chromium, report, 1024, "light") as shown:
        # Also if a filter leaves the group out.
        shown.page.select_option("#kind", "near")
        check_that_alarms_lead_to_their_evidence(shown.page, {"#host", "#group"})
        assert shown.faults == []
    with window(chromium, f"{report}#url-http://localhost:{server.server_port}/7.html", 1024, "light") as shown:
        # What has no part of its own is searched.
        assert shown.page.input_value("#find").endswith("/7.html") and shown.page.locator("#clusters li.found").count() > 0
        assert shown.faults == []


def test_an_alarm_of_the_live_page_links_to_the_report_so_far(chromium, program, mirrored, tmp_path):
    server, follow = mirrored
    crawl = Live(program, server, tmp_path / "run", None, "60ms", *follow)
    try:
        with window(chromium, crawl.url, 1024, "light") as shown:
            alarm = shown.page.locator("#alarms .warning a.evidence[href^='report#host-']")
            alarm.first.wait_for(timeout=60_000)
            part = alarm.first.get_attribute("href").split("#")[1]
            alarm.first.click()
            shown.page.locator(f"[id='{part}']").wait_for()
            check_that_alarms_lead_to_their_evidence(shown.page, {"#host"})
            assert shown.page.locator(".badge").text_content() == "running"
            shown.page.locator("header a").click()
            shown.page.locator("#judged tr").first.wait_for()
            assert shown.faults == []
        metrics = urllib.request.urlopen(f"{crawl.url}metrics").read().decode()
        assert 'pagesieve_crawl_alarms_total{kind="mirror"} 1\n' in metrics
    finally:
        crawl.process.kill()
        crawl.process.communicate()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_report_prints_to_a_few_pages(chromium, reports, scheme, tmp_path):
    with window(chromium, reports["trap"], 1024, scheme) as shown:
        page, seen = shown.page, lambda selector: shown.page.locator(f"{selector}:visible").count()
        assert seen("#clusters > details") > 50 and seen(".printed") == 0
        file = tmp_path / "report.pdf"
        page.pdf(path=file, format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", file.read_bytes())) <= 15
        page.emulate_media(media="print")
        assert seen("#clusters > details") == 25 and seen("#clusters > details[open]") == 1, "nothing is opened for it"
        assert seen("#clusters ~ .printed") == 1 and seen(":is(.find, nav, .controls)") == 0
        cut = "[...document.querySelectorAll('.chart, .warning, .figures')].every(it => getComputedStyle(it).breakInside === 'avoid')"
        assert page.evaluate(cut)
        # Ink is dark, whatever the screen.
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
        page.evaluate("for (const it of document.querySelectorAll('#skipped details')) it.open = true")
        assert 0 < seen("#skipped-status tbody tr") <= 25 and seen("#skipped-status .printed") == 1
        assert shown.faults == []


def test_hostile_texts_are_shown_as_text(chromium, reports, trap):
    with window(chromium, reports["trap"], 1024, "light") as shown:
        page, texts = shown.page, trap[1]
        assert len(texts) >= 100
        count = lambda selector: page.locator(selector).count()
        assert count("script") == 1 and count("style") == 1
        assert count("img, iframe, object, embed, base, form, link, video, audio, dialog, textarea, button[formaction], [onload], [onclick]") == 0
        bad = "[...document.querySelectorAll('*')].flatMap(it => [...it.attributes]).filter(it => /^on/.test(it.name)).length"
        assert page.evaluate(bad) == 0
        links = page.locator("a").evaluate_all("all => all.map(it => it.getAttribute('href'))")
        assert [link for link in links if not re.match(r"https?://|#|warc/|[a-z]+\.(jsonl?|sqlite)$", link)] == []
        plain = lambda text: " ".join(text.split())
        titles = {plain(title) for title in page.locator("#clusters .title").all_text_contents()}
        escaped = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
        spelt = lambda text: escaped.sub(lambda it: f"\\u{{{ord(it[0]):x}}}", plain(text))
        cut = lambda text: text if len(text) <= 300 else text[:300] + "…"
        missing = [text for text in texts if cut(spelt(text)) not in titles]
        assert missing == []
        # What differs is read out of the stored texts.
        differences = plain(" ".join(page.locator("#clusters ins").all_text_contents()))
        assert sum(plain(text[:20]) in differences for text in texts) > 30
        assert shown.faults == []


def test_the_report_is_read_without_its_script(chromium, reports):
    with window(chromium, reports["library"], 1024, "light", java_script_enabled=False) as shown:
        page = shown.page
        assert page.locator(".controls").is_hidden()
        assert page.locator("#clusters > details").count() >= 12
        page.locator("#clusters > details").nth(1).locator("summary").first.click()
        assert page.locator("#clusters > details").nth(1).locator("li").first.is_visible()
        assert shown.faults == []


def test_each_cell_has_its_heading_on_a_phone(chromium, reports):
    heading = "getComputedStyle(document.querySelector('{}'), '::before').content"
    with window(chromium, reports["library"], 390, "light") as shown:
        assert shown.page.evaluate(heading.format("#hosts td:nth-child(2)")) == '"Fetched"'
        assert shown.page.evaluate(heading.format("#broken td:nth-child(3)")) == '"On these pages"'
        assert shown.page.locator("#broken thead").is_hidden()
        assert shown.page.locator("#hosts th button").first.is_visible(), "its order can be changed"
    with window(chromium, reports["library"], 1024, "light") as shown:
        assert shown.page.evaluate(heading.format("#broken td:nth-child(3)")) == "none"


def test_of_many_groups_the_first_are_drawn_and_all_are_searched(chromium, program, serve, tmp_path):
    site, groups = tmp_path / "site", 520
    site.mkdir()
    links = ""
    for number in range(groups):
        words = article(f"many {number}").split("\n")[0]
        for name in (f"{number}.html", f"copy-{number}.html"):
            (site / name).write_text(PAGE.format(f"Group {number}", words, ""))
            links += f'<a href="{name}">x</a>'
    (site / "index.html").write_text(PAGE.format("Index", article("many"), links))
    server = serve(site)
    follow = [it for links in ("same_site", "cross_site") for it in ("--set", f"dedup.{links}.links='follow'")]
    arguments = line(server, tmp_path / "run", "--delay", "1ms", *follow)
    # One host is enough.
    subprocess.run([program, *(it for it in arguments if "localhost" not in it)], check=True, capture_output=True)
    report = (tmp_path / "run/report.html").as_uri()
    with window(chromium, report, 1024, "light") as shown:
        page = shown.page
        groups_on_page = page.locator("#clusters > details")
        assert groups_on_page.count() == 500
        assert page.locator("#shown").text_content() == "the first 500 of 520 groups"
        last = page.locator("#clusters > details").nth(499).locator(".title").text_content()
        page.fill("#find", "group 51")
        # 51, 151 to 451, and 510 to 519: the last of them were not drawn.
        assert groups_on_page.count() == 15
        page.fill("#find", "")
        page.locator("#clusters").evaluate("it => it.scrollTop = it.scrollHeight")
        groups_on_page.nth(519).wait_for(state="attached")
        assert groups_on_page.nth(499).locator(".title").text_content() == last
        assert shown.faults == []
    with window(chromium, report, 1024, "light", java_script_enabled=False) as shown:
        assert shown.page.locator("#clusters details").count() == 520


class Live:
    """A crawl with a live page."""

    def __init__(self, program: Path, server, out: Path, token: str | None, delay: str = "150ms", *more: str):
        environment = {name: value for name, value in os.environ.items() if name != "PAGESIEVE_TOKEN"}
        if token:
            environment["PAGESIEVE_TOKEN"] = token
        arguments = line(server, out, "--delay", delay, "--live=127.0.0.1:0", *more)
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        said = next(said for said in self.process.stderr if said.startswith("live page: "))
        self.url = said.split()[-1]


@pytest.fixture
def live(program, serve, trap, tmp_path):
    started = []

    def begin(token: str | None = None) -> Live:
        started.append(Live(program, serve(trap[0]), tmp_path / f"run-{len(started)}", token))
        return started[-1]

    yield begin
    for crawl in started:
        crawl.process.kill()
        crawl.process.communicate()


def test_the_live_page_is_sound_and_accessible(chromium, live):
    crawl = live()
    for width in WIDTHS:
        for scheme in SCHEMES:
            with window(chromium, crawl.url, width, scheme) as shown:
                shown.page.locator("#judged tr").nth(3).wait_for()
                shown.page.locator("#path-unique[d]").wait_for(state="attached")
                shown.page.locator("#chart-rate path[d]").wait_for()
                assert shown.page.locator("#controls").is_hidden()
                shown.keep(f"live-{width}-{scheme}")
                shown.check()


def test_the_live_page_estimates_how_long_what_is_queued_takes(chromium, live):
    crawl = live()
    with window(chromium, crawl.url, 1024, "light") as shown:
        said = shown.page.locator("#rate").filter(has_text="pages a second in the last ")
        said.filter(has_text=re.compile(r"; the \d+ queued URLs take about \d+ (s|min), more if they lead to others$")).wait_for()
        assert shown.page.locator(".suspended").is_hidden(), "no host is suspended"
        assert shown.faults == []


def test_the_live_page_is_read_without_its_script(chromium, live):
    crawl = live()
    with window(chromium, crawl.url, 390, "light", java_script_enabled=False) as shown:
        # It is loaded again and again.
        shown.page.locator("#judged tr").nth(3).wait_for()
        assert int(shown.page.locator("#fetched").text_content().split("of")[0]) > 2
        assert shown.page.locator("#phase").text_content() == "running"
        shown.keep("live-390-no-script")
        assert shown.faults == []


def is_ready(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}readyz").close()
        return True
    except urllib.error.HTTPError:
        return False


def test_the_page_of_the_service_is_sound_and_accessible(chromium, program, trap, tmp_path):
    line = [program, "serve", "--state", tmp_path / "seen.db", "--listen", "127.0.0.1:0"]
    environment = {name: value for name, value in os.environ.items() if name != "PAGESIEVE_TOKEN"}
    service = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        url = next(said for said in service.stderr if said.startswith("listening on ")).split()[-1] + "/"
        while not is_ready(url):
            time.sleep(0.05)
        for number, text in enumerate(trap[1]):
            document = {"id": text[:200], "text": article(f"service {number // 2}")}
            request = urllib.request.Request(f"{url}v1/judge", json.dumps(document).encode())
            urllib.request.urlopen(request).close()
        for width in WIDTHS:
            for scheme in SCHEMES:
                with window(chromium, url, width, scheme) as shown:
                    shown.page.locator("#judged tr").nth(19).wait_for()
                    shown.page.locator("#path-unique[d]").wait_for(state="attached")
                    assert shown.page.locator("#exact").text_content() == str(len(trap[1]) // 2)
                    shown.keep(f"service-{width}-{scheme}")
                    shown.check()
    finally:
        service.terminate()
        service.communicate()


def test_who_has_the_token_controls_the_crawl_from_the_page(chromium, live):
    crawl = live(TOKEN)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(crawl.url)
    for scheme in SCHEMES:
        with window(chromium, f"{crawl.url}?token={quote(TOKEN)}", 390, scheme) as shown:
            page = shown.page
            assert "token" not in page.url
            phase = lambda text: page.locator("#phase").filter(has_text=text).wait_for()
            phase("running")
            page.click("#pause")
            phase("paused")
            shown.keep(f"live-token-{scheme}")
            shown.check()
            page.click("#pause")
            phase("running")
    with window(chromium, f"{crawl.url}?token={quote(TOKEN)}", 1024, "light") as shown:
        shown.page.click("#stop")
        shown.page.locator("#phase").filter(has_text="interrupted").wait_for()
        assert "report.html" in shown.page.locator("#rate").text_content()
        assert shown.page.locator("#controls").is_hidden()
        assert crawl.process.wait(20) == 130


@pytest.mark.skipif("PAGESIEVE_REPORT" not in os.environ, reason="PAGESIEVE_REPORT names no report whose opening is to be timed")
def test_how_long_a_report_takes_to_open(chromium):
    file = Path(os.environ["PAGESIEVE_REPORT"]).resolve()
    for java_script_enabled in (True, False):
        with window(chromium, file.as_uri(), 1600, "light", java_script_enabled=java_script_enabled) as shown:
            assert shown.faults == []
        print(f"{file.stat().st_size / 1e6:.1f} MB, script {java_script_enabled}: opened after {shown.seconds:.2f} s")
