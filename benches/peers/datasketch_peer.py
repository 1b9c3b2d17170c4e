"""The sketch beside datasketch's MinHash with 128 permutations, over the same tokens and pairs of tokens.

    pip install datasketch numpy
    cargo build --release --bin signature
    python datasketch_peer.py main_text.jsonl

Needs Python 3.9 or later; run it in the directory of this file. `signature --features` cuts the texts and says what cutting takes and what a
sketch takes, from the text to the end. datasketch is given the features ready, as bytes, all of a page at once (`update_batch`, its
fastest way); from the text, it takes what our cutting takes besides. All is CPU time of one thread, and the two take turns: medians of the
rounds, with the least and the greatest ratio.
"""

import json
import statistics
import subprocess
import sys
import time

import datasketch

ROUNDS = 5
TARGET = 10


def seconds(pages):
    begin = time.process_time()
    for page in pages:
        datasketch.MinHash(num_perm=128).update_batch(page)
    return time.process_time() - begin


def rounds(file):
    """For each way of cutting, datasketch's microseconds a page, those of our cutting and those of a sketch, round by round."""
    program = ["target/release/signature", "--features", file]
    ways = {}
    for _ in range(ROUNDS):
        output = subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout
        for line in output.splitlines():
            measured = json.loads(line)
            pages = [[feature.encode() for feature in page] for page in measured["pages"] if page]
            micros = seconds(pages) * 1e6 / len(pages)
            ways.setdefault(measured["name"], []).append((micros, measured["cut"], measured["sketch"]))
    return ways


def main(file):
    print(f"datasketch {datasketch.__version__}; µs of CPU a page: datasketch / sketch")
    for name, times in rounds(file).items():
        hashing, cutting, sketch = (statistics.median(column) for column in zip(*times))
        for what, micros, ratios in [
            ("features given", hashing, [hash / sketch for hash, _, sketch in times]),
            ("from the text", hashing + cutting, [(hash + cut) / sketch for hash, cut, sketch in times]),
        ]:
            ratio = statistics.median(ratios)
            met = "met" if ratio >= TARGET else "MISSED"
            print(f"{name:<22} {what:<15} {micros:9.1f} / {sketch:6.1f}  {ratio:5.1f} "
                  f"({min(ratios):.1f}-{max(ratios):.1f})  at least {TARGET}: {met}")


if __name__ == "__main__":
    main(*sys.argv[1:])
