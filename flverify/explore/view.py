"""What the explorer looks at: one setting, its text in a URL, and the map's axis.

A view is plain data. Its numbers are kept as the text they were given as, which
`parse_number` reads exactly, so that a shared view is the same view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flverify._core.checks import choice, whole
from flverify._core.errors import DomainError, FlverifyError, FormatError, InputError
from flverify._core.exact import parse_number
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.fedavg import FedAvg
from flverify.algorithms.fedvarp import FedVarp
from flverify.algorithms.focus import Focus
from flverify.algorithms.gradient_descent import GradientDescent
from flverify.algorithms.mifa import Mifa
from flverify.algorithms.proxskip import ProxSkip
from flverify.algorithms.scaffold import Scaffold
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.uniform_cohort import UniformCohort

ALGORITHMS = (
    *("focus", "fedavg", "scaffold", "mifa", "fedvarp"),
    *("proxskip", "gradient_descent"),
)
LAW_WORDS: Mapping[str, str] = {  # what a reader sees
    "full": "everybody",
    "bernoulli": "independent",
    "uniform": "uniform cohort",
    "all_or_nothing": "all or nothing",
    "bernoulli_spread": "two probabilities",
}
LAWS = tuple(LAW_WORDS)
LAW_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "full": (),
    "bernoulli": ("probability",),
    "uniform": ("cohort",),
    "all_or_nothing": ("probability",),
    "bernoulli_spread": ("p_min", "p_max"),
}
OVER = ("tau", "p", "n", "kappa")
ONE_STEP = ("proxskip", "gradient_descent")  # take one local step per round
MOST_CLIENTS = 100
MOST_LOCAL_STEPS = 8
LONGEST = 24  # characters of a number
SMALLEST, LARGEST = Fraction(1, 10**6), Fraction(10**6)  # of a number
CHANCES = ("probability", "p_min", "p_max")
NUMBERS = (*CHANCES, "strong_convexity", "smoothness", "step_size")
WHOLES = {"n_clients": MOST_CLIENTS, "cohort": MOST_CLIENTS}
WHOLES["local_steps"] = MOST_LOCAL_STEPS


@dataclass(frozen=True)
class View:
    """One setting of the explorer, and the axis of its step-size map.

    Every field is checked by itself at construction; `refusal` says why fields do not
    go together. Parameters of other laws are kept but play no role.

    Parameters
    ----------
    algorithm : str
        One of `ALGORITHMS`; ProxSkip is the paper's, with the law for its coin.
    n_clients : int
        N, at most 100.
    law : str
        One of `LAWS`: everybody; independently with one probability; uniform cohorts
        of one size; everybody or nobody; independently, one half of the clients with
        the smallest probability and the other with the largest.
    probability : text
        Of each client, or of everybody.
    cohort : int
        Clients of a uniform cohort.
    p_min, p_max : text
        Probability of the rarer and of the more frequent half.
    strong_convexity, smoothness : text, weight f/x^2
        Of every client objective, mu <= L.
    local_steps : int
        tau, at most 8.
    step_size : text, weight x^2/f
        eta.
    over : {"tau", "p", "n", "kappa"}
        What the map has against the step size: local steps, the smallest inclusion
        probability, the number of clients, or L/mu at fixed L.

    Raises
    ------
    DomainError
        If a field lies outside its domain.

    Examples
    --------
    >>> view = View(algorithm="fedavg", step_size="1/8")
    >>> View.from_query(view.to_query()) == view
    True
    >>> View(law="uniform", n_clients=4, cohort=5).refusal()
    'a cohort must have at most as many clients as there are; got 5 of 4; lower it.'
    """

    algorithm: str = "focus"
    n_clients: int = 16
    law: str = "bernoulli"
    probability: str = "1/2"
    cohort: int = 4
    p_min: str = "1/4"
    p_max: str = "3/4"
    strong_convexity: str = "1/10"
    smoothness: str = "1"
    local_steps: int = 2
    step_size: str = "1/100"
    over: str = "p"

    def __post_init__(self) -> None:
        choice(self.algorithm, "algorithm", ALGORITHMS)
        choice(self.law, "law", LAWS)
        choice(self.over, "over", OVER)
        for name, most in WHOLES.items():
            whole(getattr(self, name), name, most=most)
        for name in NUMBERS:
            value = getattr(self, name)
            _require_number(name, value)
            object.__setattr__(self, name, value.strip())

    def number(self, name: str) -> Fraction:
        """Return the exact value of a number by its name.

        Examples
        --------
        >>> View(step_size="0.2").number("step_size")
        Fraction(1, 5)
        """
        return parse_number(str(getattr(self, name)))

    def refusal(self) -> str | None:
        """Say in one sentence why the fields do not go together; None if they do."""
        if self.number("strong_convexity") > self.number("smoothness"):
            return (
                "strong convexity must be at most the smoothness; got "
                f"{self.strong_convexity} and {self.smoothness}; swap or mend them."
            )
        if self.law == "uniform" and self.cohort > self.n_clients:
            return (
                "a cohort must have at most as many clients as there are; got "
                f"{self.cohort} of {self.n_clients}; lower it."
            )
        if self.law == "bernoulli_spread" and self.number("p_min") > self.number(
            "p_max"
        ):
            return (
                "the smallest probability must be at most the largest; got "
                f"{self.p_min} and {self.p_max}; swap or mend them."
            )
        return self._unfit()

    def _unfit(self) -> str | None:
        """Say why the algorithm cannot take the local steps or the law."""
        name = self.algorithm.replace("_", " ")
        if self.algorithm in ONE_STEP and self.local_steps != 1:
            return (
                f"{name} takes one local step per round; got {self.local_steps}; set "
                "local steps to 1."
            )
        if self.algorithm == "proxskip" and self.law not in ("full", "all_or_nothing"):
            return (
                "the law of proxskip is its coin, which lets everybody communicate or "
                f"nobody; got {_law(self.law)}; choose {_law('full')} or "
                f"{_law('all_or_nothing')}."
            )
        return None

    def participation(self, floats: bool = False) -> Participation:
        """Build the law, in rationals or in floats.

        Raises
        ------
        InputError
            If the view is refused.
        """
        self._require_sound()
        n = self.n_clients
        if self.law == "full":
            return Full(n)
        if self.law == "uniform":
            return UniformCohort(n, self.cohort)
        if self.law == "all_or_nothing":
            chance = self.number("probability")
            return AllOrNothing(n, float(chance) if floats else chance)
        chances = self.chances()
        return Bernoulli([float(p) for p in chances] if floats else chances)

    def chances(self) -> list[Fraction]:
        """Return every client's inclusion probability p_i.

        Examples
        --------
        >>> [str(p) for p in View(law="bernoulli_spread", n_clients=3).chances()]
        ['1/4', '3/4', '3/4']
        >>> View(law="uniform", n_clients=2, cohort=1).chances()
        [Fraction(1, 2), Fraction(1, 2)]
        """
        n = self.n_clients
        if self.law == "bernoulli_spread":
            rare = max(n // 2, 1)
            return [self.number("p_min")] * rare + [self.number("p_max")] * (n - rare)
        one = {"full": Fraction(1), "uniform": Fraction(self.cohort, n)}
        return [one.get(self.law, self.number("probability"))] * n

    def algorithm_object(self) -> Algorithm:
        """Build the algorithm.

        Raises
        ------
        InputError
            If the view is refused.
        """
        self._require_sound()
        step = self.number("step_size")
        if self.algorithm == "gradient_descent":
            return GradientDescent(step)
        if self.algorithm == "proxskip":
            return ProxSkip(step, probability=self.chances()[0])
        made: dict[str, Callable[[Fraction, int], Algorithm]] = {
            "focus": Focus,
            "mifa": Mifa,
            "fedavg": FedAvg,
            "fedvarp": FedVarp,
            "scaffold": Scaffold,
        }
        return made[self.algorithm](step, self.local_steps)

    def _require_sound(self) -> None:
        refused = self.refusal()
        if refused is not None:
            raise InputError(refused)

    def to_query(self) -> str:
        """Return the view as the query of a URL, every field in order.

        Examples
        --------
        >>> View().to_query()[:37]
        'algorithm=focus&n_clients=16&law=bern'
        """
        return urlencode(asdict(self), safe="/")

    @classmethod
    def from_query(cls, text: str) -> View:
        """Read a view from the query of a URL; what is not said has its default.

        Raises
        ------
        InputError
            If the text is not a query, names a field twice or that does not exist, or
            a field lies outside its domain.
        """
        if not isinstance(text, str):
            raise FormatError(
                f"a view must be read from text; got {shown(text)}; copy the address."
            )
        try:
            pairs = parse_qsl(
                text.removeprefix("?"),
                keep_blank_values=True,
                strict_parsing=bool(text.removeprefix("?")),
                errors="strict",
                max_num_fields=64,
            )
        except ValueError as error:
            raise FormatError(
                f"a view must be written as name=value&...; got {text[:60]!r}; copy "
                "the address again."
            ) from error
        known = {f.name: str(f.type) for f in fields(cls)}
        given: dict[str, Any] = {}
        for name, value in pairs:
            if name not in known or name in given:
                word = "twice " if name in given else ""
                raise FormatError(
                    f"a view has each of {', '.join(known)} at most once; got "
                    f"{word}{name[:40]!r}; remove it."
                )
            given[name] = _whole(name, value) if known[name] == "int" else value
        return cls(**given)


def _law(name: str) -> str:
    """Name a law as the page does, and as the address does."""
    return f"{LAW_WORDS[name]!r} ({name})"


def _whole(name: str, text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < LONGEST):
        raise DomainError(
            f"{name} must be a whole number; got {text[:40]!r}; write it in digits."
        )
    return int(text)


def _require_number(name: str, text: object) -> None:
    """Check a number's text by itself."""
    if not isinstance(text, str):
        raise DomainError(
            f"{name} must be the text of a number, such as '1/8'; got "
            f"{shown(text)}; quote it."
        )
    if len(text) > LONGEST:
        raise DomainError(
            f"{name} must have at most {LONGEST} characters; got {len(text)}; shorten "
            "it."
        )
    try:
        value = parse_number(text)
    except FlverifyError as error:
        raise DomainError(f"{name}: {error}") from error
    if name in CHANCES and not 0 < value <= 1:
        raise DomainError(
            f"{name} must lie above 0 and be at most 1; got {text}; give a probability."
        )
    if not SMALLEST <= value <= LARGEST:
        raise DomainError(
            f"{name} must lie between {SMALLEST} and {LARGEST}; got {text}; choose "
            "another value."
        )
