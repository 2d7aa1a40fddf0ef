"""Agnostic FedAvg, Algorithm 1: what the box does when it is executed.

A communication uses up a tick, so a round has H - 1 local steps where the text says H;
for H = 1 the model never moves then and (7) to (9) fail, and with H local steps they
hold. The start 0 has to lie in C, which is not said. Who does not take part need not
train, if whoever does pulls the model first. Line 12 returns what (9) bounds only if
its S is T.

Conventions: clients from 1, S never empty (footnote 3); the box is executed by the
plain loop and by `flverify.claims.nonsmooth`, which lists every draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.agnostic_apart import stay_inside, tracks_apart
from flverify.claims.agnostic_idle import (
    any_maps,
    any_rounds,
    by_the_box,
    lazily,
    listed,
    plainly,
)
from flverify.claims.agnostic_period_one import one_step_rounds
from flverify.claims.claim import Free, claim
from flverify.claims.cohorts import people
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, gradient_bound
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client, project
from flverify.claims.verdict import Finding
from flverify.claims.written import above, both
from flverify.reference import agnostic_fedavg

ONE = Fraction(1)
ALONE = {frozenset({1}): ONE}
SEPARATE = "(ii) H local steps, then a communication without a tick"
SCHEDULES = {"(i) a communication takes a tick": "literal", SEPARATE: "separate"}


# -- the schedule --------------------------------------------------------------------


@claim(
    "agnostic.alg1",
    source=Source("agnostic", "Algorithm 1 and the text on it"),
    statement=r"\text{for }t=1,\dots,TH\text{: if }t\bmod H=0\text{, global "
    r"communication, else local update: users tune their local models with SGD (}H"
    r"\text{ rounds); all clients optimize for }H\text{ consecutive rounds and then "
    r"transmit}",
    proposition="Executed with T and H, Algorithm 1 communicates T times, and every "
    "client takes H local steps before each communication.",
    constants={"missing": 0, "silent": 0},
    twin={"missing": 1},
    no_control="depends on the schedule; the twin, H - 1 local steps, is what the box "
    "does and fails where H steps are meant",
    reading_twins={f"{SEPARATE} / communications": {"silent": 1}},
)
def schedule(c: Any) -> Finding:
    """Count the communications and the gradient steps of the plain loop."""
    some = c.missing, c.silent
    found = {name: counts(word, *some) for name, word in SCHEDULES.items()}
    return judge.readings(found).corrected(
        r"\text{Algorithm 1 as printed communicates at the ticks }H,2H,\dots,TH\text{, "
        r"and every client takes }H-1\text{ local steps before each, }T(H-1)\text{ in "
        r"all}",
        counts("literal", 1),
    )


COUNTED = "T = 1..4, H = 1..5, N = 1..3"


def settings() -> Iterator[tuple[int, int, int]]:
    """T, H and N of the executed runs."""
    yield from product(range(1, 5), range(1, 6), (1, 2, 3))


def communications(word: str, silent: int) -> Iterator[Case]:
    """Server models after the start, against T - silent, from the plain loop."""
    for rounds, period, n in settings():
        if word == "literal":  # the ticks of the box, counted one by one
            found = sum(1 for t in range(1, rounds * period + 1) if t % period == 0)
        else:
            found = len(executed(word, rounds, period, n)[0]) - 1
        again = len(range(period, rounds * period + 1, period)), rounds - silent
        at = {"T": rounds, "H": period, "N": n}
        yield Case(at, found, rounds - silent, cohorts.sides(*again))


def steps(word: str, missing: int) -> Iterator[Case]:
    """Compare the gradients that each client evaluates in all rounds with T H."""
    for rounds, period, n in settings():
        right = rounds * (period - missing)
        shift = 1 if word == "literal" else 0
        again = sum(
            1 for t in range(1, rounds * period + 1) if not shift or t % period != 0
        )
        for i, found in enumerate(executed(word, rounds, period, n)[1], start=1):
            at = {"T": rounds, "H": period, "N": n, "counted": f"steps of client {i}"}
            yield Case(at, found, right, cohorts.sides(again, right))


def executed(
    word: str, rounds: int, period: int, n: int
) -> tuple[list[Any], list[int]]:
    """Run the plain loop with everybody; return server models and gradient counts."""
    calls = [0] * n

    def gradient(i: int, x: list[Any]) -> list[Any]:
        calls[i] += 1
        return [x[0] - i]

    everybody = [range(n)] * rounds
    models = agnostic_fedavg.run(
        gradient, n, [ONE], everybody, step_size=ONE / 2, period=period, schedule=word
    )
    return models, calls


def counts(word: str, missing: int, silent: int = 0) -> Finding:
    """Judge T communications among the ticks 1 to TH, H - missing steps before each.

    T - `silent` of them.

    Every tick but a communication has a local step, or every tick where it takes none.
    """
    taken = 1 if word == "literal" else 0
    proofs = one_in_each_round(silent), steps_before_each(taken, missing)
    searches = communications(word, silent), steps(word, missing)
    named = zip(("communications", "local steps"), proofs, searches, strict=True)
    return judge.all_of(
        {
            name: judge.proof_or_search(proof, judge.instances(cases, "==", COUNTED))
            for name, proof, cases in named
        }
    )


ROUNDS = "every T and H"
r, period = sympy.symbols("r H", positive=True, integer=True)


def one_in_each_round(silent: int) -> Finding:
    """Prove that r H is the one multiple of H among (r-1) H + 1, ..., r H."""
    j = sympy.Symbol("j", positive=True)
    tick = r * period - j
    between = both(above(tick, (r - 1) * period), above(r * period, tick))
    return judge.all_of(
        {
            "r of them by r H": judge.identity(
                [("floor(r H/H)", sympy.floor(r * period / period), r - silent)], ROUNDS
            ),
            "none between": judge.implied([j <= period - 1], between, ROUNDS),
        }
    )


def steps_before_each(taken: int, missing: Any) -> Finding:
    """Judge the ticks of a round that a communication does not take, then all."""
    each = r * period - (r - 1) * period - taken
    pairs = [
        ("in round r", each, period - missing),
        ("in r rounds", r * period - r * taken, r * (period - missing)),
    ]
    return judge.identity(pairs, ROUNDS)


# -- H = 1 ---------------------------------------------------------------------------


@claim(
    "agnostic.alg1.H1",
    source=Source("agnostic", "Algorithm 1 with (7), (8), (9), Theorem 4; H = 1"),
    statement=r"H=1:\quad t\bmod H=0\text{ at every tick; (7), (8), (9) and Theorem 4}",
    proposition="With H = 1 and theta^0 in C, Algorithm 1, executed as the reading "
    "says, satisfies (7), (8) and (9), and Theorem 4 with eta = 1/sqrt(T) and the "
    "constant that (9) gives, T a square.",
    constants={"terms": "1"},
    twin={"terms": "0"},
    no_control="depends on how many local steps Algorithm 1 takes; the twin, without "
    "the terms of sigma, G and ell, fails for both",
    free=Free("terms", "0", "2", weaker="larger", reading=SEPARATE),
)
def period_one(c: Any) -> Finding:
    """Judge each inequality on absolute values, hinges and lines."""
    share = Fraction(c.terms)
    found = {name: one_step_rounds(word, share) for name, word in SCHEDULES.items()}
    return judge.readings(found).corrected(
        r"H=1\text{ with one local step before each communication, as the text has it: "
        r"(7), (8), (9) and the rate hold}",
        found[SEPARATE],
    )


# -- the start -----------------------------------------------------------------------


@claim(
    "agnostic.alg1.init",
    source=Source(
        "agnostic",
        "Algorithm 1, line 1, with the tacit assumptions; implied, not printed",
    ),
    statement=r"\theta_i^0=\mathbf 0,\ i\in[N],\quad\mathcal C\subset\Theta"
    r"\text{ convex compact},\ \theta^*\in\mathcal C",
    proposition="The conditions on C put all models in C, where the f_i have the "
    "constant ell, and Lemma 3 holds from the first tick on.",
    constants={"condition": "none"},
    twin={"condition": "0 in C"},
)
def initial_point(c: Any) -> Finding:
    """Run two opposite lines from 0 on several boxes, with and without 0 inside."""
    return start_in(c.condition).corrected(r"0\in\mathcal C", start_in("0 in C"))


BOXES = "two clients |x - a| with a in C on boxes in Theta = R, H = 2, 3"


def start_in(condition: str) -> Finding:
    """Judge membership and Lemma 3 for the boxes that meet a condition on 0.

    With 0 in C both are proved, for at most H local steps in a window.
    """
    found = {
        "theta^0 in C": judge.instances(outside(condition), "==", BOXES),
        "Lemma 3 at S = 0": judge.instances(first_window(condition), "<=", BOXES),
    }
    if condition == "0 in C":
        inside = stay_inside("every convex closed C with 0 inside, N and cohort")
        proofs = zip((inside, tracks_apart(0, 4, 0)), found.items(), strict=True)
        found = {name: judge.proof_or_search(p, search) for p, (name, search) in proofs}
    return judge.all_of(found)


def starts(condition: str) -> Iterator[Nonsmooth]:
    """Instances whose C is compact with theta* inside; 0 may be left out."""
    for low, high in ((-1, 2), (0, 1), (1, 2), (-3, -2)):
        if condition == "0 in C" and not low <= 0 <= high:
            continue
        clients = tuple(Client(Absolute(Fraction(a)), SILENT) for a in (low, high))
        law = {frozenset({1}): ONE / 4, frozenset({1, 2}): 3 * ONE / 4}
        box = ("box", Fraction(low), Fraction(high))
        for period in (2, 3):
            yield Nonsmooth(clients, law, box, ONE / 20, period, "literal")


def outside(condition: str) -> Iterator[Case]:
    """Distance of theta^0 from C, against 0."""
    for one in starts(condition):
        low, high = one.ends()
        left = abs(project(one.start, one.region)[0] - one.start[0])
        again = cohorts.sides(max(low, -high, Fraction(0)), 0)
        yield Case({**one.where, "theta*": one.minimiser()}, left, 0, again)


def first_window(condition: str) -> Iterator[Case]:
    """|theta_1^0 - theta_2^1| against 4 eta G H, from the start 0."""
    for one in starts(condition):
        draws = tuple((Fraction(0),) * one.local_steps for _ in one.clients)
        tracks = one.tracks(one.start, draws)
        right = 4 * one.step * gradient_bound(one.clients) * one.period
        at = {**one.where, "theta*": one.minimiser(), "tau_1": 0, "tau_2": 1, "G": 1}
        left = abs(tracks[0][0][0] - tracks[1][1][0])
        again = abs(one.plain_local(1, 1, one.start, draws)[0] - one.start[0])
        yield Case(at, left, right, cohorts.sides(again, right))


# -- who trains ----------------------------------------------------------------------


@claim(
    "agnostic.alg1.allpull",
    source=Source("agnostic", "Algorithm 1, lines 6 and 9; a question, not printed"),
    statement=r"\text{line 6: broadcast to all }i\in[N];\quad\text{line 9: local steps "
    r"for all }i\in[N]",
    proposition="The server models are the same if only the clients of S^t train and "
    "receive the model, with the same cohorts and mini-batches.",
    constants={"receives": "before training"},
    twin={"receives": "after averaging"},
    no_control="depends on when a participant receives the model; the twin, after the "
    "averaging of its round, fails",
)
def everybody_trains(c: Any) -> Finding:
    """Compare Algorithm 1 with runs in which the others do nothing."""
    return judge.readings(
        {
            "(i) participants pull the model before they train": idle(c.receives),
            "(ii) participants are sent the model they took part in": idle(
                "after averaging"
            ),
        }
    )


def idle(receives: str) -> Finding:
    """Judge any local maps symbolically, and absolute values in rationals."""
    search = judge.instances(
        stale_cases(receives), "==", "N = 2, 3, two or three rounds"
    )
    pairs = []
    for n, k in ((2, 1), (2, 2), (3, 1)):
        for sequence in product(cohorts.subsets(n, least=1), repeat=2):
            full, lazy = any_maps(n, k, sequence, receives)
            label = ", ".join(map(cohorts.shown, sequence))
            pairs.append((f"N = {n}, k = {k}, S = {label}", full, lazy))
    same = all(full == lazy for _, full, lazy in pairs)
    proof = any_rounds(pairs, receives) if same else judge.inconclusive("they differ")
    return judge.proof_or_search(proof, search)


def stale_cases(receives: str) -> Iterator[Case]:
    """Last server model of both runs, for clients |x - a| without noise."""
    box = ("box", Fraction(-1), Fraction(2))
    for n, rounds in ((2, 2), (2, 3), (3, 2)):
        clients = tuple(
            Client(Absolute(Fraction(a)), SILENT) for a in (2, -1, Fraction(1, 2))[:n]
        )
        some = cohorts.subsets(n, least=1)
        any_of_them = dict.fromkeys(some, Fraction(1, len(some)))
        one = Nonsmooth(clients, any_of_them, box, Fraction(1, 4), 3, "literal")
        for sequence in product(some, repeat=rounds):
            chosen = [cohorts.zero_based(s) for s in sequence]
            draws = tuple((Fraction(0),) * 3 * rounds for _ in clients)
            full = one.plain_models(chosen, one.start, draws)[-1][0]
            lazy = lazily(listed(one), n, one.start[0], chosen, receives)[-1]
            at = {**one.where, "cohorts": [cohorts.shown(s) for s in sequence]}
            again = (
                by_the_box(one, sequence),
                lazily(plainly(one, draws), n, one.start[0], chosen, receives)[-1],
            )
            yield Case(at, full, lazy, cohorts.sides(*again))


# -- what is returned ----------------------------------------------------------------


@claim(
    "agnostic.alg1.return",
    source=Source("agnostic", "Algorithm 1, line 12"),
    statement=r"\text{Return: }\frac1S\sum_{\tau=1}^S\hat\theta^{\tau H}",
    proposition="Line 12 returns (1/T) sum_{tau=1}^T of the server models, which (9) "
    "and Theorem 4 bound.",
    constants={"factor": 1},
    twin={"factor": Fraction(99, 100)},
    no_control="depends on what S is; the twin, 99 % of the average, fails for each",
)
def returned(c: Any) -> Finding:
    """Compare both averages for each meaning of S, on the sum of models and on runs."""
    factor = sympy.Rational(
        Fraction(c.factor).numerator, Fraction(c.factor).denominator
    )
    total, T = sympy.Symbol("sum_of_models"), sympy.Symbol("T", positive=True)
    mean = total / T
    proof = judge.identity([("(1/S) sum", factor * mean, mean)], "every T, all models")
    meanings = {
        "(ii) S the number of participants": lambda one, _t: (one.n_clients,),
        "(iii) S an input, any number up to T": lambda _one, t: range(1, t + 1),
        "(iv) S the window of Lemma 3 at the end, T - 1": lambda _one, t: (t - 1,),
    }
    search = averages(lambda _one, t: (t,), c.factor)
    found = {"(i) S = T": judge.proof_or_search(proof, search)}
    found |= {name: averages(sizes, c.factor) for name, sizes in meanings.items()}
    return judge.readings(found)


def averages(sizes: Any, factor: Any) -> Finding:
    """Judge the returned average against that of all rounds, on runs."""
    return judge.instances(average_cases(sizes, factor), "==", "N = 1, 2, T = 2, 3, 4")


def average_cases(sizes: Any, factor: Any) -> Iterator[Case]:
    """Compare averages of the server models of runs with everybody."""
    box = ("box", Fraction(-2), Fraction(2))
    for n, rounds in product((1, 2), (2, 3, 4)):
        everybody = frozenset(people(n))
        clients = tuple(Client(Absolute(Fraction(2 - i)), SILENT) for i in range(n))
        one = Nonsmooth(clients, {everybody: ONE}, box, ONE / 4, 2, "literal")
        models = [x[0] for x in next(one.paths(rounds))[1]]
        again = [x[0] for x in next(one.plain_paths(rounds))[1]]
        for size in sizes(one, rounds):
            if not 1 <= size <= rounds:
                continue
            at = {**one.where, "T": rounds, "S": size}
            left, right = (sum(models[1 : k + 1]) / k for k in (size, rounds))
            second = [sum(again[1 : k + 1]) / k for k in (size, rounds)]
            recheck = cohorts.sides(factor * second[0], second[1])
            yield Case(at, factor * left, right, recheck)
