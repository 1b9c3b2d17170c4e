"""A streaming near-duplicate filter for texts and web pages.

>>> import pagesieve
>>> seen = pagesieve.Filter()
>>> seen.judge("The tide is high.", id="a").verdict
'unique'
>>> seen.judge("the TIDE is high!", id="b").match
'a'
"""

from typing import Any

from ._pagesieve import (
    Decision,
    Decisions,
    Filter,
    StateError,
    __version__,
    extract,
    fingerprint,
)
from .batch import clusters

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


def __getattr__(name: str) -> Any:
    # They need httpx, which is an extra.
    if name in ("AsyncClient", "Client", "ServiceError"):
        try:
            from . import client
        except ModuleNotFoundError as error:
            message = f'pagesieve.{name} needs httpx: pip install "pagesieve[client]"'
            raise ImportError(message) from error
        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
