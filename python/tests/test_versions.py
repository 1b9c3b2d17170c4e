"""Asking a filter, versions of documents, decisions as values, and commits that wait."""

import copy
import pickle
import time

import pytest

from pagesieve import Decision, Filter

from test_filter import LONG, TEXT, verdicts

NEAR = LONG.replace("lanterns", "lamps")


@pytest.fixture(params=["memory", "file"])
def seen(request, tmp_path):
    return Filter(tmp_path / "seen.db" if request.param == "file" else None)


def test_check_asks_and_remembers_nothing(seen):
    assert seen.check(LONG, id="a").is_unique and len(seen) == 0
    seen.judge(LONG, id="a")
    assert [seen.check(text, id="b").verdict for text in (LONG, NEAR, "else")] == ["exact", "near", "unique"]
    assert seen.check(LONG, id="a").verdict == "unchanged" and seen.check(TEXT, id="a").verdict == "changed"
    assert seen.stats() == {"judged": 1, "unique": 1, "exact": 0, "near": 0, "unchanged": 0, "window": 1}


def test_a_filter_is_asked_like_a_collection(seen):
    assert len(seen) == 0 and seen and "a" not in seen and seen.get("a") is None
    seen.judge(LONG, id="a")
    seen.judge(LONG, id="b")
    assert len(seen) == 1 and "a" in seen and "b" not in seen
    held = seen.get("a")
    assert held["id"] == "a" and held["fingerprint"] == seen.fingerprint(LONG)["fingerprint"]
    assert abs(held["time"] / 1000 - time.time()) < 60
    seen.remove("a")
    assert "a" not in seen and len(seen) == 0


def test_a_known_document_is_unchanged_or_changed(seen):
    assert seen.judge(LONG, id="a").verdict == "unique"
    for _ in range(3):
        again = seen.judge(f" {LONG.upper()}", id="a")
        assert (again.verdict, again.is_unique, again.match, again.distance) == ("unchanged", False, None, 0)
    assert len(seen) == 1
    changed = seen.judge(NEAR, id="a")
    assert (changed.verdict, changed.is_unique, changed.match) == ("changed", True, None)
    assert changed.distance > 0 and changed.signature_distance > 0 and 0.9 < changed.similarity < 1
    previous = changed.to_dict()["previous"]
    assert previous["signature_distance"] == changed.signature_distance and previous["time"].endswith("Z")
    assert seen.judge(NEAR, id="a").verdict == "unchanged"
    seen.judge("Something else entirely.", id="b")
    assert seen.judge(LONG, id="b").verdict == "exact", "a version that repeats another document is its duplicate"
    assert seen.judge("😀", id="b").verdict == "changed"


def test_a_second_crawl_with_the_same_window_finds_nothing_new(tmp_path):
    pages = [{"url": f"http://a.test/{n}", "html": f"<title>{n}</title><p>{f'{n} quay ' * 40}"} for n in range(50)]
    with Filter(tmp_path / "seen.db") as seen:
        assert all(decision.is_unique for decision in seen.judge_many(pages))
    with Filter(tmp_path / "seen.db") as seen:
        assert verdicts(seen.judge_many(pages)) == ["unchanged"] * 50
        stats = seen.stats()
        assert len(seen) == 50 and (stats["judged"], stats["unique"], stats["unchanged"]) == (100, 50, 50)


def test_decisions_are_values():
    first, second = (list(Filter().judge_many([("a", LONG), ("b", NEAR), ("a", TEXT)])) for _ in range(2))
    assert [first[0], first[1].verdict] == [first[0], "near"]
    assert first[1] != first[0] and hash(first[1]) == hash(first[1]) and first[0] != "a"
    for decision in first:
        for other in (copy.copy(decision), copy.deepcopy(decision), pickle.loads(pickle.dumps(decision))):
            assert other == decision and isinstance(other, Decision) and hash(other) == hash(decision)
        assert dict(decision) == decision.to_dict()
        assert list(decision) == list(decision.to_dict()) and "verdict" in decision and 1 not in decision
    assert first[1]["match"]["id"] == "a"


def test_counts_are_those_of_the_file_when_it_is_opened_again(tmp_path):
    path = tmp_path / "seen.db"
    with Filter(path) as seen:
        list(seen.judge_many([LONG, NEAR, LONG, "another"]))
        before = seen.stats()
    with Filter(path) as seen:
        assert seen.stats() == before == {"judged": 4, "unique": 2, "exact": 1, "near": 1, "unchanged": 0, "window": 2}


def test_commits_can_wait(tmp_path):
    with Filter(tmp_path / "seen.db") as seen:
        with seen.batch() as same:
            assert same is seen
            for number in range(300):
                seen.judge(f"text number {number}")
    with Filter(tmp_path / "seen.db") as seen:
        assert len(seen) == 300
        with pytest.raises(KeyError):
            with seen.batch():
                seen.judge("one more")
                raise KeyError
    with Filter(tmp_path / "seen.db") as seen:
        assert len(seen) == 301
