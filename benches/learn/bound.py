#!/usr/bin/env python3
"""How few pages of the four development sites a crawler can fetch that learns which trees of a site repeat each other.

    cargo bench --bench learn -- sites --policy follow --flight 1 --keep RUNS
    python3 benches/learn/bound.py RUNS/four-sites-follow-1-0

The crawler of this calculation knows the outcome. It puts pages into groups by what can be known before they are fetched: the site, the tree (version or
machine type), the language, and how the page's counterparts compare (the same page of both trees in the other languages; the page of the trees before this one).
Of each group it skips all pages or none, and chooses the groups that save most for at most four texts lost, and the order of trees and languages that is best
for that. A learner has to fetch some pages of each group that it skips: so the same with a number of trials for each group.
"""
import collections, itertools, json, pathlib, sys

MOST_LOST = 4

def pages(run):
    """The text of each page, and whether it has exactly the text of the page that it repeats."""
    of, exact = {}, {}
    for name in ("pages", "duplicates"):
        for line in open(run / f"{name}.jsonl"):
            page = json.loads(line)
            match = page.get("match")
            of[page["url"]] = match["id"] if match else page["url"]
            exact[page["url"]] = not match or page["verdict"] == "exact"
    return of, exact

def trees_of(urls):
    """URLs by site, then by tree and language, then by the rest of the path."""
    sites = collections.defaultdict(lambda: collections.defaultdict(dict))
    for url in urls:
        site, tree, language, *rest = url.split("/")[3:]
        sites[site][tree, language]["/".join(rest)] = url
    return sites

class Comparison:
    def __init__(self, of, exact):
        self.of, self.exact = of, exact

    def text(self, url):
        while self.of[url] != url:
            url = self.of[url]
        return url

    def __call__(self, a, b):
        """'-' if one was not fetched, 'n' if they differ, 'x' if they are exactly the same, 's' if nearly."""
        if a is None or b is None:
            return "-"
        if self.text(a) != self.text(b):
            return "n"
        known, exact = self.of, self.exact
        same = known[a] == b and exact[a] or known[b] == a and exact[b]
        return "x" if same or known[a] == known[b] and exact[a] and exact[b] else "s"

def summary(compared):
    compared = set("".join(compared)) - {"-"}
    return "unknown" if not compared else {"x": "same", "n": "different"}.get("".join(compared), "mixed")

# From fine to coarse: what pages of one group have in common.
GROUPINGS = {
    "site, tree, language, each counterpart": lambda *group: group,
    "site, tree, counterparts": lambda site, tree, _, compared, before: (site, tree, summary(compared), before),
    "site, language, counterparts": lambda site, _, language, compared, before: (site, language, summary(compared), "n" in before),
    "site, counterparts": lambda site, _tree, _language, compared, before: (site, summary(compared), "n" in before),
}

def groups(site, trees, order, languages, compare):
    """Pages that must be fetched in any case, and the pages and lost texts of each group."""
    base, found = 0, collections.Counter()
    for (number, language), (place, tree) in itertools.product(enumerate(languages), enumerate(order)):
        for page, url in trees.get((tree, language), {}).items():
            get = lambda tree, language: trees.get((tree, language), {}).get(page)
            before = [it for it in (get(it, language) for it in order[:place]) if it]
            if not before:
                base += 1
                continue
            compared = tuple("".join(compare(get(tree, other), get(it, other)) for it in order[:place]) for other in languages[:number])
            agreement = "".join(compare(a, b) for a, b in itertools.combinations(before, 2))
            is_lost = all(compare.text(it) != compare.text(url) for it in before)
            found[site, tree, language, compared, agreement, is_lost] += 1
    return base, found

def fewest(base, found, grouping, trials):
    """For each number of lost texts: the fewest pages fetched."""
    merged = collections.defaultdict(lambda: [0, 0])
    for (*group, is_lost), count in found.items():
        of = merged[grouping(*group)]
        of[0] += count
        of[1] += count * is_lost
    saved = {0: 0}
    for count, lost in merged.values():
        for before, most in list(saved.items()) if count > trials else ():
            if before + lost <= MOST_LOST:
                saved[before + lost] = max(saved.get(before + lost, 0), most + count - trials)
    total = base + sum(count for count, _ in merged.values())
    return [total - max(most for lost, most in saved.items() if lost <= allowed) for allowed in range(MOST_LOST + 1)]

def main():
    of, exact = pages(pathlib.Path(sys.argv[1]))
    compare = Comparison(of, exact)
    sites = trees_of(of)
    print(f"{len(of)} pages, {len({compare.text(url) for url in of})} texts\n")
    print(f"| groups | trials for each | pages, nothing lost | {MOST_LOST} texts lost |\n|---|---|---|---|")
    found = collections.defaultdict(list)
    for site, trees in sites.items():
        names, languages = ({key[place] for key in trees} for place in (0, 1))
        for order in itertools.product(itertools.permutations(sorted(names)), itertools.permutations(sorted(languages))):
            found[site].append(groups(site, trees, *order, compare))
    for (name, grouping), trials in itertools.product(GROUPINGS.items(), (0, 10, 34)):
        best = [[min(it) for it in zip(*(fewest(*it, grouping, trials) for it in all))] for all in found.values()]
        ways = itertools.product(range(MOST_LOST + 1), repeat=len(best))
        least = min(sum(of[lost] for of, lost in zip(best, way)) for way in ways if sum(way) <= MOST_LOST)
        print(f"| {name} | {trials} | {sum(of[0] for of in best):,} | {least:,} |")

main()
