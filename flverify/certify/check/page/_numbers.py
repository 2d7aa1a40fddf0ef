"""The numbers of a page: what is proved, and V with every client written out."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flverify.certify.check.plain._groups import FEW, Point, State, casts
from flverify.certify.check.plain._proof import Proof
from flverify.certify.check.plain._sums import (
    NOTHING,
    TooManyError,
    Vector,
    demand,
    exact,
    unknown,
)


def numbers(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `_proof.Proof` is given; certificates are not judged here.

    Raises
    ------
    TooManyError
        If there are more than six clients.
    """
    c = exact(dict(certificate))
    few = f"a page has at most {FEW} clients; got {{}}"
    many = sum(g.many for g in casts(c.law)[0])
    demand(many <= FEW, few.format(many), TooManyError)
    return _Written(c).numbers()


class _Written:
    """A certificate with its clients written out, in the words of the short checker."""

    def __init__(self, c: Any) -> None:
        self.c, [self.cast] = c, casts(c.law)
        self.of = Proof(c, self.cast)
        self.stacks = self.of.stacks
        self.places = range(len(self.cast))

    def numbers(self) -> dict[str, Any]:
        c, of = self.c, self.of
        pairs, values = self.lyapunov()
        return {
            "n_clients": len(self.cast),
            "law": self.law(),
            "mu": of.mu,
            "L": of.L,
            "settings": vars(c.algorithm.settings),
            "rho": c.rho,
            **self.constants(),
            "C1": c.start.C1,
            "C2": c.start.C2,
            "server_slots": [x for x in vars(c.equilibrium) if x not in self.stacks],
            "client_slots": self.stacks,
            "free": [
                *of.kept,
                *(f"{slot}.{i}" for slot in of.slots for i in self.places),
            ],
            "memories": self.memories(),
            "made": [self.remembered(), *self.invariants()],
            "values": {
                f"value:{v}": _named(self.combination(value.point))
                for v, value in enumerate(c.values)
            },
            "V": pairs,
            "V_values": values,
            "decrease": self.part(c.decrease),
            "positivity": self.part(c.positivity),
            "start": self.part(c.start),
        }

    def constants(self) -> dict[str, Any]:
        """Return s, c, and what else a bound on values has."""
        c, near, nothing = self.c, self.c.neighbourhood, Fraction(0)
        s, constant = (near.weight, near.constant) if near else (nothing, nothing)
        if c.kind == "average":
            own = {"of": c.average.of, "C0": c.start.C0}
            return {"s": c.average.weight, "c": constant, **own}
        if c.kind == "gap":
            own = {"of": "condition", "beta": c.dominance.beta, "v": c.dominance.v}
            return {"s": c.dominance.weight, "c": nothing, **own, "C0": c.start.C0}
        return {"s": s, "c": constant}

    def law(self) -> dict[str, Any]:
        law, n = self.c.law, len(self.cast)
        if law.kind == "uniform_cohort":
            return {"kind": law.kind, "cohort_size": law.cohort_size}
        if law.kind == "all_or_nothing":
            return {"kind": law.kind, "probability": law.probability}
        inclusion = [Fraction(1)] * n
        if law.kind == "bernoulli":
            inclusion = [law.classes[g.q].inclusion for g in self.cast]
        return {"kind": "bernoulli", "inclusion": inclusion}

    def memories(self) -> dict[str, Any]:
        found = {}
        begun, _ = self.of.started()
        for j, slot, k, _ in self.of.ghosts:
            start = "x*" if slot is None else "start:0"
            if slot is not None and not any(begun.at[slot]):
                start = f"start_ghost:{self.of.lifted.index(slot)}"
            found[j] = {"all": slot is None, "call": f"call:{k}", "start": start}
        return found

    def remembered(self) -> dict[str, dict[str, Fraction]]:
        """Return slots that hold gradients."""
        found: dict[str, dict[str, Fraction]] = {}
        for j, slot, _, weight in self.of.ghosts:
            for i in self.places if slot is not None else ():
                row = found.setdefault(f"{slot}.{i}", {})
                row[f"{j}.gradient.{i}"] = weight
                row[f"g*.{i}"] = row.get(f"g*.{i}", Fraction(0)) + weight
        return found

    def invariants(self) -> list[dict[str, dict[str, Fraction]]]:
        """Return what a slot is by the others; of clients, its mean."""
        found = []
        for slot, row in self.of.relations.items():
            due = self.combination(row)
            if slot in self.stacks:
                due = due - self.symbols().mean(slot)
            own = self.each(slot) if slot in self.stacks else [NOTHING]
            names = (
                [f"{slot}.{i}" for i in self.places] if slot in self.stacks else [slot]
            )
            pairs = zip(names, own, strict=True)
            found.append({name: _named(due + x) for name, x in pairs})
        return found

    def each(self, name: str) -> list[Vector]:
        return [unknown(f"{name}.{i}") for i in self.places]

    def symbols(self) -> State:
        """Return a state of which every part is its own name."""
        of = self.of
        at: dict[str, list[Any]] = {}
        for name in vars(self.c.equilibrium):
            own = name in self.stacks
            at[name] = self.each(name) if own else [unknown(name)] * len(self.cast)
        at |= {name: self.each(name) for name in of.own if name not in at}
        valued = [j for j, *_ in of.ghosts]
        valued += [f"value:{v}" for v in range(len(self.c.values))]
        for name in valued:
            at[name] = [Point(f=unknown("f", name, i)) for i in self.places]
        return State(self.cast, at)

    def combination(self, row: Any) -> Vector:
        return self.of.combination(self.symbols(), row)

    def lyapunov(self) -> tuple[dict[str, dict[str, Fraction]], list[list[Any]]]:
        """Return V: weights of inner products, and of values."""
        of, values = self.of, []
        rows: dict[str, dict[str, Fraction]] = {}
        of.rest = self.rest()
        for key, x in of.lyapunov(self.symbols()).items():
            if len(key) == 3:
                values.append([*key[1:], x])
                continue
            first, second = sorted(name for (name,) in key)
            row = rows.setdefault(first, {})
            row[second] = row.get(second, Fraction(0)) + x
        return rows, values

    def rest(self) -> State:
        """Return where V is measured from, by the names of x* and of the g*_i."""
        star, at = unknown("x*"), {}
        for slot, (alpha, beta) in vars(self.c.equilibrium).items():
            at[slot] = [star * alpha + g * beta for g in self.each("g*")]
        for j, *_ in self.of.ghosts:
            at[f"{j}.point"] = [star] * len(self.cast)
            at[f"{j}.gradient"] = [NOTHING] * len(self.cast)
        return State(self.cast, at)

    def part(self, part: Any) -> dict[str, Any]:
        """Return inequalities, client by client, with the weights of their mean."""
        found: dict[str, Any] = {}
        rows = {"interpolation": part.multipliers}
        rows |= {key: vars(part).get(key, []) for key in ("lower", "upper")}
        for key, listed in rows.items():
            found[key] = []
            for row in listed:
                q, a, b, x = row if key == "interpolation" else _of_value(row)
                for i in self.places:
                    if self.cast[i].q == q and x:
                        found[key].append([i, _known(a), _known(b), x / len(self.cast)])
        least = vars(part).get("minimum")  # weights of values, or one weight
        if isinstance(least, list):
            found["minimum"] = [[f"value:{v}", x] for v, x in least if x]
        elif least is not None:
            found["minimum"] = least
        return found


def _of_value(row: list[Any]) -> tuple[int, str, str, Fraction]:
    v, q, b, x = row
    return q, f"value:{v}", b, x


def _known(name: str) -> str:
    """Return the name of a point in a page."""
    return "x*" if name == "star" else name.replace("start_call:", "start:")


def _named(row: Vector) -> dict[str, Fraction]:
    return {name: x for (name,), x in row.items()}
