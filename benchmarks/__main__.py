"""Run every benchmark, print the table and append it to results/."""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import pkgutil
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import benchmarks
from benchmarks._rows import DGEMM, Row

RESULTS = Path(__file__).parent / "results"
COLUMNS = (
    "time",
    "benchmark",
    "seconds",
    "ratio",
    "target",
    "met",
    "note",
    "quick",
    "cpus",
    "dgemm_gflops",
    "python",
    "numpy",
)


def main() -> None:
    """Measure, print, append."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and repeats")
    given = parser.parse_args()
    known = members()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no benchmark {unknown[0]}; there are {', '.join(known)}")
    found: list[Row] = []
    for name in given.names or known:
        for row in importlib.import_module(f"benchmarks.{name}").rows(given.quick):
            print(line(row), flush=True)
            found.append(row)
    path = append(found, given.quick)
    print(f"dgemm {1e-9 / DGEMM.per_flop:.1f} GFLOP/s; appended to results/{path.name}")


def members() -> list[str]:
    """Names of the benchmarks: the public modules of the package."""
    modules = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(m.name for m in modules if not m.name.startswith("_"))


def line(row: Row) -> str:
    """One line of the printed table."""
    taken = "" if row.seconds is None else f"{row.seconds:.3g} s"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g} x"
    sign = ">=" if row.at_least else "<="
    target = "" if row.target is None else f"{sign} {row.target:g}"
    met = {True: "met", False: "MISSED", None: ""}[row.met]
    columns = f"{row.name:<58}{taken:>12}{ratio:>10}{target:>9} {met:<7}"
    return f"{columns}{row.note}".rstrip()


def append(rows: list[Row], quick: bool) -> Path:
    """Append rows to today's table; the machine is described by numbers only."""
    now = datetime.now(UTC)
    machine = (
        quick,
        os.cpu_count(),
        round(1e-9 / DGEMM.per_flop, 1),
        platform.python_version(),
        np.__version__,
    )
    path = RESULTS / f"{now:%Y-%m-%d}.csv"
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(COLUMNS)
        for row in rows:
            shown = [
                f"{v:.6g}" if v is not None else "" for v in (row.seconds, row.ratio)
            ]
            bound = "" if row.target is None else row.target
            met = "" if row.met is None else row.met
            stamp = f"{now:%H:%M:%SZ}"
            writer.writerow([stamp, row.name, *shown, bound, met, row.note, *machine])
    return path


if __name__ == "__main__":
    main()
