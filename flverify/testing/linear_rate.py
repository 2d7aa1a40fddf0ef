"""`assert_linear_rate`: E|x_r - x*|^2 <= C rate^r, to the minimiser itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, Refusal
from flverify._core.exact import Scalar, is_symbolic
from flverify.testing import reproduce, sampling
from flverify.testing.comparison import keeps, slackened
from flverify.testing.dynamics import FLOOR, dynamics
from flverify.testing.first_break import at_round, first_break
from flverify.testing.given import above_zero, as_float, logarithm, real
from flverify.testing.large import LargeDynamics, large_dynamics
from flverify.testing.methods import answer_by, method_of
from flverify.testing.moments import FAULTS, Answer, answers, refusal
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.setting import Setting, setting
from flverify.testing.written import enclosed, number

NAME = "assert_linear_rate"
CHECKED = 100  # rounds in which a constant is checked by default
ROUNDING = Fraction(1, 10**12)  # relative: how far off a rate claimed in floats may be
SAMPLED_CONSTANT = 10  # times |x_0 - x*|^2: C where sampling must fix one
SAMPLED_DECAY = 1e-4  # sampling looks at rounds until rate^r is about this
LONGEST_SAMPLE = 2000  # rounds it looks at by default, at most


def assert_linear_rate(
    problem: object,
    algorithm: object,
    participation: object,
    *,
    rate: Scalar,
    constant: Scalar | None = None,
    start: object = None,
    rounds: int | None = None,
    method: str = "auto",
    false_alarm: float = 1e-6,
    tail: float = 30.0,
    budget: int = 10_000,
    seed: int = 0,
) -> Outcome:
    """Assert linear convergence in mean square to the minimiser itself.

    Definition: E|x_r - x*|^2 <= C rate^r for all rounds r, with x_r the server model
    and x* the minimiser of F; rate is the factor per round of the squared distance. A
    method that ends elsewhere breaks it, whatever its contraction.

    Parameters
    ----------
    problem : Problem
        With a method `minimiser()`.
    algorithm : Algorithm or callable
        Also one of the test's own file, or a function of masks and gradients (see
        `flverify.testing.functions`).
    participation : Participation
    rate : scalar in (0, 1), weight 1
        The claimed factor.
    constant : scalar > 0, weight x^2, optional
        C. By default some C is asserted to exist; a given one is checked too, in
        rounds 0 to `rounds` from the start. Sampling takes 10 |x_0 - x*|^2 if none is
        given.
    start : (d,) numbers, weight x, optional
        Server model before round 0. By default every start is meant where moments
        answer, and 0 (all ones if x* = 0) where a constant or sampling needs one.
    rounds : int >= 1, optional
        Rounds in which a constant is checked (100), or that are sampled (until rate^r
        is 1e-4, at most 2000).
    method : {"auto", "exact", "sampled"}
        "auto" takes exact moments if the round is linear, else sampling.
    false_alarm : float in (0, 1)
        Sampling: the probability with which a correct setting may be called broken.
    tail : float >= 1
        Sampling: assumed largest E e^2/max(b, E e)^2 of the squared error e and its
        bound b.
    budget : int >= 2
        Sampling: largest number of runs.
    seed : int >= 0
        Sampling: key of the random streams.

    Returns
    -------
    outcome : Outcome
        What was found and how.

    Raises
    ------
    Broken
        If the rate does not hold.
    Inconclusive
        If there is no answer.
    InputError
        If a parameter lies outside its domain.

    Notes
    -----
    Moments in rationals decide for all rounds; a rate claimed in floats may be off by
    1e-12 of itself there, and C rate^r by 1e-9. In floats, rates are compared to 1e-9,
    and what is weaker than 1e-8 of the problem's size does not count; where a weak
    link or a Jordan block makes that matter there is no answer. Sampling sees
    finitely many rounds and one C. That the rate is broken it says without any
    assumption; that it holds, only for squared errors whose tail is as assumed, since
    no sample bounds the mean of an arbitrary nonnegative variable, nor where a client
    is expected fewer than 20 times in all runs, nor where C rate^r falls below
    |x_0 - x*|^2 in none of them, as a method that stands still would pass there.
    Where C rate^r is below 1e-24 of the problem's squared size there is no answer, nor
    below 1e8 times the square of what x* in floats may be off by. Sampled runs round:
    each |x_r - x*| is taken to be off by up to (8 r + r^2/16) eps sqrt(d) of the size,
    with the eps of the shortest floats that gradients or models come in, times what a
    small move of the start has grown to; where that hides a bound there is no answer.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg, Focus
    >>> from flverify.participation import Bernoulli
    >>> from flverify.problems import Quadratics
    >>> problem = Quadratics([[[1]], [[2]]], [[0], [2]])
    >>> law = Bernoulli(["1/2", "1/3"])
    >>> assert_linear_rate(problem, Focus("1/8"), law, rate="9/10").found
    '~0.86139514485924 per round'
    >>> try:
    ...     assert_linear_rate(problem, FedAvg("1/4", 2), law, rate="9/10")
    ... except AssertionError as error:
    ...     print(error.outcome.status)
    BROKEN
    """
    __tracebackhide__ = True
    asked = setting(problem, algorithm, participation, start)
    claim = _Claim(
        asked,
        _rate(rate),
        None if constant is None else above_zero(constant, "constant"),
        None if rounds is None else whole(rounds, "rounds"),
    )
    how = sampling.plan(claim.sampled_rounds, seed, false_alarm, tail, budget)
    chosen = method_of(method)
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
    """What is asserted."""

    asked: Setting
    rate: Scalar
    constant: Scalar | None
    rounds: int | None

    @property
    def sampled_rounds(self) -> int:
        """Rounds that are sampled."""
        slow = math.log(SAMPLED_DECAY) / LONGEST_SAMPLE  # per round, at the most
        by_rate = math.ceil(math.log(SAMPLED_DECAY) / min(logarithm(self.rate), slow))
        return self.rounds or max(by_rate, 1)

    @property
    def text(self) -> str:
        """The claim about all rounds."""
        every = "" if self.asked.start is not None else ", from every start"
        text = f"E|x_r - x*|^2 <= C ({number(self.rate)})^r for some C{every}"
        if self.constant is None:
            return text
        checked = f"C is checked in rounds 0 to {self.rounds or CHECKED}"
        return f"{text}; C = {number(self.constant)} from x_0: this {checked}"

    def allowed(self, r: int) -> Scalar:
        """C rate^r; exact unless C is symbolic."""
        factor, given = Fraction(self.rate) ** r, self.constant
        first = given if given is None or is_symbolic(given) else Fraction(given)
        product = factor if first is None else first * factor
        rounded = isinstance(self.rate, float) or isinstance(given, float)
        return slackened(product) if rounded and not is_symbolic(given) else product

    def is_kept(self, found: Any) -> bool | None:
        """Whether some C exists; None if that is not decided."""
        kept: bool | None = found.is_bounded_by(self.rate)
        if kept is not False or not (found.exact and isinstance(self.rate, float)):
            return kept
        low, high = found.rate_interval
        largest = Fraction(self.rate) * (1 + ROUNDING)
        meant = low if low == high and low <= largest else largest
        return bool(found.is_bounded_by(meant)) if meant < 1 else False

    def outcome(self) -> Outcome:
        """Return the outcome before anything is known."""
        fixed = self.constant is not None
        words = self.asked.text_with_start if fixed else self.asked.text
        return Outcome(NAME, Status.INCONCLUSIVE, self.text, "nothing", "", words)


def _rate(value: object) -> Scalar:
    rate = real(value, "rate")
    if is_symbolic(rate):
        raise DomainError(
            f"rate must be a rational or a float; got {number(rate)}; pass a rational "
            "close to it."
        )
    if not 0 < rate < 1:
        raise DomainError(
            f"rate must lie between 0 and 1; got {number(rate)}; it is the factor per "
            "round of the squared distance (assert_stable is for 1)."
        )
    return rate


def _by_moments(claim: _Claim) -> Outcome | Refusal:
    """Answer by the first moments that can; a refusal if none can."""
    known = answers(claim.asked)
    if isinstance(known, Refusal):
        return known
    tried, refused = [], []
    for answer in known:
        try:
            found = dynamics(claim.asked, answer) or large_dynamics(claim.asked, answer)
            if not isinstance(found, Refusal):
                with np.errstate(over="ignore", invalid="ignore"):
                    tried.append(_answer(claim, answer, found))
                if tried[-1].status != Status.INCONCLUSIVE:
                    return tried[-1]
        except FAULTS as error:
            found = refusal(error)
        if isinstance(found, Refusal):
            refused.append(found)
    return tried[0] if tried else refused[0]


def _answer(claim: _Claim, answer: Answer, found: Any) -> Outcome:
    """Compare the rate, then the constant."""
    bounded, stays = claim.is_kept(found), _stays_off(found, answer)
    out = replace(
        claim.outcome(),
        found=stays or _found(found),
        answered_by=answer.answered_by + found.remark,
        reproduce=_reproduce(claim, answer, found, settles=bool(stays)),
    )
    if bounded is None:
        return replace(out, reason=found.undecided)
    if not bounded:
        text = first_break(claim.asked, claim.rate, claim.constant, found)
        tied = found.exact and found.rate_interval == (claim.rate, claim.rate)
        words = out.found + (", times a power of r" if tied else "")
        return replace(out, found=words, status=Status.BROKEN, first_break=text)
    if claim.constant is not None:
        return _with_constant(claim, found, out)
    return replace(out, status=Status.HOLDS)


def _found(found: Any) -> str:
    rough = isinstance(found.rate_interval[1], float)
    about = "about " if found.exact and rough else ""
    words = f"{about}{enclosed(found.rate_interval)} per round"
    return words if _falls(found) else f"no convergence: {words}"


def _falls(found: Any) -> bool:
    rate = found.rate_interval[1]
    return bool(rate < (1 - 1e-9 if isinstance(rate, float) else 1))


def _stays_off(found: Any, answer: Answer) -> str:
    """Say where an error that stays bounded ends; empty if it falls, or is not told."""
    if _falls(found):
        return ""
    pace, large = _contraction(found, answer), isinstance(found, LargeDynamics)
    if not (pace < 1 and found.stays_bounded()):
        return ""
    shown = answer.found if found.quick else answer.in_floats
    try:
        contraction = number(pace if large else shown.mean_square_rate)
        error = number(shown.stationary_mean_square_error)
    except FAULTS:
        return ""
    modes = len(answer.found.participation.modes().laws)
    tends = "tends to" if modes == 1 else "on average tends to"  # modes may take turns
    return (
        f"E|x_r - x*|^2 {tends} {error}, not to 0; two runs approach each other at "
        f"{contraction} per round"
    )


def _contraction(found: Any, answer: Answer) -> float:
    """Rate of differences; a large system has it already, and it takes long."""
    large = isinstance(found, LargeDynamics)
    return float(found.contraction if large else answer.contraction)


def _with_constant(claim: _Claim, found: Any, out: Outcome) -> Outcome:
    """Check the first rounds against the constant; the rate holds."""
    last, checked = claim.rounds or CHECKED, -1
    least = FLOOR * as_float(claim.asked.first_error)
    floor = 0.0 if found.exact else max(found.floor, least)
    curve = found.curve(claim.asked.begin)
    for r, error in enumerate(islice(curve, last + 1)):
        allowed = claim.allowed(r) if found.exact else as_float(claim.allowed(r))
        off = 0.0 if found.exact else claim.asked.doubt(error)
        kept = keeps(error, allowed, floor + off, found.fine + off)
        if kept is False:
            text = at_round(r, error, allowed)
            return replace(out, status=Status.BROKEN, first_break=text)
        if kept is None and (allowed >= floor or checked < 0):
            why = (
                f"the order of these floats is rounding: {at_round(r, error, allowed)}"
            )
            return replace(out, reason=f"{why}; pass rationals, or a larger C")
        if kept is None:
            break
        checked = r
    done = f"C was checked in rounds 0 to {checked}"
    cut = claim.text.replace(f"0 to {last}", f"0 to {checked}")
    held = replace(out, status=Status.HOLDS, found=f"{out.found}; {done}")
    return held if checked == last else replace(held, claimed=f"{cut} of {last}")


def _reproduce(claim: _Claim, answer: Answer, found: Any, *, settles: bool) -> str:
    """Return `flverify rate` where its number is the one found, else `bias`.

    Floats may refuse the stationary error: it is asked for only where it was found.
    """
    rate = found.rate_interval[1]
    same = abs(as_float(rate) - _contraction(found, answer)) < 1e-9
    command = reproduce.command("rate" if same else "bias", claim.asked)
    if command and claim.constant is None and (same or rate >= 1 - 1e-9):
        return command
    begin = reproduce.numbers(claim.asked.begin)
    last = claim.rounds or CHECKED
    return reproduce.script(
        claim.asked,
        ["from flverify import moments"],
        "found = moments(problem, algorithm, law)",
        "print(found.mean_square_rate)",
        *(["print(found.stationary_mean_square_error)"] if settles else []),
        f"print(found.mean_square_error({begin}, {last}))",
    )


def _by_sampling(claim: _Claim, how: sampling.Plan) -> Outcome:
    """Sample the claim with a constant, in finitely many rounds."""
    asked = claim.asked
    constant = claim.constant or SAMPLED_CONSTANT * asked.first_error
    powers = np.float64(as_float(claim.rate)) ** np.arange(how.rounds + 1)
    with np.errstate(invalid="ignore"):
        bounds = as_float(constant) * powers
    found = sampling.judge(asked, bounds, how)
    if found.status == Status.HOLDS and 0 < as_float(asked.first_error) <= bounds[-1]:
        found = replace(found, status=Status.INCONCLUSIVE, reason=_too_few(claim))
    text = f"E|x_r - x*|^2 <= {number(constant)} ({number(claim.rate)})^r"
    return replace(
        claim.outcome(),
        status=found.status,
        claimed=f"{text}, sampled in rounds 0 to {how.rounds}",
        **sampling.words(asked, how, found, bounds),
    )


def _too_few(claim: _Claim) -> str:
    """Say why bounds that never fall below the error of the start show no rate."""
    given, first = claim.constant, claim.asked.first_error
    above = math.log(SAMPLED_CONSTANT)
    if given is not None:
        above = logarithm(given) - logarithm(first)
    needed = math.floor(-above / logarithm(claim.rate)) + 1
    return (
        "the bound is nowhere below |x_0 - x*|^2, so that a method that stands still "
        f"would pass; sample well over {needed} rounds, or give a smaller constant"
    )
