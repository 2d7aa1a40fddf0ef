"""Theorem 1 of the FOCUS paper applied to Algorithm 1's own start, and its remark.

The proofs of (23)-(25) need a tracker that is the sum of the gradients at the clients'
rows. Line 2 sets the tracker to 0 with stored gradients that need not be those at x_0;
the bounds are evaluated exactly from that start, for each reading of the rows that
enter Psi_0 and Phi_0. A server that starts at x* leaves it, because the first cohort's
gradients do not cancel. Everything is kept small (N = 2, steps inside every printed
cap, tau = 2, as at 1 a cap is void or undefined). A start with the sum of all gradients
at x_0 obeys all three bounds, for all functions of the class, once (24) has a cap on
local steps. It prints none: many local steps lead a client back to where its gradient
is the stored one, the server learns nothing from it, and even one client x^2/2 that
always comes exceeds the bound. From rows where the gradients are 0, as stored, (23)
holds, (24) fails for many local steps, and the right side of (25) leaves the rows out.
With gradients stored at x_0 and tracker 0 the server never moves.

Conventions: f_i = h_i (x - b_i)^2/2 in what is evaluated; q_i = E[I_i/|S|], 0 for the
empty S; rounds are independent and of one law; xbar_{1-tau} = xbar_0 in Psi_0; (25) as
in (121), f(x_1) being F at the start; 0 < beta <= L; L-smooth f_i have L-Lipschitz
gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, product
from math import ceil, floor
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_caps import Q_READINGS, largest_step
from flverify.claims.focus_families import GENERAL, families
from flverify.claims.focus_moments import Clients, Curves
from flverify.claims.focus_own_start import (
    CURVATURES,
    Ends,
    Setting,
    led_back,
    settings,
)
from flverify.claims.focus_search import Instance, Sides, powers, searched
from flverify.claims.focus_theorem1_counts import log_below, rounds_suffice
from flverify.claims.focus_theorem1_searches import beside
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most
from flverify.participation import UniformCohort

CAPS = {
    "(23)": {
        "mu/(N L^2)": "3/27",
        "1/(L (tau-1))": "1/3",
        "q^(3/2)/(L sqrt N)": "1/8",
    },
    "(24)": {
        "q/N": "3/32",
        "q/(beta N)": "1/12",
        "q/L^2": "1/16",
        "q^(3/2)/(L sqrt N)": "1/8",
    },
    "(25)": {
        "1/(L (tau-1))": "1/2",
        "q^(3/2)/(L sqrt N)": "1/8",
        "q/(L sqrt(2 N))": "1/16",
        "1/(L N)": "1/4",
    },
}
MENDED = {
    "stored": "start",
    "tracker": "sum",
    "caps": {**CAPS, "(24)": {**CAPS["(24)"], "1/(L (tau-1))": "1/3"}},
    "local_steps": (1, 2, 20, 51),
    "rows": ("x_0",),
}
MANY = (
    "N = 1, 2, 5, 25, 64, 6400; curvatures 1, one of them 30, half of them 0, half of "
    "them -1/2; tau = {}; R <= 40"
)
ROWS = {
    "(i) rows at x_0": "x_0",
    "(ii) rows where grad f_i is the stored gradient": "stored",
    "(iii) any rows, here all at x*": "x*",
}


def _sides(
    bound: str, rows: str, one: Setting, errors: tuple[Fraction, ...], r: int
) -> Ends:
    """Both ends of (23), (24) or (25) at round r from E|x_r - x*|^2.

    In Psi_0 the rows weigh what the theorem prints or what (102) does, if that is more.
    """
    clients, step = one.clients, one.step
    mu, L, beta = clients.strong_convexity, clients.smoothness, clients.mean_curvature
    N, apart = clients.total, one.consensus_error(rows)
    if bound == "(23)":
        printed = 1 - 8 * step * clients.local_steps * L * N
        weights = printed, 1 - 8 * step * L**2 * N / mu
        start = errors[0] + max(weights) * apart
        return errors[r], (1 - step * mu * N / 2) ** r * start
    if bound == "(24)":
        start = beta / 2 * errors[0] + (1 - 4 * step * L**2) * apart
        return beta / 2 * errors[r], (1 - step * beta * N) ** r * start
    mean = beta**2 * sum(errors[:r], Fraction(0)) / r
    return mean, 8 * beta / 2 * errors[0] / (step * N * r)


@claim(
    "focus.thm1.init",
    source=Source("focus", "Theorem 1, Algorithm 1 line 2, Appendix D.1 and D.7"),
    statement=r"y_0=0,\;\nabla f_i(x_{-1,i}^{(0)})=y_{0,i}^{(0)};\quad \boldsymbol{x}"
    r"_{-1}=\boldsymbol{x}_0 \text{ which can be any values};\quad C_0=0",
    proposition="The ends of (23), (24) and (25) bound the server of Algorithm 1 as "
    "initialised, tracker 0, by Psi_0, Phi_0 and F(x_1) of the clients' initial rows.",
    constants={
        "stored": "zero",
        "tracker": "zero",
        "caps": CAPS,
        "local_steps": (2,),
        "rows": ("x_0", "stored", "x*"),
    },
    twin=MENDED,
)
def initialisation(c: SimpleNamespace) -> Finding:
    """Evaluate all three bounds exactly for each reading of rows and line 2.

    From equal models with the sum of their gradients they are proved.
    """
    listed = {k: rows for k, rows in ROWS.items() if rows in c.rows}
    found = {f"stored gradients 0; {k}": _bounds(c, rows) for k, rows in listed.items()}
    at_start = SimpleNamespace(**{**vars(c), "stored": "start"})
    found["stored gradients grad f_i(x_0); rows at x_0"] = _bounds(at_start, "x_0")
    return judge.readings(found).corrected(
        r"y_0=\sum_{i=1}^N\nabla f_i(x_0),\quad\nabla f_i(x_{-1,i}^{(0)})=\nabla "
        r"f_i(x_0),\quad x_{0,i}=x_0,\;q_i=\mathbb{E}[I_i/|S|]\text{ with }I_i/|S|=0"
        r"\text{ in empty rounds, where the server moves too, }\nabla f_i\;L\text{"
        r"-Lipschitz, }0<\beta\le L\text{ in (24), independent rounds of one law, }"
        r"\eta\text{ as printed, and in (24) }\tau=1\text{ or }\eta\le\frac1{3L("
        r"\tau-1)},\text{ in (25) the index }r\tau+1",
        _bounds(SimpleNamespace(**MENDED), "x_0"),
    )


def _bounds(c: SimpleNamespace, rows: str) -> Finding:
    taus = ", ".join(map(str, c.local_steps[:2]))
    listed = (
        f"two clients, tau = {taus}, two laws, {CURVATURES}, three starts, R = 1..4"
    )
    cases = {bound: _cases(c, bound, rows) for bound in CAPS}
    if (rows, c.stored, c.tracker) == ("stored", "zero", "zero"):
        cases["(24)"] = chain(cases["(24)"], led_back(c.caps["(24)"]))
    found = {bound: judge.instances(one, "<=", listed) for bound, one in cases.items()}
    if (rows, c.stored, c.tracker) == ("stored", "zero", "zero"):
        # there the gradients at the rows add to 0, as the tracker is
        proof = rates.strongly_convex(c.caps["(23)"], "1/2", Q_READINGS[0], rows=True)
        return judge.all_of({**found, "(23)": beside(proof, found["(23)"])})
    if (rows, c.stored, c.tracker) != ("x_0", "start", "sum"):
        return judge.all_of(found)
    proofs = {bound: _proof(c, bound) for bound in CAPS}
    parts = {bound: beside(proofs[bound], search) for bound, search in found.items()}
    if c.local_steps[1:]:
        parts["(24), more local steps"] = beside(proofs["(24)"], _many_steps(c))
    return judge.all_of(parts)


def _cases(c: SimpleNamespace, bound: str, rows: str) -> Iterator[judge.Case]:
    """Compare the ends after a few rounds, and (25) after many where nothing moves."""
    listed = settings(c.caps[bound], bound, c.local_steps[:2], c.stored, c.tracker)
    for one in listed:
        rounds = [1, 2, 3, 4]
        if bound == "(25)" and (c.stored, c.tracker) == ("start", "zero"):
            clients = one.clients
            # the bound is below what the gradient is at the start from here on
            per_round = clients.mean_curvature * one.step * clients.total
            rounds.append(floor(4 / per_round) + 1)
        for r in rounds:
            left, right = _sides(bound, rows, one, one.errors(r), r)
            again = partial(_rechecked, bound, rows, one, r)
            yield judge.Case(one.where(r), left, right, again)


def _proof(c: SimpleNamespace, bound: str) -> Finding:
    """Prove a bound from equal models, whose consensus error is 0."""
    caps, q = c.caps[bound], Q_READINGS[0]
    if bound == "(23)":
        return rates.strongly_convex(caps, "1/2", q, rows=False)
    if bound == "(24)":
        return rates.polyak_lojasiewicz(caps, "1", q)
    return rates.general(caps, "8", "3", q)


def _many_steps(c: SimpleNamespace) -> Finding:
    """Search (24) for tau >= 2, counted from x*: all models start equal."""

    def sides(one: Instance, found: Curves) -> Sides:
        rate = 1 - one.step * one.clients.mean_curvature * one.clients.total
        bound = powers(rate, found.server) * found.server[0]
        return Sides(1, found.server[1:], bound[1:])

    clients = families(GENERAL, tuple(("1", tau) for tau in c.local_steps[1:]))
    steps = [largest_step(c.caps["(24)"], one, one.averaging) for one in clients]
    listed = [(n, a, n.averaging) for n, a in zip(clients, steps, strict=True)]
    taus = ", ".join(map(str, c.local_steps[1:]))
    cases = searched(listed, sides, 40, equal=True)
    return judge.instances(cases, "<=", MANY.format(taus))


def _rechecked(bound: str, rows: str, one: Setting, r: int) -> Ends:
    return _sides(bound, rows, one, one.listed_errors(r), r)


ORDERS = ("1/epsilon^2", "1/epsilon", "log")


@claim(
    "focus.thm1.remark",
    source=Source("focus", "Remark after Theorem 1, all but its last sentence"),
    statement=r"\text{(23), (24): iteration complexity } \mathcal{O}(\log(1/\epsilon))"
    r";\quad\text{(25): } 1/\sqrt R \text{ improved into } 1/R;\quad\mathcal{O}(1/"
    r"\epsilon^2)>\mathcal{O}(1/\epsilon)\gg\mathcal{O}(\log(1/\epsilon))",
    proposition="At a fixed step size the bounds of (23), (24), (25), relative to "
    "Psi_0, Phi_0, F(x_1) - F*, are at most epsilon after C log(1/epsilon), "
    "C log(1/epsilon), C/epsilon rounds, C free of epsilon <= 1/2; and 1/epsilon^2, "
    "1/epsilon, log(1/epsilon) grow in this order. What rates are typical is left out.",
    constants={"(23)": "log", "(24)": "log", "(25)": "1/epsilon", "orders": ORDERS},
    twin={"(25)": "log"},
    reading_twins={"orders": {"orders": (ORDERS[1], ORDERS[0], ORDERS[2])}},
    given={"(23)": "focus.thm1.sc", "(24)": "focus.thm1.pl", "(25)": "focus.thm1.nc"},
)
def remark(c: SimpleNamespace) -> Finding:
    """Count the rounds; evaluate the bounds after them at the caps."""
    orders = judge.all_of(
        {
            f"{small} over {large}": _smaller(small, large)
            for large, small in pairwise(c.orders)
        }
    )
    orders_of = vars(c)
    proofs = {name: rounds_suffice(CAPS[name], name, orders_of[name]) for name in CAPS}
    search = judge.instances(
        (case for bound in CAPS for case in _counted(bound, vars(c)[bound])),
        "<=",
        "steps at the caps of (23)-(25) for four settings; epsilon = 2^-1 ... 2^-12",
    )
    counts = judge.proof_or_search(judge.all_of(proofs), search)
    return judge.all_of({"rounds": counts, "orders": orders})


def _smaller(small: str, large: str) -> Finding:
    """Judge that small over large tends to 0 with epsilon."""
    powers_of = {"1/epsilon^2": 2, "1/epsilon": 1}
    if small == "log":
        return log_below(Fraction(powers_of[large]))
    e = sympy.Symbol("epsilon", positive=True)
    ratio = e ** (powers_of[large] - powers_of[small])
    return judge.implied([e < 1], at_most(ratio, e), "epsilon to 0")


def _counted(bound: str, order: str) -> Iterator[judge.Case]:
    """Compare the bounds after C times `order` rounds with epsilon = 2^-k."""
    for law, kappa in product((UniformCohort(2, 1), UniformCohort(3, 3)), (1, 4)):
        h = (Fraction(kappa), *[Fraction(1)] * (law.n_clients - 1))
        clients = Clients(h, law, 1)
        step = largest_step(CAPS[bound], clients, clients.averaging)
        for k in (1, 2, 4, 8, 12):
            where = {**clients.where(), "bound": bound, "step size": step, "k": k}
            sides = _after(bound, order, clients, step, k)
            again = partial(_after_again, bound, order, clients, step, k)
            yield judge.Case(where, *sides, again)


def _per_round(bound: str, clients: Clients, step: Fraction) -> Fraction:
    """Return x of the factor 1 - x, or V of the bound V/R."""
    total = clients.total
    if bound == "(23)":
        return step * clients.strong_convexity * total / 2
    return (
        step * clients.mean_curvature * total if bound == "(24)" else 8 / (step * total)
    )


def _after(
    bound: str, order: str, clients: Clients, step: Fraction, k: int
) -> tuple[Fraction, Fraction]:
    x = _per_round(bound, clients, step)
    halving = ceil(x) if bound == "(25)" else ceil(1 / x)  # (1 - x)^(1/x) < 1/2
    rounds = halving * (k if order == "log" else 2**k)
    value = x / rounds if bound == "(25)" else (1 - x) ** rounds
    return value, Fraction(1, 2**k)


def _after_again(
    bound: str, order: str, clients: Clients, step: Fraction, k: int
) -> tuple[Fraction, Fraction]:
    """Return the same, round by round."""
    x = _per_round(bound, clients, step)
    halving = ceil(x) if bound == "(25)" else ceil(1 / x)
    value, rounds = Fraction(1), 0
    for _ in range(halving * (k if order == "log" else 2**k)):
        rounds += 1
        value = value if bound == "(25)" else value * (1 - x)
    return x * value / rounds if bound == "(25)" else value, Fraction(1, 2**k)
