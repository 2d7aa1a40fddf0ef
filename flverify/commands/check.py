"""`flverify check`: prove a certificate anew, with the standard library and click."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from flverify._core.errors import FormatError, InputError, RefusedError
from flverify._core.sentences import sentence
from flverify.certify.check import Rejected, Summary, check, load
from flverify.certify.check.own import OWN, Loop, check_own, load_loop
from flverify.certify.check.page import written
from flverify.certify.check.plain import TooManyError, check_plainly, effort
from flverify.commands._places import require_place, require_unread, unwritten
from flverify.commands._refusals import Reporting, refused, told
from flverify.report.certificates import proved_lines, setting_lines, statement

FORMAT = "flverify/certificate"
WIDTH = 100
PLAINLY = "accepted, with all cohorts or numbers of participants gone through"
LEFT_OUT = "not asked, for it takes more than a moment; --plain asks it all the same"
LOST = "the certificate is accepted", "name another place"
A_MOMENT = 120  # gradients that the short checker writes out in a third of a second

_HELP = """Prove a certificate anew, and say what it proves.

\b
flverify certify focus --n-clients 2 --participation bernoulli:1/2 \\
    --mu 1/10 --smoothness 1 --step-size 1/5 --out cert.json
flverify check cert.json

CERT.json was written by `flverify certify --out`. The checker shares nothing with what
found the certificate: it plays the algorithm's own loop on exact numbers and imports
nothing but the standard library. It takes the setting and the constants from the file,
no matrix and no word of the file's statement. A second checker has to accept it too: a
short one, that goes through all cohorts of up to six clients, and of more through all
numbers of participants. Where that takes more than a moment it is left out; --plain
asks for it. It takes minutes for hundreds of clients that are drawn one by one, or for
tens in classes.

A certificate of a method of one's own needs its plain loop, --loop FILE.py: that file
is run, and the certificate is about what it does, so read it first. It is judged by the
second checker, with every client written out.

With --page the proof is also written as one program that needs nothing but Python, for
up to six clients: the method's loop, 350 lines that prove, and numbers. Who runs it
needs no flverify, and who reads it has read the proof.

The exit code is 0 if the certificate is accepted, 1 if it is rejected, and 2 if the
file is none, or --plain or --page is asked of what is too much for them.
"""


@click.command(name="check", cls=Reporting, help=_HELP)
@click.argument("path", metavar="CERT.json", type=click.Path(path_type=Path))
@click.option(
    "--loop",
    metavar="FILE.py",
    type=click.Path(path_type=Path),
    help="The plain loop of a method of one's own, with start and play.",
)
@click.option(
    "--plain", is_flag=True, help="By the short checker, too, however long it takes."
)
@click.option(
    "--page",
    metavar="FILE.py",
    type=click.Path(path_type=Path),
    help="Write the proof as one program that needs nothing but Python.",
)
# in the words of the other commands, whose options need more than click
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
@click.pass_context
def command(
    ctx: click.Context,
    path: Path,
    loop: Path | None,
    plain: bool,
    page: Path | None,
    as_json: bool,
) -> None:
    """Read, check, print; exit code 1 if the certificate is rejected."""
    try:
        if page is not None:
            require_unread("--page", page, [("CERT.json", path), ("--loop", loop)])
            require_place("--page", page)
        certificate = _read(path)
        own = _loop(certificate, loop)
        if page is not None:
            _require_known_loop(own)
        proved, plainly = _proved(certificate, plain, own)
        if page is not None:
            _write(page, certificate)
    except (InputError, RefusedError) as error:  # what is refused is not accepted
        if as_json:
            click.echo(refused("check", sentence(error), accepted=False))
            told(ctx)
        raise
    except Rejected as error:
        reason = " ".join(str(error).split())
        content = {"accepted": False, "reason": reason}
        click.echo(_json(content) if as_json else _wrapped([("rejected", reason)]))
        ctx.exit(1)
    if as_json:
        click.echo(_json(_record(certificate, proved, plainly, page)))
        return
    lines = [("accepted", str(path)), ("statement", statement(proved))]
    lines += [*setting_lines(certificate), *proved_lines(proved)]
    if own is not None:
        lines.append(("loop", f"{loop}, with which it was certified"))
    lines.append(("plain", PLAINLY if plainly else LEFT_OUT))
    if page is not None:
        lines.append(("page", f"written to {page}, to be run by python alone"))
    click.echo(_wrapped(lines))


def _loop(certificate: Mapping[str, Any], path: Path | None) -> Loop | None:
    """Run the file of a loop, if the certificate is of a method of one's own."""
    algorithm = certificate.get("algorithm")
    name = str(algorithm.get("name") if isinstance(algorithm, Mapping) else None)
    own = name.startswith(OWN)
    if own and path is None:
        raise InputError(
            f"--loop must name the plain loop of {name[:60]!r}; got none; name the "
            "FILE.py with start and play that it was certified with."
        )
    if path is None:
        return None
    if not own:
        raise InputError(
            f"--loop must come with a method of one's own; got {name[:60]!r}, "
            "whose loop the checker has; leave it out."
        )
    try:
        return load_loop(path)
    except ValueError as error:
        raise InputError(str(error)) from error


def _proved(
    certificate: Mapping[str, Any], plain: bool, own: Loop | None
) -> tuple[Summary, bool]:
    """Ask both checkers, the plain one only where it is wanted or quick."""
    if own is not None:
        try:
            return check_own(certificate, own, _watched), True
        except TooManyError as error:
            raise RefusedError(f"{error}; it cannot be checked.") from error
    proved = check(certificate)
    if proved.kind in ("average", "gap"):  # whose judge is the plain one
        return proved, True
    try:
        if not plain and effort(certificate) > A_MOMENT:
            return proved, False
        check_plainly(certificate, _watched)
    except TooManyError as error:
        if plain:
            raise RefusedError(f"{error}; check it without --plain.") from error
        return proved, False
    except Rejected as error:
        raise Rejected(f"by the plain checker: {error}") from error
    return proved, True


def _require_known_loop(own: Loop | None) -> None:
    """Refuse a page of a method of one's own, before it is judged."""
    if own is not None:
        raise RefusedError(
            "--page must come with a method whose loop the checker has; got one of "
            "one's own; leave it out."
        )


def _write(place: Path, certificate: Mapping[str, Any]) -> None:
    """Write the page of a certificate that was accepted."""
    try:
        text = written(certificate)
    except TooManyError as error:
        raise RefusedError(f"{error}; leave --page out.") from error
    lost = unwritten(place, text, *LOST)
    if lost:
        raise InputError(lost)


def _watched(parts: list[Any]) -> Iterator[Any]:
    """Show how far it is, on the standard error if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from parts
        return
    with click.progressbar(parts, label="plain", file=sys.stderr) as bar:
        yield from bar


def _read(path: Path) -> dict[str, Any]:
    """Read a file that says it is a certificate."""
    try:
        found = load(path)
    except Rejected as error:
        raise FormatError(
            f"{error}; name a file of `flverify certify --out`."
        ) from error
    if found.get("format") != FORMAT:
        has = repr(str(found["format"])[:60]) if "format" in found else "none"
        raise FormatError(
            f"a certificate must have the format {FORMAT!r}; {path} has {has}; name a "
            "file of `flverify certify --out`."
        )
    return found


def _record(
    certificate: Mapping[str, Any], proved: Summary, plainly: bool, page: Path | None
) -> dict[str, Any]:
    rate = proved.kind in ("rate", "gap")
    return {
        "accepted": True,
        "plain": "accepted" if plainly else None,
        "reason": None,
        "kind": proved.kind,
        "statement": statement(proved),
        "algorithm": certificate["algorithm"]["name"],
        "settings": certificate["algorithm"]["settings"],
        "law": certificate["law"],
        "n_clients": proved.n_clients,
        "function_class": certificate["function_class"],
        "rho": str(proved.rho),
        "weight": None if rate else str(proved.weight),
        "constant": None if rate else str(proved.constant),
        "of": proved.of,
        "beta": None if proved.beta is None else str(proved.beta),
        "C0": str(proved.C0),
        "C1": str(proved.C1),
        "C2": str(proved.C2),
        "smallest_pivots": {name: str(p) for name, p in proved.pivots.items()},
        "digest": certificate["digest"],
        "page": None if page is None else str(page),
    }


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps({"format": "flverify/check", "version": 1, **content}, indent=2)


def _wrapped(lines: Sequence[tuple[str, str]]) -> str:
    """Labels and texts, one below the other; long texts go on below."""
    wide = max(len(label) for label, _ in lines) + 2
    return "\n".join(
        fill(
            text,
            WIDTH,
            initial_indent=label.ljust(wide),
            subsequent_indent=" " * wide,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for label, text in lines
    )
