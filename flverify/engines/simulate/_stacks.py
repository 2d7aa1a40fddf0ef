"""Clients stacks of the literal reading: what is to be done, a few clients at a time.

A stack has, client by client, a row per run (all runs, or those in which the client
takes part), in the eigenbasis of the client's own Hessian. An operation on stacks only
notes what it would write; `_passes` does it when values are asked for, all operations
on some clients before the next ones, so that their rows stay in the cache.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array
from flverify._core.vectors import Vector
from flverify.engines.forms import require
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._places import Place
from flverify.engines.simulate._room import Buffer, Room

# a place, its rows to be written, and those of the parents
Write = Callable[..., None]


class Stack(Vector):
    """One vector per client and row; `partial`: known at participants only.

    `write` fills the rows of a place from those of `parents`, over one of these if
    `over`. Once values are there they are in `buffer`, and the stack has no parents.
    """

    words = "a clients stack"

    def __init__(
        self,
        room: Room,
        partial: bool,
        write: Write,
        parents: tuple[Stack, ...] = (),
        over: bool = False,
    ) -> None:
        self.room, self.partial, self.over = room, partial, over
        self.write, self.parents = write, parents
        self.number = next(room.numbers)  # parents have smaller ones
        self.draw = room.current
        self.buffer: Buffer | None = None
        self.selected_from: Stack | None = None  # for a selection: the old stack,
        self.in_place = False  # and whether to write over that
        self._here: tuple[Draw, weakref.ref[Stack]] | None = None
        self.rows: Array | None = None  # instead of a buffer, where nothing waits
        if not room.waits:
            self._fill()

    def _fill(self) -> None:
        """Write the values now: where all clients are in the cache, waiting is idle."""
        place, parents = self.room.place, self.parents
        where, self.parents = place.of(self.partial), ()
        self.rows = np.empty((where.stop - where.start, self.room.dim))
        for stack in parents:
            if stack.partial and stack.draw is not self.draw:
                stack.require_own()
        self.write(place, self.rows, *[stack.rows for stack in parents])

    def require_own(self) -> None:
        """Refuse what another round has left."""
        known = self.rows is not None or self.buffer is not None
        known = known and not self.partial
        if not known and self.draw is not self.room.current:
            raise ReadingError(
                "a round must use the stacks of its state and those it makes; got one "
                "of another round; keep it in a slot."
            )

    @property
    def values(self) -> Array:
        """Rows client by client, once they are worked out."""
        return cast("Buffer", self.buffer).values if self.rows is None else self.rows

    @staticmethod
    def select(new: Stack, old: Stack) -> Stack:
        """Participants' rows of new, the others of old."""
        stack = Stack(old.room, False, _selected, (old, new.here()))
        stack.selected_from = old if old.room.waits else None
        return stack

    def here(self) -> Stack:
        """Participants' rows."""
        if self.partial:
            return self
        draw = self.room.draw
        if self._here is not None and self._here[0] is draw:
            known = self._here[1]()
            if known is not None:
                return known
        taken = Stack(self.room, True, _taken, (self,))
        self._here = draw, weakref.ref(taken)
        return taken

    def _with(self, other: Stack, op: np.ufunc) -> Stack:
        require(other, Stack, "what meets a clients stack")
        left, right = self, other
        if left.partial or right.partial:
            left, right = left.here(), right.here()

        def write(_: Place, out: Array, first: Array, second: Array) -> None:
            op(first, second, out=out)

        return Stack(self.room, left.partial, write, (left, right), over=True)

    def __add__(self, other: Stack) -> Stack:
        return self._with(other, np.add)

    def __sub__(self, other: Stack) -> Stack:
        return self._with(other, np.subtract)

    def __rmul__(self, factor: Any) -> Stack:
        if hasattr(factor, "typed"):
            raise ReadingError(
                "a clients stack must be scaled by numbers; got another vector; take "
                "one number per client."
            )
        return self.scaled(self.room.factor(factor, self.partial))

    __mul__ = __rmul__

    def scaled(self, factor: Any) -> Stack:
        """Rows times a float, or times a column with one number per row."""
        partial = self.partial

        def by_float(_: Place, out: Array, values: Array) -> None:
            np.multiply(values, factor, out=out)

        def by_column(at: Place, out: Array, values: Array) -> None:
            np.multiply(values, factor[at.of(partial)], out=out)

        write = by_column if isinstance(factor, np.ndarray) else by_float
        return Stack(self.room, partial, write, (self,), over=True)


def _taken(at: Place, out: Array, values: Array) -> None:
    values.take(at.inside, axis=0, out=out, mode="clip")


def _selected(at: Place, out: Array, old: Array, new: Array) -> None:
    if out is not old:
        np.copyto(out, old)
    out[at.inside] = new
