#!/usr/bin/env python3
"""Crawls of hosts that fail: prints the table of docs/reliability.md.

    cargo build --release
    benches/reliability.py target/release/pagesieve

Needs Linux and Python 3.10, and no network: every host is a server of this program on loopback. Takes about four minutes.
"""

import hashlib
import http.server
import json
import pathlib
import resource
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

BINARY = pathlib.Path(sys.argv[1]).resolve()


def words(name, count=60):
    """Words unlike those of any other name."""
    digests = (hashlib.md5(f"{name}/{place}".encode()).hexdigest() for place in range(count))
    return " ".join("".join(chr(97 + int(digit, 16)) for digit in digest[:8]) for digest in digests)


class Pages(http.server.BaseHTTPRequestHandler):
    """The first page of a host links to all others."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/robots.txt":
            kind, body = "text/plain", ""
        else:
            links = range(1, self.server.pages) if self.path == "/" else ()
            links = "".join(f"<a href=/{n}>x</a>" for n in links)
            name = self.headers["host"] + self.path
            kind, body = "text/html", f"<title>{name}</title><p>{words(name)}</p>{links}"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    disable_nagle_algorithm = True
    request_queue_size = 4096

    def __init__(self, pages, port=0):
        super().__init__(("127.0.0.1", port), Pages)
        self.pages, self.port, self.open = pages, self.server_address[1], []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def get_request(self):
        request = super().get_request()
        request[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open.append(request[0])
        return request

    def handle_error(self, *_):
        pass

    def stop(self):
        self.shutdown()
        self.server_close()
        for connection in self.open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def silent():
    """The port of a server that accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    held = []

    def accept():
        while True:
            held.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


class Crawl:
    """A run of the program in a directory of its own."""

    def __init__(self, hosts, delay="0s", before=""):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        lines = ["[crawl]", "user_agent = 'bot/1 (+https://example.org/bot)'"]
        lines += ["[politeness]", f"delay = '{delay}'", "[fetch.resolve]"]
        lines += [f"'{name}' = '127.0.0.1:{port}'" for name, port in hosts if port]
        for name, _ in hosts:
            lines += ["[[seeds]]", f"url = 'http://{name}/'"]
        (self.directory / "run.toml").write_text("\n".join(lines))
        self.before = before
        self.start()

    def start(self):
        command = f"{self.before} exec {BINARY} crawl run.toml --progress none --log off"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["sh", "-c", command], cwd=self.directory, **quiet)

    def pages(self):
        try:
            return (self.directory / "runs/run/pages.jsonl").read_bytes().count(b"\n")
        except OSError:
            return 0

    def end(self):
        """Waits for the end, and describes it."""
        code = self.process.wait()
        report = json.loads((self.directory / "runs/run/report.json").read_text())
        counts = report["counts"]
        skipped = ", ".join(f"{count} {reason}" for reason, count in counts["skipped"].items())
        warned = ", ".join(sorted({warning["kind"] for warning in report["warnings"]}))
        return f"exit {code}, {report['end']}: {counts['fetched']} pages; {skipped or 'nothing'} skipped; warnings: {warned or 'none'}"


def seeds():
    for name, port in [("no.such.name.invalid", 0), ("closed.test", 1), ("10.1.2.3", 0)]:
        print(f"seed http://{name}/:", Crawl([(name, port)]).end(), flush=True)


def outage():
    server = Server(100)
    crawl = Crawl([(f"h{n}.test", server.port) for n in range(100)], delay="200ms")
    time.sleep(6)
    server.stop()
    time.sleep(15)
    server = Server(100, server.port)
    print("100 hosts with 100 pages, down for 15 s after 6 s:", crawl.end(), flush=True)
    crawl.start()
    print("    the same command again:", crawl.end(), flush=True)
    server.stop()


def descriptors():
    server = Server(2)
    hosts = [(f"h{n}.test", server.port) for n in range(3000)]
    print("3,000 hosts with 2 pages, 1,024 files:", Crawl(hosts, before="ulimit -n 1024;").end(), flush=True)
    server.stop()


def silence():
    for count in (0, 100, 1000):
        server, port = Server(5000), silent()
        good = [(f"good{n}.test", server.port) for n in range(5)]
        crawl = Crawl(good + [(f"silent{n}.test", port) for n in range(count)])
        time.sleep(3)
        before, seconds = crawl.pages(), 20
        time.sleep(seconds)
        rate = (crawl.pages() - before) / seconds
        stopped = time.monotonic()
        crawl.process.send_signal(signal.SIGTERM)
        crawl.process.wait()
        stopped = time.monotonic() - stopped
        print(f"5 good hosts beside {count} silent ones: {rate:.0f} pages a second; SIGTERM to end {stopped:.1f} s", flush=True)
        server.stop()


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
seeds()
outage()
descriptors()
silence()
