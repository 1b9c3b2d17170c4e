"""What the documentation shows, and that the stubs are those of the module."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import pagesieve

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_readme_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = Path(__file__).parents[1] / "README.md"
    found = doctest.testfile(str(readme), module_relative=False, optionflags=FLAGS)
    assert found.attempted > 10 and found.failed == 0


def test_the_package_is_described_rightly():
    assert doctest.testmod(pagesieve, optionflags=FLAGS) == (0, 4)


def test_the_module_lists_what_it_has():
    assert set(pagesieve.__all__) <= set(dir(pagesieve)) and "Client" in dir(pagesieve)


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    line = [sys.executable, "-m", "mypy.stubtest", "pagesieve", "--ignore-missing-stub"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


TYPED = """
from datetime import datetime, timezone
from pathlib import Path

import pagesieve
from pagesieve import Decision, Filter

seen: Filter = Filter(Path("seen.db"), similarity=0.9, window={"entries": 5, "future": True})
decision: Decision = seen.judge("text", id=1, time=datetime.now(timezone.utc))
decision = seen.judge(html=b"<p>x", url="http://a.test/", content_type="text/html")
same: bool = decision == seen.check("text") and "a" in seen and len(seen) > 0
held = seen.get("a")
fingerprint: str | None = held["fingerprint"] if held else None
for decision in seen.judge_many([("a", "text"), "text", {"id": 5, "text": "x"}], on_error="skip"):
    match: str | int | None = decision.match
for item in seen.judge_many(["x"], on_error="report"):
    if isinstance(item, Exception):
        raise item
    print(item.verdict)
with seen.batch() as filter:
    filter.judge("x")
found = pagesieve.clusters(["a", "b"], keep=max, mode="strict")
rows: list[int] = [cluster.kept for cluster in found]
with pagesieve.Client("127.0.0.1:8040") as client:
    for answer in client.judge_many([("a", "text")], on_error="skip"):
        print(answer["verdict"])
    for reported in client.judge_many([("a", "text")], on_error="report"):
        if isinstance(reported, Exception):
            raise reported
        print(reported["verdict"])
"""


@pytest.mark.parametrize(("checker", "options"), [("mypy", ["--strict"]), ("pyright", ["--pythonpath", sys.executable])])
def test_what_is_documented_has_types(tmp_path, checker, options):
    pytest.importorskip(checker)
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text("import pagesieve\npagesieve.Filter(mode='fuzzy').judge(5)\n")
    line = [sys.executable, "-m", checker, *options]
    done = subprocess.run([*line, "typed.py"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*line, "wrong.py"], capture_output=True, text=True, cwd=tmp_path)
    assert "2 errors" in done.stdout, done.stdout
