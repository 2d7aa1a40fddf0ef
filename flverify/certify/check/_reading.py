"""Reading a certificate: every key, size and number is looked at before it is used.

What is read here is well formed; whether it proves anything is for `check` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flverify.reference import Population

from ._certificate import (
    Bound,
    Case,
    Certificate,
    Layout,
    Memory,
    Multiplier,
    Part,
    Value,
)
from ._forms import Form, Matrix, Number, form, vector
from ._json import choice, entries, items, names, number, require, text, whole
from ._law_outcomes import Law, read_law
from ._loops import settled, source_of
from ._playing import played
from ._wide import KEYS as MORE
from ._wide import STATEMENTS as WIDE
from ._wide import function_class, read_least, wide
from .one_by_one import Loop

FAMILIES = (
    "For all L-smooth and mu-strongly convex f_1, ..., f_N, x* the minimiser of "
    "their mean and every round r: "
)
STATEMENTS = {
    "rate": FAMILIES
    + "E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|grad f_i(x*)|^2).",
    "neighbourhood": FAMILIES
    + "E V_{r+1} <= rho E V_r - s E|x_r - x*|^2 + c mean|grad f_i(x*)|^2.",
}
KEYS = [
    *("format", "version", "statement", "kind", "level", "algorithm"),
    *("function_class", "law", "rho", "neighbourhood", "equilibrium", "eliminated"),
    *("calls", "memories", "values", "ghost_values", "V", "decrease", "positivity"),
    *("start", "digest"),
]

MOST_COLUMNS = 400
WORK = 50_000_000  # clients times gradients and columns, some ten seconds


def read(certificate: object, own: Loop | None = None) -> Certificate:
    """Return the certificate in numbers, or raise Rejected.

    A method of the user's own has its loop beside the certificate.
    """
    given = certificate.get("kind") if isinstance(certificate, dict) else None
    more = MORE.get(given, []) if isinstance(given, str) else []
    c = entries(certificate, KEYS + more, "a certificate")
    choice(c["format"], "format", ["flverify/certificate"])
    whole(c["version"], "version", 1, 1)
    text(c["digest"], "digest")
    kind = choice(c["kind"], "kind", ["rate", "neighbourhood", *MORE])
    mu, smoothness = function_class(c["function_class"], kind)
    own_parts = wide(c, kind)
    law = read_law(c["law"])
    case = _case(c, law, own)
    values = [_value(v, case) for v in items(c["values"], "values")]
    least = ["minimum"] * (own_parts is not None)
    keys = ["multipliers", "lower", *least]
    positivity = entries(c["positivity"], keys, "positivity")
    keys = ["multipliers", "upper", "lower"]
    decrease = entries(c["decrease"], keys, "decrease")
    keys = ["C1", "C2", "multipliers", "upper", *(["C0", *least] if least else [])]
    start = entries(c["start"], keys, "start")
    known, during, at_start = _points(case)
    sizes = (len(law.sizes), len(values))
    weight, constant = _neighbourhood(c["neighbourhood"], kind)
    if own_parts is not None:
        weight = own_parts.weight
        read_least(positivity["minimum"], start["minimum"], len(values))
    meaning = kind if own_parts is None else own_parts.meaning
    return Certificate(
        kind=kind,
        strong_convexity=mu,
        smoothness=smoothness,
        rho=number(c["rho"], "rho"),
        weight=weight,
        constant=constant,
        case=case,
        values=values,
        ghost_values=_ghost_values(c["ghost_values"], case),
        V=_lyapunov(c["V"], case),
        decrease=_part("decrease", decrease, during, sizes),
        positivity=_part("positivity", positivity, known, sizes),
        start=_part("start", start, at_start, sizes),
        C1=number(start["C1"], "C1"),
        C2=number(start["C2"], "C2"),
        words=_words(c, case, len(values), own, (STATEMENTS | WIDE)[meaning]),
        wide=own_parts,
        C0=0 if own_parts is None else number(start["C0"], "C0"),
    )


def _points(case: Case) -> tuple[list[str], list[str], list[str]]:
    """Return the points of a state, of a round from it, and of the start."""
    known = ["star", *(f"ghost:{j}" for j in range(len(case.ghosts)))]
    calls = [f"call:{k}" for k in range(case.calls)]
    zero = case.layout.zero
    phis = [f"start_ghost:{m}" for m, s in enumerate(case.memories) if s.slot in zero]
    fresh = [f"start_call:{k}" for k in range(case.layout.calls)]
    return known, [*known, *calls], ["star", *phis, *fresh]


def _ghost_values(value: object, case: Case) -> list[list[Number]]:
    rows = items(value, "ghost_values", len(case.law.sizes))
    return [
        [
            number(v, "a ghost value")
            for v in items(row, "ghost_values of a class", len(case.ghosts))
        ]
        for row in rows
    ]


def _words(
    c: dict[str, Any], case: Case, n_values: int, own: Loop | None, meant: str
) -> dict[str, tuple[str, str]]:
    """Return the words of a certificate beside those that the rest of it allows.

    The level counts what V knows: no point where a remembered gradient was taken, or
    these and the values at one, two or more points of the server, or all gradients at
    the points of the last round.
    """
    richer = ("lifted", "lifted", "previous point", "last step")[min(n_values, 3)]
    if any(memory.slot is None for memory in case.memories):
        richer = "previous gradients"
    level = richer if case.memories else "slots"
    algorithm = names(c["algorithm"], "algorithm")
    variant = algorithm["settings"].get("variant")
    source = source_of(algorithm["name"], variant, own)
    return {
        "statement": (text(c["statement"], "statement"), meant),
        "source": (text(algorithm["source"], "source"), source),
        "level": (text(c["level"], "level"), level),
    }


def _neighbourhood(value: object, kind: str) -> tuple[Number, Number]:
    if kind == "rate":
        require(value is None, "neighbourhood must be null for the kind 'rate'")
    if value is None and kind != "neighbourhood":
        return 0, 0
    c = entries(value, ["weight", "constant"], "neighbourhood")
    return number(c["weight"], "weight"), number(c["constant"], "constant")


def _case(c: dict[str, Any], law: Law, own: Loop | None) -> Case:
    start, play = settled(c["algorithm"], own)
    layout = _layout(start, law.n_clients)
    calls = whole(c["calls"], "calls", 1, MOST_COLUMNS)
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
        layout=layout,
        has_equilibrium=c["neighbourhood"] is None,
        equilibrium=equilibrium,
        eliminated=_eliminated(c["eliminated"], law, layout, lifted, equilibrium),
        calls=calls,
        memories=memories,
    )
    width = len(case.coordinates) + calls + 1
    columns = len(case.kept) + (len(law.sizes) + 1) * width
    require(columns <= MOST_COLUMNS, f"there must be at most {MOST_COLUMNS} columns")
    work = law.n_clients * calls * columns * len(law.configurations())
    require(work <= WORK, "the clients and their gradients are too many: too large")
    return case


def _layout(start: Callable[..., dict[str, Any]], n_clients: int) -> Layout:
    """Return the slots of a loop, those of clients that start at zero, and its calls.

    The loop starts from one vector, and every gradient is another.
    """
    points: list[Form] = []

    def gradient(_client: int, point: list[Form]) -> list[Form]:
        if form(point[0]) not in points:
            points.append(form(point[0]))
        return [vector("gradient")]

    everybody = Population(n_clients, [n_clients])
    state = played(start, gradient, everybody, [vector("x0")])
    client = tuple(slot for slot in state if isinstance(state[slot][0], list))
    zero = frozenset(slot for slot in client if not any(state[slot][0]))
    server = tuple(slot for slot in state if slot not in client)
    return Layout(server, client, zero, len(points))


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
    slot = None
    if c["slot"] is not None:
        slot = choice(c["slot"], "the slot of a memory", list(layout.client))
    listed = items(c["calls"], "the calls of a memory")
    require(len(listed) > 0, "a memory must hold a call")
    chosen = tuple(whole(k, "the call of a memory", 0, calls - 1) for k in listed)
    weights = items(c["weights"], "the weights of a memory", len(chosen))
    memory = Memory(slot, chosen, tuple(number(w, "a weight") for w in weights))
    if slot is None:
        held = any(weight != 0 for weight in memory.weights)
        require(not held, "a memory without a slot must have the weights 0")
        return memory
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
    lifted: list[str | None],
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
                whole(v, "the value of a bound", 0, n_values - 1),
                whole(q, "a class", 0, n_classes - 1),
                choice(b, f"a point of {what}", points),
                number(w, "a weight"),
            )
            for v, q, b, w in rows(key, 4)
        ]

    multipliers = [
        Multiplier(
            whole(q, "a class", 0, n_classes - 1),
            choice(a, f"a point of {what}", points),
            choice(b, f"a point of {what}", points),
            number(w, "a multiplier"),
        )
        for q, a, b, w in rows("multipliers", 4)
    ]
    return Part(multipliers, bounds("upper"), bounds("lower"))
