"""Appendix C.2 of the FOCUS paper: (51) of Lemma 2, and (55) to (57) of Theorem 2.

(51) compares the mean of iteration k + tau with the models of iteration k_0 + tau.
(55) is printed for the k of (54), k != r tau, where it is true and says less. It serves
as (57), for k = r tau, where it is true as well, by (40) and the variance above it.

Conventions: K is tau, or a reading of its own; sigma and delta stand for squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import claim
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

EVERY = "every N, law with q_i of sum 1, dimension, tau, eta and all models"
eta, L, mu, tau = sympy.symbols("eta L mu tau", positive=True)
n, m, Q, s = sympy.symbols("n m Q s", nonnegative=True)  # n = tau - 1
SAME = "(iii) K is tau, and k + tau stands for k_0 + tau"
READINGS = {
    "(i) K is tau": ("k + tau", "tau"),
    "(ii) K is the number of iterations": ("k + tau", "K"),
    SAME: ("k_0 + tau", "tau"),
}
# of the print; in multiples of Delta, and beyond tau - 1 terms and k_0 + tau
PRINTED_51 = {"factor": "4", "each": 1, "more": 0, "later": 0}


# (51) ----------------------------------------------------------------------------


@claim(
    "focus.lemma2.step51",
    source=Source("focus", "eq. (51), with the sentences around it"),
    statement=r"\sum_iq_i\|\bar x_k-x_{k,i}\|^2\le\Delta\ \forall k\le k_0+\tau-1\;"
    r"\Rightarrow\;\sum_iq_i\|\bar x_{k+\tau}-x_{k_0+\tau,i}\|^2\le4\eta^2(\tau-1)^2(2L"
    r"^2\Delta+\delta_q^2+\sigma_G^2)=\Delta,\quad\Delta=\frac{4\eta^2(K-1)^2(\delta_q^2"
    r"+\sigma_G^2)}{1-8\eta^2(K-1)^2L^2}",
    proposition="If the disagreement is at most Delta from the common model at k_0 to "
    "k_0 + tau - 1, the inequality holds for each of these k, by (50) with at most "
    "tau - 1 terms, and so does the equality.",
    given={"(50)": ("focus.lemma2.step48", "focus.lemma2.step49c")},
    constants=PRINTED_51,
    twin={"factor": "3"},
    reading_twins={
        f"{SAME} / one iteration": {"later": 1},
        f"{SAME} / a term": {"each": 2},
        f"{SAME} / m terms": {"more": 1},
    },
    no_control="what K is, and whether the mean is of the iteration of the models, is "
    "not printed; the twin, 3 eta^2 for 4 eta^2, fails under every reading",
)
def induction(c: SimpleNamespace) -> Finding:
    """Take (50) term by term; follow one client, which is its own mean."""
    found = {name: _step_51(c, *which) for name, which in READINGS.items()}
    return judge.readings(found).corrected(
        r"\sum_iq_i\|\bar x_{k'}-x_{k',i}\|^2\le\Delta,\;k_0\le k'<k\le k_0+\tau-1\;"
        r"\Rightarrow\;\sum_iq_i\|\bar x_k-x_{k,i}\|^2\le\Delta,\quad K=\tau,\text{ "
        r"}x_{k_0}\text{ common}",
        _step_51(SimpleNamespace(**PRINTED_51), *READINGS[SAME]),
    )


def _step_51(c: SimpleNamespace, mean: str, name: str) -> Finding:
    """Bound m <= tau - 1 terms of (50), and solve for Delta."""
    D, ahead = sympy.Symbol("Delta", nonnegative=True), sympy.Symbol("k - k_0")
    of_k = mean == "k + tau"
    last = n if name == "tau" else 100 * (n + 1) - 1  # K - 1
    solved = 4 * eta**2 * last**2 * s / (1 - 8 * eta**2 * last**2 * L**2)
    four = rational(c.factor)
    whole = [
        ("of (50)", n * n * (8 * L**2 * D + 4 * s), four * n**2 * (2 * L**2 * D + s)),
        ("= Delta", four * eta**2 * n**2 * (2 * L**2 * solved + s), solved),
    ]
    term = 8 * L**2 * Q + 4 * s <= 8 * L**2 * D + 4 * s
    moved = ahead if of_k else c.later
    index = judge.identity([("iteration of the mean", moved, 0)], "every k")
    search = judge.instances(
        _one_client(c.later, of_k=of_k), "<=", "N = 1, f = x^2/2, tau = 2, 3"
    )
    return judge.all_of(
        {
            "one iteration": judge.proof_or_search(index, search),
            "a term": judge.implied([c.each * D >= Q], term, EVERY),
            "m terms": judge.implied([m <= n + c.more], m * Q <= n * Q, EVERY),
            "the sum": judge.identity(whole, EVERY),
        }
    )


def _one_client(later: int, *, of_k: bool) -> Iterator[judge.Case]:
    """Compare the mean of k + tau, or k_0 + tau, with x_{k_0+tau}; Delta is 0."""
    step = Fraction(1, 8)
    for steps, start in product((2, 3), (1, 2)):
        for ahead in range(steps) if of_k else [later]:
            where = {"f_1": "x^2/2", "L": 1, "law": "full:1", "N": 1, "tau": steps}
            where |= {"step size": step, "x_1": start, "k_0": 1, "k": 1 + ahead}
            where |= {"sigma_G^2": 0, "delta_q^2": 0, "Delta": 0}
            kept = start * (1 - step) ** steps
            left = (kept * (1 - step) ** ahead - kept) ** 2
            again = _descends(Fraction(start), step, steps, ahead)
            yield judge.Case(where, left, 0, cohorts.sides(again, Fraction(0)))


def _descends(x: Fraction, step: Fraction, steps: int, ahead: int) -> Fraction:
    """Return the same by steps of f'(x) = x."""
    models = [x]
    for _ in range(steps + ahead):
        models.append(models[-1] - step * models[-1])
    return (models[-1] - models[steps]) ** 2


# (55) to (57) --------------------------------------------------------------------

PRINTED = "(i) (57) from (54) and (55) as printed, k != r tau"
SHOWN = "(ii) (57) from (40), Lemmas 1 and 2 and the variance before (55)"


@claim(
    "focus.thm2.step55",
    source=Source("focus", "eq. (55) and its use in (57)"),
    statement=r"k\ne r\tau:\;\mathbb{E}\|\bar x_{k+1}-x^\star\|^2\le(1-\eta\mu/2)\|"
    r"\bar x_k-x^\star\|^2+\frac{40\eta^3L^2(\tau-1)^2}\mu(\delta_q^2+\sigma_G^2)+"
    r"\frac{5\eta}\mu\delta_q^2+8\eta^2K^2(\delta_q^2+\sigma_G^2);\quad k=r\tau:\;"
    r"A_{k+1}\le(1-\alpha)A_k+B+C",
    proposition="(57), the recursion at k = r tau, follows (i) from (54) and (55), "
    "printed for k != r tau; (ii) from what (55) is made of, with K >= tau. Below, "
    "drift and noise are B and C.",
    given={
        "(40)": "focus.eq38_40.expansion",
        "Lemma 1": "focus.lemma1",
        "Lemma 2": "focus.lemma2",
    },
    constants={"drift": "40", "bias": "5", "variance": "8", "Lemma 2": "V <= Q"},
    twin={"drift": "39", "bias": "4", "variance": "7"},
    reading_twins={f"{SHOWN} / w V": {"Lemma 2": "V >= Q"}},
    no_control="as printed (55) says nothing of the k that it is used for, where what "
    "it says is true; the twin, smaller factors, fails from both",
)
def at_communications(c: SimpleNamespace) -> Finding:
    """Judge (55) for the k that it is printed for, and (57) from it and without it."""
    at_others, at_these = _recursion(c, communicated=False), _from_nothing()
    found = {
        PRINTED: judge.all_of({"(55), k != r tau": at_others, "(57)": at_these}),
        SHOWN: _recursion(c, communicated=True),
    }
    return judge.readings(found).corrected(
        r"\text{(55) for }k=r\tau,\;K=\tau", _recursion(c, communicated=True)
    )


now, after, disagree, apart = sympy.symbols("A_k A_next V W", nonnegative=True)
sigma, delta = sympy.symbols("sigma delta", nonnegative=True)
drift, noise = sympy.symbols("drift noise", nonnegative=True)  # B is 0 at tau = 1
weight, K = sympy.symbols("w K", positive=True)


def _recursion(c: SimpleNamespace, *, communicated: bool) -> Finding:
    """Put Lemma 2 into Lemma 1, and add the variance W where models are averaged.

    w = 5 eta L^2/mu; V and W are disagreements of x_k and of y_{k+1}, by (46) and (47).
    """
    both, printed = sigma + delta, rational(c.variance) * eta**2 * K**2
    x_bound, y_bound = 8 * eta**2 * n**2 * both, 8 * eta**2 * tau**2 * both
    made = rational(c.drift) * eta**3 * L**2 * n**2 / mu * both
    lemma = 5 * eta / mu * delta
    bias = rational(c.bias) * eta / mu * delta
    kept = sympy.Symbol("kept", nonnegative=True)  # of (1 - eta mu/2) A_k
    most = kept + drift + bias
    held = [after <= kept + weight * disagree + lemma + (apart if communicated else 0)]
    held += [weight * disagree <= drift]
    held += [apart <= noise] if communicated else []
    order = {"V <= Q": disagree <= Q, "V >= Q": disagree >= Q}[getattr(c, "Lemma 2")]
    parts = {
        "drift": judge.identity(
            [("w times (46)", 5 * eta * L**2 / mu * x_bound, made)], EVERY
        ),
        "w V": judge.implied([order], weight * disagree <= weight * Q, EVERY),
        "together": judge.implied(held, after <= most + noise, EVERY),
    }
    if communicated:
        last = judge.implied([tau <= K], y_bound <= printed * both, EVERY)
        parts["8 eta^2 K^2"] = last
    return judge.all_of(parts)


def _from_nothing() -> Finding:
    """(54) and (55) have no k = r tau: A_{k+1} there is any number."""
    limit = now / 2 + drift + noise
    return judge.implied([], after <= limit, "k = r tau")
