"""What `certify` and `average` read alike: a method, its law, and a plain loop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click

from flverify.commands._algorithms import Chosen, build, read_overrides
from flverify.commands._function_class import (
    require_certified_name,
    require_clients,
    require_known,
)
from flverify.commands._laws import build_law, file_of, read_law
from flverify.commands._numbers import positive_number
from flverify.commands._options import LOCAL_STEPS, N_CLIENTS, SETTINGS, adding, taken
from flverify.commands._own_methods import build_own, files_run, is_own, plain_loop
from flverify.commands._places import require_place, require_unread
from flverify.participation._law import Participation

DEFAULT_LAW = "full"

METHOD = adding(
    [
        click.argument("algorithm"),
        N_CLIENTS,
        click.option(
            "--participation",
            "--law",
            "law",
            metavar="LAW",
            help=f"Participation law, {DEFAULT_LAW} by default.",
        ),
        click.option(
            "--step-size",
            metavar="NUMBER",
            required=True,
            help="Step size of the algorithm.",
        ),
        LOCAL_STEPS,
        SETTINGS,
    ]
)
FILES = adding(
    [
        click.option(
            "--loop",
            metavar="FILE.py",
            type=click.Path(path_type=Path),
            help="The plain loop of a method of one's own, with start and play.",
        ),
        click.option(
            "--out",
            metavar="CERT.json",
            type=click.Path(path_type=Path),
            help="Write the certificate, for `flverify check`.",
        ),
    ]
)


@dataclass(frozen=True)
class CertifiedSetting:
    """What a certificate is about, without its functions."""

    chosen: Chosen
    law: Participation
    law_text: str
    loop: ModuleType | None  # of a method of one's own

    def require_certified(self) -> None:
        """Check that the method is one's own, or one that has certificates.

        Raises
        ------
        RefusedError
            If it is neither.
        """
        if self.loop is None:
            require_certified_name(self.chosen.name)


def read_setting(
    algorithm: str,
    n_clients: int | None,
    law: str | None,
    step_size: str,
    local_steps: int | None,
    overrides: tuple[str, ...],
    loop: Path | None,
) -> CertifiedSetting:
    """Read what METHOD and FILES take, but for --out.

    Raises
    ------
    FlverifyError
        If an option is outside its domain or contradicts another.
    """
    own = is_own(algorithm)
    if not own:
        require_known(algorithm)
    module = plain_loop(algorithm, loop)
    text = DEFAULT_LAW if law is None else law
    written = read_law(text)
    size = require_clients(n_clients or written.size, text)
    built = build_law(written, text, size)
    step = positive_number("--step-size", step_size)
    if own:
        chosen = build_own(algorithm, step, local_steps, overrides)
    else:
        read = read_overrides(overrides, [algorithm], taken(local_steps))
        chosen = build(algorithm, step, local_steps or 1, read, built)
    return CertifiedSetting(chosen, built, text, module)


def require_own_place(
    out: Path | None, *, algorithm: str, law: str | None, loop: Path | None
) -> None:
    """Check that the certificate can be written, and not over what is read or run.

    Raises
    ------
    InputError
        If it cannot.
    """
    if out is not None:
        require_place("--out", out)
        read = ("--participation", file_of(law))
        require_unread("--out", out, [read, *files_run(algorithm, loop)])
