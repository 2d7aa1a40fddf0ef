"""What `flverify certify` asks: the worst quadratic first, then for a certificate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

from flverify._core.errors import DomainError, ReadingError, RefusedError
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify._core.sentences import number_of, sentence
from flverify.certify.bias import worst_bias
from flverify.certify.check import Rejected, Summary
from flverify.certify.check._law_outcomes import read_law
from flverify.certify.classes import classes
from flverify.certify.discover import discover
from flverify.certify.neighbourhood import Neighbourhood, contraction, distance
from flverify.certify.printed import Printed, printed, printed_sag
from flverify.certify.quadratics import Instance
from flverify.certify.rates import BLURRED, TOO_SLOW, Certified, certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import problem, read_round
from flverify.certify.short_rates import just_above
from flverify.certify.stationary import worst_stationary
from flverify.commands._certificate_files import file_text
from flverify.commands._certified_setting import CertifiedSetting
from flverify.commands._function_class import (
    require_certifiable,
    require_certified_variant,
)
from flverify.participation import Full
from flverify.participation._law import Participation
from flverify.report import console
from flverify.report.certificates import accepted, number

Kind: TypeAlias = Literal["rate", "contraction", "distance", "gap"]


@dataclass(frozen=True)
class Question:
    """What is asked about: a setting, and perhaps one rate."""

    of: CertifiedSetting
    mu: Fraction
    smoothness: Fraction
    rate: Fraction | None
    neighbourhood: bool
    beta: Fraction | None = None  # of the gradient's dominance; mu is -L then

    @property
    def functions(self) -> str:
        """Say which functions are meant."""
        if self.beta is None:
            return f"mu = {self.mu}, L = {self.smoothness}"
        return (
            f"|grad f|^2 >= 2 beta (f - f*), beta = {self.beta}, L = "
            f"{self.smoothness} (need not be convex)"
        )

    @property
    def setting(self) -> tuple[Any, Participation, Fraction, Fraction]:
        """Algorithm, law, strong convexity and smoothness."""
        return self.of.chosen.algorithm, self.of.law, self.mu, self.smoothness


class Beside(NamedTuple):
    """Rates to compare with: of the worst scalar quadratic, and of the theorem.

    Beyond its step sizes the theorem promises nothing; what it prints there is kept to
    compare with, unless that cannot be a rate. No c of a neighbourhood is smaller than
    `constant_at_least`, because of functions that are like `constant_on`.
    """

    lower_bound: Fraction | None = None
    quadratic: str | None = None
    printed_rate: Fraction | None = None
    printed_cap: Fraction | None = None
    printed_cap_exact: bool | None = None
    printed_inside: bool | None = None
    printed_alone: bool = False
    printed_by: str | None = None
    printed_statement: str | None = None
    constant_at_least: Fraction | None = None
    constant_on: str | None = None


ALONE = Beside()


@dataclass(frozen=True)
class Answer:
    """What came of it; there is a certificate only if the checker accepted it."""

    status: str
    reason: str = ""
    kind: Kind = "rate"
    beside: Beside = ALONE
    certificate: dict[str, Any] | None = None

    @property
    def proved(self) -> Summary | None:
        """What the certificate proves."""
        return accepted(self.certificate) if self.certificate else None

    @property
    def rate(self) -> Fraction | None:
        """The proved rate; a distance has none."""
        return self.proved.rho if self.proved and self.kind != "distance" else None

    @property
    def gap(self) -> Fraction | None:
        """How far the rate lies above the lower bound."""
        if self.rate is None or self.beside.lower_bound is None:
            return None
        return self.rate - self.beside.lower_bound

    @property
    def file(self) -> str:
        """The certificate as a file holds it: one line per key."""
        return file_text(self.certificate)


def answer(question: Question) -> Answer:
    """Compare, then look for a certificate unless a quadratic rules it out."""
    try:
        kind = _kind(question)
        with console.progress("certify", 2) as begin:
            begin("scalar quadratics")
            beside = _beside(question)
            why = excluded_by(question, beside)
            if why:
                return Answer("not_certified", why, kind, beside)
            begin("certificate")
            return _attempt(question, kind, beside)
    except (RefusedError, ReadingError) as error:
        return Answer("refused", sentence(error))
    except FLOATS_FAILED as error:
        return Answer("inconclusive", floats_failed(error))


def _kind(question: Question) -> Kind:
    """Say what can be asked about a setting: a rate if the method stays at x*."""
    question.of.require_certified()
    require_certifiable(question.of.law)
    require_certified_variant(question.setting[0], question.of.law)
    setting = problem(*question.setting, question.of.loop)
    try:
        read_law(setting.classes.description)
    except Rejected as error:
        raise RefusedError(
            f"the law must be one that the checker can play out; {error}; take fewer "
            "clients or simpler probabilities."
        ) from error
    moves = discover(read_round(setting)).neighbourhood
    if question.neighbourhood and not moves:
        raise RefusedError(
            "--neighbourhood is for methods that move away from x*; "
            f"{question.of.chosen.name} stays there with these settings; leave it out."
        )
    if question.neighbourhood:
        return "distance"
    return "contraction" if moves else "rate"


def slowest(question: Question, mu: Fraction) -> Beside:
    """Ask for the worst scalar quadratic with curvatures from mu to L."""
    algorithm, law, _, smoothness = question.setting
    worst = worst_quadratic(algorithm, law, mu, smoothness)
    quadratic = _worded(question, worst.instance)
    if not worst.occurs:
        quadratic = f"functions near {quadratic}"
    return Beside(worst.lower_bound, quadratic)


def promised(found: Beside, theorem: Printed | None) -> Beside:
    """Add what a theorem prints."""
    if theorem is None:
        return found
    rate = theorem.rate
    return found._replace(
        printed_rate=rate if rate is not None and 0 <= rate <= 1 else None,
        printed_cap=theorem.cap,
        printed_cap_exact=theorem.cap_is_exact,
        printed_inside=theorem.inside,
        printed_alone=theorem.alone,
        printed_by=str(theorem.source),
        printed_statement=theorem.statement,
    )


def _beside(question: Question) -> Beside:
    """Ask for the worst scalar quadratic and for the theorem's rate."""
    found = slowest(question, question.mu)
    if question.neighbourhood:
        found = found._replace(**_farthest(question))
    theorem = printed(*question.setting)
    if theorem is not None and not theorem.inside:
        theorem = printed_sag(*question.setting) or theorem
    return promised(found, theorem)


def _farthest(question: Question) -> dict[str, Any]:
    """Say how far off some functions stay, where such are known."""
    sides = [side for side in (_bias(question), _stationary(question)) if side]
    if not sides:
        return {}
    ratio, where = max(sides)
    return {"constant_at_least": ratio, "constant_on": where}


def _bias(question: Question) -> tuple[Fraction, str] | None:
    """How far off rounds of everybody can stand still."""
    if not isinstance(question.of.law, Full):
        return None  # the mean round may stand still where no round does
    try:
        ratio = worst_bias(*question.setting).ratio
    except (DomainError, RefusedError):
        return None
    return ratio, "functions of the class on which rounds stand still so far off"


def _stationary(question: Question) -> tuple[Fraction, str] | None:
    """How far off quadratics stay on average."""
    try:
        found = worst_stationary(*question.setting)
    except (DomainError, RefusedError):
        return None
    who = _chances(question)
    which = [r for r, n in enumerate(classes(question.of.law).sizes) for _ in range(n)]
    kinds = Counter(zip(found.curvatures, found.gradients, which, strict=True))
    parts = [
        f"h_i = {h}, g_i = {g} at {number_of(n, 'client')}{who[r]}"
        for (h, g, r), n in kinds.items()
    ]
    return found.ratio, f"f_i = h_i x^2/2 + g_i x with {'; '.join(parts)}"


def _worded(question: Question, instance: Instance) -> str:
    """Say which functions an instance is made of."""
    who = _chances(question)
    parts = [
        f"h_i = {g.curvature} at {number_of(g.n_clients, 'client')}{who[g.law_class]}"
        for g in instance.groups
    ]
    return f"f_i = h_i x^2/2 with {', '.join(parts)}"


def _chances(question: Question) -> list[str]:
    """Say of every class how likely its clients are, if there are several."""
    kinds = classes(question.of.law).description.get("classes", ())
    told = [f" of probability {kind['inclusion']}" for kind in kinds]
    return told if len(told) > 1 else [""]


def excluded_by(question: Question, beside: Beside) -> str:
    """Say why no certificate can exist, if a quadratic shows it."""
    bound, asked = beside.lower_bound, question.rate
    if bound is None:
        return ""
    told = f"on {beside.quadratic} the factor per round of the mean squared error is "
    told += number(bound, up=False)
    if asked is not None and asked < bound:
        return f"the rate {asked} lies below what the class allows: {told}"
    return f"the class allows no rate below 1: {told}" if bound >= 1 else ""


def _attempt(question: Question, kind: Kind, beside: Beside) -> Answer:
    """Look for a certificate; one that is found was accepted by the checker."""
    found: Certified | Neighbourhood
    if kind == "rate":
        found = certify(*question.setting, question.rate, loop=question.of.loop)
    elif kind == "contraction":
        found = contraction(*question.setting, question.rate, question.of.loop)
    else:
        found = distance(*question.setting, question.of.loop)
    bound = beside.lower_bound
    open_ = kind != "distance" and question.rate is None and found.certificate is None
    if open_ and bound is not None and BLURRED < bound < 1:
        found = _next_to(question, kind, bound)
    if found.status == "inconclusive" or found.certificate is None:
        return Answer(found.status, _none_found(question, kind, found), kind, beside)
    return confirmed(Answer("certified", "", kind, beside, found.certificate))


def confirmed(got: Answer) -> Answer:
    """Return an answer, unless it contradicts what stands beside it."""
    beside = got.beside
    if got.gap is not None and got.gap < 0:
        why = (
            f"a contradiction, which is a fault of this package: the rate {got.rate} "
            f"was certified, but {beside.quadratic} allows none below "
            f"{beside.lower_bound}"
        )
        return Answer("inconclusive", why, got.kind, beside)
    return got


def _next_to(
    question: Question, kind: Kind, bound: Fraction
) -> Certified | Neighbourhood:
    """Ask for a rate just above that of the quadratic, where floats miss it."""
    rate, loop = just_above(bound), question.of.loop
    found: Certified | Neighbourhood
    if kind == "rate":
        found = certify(*question.setting, rate, loop=loop)
    else:
        found = contraction(*question.setting, rate, loop)
    if found.status == "certified":
        return found
    return Certified("inconclusive", TOO_SLOW)


def _none_found(
    question: Question, kind: Kind, found: Certified | Neighbourhood
) -> str:
    """Word a failure as one of the search, since that is all it is."""
    if found.status == "inconclusive":
        return found.reason
    wanted = "of a distance" if kind == "distance" else "of a rate below 1"
    if question.rate is not None:
        wanted = f"of the rate {question.rate}"
    return (
        f"the ansatz found no certificate {wanted} ({found.reason}); this says nothing "
        "about the method, since another ansatz may find one"
    )
