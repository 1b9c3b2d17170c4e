#!/usr/bin/env python3
"""What the live page costs a crawl, with so many pages open.

    benches/live.py PROGRAM [PAGES [VIEWERS...]]

A crawl of a site on loopback is paused after PAGES pages (default 100,000). Then nothing but the page takes CPU time, so that this is measured
even on a machine that others use: for 40 s without viewers and with each number of them. It is compared with the CPU time that the crawl took
until then. Each viewer reads the events, as a browser does. At the end the crawl is stopped while all pages are open. Needs Linux.
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HOSTS = 64
WORDS = [f"word{number}" for number in range(4000)]


def page(host: str, path: str, last: int) -> bytes:
    number = int(path.strip("/") or 0)
    words = random.Random(f"{host}{number}")
    text = "".join(f"<p>{' '.join(words.choices(WORDS, k=50))}.</p>" for _ in range(4))
    links = "".join(f'<a href="/{it}">{it}</a> ' for it in range(10 * number + 1, 10 * number + 11) if it < last)
    # A tenth repeats another page.
    text = text if number % 10 or not number else page(host, f"/{number - 1}", 0).decode()
    return f"<!doctype html><title>{number}</title><body>{text}{links}".encode()


def serve(listener: socket.socket, last: int):
    """A process of its own, so that its CPU time is not the crawl's."""
    import asyncio

    async def answer(reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                host = re.search(rb"(?i)\r\nhost: ([^\r]+)", head)[1].decode()
                body = b"" if path == "/robots.txt" else page(host, path, last)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        async with await asyncio.start_server(answer, sock=listener) as server:
            await server.serve_forever()

    asyncio.run(run())


class Crawl:
    def __init__(self, program: Path, port: int, folder: str):
        names = [f"h{number}.test" for number in range(HOSTS)]
        resolve = ", ".join(f'"{name}" = "127.0.0.1:{port}"' for name in names)
        seeds = "".join(f'[[seeds]]\nurl = "http://{name}/"\n' for name in names)
        plan = Path(folder, "plan.toml")
        plan.write_text(
            f'[crawl]\nuser_agent = "bench/1"\nmax_pages = 100_000_000\n[politeness]\ndelay = "1ms"\n'
            f'[fetch]\nallow_private = ["127.0.0.0/8"]\nresolve = {{ {resolve} }}\n{seeds}'
        )
        line = [program, "crawl", plan, "--out", Path(folder, "run"), "--live=127.0.0.1:0"]
        environment = {**os.environ, "PAGESIEVE_TOKEN": "t"}
        self.begun = time.monotonic()
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        said = next(line for line in self.process.stderr if line.startswith("live page: "))
        host, port = re.search(r"http://([\d.]+):(\d+)/", said).groups()
        self.address, self.viewers = (host, int(port)), 0
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def connect(self, head: str) -> socket.socket:
        connection = socket.create_connection(self.address)
        connection.sendall(f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer t\r\nConnection: close\r\n\r\n".encode())
        return connection

    def ask(self, head: str) -> str:
        with self.connect(head).makefile() as answer:
            return answer.read()

    def fetched(self) -> int:
        return int(re.search(r"pages_fetched_total (\d+)", self.ask("GET /metrics"))[1])

    def view(self):
        connection = self.connect("GET /events")
        self.viewers += 1

        def read():
            try:
                while connection.recv(1 << 16):
                    pass
            except ConnectionError:
                pass

        threading.Thread(target=read, daemon=True).start()

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_a_second(self, seconds: float) -> float:
        begun, before = time.monotonic(), self.cpu()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - begun)


def main():
    program, pages = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = os.fork()
    if server == 0:
        serve(listener, 10 * pages)
    try:
        with tempfile.TemporaryDirectory() as folder:
            crawl = Crawl(program, listener.getsockname()[1], folder)
            while (fetched := crawl.fetched()) < pages:
                time.sleep(1)
            seconds, cpu = time.monotonic() - crawl.begun, crawl.cpu()
            print(f"{fetched:,} pages in {seconds:.0f} s with {cpu:.1f} s of CPU: {1000 * cpu / seconds:.0f} ms a second", flush=True)
            crawl.ask("POST /pause")
            time.sleep(10)
            idle = crawl.cpu_a_second(40)
            for viewers in [int(it) for it in sys.argv[3:]] or [1, 32]:
                while crawl.viewers < viewers:
                    crawl.view()
                time.sleep(3)
                cost = crawl.cpu_a_second(40) - idle
                print(f"{viewers} viewers: {1000 * cost:.1f} ms a second, {100 * cost * seconds / cpu:.2f} % of the crawl's", flush=True)
            begun = time.monotonic()
            crawl.process.terminate()
            print(f"SIGTERM: ended with {crawl.process.wait()} after {time.monotonic() - begun:.2f} s")
    finally:
        os.kill(server, signal.SIGTERM)


if __name__ == "__main__":
    main()
