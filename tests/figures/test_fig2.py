"""Figure 2: its schedules are played and compared with the plain loop of FedAvg."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.reference import fedavg
from flverify.report import figures
from tests.contracts.figure_rules import drawn, texts

STEP, N, TAU = Fraction(1, 8), 4, 4
COHORTS = [{1, 3}, {2, 3, 4}]


@pytest.fixture(scope="module")
def fig2():
    return figures.load_figure("fig2")


@pytest.fixture(scope="module")
def table(fig2):
    return fig2.table(quick=False)


def slope(client, x):
    """Gradient of client i = 1, ..., N."""
    return client * (x - 3 + client * client)


def played(acts):
    """Server models after each average: every node does what the table says."""
    x = [Fraction(node + 4) for node in range(N + 1)]
    models = []
    for k in range(1, 2 * TAU + 1):
        doing = {
            what: acts.where(k=k, action=what).column("node")
            for what in ("pull", "local update", "push", "average")
        }
        for node in doing["pull"]:
            x[node] = x[0]
        for node in doing["local update"]:
            x[node] -= STEP * slope(node, x[node])
        if doing["average"]:
            assert doing["average"] == (0,)
            sent = [x[node] for node in doing["push"]]
            x[0] = sum(sent) / len(sent)
            models.append(x[0])
    return models


def by_the_loop():
    models = fedavg.run(
        lambda i, x: [slope(i + 1, x[0])],
        N,
        [Fraction(4)],
        [[client - 1 for client in sorted(s)] for s in COHORTS],
        step_size=STEP,
        local_steps=TAU,
    )
    return [model[0] for model in models[1:]]


def test_only_the_mended_schedule_is_fedavg(table):
    assert played(table.where(schedule="mended")) == by_the_loop()
    for name in ("figure", "equations"):
        assert played(table.where(schedule=name)) != by_the_loop()


def test_the_figure_has_too_few_updates(table):
    acts = table.where(schedule="figure", action="local update")
    assert {(a.k, a.node) for a in acts} == {
        *((k, node) for k in (2, 3) for node in (1, 3)),
        *((k, node) for k in (6, 7) for node in (2, 3, 4)),
    }


def test_the_printed_range_lets_the_next_cohort_work_at_the_push(table):
    acts = table.where(schedule="equations", action="local update")
    assert set(acts.where(k=4).column("node")) == {2, 3, 4}
    assert set(acts.where(k=8).column("node")) == {1, 2}
    mended = table.where(schedule="mended", action="local update")
    for k in range(1, 9):
        assert set(mended.where(k=k).column("node")) == COHORTS[(k - 1) // 4]
        if k not in (4, 8):
            assert acts.where(k=k).column("node") == mended.where(k=k).column("node")


def test_caption_and_panels_tell_the_counts(fig2, table):
    caption = " ".join(fig2.caption(table).split())
    counts = "(a) local updates 2; (b) local updates 3 or 4; (c) local updates 4"
    assert counts in caption
    shown = [text.get_text() for text in texts(drawn(fig2, table))]
    assert sum("local updates" in text for text in shown) == 3
    assert any("3 or 4" in text for text in shown)
