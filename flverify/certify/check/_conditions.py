"""A condition of a certificate: a quadratic form and the values that must cancel.

Interpolation inequalities and the bounds on values at points of the server enter here,
written as inner products of points and gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ._linear import (
    Gram,
    Matrix,
    Number,
    Vector,
    add,
    expand,
    form,
    require,
    tidy,
    zero_matrix,
)
from ._loops import Points, Role, Snapshot
from ._reading import Bound, Certificate, Multiplier


@dataclass
class Condition:
    """A quadratic form that must not be negative, and value symbols that must cancel.

    The form is that of the configuration: the mean columns, and the two clients with
    signs.  `total` is its matrix; `symbols` has the coefficient of the mean over a
    class of (n/N times) every value f_i at a point; `complaints` say which weights do
    not add up.
    """

    certificate: Certificate
    points: dict[Role, Points]
    counts: dict[Role, int]
    size: int
    total: Matrix = field(default_factory=list)
    grams: list[Gram] = field(default_factory=list)
    symbols: dict[tuple[int, str], Number] = field(default_factory=dict)
    fixed: dict[str, Vector] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = zero_matrix(self.size)
        self.grams = [{} for _ in self.certificate.case.law.sizes]
        for (q, _), points in self.points.items():
            self.symbols |= {(q, name): 0 for name in points if name != "star"}

    def share(self, count: int) -> Fraction:
        """Return count / N."""
        return Fraction(count, self.certificate.case.law.n_clients)

    def value(self, q: int, point: str, coefficient: Number) -> None:
        """Add a coefficient to the values f_i of a class at a point; f_i(x*) is 0."""
        if point != "star":
            self.symbols[q, point] += coefficient

    def every_value(self, point: str, coefficient: Number) -> None:
        """Add a coefficient to the values of all clients at a point."""
        for q in range(len(self.grams)):
            self.value(q, point, coefficient)

    def square(self, coefficient: Number, vector: Vector) -> None:
        """Add coefficient |vector|^2."""
        add(self.total, coefficient, form({(0, 0): 1}, {0: vector}, self.size))

    def stars(self, coefficient: Number, star: Mapping[Role, Vector]) -> None:
        """Add coefficient mean|g*|^2."""
        for role, vector in star.items():
            if coefficient:
                self.square(coefficient * self.share(self.counts[role]), vector)

    def lyapunov(self, coefficient: Number, state: Snapshot) -> None:
        """Add coefficient times the quadratic part of V at a state."""
        case = self.certificate.case
        T, blocks = self.certificate.V
        vectors: dict[Any, Vector] = {}
        for a, label in enumerate(case.state):
            slot = state.server[label[0]] if len(label) == 1 else None
            vectors[a] = state.class_mean(*label) if slot is None else slot
        gram: Gram = {
            (a, b): x for a, row in enumerate(T) for b, x in enumerate(row) if x
        }
        for q, S in enumerate(blocks):
            means = [state.class_mean(q, name) for name in case.coordinates if S]
            for group, (count, client) in enumerate(state.clients[q]):
                for a, mean in enumerate(means):
                    own = client[case.coordinates[a]]
                    pairs = zip(own, mean, strict=True)
                    vectors[q, group, a] = [tidy(x - y) for x, y in pairs]
                for a, row in enumerate(S):
                    for b, x in enumerate(row):
                        if x:
                            key = (q, group, a), (q, group, b)
                            gram[key] = self.share(count) * x
        add(self.total, coefficient, form(gram, vectors, self.size))

    def interpolate(self, multipliers: list[Multiplier]) -> None:
        """Subtract the multipliers times the interpolation inequalities q_ab >= 0."""
        mu = self.certificate.strong_convexity
        L = self.certificate.smoothness
        half = 1 / (2 * (1 - mu / L))
        for q, a, b, weight in multipliers:
            gram = self.grams[q]
            dx = [(1, ("x", a)), (-1, ("x", b))]
            dg = [(1, ("g", a)), (-1, ("g", b))]
            self.value(q, a, -weight)
            self.value(q, b, weight)
            expand(gram, weight, [(1, ("g", b))], dx)
            expand(gram, weight * half / L, dg, dg)
            expand(gram, weight * half * mu, dx, dx)
            expand(gram, -2 * weight * half * mu / L, dg, dx)
            if weight < 0:
                self.complaints.append("a multiplier must not be negative")

    def below(
        self, bounds: list[Bound], index: int, point: Vector, due: Number
    ) -> None:
        """Add due times the mean of f_i(point), bounded below by strong convexity."""
        self.fixed[f"w{index}"] = point
        for q, b, weight in self._weights(bounds, index, due):
            gap = [(1, f"w{index}"), (-1, ("x", b))]
            self.value(q, b, weight)
            expand(self.grams[q], weight, [(1, ("g", b))], gap)
            half = weight * self.certificate.strong_convexity / 2
            expand(self.grams[q], half, gap, gap)

    def above(
        self, bounds: list[Bound], index: int, mean: Vector, second: Matrix
    ) -> None:
        """Subtract delta times the mean of E f_i(w), bounded above by smoothness.

        `mean` and `second` are E w and E w w' of the random point.
        """
        self.fixed[f"mean{index}"] = mean
        due = self.certificate.values[index].delta
        for q, b, weight in self._weights(bounds, index, due):
            x, w = ("x", b), f"mean{index}"
            half = weight * self.certificate.smoothness / 2
            self.value(q, b, -weight)
            expand(self.grams[q], -weight, [(1, ("g", b))], [(1, w), (-1, x)])
            expand(self.grams[q], 2 * half, [(1, w)], [(1, x)])
            expand(self.grams[q], -half, [(1, x)], [(1, x)])
            add(self.total, -half * self._class_share(q), second)

    def _class_share(self, q: int) -> Fraction:
        return self.share(self.certificate.case.law.sizes[q])

    def _weights(
        self, bounds: list[Bound], index: int, due: Number
    ) -> Iterator[tuple[int, str, Number]]:
        """Yield class, point and weight of the bounds of one value term."""
        for q in range(len(self.grams)):
            found = [b for b in bounds if (b.value, b.q) == (index, q)]
            if sum(b.weight for b in found) != due or any(b.weight < 0 for b in found):
                self.complaints.append(
                    f"the weights of value {index} in class {q} must not be negative "
                    "and must add to its coefficient"
                )
            yield from ((q, b.point, b.weight) for b in found)

    def finish(self) -> None:
        """Add the inner products of the clients to the form."""
        for role, points in self.points.items():
            vectors: dict[Any, Vector] = dict(self.fixed)
            for name, (x, g) in points.items():
                vectors["x", name], vectors["g", name] = x, g
            gram = self.grams[role.q]
            if gram:
                matrix = form(gram, vectors, self.size)
                add(self.total, self.share(self.counts[role]), matrix)


@dataclass
class Findings:
    """The blocks, the coefficients of the values, and what does not add up."""

    blocks: dict[str, Matrix] = field(default_factory=dict)
    cancellations: dict[str, Fraction] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def take(
        self, name: str, condition: Condition, mean: list[int], own: list[int]
    ) -> None:
        """Split a finished condition; `own` is that of class condition.apart."""
        condition.finish()
        self.complaints += [f"{name}: {text}" for text in condition.complaints]
        for (q, point), coefficient in condition.symbols.items():
            self.cancellations[f"{name}/class {q}/{point}"] = Fraction(coefficient)
        total = condition.total
        block = [[total[i][j] for j in mean] for i in mean]
        same = self.blocks.setdefault(f"{name}/mean", block) == block
        crossed = any(total[i][j] for i in mean for j in own)
        require(same and not crossed, "clients of one class must be treated alike")
        apart = [role.q for role in condition.counts if role.sign]
        if apart:
            # the two clients with signs have |own|^2 / N each
            scale = Fraction(condition.certificate.case.law.n_clients, 2)
            self.blocks[f"{name}/class {apart[0]}"] = [
                [scale * total[i][j] for j in own] for i in own
            ]
