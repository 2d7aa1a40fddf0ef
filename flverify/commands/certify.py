"""`flverify certify`: a linear rate for a function class, with its certificate."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify._core.sentences import number_of
from flverify._core.shown import fewer_digits
from flverify.commands._algorithms import law_notes
from flverify.commands._certificate_files import LOST, size_of
from flverify.commands._certified_setting import (
    FILES,
    METHOD,
    read_setting,
    require_own_place,
)
from flverify.commands._certifying import Answer, Beside, Question, answer
from flverify.commands._certifying_gap import gap_answer
from flverify.commands._function_class import CERTIFIABLE, read_class, read_dominance
from flverify.commands._numbers import positive_number
from flverify.commands._options import (
    AS_JSON,
    POLYAK_LOJASIEWICZ,
    SMOOTHNESS,
    strong_convexity,
)
from flverify.commands._places import unwritten
from flverify.commands._refusals import Reporting, told
from flverify.report import console
from flverify.report.certificates import number, proved_lines, statement, told_settings
from flverify.report.envelope import envelope
from flverify.report.numbers import law_text

_BEYOND = "not promised here"
NOTED = 200  # clients up to which the law's notes are computed: they take N^2 steps

_HELP = f"""Certify a linear rate for a whole function class, with a certificate.

\b
flverify certify focus --n-clients 2 --participation bernoulli:1/2 \\
    --mu 1/10 --smoothness 1 --step-size 1/5 --out cert.json
flverify check cert.json

The functions f_i are L-smooth and mu-strongly convex, in any dimension. Found is the
smallest rho, to 1e-5, with E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|g_i|^2),
g_i the gradient of f_i at the minimiser x* of the mean; --rate asks about one rho. A
method that moves away from x*, such as FedAvg with two local steps, gets a bound with
a further term c/(1 - rho) mean|g_i|^2, and --neighbourhood the smallest c for the
average of E|x_r - x*|^2 over rounds, with one that c cannot be below if any is known.
With --pl the f_i need not be convex, and the rate is one of f(x) - f(x*).

Beside the rate stand the largest one found over scalar quadratics, which no rate of
the class can be below, and the one that the algorithm's theorem prints. A rate is
certified only if the independent checker proves its certificate in exact arithmetic;
that none was found says nothing about the method.

ALGORITHM is one of {CERTIFIABLE},
or FILE.py:CLASS, a method of one's own, whose plain loop --loop names; both are run.
LAW is one of full, bernoulli:P1,P2,... (one number: all clients), uniform:M and
allornothing:P. Numbers are fractions or decimal text, read exactly.

The exit code is 0 if certified, 1 if not or if the solver failed, 2 if refused.
"""


@click.command(name="certify", cls=Reporting, help=_HELP)
@METHOD
@strong_convexity(required=False)
@POLYAK_LOJASIEWICZ
@SMOOTHNESS
@click.option("--rate", metavar="NUMBER", help="The rate to certify, below 1.")
@click.option(
    "--neighbourhood",
    is_flag=True,
    help="Certify how far a method that moves away from x* stays from it on average.",
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
    beta = question.beta
    found = answer(question) if beta is None else gap_answer(question, beta)
    lost = unwritten(out, found.file, *LOST) if out and found.certificate else ""
    if as_json:
        click.echo(_json(question, found, lost))
    elif found.status != "refused":
        _show(question, found, out, lost)
    if lost:
        told(ctx)
        raise InputError(lost)
    if found.status == "refused":
        told(ctx)
        raise RefusedError(found.reason)
    ctx.exit(0 if found.status == "certified" else 1)


def _question(
    mu: str | None,
    pl: str | None,
    smoothness: str,
    rate: str | None,
    neighbourhood: bool,
    **given: Any,
) -> Question:
    """Read every option."""
    if rate is not None and neighbourhood:
        raise InputError(
            "--rate must not come with --neighbourhood, whose answer is a distance; "
            "got both; leave one out."
        )
    if (mu is None) == (pl is None):
        raise InputError(
            "one of --mu and --pl must say which functions are meant; got "
            f"{'neither' if mu is None else 'both'}; give one."
        )
    setting = read_setting(**given)
    asked = None if rate is None else _rate(rate)
    if pl is None:
        return Question(setting, *read_class(str(mu), smoothness), asked, neighbourhood)
    if neighbourhood:
        raise InputError(
            "--neighbourhood must come with --mu, since without convexity there is "
            "none; got --pl; leave one out."
        )
    beta, smooth = read_dominance(pl, smoothness)
    return Question(setting, -smooth, smooth, asked, False, beta)


def _rate(text: str) -> Fraction:
    rate = Fraction(positive_number("--rate", text))
    if rate >= 1:
        raise DomainError(f"--rate must be below 1; got {rate}; choose a smaller one.")
    return rate


def _json(question: Question, found: Answer, lost: str) -> str:
    proved, certificate = found.proved, found.certificate
    around = None if found.kind in ("rate", "gap") else proved
    return envelope(
        "certify",
        status=found.status,
        reason=found.reason or None,
        question=found.kind,
        rate=found.rate,
        gap=found.gap,
        **found.beside._asdict(),
        level=certificate["level"] if certificate else None,
        statement=statement(proved) if proved else None,
        weight=around.weight if around else None,
        constant=around.constant if around else None,
        C0=proved.C0 if proved and found.kind == "gap" else None,
        C1=proved.C1 if proved else None,
        C2=proved.C2 if proved else None,
        certificate_bytes=len(found.file) if certificate else None,
        setting={
            "algorithm": question.of.chosen.name,
            "settings": question.of.chosen.settings(),
            "law": question.of.law_text,
            "n_clients": question.of.law.n_clients,
            "strong_convexity": question.mu,
            "smoothness": question.smoothness,
            "polyak_lojasiewicz": question.beta,
            "rate": question.rate,
        },
        notes=[*_notes(question), *([lost] if lost else [])],
        certificate=certificate,
    )


def _notes(question: Question) -> list[str]:
    """Word what the law does, unless that takes long, and what was filled in."""
    name, short = question.of.chosen.name, question.of.law.n_clients <= NOTED
    return [
        *(law_notes(question.of.law, [name]) if short else ()),
        *question.of.chosen.notes,
    ]


def _show(question: Question, found: Answer, out: Path | None, lost: str) -> None:
    """Print the setting, the answer, and what stands beside it."""
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
    if found.proved:
        lines.append(("statement", statement(found.proved)))
        lines += proved_lines(found.proved)
    lines += [*_compared(found), *size_of(found.certificate, out, lost)]
    console.fields([(label, fewer_digits(text)) for label, text in lines])
    console.remarks(_notes(question))
    if lost:
        console.line()
        click.echo(found.file)


def _compared(found: Answer) -> list[tuple[str, str]]:
    """Lines on the rates beside the one that was certified."""
    beside, lines = found.beside, []
    if beside.lower_bound is not None:
        bound = number(beside.lower_bound, up=False)
        what = " of the contraction" if found.kind == "distance" else ""
        lines.append(("lower bound", f"{bound}{what}, on {beside.quadratic}"))
    if beside.constant_at_least is not None:
        least = number(beside.constant_at_least, up=False)
        lines.append(("c at least", f"{least}, on {beside.constant_on}"))
    if found.gap is not None:
        lines.append(("gap", number(found.gap)))
    if beside.printed_cap is not None:
        rate = beside.printed_rate
        text = "none" if rate is None else number(rate)
        text = text if beside.printed_inside else f"{text}, {_BEYOND}"
        lines.append(
            ("printed rate", f"{text}, by {beside.printed_by}; {_cap(beside)}")
        )
    return lines


def _cap(beside: Beside) -> str:
    """Say up to which step size the theorem speaks."""
    cap = number(Fraction(beside.printed_cap or 0), up=False)
    if not beside.printed_cap_exact:  # known from below
        cap = f"a root above {cap.rpartition(' ')[2]}"
    if beside.printed_alone:
        return f"it is about the step size {cap} alone"
    allows = ", which the step size keeps" if beside.printed_inside else ""
    return f"its step sizes end at {cap}{allows}"
