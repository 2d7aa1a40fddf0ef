"""Which claims the default tests judge: a function of their ids and of their strata.

Ids are ranked by a digest of their text, so that neither the hash seed nor the order
of the files matters, and a new claim changes nobody else's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

SHARE = 4  # one id in four, before strata that would stay empty get one each


def rank(key: str) -> int:
    """Place of an id among all that could be."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big")


def drawn(keys: Iterable[str], one_in: int) -> list[str]:
    """Return about one id in so many, whatever the other ids are."""
    return [key for key in keys if rank(key) % one_in == 0]


def stratified(rows: Iterable[tuple[str, ...]], one_in: int = SHARE) -> list[str]:
    """Return a sample of ids in which no stratum is empty.

    Parameters
    ----------
    rows : iterable of (id, stratum, ...)
        An id may be in several strata, such as its file and its verdict.
    one_in : int
        The share that is drawn before empty strata are filled.

    Examples
    --------
    >>> stratified([("a", "file one"), ("b", "file one"), ("c", "file two")], 10**9)
    ['b', 'c']
    """
    rows = sorted(rows, key=lambda row: rank(row[0]))
    chosen = set(drawn((row[0] for row in rows), one_in))
    seen = {stratum for key, *strata in rows if key in chosen for stratum in strata}
    for key, *strata in rows:
        if not seen.issuperset(strata):
            chosen.add(key)
            seen.update(strata)
    return sorted(chosen)
