"""Appendix C of the FOCUS paper, (29)-(40): what the proof about FedAvg is set up with.

delta_q of (29) is finite, and at most sigma_G, over consensual x and if the q_i sum to
1; over all stacked x the bound fails even for equal clients, and the equality printed
for sigma_G^2 is an inequality. In (32) the cohort averaged at k = r tau is not the one
that pulled at k = (r-1) tau + 1, wherever rounds are counted from. (33)-(35) reproduce
FedAvg if the first iteration is k = 1. (40) needs the q_i to sum to 1, that is rounds
that are never empty.

Conventions: V(S) is the A(S) of Figure 6; in searches clients are scalar quadratics,
for delta_q those of `flverify.claims.parallel_clients`, whose sigma_G is finite; an
empty round leaves the server's model, and q_i = E[I_i/|S|] with 0/0 = 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import claim
from flverify.claims.fedavg_any_round import all_rows_averaged, pulled_and_averaged
from flverify.claims.fedavg_averages import gaps_below, mean_below, weighted_mean
from flverify.claims.fedavg_expansion import expanded
from flverify.claims.fedavg_recursions import Run, single_line
from flverify.claims.fedavg_rows import by_counting, runs_through, stepped
from flverify.claims.mixing_cases import SOME
from flverify.claims.parallel_clients import Setting
from flverify.claims.parallel_families import (
    BALANCED,
    BIASED,
    WITH_EMPTY_ROUNDS,
    family,
    heterogeneity_again,
    mismatch_again,
)
from flverify.claims.printed_mixing import virtual
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import column, tidy
from flverify.claims.verdict import Finding
from flverify.mixing import aggregation_matrix, pull_matrix

# (29) ----------------------------------------------------------------------------

STACKED, CONSENSUAL = "(i) all stacked x", "(ii) consensual x = 1x"
WITH_EMPTY = "(ii) consensual x = 1x, rounds may be empty"
AT_MOST = "(ii) consensual x = 1x, the mean of squares at most sigma_G^2"
BOUND = "delta_q^2 <= sigma_G^2"
EVERY = "every N, dimension, x, f_i of Assumption 5 and q_i of sum 1"


@claim(
    "focus.eq29.delta_q",
    source=Source("focus", "eq. (29) and the paragraph after"),
    statement=r"\|q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x})-u^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x})\|^2\le\delta_q^2,\;\forall\boldsymbol{x};\quad"
    r"\delta_q^2\le\sigma_G^2:\;\|q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x})-"
    r"\nabla F(\boldsymbol{x})\|^2\le\sum_{i=1}^Nq_i\|\nabla f_i(\bar x_k)-\nabla "
    r"F(\bar x_k)\|^2=\sigma_G^2;\quad q=u\Rightarrow\delta_q^2=0",
    proposition="Under Assumption 5, with q_i of sum 1 unless rounds may be empty, the "
    "left side of (29) is at most sigma_G^2 for all x meant, the weighted mean of "
    "squares being sigma_G^2, or at most that, and delta_q = 0 if q = u.",
    constants={"relation": "==", "part of the bound": "1", "Jensen": 1, "q": "u"},
    twin={"part of the bound": "1/2"},
    reading_twins={
        f"{AT_MOST} / Jensen": {"Jensen": Fraction(1, 2)},
        f"{AT_MOST} / q = u": {"q": "not u"},
    },
)
def mismatch(c: SimpleNamespace) -> Finding:
    """Judge each relation; under (i), and with empty rounds, the bound alone."""
    part = Fraction(getattr(c, "part of the bound"))
    judged = {
        STACKED: lambda: judge.instances(
            [_stacked(h) for h in (1, 2)], "<=", "two equal clients"
        ),
        CONSENSUAL: lambda: _consensual(c.relation, part, c.Jensen, c.q),
        AT_MOST: lambda: _consensual("<=", part, c.Jensen, c.q),
        WITH_EMPTY: lambda: judge.instances(_far_out(), "<=", "one or two clients"),
    }
    found = judge.readings({name: one() for name, one in judged.items()})
    return found.corrected(
        r"\|q^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}x)-\nabla F(x)\|^2\le\sum_iq_i"
        r"\|"
        r"\nabla f_i(x)-\nabla F(x)\|^2\le\sigma_G^2\ \forall x,\ \text{if }"
        r"\sum_iq_i=1",
        _consensual("<=", Fraction(1)),
    )


def _stacked(h: int) -> judge.Case:
    """Equal clients h x^2/2 at x = (1, 0): sigma_G = 0, but the left side is not."""
    q, x = (Fraction(1, 4), Fraction(3, 4)), (1, 0)
    where = {"f_i": "h x^2/2", "h": h, "q": list(q), "x_1, x_2": list(x)}
    mean = sum((w * h * v for w, v in zip(q, x, strict=True)), Fraction(0))
    left = (mean - Fraction(h * sum(x), 2)) ** 2
    return judge.Case(where, left, 0, partial(_stacked_again, h))


def _stacked_again(h: int) -> tuple[Any, Any]:
    law = {frozenset({1}): Fraction(1, 4), frozenset({2}): Fraction(3, 4)}
    slopes = {1: Fraction(h), 2: Fraction(0)}
    means = (p * slopes[i] for s, p in law.items() for i in s)
    gap = sum(means, Fraction(0)) - sum(slopes.values()) / 2
    return gap * gap, Fraction(0)


def _far_out() -> list[judge.Case]:
    """q_i sum to less than 1: the left side grows with x, sigma_G does not."""
    out = []
    for law in WITH_EMPTY_ROUNDS:
        n, x = law.n_clients, Fraction(10)
        q = law.averaging_weights().tolist()
        where = {"f_i": "x^2/2", "law": law.spec, "q": q, "x": x}
        left = ((sum(q) - 1) * x) ** 2
        chance = sum(
            (Fraction(p) for s, p in law.support().items() if not s), Fraction(0)
        )
        again = cohorts.sides((chance * x) ** 2, 0)
        out.append(judge.Case(where | {"N": n}, left, 0, again))
    return out


def _consensual(
    relation: str, part: Fraction, jensen: Any = 1, q: str = "u"
) -> Finding:
    means = f"weighted mean {relation} sigma_G^2"
    found = {
        "Jensen": weighted_mean(EVERY, rational(jensen)),
        "q = u": _no_mismatch(BALANCED if q == "u" else BIASED),
        **_consensual_searched(relation, part, means),
    }
    if relation == "<=":
        proofs = {
            BOUND: gaps_below(rational(part), EVERY),
            means: mean_below(rational(part), EVERY),
        }
        found |= {k: judge.proof_or_search(p, found[k]) for k, p in proofs.items()}
    return judge.all_of(found)


def _consensual_searched(relation: str, part: Fraction, means: str) -> Any:
    settings = [s for s in family(BIASED + BALANCED, (1,)) if len(s.coordinates) == 1]
    bounded = (
        judge.Case(
            one.where(),
            one.mismatch,
            part * one.heterogeneity,
            partial(_bounds_again, one, part),
        )
        for one in settings
    )
    weighted = (
        judge.Case(
            one.where() | {"x": x},
            _weighted(one, x),
            part * one.heterogeneity,
            partial(_weighted_again, one, x, part),
        )
        for one in settings
        for x in one.coordinates[0].interval
    )
    listed = "parallel clients, six laws and more, q_i of sum 1, kappa from 1 to 10^4"
    return {
        BOUND: judge.instances(bounded, "<=", listed),
        means: judge.instances(weighted, relation, listed),
    }


def _no_mismatch(laws: Any) -> Finding:
    """Judge (q_i - u_i) grad f_i = 0 where q_i = u_i, and laws with q = u."""
    q, N, slope = sympy.symbols("q_i N grad_f_i", positive=True)
    term = ((q - 1 / N) * slope).subs(q, 1 / N)
    listed = [(one.name(), one.mismatch, 0) for one in family(laws, (1,))]
    return judge.identity([("a client's term", term, 0), *listed], EVERY)


def _bounds_again(one: Setting, part: Fraction) -> tuple[Any, Any]:
    return mismatch_again(one), part * heterogeneity_again(one)


def _weighted(one: Setting, x: Fraction) -> Fraction:
    c = one.coordinates[0]
    gaps = [c.derivative(i, x) - c.mean(x) for i in range(one.n_clients)]
    return sum((q * g * g for q, g in zip(one.weights, gaps, strict=True)), Fraction(0))


def _weighted_again(one: Setting, x: Fraction, part: Fraction) -> tuple[Any, Any]:
    """List cohorts; an end of the interval has the gradients h_i (x - b_i)."""
    c, total = one.coordinates[0], Fraction(0)
    slopes = [h * (x - b) for h, b in zip(c.curvatures, c.minimisers, strict=True)]
    mean = sum(slopes, Fraction(0)) / len(slopes)
    for s, chance in one.law.support().items():
        inner = sum(((slopes[i] - mean) ** 2 for i in s), Fraction(0))
        total += Fraction(chance) * inner / len(s)
    return total, part * heterogeneity_again(one)


# (30)-(35) -----------------------------------------------------------------------


@claim(
    "focus.eq30_32.matrix",
    source=Source("focus", "eq. (30)-(32)"),
    statement=r"\boldsymbol{y}_{k+1}=R_k\boldsymbol{x}_k,\;\boldsymbol{x}_{k+1}=A_k("
    r"\boldsymbol{y}_{k+1}-\eta D_k\nabla\boldsymbol{f}(\boldsymbol{y}_{k+1}));\quad "
    r"R_k="
    r"\begin{cases}R(S_r)&k=r\tau+1\\I&\text{otherwise}\end{cases},\;A_k=\begin{cases}"
    r"V(S_r)&k=r\tau\\I&\text{otherwise}\end{cases}",
    proposition="Started with equal models, the server rows of (30)-(32) run through "
    "the server models of (2), for all cohorts, tau, f_i and step sizes.",
    constants={"behind": 0, "rounds_from": (0, 1)},
    twin={"behind": 1, "rounds_from": (0,)},
)
def pull_and_average(c: SimpleNamespace) -> Finding:
    """Run it from both first indices; mended, from any client models."""
    return _matrix_readings(c.behind, c.rounds_from, own_starts=False).corrected(
        r"A_k=V(S_r) \text{ if } k=(r+1)\tau,\ V(S)[0,j]=1/|S| \text{ for } j\in S",
        _matrix_readings(1, (0,), own_starts=True),
    )


def _matrix_readings(
    behind: int, rounds_from: tuple[int, ...], *, own_starts: bool
) -> Finding:
    return judge.readings(
        {
            f"first index {first}, D_k lets {who} work, rounds of (2) from {late}": (
                _matrix_form(first, who == "everybody", behind, late, own_starts)
            )
            for late in rounds_from
            for first in (1, 0)
            for who in ("the cohort that pulled", "everybody")
        }
    )


@cache
def _matrix_form(
    first: int, everybody: bool, behind: int, late: int, own_starts: bool
) -> Finding:
    def begun(run: Run) -> Run:
        equal = (run.start,) * run.n_clients
        return run if own_starts else replace(run, client_starts=equal)

    listed = runs_through(
        lambda run: _rows(begun(run), first, everybody, behind),
        lambda run: _rows_again(begun(run), first, everybody, behind),
        own_starts=own_starts,
        late=late,
        clients=2,
    )
    proof = pulled_and_averaged(behind, late, everybody=everybody)
    return judge.proof_or_search(proof, listed)


def _rows(run: Run, first: int, everybody: bool, behind: int) -> list[Any]:
    """Server rows after k = tau, 2 tau, ..., by matrices."""
    n, tau = run.n_clients, run.local_steps
    x, models = column([run.start, *run.client_starts]), list[Any]()
    for k in range(first, run.rounds * tau + 1):
        begun = k >= 1 and (k - 1) % tau == 0
        y = pull_matrix(run.cohorts[(k - 1) // tau], n) @ x if begun else x
        on = _working(run, k, everybody)
        mask = column([0, *(int(i in on) for i in range(n))])
        x = tidy(y - run.step_size * mask * run.stacked_gradient(y))
        if k % tau == 0 and k // tau >= behind:
            cohort = run.cohorts[k // tau - behind]
            x = tidy(aggregation_matrix(cohort, n, reading="figure1") @ x)
        if k and k % tau == 0:
            models.append(x[0])
    return models


def _working(run: Run, k: int, everybody: bool) -> frozenset[int]:
    if everybody:
        return frozenset(range(run.n_clients))
    return run.cohorts[(k - 1) // run.local_steps] if k else frozenset()


def _rows_again(run: Run, first: int, everybody: bool, behind: int) -> list[Any]:
    """Compute the same node by node on rational runs."""
    x, models, tau = [run.start, *run.client_starts], list[Any](), run.local_steps
    for k in range(first, run.rounds * tau + 1):
        for r, cohort in enumerate(run.cohorts):
            if k == r * tau + 1:
                x = [x[0] if i - 1 in cohort else v for i, v in enumerate(x)]
        on = _working(run, k, everybody)
        x = [stepped(i - 1, v) if i - 1 in on else v for i, v in enumerate(x)]
        for r in range(behind, len(run.cohorts) + behind):
            if k == r * tau:
                chosen = run.cohorts[r - behind]
                total = sum((x[i + 1] for i in chosen), Fraction(0))
                x[0] = total / len(chosen)
        if k and k % tau == 0:
            models.append(x[0])
    return models


PATHWISE = "first index 1, rounds of (2) from 1, pathwise"
IN_LAW = "first index 1, rounds of (2) from 0, in law for i.i.d. cohorts"


@claim(
    "focus.eq33_35.virtual",
    source=Source("focus", "eq. (33)-(35)"),
    statement=r"\boldsymbol{y}_{k+1}=\boldsymbol{x}_k-\eta\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_k),\;\boldsymbol{x}_{k+1}=W_k\boldsymbol{y}_{k+1},\quad W_k="
    r"\begin{cases}I&k\ne r\tau\\W(S_r)&k=r\tau\end{cases},\;r=1,2,\dots;\quad"
    r"\text{FedAvg "
    r"equivalently, without altering the trajectory of the server's model}",
    proposition="From consensus the server rows of (33)-(35) after k = tau, 2 tau, ... "
    "are the server models of (2), and W(S) is row stochastic.",
    constants={"communication": 0, "sums": "rows"},
    twin={"communication": 1},
    no_control="the first index, and where rounds are counted from, is not printed; the"
    " twin, a communication one iteration later, fails under every reading",
    reading_twins={f"{k} / W(S)": {"sums": "columns"} for k in (PATHWISE, IN_LAW)},
)
def everybody_works(c: SimpleNamespace) -> Finding:
    """Run it for each first index and numbering of the rounds of (2)."""
    matrix = SOME.matrix(virtual())
    lines = {"rows": matrix, "columns": matrix.T}[c.sums]
    rows = judge.identity(
        [(f"sums of {c.sums}", SOME.row_sums(lines), [1] * 5)], "every N and nonempty S"
    )
    readings = {
        PATHWISE: (1, 0, 0),
        "first index 1, rounds of (2) from 0, pathwise": (1, 1, 0),
        IN_LAW: (1, 1, 1),
        "first index 0, rounds of (2) from 1, pathwise": (0, 0, 0),
    }
    return judge.readings(
        {
            name: judge.all_of(
                {"trajectory": _line(c.communication, *how), "W(S)": rows}
            )
            for name, how in readings.items()
        }
    )


@cache
def _line(communication: int, first: int, late: int, compared_from: int) -> Finding:
    """Compare (33)-(35), whose first cohort is S_late, with (2) from S_compared.

    Independent rounds of one law have the same law from any round on.
    """

    def turned(run: Run) -> Run:
        return replace(run, cohorts=(*run.cohorts[late:], *run.cohorts[:late]))

    def counted(run: Run) -> list[Any]:
        return by_counting(run, run.local_steps + 1 - first + communication, late)

    listed = runs_through(
        lambda run: single_line(turned(run), first, communication),
        counted,
        late=compared_from,
    )
    proof = all_rows_averaged(communication, late - compared_from)
    return judge.proof_or_search(proof, listed) if first == 1 else listed


# (38)-(40) -----------------------------------------------------------------------


@claim(
    "focus.eq38_40.expansion",
    source=Source("focus", "eq. (38)-(40)"),
    statement=r"\mathbb{E}_{|\boldsymbol{y}_k}\bar x_k=q^{\mathsf T}\mathbb{E}W_k"
    r"\boldsymbol{y}_k=q^{\mathsf T}\boldsymbol{y}_k;\quad\mathbb{E}\|\bar x_{k+1}-"
    r"x^\star\|^2=\begin{cases}\|\bar x_k-\eta q^{\mathsf T}\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_k)-x^\star\|^2&k\ne r\tau\\\mathbb{E}\|\bar x_{k+1}-q^{\mathsf T}"
    r"\boldsymbol{y}_{k+1}\|^2+\|\bar x_k-\eta q^{\mathsf T}\nabla\boldsymbol{f}("
    r"\boldsymbol{x}_k)-x^\star\|^2&k=r\tau\end{cases}",
    proposition="For every cohort law independent of the models, q_i = E[I_i/|S|] and "
    "all x_k, W_k = I and W_k = W(S) give these means and mean squares, whichever of "
    "W_k and W_(k-1) made xbar_k.",
    constants={"variance": 1},
    twin={"variance": 2},
    no_control="Assumption 1 does not say what an empty round is; the twin, twice the "
    "variance, fails under both readings",
)
def expansion(c: SimpleNamespace) -> Finding:
    """Take means over free probabilities; then over listed laws."""
    return judge.readings(
        {
            "(a) rounds are never empty": expanded(c.variance, empty=False),
            "(b) empty rounds keep the server's model, 0/0 = 0": expanded(
                c.variance, empty=True
            ),
        }
    )
