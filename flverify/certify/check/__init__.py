"""The independent checker: whether a certificate proves what it states.

The checker runs, it does not derive.  It plays the reference loop of the algorithm on
prescribed gradients, outcome by outcome, and forms from what it sees three quadratic
forms that must not be negative: the decrease of V along a round, V minus the squared
distance, and the bound on V at the start.  Everything is exact.  It shares nothing with
the part of the package that finds certificates, and uses the standard library alone.

The clients' functions are L-smooth and mu-strongly convex; points are measured from the
minimiser x* and gradients from g*_i, so that every function has its minimum 0 at 0.

The proof is in `_playing` (what the loop does) and `_conditions` (what must hold), with
the arithmetic of `_forms` and the moments of `_law_outcomes`.  `_reading`, `_json` and
`_certificate` only turn JSON into numbers and names, and prove nothing.

Why it is a proof for N clients although few are played.  The loop is linear in states
and gradients, and clients of one class are exchangeable, so it is enough to know what
it does to class means and to two opposite deviations.  Clients with equal slots, equal
gradients and the same part in the cohort are one kind.  A loop meets a client in the
pass of its own, which reads the server, its slots and its gradients and leaves its
slots and one summand, in a sum over clients, and in their number.  Equal clients hence
do equal things, and one of them, counted as often as there are, gives all.  Sums and
numbers over kinds that know no counts are refused (a crowd has no length), and on every
run the loop is played client by client too and must end in the same state.

Under independent participation the numbers of participants are unknown, one symbol per
class.  The loop computes with Laurent polynomials in them and in the size of the
cohort: the same statements on another ring, so that the result is right at every value
at which no divisor vanishes.  It can divide by the size alone, and the empty cohort is
an outcome of its own; a loop that asks more of a symbol (an order, a length, another
quotient) is refused.  Whatever must be equal is compared as polynomials.  What remains
is E of monomials under the law, summed number by number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ._certificate import Certificate
from ._conditions import Findings, conditions
from ._forms import Matrix, smallest_pivot
from ._json import Rejected, require
from ._law_outcomes import MOST_CLIENTS
from ._reading import read
from .one_by_one import Loop
from .plain import check_plainly

__all__ = [
    "MOST_CLIENTS",
    "Rejected",
    "Summary",
    "blocks",
    "cancellations",
    "check",
    "load",
]


@dataclass(frozen=True)
class Summary:
    """What an accepted certificate proves.

    Definition: E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|g*|^2) for a rate; for
    a neighbourhood E V+ <= rho V - weight |x - x*|^2 + constant mean|g*|^2 and
    V_0 <= C1 |x_0 - x*|^2 + C2 mean|g*|^2.  For an average, (1/K) sum_{r<K} E M_r is at
    most (C0 (f(x_0) - f(x*)) + C1 |x_0 - x*|^2 + C2 mean|g*|^2)/K and constant
    mean|g*|^2 more, M_r being f(x_r) - f(x*), or |grad f(x_r)|^2.  For a gap
    E[f(x_r) - f(x*)] <= rho^r (C0 (f(x_0) - f(x*)) + C1 |x_0 - x*|^2 + C2 mean|g*|^2)
    where |grad f|^2 >= 2 beta (f - f(x*)).  The short checker judges both.  `pivots`
    are the smallest pivots of the blocks, or a little less where these have no short
    common denominator.
    """

    kind: str
    n_clients: int
    rho: Fraction
    weight: Fraction
    constant: Fraction
    C1: Fraction
    C2: Fraction
    pivots: Mapping[str, Fraction] = field(repr=False)
    of: str | None = None
    C0: Fraction = Fraction(0)
    beta: Fraction | None = None


def _judge_numbers(c: Certificate) -> None:
    """Reject constants outside their ranges."""
    rate = c.kind in ("rate", "gap")
    require((c.kind == "average") <= (c.rho == 1), "an average needs rho 1")
    require((c.kind == "gap") <= (c.rho < 1), "a gap needs rho below 1")
    require(0 < c.rho <= 1, f"rho must be above 0 and at most 1; got {c.rho}")
    require(c.rho < 1 or c.weight > 0, "rho must be below 1 unless the weight is not 0")
    require(rate or (c.weight >= 0 and c.constant >= 0), "s and c must not be negative")
    require(min(c.C0, c.C1, c.C2) >= 0, "C0, C1 and C2 must not be negative")
    require(all(v.delta >= 0 for v in c.values), "delta must not be negative")


def _judge_words(c: Certificate) -> None:
    """Reject words that say something else than what is checked."""
    for key, (given, meant) in c.words.items():
        require(given == meant, f"the {key} must be, for what is checked, {meant!r}")


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
    flverify.certify.check._json.Rejected: a certificate must have the keys
    """
    try:
        c = examined(certificate)
        if c.wide is not None:
            check_plainly(certificate)
            return summary(c, {})
        pivots = _judge(conditions(c))
    except RecursionError as error:
        raise Rejected("the certificate must not be nested so deeply") from error
    except (ArithmeticError, ValueError) as error:  # such as an integer too long
        raise Rejected(f"the certificate holds what cannot be read: {error}") from error
    return summary(c, pivots)


def examined(certificate: Mapping[str, Any], own: Loop | None = None) -> Certificate:
    """Return a certificate in numbers, whose words and digest are right.

    Its conditions are not judged.
    """
    c = read(certificate, own)
    _judge_numbers(c)
    _judge_words(c)
    require(_digest(certificate) == certificate["digest"], "the digest must match")
    return c


def summary(c: Certificate, pivots: Mapping[str, Fraction]) -> Summary:
    """Say what a certificate proves whose conditions hold."""
    own, scale = c.wide, Fraction(1)
    if own is not None:
        scale = own.least if c.kind == "gap" else own.weight
    return Summary(
        kind=c.kind,
        n_clients=c.case.law.n_clients,
        rho=Fraction(c.rho),
        weight=c.weight / scale,
        constant=c.constant / scale,
        C1=c.C1 / scale,
        C2=c.C2 / scale,
        pivots=pivots,
        of=own.of if own else None,
        C0=c.C0 / scale,
        beta=own.beta if own and c.kind == "gap" else None,
    )


def blocks(certificate: Mapping[str, Any]) -> dict[str, Matrix]:
    """Return the matrices that `check` wants positive semidefinite, without judging.

    The keys are "decrease/mean", "decrease/class 0", ... and the same with "positivity"
    and "start".  A condition is u' M u + (1/N) sum_i d_i' W_r d_i, with u the mean
    coordinates, d_i the deviation of a client from its class, M and W_r the blocks.
    """
    return _seen(certificate).blocks


def cancellations(certificate: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return the coefficients of the value symbols, keyed "decrease/class 0/call:0".

    A condition contains (1/N) times the sum over class r of coefficient times f_i.
    """
    return _seen(certificate).cancellations


def _seen(certificate: Mapping[str, Any]) -> Findings:
    c = read(certificate)
    require(c.wide is None, f"the short checker alone judges the kind {c.kind!r}")
    return conditions(c)


def load(path: str | Path) -> dict[str, Any]:
    """Return the JSON object in a file; raise Rejected if it cannot be read as one."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=_once)
    except (OSError, TypeError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise Rejected(f"{path} must be a readable JSON file: {why}") from error
    if not isinstance(found, dict):
        raise Rejected(f"{path} must hold a JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a key twice: readers disagree on which one counts."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)
