"""A client of the service ``pagesieve serve``, for synchronous and asynchronous programs. It needs httpx: ``pip install "pagesieve[client]"``.

>>> from pagesieve import Client                                            # doctest: +SKIP
>>> with Client("http://127.0.0.1:8040", token="secret") as service:        # doctest: +SKIP
...     service.judge("The tide is high.", id="a")["verdict"]
'unique'
"""

from __future__ import annotations

import asyncio
import json
import time as clock
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, overload
from urllib.parse import quote

import httpx

__all__ = ["AsyncClient", "Client", "ServiceError"]

Id = str | int
Document = str | Sequence[Any] | Mapping[str, Any]
Time = int | float | str | datetime

#: The service asks to come back later with these.
BUSY = (429, 503)
#: So often a request is sent that the service has no room for.
ATTEMPTS = 8
#: So many requests of one asynchronous client are under way at once.
CONNECTIONS = 32
#: A request, or a document, that is larger than the service takes.
TOO_LARGE = 413


class ServiceError(Exception):
    """The service has refused a request. Nothing of it was judged.

    ``status`` is the HTTP status, and ``document`` the place of the document that is wrong, if it is about one of several.
    """

    def __init__(self, status: int, message: str, document: int | None = None):
        super().__init__(message if document is None else f"document {document}: {message}")
        self.status = status
        self.document = document

    def __reduce__(self) -> tuple[Any, ...]:
        # Its message names the document already.
        return (_service_error, (self.status, str(self), self.document))


def _service_error(status: int, said: str, document: int | None) -> ServiceError:
    error = ServiceError(status, said)
    error.document = document
    return error


class Request:
    """A request, and what its answer means."""

    def __init__(self, method: str, path: str, *, json: Any = None, content: bytes | None = None, params: Mapping[str, Any] | None = None, missing: Any = None, places: Sequence[int] = ()):
        self.method, self.path, self.json, self.content, self.params, self.missing = method, path, json, content, params, missing
        #: The places of its documents among all.
        self.places = places

    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"method": self.method, "url": self.path}
        if self.json is not None:
            arguments["json"] = self.json
        if self.content is not None:
            arguments["content"], arguments["headers"] = self.content, {"Content-Type": "application/json"}
        if self.params:
            arguments["params"] = self.params
        return arguments

    def answer(self, response: httpx.Response) -> Any:
        if response.status_code == 404 and self.missing is not None:
            return self.missing[0]
        if response.is_success:
            return response.json() if response.content and response.status_code != 204 else True
        try:
            said = response.json()
        except ValueError:
            said = {}
        message = said.get("error") or f"{response.status_code} {response.reason_phrase}"
        document = said.get("document")
        raise ServiceError(response.status_code, message, self.places[document] if self.places and document is not None else document)


def fields(document: Document) -> dict[str, Any]:
    """A document as JSON."""
    if isinstance(document, str):
        document = {"text": document}
    elif isinstance(document, (tuple, list)) and len(document) == 2:
        document = {"id": document[0], "text": document[1]}
    elif not isinstance(document, Mapping):
        forms = 'a str, a pair (id, text), or a dict with "id" or "url" and "text" or "html"'
        raise TypeError(f"expected {forms}; found {type(document).__name__}")
    if isinstance(document.get("html"), (bytes, bytearray)):
        raise TypeError("`html` must be a str here: decode the bytes of the page")
    given = {name: value for name, value in document.items() if value is not None}
    check_id(given.get("id"))
    if isinstance(given.get("time"), datetime):
        if given["time"].tzinfo is None:
            raise ValueError("`time` must have a time zone")
        given["time"] = given["time"].isoformat()
    return given


def check_id(id: Any) -> None:
    if id == "":
        raise ValueError("`id`: an empty id cannot be asked for: choose another, or leave it out and give a `url`")


def dry_run(dry: bool) -> dict[str, str] | None:
    return {"dry": "true"} if dry else None


def judge(document: Document, dry: bool) -> Request:
    return Request("POST", "/v1/judge", json=fields(document), params=dry_run(dry))


@dataclass
class Entry:
    """What was read of the documents of ``judge_many``: a document, or an exception in its place."""

    place: int
    content: bytes = b""
    wrong: Exception | None = None
    #: Whether the exception is raised, and not skipped or reported.
    raises: bool = False


class Judging:
    """The documents of ``judge_many`` on their way to decisions: which are sent next, and what the answer means. Does no I/O."""

    def __init__(self, documents: Any, chunk: int, dry: bool, on_error: Literal["raise", "skip", "report"]):
        if isinstance(documents, (str, bytes, Mapping)):
            raise TypeError("judge_many() takes many documents, and this is one: use judge()")
        if hasattr(documents, "__arrow_c_stream__") or hasattr(documents, "__arrow_c_array__"):
            raise TypeError("a client takes no tables: give dicts, such as table.to_pylist() of PyArrow")
        if chunk < 1:
            raise ValueError(f"`chunk`: {chunk} is too small: write 1 or more")
        if on_error not in ("raise", "skip", "report"):
            raise ValueError(f'`on_error`: "{on_error}" is unknown; write "raise", "skip" or "report"')
        self.chunk, self.dry, self.on_error = chunk, dry, on_error
        #: How many are sent together, and the most that the service has taken.
        self.limit, self.taken = chunk, 0
        self.count = 0
        self.read: deque[Entry] = deque()
        #: Decisions, and exceptions with whether they are raised.
        self.ready: deque[tuple[Any, bool]] = deque()

    def add(self, document: Any) -> None:
        entry = Entry(self.count)
        self.count += 1
        try:
            entry.content = json.dumps(fields(document), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            entry.wrong, entry.raises = kind(f"document {entry.place}: {error}"), self.on_error == "raise"
        self.read.append(entry)

    def fail(self, error: Exception) -> None:
        """The source has raised an exception, which is nobody's document."""
        self.read.append(Entry(self.count, wrong=error, raises=True))

    @property
    def wants_more(self) -> bool:
        return len(self.read) < self.chunk and not (self.read and self.read[-1].raises)

    def run(self) -> list[Entry]:
        """What comes next: as many documents as are sent together, or an exception that is raised."""
        run: list[Entry] = []
        documents = 0
        for entry in self.read:
            if entry.raises:
                return run or [entry]
            documents += entry.wrong is None
            if documents > self.limit:
                break
            run.append(entry)
        return run

    def request(self) -> Request | None:
        """What to send for it, if it has documents."""
        sent = [entry for entry in self.run() if entry.wrong is None]
        if not sent:
            return None
        content = b"[" + b",".join(entry.content for entry in sent) + b"]"
        return Request("POST", "/v1/judge", content=content, params=dry_run(self.dry), places=[entry.place for entry in sent])

    def settle(self, decisions: Sequence[Any]) -> None:
        self.taken = max(self.taken, len(decisions))
        remaining = iter(decisions)
        for entry in self.run():
            self.read.popleft()
            if entry.wrong is None:
                self.ready.append((next(remaining), False))
            elif entry.raises or self.on_error == "report":
                self.ready.append((entry.wrong, entry.raises))

    def refuse(self, error: ServiceError) -> None:
        """Nothing was judged: without the document that is wrong, or in smaller requests, the others are sent again."""
        sent = [entry for entry in self.run() if entry.wrong is None]
        if error.status == TOO_LARGE and len(sent) > 1:
            self.limit = len(sent) // 2
            return
        if error.status == TOO_LARGE:
            # It is this document. How many of the others fit is another matter.
            wrong, self.limit = sent[0], self.taken or self.chunk
            error = ServiceError(error.status, str(error), wrong.place)
        else:
            found = [entry for entry in sent if entry.place == error.document]
            if not found:
                raise error
            wrong = found[0]
        wrong.wrong, wrong.raises = error, self.on_error == "raise"

    def take(self) -> Any:
        item, raises = self.ready.popleft()
        if raises:
            raise item
        return item


class Decisions(Iterator[Any]):
    """The decisions on many documents, in order. Goes on after an exception."""

    def __init__(self, send: Any, documents: Iterable[Document], judging: Judging):
        self._send, self._documents, self._judging = send, iter(documents), judging

    def __next__(self) -> Any:
        judging = self._judging
        while not judging.ready:
            if not judging.read and not self._gather():
                raise StopIteration
            try:
                request = judging.request()
                judging.settle(self._send(request) if request else [])
            except ServiceError as error:
                judging.refuse(error)
        return judging.take()

    def _gather(self) -> bool:
        while self._judging.wants_more:
            try:
                self._judging.add(next(self._documents))
            except StopIteration:
                break
            except Exception as error:
                self._judging.fail(error)
        return bool(self._judging.read)


class AsyncDecisions(AsyncIterator[Any]):
    """The same for asynchronous programs."""

    def __init__(self, send: Any, documents: Iterable[Document] | AsyncIterable[Document], judging: Judging):
        self._send, self._judging = send, judging
        self._documents = aiter(documents) if isinstance(documents, AsyncIterable) else iter(documents)

    async def __anext__(self) -> Any:
        judging = self._judging
        while not judging.ready:
            if not judging.read and not await self._gather():
                raise StopAsyncIteration
            try:
                request = judging.request()
                judging.settle(await self._send(request) if request else [])
            except ServiceError as error:
                judging.refuse(error)
        return judging.take()

    async def _gather(self) -> bool:
        documents = self._documents
        while self._judging.wants_more:
            try:
                self._judging.add(next(documents) if isinstance(documents, Iterator) else await anext(documents))
            except (StopIteration, StopAsyncIteration):
                break
            except Exception as error:
                self._judging.fail(error)
        return bool(self._judging.read)


def one(text: str | None, **more: Any) -> Document:
    return {"text": text, **more}


def explain(a: Document, b: Document) -> Request:
    # The service wants names, which do not matter here.
    return Request("POST", "/v1/explain", json={"a": {"id": "a", **fields(a)}, "b": {"id": "b", **fields(b)}})


def lookup(document: Document, limit: int) -> Request:
    return Request("POST", "/v1/lookup", json=fields(document), params={"limit": limit})


def path_of(id: Id) -> str:
    check_id(id)
    if not isinstance(id, (str, int)):
        raise TypeError(f"`id` must be a str or an int, not {type(id).__name__}")
    name = quote(str(id), safe="")
    # As they are, these two would be steps in the path.
    return f"/v1/documents/{name.replace('.', '%2E') if name in ('.', '..') else name}"


def base(url: str) -> str:
    return url if "://" in url else f"http://{url}"


def pause(response: httpx.Response, attempt: int) -> float | None:
    """How long to wait before the request is sent again; None if that would not help."""
    if response.status_code not in BUSY or attempt + 1 == ATTEMPTS:
        return None
    try:
        return float(response.headers.get("Retry-After", "1"))
    except ValueError:
        return 1.0


def headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


class Client:
    """Asks a service that was started with ``pagesieve serve``.

    url: where it listens, such as "http://127.0.0.1:8040"; without a scheme, "http://" is meant
    token: the token that it was started with, if any
    timeout: how many seconds to wait for a connection and for each part of an answer
    options: what else ``httpx.Client`` takes, such as ``verify`` or ``proxy``

    A request that the service has no room for is sent again. What it refuses is a ``ServiceError``; what is wrong with the connection is an
    exception of httpx, and such a request may have been judged.
    """

    def __init__(self, url: str = "http://127.0.0.1:8040", *, token: str | None = None, timeout: float = 30.0, **options: Any):
        self._http = httpx.Client(base_url=base(url), headers=headers(token), timeout=timeout, **options)

    def _send(self, request: Request) -> Any:
        for attempt in range(ATTEMPTS):
            response = self._http.request(**request.arguments())
            wait = pause(response, attempt)
            if wait is None:
                break
            clock.sleep(wait)
        return request.answer(response)

    def judge(
        self,
        text: str | None = None,
        *,
        id: Id | None = None,
        html: str | None = None,
        url: str | None = None,
        time: Time | None = None,
        dry: bool = False,
    ) -> dict[str, Any]:
        """The decision on a document; durable when this returns. ``dry``: only how it would be judged."""
        return self._send(judge(one(text, id=id, html=html, url=url, time=time), dry))

    def check(
        self,
        text: str | None = None,
        *,
        id: Id | None = None,
        html: str | None = None,
        url: str | None = None,
        time: Time | None = None,
    ) -> dict[str, Any]:
        """How a document would be judged. Nothing is remembered."""
        return self.judge(text, id=id, html=html, url=url, time=time, dry=True)

    @overload
    def judge_many(
        self, documents: Iterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["raise", "skip"] = "raise"
    ) -> Iterator[dict[str, Any]]: ...
    @overload
    def judge_many(
        self, documents: Iterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["report"]
    ) -> Iterator[dict[str, Any] | Exception]: ...
    def judge_many(
        self, documents: Iterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["raise", "skip", "report"] = "raise"
    ) -> Iterator[Any]:
        """The decisions on many documents, in order: an iterator, which reads and sends some at a time.

        documents: pairs ``(id, text)`` or dicts with ``id`` or ``url`` and ``text`` or ``html``, from an iterable
        dry: only say how they would be judged
        chunk: how many documents are sent together; fewer if the service takes no more
        on_error: what is done with a document that cannot be read: "raise" an exception, "skip" it, or "report": give the exception in its
            place. Other errors are always raised. Decisions before an exception are returned first, and the iterator goes on after it.
        """
        return Decisions(self._send, documents, Judging(documents, chunk, dry, on_error))

    def explain(self, a: Document, b: Document) -> dict[str, Any]:
        """How the second of two documents would be judged after the first."""
        return self._send(explain(a, b))

    def lookup(self, text: str | None = None, *, id: Id = "?", html: str | None = None, url: str | None = None, limit: int = 10) -> dict[str, Any]:
        """The documents of the window that are nearest to one."""
        return self._send(lookup(one(text, id=id, html=html, url=url), limit))

    def get(self, id: Id) -> dict[str, Any] | None:
        """The decision on a document of the window, by its id or URL."""
        return self._send(Request("GET", path_of(id), missing=(None,)))

    def remove(self, id: Id) -> bool:
        """Removes a document: from now on nothing repeats it. Returns whether it was there."""
        return self._send(Request("DELETE", path_of(id), missing=(False,)))

    def stats(self) -> dict[str, Any]:
        """What the service holds."""
        return self._send(Request("GET", "/v1/stats"))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class AsyncClient:
    """Asks a service that was started with ``pagesieve serve``, for asynchronous programs.

    url: where it listens, such as "http://127.0.0.1:8040"; without a scheme, "http://" is meant
    token: the token that it was started with, if any
    timeout: how many seconds to wait for a connection and for each part of an answer
    options: what else ``httpx.AsyncClient`` takes, such as ``verify`` or ``proxy``

    A request that the service has no room for is sent again. What it refuses is a ``ServiceError``; what is wrong with the connection is an
    exception of httpx, and such a request may have been judged.
    """

    def __init__(self, url: str = "http://127.0.0.1:8040", *, token: str | None = None, timeout: float = 30.0, **options: Any):
        # Of many requests at once, most wait for a connection, however long that takes.
        options = {"timeout": httpx.Timeout(timeout, pool=None), "limits": httpx.Limits(max_connections=CONNECTIONS), **options}
        self._http = httpx.AsyncClient(base_url=base(url), headers=headers(token), **options)

    async def _send(self, request: Request) -> Any:
        for attempt in range(ATTEMPTS):
            response = await self._http.request(**request.arguments())
            wait = pause(response, attempt)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return request.answer(response)

    async def judge(
        self,
        text: str | None = None,
        *,
        id: Id | None = None,
        html: str | None = None,
        url: str | None = None,
        time: Time | None = None,
        dry: bool = False,
    ) -> dict[str, Any]:
        """The decision on a document; durable when this returns. ``dry``: only how it would be judged."""
        return await self._send(judge(one(text, id=id, html=html, url=url, time=time), dry))

    async def check(
        self,
        text: str | None = None,
        *,
        id: Id | None = None,
        html: str | None = None,
        url: str | None = None,
        time: Time | None = None,
    ) -> dict[str, Any]:
        """How a document would be judged. Nothing is remembered."""
        return await self.judge(text, id=id, html=html, url=url, time=time, dry=True)

    @overload
    def judge_many(
        self, documents: Iterable[Document] | AsyncIterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["raise", "skip"] = "raise"
    ) -> AsyncIterator[dict[str, Any]]: ...
    @overload
    def judge_many(
        self, documents: Iterable[Document] | AsyncIterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["report"]
    ) -> AsyncIterator[dict[str, Any] | Exception]: ...
    def judge_many(
        self, documents: Iterable[Document] | AsyncIterable[Document], *, dry: bool = False, chunk: int = 256, on_error: Literal["raise", "skip", "report"] = "raise"
    ) -> AsyncIterator[Any]:
        """The decisions on many documents, in order: an iterator, which reads and sends some at a time.

        documents: pairs ``(id, text)`` or dicts with ``id`` or ``url`` and ``text`` or ``html``, from an iterable, also an asynchronous one
        dry: only say how they would be judged
        chunk: how many documents are sent together; fewer if the service takes no more
        on_error: what is done with a document that cannot be read: "raise" an exception, "skip" it, or "report": give the exception in its
            place. Other errors are always raised. Decisions before an exception are returned first, and the iterator goes on after it.
        """
        return AsyncDecisions(self._send, documents, Judging(documents, chunk, dry, on_error))

    async def explain(self, a: Document, b: Document) -> dict[str, Any]:
        """How the second of two documents would be judged after the first."""
        return await self._send(explain(a, b))

    async def lookup(self, text: str | None = None, *, id: Id = "?", html: str | None = None, url: str | None = None, limit: int = 10) -> dict[str, Any]:
        """The documents of the window that are nearest to one."""
        return await self._send(lookup(one(text, id=id, html=html, url=url), limit))

    async def get(self, id: Id) -> dict[str, Any] | None:
        """The decision on a document of the window, by its id or URL."""
        return await self._send(Request("GET", path_of(id), missing=(None,)))

    async def remove(self, id: Id) -> bool:
        """Removes a document: from now on nothing repeats it. Returns whether it was there."""
        return await self._send(Request("DELETE", path_of(id), missing=(False,)))

    async def stats(self) -> dict[str, Any]:
        """What the service holds."""
        return await self._send(Request("GET", "/v1/stats"))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()
