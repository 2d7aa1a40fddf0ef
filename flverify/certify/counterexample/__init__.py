"""Search a box of parameters for a point that violates an inequality.

The inequality is given by its margin, right side less left side in rationals: below 0
it is violated. Corners come first, then random starts with edges among them, each
followed by a descent of the margin, which floats may guide but never decide. What is
found is brought to short rationals and computed a second time before it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import isnan, nan
from typing import Any, TypeAlias

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import InputError, Refusal, RefusedError
from flverify._core.exact import Array, is_exact, scalar
from flverify._core.seeds import uniforms
from flverify._core.sentences import number_of
from flverify._core.shown import shown
from flverify.certify.counterexample._boxes import Box, Point
from flverify.certify.counterexample._descent import Worth, descend
from flverify.certify.counterexample.parameters import FINEST, NEAR, Choice, Real, Whole

__all__ = ["Box", "Choice", "Found", "Point", "Real", "Unconfirmed", "Whole", "search"]

PINNED = 0.25  # share of the coordinates of a random start that are put on an end
SWEEPS = 3  # through the coordinates, when a violation is brought to short rationals

Margin: TypeAlias = Callable[[Point], Any]  # a rational, or a refusal
Guide: TypeAlias = Callable[[dict[str, float | int | str]], float]


@dataclass(frozen=True)
class Unconfirmed:
    """A violation that the second computation did not confirm.

    Parameters
    ----------
    point : dict
    margin : Fraction
        By the first computation.
    fault : str
        What the second one said.
    """

    point: Point
    margin: Fraction
    fault: str


@dataclass(frozen=True)
class Found:
    """What a search found, and how far it looked.

    Parameters
    ----------
    point : dict or None
        A confirmed violation.
    margin : Fraction or None
        There; without a violation the smallest margin seen.
    tried : int
        Distinct instances whose margin was computed exactly.
    smallest : (margin, point) or None
        The smallest exact margin seen and the first point where it was.
    skipped : mapping of reason to int
        Distinct instances that were not evaluated.
    denied : int
        Ends of descents where the guide was negative and the exact margin was not.
    unconfirmed : Unconfirmed or None
        The first violation that was not confirmed.
    trail : tuple of (point, margin)
        All instances tried, in order.
    """

    point: Point | None
    margin: Fraction | None
    tried: int
    smallest: tuple[Fraction, Point] | None
    skipped: Mapping[str, int]
    denied: int
    unconfirmed: Unconfirmed | None
    trail: tuple[tuple[Point, Fraction], ...] = field(repr=False)

    def summary(self) -> str:
        """Say in one line what was found and how far the search went."""
        parts = [f"{number_of(self.tried, 'instance')} tried"]
        if self.point is not None:
            parts.insert(
                0, f"violated at {_shown(self.point)}: margin {_text(self.margin)}"
            )
        elif self.smallest is not None:
            margin, point = self.smallest
            parts.append(f"smallest margin {_text(margin)} at {_shown(point)}")
        if self.unconfirmed and self.point is None:
            where = _shown(self.unconfirmed.point)
            parts.append(f"unconfirmed violation at {where}: {self.unconfirmed.fault}")
        parts += [f"{n} not evaluated: {why}" for why, n in self.skipped.items()]
        return "; ".join(parts)


def search(
    margin: Margin,
    box: Box | Mapping[str, Real | Whole | Choice],
    *,
    seed: int = 0,
    restarts: int = 32,
    steps: int = 200,
    recheck: Margin | None = None,
    guide: Guide | None = None,
    corners: int = 256,
    another_quantity: bool = False,
) -> Found:
    """Search a box for a point of negative margin.

    Parameters
    ----------
    margin : callable
        From a point to right side less left side, a rational. A `Refusal`, None, NaN,
        a `RefusedError` or a division by zero means that the point is not evaluated.
    box : Box, or mapping of name to Real, Whole or Choice
    seed : int
        The same seed gives the same answer, bit for bit.
    restarts : int
        Random starts.
    steps : int
        Points looked at in each descent.
    recheck : callable, optional
        An independent computation of the margin; without it nothing is confirmed.
    guide : callable, optional
        A float version of the margin, on floats, for the descents; it may be wrong.
    corners : int
        Most corners tried.
    another_quantity : bool
        Whether the recheck computes another number that is negative exactly where the
        margin is; otherwise both have to be equal.

    Returns
    -------
    Found

    Raises
    ------
    InputError
        If the margin, recheck or guide is no function, or the box none.
    DomainError
        If a count is not an integer of its range, or a margin is no number at all.

    Examples
    --------
    >>> def margin(at):
    ...     a, b, c = at["a"], at["b"], Fraction(19, 10)
    ...     return c * (a * a + b * b) - (a + b) ** 2
    >>> def again(at):
    ...     a, b = at["a"], at["b"]
    ...     return -a * (2 * b - 9 * a / 10) + 9 * b * b / 10
    >>> inside = Real(0, 1, open_low=True)
    >>> found = search(margin, {"a": inside, "b": inside}, recheck=again)
    >>> found.point, found.margin
    ({'a': Fraction(1, 1), 'b': Fraction(1, 1)}, Fraction(-1, 5))
    """
    _require_functions(margin=margin, recheck=recheck, guide=guide)
    whole(seed, "seed", least=0, most=(1 << 63) - 1)
    whole(restarts, "restarts", least=0)
    whole(steps, "steps", least=0)
    whole(corners, "corners")
    place = box if isinstance(box, Box) else Box(box)
    work = _Search(margin, place, guide, recheck, another_quantity)
    return work.run(seed, restarts, steps, corners)


def _require_functions(**given: object) -> None:
    for name, value in given.items():
        left_out = value is None and name != "margin"
        if not left_out and not callable(value):
            raise InputError(
                f"{name} must be a function of a point; got {shown(value)}; pass one."
            )


class _Search:
    """One search: what was evaluated so far, and what failed to be confirmed."""

    def __init__(
        self,
        margin: Margin,
        box: Box,
        guide: Guide | None,
        recheck: Margin | None,
        another_quantity: bool,
    ) -> None:
        self.margin, self.box, self.guide = margin, box, guide
        self.recheck, self.another_quantity = recheck, another_quantity
        self.known: dict[tuple[Any, ...], Fraction | None] = {}
        self.trail: list[tuple[Point, Fraction]] = []
        self.skipped: Counter[str] = Counter()
        self.unguided: set[tuple[Any, ...]] = set()  # where the guide has no value
        self.smallest: tuple[Fraction, Point] | None = None
        self.unconfirmed: Unconfirmed | None = None
        self.denied = 0

    def run(self, seed: int, restarts: int, steps: int, corners: int) -> Found:
        """Try corners, then descend from the best of them and from random starts."""
        for corner in self._ordered(self.box.corners(corners)):
            point = self._confirmed(corner)
            if point is not None:
                return self._found(point)
        width = len(self.box.parameters)
        for start in range(restarts + 1):
            rows = _rows(seed, start, width)
            begun = self._random(rows) if start else self._best_so_far()
            if begun is None:  # no corner has a value
                continue
            for end in (begun, self._descend(begun, steps, rows)):
                point = self._confirmed(end)
                if point is not None:
                    return self._found(point)
        return self._found(None)

    def _ordered(self, points: Iterable[Point]) -> list[Point]:
        """Evaluate points; return those that violate, the worst first."""
        found = [(value, p) for p in points if (value := self.exact(p)) is not None]
        below = [(value, p) for value, p in found if value < 0]
        return [p for _, p in sorted(below, key=lambda pair: pair[0])]

    def exact(self, point: Point) -> Fraction | None:
        """Return the margin, computed once; None if it is not evaluated."""
        key = tuple(point.values())
        if key not in self.known:
            value, why = _evaluated(self.margin, point)
            self.known[key] = value
            if value is None:
                self.skipped[why] += 1
            else:
                self.trail.append((point, value))
                if self.smallest is None or value < self.smallest[0]:
                    self.smallest = value, point
        return self.known[key]

    def _confirmed(self, point: Point) -> Point | None:
        """Return a short violation that is confirmed, if there is one here."""
        if not self._violated(point):
            return None
        for candidate in (self._shortened(point), point):
            value = self.exact(candidate)
            if value is None:
                continue
            fault = self._fault(candidate, value)
            if not fault:
                return candidate
            if self.unconfirmed is None:
                self.unconfirmed = Unconfirmed(candidate, value, fault)
        return None

    def _fault(self, point: Point, margin: Fraction) -> str:
        """Compute a violation again; say what speaks against it, or nothing."""
        if self.recheck is None:
            return "there is no recheck"
        again, why = _evaluated(self.recheck, point)
        if again is None:
            return f"the recheck has no value: {why}"
        if again >= 0:
            return f"the recheck denies it: {_text(again)}"
        if again != margin and not self.another_quantity:
            return f"the recheck disagrees: {_text(again)}"
        return ""

    def _shortened(self, point: Point) -> Point:
        """Bring a violation to simple values, all at once and one after the other."""
        places = self.box.positions(point)
        for halvings in range(0, FINEST, 2):
            together = self.box.at(places, Fraction(1, 2**halvings))
            if self._violated(together):
                point = together
                break
        for _ in range(SWEEPS):
            before = point
            for name, parameter in self.box.parameters.items():
                for value in parameter.simpler(point[name]):
                    if value == point[name]:
                        break
                    if self._violated({**point, name: value}):
                        point = {**point, name: value}
                        break
            if point == before:
                break
        return point

    def _violated(self, point: Point) -> bool:
        value = self.exact(point)
        return value is not None and value < 0

    def _random(self, rows: Iterator[Array]) -> Point:
        """Draw a start; some coordinates lie on an end."""
        places, pins = next(rows), next(rows)
        point = self.box.at([Fraction(float(u)) for u in places], NEAR)
        for pin, (name, parameter) in zip(
            pins, self.box.parameters.items(), strict=True
        ):
            if pin < PINNED:
                ends = parameter.ends()
                point[name] = ends[int(pin / PINNED * len(ends))]
        return point

    def _best_so_far(self) -> Point | None:
        return self.smallest[1] if self.smallest else None

    def _descend(self, start: Point, steps: int, rows: Iterator[Array]) -> Point:
        """Walk downhill; note where the guide goes below 0 and the margin does not."""
        end, worth = descend(self.box, self._worth, start, steps, rows)
        if self.guide and worth is not None and worth < 0:
            self.denied += not self._violated(end)
        return end

    def _worth(self, point: Point) -> Worth | None:
        """Return what a descent goes by: the guide if there is one."""
        if self.guide is None:
            return self.exact(point)
        try:
            floats = {
                name: float(value) if isinstance(value, Fraction) else value
                for name, value in point.items()
            }
            found = self.guide(floats)
            value = nan if found is None else float(found)
        except (RefusedError, ArithmeticError, ValueError):
            value = nan
        if isnan(value):
            self.unguided.add(tuple(point.values()))
            return None
        return value

    def _found(self, point: Point | None) -> Found:
        if self.unguided:
            self.skipped["the guide has no value"] = len(self.unguided)
        margin = self.smallest[0] if self.smallest else None
        if point is not None:
            margin = self.exact(point)
        return Found(
            point,
            margin,
            len(self.trail),
            self.smallest,
            dict(self.skipped),
            self.denied,
            self.unconfirmed,
            tuple(self.trail),
        )


def _evaluated(margin: Margin, point: Point) -> tuple[Fraction | None, str]:
    """Return a rational margin, or why there is none."""
    try:
        value = margin(dict(point))
    except RefusedError as refused:
        return None, str(refused)
    except ZeroDivisionError:
        return None, "a division by zero"
    if value is None or isinstance(value, Refusal):
        return None, "no value" if value is None else str(value)
    if isinstance(value, float | np.floating):
        return None, "not a number" if isnan(value) else "a float decides nothing"
    number = scalar(value, "a margin")
    return (Fraction(number), "") if is_exact(number) else (None, "not rational")


def _rows(seed: int, start: int, width: int) -> Iterator[Array]:
    """Yield rows of uniforms that belong to one start."""
    for block in count():
        yield from uniforms(seed, start, block, width)


def _shown(point: Point) -> str:
    return ", ".join(f"{name} = {_text(value)}" for name, value in point.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)
