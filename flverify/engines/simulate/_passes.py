"""Passes over the clients: what stacks note is done here, a few clients at a time.

Rows of stacks that nobody holds any more by the time of a pass are kept in a few
registers, which the next clients use again; the others get memory for all clients.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from flverify._core.exact import Array
from flverify.engines.simulate._places import Place
from flverify.engines.simulate._room import Buffer, Room
from flverify.engines.simulate._stacks import Stack, Write


@dataclass(frozen=True)
class Note:
    """What a stack noted, apart from the stack."""

    number: int
    held: weakref.ref[Stack]
    partial: bool
    over: bool
    in_place: bool
    write: Write
    parents: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cell:
    """Rows of the clients of a place, in a register or in memory for all clients."""

    memory: Array
    partial: bool
    register: bool

    def at(self, place: Place) -> Array:
        """View of the rows of a place."""
        rows = place.of(self.partial)
        return (
            self.memory[: rows.stop - rows.start]
            if self.register
            else self.memory[rows]
        )


@dataclass(frozen=True)
class Step:
    """One operation: which cell it writes, and which ones it reads."""

    write: Write
    partial: bool
    out: int
    inputs: tuple[int, ...]


def work_out(room: Room, wanted: Sequence[Stack]) -> None:
    """Give the wanted stacks their values, and all they need that somebody holds."""
    known: dict[int, tuple[Buffer, bool]] = {}
    notes = _detached(wanted, known)
    if not notes:
        return
    plan = _Plan(room, notes, known)
    of_participants = all(step.partial for step in plan.steps)
    for place in room.places():
        if of_participants and place.part.stop == place.part.start:
            continue
        rows = [cell.at(place) for cell in plan.cells]
        for step in plan.steps:
            step.write(place, rows[step.out], *[rows[i] for i in step.inputs])


def _detached(
    wanted: Sequence[Stack], known: dict[int, tuple[Buffer, bool]]
) -> list[Note]:
    """Take the notes off all stacks that are needed, so that unheld ones go away."""
    found: dict[int, Stack] = {}
    left = list(wanted)
    while left:  # not recursive: local steps may be thousands
        stack = left.pop()
        stack.require_own()
        if stack.buffer is not None:
            known[stack.number] = stack.buffer, stack.partial
        elif stack.number not in found:
            found[stack.number] = stack
            left.extend(stack.parents)
    notes = []
    for number in sorted(found):
        stack = found[number]
        parents = tuple(parent.number for parent in stack.parents)
        held, how = weakref.ref(stack), (stack.partial, stack.over, stack.in_place)
        notes.append(Note(number, held, *how, stack.write, parents))
        stack.parents, stack.selected_from = (), None
    return notes


@dataclass(eq=False)
class _Plan:
    """Which cell every stack has, and the steps that fill them."""

    room: Room
    notes: list[Note]
    known: dict[int, tuple[Buffer, bool]]
    cells: list[Cell] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cell_of = {
            number: self._cell(buffer.values, partial, register=False)
            for number, (buffer, partial) in self.known.items()
        }
        self.views: dict[tuple[int, bool], int] = {}  # cells of registers
        self.register_of: dict[int, int] = {}
        self.free = list(range(len(self.room.registers)))
        read = {number for note in self.notes for number in note.parents}
        last = [n for n in self.notes if n.in_place and n.number not in read]
        at_the_end = {n.number for n in last}
        self.uses = {p: n.number for n in self.notes for p in n.parents}
        self.uses |= {p: -1 for n in last for p in n.parents}  # never free
        for note in self.notes:
            if note.number not in at_the_end:
                self._plan(note)
        for note in last:
            self._plan_in_place(note)

    def _cell(self, memory: Array, partial: bool, register: bool) -> int:
        self.cells.append(Cell(memory, partial, register))
        return len(self.cells) - 1

    def _plan(self, note: Note) -> None:
        inputs = tuple(self.cell_of[number] for number in note.parents)
        if note.over:
            self._release(note)
        out = self.cell_of[note.number] = self._place(note)
        if not note.over:
            self._release(note)
        self.steps.append(Step(note.write, note.partial, out, inputs))

    def _plan_in_place(self, note: Note) -> None:
        inputs = tuple(self.cell_of[number] for number in note.parents)
        stack = note.held()
        if stack is not None:
            stack.buffer = self.known[note.parents[0]][0]
        self.steps.append(Step(note.write, note.partial, inputs[0], inputs))

    def _place(self, note: Note) -> int:
        """Return memory that lasts if somebody holds the stack, else a register."""
        stack = note.held()
        if stack is not None:
            stack.buffer = self.room.buffer()
            return self._cell(stack.buffer.values, note.partial, register=False)
        registers = self.room.registers
        if not self.free:
            self.free.append(len(registers))
            registers.append(np.empty(self.room.rows.shape))
        register = self.register_of[note.number] = self.free.pop()
        key = register, note.partial
        if key not in self.views:
            self.views[key] = self._cell(registers[register], note.partial, True)
        return self.views[key]

    def _release(self, note: Note) -> None:
        """Free the registers that this note is the last one to read."""
        for number in set(note.parents):
            if self.uses[number] == note.number and number in self.register_of:
                self.free.append(self.register_of.pop(number))
