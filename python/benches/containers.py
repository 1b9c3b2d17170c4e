"""The same texts through every container: the verdicts must be the same. Prints the seconds of each, and what single calls cost.

    python benches/containers.py [TEXTS] [PROGRAM]

TEXTS is their number (default 200,000). With PROGRAM, a build of `pagesieve` in the profile of the package, they also go through its pipe, its
file and its stream of lines over HTTP. Ends with an error if any verdict differs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from pagesieve import Filter


def texts(count: int) -> list[str]:
    """Of every five, one repeats an earlier one and one nearly does."""
    made = []
    for number in range(count):
        if number % 5 == 3:
            made.append(made[number - 3])
        elif number % 5 == 4:
            made.append(made[number - 3] + " changed")
        else:
            mixed = [(number * 64 + word) * 0x9E3779B97F4A7C15 % 2**64 >> 44 for word in range(60)]
            made.append(" ".join(f"w{word}" for word in mixed))
    return made


def verdicts_of(lines: str) -> list[str]:
    return [json.loads(line)["verdict"] for line in lines.splitlines()]


def spent_since(before: os.times_result) -> float:
    """The CPU time of processes that have ended since then."""
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def over_http(program: str, lines: Path) -> list[str]:
    """The verdicts of a service on these lines, sent as one stream by curl, which reads while it writes."""
    service = subprocess.Popen([program, "serve", "--state", ":memory:", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        url = service.stderr.readline().split()[-1]
        send = ["curl", "--silent", "--fail", "--retry", "9", "-X", "POST", "-T", lines, f"{url}/v1/judge.ndjson"]
        return verdicts_of(subprocess.run(send, capture_output=True, text=True, check=True).stdout)
    finally:
        service.terminate()
        service.wait()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    all_texts = texts(count)
    ids = [f"n{number}" for number in range(count)]
    table = pyarrow.table({"id": ids, "text": all_texts})
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        parquet, lines = Path(folder) / "texts.parquet", Path(folder) / "texts.jsonl"
        pyarrow.parquet.write_table(table, parquet, row_group_size=10_000)
        with open(lines, "w") as file:
            file.writelines(json.dumps({"id": id, "text": text}) + "\n" for id, text in zip(ids, all_texts))
        containers = {
            "pairs": lambda: zip(ids, all_texts),
            "dicts": lambda: ({"id": id, "text": text} for id, text in zip(ids, all_texts)),
            "texts": lambda: all_texts,
            "JSON lines": lambda: map(json.loads, open(lines, "rb")),
            "Arrow table": lambda: table,
            "reader": lambda: table.to_reader(max_chunksize=1000),
            "batches": lambda: table.to_batches(max_chunksize=1000),
            "chunked array": lambda: table["text"],
            "pandas": lambda: pandas.DataFrame({"id": ids, "text": all_texts}),
            "Polars": lambda: polars.DataFrame({"id": ids, "text": all_texts}),
            "LazyFrame": lambda: polars.scan_parquet(parquet),
            "Dataset": lambda: pyarrow.dataset.dataset(parquet),
        }
        others = []

        def report(name: str, verdicts: list[str], spent: float) -> None:
            nonlocal expected
            expected = expected or verdicts
            if verdicts != expected:
                others.append(name)
            print(f"{name:14} {spent:7.2f} s of CPU, {'the same verdicts' if verdicts == expected else 'OTHER VERDICTS'}", flush=True)

        for name, container in containers.items():
            documents, began = container(), time.process_time()
            verdicts = [decision.verdict for decision in Filter().judge_many(documents)]
            report(name, verdicts, time.process_time() - began)
        if len(sys.argv) > 2:
            for name, more in (("the pipe", []), ("the file", ["--state", Path(folder) / "pipe.db"])):
                before = os.times()
                done = subprocess.run([sys.argv[2], "filter", *more, lines], capture_output=True, text=True, check=True)
                report(name, verdicts_of(done.stdout), spent_since(before))
            before = os.times()
            report("HTTP", over_http(sys.argv[2], lines), spent_since(before))
        if others:
            sys.exit(f"other verdicts: {', '.join(others)}")
        few = list(zip(ids, all_texts))[: min(count, 5_000)]
        for name, path in (("memory", None), ("a file", Path(folder) / "seen.db")):
            seconds = {}
            for how in ("judge_many", "judge in a batch", "judge"):
                seen = Filter(path and path.with_suffix(f".{len(seconds)}"))
                began = time.perf_counter()
                if how == "judge_many":
                    list(seen.judge_many(few))
                elif how == "judge":
                    for id, text in few:
                        seen.judge(text, id=id)
                else:
                    with seen.batch():
                        for id, text in few:
                            seen.judge(text, id=id)
                seconds[how] = time.perf_counter() - began
            print(f"{len(few)} texts in {name}: " + ", ".join(f"{how} {spent:.2f} s" for how, spent in seconds.items()))


if __name__ == "__main__":
    main()
