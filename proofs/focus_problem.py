"""The problem (1), FedAvg (2), its constrained form (9)-(10), and (28): FOCUS paper.

(1), (9)-(10) and (28) fit together. In (2c) the average is over x_{tau+1,i}, which the
loop (2b), t = 0, ..., tau-1, does not reach. The neighbourhood in which Section 4.1
has FedAvg end depends on all that is named there, but for some heterogeneous clients
and some laws it is a point.

Conventions: sample losses, where expectations are written out, have two samples per
client; f_0 = 0; (2c) divides by |S_r|, so rounds are not empty there; limits of FedAvg
are those of `flverify.claims.parallel_clients`, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify import mixing
from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.any_number import (
    CLIENTS,
    means_of_gradients,
    rows_add_up,
    with_symbols,
)
from flverify.claims.claim import claim
from flverify.claims.fedavg_any_round import all_rows_averaged
from flverify.claims.fedavg_recursions import Run, formal_runs, single_line
from flverify.claims.fedavg_two_clients import grows
from flverify.claims.mixing_cases import NONE, SOME
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.parallel_families import limit_again
from flverify.claims.printed_mixing import pull
from flverify.claims.schedules import made_before
from flverify.claims.verdict import Finding
from flverify.participation import ExplicitLaw, Full, UniformCohort

SMALL = "N = 1..4, d = 1..3, every differentiable f_i"
LISTED_TOO = "what is listed for small sizes is a second computation"
Function = Callable[[Sequence[Any]], Any]


# (1), (9)-(10), (28) -------------------------------------------------------------


@claim(
    "focus.eq1.problem",
    source=Source("focus", "eq. (1)"),
    statement=r"F(x):=\frac1N\sum_{n=1}^Nf_n(x),\quad f_n(x):=\mathbb{E}_{\xi\sim"
    r"\mathcal{D}_n}\hat f_n(x;\xi),\quad x\in\mathbb{R}^d",
    proposition="grad F is the mean over clients of the expected sample gradients, "
    "N grad F is the sum that (28) has, and F is the objective of (9) at consensus.",
    constants={"factor": 1},
    twin={"factor": 2},
    exact=("factor",),
)
def problem(c: SimpleNamespace) -> Finding:
    """Differentiate F with two samples per client, of any probabilities."""
    pairs: list[judge.Pair] = []
    for n, dim in product((1, 2, 3, 4), (1, 2, 3)):
        x = sympy.symbols(f"x1:{dim + 1}")
        clients = [_sampled(i) for i in range(1, n + 1)]
        F = c.factor * sum(f(x) for f, _ in clients) / n
        gradient = [sympy.diff(F, v) for v in x]
        mean = [sum(g(x, v) for _, g in clients) / n for v in x]
        total = [sum(sympy.diff(f(x), v) for f, _ in clients) for v in x]
        label = f"N = {n}, d = {dim}"
        pairs += [
            (f"{label}: gradient", gradient, mean),
            (f"{label}: (28)", [n * v for v in gradient], total),
            (f"{label}: (9)", F, sum(f(x) for f, _ in clients) / n),
        ]
    return judge.all_of(
        {
            "small": judge.identity(
                with_symbols(pairs), f"{SMALL}, two samples per client"
            ),
            "any number": means_of_gradients(c.factor),
        },
        scope=f"{CLIENTS}, any number of samples per client, any probabilities",
        argument=LISTED_TOO,
    )


def _sampled(i: int) -> tuple[Function, Callable[[Sequence[Any], Any], Any]]:
    """Return f_i = E fhat_i, and E of the derivative of fhat_i."""
    v = sympy.Symbol(f"v{i}")
    chances = (v, 1 - v)
    losses = [sympy.Function(f"fhat{i}_{j}") for j in (1, 2)]

    def value(x: Sequence[Any]) -> Any:
        return sum(p * f(*x) for p, f in zip(chances, losses, strict=True))

    def slope(x: Sequence[Any], along: Any) -> Any:
        both = zip(chances, losses, strict=True)
        return sum(p * sympy.diff(f(*x), along) for p, f in both)

    return value, slope


@claim(
    "focus.eq9_10.constrained",
    source=Source("focus", "eq. (9)-(10)"),
    statement=r"\min_{x_0,\dots,x_N}F(\boldsymbol{x})=\frac1N\sum_{i=0}^Nf_i(x_i)\quad"
    r"\text{s.t. } R(S_r)\boldsymbol{x}=\boldsymbol{x},\;\forall S_r",
    proposition="R(S)x = x means x_i = x_0 for all i in S; the constraints of a family "
    "of cohorts leave consensus alone if, and only if, their union is all clients; and "
    "the objective is then F of (1).",
    constants={"somebody missing": False, "f_0": 0},
    twin={"somebody missing": True},
    exact=("f_0",),
)
def constrained(c: SimpleNamespace) -> Finding:
    """Check the rows of every cohort, and the exact rank of listed families."""
    x = sympy.symbols("x_0 x_1:5")
    rows = []
    for name, every in (("S not empty", SOME), ("S empty", NONE)):
        found = every.matrix(pull) @ list(x) - list(x)
        inside = [int(every.inside(i)) for i in range(5)]
        wanted = [on * (x[0] - v) for on, v in zip(inside, x, strict=True)]
        rows.append((f"{name}: rows of R(S)x - x", found, wanted))
    return judge.all_of(
        {
            "rows": judge.identity(rows, "every N and S"),
            "families": judge.identity(
                _families(int(vars(c)["somebody missing"])),
                "all families for N = 1..3, families of one or two cohorts for N = 4",
            ),
            "objective": judge.identity(with_symbols([*_objectives(c.f_0)]), SMALL),
        },
        scope="every N, every family of cohorts and every differentiable f_i",
        argument="The constraints are x_i = x_0, once for each i of the union; at "
        "consensus (9) has the terms of (1), and f_0.",
    )


def _families(missing: int) -> Iterator[judge.Pair]:
    """Dimension of {x: R(S)x = x for all S}; 1 where `missing` clients never come."""
    for n in (1, 2, 3, 4):
        sets = cohorts.subsets(n)
        sizes = range(1, len(sets) + 1) if n < 4 else (1, 2)
        for size in sizes:
            for family in combinations(sets, size):
                came = frozenset[int]().union(*family)
                free = _freedom(n, family)
                name = f"N = {n}, {[cohorts.shown(s) for s in family]}"
                yield f"{name}: dimension", free, 1 + n - len(came)
                if n - len(came) == missing:
                    yield f"{name}: consensus alone", free, 1


def _freedom(n: int, family: Sequence[Any]) -> int:
    rows = set()
    for s in family:
        matrix = mixing.pull_matrix(cohorts.zero_based(s), n).tolist()
        for i, row in enumerate(matrix):
            rows.add(tuple(int(v) - int(i == j) for j, v in enumerate(row)))
    return n + 1 - int(sympy.Matrix(sorted(rows)).rank())


def _objectives(constant: int) -> Iterator[judge.Pair]:
    for n, dim in product((1, 2, 3, 4), (1, 2, 3)):
        x = sympy.symbols(f"x1:{dim + 1}")
        values = [sympy.Function(f"f{i}")(*x) for i in range(1, n + 1)]
        stacked = (constant * sum(x) + sum(values)) / sympy.Integer(n)
        yield f"N = {n}, d = {dim}", stacked, sum(values) / n
    n, total, x = sympy.symbols("N total x", positive=True)
    yield "any N: f_0 beside the others", (constant * x + total) / n, total / n


@claim(
    "focus.consensus_implies_NF",
    source=Source("focus", "Section 4.2.1, after the tracking property"),
    statement=r"x_{k,i}=\bar x\;\forall i\;\Rightarrow\;\mathbb{1}^{\mathsf T}\nabla"
    r"\boldsymbol{f}(\boldsymbol{x}_k)=N\nabla F(\bar x)",
    proposition="If all rows of x_k are xbar, the sum of the rows of the stacked "
    "gradient is N grad F(xbar).",
    constants={"factor": 1},
    twin={"factor": 2},
    exact=("factor",),
)
def at_consensus(c: SimpleNamespace) -> Finding:
    """Put xbar into all rows; then add one client more."""
    return _sum_is_n_times(0, c.factor)


@claim(
    "focus.eq28.NF",
    source=Source("focus", "Appendix B, eq. (28)"),
    statement=r"N\nabla F(\bar x)=\mathbb{1}^{\mathsf T}\nabla\boldsymbol{f}(\mathbb{1}"
    r"\bar x)",
    proposition="For all f_i and xbar, with f_0 = 0, N grad F(xbar) is the sum of the "
    "N + 1 rows of the stacked gradient at 1 xbar.",
    constants={"f_0": 0},
    twin={"f_0": 1},
    exact=("f_0",),
)
def sum_of_rows(c: SimpleNamespace) -> Finding:
    """Differentiate both sides; f_0 is `f_0` times the sum of coordinates."""
    return _sum_is_n_times(c.f_0, 1)


def _sum_is_n_times(f_0: int, factor: int) -> Finding:
    pairs = []
    for n, dim in product((1, 2, 3, 4), (1, 2, 3)):
        rows = [sympy.symbols(f"x{i}_1:{dim + 1}") for i in range(n + 1)]
        common = sympy.symbols(f"xbar1:{dim + 1}")
        fs = [f_0 * sum(rows[0])]
        fs += [sympy.Function(f"f{i}")(*rows[i]) for i in range(1, n + 1)]
        put = {v: w for row in rows for v, w in zip(row, common, strict=True)}
        total = [
            sum(
                sympy.diff(f, row[j]).subs(put) for f, row in zip(fs, rows, strict=True)
            )
            for j in range(dim)
        ]
        F = sum(f.subs(put) for f in fs[1:]) / n
        right = [factor * n * sympy.diff(F, v) for v in common]
        pairs.append((f"N = {n}, d = {dim}", [v.doit() for v in total], right))
    return judge.all_of(
        {
            "small": judge.identity(with_symbols(pairs), SMALL),
            "any number": rows_add_up(f_0, factor),
        },
        scope=CLIENTS,
        argument=LISTED_TOO,
    )


# FedAvg --------------------------------------------------------------------------


@claim(
    "focus.eq2.fedavg",
    source=Source("focus", "eq. (2a)-(2c)"),
    statement=r"x_{0,i}^{(r)}\Leftarrow x_r;\quad x_{t+1,i}^{(r)}=x_{t,i}^{(r)}-\eta"
    r"\nabla f_i(x_{t,i}^{(r)}),\;t=0,1,\dots,\tau-1;\quad x_{r+1}\Leftarrow"
    r"\frac1{|S_r|}\sum_{i\in S_r}x_{\tau+1,i}^{(r)}",
    proposition="The local models that (2c) averages are made by (2b), and the server "
    "models are those of (8) with (35), first index 1, of tau local steps per round.",
    constants={"averaged": 1},
    twin={"averaged": 0},
)
def fedavg(c: SimpleNamespace) -> Finding:
    """Look for the averaged index among those made; compare with (8) and (35)."""
    return _fedavg(c.averaged).corrected(
        r"x_{r+1}\Leftarrow\frac1{|S_r|}\sum_{i\in S_r}x_{\tau,i}^{(r)}", _fedavg(0)
    )


@cache
def _fedavg(averaged: int) -> Finding:
    cases = (
        judge.Case(
            {"tau": tau, "compared": "index averaged in (2c), largest index of (2b)"},
            tau + averaged,
            max(t + 1 for t in range(tau)),
            partial(_made, tau, averaged),
        )
        for tau in (2, 1, 3, 5, 10)
    )
    index = judge.instances(cases, "<=", "tau = 1, 2, 3, 5, 10")
    pairs = (
        (str(run), _box(run, averaged), single_line(run, 1, 0))
        for run in formal_runs()
        if run.n_clients < 3
    )
    listed = judge.identity(pairs, "N = 1, 2, tau = 1..3, two rounds, every f_i")
    return judge.all_of(
        {
            "index": judge.proof_or_search(made_before(averaged), index),
            "server models": judge.proof_or_search(all_rows_averaged(averaged), listed),
        }
    )


def _made(tau: int, averaged: int) -> tuple[int, int]:
    """Run (2b) on f = x^2/2 and count what it has made."""
    models, index = [Fraction(1)], tau + averaged
    for _ in range(tau):
        models.append(models[-1] - models[-1] / 8)
    return index, len(models) - 1


def _box(run: Run, averaged: int) -> list[Any]:
    """(2a)-(2c), the loop going on until the averaged model is there."""
    x, models = run.start, []
    for cohort in run.cohorts[:-1]:
        ends = []
        for i in sorted(cohort):
            end = x
            for _ in range(run.local_steps + averaged):
                end = sympy.expand(end - run.step_size * run.gradient(i, end))
            ends.append(end)
        x = sympy.expand(sum(ends) / len(ends))
        models.append(x)
    return models


FIXED = "(i) for the clients, laws and step sizes compared"
EVERY = "(ii) for all heterogeneous clients, every law and step size"
ALIKE = "(iii) for two clients of one curvature, one of them in every round"
BIASED = ExplicitLaw({(0,): "1/4", (1,): "3/4"}, 2)


@claim(
    "focus.sec4.1.limit_claim",
    source=Source("focus", "Section 4.1, after eq. (8)"),
    statement=r"k\to\infty:\text{ the limiting point of FedAvg is around an "
    r"irreducible neighborhood depending on }\tau,\;\sigma_g^2\text{ and }\delta_q^2",
    proposition="limsup E|xbar_K - x*|^2 grows with tau, with sigma_G^2 (taken for "
    "sigma_g^2) and with delta_q^2 where two settings of Theorem 2 differ in one of "
    "them alone, and is positive if the clients differ.",
    constants={"relation": ">"},
    twin={"relation": "<"},
    no_control="which clients, laws and step sizes are meant is not printed; the twin, "
    "a limit that decreases, or is negative, fails under every reading",
)
def limiting_point(c: SimpleNamespace) -> Finding:
    """Compare exact limits of settings that differ in one quantity."""
    said, more = "pairs of settings that differ in", {}
    for name, pairs in _pairs().items():
        more[name] = judge.instances(_compared(pairs), c.relation, f"{said} {name}")
    positive = [
        judge.Case(one.where(), one.limit(), 0, partial(_again, one))
        for one in _different()
    ]
    apart = "clients of different minimisers"
    always = judge.instances(positive, c.relation, apart)
    fixed = judge.instances(positive[1:], c.relation, f"{apart}, |S| < N")
    alike, grown = judge.all_of({**more, "positive": fixed}), c.relation == ">"
    return judge.readings(
        {
            FIXED: alike,
            EVERY: judge.all_of({**more, "positive": always}),
            ALIKE: judge.proof_or_search(grows(), alike) if grown else alike,
        }
    )


def _again(one: Setting) -> tuple[Fraction, Fraction]:
    return limit_again(one, one.weights), Fraction(0)


def _both_again(one: Setting, other: Setting) -> tuple[Fraction, Fraction]:
    return limit_again(one, one.weights), limit_again(other, other.weights)


def _compared(pairs: Sequence[tuple[Setting, Setting]]) -> Iterator[judge.Case]:
    for more, less in pairs:
        where = {"more": more.where(), "less": less.where()}
        again = partial(_both_again, more, less)
        yield judge.Case(where, more.limit(), less.limit(), again)


def _pairs() -> dict[str, list[tuple[Setting, Setting]]]:
    """Return settings that differ in tau, sigma_G or delta_q, the larger first."""
    out: dict[str, list[tuple[Setting, Setting]]] = {
        "tau": [],
        "sigma": [],
        "delta": [],
    }
    even, one = UniformCohort(2, 1), Fraction(1)
    for part in (one, Fraction(1, 10)):
        for tau in (2, 5):
            step = part * step_cap(Fraction(2), tau)
            both = [_setting((1, 2), (0, 1), Full(2), t, step) for t in (tau, 1)]
            out["tau"].append((both[0], both[1]))
        step = part * step_cap(one, 3)
        for h in ((1, 1), (one, one / 2)):
            wide, narrow = (_setting(h, (-b, b), even, 3, step) for b in (2, 1))
            out["sigma"].append((wide, narrow))
        out["delta"].append(
            (
                _setting((1, 1), (-1, 1), BIASED, 3, step),
                _setting((1, 1), (-1, 1), even, 3, step),
            )
        )
    return out


def _setting(h: Any, b: Any, law: Any, tau: int, step: Fraction) -> Setting:
    return Setting((tuple(h),), (tuple(b),), law, tau, step)


def _different() -> list[Setting]:
    step = Fraction(1, 100)
    return [
        _setting((1, 2), (0, 1), Full(2), 1, step),
        _setting((1, 2), (0, 1), UniformCohort(2, 1), 1, step),
        _setting((1, 1), (-1, 1), BIASED, 2, step),
        _setting((1, 2, 3), (0, 1, 5), UniformCohort(3, 2), 2, step),
    ]
