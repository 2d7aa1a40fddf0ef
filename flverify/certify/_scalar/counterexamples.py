"""From a solver's model to a rational point that exact arithmetic accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from math import floor
from typing import Literal, Protocol, TypeAlias

import sympy

from flverify.certify._scalar.evaluation import holds
from flverify.certify._scalar.formulas import Formula, Reading, interior

Point: TypeAlias = dict[str, Fraction]
Accepts = Callable[[Point], bool]

UNITS = (1, 2, 3, 4, 6, 8, 10, 16, 32, 100, 10**3, 10**4, 10**6, 10**9, 10**12, 10**20)
WHOLE = (1, 2, 3, 4, 5, 0, 10, 100, -1, -2, 7, 1000)  # tried for integer symbols
TUPLES = 60  # of integers tried before a question stays open
TOLD = (
    "integer",
    "zero",
    "positive",
    "negative",
    "nonnegative",
    "nonpositive",
    "nonzero",
)
MOST = 10_000  # tuples listed, so that many integer symbols do no harm


@dataclass(frozen=True)
class Model:
    """What a solver says about formulas.

    Parameters
    ----------
    status : {"sat", "unsat", "unknown"}
    values : mapping
        Where satisfied: a rational at or close to the value of each symbol.
    exact : frozenset of str
        Names whose value is exactly that.
    reason : str
        Where unknown.
    """

    status: Literal["sat", "unsat", "unknown"]
    values: Mapping[str, Fraction] = field(default_factory=dict)
    exact: frozenset[str] = frozenset()
    reason: str = ""


class Solves(Protocol):
    """What this module needs of a solver."""

    def check(
        self,
        formulas: Sequence[Formula],
        fixed: Mapping[str, Fraction] | None = None,
        integers: bool = False,
        share: int = 1,
    ) -> Model:
        """Whether formulas can hold together, with a share of the steps."""


def counterexample(
    solver: Solves, reading: Reading, denied: Sequence[Formula], first: Model
) -> Point | None:
    """Find a rational point where the hypotheses hold and the conclusion does not.

    Parameters
    ----------
    solver : Solves
    reading : Reading
    denied : sequence of Formula
        The facts and the negated conclusion.
    first : Model
        Of these formulas.
    """

    def accepts(point: Point) -> bool:
        return _satisfies(reading, point) and holds(reading.concluded, point) is False

    return _search(solver, reading, denied, first, accepts)


def witness(
    solver: Solves, reading: Reading, facts: Sequence[Formula]
) -> Literal["yes", "no", "open"]:
    """Whether the hypotheses can hold together, over the integers where required."""
    first = solver.check(facts)
    if first.status != "sat":
        return "no" if first.status == "unsat" else "open"
    if not all(map(_says_no_more_than_a_sign, reading.symbols)):
        return "yes" if _admitted(solver, reading, facts, first) else "open"
    if not _integers(reading):
        return "yes"
    for model in _whole_models(solver, reading, facts, first):
        if model.status == "sat":
            return "yes"
    return "open"


def _admitted(
    solver: Solves, reading: Reading, facts: Sequence[Formula], first: Model
) -> Point | None:
    """Find a point of the question that has everything assumed of the symbols."""

    def accepts(point: Point) -> bool:
        defined = holds(reading.concluded, point) is not None
        return defined and _satisfies(reading, point)

    return _search(solver, reading, facts, first, accepts)


def _says_no_more_than_a_sign(symbol: sympy.Symbol) -> bool:
    """Whether the facts say all that sympy assumes, and the integers what is left.

    Odd, or not an integer, are among what solvers are not told.
    """
    told = {word: True for word in TOLD if getattr(symbol, f"is_{word}")}
    plain = sympy.Symbol("x", real=True, **told).assumptions0
    assumed = symbol.assumptions0.items()
    return all(plain.get(word) is value for word, value in assumed)


def _satisfies(reading: Reading, point: Point) -> bool:
    return all(_admissible(s, point[s.name]) for s in reading.symbols) and all(
        holds(relation, point) for relation in reading.relations
    )


def _admissible(symbol: sympy.Symbol, value: Fraction) -> bool:
    """Whether a value has everything that sympy assumes of the symbol."""
    number = sympy.Rational(value.numerator, value.denominator)
    assumed = symbol.assumptions0.items()
    return all(getattr(number, f"is_{key}", None) is wanted for key, wanted in assumed)


def _search(
    solver: Solves,
    reading: Reading,
    formulas: Sequence[Formula],
    first: Model,
    accepts: Accepts,
) -> Point | None:
    # inside an open set every rational close by is as good: simple points come first
    for model in _models(solver, reading, formulas, first):
        if model.status == "sat":
            names = [s.name for s in reading.symbols]
            found = next(filter(accepts, _simple(model, names)), None)
            found = found or _pinned(solver, reading, formulas, model, accepts)
            if found is not None:
                return found
    return None


def _models(
    solver: Solves, reading: Reading, formulas: Sequence[Formula], first: Model
) -> Iterator[Model]:
    inner = [interior(formula) for formula in formulas]
    yield solver.check(inner)
    yield first
    if _integers(reading):
        yield from _whole_models(solver, reading, formulas, first)


def _simple(model: Model, names: Sequence[str]) -> Iterator[Point]:
    """Yield the point and its neighbours with small denominators, simplest first."""
    values = {name: model.values[name] for name in names}
    for unit in UNITS:
        yield {name: value.limit_denominator(unit) for name, value in values.items()}
    yield values


def _pinned(
    solver: Solves,
    reading: Reading,
    formulas: Sequence[Formula],
    model: Model,
    accepts: Accepts,
) -> Point | None:
    """Replace irrational values one by one, solving again for the rest."""
    fixed: Point = {}
    names = [symbol.name for symbol in reading.symbols]
    while model.status == "sat":
        loose = [n for n in names if n not in model.exact and n not in fixed]
        if not loose:
            point = {name: model.values[name] for name in names}
            return point if accepts(point) else None
        fixed, model = _fix(solver, formulas, fixed, loose[0], model)
    return None


def _fix(
    solver: Solves,
    formulas: Sequence[Formula],
    fixed: Point,
    name: str,
    model: Model,
) -> tuple[Point, Model]:
    for unit in (10, 10**4, 10**12):
        trial = {**fixed, name: model.values[name].limit_denominator(unit)}
        found = solver.check(formulas, trial, share=TUPLES)
        if found.status == "sat":
            return trial, found
    return fixed, Model("unsat")


def _integers(reading: Reading) -> bool:
    return any(symbol.is_integer for symbol in reading.symbols)


def _whole_models(
    solver: Solves, reading: Reading, formulas: Sequence[Formula], first: Model
) -> Iterator[Model]:
    """Yield models with the integer symbols at integers, then the solver's own."""
    symbols = [symbol for symbol in reading.symbols if symbol.is_integer]
    tried = 0
    for values in _whole_tuples([first.values[s.name] for s in symbols]):
        fixed = {s.name: Fraction(v) for s, v in zip(symbols, values, strict=True)}
        if all(_admissible(s, fixed[s.name]) for s in symbols):
            yield solver.check(formulas, fixed, share=TUPLES)
            tried += 1
        if tried == TUPLES:
            break
    yield solver.check(formulas, integers=True)


def _whole_tuples(near: Sequence[Fraction]) -> Iterator[tuple[int, ...]]:
    """Integers around a model, then small ones, none twice."""
    pool = WHOLE[: {1: 12, 2: 12, 3: 6}.get(len(near), 3)]
    around = product(*((floor(value), floor(value) + 1) for value in near))
    places = product(range(len(pool)), repeat=len(near))
    nearest = sorted(islice(places, MOST), key=lambda place: (max(place), place))
    listed = [*islice(around, MOST), *(tuple(pool[i] for i in p) for p in nearest)]
    yield from dict.fromkeys(listed)
