#!/usr/bin/env python3
"""Makes the manifest that `measure.py` reads (see `pages.py`), and copies the pages beside it.

    git clone https://github.com/scrapinghub/article-extraction-benchmark articles
    git clone https://github.com/mozilla/readability
    git clone https://github.com/opendatalab/magic-html
    python3 benches/swap/manifest.py labelled --articles articles --readability readability --magic-html magic-html
    python3 benches/swap/manifest.py sites benches/swap/sites.toml --root checkouts

`labelled` takes the article bodies of article-extraction-benchmark, the expected results of Readability's tests, and the labels of
magic-html's benchmark (articles and forums, a third of them in Chinese or Japanese). `sites` takes checkouts of static sites and of test
pages, in folders below --root, and a file that says for each site which element holds the article:

    drop = [".headerlink"]          # for all sites: never part of an article

    [[site]]
    folder = "someone.github.io"    # below --root
    lang = "zh"
    kind = "blog"
    container = "#article"          # a simple CSS selector or an XPath; pages without exactly one such element are skipped
    drop = [".reward"]              # what else in it is not the article
    theme = "butterfly"             # sites of one theme belong to one half; default: the site's name
    name = "someone.github.io"      # default: the folder's name
    include = "^20"                 # regular expression on the path, to be found in it
    exclude = "/tags/"
    pages = 20                      # at most

A label is left out if more than a quarter of it is not on its page. A site's page is left out if its article has fewer than 40
characters, is mostly code or lists, is in another language, or is that of an earlier page of its site. Each run replaces the lines of its
sites in the manifest and keeps the others.
"""

import argparse
import gzip
import json
import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from pages import decode, draw, half_of, has_prose, language, parse, phrases, squeeze, visible_text, xpath

LEAST = 40
# A label counts if this share of its phrases is on the page.
ON_PAGE = 0.75
# Slides of a show, whose labels have one slide each and whose pages have all.
UNSURE = {"58dcad784309d2ef", "82da43b1a1c4425a"}
LARGEST = 700_000
# Lists of pages, which have no article of their own.
LISTS = re.compile(r"(^|/)(archives?|tags?|categor(y|ies)|page|about|links?|friends?|search|404|lib|css|js)(/|\.html?$)(?!.*\d{4}/.*/)")


def host_of(tree, otherwise):
    """The host of a page according to its canonical link."""
    for address in tree.xpath("//link[@rel='canonical']/@href | //meta[@property='og:url']/@content"):
        if host := urlsplit(address).hostname:
            return host.removeprefix("www.")
    return otherwise


def articles(root):
    for name, entry in sorted(json.loads((root / "ground-truth.json").read_text("utf-8")).items()):
        yield name, gzip.decompress((root / "html" / f"{name}.html.gz").read_bytes()), entry["articleBody"]


def readability(root):
    for folder in sorted((root / "test" / "test-pages").iterdir()):
        gold = parse((folder / "expected.html").read_text("utf-8"))
        if gold is not None:
            yield folder.name, (folder / "source.html").read_bytes(), visible_text(gold)


def magic_html(root, kind):
    """The pages with their addresses in place of names."""
    folder = root / "benchmark" / "data" / kind
    for name, entry in sorted(json.loads((folder / "base.json").read_text("utf-8")).items()):
        file = folder / "htmls" / f"{name}.html"
        if file.exists() and file.stat().st_size <= LARGEST:
            yield name[:16], file.read_bytes(), entry["content"], urlsplit(entry["url"]).hostname.removeprefix("www.")


def is_on(tree, gold):
    """Whether a label is what a reader of the page sees. Some are of another version of the page."""
    labelled = phrases(gold, language(gold))
    seen = phrases(visible_text(tree), language(gold))
    return len(labelled & seen) >= ON_PAGE * len(labelled)


def labelled(options):
    """Pages with labels. A page's name decides on its half, or its host if that is known to the set."""
    sets = [
        ("articles", "article", articles(options.articles) if options.articles else ()),
        ("readability", "article", readability(options.readability) if options.readability else ()),
        ("magic-article", "article", magic_html(options.magic_html, "article") if options.magic_html else ()),
        ("magic-forum", "forum", magic_html(options.magic_html, "forum") if options.magic_html else ()),
    ]
    for name, kind, pages in sets:
        for page, raw, gold, *host in pages:
            tree = parse(decode(raw))
            if tree is None or len(squeeze(gold)) < LEAST or page in UNSURE or not is_on(tree, gold):
                continue
            yield raw, {
                "path": f"pages/{name}/{page}.html",
                "site": host[0] if host else host_of(tree, page),
                "lang": language(gold),
                "kind": kind,
                "half": half_of(host[0] if host else page),
                "set": name,
                "gold": gold,
            }


def all_of(tree, selectors):
    return {element for selector in selectors for element in tree.xpath(xpath(selector))}


def article(tree, site, common):
    """The text of the article of a page, or None if that is not clear."""
    found = tree.xpath(xpath(site["container"]))
    if len(found) != 1:
        return None
    dropped = all_of(tree, [*common, *site.get("drop", [])])
    gold = visible_text(found[0], dropped)
    code = squeeze("".join(visible_text(block, dropped) for block in found[0].iter("pre", "table")))
    clear = len(squeeze(gold)) >= LEAST and 2 * len(code) <= len(squeeze(gold)) and has_prose(gold)
    return gold if clear and language(gold) == site["lang"] else None


def of_site(folder, site, common):
    name = site.get("name", site["folder"])
    files = []
    for file in (folder / site["folder"]).rglob("*.htm*"):
        path = file.relative_to(folder / site["folder"]).as_posix()
        wanted = re.search(site.get("include", ""), path) and not ("exclude" in site and re.search(site["exclude"], path))
        if wanted and ("include" in site or not LISTS.search(path)) and file.is_file() and file.stat().st_size <= LARGEST:
            files.append((draw(f"{name}/{path}"), path, file))
    known, taken = set(), 0
    for _, path, file in sorted(files):
        raw = file.read_bytes()
        tree = parse(decode(raw))
        gold = article(tree, site, common) if tree is not None else None
        if gold is None or squeeze(gold) in known:
            continue
        known.add(squeeze(gold))
        taken += 1
        yield raw, {
            "path": f"pages/{name}/{taken:02}.html",
            "site": name,
            "lang": site["lang"],
            "kind": site["kind"],
            "half": half_of(site.get("theme", name)),
            "set": site.get("theme", name),
            "source": path,
            "gold": gold,
        }
        if taken >= site.get("pages", 20):
            break


def sites(options):
    table = tomllib.loads(options.sites.read_text("utf-8"))
    for site in table["site"]:
        count = 0
        for entry in of_site(options.root, site, table.get("drop", [])):
            count += 1
            yield entry
        print(f"{count:4} pages of {site.get('name', site['folder'])}", flush=True)


def write(folder, entries):
    """Replaces the lines of the sites that were made, keeps those of the others."""
    rows = []
    for raw, row in entries:
        file = folder / row["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
        rows.append(row)
    manifest = folder / "pages.jsonl"
    made = {Path(row["path"]).parent for row in rows}
    old = [json.loads(line) for line in manifest.read_text("utf-8").splitlines()] if manifest.exists() else []
    rows += [row for row in old if Path(row["path"]).parent not in made]
    rows.sort(key=lambda row: row["path"])
    manifest.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    print(f"{len(rows)} pages in {manifest}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("labelled", help="the pages of three benchmarks")
    command.add_argument("--articles", type=Path, help="checkout of article-extraction-benchmark")
    command.add_argument("--readability", type=Path, help="checkout of mozilla/readability")
    command.add_argument("--magic-html", type=Path, help="checkout of opendatalab/magic-html")
    command.set_defaults(make=labelled)
    command = commands.add_parser("sites", help="static sites and test pages whose containers are known")
    command.add_argument("sites", type=Path, help="file with the sites, as above")
    command.add_argument("--root", type=Path, required=True, help="folder that has the checkouts")
    command.set_defaults(make=sites)
    for command in commands.choices.values():
        command.add_argument("--out", type=Path, default=Path("target/swap-pages"), help="folder for pages and manifest")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out, options.make(options))


if __name__ == "__main__":
    main()
