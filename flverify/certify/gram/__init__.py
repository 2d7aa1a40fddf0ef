"""Vector inequalities from Jensen, Young, smoothness and convexity, proved exactly.

Vectors are symbols in a space of any dimension; functions are known by their class. A
proof writes right - left as hypotheses times multipliers plus a sum of squares, in
rationals; it is checked by `verify`, which uses the standard library alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Array
from flverify.certify._vectors import (
    Inequality,
    Symbol,
    Vector,
    average,
    inner,
    listed,
    number,
    square,
    vector,
)
from flverify.certify.gram._certificate import Certificate, assembled
from flverify.certify.gram._check import fault, verify
from flverify.certify.gram._consistent import model_of
from flverify.certify.gram._counterexamples import by_chance, by_forms
from flverify.certify.gram._faces import multipliers
from flverify.certify.gram._functions import (
    Function,
    Hypothesis,
    bounded,
    descent,
    equal,
    given,
    interpolation,
    jensen,
    lipschitz,
    require_inequality,
    statement,
    tangent,
)
from flverify.certify.gram._models import Model
from flverify.certify.gram._symbols import (
    points,
    require_names,
    symbols,
    vocabulary,
)
from flverify.certify.gram._task import GramTask, hints, task_of

__all__ = [
    "Certificate",
    "Counterexample",
    "Function",
    "Lemma",
    "Undecided",
    "average",
    "bounded",
    "descent",
    "equal",
    "given",
    "inner",
    "interpolation",
    "jensen",
    "lipschitz",
    "number",
    "prove",
    "prove_each",
    "square",
    "tangent",
    "vector",
    "verify",
]


@dataclass(frozen=True)
class Lemma:
    """left <= right for all vectors, functions of their classes and numbers.

    Parameters
    ----------
    inequality : Inequality
        What is claimed.
    hypotheses : tuple of Hypothesis
        Assumptions (`given`, `equal`, `bounded`), and facts to use if `interpolate` is
        false.
    where : tuple of Vector
        Vectors assumed to be zero, such as `f.gradient(minimiser)`.
    interpolate : bool
        Whether to use all that is known of a function at all points of the lemma. If
        false a proof may use the listed facts only.

    Raises
    ------
    InputError
        If a part is of another kind, or two symbols or functions share a name.
    DomainError
        If a number is too long to be written out.

    Examples
    --------
    >>> f, x, best = Function("f", 2, 1), vector("x"), vector("x*")
    >>> moved = x - f.gradient(x) / 2
    >>> nearer = square(moved - best) <= "1/4" * square(x - best)
    >>> bool(prove(Lemma(nearer, where=(f.gradient(best),))))
    True
    """

    inequality: Inequality
    hypotheses: tuple[Hypothesis, ...] = ()
    where: tuple[Vector, ...] = ()
    interpolate: bool = True

    def __post_init__(self) -> None:
        require_inequality(self.inequality, "a lemma")
        facts = listed(self.hypotheses, Hypothesis, "the hypotheses of a lemma")
        zero = listed(self.where, Vector, "where of a lemma")
        object.__setattr__(self, "hypotheses", facts)
        object.__setattr__(self, "where", zero)
        told = [self.inequality.left, self.inequality.right, *(h.gap for h in facts)]
        require_names(*vocabulary(told, zero))
        self._require_written()

    def _require_written(self) -> None:
        try:
            str(self)
        except ValueError as error:
            most = sys.get_int_max_str_digits()
            raise DomainError(
                f"numbers must have at most {most} digits, to be written out; got "
                "longer ones; rescale the lemma."
            ) from error

    @property
    def assumed(self) -> tuple[Hypothesis, ...]:
        """Hypotheses that restrict the lemma."""
        return tuple(h for h in self.hypotheses if h.assumed)

    def facts(self) -> tuple[Hypothesis, ...]:
        """All hypotheses that a proof may use."""
        if not self.interpolate:
            return self.hypotheses
        between = [
            interpolation(f, x, y)
            for f, places in points(self._symbols()).items()
            for x in places
            for y in places
            if x != y
        ]
        return (*self.hypotheses, *between)

    def _symbols(self) -> list[Symbol]:
        used = symbols(self.inequality.gap)
        for hypothesis in self.hypotheses:
            used += symbols(hypothesis.gap)
        return used + [s for v in self.where for s, _ in v.terms]

    def __str__(self) -> str:
        return statement(self.inequality, self.assumed, self.where)


@dataclass(frozen=True)
class Counterexample:
    """Rational vectors and functions for which left > right; false in a condition.

    Parameters
    ----------
    statement : str
        The lemma, expanded.
    vectors : mapping
        Each vector symbol as d rationals.
    numbers : mapping
        Each scalar symbol without a formula.
    functions : mapping
        Each function in words; it lies in its class.
    left, right : Fraction
        Both sides.
    model : Model
        The vectors and functions, to evaluate any expression on.

    Examples
    --------
    >>> found = prove(square(vector("v")) <= 1)
    >>> found.left > found.right, bool(found)
    (True, False)
    """

    statement: str
    vectors: Mapping[str, tuple[Fraction, ...]]
    numbers: Mapping[str, Fraction]
    functions: Mapping[str, str]
    left: Fraction
    right: Fraction
    model: Model = field(repr=False)

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Undecided:
    """Neither proof nor counterexample was found; false in a condition.

    Parameters
    ----------
    statement : str
        The lemma, expanded.
    reason : str
        How far the search for a proof came.

    Examples
    --------
    >>> v = vector("v")
    >>> prove(Lemma(square(v) <= 1, (bounded(v, -1),))).reason
    'the assumptions cannot hold together'
    """

    statement: str
    reason: str

    def __bool__(self) -> bool:
        return False


def prove(lemma: Lemma | Inequality) -> Certificate | Counterexample | Undecided:
    """Decide a lemma: proved exactly, refuted exactly, or undecided with the reason.

    Parameters
    ----------
    lemma : Lemma or Inequality

    Returns
    -------
    Certificate, Counterexample or Undecided
        The last two are false. That no multipliers exist refutes nothing: only a
        counterexample does. Assumptions imply something only if it is shown that they
        can hold together; a lemma is undecided otherwise.

    Examples
    --------
    >>> a, b = vector("a"), vector("b")
    >>> print(prove(square(a + b) <= 2 * square(a) + 2 * square(b)))
    right - left = |a - b|^2
    >>> prove(square(a + b) <= 2 * square(a) + square(b)).vectors
    {'a': (Fraction(1, 1),), 'b': (Fraction(1, 1),)}

    A gradient step of size 1/L decreases an L-smooth function:

    >>> x, f = vector("x"), Function("f", smoothness=4, strong_convexity=-4)
    >>> g = f.gradient(x)
    >>> bool(prove(f.value(x - g / 4) <= f.value(x) - square(g) / 8))
    True
    """
    stated = lemma if isinstance(lemma, Lemma) else Lemma(lemma)
    parts = stated.inequality, stated.assumed, stated.where
    model, ties = by_forms(*parts)
    if model is not None:
        return _refuted(stated, model)
    task = task_of(stated.inequality, stated.facts(), stated.where)
    found, reason = multipliers(task.scaled, *hints(task, ties))
    if found is not None:
        answer = _confirmed(stated, task, found)
        if not isinstance(answer, str):
            return answer
        reason = answer
    model = by_chance(*parts)
    return Undecided(str(stated), reason) if model is None else _refuted(stated, model)


def _confirmed(
    lemma: Lemma, task: GramTask, scaled: Array
) -> Certificate | Undecided | str:
    """Return a proof that was found, or what speaks against it."""
    model, doubt = model_of(lemma.assumed, task.facts, lemma.where)
    if doubt:  # no counterexample satisfies the assumptions, by the identity
        return Undecided(str(lemma), doubt)
    certificate = assembled(str(lemma), task, scaled, model)
    try:
        wrong = fault(certificate.as_dict())
    except ValueError:  # Python writes out no integer of so many digits
        wrong = "its numbers are too long to be written"
    if wrong:
        return f"the checker rejects the proof that was found: {wrong}"
    return certificate


def prove_each(
    build: Callable[..., Lemma | Inequality], settings: Iterable[Mapping[str, Any]]
) -> list[tuple[dict[str, Any], Certificate | Counterexample | Undecided]]:
    """Decide a lemma for a list of parameters: `build(**setting)` states it.

    Examples
    --------
    >>> a, b = vector("a"), vector("b")
    >>> def young(t):
    ...     return 2 * inner(a, b) <= t * square(a) + square(b) / t
    >>> [bool(answer) for _, answer in prove_each(young, [{"t": Fraction(1, 3)}])]
    [True]
    """
    if not callable(build):
        raise InputError(
            f"what states a lemma must be a function; got {build!r}; pass one that "
            "takes the parameters by name."
        )
    given_ = [dict(setting) for setting in listed(settings, Mapping, "settings")]
    return [(setting, prove(build(**setting))) for setting in given_]


def _refuted(lemma: Lemma, found: Model) -> Counterexample:
    model = found.completed([lemma.inequality.left, lemma.inequality.right])
    return Counterexample(
        str(lemma),
        {str(symbol): point for symbol, point in model.vectors.items()},
        {str(symbol): value for symbol, value in model.numbers.items()},
        {f.name: str(shape) for f, shape in model.shapes.items()},
        model.value(lemma.inequality.left),
        model.value(lemma.inequality.right),
        model,
    )
