"""How far off a sampled model may be because its run rounds, round after round."""

from __future__ import annotations

import math
import sys

import numpy as np

from flverify._core.exact import Array
from flverify.testing.functions import model_precision
from flverify.testing.setting import Setting

EACH = 8  # times the rounding of one number: what a round may add
LASTING = 1 / 16  # of the same, and of the rounds so far: what sums of gradients keep
BLURRED = 4  # times what x* may be off by: what errors may be off by for that


def rounding(asked: Setting, seed: int, rounds: int) -> Array:
    """Length by which |x_r - x*| may be off, shape (rounds + 1,), weight x.

    Definition: (1 + 8 r + r^2/16) eps size sqrt(d), and four times what x* may be off
    by. A method that loses no error keeps what every round added: r of them. One that
    adds up gradients keeps it for good, and it moves the model in every later round.
    """
    eps = asked.precision
    if asked.is_function:
        eps = max(eps, model_precision(asked, seed, rounds))
    r = np.arange(rounds + 1.0)
    size = asked.size * math.sqrt(asked.problem.dim)
    found = sys.float_info.epsilon + eps * r * (EACH + LASTING * r)
    return np.asarray(found * size + BLURRED * asked.blur)
