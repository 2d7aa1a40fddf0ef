"""`assert_certified_rate`: a linear rate for every problem of a function class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from flverify._core.checks import flag
from flverify._core.errors import InputError, ReadingError, RefusedError
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.averages.gap_rate import GapRate, dominance, gap_rate
from flverify.certify.neighbourhood import Neighbourhood, contraction
from flverify.certify.rates import Certified, asked_rate, certify
from flverify.certify.sandwich import WorstQuadratic, limits, worst_quadratic
from flverify.certify.search import problem
from flverify.participation._law import Participation
from flverify.testing.certified import Asked
from flverify.testing.outcome import Outcome, Status, settle
from flverify.testing.written import cut, number

NAME = "assert_certified_rate"


def assert_certified_rate(
    algorithm: Any,
    participation: Any,
    *,
    smoothness: object,
    rate: object,
    strong_convexity: object = None,
    polyak_lojasiewicz: object = None,
    neighbourhood: bool = False,
    loop: ModuleType | None = None,
) -> Outcome:
    """Assert a linear rate for all smooth strongly convex f_i, in any dimension.

    Definition: there are C1 and C2 such that E|x_r - x*|^2 <= rate^r (C1 |x_0 - x*|^2 +
    C2 M) for all L-smooth, mu-strongly convex f_1, ..., f_N and every r, with M the
    mean of |grad f_i(x*)|^2; around a neighbourhood, up to a further multiple of M.
    With polyak_lojasiewicz the f_i need not be convex, |grad f|^2 >= 2 beta (f - f*),
    and E[f(x_r) - f*] <= rate^r C0 (f(x_0) - f*), f the mean of the f_i.

    Parameters
    ----------
    algorithm, participation, loop
        As in `flverify.certify.rates.certify`.
    smoothness : rational, weight f/x^2
        L.
    strong_convexity, polyak_lojasiewicz : rational, weight f/x^2
        One of mu, with 0 < mu < L, and beta, with 0 < beta <= L.
    rate : rational in (0, 1), weight 1
    neighbourhood : bool
        Whether the method may stay away from x*, as FedAvg does; for mu alone.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Broken
        If quadratics of the class are slower, by a bound in rationals.
    Inconclusive
        If neither a certificate nor such quadratics are found.
    InputError
        If a part of the setting is of another kind, or a number outside its domain.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli
    >>> law = Bernoulli(["1/2", "1/2"])
    >>> asked = {"strong_convexity": "1/10", "smoothness": 1}
    >>> assert_certified_rate(Focus("1/5"), law, rate="0.92", **asked).found
    'a certificate of the rate 23/25, accepted by the checker'
    >>> try:
    ...     assert_certified_rate(Focus("1/5"), law, rate="0.91", **asked)
    ... except AssertionError as error:
    ...     print(error.outcome.found)
    rate above 0.918111 for f_i = h_i x^2/2 with clients by h_i: 2 x 1/10
    """
    __tracebackhide__ = True
    wanted = asked_rate(rate)
    around = flag(neighbourhood, "neighbourhood")
    if (strong_convexity is None) == (polyak_lojasiewicz is None):
        given = "neither" if strong_convexity is None else "both"
        raise InputError(
            "one of strong_convexity and polyak_lojasiewicz must say which functions "
            f"are meant; got {given}; give one."
        )
    low = strong_convexity
    if polyak_lojasiewicz is not None:
        if around:
            raise InputError(
                "neighbourhood must come with strong_convexity, since without "
                "convexity there is none; got polyak_lojasiewicz; leave one out."
            )
        low = dominance(polyak_lojasiewicz, smoothness)
    convex = polyak_lojasiewicz is None
    problem(
        algorithm, participation, low if convex else 0, smoothness, loop, convex=convex
    )
    mu, smooth = limits(low, smoothness)
    claim = _Claim(algorithm, participation, mu, smooth, wanted, around, loop, convex)
    return settle(claim.judged())


@dataclass(frozen=True)
class _Claim:
    algorithm: Algorithm
    law: Participation
    mu: Fraction
    smoothness: Fraction
    rate: Fraction
    around: bool
    loop: ModuleType | None
    convex: bool = True  # else mu is the beta of Polyak and Lojasiewicz

    def judged(self) -> Outcome:
        """Look for quadratics that are slower, then for a certificate."""
        try:
            worst = worst_quadratic(*self._setting())
            if worst.lower_bound > self.rate:
                return self._broken(worst)
            found = self._certified()
        except (ReadingError, RefusedError) as error:
            return replace(self._outcome(), reason=str(error))
        except FLOATS_FAILED as error:
            return replace(self._outcome(), reason=floats_failed(error))
        if found.status == "certified":
            shown = f"a certificate of the rate {number(self.rate)}, accepted by the"
            held = replace(self._outcome(), status=Status.HOLDS)
            return replace(held, found=f"{shown} checker")
        slowest = f"the slowest quadratics found have the rate {number(worst.rate)}"
        shown = f"no certificate; {slowest}"
        return replace(self._outcome(), found=shown, reason=found.reason)

    def _certified(self) -> Certified | Neighbourhood | GapRate:
        if not self.convex:
            own, beta = self.loop, self.mu
            setting = self.algorithm, self.law, self.smoothness
            return gap_rate(*setting, beta, self.rate, own)
        if self.around:
            return contraction(*self._setting(), self.rate, self.loop)
        return certify(*self._setting(), self.rate, loop=self.loop)

    def _broken(self, worst: WorstQuadratic) -> Outcome:
        above = cut(worst.lower_bound, self.rate)
        near = "" if worst.occurs else "functions near "
        return replace(
            self._outcome(),
            status=Status.BROKEN,
            found=f"rate above {above} for {near}f_i = h_i x^2/2 with clients by h_i: "
            f"{worst.instance}",
            answered_by="the exact rate of quadratics, bounded from below in rationals",
        )

    def _setting(self) -> tuple[Algorithm, Participation, Fraction, Fraction]:
        return self.algorithm, self.law, self.mu, self.smoothness

    def _outcome(self) -> Outcome:
        """Return the outcome before anything is known."""
        rate, more = number(self.rate), " + C3 M" if self.around else ""
        power = f"({rate})^r" if "/" in rate else f"{rate}^r"
        bound = f"E|x_r - x*|^2 <= {power} (C1 |x_0 - x*|^2 + C2 M){more}"
        mu, smoothness = number(self.mu), number(self.smoothness)
        functions, low = f"f_i with mu = {mu}", f"--mu={self.mu}"
        if not self.convex:
            bound = f"E[f(x_r) - f*] <= {power} C0 (f(x_0) - f*)"
            functions = f"f with |grad f|^2 >= 2 beta (f - f*), beta = {mu}"
            low = f"--pl={self.mu}"
        asked = Asked(NAME, "certify", self.algorithm, self.law, self.loop)
        options = [low, f"--smoothness={self.smoothness}", f"--rate={self.rate}"]
        return asked.open(f"{bound} for all {functions}, L = {smoothness}", options)
