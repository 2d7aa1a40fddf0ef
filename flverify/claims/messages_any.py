"""A round of SCAFFOLD and ProxSkip by messages, for every N and tau.

One participant of whom another is a copy stands for all: sums over participants are
equal if each client's term is. Its last local model, after any number of steps, is a
symbol, which both sides make by the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from flverify.claims import judge
from flverify.claims.focus_any_box import gradient
from flverify.claims.verdict import Finding

SCOPE = "every N, tau, cohort not empty, gradients and number of rounds"
COINS = "every N, gradients and number of iterations"
X, C, OLD, END = sympy.symbols("x c c_i y")
eta, tau, chance = sympy.symbols("eta tau p", positive=True)


def scaffold_round(
    options: Sequence[str], *, heard: bool, down: int, up: int
) -> Finding:
    """Judge a client's part of a round by messages against the plain loop.

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
    pairs = [p for o in options for p in _a_client(o, heard, down, up)]
    return judge.all_of(
        {"a participant's part": judge.identity(pairs, "every participant")},
        scope=SCOPE,
        argument="The server adds up what participants send, and both do so in the "
        "same way; who is absent changes nothing. Equal x, c and controls before a "
        "round are equal after it, and they are 0 or x_0 at the start.",
    )


def _a_client(option: str, heard: bool, down: int, up: int) -> list[judge.Pair]:
    received = X, C if heard else sympy.Integer(0)
    model, control = received
    step = END - eta * (gradient(1, END) - OLD + control)
    plain_step = END - eta * ((gradient(1, END) - OLD) + C)
    by_moves = OLD - control + (model - END) / (tau * eta)
    new = gradient(1, model) if option == "I" else by_moves
    plain_new = gradient(1, X) if option == "I" else OLD - C + (X - END) / (tau * eta)
    sent = (END - model,) if option == "II, one up" else (END - model, new - OLD)
    inferred = sent[1] if len(sent) > 1 else -C - sent[0] / (tau * eta)
    name = f"option {option}"
    return [
        (f"{name}: first local model", model, X),
        (f"{name}: a local step", step, plain_step),
        (f"{name}: its control", new, plain_new),
        (f"{name}: its term of the model", sent[0], END - X),
        (f"{name}: its term of the control", inferred, plain_new - OLD),
        (f"{name}: vectors down", len(received), down),
        (f"{name}: vectors up", len(sent), up),
    ]


def proxskip_iteration(*, heard: bool, down: int, up: int) -> Finding:
    """Judge an iteration by messages, of any coin, against the plain loop.

    The plain loop is that of `flverify.reference.proxskip`, of its own paper.

    Examples
    --------
    >>> proxskip_iteration(heard=True, down=1, up=1).verdict.name
    'PROVED'
    >>> proxskip_iteration(heard=False, down=1, up=1).verdict.name
    'REFUTED'
    """
    x, shift, others = sympy.symbols("x_i h_i others")
    n = sympy.Symbol("N", positive=True)
    moved = x - eta * (gradient(1, x) - shift)
    sent = (moved,)
    mean = (others + sent[0]) / n  # of all clients, of whom one shows
    received = (mean,)
    new = received[0] if heard else moved
    plain_mean = (others + moved) / n
    pairs = [
        ("the mean", mean, plain_mean),
        ("its model", new, plain_mean),
        (
            "its shift",
            shift + chance / eta * (new - moved),
            shift + chance / eta * (plain_mean - moved),
        ),
        ("vectors down", len(received), down),
        ("vectors up", len(sent), up),
    ]
    return judge.all_of(
        {"a client's part": judge.identity(pairs, "every client")},
        scope=COINS,
        argument="without communication a client does the same by itself; with it all "
        "clients take the mean, and each its own shift from it; so models and shifts "
        "that are equal before an iteration are equal after it",
    )
