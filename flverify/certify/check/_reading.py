"""Reading a certificate: every key, size and number is looked at before it is used.

What is read here is well formed; whether it proves anything is for `check` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from inspect import Parameter, signature
from reprlib import repr as shortened
from typing import Any, NamedTuple

from flverify.reference import fedavg, focus, gradient_descent, proxskip, scaffold

from ._law_outcomes import Law, read_law
from ._linear import (
    Matrix,
    Number,
    choice,
    count,
    entries,
    items,
    names,
    number,
    require,
    text,
)
from ._loops import Case, Memory
from ._replay import Layout, probe

LOOPS = {
    "fedavg": fedavg,
    "focus": focus,
    "gradient_descent": gradient_descent,
    "proxskip": proxskip,
    "scaffold": scaffold,
}
NUMBERS = ("step_size", "server_step_size", "probability")
KEYS = [
    *("format", "version", "statement", "kind", "level", "algorithm"),
    *("function_class", "law", "rho", "neighbourhood", "equilibrium", "eliminated"),
    *("calls", "memories", "values", "ghost_values", "V", "decrease", "positivity"),
    *("start", "digest"),
]

MOST_COLUMNS = 400
WORK = 100_000_000  # outcomes times clients, calls and columns; a minute or two


class Multiplier(NamedTuple):
    """A weight on the interpolation inequality between two points of a class."""

    q: int
    above: str
    below: str
    weight: Number


class Bound(NamedTuple):
    """A weight on the bound of one value term from one point of a class."""

    value: int
    q: int
    point: str
    weight: Number


class Value(NamedTuple):
    """The term delta times the mean of f_i at a point of the server."""

    point: dict[str, Number]
    delta: Number


class Part(NamedTuple):
    """The multipliers of one condition."""

    multipliers: list[Multiplier]
    upper: list[Bound]
    lower: list[Bound]


@dataclass(frozen=True)
class Certificate:
    """A well-formed certificate; V holds its mean block, then one block per class."""

    kind: str
    strong_convexity: Fraction
    smoothness: Fraction
    rho: Number
    weight: Number
    constant: Number
    case: Case
    layout: Layout
    values: list[Value]
    ghost_values: list[list[Number]]
    V: tuple[Matrix, list[Matrix]]
    decrease: Part
    positivity: Part
    start: Part
    C1: Number
    C2: Number


def read(certificate: object) -> Certificate:
    """Return the certificate in numbers, or raise Rejected."""
    c = entries(certificate, KEYS, "a certificate")
    choice(c["format"], "format", ["flverify/certificate"])
    count(c["version"], "version", 1, 1)
    for key in ("statement", "level", "digest"):
        text(c[key], key)
    kind = choice(c["kind"], "kind", ["rate", "neighbourhood"])
    mu, smoothness = _function_class(c["function_class"])
    law = read_law(c["law"])
    case, layout = _case(c, law, kind)
    values = [_value(v, case) for v in items(c["values"], "values")]
    positivity = entries(c["positivity"], ["multipliers", "lower"], "positivity")
    keys = ["multipliers", "upper", "lower"]
    decrease = entries(c["decrease"], keys, "decrease")
    start = entries(c["start"], ["C1", "C2", "multipliers", "upper"], "start")
    ghosts = [f"ghost:{j}" for j in range(len(case.ghosts))]
    known = ["star", *ghosts]
    calls = [f"call:{k}" for k in range(case.calls)]
    phis = [
        f"start_ghost:{m}" for m, s in enumerate(case.memories) if s.slot in layout.zero
    ]
    fresh = [f"start_call:{k}" for k in range(layout.calls)]
    sizes = (len(law.sizes), len(values))
    weight, constant = _neighbourhood(c["neighbourhood"], kind)
    return Certificate(
        kind=kind,
        strong_convexity=mu,
        smoothness=smoothness,
        rho=number(c["rho"], "rho"),
        weight=weight,
        constant=constant,
        case=case,
        layout=layout,
        values=values,
        ghost_values=[
            [
                number(v, "a ghost value")
                for v in items(row, "ghost_values of a class", len(ghosts))
            ]
            for row in items(c["ghost_values"], "ghost_values", len(law.sizes))
        ],
        V=_lyapunov(c["V"], case),
        decrease=_part("decrease", decrease, [*known, *calls], sizes),
        positivity=_part("positivity", positivity, known, sizes),
        start=_part("start", start, ["star", *phis, *fresh], sizes),
        C1=number(start["C1"], "C1"),
        C2=number(start["C2"], "C2"),
    )


def _function_class(value: object) -> tuple[Fraction, Fraction]:
    c = entries(value, ["strong_convexity", "smoothness"], "function_class")
    mu = Fraction(number(c["strong_convexity"], "strong_convexity"))
    smoothness = Fraction(number(c["smoothness"], "smoothness"))
    require(
        0 < mu < smoothness,
        "the constants must satisfy 0 < strong_convexity < smoothness; "
        "with equality all clients are one known quadratic up to a shift",
    )
    return mu, smoothness


def _neighbourhood(value: object, kind: str) -> tuple[Number, Number]:
    if kind == "rate":
        require(value is None, "neighbourhood must be null for the kind 'rate'")
        return 0, 0
    c = entries(value, ["weight", "constant"], "neighbourhood")
    return number(c["weight"], "weight"), number(c["constant"], "constant")


def _loop(value: object) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return start and play of the reference loop with their settings."""
    c = entries(value, ["name", "source", "settings"], "algorithm")
    text(c["source"], "source")
    module = LOOPS[choice(c["name"], "algorithm.name", sorted(LOOPS))]
    given = {k: _setting(k, v) for k, v in names(c["settings"], "settings").items()}
    bound, known = [], set()
    for loop in (module.start, module.play):
        options = [
            p
            for p in signature(loop).parameters.values()
            if p.kind is Parameter.KEYWORD_ONLY
        ]
        for option in options:
            missing = option.default is Parameter.empty and option.name not in given
            require(not missing, f"settings must give {option.name}")
        wanted = {option.name for option in options}
        known |= wanted
        bound.append(partial(loop, **{k: v for k, v in given.items() if k in wanted}))
    extra = sorted(set(given) - known)
    require(
        not extra, f"settings must be among {sorted(known)}; got {shortened(extra)}"
    )
    return bound[0], bound[1]


def _setting(key: str, value: object) -> int | str | Fraction:
    if key in NUMBERS:
        positive = Fraction(number(value, key))
        require(positive > 0, f"{key} must be positive; got {positive}")
        return positive
    if key == "local_steps":
        return count(value, key, 1, MOST_COLUMNS)
    return text(value, f"the setting {shortened(key)}")


def _case(c: dict[str, Any], law: Law, kind: str) -> tuple[Case, Layout]:
    start, play = _loop(c["algorithm"])
    layout = probe(start, law.n_clients)
    calls = count(c["calls"], "calls", 1, MOST_COLUMNS)
    equilibrium = _equilibrium(c["equilibrium"], layout)
    memories = tuple(
        _memory(m, calls, layout, equilibrium) for m in items(c["memories"], "memories")
    )
    lifted = [memory.slot for memory in memories]
    require(len(set(lifted)) == len(lifted), "a slot must be a memory once at most")
    case = Case(
        start=start,
        play=play,
        law=law,
        server=layout.server,
        client=layout.client,
        has_equilibrium=kind == "rate",
        equilibrium=equilibrium,
        eliminated=_eliminated(c["eliminated"], law, layout, lifted, equilibrium),
        calls=calls,
        memories=memories,
    )
    width = len(case.coordinates) + calls + 1
    columns = len(case.kept) + (len(law.sizes) + 1) * width
    require(columns <= MOST_COLUMNS, f"there must be at most {MOST_COLUMNS} columns")
    work = max(map(law.work, law.configurations())) * calls * columns
    require(work <= WORK, "the outcomes are too many to list: too large")
    return case, layout


def _equilibrium(value: object, layout: Layout) -> dict[str, tuple[Number, Number]]:
    table = entries(value, [*layout.server, *layout.client], "equilibrium")
    found = {}
    for slot, pair in table.items():
        alpha, beta = items(pair, f"the equilibrium of {slot}", 2)
        found[slot] = number(alpha, "alpha"), number(beta, "beta")
    for slot in layout.server:
        require(found[slot][1] == 0, f"the server slot {slot} must have beta 0")
    require(found.get("model") == (1, 0), "the equilibrium of the model must be x*")
    return found


def _memory(
    value: object,
    calls: int,
    layout: Layout,
    equilibrium: Mapping[str, tuple[Number, Number]],
) -> Memory:
    c = entries(value, ["slot", "calls", "weights"], "a memory")
    slot = choice(c["slot"], "the slot of a memory", list(layout.client))
    listed = items(c["calls"], "the calls of a memory")
    require(len(listed) > 0, "a memory must hold a call")
    chosen = tuple(count(k, "the call of a memory", 0, calls - 1) for k in listed)
    weights = items(c["weights"], "the weights of a memory", len(chosen))
    memory = Memory(slot, chosen, tuple(number(w, "a weight") for w in weights))
    # at equilibrium every gradient is g*, and the slot the sum of weights times it
    require(
        equilibrium[slot] == (0, sum(memory.weights)),
        f"the weights of the memory {slot} must add to beta, and alpha must be 0",
    )
    return memory


def _eliminated(
    value: object,
    law: Law,
    layout: Layout,
    lifted: list[str],
    equilibrium: Mapping[str, tuple[Number, Number]],
) -> dict[str, dict[str, Number]]:
    table = names(value, "eliminated")
    may = [slot for slot in (*layout.server, *layout.client) if slot not in lifted]
    for slot in table:
        choice(slot, "an eliminated slot", may)
        one = slot in layout.server or len(law.sizes) == 1
        require(one, f"the client slot {slot} can be eliminated with one class only")
    left = [s for s in (*layout.server, *layout.client) if s not in table]
    found = {}
    for slot, row in table.items():
        terms = names(row, f"the combination for {slot}")
        found[slot] = {
            choice(name, f"a slot in the combination for {slot}", left): number(
                coefficient, "a coefficient"
            )
            for name, coefficient in terms.items()
        }
        at_rest = sum(c * equilibrium[name][0] for name, c in found[slot].items())
        require(
            at_rest == equilibrium[slot][0],
            f"the relation that eliminates {slot} must hold at equilibrium",
        )
    return found


def _value(value: object, case: Case) -> Value:
    c = entries(value, ["point", "delta"], "a value term")
    known = [*case.kept, *case.coordinates]
    point = {
        choice(name, "a coordinate of a value point", known): number(w, "a coefficient")
        for name, w in names(c["point"], "the point of a value term").items()
    }
    at_rest = {slot: alpha for slot, (alpha, _) in case.equilibrium.items()}
    at_rest |= {f"ghost:{j}.point": 1 for j in range(len(case.ghosts))}
    require(
        sum(w * at_rest.get(name, 0) for name, w in point.items()) == 1,
        "the point of a value term must be x* at equilibrium",
    )
    return Value(point, number(c["delta"], "delta"))


def _lyapunov(value: object, case: Case) -> tuple[Matrix, list[Matrix]]:
    c = entries(value, ["mean", "classes"], "V")
    mean = _matrix(c["mean"], len(case.state), "V.mean")
    classes = items(c["classes"], "V.classes", len(case.law.sizes))
    blocks = [
        _matrix(block, len(case.coordinates) if n > 1 else 0, f"V.classes[{q}]")
        for q, (block, n) in enumerate(zip(classes, case.law.sizes, strict=True))
    ]
    return mean, blocks


def _matrix(value: object, size: int, what: str) -> Matrix:
    rows = [items(row, f"a row of {what}", size) for row in items(value, what, size)]
    matrix = [[Fraction(number(x, f"an entry of {what}")) for x in row] for row in rows]
    symmetric = all(matrix[i][j] == matrix[j][i] for i in range(size) for j in range(i))
    require(symmetric, f"{what} must be symmetric")
    return matrix


def _part(
    what: str, c: dict[str, Any], points: list[str], sizes: tuple[int, int]
) -> Part:
    n_classes, n_values = sizes

    def rows(key: str, length: int) -> list[list[Any]]:
        listed = items(c.get(key, []), f"{what}.{key}")
        return [items(row, f"an entry of {what}.{key}", length) for row in listed]

    def bounds(key: str) -> list[Bound]:
        return [
            Bound(
                count(v, "the value of a bound", 0, n_values - 1),
                count(q, "a class", 0, n_classes - 1),
                choice(b, f"a point of {what}", points),
                number(w, "a weight"),
            )
            for v, q, b, w in rows(key, 4)
        ]

    multipliers = [
        Multiplier(
            count(q, "a class", 0, n_classes - 1),
            choice(a, f"a point of {what}", points),
            choice(b, f"a point of {what}", points),
            number(w, "a multiplier"),
        )
        for q, a, b, w in rows("multipliers", 4)
    ]
    return Part(multipliers, bounds("upper"), bounds("lower"))
