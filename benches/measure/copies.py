#!/usr/bin/env python3
"""Makes groups of copies of static sites, groups of whole sites, and groups of sites with AMP views, from git directories of generated HTML.

usage: copies.py copies|sites|amp OUT NAME=LANG=GITDIR[=FOLDER] …     (one NAME.jsonl for each site in OUT)

The kinds of copies are those of copies_check.py (set COPIES_CHECK to its folder). Words are counted in every script, and the article is found in more themes.
"""
import copy, json, os, random, re, sys
sys.path.insert(0, os.environ.get("COPIES_CHECK", "../shared/research/copies"))
import copies_check as ck
from lxml import etree

ALONE = "\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile("[%s]|[^\\W%s]+" % (ALONE, ALONE))
ck.words = lambda s: WORD.findall(s or "")
ck.ARTICLE += ["article-content", "post-entry", "blog-post-content", "content__body", "post_content", "article__content", "content-body", "single-content", "post-single", "article-body", "post-article", "article-inner"]
KNOWN, TESTED, SERIES, LARGEST = 24, 12, 4, 90_000

found = ck.article
def article(tree):
    el = found(tree)
    if el is None:
        many = tree.xpath("//main | //*[@role='main'] | //*[@id='main-content']")
        el = many[0] if many else None
    return el
ck.article = article

def prose(self, n):
    w = ck.words(self.rng.choice(self.corpus)); k = self.rng.randrange(max(1, len(w) - n)); w = w[k:k + n]
    return ("" if re.match("[%s]" % ALONE, w[0]) else " ").join(w) + "."
ck.Context.prose = prose

def text(data):
    """The characters of a page."""
    return data.decode("utf-8", "replace")

def load(repo, folder):
    if os.path.isdir(repo + "/.git"): repo += "/.git"
    top = "/" + folder.strip("/") if folder else ""
    out = {p[len(top):]: d for p, d in ck.files(repo).items() if p.startswith(top + "/") and d.strip() and b"<" in d}
    return out

def is_article(tree, path):
    el = ck.article(tree)
    if el is None or el.getparent() is None or el.tag == "body": return False
    n = len(ck.words(el.text_content()))
    return n >= 80 and sum(len(ck.words(x.text_content())) for x in el.iter("a")) < .3 * n and not re.search(r"/(tags?|categor\w*|archives?|page|archive)/(?!.*\d{4}/)", path)

def lighten(tree):
    """Without what only makes the files large: inline styles, scripts and images."""
    for el in tree.iter("style"): el.text = ""
    for el in tree.iter("script"):
        if el.get("type") != "application/ld+json" and len(el.text or "") > 300: el.text = ""
    for el in tree.iter("img", "source", "link", "a"):
        for k in ("src", "srcset", "href", "data-src"):
            if (el.get(k) or "").startswith("data:"): el.set(k, "")
    for el in list(tree.iter("svg")):
        for kid in list(el): el.remove(kid)

def copies(name, lang, fs, out):
    trees = {}
    for path, data in sorted(fs.items()):
        if b"http-equiv=\"refresh" in data[:800] or len(data) > 6 * LARGEST: continue
        try: t = ck.parse(data)
        except (etree.ParserError, ValueError): continue
        lighten(t)
        if is_article(t, path) and len(ck.render(t).encode()) <= LARGEST: trees[path] = t
    rng = random.Random(5); paths = sorted(trees); rng.shuffle(paths)
    seen, unique = set(), []
    for p in paths:
        w = "".join(ck.words(ck.article(trees[p]).text_content()))
        k = w[:200], w[-200:]
        if not seen & {("a", k[0]), ("z", k[1])}: seen |= {("a", k[0]), ("z", k[1])}; unique.append(p)
    others = [(p, (trees[p].findtext(".//title") or p).strip()[:60]) for p in unique]
    corpus = [ck.article(trees[p]).text_content() for p in unique]
    known, tested = unique[:KNOWN], unique[KNOWN:KNOWN + TESTED]
    if len(tested) < 6: half = max(len(unique) // 2, len(unique) - TESTED); known, tested = unique[:half][:KNOWN], unique[half:][:TESTED]
    print(name, lang, len(fs), "files", len(trees), "articles", len(unique), "different", len(known), "known", len(tested), "tested", flush=True)
    if len(tested) < 5: return
    host = name.lower()
    url = lambda p: "http://%s.test%s" % (host, p)
    base = [(url(p), ck.render(trees[p])) for p in known]
    with open(out, "w") as f:
        W = lambda g, pages, checks: f.write(json.dumps({"set": "copies", "group": "copies_%s_%s" % (name, g), "lang": lang, "pages": pages, "checks": checks}, ensure_ascii=False) + "\n")
        rows = base + [(url(p), ck.render(trees[p])) for p in tested]
        W("distinct", rows, [[len(base) + i, "distinct", "new"] for i in range(len(tested))])
        for kind, change in ck.KINDS.items():
            rows, checks = list(base), []
            for i, p in enumerate(tested):
                c = copy.deepcopy(trees[p]); change(c, ck.Context(i, others, corpus))
                u = ("http://m.%s.test%s" if kind == "host" else "http://%s.test/c%s") % (host, p)
                rows += [(url(p), ck.render(trees[p])), (u, ck.render(c))]; checks.append([len(rows) - 1, kind, url(p)])
            W(kind, rows, checks)
        rows, checks = list(base), []
        for i, p in enumerate(tested[:SERIES]):
            rows.append((url(p), ck.render(trees[p])))
            for k in range(9):
                c = copy.deepcopy(trees[p]); ctx = ck.Context(100 * i + k, others, corpus); ck.teasers(c, ctx); ck.digits(c, ctx)
                rows.append(("http://%s.test/c%d%s" % (host, k, p), ck.render(c)))
                if k: checks.append([len(rows) - 1, "series", "dup"])
        W("series", rows, checks)

def site(name, lang, fs, out, kind="sites", most=400, largest=400_000):
    """All pages in path order, or a part of them: whole folders' runs spread over the site, so that lists and articles are among them."""
    paths = [p for p in sorted(fs) if len(fs[p]) < largest and not re.search(r"(^|/)(404|google\w+|baidu\w+)\.html?$", p)]
    if kind == "amp":
        paths = [p for p in paths if not re.search(rb"http-equiv=.?refresh", fs[p][:3000], re.I)]
        plain, views = {}, {}
        for p in paths: (views if re.search(r"/amp/|[./-]amp\.html$", p) else plain)[p] = 1
        def original(p):
            for q in (p.replace("/amp/", "/", 1), re.sub(r"/index\.html$", ".html", p.replace("/amp/", "/", 1)), p.replace("/amp/index.html", ".html"), p.replace("/amp/index.html", ".htm"), re.sub(r"[./-]amp\.html$", ".html", p), re.sub(r"/amp/(.*)\.html$", r"/\1/index.html", p), p.replace("/amp/", "/blog/", 1)):
                if q != p and q in plain: return q
        both = [(p, q) for p in views for q in [original(p)] if q]
        rng = random.Random(7)
        if len(both) > most // 3: both = rng.sample(sorted(both), most // 3)
        keep = {x for b in both for x in b}
        rest = [p for p in paths if p not in keep and p not in views]; rng.shuffle(rest)
        keep |= set(rest[:most - len(keep)])
        paths = [p for p in paths if p in keep]
        at = {p: i for i, p in enumerate(paths)}
        pairs = sorted([at[q], at[p]] for p, q in both)
    elif len(paths) > most:
        run = max(1, most // 20); step = len(paths) / 20
        paths = sorted({p for k in range(20) for p in paths[int(k * step):int(k * step) + run]})
    host = name.lower()
    row = {"set": kind, "group": "%s_%s" % (kind, name), "lang": lang, "pages": [("http://%s.test%s" % (host, p), text(fs[p])) for p in paths], "checks": []}
    if kind == "amp": row["pairs"] = pairs
    with open(out, "w") as f: f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(name, lang, kind, len(paths), "pages", len(row.get("pairs", [])), "pairs", os.path.getsize(out) // 1000, "kB", flush=True)

def main():
    what, folder, *sites = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for s in sites:
        name, lang, repo, *sub = s.split("=")
        fs, out = load(repo, sub[0] if sub else ""), "%s/%s_%s.jsonl" % (folder, what, name)
        try:
            if what == "copies": copies(name, lang, fs, out)
            else: site(name, lang, fs, out, what, 300 if what == "amp" else 400)
        except Exception as e: print(name, "failed", repr(e)[:300], flush=True)

if __name__ == "__main__": main()
