"""Crawls a site with Scrapy and keeps one of each page: no items and no links of duplicates.

    scrapy runspider scrapy_spider.py -a url=https://docs.example.org/ -s JOBDIR=job -O pages.jsonl

With `JOBDIR`, a crawl that was stopped continues with its window: run the same command again. To crawl again later and get only new and changed
pages, name a file for the window, and no `JOBDIR`: -s PAGESIEVE_STATE=seen.db
"""

from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class Pages(scrapy.Spider):
    name = "pages"
    custom_settings = {"ADDONS": {"pagesieve.scrapy.Addon": 600}}

    def __init__(self, url: str, **arguments):
        super().__init__(**arguments)
        self.start_urls = [url]
        self.links = LinkExtractor(allow_domains=[urlsplit(url).netloc])

    async def start(self):
        # By default Scrapy does not note these requests, and a link leads to a second one.
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response):
        if not isinstance(response, HtmlResponse):
            # An image or a PDF has no title and no links, and is not judged.
            return
        decision = response.meta["pagesieve"]
        yield {"url": response.url, "title": response.css("title::text").get(), "lang": decision["lang"]}
        yield from response.follow_all(self.links.extract_links(response))
