"""Real crawls by Scrapy, of pages that are served on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("scrapy")

SPIDER = Path(__file__).parents[1] / "examples/scrapy_spider.py"
# One request at a time, in the order in which links were found.
IN_ORDER = {
    "CONCURRENT_REQUESTS": 1,
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "TELNETCONSOLE_ENABLED": "False",
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": "False",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
}


def command(url, folder, **settings):
    settings = {**IN_ORDER, "STATS_DUMP": "True", **settings}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    output = ["-o", str(folder / "pages.jsonl")]
    return [sys.executable, "-m", "scrapy", "runspider", str(SPIDER), "-a", f"url={url}", *output, *options]


def changed(folder, line, replacements):
    """The command with a spider that differs from the example."""
    code = SPIDER.read_text()
    for old, new in replacements.items():
        assert old in code
        code = code.replace(old, new)
    (folder / "spider.py").write_text(code)
    return [str(folder / "spider.py") if part == str(SPIDER) else part for part in line]


def crawl(url, folder, **settings):
    """The pages that were kept, and the log."""
    done = subprocess.run(command(url, folder, **settings), capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    return kept(folder), done.stderr


def kept(folder):
    output = folder / "pages.jsonl"
    return [json.loads(line)["url"] for line in output.read_text().splitlines()] if output.exists() else []


def stat(log, name):
    found = [line for line in log.splitlines() if f"'pagesieve/{name}'" in line]
    return int(found[0].split(": ")[1].rstrip(",}")) if found else 0


def test_items_and_links_of_duplicates_are_dropped(serve, site, tmp_path):
    server = serve(site)
    found, log = crawl(server.url + "index.html", tmp_path)
    assert len(found) == 11 and not any("print" in url for url in found)
    assert not any("only" in path for path in server.requested)
    assert [stat(log, name) for name in ("judged", "unique", "duplicate/exact", "items_dropped", "links_dropped")] == [14, 11, 3, 3, 3]
    assert "ERROR" not in log and "Warning" not in log, log


def test_the_settings_choose_what_is_dropped(serve, site, tmp_path):
    server = serve(site)
    found, log = crawl(server.url + "index.html", tmp_path, PAGESIEVE_ITEMS="keep", PAGESIEVE_LINKS="follow")
    assert len(found) == 17 and stat(log, "judged") == 17
    (tmp_path / "links").mkdir()
    found, _ = crawl(server.url + "index.html", tmp_path / "links", PAGESIEVE_LINKS="follow")
    assert len(found) == 14 and sum("only" in url for url in found) == 3
    (tmp_path / "strict").mkdir()
    _, log = crawl(server.url + "index.html", tmp_path / "strict", PAGESIEVE_OPTIONS='{"mode": "strict"}')
    assert stat(log, "judged") == 14


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"PAGESIEVE_ITEMS": "drop"}, "PAGESIEVE_ITEMS is 'drop': write 'skip' or 'keep'"),
        ({"PAGESIEVE_OPTIONS": "strict"}, "PAGESIEVE_OPTIONS is 'strict': write a dict, or one as JSON"),
        ({"PAGESIEVE_OPTIONS": '{"radius": 12}'}, "radius 12 is too large: write 0 to 11"),
        ({"PAGESIEVE_STAT": "seen.db"}, "PAGESIEVE_STAT is no setting: did you mean PAGESIEVE_STATE?"),
        ({"PAGESIEVE_STATE": "none/seen.db"}, "none/seen.db: No such file or directory"),
    ],
)
def test_a_wrong_setting_is_named_and_nothing_is_requested(serve, site, tmp_path, setting, said):
    server = serve(site)
    wrong = subprocess.run(command(server.url, tmp_path, **setting), capture_output=True, text=True, cwd=tmp_path)
    [line] = [line for line in wrong.stderr.splitlines() if "[pagesieve.scrapy] ERROR" in line]
    assert "the crawl does not begin: " in line and said in line, wrong.stderr
    assert server.requested == [] and not (tmp_path / "none").exists()
    if "PAGESIEVE_STATE" in setting:
        from pagesieve import Filter, StateError

        with pytest.raises(StateError) as error:
            Filter("none/seen.db")
        assert str(error.value) in line


def test_a_further_attempt_at_a_duplicate_is_no_link_of_it(serve, site, tmp_path):
    server = serve(site)
    line = command(server.url + "index.html", tmp_path)
    place = 'decision = response.meta["pagesieve"]'
    again = 'if "print" in response.url and not response.meta.get("again"): yield response.request.replace(dont_filter=True, meta={"again": True})'
    done = subprocess.run(changed(tmp_path, line, {place: f"{place}\n        {again}"}), capture_output=True, text=True, cwd=tmp_path)
    assert [server.requested.count(f"/print/{name}.html") for name in ("apple", "basalt", "cedar")] == [2, 2, 2], done.stderr
    assert not any("only" in path for path in server.requested) and stat(done.stderr, "links_dropped") == 6


def test_the_log_says_where_the_window_is_and_what_repeats_what(serve, site, tmp_path):
    server = serve(site)
    _, log = crawl(server.url + "index.html", tmp_path, PAGESIEVE_STATE="seen-%(name)s.db")
    assert "[pagesieve.scrapy] INFO: the window is in seen-pages.db" in log and (tmp_path / "seen-pages.db").exists()
    assert f"exact duplicate: <200 {server.url}print/apple.html> of {server.url}apple.html (1.00)" in log
    (tmp_path / "memory").mkdir()
    _, log = crawl(server.url + "index.html", tmp_path / "memory", LOG_LEVEL="INFO")
    assert "the window is in memory, and forgotten at the end" in log and "exact duplicate" not in log


def test_a_feed_that_could_not_be_written_is_no_reason_to_lose_its_items(serve, site, tmp_path):
    server = serve(site)
    line = command(server.url + "index.html", tmp_path, PAGESIEVE_STATE="seen.db")
    failing = """
import scrapy.extensions.feedexport
def fail(self, file): raise OSError("no upload")
scrapy.extensions.feedexport.FileFeedStorage.store = fail
"""
    changed(tmp_path, line, {})
    spider = tmp_path / "spider.py"
    spider.write_text(spider.read_text().replace("import scrapy\n", "import scrapy\n" + failing, 1))
    done = subprocess.run([str(spider) if part == str(SPIDER) else part for part in line], capture_output=True, text=True, cwd=tmp_path)
    assert "crawl again with PAGESIEVE_UNCHANGED=keep" in done.stderr, done.stderr
    (tmp_path / "pages.jsonl").unlink(missing_ok=True)
    found, log = crawl(server.url + "index.html", tmp_path, PAGESIEVE_STATE="seen.db", PAGESIEVE_UNCHANGED="keep")
    assert len(found) == 11 and "could not be written" not in log


def test_it_can_be_switched_off(serve, site, tmp_path):
    server = serve(site)
    line = command(server.url + "index.html", tmp_path, PAGESIEVE_ENABLED="False")
    line = changed(tmp_path, line, {'response.meta["pagesieve"]': '{"lang": None}'})
    assert subprocess.run(line, capture_output=True, cwd=tmp_path).returncode == 0
    assert len(kept(tmp_path)) == 17


def test_a_crawl_that_is_stopped_and_continued_keeps_its_window(serve, site, tmp_path):
    server = serve(site)
    url, settings = server.url + "index.html", {"JOBDIR": "job", "DOWNLOAD_DELAY": 0.1, "RANDOMIZE_DOWNLOAD_DELAY": "False"}
    first = subprocess.Popen(command(url, tmp_path, **settings), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(server.requested) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    _, log = first.communicate(timeout=60)
    before = stat(log, "judged")
    assert 4 <= before < 14, log
    assert (tmp_path / "job/pagesieve.sqlite").exists()
    found, second = crawl(url, tmp_path, JOBDIR="job")
    # Also the start page is fetched once, because the spider has Scrapy note its request.
    assert before + stat(second, "judged") == 14
    assert len(found) == 11 and len(set(found)) == 11 and not any("print" in url for url in found)
    assert stat(log, "duplicate/exact") + stat(second, "duplicate/exact") == 3


def test_a_file_of_something_else_is_refused_before_the_crawl(serve, site, tmp_path):
    server = serve(site)
    (tmp_path / "seen.db").write_text("no state" * 1000)
    line = command(server.url + "index.html", tmp_path, PAGESIEVE_STATE="seen.db")
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert "Error: seen.db" in done.stderr and server.requested == []


BROKEN = """
import pagesieve.scrapy

class Broken:
    def __init__(self, *_, **options): pass
    def judge(self, **page): raise pagesieve.StateError("no room left")
    def close(self): pass

pagesieve.scrapy.Filter = Broken
"""


def test_a_state_that_fails_ends_the_crawl_and_the_page_is_kept(serve, site, tmp_path):
    server = serve(site)
    line = changed(tmp_path, command(server.url + "apple.html", tmp_path), {})
    spider = tmp_path / "spider.py"
    spider.write_text(BROKEN + spider.read_text().replace('response.meta["pagesieve"]', '{"lang": None}'))
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert "cannot judge pages, the crawl ends: no room left" in done.stderr
    assert "'finish_reason': 'pagesieve_failed'" in done.stderr
    assert len(kept(tmp_path)) == 1


def test_verdicts_are_those_of_the_crawler(serve, program, data, tmp_path):
    """A site of real pages with an older version and translations, by Scrapy and by `pagesieve crawl`."""
    server = serve(data / "pages/faq")
    start = f"{server.url}bookworm/en/index.en.html"
    other = start.replace("bookworm", "bullseye")
    line = command(start, tmp_path, PAGESIEVE_OPTIONS='{"seed": "public"}')
    line = changed(tmp_path, line, {"self.start_urls = [url]": f"self.start_urls = [url, {other!r}]"})
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = f"""
        crawl = {{ user_agent = "test/1.0 (+https://example.org/)", concurrency = 1 }}
        politeness = {{ delay = "0s" }}
        fetch = {{ allow_private = ["127.0.0.0/8"] }}
        dedup = {{ seed = "public" }}
        [[seeds]]
        url = "{start}"
        [[seeds]]
        url = "{other}"
    """
    (tmp_path / "faq.toml").write_text(config)
    subprocess.run([program, "crawl", "faq.toml"], cwd=tmp_path, check=True, capture_output=True)
    stored = [json.loads(line)["url"] for line in (tmp_path / "runs/faq/pages.jsonl").open()]
    assert len(stored) > 15
    # Scrapy fetches start pages again if other pages link to them.
    assert sorted(set(kept(tmp_path))) == sorted(stored)


def test_a_crawl_that_runs_again_gives_only_what_is_new_or_has_changed(serve, site, tmp_path):
    server = serve(site)
    url, settings = server.url + "index.html", {"PAGESIEVE_STATE": "seen.db"}
    found, _ = crawl(url, tmp_path, **settings)
    assert len(found) == 11
    output = tmp_path / "pages.jsonl"
    output.unlink()
    found, log = crawl(url, tmp_path, **settings)
    assert found == [] and stat(log, "unchanged") == 11 and stat(log, "items_dropped") == 14
    page = site / "juniper.html"
    page.write_text(page.read_text().replace("</article>", "<p>There is a further paragraph now.</p></article>"))
    found, log = crawl(url, tmp_path, **settings)
    assert found == [server.url + "juniper.html"] and stat(log, "changed") == 1
    output.unlink()
    found, _ = crawl(url, tmp_path, PAGESIEVE_UNCHANGED="keep", **settings)
    assert len(found) == 11


def test_what_is_no_html_is_passed_over(serve, site, tmp_path):
    server = serve(site)
    (site / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (site / "start.html").write_text('<title>x</title><p>Three words here.<a href="photo.txt">photo</a>')
    (site / "photo.txt").write_text("plain")
    _, log = crawl(server.url + "start.html", tmp_path)
    assert "ERROR" not in log and "Traceback" not in log, log
    _, log = crawl(server.url + "photo.png", tmp_path)
    assert "ERROR" not in log and "Traceback" not in log, log


def test_a_file_of_the_addon_is_opened_with_its_own_seed(serve, site, tmp_path, program):
    from pagesieve import Filter

    server = serve(site)
    crawl(server.url + "index.html", tmp_path, PAGESIEVE_STATE="seen.db")
    with Filter(tmp_path / "seen.db") as seen:
        assert len(seen) == 11 and server.url + "apple.html" in seen
    line = json.dumps({"id": "copy", "url": "http://other.test/", "html": (site / "apple.html").read_text()})
    done = subprocess.run([program, "filter", "--state", tmp_path / "seen.db"], input=line, capture_output=True, text=True)
    assert json.loads(done.stdout)["match"]["id"] == server.url + "apple.html", done.stderr


@pytest.mark.parametrize("broken", ["at once", "in a generator"])
def test_a_page_whose_callback_failed_comes_again(serve, site, tmp_path, broken):
    server = serve(site)
    url, settings = server.url + "index.html", {"PAGESIEVE_STATE": "seen.db"}
    line = command(url, tmp_path, **settings)
    fails = 'if "cedar" in response.url: raise KeyError("mine")'
    place = 'decision = response.meta["pagesieve"]'
    if broken == "at once":
        # No generator.
        replaced = {"def parse(self, response):": f"def parse(self, response):\n        {fails}\n        return self.parse_more(response)\n\n    def parse_more(self, response):"}
    else:
        replaced = {place: f"{place}\n        {fails}"}
    done = subprocess.run(changed(tmp_path, line, replaced), capture_output=True, text=True, cwd=tmp_path)
    assert "KeyError: 'mine'" in done.stderr and not any("cedar" in it for it in kept(tmp_path))
    first = kept(tmp_path)
    found, log = crawl(url, tmp_path, **settings)
    assert [it for it in found if it not in first] == [server.url + "cedar.html"] and len(found) == 11
    assert stat(log, "unchanged") == 10
    found, log = crawl(url, tmp_path, **settings)
    assert len(found) == 11 and stat(log, "unchanged") == 11


@pytest.mark.parametrize("exception", ["KeyError", "DropItem"])
def test_a_page_whose_item_failed_comes_again(serve, site, tmp_path, exception):
    server = serve(site)
    url = server.url + "index.html"
    pipeline = f"""
from scrapy.exceptions import DropItem

class Pipeline:
    async def process_item(self, item):
        if "cedar" in item["url"]:
            raise {exception}("mine")
        return item
"""
    (tmp_path / "pipeline.py").write_text(pipeline)
    # It replaces the setting of the spider.
    settings = {"PAGESIEVE_STATE": "seen.db", "ITEM_PIPELINES": '{"pipeline.Pipeline": 1}'}
    line = command(url, tmp_path, **settings)
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path(tmp_path)})
    assert "mine" in done.stderr and len(kept(tmp_path)) == 10, done.stderr
    first = kept(tmp_path)
    found, log = crawl(url, tmp_path, PAGESIEVE_STATE="seen.db")
    again = [server.url + "cedar.html"] if exception == "KeyError" else []
    assert found == first + again and stat(log, "unchanged") == 11 - len(again)


def path(folder):
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def test_a_page_that_is_not_found_is_not_judged(serve, site, tmp_path):
    server = serve(site)
    (site / "start.html").write_text('<title>x</title><p>Three words here.<a href="dead-1.html">1</a><a href="dead-2.html">2</a>')
    url, settings = server.url + "start.html", {"PAGESIEVE_STATE": "seen.db", "HTTPERROR_ALLOW_ALL": "True"}
    line = changed(tmp_path, command(url, tmp_path, **settings), {'response.meta["pagesieve"]': '{"lang": None}'})
    for crawls in (1, 2):
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert stat(done.stderr, "judged") == 1, done.stderr
        assert sum("dead" in it for it in kept(tmp_path)) == 2 * crawls


def test_debugging_consumes_no_page(serve, site, tmp_path):
    server = serve(site)
    url = server.url + "apple.html"
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine.settings\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/__init__.py").write_text("")
    (tmp_path / "mine/settings.py").write_text(
        'SPIDER_MODULES = ["mine.spider"]\nADDONS = {"pagesieve.scrapy.Addon": 600}\nPAGESIEVE_STATE = "seen.db"\nTELNETCONSOLE_ENABLED = False\n'
    )
    spider = f"""
import scrapy

class Mine(scrapy.Spider):
    name = "mine"
    start_urls = [{url!r}]

    def parse(self, response):
        \"\"\"
        @url {url}
        @returns items 1 1
        \"\"\"
        yield {{"url": response.url, "verdict": response.meta["pagesieve"]["verdict"]}}
"""
    (tmp_path / "mine/spider.py").write_text(spider)

    def scrapy(*line):
        done = subprocess.run([sys.executable, "-m", "scrapy", *line], capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        return done.stdout

    assert "unique" in scrapy("shell", url, "-c", 'response.meta["pagesieve"]["verdict"]')
    assert "'unique'" in scrapy("parse", "--spider", "mine", "--nocolour", url)
    scrapy("check", "mine")
    scrapy("fetch", "--spider", "mine", url)
    scrapy("crawl", "mine", "-o", "pages.jsonl")
    assert kept(tmp_path) == [url]
    assert "unchanged" in scrapy("shell", url, "-c", 'response.meta["pagesieve"]["verdict"]')


TWO = """
import sys
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class One(Spider):
    name = "one"
    custom_settings = {"PAGESIEVE_OPTIONS": %s}
    start_urls = sys.argv[1:2]
    def parse(self, response):
        yield {"url": response.url}

class Two(One):
    name = "two"
    custom_settings = {}
    start_urls = sys.argv[2:3]

process = AsyncCrawlerProcess({
    "ADDONS": {"pagesieve.scrapy.Addon": 600}, "PAGESIEVE_STATE": "seen.db", "TELNETCONSOLE_ENABLED": False,
    "FEEDS": {"%%(name)s.jsonl": {"format": "jsonlines", "overwrite": False}},
})
process.crawl(One)
process.crawl(Two)
process.start()

# The last one has closed it.
import pagesieve
with pagesieve.Filter("seen.db") as seen:
    print(len(seen))
"""


def test_spiders_of_a_process_share_a_file(serve, site, tmp_path):
    server = serve(site)
    (tmp_path / "two.py").write_text(TWO % "{}")
    line = [sys.executable, "two.py", server.url + "apple.html", server.url + "basalt.html"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert "ERROR" not in done.stderr and done.stdout.split() == ["2"], done.stderr
    assert (tmp_path / "one.jsonl").exists() and (tmp_path / "two.jsonl").exists()
    (tmp_path / "two.py").write_text(TWO % '{"mode": "strict"}')
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert "PAGESIEVE_OPTIONS differ between spiders that share seen.db" in done.stderr, done.stderr
