"""`assert_stable`: mean-square stability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Scalar
from flverify.testing import reproduce, sampling
from flverify.testing.dynamics import ROUNDING, Dynamics, differences, dynamics
from flverify.testing.given import above_zero, as_float
from flverify.testing.large import LargeDynamics, large_dynamics
from flverify.testing.methods import answer_by, method_of
from flverify.testing.moments import FAULTS, Answer, answers, refusal
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.setting import Setting, setting
from flverify.testing.written import enclosed, number

NAME = "assert_stable"
SEARCHED = 500  # rounds among which the first far one is sought
SAMPLED_GROWTH = 100  # times |x_0 - x*|^2: the bound where sampling must have one


def assert_stable(
    problem: object,
    algorithm: object,
    participation: object,
    *,
    bound: Scalar | None = None,
    start: object = None,
    rounds: int = 100,
    method: str = "auto",
    false_alarm: float = 1e-6,
    tail: float = 30.0,
    budget: int = 10_000,
    seed: int = 0,
) -> Outcome:
    """Assert stability in mean square; a stable method may still be biased.

    Definition: two runs of the same rounds from different starts come together,
    E|x_r - x'_r|^2 <= C rate^r with rate below 1, and E|x_r - x*|^2 stays bounded.

    Parameters
    ----------
    problem, algorithm, participation
        As in `assert_linear_rate`.
    bound : scalar > 0, weight x^2, optional
        Sampling alone needs one: what is tested is E|x_r - x*|^2 <= bound, by default
        100 |x_0 - x*|^2, in rounds 0 to `rounds`. What grows slowly, and whether
        starts are forgotten, is not seen then.
    start : (d,) numbers, weight x, optional
        Server model before round 0, for sampling; moments mean every start.
    rounds : int >= 1
        Rounds that are sampled.
    method, false_alarm, tail, budget, seed
        As in `assert_linear_rate`.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If the setting is not stable.
    Inconclusive
        If there is no answer.
    InputError
        If a parameter lies outside its domain.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[1]]], [[2]])
    >>> assert_stable(one, GradientDescent("3/2"), Full(1)).found
    'mean-square rate 1/4'
    >>> try:
    ...     assert_stable(one, GradientDescent("5/2"), Full(1))
    ... except AssertionError as error:
    ...     print(error.outcome.found)
    mean-square rate 9/4
    """
    __tracebackhide__ = True
    how = sampling.plan(whole(rounds, "rounds"), seed, false_alarm, tail, budget)
    chosen = method_of(method)
    limit = None if bound is None else above_zero(bound, "bound")
    asked = setting(problem, algorithm, participation, start)
    return settle(
        answer_by(
            chosen,
            lambda: _by_moments(asked),
            lambda: _by_sampling(asked, limit, how),
            lambda: _outcome(asked),
        )
    )


@dataclass(frozen=True)
class _Rates:
    """Rate of differences, whether it is below 1, whether the error stays bounded."""

    rate: tuple[Scalar, Scalar]
    contracts: bool | None
    error: Any  # its dynamics

    @cached_property
    def bounded(self) -> bool | None:
        """Whether E|x_r - x*|^2 stays bounded."""
        found: bool | None = self.error.stays_bounded()
        return found

    def stable(self) -> bool | None:
        """Return the answer; None where the numbers do not decide."""
        if self.contracts is False or self.bounded is False:
            return False
        return True if self.contracts and self.bounded else None


def _outcome(asked: Setting) -> Outcome:
    text = "two runs come together in mean square, and E|x_r - x*|^2 stays bounded"
    return Outcome(NAME, Status.INCONCLUSIVE, text, "nothing", "", asked.text)


def _by_moments(asked: Setting) -> Outcome | Refusal:
    """Answer by the first moments that can; a refusal if none can."""
    known = answers(asked)
    if isinstance(known, Refusal):
        return known
    tried, refused = [], []
    every = replace(asked, start=None)
    for answer in known:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                tried.append(_answer(asked, answer, _rates(every, answer)))
            if tried[-1].status != Status.INCONCLUSIVE:
                return tried[-1]
        except FAULTS as error:
            refused.append(refusal(error))
    return tried[0] if tried else refused[0]


def _rates(asked: Setting, answer: Answer) -> _Rates:
    error: Any = dynamics(asked, answer) or large_dynamics(asked, answer)
    if isinstance(error, Refusal):
        raise RefusedError(str(error))
    two = differences(answer)
    if isinstance(two, Refusal) or not two.exact:
        large = isinstance(error, LargeDynamics)
        rate = error.contraction if large else float(answer.found.mean_square_rate)
        near = error.near_one if large else abs(rate - 1) <= ROUNDING
        near |= isinstance(two, Dynamics) and two.may_lie_across(1.0, rate)
        return _Rates((rate, rate), None if near else rate < 1, error)
    # at the eigenvalue 1 the radius is 1 or more
    contracts = bool(two.is_below(Fraction(1)))
    return _Rates(two.rate_interval, contracts, error)


def _answer(asked: Setting, answer: Answer, rates: _Rates) -> Outcome:
    stable = rates.stable()
    grows = rates.bounded is False and bool(rates.contracts)
    out = replace(
        _outcome(asked),
        found=f"mean-square rate {enclosed(rates.rate)}"
        + ("; yet E|x_r - x*|^2 grows without bound" if grows else ""),
        answered_by=answer.answered_by + (", to 1e-9" if answer.floats else ""),
        reproduce=_reproduce(asked, grows),
    )
    if stable is None:
        why = "the rate cannot be told from 1; pass rationals, or another step size"
        return replace(out, reason=why)
    if stable:
        return replace(out, status=Status.HOLDS)
    text = _first_break(asked, rates.error)
    return replace(out, status=Status.BROKEN, first_break=text)


def _first_break(asked: Setting, error: Any) -> str:
    """Seek the first round whose error exceeds the first one a hundredfold."""
    allowed = SAMPLED_GROWTH * as_float(asked.first_error)
    curve = islice(error.in_floats().curve(asked.begin), SEARCHED + 1)
    above = ((r, found) for r, found in enumerate(curve) if not found <= allowed)
    r, found = next(above, (None, 0.0))
    if r is None:
        return f"none up to {SEARCHED} is {SAMPLED_GROWTH} times as far away as x_0"
    far = f"above {SAMPLED_GROWTH} |x_0 - x*|^2"
    return f"{r}: E|x_r - x*|^2 = {number(found)}, {far}"


def _reproduce(asked: Setting, grows: bool) -> str:
    command = "" if grows else reproduce.command("rate", asked)
    return command or reproduce.script(
        asked,
        ["from flverify import moments"],
        "found = moments(problem, algorithm, law)",
        "print(found.mean_square_rate)",
        f"print(found.mean_square_error({reproduce.numbers(asked.begin)}, 200))",
    )


def _by_sampling(asked: Setting, limit: Scalar | None, how: sampling.Plan) -> Outcome:
    """Sample a bound that does not depend on the round."""
    level = limit or SAMPLED_GROWTH * asked.first_error
    bounds = np.full(how.rounds + 1, as_float(level))
    found = sampling.judge(asked, bounds, how)
    text = f"E|x_r - x*|^2 <= {number(level)}, sampled in rounds 0 to {how.rounds}"
    return replace(
        _outcome(asked),
        status=found.status,
        claimed=text,
        **sampling.words(asked, how, found, bounds),
    )
