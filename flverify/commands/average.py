"""`flverify average`: a bound on an average over rounds, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from flverify._core.errors import DomainError, InputError, ReadingError, RefusedError
from flverify._core.failed_floats import FLOATS_FAILED, floats_failed
from flverify._core.sentences import number_of, sentence
from flverify._core.shown import fewer_digits
from flverify.certify.averages import ROUNDS, Average, average
from flverify.certify.averages.at_most import at_most as read_at_most
from flverify.certify.averages.printed import PrintedAverage, printed_average
from flverify.certify.averages.quadratics import Least, least_constant
from flverify.certify.rates import Status
from flverify.commands._certificate_files import LOST, file_text, size_of
from flverify.commands._certified_setting import (
    FILES,
    METHOD,
    CertifiedSetting,
    read_setting,
    require_own_place,
)
from flverify.commands._function_class import (
    CERTIFIABLE,
    require_certifiable,
    require_certified_variant,
)
from flverify.commands._numbers import Whole, one_number, positive_number
from flverify.commands._options import AS_JSON, SMOOTHNESS
from flverify.commands._places import unwritten
from flverify.commands._refusals import Reporting, told
from flverify.report import console
from flverify.report.certificates import (
    accepted,
    number,
    proved_lines,
    statement,
    told_settings,
)
from flverify.report.envelope import envelope
from flverify.report.numbers import law_text

NAMES = {"C1": "by_distance", "C2": "by_gradients", "c": "constant"}

_HELP = f"""Bound an average over rounds, for functions that are not strongly convex.

\b
flverify average focus --n-clients 5 --participation uniform:2 --smoothness 1 \\
    --step-size 1/20 --non-convex --set initial_gradients=start \\
    --set initial_tracker=sum --out cert.json
flverify check cert.json

For convex, L-smooth f_i found is a small bound of (1/K) sum_(r<K) E f(x_r) - f(x*), f
the mean of the f_i, by |x_0 - x*|^2/K and mean|grad f_i(x*)|^2/K; a method that moves
away from x* also has a term that does not vanish. With --non-convex the f_i are any
functions with L-Lipschitz gradients whose mean has a minimiser, and the bound is one of
(1/K) sum_(r<K) E|grad f(x_r)|^2 by (f(x_0) - f(x*))/K. It holds for every K. With
--at-most the question is whether there is a bound with such numbers.

Beside the bound stands what its constant is at least, because of scalar quadratics.
A bound is certified only if the independent checker proves its certificate in exact
arithmetic; that none was found says nothing about the method.

ALGORITHM is one of {CERTIFIABLE},
or FILE.py:CLASS, a method of one's own, whose plain loop --loop names; both are run.
LAW is one of full, bernoulli:P1,P2,... (one number: all clients), uniform:M and
allornothing:P. Numbers are fractions or decimal text, read exactly.

The exit code is 0 if certified, 1 if not or if the solver failed, 2 if refused.
"""


@dataclass(frozen=True)
class Question:
    """A setting; mu may be 0, or down to -L."""

    of: CertifiedSetting
    mu: Fraction
    smoothness: Fraction
    rounds: int
    at_most: dict[str, Fraction]

    @property
    def functions(self) -> str:
        """Say which functions are meant."""
        kind = {0: "convex", -self.smoothness: "need not be convex"}.get(self.mu)
        return f"mu = {self.mu}, L = {self.smoothness}{f' ({kind})' if kind else ''}"


@click.command(name="average", cls=Reporting, help=_HELP)
@METHOD
@click.option(
    "--mu",
    "--strong-convexity",
    "mu",
    metavar="NUMBER",
    help="All f_i - (mu/2) |x|^2 are convex, 0 by default; from -L up to below L.",
)
@click.option(
    "--non-convex", is_flag=True, help="All smooth functions, which is --mu -L."
)
@SMOOTHNESS
@click.option(
    "--rounds",
    type=Whole(min=1),
    default=ROUNDS,
    show_default=True,
    help="K for which the bound is made small where a part of it does not vanish.",
)
@click.option(
    "--at-most",
    "at_most",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A number that C1, C2 or c (C0 with --non-convex) must not exceed; may be "
    "repeated.",
)
@FILES
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context, /, out: Path | None, as_json: bool, **given: Any
) -> None:
    """Ask, write, print; exit code 1 if nothing was certified."""
    question = _question(**given)
    read = {name: given[name] for name in ("algorithm", "law", "loop")}
    require_own_place(out, **read)
    try:
        found, least = _answer(question)
    except (RefusedError, ReadingError) as error:
        if as_json:
            refused = Average("not_certified", sentence(error), "")
            click.echo(_json(question, refused, None, "refused", ""))
            told(ctx)
        raise RefusedError(sentence(error)) from error
    text = file_text(found.certificate) if found.certificate else ""
    lost = unwritten(out, text, *LOST) if out and text else ""
    if as_json:
        click.echo(_json(question, found, least, found.status, lost))
    else:
        _show(question, found, least, out, lost)
    if lost:
        told(ctx)
        raise InputError(lost)
    ctx.exit(0 if found.status == "certified" else 1)


def _question(
    mu: str | None,
    non_convex: bool,
    smoothness: str,
    rounds: int,
    at_most: tuple[str, ...],
    **given: Any,
) -> Question:
    """Read every option."""
    setting = read_setting(**given)
    setting.require_certified()
    smooth = Fraction(positive_number("--smoothness", smoothness))
    convexity = _convexity(mu, non_convex, smooth)
    tops = _at_most(at_most, convexity >= 0)
    return Question(setting, convexity, smooth, rounds, tops)


def _at_most(texts: tuple[str, ...], convex: bool) -> dict[str, Fraction]:
    """Read numbers that a bound must not exceed, by their names in Python."""
    known, found = NAMES if convex else {"C0": "by_gap"}, {}
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in known or not equals:
            raise InputError(
                f"--at-most must be NAME=NUMBER with NAME one of {', '.join(known)}; "
                f"got {text!r}; C0 is for --non-convex alone."
            )
        if known[name] in found:
            raise InputError(
                f"--at-most must give a number once; got {name} twice; leave one out."
            )
        found[known[name]] = Fraction(one_number("--at-most", value))
    read_at_most(found, convex)
    return found


def _convexity(mu: str | None, non_convex: bool, smooth: Fraction) -> Fraction:
    if mu is not None and non_convex:
        raise InputError(
            "--mu must not come with --non-convex, which is --mu -L; got both; leave "
            "one out."
        )
    if non_convex:
        return -smooth
    found = Fraction(one_number("--mu", mu)) if mu is not None else Fraction(0)
    if not -smooth <= found < smooth:
        raise DomainError(
            f"--mu must be from -L up to below L; got {found} with L = {smooth}; "
            "--non-convex is the smallest, 0 means convex functions."
        )
    return found


def _answer(question: Question) -> tuple[Average, Least | None]:
    """Ask for a bound, and for one that it cannot be below."""
    algorithm, law = question.of.chosen.algorithm, question.of.law
    require_certifiable(law)
    require_certified_variant(algorithm, law)
    numbers = question.smoothness, question.mu
    rounds, loop = question.rounds, question.of.loop
    found: Average | None = None
    try:
        with console.progress("average", 2) as begin:
            begin("certificate")
            found = average(algorithm, law, *numbers, rounds, loop, **question.at_most)
            begin("scalar quadratics")
            least = least_constant(algorithm, law, *numbers)
    except FLOATS_FAILED as error:
        if found is not None and found.certificate is not None:
            return found, None  # which stands without the quadratics beside it
        return Average("inconclusive", floats_failed(error), ""), None
    why = _contradicted(question, found, least) if least is not None else ""
    status: Status = "inconclusive" if found.certificate else "not_certified"
    return (Average(status, why, found.of) if why else found), least


def _contradicted(question: Question, found: Average, least: Least) -> str:
    """Say why quadratics rule a bound out, or the numbers that it should have."""
    kind, symbol = ("by_distance", "C1") if question.mu >= 0 else ("by_gap", "C0")
    bound, asked = getattr(found, kind), question.at_most.get(kind)
    if bound is not None and bound < least.constant:
        return (
            f"a contradiction, which is a fault of this package: {bound} was certified "
            f"where {least.functions} needs {least.constant}"
        )
    if asked is not None and asked < least.constant:
        needed = number(least.constant, up=False).removeprefix("> ")
        return (
            f"{symbol} = {asked} lies below what the class allows: on "
            f"{least.functions} it is at least {needed}"
        )
    return ""


def _printed(question: Question) -> PrintedAverage | None:
    if question.mu >= 0:
        return None
    algorithm = question.of.chosen.algorithm
    return printed_average(algorithm, question.of.law, question.smoothness)


def _json(
    question: Question, found: Average, least: Least | None, status: str, lost: str
) -> str:
    theorem = _printed(question) if status != "refused" else None
    certificate = found.certificate
    return envelope(
        "average",
        status=status,
        reason=found.reason or None,
        of=found.of or None,
        by_gap=found.by_gap,
        by_distance=found.by_distance,
        by_gradients=found.by_gradients,
        constant=found.constant,
        level=found.level or None,
        statement=statement(accepted(certificate)) if certificate else None,
        at_least=least.constant if least else None,
        at_least_on=least.functions if least else None,
        printed_by_gap=theorem.by_gap if theorem else None,
        printed_cap=theorem.cap if theorem else None,
        printed_inside=theorem.inside if theorem else None,
        printed_by=str(theorem.source) if theorem else None,
        printed_statement=theorem.statement if theorem else None,
        setting={
            "algorithm": question.of.chosen.name,
            "settings": question.of.chosen.settings(),
            "law": question.of.law_text,
            "n_clients": question.of.law.n_clients,
            "strong_convexity": question.mu,
            "smoothness": question.smoothness,
            "rounds": question.rounds,
        },
        notes=[*question.of.chosen.notes, *([lost] if lost else [])],
        certificate=certificate,
    )


def _show(
    question: Question,
    found: Average,
    least: Least | None,
    out: Path | None,
    lost: str,
) -> None:
    """Print the setting, the answer, and the theorem's bound."""
    own = told_settings(question.of.chosen.settings())
    clients = number_of(question.of.law.n_clients, "client")
    lines = [
        ("algorithm", f"{question.of.chosen.name} with {own}"),
        ("law", f"{law_text(question.of.law_text)}, {clients}"),
        ("functions", question.functions),
        ("status", found.status.replace("_", " ")),
    ]
    if found.reason:
        lines.append(("reason", found.reason))
    if found.certificate:
        proved = accepted(found.certificate)
        lines += [("statement", statement(proved)), *proved_lines(proved)]
    if least is not None:
        name, value = "C1" if question.mu >= 0 else "C0", least.constant
        lines.append(
            (f"{name} at least", f"{number(value, up=False)}, on {least.functions}")
        )
    theorem = _printed(question)
    if theorem is not None:
        inside = ", which the step size keeps" if theorem.inside else ""
        lines.append(
            (
                "printed",
                f"{number(theorem.by_gap)} for C0, after the first round, by "
                f"{theorem.source}; its step sizes end at "
                f"{number(theorem.cap, up=False)}{inside}",
            )
        )
    lines += size_of(found.certificate, out, lost)
    console.fields([(label, fewer_digits(text)) for label, text in lines])
    console.remarks(question.of.chosen.notes)
    if lost and found.certificate:
        console.line()
        click.echo(file_text(found.certificate))
