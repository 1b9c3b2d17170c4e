"""An add-on for Scrapy that drops items and links of duplicate pages.

One line in the settings enables it::

    ADDONS = {"pagesieve.scrapy.Addon": 600}

Each HTML response with a status of 2xx is judged before its callback is called, which finds the decision in ``response.meta["pagesieve"]``. README.md
describes the settings.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from difflib import get_close_matches
from os import makedirs
from os.path import expanduser, join, realpath
from threading import Lock
from time import perf_counter
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.defer import deferred_from_coro

from pagesieve import Filter, StateError

logger = logging.getLogger(__name__)


@dataclass
class Shared:
    """The filter of a file, which the spiders of a process share that name it: a file has one writer."""

    filter: Filter
    options: dict[str, Any]
    spiders: int = 0


#: All settings.
SETTINGS = ("PAGESIEVE_ENABLED", "PAGESIEVE_ITEMS", "PAGESIEVE_LINKS", "PAGESIEVE_OPTIONS", "PAGESIEVE_STATE", "PAGESIEVE_UNCHANGED")

#: Those that are open, by file.
opened: dict[str, Shared] = {}
opening = Lock()


def open_filter(path: str | None, options: dict[str, Any]) -> tuple[Filter, str | None]:
    """A filter, and under which name it is shared."""
    if not path or path == ":memory:" or "://" in path:
        return Filter(path or None, **options), None
    name = realpath(path)
    with opening:
        shared = opened.get(name)
        if shared is None:
            shared = opened[name] = Shared(Filter(path, **options), options)
        elif shared.options != options:
            raise ValueError(f"PAGESIEVE_OPTIONS differ between spiders that share {path}: {options} and {shared.options}; write the same for all")
        shared.spiders += 1
        return shared.filter, name


def close_filter(filter: Filter, name: str | None) -> None:
    """Closes a filter, if no other spider uses it."""
    if name is None:
        filter.close()
        return
    with opening:
        shared = opened[name]
        shared.spiders -= 1
        if shared.spiders == 0:
            del opened[name]
            filter.close()


class Addon:
    """Adds the middleware nearest to the spider: other middlewares do not see what it drops."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", Middleware, 950)


class Middleware(BaseSpiderMiddleware):
    """Judges responses, and drops what spiders yield for duplicates, as far as the settings say so."""

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        settings = crawler.settings
        if not settings.getbool("PAGESIEVE_ENABLED", True):
            raise NotConfigured
        self.asks = not is_crawl(crawler)
        self.failed = False
        # If the filter cannot be opened, the crawl does not begin.
        try:
            check_names(settings)
            self.drops_items = choice(settings, "PAGESIEVE_ITEMS", "skip", "keep") == "skip"
            self.drops_links = choice(settings, "PAGESIEVE_LINKS", "skip", "follow") == "skip"
            self.drops_unchanged = choice(settings, "PAGESIEVE_UNCHANGED", "skip", "keep") == "skip"
            path = path_of(settings, crawler.spidercls.name)
            self.filter, self.name = open_filter(path, options_of(settings))
        except Exception as error:
            # Scrapy shows the traceback, whose last line it is otherwise.
            logger.error("the crawl does not begin: %s", error)
            raise
        self.lasts = path not in (None, ":memory:")
        is_shared = path is not None and "://" in path
        where = "shared" if is_shared else f"in {path}" if self.lasts else "in memory, and forgotten at the end"
        logger.info("the window is %s", where)
        crawler.signals.connect(self.close, signals.spider_closed)
        crawler.signals.connect(self.warn, signals.feed_exporter_closed)
        crawler.signals.connect(self.forget, signals.item_error)

    def warn(self) -> None:
        """Called when all feeds are written."""
        stats = self.crawler.stats.get_stats()
        if self.lasts and not self.asks and any(name.startswith("feedexport/failed_count") for name in stats):
            logger.error("a feed could not be written, but its pages are remembered: to get their items, crawl again with PAGESIEVE_UNCHANGED=keep")

    def close(self) -> None:
        close_filter(self.filter, self.name)

    def process_spider_input(self, response: Response, spider: Any = None) -> None:
        request = response.request
        if request is None:
            return
        request.meta.pop("pagesieve", None)
        wanted = request.meta.get("pagesieve_enabled", True)
        is_page = isinstance(response, HtmlResponse) and 200 <= response.status < 300
        if not wanted or self.failed or not is_page:
            return
        began = perf_counter()
        content_type = response.headers.get("Content-Type") or b""
        try:
            judge = self.filter.check if self.asks else self.filter.judge
            decision = judge(
                html=response.body,
                url=response.url,
                content_type=content_type.decode("latin-1"),
            )
        except (StateError, OSError) as error:
            self.fail(error)
            return
        request.meta["pagesieve"] = decision.to_dict()
        if decision.match is not None:
            logger.debug("%s duplicate: %s of %s (%.2f)", decision.verdict, response, decision.match, decision.similarity)
        self.count(decision.verdict, len(response.body), (perf_counter() - began) * 1000)

    def process_spider_exception(self, response: Response, exception: Exception, spider: Any = None) -> None:
        """Called if the callback fails."""
        self.forget(response)

    def forget(self, response: Response | None) -> None:
        """A page whose callback or item has failed is not remembered: the next crawl gets its items."""
        if self.failed or self.asks or response is None or verdict_of(response) not in ("unique", "changed"):
            return
        try:
            self.filter.remove(response.url)
        except (StateError, OSError) as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Ends the crawl. Pages that cannot be judged are kept."""
        logger.error("cannot judge pages, the crawl ends: %s", error)
        self.failed = True
        deferred_from_coro(self.crawler.engine.close_spider_async(reason="pagesieve_failed"))

    def count(self, verdict: str, size: int, milliseconds: float) -> None:
        stats = self.crawler.stats
        stats.inc_value("pagesieve/judged")
        stats.max_value("pagesieve/judge_ms", round(milliseconds, 3))
        if verdict in ("unique", "unchanged", "changed"):
            stats.inc_value(f"pagesieve/{verdict}")
        else:
            stats.inc_value(f"pagesieve/duplicate/{verdict}")
            stats.inc_value("pagesieve/duplicate_bytes", size)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        # The links of a start page are always followed: otherwise the crawl could not begin.
        if self.drops_links and is_duplicate(response) and not is_start(response) and self.is_link(request, response):
            self.crawler.stats.inc_value("pagesieve/links_dropped")
            return None
        return request

    def is_link(self, request: Request, response: Response | None) -> bool:
        """Whether a request is for another page. A further attempt at the same page, or a form that is sent, is none."""
        asked = None if response is None else response.request
        fingerprinter = self.crawler.request_fingerprinter
        if asked is None or fingerprinter is None:
            return True
        return request.method in ("GET", "HEAD") and fingerprinter.fingerprint(request) != fingerprinter.fingerprint(asked)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        drops = self.drops_items and is_duplicate(response)
        if drops or (self.drops_unchanged and verdict_of(response) == "unchanged"):
            self.crawler.stats.inc_value("pagesieve/items_dropped")
            return None
        return item


def is_crawl(crawler: Crawler) -> bool:
    """Whether a spider crawls: not in `scrapy shell`, which starts no crawl, nor if a command such as `scrapy parse` gives the requests."""
    start = getattr(crawler.spidercls.start, "__module__", None) or ""
    return crawler.crawling and not start.startswith("scrapy.commands.")


def path_of(settings: BaseSettings, spider: str) -> str | None:
    if path := settings.get("PAGESIEVE_STATE"):
        # As in the addresses of feeds.
        return expanduser(str(path)).replace("%(name)s", spider)
    if jobdir := settings.get("JOBDIR"):
        # Scrapy creates it too, but later.
        makedirs(jobdir, exist_ok=True)
        return join(jobdir, "pagesieve.sqlite")
    return None


def check_names(settings: BaseSettings) -> None:
    for name in settings:
        if str(name).startswith("PAGESIEVE_") and name not in SETTINGS:
            near = get_close_matches(str(name), SETTINGS, 1)
            raise ValueError(f"{name} is no setting: " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(SETTINGS)}"))


def options_of(settings: BaseSettings) -> dict[str, Any]:
    try:
        given = settings.getdict("PAGESIEVE_OPTIONS")
    except (TypeError, ValueError) as error:
        message = f"PAGESIEVE_OPTIONS is {settings.get('PAGESIEVE_OPTIONS')!r}: write a dict, or one as JSON, such as {{\"mode\": \"strict\"}}"
        raise ValueError(message) from error
    return {"seed": "secret", **given}


def choice(settings: BaseSettings, name: str, default: str, other: str) -> str:
    value = settings.get(name, default)
    if value not in (default, other):
        raise ValueError(f"{name} is {value!r}: write {default!r} or {other!r}")
    return value


def verdict_of(response: Response | None) -> str | None:
    if response is None or response.request is None:
        return None
    decision = response.meta.get("pagesieve")
    return decision and decision["verdict"]


def is_duplicate(response: Response | None) -> bool:
    return verdict_of(response) in ("exact", "near")


def is_start(response: Response | None) -> bool:
    return response is not None and response.meta.get("is_start_request", False)
