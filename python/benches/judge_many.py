"""What `judge_many` costs, beside `pagesieve filter` and datasketch's MinHashLSH on the same texts.

    python benches/judge_many.py PROGRAM [COPIES]

PROGRAM is a release build of `pagesieve`. The texts are the main texts of the development data (`PAGESIEVE_DATA`), each COPIES times
(default 5) with words changed, so that every copy has features of its own. Prints CPU seconds of whole processes, each the least of
three, and how many near pairs of the development data each finds.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

DATA = Path(os.environ.get("PAGESIEVE_DATA", Path(__file__).parents[3] / "shared/data"))

PAGESIEVE = """
import json, sys, pagesieve
lines = open(sys.argv[1], "rb")
decisions = pagesieve.Filter().judge_many(map(json.loads, lines))
print(sum(decision.is_unique for decision in decisions))
"""

READING = """
import json, sys
print(sum(1 for _ in map(json.loads, open(sys.argv[1], "rb"))))
"""

DATASKETCH = """
import json, re, sys
from datasketch import MinHash, MinHashLSH
index, unique = MinHashLSH(threshold=0.8, num_perm=128), 0
for number, line in enumerate(open(sys.argv[1], "rb")):
    text = json.loads(line)["text"].lower()
    words = re.findall(r"[\\u3040-\\u30ff\\u4e00-\\u9fff]|\\w+", text)
    minhash = MinHash(num_perm=128)
    minhash.update_batch([" ".join(words[i : i + 5]).encode() for i in range(max(1, len(words) - 4))])
    if not index.query(minhash):
        index.insert(number, minhash)
        unique += 1
print(unique)
"""


def measured(line: list[str]) -> tuple[float, str]:
    """The CPU seconds of a process and its last line."""
    before = os.times()
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    after = os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used, done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def least(line: list[str], rounds: int = 3) -> tuple[float, str]:
    return min((measured(line) for _ in range(rounds)), key=lambda it: it[0])


def texts() -> list[dict]:
    return [{"id": line["path"], "text": line["main_text"]} for line in map(json.loads, open(DATA / "main_text.jsonl"))]


def write(path: Path, copies: int) -> int:
    """The texts, and copies of them in which words at random places are replaced by new ones."""
    chance, count = random.Random(1), 0
    with open(path, "w") as file:
        for copy in range(copies):
            for line in texts():
                words = line["text"].split(" ")
                for place in chance.sample(range(len(words)), len(words) // 4 if copy else 0):
                    words[place] = f"w{chance.getrandbits(40):x}"
                file.write(json.dumps({"id": f"{copy} {line['id']}", "text": " ".join(words)}) + "\n")
                count += 1
    return count


def quality() -> None:
    """Of each text after the first of its group: does it have a near pair before it, and is it found?"""
    import pagesieve

    near, known = {}, {}
    for pair in map(json.loads, open(DATA / "pairs.jsonl")):
        known[frozenset((pair["path_a"], pair["path_b"]))] = pair["jaccard"]
        if pair["label"] == "near":
            near.setdefault(pair["path_a"], set()).add(pair["path_b"])
            near.setdefault(pair["path_b"], set()).add(pair["path_a"])
    given = texts()

    def figures(name, matches):
        seen, wanted, found, wrong = set(), 0, 0, 0
        for line, match in zip(given, matches):
            if near.get(line["id"], set()) & seen:
                wanted += 1
                found += match is not None
            if match is not None and known.get(frozenset((line["id"], match)), 0) < 0.5:
                wrong += 1
            seen.add(line["id"])
        print(f"{name}: {found} of {wanted} texts with an earlier near duplicate found, {wrong} matches of a similarity below 0.5")

    figures("pagesieve", [decision.match for decision in pagesieve.Filter().judge_many(given)])
    import re

    from datasketch import MinHash, MinHashLSH

    index, matches = MinHashLSH(threshold=0.8, num_perm=128), []
    for line in given:
        words = re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]|\w+", line["text"].lower())
        minhash = MinHash(num_perm=128)
        minhash.update_batch([" ".join(words[i : i + 5]).encode() for i in range(max(1, len(words) - 4))])
        found = index.query(minhash)
        matches.append(min(found) if found else None)
        if not found:
            index.insert(line["id"], minhash)
    figures("datasketch", matches)


def main() -> None:
    program, copies = sys.argv[1], int(*islice(sys.argv, 2, 3) or "5")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        count = write(path, copies)
        rust, _ = least([program, "filter", "--set", "dedup.seed='public'", str(path)])
        python, unique = least([sys.executable, "-c", PAGESIEVE, str(path)])
        reading, _ = least([sys.executable, "-c", READING, str(path)])
        sketch, theirs = least([sys.executable, "-c", DATASKETCH, str(path)], 1)
    print(f"{count} texts, {unique} of them unique; datasketch: {theirs}")
    print(f"pagesieve filter      {rust:6.2f} s")
    print(f"judge_many            {python:6.2f} s, {python / rust:.2f} times; of these {reading:.2f} s read JSON lines")
    print(f"datasketch            {sketch:6.2f} s, {(sketch - reading) / (python - reading):.1f} times judge_many without reading")
    quality()


if __name__ == "__main__":
    main()
