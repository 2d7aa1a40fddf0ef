"""The literal reading: the round itself, on batched floats.

It follows every round, also those that project, keep numbers per client or return a
fresh aggregate. Participants' rows only are computed where the round pulls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerRun
from flverify.algorithms import _algorithm
from flverify.algorithms._algorithm import Region
from flverify.algorithms.agnostic_fedavg import Ball
from flverify.engines.forms import require
from flverify.engines.own_rounds import require_state, running
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._panels import Numbers, Panel, Stack
from flverify.engines.simulate._room import Room
from flverify.engines.simulate._setting import Setting

KINDS: dict[type, type] = {
    _algorithm.Server: Panel,
    _algorithm.Clients: Stack,
    _algorithm.Numbers: Numbers,
}


class LiteralCohort:
    """The cohort's verbs on batched floats."""

    def __init__(self, room: Room) -> None:
        self.room, self.n_clients = room, room.n_clients

    def pull(self, vector: Panel) -> Stack:
        """Give participants the server's vector, each in its own basis."""
        require(vector, Panel, "what is pulled")
        room, draw = self.room, self.room.draw
        out = Stack.empty(room, partial=True)
        for client, place in room.segments(partial=True):
            rows = room.rows[: place.stop - place.start]
            np.take(vector.values, draw.rows[place], axis=0, out=rows, mode="clip")
            room.into_basis(rows, client, out.values[place])
        return out

    def broadcast(self, vector: Panel) -> Stack:
        """Give every client the server's vector."""
        require(vector, Panel, "what is broadcast")
        out = Stack.empty(self.room, partial=False)
        for client, place in self.room.segments(partial=False):
            self.room.into_basis(vector.values, client, out.values[place])
        return out

    def select(self, new: Any, old: Any) -> Any:
        """Take new where the client takes part, else old."""
        if isinstance(old, Numbers):
            require(new, Numbers, "numbers")
            return Numbers(np.where(self.room.draw.mask, new.values, old.values))
        require(old, Stack, "what is selected against")
        require(new, Stack, "what is selected")
        return new.here() if old.partial else Stack.select(new.here(), old)

    def sum(self, stack: Stack) -> Panel:
        """Add up over participants."""
        return self._total(stack, share=False)

    def mean(self, stack: Stack, otherwise: Panel) -> Panel:
        """Average over participants."""
        require(otherwise, Panel, "the value of an empty round")
        return self._nonempty(self._total(stack, share=True), otherwise)

    def everyone(self, stack: Stack) -> Panel:
        """Add up over all clients."""
        require(stack, Stack, "what is summed")
        if stack.partial:
            raise ReadingError(
                "everyone() must be given a stack known at all clients; got one pulled "
                "by participants only; broadcast instead."
            )
        total, values = np.zeros((self.room.n_rows, self.room.dim)), stack.plain()
        for client, place in self.room.segments(partial=False):
            self.room.out_of_basis(values[place], client, self.room.rows)
            total += self.room.rows
        return Panel(total)

    def numbers(self, value: Scalar) -> Numbers:
        """Give every client the same number."""
        shape = self.n_clients, self.room.n_rows
        return Numbers(np.full(shape, within_floats(value)))

    def equal(self, numbers: Numbers, value: int) -> Numbers:
        """1 where a number equals the value, else 0."""
        require(numbers, Numbers, "what is compared")
        return Numbers((numbers.values == value).astype(np.float64))

    def weighted_mean(self, stack: Stack, weights: Numbers, otherwise: Panel) -> Panel:
        """Average over participants by weight."""
        require(weights, Numbers, "weights")
        mask = self.room.draw.mask
        whole = np.where(mask, weights.values, 0.0).sum(axis=0)
        total = self._total(weights * stack, share=False).values
        total = total / np.where(self.room.draw.taken, whole, 1.0)[:, None]
        return self._nonempty(Panel(total), otherwise)

    def project(self, stack: Stack, region: Region) -> Stack:
        """Project every row; a ball looks the same in every basis."""
        require(stack, Stack, "what is projected")
        room, values = self.room, stack.plain()
        out = Stack.empty(room, stack.partial)
        if room.basis is None or isinstance(region, Ball):
            np.copyto(out.values, region.project(values))
            return out
        for client, place in room.segments(stack.partial):
            rows = room.rows[: place.stop - place.start]
            room.out_of_basis(values[place], client, rows)
            room.into_basis(region.project(rows), client, out.values[place])
        return out

    def _total(self, stack: Stack, share: bool) -> Panel:
        require(stack, Stack, "what is summed")
        here, room = stack.here(), self.room
        values, pairs = here.plain(), room.scatter.pairs
        for client, place in room.segments(partial=True):
            room.out_of_basis(values[place], client, pairs[place])
        return Panel(room.scatter.total(room.draw, pairs, share))

    def _nonempty(self, panel: Panel, otherwise: Panel) -> Panel:
        draw = self.room.draw
        if draw.any_empty:
            panel.values[~draw.taken] = otherwise.values[~draw.taken]
        return panel


class LiteralOracle:
    """Gradients: of quadratics coordinate by coordinate, of others as they come."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def gradient(self, points: Stack) -> Stack:
        """Gradient of each client at its own points."""
        require(points, Stack, "the point of a gradient")
        out = Stack.empty(self.room, points.partial)
        values = points.plain()
        for client, place in self.room.segments(points.partial):
            self._rows(client, values[place], out.values[place])
        return out

    def _rows(self, client: int, points: Array, out: Array) -> None:
        basis, problem = self.room.basis, self.room.setting.problem
        if basis is None:
            out[:] = problem.client_gradients(client, points)
        else:
            np.multiply(points, basis.values[client], out=out)
            np.subtract(out, basis.linear[client], out=out)


class LiteralWalker:
    """A block of rows under the literal reading."""

    def __init__(self, setting: Setting, block: Block) -> None:
        self.setting, self.block = setting, block
        self.room, self.slots = Room(setting, block), setting.algorithm.slots()
        self.cohort, self.oracle = LiteralCohort(self.room), LiteralOracle(self.room)
        start = Panel(np.tile(setting.start, (block.n_rows, 1)))
        algorithm = self._algorithm(0)
        with running(algorithm, "init"):
            begun = algorithm.init(start, self.cohort, self.oracle)
        require_state(algorithm, "init", begun, self.slots)
        self.state = self._kept(begun)

    def model(self) -> Array:
        """Server models now."""
        return np.asarray(self.state.model.values)

    def advance(self, draw: Draw, round_index: int) -> None:
        """Execute the round as it is written."""
        self.room.current = draw
        algorithm = self._algorithm(round_index)
        with running(algorithm, "round"):
            after = algorithm.round(self.state, self.cohort, self.oracle)
        require_state(algorithm, "round", after, self.slots)
        self.state = self._kept(after)

    def _algorithm(self, round_index: int) -> Any:
        steps = self.setting.steps_at(self.block.sweep, round_index)
        if len(steps) == 1:
            return self.setting.algorithm.retuned(float(steps[0]))
        return self.setting.algorithm.retuned(PerRun(steps[self.block.step_of_row]))

    def _kept(self, state: Any) -> Any:
        """Check the slots, and write selections in place where that harms nobody."""
        record = state._asdict()
        for name, kind in self.slots.items():
            require(record[name], KINDS[kind], f"slot {name}")
        stacks = [name for name, v in record.items() if isinstance(v, Stack)]
        for name in stacks:
            record[name] = self._settled(name, record, stacks)
        return state._replace(**record)

    def _settled(self, name: str, record: Any, stacks: list[str]) -> Stack:
        stack: Stack = record[name]
        if stack.partial:
            raise ReadingError(
                f"slot {name} must be known at every client; got a stack pulled by "
                "participants only; select it against the old one."
            )
        stack.settle(in_place=self._alone(name, record, stacks))
        if stack.factor is not None:
            scaled = Stack.empty(self.room, partial=False)
            np.multiply(stack.values, stack.factor, out=scaled.values)
            return scaled
        return stack

    def _alone(self, name: str, record: Any, stacks: list[str]) -> bool:
        """Whether a slot is selected against its old value, which no other reads."""
        selected = record[name].selected
        if selected is None or selected[1] is not getattr(self.state, name):
            return False
        old = selected[1]
        others = (record[other] for other in stacks if other != name)
        return not any(_reads(other, old) for other in others)


def _reads(stack: Stack, old: Stack) -> bool:
    if stack.selected is not None:
        return stack.selected[1].buffer is old.buffer
    return stack.buffer is old.buffer


class Literal:
    """The method of this reading."""

    name = "literal"
    block_bytes = 192 * 800
    mixes_steps = True

    def walker(self, setting: Setting, block: Block) -> LiteralWalker:
        """Set up one block before its first round."""
        return LiteralWalker(setting, block)
