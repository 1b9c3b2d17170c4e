#!/usr/bin/env python3
"""Collects the groups of pages of benches/swap/measure.py without judging them.

usage: exchanged.py PAGES.jsonl OUT [--templates 14] [--articles 8] [--copies 12] [--quotes 16]
Writes OUT/dev/swap_LANG.jsonl from the half `tuned` and OUT/held/swap_LANG.jsonl from the half `held out`.
"""
import argparse, hashlib, json, os, re, sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "swap"))
import measure

# Groups with larger pages in the mean are left out.
LARGEST = 90_000
HEAVY = re.compile(r"(?is)(<(style|script|svg)\b[^>]*>)(.*?)(</\2>)")
DATA = re.compile(r"(=[\"'])data:[^\"'>]{200,}")
def lighten(markup):
    """Without what only makes files large: styles, scripts and drawings. (Made by lxml, so each of them is closed.)"""
    return DATA.sub(r"\1", HEAVY.sub(lambda m: m[0] if len(m[3]) < 300 or "ld+json" in m[1] else m[1] + m[4], markup))

class Program:
    def __init__(self): pass
    def verdicts(self, pages): return [None] * len(list(pages))

class Groups:
    def __init__(self, corpus, groups): self.corpus, self.groups = corpus, groups
    def add(self, row, failed, pages, at, match, of, kind=""):
        name, size = row; pages = [[u, lighten(h)] for u, h in pages]
        if name == "real": return
        if name == "wrong" or name.startswith("quotes") and "extended" not in name: want = "new"
        elif name.startswith("copies"): want = pages[-2][0]
        else: want = "dup"
        key = hashlib.sha1(json.dumps([name.split(" ")[0], size, pages]).encode()).hexdigest()[:16]
        g = self.groups.setdefault(key, {"set": "swap", "group": "swap_" + key, "lang": self.corpus.lang, "pages": pages, "checks": []})
        g["checks"].append([at, (name + " " + size).strip(), want])

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("pages"); ap.add_argument("out")
    for k, n in (("templates", 14), ("articles", 8), ("copies", 12), ("quotes", 16)): ap.add_argument("--" + k, type=int, default=n)
    ap.add_argument("--langs", default=",".join(measure.LANGUAGES)); ap.add_argument("--sets", default="wrong,recognised,copies,late,quotes"); ap.add_argument("--suffix", default="")
    a = ap.parse_args()
    opt = argparse.Namespace(templates=a.templates, articles=a.articles, copies=a.copies, quotes=a.quotes, sizes=measure.SIZES, baseline=None, settings=[], show=False, dump=None, stale_data=False, program="x")
    pages = measure.load(Path(a.pages))
    for half, folder in (("tuned", "dev"), ("held out", "held")):
        for lang in a.langs.split(","):
            groups, c = {}, measure.Corpus(pages, lang, half, opt)
            for t in c.templates: t.stale = False
            print(lang, half, len(c.pages), "pages", len(c.templates), "templates", len(c.articles), "articles", flush=True)
            for f in (getattr(measure, name) for name in a.sets.split(",")):
                try: f(c, Program(), Groups(c, groups), opt)
                except Exception as e: print(lang, f.__name__, "failed", repr(e)[:200])
                print("  ", f.__name__, len(groups), "groups", flush=True)
            if groups:
                os.makedirs("%s/%s" % (a.out, folder), exist_ok=True); out = "%s/%s/swap_%s%s.jsonl" % (a.out, folder, lang, a.suffix)
                with open(out, "w", encoding="utf-8") as f:
                    for g in groups.values():
                        if sum(len(h) for u, h in g["pages"]) <= LARGEST * len(g["pages"]): f.write(json.dumps(g, ensure_ascii=False) + "\n")
                print("  ", sum(len(g["pages"]) for g in groups.values()), "pages", os.path.getsize(out) // 1000, "kB", flush=True)

if __name__ == "__main__": main()
