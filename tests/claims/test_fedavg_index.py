"""Which row of (6)-(7) is which local model in any round, beside a run by hand."""

import random
from fractions import Fraction
from itertools import product

import pytest

from flverify.claims import judge
from flverify.claims.fedavg_index import _in_any_round
from flverify.claims.verdict import Verdict

N, TAU, STEP = 6, 4, Fraction(1, 8)
DRAWS = random.Random(8)
COHORTS = [sorted(DRAWS.sample(range(1, N + 1), m)) for m in (2, 5, 3)]
LISTED = judge.identity([("listed elsewhere", 1, 1)], "nothing")


def stepped(i, x):
    """One step of client i on a loss that is no quadratic."""
    return x - STEP * (i * x**2 - 1) / 3


def rows():
    """Rows of x_k, of y_k and of y_k^+ at k = 1, 2, ...; and x_r of the server."""
    x, out, servers = [Fraction(i, 9) for i in range(N + 1)], {}, [Fraction(0)]
    for k in range(1, len(COHORTS) * TAU + 1):
        cohort = COHORTS[(k - 1) // TAU]
        pulls = k % TAU == 1
        y = [x[0] if pulls and i in cohort else v for i, v in enumerate(x)]
        after = [stepped(i, v) if i in cohort else v for i, v in enumerate(y)]
        out[k] = {"x": x, "y": y, "y+": after}
        x = list(after)
        if k % TAU == 0:
            x[0] = sum(after[i] for i in cohort) / len(cohort)
            servers.append(x[0])
    return out, servers


def holds(row, offset, first):
    """Whether it is the local model throughout round 1, of three."""
    out, servers = rows()
    for i in COHORTS[1]:
        model, models = servers[1], []
        for _ in range(first + TAU):
            models.append(model)
            model = stepped(i, model)
        ts = range(first, first + TAU)
        if any(out[TAU + t + offset][row][i] != models[t] for t in ts):
            return False
    return True


@pytest.mark.parametrize("row", ["x", "y", "y+"])
def test_the_index_is_proved_where_it_holds_by_hand_and_only_there(row):
    for offset, first in product((-1, 0, 1, 2), (0, 1, 2)):
        found = _in_any_round(LISTED, row, offset, first)
        assert found.passes() == holds(row, offset, first), (offset, first)


def test_a_listed_run_that_differs_stops_the_proof():
    differs = judge.identity([("listed elsewhere", 1, 2)], "nothing")
    assert _in_any_round(differs, "y+", 0, 1).verdict == Verdict.REFUTED
