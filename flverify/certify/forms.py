"""Read an algorithm's round for classes of exchangeable clients.

Where the law draws, the round is traced into the features (I_i, a_i). Where only
everybody or nobody takes part it is read once per outcome, on a cohort that is known:
a fresh aggregate may then return to clients, as the symbol of a mean over clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from flverify._core.errors import ReadingError
from flverify._core.exact import Scalar, is_exact
from flverify._core.scaling import PerClient
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.certify.classes import Classes
from flverify.engines.forms import (
    ClientForm,
    ServerForm,
    Symbol,
    combine,
)
from flverify.engines.trace import TraceCohort, exact_twin, trace

Form: TypeAlias = ServerForm | ClientForm


@dataclass(frozen=True)
class Branch:
    """One outcome of the law with its chance, or all of them with their features.

    `everybody` says who is there: all, nobody, or (None) whom the features choose.
    """

    chance: Fraction
    everybody: bool | None
    after: Mapping[str, Form]


@dataclass(frozen=True)
class Reading:
    """A start and a round, branch by branch.

    `points` are the round's gradient points, in the order of their first evaluation;
    they do not depend on the draw.
    """

    algorithm: Algorithm
    classes: Classes
    slots: Mapping[str, type]
    branches: tuple[Branch, ...]
    points: tuple[ClientForm, ...]
    start: Mapping[str, Form]
    start_points: tuple[ClientForm, ...]

    @cached_property
    def server_slots(self) -> tuple[str, ...]:
        """Names of the server slots, in order."""
        return tuple(n for n, kind in self.slots.items() if kind is Server)

    @cached_property
    def client_slots(self) -> tuple[str, ...]:
        """Names of the clients slots, in order."""
        return tuple(n for n, kind in self.slots.items() if kind is not Server)


def read(algorithm: Algorithm, classes: Classes) -> Reading:
    """Read a start and a round.

    Raises
    ------
    ReadingError
        If the round is not linear in the features, or treats clients of one class
        differently, with the reason.

    Examples
    --------
    >>> from flverify.algorithms import ProxSkip
    >>> from flverify.certify.classes import classes
    >>> from flverify.participation import AllOrNothing
    >>> coin = classes(AllOrNothing(4, "1/5"))
    >>> reading = read(ProxSkip("1/8", probability="1/5"), coin)
    >>> [str(branch.chance) for branch in reading.branches]
    ['1/5', '4/5']
    """
    exact, n = exact_twin(algorithm), classes.n_clients
    if classes.sure is None:
        traced = trace(exact, n)
        branches = [Branch(Fraction(1), None, traced.after)]
    else:
        settled = [
            (chance, everybody, trace(exact, n, SettledCohort(n, everybody)))
            for chance, everybody in classes.sure
        ]
        branches = [Branch(chance, who, found.after) for chance, who, found in settled]
        traced = settled[0][2]
        if any(other.points != traced.points for *_, other in settled):
            raise ReadingError(
                "gradients must be taken at points that do not depend on who takes "
                "part; got other points in an empty round; use rate for this setting."
            )
    forms = [f for branch in branches for f in branch.after.values()]
    for form in [*forms, *traced.points, *traced.start.values()]:
        _same_for_all(form)
    return Reading(
        exact,
        classes,
        traced.slots,
        tuple(branches),
        traced.points,
        traced.start,
        traced.start_points,
    )


def _same_for_all(form: Form) -> None:
    terms: Mapping[Any, Scalar] = (
        form.terms if isinstance(form, ClientForm) else {**form.fixed, **form.summed}
    )
    if any(isinstance(value, PerClient) for value in terms.values()):
        raise ReadingError(
            "clients of a class must be treated alike; got settings that differ from "
            "client to client; use rate for this algorithm."
        )
    if rough := [value for value in terms.values() if not is_exact(value)]:
        raise ReadingError(
            f"the numbers of a round must be rational; got {rough[0]}; write "
            "Fraction(1, 3) for 1/3."
        )


class SettledCohort(TraceCohort):
    """The verbs on forms when everybody takes part, or nobody."""

    def __init__(self, n_clients: int, everybody: bool) -> None:
        super().__init__(n_clients)
        self.everybody = everybody

    def select(self, new: ClientForm, old: ClientForm) -> ClientForm:
        """Take the new value if everybody is there, else the old one."""
        return ClientForm(new.terms, old.partial) if self.everybody else old

    def sum(self, stack: ClientForm) -> ServerForm:
        """Sum over everybody, or zero."""
        return self._total(stack) if self.everybody else ServerForm()

    def mean(self, stack: ClientForm, otherwise: ServerForm) -> ServerForm:
        """Mean over everybody, or `otherwise`."""
        share = Fraction(1, self.n_clients)
        return share * self._total(stack) if self.everybody else otherwise

    def everyone(self, stack: ClientForm) -> ServerForm:
        """Sum over all clients."""
        super().everyone(stack)  # its refusal of stacks known at participants only
        return self._total(stack)

    def _total(self, stack: ClientForm) -> ServerForm:
        fixed: dict[Symbol, Scalar] = {}
        for (_, symbol), value in stack.terms.items():
            shared = symbol[0] in {"server", "mean"}
            whole: Symbol = symbol if shared else ("mean", symbol)
            fixed = combine(fixed, {whole: self.n_clients * value}, 1)
        return ServerForm(fixed)
