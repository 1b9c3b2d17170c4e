"""How much `pagesieve.spark` agrees with the filter that judges the same documents one after another, and what it costs.

    python benches/spark.py [DOCUMENTS.parquet]

The documents are the main texts of the development data (`PAGESIEVE_DATA`), or those of a Parquet file with the columns `n` (their order), `id`, `text` or
`html`, and perhaps `url`. Prints what a sketch takes, which documents are kept by one of both only, and what the steps took; without a file also whether a run that is
killed (SIGKILL to Spark and its workers, once in each step) ends with the same verdicts.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pagesieve import Filter
from pagesieve._pagesieve import Corpus

DATA = Path(os.environ.get("PAGESIEVE_DATA", Path(__file__).parents[3] / "shared/data"))
STEPS = ("sketches", "exact", "pairs", "verdicts")


def deduplicate(documents: str, checkpoint: str, out: str) -> None:
    from pyspark.sql import SparkSession

    from pagesieve.spark import deduplicate

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"ui.enabled": "false", "driver.memory": "4g", "sql.shuffle.partitions": "8", "driver.bindAddress": "127.0.0.1", "driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    df = spark.read.parquet(documents)
    kind = "html" if "html" in df.columns else "text"
    url = {"url": "url"} if kind == "html" and "url" in df.columns else {}
    found = deduplicate(df, **{kind: kind}, **url, order="n", checkpoint=checkpoint)
    found.select("n", "verdict", "match", "similarity").coalesce(1).write.parquet(out)


def run(documents: Path, folder: Path, kill: bool) -> dict[int, dict]:
    checkpoint, out = folder / f"checkpoint-{kill}", folder / f"out-{kill}"
    for step in STEPS if kill else ():
        child = subprocess.Popen([sys.executable, __file__, "--child", documents, checkpoint, out], start_new_session=True, stderr=subprocess.DEVNULL)
        while not (checkpoint / step).exists() and child.poll() is None:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        print(f"killed in the step `{step}`; done were {sorted(it.name for it in checkpoint.glob('*-done'))}")
    start = time.time()
    subprocess.run([sys.executable, __file__, "--child", documents, checkpoint, out], check=True, stderr=subprocess.DEVNULL)
    begun = start
    for step in ("description", *(f"{step}-done" for step in STEPS)):
        ended = (checkpoint / step / "_SUCCESS").stat().st_mtime
        if ended > begun:
            print(f"  {step.removesuffix('-done')}: {ended - begun:.1f} s", end="")
            begun = ended
    print(f"; all: {time.time() - start:.1f} s")
    return {row["n"]: row for row in pq.read_table(out).to_pylist()}


def sketch_time(table: pa.Table, kind: str) -> None:
    corpus, spent, count = Corpus(), 0.0, 0
    for batch in table.select(["id", kind]).slice(0, 20_000).to_batches(1024):
        start = time.thread_time()
        corpus.sketch(batch)
        spent += time.thread_time() - start
        count += len(batch)
    print(f"sketch: {spent / count * 1e6:.0f} µs of CPU a document ({count} documents)")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if len(sys.argv) > 1:
            documents = Path(sys.argv[1])
        else:
            lines = [json.loads(line) for line in open(DATA / "main_text.jsonl")]
            documents = folder / "documents.parquet"
            pq.write_table(pa.table({"n": range(len(lines)), "id": [it["path"] for it in lines], "text": [it["main_text"] for it in lines]}), documents)
        table = pq.read_table(documents).sort_by("n")
        kind = "html" if "html" in table.column_names else "text"
        sketch_time(table, kind)
        found = run(documents, folder, False)
        if len(sys.argv) == 1:
            again = run(documents, folder, True)
            print(f"verdicts after kills: {'the same' if again == found else 'OTHERS'}")
        stream = list(Filter(window={"age": "unlimited"}).judge_many(table.drop_columns("n")))
        differing = [(it, found[n]) for n, it in zip(table["n"].to_pylist(), stream) if it.is_unique != (found[n]["verdict"] == "unique")]
        kept = sum(it.is_unique for it in stream)
        kept_by_spark = sum(it["verdict"] == "unique" for it in found.values())
        print(f"{len(stream)} documents; kept by the stream: {kept}, by Spark: {kept_by_spark}; agreement: {1 - len(differing) / len(stream):.5f}")
        for it, other in differing[:10]:
            print(f"  {it.id}: stream {it.verdict} {it.match} ({it.signature_distance} bits), Spark {other['verdict']} {other['match']} {other['similarity']}")


if __name__ == "__main__":
    deduplicate(*sys.argv[2:]) if sys.argv[1:2] == ["--child"] else main()
