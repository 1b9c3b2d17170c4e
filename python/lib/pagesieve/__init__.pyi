from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Protocol, TypedDict, final

from typing_extensions import Unpack

__all__ = ["Decision", "Decisions", "Filter", "StateError", "__version__", "extract", "fingerprint"]

__version__: str

_Id = str | int

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Window(TypedDict, total=False):
    entries: int
    age: str

class _Options(TypedDict, total=False):
    mode: Literal["balanced", "classic", "strict"]
    radius: int | None
    seed: Literal["public", "secret"] | int
    segment: Literal["jieba", "ngrams"]
    fold_chinese: bool
    min_features: int
    templates: bool
    article: bool
    memory: str | int
    audit: int
    window: _Window

class _Fingerprint(TypedDict):
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

_Document = str | tuple[_Id, str] | Mapping[str, Any]

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
    def verdict(self) -> Literal["unique", "exact", "near"]: ...
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

@final
class Decisions(Iterator[Decision]):
    """The decisions about many documents, in order."""

    def __iter__(self) -> Decisions: ...
    def __next__(self) -> Decision: ...

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
        html: str | bytes | None = None,
        url: str | None = None,
        time: int | str | datetime | None = None,
        content_type: str | None = None,
    ) -> Decision: ...
    def judge_many(
        self, documents: Iterable[_Document] | _ArrowStream, *, chunk: int = 1024
    ) -> Decisions: ...
    def explain(self, a: _Document, b: _Document) -> _Explanation: ...
    def fingerprint(self, text: str) -> _Fingerprint: ...
    def remove(self, id: _Id) -> bool: ...
    def stats(self) -> dict[Literal["judged", "unique", "exact", "near", "window"], int]: ...
    def close(self) -> None: ...
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
    html: str | bytes, *, url: str | None = None, content_type: str | None = None
) -> _Extracted: ...
