"""The filter in memory and on disk, against its documentation and against the program `pagesieve filter`."""

import csv
import json
import os
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import pagesieve
from pagesieve import Filter, StateError

TEXT = "The harbour master wrote every ship into the book, with its captain, cargo and the port from which it had come. "
LONG = TEXT + "Ships that came at night were entered in the morning, when the clerk had counted the lanterns on the pier."


def verdicts(decisions):
    return [decision.verdict for decision in decisions]


def test_a_document_that_repeats_an_earlier_one_is_a_duplicate():
    seen = Filter()
    first = seen.judge(LONG, id="a")
    assert (first.id, first.verdict, first.is_unique, first.match) == ("a", "unique", True, None)
    exact = seen.judge(LONG.upper(), id="b")
    assert (exact.verdict, exact.kind, exact.step, exact.match, exact.distance) == ("exact", "exact", "text", "a", 0)
    near = seen.judge(LONG.replace("lanterns", "lamps"), id="c")
    assert (near.verdict, near.step, near.match) == ("near", "near", "a")
    assert 0.9 < near.similarity < 1 and near.signature_distance > 0
    assert repr(near).startswith("Decision(id='c', verdict='near', match='a', similarity=0.9")
    assert seen.stats() == {"judged": 3, "unique": 1, "exact": 1, "near": 1, "unchanged": 0, "window": 1}


def test_ids_come_back_as_they_were_given():
    seen = Filter()
    ids = ["a", "5", 5, 0, -(2**63), 2**64 - 1, "", "\u00e4\u4e2d"]
    texts = [f"text number {number}" for number in range(len(ids))]
    assert [decision.id for decision in seen.judge_many(zip(ids, texts))] == ids
    again = [seen.judge(text, id=f"again {id}").match for id, text in zip(ids, texts)]
    assert again == ids and [type(id) for id in again[:3]] == [str, str, int]


def test_the_same_id_is_the_same_document():
    seen = Filter()
    assert verdicts(seen.judge_many([(1, LONG), (1, LONG), ("1", LONG)])) == ["unique", "unchanged", "exact"]


def test_without_an_id_a_document_has_its_number():
    seen = Filter()
    decisions = list(seen.judge_many(["one text", "another text", "One text!"]))
    assert [(decision.id, decision.match) for decision in decisions] == [("#0", None), ("#1", None), ("#2", "#0")]
    assert seen.judge("another TEXT").match == "#1"
    assert seen.judge(html="<p>a page", url="http://a.test/x").id == "http://a.test/x"


def test_many_documents_are_read_from_all_kinds_of_iterables():
    documents = [("a", "first text"), ["b", "First text"], {"id": "c", "text": "first  text"}]
    for iterable in (documents, tuple(documents), iter(documents), (item for item in documents)):
        assert [decision.match for decision in Filter().judge_many(iterable)] == [None, "a", "a"]


def test_an_iterator_is_read_some_documents_at_a_time():
    read = []

    def documents():
        for number in range(10_000):
            read.append(number)
            yield f"text number {number}"

    decisions = Filter().judge_many(documents(), chunk=100)
    assert read == []
    assert next(decisions).id == "#0" and len(read) == 100
    assert sum(decision.is_unique for decision in decisions) == 9_999


def test_decisions_before_an_error_are_returned_and_the_error_has_its_place():
    decisions = Filter().judge_many(["a text", ("b", 7), "A text"])
    assert next(decisions).verdict == "unique"
    with pytest.raises(TypeError, match="document 1: `text` must be a string, not 7"):
        next(decisions)
    assert next(decisions).match == "#0"

    def broken():
        yield "a text"
        raise KeyError("mine")

    decisions = Filter().judge_many(broken())
    next(decisions)
    with pytest.raises(KeyError, match="mine"):
        next(decisions)


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        (b"bytes", TypeError, "expected a str, a pair"),
        (("a", "b", "c"), TypeError, "found tuple"),
        ({"id": "a"}, ValueError, "`text` and `html` are both missing: give one of them"),
        ({"id": "a", "text": "", "html": ""}, ValueError, "not both"),
        ({"id": 1.5, "text": ""}, TypeError, "`id` must be a string or an integer of 64 bits, not 1.5"),
        ({"id": "\x01x", "text": ""}, ValueError, "U\\+0001"),
        ({"id": "a", "text": "", "url": "no url"}, ValueError, '`url`: "no url" is not an absolute URL'),
        ({"id": "a", "text": "", "time": "yesterday"}, ValueError, "`time`: yesterday is no time"),
        ({"id": "a", "text": "", "time": datetime(2026, 1, 1)}, ValueError, "with a time zone"),
        ({"id": "a", "text": "", "time": 10**18}, ValueError, "is no time"),
        ("\ud800", ValueError, "surrogates not allowed"),
        ({"id": "a", "text": "", "url": "\ud800"}, ValueError, "`url`: .* surrogates not allowed"),
    ],
)
def test_a_wrong_document_is_an_error_that_says_what_is_wrong(document, error, message):
    with pytest.raises(error, match=message):
        list(Filter().judge_many([document]))


def test_arrow_strings_that_are_no_utf_8_are_errors_of_their_rows():
    """PyArrow checks none of the strings that it reads from a file."""
    pa = pytest.importorskip("pyarrow")
    rows = [b"The tide is high.", b"\xff\xfe broken", b"the TIDE is high"]
    kinds = {pa.binary(): pa.string(), pa.large_binary(): pa.large_string(), pa.binary_view(): pa.string_view()}
    columns = [pa.array(rows, of_bytes).view(of_text) for of_bytes, of_text in kinds.items()]
    strings = columns[0]
    for column in [*columns, strings.dictionary_encode()]:
        table = pa.table({"id": ["a", "b", "c"], "text": column})
        found = list(Filter().judge_many(table, on_error="report"))
        assert [getattr(one, "verdict", type(one)) for one in found] == ["unique", ValueError, "exact"], column.type
        with pytest.raises(ValueError, match="document 1: `text`: invalid utf-8 sequence"):
            list(Filter().judge_many(column))
    for name in ("id", "url", "html", "content_type", "time"):
        content = {} if name == "html" else {"text": ["a"]}
        table = pa.table({**content, name: strings[1:2]})
        with pytest.raises(ValueError, match=f"document 0: `{name}`: invalid utf-8 sequence"):
            list(Filter().judge_many(table))


def test_one_document_is_not_many():
    for one in ("text", b"text", {"id": "a", "text": "text"}):
        with pytest.raises(TypeError, match="use judge"):
            Filter().judge_many(one)
    for nothing in (Path("texts.parquet"), 5, None):
        with pytest.raises(TypeError, match=f"not {type(nothing).__name__}; it opens no files"):
            Filter().judge_many(nothing)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "fuzzy"}, ValueError, "`mode`: unknown value `fuzzy`, expected one of `balanced`"),
        ({"radius": 12}, ValueError, "`radius`: radius 12 is too large: write 0 to 11"),
        ({"window": {"entires": 5}}, ValueError, "`window`: unknown key `entires`"),
        ({"window": {"entries": 0}}, ValueError, "`window`: found the int `0`, expected an int from 1 on"),
        ({"window": 5}, ValueError, "`window`: found the int `5`, expected a dict"),
        ({"similarity": "high"}, ValueError, '`similarity`: found the str "high", expected a float'),
        ({"similarity": 0.95, "radius": 9}, ValueError, "`similarity` says what is near, and so does `radius`"),
        ({"similarity": 0.95, "mode": "strict"}, ValueError, "`similarity` says what is near, and so does `mode`"),
        ({"radius": -1}, ValueError, "`radius`: found the int `-1`, expected an int from 0 on"),
        ({"article": None}, ValueError, "`article`: found None, expected a bool"),
        ({"window": {"age": "soon"}}, ValueError, '`window`: "soon"'),
        ({"memory": "1 MiB"}, ValueError, "a window of 5,000,000 entries at radius 9 needs"),
        ({"seed": "hidden"}, ValueError, '`seed`: expected "secret", "public" or a number'),
        ({"segment": object()}, ValueError, "`segment`: <object object .* cannot be read: write a str, a bool"),
        ({"window": {"age": timedelta(days=3)}}, ValueError, "`window`: .*timedelta.* cannot be read"),
        ({"similarity": float("nan")}, ValueError, "`similarity`: nan cannot be read: write .* a finite number"),
        ({"memory": "lots"}, ValueError, '`memory`: found the str "lots", expected a size, such as "512 MiB"'),
        ({"memory": -1}, ValueError, "`memory`: found the int `-1`, expected a size"),
        ({"modus": "strict"}, TypeError, "there is no option `modus`; the options are article"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_what_is_wrong(options, error, message):
    with pytest.raises(error, match=message):
        Filter(**options)


def test_a_similarity_that_texts_are_not_searched_by_is_a_warning():
    with pytest.warns(UserWarning, match="`similarity`: 0.7 counts for pages only; texts are compared by 0.86"):
        Filter(similarity=0.7)


def test_options_change_the_rule():
    near = LONG.replace("lanterns", "lamps")
    assert verdicts(Filter().judge_many([LONG, near])) == ["unique", "near"]
    assert verdicts(Filter(radius=0, mode="strict").judge_many([LONG, near])) == ["unique", "unique"]
    one = Filter(window={"entries": 1, "age": "unlimited"}, min_features=1000)
    assert verdicts(one.judge_many(["a", "b", "a"])) == ["unique"] * 3
    day = Filter(window={"entries": 10, "age": "1d"})
    times = [0, "1970-01-01T12:00:00Z", datetime(1970, 1, 3, tzinfo=timezone.utc)]
    documents = [{"text": LONG, "time": time} for time in times]
    assert verdicts(day.judge_many(documents)) == ["unique", "exact", "unique"]


def test_what_is_removed_is_not_repeated(tmp_path):
    for path in (None, tmp_path / "seen.db"):
        seen = Filter(path)
        seen.judge(LONG, id="a")
        seen.judge(html=f"<p>{TEXT}", url="http://a.test/?utm_source=x#top")
        assert seen.remove("a") and not seen.remove("a") and not seen.remove(7)
        assert seen.judge(LONG, id="b").verdict == "unique"
        assert seen.remove("http://a.test/")
        assert seen.judge(html=f"<p>{TEXT}", url="http://b.test/").verdict == "unique"
        assert seen.stats()["window"] == 2
        seen.close()


def test_a_window_on_disk_is_there_when_it_is_opened_again(tmp_path):
    path = tmp_path / "seen.db"
    with Filter(path) as seen:
        seen.judge(LONG, id="a")
        assert list(seen.judge_many(["another text"]))[0].id == "#1"
        with pytest.raises(StateError, match="in use by another process"):
            Filter(path)
    with pytest.raises(ValueError, match="the filter is closed"):
        seen.judge("text")
    with Filter(str(path)) as seen:
        assert seen.judge(LONG, id="b").match == "a"
        assert seen.judge("ANOTHER text").match == "#1"
        assert seen.remove("a")
    with Filter(path) as seen:
        assert seen.judge(LONG, id="c").verdict == "unique"
        assert seen.stats()["judged"] == 5
    with pytest.raises(ValueError, match="segment would be ngrams, but the state's fingerprints were made with jieba"):
        Filter(path, segment="ngrams")
    (tmp_path / "text").write_text(LONG * 100)
    with pytest.raises((StateError, ValueError), match="/text"):
        Filter(tmp_path / "text")
    with pytest.raises(StateError, match="absent/seen.db"):
        Filter(tmp_path / "absent/seen.db")


def test_a_decision_on_disk_survives_a_kill(tmp_path):
    path = tmp_path / "seen.db"
    code = f"import os, pagesieve; s = pagesieve.Filter({str(path)!r}); s.judge({LONG!r}, id='a'); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert Filter(path).judge(LONG, id="b").match == "a"


def test_a_fork_can_judge_in_memory_and_not_in_its_parents_file(tmp_path):
    memory, disk = Filter(), Filter(tmp_path / "seen.db")
    list(memory.judge_many([LONG, TEXT]))
    child = os.fork()
    if child == 0:
        ok = verdicts(memory.judge_many([LONG, TEXT])) == ["exact", "exact"]
        try:
            disk.judge(LONG)
        except StateError as error:
            ok &= "belongs to the process that opened it" in str(error)
            os._exit(0 if ok else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert disk.judge(LONG).is_unique


def test_threads_share_a_filter():
    seen = Filter()
    unique = []

    def judge(thread):
        decisions = seen.judge_many(((f"{thread} {n}", f"shared text number {n}") for n in range(500)), chunk=10)
        unique.extend(decision for decision in decisions if decision.is_unique)

    threads = [threading.Thread(target=judge, args=[thread]) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(unique) == 500 and seen.stats()["judged"] == 2000


def test_python_goes_on_while_documents_are_judged():
    ticks, done = 0, threading.Event()
    texts = [f"{LONG} {number}" * 20 for number in range(1000)]

    def work():
        list(Filter().judge_many(texts))
        done.set()

    threading.Thread(target=work).start()
    while not done.wait(0.001):
        ticks += 1
    assert ticks > 3


def test_arrow_tables_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    texts = [LONG, "another text", LONG.lower(), None]
    for ids in (["a", "b", "c", "d"], [1, 2, 3, 4]):
        for text_type in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
            table = pa.table({"id": ids, "text": pa.array(texts[:3] + [""], pa.string()).cast(text_type) if text_type != pa.string_view() else pa.array(texts[:3] + [""], text_type)})
            assert [d.match for d in Filter().judge_many(table)] == [None, None, ids[0], None], text_type
    decisions = Filter().judge_many(pa.table({"text": texts}))
    assert [next(decisions).id for _ in range(3)] == ["#0", "#1", "#2"]
    with pytest.raises(ValueError, match="document 3: `text` and `html` are both missing"):
        next(decisions)
    page = pa.table({"html": ["<p>One page."], "url": ["http://a.test/"]})
    assert next(Filter().judge_many(page)).url == "http://a.test/"
    with pytest.raises(ValueError, match="no column `text` or `html`, but id, body"):
        Filter().judge_many(pa.table({"id": ["a"], "body": ["b"]}))
    with pytest.raises(TypeError, match="the column `text` must hold strings, not Int64"):
        list(Filter().judge_many(pa.table({"text": [1]})))


def test_csv_and_parquet_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv as arrow_csv, parquet

    rows = [("a", LONG), ("b", f'{TEXT} with "quotes", commas\nand lines'), ("c", LONG.upper())]
    with open(tmp_path / "texts.csv", "w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *rows])
    parquet.write_table(pa.table({"id": [r[0] for r in rows], "text": [r[1] for r in rows]}), tmp_path / "texts.parquet")
    expected = [None, None, "a"]
    with open(tmp_path / "texts.csv", newline="") as file:
        assert [d.match for d in Filter().judge_many(csv.DictReader(file))] == expected
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with arrow_csv.open_csv(tmp_path / "texts.csv", parse_options=parse) as reader:
        assert [d.match for d in Filter().judge_many(reader)] == expected
    file = parquet.ParquetFile(tmp_path / "texts.parquet")
    reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=2))
    assert [d.match for d in Filter().judge_many(reader)] == expected
    assert [d.match for d in Filter().judge_many(file)] == expected


def test_explain_says_in_what_two_documents_differ():
    seen = Filter(seed=7)
    found = seen.explain(LONG, LONG.replace("lanterns", "lamps"))
    assert found["decision"].verdict == "near"
    assert found["signature_distance"] == found["decision"].signature_distance
    assert ("lanterns", 16, 0) in found["more_in_a"] and ("lamps", 16, 0) in found["more_in_b"]
    assert found["rule"] == "fingerprints differ in at most 9 of 64 bits, signatures in at most 26 of 256"
    assert "only equal texts" in seen.explain("one", "two")["rule"]
    assert seen.explain({"id": "a", "html": f"<p>{LONG}"}, {"id": "a", "html": f"<b>{LONG}"})["decision"].verdict == "exact"
    assert seen.stats()["judged"] == 0


def test_fingerprint_and_extract():
    assert pagesieve.fingerprint(LONG) == Filter().fingerprint(LONG) == pagesieve.fingerprint(LONG.upper())
    assert pagesieve.fingerprint(LONG, seed=7) == Filter(seed=7).fingerprint(LONG) != pagesieve.fingerprint(LONG)
    assert pagesieve.fingerprint("...") == {"fingerprint": None, "signature": None}
    assert pagesieve.fingerprint(LONG)["signature"].startswith(pagesieve.fingerprint(LONG)["fingerprint"])
    page = pagesieve.extract("<title>Tea</title><nav>Home</nav><p>Green <a href=/tea>tea</a>.", url="http://a.test/")
    assert (page["title"], page["text"], page["links"]) == ("Tea", "Green tea.", ["http://a.test/tea"])
    latin = pagesieve.extract("<p>Gr\u00fcner Tee".encode("latin-1"), content_type="text/html; charset=iso-8859-1")
    assert (latin["text"], latin["charset"]) == ("Gr\u00fcner Tee", "windows-1252")


def lines(program, *arguments, given):
    given = "".join(json.dumps(line) + "\n" for line in given)
    done = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_decisions_are_those_of_the_program(program, data, tmp_path):
    texts = [json.loads(line) for line in open(data / "main_text.jsonl")]
    texts = [{"id": line["path"], "text": line["main_text"]} for line in texts]
    pages = [json.loads(line) for line in open(data / "pages.jsonl")]
    pages = [
        {"id": page["path"], "html": (data / "pages" / page["path"]).read_text(errors="replace"), "url": f"http://{page['site']}.test/{page['path']}"}
        for page in pages[:400]
    ]
    for given in (texts, pages):
        expected = lines(program, "filter", "--set", "dedup.seed='public'", given=given)
        assert [decision.to_dict() for decision in Filter().judge_many(given)] == expected
        assert [decision.to_dict() for decision in Filter(tmp_path / f"{len(given)}.db").judge_many(given)] == expected
    sample = lines(program, "fingerprint", given=texts[:20])
    assert [{"id": line["id"], **pagesieve.fingerprint(line["text"])} for line in texts[:20]] == sample
