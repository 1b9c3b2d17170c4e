#!/usr/bin/env python3
"""What the service costs beside `filter`: prints the table of docs/service.md.

    cargo build --release
    benches/service.py target/release/pagesieve [DOCUMENTS [MANY]]

Judges DOCUMENTS texts (default 50,000) by `filter`, `filter --state` and the service in batches of 64, in turns, three times, and prints the
least CPU time of each program for a text. Then one client sends single documents, to the service and to `filter --state` in turns, and the
times of the answers are printed. With MANY (1,000,000), as many texts are sent to a service with a window of 100,000, and its memory is printed at each tenth.
Needs Linux and Python 3.10.
"""

import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

BINARY = str(pathlib.Path(sys.argv[1]).resolve())
DOCUMENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
MANY = int(sys.argv[3]) if len(sys.argv) > 3 else 0
BATCH = 64
SINGLE = 2_000
TICKS = os.sysconf("SC_CLK_TCK")
LETTERS = "etaoinshrdlu"


def vocabulary(size=20_000):
    random.seed(7)
    return ["".join(random.choices(LETTERS, k=random.randint(2, 9))) for _ in range(size)]


WORDS = vocabulary()


def document(number):
    """A text of 200 words; every third one repeats an earlier text with one word changed."""
    is_copy = number % 3 == 2
    drawn = random.Random(number - 1 if is_copy else number)
    words = [WORDS[int(len(WORDS) * drawn.random() ** 3)] for _ in range(200)]
    if is_copy:
        words[number % 200] = "changed"
    return {"id": str(number), "text": " ".join(words)}


class Service:
    def __init__(self, directory, *options):
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--state", f"{directory}/seen.sqlite", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "http://127.0.0.1:" in line:
                port = line.split("http://127.0.0.1:")[1]
                break
        port = int("".join(c for c in port.split("/")[0] if c.isdigit()))
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        while self.get("/readyz")[0] != 200:
            time.sleep(0.01)

    def get(self, path):
        self.connection.request("GET", path)
        response = self.connection.getresponse()
        return response.status, response.read()

    def judge(self, body):
        self.connection.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            sys.exit(f"status {response.status}: {answer[:200]}")

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait()


def by_service(bodies):
    with tempfile.TemporaryDirectory() as directory:
        service = Service(directory)
        before = service.cpu()
        for body in bodies:
            service.judge(body)
        used = service.cpu() - before
        service.stop()
        return used


def by_filter(path, has_state):
    with tempfile.TemporaryDirectory() as directory:
        command = [BINARY, "filter", path] + (["--state", f"{directory}/seen.sqlite"] if has_state else [])
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system


def cost():
    documents = [document(number) for number in range(DOCUMENTS)]
    bodies = [json.dumps(documents[at : at + BATCH]) for at in range(0, DOCUMENTS, BATCH)]
    least = {}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(each) + "\n" for each in documents)
        file.flush()
        ways = {
            "filter": lambda: by_filter(file.name, False),
            "filter --state": lambda: by_filter(file.name, True),
            f"serve, batches of {BATCH}": lambda: by_service(bodies),
        }
        for _ in range(3):
            for name, way in ways.items():
                least[name] = min(least.get(name, 1e9), way())
    base = least["filter --state"]
    for name, used in least.items():
        print(f"| {name} | {used / DOCUMENTS * 1e6:.0f} µs CPU a text | {used / base:.2f} |", flush=True)


def times(way):
    taken = []
    for number in range(SINGLE):
        body = json.dumps(document(number))
        began = time.perf_counter()
        way(body)
        taken.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.001)
    taken.sort()
    return f"p50 {taken[SINGLE // 2]:.2f} ms, p99 {taken[SINGLE * 99 // 100]:.2f} ms, longest {taken[-1]:.2f} ms"


def single():
    for _ in range(3):
        with tempfile.TemporaryDirectory() as directory:
            command = [BINARY, "filter", "--state", f"{directory}/pipe.sqlite"]
            pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
            answers = pipe.stdout

            def line(body):
                pipe.stdin.write(body.encode() + b"\n")
                while not answers.read(65536).endswith(b"\n"):
                    pass

            print(f"| filter --state, a line at a time | {times(line)} |", flush=True)
            pipe.stdin.close()
            pipe.wait()
            service = Service(directory)
            print(f"| serve, a document at a time | {times(service.judge)} |", flush=True)
            service.stop()


def many():
    with tempfile.TemporaryDirectory() as directory:
        service = Service(directory, "--set", "dedup.window.entries=100000")
        for tenth in range(10):
            for at in range(MANY * tenth // 10, MANY * (tenth + 1) // 10, BATCH):
                service.judge(json.dumps([document(number) for number in range(at, at + BATCH)]))
            kept = json.loads(service.get("/v1/stats")[1])
            print(f"| {MANY * (tenth + 1) // 10:,} sent | {service.memory():.0f} MiB | {json.dumps(kept)} |", flush=True)
        service.stop()


cost()
single()
if MANY:
    many()
