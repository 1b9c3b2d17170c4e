#!/usr/bin/env python3
"""Asks whether the filter judges pages by their article, on real pages whose article is exchanged for another.

    pip install lxml
    cargo build --release
    python3 benches/swap/manifest.py --help                       # how to get the pages
    python3 benches/swap/measure.py target/swap-pages/pages.jsonl
    python3 benches/swap/measure.py pages.jsonl --lang zh --set wrong --set recognised --half tuned --show --dump failures

The text nodes that hold the article of a page are found, and get the text of another article; all around them stays (`exchange.py`). Title,
first heading, description and structured data become those of the new article. So two pages have the same article, or the same template,
and the truth is known exactly. Articles are cut to three lengths: short (100 to 250 characters, or 40 to 80 words), medium (700 characters
or 250 words) and long (what the page had); a page whose own article was short is among all three. Sites and articles are taken from one
half only: rules may be tuned on the half `tuned`.

    wrong       twelve different articles in one template, as pages of one site: how many are dropped. Each is a page that is lost
    recognised  one article in the templates of fifteen sites: how many of the later ones are found. Both also by the kind of template
    copies      a page and a copy of it on its site: all teasers (link texts outside the article) are others, all digits outside the article
                too, and one sentence of the article (three words of a short one). cold: nothing else of the site was seen; warm: four other
                pages were seen before; hard: warm, and a paragraph of 10 to 28 words more on one of the two
    late        the tenth page of a site, whose article stood on another site (other) or on its own first page (same); the ninth to twelfth
                copy of one page (again). Teasers and digits differ as in `copies`
    quotes      pages of two sites that have to be kept: 60 words of an article of 300 quoted in another (passage), a notice of 60 words
                quoted whole in an article of 260 (notice), half of an article in another (half). 60 words count as 100 characters. Besides,
                not to be kept: an article and 60 words more (extended)
    real        the pages as they are, on sites of their own (apart) and on their real ones (together): pages that are dropped although the
                articles' Jaccard similarity is below 0.3. Different pages that share vendors' texts are among them
    text        F1 of the body text, per kind of page, and apart for articles of fewer than 250 characters: multisets of four adjacent words
                (characters in Chinese and Japanese), means of precision and recall, as in article-extraction-benchmark

The draws have no seed: they depend on names only. Every group of pages that belongs together goes through a `filter` of its own.

With --baseline trafilatura or readability (`pip install trafilatura`, `pip install readability-lxml`) that extractor and an exact Jaccard
similarity of 0.8 of 5-shingles judge the same pages.

Limits: an article is cut where the page's text nodes end, so that a sentence may be split between two elements. Pages are left out where a
fifth of the article is not found, or where more than twelve phrases of it stay. A page's scripts keep the old article. With
--stale-data so does the structured data (JSON-LD), and the description stays the old one.
"""

import argparse
import collections
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from exchange import rotate, units, usable
from pages import BY_CHARACTER, draw, jaccard, load, parse, phrases, shingles, spread, squeeze, tokens, visible_text

SIZES = ("short", "medium", "long")
SETS = ("wrong", "recognised", "copies", "late", "quotes", "real", "text")
LANGUAGES, HALVES = ("en", "zh", "ja"), ("tuned", "held out")
PAGES_OF_A_SITE, SITES_OF_AN_ARTICLE = 12, 15
# Articles that are put into pages have at least this many characters.
LEAST_PROSE = {"en": 4000, "zh": 1500, "ja": 1500}
LEAST_LONG = 600
# From this similarity on two articles are one; below it they are different.
DIFFERENT, NEAR = 0.3, 0.8
# An edited text that is less similar is no copy: its sentence was too long for it.
LEAST_COPY = 0.7
SHORT_GOLD = 250
# Sentences that are exchanged have at most this many characters.
MOST_EDITED = 150
# Pages for quotations have room for an article of 400 words.
ROOM = {"en": 2600, "zh": 700, "ja": 700}


def limit(lang, size, number):
    """How many characters of an article are used."""
    if size == "long":
        return 10**9
    if lang in BY_CHARACTER:
        return 700 if size == "medium" else 100 + number * 37 % 150
    return 1500 if size == "medium" else (40 + number * 7 % 40) * 6


def words(count, lang):
    """A number of words in units of the language: words, or characters."""
    return count * 5 // 3 if lang in BY_CHARACTER else count


def some(text, lang, start, end):
    """A passage of a text, by its words."""
    return "".join(units(text, lang)[words(start, lang) : words(end, lang)]).strip()


class Program:
    """Judges pages with `pagesieve filter`, or with another extractor."""

    def __init__(self, options):
        self.options = options

    def verdicts(self, pages):
        """For each (URL, page) None, or the URL of the page that it repeats."""
        if self.options.baseline:
            return self.by_jaccard(pages)
        lines = "".join(json.dumps({"id": url, "url": url, "html": markup}) + "\n" for url, markup in pages)
        settings = [part for setting in ["dedup.seed=public", *self.options.settings] for part in ("--set", setting)]
        command = [self.options.program, "filter", *settings]
        result = subprocess.run(command, input=lines.encode(), capture_output=True)
        found = [json.loads(line) for line in result.stdout.decode().splitlines()]
        if len(found) != len(pages):
            sys.exit(f"{len(found)} verdicts for {len(pages)} pages: {result.stderr.decode()[-500:]}")
        return [None if one["verdict"] == "unique" else (one["match"] or {}).get("id", "?") for one in found]

    def by_jaccard(self, pages):
        kept, found = [], []
        for url, markup in pages:
            own = shingles(self.extracted(markup))
            match = next((other for other, known in kept if own and jaccard(own, known) >= NEAR), None)
            found.append(match)
            if match is None:
                kept.append((url, own))
        return found

    def extracted(self, markup):
        if self.options.baseline == "trafilatura":
            import trafilatura

            return trafilatura.extract(markup, include_comments=False) or ""
        from readability import Document

        summary = parse(Document(markup).summary() or "")
        return visible_text(summary) if summary is not None else ""

    def texts(self, pages):
        """The body text of each page."""
        if self.options.baseline:
            return [self.extracted(page.markup) for page in pages]
        with tempfile.TemporaryDirectory() as folder:
            for number, page in enumerate(pages):
                # The byte order mark ensures that all extractors read the same characters.
                markup = "\ufeff" + page.markup
                (Path(folder) / f"{number:05}.html").write_text(markup, "utf-8", errors="replace", newline="")
            result = subprocess.run([self.options.program, "extract", folder], capture_output=True, check=True)
            found = [json.loads(line) for line in result.stdout.decode().splitlines()]
        texts = {int(Path(one["id"]).stem): one["text"] for one in found}
        return [texts[number] for number in range(len(pages))]


class Corpus:
    """The templates and articles of one language and half."""

    def __init__(self, pages, lang, half, options):
        self.lang, self.half = lang, half
        self.pages = spread([page for page in pages if page.lang == lang and page.half == half])
        most = options.templates
        self.templates = []
        for template in usable(self.pages):
            self.templates.append(template)
            if len(self.templates) >= most:
                break
        self.articles = self.different()
        links = (squeeze(text) for page in self.pages[: most * 2] for text in self.links(page))
        self.teasers = sorted({text for text in links if 6 <= len(text) <= 60}, key=draw)[:2000]

    def different(self):
        """Pages with enough prose that share little with each other."""
        known, chosen = collections.Counter(), []
        for page in self.pages:
            if len(squeeze(page.prose)) < LEAST_PROSE[self.lang]:
                continue
            own = phrases(page.prose, self.lang)
            if sum(phrase in known for phrase in own) <= 0.02 * len(own):
                known.update(own)
                chosen.append(page)
        return chosen

    def links(self, page):
        tree = parse(page.markup)
        return [] if tree is None else [re.sub(r"\s+", " ", link.text_content()).strip() for link in tree.iter("a")]

    def others(self, name, count, *without):
        """Articles that are not of the given sites, in an order that depends on the name."""
        sites = {page.site for page in without}
        chosen = [page for page in self.articles if page.site not in sites]
        random.Random(name).shuffle(chosen)
        return chosen[:count]

    def pairs(self, name, count, room=0):
        """Pairs of templates of two sites, whose articles have at least `room` characters."""
        found = []
        draws = random.Random(name)
        wide = [template for template in self.templates if template.room >= room]
        while len(found) < count and len({template.site for template in wide}) > 1:
            one, other = draws.sample(wide, 2)
            if one.site != other.site:
                found.append((one, other))
        return found


def host(template, group=""):
    return f"http://{draw(template.page.path + group)[:8]}.test"


class Tally:
    """Counts of one set, and its failures."""

    def __init__(self, corpus, options):
        self.corpus, self.options = corpus, options
        self.counts = collections.defaultdict(lambda: [0, 0])

    def add(self, row, failed, pages, at, match, of, kind=""):
        """Counts one judged page, also by the kind of its template if there is one; `of` says what it was made of."""
        for counted in [row, (f"{row[0]} in {kind}", row[1])] if kind else [row]:
            self.counts[counted][1] += 1
            self.counts[counted][0] += not failed
        if failed and self.options.show:
            print(f"    {row[0]} {row[1]}: {of} ({'kept' if match is None else 'repeats ' + match})")
        if failed and self.options.dump:
            folder = Path(self.options.dump) / self.corpus.lang / row[0].replace(" ", "-") / row[1] / draw(of)[:8]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "what.txt").write_text(f"{of}\npage {at}\nmatch {match}\n")
            for number, (_, markup) in enumerate(pages[: at + 1]):
                (folder / f"{number:02}.html").write_text(markup, "utf-8", errors="replace")


def wrong(corpus, program, tally, options):
    for template in corpus.templates:
        chosen = corpus.others(template.page.path, PAGES_OF_A_SITE, template)
        for size in options.sizes:
            pages, of = [], []
            for number, article in enumerate(chosen):
                markup, placed = template.fill(article.prose, limit(corpus.lang, size, number))
                if len(placed) >= 60:
                    pages.append((f"{host(template)}/a/{number}", markup))
                    of.append(f"{article.path} in {template.page.path}")
            for at, match in enumerate(program.verdicts(pages) if pages else ()):
                tally.add(("wrong", size), match is not None, pages, at, match, of[at], template.page.kind)


def recognised(corpus, program, tally, options):
    by_site = {}
    for template in corpus.templates:
        by_site.setdefault(template.site, []).append(template)
    for number, article in enumerate(corpus.articles[-options.articles :]):
        draws = random.Random(article.path)
        for size in options.sizes:
            fitting = []
            for site in sorted(by_site):
                wide = [one for one in by_site[site] if size != "long" or len(squeeze(one.page.gold)) >= LEAST_LONG]
                if wide and site != article.site:
                    fitting.append(draws.choice(wide))
            chosen = draws.sample(fitting, min(SITES_OF_AN_ARTICLE, len(fitting)))
            if not chosen:
                continue
            most = limit(corpus.lang, size, number) if size != "long" else min(len(one.page.gold) for one in chosen)
            made = [(one, *one.fill(article.prose, most)) for one in chosen]
            made = [(one, markup) for one, markup, placed in made if len(placed) >= 0.9 * most]
            pages = [(f"{host(one)}/a", markup) for one, markup in made]
            if len(pages) < 3:
                continue
            for at, match in enumerate(program.verdicts(pages)):
                if at:
                    page = made[at][0].page
                    tally.add(("recognised", size), match is None, pages, at, match, f"{article.path} in {page.path}", page.kind)


def edited(text, lang, other, few):
    """The text with one sentence of another in the place of its middle one, or with three other words."""
    if few:
        pieces, strange = units(text, lang), units(other, lang)
        middle, count = len(pieces) // 2, words(3, lang)
        return "".join([*pieces[:middle], *strange[100 : 100 + count], *pieces[middle + count :]])
    sentences = re.findall(r".+?(?:[。！？!?.](?=\s|[^\x00-\x7f]|$)|$)", text, re.S)
    middle = min(range(len(sentences)), key=lambda at: (not 20 <= len(sentences[at]) <= MOST_EDITED, abs(at - len(sentences) // 2)))
    strange = [sentence for sentence in re.findall(r".+?[。！？!?.]", other, re.S) if 20 <= len(sentence) <= MOST_EDITED]
    return "".join([*sentences[:middle], (strange or [other[:80]])[0], *sentences[middle + 1 :]])


def copies(corpus, program, tally, options):
    for number, template in enumerate(corpus.templates[: options.copies]):
        article, strange, *before = corpus.others("copies" + template.page.path, 6, template)
        of = f"{article.path} in {template.page.path}"
        for size in options.sizes:
            name, most = f"{template.page.path} {size}", limit(corpus.lang, size, number)
            first, placed = template.fill(article.prose, most)
            changed = edited(placed, corpus.lang, strange.prose, size == "short")
            if size != "short" and jaccard(shingles(placed), shingles(changed)) < LEAST_COPY:
                continue
            teaser = some(strange.prose, corpus.lang, 150, 160 + number % 19)
            copy, _ = template.fill(changed, 10**9, rotate(name, corpus.teasers))
            hard, _ = template.fill(changed, 10**9, rotate(name, corpus.teasers), teaser)
            seen = []
            for at, one in enumerate(before):
                markup, _ = template.fill(one.prose, most, rotate(f"{name} {at}", corpus.teasers))
                seen.append((f"{host(template)}/before/{at}", markup))
            two = [(f"{host(template)}/a", first), (f"{host(template)}/copy", copy)]
            for kind, pages in (("cold", two), ("warm", seen + two), ("hard", [*seen, two[0], (two[1][0], hard)])):
                match = program.verdicts(pages)[-1]
                failed = match != two[0][0]
                tally.add((f"copies {kind}", size), failed, pages, len(pages) - 1, match, of)


def late(corpus, program, tally, options):
    for number, (template, elsewhere) in enumerate(corpus.pairs("late", options.copies)):
        article, *fillers = corpus.others("late" + template.page.path + str(number), 10, template, elsewhere)
        for size in options.sizes:
            name, most = f"late {number} {size}", min(limit(corpus.lang, size, number), template.room, elsewhere.room)

            def page(one, at, name=name, most=most, template=template):
                change = rotate(f"{name} {at}", corpus.teasers)
                markup, placed = template.fill(one.prose, most, change)
                return (f"{host(template)}/{at}", markup), placed

            (last, placed), (first, _) = page(article, 9), page(article, 0)
            between = [page(filler, at)[0] for at, filler in enumerate(fillers, 1)]
            there, copied = elsewhere.fill(placed, len(placed))
            other = [(f"{host(elsewhere)}/a", there), *between, last]
            of = f"{article.path} in {template.page.path}"
            if len(copied) >= 0.9 * len(placed):
                match = program.verdicts(other)[-1]
                tally.add(("late other", size), match is None, other, len(other) - 1, match, f"{of} after {elsewhere.page.path}")
            same = [first, *between[:8], last]
            match = program.verdicts(same)[-1]
            tally.add(("late same", size), match is None, same, len(same) - 1, match, of)
            again = [page(article, at)[0] for at in range(PAGES_OF_A_SITE)]
            for at, match in list(enumerate(program.verdicts(again)))[8:]:
                tally.add(("late again", size), match is None, again, at, match, f"{of} {at}")


def quotes(corpus, program, tally, options):
    lang = corpus.lang
    for number, (one, other) in enumerate(corpus.pairs("quotes", options.quotes, ROOM[corpus.lang])):
        a, b = corpus.others(f"quotes {number}", 2, one, other)
        quoted, notice = some(a.prose, lang, 100, 160), some(a.prose, lang, 0, 60)
        whole, half = some(a.prose, lang, 0, 300), some(a.prose, lang, 0, 150)
        around = [some(b.prose, lang, start, start + 100) for start in (0, 100, 200)]
        cases = {
            "passage": (whole, " ".join([around[0], quoted, around[1], around[2]])),
            "notice": (notice, " ".join([around[0], notice, around[1]])),
            "half": (whole, " ".join([half, some(b.prose, lang, 0, 150)])),
            "extended": (whole, " ".join([whole, some(b.prose, lang, 0, 60)])),
        }
        for kind, (first, second) in cases.items():
            made = [(template, text, *template.fill(text, len(text))) for template, text in ((one, first), (other, second))]
            if any(len(placed) < 0.95 * len(text) for _, text, _, placed in made):
                continue
            pages = [(f"{host(template)}/a", markup) for template, _, markup, _ in made]
            match = program.verdicts(pages)[1]
            failed = (match is None) if kind == "extended" else (match is not None)
            of = f"{a.path} and {b.path} in {one.page.path} and {other.page.path}"
            tally.add((f"quotes {kind}", "found" if kind == "extended" else "kept"), failed, pages, 1, match, of)


def real(corpus, program, tally, options):
    for kind in ("apart", "together"):
        places = {"apart": lambda at, page: f"http://p{at}.test/", "together": lambda at, page: f"http://{page.site}/{at}"}
        urls = [places[kind](at, page) for at, page in enumerate(corpus.pages)]
        known = dict(zip(urls, corpus.pages))
        pages = [(url, page.markup) for url, page in known.items()]
        sets = {}
        for at, match in enumerate(program.verdicts(pages)):
            both = [corpus.pages[at], known[match]] if match else []
            for page in both:
                sets.setdefault(page.path, shingles(page.gold))
            similarity = jaccard(*(sets[page.path] for page in both)) if both else 1
            of = f"{corpus.pages[at].path} and {both[1].path}, {similarity:.2f}" if both else ""
            tally.add((f"real {kind}", "kept"), similarity < DIFFERENT, pages, at, match, of)


def multiset(text):
    found = tokens(text)
    return collections.Counter(tuple(found[at : at + 4]) for at in range(max(1, len(found) - 3)) if found)


def scores(gold, text):
    """Precision, or None without a text, and recall."""
    true, own = multiset(gold), multiset(text)
    both = sum((true & own).values())
    return (both / sum(own.values()) if own else None), both / max(sum(true.values()), 1)


def body_text(corpus, program, options):
    """Rows of F1, precision and recall."""
    groups = collections.defaultdict(list)
    for page, text in zip(corpus.pages, program.texts(corpus.pages)):
        precision, recall = scores(page.gold, text)
        groups[page.kind].append((precision, recall, page))
        if len(squeeze(page.gold)) < SHORT_GOLD:
            groups["short"].append((precision, recall, page))
    for kind, found in sorted(groups.items()):
        precisions = [precision for precision, _, _ in found if precision is not None]
        precision = statistics.mean(precisions) if precisions else 0
        recall = statistics.mean(recall for _, recall, _ in found)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        figures = f"F1 {f1:.4f} precision {precision:.4f} recall {recall:.4f}"
        print(f"{corpus.lang} {corpus.half:9} text {kind:17} {len(found):5} pages  {figures}", flush=True)
        if options.show:
            for precision, recall, page in sorted(found, key=lambda one: (one[0] or 0) + one[1])[:15]:
                print(f"    {precision or 0:.2f} {recall:.2f} {page.path}")


def report(corpus, tally):
    rows = collections.defaultdict(dict)
    for (name, size), (right, all_) in tally.counts.items():
        rows[name][size] = (right, all_)
    for name, sizes in rows.items():
        # Wrong drops are counted as such, everything else as what is right.
        cells = []
        for size, (right, all_) in sorted(sizes.items(), key=lambda one: SIZES.index(one[0]) if one[0] in SIZES else 0):
            count = all_ - right if name.startswith("wrong") else right
            cells.append(f"{size} {count}/{all_} {100 * count / max(all_, 1):.1f} %")
        print(f"{corpus.lang} {corpus.half:9} {name:22} " + "   ".join(f"{cell:24}" for cell in cells), flush=True)


MEASURES = {"wrong": wrong, "recognised": recognised, "copies": copies, "late": late, "quotes": quotes, "real": real}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--program", default="target/release/pagesieve")
    parser.add_argument("--lang", action="append", choices=LANGUAGES)
    parser.add_argument("--half", action="append", choices=HALVES)
    parser.add_argument("--set", action="append", choices=SETS, dest="sets")
    parser.add_argument("--size", action="append", choices=SIZES, dest="sizes")
    parser.add_argument("--templates", type=int, default=40, help="templates of a language and half")
    parser.add_argument("--articles", type=int, default=20, help="articles for `recognised`")
    parser.add_argument("--copies", type=int, default=24, help="pages for `copies` and `late`")
    parser.add_argument("--quotes", type=int, default=50, help="pairs of each kind for `quotes`")
    parser.add_argument("--baseline", choices=("trafilatura", "readability"), help="judge with this extractor instead")
    parser.add_argument("--option", action="append", default=[], dest="settings", help="KEY=VALUE for `filter --set`")
    parser.add_argument("--stale-data", action="store_true", help="structured data and description keep the old article")
    parser.add_argument("--show", action="store_true", help="list the failures")
    parser.add_argument("--dump", help="write the pages of each failure into this folder")
    options = parser.parse_args()
    options.sizes = options.sizes or SIZES
    pages, program = load(options.manifest), Program(options)
    for lang in options.lang or LANGUAGES:
        for half in options.half or HALVES:
            corpus = Corpus(pages, lang, half, options)
            for template in corpus.templates:
                template.stale = options.stale_data
            sites = len({template.site for template in corpus.templates})
            templates = f"{len(corpus.templates)} templates of {sites} sites"
            print(f"{lang} {half:9} {len(corpus.pages)} pages, {templates}, {len(corpus.articles)} articles", flush=True)
            for name in options.sets or SETS:
                if name == "text":
                    body_text(corpus, program, options)
                else:
                    tally = Tally(corpus, options)
                    MEASURES[name](corpus, program, tally, options)
                    report(corpus, tally)


if __name__ == "__main__":
    main()
