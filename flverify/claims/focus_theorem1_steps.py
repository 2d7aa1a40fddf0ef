"""What the proofs of Theorem 1 of the FOCUS paper share: symbols, conditions, sums.

Conditions are polynomial: eta <= f q^(3/2)/(L sqrt N) is (eta L)^2 N <= f^2 q^3, since
both sides are positive. (tau - 1) may be 0, where a condition with it says nothing.
An inequality between squared norms and inner products of g = grad F(w) and of S, the
sum of the clients' gradients, holds in every dimension if it does for numbers: it is a
sum over coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from flverify._core.errors import InputError
from flverify.certify import gram
from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS, require_monomials
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding, Verdict
from flverify.claims.written import put_in

eta, L, mu, beta, q = sympy.symbols("eta L mu beta q", positive=True)
N, tau, R, m = sympy.symbols("N tau R m", integer=True, positive=True)

Relations = list[Any]


# both sides of eta <= f * (name), multiplied out; f is the factor
CONDITIONS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "mu/(N L^2)": lambda f: (eta * N * L**2, f * mu),
    "1/L": lambda f: (eta * L, f),
    "1/(L (tau-1))": lambda f: (eta * L * (tau - 1), f),
    "1/(L N)": lambda f: (eta * L * N, f),
    "1/((tau-1) L N)": lambda f: (eta * (tau - 1) * L * N, f),
    "1/(tau L N)": lambda f: (eta * tau * L * N, f),
    "q/N": lambda f: (eta * N, f * q),
    "q/N^2": lambda f: (eta * N**2, f * q),
    "q/L^2": lambda f: (eta * L**2, f * q),
    "q/(L N)": lambda f: (eta * L * N, f * q),
    "q/(N^2 L)": lambda f: (eta * L * N**2, f * q),
    "q/(beta N)": lambda f: (eta * beta * N, f * q),
    "q/(beta N (4-q))": lambda f: (eta * beta * N * (4 - q), f * q),
    "q/(N (8 L^2/mu + mu/2))": lambda f: (
        eta * N * (16 * L**2 + mu**2),
        2 * f * q * mu,
    ),
    "q/(L sqrt N)": lambda f: (eta**2 * L**2 * N, f**2 * q**2),
    "q/(L sqrt(2 N))": lambda f: (2 * eta**2 * L**2 * N, f**2 * q**2),
    "q^(3/2)/(L sqrt N)": lambda f: (eta**2 * L**2 * N, f**2 * q**3),
    "q^(3/2)/(L N)": lambda f: (eta**2 * L**2 * N**2, f**2 * q**3),
    "q^(3/2)/(L (tau-1))": lambda f: (eta**2 * L**2 * (tau - 1) ** 2, f**2 * q**3),
}


def conditions(caps: Mapping[str, str]) -> Relations:
    """Return what the caps, monomials with their factors, say of the step size.

    Raises
    ------
    UnknownNameError
        If a monomial is not known.

    Examples
    --------
    >>> conditions({"1/(L N)": "1/4"})
    [L*N*eta <= 1/4]
    """
    require_monomials(caps, CONDITIONS)
    sides = (CONDITIONS[name](rational(f)) for name, f in caps.items())
    return [sympy.Le(left, right) for left, right in sides]


# q_min in each reading: the q_i sum to at most 1; 1/m for cohorts of m; a probability
RANGE_OF_Q: dict[str, Relations] = {
    Q_READINGS[0]: [N * q <= 1],
    Q_READINGS[1]: [sympy.Eq(m * q, 1), m <= N],
    Q_READINGS[2]: [q <= 1],
}


def for_each_q(
    given: Relations,
    needs: Mapping[str, Any],
    scope: str,
    *,
    scaled: bool = True,
    besides: Mapping[str, Finding] | None = None,
    apart: Callable[[Relations], Mapping[str, Finding]] = lambda _: {},
) -> Finding:
    """Judge under every reading of q_min that given relations imply all the needs.

    Each reading implies q <= 1, so a need that follows from that alone does in all of
    them. `besides` are findings that do not depend on the reading; `apart` gives those
    that do, from what the reading knows of q.
    """
    always = for_any_q(given, needs, scope, scaled=scaled)

    def parts(known: Relations) -> dict[str, Finding]:
        return {
            name: found
            if found.passes()
            else implied([*known, *given], needs[name], scope, scaled=scaled)
            for name, found in always.items()
        }

    return judge.readings(
        {
            name: judge.all_of({**parts(known), **(besides or {}), **apart(known)})
            for name, known in RANGE_OF_Q.items()
        }
    )


def for_any_q(
    given: Relations, needs: Mapping[str, Any], scope: str, *, scaled: bool = True
) -> dict[str, Finding]:
    """Judge, one by one, that given relations imply all the needs for 0 < q <= 1."""
    return {
        name: _from_few([q <= 1, *given], need, scope, scaled=scaled)
        for name, need in needs.items()
    }


def _from_few(given: Relations, need: Any, scope: str, *, scaled: bool) -> Finding:
    """Judge with the hypotheses that speak of the need's symbols, else with all."""
    spoken = need.free_symbols | {q}
    few = [h for h in given if h.free_symbols <= spoken]
    found = implied(few, need, scope, scaled=scaled)
    if found.passes():
        return found
    return implied(given, need, scope, scaled=scaled)


def implied(
    hypotheses: Iterable[Any], conclusion: Any, scope: str, *, scaled: bool = True
) -> Finding:
    """Judge an implication; at L = 1 if its relations keep their form under f -> c f.

    Parameters
    ----------
    hypotheses : iterable of relations
    conclusion : relation
    scope : str
    scaled : bool
        Whether to judge at L = 1; if not, for every L.

    Raises
    ------
    InputError
        If a relation changes its form when eta L, mu/L and beta/L are kept.
    """
    plain, goal = tuple(hypotheses), conclusion
    if scaled:
        plain, goal = tuple(map(without_scale, plain)), without_scale(goal)
        scope = f"{scope}; L = 1 by scaling f"
    enough = (goal,) if goal in plain else plain  # fewer hypotheses prove more
    found = _implied(enough, goal, scope)
    if scaled and found.verdict == Verdict.REFUTED:
        return replace(found, reason=f"{found.reason}, L = 1")
    return found


@cache
def _implied(hypotheses: tuple[Any, ...], conclusion: Any, scope: str) -> Finding:
    return judge.implied(hypotheses, conclusion, scope)


def implied_under(
    caps: Relations, nearby: Relations, conclusion: Any, scope: str
) -> Finding:
    """Judge an implication; refute it under the caps printed nearby, too, if it can be.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> implied_under([x <= 4], [x <= 2], x <= 1, "all x").evidence["given"]
    ['x <= 4', 'x <= 2']
    >>> implied_under([x <= 4], [x <= 1], x <= 1, "all x").evidence["given"]
    ['x <= 4']
    """
    found = judge.implied([*caps, *nearby], conclusion, scope)
    refuted = found.verdict == Verdict.REFUTED
    return found if refuted else judge.implied(caps, conclusion, scope)


def without_scale(relation: Any) -> Any:
    """Put L = 1 in a relation, after checking that it keeps its form under scaling.

    Raises
    ------
    InputError
        If it does not.

    Examples
    --------
    >>> without_scale(eta * L * N <= 1)
    N*eta <= 1
    """
    gap = sympy.together(relation.lhs - relation.rhs)
    scaled = gap.subs({eta: eta / L, mu: mu * L, beta: beta * L}, simultaneous=True)
    ratio = sympy.cancel(scaled / gap.subs(L, 1))
    if ratio.free_symbols - {L}:
        raise InputError(
            f"a relation must keep its form under f -> c f to be judged at L = 1; got "
            f"{relation}; judge it for every L."
        )
    return put_in(relation, {L: 1})


def asked_by(lemmas: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return what lemmas ask of the step size, by label.

    Examples
    --------
    >>> asked_by({"Lemma 3": {"1/(L (tau-1))": "1/3"}})
    {'Lemma 3, eta <= 1/3 1/(L (tau-1))': L*eta*(tau - 1) <= 1/3}
    """
    return {
        f"{lemma}, eta <= {factor} {name}": relation
        for lemma, caps in lemmas.items()
        for (name, factor), relation in zip(caps.items(), conditions(caps), strict=True)
    }


def stale() -> Any:
    """Factor of ||1 w - x||^2 in (87) with both weights 1."""
    return N * (2 * L**2 + 8 * eta**2 * (tau - 1) ** 2 * L**4)


def plugged_87(factors: tuple[str, str], weighted: tuple[str, str]) -> Finding:
    """Judge that (87), its weights at most 1, bounds E by factors times ||1 w - x||^2.

    E <= a U + b V with U and V the squares weighted by I - Q and by Q, U + V their
    whole, a = 2 L^2 N and b = 8 eta^2 (tau-1)^2 L^4 N. `weighted` are the factors of
    (87), `factors` those claimed.
    """
    U, V, E = sympy.symbols("U V E", nonnegative=True)
    first, second = L**2 * N, eta**2 * (tau - 1) ** 2 * L**4 * N
    a, b = (rational(f) for f in weighted)
    known = a * first * U + b * second * V >= E
    c, d = (rational(f) for f in factors)
    claimed = (c * first + d * second) * (U + V) >= E
    return judge.implied([known], claimed, "every eta, L > 0, N, tau >= 1, 0 <= Q <= I")


# (103) and (111) --------------------------------------------------------------------

SMOOTH = tuple(product((1, 2, 5), ("1/100", "1/4", "2"), ("1", "1/100", "100")))
SMOOTH_SCOPE = (
    "every L-smooth F, all vectors w and S, N = 1, 2, 5, eta L = 1/100, 1/4, 2, "
    "L = 1, 1/100, 100"
)
EVERY_F = "every eta, L > 0, N, vectors w and S, and f_i as in Assumption 2"
F, F_next, cross = sympy.symbols("F F_next cross", real=True)  # cross = <g, S>
E, G, S_2 = sympy.symbols("E G S_2", nonnegative=True)  # |N g - S|^2, |g|^2, |S|^2


def smooth_step(half: str, distance: str, gradient: str) -> Finding:
    """Judge the chain of (103): the descent lemma at w - eta S, then Jensen for S."""
    first, last = _step_bounded(half, distance, gradient)
    return judge.all_of(
        {
            "Assumption 2 for F": smooth_mean(half),
            "first line": judge.proof_or_search(first, _searched(half, None)),
            "last line": judge.proof_or_search(
                last, _searched(half, (distance, gradient))
            ),
            "last line from the one before": _split(half, distance, gradient),
        }
    )


@cache
def smooth_mean(half: str = "1/2") -> Finding:
    """Judge Assumption 2 as printed, at w - eta S and w, for F: every f_i obeys it.

    By induction over the clients: sums of n of them obey it with n L for L. `half` is
    the factor of L for F.
    """
    before, after, inner = sympy.symbols("sum_f sum_f_next sum_inner", real=True)
    f, f_next, one = sympy.symbols("f f_next inner", real=True)
    n = sympy.Symbol("n", positive=True)
    square = eta**2 * L / 2 * S_2
    known = [
        after <= before - eta * inner + n * square,
        f_next <= f - eta * one + square,
    ]
    more = after + f_next <= before + f - eta * (inner + one) + (n + 1) * square
    whole = n * F_next <= n * F - n * eta * cross + n * square
    return judge.all_of(
        {
            "n + 1 clients": judge.implied(known, more, EVERY_F),
            "the mean": judge.implied([whole], assumption_2(half), EVERY_F),
        }
    )


def assumption_2(half: str = "1/2") -> Any:
    """Return Assumption 2 for F at w - eta S and w."""
    return F_next <= F - eta * cross + rational(half) * eta**2 * L * S_2


def decrease(distance: str, slope: str, held: Relations) -> Finding:
    """Judge F(w - eta S) <= F + distance eta/N |N g - S|^2 - slope eta N |g|^2.

    What is shown for one coordinate of g and S is added to Assumption 2 for F.
    """
    g, S = sympy.symbols("g S", real=True)

    def added(apart: Any, square: Any) -> Any:
        up, down = rational(distance) * eta / N, rational(slope) * eta * N
        return up * apart - down * square

    moved = -eta * g * S + eta**2 * L / 2 * S**2
    one = moved <= added((N * g - S) ** 2, g**2)
    known = [assumption_2(), -eta * cross + eta**2 * L / 2 * S_2 <= added(E, G)]
    return judge.all_of(
        {
            "Assumption 2 for F": smooth_mean(),
            "a coordinate": implied(held, one, EVERY_F),
            "put in": judge.implied(known, F_next <= F + added(E, G), EVERY_F),
        }
    )


def _step_bounded(half: str, distance: str, gradient: str) -> tuple[Finding, Finding]:
    """Judge both lines from Assumption 2, the last with Jensen for every coordinate."""
    jensen = _split("1/2", distance, gradient)
    bound = rational(distance) * E + rational(gradient) * N**2 * G
    known = [assumption_2(), bound >= S_2 / 2]
    line = F - eta * cross
    first = F_next <= line + rational(half) * eta**2 * L * S_2
    last = judge.implied(known, F_next <= line + eta**2 * L * bound, EVERY_F)
    return (
        judge.implied(known[:1], first, EVERY_F),
        judge.all_of({"Jensen": jensen, "put in": last}),
    )


def _searched(half: str, split: tuple[str, str] | None) -> Finding:
    listed = (_descent(n, step, top, half, split) for n, step, top in SMOOTH)
    return judge.vectors(listed, SMOOTH_SCOPE)


def _descent(
    n: int, scaled: str, top: str, half: str, split: tuple[str, str] | None
) -> tuple[dict[str, Any], Any]:
    smooth = Fraction(top)
    step = Fraction(scaled) / smooth
    F = gram.Function("F", smooth, -smooth)
    w, S = gram.vector("w"), gram.vector("S")
    g = F.gradient(w)
    right = F.value(w) - step * gram.inner(g, S)
    if split is None:
        right = right + step**2 * smooth * Fraction(half) * gram.square(S)
    else:
        distance, gradient = map(Fraction, split)
        right = right + step**2 * smooth * distance * gram.square(n * g - S)
        right = right + step**2 * n**2 * smooth * gradient * gram.square(g)
    where = {"N": n, "eta": step, "L": smooth}
    return where, F.value(w - step * S) <= right


def _split(half: str, distance: str, gradient: str) -> Finding:
    """(eta^2 L/2)|S|^2 <= eta^2 L |N g - S|^2 + eta^2 N^2 L |g|^2, for numbers."""
    g, S = sympy.symbols("g S", real=True)
    left = eta**2 * L * rational(half) * S**2
    right = eta**2 * L * rational(distance) * (N * g - S) ** 2
    right += eta**2 * N**2 * L * rational(gradient) * g**2
    return judge.implied([], left <= right, "every eta, L > 0, N, g, S")


# sums over rounds ---------------------------------------------------------------------


@cache
def summed(scope: str, last: str = "b_(R+1)") -> Finding:
    """Judge that a_r <= k (b_r - b_{r+1}) + l c_r + e d_r may be summed over r.

    By induction over R: the sums for R, and the inequality at r = R, give those for
    R + 1, with the `last` b; for R = 0 both sides are 0. With b = 0 it is a plain sum.
    """
    k, ell, e = sympy.symbols("k l e", nonnegative=True)
    first, now, after = sympy.symbols("b_0 b_R b_(R+1)", real=True)
    sums = sympy.symbols("sum_a sum_c sum_d", real=True)
    new = sympy.symbols("a_R c_R d_R", real=True)
    until = sums[0] <= k * (first - now) + ell * sums[1] + e * sums[2]
    here = new[0] <= k * (now - after) + ell * new[1] + e * new[2]
    longer = {s: s + t for s, t in zip(sums, new, strict=True)}
    longer[now] = {"b_R": now, "b_(R+1)": after}[last]
    return judge.implied([until, here], put_in(until, longer), scope)
