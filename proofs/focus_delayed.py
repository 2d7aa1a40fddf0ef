"""Why FOCUS should converge under any participation: Section 5.1 of the FOCUS paper.

The server's tracker is compared with the sum of the gradients at the clients' rows of
(13)-(14), and exact mean-square rates say for which step sizes FOCUS converges. The
identity starts to hold when every client has joined, and no step size serves all p.

Conventions: quadratics in searches, where mean-square convergence is a spectral radius
below 1; rounds are independent unless a reading says otherwise, for if one cohort is
drawn and kept nothing converges, and of one law, for with chances that fall from round
to round a client may stay away for good; an empty round executes line 13 with the same
tracker; k = (r+1) tau.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify._core.sources import Source
from flverify.algorithms import Focus
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_any_box import EVERY, sum_at_rows
from flverify.claims.focus_any_round import any_round
from flverify.claims.focus_box import any_state, closed_form
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_induction import pending
from flverify.claims.focus_recursions import PLAIN, Stack, initial, iterate
from flverify.claims.focus_runs import FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.focus_theorem1_steps import L, N, eta, mu, q
from flverify.claims.rationals import rational
from flverify.claims.scalar_runs import column, quadratic, tidied
from flverify.claims.verdict import Finding
from flverify.claims.written import above
from flverify.engines.moments import moments
from flverify.participation import AllOrNothing, Bernoulli, UniformCohort
from flverify.participation._law import Participation
from flverify.problems import Quadratics

SMALL = (
    "identity (ii) once every client has joined; convergence at (ii) a step size small "
    "enough for p"
)


@claim(
    "focus.sec5.1.delayed",
    source=Source("focus", "Section 5.1"),
    statement=r"y_{r+1}=\sum_{i=1}^N\nabla f_i(x_{k+1,i});\quad\text{any client "
    r"participation scheme, as long as each client participates with a non-zero "
    r"probability, will still guarantee exact convergence}",
    proposition="The server's y_{r+1} is the sum of the clients' gradients at "
    "x_{k+1,i}, k = (r+1) tau, and from every state where it is, for convex L-smooth "
    "f_i with F strongly convex, FOCUS converges in mean square whenever rounds are "
    "independent, of one law with every p_i > 0; or, as (iii) reads `any scheme`, are "
    "not.",
    constants={"sum": 1, "fixed_step": "1/2", "step_factor": "1/8"},
    twin={"sum": 2},
    no_control="from which round on, whether the step size may depend on p, and rounds "
    "on each other, is not printed; the twin, twice the sum, fails under every reading",
    reading_twins={f"{SMALL} / convergence": {"step_factor": "40"}},
    free=Free(
        "fixed_step",
        "1/40",
        "1/2",
        weaker="smaller",
        reading="identity (ii) once every client has joined; convergence at (i) one "
        "step size for all p",
    ),
)
def delayed(c: SimpleNamespace) -> Finding:
    """Compare y_{r+1} with the gradients; take exact mean-square rates."""
    sums = {
        "(i) from round 0": _sum_of_gradients(c.sum, late=False),
        "(ii) once every client has joined": _sum_of_gradients(c.sum, late=True),
    }
    steps = {
        "(i) one step size for all p": _fixed_step(Fraction(c.fixed_step)),
        "(ii) a step size small enough for p": _small_step(Fraction(c.step_factor)),
        "(iii) rounds that depend on each other": _one_kept(),
    }
    return judge.readings(
        {
            f"identity {when}; convergence at {how}": judge.all_of(
                {"identity": sums[when], "convergence": steps[how]}
            )
            for when, how in product(sums, steps)
        }
    )


def _sum_of_gradients(factor: int, *, late: bool) -> Finding:
    """Run (13)-(14) on quadratics; then a round from any state of joined clients."""
    cases = (
        judge.Case(
            run.where(r),
            *_tracker_and_sum(run, r, factor),
            lambda run=run, r=r: _again(run, r, factor),
        )
        for run in rational_runs()
        for r in (1, 2)
        if not late or len(_joined(run, r)) == run.n_clients
    )
    search = judge.instances(cases, "==", "scalar quadratics, rounds 1 and 2")
    pairs = (p for run in formal_rounds() for p in _late_round(run, factor, late=late))
    proof = judge.all_of(
        {
            "listed": judge.identity(pairs, FORMAL),
            "(13)-(14) are the box": any_round(PLAIN),
            "any round": sum_at_rows(factor, late=late),
        },
        scope=EVERY,
        argument="The rows of (13)-(14) at the end of a round are the points of the "
        "box, and what it stores for whoever has joined is the gradient there: for "
        "participants of the round, and for the absent ones by induction.",
    )
    return judge.proof_or_search(proof, search)


def _joined(run: Run, r: int) -> frozenset[int]:
    return frozenset[int]().union(*run.cohorts[:r])


def _tracker_and_sum(run: Run, r: int, factor: int) -> tuple[Any, Any]:
    now = initial(run)
    for k in range(1, r * run.local_steps + 1):
        now = iterate(run, PLAIN, k, now)
    return now.y[0], factor * sum(run.stacked_gradient(now.x))


def _again(run: Run, r: int, factor: int) -> tuple[Any, Any]:
    """Take stored gradients of who has joined, and gradients at the other rows."""
    _, trackers, tables = closed_form(run, [0] * run.n_clients)
    joined = _joined(run, r)
    rows = enumerate(run.client_starts)
    slopes = [tables[r][i] if i in joined else quadratic(i, row) for i, row in rows]
    return trackers[r], factor * sum(slopes)


def _late_round(run: Run, factor: int, *, late: bool) -> Iterator[judge.Pair]:
    """Run a round from any tracked state; `late`: whoever is absent has joined before.

    A client that has joined has y = 0, its stored gradient being that at its row.
    """
    box, cohort = any_state(run), run.cohorts[0]
    rows = column([box.x, *box.points])
    slopes = run.stacked_gradient(rows)[1:]
    stored = tuple(
        slopes[i] if late and i not in cohort else box.stored[i]
        for i in range(run.n_clients)
    )
    y = column([sum(stored), *pending(run, rows, stored)])
    now, moved = Stack(rows, y, rows), run.later()
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = iterate(moved, PLAIN, k, now)
    total = factor * sum(run.stacked_gradient(now.x))
    yield f"{run}: y_r", now.y[0], tidied(total)


def _fixed_step(relative: Fraction) -> Finding:
    """Judge whether the rate is below 1 for one client, tau = 1, eta = relative/h.

    It is below 1 for relative < 2p/(2 - p), which p = relative/2 denies to every step.
    """
    rare = min(relative / 2, Fraction(1))
    cases = (
        judge.Case(
            {
                "N": 1,
                "tau": 1,
                "p": p,
                "eta L": relative,
                "compared": "growth of E|x - x*|^2, per round in the search, from one "
                "joined round to the next in the recheck",
            },
            _rate([1], Bernoulli([p]), relative),
            1,
            partial(_alone, p, relative),
            another_quantity=True,
        )
        for p in (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 20), rare)
    )
    searched = "independent rounds of one client, tau = 1, p from 1 to eta L/2"
    return judge.instances(cases, "<", searched)


def _alone(p: Fraction, a: Fraction) -> tuple[Fraction, int]:
    """Growth from one round that the only client has joined to the next, against 1."""
    return _between_joined_rounds(p, a), 1


def _between_joined_rounds(p: Fraction, a: Fraction) -> Fraction:
    """E(1 - j a)^2 for geometric j: until it joins again the server repeats -a x.

    E j = 1/p and E j^2 = (2 - p)/p^2.
    """
    return 1 - 2 * a / p + a * a * (2 - p) / p**2


def _small_step(factor: Fraction) -> Finding:
    """Prove it for eta L N <= factor p_min and eta L (tau-1) <= 1/3; search inside."""
    caps = {"q/(L N)": str(factor), "1/(L (tau-1))": "1/3"}
    kept = 1 - eta * mu * N / 2
    small = [mu <= L, q <= 1, eta * L * N <= rational(str(factor)) * q]
    found = {
        "V_R <= k^R V_0": rates.strongly_convex(caps, "1/2", Q_READINGS[2], rows=False),
        "k < 1": judge.implied([], above(1, kept), rates.NUMBERS),
        "k > 0": judge.implied(small, above(kept, 0), rates.NUMBERS),
    }
    proof = judge.all_of(
        found,
        scope="independent rounds of one law, every N, tau, law and state with y the "
        "sum of the gradients at the clients' rows, as once every client has joined, "
        f"convex L-smooth f_i, F strongly convex, eta L N <= {factor} p_min, "
        "eta L (tau-1) <= 1/3",
        argument="V is at least E|x - x*|^2, and k^R tends to 0.",
    )
    return judge.proof_or_search(proof, _small_steps(factor))


def _one_kept() -> Finding:
    """One of two clients x^2/2 is drawn and kept; the other's row stays at x_0 = 1.

    x moves by -eta (x + 1) and tends to -1, while x* = 0; tau = 1.
    """
    step = Fraction(1, 8)
    where = {
        "f_i": "x^2/2",
        "law": "one of two clients, each with chance 1/2, the same in every round",
        "tau": 1,
        "step size": step,
        "x_0": 1,
        "compared": "limit of E|x - x*|^2, 0",
    }
    case = judge.Case(where, 1, 0, partial(_played, step))
    return judge.instances([case], "==", "one of two clients drawn and kept")


def _played(step: Fraction) -> tuple[Fraction, Fraction]:
    """Play both draws; the tracker is the sum of the gradients at the rows.

    A move is a fixed multiple of x + 1 that takes x closer to -1, so x tends to -1.
    """
    means = Fraction(0)
    for came in (0, 1):
        x, rows, shrunk = Fraction(1), [Fraction(1), Fraction(1)], set[Fraction]()
        for _ in range(6):
            rows[came], before = x, x
            x -= step * sum(rows)
            shrunk.add((x + 1) / (before + 1))
        limit = -1 if len(shrunk) == 1 and abs(shrunk.pop()) < 1 else 0
        means += Fraction(limit**2, 2)
    return means, Fraction(0)


def _small_steps(factor: Fraction) -> Finding:
    """Search whether the rate is below 1 at eta = factor p_min^2/(L N)."""
    laws: list[Participation] = [
        Bernoulli(["1/20"]),
        Bernoulli(["1/50", "1"]),
        Bernoulli(["1/3", "1/3", "1/3"]),
        UniformCohort(3, 1),
        UniformCohort(3, 2),
        AllOrNothing(2, "1/10"),
    ]
    cases = []
    for law, tau, kappa in product(laws, (1, 3), (1, 30)):
        h = [kappa, *([1] * (law.n_clients - 1))]
        p = min(law.inclusion().tolist())
        eta = factor * p * p / (kappa * law.n_clients)
        where = {"law": law.spec, "h": h, "tau": tau, "step size": eta}
        alone = partial(_alone, p, eta * h[0]) if law.n_clients == tau == 1 else None
        rate = _rate(h, law, eta, tau)
        cases.append(judge.Case(where, rate, 1, alone, another_quantity=bool(alone)))
    searched = "independent rounds of 1 to 3 clients, six laws, kappa = 1 and 30"
    return judge.instances(cases, "<", searched)


def _rate(h: list[int], law: Participation, eta: Fraction, tau: int = 1) -> Fraction:
    """Upper end of the exact mean-square rate."""
    problem = Quadratics([[[v]] for v in h], [[v] for v in h])
    found = moments(problem, Focus(eta, tau), law)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    return Fraction(found.mean_square_rate_interval[1])
