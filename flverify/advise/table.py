"""All that is said about one algorithm on a problem under a law: a row of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flverify._core.errors import RefusedError
from flverify._core.exact import Scalar
from flverify.advise.budget import Budget, budget, stationary
from flverify.advise.class_wide import ClassWide, Constants, class_wide
from flverify.advise.setting import Remembered, Tried
from flverify.advise.step_sizes import StepSizes, step_sizes
from flverify.algorithms._algorithm import Algorithm
from flverify.participation._law import Participation

SMALLER = Fraction(1, 100)  # part of the fastest step size where the bias is also asked


@dataclass(frozen=True)
class Place:
    """A problem and laws on it, each exact and in floats.

    Parameters
    ----------
    problem, floats : Quadratics
        The same, the first rational where it was given so.
    law : Participation
        With rational probabilities: certificates and caps ask it.
    law_floats : Participation
        The same in floats.
    raised : Participation or None
        The law with the rarest client's probability raised; None if there is none.
    constants : Constants or None
        Of the class; None if a client is not convex.
    no_constants : str
        Why there are none.
    """

    problem: Any
    floats: Any
    law: Participation
    law_floats: Participation
    raised: Participation | None
    constants: Constants | None
    no_constants: str

    def tried(self, exactly: Algorithm, in_floats: Algorithm) -> tuple[Tried, Tried]:
        """Return an algorithm's setting, rational where the problem is, and in floats.

        Parameters
        ----------
        exactly, in_floats : Algorithm
            The same, built for the two laws.
        """
        floats = Tried(self.floats, in_floats, Remembered(self.law_floats))
        if not self.problem.exact:
            return floats, floats
        return Tried(self.problem, exactly, Remembered(self.law)), floats


@dataclass(frozen=True)
class Raised:
    """An algorithm at its fastest step size under the raised law."""

    steps: StepSizes | None
    reason: str
    budget: Budget | None


@dataclass(frozen=True)
class Advice:
    """Advice about one algorithm.

    Parameters
    ----------
    steps : StepSizes or None
        None if the engine refuses the setting, or no step size contracts.
    reason : str
        Why there are none.
    budget : Budget or None
        At the fastest step size.
    smaller : scalar or None
        For a method with a stationary error: the one at a hundredth of that step.
    class_wide : ClassWide or None
        None if the problem has no class.
    raised : Raised or None
        None if there is no raised law.
    """

    steps: StepSizes | None
    reason: str
    budget: Budget | None
    smaller: Scalar | None
    class_wide: ClassWide | None
    raised: Raised | None


def advise(
    exactly: Algorithm,
    in_floats: Algorithm,
    place: Place,
    target: float,
    *,
    certify: bool = True,
    begin: Callable[[str], object] = str,
) -> Advice:
    """Say all about one algorithm.

    Parameters
    ----------
    exactly, in_floats : Algorithm
        The same, built for the exact law and for the one in floats.
    place : Place
    target : float in [1e-10, 1)
        Accuracy E|x_r - x*|^2/|x_0 - x*|^2 from x_0 = 0.
    certify : bool
        Whether certificates are looked for.
    begin : callable
        Told what is begun.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> problem, law = Quadratics([[[1]], [[2]]], [[0], [2]]), Full(2)
    >>> place = Place(problem, problem.as_float(), law, law, None, None, "not asked")
    >>> found = advise(Focus(1), Focus(1), place, 1e-6)
    >>> found.steps.stable[0], found.budget.stationary
    (Fraction(2, 3), Fraction(0, 1))
    """
    exact, floats = place.tried(exactly, in_floats)
    wide, also = None, None
    if place.constants is not None:
        begin("certificates")
        wide = class_wide(exactly, place.law, place.constants, certify=certify)
        also = None if wide.step_size is None else float(wide.step_size)
    begin("step sizes")
    steps, reason, cost = _asked(exact, floats, target, also)
    smaller = None
    if steps is not None and cost is not None and cost.stationary:
        smaller = stationary(exact, steps.fastest * SMALLER)
    raised = None
    if place.raised is not None and steps is not None:
        begin("rarest client")
        lifted = Tried(place.floats, in_floats, Remembered(place.raised))
        raised = Raised(*_asked(lifted, lifted, target, also))
    return Advice(steps, reason, cost, smaller, wide, raised)


def _asked(
    exact: Tried, floats: Tried, target: float, also: float | None
) -> tuple[StepSizes | None, str, Budget | None]:
    """Search, and count at the fastest step size."""
    scale = float(max(floats.problem.client_smoothness()))
    if not scale > 0:
        return None, "some client must have a Hessian that is not 0", None
    try:
        steps = step_sizes(exact, floats, scale, also)
    except RefusedError as error:
        return None, str(error), None
    try:
        return steps, "", budget(exact, floats, steps.fastest, target)
    except RefusedError as error:
        return steps, str(error), None
