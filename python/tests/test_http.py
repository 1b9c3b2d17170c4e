"""The service as clients in Python see it: its description, its answers, and the client that comes with the package."""

import asyncio
import copy
import gzip
import json
import os
import pickle
import subprocess
import threading
from itertools import islice

import pytest

httpx = pytest.importorskip("httpx")

from pagesieve import AsyncClient, Client, Filter, ServiceError

from test_filter import LONG


class Service:
    def __init__(self, program, state, *options, token=None):
        environment = {**os.environ, "PAGESIEVE_TOKEN": token} if token else os.environ
        line = [program, "serve", "--state", state, "--listen", "localhost:0", *options]
        self.process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
        first = self.process.stderr.readline()
        assert first.startswith("listening on "), first + self.process.stderr.read()
        self.url = first.split()[-1]
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        # It says 503 until it is ready.
        while httpx.get(self.url + "/readyz").status_code != 200:
            pass

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def service(program, tmp_path):
    started = []

    def start(*options, **more):
        started.append(Service(program, tmp_path / f"seen{len(started)}.db", *options, **more))
        return started[-1]

    yield start
    for it in started:
        it.stop()


def resolved(description, schema):
    """A schema with its references replaced."""
    if isinstance(schema, list):
        return [resolved(description, it) for it in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return resolved(description, description["components"]["schemas"][name])
    return {key: resolved(description, value) for key, value in schema.items()}


def test_the_description_is_valid_and_says_what_is_answered(service):
    validator = pytest.importorskip("openapi_spec_validator")
    jsonschema = pytest.importorskip("jsonschema")
    url = service().url
    description = httpx.get(url + "/openapi.json").json()
    validator.validate(description)
    operations = [it for path in description["paths"].values() for it in path.values() if isinstance(it, dict)]
    for operation in operations:
        assert operation["summary"]
        for status, response in operation["responses"].items():
            assert response["description"], (operation, status)
            assert status == "204" or response.get("content"), (operation, status)
        for parameter in operation.get("parameters", []):
            assert parameter["in"] == ("path" if parameter["name"] == "id" else "query")
    assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    judging = description["paths"]["/v1/judge"]["post"]
    [content] = judging["requestBody"]["content"].values()
    documents = [
        {"id": 7, "text": LONG},
        {"id": "b", "text": LONG, "time": 1_700_000_000},
        {"id": 7, "text": LONG, "time": 1_700_000_000.5},
        {"url": "http://a.test/", "html": f"<p>{LONG}", "time": "2023-11-14T22:13:20Z"},
    ]
    for body in [*documents, documents]:
        jsonschema.validate(body, resolved(description, content["schema"]))
        answer = httpx.post(url + "/v1/judge", json=body).json()
        [said] = judging["responses"]["200"]["content"].values()
        jsonschema.validate(answer, resolved(description, said["schema"]))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate("text", resolved(description, content["schema"]))


def test_a_client_that_is_made_of_the_description_judges_a_document(service):
    """What a generator does: a function for each operation, by its name, parameters and body."""
    url = service().url
    description = httpx.get(url + "/openapi.json").json()

    def call(operation_id, body=None, **parameters):
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                if operation.get("operationId") == operation_id:
                    query = {}
                    for parameter in operation.get("parameters", []):
                        if parameter["name"] in parameters:
                            value = parameters[parameter["name"]]
                            if parameter["in"] == "path":
                                path = path.replace("{" + parameter["name"] + "}", str(value))
                            else:
                                query[parameter["name"]] = json.dumps(value)
                    response = httpx.request(method, url + path, params=query, json=body)
                    assert str(response.status_code) in operation["responses"], response
                    return response.json()
        raise AssertionError(operation_id)

    assert call("judge", {"id": 1, "text": LONG}, dry=True)["verdict"] == "unique"
    assert call("judge", {"id": 1, "text": LONG})["verdict"] == "unique"
    assert call("judge", [{"id": 2, "text": LONG}], dry=False)[0]["match"]["id"] == "1"
    assert call("lookup", {"id": 3, "text": LONG}, limit=1)["nearest"][0]["id"] == "1"
    assert call("document", id=1)["verdict"] == "unique"


def test_the_token_is_asked_for_as_the_standards_say(service):
    url = service(token="a secret").url
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert httpx.get(url + "/v1/stats", headers={"Authorization": f"{scheme} a secret"}).status_code == 200
    refused = httpx.get(url + "/v1/stats", headers={"Authorization": "Bearer wrong"})
    assert refused.status_code == 401 and refused.headers["WWW-Authenticate"].startswith("Bearer")
    with Client(url, token="a secret") as client:
        assert client.stats()["documents"] == 0
    with Client(url) as client, pytest.raises(ServiceError, match="send the service's token") as error:
        client.stats()
    assert error.value.status == 401


def test_dry_is_a_boolean_and_metrics_have_two_formats(service):
    url = service().url
    for dry in ("true", "1", "True"):
        assert httpx.post(url + "/v1/judge", params={"dry": dry}, json={"id": 1, "text": "x"}).json()["verdict"] == "unique"
    wrong = httpx.post(url + "/v1/judge", params={"dry": "yes"}, json={"id": 1, "text": "x"})
    assert wrong.status_code == 400 and "neither true nor false" in wrong.json()["error"]
    assert httpx.get(url + "/v1/stats").json()["documents"] == 0
    plain = httpx.get(url + "/metrics", headers={"Accept": "text/plain"})
    assert plain.headers["Content-Type"].startswith("text/plain") and "# TYPE pagesieve_http_requests_total counter" in plain.text
    assert "# EOF" not in plain.text and "# UNIT" not in plain.text
    opened = httpx.get(url + "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"})
    assert opened.headers["Content-Type"].startswith("application/openmetrics-text") and opened.text.endswith("# EOF\n")


def test_bodies_may_be_compressed(service):
    url = service("--max-body", "64 KiB").url
    body = json.dumps({"id": 1, "text": LONG}).encode()
    coded = {"gzip": gzip.compress(body)}
    try:
        from compression import zstd
        coded["zstd"] = zstd.compress(body)
    except ImportError:
        pass
    for coding, bytes in coded.items():
        answer = httpx.post(url + "/v1/judge?dry=1", content=bytes, headers={"Content-Encoding": coding})
        assert answer.json()["verdict"] == "unique", answer.text
    refused = httpx.post(url + "/v1/judge", content=body, headers={"Content-Encoding": "br"})
    assert refused.status_code == 415 and "gzip or zstd" in refused.json()["error"]
    bomb = gzip.compress(b" " * 10_000_000)
    assert httpx.post(url + "/v1/judge", content=bomb, headers={"Content-Encoding": "gzip"}).status_code == 413
    broken = httpx.post(url + "/v1/judge", content=b"no gzip", headers={"Content-Encoding": "gzip"})
    assert broken.status_code == 400 and broken.json()["error"]


def test_an_id_can_be_left_out_if_there_is_a_url(service):
    url = service().url
    with Client(url) as client:
        assert client.judge(LONG, url="http://a.test/?utm_source=x")["id"] == "http://a.test/?utm_source=x"
        assert client.get("http://a.test/")["verdict"] == "unique"
        assert client.judge(LONG, id=5, url="http://a.test/")["match"]["id"] == "http://a.test/?utm_source=x"
        with pytest.raises(ServiceError, match="`id` and `url` are both missing: give one of them"):
            client.judge(LONG)


def test_one_file_has_one_identity_for_all(service, tmp_path):
    path = tmp_path / "seen0.db"
    with Filter(path) as seen:
        seen.judge(LONG, id=7)
        seen.judge("Another text.", id="seven")
        seen.judge("A text without a name.")
    with Client(service().url) as client:
        assert client.get(7)["id"] == "7" and client.get("seven")["id"] == "seven" and client.get("#2")["id"] == "#2"
        assert client.judge(LONG, id=7)["verdict"] == "unchanged"
        assert client.judge(LONG, id="7")["match"]["id"] == "7"
        assert client.remove("#2") and client.get("#2") is None and not client.remove("none")


def test_a_client_that_only_writes_gets_an_answer(service):
    """As httpx does: it sends all of the body, and then reads."""
    url = service("--max-body", "256 KiB", "--queue", "8192").url

    def lines(first, count):
        documents = ({"id": number, "text": "a few words", "more": "x" * 600} for number in range(first, first + count))
        return "".join(json.dumps(document) + "\n" for document in documents).encode()

    few = httpx.post(url + "/v1/judge.ndjson", content=(lines(number, 1) for number in range(600)), timeout=60)
    assert few.text.count("verdict") == 600
    count = 100_000
    content = (lines(first, 1000) for first in range(0, count, 1000))
    many = httpx.post(url + "/v1/judge.ndjson", content=content, timeout=60)
    answers = many.text.splitlines()
    last = json.loads(answers[-1])
    assert 600 < len(answers) < count and last["line"] == len(answers), last
    assert "Read answers while you send lines, or send fewer lines at a time" in last["error"]


def test_the_client_judges_as_the_filter_does(service):
    url = service().url
    texts = [{"id": number, "text": f"{LONG} {number % 50} {'quay ' * (number % 3)}"} for number in range(600)]
    expected = [it.verdict for it in Filter().judge_many(texts)]
    with Client(url) as client:
        assert [it["verdict"] for it in client.judge_many(iter(texts), dry=True)] == ["unique"] * 600
        assert [it["verdict"] for it in client.judge_many(iter(texts))] == expected
        assert client.explain(texts[0], texts[1])["decision"]["verdict"] == Filter().explain(texts[0], texts[1])["decision"].verdict
        assert client.lookup(LONG, limit=2)["nearest"]
        with pytest.raises(ServiceError, match="document 1: `text` and `html` are both missing") as error:
            list(client.judge_many([texts[0], {"id": 3}]))
        assert error.value.document == 1
        # The place among all of them, not in what is sent together.
        with pytest.raises(ServiceError, match="document 3:") as error:
            list(client.judge_many([*texts[:3], {"id": 3}], chunk=2))
        assert error.value.document == 3
        with pytest.raises(TypeError, match="document 3: expected a str"):
            list(client.judge_many([*texts[:3], 5], chunk=2))
        again = client.judge(texts[0]["text"], id=0)
        assert again["verdict"] == "unchanged" and again["previous"]["distance"] == 0

    async def asynchronously():
        async with AsyncClient(url) as client:
            decision = await client.judge(LONG, id="async")
            decisions = [it async for it in client.judge_many(islice(texts, 10))]
            return decision, decisions, await client.get("none"), await client.stats(), await client.remove(0)

    decision, decisions, none, stats, removed = asyncio.run(asynchronously())
    assert decision["verdict"] in ("near", "exact") and len(decisions) == 10 and none is None
    assert stats["judged"] > 600 and removed is True


def test_errors_of_the_client_can_be_pickled_and_copied():
    error = pickle.loads(pickle.dumps(copy.copy(ServiceError(422, "no text", 3))))
    assert (type(error), error.status, str(error), error.document) == (ServiceError, 422, "document 3: no text", 3)


def test_many_calls_at_once_wait_for_each_other(service):
    url = service().url

    async def asynchronously():
        # No call waits so long for its turn alone.
        async with AsyncClient(url, timeout=5) as client:
            return await asyncio.gather(*(client.judge(f"text {number}", id=number) for number in range(300)))

    assert len(asyncio.run(asynchronously())) == 300


def test_the_client_takes_what_the_filter_takes(service):
    url = service().url
    with Client(url) as client:
        assert client.check(LONG, id="a")["verdict"] == "unique" and client.stats()["judged"] == 0
        assert [it["id"] for it in client.judge_many([("k", "a"), ["l", "b"], {"id": 3, "text": "c", "time": 1_700_000_000.5}])] == ["k", "l", "3"]
        assert client.explain("One text.", "one text")["decision"]["verdict"] == "exact"
        with pytest.raises(ServiceError, match="document 0: .*`id` and `url` are both missing"):
            list(client.judge_many(["a"]))
        for documents, message in (("a", "use judge"), ({"id": 1}, "use judge")):
            with pytest.raises(TypeError, match=message):
                client.judge_many(documents)
        with pytest.raises(TypeError, match="expected a str, a pair .*; found int"):
            list(client.judge_many([5]))
        for ask in (client.get, client.remove):
            with pytest.raises(TypeError, match="`id` must be a str or an int, not NoneType"):
                ask(None)
        with pytest.raises(TypeError, match="takes no tables"):
            client.judge_many(pytest.importorskip("pyarrow").table({"id": [1], "text": ["a"]}))
        with pytest.raises(ValueError, match="`chunk`: 0 is too small"):
            client.judge_many([], chunk=0)
        for id in ("#1", 2**64, True):
            with pytest.raises(ServiceError, match="`id`"):
                client.judge("a", id=id)

    async def documents():
        for number in range(5):
            yield number, f"text {number}"

    async def asynchronously():
        async with AsyncClient(url) as client:
            checked = await client.check("text 0", id=9)
            return checked, [it async for it in client.judge_many(documents(), chunk=2)]

    checked, decisions = asyncio.run(asynchronously())
    assert checked["verdict"] == "unique" and [it["id"] for it in decisions] == ["0", "1", "2", "3", "4"]


BAD = [
    ({"id": "bad", "text": None}, ServiceError, "`text` and `html` are both missing"),
    (("bad", None), ServiceError, "`text` and `html` are both missing"),
    (5, TypeError, "expected a str, a pair"),
    ({"id": "bad", "text": b"bytes"}, TypeError, "bytes"),
    ({"id": "bad", "text": "\ud800"}, ValueError, "surrogates"),
    ({"id": "", "text": "x"}, ValueError, "an empty id"),
    ({"id": "bad", "text": "x" * 70_000}, ServiceError, "the body is longer than"),
]


def test_a_bad_document_stops_no_others(service):
    url = service("--max-body", "64 KiB").url
    with Client(url) as client:
        for number, (bad, kind, said) in enumerate(BAD):
            documents = [(f"{number}-{place}", f"text {number} {place}") for place in range(20)]
            documents[7] = bad
            names = [f"{number}-{place}" for place in range(20) if place != 7]
            reported = list(client.judge_many(iter(documents), dry=True, chunk=9, on_error="report"))
            assert len(reported) == 20 and type(reported[7]) is kind, reported[7]
            assert str(reported[7]).startswith("document 7: ") and said in str(reported[7])
            assert [it["id"] for it in reported[:7] + reported[8:]] == names
            assert [it["id"] for it in client.judge_many(documents, dry=True, chunk=9, on_error="skip")] == names
            # What came before is kept, and it goes on after the exception.
            judged = client.judge_many(iter(documents), chunk=9)
            assert [next(judged)["id"] for _ in range(7)] == names[:7]
            with pytest.raises(kind, match="document 7: ") as error:
                next(judged)
            assert kind is not ServiceError or error.value.document == 7
            assert client.stats()["judged"] == 19 * number + 7
            assert [it["id"] for it in judged] == names[7:]

    def source():
        yield "a", "text"
        raise KeyError("mine")

    async def asynchronously():
        async def given():
            for document in [("b", "text"), {"id": "c"}, ("d", "text")]:
                yield document
            raise KeyError("mine")

        async with AsyncClient(url) as client:
            found = []
            judged = client.judge_many(given(), on_error="report")
            with pytest.raises(KeyError):
                async for it in judged:
                    found.append(it)
            skipped = [it["id"] async for it in client.judge_many([("b", "text"), 5, ("d", "text")], on_error="skip")]
            return found, skipped

    with Client(url) as client:
        judged = client.judge_many(source(), on_error="skip")
        assert next(judged)["id"] == "a"
        with pytest.raises(KeyError):
            next(judged)
        with pytest.raises(ValueError, match='`on_error`: "x" is unknown; write "raise", "skip" or "report"'):
            client.judge_many([], on_error="x")
    found, skipped = asyncio.run(asynchronously())
    assert found[0]["id"] == "b" and found[1].document == 1 and found[2]["id"] == "d" and skipped == ["b", "d"]


def test_requests_are_as_large_as_the_service_takes(service):
    url = service("--max-batch", "10", "--max-body", "8 KiB").url
    with Client(url) as client:
        texts = [(number, f"text {number}") for number in range(100)]
        assert [it["id"] for it in client.judge_many(texts)] == [str(number) for number in range(100)]
        # Few of these fit into a body.
        texts = [(number, f"{number} " * 1000) for number in range(20)]
        assert len(list(client.judge_many(texts, dry=True))) == 20


def test_a_client_takes_an_address_without_a_scheme(service):
    url = service().url.removeprefix("http://")
    with Client(url) as client:
        assert client.stats()["judged"] == 0
    assert all(name in Client.__doc__ and name in AsyncClient.__doc__ for name in ("url", "token", "timeout", "options"))


def test_what_can_be_judged_can_be_found(service):
    with Client(service().url) as client:
        for id in (".", "..", "...", "a/../b", "%2E", " "):
            client.judge(f"text {id}", id=id)
            assert client.get(id)["id"] == id
            assert client.remove(id) and client.get(id) is None
        for ask in (client.get, client.remove, lambda id: client.judge("text", id=id)):
            with pytest.raises(ValueError, match="an empty id cannot be asked for"):
                ask("")
