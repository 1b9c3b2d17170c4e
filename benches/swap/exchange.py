"""Puts other articles into real pages, and changes what is around them.

Uses `pages.py`. A `Template` is a page whose article can be taken out. Its text nodes are of three kinds: those that hold the article
(holes), what is left of the article between them, such as linked words, and everything else. `fill` puts another article into the holes,
empties what is left and returns the page. All else stays as it was, except the title.
"""

import contextlib
import json
import random
import re

import lxml.html

from pages import BY_CHARACTER, UNSEEN, is_element, is_hidden, parse, phrases, squeeze, visible_text

# A node holds a part of the article if its text is as long as this and occurs in the article.
LONG = 12
# The share of the article that the holes have to hold, and how many of its phrases may be left when they are empty.
LEAST_HELD, MOST_HELD, MOST_LEFT = 0.8, 1.3, 12
TITLE = 30
DESCRIPTION = 120
# Characters that XML does not have.
FOREIGN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")


def units(text, lang):
    """The pieces between which a text may be cut: characters, or words with the spaces after them."""
    return list(text) if lang in BY_CHARACTER else re.findall(r"\S+\s*", text)


class Template:
    """A page with the places of its article."""

    def __init__(self, page):
        self.page, self.site, self.lang = page, page.site, page.lang
        # Whether structured data and description keep the old article.
        self.stale = False
        self.tree = parse(FOREIGN.sub(" ", page.markup))
        self.holes, self.rest, self.around, self.heading = [], [], [], []
        if self.tree is None:
            return
        gold, inside = squeeze(page.gold), {}
        for element, part, owner, hidden, linked in self.texts(self.tree, False, False):
            found = squeeze(getattr(element, part))
            if not found:
                continue
            held = found in gold
            if held and len(found) < LONG:
                if owner not in inside:
                    whole = squeeze(owner.text_content())
                    inside[owner] = len(whole) >= LONG and whole in gold
                held = inside[owner]
            if held and not hidden:
                self.holes.append((element, part, len(getattr(element, part).strip())))
            elif held or len(found) >= 2 and found in gold:
                self.rest.append((element, part, held, linked))
            else:
                self.around.append((element, part, linked))
        self.keep_rest_inside()
        first = next(self.tree.iter("h1"), None)
        if first is not None and squeeze(first.text_content()) not in gold:
            self.heading = [(element, part) for element, part, *_ in self.texts(first, False, False) if squeeze(getattr(element, part))]

    def texts(self, node, hidden, linked):
        """(element, part, owner, is it hidden, is it in a link) of the text nodes that are not in scripts and the like, in their order."""
        if not is_element(node) or node.tag in UNSEEN:
            return
        hidden, linked = hidden or is_hidden(node), linked or node.tag == "a"
        yield node, "text", node, hidden, linked
        for child in node:
            yield from self.texts(child, hidden, linked)
            yield child, "tail", node, hidden, linked

    def keep_rest_inside(self):
        """Short texts that occur in the article are left of it only within the element that holds the article."""
        self.container = container = self.common()
        within = set(container.iter()) if container is not None else set()
        kept = []
        for element, part, long, linked in self.rest:
            if long or element in within and not (element is container and part == "tail"):
                kept.append((element, part))
            else:
                self.around.append((element, part, linked))
        self.rest = kept

    def common(self):
        """The deepest element that holds all holes."""
        found = None
        for element, part, _ in self.holes:
            owner = element if part == "text" else element.getparent()
            line = [*owner.iterancestors()][::-1] + [owner]
            found = line if found is None else [one for one, other in zip(found, line) if one is other]
        return found[-1] if found else None

    @property
    def room(self):
        """How many characters of an article fit in."""
        return sum(room for _, _, room in self.holes)

    def is_usable(self):
        """Whether the holes hold the article, and emptying them leaves nothing of it."""
        gold = squeeze(self.page.gold)
        held = sum(len(squeeze(getattr(element, part))) for element, part, _ in self.holes)
        if not gold or not LEAST_HELD <= held / len(gold) <= MOST_HELD:
            return False
        empty = parse(self.fill("", 0)[0])
        return len(phrases(visible_text(empty), self.lang) & phrases(self.page.gold, self.lang)) <= MOST_LEFT

    def fill(self, article, limit, change=None, teaser=""):
        """The page with the first `limit` characters of another article, and the text that fitted in.

        `change` may change what is around the article for this page: a function of (text, whether it is a link) that returns a text.
        A `teaser` becomes one more paragraph after the article's container.
        """
        article = FOREIGN.sub("", article)
        pieces, at, used, placed = units(article, self.lang), 0, 0, []
        with self.restored(), self.beside(teaser):
            for element, part, room in self.holes:
                take = ""
                while at < len(pieces) and len(take) < min(room, limit - used):
                    take += pieces[at]
                    at += 1
                used += len(take)
                placed.append(take)
                setattr(element, part, take)
            for element, part in self.rest:
                setattr(element, part, " ")
            for element, part, linked in self.around if change else ():
                setattr(element, part, FOREIGN.sub("", change(getattr(element, part), linked)))
            placed = "".join(placed)
            self.retitle(article[:TITLE].strip(), placed)
            return "<!DOCTYPE html>" + lxml.html.tostring(self.tree, encoding="unicode"), placed

    @contextlib.contextmanager
    def beside(self, text):
        """Puts a paragraph behind the container for a while."""
        if not text or self.container is None:
            yield
            return
        added, tail = lxml.html.fragment_fromstring("<div><p></p></div>"), self.container.tail
        added[0].text = FOREIGN.sub("", text)
        whole = self.container.tag in ("html", "body")
        (self.container.append if whole else self.container.addnext)(added)
        try:
            yield
        finally:
            added.getparent().remove(added)
            self.container.tail = tail

    @contextlib.contextmanager
    def restored(self):
        """Undoes the changes of texts and of the head."""
        nodes = [(element, part) for element, part, _ in [*self.holes, *self.around]] + self.rest
        before = [(element, part, FOREIGN.sub("", getattr(element, part) or "")) for element, part in nodes]
        head = [(element, element.text, element.get("content")) for element in self.tree.iter("title", "meta", "script")]
        try:
            yield
        finally:
            for element, text, content in head:
                element.text = text
                if content is not None:
                    element.set("content", content)
            for element, part, text in before:
                setattr(element, part, text)

    def retitle(self, title, placed):
        """Gives the page the new article's title, in the head and in the first heading outside the article."""
        for element in self.tree.iter("title"):
            element.text = title
        for at, (element, part) in enumerate(self.heading):
            setattr(element, part, "" if at else title)
        for meta in self.tree.iter("meta"):
            name = (meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower().split(":")[-1]
            if name in ("title", "headline", "keywords", *(() if self.stale else ("description",))) and meta.get("content"):
                meta.set("content", placed[:DESCRIPTION] if name == "description" else title)
        for script in self.tree.iter("script"):
            if script.get("type") == "application/ld+json" and not self.stale:
                with contextlib.suppress(ValueError):
                    data = json.loads(script.text or "")
                    script.text = json.dumps(self.restate(data, title, placed), ensure_ascii=False)

    def restate(self, data, title, placed):
        """Structured data with the new article's text. Names of the site and of persons stay."""
        if isinstance(data, list):
            return [self.restate(entry, title, placed) for entry in data]
        if not isinstance(data, dict):
            return data
        new = {"articleBody": placed, "headline": title, "description": placed[:DESCRIPTION]}
        kept = {key: self.restate(value, title, placed) for key, value in data.items()}
        return {key: new[key] if key in new and isinstance(value, str) else value for key, value in kept.items()}


def usable(pages):
    """Templates of the pages whose article can be taken out."""
    for page in pages:
        template = Template(page)
        if template.holes and template.is_usable():
            yield template


def rotate(name, teasers):
    """A change that a site makes between two visits: other teasers in its links, other digits in dates and counters."""
    draws = random.Random(name)

    def change(text, linked):
        if linked and len(squeeze(text)) >= 6:
            near = [teaser for teaser in teasers if 0.5 <= len(teaser) / len(text) <= 2]
            text = draws.choice(near or teasers or [text])
        return re.sub("[0-9]", lambda digit: str((int(digit[0]) + draws.randrange(1, 10)) % 10), text)

    return change
