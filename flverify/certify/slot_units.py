"""In which units the slots of a round are: of x, of a gradient, or of another power.

With f = L f' and eta = eta'/L the method does the same, x = x', and a gradient is L
times as large. A slot s is L^u s' then, and u is its unit: 0 for a model, 1 for a
gradient that is kept. A coefficient that takes b to a is L^(u_a - u_b) times as large,
so that the units are found by comparing the two rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from flverify._core.errors import RefusedError
from flverify.certify.forms import Form, Reading
from flverify.engines.forms import ClientForm, Symbol

POWERS = range(-4, 5)
Link = tuple[Symbol, Symbol, Fraction, Fraction]  # to, from, and the coefficients
POINT: Symbol = ("point", None)

UNLIKE = (
    "a round must not depend on the unit of f but by its step size, of weight x^2/f, "
    "and by what curvature_settings names, of weight f/x^2; got one that does; name "
    "such settings there, or ask with smoothness 1."
)


def slot_units(
    reading: Reading, scaled: Reading, smoothness: Fraction
) -> dict[str, int]:
    """Find the unit of every slot that the model or a gradient has to do with.

    Parameters
    ----------
    reading, scaled : Reading
        Of a method, and of the same at smoothness 1.
    smoothness : Fraction
        L.

    Raises
    ------
    RefusedError
        If the two do not do the same in other units.

    Examples
    --------
    >>> from flverify.algorithms import Scaffold
    >>> from flverify.certify.classes import classes
    >>> from flverify.certify.forms import read
    >>> from flverify.participation import UniformCohort
    >>> one, own, L = classes(UniformCohort(3, 1)), Scaffold("1/8"), Fraction(4)
    >>> slot_units(read(own, one), read(own.rescaled(1 / L), one), L)
    {'model': 0, 'control': 1, 'controls': 1}
    """
    if smoothness == 1:
        return {}
    links = [
        (to, start, _power(old, new, smoothness))
        for to, start, old, new in _links(reading, scaled)
    ]
    known: dict[Symbol, int] = {POINT: 0, ("slot", "model"): 0, ("gradient", None): 1}
    while True:
        found = dict(known)
        for to, start, power in links:
            if start in found:
                found.setdefault(to, found[start] + power)
            if to in found:
                found.setdefault(start, found[to] - power)
        if found == known:
            break
        known = found
    if any(
        known[to] - known[start] != power for to, start, power in links if to in known
    ):
        raise RefusedError(UNLIKE)
    return {name: unit for (kind, name), unit in known.items() if kind == "slot"}


def _power(value: Fraction, scaled: Fraction, smoothness: Fraction) -> int:
    for power in POWERS:
        if value == scaled * smoothness**power:
            return power
    raise RefusedError(UNLIKE)


def _links(reading: Reading, scaled: Reading) -> Iterator[Link]:
    """Yield what every slot and every point is made of, in both readings."""
    for branch, other in zip(reading.branches, scaled.branches, strict=True):
        for slot, form in branch.after.items():
            yield from _made(("slot", slot), form, other.after[slot])
    for point, other_point in zip(reading.points, scaled.points, strict=True):
        yield from _made(POINT, point, other_point)
    for slot, begun in reading.start.items():
        yield from _made(("slot", slot), begun, scaled.start[slot])
    for point, other_point in zip(
        reading.start_points, scaled.start_points, strict=True
    ):
        yield from _made(POINT, point, other_point)


def _made(to: Symbol, form: Form, other: Form) -> Iterator[Link]:
    mine, others = _terms(form), _terms(other)
    if mine.keys() != others.keys():
        raise RefusedError(UNLIKE)
    for key, value in mine.items():
        yield to, _source(key[-1]), value, others[key]


def _terms(form: Form) -> Mapping[tuple[object, Symbol], Fraction]:
    if isinstance(form, ClientForm):
        return {key: Fraction(value) for key, value in form.terms.items()}
    found: dict[tuple[object, Symbol], Fraction] = {}
    found.update((("fixed", s), Fraction(v)) for s, v in form.fixed.items())
    found.update((key, Fraction(v)) for key, v in form.summed.items())
    return found


def _source(symbol: Symbol) -> Symbol:
    kind, name = symbol
    if kind == "mean":
        return _source(name)
    if name == "start":  # the model before the first round
        return POINT
    return ("gradient", None) if kind == "gradient" else ("slot", name)
