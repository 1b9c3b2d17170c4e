"""Crawls a site with Scrapy and keeps one of each page: no items and no links of duplicates.

    scrapy runspider scrapy_spider.py -a url=https://docs.example.org/ -s JOBDIR=job -O pages.jsonl

With `JOBDIR`, a crawl that was stopped continues with its window: run the same command again.
"""

from urllib.parse import urlsplit

import scrapy
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
        decision = response.meta["pagesieve"]
        yield {"url": response.url, "title": response.css("title::text").get(), "lang": decision["lang"]}
        yield from response.follow_all(self.links.extract_links(response))
