"""Tables 1 and 2 of the FOCUS paper.

In Table 1 the row of FOCUS follows from (23)-(25); the other rows are about other
papers. Of these the vectors sent can be counted: SCAFFOLD sends two each way for each
participant, ProxSkip one, so that no one way of counting gives both the two vectors
that are printed. Section 2 says of both that they transmit a control variate; a client
of ProxSkip updates its own, and with option II of SCAFFOLD one vector up is enough, as
the open review of the paper has it. In Table 2 the formula for r gives the iteration at
which a round begins, not the index of the round that (7), (13)-(14), (32) and (35)
mean. By its entries no order in Table 1 is smaller than that of FOCUS, and two are the
same.

Conventions: complexity is the number R of rounds after which a printed bound is at
most eps; rounds count from 0; messages are those of the boxes in the papers cited, a
round of ProxSkip being an iteration that communicates.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge, messages
from flverify.claims.claim import claim
from flverify.claims.focus_theorem1_counts import log_below
from flverify.claims.messages_any import (
    COINS,
    SCOPE,
    proxskip_iteration,
    scaffold_round,
)
from flverify.claims.parts import together
from flverify.claims.verdict import Finding
from flverify.reference import proxskip, scaffold


@claim(
    "focus.table1",
    source=Source("focus", "Table 1"),
    statement=r"\text{FOCUS: } \log(1/\epsilon)\text{ (strongly convex)},\ (\log(1/"
    r"\epsilon))\text{ (non-convex, with PL)},\text{ arbitrary participation, no "
    r"heterogeneity bound};\ \text{FedAvg } 1/\epsilon, 1/\epsilon^2;\ \text{LocalSGD "
    r"} "
    r"1/\sqrt\epsilon, 1/\epsilon^{3/2};\ \text{FedAU, FedAWE } 1/\epsilon^2;\ "
    r"\text{SCAFFOLD }\log(1/\epsilon), 1/\epsilon;\ \text{ProxSkip }\log(1/\epsilon);"
    r"\ \text{SCAFFOLD, ProxSkip: comm. }2d\text{ vector per round}",
    proposition="The bounds (23) and (24) are at most eps after C log_2(2 Psi_0/eps) "
    "rounds, with C = 1 + 1/a not depending on eps, 1 - a being their factor; SCAFFOLD "
    "and ProxSkip send two vectors in a round for each participant, counted as the "
    "reading says; and the other rows say what the cited papers do.",
    constants={"rounds": "1", "vectors": 2, "heard": True},
    twin={"vectors": 3},
    reading_twins={
        f"{counted} / nothing else is needed": {"heard": False}
        for counted in (
            "messages of SCAFFOLD: vectors each way",
            "messages of SCAFFOLD: vectors down",
            "messages of ProxSkip: vectors down and up together",
        )
    },
    given={"(23)": ("focus.thm1.sc",), "(24)": ("focus.thm1.pl",)},
    unaided="messages of",
    no_control="the other rows are statements about other papers, and how vectors are "
    "counted is not printed; the twin, three of them, fails either way",
)
def rates(c: SimpleNamespace) -> Finding:
    """Judge how long a factor 1 - a takes to halve, and messages; leave the rates."""
    return together(
        {
            "FOCUS, given (23)-(24)": _halves(c.rounds),
            "other rows": judge.inconclusive(
                "rates are statements about other papers, whose proofs the text does "
                "not give"
            ),
            "messages of SCAFFOLD": _counted_ways(
                _scaffold(("I", "II"), heard=c.heard), c.vectors
            ),
            "messages of ProxSkip": _counted_ways(_proxskip(heard=c.heard), c.vectors),
            "SCAFFOLD, option II, one vector up": _one_up(),
        }
    )


def _halves(rounds: str) -> Finding:
    """(1 - a)^n <= 1/(1 + n a), by induction, which is at most 1/2 for n a >= 1."""
    a, n, power = sympy.symbols("a n power", nonnegative=True)
    enough = sympy.Rational(rounds)

    def grown(times: Any, of: Any) -> Any:
        return of * (1 + times * a)  # at most 1

    line = grown(n, power) <= 1
    longer = grown(n + 1, (1 - a) * power) <= 1
    return judge.all_of(
        {
            "no round": judge.identity([("(1 - a)^0", grown(0, 1), 1)], "every a"),
            "a round more": judge.implied(
                [line, a <= 1], longer, "every a in [0, 1], n"
            ),
            "halved": judge.implied(
                [line, n * a >= enough], 2 * power <= 1, "every a in (0, 1], n >= 1/a"
            ),
            **_halved_again(),
        }
    )


def _halved_again() -> dict[str, Finding]:
    """Halve k times, n rounds each: n and k are the least integers that are enough.

    log is log_2(Psi_0/eps), so that log_2(2 Psi_0/eps) is one more.
    """
    a, n = sympy.symbols("a n", positive=True)
    kept, bound, power, k, log = sympy.symbols(
        "kept bound power k log", nonnegative=True
    )
    few = [n <= 1 + 1 / a, k <= log + 1]
    scope = "every a in (0, 1], eps <= Psi_0"
    return {
        "halved again": judge.implied(
            [kept <= bound, 2 * power <= 1], 2 * kept * power <= bound, scope
        ),
        "all rounds": judge.implied(few, n * k <= (1 + 1 / a) * (log + 1), scope),
    }


ETA, X = sympy.symbols("eta x_0", positive=True)
ROUNDS = "N = 1, 2, tau = 1, 2, two rounds of every cohort, any gradients"
FEW_COINS = "N = 1, 2, three iterations, any gradients"
Messages = tuple[Finding, int, int]  # that they are enough, and how many down and up


def _counted_ways(messages: Messages, vectors: int) -> Finding:
    enough, down, up = messages
    m = sympy.Symbol("participants", positive=True, integer=True)
    ways = {
        "vectors each way": [("down", m * down), ("up", m * up)],
        "vectors down": [("down", m * down)],
        "vectors down and up together": [("in all", m * (down + up))],
    }
    found = {
        name: judge.identity([(w, n, m * vectors) for w, n in rows], "every cohort")
        for name, rows in ways.items()
    }
    return judge.readings(
        {
            name: judge.all_of({"number": number, "nothing else is needed": enough})
            for name, number in found.items()
        }
    )


def _slope(i: int, x: Any) -> Any:
    return sympy.Function(f"g_{i + 1}")(x)


def _number(i: int, x: Any) -> Any:
    return (i + 1) * x - i


# numbers come first: they refute what formal gradients leave open
GRADIENTS = ((_number, Fraction(1), Fraction(1, 4)), (_slope, X, ETA))


def _scaffold(options: tuple[str, ...], *, heard: bool = True) -> Messages:
    """Compare the server models with the plain loop, for these options."""
    pairs, counts = list[judge.Pair](), set[tuple[int, int]]()
    settings = product(GRADIENTS, (1, 2), (1, 2), options)
    for (slope, start, step), n, tau, option in settings:
        some = [s for s in ((0,), (1,), (0, 1)) if s[-1] < n]
        how: Any = {"step_size": step, "local_steps": tau}
        own: Any = {"option": option, "heard": heard}
        slopes = partial(_listed, slope)
        for sets in product(some, repeat=2):
            sent = messages.scaffold(slope, n, start, sets, **how, **own)
            rule = option.partition(",")[0]
            plain = scaffold.run(slopes, n, [start], sets, **how, option=rule)
            label = f"N = {n}, tau = {tau}, option {option}, {sets}"
            pairs += [(label, sent.models, [x for (x,) in plain])]
            counts |= sent.counts
    ((down, up),) = counts
    listed = judge.identity(pairs, ROUNDS)
    every = scaffold_round(options, heard=heard, down=down, up=up)
    return _also(listed, every, SCOPE), down, up


def _also(listed: Finding, every: Finding, scope: str) -> Finding:
    """Take both; where a listed run differs, that is a counterexample."""
    if not listed.passes():
        return listed
    return judge.all_of(
        {"listed": listed, "any round": every},
        scope=scope,
        argument="what is listed for small sizes is a second computation",
    )


def _listed(slope: Any, i: int, x: Any) -> list[Any]:
    return [slope(i, x[0])]


def _one_up() -> Finding:
    enough, down, up = _scaffold(("II, one up",))
    counts = judge.identity([("down", down, 2), ("up", up, 1)], "every cohort")
    return judge.all_of({"number": counts, "nothing else is needed": enough})


def _proxskip(*, heard: bool) -> Messages:
    """Compare the means with the plain loop, over all coins of three iterations."""
    pairs, counts = list[judge.Pair](), set[tuple[int, int]]()
    settings = product(GRADIENTS, (1, 2), product((False, True), repeat=3))
    for (slope, start, step), n, coins in settings:
        how: Any = {"step_size": step, "probability": Fraction(1, 3)}
        sets = [range(n) if coin else () for coin in coins]
        sent = messages.proxskip(slope, n, start, coins, **how, heard=heard)
        plain = proxskip.run(partial(_listed, slope), n, [start], sets, **how)
        means = [x for (x,), coin in zip(plain[1:], coins, strict=True) if coin]
        pairs += [(f"N = {n}, {coins}", sent.models, means)] if means else []
        counts |= sent.counts
    ((down, up),) = counts
    listed = judge.identity(pairs, FEW_COINS)
    every = proxskip_iteration(heard=heard, down=down, up=up)
    return _also(listed, every, COINS), down, up


@claim(
    "focus.table2",
    source=Source("focus", "Table 2"),
    statement=r"r:\ \text{index of communication round and } r=\lfloor k/\tau\rfloor"
    r"\tau",
    proposition="The r of Table 2 is the round of iteration k in (7) and (13)-(14), "
    "r tau <= k < (r+1) tau, for all k and tau.",
    constants={"times": "tau"},
    twin={"times": "1"},
)
def round_index(c: SimpleNamespace) -> Finding:
    """Evaluate r; then without the factor tau."""
    return _rounds(c.times).corrected(r"r=\lfloor k/\tau\rfloor", _rounds("1"))


def _rounds(times: str) -> Finding:
    places = [(tau, k) for tau in (2, 1, 3, 5) for k in range(4 * tau)]
    starts = (_case(tau, k, times, 0) for tau, k in places)
    ends = (_case(tau, k, times, 1) for tau, k in places)
    listed = "tau = 1, 2, 3, 5, the first four rounds"
    found = {
        "r tau <= k": judge.instances(starts, "<=", listed),
        "k < (r+1) tau": judge.instances(ends, ">", listed),
    }
    proofs = {} if times == "tau" else _divided()
    found |= {k: judge.proof_or_search(proof, found[k]) for k, proof in proofs.items()}
    return judge.all_of(found)


def _divided() -> dict[str, Finding]:
    """Prove both for r = floor(k/tau): k = r tau + s with a rest 0 <= s <= tau - 1."""
    k, r, s = sympy.symbols("k r s", nonnegative=True)
    tau = sympy.Symbol("tau", positive=True)
    whole = sympy.Eq(k, r * tau + s)
    scope = "every k and tau"
    return {
        "r tau <= k": judge.implied([whole], r * tau <= k, scope),
        "k < (r+1) tau": judge.implied([whole, s <= tau - 1], k < (r + 1) * tau, scope),
    }


def _case(tau: int, k: int, times: str, end: int) -> judge.Case:
    factor = tau if times == "tau" else 1
    where = {"tau": tau, "k": k, "r": k // tau * factor}
    left = (k // tau * factor + end) * tau
    return judge.Case(where, left, k, partial(_counted, tau, k, factor, end))


def _counted(tau: int, k: int, factor: int, end: int) -> tuple[Any, Any]:
    """Count the rounds that have ended by k, instead of dividing."""
    ended, left = 0, k
    while left >= tau:
        ended, left = ended + 1, left - tau
    r = sum(factor for _ in range(ended))
    return sum(tau for _ in range(r + end)), k


# the last sentence of the remark --------------------------------------------------

POWERS = {  # of 1/epsilon, strongly convex and not convex; 0 stands for log(1/epsilon)
    "FedAvg": ("1", "2"),
    "LocalSGD": ("1/2", "3/2"),
    "FedAU": ("2",),
    "FedAWE": ("2",),
    "SCAFFOLD": ("0", "1"),
    "ProxSkip": ("0",),
}
NO_SLOWER = "(i) no other row has a smaller order"
FASTER = "(ii) every other row has a larger order"


@claim(
    "focus.thm1.remark.fastest",
    source=Source("focus", "Remark after Theorem 1, its last sentence, on Table 1"),
    statement=r"\text{FOCUS achieves the fastest convergence rate in all scenarios}",
    proposition="By the entries of Table 1, whether they are true or not, the order of "
    "FOCUS is the smallest as epsilon -> 0, or no other is smaller.",
    constants={"focus": "0", "rows": POWERS},
    twin={"focus": "3"},
    reading_twins={f"{NO_SLOWER} / log": {"rows": {"any": ("-1",)}}},
    no_control="SCAFFOLD and ProxSkip have the order of FOCUS where f_i are strongly "
    "convex; the twin, 1/epsilon^3 for FOCUS, fails under both readings",
)
def fastest(c: SimpleNamespace) -> Finding:
    """Compare powers of 1/epsilon, and log(1/epsilon) with each of them."""
    own = Fraction(c.focus)
    listed = [
        (f"{name}, entry {place}", Fraction(power))
        for name, powers in c.rows.items()
        for place, power in enumerate(powers, 1)
    ]
    rows = {
        NO_SLOWER: [(name, int(power >= own), 1) for name, power in listed],
        FASTER: [(name, int(power > own), 1) for name, power in listed],
    }
    powers = sorted({power for _, power in listed if power})
    log = judge.all_of({f"p = {power}": log_below(power) for power in powers})
    return judge.readings(
        {
            reading: judge.all_of({"log": log, "rows": judge.identity(one, "Table 1")})
            for reading, one in rows.items()
        }
    )
