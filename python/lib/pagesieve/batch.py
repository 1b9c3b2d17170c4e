"""A corpus at rest: which documents are the same, and which of them to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pagesieve import Filter

Keep = Literal["first", "longest"] | Callable[[Sequence[int]], int]


@dataclass(frozen=True)
class Cluster:
    """Documents that are the same, by the numbers of their rows, from 0."""

    #: The one to keep.
    kept: int
    #: All of them, in order.
    members: tuple[int, ...]


@dataclass(frozen=True)
class Clusters:
    """Which documents of a corpus are the same. Iterating gives the clusters of more than one document."""

    #: For each row the one that is kept of its cluster, which may be itself; None if the row could not be read.
    kept_of: list[int | None]
    #: The rows of each cluster of more than one document.
    clusters: list[Cluster]

    @property
    def mask(self) -> list[bool]:
        """For each row whether it is kept: ``table.filter(found.mask)``."""
        return [kept == row for row, kept in enumerate(self.kept_of)]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)


def clusters(
    documents: Any,
    keep: Keep = "first",
    *,
    text: str | None = None,
    html: str | None = None,
    url: str | None = None,
    content_type: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    **options: Any,
) -> Clusters:
    """Finds the documents of a corpus that are the same, by the judgement of :class:`Filter`.

    ``documents`` is all that ``judge_many`` takes, and ``text``, ``html``, ``url`` and ``content_type`` name columns as there; each row is
    a document of its own, whatever its id. ``keep`` says which of a cluster to keep: the first, the longest (by the characters of its text), or
    what a function returns that gets the rows of the cluster. With ``on_error="skip"``, a document that
    cannot be read is in no cluster and is not kept. ``options`` are those of :class:`Filter`; the window holds all.

    >>> import pagesieve
    >>> found = pagesieve.clusters(["One text.", "Another.", "one text", "ONE TEXT!"], keep=max)
    >>> found.mask, [cluster.members for cluster in found]
    ([False, True, False, True], [(0, 2, 3)])
    """
    if keep not in ("first", "longest") and not callable(keep):
        raise ValueError(f'`keep`: {keep!r} is unknown; write "first", "longest" or a function')
    if on_error not in ("raise", "skip"):
        raise ValueError(f'`on_error`: {on_error!r} is unknown; write "raise" or "skip"')
    options["window"] = {"age": "unlimited", **options.get("window", {})}
    names = {"text": text, "html": html, "url": url, "content_type": content_type}
    first_of: list[int | None] = []
    lengths: list[int] = []
    members: dict[int, list[int]] = {}
    with Filter(**options) as seen:
        for row, decision in enumerate(seen._judge_rows(documents, on_error="report" if on_error == "skip" else "raise", **names)):
            if isinstance(decision, Exception):
                first_of.append(None)
                lengths.append(0)
                continue
            # Ids are rows here.
            first = decision.match if isinstance(decision.match, int) else row
            first_of.append(first)
            lengths.append(decision.chars)
            members.setdefault(first, []).append(row)
    choose: Callable[[Sequence[int]], int]
    if keep == "first":
        choose = min
    elif keep == "longest":
        choose = lambda rows: max(rows, key=lambda row: (lengths[row], -row))  # noqa: E731
    else:
        choose = keep
    kept: dict[int, int] = {}
    for first, rows in members.items():
        kept[first] = chosen = rows[0] if len(rows) == 1 else choose(tuple(rows))
        if chosen not in rows:
            raise ValueError(f"`keep` has returned {chosen!r}, which is none of the rows {rows}")
    found = [Cluster(kept[first], tuple(rows)) for first, rows in members.items() if len(rows) > 1]
    return Clusters([None if first is None else kept[first] for first in first_of], found)
