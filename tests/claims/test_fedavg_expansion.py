"""(40) for every N and law, beside a drawn law of five clients."""

import random
from fractions import Fraction
from itertools import combinations

import pytest

from flverify.claims import fedavg_expansion
from flverify.claims.verdict import Verdict

N = 5
DRAWS = random.Random(4)


@pytest.mark.parametrize("variance", [0, 1, 2])
def test_five_clients_have_the_square_just_where_it_is_proved(variance):
    sets = [s for m in range(1, N + 1) for s in combinations(range(N), m)]
    weights = [DRAWS.randint(0, 9) for _ in sets]
    law = {
        s: Fraction(w, sum(weights)) for s, w in zip(sets, weights, strict=True) if w
    }
    y, best = [Fraction(DRAWS.randint(-9, 9)) for _ in range(N)], Fraction(3)
    ends = {s: sum(y[i] for i in s) / len(s) for s in law}
    q = [sum(p / len(s) for s, p in law.items() if i in s) for i in range(N)]
    middle = sum(w * v for w, v in zip(q, y, strict=True))
    left = sum(p * (ends[s] - best) ** 2 for s, p in law.items())
    spread = sum(p * (ends[s] - middle) ** 2 for s, p in law.items())
    assert middle == sum(p * ends[s] for s, p in law.items())
    holds = left == variance * spread + (middle - best) ** 2
    assert fedavg_expansion.of_any_law(variance).passes() == holds == (variance == 1)


def test_another_matrix_is_refuted(monkeypatch):
    def other(_):
        return lambda i, j, inside, size: int(inside(j)) / (size + int(i == 0))

    monkeypatch.setattr(fedavg_expansion, "virtual", other)
    assert fedavg_expansion.of_any_law(1).verdict == Verdict.REFUTED
