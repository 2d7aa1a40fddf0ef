"""The exact mean-square rate of FOCUS at the size of the paper's Figure 4."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks._rows import Row, seconds, skipped
from benchmarks._workload import FOCUS, LAW, PROBLEM
from flverify import moments
from flverify.participation import Bernoulli

NAME = "FOCUS, exact mean-square rate, state 1700"


def rows(quick: bool) -> list[Row]:
    """Time one rate under independent participation; no repeats, it takes a minute."""
    if quick:
        return [skipped(NAME, "takes about a minute; leave out --quick")]
    if find_spec("flverify.engines.moments") is None:
        return [skipped(NAME, "the moments engine is not there")]
    law = Bernoulli([0.5] * LAW.n_clients)

    def work() -> None:
        found.append(moments(PROBLEM, FOCUS, law).mean_square_rate)

    found: list[float] = []
    taken = seconds(work)
    return [Row(NAME, taken, target=60.0, note=f"rate {found[0]!r}")]
