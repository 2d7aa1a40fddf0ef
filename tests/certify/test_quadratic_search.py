"""Which quadratics are tried: all within the class, and the ascent ends on a top."""

from __future__ import annotations

import numpy as np
import pytest

from flverify.certify.quadratics import search
from flverify.certify.quadratics.rows import Batch

LIMITS = search.Range(0.1, 1.0)


@pytest.mark.parametrize("sizes", [(1,), (2,), (5,), (100,), (2, 3), (7, 1), (1, 1, 4)])
def test_all_that_is_tried_belongs_to_the_law_and_to_the_class(sizes):
    tried = [search.corners(sizes, LIMITS), search.inside(sizes, LIMITS)]
    if len(sizes) == 1:
        tried.append(search.three_groups(*sizes, LIMITS))
    for batch in tried:
        of = np.array(batch.law_classes)
        sums = [batch.clients[:, of == r].sum(axis=1) for r in range(len(sizes))]
        assert all(tuple(row) == sizes for row in np.transpose(sums))
        assert (batch.clients >= 0).all()
        assert (batch.clients[:, 0] > 0).all()
        assert (batch.curvatures >= LIMITS.least).all()
        assert (batch.curvatures <= LIMITS.most).all()
        assert len(batch.clients) == len(batch.curvatures) > 0


def test_every_corner_of_one_class_is_tried():
    batch = search.corners((5,), LIMITS)
    high = np.where(batch.curvatures == LIMITS.most, batch.clients, 0).sum(axis=1)
    assert sorted(high) == [0, 1, 2, 3, 4, 5]
    assert set(np.unique(batch.curvatures)) == {LIMITS.least, LIMITS.most}


def climbed(rate, law, clients, curvatures):
    start = Batch(law, np.array([clients]), np.array([curvatures]))
    height, here = search.ascend(rate, start, LIMITS)
    assert height == rate(here)[0]
    return here.clients[0].tolist(), here.curvatures[0].tolist()


def test_the_ascent_ends_on_a_top_of_counts_and_curvatures():
    def hill(batch):
        n, (a, b) = batch.clients[:, 0], batch.curvatures.T
        return 2 - (a - 0.37) ** 2 - (b - 0.81) ** 2 - ((n - 13) / 40) ** 2

    for start in ((20, 0), (1, 19)):
        clients, curvatures = climbed(hill, (0, 0), start, (1.0, 0.1))
        assert clients == [13, 7]
        assert curvatures == pytest.approx([0.37, 0.81], abs=1e-6)


def test_the_ascent_keeps_to_the_class_and_to_the_law():
    def outside(batch):
        return 9 + batch.curvatures[:, 0] - batch.curvatures[:, 1] - batch.clients[:, 0]

    assert climbed(outside, (0, 0), (6, 2), (0.3, 0.4)) == ([1, 7], [1.0, 0.1])
    assert climbed(outside, (0, 1), (6, 2), (0.3, 0.4)) == ([6, 2], [1.0, 0.1])
