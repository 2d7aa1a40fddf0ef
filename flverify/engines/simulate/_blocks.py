"""Blocks of rows: how runs and step sizes are laid out, advanced and recorded.

A block is a range of runs times a range of step sizes. Blocks depend on the numbers of
runs and step sizes and on d alone, and every block is computed by itself, so results
do not depend on the number of threads or on the order of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from flverify._core.exact import Array
from flverify._core.seeds import BLOCK
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._setting import Setting

MASK_BYTES = 1 << 23  # uniforms drawn at a time, per thread


@dataclass(frozen=True)
class Block:
    """Rows of a panel: run by run for the first step size, then for the next."""

    sweep: range
    runs: range

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.sweep) * len(self.runs)

    @cached_property
    def step_of_row(self) -> Array:
        """Which of the block's step sizes each row has."""
        return np.repeat(np.arange(len(self.sweep)), len(self.runs))


class Walker(Protocol):
    """A block of rows that advances round by round."""

    def model(self) -> Array:
        """Server models now, shape (rows, d), valid until the next round."""

    def advance(self, draw: Draw, round_index: int) -> None:
        """Execute one round."""


class Method(Protocol):
    """A way to compute rounds."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def block_bytes(self) -> int:
        """Size of a block's server panel that suits the method."""

    @property
    def mixes_steps(self) -> bool:
        """Whether rows of one block may have different step sizes."""

    def walker(self, setting: Setting, block: Block) -> Walker:
        """Set up one block before its first round."""


def rows_per_block(dim: int, method: Method) -> int:
    """Choose a number of rows that suits the caches; a multiple of 64."""
    rows = method.block_bytes // (8 * dim) // 64 * 64
    return min(max(rows, 64), 2048)


def layout(setting: Setting, method: Method) -> list[Block]:
    """Cut the panel into blocks; the last block of runs may be smaller."""
    rows = rows_per_block(len(setting.start), method)
    per_block = max(1, rows // setting.runs) if method.mixes_steps else 1
    runs = [range(a, min(a + rows, setting.runs)) for a in range(0, setting.runs, rows)]
    last = len(setting.steps)
    sweeps = [range(a, min(a + per_block, last)) for a in range(0, last, per_block)]
    return [Block(sweep, part) for sweep in sweeps for part in runs]


@dataclass(frozen=True, eq=False)
class Record:
    """What is kept of all rows, indexed by (step size, run, round)."""

    errors: Array
    final: Array
    models: Array | None

    @staticmethod
    def empty(setting: Setting) -> Record:
        """Allocate for a setting."""
        shape = (len(setting.steps), setting.runs)
        dim, ticks = len(setting.start), setting.rounds + 1
        kept = np.empty((*shape, ticks, dim)) if setting.keep_models else None
        return Record(np.empty((*shape, ticks)), np.empty((*shape, dim)), kept)

    def alone(self) -> Record:
        """Return the only step size's part."""
        models = None if self.models is None else self.models[0]
        return Record(self.errors[0], self.final[0], models)


def march(setting: Setting, method: Method, threads: int) -> Record:
    """Advance every block through all rounds."""
    record = Record.empty(setting)

    def walk(block: Block) -> None:
        _walk(setting, method, block, record)

    _each(walk, layout(setting, method), threads)
    np.copyto(record.errors, np.inf, where=np.isnan(record.errors))
    return record


def _each(walk: Callable[[Block], None], blocks: list[Block], threads: int) -> None:
    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            walk(block)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(walk, blocks):
            pass


def _walk(setting: Setting, method: Method, block: Block, record: Record) -> None:
    """Advance one block, its overflows silent: they are recorded as infinite errors."""
    with np.errstate(all="ignore"):
        walker = method.walker(setting, block)
        note = _Note(setting, block, record)
        note.take(walker.model(), 0)
        for round_index, draw in draws(setting, block):
            walker.advance(draw, round_index)
            note.take(walker.model(), round_index + 1)
        note.finish(walker.model())


def draws(setting: Setting, block: Block) -> Iterator[tuple[int, Draw]]:
    """Yield every round with its participants, drawn in bulk."""
    steps, law = len(block.sweep), setting.participation
    per_round = 8 * block.n_rows * max(setting.n_clients, getattr(law, "width", 1))
    chunk = max(1, MASK_BYTES // (per_round * BLOCK)) * BLOCK
    for first in range(0, setting.rounds, chunk):
        rounds = range(first, min(first + chunk, setting.rounds))
        sampled = law.sample(setting.seed, block.runs, rounds).transpose(1, 2, 0)
        masks = np.ascontiguousarray(sampled)
        masks = np.tile(masks, steps) if steps > 1 else masks
        yield from zip(rounds, Draw.several(masks), strict=True)


class _Note:
    """Keeps the errors of one block, round by round, until the block is done."""

    def __init__(self, setting: Setting, block: Block, record: Record) -> None:
        self.place = np.s_[
            block.sweep.start : block.sweep.stop, block.runs.start : block.runs.stop
        ]
        # a row for every row: subtracting it is one loop, broadcasting one per row
        self.minimiser = np.tile(setting.minimiser, (block.n_rows, 1))
        self.record = record
        self.shape = (len(block.sweep), len(block.runs))
        self.errors = np.empty((setting.rounds + 1, block.n_rows))  # written in order
        self.apart = np.empty((block.n_rows, len(setting.start)))

    def take(self, model: Array, tick: int) -> None:
        """Keep |x - x*|^2, and x if asked for."""
        np.subtract(model, self.minimiser, out=self.apart)
        np.einsum("ij,ij->i", self.apart, self.apart, out=self.errors[tick])
        if self.record.models is not None:
            part = self.record.models[self.place]
            part[:, :, tick] = model.reshape(part[:, :, tick].shape)

    def finish(self, model: Array) -> None:
        """Hand over the errors and the last model."""
        self.record.errors[self.place] = self.errors.T.reshape(*self.shape, -1)
        self.record.final[self.place] = model.reshape(*self.shape, -1)
