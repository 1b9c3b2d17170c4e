"""Pages whose article is known: the manifest, their text, and the places that hold the article.

Needs lxml. `manifest.py` makes a manifest and `measure.py` uses it.

A manifest is a file of JSON lines, one page each:

    path    the page, relative to the manifest
    site    the host, or a name in its place
    lang    zh, en or ja
    kind    article, blog, portal, forum or docs
    half    tuned or held out
    gold    the text of the article
"""

import collections
import functools
import hashlib
import json
import re
import unicodedata
from pathlib import Path

import lxml.etree
import lxml.html

# Elements whose text nobody sees.
UNSEEN = set("script style noscript template head title svg button select textarea iframe object audio video canvas".split())
BLOCKS = set(
    "address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
TOKEN = re.compile(f"[{CJK}]|[^\\W{CJK}]+")
# Texts in these languages are measured and cut in characters, others in words.
BY_CHARACTER = ("zh", "ja")
# A phrase is as many adjacent words, or characters.
PHRASE, PHRASE_BY_CHARACTER = 4, 10


def half_of(name):
    """The half that a site, a theme or a page belongs to; `extraction_quality.py` splits its sets in the same way."""
    return "held out" if hashlib.sha256(name.encode()).digest()[0] % 2 else "tuned"


def draw(name):
    """A number that depends only on the name: the order in which pages are drawn."""
    return hashlib.sha256(name.encode()).hexdigest()


def decode(raw):
    """The characters of a page: the charset that it declares if the bytes agree, else the first that they agree with."""
    declared = re.search(rb"charset\s*=\s*[\"']?\s*([\w-]+)", raw[:4096], re.I)
    names = [declared[1].decode()] if declared else []
    for name in [*names, "utf-8", "gb18030", "euc_jp", "cp932"]:
        try:
            return raw.decode("gb18030" if name.lower() in ("gb2312", "gbk") else name).removeprefix("\ufeff")
        except (LookupError, UnicodeDecodeError):
            continue
    return raw.decode("utf-8", "replace")


def parse(markup):
    """The tree of a page, or None if it has no element."""
    markup = re.sub(r"^\s*<\?xml[^>]*\?>", "", markup)
    try:
        return lxml.html.document_fromstring(markup) if markup.strip() else None
    except (lxml.etree.ParserError, ValueError):
        return None


def is_element(node):
    return isinstance(node.tag, str)


def is_hidden(element):
    style = re.sub(r"\s", "", element.get("style") or "").lower()
    return element.get("hidden") is not None or element.get("aria-hidden") == "true" or "display:none" in style


def visible_text(element, dropped=frozenset()):
    """What a reader sees of an element, each block a line. `dropped` has elements to leave out."""
    out = []

    def walk(node):
        if not is_element(node) or node.tag in UNSEEN or node in dropped or is_hidden(node):
            return
        border = "\n" if node.tag in BLOCKS else ""
        out.append(border + characters(node.text, node))
        for child in node:
            walk(child)
            out.append(characters(child.tail, node))
        out.append(border)

    def characters(text, owner):
        # Line breaks of the source are spaces, except in preformatted text.
        kept = owner.tag == "pre" or next(owner.iterancestors("pre"), None) is not None
        return text or "" if kept else re.sub(r"\s+", " ", text or "")

    walk(element)
    lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(out).split("\n"))
    return "\n".join(line for line in lines if line)


def has_prose(text):
    """Whether at least two fifths of a text are in lines as long as a sentence."""
    lines = [squeeze(line) for line in text.split("\n")]
    return 5 * sum(len(line) for line in lines if len(line) >= 15) >= 2 * sum(map(len, lines))


def squeeze(text):
    return re.sub(r"\s+", "", text or "")


def language(text):
    """zh, ja or en, by the share of Chinese characters and kana."""
    han, kana = (len(re.findall(f"[{span}]", text)) for span in ("\u4e00-\u9fff", "\u3040-\u30ff"))
    if han + kana < 0.2 * max(len(squeeze(text)), 1):
        return "en"
    return "ja" if kana > 0.15 * (han + kana) else "zh"


def tokens(text):
    """The truth's tokens: words, and single characters of Chinese, Japanese and Korean. No segmentation is involved."""
    return TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def shingles(text, size=5):
    found = tokens(text)
    return {tuple(found[at : at + size]) for at in range(max(1, len(found) - size + 1))} if found else set()


def phrases(text, lang):
    found, size = tokens(text), PHRASE_BY_CHARACTER if lang in BY_CHARACTER else PHRASE
    return {tuple(found[at : at + size]) for at in range(len(found) - size + 1)}


def jaccard(one, other):
    return len(one & other) / max(len(one | other), 1)


def xpath(selector):
    """XPath of a simple CSS selector: elements with names, ids, classes and attributes, descendants by a space."""
    if selector.startswith(("/", "(")):
        return selector
    steps = []
    for part in selector.split():
        tests = []
        for kind, name in re.findall(r"([#.\[])([^#.\[\]]+)", part):
            if kind == "#":
                tests.append(f"@id='{name}'")
            elif kind == ".":
                tests.append(f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')")
            else:
                key, _, value = name.partition("=")
                tests.append(f"@{key}='{value}'" if value else f"@{key}")
        steps.append((re.match(r"[\w*-]*", part)[0] or "*") + "".join(f"[{test}]" for test in tests))
    return ".//" + "//".join(steps)


class Page:
    """One line of the manifest."""

    def __init__(self, folder, row):
        self.file = folder / row["path"]
        self.path, self.site, self.lang, self.kind, self.half, self.gold = (
            row[key] for key in ("path", "site", "lang", "kind", "half", "gold")
        )

    @functools.cached_property
    def markup(self):
        return decode(self.file.read_bytes())

    @functools.cached_property
    def prose(self):
        """The article without code, tables and captions: what is put into other pages."""
        lines = self.gold.split("\n")
        if self.lang in BY_CHARACTER:
            kept = [line for line in lines if len(line) >= 15 and 2 * len(re.findall(f"[{CJK}]", line)) > len(squeeze(line))]
            return "".join(kept)
        return " ".join(line for line in lines if len(line.split()) >= 6)


def load(manifest):
    folder = Path(manifest).parent
    with open(manifest, encoding="utf-8") as lines:
        return [Page(folder, json.loads(line)) for line in lines]


def spread(pages):
    """The pages in a fixed order in which the first ones are of as many sites as possible."""
    by_site = collections.defaultdict(list)
    for page in sorted(pages, key=lambda page: draw(page.path)):
        by_site[page.site].append(page)
    ranked = [(rank, draw(site), page) for site, some in by_site.items() for rank, page in enumerate(some)]
    return [page for _, _, page in sorted(ranked, key=lambda entry: entry[:2])]
