"""Appendix C.2.2 of the FOCUS paper: (48) and (49), lines of the proof of Lemma 2.

(48) goes back to iteration k_0 = tau floor(k/tau), where the models of (33)-(35) differ
still: W_{r tau} makes x_{r tau+1}. They are alike there if x_k = W_k y_k, as C.2 has it
where E xbar_k is taken. (49b) has f_i for f_i' in its first term: it
bounds the left of (49) all the same, and so does (49c), but not line (a), and (49c) is
no bound of (49b) even where all models are equal. Lemma 2 itself does not need what
fails here: `focus.lemma2` is proved with each of these lines mended.

Conventions: scalar clients in the instances, most of them f_i = (x - b_i)^2/2 at full
participation, so that sigma_G is finite and delta_q = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.claim import claim
from flverify.claims.fedavg_averages import weighted_mean
from flverify.claims.focus_lemma3 import sum_of_vectors
from flverify.claims.rationals import rational
from flverify.claims.stale_rows import ALONE
from flverify.claims.verdict import Finding

EVERY = "every N, law with q_i of sum 1, dimension, tau, eta and all models"
A, B, C, D = sympy.symbols("a b c d", real=True)
eta, L, mu, tau = sympy.symbols("eta L mu tau", positive=True)
Q, V, s, n = sympy.symbols("Q V s n", nonnegative=True)  # n = tau - 1

# (48) ----------------------------------------------------------------------------

X = Fraction(2)  # the model that is common at first


@dataclass(frozen=True)
class Run:
    """Iterates of (33)-(35), all taking part, from the common model X at `first`.

    W_k makes x_{k + made}.
    """

    minimisers: tuple[int, ...]
    local_steps: int
    first: int
    made: int
    step: Fraction = Fraction(1, 8)

    def rows(self, k: int) -> list[Fraction]:
        """Return x_k, iteration by iteration."""
        rows = [X] * len(self.minimisers)
        for j in range(self.first, k):
            rows = [
                x - self.step * g for x, g in zip(rows, self.slopes(rows), strict=True)
            ]
            mixed = j + 1 - self.made
            if mixed and mixed % self.local_steps == 0:
                rows = [sum(rows, Fraction(0)) / len(rows)] * len(rows)
        return rows

    def again(self, k: int) -> list[Fraction]:
        """Return x_k from the mean, which takes a step each time, in closed form."""
        since = k - self.first
        if k >= self.local_steps + self.made:
            since = (k - self.made) % self.local_steps
        centre = Fraction(sum(self.minimisers), len(self.minimisers))
        keep = 1 - self.step
        common = centre + keep ** (k - since - self.first) * (X - centre)
        return [b + keep**since * (common - b) for b in self.minimisers]

    def slopes(self, rows: list[Fraction]) -> list[Fraction]:
        """Return f_i'(x_i), f_i = (x - b_i)^2/2."""
        return [x - b for x, b in zip(rows, self.minimisers, strict=True)]

    def apart(self, k: int, back: int, *, again: bool) -> tuple[Fraction, ...]:
        """Return the three members of (48), k_0 being `back`."""
        at = self.again if again else self.rows
        many = len(self.minimisers)
        gaps = []  # grad f_i less the mean of all, for each k'
        for j in range(back, k):
            slopes = self.slopes(at(j))
            gaps.append([g - sum(slopes) / many for g in slopes])
        summed = (
            [sum(row, Fraction(0)) for row in zip(*gaps, strict=True)] if gaps else []
        )
        far = at(k)
        left = sum((x - sum(far) / many) ** 2 for x in far) / many
        middle = self.step**2 * sum((v**2 for v in summed), Fraction(0)) / many
        squares = sum((v**2 for row in gaps for v in row), Fraction(0))
        right = self.step**2 * (self.local_steps - 1) * squares / many
        return left, middle, right


OTHER = "x_k = W_k y_k, as where E xbar_k is taken; first index k = 0"
FIRST = {"first index k = 1": (1, 1), "first index k = 0": (0, 1), OTHER: (0, 0)}


@claim(
    "focus.lemma2.step48",
    source=Source("focus", "eq. (48), with k_0 of the line after it"),
    statement=r"\sum_iq_i\|\bar x_k-x_{k,i}\|^2=\sum_iq_i\Big\|x_{k_0}-\eta\sum_{k'="
    r"k_0}^{k-1}q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{k'})-x_{k_0}+\eta"
    r"\sum_{k'=k_0}^{k-1}\nabla f_i(x_{k',i})\Big\|^2\le\eta^2(\tau-1)\sum_i\sum_{k'="
    r"k_0}^{k-1}q_i\|q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{k'})-\nabla f_i("
    r"x_{k',i})\|^2,\quad k_0=\tau\lfloor k/\tau\rfloor",
    proposition="Along (33)-(35), where x_{k+1} = W_k y_{k+1} unless the reading says "
    "otherwise, started at consensus, x_{k_0} is common and both relations hold at "
    "every k, if the q_i sum to 1.",
    constants={"late": 0, "first": tuple(FIRST)},
    twin={"late": 1, "first": (OTHER,)},
    no_control="whether W_k makes x_{k+1} or x_k is unclear; the twin, k_0 one later, "
    "fails where the print passes",
)
def since_consensus(c: SimpleNamespace) -> Finding:
    """Follow (33)-(35); prove it where k_0 is the first k of a common model."""
    found = {name: _since(c.late, *FIRST[name]) for name in c.first}
    return judge.readings(found).corrected(
        r"\text{(48) with }k_0=\tau\lfloor(k-1)/\tau\rfloor+1\text{, first index }1",
        _since(1, 1, 1),
    )


def _since(late: int, first: int, made: int) -> Finding:
    """Judge (48) with k_0 = tau floor((k - late)/tau) + late, W_k making x_{k + made}.

    So k = r tau + late + m with 0 <= m < tau, and k_0 = r tau + late.
    """
    r, m, x, G, g = sympy.symbols("r m x G g")
    moved = [(f"W_{{k_0-{made}}} = W(S_r)", r * tau + late - made, r * tau)]
    kept = (x - eta * G) - (x - eta * g)
    proof = judge.all_of(
        {
            "x_{k_0} is common": judge.identity(moved, "every r and tau"),
            "x_{k_0} cancels": judge.identity(
                [("a row", sympy.expand(kept), sympy.expand(eta * g - eta * G))], EVERY
            ),
            "Jensen": sum_of_vectors(),
            "k - k_0 <= tau - 1": judge.implied(
                [m <= n, m >= 0], m * Q <= n * Q, EVERY
            ),
        }
    )
    equal = judge.instances(_cases_48(late, first, made, 0), "==", RUNS_48)
    below = judge.instances(_cases_48(late, first, made, 1), "<=", RUNS_48)
    search = judge.all_of({"equality": equal, "inequality": below})
    return judge.proof_or_search(proof, search)


RUNS_48 = "N = 2, 3; f_i = (x - b_i)^2/2; tau = 2, 3; three rounds"


def _cases_48(late: int, first: int, made: int, member: int) -> Iterator[judge.Case]:
    """Compare members `member` and `member` + 1 of (48)."""
    for b, steps in product(((-1, 1), (0, 1, 5)), (2, 3)):
        one = Run(b, steps, first, made)
        for k in range(first, first + 3 * steps + 1):
            back = steps * ((k - late) // steps) + late
            if back < first:  # before the first model
                continue
            where = {"h": [1] * len(b), "b": list(b), "law": f"full:{len(b)}"}
            where |= {"N": len(b), "tau": steps, "step size": one.step}
            where |= {"first index": first, "common model": X, "k": k, "k_0": back}
            left, right = one.apart(k, back, again=False)[member : member + 2]
            again = partial(_again_48, one, k, back, member)
            yield judge.Case(where, left, right, again)


def _again_48(one: Run, k: int, back: int, member: int) -> tuple[Any, Any]:
    left, right = one.apart(k, back, again=True)[member : member + 2]
    return left, right


# (49) ----------------------------------------------------------------------------

FROM_A = "(i) from line (a), for all models"
ITSELF = "(ii) by itself, gradients that are L-Lipschitz"
ITSELF_ALONE = f"(iii) by itself, {ALONE}"
FROM_B = "(i) from line (b)"


@claim(
    "focus.lemma2.step49b",
    source=Source("focus", "eq. (49b)"),
    statement=r"\|q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{k'})-\nabla f_i(x_{"
    r"k',i})\|^2\le\dots\le4\sum_{i'}q_{i'}\|\nabla f_{i'}(x_{k',i'})-\nabla f_i("
    r"\bar x_{k'})\|^2+4L^2\|\bar x_{k'}-x_{k',i}\|^2+4\delta_q^2+4\sigma_G^2",
    proposition="With q_i of sum 1, Assumption 5 and (29), the right side is (i) at "
    "least line (a) of (49) for all models; (ii), (iii) at least the left of (49).",
    constants={"factor": "4"},
    twin={"factor": "1/4"},
    no_control="with f_i for f_i' the line does not follow from the one before for all "
    "models, and bounds the left of (49) all the same; the twin, a sixteenth of the "
    "bound, fails under every reading",
)
def wrong_client(c: SimpleNamespace) -> Finding:
    """List one state for line (a); prove the rest by Jensen, or list lines' clients."""
    found = {
        FROM_A: judge.instances(_bumps(c.factor), "<=", "three clients, two scales"),
        ITSELF: judge.proof_or_search(
            _from_left(c.factor), judge.instances(_opposed(c.factor), "<=", OPPOSED)
        ),
        ITSELF_ALONE: judge.instances(_bent(c.factor, "b"), "<=", BENT),
    }
    return judge.readings(found).corrected(
        r"\le4\sum_{i'}q_{i'}\|\nabla f_{i'}(x_{k',i'})-\nabla f_{i'}(\bar x_{k'})\|^2+"
        r"\dots\text{ from line (a), gradients }L\text{-Lipschitz}",
        _from_a(),
    )


OPPOSED = "two clients f_i = (x - b_i)^2/2 at one model"
BENT = "f_i = -k x^2/2, L = 1"


def _from_a() -> Finding:
    """Bound the four terms of line (a), one by one."""
    moved, at_mean, apart = sympy.symbols("moved mean apart", nonnegative=True)
    held = [moved <= L**2 * V]
    return judge.all_of(
        {
            "first term": weighted_mean(EVERY),
            "second term": judge.implied([at_mean <= s], 4 * at_mean <= 4 * s, EVERY),
            "third term": judge.implied(held, 4 * moved <= 4 * L**2 * V, EVERY),
            "fourth term": judge.implied([apart <= s], 4 * apart <= 4 * s, EVERY),
        }
    )


def _from_left(factor: str) -> Finding:
    """Bound |sum q_i' (g_i' - g)|^2 by squares of g_i' - m and m - g.

    m = grad f_i(xbar), a = g_i' - m and b = m - g for one i'; T is the weighted sum of
    |g_i' - g|^2.
    """
    four = rational(factor)
    T, near, d = sympy.symbols("T near d", nonnegative=True)
    one = four * (A**2 + B**2) >= (A + B) ** 2
    held = [four * (Q + near) >= T, near <= L**2 * V]
    return judge.all_of(
        {
            "Jensen": weighted_mean(EVERY),
            "one client": judge.implied([], one, EVERY),
            "weights of sum 1": judge.implied(
                held, four * (Q + L**2 * V + d + s) >= T, EVERY
            ),
        }
    )


def _bumps(factor: str) -> Iterator[judge.Case]:
    """f_1' = s, and two clients whose slopes reach s at their own models alone."""
    for scale in (1, 3):
        where = {"f_1'": "s", "f_2'": "min(max(x, 0), s)", "f_3'": "min(max(-x, 0), s)"}
        where |= {"s": scale, "L": 1, "law": "full:3", "N": 3, "i": 1}
        where |= {"models": [0, scale, -scale]}
        spread = Fraction(2 * scale, 3)  # |f_1' - F'| between the bumps, the most
        square = spread**2
        where |= {"sigma_G^2": square, "delta_q^2": 0}
        left, right = 4 * square + 4 * square, Fraction(factor) * square
        again = partial(_bumps_again, factor, Fraction(scale))
        yield judge.Case(where, left, right, again)


def _bumps_again(factor: str, size: Fraction) -> tuple[Fraction, Fraction]:
    """Put the terms of lines (a) and (b) down; slopes change at -s, 0 and s alone."""
    zero = Fraction(0)

    def slopes(x: Fraction) -> list[Fraction]:
        return [size, min(max(x, zero), size), min(max(-x, zero), size)]

    def mean(x: Fraction) -> Fraction:
        return sum(slopes(x), zero) / 3

    models = [zero, size, -size]
    centre = sum(models, zero) / 3
    own = [slopes(x)[i] for i, x in enumerate(models)]
    gaps = [(g - mean(x)) ** 2 for x in models for g in slopes(x)]
    first = (sum(own, zero) / 3 - mean(centre)) ** 2
    last = (mean(models[0]) - own[0]) ** 2
    wrong = sum(((g - slopes(centre)[0]) ** 2 for g in own), zero) / 3
    near = (centre - models[0]) ** 2
    return 4 * first + 4 * last, Fraction(factor) * (wrong + near + max(gaps))


def _opposed(factor: str) -> Iterator[judge.Case]:
    """Models alike, slopes b and -b: the left is b^2, the sum 2 b^2, sigma_G^2 b^2."""
    for b in (1, 2):
        where = {"f_i": "(x - b_i)^2/2", "b": [-b, b], "law": "full:2", "N": 2, "i": 1}
        where |= {"models": [0, 0], "L": 1, "sigma_G^2": b**2, "delta_q^2": 0}
        slopes = [b, -b]
        again = sum(slopes) / Fraction(2) - slopes[0]
        terms = sum(Fraction((g - slopes[0]) ** 2, 2) for g in slopes) + slopes[1] ** 2
        right = Fraction(factor) * 3 * b**2
        check = cohorts.sides(again**2, Fraction(factor) * terms)
        yield judge.Case(where, b**2, right, check)


def _bent(factor: str, line: str) -> Iterator[judge.Case]:
    """f_i = -k x^2/2 for both, q = (1/10, 9/10), xbar = 0: no heterogeneity at all."""
    rare = Fraction(1, 10)
    for k in (5, 10):
        models = [Fraction(9), Fraction(-1)]
        where = {"f_i": "-k x^2/2", "k": k, "L": 1, "N": 2, "i": 1}
        where |= {
            "law": "one client, the first with chance 1/10",
            "q": [rare, 1 - rare],
        }
        where |= {"models": models, "sigma_G^2": 0, "delta_q^2": 0}
        slopes, q = [-k * x for x in models], [rare, 1 - rare]
        mean = sum(w * g for w, g in zip(q, slopes, strict=True))
        first = slopes if line == "b" else models
        moved = sum(w * g**2 for w, g in zip(q, first, strict=True))
        right = Fraction(factor) * (moved + models[0] ** 2)
        closed = Fraction(factor) * (9 * (k**2 if line == "b" else 1) + 81)
        check = cohorts.sides(Fraction(81 * k**2), closed)
        yield judge.Case(where, (mean - slopes[0]) ** 2, right, check)


@claim(
    "focus.lemma2.step49c",
    source=Source("focus", "eq. (49c)"),
    statement=r"\|q^{\mathsf T}\nabla\boldsymbol{f}(\boldsymbol{x}_{k'})-\nabla f_i(x_{"
    r"k',i})\|^2\le\dots\le4\sum_{i'}q_{i'}\|\nabla f_{i'}(x_{k',i'})-\nabla f_i("
    r"\bar x_{k'})\|^2+\dots\le4L^2\sum_{i'}q_{i'}\|x_{k',i'}-\bar x_{k'}\|^2+4L^2\|"
    r"\bar x_{k'}-x_{k',i}\|^2+4\delta_q^2+4\sigma_G^2",
    proposition="With q_i of sum 1, L-Lipschitz gradients, Assumption 5 and (29), line "
    "(c) is (i) at least line (b), at the common model from which a round starts and "
    "elsewhere; (ii), (iii) at least the left of (49).",
    constants={"factor": "4"},
    twin={"factor": "1/4"},
    no_control="with f_i for f_i' in line (b), (c) does not follow from it, and bounds "
    "the left of (49) all the same; the twin, a sixteenth of (c), fails under all "
    "readings",
)
def lipschitz(c: SimpleNamespace) -> Finding:
    """List a common model for line (b); bound the left by Jensen, term by term."""
    found = {
        FROM_B: judge.instances(_common(c.factor), "<=", OPPOSED),
        ITSELF: judge.proof_or_search(
            _all_four(c.factor), judge.instances(_at_once(c.factor), "<=", OPPOSED)
        ),
        ITSELF_ALONE: judge.instances(_bent(c.factor, "c"), "<=", BENT),
    }
    return judge.readings(found).corrected(
        r"4\sum_{i'}q_{i'}\|\nabla f_{i'}(x_{k',i'})-\nabla f_{i'}(\bar x_{k'})\|^2\le"
        r"4L^2\sum_{i'}q_{i'}\|x_{k',i'}-\bar x_{k'}\|^2",
        _own(4),
    )


def _own(factor: Any) -> Finding:
    """Bound w |grad f_i'(x_i') - grad f_i'(xbar)|^2, the same function twice."""
    moved, w = sympy.symbols("moved w", nonnegative=True)
    held, right = [moved <= L**2 * V], factor * L**2 * w * V
    return judge.implied(held, factor * w * moved <= right, EVERY)


def _all_four(factor: str) -> Finding:
    """Bound the square of the four differences of line (a), and each by (c)."""
    four = rational(factor)
    one = four * (A**2 + B**2 + C**2 + D**2) >= (A + B + C + D) ** 2
    return judge.all_of(
        {
            "Jensen": judge.implied([], one, EVERY),
            "terms": _from_a(),
            "first term": _own(four),
        }
    )


def _at_once(factor: str) -> Iterator[judge.Case]:
    """Models alike, slopes b and -b: the left is b^2, and sigma_G^2 all of (c)."""
    for b in (1, 2):
        where = {"f_i": "(x - b_i)^2/2", "b": [-b, b], "law": "full:2", "N": 2, "i": 1}
        where |= {"models": [0, 0], "L": 1, "sigma_G^2": b**2, "delta_q^2": 0}
        slopes, line_c = [b, -b], Fraction(factor) * b**2
        again = (sum(slopes) / Fraction(2) - slopes[0]) ** 2
        check = cohorts.sides(again, Fraction(factor) * slopes[1] ** 2)
        yield judge.Case(where, b**2, line_c, check)


def _common(factor: str) -> Iterator[judge.Case]:
    """Compare (b) and (c) where all models are equal: they differ in the first term."""
    for b in (1, 2):
        slopes = [b, -b]
        where = {"f_i": "(x - b_i)^2/2", "b": [-b, b], "law": "full:2", "N": 2, "i": 1}
        where |= {"models": [0, 0], "L": 1, "sigma_G^2": b**2, "delta_q^2": 0}
        first = sum(Fraction(4 * (g - slopes[0]) ** 2, 2) for g in slopes)
        left, right = first + 4 * b**2, Fraction(factor) * b**2
        check = cohorts.sides(Fraction(12 * b**2), Fraction(factor) * slopes[1] ** 2)
        yield judge.Case(where, left, right, check)
