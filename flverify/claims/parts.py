"""Claims of several parts, some of which the print leaves open to readings.

The judge combines the verdicts; this keeps what it drops, the readings of the parts
and the reason of every part that is refuted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flverify.claims import judge
from flverify.claims.verdict import Finding


def together(parts: Mapping[str, Finding]) -> Finding:
    """Judge all parts by `judge.all_of`, and show the readings of each.

    Parameters
    ----------
    parts : mapping of name to Finding

    Examples
    --------
    >>> one = judge.identity([("one", 1, 1)], "a number")
    >>> other = judge.identity([("two", 1, 2)], "a number")
    >>> found = together({"sum": one, "note": judge.readings({"a": one, "b": other})})
    >>> list(found.readings), found.reason
    (['note: a', 'note: b'], 'note: depends on the reading: a: PROVED, b: REFUTED')
    >>> together({"left": other, "right": other}).reason
    'left: two: 1 is not 2; right: two: 1 is not 2'
    """
    found = judge.all_of(parts)
    named = {
        f"{part}: {name}": reading
        for part, finding in parts.items()
        for name, reading in finding.readings.items()
    }
    alike = [f"{n}: {p.reason}" for n, p in parts.items() if p.verdict == found.verdict]
    reason = found.reason if found.passes() else "; ".join(alike)
    return replace(found, reason=reason, readings=named)
