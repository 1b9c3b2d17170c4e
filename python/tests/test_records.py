"""One document is read in one way, whatever holds it; and it is one document, whoever asks for it."""

import json
import os
import sqlite3
import subprocess
import sys
import time as clock
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import pagesieve
from pagesieve import Filter, StateError

from test_filter import LONG, TEXT, lines, verdicts

NEAR = LONG.replace("lanterns", "lamps")
ROWS = [
    {"id": "a", "text": LONG, "time": datetime(2020, 1, 1, tzinfo=timezone.utc)},
    {"id": "b", "text": LONG.upper(), "time": datetime(2020, 1, 2, tzinfo=timezone.utc)},
    {"id": "c", "text": LONG, "time": datetime(2021, 1, 1, tzinfo=timezone.utc)},
    {"id": "d", "text": NEAR, "time": datetime(2021, 1, 2, tzinfo=timezone.utc)},
]
EXPECTED = ["unique", "exact", "unique", "near"]


def test_the_columns_of_a_table_are_read_as_the_fields_of_a_dict():
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pylist(ROWS)
    assert verdicts(Filter().judge_many(ROWS)) == EXPECTED
    assert verdicts(Filter().judge_many(table)) == EXPECTED
    for unit in ("s", "ms", "us", "ns"):
        column = table["time"].cast(pa.timestamp(unit, "UTC"))
        assert verdicts(Filter().judge_many(table.set_column(2, "time", column))) == EXPECTED
    seconds = [int(row["time"].timestamp()) for row in ROWS]
    for numbers in (seconds, [second * 1000 for second in seconds]):
        assert verdicts(Filter().judge_many(table.set_column(2, "time", pa.array(numbers)))) == EXPECTED
    naive = table.set_column(2, "time", table["time"].cast(pa.timestamp("us")))
    with pytest.raises(TypeError, match="the column `time` must hold times with a time zone"):
        list(Filter().judge_many(naive))
    page = "<p>Grün".encode("latin-1")
    fields = {"id": "p", "html": page, "content_type": "text/html; charset=iso-8859-1"}
    [by_dict] = Filter().judge_many([fields])
    [by_table] = Filter().judge_many(pa.Table.from_pylist([fields]))
    assert by_dict == by_table and by_dict.chars == 4


def test_what_is_not_read_is_named_once():
    pa = pytest.importorskip("pyarrow")
    rows = [{"id": number, "text": "t", "titel": "x"} for number in range(3000)]
    for documents in (rows, pa.Table.from_pylist(rows)):
        with pytest.warns(UserWarning, match="not read: `titel`") as found:
            list(Filter().judge_many(documents))
        assert len(found) == 1


@pytest.mark.parametrize("container", ["arrow", "array", "chunked", "pandas", "pandas series", "polars", "polars series", "lazy", "dataset", "pairs"])
def test_every_container_gives_the_same_decisions(container, tmp_path):
    pa = pytest.importorskip("pyarrow")
    texts = [f"{TEXT} {number % 700} {'quay ' * (number % 5)}" for number in range(2500)]
    ids = [f"n{number}" for number in range(len(texts))]
    expected = verdicts(Filter().judge_many(list(zip(ids, texts))))
    table = pa.table({"name": ids, "body": texts})
    names = {"text": "body", "id": "name"}
    if container == "arrow":
        documents = table
    elif container == "array":
        documents, names = pa.array(texts), {}
    elif container == "chunked":
        documents, names = pa.chunked_array([texts[:1000], texts[1000:]]), {}
    elif container.startswith("pandas"):
        frame = pytest.importorskip("pandas").DataFrame({"name": ids, "body": texts})
        documents, names = (frame, names) if container == "pandas" else (frame["body"], {})
    elif container in ("polars", "polars series", "lazy"):
        frame = pytest.importorskip("polars").DataFrame({"name": ids, "body": texts, "more": ids})
        documents = {"polars": frame, "polars series": frame["body"], "lazy": frame.lazy()}[container]
        names = {} if container == "polars series" else names
    elif container == "dataset":
        import pyarrow.dataset

        pa.parquet = pytest.importorskip("pyarrow.parquet")
        pa.parquet.write_table(table, tmp_path / "texts.parquet", row_group_size=500)
        documents = pyarrow.dataset.dataset(tmp_path / "texts.parquet")
    else:
        documents, names = list(zip(ids, texts)), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decisions = list(Filter().judge_many(documents, **names))
    assert verdicts(decisions) == expected
    if "id" in names:
        assert [decision.id for decision in decisions] == ids


def test_pages_are_read_from_a_column_of_bytes():
    pa = pytest.importorskip("pyarrow")
    pages = [f"<title>x</title><p>{LONG}".encode(), f"<p>{LONG}".encode(), None]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        table = pa.table({"page": pa.array(pages, kind)})
        found = list(Filter().judge_many(table, html="page", on_error="report"))
        assert found[1].match == "#0"
        assert isinstance(found[2], ValueError) and "document 2: `text` and `page` are both missing" in str(found[2])


def test_an_error_names_document_and_column_and_is_raised_skipped_or_reported():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"link": ["http://a.test/", "no url", "http://c.test/"], "text": [LONG, LONG, LONG]})
    decisions = Filter().judge_many(table, url="link")
    assert next(decisions).verdict == "unique"
    with pytest.raises(ValueError, match='document 1: `link`: "no url" is not an absolute URL'):
        next(decisions)
    assert next(decisions).match == "http://a.test/"
    assert [it.id for it in Filter().judge_many(table, url="link", on_error="skip")] == ["http://a.test/", "http://c.test/"]
    reported = list(Filter().judge_many(table, url="link", on_error="report"))
    assert [type(it).__name__ for it in reported] == ["Decision", "ValueError", "Decision"]
    with pytest.raises(ValueError, match="the table has no column `link`, but text"):
        Filter().judge_many(pa.table({"text": ["a"]}), url="link")
    with pytest.raises(ValueError, match='write "raise", "skip" or "report"'):
        Filter().judge_many([], on_error="ignore")


def test_of_text_and_html_the_one_is_read_that_is_named():
    pandas = pytest.importorskip("pandas")
    rows = [{"id": "a", "text": "One text.", "html": "<p>Another text."}, {"id": "b", "text": "one text", "html": "<p>A third text."}]
    for documents in (rows, pandas.DataFrame(rows)):
        with pytest.warns(UserWarning, match="not read: `html`"):
            assert [it.verdict for it in Filter().judge_many(documents, text="text")] == ["unique", "exact"]
        with pytest.warns(UserWarning, match="not read: `text`"):
            assert [it.verdict for it in Filter().judge_many(documents, html="html")] == ["unique", "unique"]
        with pytest.raises(ValueError, match="either `text` or `html`, not both"):
            list(Filter().judge_many(documents))


def test_a_column_of_objects_is_read_one_by_one_if_arrow_does_not_take_it():
    pandas = pytest.importorskip("pandas")
    for bad in (5, "half a character: \ud800"):
        column = pandas.Series(["a", bad, "A"], dtype=object)
        first, wrong, third = Filter().judge_many(column, on_error="report")
        assert (first.verdict, third.verdict) == ("unique", "exact") and str(wrong).startswith("document 1: ")


def test_the_decisions_can_be_a_table_with_a_mask():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": [1, 2, 3], "text": [LONG, NEAR, "another"]})
    judged = Filter().judge_many(table, as_table=True)
    assert judged.column_names == ["id", "verdict", "match", "similarity", "is_unique"]
    assert judged["id"].to_pylist() == [1, 2, 3] and judged["match"].to_pylist() == [None, 1, None]
    assert table.filter(judged["is_unique"])["id"].to_pylist() == [1, 3]
    broken = pa.table({"text": [LONG, None, LONG]})
    judged = Filter().judge_many(broken, as_table=True, on_error="report")
    assert judged["verdict"].to_pylist() == ["unique", None, "exact"] and "missing" in judged["error"][1].as_py()
    assert broken.filter(judged["is_unique"]).num_rows == 1


def test_a_time_in_the_future_does_not_empty_the_window(program, tmp_path):
    seen = Filter(tmp_path / "seen.db")
    list(seen.judge_many([f"text number {number}" for number in range(1000)]))
    year = datetime.now(timezone.utc).year + 100
    for time in (f"{year}-01-01T00:00:00Z", datetime(year, 1, 1, tzinfo=timezone.utc), 4_765_000_000, 4_765_000_000_000):
        with pytest.raises(ValueError, match="`time`: .* is more than a day in the future"):
            seen.judge("late", time=time)
    assert len(seen) == 1000
    assert seen.judge("tomorrow", time=datetime.now(timezone.utc) + timedelta(hours=20)).is_unique
    replay = Filter(window={"entries": 10, "age": "1d", "future": True})
    assert replay.judge("late", time=f"{year}-01-01T00:00:00Z").is_unique
    given = [{"id": 1, "text": "a"}, {"id": 2, "text": "b", "time": 4_765_000_000_000}, {"id": 3, "text": "A"}]
    done = subprocess.run([program, "filter"], input="\n".join(map(json.dumps, given)), capture_output=True, text=True)
    assert done.returncode == 1 and "more than a day in the future" in done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert "in the future" in found[1]["error"] and found[2]["verdict"] == "exact"


def test_seconds_milliseconds_and_iso_are_told_apart():
    day = Filter(window={"entries": 10, "age": "1d"})
    instant = 1_700_000_000
    times = [instant, instant * 1000 + 5, "2023-11-14T22:13:21Z", "2023-11-15T23:00:00+01:00", instant + 3 * 86_400]
    assert verdicts(day.judge_many([{"text": LONG, "time": time} for time in times])) == ["unique", "exact", "exact", "exact", "unique"]
    for time in (instant * 10**6, instant * 10**9, 1.7e15, float("nan"), float("inf"), True, "2023-11-14", "14.11.2023"):
        with pytest.raises(ValueError, match="`time`: .* is no time"):
            day.judge("x", time=time)


def test_ids_that_are_made_up_are_never_those_of_the_caller(tmp_path):
    seen = Filter()
    assert seen.judge(LONG, id=1).is_unique
    assert seen.judge(LONG).match == 1
    for text in range(5):
        seen.judge(f"text {text}", id=text + 10)
    assert seen.judge("text 3").match == 13
    first = Filter()
    decision = first.judge(LONG)
    for given in ({"id": "#0", "text": LONG}, ("#0", LONG), {"id": "#17", "html": LONG}):
        with pytest.raises(ValueError, match='`id`: "#[0-9]+" is the name of a document without an id'):
            list(first.judge_many([given]))
    assert decision.id == "#0" and first.judge(LONG, id="#x").match == "#0"
    assert "#0" in first and first.remove("#0") and "#0" not in first


def test_made_up_ids_count_what_could_not_be_read_too(tmp_path):
    path = tmp_path / "seen.db"
    with Filter(path) as seen:
        ids = [it.id for it in seen.judge_many(["a", ("b", 7), "c"], on_error="skip")]
        assert ids == ["#0", "#2"]
    with Filter(path) as seen:
        assert seen.judge("d").id == "#3"
        assert verdicts(seen.judge_many(["a", "c", "d"])) == ["exact"] * 3


def test_id_is_the_identity_and_url_gives_the_site(program, tmp_path):
    path = tmp_path / "seen.db"
    documents = [
        {"id": "one", "url": "http://a.test/x", "text": LONG},
        {"id": "two", "url": "http://a.test/x", "text": LONG},
        {"url": "http://b.test/?utm_source=y", "text": TEXT},
    ]
    with Filter(path) as seen:
        found = list(seen.judge_many(documents))
        assert [(it.id, it.verdict, it.match) for it in found] == [
            ("one", "unique", None),
            ("two", "exact", "one"),
            ("http://b.test/?utm_source=y", "unique", None),
        ]
        assert "one" in seen and "http://a.test/x" not in seen
        assert "http://b.test/" in seen and seen.get("http://b.test/")["signature"]
        assert not seen.remove("http://a.test/x")
        again = seen.check(LONG, id="one", url="http://elsewhere.test/")
        assert again.verdict == "unchanged"
        explained = seen.explain(documents[0], documents[1])["decision"]
        assert explained.verdict == "exact"
    of_program = lines(program, "filter", given=documents)
    assert [(line["id"], line["verdict"]) for line in of_program] == [(it.id, it.verdict) for it in found]
    assert lines(program, "clusters", "--of", "one", path, given=[])[0]["duplicates"][0]["id"] == "two"


def test_an_id_that_is_the_url_comes_back_as_it_was_given(program):
    given = [{"id": "http://a.test", "url": "http://a.test", "text": LONG}, {"url": "http://a.test/#top", "text": LONG}]
    seen = Filter()
    assert [(it.id, it.verdict) for it in seen.judge_many(given)] == [("http://a.test", "unique"), ("http://a.test/#top", "unchanged")]
    assert "http://a.test/" in seen and "http://a.test" in seen
    assert [line["id"] for line in lines(program, "filter", given=given)] == ["http://a.test", "http://a.test/#top"]


def test_integers_are_the_same_ids_everywhere(program, tmp_path):
    path = tmp_path / "seen.db"
    with Filter(path) as seen:
        seen.judge(LONG, id=7)
        seen.judge(NEAR, id="8")
    given = [{"id": 7, "text": LONG}, {"id": "7", "text": LONG}, {"id": 9, "text": LONG}]
    found = lines(program, "filter", "--state", path, given=given)
    assert [(line["id"], line["verdict"]) for line in found] == [("7", "unchanged"), ("7", "exact"), ("9", "exact")]
    assert found[2]["match"]["id"] == "7"
    with Filter(path) as seen:
        assert 7 in seen and "7" not in seen
        assert seen.judge(LONG, id=10).match == 7


def test_a_file_has_one_writer_whatever_leads_to_it(tmp_path):
    path, link = tmp_path / "seen.db", tmp_path / "link.db"
    link.symlink_to(path)
    with Filter(path) as seen:
        seen.judge(LONG, id="a")
        with pytest.raises(StateError, match="in use by another process, or by another Filter of this one"):
            Filter(link)
    with Filter(link) as seen:
        with pytest.raises(StateError, match="in use by another process"):
            Filter(path)
        assert seen.judge(LONG, id="b").match == "a"
    os.link(path, tmp_path / "hard.db")
    with pytest.raises(StateError, match="several names"):
        Filter(path)


def test_a_fork_leaves_the_file_to_its_parent(tmp_path):
    path = tmp_path / "seen.db"
    code = f"""
import os, pagesieve, subprocess, sys
seen = pagesieve.Filter({str(path)!r})
seen.judge({LONG!r}, id="a")
child = os.fork()
if child == 0:
    for use in (lambda: seen.judge("x"), lambda: seen.check("x"), lambda: len(seen), lambda: seen.remove("a")):
        try:
            use()
            os._exit(1)
        except pagesieve.StateError as error:
            assert "belongs to the process that opened it" in str(error)
    seen.close()
    del seen
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
other = "import pagesieve; pagesieve.Filter({str(path)!r})"
refused = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
assert "in use by another process" in refused.stderr, refused.stderr
assert seen.judge({NEAR!r}, id="b").match == "a"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Filter(path) as seen:
        assert len(seen) == 1 and seen.stats()["judged"] == 2


@pytest.mark.parametrize("text", ["😀😀", "+++", "…", "— —"])
def test_equal_texts_without_words_are_duplicates(text, program):
    seen = Filter()
    first, second = seen.judge_many([("a", text), ("b", f" {text}\n")])
    assert (first.verdict, first.thin, second.verdict, second.match) == ("unique", True, "exact", "a")
    assert seen.judge(text + "😅", id="c").is_unique
    assert seen.explain(text, text)["decision"].verdict == "exact"
    found = lines(program, "filter", given=[{"id": "a", "text": text}, {"id": "b", "text": text}])
    assert [(line["verdict"], line["thin"]) for line in found] == [("unique", True), ("exact", True)]


def test_an_empty_text_is_thin_and_repeats_nothing():
    seen = Filter()
    for id in ("a", "b"):
        decision = seen.judge("  ", id=id)
        assert decision.is_unique and decision.thin
    assert seen.explain("", "")["decision"].is_unique
    assert not seen.judge("One.", id="c").thin


def test_an_empty_path_is_refused_and_memory_is_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the path is empty"):
        Filter("")
    with Filter(":memory:") as seen:
        assert seen.judge(LONG).is_unique
        assert repr(seen) == "Filter()"
    assert os.listdir(tmp_path) == []


def test_a_directory_is_one_site_and_says_so(program, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(30):
        page = f"<title>Option {number}</title><nav>{TEXT * 3}</nav><p>--option-{number}</p>"
        (folder / f"{number:02}.html").write_text(page)
    done = subprocess.run([program, "filter", folder], capture_output=True, text=True, check=True)
    assert "one site" in done.stderr and "--sites" in done.stderr
    apart = subprocess.run([program, "filter", "--sites", "links", folder], capture_output=True, text=True, check=True)
    assert "one site" not in apart.stderr


def test_floats_are_times_to_the_millisecond(program):
    pa, np, pd = (pytest.importorskip(name) for name in ("pyarrow", "numpy", "pandas"))
    instant = 1_700_000_000.0004
    seen = Filter()
    for time in (instant, instant * 1000, np.float64(instant), np.float32(instant), pd.Timestamp(instant, unit="s", tz="UTC").timestamp()):
        seen.judge(LONG, id=1, time=time)
        assert abs(seen.get(1)["time"] - 1_700_000_000_000) <= (64_000 if isinstance(time, np.float32) else 0), time
        seen.remove(1)
    for number in (instant, float("nan"), float("inf")):
        column = pa.table({"id": [1], "text": ["a"], "time": [number]})
        if number == instant:
            assert next(Filter().judge_many(column)).is_unique
        else:
            with pytest.raises(ValueError, match="`time`: (NaN|inf) is no time; .* or seconds or milliseconds"):
                next(Filter().judge_many(column))
    assert next(Filter().judge_many(pd.DataFrame({"text": ["a"], "time": [float("nan")]}))).is_unique
    with pytest.raises(TypeError, match="the column `time` must hold .* or numbers, not Boolean"):
        list(Filter().judge_many(pa.table({"text": ["a"], "time": [True]})))
    found = subprocess.run([program, "filter"], input=json.dumps({"id": 1, "text": "a", "time": instant}), capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_an_integer_id_has_64_bits_and_is_no_bool(program):
    seen = Filter()
    for id in (-(2**63), 2**64 - 1):
        assert seen.judge(f"text {id}", id=id).id == id and id in seen
    for id in (2**64, -(2**63) - 1, 10**5000, True, 1.0):
        with pytest.raises(TypeError, match="`id` must be a string or an integer of 64 bits, not (-?[0-9]|True|int)"):
            seen.judge("a", id=id)
        with pytest.raises(TypeError, match="an id must be a str or an int of 64 bits"):
            id in seen
    for id in ("18446744073709551616", "true"):
        done = subprocess.run([program, "filter"], input=f'{{"id": {id}, "text": "a"}}', capture_output=True, text=True)
        assert "`id` must be a string or an integer of 64 bits, not" in done.stderr


def test_ids_and_matches_of_a_table_have_the_type_of_the_ids_given():
    pa = pytest.importorskip("pyarrow")
    seen = Filter()
    tables = [seen.judge_many([(id, text)], as_table=True) for id, text in ((1, "one"), (2, "two"), (3, "ONE"))]
    tables.append(seen.judge_many(pa.table({"id": pa.array([], pa.int32()), "text": pa.array([], pa.string())}), as_table=True))
    both = pa.concat_tables(tables)
    assert both.schema.field("id").type == both.schema.field("match").type == pa.int64()
    assert both["match"].to_pylist() == [None, None, 1]
    mixed = Filter().judge_many([(1, "a"), ("x", "a")], as_table=True)
    assert mixed["id"].to_pylist() == ["1", "x"] and mixed["match"].to_pylist() == [None, "1"]
    assert seen.judge("three", id="three").is_unique
    with pytest.warns(UserWarning, match="`match` is null where"):
        judged = seen.judge_many([(4, "Three")], as_table=True)
    assert judged["match"].to_pylist() == [None] and judged["verdict"].to_pylist() == ["exact"]


def test_tables_may_come_one_after_another(tmp_path):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    table = pa.table({"id": [1, 2, 3], "text": ["one", "ONE", "two"]})
    batches = table.to_batches(max_chunksize=1)
    table.to_pandas().to_csv(tmp_path / "texts.csv", index=False)
    for documents in (batches, lambda: pd.read_csv(tmp_path / "texts.csv", chunksize=1), [table.to_pandas(), {"id": 4, "text": "two"}]):
        again = documents if callable(documents) else lambda: documents
        assert [it.match for it in Filter().judge_many(again())][:3] == [None, 1, None]
        assert pagesieve.clusters(again()).mask[:3] == [True, False, True]
    decisions = Filter().judge_many([batches[0], pa.table({"body": ["x"]}), batches[2]])
    assert next(decisions).id == 1
    with pytest.raises(ValueError, match="the table has no column `text`"):
        next(decisions)
    assert next(decisions).id == 3


def test_clusters_may_skip_what_cannot_be_read():
    with pytest.raises(TypeError, match="document 1: expected a str"):
        pagesieve.clusters(["a", None, "A"])
    found = pagesieve.clusters(["a", None, "A", 7], on_error="skip")
    assert (found.kept_of, found.mask) == ([0, None, 0, None], [True, False, False, False])
    with pytest.raises(ValueError, match='write "raise" or "skip"'):
        pagesieve.clusters([], on_error="report")


def test_the_index_of_pandas_and_its_integers_with_gaps():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": [1, 2, None], "text": ["a", "b", "c"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Filter().judge_many(frame[["text"]][frame["id"] != 2]))) == 2
    with pytest.raises(TypeError, match=r'`astype\("Int64"\)`'):
        list(Filter().judge_many(frame))
    assert [it.id for it in Filter().judge_many(frame.astype({"id": "Int64"}))] == [1, 2, "#2"]
    for chunk in (0, -1):
        with pytest.raises(ValueError, match=f"`chunk`: {chunk} is too small"):
            Filter().judge_many([], chunk=chunk)


class Broken:
    def __iter__(self):
        raise TypeError("its own fault")


@pytest.mark.parametrize(
    "documents, message",
    [
        (5, "a table, a column or an iterable of documents, not int; it opens no files"),
        (None, "not NoneType"),
        (Path("corpus.parquet"), "not PosixPath; it opens no files: read them first"),
        (object(), "not object"),
        ("one text", "many documents, and this is one"),
        ({"text": "one"}, "many documents, and this is one"),
        (Broken(), "^its own fault$"),
    ],
)
def test_what_is_not_many_documents_is_refused_with_a_sentence(documents, message):
    with pytest.raises(TypeError, match=message):
        Filter().judge_many(documents)
