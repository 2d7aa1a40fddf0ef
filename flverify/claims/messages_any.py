"""A round of SCAFFOLD and ProxSkip by messages, for every N and tau.

Both sides are played, not written down again: the clients by what plays them in
`flverify.claims.messages`, the plain loops by `flverify.reference`. Participants of two
kinds, any number of each, stand for all, as in the loops nothing but a sum is made of
them. Of its local steps a client makes two, the second of which ends where the last one
does, at a symbol: that every step is made alike is shown beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import sympy

from flverify.claims import judge, messages
from flverify.claims.focus_any_box import gradient
from flverify.claims.verdict import Finding
from flverify.reference import Population, proxskip, scaffold

SCOPE = "every N, tau, cohort not empty, gradients and number of rounds"
COINS = "every N, gradients and number of iterations"
X, C, EARLIER = sympy.symbols("x c y_t")
OWN, ENDS = sympy.symbols("c_1:4"), sympy.symbols("y_1:4")
# how many are of either kind that takes part, and how many are absent
COUNTS = (
    *sympy.symbols("n_1 n_2", positive=True),
    sympy.Symbol("n_3", nonnegative=True),
)
eta, tau, more = sympy.symbols("eta tau more", positive=True)
CHANCE = 1 / (1 + more)  # any number in (0, 1)


class _Everybody(Population):
    """So many clients of each kind, and what divides by their number has the symbol."""

    _op_priority = 1000  # sympy leaves a quotient to what has more of it than its own

    def __rtruediv__(self, other: Any) -> Any:
        return other / sum(self.counts)


class _Steps:
    """As many local steps as are made stand for `name` of them in a product."""

    def __init__(self, made: int, name: Any) -> None:
        self.made, self.name = made, name

    def __index__(self) -> int:
        return self.made

    def __mul__(self, other: Any) -> Any:
        return self.name * other


def _ending(client: int, point: Any) -> Any:
    """Name a gradient at x; elsewhere take what leads to the last local model."""
    if point == X:
        return gradient(client + 1, point)
    return (point - ENDS[client]) / eta + OWN[client] - C


def _from(place: Any, client: int, point: Any) -> Any:
    """Name a gradient; at x take what leads to `place`, if that is elsewhere."""
    if point == X != place:
        return (X - place) / eta + OWN[client] - C
    return gradient(client + 1, point)


def scaffold_round(
    options: Sequence[str], *, heard: bool, down: int, up: int
) -> Finding:
    """Judge a round by messages against the plain loop.

    The plain loop is that of `flverify.reference.scaffold`, server step 1.

    Parameters
    ----------
    options : sequence of {"I", "II", "II, one up"}
    heard : bool
        Whether c arrives; else a client takes 0 for it.
    down, up : int
        Number of vectors that are sent.

    Examples
    --------
    >>> both = ("I", "II")
    >>> scaffold_round(both, heard=True, down=2, up=2).verdict.name
    'PROVED'
    >>> scaffold_round(both, heard=False, down=2, up=2).verdict.name
    'REFUTED'
    """
    received = X, C if heard else sympy.Integer(0)
    steps = [p for o in options for p in _local_steps(o, received)]
    rounds = [p for o in options for p in _round(o, received, down, up)]
    return judge.all_of(
        {
            "every local step": judge.identity(steps, "every participant"),
            "a round": judge.identity(rounds, "every N, tau and cohort not empty"),
        },
        scope=SCOPE,
        argument="The server adds up what participants send, and both do so in the "
        "same way; local steps after the first are made alike. Equal x, c and controls "
        "before a round are equal after it, and they are 0 or x_0 at the start.",
    )


def _local_steps(option: str, received: tuple[Any, Any]) -> list[judge.Pair]:
    """Compare the first step, and a later one from where the first may have led."""
    slopes = {1: partial(_from, X), 2: partial(_from, EARLIER)}
    names = {1: "the first local step", 2: "a later local step"}
    pairs = list[judge.Pair]()
    for made, slope in slopes.items():
        how: Any = {"step_size": eta, "local_steps": made}
        own = partial(slope, 0)
        (sent, *_), _ = messages.answer(own, received, OWN[0], option=option, **how)
        alone = _played(option, slope, Population(1, [1]), [0], how)
        pairs.append((f"option {option}: {names[made]}", X + sent, *alone["model"]))
    return pairs


def _played(
    option: str, slope: Any, n_clients: Population, cohort: list[int], how: Any
) -> dict[str, Any]:
    """Play a round of the plain loop, from any controls."""
    kinds = range(len(n_clients.counts))
    before = {"model": [X], "control": [C], "controls": [[OWN[i]] for i in kinds]}
    rule = option.partition(",")[0]
    slopes = partial(_listed, slope)
    return scaffold.play(before, slopes, n_clients, cohort, option=rule, **how)


def _listed(slope: Any, client: int, point: Any) -> list[Any]:
    return [slope(client, point[0])]


def _round(
    option: str, received: tuple[Any, Any], down: int, up: int
) -> list[judge.Pair]:
    """Compare what both sides have after a round of tau local steps, any tau."""
    how: Any = {"step_size": eta, "local_steps": _Steps(2, tau)}
    plain = _played(option, _ending, _Everybody(0, COUNTS), [0, 1], how)
    answers = [
        messages.answer(partial(_ending, i), received, OWN[i], option=option, **how)
        for i in (0, 1)
    ]
    sent = [vectors for vectors, _ in answers]
    changes = [messages.control_change(v, C, **how) for v in sent]
    present = sum(COUNTS[:2])
    pairs = [
        ("the model", X + _added([v[0] for v in sent]) / present, *plain["model"]),
        ("the server's control", C + _added(changes) / sum(COUNTS), *plain["control"]),
        ("an absent client's control", OWN[2], *plain["controls"][2]),
    ]
    for i, (vectors, own) in enumerate(answers):
        pairs += [
            ("a participant's control", own, *plain["controls"][i]),
            ("vectors down", len(received), down),
            ("vectors up", len(vectors), up),
        ]
    return [(f"option {option}: {name}", *both) for name, *both in pairs]


def _added(terms: Sequence[Any]) -> Any:
    """Add up the terms of all participants."""
    return sum(n * term for n, term in zip(COUNTS, terms, strict=False))


def proxskip_iteration(*, heard: bool, down: int, up: int) -> Finding:
    """Judge an iteration by messages, of either coin, against the plain loop.

    The plain loop is that of `flverify.reference.proxskip`, of its own paper.

    Examples
    --------
    >>> proxskip_iteration(heard=True, down=1, up=1).verdict.name
    'PROVED'
    >>> proxskip_iteration(heard=False, down=1, up=1).verdict.name
    'REFUTED'
    """
    slopes = [gradient(i + 1, ENDS[i]) for i in (0, 1)]
    states = [*zip(ENDS, slopes, OWN, strict=False)]
    moved = [messages.local_step(*one, step_size=eta) for one in states]
    mean = _added(moved) / sum(COUNTS[:2])
    received, *sent = (mean,), *[(one,) for one in moved]
    pairs: list[judge.Pair] = [("vectors down", len(received), down)]
    pairs += [("vectors up", len(vectors), up) for vectors in sent]
    told = {True: [*received] * 2 if heard else moved, False: moved}
    for coin, new in told.items():
        plain = _iterated([0, 1] if coin else [])
        moves = [*zip(OWN, moved, new, strict=False)]
        scale = CHANCE / eta
        kept = [messages.new_shift(*move, scale=scale) for move in moves]
        shifts = kept if coin else list(OWN[:2])
        name = "with communication" if coin else "without"
        pairs += [(f"{name}: the mean", mean, *plain["model"])]
        for i in (0, 1):
            pairs += [
                (f"{name}: a model", new[i], *plain["models"][i]),
                (f"{name}: a shift", shifts[i], *plain["shifts"][i]),
            ]
    return judge.all_of(
        {"an iteration": judge.identity(pairs, "every N, either coin")},
        scope=COINS,
        argument="without communication a client does the same by itself; with it all "
        "clients take the mean, and each its own shift from it; so models and shifts "
        "that are equal before an iteration are equal after it",
    )


def _iterated(cohort: list[int]) -> dict[str, Any]:
    """Play an iteration of the plain loop, from any models and shifts."""
    before = {
        "model": [X],
        "models": [[y] for y in ENDS[:2]],
        "shifts": [[h] for h in OWN[:2]],
    }
    slopes = partial(_listed, lambda i, x: gradient(i + 1, x))
    everybody = _Everybody(0, COUNTS[:2])
    how: Any = {"step_size": eta, "probability": CHANCE}
    return proxskip.play(before, slopes, everybody, cohort, **how)
