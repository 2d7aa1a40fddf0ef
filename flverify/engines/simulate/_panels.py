"""The typed objects of the literal reading: batched floats.

A server vector is a row per run; a clients stack has, client by client, a row per run
(all runs, or those in which the client takes part), in the eigenbasis of the client's
own Hessian. Scaling a stack is put off until it is added to something.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerClient, PerRun
from flverify.engines.forms import require
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._room import Buffer, Room


class Panel:
    """One server vector per row, shape (rows, d)."""

    typed = True
    words = "a server vector"
    __array_ufunc__ = None

    def __init__(self, values: Array) -> None:
        self.values = values

    def __add__(self, other: Panel) -> Panel:
        require(other, Panel, "what meets a server vector")
        return Panel(self.values + other.values)

    def __sub__(self, other: Panel) -> Panel:
        require(other, Panel, "what meets a server vector")
        return Panel(self.values - other.values)

    def __rmul__(self, factor: Scalar) -> Panel:
        if isinstance(factor, PerClient) or hasattr(factor, "typed"):
            raise ReadingError(
                "a server vector must be scaled by a scalar; got one number per "
                "client or another vector; scale the clients stack instead."
            )
        per_run = isinstance(factor, PerRun)
        return Panel(
            self.values * (factor.values[:, None] if per_run else within_floats(factor))
        )

    __mul__ = __rmul__


class Numbers:
    """One number per client and row, shape (N, rows)."""

    typed = True
    words = "numbers per client"
    __array_ufunc__ = None

    def __init__(self, values: Array) -> None:
        self.values = values

    def _other(self, other: Any) -> Any:
        if isinstance(other, PerRun | PerClient):
            raise ReadingError(
                "numbers must meet numbers or plain scalars; got one per run or per "
                "client; use cohort.numbers."
            )
        if hasattr(other, "typed"):
            require(other, Numbers, "numbers")
            return other.values
        return within_floats(other)

    def __add__(self, other: Any) -> Numbers:
        return Numbers(self.values + self._other(other))

    def __sub__(self, other: Any) -> Numbers:
        return Numbers(self.values - self._other(other))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Stack):
            return other * self
        return Numbers(self.values * self._other(other))

    def __truediv__(self, other: Any) -> Numbers:
        return Numbers(self.values / self._other(other))

    __rmul__ = __mul__
    __radd__ = __add__


class Stack:
    """One vector per client and row; `partial`: known at participants only.

    The values are those of `buffer` times `factor` (None, a float, or a column). A
    stack made by `select` holds the old stack and the participants' new rows until its
    values are asked for, so that the end of a round can write them in place.
    """

    typed = True
    words = "a clients stack"
    __array_ufunc__ = None

    def __init__(
        self, room: Room, partial: bool, buffer: Buffer | None, factor: Any = None
    ) -> None:
        self.room, self.partial, self.factor = room, partial, factor
        self.selected: Any = None  # (new, old), until settled
        self._buffer = buffer
        self._here: tuple[Draw, Stack] | None = None

    @staticmethod
    def empty(room: Room, partial: bool) -> Stack:
        """Memory without values yet."""
        return Stack(room, partial, room.buffer(partial))

    @staticmethod
    def select(new: Stack, old: Stack) -> Stack:
        """Participants' rows of new, the others of old."""
        stack = Stack(old.room, False, None)
        stack.selected = (new, old)
        return stack

    @property
    def buffer(self) -> Buffer:
        """Memory of the values before scaling."""
        return self._buffer if self._buffer is not None else self.settle()

    def settle(self, in_place: bool = False) -> Buffer:
        """Write a selection out, over the old stack if nobody reads that any more."""
        if self._buffer is None:
            new, old = self.selected
            over = in_place and old.factor is None
            self._buffer = old.buffer if over else self.room.buffer(False)
            if not over:
                np.copyto(self._buffer.values, old.plain())
            self._buffer.values[self.room.draw.flat] = new.plain()
            self.selected = None
        return self._buffer

    @property
    def values(self) -> Array:
        """Rows before scaling, client by client."""
        return self.buffer.values

    def plain(self) -> Array:
        """Rows, scaled."""
        return self.values if self.factor is None else self.values * self.factor

    def here(self) -> Stack:
        """Participants' rows."""
        if self.partial:
            return self
        draw = self.room.draw
        if self._here is not None and self._here[0] is draw:
            return self._here[1]
        taken = Stack.empty(self.room, partial=True)
        np.take(self.values, draw.flat, axis=0, out=taken.values, mode="clip")
        per_row = isinstance(self.factor, np.ndarray)
        taken.factor = self.factor[draw.flat] if per_row else self.factor
        self._here = (draw, taken)
        return taken

    def _with(self, other: Stack, op: np.ufunc) -> Stack:
        require(other, Stack, "what meets a clients stack")
        left, right = self, other
        if left.partial or right.partial:
            left, right = left.here(), right.here()
        out = Stack.empty(self.room, left.partial)
        first, second = left.values, right.values
        if left.factor is not None and right.factor is not None:
            first = left.plain()
        elif left.factor is not None:
            first = np.multiply(first, left.factor, out=out.values)
        if right.factor is not None:
            second = np.multiply(second, right.factor, out=out.values)
        op(first, second, out=out.values)
        return out

    def __add__(self, other: Stack) -> Stack:
        return self._with(other, np.add)

    def __sub__(self, other: Stack) -> Stack:
        return self._with(other, np.subtract)

    def __rmul__(self, factor: Any) -> Stack:
        if isinstance(factor, Numbers):
            full = factor.values.reshape(-1, 1)
            resolved = full[self.room.draw.flat] if self.partial else full
        elif hasattr(factor, "typed"):
            raise ReadingError(
                "a clients stack must be scaled by numbers; got another vector; take "
                "one number per client."
            )
        else:
            resolved = self.room.factor(factor, self.partial)
        both = resolved if self.factor is None else resolved * self.factor
        return Stack(self.room, self.partial, self.buffer, both)

    __mul__ = __rmul__
