"""The three conditions of a certificate: quadratic forms and values that must cancel.

Interpolation inequalities and the bounds on values at points of the server enter here,
written as inner products of points and gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ._certificate import Bound, Certificate, Multiplier
from ._forms import (
    ONE,
    Form,
    Gram,
    Label,
    Matrix,
    Moment,
    Number,
    Total,
    add,
    block,
    certainly,
    form,
    inner,
    vector,
)
from ._json import require
from ._playing import ALIKE, NOTHING, Frame, Round, Snapshot, Start


class Condition:
    """A quadratic form that must not be negative, and values that must cancel.

    The form is that of the configuration: the mean vectors, and the two clients with
    signs.  `values` has the coefficient of the mean over a class of (n/N times) every
    value f_i at a point.  `old` and `new` are sums over every class, in its points x
    and gradients g there and in the points w of the value terms, at the state before
    or after.  `complaints` say which weights are wrong.
    """

    def __init__(self, c: Certificate, frame: Frame) -> None:
        self.c, self.frame = c, frame
        self.total = Total()
        self.values = NOTHING
        self.old: list[Gram] = [{} for _ in c.case.law.sizes]
        self.new: list[Gram] = [{} for _ in c.case.law.sizes]
        self.complaints: list[str] = []

    def square(self, weight: Number, x: Form) -> None:
        """Add weight |x|^2."""
        require(x.certain, "what is squared must not depend on who participates")
        add(self.total, weight, {(ONE, ONE): 1}, {ONE: x}, {ONE: x})

    def stars(self, weight: Number) -> None:
        """Add weight mean|g*|^2."""
        for kind in self.frame.kinds:
            share = Fraction(kind.many, self.c.case.law.n_clients)
            self.square(weight * share, self.frame.star(kind))

    def value(self, q: int, point: str, weight: Number) -> None:
        """Add a weight to the values f_i of a class at a point; f_i(x*) is 0."""
        if point != "star":
            self.values += vector(q, point) * weight

    def lyapunov(
        self, weight: Number, state: Snapshot, moment: Moment = certainly
    ) -> None:
        """Add weight times E V of a state, without its values at points of the server.

        V = u'T u + (1/N) sum_i d_i'S d_i and the values at ghosts, u the class means
        and d_i the deviation of a client from its class.
        """
        case, (T, blocks) = self.c.case, self.c.V
        u = {v: state.mean(v[-1], *v[:-1]) for v in case.state}
        add(self.total, weight, _gram(T, case.state), u, u, moment)
        for group, own in state.clients:
            q = group.kind.q
            names: list[Label] = [(name,) for name in case.coordinates if blocks[q]]
            d = {v: own[v[0]] - state.mean(v[0], q) for v in names}
            many = {v: x * group.many / case.law.n_clients for v, x in d.items()}
            add(self.total, weight, _gram(blocks[q], names), many, d, moment)
            part = (form(group.many) / case.law.sizes[q]).expected(moment).number()
            ghosts = state.ghosts[group.kind, group.takes]
            for name, v in zip(ghosts, self.c.ghost_values[q], strict=True):
                self.value(q, name, weight * part * v)

    def interpolate(self, multipliers: list[Multiplier]) -> None:
        """Subtract the multipliers times the interpolation inequalities q_ab >= 0.

        q_ab = f_a - f_b - <g_b, a - b> - h (|g_a - g_b|^2/L + mu |a - b|^2
        - 2 (mu/L) <g_a - g_b, a - b>), with h = 1/(2 (1 - mu/L)).
        """
        mu, L = self.c.strong_convexity, self.c.smoothness
        for q, a, b, weight in multipliers:
            dx = vector("x", a) - vector("x", b)
            dg = vector("g", a) - vector("g", b)
            h = weight / (2 * (1 - mu / L))
            inner(self.old[q], weight, vector("g", b), dx)
            inner(self.old[q], h / L, dg, dg)
            inner(self.old[q], h * mu, dx, dx)
            inner(self.old[q], -2 * h * mu / L, dg, dx)
            self.value(q, a, -weight)
            self.value(q, b, weight)
            self.require(weight >= 0, "a multiplier must not be negative")

    def below(self, bounds: list[Bound], v: int, due: Number) -> None:
        """Add due times the mean of f_i(w) before, bounded by strong convexity.

        f_i(w) >= f_b + <g_b, w - b> + (mu/2) |w - b|^2 at every known point b.
        """
        self._weights(bounds, v, due)
        for _, q, b, weight in (bound for bound in bounds if bound.value == v):
            self._tangent(self.old[q], (v, q, b), weight, self.c.strong_convexity)

    def above(self, bounds: list[Bound], v: int) -> None:
        """Subtract delta times the mean of f_i(w) after, bounded by smoothness.

        f_i(w) <= f_b + <g_b, w - b> + (L/2) |w - b|^2 at every known point b.
        """
        self._weights(bounds, v, self.c.values[v].delta)
        for _, q, b, weight in (bound for bound in bounds if bound.value == v):
            self._tangent(self.new[q], (v, q, b), -weight, self.c.smoothness)

    def _weights(self, bounds: list[Bound], v: int, due: Number) -> None:
        for q in range(len(self.old)):
            weights = [b.weight for b in bounds if (b.value, b.q) == (v, q)]
            self.require(
                sum(weights) == due and all(weight >= 0 for weight in weights),
                f"the weights of value {v} in class {q} must not be negative "
                "and must add to its coefficient",
            )

    def _tangent(
        self, gram: Gram, at: tuple[int, int, str], weight: Number, curvature: Fraction
    ) -> None:
        v, q, b = at
        gap = vector("w", v) - vector("x", b)
        inner(gram, weight, vector("g", b), gap)
        inner(gram, weight * curvature / 2, gap, gap)
        self.value(q, b, weight)

    def require(self, holds: bool, complaint: str) -> None:
        """Keep a complaint unless the condition holds."""
        self.complaints += [] if holds else [complaint]

    def put(
        self, grams: list[Gram], state: Snapshot, moment: Moment = certainly
    ) -> None:
        """Add E of the sums over the classes, with the value points of a state."""
        at: dict[Label, Form] = {
            ("w", v): state.point(value.point) for v, value in enumerate(self.c.values)
        }
        for kind in self.frame.kinds:
            for name, (x, g) in self.frame.points[kind].items():
                at["x", name], at["g", name] = x, g
            share = Fraction(kind.many, self.c.case.law.n_clients)
            add(self.total, share, grams[kind.q], at, at, moment)


def _gram(matrix: Matrix, labels: list[Label]) -> Gram:
    rows = zip(labels, matrix, strict=bool(labels))
    return {(u, v): x for u, row in rows for v, x in zip(labels, row, strict=True) if x}


def decrease(c: Certificate, frame: Round) -> Condition:
    """Return rho V - s |x|^2 + c mean|g*|^2 - E V+, minus the inequalities used."""
    played = [(o.moment, frame.after(o)) for o in c.case.law.outcomes(frame.apart)]
    certain = sum(moment(()) for moment, _ in played)
    require(certain == 1, "the probabilities of the outcomes must add to one")
    frame.end()
    # only now is known where every client takes its gradients
    when = "after every round"
    outcomes = [(moment, frame.completed(after, when)) for moment, after in played]
    condition = Condition(c, frame)
    condition.lyapunov(c.rho, frame.before)
    condition.square(-c.weight, frame.before.mean("model"))
    if c.kind == "neighbourhood":
        condition.stars(c.constant)
    condition.interpolate(c.decrease.multipliers)
    for v in range(len(c.values)):
        _old_value(condition, frame, v)
        condition.above(c.decrease.upper, v)
    condition.put(condition.old, frame.before)
    for moment, after in outcomes:
        condition.lyapunov(-1, after, moment)
        condition.put(condition.new, after, moment)
    return condition


def _old_value(condition: Condition, frame: Round, v: int) -> None:
    """Add rho delta times the mean of f_i(w); exact where w is the point of a call."""
    c = condition.c
    due, w = c.rho * c.values[v].delta, frame.before.point(c.values[v].point)
    for k in range(c.case.calls):
        if all(at[f"call:{k}"][0] == w for at in frame.points.values()):
            for q in range(len(c.case.law.sizes)):
                condition.value(q, f"call:{k}", due)
            condition.require(
                all(bound.value != v for bound in c.decrease.lower),
                f"the old value {v} is that of call {k}; it takes no bound",
            )
            return
    condition.below(c.decrease.lower, v, due)


def positivity(c: Certificate, frame: Round) -> Condition:
    """Return V - |x|^2, or V where a neighbourhood has a weight."""
    condition = Condition(c, frame)
    condition.lyapunov(1, frame.before)
    if c.weight == 0:
        condition.square(-1, frame.before.mean("model"))
    condition.interpolate(c.positivity.multipliers)
    for v, value in enumerate(c.values):
        condition.below(c.positivity.lower, v, value.delta)
    condition.put(condition.old, frame.before)
    return condition


def start(c: Certificate, frame: Start) -> Condition:
    """Return C1 |x_0|^2 + C2 mean|g*|^2 - V_0."""
    condition = Condition(c, frame)
    condition.lyapunov(-1, frame.state)
    condition.square(c.C1, vector("start"))
    condition.stars(c.C2)
    condition.interpolate(c.start.multipliers)
    for v in range(len(c.values)):
        condition.above(c.start.upper, v)
    condition.put(condition.old, frame.state)
    condition.put(condition.new, frame.state)
    return condition


@dataclass
class Findings:
    """The blocks, the coefficients of the values, and what does not add up."""

    blocks: dict[str, Matrix] = field(default_factory=dict)
    cancellations: dict[str, Fraction] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def take(
        self, name: str, condition: Condition, mean: list[Label], names: list[str]
    ) -> None:
        """Split a condition into the block of the means and that of one class."""
        frame, total = condition.frame, condition.total.gram()
        self.complaints += [f"{name}: {text}" for text in condition.complaints]
        for kind, points in frame.points.items():
            for point in points.keys() - {"star"}:
                found = Fraction(condition.values.terms.get(((kind.q, point), ()), 0))
                key = f"{name}/class {kind.q}/{point}"
                require(self.cancellations.setdefault(key, found) == found, ALIKE)
        own = [("own", label) for label in names if frame.apart is not None]
        known = {v for pair in total for v in pair} <= {*mean, *own}
        require(known, "the vectors of a condition must be its coordinates")
        both = block(total, [*mean, *own])
        middle = [row[: len(mean)] for row in both[: len(mean)]]
        same = self.blocks.setdefault(f"{name}/mean", middle) == middle
        crossed = any(any(row[len(mean) :]) for row in both[: len(mean)])
        require(same and not crossed, ALIKE)
        if frame.apart is not None:
            # the two clients with signs have |own|^2 / N each
            scale = Fraction(condition.c.case.law.n_clients, 2)
            self.blocks[f"{name}/class {frame.apart}"] = block(total, own, scale)


def conditions(c: Certificate) -> Findings:
    """Return the blocks and coefficients of all conditions."""
    findings = Findings()
    for apart in c.case.law.configurations():
        frame = Round(c.case, apart)
        known = positivity(c, frame)
        findings.take("positivity", known, c.case.state, c.case.coordinates)
        findings.take("decrease", decrease(c, frame), frame.mean, frame.own)
        begun = Start(c.case, apart)
        findings.take("start", start(c, begun), begun.mean, begun.own)
    return findings
