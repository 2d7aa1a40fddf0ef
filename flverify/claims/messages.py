"""Rounds of SCAFFOLD and ProxSkip in which server and clients see messages alone.

A client keeps its own variables, works on what it is sent and answers; what was sent is
counted. In one dimension, so that a vector is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
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
    how: Any = {"step_size": step_size, "local_steps": local_steps}
    for cohort in cohorts:
        down = (x, c)
        received = (x, c if heard else Fraction(0))
        answers = []
        for i in cohort:
            slope = partial(gradient, i)
            up, own[i] = answer(slope, received, own[i], option=option, **how)
            answers.append(up)
        counts |= {(len(down), len(up)) for up in answers}
        x = x + sum(up[0] for up in answers) / len(answers)
        c = c + sum(control_change(up, c, **how) for up in answers) / n_clients
        models.append(x)
    return Sent(models, counts)


def answer(
    slope: Callable[[Any], Any],
    received: tuple[Any, Any],
    own: Any,
    *,
    step_size: Any,
    local_steps: Any,
    option: str,
) -> tuple[tuple[Any, ...], Any]:
    """Return what a participant of SCAFFOLD sends, and its control from now on.

    Examples
    --------
    >>> how = dict(step_size=Fraction(1, 2), local_steps=1, option="II, one up")
    >>> sent, own = answer(lambda x: x, (Fraction(1), Fraction(0)), Fraction(0), **how)
    >>> [str(v) for v in sent], str(own)
    (['-1/2'], '1')
    """
    x, c = received
    y = x
    for _ in range(local_steps):
        y = y - step_size * (slope(y) - own + c)
    moved = own - c + (x - y) / (local_steps * step_size)
    new = slope(x) if option == "I" else moved
    return ((y - x, new - own) if option != "II, one up" else (y - x,)), new


def control_change(
    sent: tuple[Any, ...], c: Any, *, step_size: Any, local_steps: Any
) -> Any:
    """Return what changes in a participant's control: sent, or inferred by the server.

    Examples
    --------
    >>> control_change((Fraction(-1, 2),), 0, step_size=Fraction(1, 2), local_steps=1)
    Fraction(1, 1)
    """
    return sent[1] if len(sent) > 1 else -c - sent[0] / (local_steps * step_size)


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
        slopes = [gradient(i, own[i]) for i in everybody]
        each = zip(own, slopes, shifts, strict=True)
        own = [local_step(*one, step_size=step_size) for one in each]
        if coin:
            answers = [(own[i],) for i in everybody]
            down = (sum(x for (x,) in answers) / n_clients,)
            counts |= {(len(down), len(up)) for up in answers}
            news = [*down] * n_clients if heard else own
            moves = zip(shifts, own, news, strict=True)
            scale = probability / step_size
            shifts = [new_shift(*move, scale=scale) for move in moves]
            own = news
            models.append(down[0])
    return Sent(models, counts)


def local_step(model: Any, slope: Any, shift: Any, *, step_size: Any) -> Any:
    """Return a client's model of ProxSkip after its local step."""
    return model - step_size * (slope - shift)


def new_shift(shift: Any, moved: Any, new: Any, *, scale: Any) -> Any:
    """Return a client's control of ProxSkip, of its own and the mean it hears."""
    return shift + scale * (new - moved)
