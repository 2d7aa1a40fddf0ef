"""Write a certificate: exact rational data that the checker proves anew.

It holds no matrix of the inequality: whoever checks it derives those from a plain loop
of the algorithm's box.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from hashlib import sha256
from inspect import signature
from typing import Any

from flverify import algorithms
from flverify._core.exact import Scalar
from flverify.certify.ansatz import Level
from flverify.certify.check._loops import LOOPS, UNPRINTED
from flverify.certify.check.one_by_one import OWN, Loop
from flverify.certify.coordinates import Coordinates
from flverify.certify.inequality import Unknown

VERSION = 1
NAMES = {
    "Focus": "focus",
    "FedAvg": "fedavg",
    "FedDyn": "feddyn",
    "FedProx": "fedprox",
    "FedVarp": "fedvarp",
    "Mifa": "mifa",
    "Scaffold": "scaffold",
    "ProxSkip": "proxskip",
    "GradientDescent": "gradient_descent",
}  # algorithms whose plain loop the checker holds
# what is averaged over rounds, and its power of L: that of f, and of |grad f|^2
MEASURES = {"gap": ("[f(x_r) - f(x*)]", 1), "gradient": ("|grad f(x_r)|^2", 2)}


@dataclass(frozen=True)
class Proof:
    """The exact numbers behind a certificate, at smoothness L = 1.

    Parameters
    ----------
    space : Coordinates
        Of the algorithm whose step size is eta L.
    level : Level
    values, start : dict
        The unknowns of the ansatz and of the start.
    rho : Fraction
    weight : Fraction
        s, the factor of |x - x*|^2 in a neighbourhood's decrease.
    units : dict
        Of the slots, as `slot_units` finds them.
    of : str or None
        What an average over rounds is of, "gap" or "gradient"; None for others.
    beta : Fraction or None
        Of |grad f|^2 >= 2 beta (f - f(x*)) where f(x) - f(x*) has a rate.
    """

    space: Coordinates
    level: Level
    values: Mapping[Unknown, Fraction]
    start: Mapping[Unknown, Fraction]
    rho: Fraction
    weight: Fraction = Fraction(0)
    units: Mapping[str, int] = field(default_factory=dict)
    of: str | None = None
    beta: Fraction | None = None

    @property
    def kind(self) -> str:
        """The kind of certificate."""
        if self.of is not None or self.beta is not None:
            return "gap" if self.of is None else "average"
        return "neighbourhood" if self.space.structure.neighbourhood else "rate"

    def power(self, name: str) -> int:
        """Return the unit of a coordinate, as a power of L."""
        if name.startswith("ghost:"):
            return int(name.endswith("gradient"))
        return self.units.get(name, 0)


def write(
    proof: Proof,
    algorithm: Any,
    strong_convexity: Fraction,
    smoothness: Fraction,
    own: Loop | None = None,
) -> dict[str, Any]:
    """Return the certificate for f_i of smoothness L, as JSON data.

    `own` is the loop of a method that the checker has none of.

    With f = L f', x = x' and g = L g', V(x, g) = V'(x, g/L), multipliers and values
    shrink by L, and rho stays. What slots are in terms of others changes with units.
    """
    space = proof.space
    settings = _settings(algorithm)
    body: dict[str, Any] = {
        "format": "flverify/certificate",
        "version": VERSION,
        "statement": _statement(proof),
        "kind": proof.kind,
        "level": proof.level.name,
        "algorithm": {
            **_named(algorithm, settings, own),
            "settings": settings,
        },
        "function_class": {
            "strong_convexity": str(strong_convexity),
            "smoothness": str(smoothness),
        },
        "law": space.reading.classes.description,
        "rho": str(proof.rho),
        "neighbourhood": _neighbourhood(proof, smoothness),
        **_structure(proof, smoothness, _slots(algorithm, own)),
        **_values(proof, smoothness),
    }
    if proof.of is not None:
        weight = 1 / smoothness ** MEASURES[proof.of][1]
        body["average"] = {"of": proof.of, "weight": str(weight)}
    if proof.beta is not None:
        dominance = {
            "beta": proof.beta * smoothness,
            "weight": proof.values["weight",] / smoothness**2,
            "v": 1 / smoothness,
        }
        body["dominance"] = {name: str(value) for name, value in dominance.items()}
    return {**body, "digest": digest(body)}


def _named(
    algorithm: Any, settings: Mapping[str, Any], own: Loop | None
) -> dict[str, str | None]:
    """Return the name of an algorithm and where its box, or its loop, is found."""
    if own is not None:
        return {"name": OWN + type(algorithm).__name__, "source": own.source}
    source = UNPRINTED.get(str(settings.get("variant")), str(algorithm.source))
    return {"name": loop_of(algorithm), "source": source}


def loop_of(algorithm: object) -> str | None:
    """Name the plain loop that is this very algorithm, None if the checker has none.

    A class of the user's own is another algorithm, whatever it is called.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> class Mine(Focus): ...
    >>> loop_of(Focus("1/5")), loop_of(Mine("1/5"))
    ('focus', None)
    """
    kind = type(algorithm)
    name = NAMES.get(kind.__name__)
    return name if name and kind is getattr(algorithms, kind.__name__) else None


def digest(body: Mapping[str, Any]) -> str:
    """Return sha256 of the canonical text of everything but the digest."""
    plain = {key: value for key, value in body.items() if key != "digest"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def _settings(algorithm: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for item in fields(algorithm):
        value = getattr(algorithm, item.name)
        if value is None or (item.name == "local_steps" and _single(algorithm)):
            continue
        whole = isinstance(value, int) and item.name == "local_steps"
        out[item.name] = value if whole else str(_exact(value))
    return out


def _single(algorithm: Any) -> bool:
    return type(algorithm).__name__ == "GradientDescent"


def _exact(value: Scalar | str) -> Scalar | str:
    return value if isinstance(value, str) else Fraction(value)


def _statement(proof: Proof) -> str:
    start = "C0 [f(x_0) - f(x*)] + C1 |x_0 - x*|^2 + C2 mean|grad f_i(x*)|^2"
    wide = (
        "For all L-smooth f_1, ..., f_N with convex f_i - (mu/2) |x|^2, x* a global "
        "minimiser of their mean f"
    )
    if proof.of is not None:
        return wide + (
            f" and every round r: E V_{{r+1}} <= E V_r - s E{MEASURES[proof.of][0]} + "
            f"c mean|grad f_i(x*)|^2, V_r >= 0 and V_0 <= {start}."
        )
    if proof.beta is not None:
        return wide + (
            " with |grad f(x)|^2 >= 2 beta [f(x) - f(x*)] for all x, and every round "
            f"r: v E[f(x_r) - f(x*)] <= rho^r ({start})."
        )
    families = (
        "For all L-smooth and mu-strongly convex f_1, ..., f_N, x* the minimiser of "
        "their mean and every round r: "
    )
    if proof.kind == "neighbourhood":
        return families + (
            "E V_{r+1} <= rho E V_r - s E|x_r - x*|^2 + c mean|grad f_i(x*)|^2."
        )
    return families + (
        "E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|grad f_i(x*)|^2)."
    )


def _neighbourhood(proof: Proof, smoothness: Fraction) -> dict[str, str] | None:
    if not proof.space.structure.neighbourhood:
        return None
    constant = proof.values["c",] / smoothness**2
    # an average has a weight of its own
    return {"weight": str(proof.weight), "constant": str(constant)}


def _slots(algorithm: Any, own: Loop | None) -> set[str]:
    """Return the slots of the plain loop, which may do without sums of others."""
    start = own.start if own else LOOPS[str(loop_of(algorithm))][0].start
    names = [name for name in signature(start).parameters if hasattr(algorithm, name)]
    settings = {name: getattr(algorithm, name) for name in names}
    return {*start(lambda *_: [0], 1, [0], **settings)}


def _structure(proof: Proof, smoothness: Fraction, slots: set[str]) -> dict[str, Any]:
    found = proof.space.structure
    spared = found.eliminated.keys() - slots
    rest = {s: at for s, at in found.equilibrium.items() if s not in spared}

    def scaled(value: Fraction, slot: str | None, unit: int) -> str:
        power = 0 if slot is None else proof.power(slot) - unit
        return str(value * smoothness**power)

    return {
        "equilibrium": {
            s: [scaled(a, s, 0), scaled(b, s, 1)] for s, (a, b) in rest.items()
        },
        "eliminated": {
            slot: {n: scaled(v, slot, proof.power(n)) for n, v in parts.items()}
            for slot, parts in found.eliminated.items()
            if slot not in spared
        },
        "calls": len(proof.space.reading.points),
        "memories": [
            {
                "slot": memory.slot,
                "calls": list(memory.calls),
                "weights": [scaled(w, memory.slot, 1) for w in memory.weights],
            }
            for memory in found.memories
        ],
    }


def _values(proof: Proof, smoothness: Fraction) -> dict[str, Any]:
    space, values, start = proof.space, proof.values, proof.start
    least = _least(proof, smoothness)
    seen = replace(space.structure, unseen=frozenset())
    whole = Coordinates(space.reading, seen, space.number)
    mean = _matrix(proof, ("T",), space.state, whole.state, smoothness)
    spreads = [
        _matrix(proof, ("S", r), space.client, whole.client, smoothness)
        if space.sizes[r] > 1
        else []
        for r in space.classes
    ]
    return {
        "values": _value_terms(proof, smoothness),
        "ghost_values": _ghost_values(proof, smoothness),
        "V": {"mean": mean, "classes": spreads},
        "decrease": {
            "multipliers": _listed(values, ("decrease",), smoothness),
            "upper": _listed(values, ("upper",), smoothness),
            "lower": _listed(values, ("decrease lower",), smoothness),
        },
        "positivity": {
            "multipliers": _listed(values, ("positivity",), smoothness),
            "lower": _listed(values, ("positivity lower",), smoothness),
            **least["positivity"],
        },
        "start": {
            "C1": str(start["C1",]),
            "C2": str(start["C2",] / smoothness**2),
            "multipliers": _listed(start, ("start",), smoothness),
            "upper": _listed(start, ("start upper",), smoothness),
            **least["start"],
        },
    }


def _least(proof: Proof, smoothness: Fraction) -> dict[str, dict[str, Any]]:
    """Return what averages and gaps alone have: f(x_0) - f(x*), and f >= f(x*)."""
    if proof.kind not in ("average", "gap"):
        return {"positivity": {}, "start": {}}
    found = {
        name: str(proof.start[name,] / smoothness) for name in ("C0", "start minimum")
    }
    weights = _listed(proof.values, ("minimum",), smoothness)
    return {
        "positivity": {"minimum": weights},
        "start": {"C0": found["C0"], "minimum": found["start minimum"]},
    }


def _value_terms(proof: Proof, smoothness: Fraction) -> list[dict[str, Any]]:
    return [
        {
            "point": {
                name: str(value / smoothness ** proof.power(name))
                for name, value in point.items()
            },
            "delta": str(proof.values["delta", w] / smoothness),
        }
        for w, point in enumerate(proof.level.values)
    ]


def _ghost_values(proof: Proof, smoothness: Fraction) -> list[list[str]]:
    """Weights of values at ghost points; all are 0 where the level has none."""
    every = range(len(proof.space.structure.ghosts))
    if not proof.level.ghost_values:
        return [["0" for _ in every] for _ in proof.space.classes]
    return [
        [str(proof.values["ghost", r, j] / smoothness) for j in every]
        for r in proof.space.classes
    ]


def _matrix(
    proof: Proof,
    kind: Unknown,
    known: list[Any],
    whole: list[Any],
    smoothness: Fraction,
) -> list[list[str]]:
    """Entries over the whole state; 0 where V does not know a coordinate."""
    place = {name: k for k, name in enumerate(known)}

    def entry(a: Any, b: Any) -> Fraction:
        if not {a, b} <= place.keys():
            return Fraction(0)
        low, high = sorted((place[a], place[b]))
        names = (name if isinstance(name, str) else name[-1] for name in (a, b))
        power = sum(map(proof.power, names))
        return proof.values[*kind, low, high] / smoothness**power

    return [[str(entry(a, b)) for b in whole] for a in whole]


def _listed(
    values: Mapping[Unknown, Fraction], kind: Unknown, smoothness: Fraction
) -> list[list[Any]]:
    return [
        [*unknown[1:], str(value / smoothness)]
        for unknown, value in values.items()
        if unknown[0] == kind[0] and value
    ]
