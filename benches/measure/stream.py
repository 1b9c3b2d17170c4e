#!/usr/bin/env python3
"""Judges groups of pages and compares with what is wanted.

usage: stream.py BIN GROUPFILE… [--base BIN2] [--show] [--only PREFIX,…] [--set KEY=VALUE…] [--by group|lang] [--extract BIN3] [--json FILE]

A group is a line {"set", "group", "lang", "pages": [[url, html], …], "checks": [[index, kind, want], …]}. Its pages are judged in order by
a fresh filter. want: "new", "dup", "exact", "near", "not_exact", "either" (counts as right; "dropped" is shown), or the URL of the page to match.

Groups without checks are whole sites or manuals. Their truth is the Jaccard similarity J of the passages of five tokens of the body texts
(by `extract` of --extract, so that both programs have the same truth; kept in CACHE):
  wrong J<.5          dropped, J with the match below 0.5, and the bytes differ          [should be 0]
    … other title     of these: those with another title                                  [should be 0]
  .5<=J<.9 o. title   dropped under another title, J with the match in between            [should be small]
  J>=.9 same title    pages of 100 tokens and more with an earlier page of J >= 0.9 and the same title: how many are dropped (without /page/N)
  AMP pairs           pairs with J >= 0.9 and 60 tokens: one is dropped for the other, or both for one third page
  AMP pairs, J<.9     the other pairs of the same kind of addresses (no claim: extraction may have taken other parts)
The last line sums wrong and missed of all: with it two programs can be compared at a glance.
"""
import argparse, collections, hashlib, json, os, pickle, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

CACHE = os.environ.get("MEASURE_CACHE", "target/measure-cache")
BASE = os.environ.get("MEASURE_BASE", "target/release/pagesieve")
ALONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff"
TOKEN = re.compile("[%s]|[^\\W%s]+" % (ALONE, ALONE))

LIST = re.compile(r"/page[/-]?\d+|/(tags?|categor\w+|archives?)/(index\.html)?$")

def run(binary, command, rows, more=()):
    r = subprocess.run([binary, command, *more], input="".join(json.dumps(x) + "\n" for x in rows).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = [json.loads(l) for l in r.stdout.decode("utf-8", "replace").split("\n") if l.strip()]
    if len(out) != len(rows): sys.exit("FAIL %s %s: %d lines for %d pages: %s" % (binary, command, len(out), len(rows), r.stderr.decode()[-300:]))
    return out

def documents(pages):
    return [{"id": str(i), "html": h} if u is None else {"id": str(i), "url": u, "html": h} for i, (u, h) in enumerate(pages)]

def judge(binary, pages, sets):
    """For each page: (exact, near or unique; index of the match or None)"""
    out = run(binary, "filter", documents(pages), [x for s in sets for x in ("--set", s)])
    return [(o.get("verdict", "error"), int(o["match"]["id"]) if o.get("match") else None) for o in out]

def key_of(html): return hashlib.md5(html.encode("utf-8", "surrogatepass")).digest()

def bodies(binary, file, groups):
    """md5 of a page -> (title, number of tokens, its passages)"""
    st = os.stat(file); b = os.stat(binary)
    name = "%s/%s-%s.pkl" % (CACHE, os.path.basename(file), hashlib.md5(repr((os.path.abspath(file), st.st_size, st.st_mtime_ns, b.st_size, b.st_mtime_ns, 2)).encode()).hexdigest()[:12])
    if os.path.exists(name):
        with open(name, "rb") as f: return pickle.load(f)
    pages = {}
    for g in groups:
        if not g["checks"]:
            for u, h in g["pages"]: pages.setdefault(key_of(h), (u, h))
    known = {}
    for k, o in zip(pages, run(binary, "extract", documents(list(pages.values())))):
        t = [w.lower() for w in TOKEN.findall(o.get("text") or "")]
        known[k] = ((o.get("title") or "").strip(), len(t), frozenset(hash_of(" ".join(t[i:i + 5])) for i in range(max(1, len(t) - 4))) if t else frozenset())
    if known:
        os.makedirs(CACHE, exist_ok=True)
        with open(name + ".new", "wb") as f: pickle.dump(known, f, protocol=4)
        os.replace(name + ".new", name)
    return known

def hash_of(s): return int.from_bytes(hashlib.blake2b(s.encode(), digest_size=8).digest(), "big")
def jac(a, b): return len(a & b) / max(1, len(a | b))

def earlier(infos):
    """For each page the earlier pages with J >= .9, both of 100 tokens and more, of the same title."""
    index, out = collections.defaultdict(list), []
    for at, (title, n, sh) in enumerate(infos):
        found = []
        if n >= 100:
            keys = [k for k in sh if k % 8 == 0] or list(sh)[:20]
            score = collections.Counter()
            for k in keys:
                for q in index[k][:60]: score[q] += 1
                index[k].append(at)
            found = [q for q, c in score.most_common(8) if infos[q][0] == title and jac(sh, infos[q][2]) >= .9]
        out.append(found)
    return out

class Table:
    def __init__(self): self.rows, self.fails = collections.OrderedDict(), []
    def add(self, set_, kind, good, who, fail=None):
        r = self.rows.setdefault((set_, kind), [0, 0, 0, "right"]); r[0] += who == 0; r[1 + who] += bool(good)
        if not good and fail: self.fails.append((who, set_, kind) + fail)
    def number(self, set_, kind, total, value, who, what):
        r = self.rows.setdefault((set_, kind), [0, 0, 0, what]); r[0] += total if who == 0 else 0; r[1 + who] += value

def check(table, name, g, res, who):
    for at, kind, want in g["checks"]:
        v, m = res[at]; url = g["pages"][m][0] if m is not None else None
        good = {"new": v == "unique", "dup": v not in ("unique", "error"), "exact": v == "exact", "near": v == "near", "not_exact": v != "exact", "either": True}.get(want, v not in ("unique", "error") and url == want)
        table.add(name, kind, good, who, (g["group"], g["pages"][at][0], "wanted %s, got %s %s" % (want, v, url or "")))
        if want == "either": table.number(name, kind + ": dropped", 1, v != "unique", who, "info")

def whole(table, name, g, res, who, info, truth):
    pages = g["pages"]; n = len(pages); P = lambda i: pages[i][0] or "page %d «%s»" % (i, info[i][0][:60])
    pair = {tuple(sorted(p)) for p in g.get("pairs", [])}
    table.number(name, "dropped in all", n, sum(v != "unique" for v, m in res), who, "info")
    wrong = [0, 0, 0]
    for at, (v, m) in enumerate(res):
        if m is None: continue
        j, other = jac(info[at][2], info[m][2]), info[at][0] != info[m][0]
        if pages[at][1] == pages[m][1] or not info[at][2] and not info[m][2]: continue
        if (min(at, m), max(at, m)) in pair: continue
        bad = j < .5
        wrong[0] += bad; wrong[1] += bad and other; wrong[2] += .5 <= j < .9 and other
        if bad: table.fails.append((who, name, "wrong J<.5", g["group"], P(at), "dropped (%s) for %s, J %.2f%s" % (v, P(m), j, ", another title" if other else "")))
        elif .5 <= j < .9 and other: table.fails.append((who, name, ".5<=J<.9 o. title", g["group"], P(at), "dropped (%s) for %s, J %.2f, another title" % (v, P(m), j)))
    for k, x in zip(("wrong J<.5", "wrong J<.5, other title", ".5<=J<.9 o. title"), wrong): table.number(name, k, n, x, who, "bad")
    for at, q in enumerate(truth):
        # Pages of a list whose body text is not its entries are the same only for extraction.
        q = [x for x in q if not LIST.search(pages[at][0] or "") and not LIST.search(pages[x][0] or "")]
        if q: table.add(name, "J>=.9 same title", res[at][0] != "unique", who, (g["group"], P(at), "missed: as %s" % P(q[0])))
    for i, j in g.get("pairs", []):
        (vi, mi), (vj, mj) = res[i], res[j]
        ok = mj == i or mi == j or (mi is not None and mi == mj) or (mi is not None and mj is not None and res[mj][1] == mi) or (mi is not None and mj is not None and res[mi][1] == mj)
        J = jac(info[i][2], info[j][2])
        if min(info[i][1], info[j][1]) >= 60 and J >= .9: table.add(name, "AMP pairs", ok, who, (g["group"], P(j), "missed: as %s (%s %s)" % (P(i), vj, "" if mj is None else P(mj))))
        else: table.number(name, "AMP pairs, J<.9", 1, ok, who, "info")

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("bin"); ap.add_argument("files", nargs="+"); ap.add_argument("--base"); ap.add_argument("--show", action="store_true")
    ap.add_argument("--only", default="", help="groups, sets or kinds that begin so, or the name of a set"); ap.add_argument("--set", action="append", default=[]); ap.add_argument("--by", choices=["set", "group", "lang"], default="set")
    ap.add_argument("--extract", help="the program whose body texts are the truth"); ap.add_argument("--json"); ap.add_argument("--jobs", type=int, default=1)
    a = ap.parse_args()
    extract = a.extract or (BASE if os.path.exists(BASE) else a.base or a.bin)
    who = [a.bin] + ([a.base] if a.base else [])
    table, times = Table(), [0.0, 0.0]
    only = tuple(filter(None, a.only.split(",")))
    for file in a.files:
        with open(file, encoding="utf-8") as f: groups = [json.loads(l) for l in f]
        wanted = [g for g in groups if not only or g["group"].startswith(only) or g["set"].startswith(only) or any(str(c[1]).startswith(only) for c in g["checks"])]
        known = bodies(extract, file, groups) if any(not g["checks"] for g in wanted) else {}
        truths = {}
        with ThreadPoolExecutor(a.jobs) as pool:
            results = list(pool.map(lambda x: judge(who[x[1]], x[0]["pages"], ["dedup.seed=7", *(a.set if x[1] == 0 else ())]), [(g, w) for g in wanted for w in range(len(who))]))
        for i, g in enumerate(wanted):
            name = g["set"] + (" " + g["group"].split("_")[1] if a.by == "group" or g["set"] in ("sites", "amp") else " " + g.get("lang", "") if a.by == "lang" or g["set"] == "swap" else "")
            for w in range(len(who)):
                res = results[i * len(who) + w]
                if g["checks"]: check(table, name, g, res, w)
                else:
                    info = [known[key_of(h)] for u, h in g["pages"]]
                    t = tuple(key_of(h) for u, h in g["pages"])
                    if t not in truths: truths[t] = earlier(info)
                    for nm in {name, g["set"] + " (all)"} if g["set"] in ("sites", "amp") else {name}: 
                        before = len(table.fails); whole(table, nm, g, res, w, info, truths[t])
                        if nm != name: del table.fails[before:]
        del groups, wanted, known
    two = a.base is not None
    print("%-28s %-36s %6s %7s%s %7s%s" % ("set", "kind", "n", "right", "    base" if two else "", "wrong", "    base" if two else ""))
    total = [collections.Counter(), collections.Counter()]
    for (s, k), (n, x, y, what) in table.rows.items():
        if what == "right": line = ["%7d" % x, "%8d" % y, "%7d" % (n - x), "%8d" % (n - y)]
        elif what == "bad": line = ["%7s" % "", "%8s" % "", "%7d" % x, "%8d" % y]
        else: line = ["%7d" % x, "%8d" % y, "%7s" % "-", "%8s" % "-"]
        print("%-28s %-36s %6d %s" % (s, k, n, line[0] + (line[1] if two else "") + " " + line[2] + (line[3] if two else "")) + ("  <" if what != "info" and (two and (x > y if what == "bad" else x < y)) else "  +" if what != "info" and two and x != y else ""))
        if what != "info" and not (s.startswith(("sites ", "amp ")) and not s.endswith("(all)")) and k != "wrong J<.5, other title":
            for w, v in enumerate((x, y)): total[w][s.split(" ")[0]] += v if what == "bad" else n - v
    for w in range(len(who)): print("not as wanted, %s: %d   (%s)" % ("base" if w else "program", sum(total[w].values()), ", ".join("%s %d" % kv for kv in total[w].items())))
    if two: print("'<': worse than base, '+': better")
    if a.show:
        for w in range(len(who)):
            for f in table.fails:
                if f[0] == w: print("%s%s | %s | %s | %s | %s" % ("BASE " if w else "", *f[1:]))
    if a.json:
        with open(a.json, "w") as f: json.dump([[*k, *v] for k, v in table.rows.items()], f, ensure_ascii=False)

if __name__ == "__main__": main()
