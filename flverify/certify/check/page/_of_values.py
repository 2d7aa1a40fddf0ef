"""What a page runs besides, where it is about f(x) - f(x*) or a gradient of f."""

from __future__ import annotations

from fractions import Fraction

from ._proof import (
    NOTHING,
    STAR,
    X_0,
    Point,
    Points,
    Proof,
    Sum,
    demand,
    not_negative,
    total,
    weight,
)

# ----------------------------------------- f(x) - f(x*), f the mean of the f_i


class ProofOfValues(Proof):
    """A proof about f, for f_i of which mu may be negative; x* minimises f."""

    def located(self, x: Sum, points: Points) -> list[Point]:
        """Return for every client a point that lies at x."""
        found = []
        for i in self.clients:
            here = [p for (_, k), p in points.items() if k == i and p.x == x]
            demand(here != [], "f must be known where it is asked for")
            found.append(here[0])
        return found

    def gap(self, x: Sum, points: Points) -> Sum:
        """Return f(x) - f(x*); tangents at x* add up to a constant."""
        return total(p.f for p in self.located(x, points)) / self.n

    def slope(self, x: Sum, points: Points) -> Sum:
        """Return |grad f(x)|^2; `points` are those whose gradients are known."""
        g = total(p.g for p in self.located(x, points)) / self.n
        return g @ g

    def measured(self, x: Sum, points: Points, values: Points) -> Sum:
        """Return what is averaged, or what the condition says is not negative."""
        if self.of["of"] == "gap":
            return self.gap(x, points | values)
        if self.of["of"] == "gradient":
            return self.slope(x, points)
        gap: Sum = self.gap(x, points | values) * (2 * self.of["beta"])
        return self.slope(x, points) - gap

    def least(self, x: Sum, values: Points) -> Sum:
        """Return values of f above f(x*), times weights."""
        terms, here = [], Fraction(0)
        for v, factor in self.of["positivity"]["minimum"]:
            own = [values[v, i] for i in self.clients]
            terms.append(total(p.f for p in own) * (weight(factor) / self.n))
            here += factor if all(p.x == x for p in own) else 0
        at_x = self.of["of"] != "condition" or here >= self.of["v"] > 0
        demand(at_x, "V must be at least v (f(x) - f(x*))")
        return total(terms)

    def prove(self) -> None:
        """Judge the three sums."""
        of, rho, s, c = self.of, self.of["rho"], self.of["s"], self.of["c"]
        demand(-self.L <= self.mu < self.L and c >= 0, "mu and c must be in range")
        known = of["of"] in ("gap", "gradient", "condition")
        demand(known, "what is bounded must be known")
        if of["of"] == "condition":
            fits = 0 < rho < 1 and s >= 0 and of["beta"] > 0 and c == 0
        else:
            fits = rho == 1 and s > 0
        demand(fits, "rho, s, c and beta must be in range")
        spread = total(g @ g for g in self.stars) / self.n
        V, expected, at, points, values = self.round()
        left = V * rho - self.measured(at["model"], points, values) * s
        left += spread * c - expected
        not_negative("decrease", left - self.used(of["decrease"], points, values))
        positive = V - self.least(at["model"], values)
        positive -= self.used(of["positivity"], points, values)
        not_negative("size of V", positive)
        points = {("x*", i): Point() for i in self.clients}
        V, values = self.lyapunov(*self.begun(points), {}, "at the start")
        start = X_0 @ X_0 * of["C1"] + spread * of["C2"] - V
        start -= self.bounds(of["start"], points, values)
        start += self.gained(STAR + X_0, points, points | values)
        not_negative("start", start - self.used(of["start"], points, values))

    def gained(self, x: Sum, points: Points, known: Points) -> Sum:
        """Return C0 (f - f(x*)) at x_0, less what is not negative, with a weight."""
        C0, factor, found = self.of["C0"], weight(self.of["start"]["minimum"]), NOTHING
        if C0:
            found += self.gap(x, known) * C0
        if factor:  # f is at least f(x*) after a step of 1/L from x_0, too
            step = self.slope(x, points) / (2 * self.L)
            found -= (self.gap(x, known) - step) * factor
        return found
