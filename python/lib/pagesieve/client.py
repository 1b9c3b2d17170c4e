"""A client of the service ``pagesieve serve``, for synchronous and asynchronous programs. It needs httpx: ``pip install "pagesieve[client]"``.

>>> from pagesieve import Client                                            # doctest: +SKIP
>>> with Client("http://127.0.0.1:8040", token="secret") as service:        # doctest: +SKIP
...     service.judge("The tide is high.", id="a")["verdict"]
'unique'
"""

from __future__ import annotations

import asyncio
import time as clock
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any
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


class ServiceError(Exception):
    """The service has refused a request. Nothing of it was judged.

    ``status`` is the HTTP status, and ``document`` the place of the document that is wrong, if it is about one of several.
    """

    def __init__(self, status: int, message: str, document: int | None = None):
        super().__init__(message if document is None else f"document {document}: {message}")
        self.status = status
        self.document = document


class Request:
    """A request, and what its answer means."""

    def __init__(self, method: str, path: str, *, json: Any = None, params: Mapping[str, Any] | None = None, missing: Any = None, first: int = 0):
        self.method, self.path, self.json, self.params, self.missing = method, path, json, params, missing
        #: The place of its first document among all.
        self.first = first

    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"method": self.method, "url": self.path}
        if self.json is not None:
            arguments["json"] = self.json
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
        raise ServiceError(response.status_code, message, None if document is None else self.first + document)


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
    if isinstance(given.get("time"), datetime):
        if given["time"].tzinfo is None:
            raise ValueError("`time` must have a time zone")
        given["time"] = given["time"].isoformat()
    return given


def judge(document: Document, dry: bool) -> Request:
    return Request("POST", "/v1/judge", json=fields(document), params={"dry": "true"} if dry else None)


def judge_all(documents: list[Document], first: int, dry: bool) -> Request:
    given = []
    for place, document in enumerate(documents, first):
        try:
            given.append(fields(document))
        except (TypeError, ValueError) as error:
            raise type(error)(f"document {place}: {error}") from None
    return Request("POST", "/v1/judge", json=given, params={"dry": "true"} if dry else None, first=first)


def check_many(documents: Any, chunk: int) -> None:
    """Refuses what is not many documents."""
    if isinstance(documents, (str, bytes, Mapping)):
        raise TypeError("judge_many() takes many documents, and this is one: use judge()")
    if hasattr(documents, "__arrow_c_stream__") or hasattr(documents, "__arrow_c_array__"):
        raise TypeError("a client takes no tables: give dicts, such as table.to_pylist() of PyArrow")
    if chunk < 1:
        raise ValueError(f"`chunk`: {chunk} is too small: write 1 or more")


def requests(documents: Iterable[Document], chunk: int, dry: bool) -> Iterator[Request]:
    remaining, first = iter(documents), 0
    while some := list(islice(remaining, chunk)):
        yield judge_all(some, first, dry)
        first += len(some)


async def requests_async(documents: Iterable[Document] | AsyncIterable[Document], chunk: int, dry: bool) -> AsyncIterator[Request]:
    if not isinstance(documents, AsyncIterable):
        for request in requests(documents, chunk, dry):
            yield request
        return
    some, first = [], 0
    async for document in documents:
        some.append(document)
        if len(some) == chunk:
            yield judge_all(some, first, dry)
            some, first = [], first + chunk
    if some:
        yield judge_all(some, first, dry)


def one(text: str | None, **more: Any) -> Document:
    return {"text": text, **more}


def explain(a: Document, b: Document) -> Request:
    # The service wants names, which do not matter here.
    return Request("POST", "/v1/explain", json={"a": {"id": "a", **fields(a)}, "b": {"id": "b", **fields(b)}})


def lookup(document: Document, limit: int) -> Request:
    return Request("POST", "/v1/lookup", json=fields(document), params={"limit": limit})


def path_of(id: Id) -> str:
    return f"/v1/documents/{quote(str(id), safe='')}"


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
    """Asks a service. ``options`` are those of ``httpx.Client``. A request that the service has no room for is sent again."""

    def __init__(self, url: str = "http://127.0.0.1:8040", *, token: str | None = None, timeout: float = 30.0, **options: Any):
        self._http = httpx.Client(base_url=url, headers=headers(token), timeout=timeout, **options)

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

    def judge_many(self, documents: Iterable[Document], *, dry: bool = False, chunk: int = 256) -> Iterator[dict[str, Any]]:
        """The decisions on many documents, pairs ``(id, text)`` or dicts with ``id`` or ``url`` and ``text`` or ``html``, in order. Reads some at a time."""
        check_many(documents, chunk)
        return (decision for request in requests(documents, chunk, dry) for decision in self._send(request))

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
    """The same for asynchronous programs. ``options`` are those of ``httpx.AsyncClient``."""

    def __init__(self, url: str = "http://127.0.0.1:8040", *, token: str | None = None, timeout: float = 30.0, **options: Any):
        self._http = httpx.AsyncClient(base_url=url, headers=headers(token), timeout=timeout, **options)

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

    def judge_many(
        self, documents: Iterable[Document] | AsyncIterable[Document], *, dry: bool = False, chunk: int = 256
    ) -> AsyncIterator[dict[str, Any]]:
        """The decisions on many documents, pairs ``(id, text)`` or dicts with ``id`` or ``url`` and ``text`` or ``html``, in order. Reads some at a time."""
        check_many(documents, chunk)

        async def decisions() -> AsyncIterator[dict[str, Any]]:
            async for request in requests_async(documents, chunk, dry):
                for decision in await self._send(request):
                    yield decision

        return decisions()

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
