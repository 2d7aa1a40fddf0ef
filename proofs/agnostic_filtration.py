"""Agnostic FedAvg, Section 3: the filtration and the Markov property.

The models of all clients together are a Markov process. The model of one client is not:
a communication mixes in the models of others.

Conventions: in searches two clients, H = 2, two rounds, and every path is listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.agnostic_rounds import rational
from flverify.claims.agnostic_ticks import chances, histories, listed_of, model_of
from flverify.claims.claim import claim
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding


@claim(
    "agnostic.filtration",
    source=Source("agnostic", "Section 3, filtration"),
    statement=r"\mathcal F_t:=\sigma(\theta_i^s,\xi_i^s,S^s:s\le t,\,i\in[N]);"
    r"\text{ the iterates }\theta_i^t\text{ evolve as a Markov process, depending only "
    r"on }"
    r"\theta_i^{t-1},\xi_i^{t-1},S^{t-1}\text{ and the fresh }\xi_i^t\text{ or }S^t",
    proposition="With fresh mini-batches and independent S^t the law of theta^t given "
    "F_{t-1} is that given theta^{t-1}, xi^{t-1} and S^{t-1} alone, of all clients or "
    "of the same client, as the reading says.",
    constants={"stay": Fraction(1, 2)},
    twin={"stay": Fraction(9, 10)},
    no_control="depends on whether the clients' models are taken together; the twin, "
    "cohorts that remember the last one, fails both ways",
)
def filtration(c: Any) -> Finding:
    """List every path of two clients over two rounds of H = 2; prove the first."""
    searched = "two clients, H = 2, four ticks"
    together = judge.instances(transitions(c.stay, None), "==", searched)
    alone = judge.instances(transitions(c.stay, 0), "==", searched)
    return judge.readings(
        {
            "(i) the models of all clients together": judge.proof_or_search(
                fresh_alone(rational(c.stay)), together
            ),
            "(ii) the model of each client by itself": alone,
        }
    )


ARGUMENT = (
    "Lines 5, 6 and 9 make theta^t from theta^{t-1} of all clients and from xi^t or "
    "S^t. So each history with the same models goes on to a given theta^t with the "
    "chance c of the fresh values that lead there, and c is one number if these are "
    "independent of the past."
)


def fresh_alone(stay: Any) -> Finding:
    """Prove that, given the models, the histories that led to them do not matter.

    S^t is independent of the last cohort if `stay` leaves both of two as likely.
    """
    one, two, more, c = sympy.symbols("P_1 P_2 P_3 c", positive=True)
    remembered = (one * stay + two * (1 - stay)) / (one + two)
    pairs = [
        ("histories with two last cohorts", remembered, stay),
        ("one history more", (one * c + more * c) / (one + more), c),
    ]
    scope = "every N, H, clients and noise of finitely many values, S^t drawn anew"
    return judge.all_of(
        {"histories": judge.identity(pairs, scope)}, scope=scope, argument=ARGUMENT
    )


def transitions(stay: Fraction, client: int | None) -> Iterator[Case]:
    """P of a model given the history, against P given what the paper lists."""
    paths = histories(stay, by_loop=False)
    for t in (2, 3, 4):
        for history in dict.fromkeys(path[:t] for path in paths):
            short = listed_of(history[-1], client)
            outcomes = dict.fromkeys(
                model_of(path[t], client) for path in paths if path[:t] == history
            )
            for outcome in outcomes:
                at = {
                    "clients": "|x - 2|; |x + 1| with noise +-2; H = 2, eta = 1/2",
                    "P(same cohort again)": stay,
                    "t": t,
                    "history (models, noise, S)": history,
                    "model": outcome,
                }
                key = (t, history, short, outcome, client)
                left, right = chances(paths, *key)
                yield Case(at, left, right, again_by_loop(stay, key))


def again_by_loop(stay: Fraction, key: Any) -> Any:
    """Recheck with histories from the plain loop."""
    return lambda: chances(histories(stay, by_loop=True), *key)


# -- which arguments are used --------------------------------------------------------


@claim(
    "agnostic.filtration.arguments",
    source=Source("agnostic", "Section 3, filtration; a question, not printed"),
    statement=r"\theta^t\text{ depends on }\theta^{t-1}\text{ of all clients and on }"
    r"\xi^t\text{ or }S^t\text{, not on }\xi^{t-1},S^{t-1}",
    proposition="With fresh mini-batches and independent S^t the law of theta^t given "
    "F_{t-1} is that given the models theta^{t-1} of all clients alone: of the listed "
    "arguments xi^{t-1} and S^{t-1} add nothing; and the fresh ones are used, xi^t at "
    "a local tick and S^t at a communication.",
    constants={"cohorts": "independent"},
    twin={"cohorts": "the same again nine times of ten"},
)
def arguments(c: Any) -> Finding:
    """List every path; then compare models that only one fresh value tells apart."""
    stay = Fraction(1, 2) if c.cohorts == "independent" else Fraction(9, 10)
    search = judge.instances(given_models(stay), "==", "two clients, H = 2, four ticks")
    return judge.all_of(
        {
            "models alone": judge.proof_or_search(fresh_alone(rational(stay)), search),
            "xi^t is used": apart("noise", 1),
            "S^t is used": apart("cohort", 2),
        }
    )


def given_models(stay: Fraction) -> Iterator[Case]:
    """P of the next models given the history, against P given the last models."""
    paths = histories(stay, by_loop=False)
    for t in (2, 3, 4):
        for history in dict.fromkeys(path[:t] for path in paths):
            key = t, history, history[-1][0]
            for outcome in dict.fromkeys(
                path[t][0] for path in paths if path[:t] == history
            ):
                at = {
                    "clients": "|x - 2|; |x + 1| with noise +-2; H = 2, eta = 1/2",
                    "P(same cohort again)": stay,
                    "t": t,
                    "history (models, noise, S)": history,
                    "models": outcome,
                }
                left, right = both_chances(paths, *key, outcome)
                again = again_given(stay, (*key, outcome))
                yield Case(at, left, right, again)


def again_given(stay: Fraction, key: Any) -> Any:
    """Recheck with histories from the plain loop."""
    return lambda: both_chances(histories(stay, by_loop=True), *key)


def both_chances(
    paths: Any, t: int, history: Any, models: Any, outcome: Any
) -> tuple[Fraction, Fraction]:
    """P(outcome | history) and P(outcome | models at t - 1)."""

    def share(condition: Any) -> Fraction:
        kept = [(path, p) for path, p in paths.items() if condition(path)]
        hits = sum((p for path, p in kept if path[t][0] == outcome), Fraction(0))
        return hits / sum((p for _, p in kept), Fraction(0))

    return (
        share(lambda path: path[:t] == history),
        share(lambda path: path[t - 1][0] == models),
    )


def apart(what: str, t: int) -> Finding:
    """Judge that models at t differ between paths that one fresh value tells apart.

    The paths agree before t. At tick 1 the noise differs, at tick 2 the cohort; what
    is not used at a tick leaves the models as they are.
    """
    found = []
    for by_loop in (False, True):
        ticks = [path[: t + 1] for path in histories(Fraction(1, 2), by_loop=by_loop)]
        place = {"noise": 1, "cohort": 2}[what]
        pairs = (
            (one, other)
            for one in ticks
            for other in ticks
            if one[:t] == other[:t] and one[t][place] != other[t][place]
        )
        gaps = [abs(one[t][0][1] - other[t][0][1]) for one, other in pairs]
        found.append(max(gaps, default=Fraction(0)))
    case = Case({"tick": t, "differs": what}, found[0], 0, lambda: (found[1], 0))
    return judge.witness(case, ">", f"two clients, tick {t}")
