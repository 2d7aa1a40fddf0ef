"""The plain loop that a certificate is about, with the settings it gives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from inspect import Parameter, signature
from reprlib import repr as shortened
from typing import Any

from flverify.reference import (
    fedavg,
    feddyn,
    fedprox,
    fedvarp,
    focus,
    gradient_descent,
    mifa,
    proxskip,
    scaffold,
)

from ._json import Rejected, choice, entries, names, number, require, text, whole
from .one_by_one import OWN, Loop

LOOPS = {
    "fedavg": (fedavg, "focus, eq. (2); mcmahan2017, Algorithm 1"),
    "feddyn": (feddyn, "acar2021, Algorithm 1"),
    "fedprox": (fedprox, "li2020, Algorithm 2"),
    "fedvarp": (fedvarp, "jhunjhunwala2022, Algorithm 2"),
    "focus": (focus, "focus, Algorithm 1"),
    "gradient_descent": (gradient_descent, "flverify, gradient descent on sum f_i"),
    "mifa": (mifa, "gu2021, Algorithm 1"),
    "proxskip": (proxskip, "mishchenko2022, Algorithm 1 (Scaffnew)"),
    "scaffold": (scaffold, "karimireddy2020, Algorithm 1"),
}  # the plain loops, and where the boxes that they transcribe are printed
UNPRINTED = {"notebook": "the FOCUS authors' notebook; printed nowhere"}  # by variant
NUMBERS = ("step_size", "server_step_size", "probability", "proximal_weight")
MOST_STEPS = 400


def settled(
    value: object, own: Loop | None
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return start and play of the loop of an algorithm, with its settings.

    `own` is the loop of a method of the user's own, which no file can name.
    """
    c = entries(value, ["name", "source", "settings"], "algorithm")
    loop = _chosen(c["name"], own)
    same = own is None or c["source"] == own.source
    require(same, "the loop must be the one it was certified with, to the letter")
    read = _setting if own is None else _own_setting
    given = {k: read(k, v) for k, v in names(c["settings"], "settings").items()}
    bound, known = [], set()
    for part in (loop.start, loop.play):
        options = [
            p
            for p in signature(part).parameters.values()
            if p.kind is Parameter.KEYWORD_ONLY
        ]
        for option in options:
            # a default may be another one day; None is for what does not apply
            missing = option.default is not None and option.name not in given
            require(not missing, f"settings must give {option.name}")
        wanted = {option.name for option in options}
        known |= wanted
        bound.append(partial(part, **{k: v for k, v in given.items() if k in wanted}))
    extra = sorted(set(given) - known)
    require(
        not extra, f"settings must be among {sorted(known)}; got {shortened(extra)}"
    )
    return bound[0], bound[1]


def _chosen(name: object, own: Loop | None) -> Any:
    named = type(name) is str and name.startswith(OWN)
    if own is not None:
        alone = "only a method of one's own is given a loop; the checker has that of"
        require(named, f"{alone} {shortened(name)}")
        return own
    require(not named, f"the loop of {shortened(name)} must be given; no file names it")
    return LOOPS[choice(name, "algorithm.name", sorted(LOOPS))][0]


def source_of(name: str, variant: object, own: Loop | None) -> str:
    """Say where the loop comes from."""
    return own.source if own else UNPRINTED.get(str(variant), LOOPS[name][1])


def _setting(key: str, value: object) -> int | str | Fraction:
    if key in NUMBERS:
        positive = Fraction(number(value, key))
        require(positive > 0, f"{key} must be positive; got {positive}")
        return positive
    if key == "local_steps":
        return whole(value, key, 1, MOST_STEPS)
    return text(value, f"the setting {shortened(key)}")


def _own_setting(key: str, value: object) -> int | str | Fraction:
    """Read what may be a number as one."""
    if key == "local_steps":
        return whole(value, key, 1, MOST_STEPS)
    word = text(value, f"the setting {shortened(key)}")
    try:
        return Fraction(number(word, key))
    except Rejected:
        return word
