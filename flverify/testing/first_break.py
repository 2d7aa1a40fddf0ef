"""The first round above C rate^r, in floats: it is shown and decides nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flverify._core.exact import Scalar
from flverify.testing.comparison import SLACK, keeps
from flverify.testing.given import logarithm
from flverify.testing.setting import Setting
from flverify.testing.written import number

LEAST = 1e-290  # bounds below it are not looked at
LAST = 1e15  # nor rounds after it


@dataclass(frozen=True)
class _Decay:
    """C rate^r by its logarithms, since C and rate may lie beyond floats."""

    first: float
    pace: float

    def at(self, r: int) -> float:
        """C rate^r, or infinity."""
        power = self.first + r * self.pace
        return math.exp(power) if power < math.log(1e308) else math.inf

    def below(self, error: float) -> int | None:
        """First round in which it is below an error; None if that is too late."""
        needed = math.log(error) - self.first
        soon = math.isfinite(needed) and needed > LAST * self.pace
        return max(math.floor(needed / self.pace) + 1, 0) if soon else None


def first_break(
    asked: Setting, rate: Scalar, constant: Scalar | None, found: Any
) -> str:
    """Seek the first round above C rate^r, with C = |x_0 - x*|^2 unless given."""
    begin = asked.first_error
    first = constant if constant is not None else begin or 1
    where = f"with C = {number(first)} from x_0"
    if keeps(begin, first) is False:
        return f"{at_round(0, begin, first)}, {where}"
    decay = _Decay(logarithm(first), logarithm(rate))
    curve, r, before = found.in_floats().curve(asked.begin), 0, math.inf
    for r, error in enumerate(islice(curve, found.searched)):
        allowed = decay.at(r)
        if allowed < max(found.floor, LEAST):
            break
        if error > allowed * (1 + SLACK):
            return f"{at_round(r, error, allowed)}, {where}"
        stays = 0 < error < math.inf and abs(error - before) <= 1e-12 * error
        later = decay.below(error) if stays else None
        if later is not None:
            return f"{at_round(later, error, decay.at(later))}, {where}"
        before = error
    another = "" if asked.start is not None else ", or another start,"
    return f"none before {r}, {where}; a later round{another} does"


def at_round(r: int, error: Scalar, allowed: Scalar) -> str:
    """Say what was found and allowed in a round."""
    return f"{r}: E|x_r - x*|^2 = {number(error)}, allowed {number(allowed)}"
