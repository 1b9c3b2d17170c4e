"""Crawls a site with crawl4ai and prints one of each page, as JSON lines.

    pip install crawl4ai
    python crawl4ai_crawler.py https://docs.example.org/ seen.db > pages.jsonl

It fetches pages by HTTP. Leave out the strategy to have a browser load them, after `crawl4ai-setup`.
"""

import asyncio
import json
import sys

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy

from pagesieve import Filter


async def crawl(url: str, path: str | None = None) -> None:
    pages = BFSDeepCrawlStrategy(max_depth=20, max_pages=1000, include_external=False)
    config = CrawlerRunConfig(deep_crawl_strategy=pages, stream=True, cache_mode=CacheMode.BYPASS, verbose=False)
    with Filter(path) as seen:
        async with AsyncWebCrawler(AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:
            async for page in await crawler.arun(url, config=config):
                if not page.success:
                    continue
                decision = seen.judge(html=page.html, url=page.redirected_url or page.url)
                if decision.is_unique:
                    print(json.dumps({"url": decision.id, "markdown": str(page.markdown)}), flush=True)
                else:
                    print(f"{decision.id} repeats {decision.match}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(crawl(*sys.argv[1:3]))
