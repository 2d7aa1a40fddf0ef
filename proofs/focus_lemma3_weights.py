"""Lemma 3 of the FOCUS paper: how large the weights Q and I - Q are, before (88).

Both are diagonal, with the q_i and 1 - q_i of the clients. With two clients or more,
all of whom may come, no E[I_i/|S|] is 0 or 1. One client has q_1 = 1, and so have those
who always come if q_i is p_i, or who come alone if it is 1/m.

Conventions: p_i in (0, 1] as in Assumption 1; 0/0 = 0; scaled norms have weight 1
where nothing is weighted, so that a weight below 1 makes them smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_lemma4 import (
    CASE_3A,
    CHANCE,
    DEFINED,
    laws_for,
    weights,
)
from flverify.claims.laws import Setting
from flverify.claims.verdict import Finding

SEVERAL, ANY = "N > 1", "every N"


@claim(
    "focus.lemma3.step88.weights",
    source=Source("focus", "Appendix D.3, sentence before (88)"),
    statement=r"\text{The weighted }Q\text{ and }I-Q\text{ are strictly smaller than "
    r"}1",
    proposition="Under Assumption 1 every q_i and every 1 - q_i is less than 1, for "
    "as many clients as the reading says; by 1/m for uniform cohorts of m.",
    constants={"bound": 1},
    twin={"bound": Fraction(1, 2)},
    no_control="q_i has several readings, and how many clients there are is not said; "
    "the twin, both less than 1/2, fails under every reading",
)
def smaller_than_one(c: SimpleNamespace) -> Finding:
    """Prove it where two clients may come; list laws otherwise."""
    found = {
        f"{DEFINED}, {SEVERAL}": judge.proof_or_search(
            judge.all_of(_between(c)), _listed(c, DEFINED, (2, 3))
        ),
        f"{DEFINED}, {ANY}": _listed(c, DEFINED, (1, 2, 3)),
        f"{CASE_3A}, {SEVERAL}": _listed(c, CASE_3A, (2, 3)),
        f"{CHANCE}, {SEVERAL}": _listed(c, CHANCE, (2, 3)),
    }
    return judge.readings(found)


def _between(c: SimpleNamespace) -> dict[str, Finding]:
    """Judge q_i from the chances that i comes without j, with j, and j without i."""
    alone, both, other, q = sympy.symbols("alone both other q", nonnegative=True)
    p, N = sympy.symbols("p N", positive=True)
    bound = sympy.Rational(c.bound)
    scope = "every N > 1 and every law of Assumption 1"
    # I_i/|S| is at most 1, and at most 1/2 if j comes, too; it is at least I_i/N
    held = [alone + both + other <= 1, both + other > 0]
    most = [*held, q <= alone + both / 2]
    return {
        "q_i": judge.implied(most, q < bound, scope),
        "1 - q_i": judge.implied([N * q >= p], 1 - q < bound, scope),
    }


def _listed(c: SimpleNamespace, name: str, sizes: Iterable[int]) -> Finding:
    searched = f"every case of Assumption 1, N = {', '.join(map(str, sizes))}"
    if name == CASE_3A:
        searched = f"uniform cohorts, N = {', '.join(map(str, sizes))}"
    return judge.instances(_cases(c, name, sizes), "<", searched)


def _cases(c: SimpleNamespace, name: str, sizes: Iterable[int]) -> Iterator[judge.Case]:
    bound = Fraction(c.bound)
    settings = (setting for size in sizes for setting in laws_for(name, size))
    for setting in settings:
        chances = setting.inclusion()
        for i, q in enumerate(weights(name, setting)):
            for what, value in (("q_i", q), ("1 - q_i", 1 - q)):
                at = {**setting.where, "client": i + 1, "p_i": chances[i]}
                at["weight"] = what
                again = partial(_by_the_package, name, setting, i, what, bound)
                yield judge.Case(at, value, bound, again)


def _by_the_package(
    name: str, setting: Setting, i: int, what: str, bound: Fraction
) -> tuple[Fraction, Fraction]:
    """Return both sides again, the law being the package's."""
    law = setting.law
    if name == CASE_3A:
        q = 1 / Fraction(len(min(setting.listed)))
    else:
        q = Fraction(law.moment([i], 1 if name == DEFINED else 0))
    return (q if what == "q_i" else 1 - q), bound
