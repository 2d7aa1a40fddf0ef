"""The builder's blocks equal the checker's, entry by entry, on random rationals.

The builder derives them from the algorithm's own round and the law's moments, the
checker by listing outcomes and running a plain loop from the paper's box.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.certify import check
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.certificate import Proof, write
from flverify.certify.classes import classes
from flverify.certify.coordinates import Coordinates, Memory, Structure
from flverify.certify.discover import discover, previous_point
from flverify.certify.forms import read
from flverify.certify.start import Start
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

HALF = Fraction(1, 2)
SETTINGS: dict[str, tuple[Any, Any]] = {
    "focus bernoulli": (Focus("1/7"), Bernoulli([HALF] * 3)),
    "focus tau 2 classes": (Focus("1/9", 2), Bernoulli(["1/2", "1/2", "1/5"])),
    "focus three classes": (Focus("1/9"), Bernoulli(["1", "1/3", "1/3", "1/9"])),
    "focus uniform": (Focus("1/9", 3), UniformCohort(5, 2)),
    "focus skip": (Focus("1/9", 2, empty_round="skip"), Bernoulli([HALF] * 3)),
    "focus full": (Focus("1/9", 2), Full(4)),
    "focus one client": (Focus("1/9", 2), Bernoulli(["2/3"])),
    "focus all or nothing": (Focus("1/9", 2), AllOrNothing(3, "2/7")),
    "focus warm": (
        Focus("1/9", 1, initial_gradients="start", initial_tracker="sum"),
        UniformCohort(3, 1),
    ),
    "scaffold II": (Scaffold("1/9", 2, "3/4"), UniformCohort(4, 2)),
    "scaffold I": (Scaffold("1/9", 2, option="I"), Bernoulli([HALF] * 3)),
    "scaffold classes": (Scaffold("1/9", 1), Bernoulli(["1/2", "1/5", "1/5"])),
    "feddyn": (FedDyn("1/9", "3/4", 2), UniformCohort(4, 2)),
    "feddyn classes": (FedDyn("1/9", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    "proxskip": (ProxSkip("1/3", probability="1/5"), AllOrNothing(4, "1/5")),
    "notebook": (ProxSkip("1/5", 2, variant="notebook"), AllOrNothing(3, "1/5")),
    "gradient descent": (GradientDescent("1/9"), Bernoulli([HALF] * 3)),
    "fedavg exact": (FedAvg("1/9"), Full(3)),
    "fedavg": (FedAvg("1/9", 2), UniformCohort(4, 2)),
    "fedavg classes": (FedAvg("1/9", 3, "2/3"), Bernoulli(["1/2", "1/5", "1/5"])),
    "fedvarp": (FedVarp("1/9", 2), UniformCohort(4, 2)),
    "mifa": (Mifa("1/9", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    "mifa from zero": (Mifa("1/9", 1, "3/4", "zero"), UniformCohort(4, 2)),
    "fedprox": (FedProx("1/9", "3/4", 2), Bernoulli(["1/2", "1/5", "1/5"])),
    "fedavg all": (FedAvg("1/9", 2, aggregation="all"), Bernoulli([HALF] * 3)),
}


def _levels(space: Coordinates) -> list[Level]:
    if space.structure.neighbourhood:
        return [Level("slots"), Level("value", ({"model": Fraction(1)},))]
    before = previous_point(space.reading, space.structure)
    here = space.structure.eliminated.get("model", {"model": Fraction(1)})
    other = {**here, **({} if before is None else before)}
    return [Level("value", (here,)), Level("two", (here, other), ghost_values=True)]


# as long as twenty others: three classes and a memory that is no slot of theirs
LONG = ("focus three classes", "one of no slot")


def _cases() -> list[Any]:
    return [
        pytest.param(
            *(name, lifted, which),
            id=f"{name} {lifted} {which}",
            marks=pytest.mark.slow if (name, lifted) == LONG else (),
        )
        for name in SETTINGS
        for lifted in ("no memory", "memories", "one of no slot")
        for which in (0, 1)
    ]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("name", "lifted", "which"), _cases())
def test_blocks_agree(name: str, lifted: str, which: int) -> None:
    algorithm, law = SETTINGS[name]
    reading = read(algorithm, classes(law))
    structure = discover(reading)
    if lifted == "no memory":
        structure = replace(structure, memories=())
    if lifted == "one of no slot":
        everybodys = Memory(None, (0,), (Fraction(0),))
        structure = replace(structure, memories=(*structure.memories, everybodys))
    space = Coordinates(reading, structure, Fraction)
    level = _levels(space)[which]
    proof, ansatz = _random_proof(space, structure, level, seed=f"{name}{which}")
    certificate = write(proof, algorithm, Fraction(1, 10), Fraction(1))
    theirs = check.blocks(certificate)
    ours = ansatz.blocks_at(dict(proof.values), proof.rho)
    if structure.neighbourhood:
        ours["decrease/mean"] = ours["decrease/mean"] - proof.weight * (
            ansatz.model_square(len(space.z))
        )
    else:
        size = len(space.state)
        ours["positivity/mean"] = ours["positivity/mean"] - ansatz.model_square(size)
    for block, matrix in ours.items():
        assert theirs[block] == matrix.tolist(), block
    _compare_start(proof, theirs)
    totals = {
        name: value
        for name, value in ansatz.totals_at(dict(proof.values), proof.rho).items()
        if "upper" not in name and "lower" not in name
    }
    cancel = check.cancellations(certificate)
    assert {k: v for k, v in cancel.items() if k in totals} == totals
    assert all(v == 0 for k, v in cancel.items() if _main(k) and k not in totals)


def _main(name: str) -> bool:
    return name.startswith(("decrease", "positivity"))


def _random_proof(
    space: Coordinates, structure: Structure, level: Level, seed: str
) -> tuple[Proof, Ansatz]:
    ansatz = Ansatz(space, level, Fraction(1, 10), 1)
    draw = Random(seed)
    values = {u: Fraction(draw.randint(-9, 9), 7) for u in ansatz.unknowns}
    for unknown, place in ansatz.place.items():
        if ansatz.signed[place]:
            values[unknown] = abs(values[unknown])
    rho = Fraction(9, 11)
    _mend_totals(ansatz, values, rho)
    start = Start(Coordinates(space.reading, structure, float), level, values, 0.1, 1.0)
    numbers = {u: Fraction(draw.randint(0, 9), 7) for u in start.unknowns}
    numbers["one",] = Fraction(1)
    _mend_totals(start, numbers, rho)
    weight = Fraction(2, 3) if structure.neighbourhood else Fraction(0)
    return Proof(space, level, values, numbers, rho, weight), ansatz


def _mend_totals(inequality: Any, values: dict[Any, Fraction], rho: Fraction) -> None:
    """Weights of a value add up to what the format asks for."""
    for name, row in inequality.equalities.items():
        if "upper" in name or "lower" in name:
            weights = [u for u, (fixed, _) in row.items() if fixed == 1]
            for unknown in weights[1:]:
                values[unknown] = Fraction(0)
            rest = inequality.totals_at({**values, weights[0]: Fraction(0)}, rho)[name]
            values[weights[0]] = -rest


def _compare_start(proof: Proof, theirs: dict[str, Any]) -> None:
    floats = Coordinates(proof.space.reading, proof.space.structure, float)
    start = Start(floats, proof.level, proof.values, 0.1, 1.0)
    numbers = {u: float(v) for u, v in proof.start.items()}
    for block, matrix in start.blocks_at(numbers, 0.0).items():
        found = np.array(theirs[block], dtype=float)
        np.testing.assert_allclose(found, matrix + start.constants[block], atol=1e-12)
