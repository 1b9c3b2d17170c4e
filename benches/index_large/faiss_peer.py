"""FAISS beside the index: the same fingerprints, the same questions, one thread.

    pip install faiss-cpu numpy
    python faiss_peer.py [ENTRIES] [RADIUS]

Prints CPU time a query, an insertion, and resident bytes an entry, for IndexBinaryMultiHash with four keys of 16 bits (exact for
radius 3 with nflip 0) and for IndexBinaryFlat. FAISS finds what is nearer than the radius, not what is as near: it is asked for
one more. Its hash indexes only grow, so that nothing has been replaced when they are asked.
"""

import sys
import time

import faiss
import numpy as np

ENTRIES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
RADIUS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
# Probing within this many flips of each of four keys is exact up to this radius.
FLIPS = RADIUS // 4


def fingerprints(numbers):
    """The finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def questions(n):
    """Half of them random, half 0 to RADIUS bits from an entry."""
    asked = fingerprints(np.arange(1 << 40, (1 << 40) + n))
    planted = np.arange(1, n, 2)
    ids = asked[planted] % np.uint64(ENTRIES)
    asked[planted] = fingerprints(ids + np.uint64(1))
    rng = np.random.default_rng(1)
    for i, place in enumerate(planted):
        for bit in rng.choice(64, i % (RADIUS + 1), replace=False):
            asked[place] ^= np.uint64(1) << np.uint64(bit)
    return asked, planted, ids


def measure(name, index, n):
    words = fingerprints(np.arange(1, ENTRIES + 1))
    codes = words.view(np.uint8).reshape(-1, 8)
    before, begin = resident(), time.process_time()
    index.add(codes)
    insert = (time.process_time() - begin) / ENTRIES * 1e9
    size = (resident() - before) / ENTRIES
    asked, planted, ids = questions(n)
    begin = time.process_time()
    limits, _, found = index.range_search(asked.view(np.uint8).reshape(-1, 8), RADIUS + 1)
    query = (time.process_time() - begin) / n * 1e9
    hits = sum(ident in found[limits[q] : limits[q + 1]] for q, ident in zip(planted, ids))
    print(f"{name}: query {query:.0f} ns, insert {insert:.0f} ns, {size:.1f} bytes an entry, found {hits} of {len(planted)}")


faiss.omp_set_num_threads(1)
multi = faiss.IndexBinaryMultiHash(64, 4, 16)
multi.nflip = FLIPS
measure(f"IndexBinaryMultiHash 4x16, nflip {FLIPS}", multi, 2000)
measure("IndexBinaryFlat", faiss.IndexBinaryFlat(64), 50)
