import numpy as np
import pytest

from flverify._core.errors import DomainError, InputError
from flverify.engines.trajectories import Trajectories


def sampled(errors):
    errors = np.array(errors, dtype=float)
    return Trajectories(errors, np.zeros((*errors.shape[:-1], 2)))


def test_mean_and_standard_error_of_three_runs_by_hand():
    runs = sampled([[1, 2], [1, 4], [1, 9]])
    assert (runs.runs, runs.rounds) == (3, 1)
    assert runs.mean().tolist() == [1, 5]
    # deviations -3, -1, 4: variance 26/2, over 3 runs
    assert runs.standard_error() == pytest.approx([0, np.sqrt(13 / 3)])


def test_a_sweep_keeps_its_leading_axis():
    runs = sampled([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert runs.mean().tolist() == [[2, 3], [6, 7]]
    assert runs.band(0.9)[0].shape == (2, 2)
    assert runs.quantiles([0, "1/2", 1]).shape == (3, 2, 2)
    longer = sampled(np.ones((2, 3, 5)))
    assert (longer.runs, longer.rounds) == (3, 4)


def test_the_band_is_the_normal_one_and_never_negative():
    runs = sampled([[10, 0], [12, 0], [14, 3]])
    lower, upper = runs.band(0.95)
    reach = 1.959963984540054 * 2 / np.sqrt(3)
    assert lower == pytest.approx([12 - reach, 0])
    assert upper[0] == pytest.approx(12 + reach)
    assert lower[1] == 0 < upper[1]


def test_a_wider_level_gives_a_wider_band():
    runs = sampled([[10, 0], [12, 0], [14, 3]])
    assert (runs.band(0.99)[1] > runs.band("1/2")[1]).all()


def test_quantiles_are_sampled_errors():
    runs = sampled([[3], [1], [2], [4]])
    assert runs.quantiles([0, 0.5, 1])[:, 0].tolist() == [1, 2, 4]


def test_infinite_errors_stay_infinite_without_warnings():
    runs = sampled([[1, np.inf], [3, 1e308], [2, np.inf]])
    assert runs.mean().tolist() == [2, np.inf]
    assert runs.standard_error()[1] == np.inf
    lower, upper = runs.band()
    assert lower[1] == 0
    assert upper[1] == np.inf


def test_huge_finite_errors_overflow_quietly():
    runs = sampled([[1e308], [1e308]])
    assert runs.mean().tolist() == [np.inf]
    assert runs.band()[1].tolist() == [np.inf]


def test_one_run_has_no_standard_error():
    with pytest.raises(InputError, match="at least 2 runs"):
        sampled([[1, 2]]).standard_error()
    with pytest.raises(InputError, match="at least 2 runs"):
        sampled([[1, 2]]).band()


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(DomainError, match="level must lie between"):
        sampled([[1], [2]]).band(level)


@pytest.mark.parametrize("wrong", [[-0.1], [0.5, 1.1]])
def test_quantiles_need_probabilities(wrong):
    with pytest.raises(DomainError, match="probabilities must lie"):
        sampled([[1], [2]]).quantiles(wrong)


def test_runs_that_agree_have_no_spread():
    errors = np.array([[0.1 + 0.2, 1 / 3, np.inf]] * 7)
    assert errors[:, 0].std(ddof=1) > 0  # the mean of equal numbers is rounded
    found = Trajectories(errors, np.zeros((7, 1))).standard_error()
    assert found.tolist() == [0, 0, np.inf]
