"""What one traced round asks of every participant, apart from any numbers.

A traced round is linear, so a client's part of it is: take some server vectors into
the own basis, form the messages and the new slots as combinations of those vectors and
the own slots, send the messages back. Messages that are multiples of one another are
sent once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flverify._core.errors import ReadingError
from flverify._core.scaling import PerClient
from flverify.engines.forms import (
    ONE,
    SHARE,
    TAKES_PART,
    ClientForm,
    Feature,
    Key,
    ServerForm,
    Symbol,
    is_zero,
)
from flverify.engines.trace import Trace

Coefficient: TypeAlias = Any  # a rational, a StepPolynomial, or PerClient of these
Terms: TypeAlias = Mapping[Symbol, Coefficient]


@dataclass(frozen=True)
class Use:
    """slot += (above/below) * sum_i feature_i message_i."""

    slot: str
    feature: Feature
    message: int
    above: Coefficient
    below: Coefficient


@dataclass(frozen=True)
class Held:
    """slot += (sum_i feature_i coefficient_i) * another server slot."""

    slot: str
    feature: Feature
    of: str
    coefficient: Coefficient


@dataclass
class Plan:
    """Messages, slot updates at participants, and the server's own combination."""

    server_slots: tuple[str, ...]
    client_slots: tuple[str, ...]
    points: tuple[Terms, ...]
    messages: list[Terms] = field(default_factory=list)
    by_all: list[bool] = field(default_factory=list)  # whether absent clients send too
    uses: list[Use] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    fixed: dict[str, dict[str, Coefficient]] = field(default_factory=dict)
    updates: dict[str, Terms] = field(default_factory=dict)


def lower(trace: Trace) -> Plan:
    """Lower a trace to a plan.

    Raises
    ------
    ReadingError
        If clients change their slots in rounds in which they do not take part.
    """
    points = tuple({s: c for (_, s), c in p.terms.items()} for p in trace.points)
    plan = Plan(trace.server_slots, trace.client_slots, points)
    for slot, form in trace.after.items():
        if isinstance(form, ServerForm):
            plan.fixed[slot] = {name: c for (_, name), c in form.fixed.items()}
            _send(plan, slot, form)
        else:
            _update(plan, slot, form)
    return plan


def _send(plan: Plan, slot: str, form: ServerForm) -> None:
    messages: dict[Feature, dict[Symbol, Coefficient]] = defaultdict(dict)
    for (feature, symbol), value in form.summed.items():
        if symbol[0] == "server":
            plan.held.append(Held(slot, feature, symbol[1], value))
        else:
            messages[feature][symbol] = value
    for feature, terms in messages.items():
        plan.uses.append(_use(plan, slot, feature, terms))


def _use(plan: Plan, slot: str, feature: Feature, terms: Terms) -> Use:
    """Find a message these terms are a multiple of, or add one."""
    for index, known in enumerate(plan.messages):
        ratio = _ratio(terms, known)
        if ratio is not None and plan.by_all[index] == (feature == ONE):
            return Use(slot, feature, index, *ratio)
    plan.messages.append(terms)
    plan.by_all.append(feature == ONE)
    return Use(slot, feature, len(plan.messages) - 1, 1, 1)


def _ratio(terms: Terms, known: Terms) -> tuple[Coefficient, Coefficient] | None:
    """Return (a, b) with terms = (a/b) known, if there are such."""
    values = [*terms.values(), *known.values()]
    if terms.keys() != known.keys() or any(isinstance(v, PerClient) for v in values):
        return None
    first = next(iter(known))
    above, below = terms[first], known[first]
    alike = all(is_zero(terms[s] * below + -1 * (known[s] * above)) for s in known)
    return (above, below) if alike else None


def _update(plan: Plan, slot: str, form: ClientForm) -> None:
    """Split new slot = old + I (terms - old): absent clients must keep theirs."""
    own: Key = (ONE, ("client", slot))
    always = {key: c for key, c in form.terms.items() if key[0] == ONE}
    shared = any(feature == SHARE for feature, _ in form.terms)
    if shared or set(always) != {own} or not is_zero(always[own] - 1):
        raise ReadingError(
            "a compiled round must leave the slots of absent clients alone; got a "
            f"round that changes {slot} everywhere; simulate it with method='literal'."
        )
    terms = {s: c for (feature, s), c in form.terms.items() if feature == TAKES_PART}
    if terms:
        terms[own[1]] = terms.get(own[1], 0) + 1
        plan.updates[slot] = {s: c for s, c in terms.items() if not is_zero(c)}
