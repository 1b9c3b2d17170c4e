"""Near-duplicate documents of a corpus at rest, found with Spark by the rule of :class:`pagesieve.Filter`.

Needs PySpark 3.5 or later. ``docs/spark.md`` describes sizing, checkpoints and incremental use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Literal

try:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.errors import AnalysisException
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ModuleNotFoundError as _missing:
    raise ImportError(f'pagesieve.spark needs PySpark and PyArrow, and {_missing}: pip install "pagesieve[spark]"') from _missing

from ._pagesieve import Corpus, __version__  # type: ignore[import-not-found]

__all__ = ["deduplicate"]

#: Documents that are sketched together; fewer pages, which are larger.
_TEXTS, _PAGES = 1024, 128
#: So many pairs that are left are resolved by the driver: a few rounds of Spark for so few take longer.
_FEW_PAIRS = 100_000
#: The columns of the result.
_VERDICT = ("verdict", "match", "similarity")


def deduplicate(
    df: DataFrame,
    *,
    text: str | None = None,
    html: str | None = None,
    id: str = "id",
    url: str | None = None,
    content_type: str | None = None,
    order: str | None = None,
    keep: Literal["first"] = "first",
    kept_only: bool = False,
    checkpoint: str | None = None,
    against: str | Sequence[str] = (),
    **options: Any,
) -> DataFrame:
    """Finds the documents that repeat an earlier one, as a :class:`pagesieve.Filter` does that judges them in this order.

    ``text`` or ``html`` names the column of the documents, ``id`` that of their ids (strings or integers, none twice), ``url`` and ``content_type`` columns
    that belong to pages. Earlier is what has the smaller value in the column ``order``; where it is equal or not given, the smaller id. Returns the rows with
    ``verdict`` (``unique``, ``exact`` or ``near``), ``match`` (the id of the document that is repeated, which is always kept) and ``similarity``; with
    ``kept_only`` the rows to keep, as they were. ``options`` are those of the filter by which documents are compared: ``similarity``, ``mode`` and so on.

    ``checkpoint`` is a directory where each step stores what it has found: the same call continues after a failure. ``against`` names the
    checkpoints of earlier runs: their documents are before all of these.

    Raises ValueError if columns, ids or options are wrong, or a checkpoint belongs to other documents or options.
    """
    if keep != "first":
        raise ValueError(f'`keep`: {keep!r} is unknown; write "first", and name what comes first with `order`')
    if (text is None) == (html is None):
        raise ValueError('name the column of the documents: either `text="..."` or `html="..."`')
    names = {"text": text, "html": html, "id": id, "url": url, "content_type": content_type, "order": order}
    given = {role: name for role, name in names.items() if name is not None}
    _check_columns(df, given, () if kept_only else _VERDICT)
    if options.get("seed") == "secret":
        raise ValueError("`seed`: all tasks must have one seed: write \"public\" or a number")
    Corpus(**options)
    earlier = [against] if isinstance(against, str) else list(against)
    run = _Run(df, given, options, checkpoint, earlier)
    found = run.verdicts()
    renamed = found.withColumnRenamed("id", "_pagesieve_id")
    is_same = df[id] == renamed["_pagesieve_id"]
    if kept_only:
        return df.join(renamed, is_same, "left_anti")
    joined = df.join(renamed, is_same, "left").drop("_pagesieve_id")
    return joined.withColumn("verdict", F.coalesce("verdict", F.lit("unique")))


def _check_columns(df: DataFrame, given: dict[str, str], added: Iterable[str]) -> None:
    for role, name in given.items():
        if name not in df.columns:
            found = ", ".join(df.columns)
            raise ValueError(f'there is no column `{name}`, but {found}; name the one that is meant: `{role}="..."`')
    for name in added:
        if name in df.columns:
            raise ValueError(f"there is a column `{name}` already: drop or rename it, or use `kept_only=True`")
    kinds: dict[str, tuple[tuple[type[T.DataType], ...], str]] = {
        "text": ((T.StringType,), "strings"),
        "html": ((T.StringType, T.BinaryType), "strings or bytes"),
        "id": ((T.StringType, T.IntegralType), "strings or integers"),
        "order": ((T.StringType, T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType), "strings, numbers or times"),
    }
    for role, name in given.items():
        allowed, words = kinds.get(role, ((T.StringType,), "strings"))
        kind = df.schema[name].dataType
        if not isinstance(kind, allowed):
            raise ValueError(f"the column `{name}` (`{role}`) must hold {words}, not {kind.simpleString()}")


class _Run:
    """The steps of a run. Documents are identified by ``at``: the number of the run (those that it is against come first), the order and the id."""

    def __init__(self, df: DataFrame, given: dict[str, str], options: dict[str, Any], checkpoint: str | None, against: list[str]):
        self.df, self.given, self.options, self.against = df, given, options, against
        self.spark: SparkSession = df.sparkSession
        self.path = checkpoint.rstrip("/") if checkpoint else None
        self.number = len(against)
        self.shape = {
            "pagesieve": __version__,
            "options": options,
            "documents": "html" if "html" in given else "text",
            "types": {role: df.schema[given[role]].dataType.simpleString() for role in ("id", "order") if role in given},
        }
        self.old = [self._earlier(number, path) for number, path in enumerate(against)]
        self._describe()

    def _earlier(self, number: int, path: str) -> tuple[DataFrame, DataFrame]:
        """The sketches of an earlier run, and its verdicts."""
        path = path.rstrip("/")
        description = self._note(f"{path}/description")
        if description is None or self._note(f"{path}/verdicts-done") is None:
            raise ValueError(f"`against`: {path} is not the checkpoint of a run that has ended")
        self._compare({key: description[key] for key in self.shape}, self.shape, f"`against`: {path}", "give the same options and columns")
        sketches = self.spark.read.parquet(f"{path}/sketches")
        at = F.struct(F.lit(number).alias("run"), *(f"at.{name}" for name in ("order", "id") if name in self._at_names()))
        verdicts = self.spark.read.parquet(f"{path}/verdicts")
        return sketches.withColumn("at", at), verdicts.withColumn("run", F.lit(number))

    def _at_names(self) -> list[str]:
        return ["run", *(role for role in ("order", "id") if role in self.given)]

    def _describe(self) -> None:
        """Refuses documents that cannot be told apart, and a checkpoint of others."""
        id, order = self.df[self.given["id"]], self.df[self.given.get("order", self.given["id"])]
        counts = self.df.agg(
            F.count(F.lit(1)).alias("rows"),
            F.count(id).alias("ids"),
            F.count_distinct(id).alias("distinct"),
            F.count(order).alias("orders"),
            F.sum(F.xxhash64(id, order).cast("decimal(38,0)")).cast("string").alias("hash"),
        ).collect()[0]
        for role, count in (("id", counts.ids), ("order", counts.orders)):
            if count < counts.rows:
                raise ValueError(f"the column `{self.given[role]}` (`{role}`) is null in {counts.rows - count} of {counts.rows} rows: fill or drop them")
        description = {**self.shape, "rows": counts.rows, "ids": counts.hash, "against": self.against}
        known = self._note(f"{self.path}/description") if self.path else None
        if known is not None:
            self._compare(known, description, f"`checkpoint`: {self.path}", "name another directory, or delete this one")
            return
        if counts.distinct < counts.rows:
            twice = self.df.groupBy(id.alias("id")).count().where("count > 1").limit(1).collect()[0]
            raise ValueError(f"the id {twice.id!r} is in {twice['count']} rows: ids must be unique, for instance by `df.dropDuplicates([{self.given['id']!r}])`")
        if self.path:
            self._write_note(f"{self.path}/description", description)

    @staticmethod
    def _compare(known: dict[str, Any], wanted: dict[str, Any], what: str, advice: str) -> None:
        # Both as JSON has them.
        wanted = json.loads(json.dumps(wanted))
        differing = [f"`{key}` was {known.get(key)!r} and is {wanted[key]!r}" for key in wanted if known.get(key) != wanted[key]]
        if differing:
            raise ValueError(f"{what} belongs to other documents or options: {'; '.join(differing)}: {advice}")

    def _note(self, path: str) -> dict[str, Any] | None:
        """A small file; None if there is none, or it was not completed."""
        try:
            lines = self.spark.read.text(path).collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise
        return json.loads(lines[0].value) if lines else None

    def _write_note(self, path: str, note: dict[str, Any]) -> None:
        self.spark.range(1).select(F.lit(json.dumps(note)).alias("value")).write.mode("overwrite").text(path)

    def _step(self, name: str, make: Callable[[], DataFrame], check: Callable[[DataFrame], None] = lambda _: None) -> DataFrame:
        """What a step has found, now or before."""
        if self.path is None:
            found = make().localCheckpoint()
            check(found)
            return found
        path = f"{self.path}/{name}"
        if self._note(f"{path}-done") is None:
            make().write.mode("overwrite").parquet(path)
            check(self.spark.read.parquet(path))
            self._write_note(f"{path}-done", {})
        return self.spark.read.parquet(path)

    def sketches(self) -> DataFrame:
        """What is compared of each document, and by what it is found."""
        columns = [self.df[name].alias(role) for role, name in self.given.items() if role != "order"]
        at = F.struct(F.lit(self.number).alias("run"), *(self.df[self.given[role]].alias(role) for role in self._at_names()[1:]))
        given = self.df.select(at.alias("at"), *columns)
        options = self.options
        schema = T.StructType([given.schema["at"], *_SKETCH.fields])
        batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
        size = self.spark.conf.get(batch)
        self.spark.conf.set(batch, str(_PAGES if "html" in self.given else _TEXTS))
        try:
            return self._step("sketches", lambda: given.mapInArrow(lambda it: _sketch(it, options), schema), self._check)
        finally:
            self.spark.conf.set(batch, str(size))

    def _check(self, sketches: DataFrame) -> None:
        wrong = sketches.where(F.col("error").isNotNull())
        example = wrong.limit(1).collect()
        if example:
            name = self.given.get("text", self.given.get("html"))
            raise ValueError(
                f"{wrong.count()} documents cannot be read, for instance that of the id {example[0].at.id!r}: {example[0].error}; "
                f"drop them, for instance by `df.where(\"{name} is not null\")`"
            )

    def exact(self, sketches: DataFrame) -> DataFrame:
        """The documents (b) that have the digest of an earlier one (a): the first."""
        digests = reduce(DataFrame.union, [it.select("digest", "at") for it in [sketches, *(old for old, _ in self.old)]])
        firsts = digests.where(F.col("digest").isNotNull()).groupBy("digest").agg(F.min("at").alias("a"))
        pairs = sketches.select("digest", F.col("at").alias("b")).join(firsts, "digest")
        return pairs.where(F.col("a") != F.col("b")).select("a", "b")

    def documents(self, sketches: DataFrame, exact: DataFrame) -> DataFrame:
        """The documents that are compared, with what the templates of their origins say of them."""
        columns = ["at", "sketch", "keys", "origin", "digest"]
        parts = [sketches.select(columns).join(exact.select(F.col("b").alias("at")), "at", "left_anti")]
        for old, verdicts in self.old:
            dropped = verdicts.select(F.col("id").alias("dropped"))
            parts.append(old.select(columns).join(dropped, F.col("at.id") == F.col("dropped"), "left_anti"))
        all = reduce(DataFrame.union, parts)
        none = F.lit(None).cast("binary").alias("marks")
        if "text" in self.given:
            return all.select("at", "sketch", "keys", none)
        # A template is learnt from a sample of the pages: those whose hashes are the smallest.
        pages = all.where(F.col("origin").isNotNull()).withColumn("hash", F.xxhash64("digest"))
        pages = pages.repartition("origin").sortWithinPartitions("origin", "hash", "at").select("origin", "at", "sketch", "keys")
        options = self.options
        schema = T.StructType([*(pages.schema[name] for name in ("at", "sketch", "keys")), T.StructField("marks", T.BinaryType())])
        marked = pages.mapInArrow(lambda it: _mark(it, options), schema)
        return marked.union(all.where(F.col("origin").isNull()).select("at", "sketch", "keys", none))

    def pairs(self, documents: DataFrame) -> DataFrame:
        """The documents (b) that are near an earlier one (a)."""
        rows = documents.select(F.explode("keys").alias("key"), "at", "sketch", "marks")
        rows = rows.repartition("key").sortWithinPartitions("key", "at")
        options = self.options
        kind = documents.schema["at"].dataType
        fields = [T.StructField("a", kind), T.StructField("b", kind), T.StructField("similarity", T.FloatType()), T.StructField("exact", T.BooleanType())]
        found = rows.mapInArrow(lambda it: _pair(it, options), T.StructType(fields))
        return found.where(F.col("b.run") == self.number).dropDuplicates(["a", "b"])

    def dropped(self, pairs: DataFrame) -> DataFrame:
        """The documents (x) that are near a kept one. In rounds: what is near no earlier document is kept, and what is near a kept one dropped."""
        left, dropped = pairs.select("a", "b"), []
        for number in range(1 << 30):
            if left.count() <= _FEW_PAIRS:
                break
            roots = left.select(F.col("a").alias("r")).distinct().join(left.select(F.col("b").alias("r")).distinct(), "r", "left_anti")
            is_root = F.col("a") == F.col("r")
            now = left
            gone = self._step(f"round-{number}-dropped", lambda: now.join(roots, is_root, "left_semi").select(F.col("b").alias("x")).distinct())
            dropped.append(gone)
            rest = left.join(gone, F.col("b") == F.col("x"), "left_anti").join(gone, F.col("a") == F.col("x"), "left_anti")
            left = self._step(f"round-{number}-left", lambda: rest.join(roots, is_root, "left_anti"))
        few: dict[tuple[Any, ...], Any] = {}
        for row in left.orderBy("b").collect():
            if (row.a.run, row.a.id) not in few:
                few[row.b.run, row.b.id] = row.b
        schema = T.StructType([T.StructField("x", pairs.schema["b"].dataType)])
        return reduce(DataFrame.union, dropped, self.spark.createDataFrame([(at,) for at in few.values()], schema))

    def verdicts(self) -> DataFrame:
        """The documents that repeat one: id, verdict, match, similarity."""

        def make() -> DataFrame:
            sketches = self.sketches()
            exact = self._step("exact", lambda: self.exact(sketches))
            documents = self.documents(sketches, exact)
            pairs = self._step("pairs", lambda: self.pairs(documents))
            kept = pairs.join(self.dropped(pairs), F.col("a") == F.col("x"), "left_anti")
            best = kept.groupBy("b").agg(F.min(F.struct((-F.col("similarity")).alias("less"), "a", "exact")).alias("best"))
            name = F.when(F.col("best.exact"), "exact").otherwise("near").alias("verdict")
            near = best.select(F.col("b.run").alias("run"), F.col("b.id").alias("id"), name, F.col("best.a.id").alias("match"), (-F.col("best.less")).alias("similarity"))
            # What is equal to a dropped document repeats what that one repeats.
            known = reduce(DataFrame.unionByName, [verdicts for _, verdicts in self.old], near)
            known = known.select("run", *(F.col(name).alias(f"its_{name}") for name in ("id", *_VERDICT)))
            of_equal = exact.join(known, (F.col("a.run") == F.col("run")) & (F.col("a.id") == F.col("its_id")), "left")
            equal: list[Column] = [
                F.coalesce(f"its_{name}", other).alias(name)
                for name, other in zip(_VERDICT, (F.lit("exact"), F.col("a.id"), F.lit(1.0).cast("float")))
            ]
            return near.drop("run").union(of_equal.select(F.col("b.id").alias("id"), *equal))

        return self._step("verdicts", make)


_SKETCH = T.StructType(
    [
        T.StructField("sketch", T.BinaryType()),
        T.StructField("digest", T.BinaryType()),
        T.StructField("origin", T.LongType()),
        T.StructField("keys", T.ArrayType(T.LongType())),
        T.StructField("error", T.StringType()),
    ]
)


def _sketch(batches: Iterator[pa.RecordBatch], options: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    corpus = Corpus(**options)
    for batch in batches:
        of_batch = corpus.sketch(batch.select([name for name in batch.schema.names if name != "at"]))
        yield pa.RecordBatch.from_arrays([batch.column("at"), *of_batch.columns], ["at", *of_batch.schema.names])


def _mark(batches: Iterator[pa.RecordBatch], options: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    corpus = Corpus(**options)
    waiting: pa.RecordBatch | None = None
    for batch in batches:
        if waiting is not None:
            columns = [pa.concat_arrays(both) for both in zip(waiting.columns, batch.columns)]
            batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        marks = corpus.marks(batch.select(["origin", "sketch"]), False)
        waiting = batch.slice(len(marks))
        yield _marked(batch.slice(0, len(marks)), marks)
    if waiting is not None and len(waiting):
        yield _marked(waiting, corpus.marks(waiting.select(["origin", "sketch"]), True))


def _marked(batch: pa.RecordBatch, marks: list[bytes]) -> pa.RecordBatch:
    columns = [*(batch.column(name) for name in ("at", "sketch", "keys")), pa.array(marks, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["at", "sketch", "keys", "marks"])


def _pair(batches: Iterator[pa.RecordBatch], options: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    corpus = Corpus(**options)
    held: pa.Array | None = None
    for batch in batches:
        at = batch.column("at")
        if held is not None:
            at = pa.concat_arrays([held, at])
        pairs, kept = corpus.pairs(batch.select(["key", "sketch", "marks"]))
        held = at.take(pa.array(kept, pa.int64()))
        columns = [at.take(pairs.column("a")), at.take(pairs.column("b")), pairs.column("similarity"), pairs.column("exact")]
        yield pa.RecordBatch.from_arrays(columns, ["a", "b", "similarity", "exact"])
