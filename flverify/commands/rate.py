"""`flverify rate`: exact rates of convergence of several algorithms."""

from __future__ import annotations

from typing import Any

import click

from flverify.commands._moments import answer
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.commands._setting import setting_options
from flverify.report.moments import rates, show_rates


@click.command(name="rate", cls=Reporting)
@setting_options()
@click.option("--float", "floats", is_flag=True, help="Compute in floats.")
@click.option(
    "--no-enclosure", is_flag=True, help="Leave out the enclosure of float rates."
)
@AS_JSON
def command(algorithms: tuple[str, ...], no_enclosure: bool, **options: Any) -> None:
    """Exact rates of convergence per round, several algorithms in one table.

    The mean-square rate is that of E|x_r - x'_r|^2 for two runs of the same random
    rounds, the mean rate that of |E(x_r - x'_r)|. Rational inputs give rationals: an
    irrational rate is the upper end of its enclosure. An algorithm that the engine
    refuses is listed with the reason; the exit code is 2 only if all are. Exact
    numbers are for small problems; --float is for large ones.
    """

    def read(name: str, found: Any) -> dict[str, Any]:
        return rates(name, found, enclose=not no_enclosure)

    answer("rate", "mean_square_rate", algorithms, options, read, show_rates)
