"""Sampled runs of a setting, drawn until the answer is clear or the budget is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, Refusal
from flverify._core.exact import Array, is_exact
from flverify._core.room import require_room
from flverify.engines.simulate import simulate
from flverify.testing import reproduce
from flverify.testing.functions import run_models
from flverify.testing.given import as_float, real
from flverify.testing.outcome import Status
from flverify.testing.rounding import rounding
from flverify.testing.sequential import BoundTest
from flverify.testing.setting import Setting
from flverify.testing.unseen import too_rare
from flverify.testing.written import number

FIRST = 64  # runs before the first look; then four times as many, and so on
RAREST = 1e-300  # false alarm: it is divided further
HEAVIEST = 1e100  # tail: its square is divided by
RESOLUTION = 1e-24  # squared errors below this share of the problem's size are rounding
NEAR = 1e-9  # relative: a first error of runs that is as close is that of the start
BLURRED = 1e4  # errors below this many times what x* may be off by are not told


@dataclass(frozen=True)
class Plan:
    """How an assertion may sample; see `plan`."""

    rounds: int
    seed: int
    false_alarm: float
    tail: float
    budget: int

    def looks(self) -> list[int]:
        """Numbers of runs after which the answer is looked for."""
        out, runs = [], FIRST
        while runs < self.budget:
            out.append(runs)
            runs *= 4
        return [*out, self.budget]

    def words(self, runs: int) -> str:
        """Say what was sampled, and what its answer may claim."""
        alpha = number(self.false_alarm)
        return (
            f"sampling: {runs} of at most {self.budget} runs of {self.rounds} rounds, "
            f"seed {self.seed}; a correct setting is called broken with probability at "
            f"most {alpha}, without any assumption; a broken one is accepted with "
            f"probability at most {alpha} if E e^2 <= {number(self.tail)} max(b, E "
            "e)^2 for the squared error e and the bound b of every tested round"
        )


def plan(
    rounds: object, seed: object, false_alarm: object, tail: object, budget: object
) -> Plan:
    """Check how an assertion may sample.

    Raises
    ------
    DomainError
        If a number lies outside its domain.
    """
    given = real(false_alarm, "false_alarm")
    alpha = as_float(given)
    if not RAREST <= alpha < 1:
        raise DomainError(
            f"false_alarm must lie between {RAREST:g} and 1; got {number(given)}; give "
            "a small probability."
        )
    assumed = real(tail, "tail")
    heavy = as_float(assumed)
    if not 1 <= heavy <= HEAVIEST:
        raise DomainError(
            "tail must be at least 1, since E e^2 >= (E e)^2, and at most "
            f"{HEAVIEST:g}; got {number(assumed)}; give one in between."
        )
    last = whole(rounds, "rounds")
    require_room(last + 1, "errors of all rounds")
    return Plan(
        last,
        whole(seed, "seed", least=0, most=(1 << 63) - 1),
        alpha,
        heavy,
        whole(budget, "budget", least=2),
    )


@dataclass(frozen=True)
class Sampled:
    """What sampling found about bounds on E|x_r - x*|^2.

    Parameters
    ----------
    status : Status
    runs : int
    means : (rounds + 1,) array
        Sample means of the squared error.
    first : int or None
        First round that breaks its bound, or that stands in the way of an answer.
    reason : str
        Why there is no answer.
    """

    status: Status
    runs: int
    means: Array
    first: int | None = None
    reason: str = ""


def squared_errors(asked: Setting, how: Plan, runs: range) -> Array | Refusal:
    """|x_r - x*|^2 of given runs, shape (runs, rounds + 1); infinite after overflow."""
    if asked.is_function:
        models = run_models(asked, how.seed, runs, how.rounds)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = models - np.asarray(asked.minimiser, dtype=np.float64)
            errors = (gaps * gaps).sum(axis=-1)
    else:
        found = simulated(asked, how, runs.stop)
        if isinstance(found, Refusal):
            return found
        errors = found.errors[runs.start :]
    return np.where(np.isfinite(errors), errors, np.inf)


def simulated(asked: Setting, how: Plan, runs: int, *, models: bool = False) -> Any:
    """Trajectories of the first runs; a run depends on (seed, run) alone."""
    try:
        return simulate(
            asked.problem,
            asked.algorithm,
            asked.participation,
            rounds=how.rounds,
            runs=runs,
            seed=how.seed,
            start=asked.begin.tolist(),
            keep_models=models,
        )
    except OverflowError:
        why = "a number of the setting lies beyond the range of floats."
        return Refusal("sampling", why)


def elsewhere(asked: Setting, how: Plan, off: float) -> str:
    """Say that a run of an algorithm does not begin at the start; empty if it does.

    `off` is how far off the distance of the start from x* may be.
    """
    if asked.is_function:  # whose first model is looked at in every run
        return ""
    errors = squared_errors(asked, replace(how, rounds=1), range(1))
    if isinstance(errors, Refusal):
        return str(errors)
    first, begun = as_float(asked.first_error), float(errors[0, 0])
    if abs(begun - first) <= NEAR * max(begun, first) + _doubt(first, off):
        return ""
    return (
        f"init of {type(asked.algorithm).__name__} moves the model: |x_0 - x*|^2 is "
        f"{number(begun)}, and {number(first)} at the start; sample a method that "
        "begins at the start"
    )


def judge(asked: Setting, bounds: Array, how: Plan) -> Sampled:
    """Test E|x_r - x*|^2 <= bounds[r] for r = 0, ..., rounds by sampling."""
    first = as_float(asked.first_error)
    blurred = BLURRED * asked.blur
    off = rounding(asked, how.seed, how.rounds)
    fine = max(RESOLUTION * asked.size**2, blurred * blurred)
    tested = np.flatnonzero(bounds[1:] > fine) + 1
    at_first = 0.0 if is_exact(asked.first_error) else _doubt(first, float(off[0]))
    moved, begun = elsewhere(asked, how, float(off[0])), ""
    known = _without_runs(first, at_first, bounds, tested, moved)
    if known is not None:
        return known
    if at_first > 1e-12 * bounds[0] and first + at_first > bounds[0]:
        begun = "x* in floats is too far off to tell round 0; pass rationals"
    test = BoundTest(bounds[tested], how.false_alarm, how.tail, off[tested])
    done, hidden = 0, ""
    for runs in how.looks():
        errors = squared_errors(asked, how, range(done, runs))
        if isinstance(errors, Refusal):
            return Sampled(
                Status.INCONCLUSIVE, done, np.array([first]), reason=str(errors)
            )
        test.add(errors[:, tested])
        done = runs
        if test.broken:
            broken = int(tested[test.first_break])
            return Sampled(
                Status.BROKEN, done, _means(first, test, tested, how), broken
            )
        if test.holds and len(tested) == how.rounds:
            hidden = begun or too_rare(asked.participation, runs, how.rounds)
            if not hidden:
                return Sampled(Status.HOLDS, done, _means(first, test, tested, how))
    means = _means(first, test, tested, how)
    if test.holds and hidden:
        place = 0 if begun else how.rounds
        return Sampled(Status.INCONCLUSIVE, done, means, place, hidden)
    place, why = _unclear(test, tested, how)
    return Sampled(Status.INCONCLUSIVE, done, means, place, why)


def _doubt(error: float, off: float) -> float:
    """How far off a squared length may be whose root may be off."""
    return (2 * math.sqrt(error) + off) * off


def _without_runs(
    first: float, off: float, bounds: Array, tested: Array, moved: str
) -> Sampled | None:
    """Answer where nothing has to be sampled, or nothing can be.

    `off` is how far off the first error itself may be; `moved` why it is another.
    """
    means = np.array([first])
    if moved:
        return Sampled(Status.INCONCLUSIVE, 0, means, 0, moved)
    if not np.isfinite(bounds).all():
        why = "a bound lies beyond the largest float, about 1.8e308; give a smaller one"
        return Sampled(Status.INCONCLUSIVE, 0, means, 0, why)
    if first > bounds[0] * (1 + 1e-12) + off:
        return Sampled(Status.BROKEN, 0, means, 0)
    if len(tested):
        return None
    why = "every bound lies below the rounding of floats; test fewer rounds"
    return Sampled(Status.INCONCLUSIVE, 0, means, 1, why)


def _means(first: float, test: BoundTest, tested: Array, how: Plan) -> Array:
    out = np.full(how.rounds + 1, np.nan)
    out[0], out[tested] = first, test.means
    return out


_HIDDEN = (
    "from round {} on a bound lies below the rounding of floats; test fewer rounds"
)


def _unclear(test: BoundTest, tested: Array, how: Plan) -> tuple[int, str]:
    """Name the first round without an answer, and why there is none."""
    unclear = test.unclear
    if len(unclear):
        place = int(tested[unclear[0]])
        if test.hidden[unclear].any():
            return int(tested[test.hidden][0]), _HIDDEN.format(tested[test.hidden][0])
        return place, (
            f"after {test.runs} runs neither answer is clear at round {place}; raise "
            "budget, test fewer rounds, or assume a smaller tail if that is true"
        )
    if not test.plausible:
        worst = int(tested[test.heaviest])
        return worst, (
            f"the sample has E e^2 = {test.sample_tail:.3g} max(b, E e)^2 at round "
            f"{worst}, against the assumed {number(how.tail)}; assume a larger tail, "
            "or test fewer rounds"
        )
    place = next(r for r in range(1, how.rounds + 1) if r not in set(tested.tolist()))
    return place, _HIDDEN.format(place)


def words(asked: Setting, how: Plan, found: Sampled, bounds: Array) -> dict[str, str]:
    """Say what was sampled, as the parts of an outcome."""
    place = how.rounds if found.first is None else found.first
    place = min(place, len(found.means) - 1)
    values = f"{found.means[place]:.6g}, allowed {bounds[place]:.6g}"
    broken = found.status == Status.BROKEN
    return {
        "found": f"mean of |x_r - x*|^2 at round {place}: {values}",
        "first_break": f"{place} (seen first): sample mean {values}" if broken else "",
        "reason": found.reason,
        "answered_by": how.words(found.runs),
        "setting": asked.text_with_start,
        "reproduce": repeated(asked, how, max(found.runs, 1), place),
    }


def repeated(asked: Setting, how: Plan, runs: int, place: int) -> str:
    """Return what samples the same errors again."""
    start = [f"--start={','.join(map(str, asked.begin.tolist()))}"]
    sizes = {"rounds": how.rounds, "runs": runs, "seed": how.seed, "at": place}
    more = [word for k, v in sizes.items() for word in (f"--{k}", str(v))]
    command = reproduce.command("simulate", asked, *more, *start)
    return command or script(asked, how, runs, f".mean()[{place}]", "")


def script(asked: Setting, how: Plan, runs: int, wanted: str, of_models: str) -> str:
    """Return the lines that sample again, and print what is wanted of the runs."""
    begin = reproduce.numbers(asked.begin)
    if asked.is_function:
        lines = [
            "from flverify.testing.functions import run_models",
            "from flverify.testing.setting import setting",
        ]
        asks = f"setting(problem, algorithm, law, {begin})"
        call = f"run_models({asks}, {how.seed}, range({runs}), {how.rounds})"
        return reproduce.script(asked, lines, f"print({call}{of_models})")
    call = (
        f"simulate(problem, algorithm, law, rounds={how.rounds}, runs={runs}, "
        f"seed={how.seed}, start={begin})"
    )
    lines = ["from flverify import simulate"]
    return reproduce.script(asked, lines, f"print({call}{wanted})")
