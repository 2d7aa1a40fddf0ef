"""The search for a coefficient certificate: which facts to substitute away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count, islice

import sympy

from flverify._core.errors import RefusedError
from flverify.certify._scalar.formulas import (
    Atom,
    Comparison,
    stated_powers,
    stated_signs,
)
from flverify.certify._scalar.quotients import (
    Quotients,
    evident,
    quotient_sign,
    size,
    symbols_of,
)
from flverify.certify._scalar.states import Known, Move, State
from flverify.certify._scalar.substitutions import apply, ends, moves, raised, solved

WORK = 1500  # monomials looked at in one search
DEPTH = 4  # choices between bounds in one proof
SLACKS = 8  # new symbols in one proof

Choices = frozenset[tuple[str, sympy.Symbol]]
Chooses = Callable[[Move, State], bool]


def search(
    symbols: Sequence[sympy.Symbol],
    facts: Sequence[Atom],
    texts: Sequence[str],
    goal: Atom,
) -> tuple[State, State] | None:
    """Look for substitutions after which a comparison shows in the coefficients.

    Parameters
    ----------
    symbols : sequence of sympy.Symbol
        All symbols of the facts and the goal.
    facts : sequence of Atom
    texts : sequence of str
        Of the facts.
    goal : Atom

    Returns
    -------
    (first, last) or None
        The states before and after all substitutions.
    """
    start = opening(symbols, facts, texts, goal)
    for at_once in (_is_plain, _is_equation):
        try:
            found = _Search().run(_Node(start, goal.comparison, at_once))
        except (ZeroDivisionError, RefusedError):
            # the facts leave no point at all, or something grows too large
            return None
        if found is not None:
            return start, _shortened(start, found, goal.comparison)
    return None


def opening(
    symbols: Sequence[sympy.Symbol],
    facts: Sequence[Atom],
    texts: Sequence[str],
    goal: Atom,
) -> State:
    """Return the state before any substitution."""
    taken = {symbol.name for symbol in symbols}
    names = (f"u{k}" for k in count(1) if f"u{k}" not in taken)
    slacks = tuple(sympy.Symbol(name) for name in islice(names, SLACKS))
    quotients = Quotients([*symbols, *slacks], quick=True)
    known = tuple(
        Known(quotients.of(fact.expression), fact.comparison, text, place)
        for place, (fact, text) in enumerate(zip(facts, texts, strict=True))
    )
    signs = raised(stated_signs(facts, quotients), known)
    target = quotients.of(goal.expression)
    powers = stated_powers(facts, quotients)
    return State(quotients, target, known, signs, slacks, len(facts), powers)


def _shortened(start: State, found: State, comparison: Comparison) -> State:
    """Leave out steps that the proof does not need."""
    choices = [(step.known, step.symbol) for step in found.steps]
    for choice in reversed(choices[:]):
        fewer = _replay(start, [other for other in choices if other != choice])
        if fewer is not None and shows(fewer, comparison):
            found = fewer
            choices.remove(choice)
    return found


def _replay(state: State, choices: list[tuple[int, sympy.Symbol]]) -> State | None:
    for place, symbol in choices:
        known = next((k for k in state.known if k.place == place), None)
        step = None if known is None else solved(state, known, symbol)
        if step is None:
            return None
        state = apply(state, step)
    return state


class _Node:
    """A state and what was found of it, since a deepening search comes back to it."""

    def __init__(self, state: State, comparison: Comparison, at_once: Chooses) -> None:
        self.state, self._goes = state, (comparison, at_once)
        self._steps: dict[tuple[int, sympy.Symbol], Move | None] = {}
        self._after: dict[tuple[int, sympy.Symbol], _Node] = {}

    @cached_property
    def shown(self) -> bool:
        """Whether the goal shows."""
        return shows(self.state, self._goes[0])

    @cached_property
    def size(self) -> int:
        """Monomials of all quotients."""
        return size(self.state.goal) + sum(size(k.quotient) for k in self.state.known)

    @cached_property
    def moves(self) -> list[tuple[Known, sympy.Symbol]]:
        """Facts that may be solved, each with a symbol."""
        return list(moves(self.state))

    @cached_property
    def plain(self) -> Move | None:
        """The step that is taken at once."""
        steps = (self.step(*move) for move in self.moves)
        _, at_once = self._goes
        return next(
            (s for s in steps if s is not None and at_once(s, self.state)), None
        )

    def step(self, known: Known, symbol: sympy.Symbol) -> Move | None:
        """Solve a fact for a symbol."""
        choice = known.place, symbol
        if choice not in self._steps:
            self._steps[choice] = solved(self.state, known, symbol)
        return self._steps[choice]

    def after(self, step: Move) -> _Node:
        """Take a step."""
        choice = step.known, step.symbol
        if choice not in self._after:
            self._after[choice] = _Node(apply(self.state, step), *self._goes)
        return self._after[choice]


class _Search:
    """Deepening search: some steps are taken at once, among the others it chooses."""

    def __init__(self) -> None:
        self.left = WORK

    def run(self, start: _Node) -> State | None:
        """Return the state in which the goal shows, if one is found."""
        for depth in range(DEPTH + 1):
            found = self._deepen(start, depth, set())
            if found is not None or self.left < 0:
                return found
        return None

    def _deepen(self, node: _Node, depth: int, seen: set[Choices]) -> State | None:
        while True:
            if node.shown:
                return node.state
            self.left -= node.size
            if self.left < 0:
                return None
            if node.plain is None:
                break
            node = node.after(node.plain)
        for known, symbol in node.moves if depth else ():
            # the order of substitutions hardly matters: each set of them once
            choices = frozenset([*taken(node.state), (known.text, symbol)])
            step = None if choices in seen else node.step(known, symbol)
            seen.add(choices)
            if step is not None:
                found = self._deepen(node.after(step), depth - 1, seen)
                if found is not None:
                    return found
        return None


def taken(state: State) -> frozenset[tuple[str, sympy.Symbol]]:
    """Which facts were solved for which symbols."""
    return frozenset((step.because, step.symbol) for step in state.steps)


def _is_equation(step: Move, _state: State) -> bool:
    return step.slack is None


def _is_plain(step: Move, state: State) -> bool:
    """Whether it is an equation, or a bound from below that is itself nonnegative."""
    if step.slack is None:
        return True
    bound = step.value - state.quotients.of(step.slack)
    free = step.slack not in symbols_of(bound.numer) | symbols_of(bound.denom)
    return free and quotient_sign(bound, state.signs) is not None


def shows(state: State, comparison: Comparison) -> bool:
    """Whether the goal's comparison with 0 shows in its coefficients."""
    above, below = ends(state)
    return evident(above, below, comparison, state.signs)
