"""The affine reading: one d x d map per client, for rounds of the server model alone.

At a fixed step size x+ = A x + a + sum_i feature_i (A_i x + a_i): per client gather the
rows in which it takes part, one product, add up by row. The maps are the diagonal
tables of the compiled reading brought back to the plain basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array
from flverify.engines.forms import ONE, SHARE
from flverify.engines.simulate._basis import Basis, multiply
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._plan import Plan
from flverify.engines.simulate._scatter import Scatter
from flverify.engines.simulate._setting import Setting
from flverify.engines.simulate._tables import CONSTANT, Tables, tabulate

MODEL = ("server", "model")


@dataclass(frozen=True, eq=False)
class Maps:
    """x -> x M_i + shift_i for rows x, one per client; every M_i is symmetric."""

    matrices: Array  # (N, d, d)
    shifts: Array  # (N, d)

    @staticmethod
    def none(basis: Basis) -> Maps:
        """Zero maps, to add to."""
        n_clients, dim = basis.values.shape
        return Maps(np.zeros((n_clients, dim, dim)), np.zeros((n_clients, dim)))

    def add(self, table: dict[tuple[str, object], Array], basis: Basis) -> None:
        """Add diagonal tables, brought back to the plain basis."""
        vectors = basis.vectors
        if MODEL in table:
            turned = (vectors * table[MODEL][:, None, :]) @ vectors.transpose(0, 2, 1)
            self.matrices[...] += turned
        if CONSTANT in table:
            self.shifts[...] += (vectors @ table[CONSTANT][:, :, None])[:, :, 0]


@dataclass(eq=False)
class AffineRound:
    """One round at a fixed step size: what the server does, and what clients add."""

    always: Array  # (d, d)
    shift: Array  # (d,)
    by_feature: dict[str, Maps] = field(default_factory=dict)

    @property
    def keeps(self) -> bool:
        """Whether the server's own part is x -> x."""
        same = np.array_equal(self.always, np.eye(len(self.shift)))
        return same and not self.shift.any()


def affine_round(plan: Plan, basis: Basis, step_size: float) -> AffineRound:
    """Evaluate a plan to maps."""
    tables = tabulate(plan, basis, np.array([step_size]))
    dim = basis.values.shape[1]
    found: dict[str, Maps] = {}
    for use, ratio in zip(plan.uses, tables.ratios, strict=True):
        row = {s: ratio[0] * t[0] for s, t in tables.messages[use.message].items()}
        found.setdefault(use.feature, Maps.none(basis)).add(row, basis)
    _add_held(found, plan, tables, basis)
    own = tables.fixed["model"].get("model", np.zeros(1))[0]
    out = AffineRound(own * np.eye(dim), np.zeros(dim), found)
    if ONE in found:
        everybody = found.pop(ONE)
        out.always += everybody.matrices.sum(axis=0)
        out.shift += everybody.shifts.sum(axis=0)
    return out


def _add_held(found: dict[str, Maps], plan: Plan, tables: Tables, basis: Basis) -> None:
    """Add the multiples of x inside sums over clients to the maps."""
    diagonal = np.arange(basis.values.shape[1])
    for held, coefficient in zip(plan.held, tables.held, strict=True):
        maps = found.setdefault(held.feature, Maps.none(basis))
        maps.matrices[:, diagonal, diagonal] += coefficient[0][:, None]


class Adder(Protocol):
    """Adds what participants send, for one feature, on one block of rows."""

    def add(self, maps: Maps, draw: Draw, share: bool, x: Array, out: Array) -> None:
        """Add sum over S of (x M_i + shift_i) to out, times 1/|S| if `share`."""


AdderMaker: TypeAlias = Callable[[int, int, int], Adder]  # N, rows, d


class NumpyAdder:
    """The numpy half: gather, one product per client, a sparse product."""

    def __init__(self, n_clients: int, n_rows: int, dim: int) -> None:
        self.scatter = Scatter(n_clients, n_rows, dim)
        self.gathered = np.empty((n_rows, dim))

    def add(self, maps: Maps, draw: Draw, share: bool, x: Array, out: Array) -> None:
        """Add sum over S of (x M_i + shift_i) to out, times 1/|S| if `share`."""
        pairs = self.scatter.pairs
        for client, matrix in enumerate(maps.matrices):
            first, last = draw.bounds[client : client + 2]
            rows = self.gathered[: last - first]
            x.take(draw.rows[first:last], axis=0, out=rows, mode="clip")
            multiply(rows, matrix, pairs[first:last])
        out += self.scatter.total(draw, pairs, share)
        weights = draw.mask * (draw.shares if share else 1.0)
        out += weights.T @ maps.shifts


class AffineWalker:
    """A block of rows at one step size under the affine reading."""

    def __init__(self, setting: Setting, block: Block, method: Affine) -> None:
        self.round = method.round_at(float(setting.steps[block.sweep.start]))
        self.keeps = self.round.keeps
        dim = len(setting.start)
        self.adder = method.adder(setting.n_clients, block.n_rows, dim)
        self.x = np.tile(setting.start, (block.n_rows, 1))
        self.next = np.empty_like(self.x)

    def model(self) -> Array:
        """Server models now."""
        return self.x

    def advance(self, draw: Draw, round_index: int) -> None:
        """Execute one round; the maps are those of every round."""
        del round_index
        if self.keeps:
            np.copyto(self.next, self.x)
        else:
            np.matmul(self.x, self.round.always, out=self.next)
            self.next += self.round.shift
        for feature, maps in self.round.by_feature.items():
            self.adder.add(maps, draw, feature == SHARE, self.x, self.next)
        self.x, self.next = self.next, self.x


@dataclass(frozen=True, eq=False)
class Affine:
    """The method of this reading."""

    round_at: Callable[[float], AffineRound]
    adder: AdderMaker = NumpyAdder
    name: str = "affine"
    block_bytes: int = 512 * 800
    mixes_steps: bool = False

    def walker(self, setting: Setting, block: Block) -> AffineWalker:
        """Set up one block before its first round."""
        return AffineWalker(setting, block, self)


def affine(
    setting: Setting,
    plan: Plan,
    basis: Basis,
    adder: AdderMaker = NumpyAdder,
) -> Affine:
    """Return the affine method for a setting.

    Raises
    ------
    ReadingError
        If the state is more than the server model, or step sizes differ by round.
    """
    if plan.client_slots or plan.server_slots != ("model",):
        raise ReadingError(
            "an affine round must keep the server model alone; got the slots "
            f"{[*plan.server_slots, *plan.client_slots]}; use method='compiled'."
        )
    if setting.schedule is not None:
        raise ReadingError(
            "an affine round must have a fixed step size; got a schedule; use "
            "method='compiled'."
        )

    @lru_cache(maxsize=2)
    def round_at(step_size: float) -> AffineRound:
        return affine_round(plan, basis, step_size)

    return Affine(round_at, adder)
