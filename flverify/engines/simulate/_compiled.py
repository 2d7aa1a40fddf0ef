"""The compiled reading: the round from its trace, whatever the local steps.

Per participating client one product into its eigenbasis for every server vector it
uses, a few elementwise passes with tabulated coefficients, and one product back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flverify._core.errors import InputError, ReadingError
from flverify._core.exact import Array
from flverify.engines.simulate._basis import Basis
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._clients import ClientHalf, NumpyClients
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._literal import LiteralWalker
from flverify.engines.simulate._plan import Plan, lower
from flverify.engines.simulate._server import ServerHalf
from flverify.engines.simulate._setting import Setting
from flverify.engines.simulate._step_polynomial import StepPolynomial
from flverify.engines.simulate._tables import Tables, tabulator
from flverify.engines.trace import exact_twin, trace

HalfMaker = Callable[[Plan, Basis, Block, dict[str, Array]], ClientHalf]


def plan_of(setting: Setting) -> Plan:
    """Trace the round with the step size as an unknown, and lower it.

    Raises
    ------
    ReadingError
        If it cannot be traced, or takes a root of its step size, say.
    """
    unknown = StepPolynomial({1: Fraction(1)})
    algorithm = exact_twin(setting.algorithm).retuned(unknown)
    try:
        traced = trace(algorithm, setting.n_clients)
    except InputError as error:
        if not isinstance(error.__cause__, TypeError):
            raise
        # a number may do what an unknown cannot: the literal reading has one
        raise ReadingError(
            "a compiled round must add, multiply and divide its step size, and nothing "
            f"else; {error}"
        ) from error
    return lower(traced)


class CompiledWalker:
    """A block of rows under the compiled reading; it begins as the literal one."""

    def __init__(self, setting: Setting, block: Block, method: Compiled) -> None:
        plan = method.plan
        self.setting, self.block, self.tables_at = setting, block, method.tables_at
        state = LiteralWalker(setting, block).state
        at_server = {s: getattr(state, s).values for s in plan.server_slots}
        shape = (setting.n_clients, block.n_rows, -1)
        at_clients = {
            s: getattr(state, s).values.reshape(shape).copy() for s in plan.client_slots
        }
        self.server = ServerHalf(plan, at_server, block.step_of_row)
        self.clients = method.half(method.plan, method.basis, block, at_clients)

    def model(self) -> Array:
        """Server models now."""
        return self.server.slots["model"]

    def advance(self, draw: Draw, round_index: int) -> None:
        """Execute one round."""
        steps = self.setting.steps_at(self.block.sweep, round_index)
        tables = self.tables_at(tuple(steps.tolist()))
        sums = self.clients.sums(tables, draw, self.server.slots)
        self.server.advance(tables, draw, sums)


@dataclass(frozen=True, eq=False)
class Compiled:
    """The method of this reading."""

    plan: Plan
    basis: Basis
    tables_at: Callable[[tuple[float, ...]], Tables]
    half: HalfMaker = NumpyClients
    name: str = "compiled"
    block_bytes: int = 384 * 800
    mixes_steps: bool = True

    def walker(self, setting: Setting, block: Block) -> CompiledWalker:
        """Set up one block before its first round."""
        return CompiledWalker(setting, block, self)


def compiled(setting: Setting, half: HalfMaker = NumpyClients) -> Compiled:
    """Return the compiled method for a setting.

    Raises
    ------
    ReadingError
        If the setting cannot be compiled, with the reason.
    """
    if setting.basis is None:
        raise ReadingError(
            "a compiled round must have quadratic clients; got "
            f"{type(setting.problem).__name__}; simulate it with method='literal'."
        )
    plan = plan_of(setting)
    return Compiled(plan, setting.basis, tabulator(plan, setting.basis), half)
