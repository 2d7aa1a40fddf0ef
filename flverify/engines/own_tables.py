"""Moments of a user's own law, compared with each other: what every law keeps to.

Of a random set S with |S| >= 1 where it matters, sum_j I_j / |S| = 1 gives
sum_j E[I_i I_j / |S|^(k+1)] = E[I_i / |S|^k], exactly and without any outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar, is_symbolic, objects, scalar
from flverify.participation._law import Participation
from flverify.participation._outcomes import ROUNDING, apart, number

MOST_PAIRED = 10  # clients all of whose pairs are asked for; of more, one client's
POWERS = 0, 1, 2  # those that the engines use
TABLES = {  # the power of 1/|S|, and whether of pairs
    "inclusion": (0, False),
    "averaging_weights": (1, False),
    "joint_inclusion": (0, True),
    "cross": (1, True),
    "joint_averaging": (2, True),
}

Ask: TypeAlias = Callable[[tuple[int, ...], int], Scalar]  # clients, power
Known: TypeAlias = Mapping[tuple[int, int, int], Scalar]  # client, client, power


def asked_for(clients: tuple[int, ...], power: int) -> str:
    """Return the call of a moment, in words of Python.

    Examples
    --------
    >>> asked_for((1, 0, 0), 2)
    'moment((0, 1), 2)'
    """
    return f"moment({tuple(sorted(set(clients)))}, {power})"


def moment_of(
    law: Participation, name: str, clients: tuple[int, ...], power: int
) -> Scalar:
    """Ask a law for a moment.

    Raises
    ------
    DomainError
        If it is no finite number, or a float of a law that says it is exact.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> moment_of(Bernoulli(["1/2", "1/3"]), "Bernoulli", (0, 1), 0)
    Fraction(1, 6)
    """
    asked = asked_for(clients, power)
    value = number(law.moment(clients, power), f"{asked} of {name}")
    if law.exact and isinstance(value, float):
        raise DomainError(
            f"{asked} of {name} must be a rational, since its exact is True; got the "
            f"float {value}; return Fractions, or set exact to False."
        )
    return value


def require_tables(law: Participation, ask: Ask, name: str) -> None:
    """Check that moments of clients and of pairs, as asked, can be those of one law.

    Raises
    ------
    DomainError
        If one falls too much or too little as the power grows, a pair comes more often
        than a client of it, the weights of a client's pairs do not sum to what they
        must, or a table is not made of the moments.

    Examples
    --------
    >>> from flverify.participation import Bernoulli
    >>> law = Bernoulli(["1/2", "1/3"])
    >>> require_tables(law, law.moment, "Bernoulli")
    """
    known = _known(law, ask)
    if any(is_symbolic(value) for value in known.values()):
        return
    _require_powers(law, known, name)
    _require_overlaps(known, name)
    _require_sums(law, known, name)
    if law.n_clients <= MOST_PAIRED:
        _require_covariance(law, known, name)
    for table, (power, paired) in TABLES.items():
        if law.n_clients <= MOST_PAIRED or _is_written(law, table, paired=paired):
            _require_table(law, table, _entries(law, known, power, paired), name)
    _require_empty(law, known, name)


def _is_written(law: Participation, table: str, *, paired: bool) -> bool:
    """Whether a law makes a table by itself, and not of its moments."""
    ways = table, "_matrix" if paired else "_vector"
    return any(getattr(type(law), w) is not getattr(Participation, w) for w in ways)


def _known(law: Participation, ask: Ask) -> Known:
    everyone = range(law.n_clients)
    rows = everyone if law.n_clients <= MOST_PAIRED else (0,)
    pairs = {(min(i, j), max(i, j)) for i in rows for j in everyone}
    asked = sorted(pairs | {(i, i) for i in everyone})
    return {
        (*pair, power): ask(tuple(sorted(set(pair))), power)
        for power in POWERS
        for pair in asked
    }


def _require_powers(law: Participation, known: Known, name: str) -> None:
    """E[I_A / |S|^(k+1)] lies between 1/N and 1/|A| of E[I_A / |S|^k]."""
    for i, j, power in known:
        value, size = known[i, j, power], len({i, j})
        before = known[i, j, power - 1] if power else 1
        least, most = (before / law.n_clients, before / size) if power else (0, 1)
        if _below(value, least) or _below(most, value):
            raise DomainError(
                f"{asked_for((i, j), power)} of {name} must lie between {least} and "
                f"{most}, as of every law with its other moments; got {value}; mend it."
            )


def _require_overlaps(known: Known, name: str) -> None:
    for i, j, power in known:
        if i < j and not power:
            one, other = known[i, i, 0], known[j, j, 0]
            least, most = max(0, one + other - 1), min(one, other)
            if _below(known[i, j, 0], least) or _below(most, known[i, j, 0]):
                raise DomainError(
                    f"clients {i} and {j} of {name} must come together with a "
                    f"probability between {least} and {most}, since they come with "
                    f"{one} and {other}; got {known[i, j, 0]}; mend moment()."
                )


def _require_sums(law: Participation, known: Known, name: str) -> None:
    everyone = range(law.n_clients)
    whole_row = everyone if law.n_clients <= MOST_PAIRED else (0,)
    for i, power in ((i, power) for power in POWERS[1:] for i in whole_row):
        row = [known[min(i, j), max(i, j), power] for j in everyone]
        if apart(sum(row), known[i, i, power - 1]):
            raise DomainError(
                f"moment(({i}, j), {power}) of {name} must sum over the clients j to "
                f"{asked_for((i, i), power - 1)}, {known[i, i, power - 1]}, as of "
                f"every law; got the sum {sum(row)}; mend moment()."
            )
    total = sum(known[i, i, 1] for i in everyone)
    most_often = max(known[i, i, 0] for i in everyone)
    if _below(1, total) or _below(total, most_often):
        raise DomainError(
            f"the averaging weights of {name} must sum to P(S is not empty), at least "
            f"{most_often} and at most 1; got the sum {total}; mend moment()."
        )


def _require_empty(law: Participation, known: Known, name: str) -> None:
    """Compare what a law may answer by itself, and expected matrices read."""
    total = sum(known[i, i, 1] for i in range(law.n_clients))
    for asked, due in (("nonempty", total), ("empty", 1 - total)):
        said = number(
            getattr(law, f"{asked}_probability")(), f"{asked}_probability() of {name}"
        )
        if not is_symbolic(said) and apart(said, due):
            raise DomainError(
                f"{asked}_probability() of {name} must be what moment() says, {due}; "
                f"got {said}; mend one of them."
            )


def _require_covariance(law: Participation, known: Known, name: str) -> None:
    for power, of in ((0, "who comes"), (2, "the shares I_i/|S|")):
        mean = _floats(_entries(law, known, power // 2, False))
        both = _floats(_entries(law, known, power, True))
        least = np.linalg.eigvalsh(both - np.outer(mean, mean))[0]
        if least < -ROUNDING * law.n_clients:
            raise DomainError(
                f"the covariances of {of} must be those of some law; those of {name} "
                f"have the negative eigenvalue {least:.3g}; mend moment()."
            )


def _require_table(law: Participation, table: str, due: Array, name: str) -> None:
    found = np.asarray(getattr(law, table)())
    if found.shape != due.shape:
        raise ShapeError(
            f"{table}() of {name} must have the shape {due.shape}; got {found.shape}; "
            "mend it."
        )
    for place in np.ndindex(due.shape):
        if due[place] is not None and apart(
            scalar(found[place], f"{table}() of {name}"), due[place]
        ):
            raise DomainError(
                f"{table}() of {name} must be what moment() says, {due[place]} for "
                f"{' and '.join(f'client {i}' for i in place)}; got {found[place]}; "
                "mend one of them."
            )


def _entries(law: Participation, known: Known, power: int, paired: bool) -> Array:
    clients = range(law.n_clients)
    if not paired:
        return objects(known[i, i, power] for i in clients)
    pairs = ((min(i, j), max(i, j), power) for i in clients for j in clients)
    rows = [known.get(pair) for pair in pairs]  # of many clients, one client's pairs
    return objects(rows).reshape(law.n_clients, law.n_clients)


def _below(one: Scalar, other: Scalar) -> bool:
    return bool(one < other and apart(one, other))


def _floats(values: Array) -> Array:
    return values.astype(float)
