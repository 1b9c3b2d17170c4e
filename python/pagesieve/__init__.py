"""A streaming near-duplicate filter for texts and web pages.

>>> import pagesieve
>>> seen = pagesieve.Filter()
>>> seen.judge("The tide is high.", id="a").verdict
'unique'
>>> seen.judge("the TIDE is high!", id="b").match
'a'
"""

from ._pagesieve import (
    Decision,
    Decisions,
    Filter,
    StateError,
    __version__,
    extract,
    fingerprint,
)

__all__ = ["Decision", "Decisions", "Filter", "StateError", "__version__", "extract", "fingerprint"]
