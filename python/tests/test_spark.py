"""`pagesieve.spark` keeps what the filter keeps that judges the same documents in the same order."""

import os
import random
import shutil
import sys

import pyarrow as pa
import pytest

from pagesieve import Filter

pytest.importorskip("pyspark", reason="no PySpark: `pip install pyspark`")
if not shutil.which("java"):
    pytest.skip("no Java: install the package `default-jre-headless`", allow_module_level=True)

import pagesieve.spark  # noqa: E402
from pagesieve._pagesieve import Corpus  # noqa: E402
from pagesieve.spark import deduplicate  # noqa: E402


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        # Fewer jobs and less compilation for so few rows.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def words(chance, count):
    return [f"w{chance.randrange(3000)}" for _ in range(count)]


def corpus(count=120, seed=1):
    """Texts, copies of them, and a text that drifts away, of which each version is near the last ones only: pairs of an id and a text."""
    chance, texts = random.Random(seed), []
    drifting = words(chance, 150)
    for number in range(count):
        if number % 6 == 0:
            drifting = edited(chance, drifting, 2)
            texts.append(drifting)
        elif number % 3 and texts:
            text = chance.choice(texts)
            texts.append(edited(chance, text, chance.choice((0, 1, 2, 3, 4)) * len(text) // 150))
        else:
            texts.append(words(chance, chance.choice((2, 5, 14, 30, 150, 150, 150, 300, 300))))
    return [(f"d{number:03}", " ".join(text)) for number, text in enumerate(texts)]


def edited(chance, text, count):
    text = list(text)
    for place in chance.sample(range(len(text)), count):
        text[place] = f"x{chance.randrange(10**6)}"
    return text


def by_stream(documents):
    """The verdict and the match of each document by the filter."""
    return {decision.id: (decision.verdict, decision.match) for decision in Filter().judge_many(documents)}


def by_spark(df, **more):
    return {row.id: (row.verdict, row.match) for row in deduplicate(df, text="text", **more).collect()}


def test_the_verdicts_are_those_of_the_stream(spark, monkeypatch, tmp_path):
    documents = corpus()
    expected = by_stream(documents)
    assert {verdict for verdict, _ in expected.values()} == {"unique", "exact", "near"}
    df = spark.createDataFrame(random.Random(2).sample(documents, len(documents)), "id string, text string")
    # In rounds of Spark, and the last ones of the driver.
    monkeypatch.setattr(pagesieve.spark, "_FEW_PAIRS", 30)
    checkpoint = str(tmp_path / "checkpoint")
    assert by_spark(df, checkpoint=checkpoint) == expected
    assert len(list(tmp_path.glob("checkpoint/round-*-dropped"))) > 1
    kept = deduplicate(df, text="text", checkpoint=checkpoint, kept_only=True)
    assert kept.columns == df.columns
    assert {row.id for row in kept.collect()} == {id for id, (verdict, _) in expected.items() if verdict == "unique"}


def test_the_order_is_that_of_the_column(spark):
    documents = corpus(60, seed=3)
    rows = [(number, -number, text) for number, (_, text) in enumerate(documents)]
    df = spark.createDataFrame(rows, "name int, age int, body string")
    found = {row.name: (row.verdict, row.match) for row in deduplicate(df, text="body", id="name", order="age").select("name", "verdict", "match").collect()}
    assert found == by_stream([(name, text) for name, _, text in reversed(rows)])


PAGE = "<title>{0}</title><nav><a href=/>Home</a> <a href=/all>All pages of the harbour office</a></nav><article><h1>{0}</h1><p>{1}</p></article><p>Imprint of the office</p>"


def test_pages_are_compared_by_what_they_show(spark):
    chance, rows = random.Random(4), []
    for number in range(30):
        text = " ".join(words(chance, 120))
        rows.append((f"{number:02}a", f"http://a.test/{number}", PAGE.format(f"Page {text[:12]}", text)))
        if number % 2:
            rows.append((f"{number:02}b", f"http://a.test/print/{number}", PAGE.format(f"Page {text[:12]}", text + " More.")))
        if number % 3 == 0:
            rows.append((f"{number:02}c", f"http://b.test/{number}", f"<title>{text[:12]}</title><nav>Another site</nav><p>{text}</p>"))
        if number % 5 == 0:
            rows.append((f"{number:02}d", f"http://c.test/{number}", rows[-1][2]))
    df = spark.createDataFrame([(id, url, html.encode()) for id, url, html in rows], "id string, url string, html binary")
    found = {row.id: (row.verdict, row.match) for row in deduplicate(df, html="html", url="url").collect()}
    expected = by_stream([{"id": id, "url": url, "html": html} for id, url, html in rows])
    assert {verdict for verdict, _ in expected.values()} == {"unique", "exact", "near"}
    assert found == expected


def test_a_run_continues_where_it_was_interrupted(spark, tmp_path, monkeypatch):
    documents = corpus(60, seed=5)
    df = spark.createDataFrame(documents, "id string, text string")
    checkpoint = str(tmp_path / "checkpoint")

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(pagesieve.spark._Run, "pairs", interrupt)
        by_spark(df, checkpoint=checkpoint)
    with monkeypatch.context() as patch:
        # What was done is not done again.
        patch.setattr(pagesieve.spark, "_sketch", interrupt)
        assert by_spark(df, checkpoint=checkpoint) == by_stream(documents)
    with pytest.raises(ValueError, match="belongs to other documents or options: `rows` was 60 and is 30"):
        by_spark(df.limit(30), checkpoint=checkpoint)
    with pytest.raises(ValueError, match="`options` was {} and is {'similarity': 0.9}"):
        by_spark(df, checkpoint=checkpoint, similarity=0.9)


def test_new_documents_are_compared_with_those_of_earlier_runs(spark, tmp_path):
    documents = corpus(90, seed=6)
    expected = by_stream(documents)
    paths, found = [], {}
    for start in (0, 30, 60):
        df = spark.createDataFrame(documents[start : start + 30], "id string, text string")
        path = str(tmp_path / str(start))
        found |= by_spark(df, checkpoint=path, against=paths)
        paths.append(path)
    assert found == expected
    with pytest.raises(ValueError, match="is not the checkpoint of a run that has ended"):
        by_spark(df, against=str(tmp_path / "none"))
    with pytest.raises(ValueError, match="`against`: .* belongs to other documents or options: `options`"):
        by_spark(df, against=paths, mode="strict")


@pytest.mark.parametrize(
    "rows, more, message",
    [
        ([("a", "x")], {"text": "body"}, "no column `body`, but id, text; .* `text=\"...\"`"),
        ([("a", "x")], {"text": None}, "either `text=\"...\"` or `html"),
        ([("a", "x")], {"keep": "longest"}, "`keep`: 'longest' is unknown"),
        ([("a", "x")], {"seed": "secret"}, "`seed`: all tasks must have one"),
        ([("a", "x")], {"min_features": "many"}, "`min_features`"),
        ([("a", None), ("b", "x")], {}, "1 documents cannot be read, for instance that of the id 'a'"),
        ([(None, "x"), ("b", "x")], {}, "`id` .* is null in 1 of 2 rows"),
        ([("a", "x"), ("b", "y"), ("a", "z")], {}, "the id 'a' is in 2 rows"),
    ],
)
def test_what_is_wrong_is_said(spark, rows, more, message):
    df = spark.createDataFrame(rows, "id string, text string")
    with pytest.raises(ValueError, match=message):
        deduplicate(df, **{"text": "text", **more})


def test_columns_of_other_types_are_refused(spark):
    df = spark.createDataFrame([(1.5, "x", "y")], "id double, text string, verdict string")
    with pytest.raises(ValueError, match="already: drop or rename it"):
        deduplicate(df, text="text")
    with pytest.raises(ValueError, match="`id` .* must hold strings or integers, not double"):
        deduplicate(df, text="text", kept_only=True)


def test_a_key_of_many_documents_costs_little_and_finds_what_was_kept():
    """Without Spark: documents of one key, in batches."""
    chance = random.Random(7)
    texts = [" ".join(words(chance, 80)) for _ in range(500)]
    texts[200] += " the last words differ"
    texts[300:330] = [texts[200] + f" copy{number}" for number in range(30)]
    corpus = Corpus()
    sketches = corpus.sketch(pa.RecordBatch.from_pydict({"id": [f"d{number}" for number in range(500)], "text": texts}))
    held, found = [], []
    for start in range(0, 500, 50):
        names = held + list(range(start, start + 50))
        rows = sketches.slice(start, 50)
        batch = pa.RecordBatch.from_arrays([pa.array([1] * 50), rows.column("sketch"), pa.nulls(50, pa.binary())], ["key", "sketch", "marks"])
        pairs, kept = corpus.pairs(batch)
        found += [(names[a], names[b]) for a, b in zip(pairs.column("a").to_pylist(), pairs.column("b").to_pylist())]
        held = [names[row] for row in kept]
        assert len(held) <= 64
    # It has left those that are compared: 100 others came between.
    assert not any(a == 200 for a, _ in found)
    assert {b for a, b in found if a == 300} == set(range(301, 330))
