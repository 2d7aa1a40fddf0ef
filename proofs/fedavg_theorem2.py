"""Where FedAvg ends up: (3), Theorem 2 and Corollaries 1-3 of the FOCUS paper.

Theorem 2 bounds limsup_K E|xbar_K - x*|^2, xbar_K = q' x_K, by three terms. The first
two are not covariant under f -> c f, eta -> eta/c, which moves no iterate: they vanish
as c -> 0 while the bias of the sampling stays. With 10 delta_q^2 / mu^2 for the second
the bound is proved, and so is 4 delta_q^2/mu^2 + 2 eta tau^2/mu (delta_q^2 +
sigma_G^2): the first term is not needed. If q = u, 3/5 eta tau^2/mu sigma_G^2 is
enough, and no smaller constant is. `flverify.claims.fedavg_bounds` has the proof.

Much hangs on readings: (29) over all stacked x leaves a finite delta_q only to q = u;
and where rounds can be empty the q_i sum to less than 1, so q'x is not the server
model. In (3) the left side is of order eta^2, not eta, for quadratics, and as large as
eta^(4/5) for some smooth convex clients; the paper does not say which are meant.

Uniform sampling is q = u, as the paper says after (29) and before Corollary 1: cohorts
of a fixed size, all equally likely, and full participation are both of it. That Case 3a
prints q_i = 1/m instead of 1/N is the subject of `focus.case3a` alone.

Conventions: rounds are independent (Section 5.3 leaves memory out); an empty round
keeps the server model; the limsup is over all iterations, local ones included, of the
recursion (33)-(35). Exact moments give the left sides; the rechecks run the plain
loop on every cohort. Clients are those of `flverify.claims.parallel_clients`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.client_drift import (
    drift_ratio,
    drift_ratio_again,
    minimiser,
    pair_drifts,
)
from flverify.claims.fedavg_bounds import (
    biased_below,
    equal_clients,
    everywhere_below,
    terms,
    uniform_below,
)
from flverify.claims.fedavg_flat_minimum import leaves_far
from flverify.claims.fedavg_never_exact import (
    HOMOGENEOUS,
    STATIONARY,
    alike_never_exact,
    never_exact,
)
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.parallel_families import (
    ALONE,
    BALANCED,
    BIASED,
    UNIFORM,
    WITH_EMPTY_ROUNDS,
    Laws,
    Weights,
    averaging,
    heterogeneity_again,
    limit,
    limit_again,
    mismatch_again,
    normalised,
    rescaled,
)
from flverify.claims.verdict import Finding
from flverify.participation import ExplicitLaw, Full

TAUS = (1, 2, 5)
PRINTED = {"drift": 80, "drift_L": 2, "bias": 10, "bias_Lmu": 0, "variance": 16}
MENDED = {"drift_L": 0, "bias_Lmu": 1}
PAIRS = "(i) every two scalar quadratic clients"
SOME_CONVEX = "(ii) some convex clients"
EVERYWHERE = "(i) (29) over all stacked x, so that q = u and delta_q = 0"
CONSENSUAL = "(ii) (29) over x = 1x"

SEARCHED = (
    "scalar and two-dimensional clients, kappa from 1 to 10^4, step sizes at the cap "
    "and at 1/100 of it, f -> c f for c = 1/1000, 1, 1000, tau = {}"
)


@claim(
    "focus.eq3.drift_li",
    source=Source("focus", "eq. (3), attributed to Li et al. 2019a"),
    statement=r"\|x^o-x^\star\|^2=\Omega\big((\tau-1)\eta\big)\|x^\star\|^2",
    proposition="For (i) every two scalar quadratic clients of different curvatures "
    "and different minimisers, (ii) some smooth convex clients, x* not being 0, full "
    "participation and every tau > 1 there are c, eta_0 > 0 with |x^o - x*|^2 >= c "
    "(tau-1) eta |x*|^2 for eta < eta_0, x^o being any fixed point of FedAvg with step "
    "size eta.",
    constants={"power": 2, "idle_steps": 1},
    twin={"power": 1},
    reading_twins={SOME_CONVEX: {"idle_steps": 0}},
    no_control="which clients are meant is not printed; the twin, the norm in place of "
    "its square, passes under both readings",
)
def drift_li(c: SimpleNamespace) -> Finding:
    """Compute lim |x^o - x*|^p / ((tau-1) eta |x*|^p) as eta -> 0; prove its sign."""
    found = _drifts(c.power)
    some = leaves_far(c.power, c.idle_steps)
    return judge.readings({PAIRS: found, SOME_CONVEX: some}).corrected(
        r"\|x^o-x^\star\|=\Theta\big((\tau-1)\eta\big)\|x^\star\|, \text{ for "
        r"two scalar quadratics of different curvatures and minimisers, full "
        r"participation, }\tau>1,\;x^\star\ne0,\text{ constants that depend on them}",
        _drifts(1),
    )


def _drifts(power: int) -> Finding:
    def cases() -> Iterator[judge.Case]:
        curvatures = ((1, 2), (1, 100), (3, 1), (Fraction(1, 7), 5))
        minimisers = ((0, 1), (-1, 2), (10, 11), (1, Fraction(1, 3)))
        for row, points, tau in product(curvatures, minimisers, (2, 3, 5, 10)):
            h, b = tuple(map(Fraction, row)), tuple(map(Fraction, points))
            where = {
                "compared": f"lim |x^o - x*|^{power} / ((tau-1) eta |x*|^{power}), 0",
                "h": list(h),
                "b": list(b),
                "x*": minimiser(h, b),
                "tau": tau,
                "participation": "full",
            }
            yield judge.Case(
                where,
                drift_ratio(h, b, tau, power),
                0,
                lambda h=h, b=b, tau=tau: (drift_ratio_again(h, b, tau, power), 0),
            )

    searched = "pairs of scalar quadratics h (x - b)^2 / 2, tau = 2, 3, 5, 10"
    search = judge.instances(cases(), ">", searched)
    return judge.proof_or_search(pair_drifts(power), search)


def bounded(
    c: Any, laws: Laws, local_steps: tuple[int, ...], weights: Weights = averaging
) -> Finding:
    """Judge limsup E|xbar - x*|^2 <= the sum of the terms, xbar = sum_i w_i x_i."""

    def cases() -> Iterator[judge.Case]:
        # No iterate depends on the scale, so the left side is that of scale 1.
        for plain, setting in rescaled(laws, local_steps):
            w = weights(setting)
            yield judge.Case(
                setting.where() | {"weights of xbar": list(w)},
                limit(plain, w),
                _bound(c, setting, setting.heterogeneity, setting.mismatch),
                lambda s=setting, w=w: (
                    limit_again(s, w),
                    _bound(c, s, heterogeneity_again(s), mismatch_again(s)),
                ),
            )

    searched = SEARCHED.format(", ".join(map(str, local_steps)))
    return judge.instances(cases(), "<=", searched)


def _bound(c: Any, s: Setting, sigma: Any, delta: Any) -> Fraction:
    mu, big = s.strong_convexity, s.smoothness
    return sum(terms(c, s.step_size, s.local_steps, big, mu, sigma, delta))


def theorem2_readings(c: Any) -> Finding:
    """Judge Theorem 2 under both quantifiers of (29), N = 1 apart.

    Over all stacked x a finite delta_q needs q = u, since grad f_i has no bound, and
    is 0: the second term is, whatever its factor. Over x = 1x it needs q_i of sum 1.
    """
    alone = bounded(c, ALONE, TAUS)

    def searched(laws: Laws) -> Finding:
        return judge.all_of({"N > 1": bounded(c, laws, TAUS), "N = 1": alone})

    return judge.readings(
        {
            EVERYWHERE: judge.proof_or_search(everywhere_below(c), searched(BALANCED)),
            CONSENSUAL: judge.proof_or_search(
                biased_below(c), searched(BIASED + BALANCED)
            ),
        }
    )


@claim(
    "focus.thm2",
    source=Source("focus", "Theorem 2, repeated as (59)"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 80\eta^2"
    r"\kappa^2L^2(\tau-1)^2(\delta_q^2+\sigma_G^2)+10\kappa\delta_q^2+16\eta\tau^2/\mu"
    r"(\delta_q^2+\sigma_G^2),\quad \bar{x}_k=q^{\mathsf{T}}\boldsymbol{x}_k,\;\eta\le"
    r"\min\{\tfrac{1}{3L},\tfrac{1}{4(\tau-1)L}\}",
    proposition="Under Assumptions 1, 2, 3 and 5, with independent rounds and a finite "
    "delta_q in (29), the bound holds for every step size below the caps.",
    constants=PRINTED,
    twin=MENDED,
    no_control="the quantifier of (29) decides; the twin, the bound with both terms "
    "made covariant under f -> c f, passes under both readings",
    reading_twins={EVERYWHERE: {"variance": Fraction(1, 2)}},
)
def theorem2(c: SimpleNamespace) -> Finding:
    """Prove it where q = u; compare exact limits with the bound at every scale."""
    mended = SimpleNamespace(**{**PRINTED, **MENDED})
    return theorem2_readings(c).corrected(
        r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 80\eta^2\kappa^2"
        r"(\tau-1)^2(\delta_q^2+\sigma_G^2)+10\delta_q^2/\mu^2+16\eta\tau^2/\mu"
        r"(\delta_q^2+\sigma_G^2),\quad \delta_q^2 \text{ over consensual } x",
        theorem2_readings(mended),
    )


def uniform_bound(c: Any, local_steps: tuple[int, ...]) -> Finding:
    """Judge the bound where q = u, so that delta_q is 0."""
    parts = {"N > 1": BALANCED, "N = 1": ALONE}
    search = {name: bounded(c, laws, local_steps) for name, laws in parts.items()}
    proof = uniform_below(c, more_steps=max(local_steps) > 1)
    return judge.proof_or_search(proof, judge.all_of(search))


@claim(
    "focus.cor1",
    source=Source("focus", "Corollary 1, eq. (60)"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 80\eta^2"
    r"\kappa^2L^2(\tau-1)^2\sigma_G^2+16\eta\tau^2/\mu\sigma_G^2",
    proposition="Under the conditions of Theorem 2, with independent rounds and "
    "uniform sampling, q = u, the bound holds without the terms in delta_q.",
    constants={"drift": 80, "variance": 16},
    twin={"variance": Fraction(1, 2)},
    free=(
        Free("drift", 0, 160, weaker="larger"),
        Free("variance", "1/4", 16, weaker="larger"),
    ),
    sharp=Sharp(
        r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le<variance>\,\eta"
        r"\tau^2/\mu\,\sigma_G^2",
        {"drift": None, "variance": "3/5"},
    ),
)
def corollary1(c: SimpleNamespace) -> Finding:
    """Prove it, delta_q being 0; compare exact limits with the bound."""
    return uniform_bound(SimpleNamespace(**{**PRINTED, **vars(c)}), TAUS)


@claim(
    "focus.cor2",
    source=Source("focus", "Corollary 2, eq. (61)"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 16\eta\tau^2"
    r"/\mu\sigma_G^2,\quad\tau=1",
    proposition="Under the conditions of Theorem 2, with independent rounds, uniform "
    "sampling, q = u, and tau = 1, the bound keeps its last term alone.",
    constants={"variance": 16},
    twin={"variance": Fraction(1, 2)},
    free=Free("variance", "1/4", 16, weaker="larger"),
    sharp=Sharp(
        r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le<variance>\,\eta/\mu"
        r"\,\sigma_G^2,\quad\tau=1",
        {"variance": "3/5"},
    ),
)
def corollary2(c: SimpleNamespace) -> Finding:
    """Prove it at tau = 1; compare exact limits with the bound."""
    return uniform_bound(SimpleNamespace(**{**PRINTED, **vars(c)}), (1,))


@claim(
    "focus.cor3",
    source=Source("focus", "Corollary 3, eq. (62)"),
    statement=r"\lim_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2=0 \text{ for "
    r"homogeneous } f_i",
    proposition="Under Theorem 2's conditions but that on delta_q, with independent "
    "rounds, all f_i equal, xbar_K = q'x_K tends to x* in mean square, for all tau and "
    "laws of Assumption 1.",
    constants={"spread": 0},
    twin={"spread": Fraction(1, 10)},
    no_control="Assumption 1 does not say what an empty round is; the twin, clients "
    "whose minimisers differ, fails under both readings",
)
def corollary3(c: SimpleNamespace) -> Finding:
    """Prove it for rounds never empty; `spread` sets the clients' minimisers apart."""
    proof, never = equal_clients(c.spread), ALONE + BALANCED + BIASED
    found = judge.readings(
        {
            "(a) empty rounds happen, 0/0 = 0": _homogeneous(c, WITH_EMPTY_ROUNDS),
            "(b) rounds are never empty": judge.proof_or_search(
                proof, _homogeneous(c, never)
            ),
        }
    )
    statement = (
        r"\lim_{K\to\infty}\mathbb{E}\|\bar{x}_K/\textstyle\sum_i q_i-x^\star\|^2=0,"
        r"\;\text{independent rounds of one law}"
    )
    mended = _homogeneous(c, WITH_EMPTY_ROUNDS + never, normalised)
    return found.corrected(statement, judge.proof_or_search(proof, mended))


def _homogeneous(c: Any, laws: Laws, weights: Weights = averaging) -> Finding:
    def cases() -> Iterator[judge.Case]:
        for law, tau in product(laws, TAUS):
            for rows in ((1,), (1, Fraction(1, 10**4))):
                setting = _equal_clients(law, tau, rows, Fraction(c.spread))
                w = weights(setting)
                yield judge.Case(
                    setting.where() | {"weights of xbar": list(w)},
                    setting.limit(w),
                    0,
                    lambda s=setting, w=w: (limit_again(s, w), Fraction(0)),
                )

    searched = (
        "equal clients in one and two dimensions, kappa = 1, 10^4, tau = 1, 2, 5, step "
        "sizes at the cap"
    )
    return judge.instances(cases(), "==", searched)


def _equal_clients(law: Any, tau: int, rows: Any, spread: Fraction) -> Setting:
    n = law.n_clients
    minimisers = tuple(2 + spread * i for i in range(n))
    curvatures = tuple((Fraction(h),) * n for h in rows)
    cap = step_cap(Fraction(max(rows)), tau)
    points = (minimisers,) * len(rows)
    return Setting(curvatures, points, law, tau, cap, reach=Fraction(1))


PAIRED = ExplicitLaw({(0,): "1/3", (1, 2): "2/3"}, 3)
FEWER = "(i) for all heterogeneous clients; uniform sampling is m < N of Case 3a"
BALANCE = "(ii) for all heterogeneous clients; it is q = u, full participation too"
SOME = "(iii) for some heterogeneous clients, whatever m < N of Case 3a"


@claim(
    "focus.thm2.remark",
    source=Source("focus", "Remark of Theorem 2"),
    statement=r"\text{(i) } \tau=1 \Rightarrow \text{first term}=0;\;\text{(ii) first "
    r"and third terms}\to 0 \text{ as } \eta\to 0;\;\text{(iii) the second does not "
    r"depend on } \eta;\;\text{(iv) even for } \tau=1 \text{ and uniform sampling, "
    r"FedAvg fails to converge to the optimal solution unless the objective functions "
    r"are homogeneous}",
    proposition="The printed terms do what (i)-(iii) say, and with tau = 1 and uniform "
    "sampling limsup E|xbar_K - x*|^2 > 0 for all heterogeneous clients, or for some, "
    "whatever m < N: those of one curvature, minimisers not all equal.",
    constants={**PRINTED, "unless": HOMOGENEOUS, "spared": "1", "tau": 1},
    twin={"unless": STATIONARY},
    no_control="whether all heterogeneous clients are meant, or some, decides; the "
    "twin, which lets clients converge that rest in x* in every cohort, passes under "
    "all readings",
    reading_twins={SOME: {"spared": "0"}, f"{SOME} / terms": {"tau": 2}},
)
def remark(c: SimpleNamespace) -> Finding:
    """Differentiate the terms; judge whether heterogeneous clients reach x*."""
    found = _remark_readings(c)
    mended = SimpleNamespace(**{**vars(c), "unless": STATIONARY})
    return found.corrected(
        r"\text{(iv) } \dots \text{ unless } \textstyle\sum_{i\in S}\nabla f_i(x^\star)"
        r"=0 \text{ for every cohort } S",
        _remark_readings(mended),
    )


def _remark_readings(c: Any) -> Finding:
    full = (Full(2), Full(3))
    found = {
        FEWER: never_exact(c.unless, UNIFORM),
        BALANCE: never_exact(c.unless, (*full, PAIRED, *UNIFORM)),
        SOME: alike_never_exact(
            c.spared, UNIFORM if c.spared == "1" else full + UNIFORM
        ),
    }
    terms = _remark_terms(c)
    return judge.readings(
        {
            name: judge.all_of({"terms": terms, "(iv)": one})
            for name, one in found.items()
        }
    )


def _remark_terms(c: Any) -> Finding:
    eta, tau, big, mu, sigma, delta = sympy.symbols(
        "eta tau L mu sigma delta", positive=True
    )
    drift, bias, noise = terms(c, eta, tau, big, mu, sigma, delta)
    pairs = [
        (f"(i) first term at tau = {c.tau}", drift.subs(tau, c.tau), 0),
        ("(ii) first term is a multiple of eta^2", drift, eta**2 * drift.subs(eta, 1)),
        ("(ii) third term is a multiple of eta", noise, eta * noise.subs(eta, 1)),
        ("(iii) derivative of the second term in eta", sympy.diff(bias, eta), 0),
    ]
    return judge.identity(pairs, "all values of the constants")
