"""What the tests share: development data, the program `pagesieve`, and a server of pages on loopback."""

import os
import random
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PAGESIEVE_DATA", ROOT.parent / "shared/data"))
PROGRAM = ROOT / "target/debug/pagesieve"


@pytest.fixture(scope="session")
def data() -> Path:
    if not (DATA / "pages.jsonl").exists():
        pytest.skip(f"{DATA} is absent; set PAGESIEVE_DATA to the directory of the test data")
    return DATA


@pytest.fixture(scope="session")
def program() -> Path:
    path = Path(os.environ.get("PAGESIEVE", PROGRAM))
    if not path.exists():
        pytest.skip(f"{path} is absent; build it, or set PAGESIEVE to the program")
    return path


class Server(ThreadingHTTPServer):
    """Serves a folder, and counts requests."""

    daemon_threads = True

    def __init__(self, folder: Path):
        self.requested = []
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def serve():
    """Starts servers that last as long as the module."""
    servers = []

    def start(folder: Path) -> Server:
        servers.append(Server(folder))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def article(topic: str) -> str:
    """Prose of words that no other article has."""
    chance = random.Random(topic)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(3, 9))) for _ in range(200)]
    sentences = [" ".join(chance.choices(words, k=12)).capitalize() + "." for _ in range(30)]
    return "\n".join(f"<p>{' '.join(sentences[place : place + 5])}</p>" for place in range(0, 30, 5))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Ten articles; three of them have copies under `print/`, each of which links to a page that nothing else links to."""
    folder = tmp_path / "site"
    (folder / "print").mkdir(parents=True)
    topics = "apple basalt cedar dolphin ember falcon granite heron island juniper".split()
    page = "<!doctype html><html><head><title>{0}</title></head><body><article><h1>{0}</h1>{1}</article>{2}</body></html>"
    links = "".join(f'<p><a href="{topic}.html">{topic}</a></p>' for topic in topics)
    links += "".join(f'<p><a href="print/{topic}.html">print {topic}</a></p>' for topic in topics[:3])
    (folder / "index.html").write_text(page.format("Index", "", links))
    for topic in topics:
        (folder / f"{topic}.html").write_text(page.format(topic, article(topic), ""))
    for topic in topics[:3]:
        hidden = f'<footer><a href="../only-{topic}.html">next</a></footer>'
        (folder / f"print/{topic}.html").write_text(page.format(topic, article(topic), hidden))
        (folder / f"only-{topic}.html").write_text(page.format(f"only {topic}", article(f"only {topic}"), ""))
    return folder
