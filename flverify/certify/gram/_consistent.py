"""Whether assumptions can hold together: shown by an exact model, or denied.

What contradicts itself implies everything, so a lemma is proved only if its assumptions
have a model. First all vectors are zero; then a model is put together from models on
the line: all vectors alike, one vector beside zeros, and those that the prices of a
linear programme ask for. It becomes part of the certificate, and is checked there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import rational, to_fraction
from flverify.certify._definite import as_float, two_to
from flverify.certify._vectors import Expression, Inequality, Vector
from flverify.certify.gram._certificate import assembled
from flverify.certify.gram._check import identity_fault
from flverify.certify.gram._conditions import Conditions, conditions_of
from flverify.certify.gram._evidence import Evidence
from flverify.certify.gram._faces import multipliers
from flverify.certify.gram._functions import Hypothesis, statement
from flverify.certify.gram._task import hints, task_of
from flverify.certify.gram._weights import System, combination

IMPOSSIBLE = Inequality(Expression() + 1, Expression())  # 1 <= 0
ONE = Fraction(1)
ROUNDS = 20  # times that the prices may ask for more lines
NEGLIGIBLE = 1e-9  # share of the largest eigenvalue that counts as zero
GUESSES = (12, 1000)  # denominators of the numbers that a line gives to vectors
COMMON, GRID = 10**6, 1024  # their largest common denominator, and what is used beyond


def model_of(
    assumed: Sequence[Hypothesis],
    facts: Sequence[Hypothesis],
    where: Sequence[Vector],
) -> tuple[Evidence | None, str]:
    """Find a model of assumptions, or say why they may not hold together.

    Parameters
    ----------
    assumed, facts : sequences of Hypothesis
        The assumptions, and all that may be used to refute them.
    where : sequence of Vector
        Vectors assumed to be zero.

    Returns
    -------
    model : Evidence or None
        None if they hold where everything is zero.
    doubt : str
        Empty if they can hold together.
    """
    if all(map(_holds_at_zero, assumed)):
        return None, ""
    found = _mixture(conditions_of(assumed, where))
    if found is not None:
        return found, ""
    if _impossible(facts, where):
        return None, "the assumptions cannot hold together"
    return None, "it was not shown that the assumptions can hold together"


def _holds_at_zero(hypothesis: Hypothesis) -> bool:
    """Whether it holds where all vectors and values are 0, as `where` does."""
    constant = hypothesis.gap.constant
    return constant == 0 if hypothesis.equality else constant >= 0


def _mixture(conditions: Conditions) -> Evidence | None:
    """Sum up models on the line, with weights that satisfy all conditions."""
    forms = _float_forms(conditions)
    families = [_in_units(conditions, forms, f) for f in conditions.families()]
    values, constants = conditions.values(), conditions.constants()
    lines = _distinct([row for f in families for row in (*f.T, f.sum(axis=1))], set())
    columns = _on(conditions, lines)
    for _ in range(ROUNDS):
        whole = np.concatenate([columns, values], axis=1)
        system = System(whole, constants, conditions.signed, len(lines))
        found, prices = combination(system)
        if found is not None:
            return _evidence(conditions, lines, found)
        wanted = _priced(forms, families, prices)
        more = _distinct(wanted, set(map(tuple, lines)))
        if not more:
            break
        lines += more
        columns = np.concatenate([columns, _on(conditions, more)], axis=1)
    return None


def _on(conditions: Conditions, lines: list[Array]) -> Array:
    """Value of every condition's form on each line, (K, number of lines)."""
    if not lines:
        return np.zeros((len(conditions.signed), 0), dtype=object)
    return conditions.forms(np.array(lines).T, lambda u, v: u * v, rational)


def _float_forms(conditions: Conditions) -> Array:
    """Form of every condition as a matrix, (K, n, n) floats; perhaps not finite."""
    count = len(conditions.vectors)
    if not count:
        return np.zeros((len(conditions.signed), 0, 0))
    with np.errstate(all="ignore"):
        return conditions.forms(np.eye(count), _outer, _float)


def _in_units(conditions: Conditions, forms: Array, family: Array) -> Array:
    """Scale lines to the size at which assumptions compare them with constants."""
    count, basis = len(conditions.assumed), as_float(family)
    with np.errstate(all="ignore"):
        inside = np.abs(basis.T @ forms[:count] @ basis)
        fixed = np.abs(as_float(conditions.constants()[:count]))
        whole = np.maximum(inside.max(axis=(1, 2)), fixed)
        share = inside.diagonal(axis1=1, axis2=2) / whole[:, None]
        sizes = np.log2((fixed / whole).max() / share.max(axis=0)) / 2
    powers = [two_to(round(v)) if np.isfinite(v) else rational(ONE) for v in sizes]
    return np.asarray(family * np.array(powers, dtype=object))


def _priced(forms: Array, families: list[Array], prices: Array) -> list[Array]:
    """Lines on which the conditions, summed up at their prices, are positive."""
    if not prices.any() or not families:
        return []
    with np.errstate(all="ignore"):  # beyond the range of floats nothing is proposed
        whole = np.tensordot(prices, forms, 1)
        parts = [(f, as_float(f).T @ whole @ as_float(f)) for f in families]
    out = []
    for family, form in parts:
        sizes, columns = np.linalg.eigh(form if np.isfinite(form).all() else 0 * form)
        positive = sizes > NEGLIGIBLE * np.abs(sizes).max()
        for column in columns.T[positive]:
            out += [family @ _short(column, guess) for guess in GUESSES]
    return out


def _short(column: Array, denominator: int) -> Array:
    """Round a direction to short rationals of a short common denominator."""
    scaled = [float(v) for v in column / np.abs(column).max()]
    short = [Fraction(v).limit_denominator(denominator) for v in scaled]
    if lcm(*(v.denominator for v in short)) > COMMON:
        short = [Fraction(round(v * GRID), GRID) for v in scaled]
    return np.array([rational(v) for v in short], dtype=object)


def _outer(u: Array, v: Array) -> Array:
    return np.asarray((np.outer(u, v) + np.outer(v, u)) / 2)


def _float(value: Fraction) -> float:
    return float(as_float(np.array([rational(value)], dtype=object))[0])


def _distinct(lines: list[Array], known: set[tuple[object, ...]]) -> list[Array]:
    """Leave out lines that are zero or known."""
    found = {tuple(line): line for line in lines if (line != 0).any()}
    return [line for key, line in found.items() if key not in known]


def _evidence(conditions: Conditions, lines: list[Array], x: Array) -> Evidence:
    used = [k for k in range(len(lines)) if x[k] != 0]
    places = enumerate(conditions.vectors)
    return Evidence(
        tuple(to_fraction(x[k]) for k in used),
        {s: tuple(to_fraction(lines[k][i]) for k in used) for i, s in places},
        {
            symbol: to_fraction(value)
            for symbol, value in zip(conditions.scalars, x[len(lines) :], strict=True)
        },
    )


def _impossible(facts: Sequence[Hypothesis], where: Sequence[Vector]) -> bool:
    """Whether 1 <= 0 has a proof that the checker accepts."""
    task = task_of(IMPOSSIBLE, facts, where)
    found, _ = multipliers(task.scaled, *hints(task, []))
    if found is None:
        return False
    words = statement(IMPOSSIBLE, (h for h in facts if h.assumed), where)
    return not identity_fault(assembled(words, task, found).as_dict())
