"""A traced round on quadratics as mean map plus random messages, block by block.

M = Mbar + sum_phi (phi - E phi) E_phi C_phi: each feature moves the state through a
thin factor, its message. Blocks of d coordinates stay blocks, so the second-moment
operator costs a few products per client instead of dense products of the full state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.engines.conserved import redundant
from flverify.engines.forms import ONE, TAKES_PART
from flverify.engines.lower import (
    ALWAYS,
    CONSTANT,
    Block,
    Draw,
    Layout,
    Lowering,
    Row,
    Rows,
    lower,
)
from flverify.engines.moments._range import require_finite, require_squares
from flverify.engines.moments._system import feature_moments
from flverify.engines.moments._units import most, power_of_two, units_beside
from flverify.engines.trace import Trace, trace

CANCELLED = 1e-14  # of its terms: a sum so small is 0


@dataclass(frozen=True)
class Message:
    """One feature's thin factor: rows E (n x m) and columns C (m x n)."""

    draw: Draw
    rows: Mapping[Any, Array]
    columns: Mapping[Any, Array]

    @property
    def width(self) -> int:
        """Number m of coordinates of the message."""
        return int(next(iter(self.columns.values())).shape[0])


@dataclass(frozen=True)
class MessageSystem:
    """Mean map by blocks, messages, and the covariance of their features."""

    layout: Layout
    mean_blocks: Mapping[tuple[Block, Block], Array]
    messages: tuple[Message, ...]
    covariance: Array
    start: Array
    retention: Array  # per message: share of its memory slot kept on average, else 0
    shares: Mapping[str, Mapping[str, Any]]  # redundant server slots that were kept
    units: Mapping[str, float]  # of the slots, powers of 2
    unit: float = 1.0  # of points, so that what a round adds is of the constant's size

    @property
    def size(self) -> int:
        """Length of the homogeneous state."""
        return self.layout.size

    @property
    def independent(self) -> bool:
        """Whether no two features are correlated."""
        off = self.covariance - np.diag(np.diag(self.covariance))
        return not np.abs(off).max(initial=0.0) > 0

    @cached_property
    def mean(self) -> Array:
        """The mean map, dense, homogeneous."""
        out = np.zeros((self.size, self.size))
        places = self.layout.places
        for (row, column), part in self.mean_blocks.items():
            out[places[row], places[column]] += part
        out[-1, -1] = 1.0
        return out

    def measured(self, drift: Array) -> Array:
        """Measure Mbar - 1 of the state as it is in the units of the system."""
        blocks, dim = self.layout.blocks, self.layout.dim
        own = np.repeat([self.units[slot] for _, slot, _ in blocks], dim)
        return np.asarray(drift * np.append(own, 1 / self.unit) / own[:, None])

    @cached_property
    def rows(self) -> Array:
        """All E side by side, (n, total message width)."""
        return self._dense([m.rows for m in self.messages], transpose=False)

    @cached_property
    def columns(self) -> Array:
        """All C stacked, (total message width, n)."""
        return self._dense([m.columns for m in self.messages], transpose=True).T

    def _dense(self, factors: list[Mapping[Any, Array]], transpose: bool) -> Array:
        parts = []
        for factor in factors:
            blocks = {b: v.T if transpose else v for b, v in factor.items()}
            width = next(iter(blocks.values())).shape[1]
            part = np.zeros((self.size, width))
            for block, values in blocks.items():
                part[self.layout.places[block]] = values
            parts.append(part)
        return np.concatenate(parts, axis=1) if parts else np.zeros((self.size, 0))

    def apply(self, second: Array) -> Array:
        """E[M P M'] of a symmetric homogeneous second moment."""
        half = self._mean_times(second)
        out = self._mean_times(np.ascontiguousarray(half.T))
        heard = [self._hear(message, second) for message in self.messages]
        if self.independent:
            for k, message in enumerate(self.messages):
                middle = self.covariance[k, k] * self._hear(message, heard[k].T)
                self._speak(out, message, middle)
        elif heard:
            self._speak_together(out, np.concatenate(heard))
        for slot, shares in self.shares.items():
            self._impose(out, slot, shares)
        return (out + out.T) / 2

    def _impose(self, out: Array, slot: str, shares: Mapping[str, Any]) -> None:
        """Renew a redundant slot: nothing else damps rounding in a conserved sum."""
        places, clients = self.layout.places, range(self.layout.n_clients)
        place = places["server", slot, -1]
        for view in (out, out.T):
            parts = [
                float(share) * view[places["client", other, i]]
                for other, share in shares.items()
                for i in clients
            ]
            view[place] = sum(parts, start=np.zeros_like(view[place]))

    @cached_property
    def _weight(self) -> Array:
        """Covariance of the features of any two message coordinates."""
        owner = np.repeat(
            np.arange(len(self.messages)), [m.width for m in self.messages]
        )
        return np.asarray(self.covariance[np.ix_(owner, owner)])

    def _speak_together(self, out: Array, heard: Array) -> None:
        """Add E (K o C P C') E' for messages that are all correlated."""
        across = np.ascontiguousarray(heard.T)
        middle = np.concatenate([self._hear(m, across) for m in self.messages])
        pushed = self._say(self._weight * middle)
        out += self._say(np.ascontiguousarray(pushed.T))

    def _say(self, values: Array) -> Array:
        """E times stacked messages."""
        out = np.zeros((self.size, values.shape[1]))
        first = 0
        for message in self.messages:
            part = values[first : first + message.width]
            for row, left in message.rows.items():
                out[self.layout.places[row]] += left @ part
            first += message.width
        return out

    def _mean_times(self, values: Array) -> Array:
        places = self.layout.places
        out = np.zeros_like(values)
        for (row, column), part in self.mean_blocks.items():
            out[places[row]] += part @ values[places[column]]
        out[-1] = values[-1]
        return out

    def _hear(self, message: Message, values: Array) -> Array:
        places = self.layout.places
        parts = [part @ values[places[b]] for b, part in message.columns.items()]
        return np.asarray(sum(parts[1:], start=parts[0]))

    def _speak(self, out: Array, message: Message, middle: Array) -> None:
        places = self.layout.places
        for row, left in message.rows.items():
            part = left @ middle
            for column, right in message.rows.items():
                out[places[row], places[column]] += part @ right.T


def message_system(
    problem: Any, algorithm: Any, participation: Any, minimal: bool = True
) -> MessageSystem:
    """Lower a traced round to messages.

    A minimal system eliminates server slots that a conserved quantity expresses, which
    rates need; with all slots kept the blocks are fewer, which curves are faster on.

    Raises
    ------
    ReadingError
        If the round cannot be traced.
    RefusedError
        If it moves the state by more than floats hold the squares of.
    """
    hessians = np.asarray(problem.hessians, dtype=np.float64)
    linear = np.asarray(problem.linear, dtype=np.float64)
    n_clients, dim = linear.shape
    traced = trace(algorithm, n_clients)
    spare = redundant(algorithm, n_clients)
    gone, kept = (spare, {}) if minimal else ({}, spare)
    slots = tuple(s for s in traced.server_slots if s not in gone)
    layout = Layout(slots, traced.client_slots, n_clients, dim)
    later = Lowering(hessians, linear, traced.points, float, gone)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        rows = lower(traced.after, layout, later)
    require_finite(part for row in rows.values() for part in row.values())
    first = Lowering(hessians, linear, traced.start_points, float, gone)
    begun = lower(traced.start, layout, first)
    units = _units(rows, begun, layout)
    begun, rows = _measured(begun, units, {}), _measured(rows, units, units)
    require_squares(_moving(rows))
    unit = power_of_two(max(most(part) for part in _added(begun, rows)))
    start = _start(_divided(begun, unit), layout)
    remembers = _has_memory(traced)
    rows = _divided(rows, unit)
    system = _assemble(rows, layout, start, participation, remembers)
    shares = {
        slot: {o: float(v) * units[o] / units[slot] for o, v in part.items()}
        for slot, part in kept.items()
    }
    return replace(system, shares=shares, units=units, unit=unit)


def _units(rows: Rows, begun: Rows, layout: Layout) -> dict[str, float]:
    """Return a unit of every slot: large or small units of f hide no message then."""
    slots = [*layout.server_slots, *layout.client_slots]
    place = {slot: k for k, slot in enumerate(slots)}
    sizes, start = np.zeros((len(slots), len(slots))), np.zeros((len(slots), 1))
    for (_, (_, slot, _)), row in rows.items():
        for column, part in row.items():
            if column != CONSTANT:
                here = place[slot], place[column[1]]
                sizes[here] = max(sizes[here], np.abs(part).max())
    for (_, (_, slot, _)), row in begun.items():
        parts = [np.abs(v).max() for column, v in row.items() if column != CONSTANT]
        start[place[slot]] = max([*start[place[slot]], *parts])
    model = np.eye(len(slots))[[place["model"]]]
    units = units_beside(sizes, start, model)
    return dict(zip(slots, units.tolist(), strict=True))


def _measured(
    rows: Rows, units: Mapping[str, float], column_units: Mapping[str, float]
) -> Rows:
    """Write rows in units of the slots; the constant and what starts have none."""
    return {
        (draw, block): {
            column: part * (column_units.get(column[1], 1.0) / units[block[1]])
            for column, part in row.items()
        }
        for (draw, block), row in rows.items()
    }


def _moving(rows: Rows) -> Iterator[Array]:
    """Yield what rounds do to the state."""
    for row in rows.values():
        yield from (part for column, part in row.items() if column != CONSTANT)


def _added(*tables: Rows) -> Iterator[Array]:
    """Yield what rounds, or the start, add to the state whatever it is."""
    yield np.zeros(1)
    for rows in tables:
        yield from (row[CONSTANT] for row in rows.values() if CONSTANT in row)


def _divided(rows: Rows, unit: float) -> Rows:
    """Measure points in a unit beside the constant 1."""
    return {
        key: {c: part / unit if c == CONSTANT else part for c, part in row.items()}
        for key, row in rows.items()
    }


def _has_memory(traced: Trace) -> bool:
    """Whether participation overwrites a clients slot: g_i + I_i (new - g_i)."""
    for slot in traced.client_slots:
        terms = traced.after[slot].terms  # type: ignore[union-attr]
        own = ("client", slot)
        if terms.get((ONE, own)) == 1 and terms.get((TAKES_PART, own)) == -1:
            return True
    return False


def _start(rows: Rows, layout: Layout) -> Array:
    out = np.zeros((layout.size, layout.dim + 1))
    for (_, block), row in rows.items():
        for column, part in row.items():
            place = slice(layout.dim, None) if column == CONSTANT else slice(layout.dim)
            out[layout.places[block], place] += part
    out[-1, -1] = 1.0
    return out


def _assemble(
    rows: Rows,
    layout: Layout,
    start: Array,
    participation: Any,
    remembers: bool,
) -> MessageSystem:
    draws = list(dict.fromkeys(draw for draw, _ in rows if draw != ALWAYS))
    if draws:
        first, second = feature_moments(participation, draws)
        means = np.asarray(first, dtype=np.float64)
        covariance = np.asarray(second, dtype=np.float64) - np.outer(means, means)
        covariance[np.abs(covariance) < 1e-16] = 0.0
    else:
        means, covariance = np.zeros(0), np.zeros((0, 0))
    weights = {ALWAYS: 1.0, **dict(zip(draws, means.tolist(), strict=True))}
    mean = _mean_blocks(rows, weights)
    # features that never vary send nothing: a client always or never there
    varied = np.flatnonzero(np.diag(covariance) > 0)
    draws = [draws[k] for k in varied]
    means, covariance = means[varied], covariance[np.ix_(varied, varied)]
    own: dict[Draw, dict[Block, Row]] = {draw: {} for draw in draws}
    for (draw, block), row in rows.items():
        if draw in own:
            own[draw][block] = row
    messages = tuple(_message(draw, parts) for draw, parts in own.items())
    kept = [
        1.0 - value if remembers and kind == TAKES_PART else 0.0
        for (kind, _), value in zip(draws, means.tolist(), strict=True)
    ]
    return MessageSystem(
        layout, mean, messages, covariance, start, np.array(kept), {}, {}
    )


def _mean_blocks(
    rows: Rows, weights: Mapping[Draw, float]
) -> dict[tuple[Block, Block], Array]:
    """Add up the mean map; what cancels but for rounding is 0."""
    mean: dict[tuple[Block, Block], Array] = {}
    terms: dict[tuple[Block, Block], Array] = {}
    for (draw, block), row in rows.items():
        for column, part in row.items():
            key, value = (block, column), weights[draw] * part
            mean[key] = mean.get(key, 0) + value
            terms[key] = terms.get(key, 0) + np.abs(value)
    return {
        key: np.where(np.abs(value) > CANCELLED * terms[key], value, 0.0)
        for key, value in mean.items()
    }


def _message(draw: Draw, own: dict[Block, Row]) -> Message:
    """Factor one feature's matrix thinly through a singular value decomposition."""
    columns = list(dict.fromkeys(c for row in own.values() for c in row))
    widths = {c: next(r[c] for r in own.values() if c in r).shape[1] for c in columns}
    height = next(iter(next(iter(own.values())).values())).shape[0]
    table = [
        [row.get(c, np.zeros((height, widths[c]))) for c in columns]
        for row in own.values()
    ]
    whole: Array = np.block(table)
    left, sizes, right = np.linalg.svd(whole, full_matrices=False)
    # rounding must not make known or moved what is not: it may have any unit
    left[~whole.any(axis=1)], right[:, ~whole.any(axis=0)] = 0.0, 0.0
    kept = sizes > 1e-13 * sizes.max(initial=0.0)
    # both factors carry half the size, so that F(c) is not needlessly non-normal
    half = np.sqrt(sizes[kept])
    rows_part = np.split(left[:, kept] * half, len(own), axis=0)
    cuts = np.cumsum([widths[c] for c in columns])[:-1]
    scaled = half[:, None] * right[kept]
    return Message(
        draw,
        dict(zip(own, rows_part, strict=True)),
        dict(zip(columns, np.split(scaled, cuts, axis=1), strict=True)),
    )
