"""`assert_fixed_point_bias`: where the mean of the server model ends."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import InputError, Refusal, RefusedError, ShapeError
from flverify._core.exact import Array, Scalar
from flverify.engines.moments import surely_moves
from flverify.testing import reproduce, sampling
from flverify.testing.comparison import keeps, slackened
from flverify.testing.given import as_float, least_zero, real
from flverify.testing.given import vector as numbers
from flverify.testing.mean_models import Models, mean_models
from flverify.testing.methods import answer_by, method_of
from flverify.testing.moments import Answer, answers
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.rounding import rounding
from flverify.testing.setting import Setting, setting
from flverify.testing.unseen import unsettled
from flverify.testing.vector_mean import Ball, mean_ball
from flverify.testing.written import number, vector

NAME = "assert_fixed_point_bias"
ROUNDING = 2 * sys.float_info.epsilon  # of that size, in every round
BLURRED = 4  # times what x* may be off by: the fixed point may be off by as much
SLACK = 1e-9  # how far off a bias in floats may be, as a share of what it is made of


def assert_fixed_point_bias(
    problem: object,
    algorithm: object,
    participation: object,
    *,
    bias: Any = None,
    bound: Scalar | None = None,
    tolerance: Scalar = 0,
    start: object = None,
    rounds: int = 200,
    method: str = "auto",
    false_alarm: float = 1e-6,
    tail: float = 30.0,
    budget: int = 10_000,
    seed: int = 0,
) -> Outcome:
    """Assert the bias of the fixed point of the mean dynamics, or a bound on it.

    Definition: with x_inf the server model at the fixed point of the mean dynamics,
    x_inf - x* = bias, or |x_inf - x*| <= bound.

    Parameters
    ----------
    problem, algorithm, participation
        As in `assert_linear_rate`.
    bias : (d,) numbers or 0, weight x
        The claimed bias; 0 is that of an unbiased method.
    bound : scalar >= 0, weight x
        A bound on its length, in place of the bias itself; one in floats is kept up
        to 1e-9 of itself.
    tolerance : scalar >= 0, weight x
        How far from the claimed bias the true one may lie; 0 means equality, up to 1e-9
        of itself for a bias claimed in floats, and up to 1e-9 of the problem's size for
        one found in floats. A bound takes none.
    start : (d,) numbers, weight x, optional
        Server model before round 0, for sampling.
    rounds : int >= 1
        Sampling: rounds from whose mean models the fixed point is extrapolated.
    method, false_alarm, budget, seed
        As in `assert_linear_rate`.
    tail : float >= 1
        Sampling: assumed largest E|x - m|^4/(E|x - m|^2)^2 of the model x after half
        the rounds, after all of them, and of its moves, m = E x.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If the bias is another, or longer than the bound.
    Inconclusive
        If there is no answer, as for equality where the bias must be sampled, for a
        mean that does not converge, and for one that still moves after `rounds`.
    InputError
        If not exactly one of bias and bound is given, or a parameter lies outside its
        domain.

    Notes
    -----
    Sampling sees the mean model m_r at r = 0, R/2, R - 1, R = `rounds` and one more
    round of the later half only. It takes |m_R - m_{R/2}| <= q |m_{R/2} - m_0| to go
    on, with the least q < 1 that the sample allows, so that x_inf lies within
    q/(1 - q) |m_R - m_{R/2}| of m_R; a part of the mean so slow that these rounds do
    not show it is overlooked. Where m_R differs from m_{R/2} by more than the sample's
    noise there is no answer, nor where it differs from the others: a mean that
    alternates may be the same after R/2 rounds. Nor is there one where a client comes
    in fewer than one of R rounds on average, or modes are 1/100 from their long run.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg, Focus
    >>> from flverify.participation import Bernoulli
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[2]]], [[0], [2]])
    >>> law = Bernoulli(["1/2", "1/3"])
    >>> assert_fixed_point_bias(problem, Focus("1/8"), law, bias=0).found
    'bias (0)'
    >>> fedavg = FedAvg("1/4", 2)
    >>> assert_fixed_point_bias(problem, fedavg, law, bias=["-34/213"]).found
    'bias (-34/213), length 0.159624413146'
    """
    __tracebackhide__ = True
    asked = setting(problem, algorithm, participation, start)
    how = sampling.plan(whole(rounds, "rounds"), seed, false_alarm, tail, budget)
    chosen = method_of(method)
    claim = _claim(asked, bias, bound, tolerance)
    return settle(
        answer_by(
            chosen,
            lambda: _by_moments(claim),
            lambda: _by_sampling(claim, how),
            claim.outcome,
        )
    )


@dataclass(frozen=True)
class _Claim:
    """The bias lies within `reach` of `centre`; the centre is 0 for a bound."""

    asked: Setting
    centre: Array
    reach: Scalar
    text: str

    def outcome(self) -> Outcome:
        """Return the outcome before anything is known."""
        shown = self.asked.text
        return Outcome(NAME, Status.INCONCLUSIVE, self.text, "nothing", "", shown)


def _claim(asked: Setting, bias: Any, bound: Any, tolerance: Any) -> _Claim:
    if (bias is None) == (bound is None):
        raise InputError(
            "exactly one of bias and bound must be given; got both or neither; give "
            "bias=0 for an unbiased method."
        )
    nothing = np.zeros(asked.problem.dim, dtype=int).astype(object)
    near = least_zero(tolerance, "tolerance")
    if bound is not None:
        _require_no_tolerance(near)
        reach = least_zero(bound, "bound")
        return _Claim(asked, nothing, reach, f"|x_inf - x*| <= {number(reach)}")
    centre = nothing if _is_zero(bias) else numbers(bias, "bias")
    if centre.shape != nothing.shape:
        raise ShapeError(
            f"bias must be 0 or have shape {nothing.shape}; got {centre.shape}; give "
            "one number per coordinate."
        )
    words = f", to {number(near)}" if near else ""
    return _Claim(asked, centre, near, f"x_inf - x* = {vector(centre)}{words}")


def _is_zero(bias: Any) -> bool:
    return np.ndim(bias) == 0 and bool(real(bias, "bias") == 0)


def _require_no_tolerance(near: Scalar) -> None:
    if near:
        raise InputError(
            f"tolerance must be left out where a bound is given; got {number(near)}; "
            "add it to the bound."
        )


def _by_moments(claim: _Claim) -> Outcome | Refusal:
    """Compare the bias of the first moments that have one."""
    known = answers(claim.asked)
    if isinstance(known, Refusal):
        return known
    answer = known[0]
    try:
        return _compare(claim, answer, answer.found.bias)
    except RefusedError as error:  # no unique fixed point: sampling has none either
        return replace(
            claim.outcome(), reason=str(error), answered_by=answer.answered_by
        )


def _compare(claim: _Claim, answer: Answer, bias: Array) -> Outcome:
    off, kept = _distance(claim, answer, bias)
    status = Status.HOLDS if kept else Status.BROKEN
    unclear = "an irrational bias cannot be told from the claimed one; pass rationals"
    why = _untold(claim, answer, off) or (unclear if kept is None else "")
    return replace(
        claim.outcome(),
        status=Status.INCONCLUSIVE if why else status,
        reason=why,
        found=_found(bias, answer),
        answered_by=answer.answered_by + _accuracy(claim, answer),
        reproduce=reproduce.command("bias", claim.asked) or _script(claim.asked),
    )


def _distance(claim: _Claim, answer: Answer, bias: Array) -> tuple[float, bool | None]:
    """How far the bias is from the claimed one, and whether that is within reach."""
    exact, reach = answer.found.exact, claim.reach
    if exact and claim.centre.dtype == object:
        gap = bias - claim.centre
        square = gap @ gap
        limit = slackened(reach) if isinstance(reach, float) else reach
        return math.sqrt(as_float(square)), keeps(square, limit**2)
    gaps = [as_float(b) - as_float(c) for b, c in zip(bias, claim.centre, strict=True)]
    # a rational bias is known: only the rounding of the claim is forgiven
    claimed = math.hypot(*(as_float(c) for c in claim.centre))
    size = claimed if exact else claim.asked.problem_size
    off = math.hypot(*gaps)
    return off, off <= as_float(reach) + SLACK * size


def _accuracy(claim: _Claim, answer: Answer) -> str:
    """Say what is forgiven."""
    if answer.floats:
        return f", to {SLACK:g} of the problem's size"
    in_floats = answer.found.exact and claim.centre.dtype != object
    return f", to {SLACK:g} of the claimed bias" if in_floats else ""


def _untold(claim: _Claim, answer: Answer, off: float) -> str:
    """Say why a fixed point gives no answer; empty if it does."""
    if surely_moves(answer.found):
        return "the mean does not converge; there is no x_inf where it ends"
    if not answer.found.mean_settles:
        return "floats do not tell whether the mean converges; pass rationals"
    if answer.found.exact:
        return ""
    # a slow mean magnifies the rounding of every round, a slow direction that of x*
    far = math.hypot(*map(as_float, answer.found.bias))
    size, pace = claim.asked.problem_size, answer.found.mean_rate
    rounded = ROUNDING * max(size, far) / (1 - float(pace))
    doubt = rounded + BLURRED * claim.asked.blur
    if doubt <= SLACK * size or abs(off - as_float(claim.reach)) > doubt:
        return ""
    return (
        f"the mean converges at {float(pace):.12g} per round, and the bias in floats "
        f"is known to {doubt:.1e} only; pass rationals, or give a wider tolerance"
    )


def _found(bias: Array, answer: Answer) -> str:
    length = math.sqrt(as_float(bias @ bias))
    text = f"bias {vector(bias)}" + (f", length {number(length)}" if length else "")
    if answer.found.mean_settles:
        return text
    if not surely_moves(answer.found):
        return f"{text}; that the mean converges to it is not shown"
    text += "; the mean does not converge to it"
    with suppress(RefusedError):  # what grows is too weak for floats to follow
        pace = answer.found.mean_rate
        text += f": {number(pace)}" if pace >= 1 else ""  # or modes come in turns
    return text


def _script(asked: Setting) -> str:
    lines = ["found = moments(problem, algorithm, law)", "print(found.bias)"]
    return reproduce.script(asked, ["from flverify import moments"], *lines)


def _by_sampling(claim: _Claim, how: sampling.Plan) -> Outcome:
    """Compare the mean model after the last round, look by look."""
    asked, reach = claim.asked, as_float(claim.reach)
    optimum, centre = asked.minimiser, list(map(as_float, claim.centre))
    target = np.asarray(optimum, dtype=np.float64) + np.array(centre)
    if not np.isfinite(target).all():
        return replace(claim.outcome(), reason=_BEYOND)
    hidden = unsettled(asked.participation, how.rounds)
    rounded = rounding(asked, how.seed, how.rounds)
    if hidden := hidden or sampling.elsewhere(asked, how, float(rounded[0])):
        return replace(claim.outcome(), reason=hidden)
    fine = SLACK * asked.size + float(rounded[-1])
    looks = [runs for runs in how.looks() if runs > sampling.FIRST] or [how.budget]
    status, seen, off, runs = Status.INCONCLUSIVE, _UNSEEN, math.nan, 0
    for place, runs in enumerate(looks):
        models = mean_models(asked, how, runs)
        if isinstance(models, Refusal):
            return replace(claim.outcome(), reason=str(models))
        # the probabilities of all looks add up to less than false_alarm; steps only
        # ever take an answer away
        miss = how.false_alarm / 2 ** (place + 1) / 4
        seen, off = _seen(asked, models, miss, how.tail, target)
        if off + seen.radius + fine <= reach and math.isfinite(off + seen.radius):
            status = Status.HOLDS
        elif off - seen.radius > reach + fine:
            status = Status.BROKEN
        if status != Status.INCONCLUSIVE:
            break
    return replace(
        claim.outcome(),
        status=status,
        found=f"the mean model, from {how.rounds} rounds, {_away(off, seen.radius)}",
        reason="" if status != Status.INCONCLUSIVE else seen.why or _why(reach, runs),
        answered_by=_words(how, runs),
        setting=asked.text_with_start,
        reproduce=_repeated(asked, how, runs),
    )


def _away(off: float, radius: float) -> str:
    """Say how far the mean model is, and how closely that is known."""
    if not math.isfinite(off):
        return "leaves the range of floats"
    if not math.isfinite(radius):
        return f"is {off:.6g} from the claimed one in the sample, which bounds nothing"
    return f"is {off:.6g} +- {radius:.3g} from the claimed one"


_MOVING = "the mean model moved in later rounds; raise rounds, if it settles at all"
_BEYOND = "the claimed bias lies beyond the largest float, about 1.8e308"


@dataclass(frozen=True)
class _Seen:
    """Where the mean model ends, up to a radius; why it is infinite."""

    centre: Array
    radius: float
    why: str = ""


_UNSEEN = _Seen(np.zeros(0), math.inf)


def _seen(
    asked: Setting, models: Models, miss: float, tail: float, target: Array
) -> tuple[_Seen, float]:
    """Return where the mean model of one look ends, and how far from the target."""
    begin = np.asarray(asked.begin, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        last, rounding = models.last, SLACK * asked.size
        copies = models.half, last, last - models.half
        half, full, move = (mean_ball(some, miss, tail) for some in copies)
        seen = _extrapolated(begin, half, full, move, rounding)
        steps = [mean_ball(last - later, miss, tail) for later in models.later]
        if any(np.linalg.norm(s.centre) > s.radius + rounding for s in steps):
            seen = _Seen(full.centre, math.inf, _MOVING)
        return seen, float(np.linalg.norm(seen.centre - target))


def _extrapolated(
    begin: Array, half: Ball, full: Ball, move: Ball, rounding: float
) -> _Seen:
    """Sum the moves to come as a geometric series, from balls of three means."""
    if not all(math.isfinite(ball.radius) for ball in (half, full, move)):
        return _Seen(full.centre, math.inf)
    moved, noise = float(np.linalg.norm(move.centre)), move.radius
    if moved > noise + rounding:
        why = f"the mean model moved by {moved:.3g} in the later half of the rounds"
        return _Seen(full.centre, math.inf, f"{why}; raise rounds")
    first = float(np.linalg.norm(half.centre - begin)) - half.radius
    last = moved + noise if moved + noise > rounding else 0.0
    if last >= first:
        why = "the mean model moved as little in the first half of the rounds"
        more = "raise budget or rounds, or start farther from the fixed point"
        return _Seen(full.centre, math.inf, f"{why} as the noise of the sample; {more}")
    factor = last / first
    return _Seen(full.centre, full.radius + last * factor / (1 - factor))


def _why(reach: float, runs: int) -> str:
    if reach == 0:
        return "sampling cannot show equality; give a tolerance above 0, or a bound"
    return f"{runs} runs do not decide; raise budget, or give a wider tolerance"


def _words(how: sampling.Plan, runs: int) -> str:
    alpha, tail = number(how.false_alarm), number(how.tail)
    return (
        f"sampling: {runs} of at most {how.budget} runs, seed {how.seed}; the mean "
        f"after {how.rounds // 2} and {how.rounds} rounds in place of the fixed point; "
        f"either answer is wrong with probability at most {alpha} if E|x - m|^4 <= "
        f"{tail} (E|x - m|^2)^2 for model and move, and the mean settles "
        "geometrically, with no part too slow to be seen in these rounds"
    )


def _repeated(asked: Setting, how: sampling.Plan, runs: int) -> str:
    means = ".final_models.mean(axis=0)", "[:, -1].mean(axis=0)"
    return sampling.script(asked, how, runs, *means)
