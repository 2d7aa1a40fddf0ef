"""The literal reading: the round itself, on batched floats.

It follows every round, also those that project, keep numbers per client or return a
fresh aggregate. Participants' rows only are computed where the round pulls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerRun
from flverify.algorithms import _algorithm
from flverify.algorithms._algorithm import Region
from flverify.algorithms.agnostic_fedavg import Ball
from flverify.engines.forms import require
from flverify.engines.own_rounds import performed, running
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._panels import Numbers, Panel
from flverify.engines.simulate._passes import work_out
from flverify.engines.simulate._places import Place
from flverify.engines.simulate._room import Room
from flverify.engines.simulate._setting import Setting
from flverify.engines.simulate._stacks import Stack

KINDS: dict[type, type] = {
    _algorithm.Server: Panel,
    _algorithm.Clients: Stack,
    _algorithm.Numbers: Numbers,
}


class LiteralCohort:
    """The cohort's verbs on batched floats."""

    def __init__(self, room: Room) -> None:
        self.room, self.n_clients = room, room.n_clients
        self.waiting: list[weakref.ref[Stack]] = []  # what sums wait for

    def pull(self, vector: Panel) -> Stack:
        """Give participants the server's vector, each in its own basis."""
        require(vector, Panel, "what is pulled")
        room, draw, values = self.room, self.room.draw, vector.values

        def write(at: Place, out: Array) -> None:
            rows = room.rows[: len(out)]
            values.take(draw.rows[at.part], axis=0, out=rows, mode="clip")
            for client, own in at.each(partial=True):
                room.into_basis(rows[own], client, out[own])

        return Stack(room, True, write)

    def broadcast(self, vector: Panel) -> Stack:
        """Give every client the server's vector."""
        require(vector, Panel, "what is broadcast")
        room, values = self.room, vector.values

        def write(at: Place, out: Array) -> None:
            for client, own in at.each(partial=False):
                room.into_basis(values, client, out[own])

        return Stack(room, False, write)

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
        shape = self.n_clients, self.room.n_rows, self.room.dim
        return self._later(stack, lambda sent: np.add.reduce(sent.reshape(shape)))

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
        mask, taken = self.room.draw.mask, self.room.draw.taken
        whole = np.where(mask, weights.values, 0.0).sum(axis=0)
        if (taken & (whole == 0)).any():  # 0/0 would pass for an error beyond floats
            raise ReadingError(
                "weighted_mean must be given weights that do not sum to 0 over the "
                "participants of a round; got such a round; give one of them another."
            )
        whole = np.where(taken, whole, 1.0)[:, None]
        total = self._total(weights * stack, share=False)
        mean = Panel.later(lambda: total.values / whole, total)
        return self._nonempty(mean, otherwise)

    def project(self, stack: Stack, region: Region) -> Stack:
        """Project every row; a ball looks the same in every basis."""
        require(stack, Stack, "what is projected")
        room, partial = self.room, stack.partial
        turned = room.basis is not None and not isinstance(region, Ball)

        def write(at: Place, out: Array, values: Array) -> None:
            if not turned:
                np.copyto(out, region.project(values))
                return
            for client, own in at.each(partial):
                rows = room.rows[: own.stop - own.start]
                room.out_of_basis(values[own], client, rows)
                room.into_basis(region.project(rows), client, out[own])

        return Stack(room, partial, write, (stack,))

    def _total(self, stack: Stack, share: bool) -> Panel:
        require(stack, Stack, "what is summed")
        room, draw = self.room, self.room.draw
        return self._later(
            stack.here(), lambda sent: room.scatter.total(draw, sent, share)
        )

    def _later(self, stack: Stack, total: Callable[[Array], Array]) -> Panel:
        """Wait for what the clients send: all sums are taken in one pass."""
        room, partial = self.room, stack.partial

        def write(at: Place, out: Array, values: Array) -> None:
            for client, own in at.each(partial):
                room.out_of_basis(values[own], client, out[own])

        if not room.waits:
            pairs = room.scatter.pairs
            write(room.place, pairs, stack.values)
            return Panel(total(pairs))
        sent = Stack(room, partial, write, (stack,))
        self.waiting.append(weakref.ref(sent))
        return Panel(None, lambda: total(self._arrived(sent)), depth=1)

    def _arrived(self, sent: Stack) -> Array:
        if sent.buffer is None:
            self.work_out([])
        return sent.values

    def work_out(self, others: list[Stack]) -> None:
        """Work out other stacks, and all sums that somebody still waits for."""
        if not self.room.waits:
            return
        waited = [stack for held in self.waiting if (stack := held()) is not None]
        self.waiting = []
        work_out(self.room, [*waited, *others])

    def _nonempty(self, panel: Panel, otherwise: Panel) -> Panel:
        draw = self.room.draw
        if not draw.any_empty:
            return panel

        def values() -> Array:
            return np.where(draw.taken[:, None], panel.values, otherwise.values)

        return Panel.later(values, panel, otherwise)


class LiteralOracle:
    """Gradients: of quadratics coordinate by coordinate, of others as they come."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def gradient(self, points: Stack) -> Stack:
        """Gradient of each client at its own points."""
        require(points, Stack, "the point of a gradient")
        partial = points.partial

        def write(at: Place, out: Array, values: Array) -> None:
            for client, own in at.each(partial):
                self._rows(client, values[own], out[own])

        return Stack(self.room, partial, write, (points,), over=True)

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
        begun = performed(algorithm, "init", start, self.cohort, self.oracle)
        self.state: Any = None
        with running(algorithm, "init"):
            self.state = self._kept(begun)

    def model(self) -> Array:
        """Server models now."""
        return np.asarray(self.state.model.values)

    def advance(self, draw: Draw, round_index: int) -> None:
        """Execute the round as it is written."""
        self.room.current = draw
        algorithm = self._algorithm(round_index)
        given = self.state, self.cohort, self.oracle
        after = performed(algorithm, "round", *given)
        with running(algorithm, "round"):
            self.state = self._kept(after)

    def _algorithm(self, round_index: int) -> Any:
        steps = self.setting.steps_at(self.block.sweep, round_index)
        if len(steps) == 1:
            return self.setting.algorithm.retuned(float(steps[0]))
        return self.setting.algorithm.retuned(PerRun(steps[self.block.step_of_row]))

    def _kept(self, state: Any) -> Any:
        """Check the slots, and work out what they hold."""
        record = state._asdict()
        for name, kind in self.slots.items():
            require(record[name], KINDS[kind], f"slot {name}")
        stacks = {name: v for name, v in record.items() if isinstance(v, Stack)}
        for name, stack in stacks.items():
            if stack.partial:
                raise ReadingError(
                    f"slot {name} must be known at every client; got a stack pulled by "
                    "participants only; select it against the old one."
                )
            stack.in_place = self._alone(name, stacks)
        self.cohort.work_out(list(stacks.values()))
        for panel in record.values():
            if isinstance(panel, Panel):
                panel.work_out()
        return state

    def _alone(self, name: str, stacks: dict[str, Stack]) -> bool:
        """Whether a slot is selected against its old value, which no other keeps."""
        old = stacks[name].selected_from
        if old is None or old is not getattr(self.state, name, None):
            return False
        return all(other is not old for other in stacks.values())


class Literal:
    """The method of this reading."""

    name = "literal"
    block_bytes = 384 * 800
    mixes_steps = True

    def walker(self, setting: Setting, block: Block) -> LiteralWalker:
        """Set up one block before its first round."""
        return LiteralWalker(setting, block)
