"""`flverify average`: a bound on an average over rounds, with its certificate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from flverify._core.errors import DomainError, InputError, ReadingError, RefusedError
from flverify._core.sentences import number_of, sentence
from flverify._core.shown import fewer_digits
from flverify.certify.averages import ROUNDS, Average, average
from flverify.certify.averages.printed import PrintedAverage, printed_average
from flverify.certify.averages.quadratics import Least, least_constant
from flverify.commands._algorithms import Chosen, build, read_overrides
from flverify.commands._certificate_files import LOST, file_text, size_of
from flverify.commands._function_class import (
    CERTIFIABLE,
    require_certifiable,
    require_certified_name,
    require_certified_variant,
    require_clients,
    require_known,
)
from flverify.commands._laws import build_law, file_of, read_law
from flverify.commands._numbers import Whole, one_number, positive_number
from flverify.commands._options import (
    AS_JSON,
    LOCAL_STEPS,
    N_CLIENTS,
    SETTINGS,
    SMOOTHNESS,
    taken,
)
from flverify.commands._own_methods import build_own, files_run, is_own, plain_loop
from flverify.commands._places import require_place, require_unread, unwritten
from flverify.commands._refusals import Reporting, told
from flverify.participation._law import Participation
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

DEFAULT_LAW = "full"

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
(1/K) sum_(r<K) E|grad f(x_r)|^2 by (f(x_0) - f(x*))/K. It holds for every K.

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

    chosen: Chosen
    law: Participation
    law_text: str
    mu: Fraction
    smoothness: Fraction
    rounds: int
    loop: ModuleType | None

    @property
    def functions(self) -> str:
        """Say which functions are meant."""
        kind = {0: "convex", -self.smoothness: "need not be convex"}.get(self.mu)
        return f"mu = {self.mu}, L = {self.smoothness}{f' ({kind})' if kind else ''}"


@click.command(name="average", cls=Reporting, help=_HELP)
@click.argument("algorithm")
@N_CLIENTS
@click.option(
    "--participation",
    "--law",
    "law",
    metavar="LAW",
    help=f"Participation law, {DEFAULT_LAW} by default.",
)
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
    "--step-size", metavar="NUMBER", required=True, help="Step size of the algorithm."
)
@LOCAL_STEPS
@SETTINGS
@click.option(
    "--rounds",
    type=Whole(min=1),
    default=ROUNDS,
    show_default=True,
    help="K for which the bound is made small where a part of it does not vanish.",
)
@click.option(
    "--loop",
    metavar="FILE.py",
    type=click.Path(path_type=Path),
    help="The plain loop of a method of one's own, with start and play.",
)
@click.option(
    "--out",
    metavar="CERT.json",
    type=click.Path(path_type=Path),
    help="Write the certificate, for `flverify check`.",
)
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context, /, out: Path | None, as_json: bool, **given: Any
) -> None:
    """Ask, write, print; exit code 1 if nothing was certified."""
    question = _question(**given)
    if out:
        require_place("--out", out)
        run = files_run(given["algorithm"], given["loop"])
        law = ("--participation", file_of(given["law"]))
        require_unread("--out", out, [law, *run])
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
    algorithm: str,
    n_clients: int | None,
    law: str | None,
    mu: str | None,
    non_convex: bool,
    smoothness: str,
    step_size: str,
    local_steps: int | None,
    overrides: tuple[str, ...],
    rounds: int,
    loop: Path | None,
) -> Question:
    """Read every option."""
    own = is_own(algorithm)
    if not own:
        require_known(algorithm)
    module = plain_loop(algorithm, loop)
    text = DEFAULT_LAW if law is None else law
    written = read_law(text)
    size = require_clients(n_clients or written.size, text)
    built = build_law(written, text, size)
    step = positive_number("--step-size", step_size)
    smooth = Fraction(positive_number("--smoothness", smoothness))
    convexity = _convexity(mu, non_convex, smooth)
    if own:
        chosen = build_own(algorithm, step, local_steps, overrides)
    else:
        read = read_overrides(overrides, [algorithm], taken(local_steps))
        chosen = build(algorithm, step, local_steps or 1, read, built)
        require_certified_name(chosen.name)
    return Question(chosen, built, text, convexity, smooth, rounds, module)


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
    if question.loop is None:
        require_certified_name(question.chosen.name)
    algorithm, law = question.chosen.algorithm, question.law
    require_certifiable(law)
    require_certified_variant(algorithm, law)
    numbers = question.smoothness, question.mu
    with console.progress("average", 2) as begin:
        begin("certificate")
        found = average(algorithm, law, *numbers, question.rounds, question.loop)
        begin("scalar quadratics")
        least = least_constant(algorithm, law, *numbers)
    bound = _bounded(question, found)
    if least is not None and bound is not None and bound < least.constant:
        why = (
            f"a contradiction, which is a fault of this package: {bound} was certified "
            f"where {_on(least)} needs {least.constant}"
        )
        return Average("inconclusive", why, found.of), least
    return found, least


def _bounded(question: Question, found: Average) -> Fraction | None:
    """Return the constant that quadratics speak of."""
    return found.by_distance if question.mu >= 0 else found.by_gap


def _on(least: Least) -> str:
    """Word the functions of an instance."""
    kinds = Counter(least.curvatures)
    parts = [f"h_i = {h} at {number_of(n, 'client')}" for h, n in kinds.items()]
    return f"f_i = h_i x^2/2 with {', '.join(parts)}"


def _printed(question: Question) -> PrintedAverage | None:
    if question.mu >= 0:
        return None
    algorithm = question.chosen.algorithm
    return printed_average(algorithm, question.law, question.smoothness)


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
        at_least_on=_on(least) if least else None,
        printed_by_gap=theorem.by_gap if theorem else None,
        printed_cap=theorem.cap if theorem else None,
        printed_inside=theorem.inside if theorem else None,
        printed_by=str(theorem.source) if theorem else None,
        printed_statement=theorem.statement if theorem else None,
        setting={
            "algorithm": question.chosen.name,
            "settings": question.chosen.settings(),
            "law": question.law_text,
            "n_clients": question.law.n_clients,
            "strong_convexity": question.mu,
            "smoothness": question.smoothness,
            "rounds": question.rounds,
        },
        notes=[*question.chosen.notes, *([lost] if lost else [])],
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
    own = told_settings(question.chosen.settings())
    clients = number_of(question.law.n_clients, "client")
    lines = [
        ("algorithm", f"{question.chosen.name} with {own}"),
        ("law", f"{law_text(question.law_text)}, {clients}"),
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
            (f"{name} at least", f"{number(value, up=False)}, on {_on(least)}")
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
    console.remarks(question.chosen.notes)
    if lost and found.certificate:
        console.line()
        click.echo(file_text(found.certificate))
