"""Where the means of listed rounds end, in rationals: those of ProxSkip, by its coin.

With a rare coin or a tiny step a round moves means by less than floats hold of them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array, objects
from flverify._core.rationals import nearest_floats
from flverify.engines.arithmetic import RATIONAL
from flverify.engines.moments._limit import limit
from flverify.engines.moments._system import build
from flverify.explore.instance import START, rational
from flverify.explore.view import View


@lru_cache(maxsize=64)
def at_rest(view: View) -> tuple[Array, Array] | None:
    """Return the limit of the means, and the covariance that a round adds there.

    Shapes (n,) and (n, n), in floats; None where the means do not settle.

    Raises
    ------
    RefusedError
        If moments refuse the setting.

    Examples
    --------
    >>> view = View("proxskip", 2, "all_or_nothing", "1/1000000", local_steps=1)
    >>> state, noise = at_rest(view)
    >>> float(state[0]), bool(noise.any())
    (0.0, False)
    """
    law = view.participation()
    found = build(rational(view), view.algorithm_object(), law, RATIONAL)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    (move,) = found.moves
    begun = found.start[0] @ RATIONAL.array(objects([START, 1]))
    state = limit(move.mean, begun)
    if state is None:
        return None
    moved = [(float(w), nearest_floats(a @ state - state)) for w, a in move.terms]
    noise = np.sum([w * np.outer(v, v) for w, v in moved], axis=0)
    return nearest_floats(state), np.asarray(noise)
