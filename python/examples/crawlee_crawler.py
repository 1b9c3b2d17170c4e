"""Crawls a site with Crawlee and keeps one of each page.

    python crawlee_crawler.py https://docs.example.org/ seen.db
"""

import asyncio
import sys

from crawlee.crawlers import ParselCrawler, ParselCrawlingContext

from pagesieve import Filter


async def crawl(url: str, path: str | None = None) -> None:
    seen = Filter(path)
    crawler = ParselCrawler(max_requests_per_crawl=1000)

    @crawler.router.default_handler
    async def keep(context: ParselCrawlingContext) -> None:
        body = await context.http_response.read()
        url = context.request.loaded_url or context.request.url
        decision = seen.judge(html=body, url=url, content_type=context.http_response.headers.get("content-type"))
        if decision.is_unique:
            await context.push_data({"url": url, "title": context.selector.css("title::text").get()})
            await context.enqueue_links()
        else:
            context.log.info(f"{url} repeats {decision.match}")

    await crawler.run([url])
    await crawler.export_data("pages.json")
    seen.close()


if __name__ == "__main__":
    asyncio.run(crawl(*sys.argv[1:3]))
