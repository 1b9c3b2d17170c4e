#!/usr/bin/env python3
"""Measures body text against labelled pages and compares it with other extractors.

    git clone https://github.com/scrapinghub/article-extraction-benchmark articles
    git clone https://github.com/mozilla/readability
    git clone https://github.com/Murrough-Foley/web-content-extraction-benchmark kinds
    python3 -m venv venv
    venv/bin/pip install html-text readability-lxml trafilatura resiliparse
    cargo build --release
    venv/bin/python benches/extraction_quality.py --articles articles --readability readability --data ../shared/data --kinds kinds

The measure is that of article-extraction-benchmark, whose evaluate.py is imported: multisets of four adjacent words, precision and
recall averaged over the pages, F1 of the two means. Each set is split by a hash of the page's name. The rules were tuned on the half
`tuned`; no page of the half `held out` was read, but its scores were seen and influenced one or two choices. The pages of `main` were
used for tuning as well (see `src/extract/mod.rs`).

The pages of --kinds are of many kinds: articles, forums, products, lists. They are measured as their evaluate.py does: multisets of words,
F1 of each page, and its mean by kind. The rules were tuned on the half `tuned` of its pages in `dev`; the pages in `test` are apart.

Peers' texts are kept in the folder --cache, because they take minutes.
"""

import argparse
import collections
import gzip
import hashlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import html_text


def articles(root):
    """The pages of article-extraction-benchmark with their article bodies."""
    truth = json.loads((root / "ground-truth.json").read_text("utf-8"))
    for name, entry in sorted(truth.items()):
        markup = gzip.decompress((root / "html" / f"{name}.html.gz").read_bytes()).decode("utf-8")
        yield name, markup, entry["articleBody"]


def readability(root):
    """The test pages of mozilla/readability with the text of the expected results."""
    for folder in sorted((root / "test" / "test-pages").iterdir()):
        markup = (folder / "source.html").read_text("utf-8")
        yield folder.name, markup, html_text.extract_text((folder / "expected.html").read_text("utf-8"))


def main_text(root):
    """The development pages with their main texts."""
    for line in (root / "main_text.jsonl").read_text("utf-8").splitlines():
        label = json.loads(line)
        markup = (root / "pages" / label["path"]).read_bytes().decode("utf-8", "replace")
        yield label["path"], markup, label["main_text"]


def by_kind(root):
    """The pages of web-content-extraction-benchmark with their main contents, by their kinds."""
    kinds = collections.defaultdict(list)
    for split in ("dev", "test"):
        for file in sorted((root / split / "ground-truth").iterdir()):
            label = json.loads(file.read_text("utf-8"))
            markup = gzip.decompress((root / split / "html" / f"{file.stem}.html.gz").read_bytes()).decode("utf-8", "replace")
            kind = label["_internal"]["page_type"]["primary"]
            kinds[kind].append((f"{split}/{file.stem}", markup, label["ground_truth"].get("main_content") or ""))
    return kinds


def by_readability_lxml(markup):
    from readability import Document

    return html_text.extract_text(Document(markup).summary(html_partial=True))


def by_trafilatura(markup):
    import trafilatura

    return trafilatura.extract(markup, include_comments=False)


def by_resiliparse(markup):
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(markup, main_content=True, alt_texts=False)


PEERS = {
    "readability-lxml": by_readability_lxml,
    "trafilatura": by_trafilatura,
    "resiliparse": by_resiliparse,
}


def of_peer(name, pages, cache):
    """The results of a peer; an empty text where it fails."""
    if cache.exists():
        return json.loads(cache.read_text("utf-8"))
    texts = {}
    for page, markup, _ in pages:
        try:
            texts[page] = PEERS[name](markup) or ""
        except Exception as error:  # A peer that fails on a page has no text for it.
            print(f"{name} failed on {page}: {error}", file=sys.stderr)
            texts[page] = ""
    cache.write_text(json.dumps(texts), "utf-8")
    return texts


def of_pagesieve(program, pages):
    """The results of this program, in one call."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, (_, markup, _) in enumerate(pages):
            file = Path(folder) / f"{number:05}.html"
            # The byte order mark ensures that the peers and this program read the same characters.
            file.write_text("\ufeff" + markup, "utf-8", errors="replace", newline="")
            files.append(str(file))
        lines = subprocess.run([program, "extract", folder], check=True, capture_output=True).stdout
        texts = {}
        for line in lines.decode("utf-8").splitlines():
            document = json.loads(line)
            texts[pages[int(Path(document["id"]).stem)][0]] = document["text"]
        return texts


def is_held_out(page):
    return hashlib.sha256(page.encode()).digest()[0] % 2 == 1


def of_words(truth, text):
    """F1, precision and recall of the words of a page."""
    true, own = (collections.Counter(re.findall(r"\w+", text.lower())) for text in (truth, text))
    both = (true & own).total()
    if not true:
        return 3 * (float(not own),)
    precision, recall = both / max(own.total(), 1), both / true.total()
    return 2 * precision * recall / max(precision + recall, 1e-9), precision, recall


def print_kinds(options):
    everything = collections.defaultdict(list)
    for kind, pages in sorted(by_kind(options.kinds).items()):
        texts = of_pagesieve(options.pagesieve, pages)
        for page, _, truth in pages:
            half = "test" if page.startswith("test/") else "held out" if is_held_out(page) else "tuned"
            for name in (kind, "all kinds"):
                everything[name, half].append(of_words(truth, texts[page]))
    for (kind, half), scores in sorted(everything.items()):
        f1, precision, recall = (statistics.mean(column) for column in zip(*scores))
        print(f"{kind:<14} {half:<9} {len(scores):>5}  F1 {f1:.4f} precision {precision:.4f} recall {recall:.4f}")


def figures(evaluate, pages, texts):
    """F1, precision and recall over some pages."""
    scores = [evaluate.string_shingle_matching(true=truth, pred=texts[page]) for page, _, truth in pages]
    return evaluate.metrics_from_tp_fp_fns(scores)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--articles", type=Path, help="checkout of article-extraction-benchmark")
    arguments.add_argument("--readability", type=Path, help="checkout of mozilla/readability")
    arguments.add_argument("--kinds", type=Path, help="checkout of web-content-extraction-benchmark")
    arguments.add_argument("--data", type=Path, help="the development data, with main_text.jsonl")
    arguments.add_argument("--pagesieve", default="target/release/pagesieve", help="the program")
    arguments.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "extraction-quality")
    arguments.add_argument("--worst", type=int, default=0, help="list so many pages that we do worst on, of the tuned half")
    options = arguments.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    if options.kinds:
        print_kinds(options)
    if not options.articles:
        return
    sys.path.insert(0, str(options.articles))
    import evaluate

    sets = {"articles": articles(options.articles)}
    if options.readability:
        sets["readability"] = readability(options.readability)
    if options.data:
        sets["main"] = main_text(options.data)
    print(f"{'set':<12} {'half':<9} {'pages':>5}  {'extractor':<24} {'F1':<6} {'precision':<9} {'recall':<6}")
    for name, pages in sets.items():
        pages = list(pages)
        texts = {"pagesieve": of_pagesieve(options.pagesieve, pages)}
        for peer in PEERS:
            cache = options.cache / f"{name}-{peer}-{version(peer)}.json"
            texts[f"{peer} {version(peer)}"] = of_peer(peer, pages, cache)
        halves = {
            "tuned": [page for page in pages if not is_held_out(page[0])],
            "held out": [page for page in pages if is_held_out(page[0])],
            "all": pages,
        }
        for half, chosen in halves.items():
            for extractor, found in texts.items():
                result = figures(evaluate, chosen, found)
                print(
                    f"{name:<12} {half:<9} {len(chosen):>5}  {extractor:<24} "
                    f"{result['f1']:.4f} {result['precision']:.4f}    {result['recall']:.4f}"
                )
        if options.worst:
            list_worst(evaluate, halves["tuned"], texts["pagesieve"], options.worst)


def list_worst(evaluate, pages, texts, count):
    """For analysis: shares of shingles that are in both texts, only in ours, only in the truth."""
    scored = []
    for page, _, truth in pages:
        scored.append((evaluate.string_shingle_matching(true=truth, pred=texts[page]), page))
    for (both, ours, theirs), page in sorted(scored)[:count]:
        print(f"    {both:.3f} {ours:.3f} {theirs:.3f} {page}")


if __name__ == "__main__":
    main()
