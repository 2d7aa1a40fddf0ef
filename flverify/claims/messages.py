"""Rounds of SCAFFOLD and ProxSkip in which server and clients see messages alone.

A client keeps its own variables, works on what it is sent and answers; what was sent is
counted. In one dimension, so that a vector is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Gradient = Callable[[int, Any], Any]


class Sent(NamedTuple):
    """Server models, and the number of vectors down to and up from each participant."""

    models: list[Any]
    counts: set[tuple[int, int]]


def scaffold(
    gradient: Gradient,
    n_clients: int,
    x0: Any,
    cohorts: Iterable[Sequence[int]],
    *,
    step_size: Any,
    local_steps: int,
    option: str,
    heard: bool = True,
) -> Sent:
    """Play SCAFFOLD, server step 1: x and c go down, two differences come up.

    With option II one is enough: a client's new control follows from its move and c.

    Parameters
    ----------
    gradient : callable
        ``gradient(i, point)`` of client i (0-based), numbers or expressions.
    n_clients : int
    x0 : number or expression
    cohorts : iterable of sequences
        Participants of each round, none empty.
    step_size : number or expression
    local_steps : int
    option : {"I", "II", "II, one up"}
        Rule for the new control of a client, as in `flverify.reference.scaffold`; with
        the last the server infers what changes in it.
    heard : bool
        Whether c arrives; else a client takes 0 for it.

    Examples
    --------
    >>> rounds = [[0], [0, 1]]
    >>> setting = dict(step_size=Fraction(1, 2), local_steps=1, option="II")
    >>> sent = scaffold(lambda i, x: x - i, 2, Fraction(1), rounds, **setting)
    >>> [str(x) for x in sent.models], sent.counts
    (['1', '1/2', '1/2'], {(2, 2)})
    """
    x, c, own, models, counts = x0, Fraction(0), [Fraction(0)] * n_clients, [x0], set()

    def answer(i: int, x: Any, c: Any) -> tuple[Any, ...]:
        y, old = x, own[i]
        for _ in range(local_steps):
            y = y - step_size * (gradient(i, y) - old + c)
        moved = old - c + (x - y) / (local_steps * step_size)
        own[i] = gradient(i, x) if option == "I" else moved
        return (y - x, own[i] - old) if option != "II, one up" else (y - x,)

    def change(up: tuple[Any, ...], c: Any) -> Any:
        return up[1] if len(up) > 1 else -c - up[0] / (local_steps * step_size)

    for cohort in cohorts:
        down = (x, c)
        answers = [answer(i, x, c if heard else Fraction(0)) for i in cohort]
        counts |= {(len(down), len(up)) for up in answers}
        x = x + sum(up[0] for up in answers) / len(answers)
        c = c + sum(change(up, c) for up in answers) / n_clients
        models.append(x)
    return Sent(models, counts)


def proxskip(
    gradient: Gradient,
    n_clients: int,
    x0: Any,
    coins: Iterable[bool],
    *,
    step_size: Any,
    probability: Any,
    heard: bool = True,
) -> Sent:
    """Play ProxSkip of its own paper: models come up, their mean goes down.

    A client updates its control by itself, from the mean. `models` holds the means of
    the iterations that communicate.

    Parameters
    ----------
    gradient : callable
        ``gradient(i, point)`` of client i (0-based), numbers or expressions.
    n_clients : int
    x0 : number or expression
    coins : iterable of bool
        Whether each iteration communicates.
    step_size, probability : number or expression
    heard : bool
        Whether the mean arrives; else a client goes on from its own model.

    Examples
    --------
    >>> setting = dict(step_size=Fraction(1, 2), probability=Fraction(1, 2))
    >>> sent = proxskip(lambda i, x: x - i, 2, Fraction(1), [False, True], **setting)
    >>> [str(x) for x in sent.models], sent.counts
    (['5/8'], {(1, 1)})
    """
    everybody = range(n_clients)
    own, shifts = [x0] * n_clients, [Fraction(0)] * n_clients
    models, counts = list[Any](), set[tuple[int, int]]()
    for coin in coins:
        own = [
            own[i] - step_size * (gradient(i, own[i]) - shifts[i]) for i in everybody
        ]
        if coin:
            answers = [(own[i],) for i in everybody]
            down = (sum(x for (x,) in answers) / n_clients,)
            counts |= {(len(down), len(up)) for up in answers}
            scale = probability / step_size
            news = [*down] * n_clients if heard else own
            shifts = [shifts[i] + scale * (news[i] - own[i]) for i in everybody]
            own = news
            models.append(down[0])
    return Sent(models, counts)
