"""The two clients of (3) once more: where the plain loop rests, in many digits."""

import mpmath
import pytest

from flverify.claims.fedavg_flat_minimum import clients_as_told, leaves_far
from flverify.claims.verdict import Verdict
from flverify.reference import fedavg


def gradient(client, point):
    if client:
        return [-1, -1]
    x, t = point, point[1] - 2
    norm = max(mpmath.hypot(*x), 1)
    return [x[0] / norm + 1, x[1] / norm + t**5 / (1 + t**4)]


def resting(step_size, local_steps):
    """Solve for x^o - x* of one round of everybody, in units of eta and eta^(2/5)."""
    far = step_size ** mpmath.mpf("0.4")

    def moved(left, up):
        start = [left * step_size, 2 + up * far]
        end = fedavg.run(
            gradient,
            2,
            start,
            [{0, 1}],
            step_size=step_size,
            local_steps=local_steps,
        )[1]
        one, two = (b - a for a, b in zip(start, end, strict=True))
        return [one / step_size**2, two / step_size**3]

    left, up = mpmath.findroot(moved, (local_steps / 2, 0.6))
    return left * step_size, up * far


@pytest.mark.parametrize("local_steps", [2, 5])
def test_the_distance_is_of_order_eta_to_two_fifths(local_steps):
    ratios = []
    with mpmath.workdps(100):
        for digits in (10, 15):
            eta = mpmath.mpf(10) ** -digits
            away = mpmath.hypot(*resting(eta, local_steps))
            assert eta**2 <= 144 * local_steps * away**5
            assert away**2 > 4 * (local_steps - 1) * eta
            ratios.append(away / eta ** mpmath.mpf("0.4"))
    assert abs(ratios[1] / ratios[0] - 1) < 1e-3


@pytest.mark.slow
def test_what_is_too_strong_is_not_proved():
    assert leaves_far(2).verdict == Verdict.PROVED
    assert leaves_far(3).verdict == Verdict.INCONCLUSIVE
    assert leaves_far(2, idle_steps=0).verdict == Verdict.REFUTED


@pytest.fixture
def anew():
    """Judge anew, so that what is planted is seen, and nothing of it is kept."""
    clients_as_told.cache_clear()
    yield
    clients_as_told.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    "steeper",
    [
        lambda t: t**3 / (1 + t**2),  # of order eta^(2/3), its square less than eta
        lambda t: 3 * t**5 / (1 + t**4),  # has a slope above 2
        lambda t: -(t**5) / (1 + t**4),  # not convex
    ],
)
def test_other_clients_are_not_taken(monkeypatch, steeper):
    monkeypatch.setattr("flverify.claims.fedavg_flat_minimum._flat", steeper)
    assert leaves_far(2).verdict == Verdict.INCONCLUSIVE
