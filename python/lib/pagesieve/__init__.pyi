from collections.abc import Iterable, Iterator
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Protocol, TypedDict, final, overload

from typing_extensions import Unpack

from .batch import clusters as clusters
from .client import AsyncClient as AsyncClient
from .client import Client as Client
from .client import ServiceError as ServiceError

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "Decisions",
    "Filter",
    "ServiceError",
    "StateError",
    "__version__",
    "clusters",
    "extract",
    "fingerprint",
]

__version__: str

_Id = str | int
_Html = str | bytes | bytearray
_Time = int | float | str | datetime

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...

class _Dataset(Protocol):
    def scanner(self, *arguments: Any, **more: Any) -> Any: ...

class _LazyFrame(Protocol):
    def collect_batches(self) -> Any: ...
    def collect_schema(self) -> Any: ...

class _Window(TypedDict, total=False):
    entries: int
    age: str
    future: bool

class _Options(TypedDict, total=False):
    mode: Literal["balanced", "classic", "strict"]
    similarity: float | None
    radius: int | None
    seed: Literal["public", "secret"] | int
    segment: Literal["jieba", "ngrams"]
    fold_chinese: bool
    min_features: int
    article: bool
    memory: str | int
    audit: int
    window: _Window

class _Fingerprint(TypedDict):
    fingerprint: str | None
    signature: str | None

class _Held(TypedDict):
    id: _Id
    time: int
    fingerprint: str | None
    signature: str | None

class _Extracted(TypedDict):
    url: str | None
    title: str | None
    text: str
    links: list[str]
    lang: str | None
    charset: str
    truncated: str | None

class _Explanation(TypedDict):
    decision: Decision
    rule: str
    distance: int
    signature_distance: int
    similarity: float
    more_in_a: list[tuple[str, int, int]]
    more_in_b: list[tuple[str, int, int]]

_Document = str | tuple[_Id | None, str] | list[Any] | dict[str, Any]
_Documents = Iterable[_Document | _ArrowStream | _ArrowArray] | _ArrowStream | _ArrowArray | _Dataset | _LazyFrame

class StateError(Exception):
    """The file of a filter cannot be read or written."""

@final
class Decision:
    """A decision about a document, with the fields of a line that ``pagesieve filter`` prints."""

    @property
    def id(self) -> _Id: ...
    @property
    def url(self) -> str | None: ...
    @property
    def verdict(self) -> Literal["unique", "exact", "near", "unchanged", "changed"]: ...
    @property
    def is_unique(self) -> bool: ...
    @property
    def match(self) -> _Id | None: ...
    @property
    def kind(self) -> Literal["exact", "near"] | None: ...
    @property
    def step(self) -> Literal["body", "text", "near"] | None: ...
    @property
    def distance(self) -> int | None: ...
    @property
    def signature_distance(self) -> int | None: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def fingerprint(self) -> str | None: ...
    @property
    def chars(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def lang(self) -> str | None: ...
    @property
    def thin(self) -> bool: ...
    @property
    def truncated(self) -> str | None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def keys(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __copy__(self) -> Decision: ...
    def __deepcopy__(self, _memo: object) -> Decision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Decisions(Iterator[Decision]):
    """The decisions about many documents, in order."""

    def __iter__(self) -> Decisions: ...
    def __next__(self) -> Decision: ...

@final
class _Batch:
    def __enter__(self) -> Filter: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class Filter:
    """Judges documents in order of arrival, and remembers the unique ones of the window."""

    def __new__(
        cls, path: str | PathLike[str] | None = None, **options: Unpack[_Options]
    ) -> Filter: ...
    def judge(
        self,
        text: str | None = None,
        *,
        id: _Id | None = None,
        html: _Html | None = None,
        url: str | None = None,
        time: _Time | None = None,
        content_type: str | None = None,
    ) -> Decision: ...
    def check(
        self,
        text: str | None = None,
        *,
        id: _Id | None = None,
        html: _Html | None = None,
        url: str | None = None,
        time: _Time | None = None,
        content_type: str | None = None,
    ) -> Decision: ...
    @overload
    def judge_many(
        self,
        documents: _Documents,
        *,
        text: str | None = None,
        html: str | None = None,
        id: str | None = None,
        url: str | None = None,
        time: str | None = None,
        content_type: str | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        as_table: Literal[False] = False,
        chunk: int = 1024,
    ) -> Decisions: ...
    @overload
    def judge_many(
        self,
        documents: _Documents,
        *,
        text: str | None = None,
        html: str | None = None,
        id: str | None = None,
        url: str | None = None,
        time: str | None = None,
        content_type: str | None = None,
        on_error: Literal["report"],
        as_table: Literal[False] = False,
        chunk: int = 1024,
    ) -> Iterator[Decision | Exception]: ...
    @overload
    def judge_many(
        self,
        documents: _Documents,
        *,
        text: str | None = None,
        html: str | None = None,
        id: str | None = None,
        url: str | None = None,
        time: str | None = None,
        content_type: str | None = None,
        on_error: Literal["raise", "skip", "report"] = "raise",
        as_table: Literal[True],
        chunk: int = 1024,
    ) -> Any: ...
    def _judge_rows(
        self,
        documents: _Documents,
        *,
        text: str | None = None,
        html: str | None = None,
        url: str | None = None,
        content_type: str | None = None,
        on_error: Literal["raise", "skip", "report"] = "raise",
    ) -> Iterator[Decision | Exception]: ...
    def explain(self, a: _Document, b: _Document) -> _Explanation: ...
    def fingerprint(self, text: str) -> _Fingerprint: ...
    def remove(self, id: _Id) -> bool: ...
    def get(self, id: _Id) -> _Held | None: ...
    def batch(self) -> _Batch: ...
    def stats(self) -> dict[Literal["judged", "unique", "exact", "near", "unchanged", "window"], int]: ...
    def close(self) -> None: ...
    def __contains__(self, id: _Id, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __bool__(self, /) -> bool: ...
    def __enter__(self) -> Filter: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

def fingerprint(text: str, **options: Unpack[_Options]) -> _Fingerprint: ...
def extract(
    html: _Html, *, url: str | None = None, content_type: str | None = None
) -> _Extracted: ...
