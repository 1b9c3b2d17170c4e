"""Nothing blocks Python: whoever reads tables may be Python itself, and Ctrl-C ends every call."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing

import pytest

from pagesieve import Filter

from test_filter import LONG


def run(code, timeout=60):
    code = textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize("attempt", range(3))
def test_a_reader_whose_files_are_read_by_python_does_not_hang(attempt):
    pytest.importorskip("pyarrow")
    pytest.importorskip("fsspec")
    done = run(
        """
        import fsspec, pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
        import pagesieve
        memory = fsspec.filesystem("memory")
        memory.mkdir("/x")
        table = pa.table({"text": [f"text number {n}" for n in range(20_000)]})
        for part in range(2):
            with memory.open(f"/x/{part}.parquet", "wb") as file:
                pq.write_table(table, file, row_group_size=500)
        reader = ds.dataset("/x", filesystem=memory).scanner(batch_size=500).to_reader()
        decisions = pagesieve.Filter().judge_many(reader)
        assert sum(decision.is_unique for decision in decisions) == 20_000
        # One that is dropped before its end.
        reader = ds.dataset("/x", filesystem=memory).scanner(batch_size=500).to_reader()
        decisions = pagesieve.Filter().judge_many(reader)
        next(decisions)
        del decisions, reader
        """
    )
    assert done.returncode == 0, done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time
import pagesieve
from pagesieve import Filter

def interrupt(after=0.3):
    def kill():
        time.sleep(after)
        global sent
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=kill, daemon=True).start()

def ends(call):
    interrupt()
    try:
        call()
    except KeyboardInterrupt:
        waited = time.monotonic() - sent
        assert waited < 1, waited
        return
    raise AssertionError("it has not been interrupted")
"""


@pytest.mark.parametrize(
    "call",
    [
        "list(Filter().judge_many(word * 2000 + str(n) for n in range(10**6)))",
        "list(Filter().judge_many([word * 2000] * 10**6))",
        "list(Filter().judge_many(iter(int, 1), on_error='skip'))",
        "Filter().judge(word * 10**7)",
        "Filter().check(word * 10**7)",
        "Filter().explain(word * 10**7, 'b')",
        "Filter().fingerprint(word * 10**7)",
        "pagesieve.fingerprint(word * 10**7)",
        # One call ends sooner than it could be interrupted.
        "[pagesieve.extract(page) for page in ['<p>' + '<b>x</b> ' * 10**6] * 10**6]",
    ],
)
def test_ctrl_c_ends_a_call_within_a_second(call):
    done = run(INTERRUPTED + f"word = 'tide '\nends(lambda: {call})\nos._exit(0)\n")
    assert done.returncode == 0, done.stderr


def test_ctrl_c_ends_the_waiting_for_a_table():
    pytest.importorskip("pyarrow")
    done = run(
        INTERRUPTED
        + """
import pyarrow as pa
schema = pa.schema({"text": pa.string()})
def batches():
    yield pa.record_batch({"text": ["one", "two"]})
    time.sleep(3)
    yield pa.record_batch({"text": ["three"]})
reader = pa.RecordBatchReader.from_batches(schema, batches())
decisions = Filter().judge_many(reader, chunk=1)
assert [next(decisions).verdict for _ in range(2)] == ["unique", "unique"]
ends(lambda: next(decisions))
# What comes later is there for whoever goes on.
assert [decision.id for decision in decisions] == ["#2"]
"""
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_loses_no_decision(tmp_path):
    done = run(
        INTERRUPTED
        + f"""
seen = Filter({str(tmp_path / "seen.db")!r})
texts = [("tide " * 500) + str(n) for n in range(20_000)]
decisions, found, interrupts = seen.judge_many(texts, chunk=500), [], 0
interrupt(0.2)
while True:
    try:
        for decision in decisions:
            found.append(decision.id)
        break
    except KeyboardInterrupt:
        interrupts += 1
assert interrupts == 1 and found == [f"#{{n}}" for n in range(20_000)], (interrupts, len(found))
"""
    )
    assert done.returncode == 0, done.stderr


def test_a_call_that_waits_for_another_thread_is_interrupted_too():
    done = run(
        INTERRUPTED
        + """
seen = Filter()
busy = threading.Thread(target=lambda: list(seen.judge_many(["tide " * 3_000_000] * 8, chunk=8)), daemon=True)
busy.start()
try:
    interrupt(0.5)
    while True:
        len(seen)
except KeyboardInterrupt:
    assert time.monotonic() - sent < 1
os._exit(0)
"""
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_while_a_large_file_is_opened_lets_go_of_it(tmp_path):
    path = tmp_path / "seen.db"
    with Filter(path) as seen:
        seen.judge(LONG, id="a")
    grow(path, 600_000)
    done = run(
        INTERRUPTED
        + f"""
interrupt(0.1)
try:
    Filter({str(path)!r})
except KeyboardInterrupt:
    waited = time.monotonic() - sent
    assert waited < 1, waited
else:
    raise AssertionError("it has not been interrupted")
# Neither the lock nor the thread is left.
import fcntl
with open({str(path)!r}) as file:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
for _ in range(20):
    names = [open(f"/proc/self/task/{{task}}/comm").read().strip() for task in os.listdir("/proc/self/task")]
    if "pagesieve" not in names:
        break
    time.sleep(0.05)
else:
    raise AssertionError(names)
"""
    )
    assert done.returncode == 0, done.stderr
    with Filter(path) as seen:
        assert len(seen) == 600_001


def grow(path, count):
    """Adds so many documents to a file, each with a signature of its own."""
    with closing(sqlite3.connect(path)) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(documents)")]
        new = {"id": "n.value", "name": "n.value", "key": "random()", "digests": "randomblob(16)", "signature": "randomblob(32)"}
        columns = ", ".join(new.get(name, f"d.{name}") for name in names)
        first = db.execute("SELECT max(id) + 1 FROM documents").fetchone()[0]
        db.execute(
            f"WITH RECURSIVE n(value) AS (SELECT {first} UNION ALL SELECT value + 1 FROM n WHERE value < {first + count - 1}) "
            f"INSERT INTO documents SELECT {columns} FROM n, documents d WHERE d.id = {first - 1}"
        )
        (position,) = db.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()
        position = json.loads(position)
        position["next"] = first + count
        db.execute("UPDATE meta SET value = ? WHERE name = 'position'", [json.dumps(position)])
        db.commit()


def test_closing_while_documents_are_judged_stops_it(tmp_path):
    seen = Filter(tmp_path / "seen.db")
    decisions = seen.judge_many(f"text {n}" for n in range(100_000))
    threading.Timer(0.2, seen.close).start()
    count = 0
    with pytest.raises(ValueError, match="the filter is closed"):
        for _ in decisions:
            count += 1
    with Filter(tmp_path / "seen.db") as again:
        assert again.stats()["judged"] == count
