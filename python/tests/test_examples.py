"""The examples for other programs, if these are installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_datatrove_drops_near_duplicates(tmp_path):
    pytest.importorskip("datatrove")
    text = "The harbour master wrote every ship into the book, with its captain, cargo and the port from which it had come. "
    text += "Ships that came at night were entered in the morning, when the clerk had counted the lanterns on the pier."
    texts = {"a": text, "b": "Another text of some words.", "c": text.upper(), "d": text.replace("lanterns", "lamps")}
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    (tmp_path / "in/documents.jsonl").write_text(lines)

    def run(output):
        line = [sys.executable, str(EXAMPLES / "datatrove_filter.py"), str(tmp_path / "in"), str(output)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        files = sorted(output.glob("kept/*.jsonl"))
        return [json.loads(line)["id"] for file in files for line in file.read_text().splitlines()]

    assert run(tmp_path / "one") == ["a", "b"]
    dropped = [json.loads(line) for file in (tmp_path / "one/dropped").iterdir() for line in file.read_text().splitlines()]
    assert [(line["id"], line["metadata"]["filter_reason"]) for line in dropped] == [("c", "exact"), ("d", "near")]


def test_crawlee_keeps_one_of_each_page(serve, site, tmp_path):
    pytest.importorskip("crawlee.crawlers")
    server = serve(site)
    line = [sys.executable, str(EXAMPLES / "crawlee_crawler.py"), server.url + "index.html", "seen.db"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    urls = [page["url"] for page in json.loads((tmp_path / "pages.json").read_text())]
    assert len(urls) == 11


def test_crawl4ai_keeps_one_of_each_page(serve, site, tmp_path):
    pytest.importorskip("crawl4ai", reason="crawl4ai is not installed: it takes 900 MB")
    server = serve(site)
    line = [sys.executable, str(EXAMPLES / "crawl4ai_crawler.py"), server.url + "index.html", "seen.db"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    urls = [json.loads(line)["url"].removeprefix(server.url) for line in done.stdout.splitlines()]
    # It follows links before a page is judged, so also those that only duplicates have.
    assert len(urls) == 14 and not any(url.startswith("print/") for url in urls), urls
