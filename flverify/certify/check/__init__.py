"""The independent checker: whether a certificate proves what it states.

The checker runs, it does not derive.  It plays the reference loop of the algorithm on
prescribed gradients, outcome by outcome, and forms from what it sees three quadratic
forms that must not be negative: the decrease of V along a round, V minus the squared
distance, and the bound on V at the start.  Everything is exact.  It shares nothing with
the part of the package that finds certificates, and uses the standard library alone.

The clients' functions are L-smooth and mu-strongly convex; points are measured from the
minimiser x* and gradients from g*_i, so that every function has its minimum 0 at 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ._conditions import Condition, Findings
from ._linear import (
    Matrix,
    Rejected,
    Vector,
    add,
    form,
    require,
    smallest_pivot,
    zero_matrix,
)
from ._reading import Certificate, read
from ._replay import Round, Start

__all__ = ["Rejected", "Summary", "blocks", "cancellations", "check", "load"]


@dataclass(frozen=True)
class Summary:
    """What an accepted certificate proves.

    Definition: E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|g*|^2) for a rate; for
    a neighbourhood E V+ <= rho V - weight |x - x*|^2 + constant mean|g*|^2 and
    V_0 <= C1 |x_0 - x*|^2 + C2 mean|g*|^2.  `pivots` are the smallest pivots of the
    blocks.
    """

    kind: str
    n_clients: int
    rho: Fraction
    weight: Fraction
    constant: Fraction
    C1: Fraction
    C2: Fraction
    pivots: Mapping[str, Fraction] = field(repr=False)


def _condition(c: Certificate, frame: Round | Start, points: Any) -> Condition:
    counts = {role: len(clients) for role, clients in frame.clients.items()}
    return Condition(c, points, counts, len(frame.short(frame.total())))


def _decrease(c: Certificate, frame: Round) -> Condition:
    """Return rho V - s |x|^2 + c mean|g*|^2 - E V+, minus the inequalities used."""
    size, outcomes = len(frame.short(frame.total())), frame.case.law.outcomes
    moved = _condition(c, frame, {})
    means: list[Vector] = [[0] * size for _ in c.values]
    seconds = [zero_matrix(size) for _ in c.values]
    certain, taking = Fraction(0), [Fraction(0) for _ in c.case.law.sizes]
    for outcome in outcomes(frame.apart):
        p = outcome.probability
        after = frame.after(outcome)
        moved.lyapunov(-p, after)
        for index, value in enumerate(c.values):
            w = after.point(value.point)
            means[index] = [x + p * y for x, y in zip(means[index], w, strict=True)]
            add(seconds[index], p, form({(0, 0): 1}, {0: w}, size))
        certain += p
        for q, h in enumerate(outcome.further):
            inside = h + (sum(outcome.marked) if q == frame.apart else 0)
            taking[q] += p * Fraction(inside, c.case.law.sizes[q])
    require(certain == 1, "the probabilities of the outcomes must add to one")
    condition = _condition(c, frame, frame.all_points())
    condition.total = moved.total
    condition.lyapunov(c.rho, frame.before)
    condition.square(-c.weight, frame.before.overall("model"))
    if c.kind == "neighbourhood":
        star = {role: frame.short(frame.star(role)) for role in frame.clients}
        condition.stars(c.constant, star)
    for q, row in enumerate(c.ghost_values):
        for j, ((_, k, _), v) in enumerate(zip(c.case.ghosts, row, strict=True)):
            condition.value(q, f"ghost:{j}", v * (c.rho - 1 + taking[q]))
            condition.value(q, f"call:{k}", -v * taking[q])
    for index, value in enumerate(c.values):
        _old_value(condition, index, frame.before.point(value.point))
        condition.above(c.decrease.upper, index, means[index], seconds[index])
    condition.interpolate(c.decrease.multipliers)
    return condition


def _old_value(condition: Condition, index: int, point: Vector) -> None:
    """Add rho delta times the mean of f_i(w); exact where w is the point of a call."""
    c = condition.certificate
    due = c.rho * c.values[index].delta
    for k in range(c.case.calls):
        if all(at[f"call:{k}"][0] == point for at in condition.points.values()):
            condition.every_value(f"call:{k}", due)
            if any(bound.value == index for bound in c.decrease.lower):
                condition.complaints.append(
                    f"the old value {index} is that of call {k}; it takes no bound"
                )
            return
    condition.below(c.decrease.lower, index, point, due)


def _positivity(c: Certificate, frame: Round) -> Condition:
    """Return V - |x|^2, or V where a neighbourhood has a weight."""
    condition = _condition(c, frame, frame.known_points())
    condition.lyapunov(1, frame.before)
    if c.weight == 0:
        condition.square(-1, frame.before.overall("model"))
    for q, row in enumerate(c.ghost_values):
        for j, v in enumerate(row):
            condition.value(q, f"ghost:{j}", v)
    for index, value in enumerate(c.values):
        point = frame.before.point(value.point)
        condition.below(c.positivity.lower, index, point, value.delta)
    condition.interpolate(c.positivity.multipliers)
    return condition


def _start(c: Certificate, frame: Start) -> Condition:
    """Return C1 |x_0|^2 + C2 mean|g*|^2 - V_0."""
    condition = _condition(c, frame, frame.known)
    condition.lyapunov(-1, frame.snapshot)
    condition.square(c.C1, frame.short(frame.unit(("start",))))
    star = {role: frame.short(frame.star(role)) for role in frame.clients}
    condition.stars(c.C2, star)
    for q, row in enumerate(c.ghost_values):
        for name, v in zip(frame.ghosts, row, strict=True):
            condition.value(q, name, -v)
    for index, value in enumerate(c.values):
        w = frame.snapshot.point(value.point)
        second = form({(0, 0): 1}, {0: w}, condition.size)
        condition.above(c.start.upper, index, w, second)
    condition.interpolate(c.start.multipliers)
    return condition


def _find(c: Certificate) -> Findings:
    """Return the blocks and coefficients of all conditions."""
    findings = Findings()
    for apart in c.case.law.configurations():
        frame = Round(c.case, apart)
        mean, own = frame.columns(frame.mean), frame.columns(frame.own)
        findings.take("decrease", _decrease(c, frame), mean, own)
        own = frame.columns([("own", name) for name in c.case.coordinates])
        mean = frame.columns(c.case.state)
        findings.take("positivity", _positivity(c, frame), mean, own)
        start = Start(c.case, apart, c.layout)
        mean, own = start.columns(start.mean), start.columns(start.own)
        findings.take("start", _start(c, start), mean, own)
    return findings


def _judge_numbers(c: Certificate) -> None:
    """Reject constants outside their ranges."""
    rate = c.kind == "rate"
    require(0 < c.rho <= 1, f"rho must be above 0 and at most 1; got {c.rho}")
    require(c.rho < 1 or c.weight > 0, "rho must be below 1 unless the weight is not 0")
    require(rate or (c.weight >= 0 and c.constant >= 0), "s and c must not be negative")
    require(c.C1 >= 0 and c.C2 >= 0, "C1 and C2 must not be negative")
    require(all(v.delta >= 0 for v in c.values), "delta must not be negative")


def _judge(findings: Findings) -> dict[str, Fraction]:
    """Return the smallest pivots of the blocks, or reject."""
    require(not findings.complaints, next(iter(findings.complaints), ""))
    for name, coefficient in findings.cancellations.items():
        require(coefficient == 0, f"the coefficient of the value {name} must cancel")
    pivots = {}
    for name, block in findings.blocks.items():
        pivot = smallest_pivot(block)
        if pivot is None:
            raise Rejected(f"the block {name} must be positive semidefinite")
        pivots[name] = pivot
    return pivots


def _digest(certificate: Mapping[str, Any]) -> str:
    content = {key: certificate[key] for key in certificate if key != "digest"}
    written = json.dumps(content, sort_keys=True, separators=(",", ":"), default=dict)
    return sha256(written.encode("ascii")).hexdigest()


def check(certificate: Mapping[str, Any]) -> Summary:
    """Return what a certificate proves, or raise Rejected with the reason.

    Parameters
    ----------
    certificate : mapping
        The object of the format "flverify/certificate", version 1.

    Returns
    -------
    Summary
        The proved constants and the smallest pivot of every block.

    Raises
    ------
    Rejected
        If the certificate is malformed or one of its conditions does not hold.

    Examples
    --------
    >>> check({})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    flverify.certify.check._linear.Rejected: a certificate must have the keys
    """
    try:
        c = read(certificate)
        _judge_numbers(c)
        require(_digest(certificate) == certificate["digest"], "the digest must match")
        pivots = _judge(_find(c))
    except RecursionError as error:
        raise Rejected("the certificate must not be nested so deeply") from error
    except ValueError as error:  # an integer too long to be written in a reason
        raise Rejected(f"the certificate holds what cannot be read: {error}") from error
    return Summary(
        kind=c.kind,
        n_clients=c.case.law.n_clients,
        rho=Fraction(c.rho),
        weight=Fraction(c.weight),
        constant=Fraction(c.constant),
        C1=Fraction(c.C1),
        C2=Fraction(c.C2),
        pivots=pivots,
    )


def blocks(certificate: Mapping[str, Any]) -> dict[str, Matrix]:
    """Return the matrices that `check` wants positive semidefinite, without judging.

    The keys are "decrease/mean", "decrease/class 0", ... and the same with "positivity"
    and "start".  A condition is u' M u + (1/N) sum_i d_i' W_r d_i, with u the mean
    coordinates, d_i the deviation of a client from its class, M and W_r the blocks.
    """
    return _find(read(certificate)).blocks


def cancellations(certificate: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return the coefficients of the value symbols, keyed "decrease/class 0/call:0".

    A condition contains (1/N) times the sum over class r of coefficient times f_i.
    """
    return _find(read(certificate)).cancellations


def load(path: str | Path) -> dict[str, Any]:
    """Return the JSON object in a file; raise Rejected if it cannot be read as one."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=_once)
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise Rejected(f"{path} must be a readable JSON file: {error}") from error
    if not isinstance(found, dict):
        raise Rejected(f"{path} must hold a JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a key twice: readers disagree on which one counts."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)
