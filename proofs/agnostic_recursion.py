"""Agnostic FedAvg, Section 3.3: the recursion (6) to (8).

The proof takes H local steps between two communications; in Algorithm 1 as printed the
communication takes a tick, so that there are H - 1. With H steps (7) and (8) hold, and
with room to spare; with H - 1 they fail for small step sizes and hold again with H - 1
in place of H. The coefficient 3 of G^2 in (7) is not the one that Lemma 2 gives, which
is smaller.

From theta^0 outside of C (7) fails for a single local step, (8) with one client being
the same inequality, and holds for more.

Conventions: theta^0 lies in C (`agnostic.alg1.init`) unless a claim says otherwise,
theta* in C minimises (3) there, S is never empty (footnote 3), Theta is the whole
space, G and ell are the least that the rational instances allow.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from flverify._core.sources import Source
from flverify.claims import agnostic_rounds as rounds
from flverify.claims import agnostic_runs as runs
from flverify.claims import judge
from flverify.claims.agnostic_outside import first_period, led_away
from flverify.claims.agnostic_terms import (
    MENDED,
    NOTHING,
    ROOM,
    SCHEDULES,
    TWIN_NOTE,
    by_schedule,
    coefficients,
)
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.verdict import Finding

# -- (6) -----------------------------------------------------------------------------


@claim(
    "agnostic.eq6",
    source=Source("agnostic", "eq. (6)"),
    statement=r"\mathbb E\big[\|\hat\theta^{TH}-\theta^*\|^2\big]\le\sum_{i\in[N]}p_i"
    r"\mathbb E\big[\|\theta_i^{TH-1}-\theta^*\|^2\big]",
    proposition="If S^{TH} has law q, q(empty) = 0, and is independent of the models "
    "before it, (6) holds for every T, H, N and point in place of theta*, in both "
    "readings of Algorithm 1.",
    constants={"factor": 1},
    twin={"factor": Fraction(1, 2)},
    free=Free("factor", Fraction(1, 2), 2, weaker="larger"),
)
def last_aggregate(c: Any) -> Finding:
    """Prove (5) for one cohort and average it over cohorts, then over the models."""
    proof = rounds.mean_of_cohorts(Fraction(c.factor))
    search = {
        name: judge.instances(
            runs.aggregate_cases(schedule, Fraction(c.factor)), "<=", runs.SEARCHED
        )
        for name, schedule in SCHEDULES.items()
    }
    return judge.proof_or_search(proof, judge.all_of(search))


# -- (7) and (8) ---------------------------------------------------------------------

ROUND_TAIL = r"+H\left(2\eta^2\sigma^2+3\eta^2G^2+8\ell\eta^2GH\right)"
EQ_7 = (
    r"\mathbb E\big[\|\theta_i^{TH-1}-\theta^*\|^2\big]\le\mathbb E\big[\|\theta_i^{"
    r"(T-1)H}-\theta^*\|^2\big]-2\eta H\,\mathbb E\big[f_i(\hat\theta^{TH})-f_i("
    r"\theta^*)\big]" + ROUND_TAIL
)
EQ_8 = (
    r"\mathbb E\big[\|\hat\theta^{TH}-\theta^*\|^2\big]\le\mathbb E\big[\|\hat\theta^{"
    r"(T-1)H}-\theta^*\|^2\big]-2\eta H\,\mathbb E\big[f(\hat\theta^{TH})-f(\theta^*)"
    r"\big]" + ROUND_TAIL
)


@claim(
    "agnostic.eq7",
    source=Source("agnostic", "eq. (7)"),
    statement=EQ_7,
    proposition="Under Assumptions 1 to 3, with theta^0 in C, (7) holds for every "
    "client i, T, H and eta, from Lemma 2 at each step and from Lemma 3 or Corollary 1 "
    "for each value.",
    constants={"terms": ROOM, "count": "H"},
    twin={"terms": NOTHING},
    no_control=TWIN_NOTE,
    free=Free(
        "terms",
        0,
        8,
        weaker="larger",
        key="G^2",
        reading="(ii) H local steps, then a communication",
    ),
)
def client_progress(c: Any) -> Finding:
    """Judge (7) for both schedules; mend it by the number of steps."""
    return client_rounds(c.terms, c.count).corrected(
        MENDED, client_rounds(c.terms, "local steps")
    )


def client_rounds(terms: Any, count: str) -> Finding:
    """Judge (7) with H, or the local steps, as the number of steps."""
    proof = partial(either_coupling, coefficients(terms))
    cases = partial(runs.round_cases, count=count, terms=terms, each=True)
    return by_schedule(count, proof, cases, runs.SEARCHED)


def either_coupling(room: Any) -> Finding:
    """Prove (7) for both meanings of 'Lemma 3.1'."""
    return judge.all_of(
        {
            f"'Lemma 3.1' read as {which}": rounds.one_period(room, drop)
            for which, drop in (("Lemma 3", 4), ("Corollary 1", 2))
        }
    )


@claim(
    "agnostic.eq7.outside",
    source=Source("agnostic", "eq. (7), from line 1 of Algorithm 1; a question"),
    statement=r"\theta_i^0=\mathbf 0\notin\mathcal C:\quad" + EQ_7,
    proposition="Under Assumptions 1 to 3, with theta* in C minimising (3) on all of "
    "Theta, f_i that are ell-Lipschitz on C and H local steps in a period, (7) holds "
    "from theta^0 = 0 outside of C for every H, at T = 1; later periods start in C.",
    constants={"terms": ROOM, "least": 1},
    twin={"least": 2},
)
def from_outside(c: Any) -> Finding:
    """Prove it for H >= 2; look for what the first step loses."""
    return outside(c.terms, c.least).corrected(r"H\ge2", outside(c.terms, 2))


def outside(terms: Any, least: int) -> Finding:
    """Judge (7) for at least so many steps in the first period."""
    room = coefficients(terms)
    search = judge.instances(led_away(room, least), "<=", "one client in the plane")
    return judge.proof_or_search(first_period(room, least), search)


@claim(
    "agnostic.eq7.const",
    source=Source("agnostic", "eq. (7), (8), (9) against Lemma 2; a question"),
    statement=r"2\eta^2G^2\ \text{(Lemma 2)},\quad3\eta^2G^2\ \text{((7), (8))},\quad"
    r"1.5\,\eta G^2\ \text{((9))}",
    proposition="With 2 eta^2 G^2 at each step and H local steps, the chain gives (7) "
    "and (8) with the coefficient 3 of eta^2 G^2, and (8) with 3 gives (9) with 1.5.",
    given={
        "Lemma 2": "agnostic.lemma2",
        "Lemma 3": "agnostic.lemma3",
        "the sum of H steps in (7)": "agnostic.eq7",
    },
    constants={"(7)": Fraction(3), "(9)": Fraction(3, 2), "(6)": 1, "power": 1},
    twin={"(7)": Fraction(1)},
    reading_twins={
        "(6)": {"(6)": Fraction(1, 2)},
        "(8), the mean of (7) over clients": {"power": 2},
        "(9)": {"(9)": Fraction(1, 2)},
    },
    free=(
        Free("(7)", 1, 4, weaker="larger", given={"(9)": Fraction(4)}),
        Free("(9)", Fraction(1, 2), 4, weaker="larger"),
        Free("(6)", Fraction(1, 2), 2, weaker="larger"),
    ),
    exact=("power",),
    sharp=Sharp(
        r"<(7)>\cdot\eta^2G^2\ \text{((7), (8))},\quad<(9)>\cdot\eta G^2\ \text{((9): "
        r"the chain gives less than printed, the difference does no harm)}",
        {"(7)": 2, "(9)": 1},
    ),
)
def square_coefficient(c: Any) -> Finding:
    """Judge the two passages of the coefficient."""
    return passages(getattr(c, "(7)"), getattr(c, "(9)"), getattr(c, "(6)"), c.power)


def passages(in_7: Any, in_9: Any, in_6: Any, power: int) -> Finding:
    """Judge Lemma 2 => (7) => (8) => (9) with these coefficients of G^2.

    `in_6` is a factor of the right side of (6), `power` that of 1/|A| in the p_i.
    """
    room, rate = (2, in_7, 8), (1, in_9, 4)
    return judge.all_of(
        {
            "(7)": rounds.collected(rounds.LEMMA_2, 4, room),
            "(6)": rounds.mean_of_cohorts(in_6),
            "(8), the mean of (7) over clients": rounds.weighted_clients(power),
            "(9)": rounds.averaged_rounds(room, rate),
        }
    )


@claim(
    "agnostic.eq8",
    source=Source("agnostic", "eq. (8)"),
    statement=EQ_8,
    proposition="Under Assumptions 1 to 3, with theta^0 in C, (8) holds for every T, H "
    "and eta.",
    constants={"terms": ROOM, "count": "H"},
    twin={"terms": NOTHING},
    no_control=TWIN_NOTE,
    free=Free(
        "terms",
        0,
        8,
        weaker="larger",
        key="G^2",
        reading="(ii) H local steps, then a communication",
    ),
)
def server_progress(c: Any) -> Finding:
    """Judge (8) for both schedules; mend it by the number of steps."""
    return server_rounds(c.terms, c.count).corrected(
        MENDED, server_rounds(c.terms, "local steps")
    )


def server_rounds(terms: Any, count: str) -> Finding:
    """Judge (8) with H, or the local steps, as the number of steps."""
    proof = partial(rounds.one_round, coefficients(terms))
    cases = partial(runs.round_cases, count=count, terms=terms, each=False)
    return by_schedule(count, proof, cases, runs.SEARCHED)
