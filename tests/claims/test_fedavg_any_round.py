"""A round of FedAvg by matrices for every N, beside runs of many clients."""

import random
from fractions import Fraction

import pytest

from flverify.claims import fedavg_any_round
from flverify.claims.verdict import Verdict

N, TAU, ROUNDS, STEP = 7, 2, 4, Fraction(1, 8)
DRAWS = random.Random(5)
COHORTS = [sorted(DRAWS.sample(range(1, N + 1), m)) for m in (3, 7, 1, 4)]


@pytest.fixture(autouse=True)
def _anew():
    """Judge anew, so that what is planted is seen, and nothing of it is kept."""
    _forget()
    yield
    _forget()


def _forget():
    fedavg_any_round.pulled_and_averaged.cache_clear()
    fedavg_any_round.all_rows_averaged.cache_clear()


def stepped(i, x):
    """One step of client i on a loss that is no quadratic."""
    return x - STEP * (i * x**2 - 1)


def server_models():
    """(2a)-(2c), tau local steps, by clients."""
    x, out = Fraction(1, 2), []
    for cohort in COHORTS:
        ends = []
        for i in cohort:
            end = x
            for _ in range(TAU):
                end = stepped(i, end)
            ends.append(end)
        x = sum(ends) / len(ends)
        out.append(x)
    return out


@pytest.mark.parametrize("everybody", [True, False])
def test_seven_clients_by_rows_run_through_the_server_models(everybody):
    rows, out = [Fraction(1, 2), *(Fraction(i, 9) for i in range(1, N + 1))], []
    for k in range(1, ROUNDS * TAU + 1):
        cohort = COHORTS[(k - 1) // TAU]
        if k % TAU == 1:
            rows = [rows[0] if i in cohort else x for i, x in enumerate(rows)]
        on = range(1, N + 1) if everybody else cohort
        rows = [stepped(i, x) if i in on else x for i, x in enumerate(rows)]
        if k % TAU == 0:
            rows[0] = sum(rows[i] for i in cohort) / len(cohort)
            out.append(rows[0])
    assert out == server_models()
    found = fedavg_any_round.pulled_and_averaged(1, 0, everybody=everybody)
    assert found.verdict == Verdict.PROVED


def test_seven_clients_from_consensus_run_through_the_server_models():
    rows, out = [Fraction(1, 2)] * N, []
    for k in range(1, 2 * TAU + 1):
        rows = [stepped(i, x) for i, x in enumerate(rows, start=1)]
        if k % TAU == 0:
            cohort = COHORTS[k // TAU - 1]
            rows = [sum(rows[i - 1] for i in cohort) / len(cohort)] * N
            out.append(rows[0])
    assert out == server_models()[:2]
    assert fedavg_any_round.all_rows_averaged(0).verdict == Verdict.PROVED


def test_another_cohort_or_another_count_of_steps_is_refuted():
    wrong = [
        fedavg_any_round.pulled_and_averaged(0, 0, everybody=True),
        fedavg_any_round.pulled_and_averaged(1, 1, everybody=True),
        fedavg_any_round.all_rows_averaged(1),
        fedavg_any_round.all_rows_averaged(-1),
        fedavg_any_round.all_rows_averaged(0, late=1),
    ]
    assert {found.verdict for found in wrong} == {Verdict.REFUTED}


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("pull", lambda i, j, inside, _size: int(i == j or (inside(i) and j == 0))),
        (
            "average",
            lambda _: (
                lambda i, j, inside, size: (
                    int(i == j > 0) + (i == 0) * inside(j) / (size + 1)
                )
            ),
        ),
        (
            "virtual",
            lambda: lambda i, j, inside, size: int(inside(j)) / (size + int(i == 0)),
        ),
    ],
)
def test_wrong_matrices_are_not_taken(monkeypatch, name, entry):
    monkeypatch.setattr(fedavg_any_round, name, entry)
    found = [
        fedavg_any_round.pulled_and_averaged(1, 0, everybody=False),
        fedavg_any_round.all_rows_averaged(0),
    ]
    broken = found[name == "virtual"]
    assert broken.verdict == Verdict.REFUTED
