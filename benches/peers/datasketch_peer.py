"""The sketch beside datasketch's MinHash with 128 permutations, over the same tokens and pairs of tokens.

    pip install datasketch numpy
    cargo build --release --bin signature
    python datasketch_peer.py main_text.jsonl

Needs Python 3.9 or later; run it in the directory of this file. `signature --features` cuts the texts and says what a sketch takes, from
the text to the end; datasketch is given the features ready, as bytes, all of a page at once (`update_batch`, its fastest way), so
that the ratio leaves out what cutting would cost it. Both are CPU time of one thread, one after the other: the median of the rounds.
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


def main(file):
    program = ["target/release/signature", "--features", file]
    output = subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout
    print(f"datasketch {datasketch.__version__}; µs of CPU a page: datasketch / sketch")
    for line in output.splitlines():
        measured = json.loads(line)
        pages = [[feature.encode() for feature in page] for page in measured["pages"] if page]
        micros = statistics.median(seconds(pages) for _ in range(ROUNDS)) * 1e6 / len(pages)
        ratio = micros / measured["micros"]
        met = "met" if ratio >= TARGET else "MISSED"
        print(f"{measured['name']:<22} {micros:9.1f} / {measured['micros']:6.1f}  "
              f"{ratio:5.1f}  at least {TARGET}: {met}")


if __name__ == "__main__":
    main(*sys.argv[1:])
