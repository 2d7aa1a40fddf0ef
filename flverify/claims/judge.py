"""The judge: the only place where verdicts are made, and where thresholds live.

A proof needs exact algebra over the whole scope; exact numbers on instances give
SUPPORTED at most; floats never refute and never prove; a counterexample refutes only
after a second computation in rationals confirms it.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import Scalar, is_exact
from flverify.claims import _signs
from flverify.claims.verdict import PASSING, Finding, Verdict, weakest

FLOAT_MARGIN = 1e-9  # relative: closer than this, a float comparison says nothing
POINTS = 40  # rational points tried when an identity does not simplify to zero

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}

Pair = tuple[str, Any, Any]


@dataclass(frozen=True)
class Case:
    """One instance of a universal claim: left relation right.

    Parameters
    ----------
    where : mapping
        The instance, as exact text or numbers.
    left, right : rational, float, or (lower, upper) enclosure
        The two sides.
    recheck : callable or None
        A second, independent computation of (left, right) in rationals; needed to
        refute.
    """

    where: Mapping[str, Any]
    left: Any
    right: Any
    recheck: Callable[[], tuple[Any, Any]] | None = field(default=None, compare=False)


def identity(pairs: Iterable[Pair], scope: str) -> Finding:
    """Judge that two sides agree, for every value of their symbols.

    The pairs must cover the whole claim within `scope`. PROVED if every difference is
    identically zero; REFUTED with a rational point where a difference is not;
    otherwise INCONCLUSIVE. Sides may be numbers, arrays, or sympy expressions.

    Parameters
    ----------
    pairs : iterable of (label, left, right)
    scope : str
        What the pairs cover.
    """
    checked: list[str] = []
    for label, left, right in pairs:
        found = _compare(label, left, right)
        if found is not None:
            return found
        checked.append(label)
    if not checked:
        return inconclusive("nothing was compared")
    reason = f"{len(checked)} identities hold exactly"
    return Finding(Verdict.PROVED, scope, reason, {"identities": checked})


def _compare(label: str, left: Any, right: Any) -> Finding | None:
    lefts, rights = _flat(left), _flat(right)
    if len(lefts) != len(rights):
        where = {"identity": label, "left": _text(left), "right": _text(right)}
        reason = f"{label}: the sides have different shapes"
        return Finding(Verdict.REFUTED, "the stated objects", reason, where)
    for place, (one, other) in enumerate(zip(lefts, rights, strict=True)):
        if isinstance(one, float) or isinstance(other, float):
            return inconclusive(f"{label}: floats cannot show an identity")
        difference = sympy.simplify(_sympy(one) - _sympy(other))
        if difference != 0:
            return _refuting_point(f"{label}[{place}]", one, other)
    return None


def _refuting_point(label: str, left: Any, right: Any) -> Finding:
    """Find a rational point where both sides differ, evaluating each side anew."""
    sides = _sympy(left), _sympy(right)
    symbols = sorted(sides[0].free_symbols | sides[1].free_symbols, key=str)
    draws = random.Random(0)  # noqa: S311 - a deterministic search, not a secret
    for _ in range(POINTS):
        point = {s: sympy.Rational(draws.randint(1, 8), 9) for s in symbols}
        values = [side.subs(point) for side in sides]
        if all(value.is_Rational for value in values) and values[0] != values[1]:
            evidence = {
                "identity": label,
                "point": {str(s): str(v) for s, v in point.items()},
                "left": str(values[0]),
                "right": str(values[1]),
            }
            at = ", ".join(f"{s} = {v}" for s, v in point.items())
            reason = f"{label}: {values[0]} is not {values[1]}" + (
                f" at {at}" if at else ""
            )
            return Finding(Verdict.REFUTED, "counterexample", reason, evidence)
    return inconclusive(f"{label}: neither zero nor a rational point of difference")


def instances(cases: Iterable[Case], relation: str, searched: str) -> Finding:
    """Judge a universal claim on listed instances.

    SUPPORTED if all satisfy the relation, with the count and the smallest margin;
    REFUTED at the first violation that an independent recheck confirms.

    Parameters
    ----------
    cases : iterable of Case
    relation : {"==", "<=", "<", ">=", ">"}
    searched : str
        What family the instances were drawn from.
    """
    count, doubtful = 0, ""
    closest: tuple[float, Case] | None = None
    for case in cases:
        count += 1
        holds = _holds(case, relation)
        if holds is False:
            found = _confirmed(case, relation)
            if found is not None:
                return found
            doubtful = f"a violation at {_where(case)} was not confirmed in rationals"
        elif holds is None:
            doubtful = f"undecided at {_where(case)}"
        margin = _margin(case)
        if closest is None or margin < closest[0]:
            closest = (margin, case)
    if doubtful or closest is None:
        return inconclusive(doubtful or "no instance was searched")
    evidence = {
        "instances": count,
        "searched": searched,
        "smallest relative margin": f"{closest[0]:.3g}",
        "at": {k: _text(v) for k, v in closest[1].where.items()},
    }
    reason = f"holds at all {count} instances; smallest margin {closest[0]:.3g}"
    return Finding(Verdict.SUPPORTED, searched, reason, evidence)


def _holds(case: Case, relation: str) -> bool | None:
    """Decide one case; None when floats or enclosures are too close to say."""
    left, right = _interval(case.left), _interval(case.right)
    compare = _RELATIONS[relation]
    ends = {compare(a, b) for a in left for b in right}
    floats = any(isinstance(v, float) for v in (*left, *right))
    if len(ends) > 1:
        return None
    if floats and _margin(case) < FLOAT_MARGIN and relation != "==":
        return None
    if floats and relation == "==":
        return None
    return ends.pop()


def _confirmed(case: Case, relation: str) -> Finding | None:
    """Return a refutation if the recheck is rational and violates the relation too."""
    if case.recheck is None:
        return None
    left, right = case.recheck()
    sides = (*_interval(left), *_interval(right))
    if not all(is_exact(side) for side in sides):
        return None
    again = Case(case.where, left, right)
    if _holds(again, relation) is not False:
        return None
    evidence = {
        "counterexample": {k: _text(v) for k, v in case.where.items()},
        "left": _text(left),
        "right": _text(right),
        "relation": relation,
    }
    shown = f"{_short(left)} {relation} {_short(right)} fails at {_where(case)}"
    return Finding(Verdict.REFUTED, "counterexample", shown, evidence)


def witness(case: Case, relation: str, scope: str) -> Finding:
    """Judge an existence claim by one exact instance, confirmed by its recheck."""
    negated = {"==": "!=", "<=": ">", "<": ">=", ">=": "<", ">": "<="}
    holds = _holds(case, relation)
    exact = all(is_exact(v) for v in (*_interval(case.left), *_interval(case.right)))
    again = case.recheck() if case.recheck else (None, None)
    if holds and exact and case.recheck and _holds(Case({}, *again), relation):
        evidence = {
            "witness": {k: _text(v) for k, v in case.where.items()},
            "left": _text(case.left),
            "right": _text(case.right),
        }
        reason = (
            f"{_short(case.left)} {relation} {_short(case.right)} at {_where(case)}"
        )
        return Finding(Verdict.PROVED, scope, reason, evidence)
    return inconclusive(f"the witness has {negated[relation]} or is not exact")


nonnegative = _signs.nonnegative


def proof_or_search(proof: Finding, search: Finding) -> Finding:
    """Judge by a proof, or by the counterexample of a search if the proof fails.

    A proof that does not go through refutes nothing: without a counterexample the
    claim stays open. A proof beside a counterexample means that one of them is wrong.
    """
    refuted = search.verdict == Verdict.REFUTED
    if proof.passes() and refuted:
        return inconclusive(f"a proof stands against a counterexample: {search.reason}")
    if refuted:
        return search
    if proof.passes():
        evidence = {**proof.evidence, "searched beside the proof": search.reason}
        return replace(proof, evidence=evidence)
    return inconclusive(
        f"the proof does not go through ({proof.reason}) and the search shows no "
        f"violation ({search.reason})"
    )


def all_of(parts: Mapping[str, Finding]) -> Finding:
    """Judge a claim made of several: refuted by any part, else as weak as any."""
    for wanted in (Verdict.REFUTED, Verdict.INCONCLUSIVE):
        for name, part in parts.items():
            if part.verdict == wanted:
                every = {n: f"{p.verdict}: {p.reason}" for n, p in parts.items()}
                evidence = {"part": name, **part.evidence, "parts": every}
                reason = f"{name}: {part.reason}"
                return Finding(wanted, part.scope, reason, evidence)
    verdict = weakest([part.verdict for part in parts.values()])
    weak = [part for part in parts.values() if part.verdict == verdict]
    reason = "; ".join(f"{name}: {part.reason}" for name, part in parts.items())
    evidence = {name: dict(part.evidence) for name, part in parts.items()}
    scopes = dict.fromkeys(part.scope for part in weak)
    return Finding(verdict, "; ".join(scopes), reason, evidence)


def readings(found: Mapping[str, Finding]) -> Finding:
    """Judge a claim whose print allows several readings.

    It passes only if every reading passes (the weakest counts), is refuted only if
    every reading is, and depends on the reading otherwise.
    """
    verdicts = [finding.verdict for finding in found.values()]
    listed = ", ".join(f"{name}: {f.verdict}" for name, f in found.items())
    named = dict(found)
    if all(v in PASSING for v in verdicts):
        scope = "; ".join(dict.fromkeys(f.scope for f in found.values()))
        reason = f"under every reading ({listed})"
        return Finding(weakest(verdicts), scope, reason, {}, named)
    if all(v == Verdict.REFUTED for v in verdicts):
        first = next(iter(found.values()))
        reason = f"under every reading; {first.reason}"
        return Finding(
            Verdict.REFUTED, first.scope, reason, dict(first.evidence), named
        )
    reason = f"depends on the reading: {listed}"
    return Finding(Verdict.INCONCLUSIVE, "by reading", reason, {}, named)


def share(name: str, successes: int, trials: int, scope: str) -> Finding:
    """Judge a described trend on generated data: SUPPORTED only if always seen.

    A trend that fails on some data is not refuted: the data are ours, not the paper's.
    """
    evidence = {"seen": successes, "trials": trials}
    reason = f"{name}: {successes} of {trials}"
    seen = trials > 0 and successes == trials
    verdict = Verdict.SUPPORTED if seen else Verdict.INCONCLUSIVE
    return Finding(verdict, scope, reason, evidence)


def inconclusive(reason: str) -> Finding:
    """Say that nothing was shown, and why."""
    return Finding(Verdict.INCONCLUSIVE, "nothing shown", reason)


def _interval(side: Any) -> tuple[Scalar, Scalar]:
    low, high = side if isinstance(side, tuple) else (side, side)
    return _number(low), _number(high)


def _number(value: Any) -> Scalar:
    if isinstance(value, sympy.Rational):
        return Fraction(int(value.p), int(value.q))
    return Fraction(value) if isinstance(value, int) else value


def _margin(case: Case) -> float:
    """Distance between the two sides relative to the larger."""
    (low, high), (below, above) = _interval(case.left), _interval(case.right)
    gap = min(abs(high - below), abs(above - low))
    size = max(abs(high), abs(above))
    return float(gap / size) if size else 0.0


def _where(case: Case) -> str:
    return ", ".join(f"{k} = {_short(v)}" for k, v in case.where.items())


def _flat(side: Any) -> list[Any]:
    if isinstance(side, sympy.MatrixBase):
        return [*side.shape, *side]
    if isinstance(side, np.ndarray | list | tuple):
        values = np.asarray(side, dtype=object)
        return [*values.shape, *values.ravel().tolist()]
    return [side]


def _sympy(value: Any) -> sympy.Expr:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, sympy.Expr):
        return value
    return sympy.Integer(int(value))


def _text(value: Any) -> Any:
    """Exact, JSON-able text of a value."""
    if isinstance(value, Mapping):
        return {str(k): _text(v) for k, v in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_text(v) for v in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    return str(value)


def _short(value: Any) -> str:
    """Text of a value, long rationals as decimals."""
    shown = str(_text(value))
    if isinstance(value, Fraction) and len(shown) > 24:
        return f"{float(value):.6g}"
    return shown
