#!/usr/bin/env python3
"""Measures the decision on texts that nothing was tuned on: translated documentation in several versions, from public repositories.

    git clone https://github.com/fastapi/fastapi
    git clone https://github.com/reactjs/ko.react.dev
    git clone https://github.com/reactjs/ar.react.dev
    git clone https://github.com/tldr-pages/tldr
    pip install opencc-python-reimplemented
    cargo build --release
    python3 benches/held_out.py fastapi 'docs/(ko|zh|zh-hant|ja|ru|de|es|pt|fr|uk|tr|hi)/docs/.*\\.md' 2026-08-01 2026-02-01 2025-08-01
    python3 benches/held_out.py ko.react.dev '(src)/content/.*\\.md' 2026-06-01 2025-06-01 --lang ko
    python3 benches/held_out.py tldr 'pages\\.(th|ta|fa|bn|hi|ar|zh_TW)/.*\\.md' 2026-06-01 2025-06-01 2024-06-01

Takes the matching files of a repository, as of each date, and writes `texts.jsonl` and `pairs.jsonl` into a directory: every pair of
texts whose Jaccard similarity is at least 0.3, over all pairs of the corpus. The truth is defined as for the development data: sets of
five adjacent tokens, where a token is a word, or a character of a script without spaces. It does not depend on fingerprints.
Then runs `pagesieve eval` with --seeds hash seeds.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import opencc

SIMPLIFIED = opencc.OpenCC("t2s")
# Scripts written without spaces between words: Han, kana, Thai, Lao, Myanmar, Khmer.
ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# Vowel signs and other marks belong to their word; Python does not include them.
MARKS = "".join(chr(c) for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
TOKEN = re.compile(rf"[{ALONE}]|(?:[^\W{ALONE}]|(?![{ALONE}])[{MARKS}])+")
LEAST = 0.3


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout


def plain(markdown):
    """The text of a page in Markdown."""
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.S)
    text = re.sub(r"<!--.*?-->|</?\w[^>]*>|\{[#/].*?\}", "", text, flags=re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = (re.sub(r"^[\s>#*\-|+`]+|[`*]+", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def texts(repository, pattern, dates, language):
    """The matching pages at each date."""
    for date in dates:
        revision = git(repository, "rev-list", "-1", f"--before={date}", "HEAD").decode().strip()
        for line in git(repository, "ls-tree", "-r", "-z", revision).decode().split("\0"):
            if not (match := pattern.fullmatch(line.partition("\t")[2])):
                continue
            page = git(repository, "cat-file", "blob", line.split()[2]).decode("utf-8", "replace")
            path = line.partition("\t")[2]
            yield {"path": f"{date}/{path}", "lang": language or match[1], "main_text": plain(page)}


def shingles(text):
    # Traditional and simplified forms of a text are the same text.
    tokens = TOKEN.findall(SIMPLIFIED.convert(unicodedata.normalize("NFKC", text).lower()))
    return {tuple(tokens[at : at + 5]) for at in range(max(1, len(tokens) - 4))} if tokens else set()


def pairs(corpus):
    """Every pair with a similarity of at least LEAST."""
    sets = [shingles(text["main_text"]) for text in corpus]
    holders = collections.defaultdict(list)
    for b, own in enumerate(sets):
        shared = collections.Counter()
        for shingle in own:
            shared.update(holders[shingle])
            holders[shingle].append(b)
        for a, both in shared.items():
            jaccard = both / (len(own) + len(sets[a]) - both)
            if jaccard >= LEAST:
                yield {"a": corpus[a]["path"], "b": corpus[b]["path"], "jaccard": round(jaccard, 4)}


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("pattern", type=re.compile, help="regular expression for the whole path; its first group is the language")
    parser.add_argument("date", nargs="+")
    parser.add_argument("--lang", help="the language, if it is not in the path")
    parser.add_argument("--out", type=Path, default=Path("target/held-out"))
    parser.add_argument("--program", default="target/release/pagesieve")
    parser.add_argument("--seeds", default="5")
    arguments, further = parser.parse_known_args()
    corpus = list(texts(arguments.repository, arguments.pattern, arguments.date, arguments.lang))
    if not corpus:
        sys.exit(f"no file of {arguments.repository} matches")
    directory = arguments.out / arguments.repository.name
    directory.mkdir(parents=True, exist_ok=True)
    write(directory / "texts.jsonl", corpus)
    write(directory / "pairs.jsonl", pairs(corpus))
    command = [arguments.program, "eval", directory / "pairs.jsonl", "--texts", directory / "texts.jsonl"]
    print(f"{len(corpus)} texts in {directory}", flush=True)
    sys.exit(subprocess.run([*command, "--seeds", arguments.seeds, *further]).returncode)


if __name__ == "__main__":
    main()
