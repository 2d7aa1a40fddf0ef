"""`flverify bias`: where the mean of the server model goes."""

from __future__ import annotations

from typing import Any

import click

from flverify.commands._moments import answer
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.commands._setting import setting_options
from flverify.report.moments import biases, show_biases


@click.command(name="bias", cls=Reporting)
@setting_options()
@click.option("--float", "floats", is_flag=True, help="Compute in floats.")
@AS_JSON
def command(algorithms: tuple[str, ...], **options: Any) -> None:
    """Mean fixed point, its bias against the minimiser, and the stationary error.

    The bias is the mean fixed point minus x*; the stationary error is E|x - x*|^2 in
    the stationary law, infinite when the mean-square rate is not below 1. An algorithm
    that the engine refuses is listed with the reason; the exit code is 2 only if all
    are.
    """
    answer("bias", "bias", algorithms, options, biases, show_biases)
