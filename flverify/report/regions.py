"""Regions of step sizes as comma-separated values, as a table and for JSON."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import floor
from typing import Any

from flverify._core.sentences import number_of
from flverify.certify.certificate import NAMES
from flverify.certify.classes import classes
from flverify.certify.region import Cell, Region, Row, RowFound
from flverify.report import console
from flverify.report.certificates import law
from flverify.report.numbers import bound

HEADINGS = (
    "algorithm",
    "local_steps",
    "n_clients",
    "law",
    "strong_convexity",
    "smoothness",
    "over",
    "value",
    "step_size",
    "status",
    "kind",
    "certified_rate",
    "level",
    "quadratic_rate",
    "printed_cap",
    "certified_boundary",
    "stability_boundary",
    "holes",
)
LONGEST = 24  # characters of a rational that is written as a decimal number
FLOAT = 17  # digits of a number beyond floats
SHORT = 6  # digits of a table
MOST = 16  # rows that a table shows
HOLED = "*"  # after what is certified of a row, if not all below is
AGAIN = "+"  # after a stability boundary beyond which something is certified again


def exact(value: Fraction | None) -> str:
    """Text of a rational, read back as the same: a decimal number where that is short.

    Examples
    --------
    >>> exact(Fraction(459057, 500000)), exact(Fraction(1, 3)), exact(None)
    ('0.918114', '1/3', '')
    """
    if value is None:
        return ""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    digits = len(str(value.numerator)) + len(str(value.denominator))
    if rest != 1 or digits > 2 * LONGEST:
        return str(value)
    # a denominator of b bits needs b digits at most
    places = value.denominator.bit_length()
    whole = int(value * 10**places)
    text = f"{Decimal(whole).scaleb(-places):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if len(text) <= LONGEST else str(value)


def decimal(value: Fraction | None) -> str:
    """Text of a rational for a column that programs read: its nearest float.

    Examples
    --------
    >>> decimal(Fraction(1, 180)), decimal(Fraction(2)), decimal(None)
    ('0.005555555555555556', '2.0', '')
    >>> decimal(Fraction(10**400, 3))
    '3.3333333333333333E+399'
    """
    if value is None:
        return ""
    try:
        return repr(float(value))
    except OverflowError:  # a rate far beyond stability
        wide = Context(prec=FLOAT, Emin=-(10**9), Emax=10**9)
        return str(wide.divide(Decimal(value.numerator), Decimal(value.denominator)))


def as_csv(region: Region) -> str:
    """Return a region as comma-separated values, a line per step size and value.

    Numbers are floats; `record` has them exactly. Empty are rates and boundaries that
    were not found, and caps without a theorem. `holes` counts the step sizes of a row
    that are below its certified boundary and have no certificate.
    """
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(HEADINGS)
    for row, found in zip(region.rows, region.found, strict=True):
        setting = [*_setting(row), region.over, decimal(row.value)]
        ends = (found.printed_cap, found.certified_boundary, found.stability_boundary)
        for cell in found.cells:
            own = _own(found, cell)
            written = [decimal(end) for end in ends]
            writer.writerow([*setting, *own, *written, len(found.holes)])
    return page.getvalue()


def _setting(row: Row) -> list[str]:
    return [
        NAMES[type(row.algorithm).__name__],
        str(row.algorithm.local_steps),
        str(row.law.n_clients),
        law(classes(row.law).description),
        decimal(row.strong_convexity),
        decimal(row.smoothness),
    ]


def _own(found: RowFound, cell: Cell) -> list[str]:
    return [
        decimal(cell.step_size),
        cell.status,
        kind(found),
        decimal(cell.rate),
        cell.level,
        decimal(cell.quadratic_rate),
    ]


def kind(found: RowFound) -> str:
    """Say whether rates lead to the minimiser or to a neighbourhood of it."""
    return "contraction" if found.contraction else "rate"


def record(region: Region) -> list[dict[str, Any]]:
    """Return the rows for a JSON report."""
    return [
        {
            "value": found.value,
            "kind": kind(found),
            "printed_cap": found.printed_cap,
            "certified_boundary": found.certified_boundary,
            "stability_boundary": found.stability_boundary,
            "certified_share": found.share,
            "holes": [cell.step_size for cell in found.holes],
            "certified_again": [cell.step_size for cell in found.again],
            **({"remark": "; ".join(said)} if (said := _said(found)) else {}),
            "cells": [
                {
                    "step_size": cell.step_size,
                    "status": cell.status,
                    "certified_rate": cell.rate,
                    "level": cell.level,
                    "quadratic_rate": cell.quadratic_rate,
                    **({"reason": cell.reason} if cell.reason else {}),
                }
                for cell in found.cells
            ],
        }
        for found in region.found
    ]


def show(region: Region) -> None:
    """Print caps and boundaries row by row, with the best rate of each."""
    headings = (
        region.over,
        "printed cap",
        "certified below",
        "unstable from",
        "share",
        "best rate",
        "at step size",
        "certified",
    )
    chosen = _some(region.found)
    console.table(headings, [_line(found) for found in chosen], keep=len(headings))
    if len(chosen) < len(region.found):
        console.line(f"{len(chosen)} of {len(region.found)} rows are shown.")


def _some(rows: Sequence[RowFound]) -> list[RowFound]:
    last = len(rows) - 1
    places = {round(k * last / (MOST - 1)) for k in range(MOST)}
    return [rows[k] for k in sorted(places)]


def _line(found: RowFound) -> list[str]:
    best, mark = found.best, HOLED if found.holes else ""
    proved = sum(cell.rate is not None for cell in found.cells)
    return [
        short(found.value),
        _end(found.printed_cap, up=False),
        _end(found.certified_boundary, up=False) + mark,
        _end(found.stability_boundary, up=True) + (AGAIN if found.again else ""),
        "" if found.share is None else f"{_percent(found.share)}{mark}",
        "none" if best is None else exact(best.rate),
        "" if best is None else short(best.step_size),
        f"{proved} of {len(found.cells)}",
    ]


def short(value: Fraction) -> str:
    """Text of a rational in few digits, for readers.

    Examples
    --------
    >>> short(Fraction(1, 180)), short(Fraction(3, 5))
    ('0.00555556', '0.6')
    """
    return f"{float(value):.{SHORT}g}"


def _end(value: Fraction | None, *, up: bool) -> str:
    """Text of a boundary, rounded to the side on which it is known to hold."""
    return "none" if value is None else bound(value, SHORT, up=up)


def _percent(share: Fraction) -> str:
    """Text of a share, rounded down: all of it is certified where that is so.

    Examples
    --------
    >>> _percent(Fraction(99996, 10**5)), _percent(Fraction(1))
    ('99.9%', '100.0%')
    """
    return f"{floor(1000 * share) / 10:.1f}%"


def remarks(region: Region) -> list[str]:
    """Return what is to be said of some rows, and of what the table means."""
    out = [
        "a rate is one whose certificate the checker accepted; that none was found "
        "says nothing about the method."
    ]
    if any(found.contraction for found in region.found):
        out.append(
            "this method moves away from the minimiser: rates are those of the "
            "contraction to a neighbourhood."
        )
    if any(None in (found.certified_boundary, found.best) for found in region.found):
        out.append(
            'a certified boundary or best rate "none" means none at the step sizes '
            "tried; others may have one."
        )
    if any(found.holes for found in region.found):
        out.append(
            f'"{HOLED}" marks rows in which not every step size below the certified '
            "boundary has a certificate."
        )
    out += _at_the_ends(region)
    if any(found.again for found in region.found):
        out.append(
            f'"{AGAIN}" marks rows in which some step sizes have a certificate beyond '
            "others at which some quadratic does not contract."
        )
    for found in region.found:
        name = f"{region.over} = {short(found.value)}"
        out += [f"{name}: {text}" for text in _said(found)]
    return out


def _at_the_ends(region: Region) -> list[str]:
    """Say where a best rate is the best only because the grid ends there."""
    first, last = region.step_sizes[0], region.step_sizes[-1]
    ends: dict[str, list[str]] = {"smallest": [], "largest": []}
    for found in region.found:
        best, end = found.best, found.certified_boundary
        if best is None or first == last:
            continue
        if best.step_size == first:
            ends["smallest"].append(short(found.value))
        elif best.step_size == last and end is not None and end > last:
            ends["largest"].append(short(found.value))
    return [
        f"for {region.over} = {', '.join(values)} the best rate is that of the {which} "
        "step size asked about; beyond it there may be a better one."
        for which, values in ends.items()
        if values
    ]


def _said(found: RowFound) -> list[str]:
    """Return what is to be said of one row."""
    out = [found.remark] if found.remark else []
    if found.holes:
        steps = number_of(len(found.holes), "step size")
        out.append(f"no certificate was found at {steps} below the certified boundary")
    if found.again:
        steps = number_of(len(found.again), "step size")
        first, last = (short(found.again[k].step_size) for k in (0, -1))
        span = first if first == last else f"{first} to {last}"
        out.append(
            f"a certificate was found again at {steps} beyond the stability boundary, "
            f"{span}"
        )
    reasons = Counter(cell.reason for cell in found.cells if cell.reason)
    for reason, count in reasons.items():
        cells = "1 cell is" if count == 1 else f"{count} cells are"
        out.append(f"{cells} inconclusive: {reason}")
    if found.unsure:
        steps = number_of(found.unsure, "step size")
        end = found.certified_boundary
        what = ": there may be one" if end is None else " above it: it may lie higher"
        out.append(
            f"the search for a certified boundary was inconclusive at {steps}{what}"
        )
    return out
