"""How statements about mixing matrices are judged: listed cohorts, listed laws, all.

Searches take the package's matrices; rechecks take the transcription of
`flverify.claims.printed_mixing` and the outcomes listed in `flverify.claims.laws`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flverify import mixing
from flverify._core.exact import Array
from flverify.claims import cohorts, judge, laws
from flverify.claims.any_cohort import AnyCohort, Entry, OneCohort
from flverify.claims.judge import Case, Pair
from flverify.claims.laws import Setting
from flverify.claims.printed_mixing import (
    FIGURE_1,
    Weight,
    averaging_weight,
    inclusion_weight,
    printed_mean,
    two_way,
)
from flverify.claims.verdict import Finding

PAIR, TRIPLE = frozenset({1, 3}), frozenset({2, 3, 4})  # the cohorts of the print
SOME, NONE = AnyCohort(), AnyCohort(empty=True)
LARGEST = 4  # number of clients up to which cohorts are listed
LISTED = f"all S for N = 1..{LARGEST}"
LAWS = "Cases 1, 2, 3 and 3a, N = 1..3"

Built: TypeAlias = Callable[[OneCohort], Array]


def zero_based(cohort: OneCohort) -> tuple[frozenset[int], int]:
    """Return the cohort in the package's numbering, and N."""
    return cohorts.zero_based(cohort.members), cohort.n_clients


def sums(
    matrix: Array, cohort: OneCohort | AnyCohort, kind: str
) -> list[tuple[str, Any]]:
    """Row sums, column sums or both ("row", "column", "doubly"), by name."""
    out = []
    if kind in ("row", "doubly"):
        rows = zip(cohort.lines, cohort.row_sums(matrix), strict=True)
        out += [(f"row of {name}", total) for name, total in rows]
    if kind in ("column", "doubly"):
        columns = zip(cohort.lines, cohort.row_sums(matrix.T), strict=True)
        out += [(f"column of {name}", total) for name, total in columns]
    return out


def sum_cases(kind: str, least: int, package: Built, printed: Built) -> Iterator[Case]:
    """Row or column sums against 1: the cohort of Figure 1, then all listed ones."""
    listed = [
        OneCohort(members, n)
        for n in range(1, LARGEST + 1)
        for members in cohorts.subsets(n, least)
    ]
    for cohort in (OneCohort(PAIR, 4), *listed):
        found = sums(package(cohort), cohort, kind)
        again = sums(printed(cohort), cohort, kind)
        where = {"N": cohort.n_clients, "S": cohorts.shown(cohort.members)}
        for (name, total), (_, second) in zip(found, again, strict=True):
            recheck = cohorts.sides(Fraction(second), 1)
            yield Case({**where, "sum of": name}, total, 1, recheck)


def entry_cases(
    where: dict[str, Any], found: Any, expected: Any, again: Any, again_expected: Any
) -> Iterator[Case]:
    """Every entry of a matrix against the printed one."""
    for place, value in np.ndenumerate(np.asarray(found, dtype=object)):
        i, j = place
        second = Fraction(again[i][j]), Fraction(again_expected[i][j])
        recheck = cohorts.sides(*second)
        at = {**where, "entry": f"[{i}, {j}]"}
        yield Case(at, value, expected[i][j], recheck)


def of_figure_1(name: str, package: Built, printed: Built) -> Iterator[Case]:
    """Every entry of M({1, 3}), N = 4, against Figure 1."""
    cohort, figure = OneCohort(PAIR, 4), FIGURE_1[name]
    found = package(cohort)
    at = {"N": 4, "S": cohorts.shown(PAIR), "matrix": name, "which is": kind_of(found)}
    yield from entry_cases(at, found, figure, printed(cohort), figure)


def kind_of(matrix: Any) -> str:
    """Say of which kind a matrix is."""
    row, column = mixing.is_row_stochastic(matrix), mixing.is_column_stochastic(matrix)
    if row and column:
        return "doubly stochastic"
    if row or column:
        return "row stochastic" if row else "column stochastic"
    return "neither row nor column stochastic"


ON_DIAGONAL = np.eye(5, dtype=bool)
PLACES = {"off the diagonal": ~ON_DIAGONAL, "on the diagonal": ON_DIAGONAL}


def as_drawn(name: str, found: Any, again: Any, kept: Any) -> Finding:
    """Judge the kept entries of a matrix, built in two ways, against Figure 1."""
    figure = np.array(FIGURE_1[name], dtype=object)
    cases = of_figure_1(name, lambda _: found, lambda _: again)
    chosen = (case for case, keep in zip(cases, kept.flat, strict=True) if keep)
    proof = judge.identity([(name, again[kept], figure[kept])], "the drawn matrices")
    search = judge.instances(chosen, "==", "the entries of Figure 1")
    return judge.proof_or_search(proof, search)


# W(S) of the display after Figure 1: the package's word, and what is added to |S|
WEIGHT_WORDS = {"1/|S|": ("printed", 0), "1/(|S|+1)": ("figure1", 1)}


def both_ways(weight: str, diagonal: str) -> tuple[Built, Callable[[Any], Any]]:
    """Return W(S) as the package builds it, and as transcribed."""
    word, added = WEIGHT_WORDS[weight]

    def package(cohort: OneCohort) -> Any:
        at = zero_based(cohort)
        return mixing.doubly_stochastic_matrix(*at, diagonal=diagonal, weight=word)

    def printed(cohort: OneCohort | AnyCohort) -> Any:
        return two_way(cohort, added, diagonal)

    return package, printed


def doubly(weight: str, diagonal: str) -> Finding:
    """Judge the row and column sums of W(S)."""
    package, printed = both_ways(weight, diagonal)
    pairs = [(name, total, 1) for name, total in sums(printed(SOME), SOME, "doubly")]
    cases = sum_cases("doubly", 1, package, printed)
    return judge.proof_or_search(
        judge.identity(pairs, "every N and every nonempty S"),
        judge.instances(cases, "==", LISTED),
    )


def linked(weight: str, diagonal: str, figure: str) -> Finding:
    """Judge W(S), and that the links of W({1, 3}) are those of a matrix of Figure 1.

    Self-loops are not drawn.
    """
    found = both_ways(weight, diagonal)[1](OneCohort(PAIR, 4))
    drawn = np.array(FIGURE_1[figure], dtype=object)
    ours, theirs = ([int(v != 0) for v in m[~ON_DIAGONAL]] for m in (found, drawn))
    same = judge.identity([("links", ours, theirs)], "S = {1, 3}, N = 4")
    return judge.all_of({"doubly stochastic": doubly(weight, diagonal), "links": same})


def table_of(weight: str, setting: Setting, *, listed: bool) -> Array:
    """Return weights of the clients: p_i, q_i, the sampling weights of Case 3, or 1/m.

    The first two come from the package's law or from the listed outcomes.
    """
    law, n = setting.law, setting.n_clients
    if weight == "p_i":
        return np.array(setting.inclusion()) if listed else law.inclusion()
    if weight == "q_i":
        return np.array(setting.averaging()) if listed else law.averaging_weights()
    if weight == "1/m":
        size = len(next(iter(setting.listed)))
        return np.array([Fraction(1, size)] * n)
    return np.array(setting.shares)


def mean_cases(
    name: str, entry: Entry, weight: str, settings: Iterable[Setting], **chosen: str
) -> Iterator[Case]:
    """Every entry of E M(S) against the print, for laws inside Assumption 1."""
    for setting in settings:
        if setting.admissible():
            table = table_of(weight, setting, listed=False)
            yield from entry_cases(
                setting.where,
                mixing.expected_matrix(name, setting.law, **chosen),
                mixing.printed_matrix(name, table),
                listed_mean(entry, setting),
                listed_print(name, weight, setting),
            )


def listed_mean(entry: Entry, setting: Setting) -> Array:
    """E M(S) over the listed outcomes."""
    out: Array = cohorts.mean(
        setting.listed, lambda s: OneCohort(s, setting.n_clients).matrix(entry)
    )
    return out


def listed_print(name: str, weight: str, setting: Setting) -> Array:
    """Return the printed mean with the weights of the listed outcomes."""
    table = table_of(weight, setting, listed=True)
    mean = printed_mean(name, lambda i, _inside, _size: table[i - 1])
    return OneCohort(frozenset(), setting.n_clients).matrix(mean)


WEIGHTS: dict[str, Weight] = {"p_i": inclusion_weight, "q_i": averaging_weight}


def agree_on_average(
    entry: Entry, mean: Entry, kinds: Iterable[AnyCohort], scope: str
) -> Finding:
    """Judge E M(S) against a printed mean that is affine in its weights.

    With 1{i in S} or 1{i in S}/|S| in place of their means p_i or q_i, both sides must
    agree for every cohort; then their means agree for every law.
    """
    return judge.identity(cohort_pairs(entry, mean, kinds), scope)


def cohort_pairs(entry: Entry, mean: Entry, kinds: Iterable[AnyCohort]) -> list[Pair]:
    """Both sides of `agree_on_average`, for every cohort at once."""
    return [
        (
            "S empty" if kind.empty else "S not empty",
            kind.matrix(entry),
            kind.matrix(mean),
        )
        for kind in kinds
    ]


def some_laws(*, empty: bool = True) -> Iterator[Setting]:
    """Laws of Cases 1 to 3a for one to three clients, with empty rounds or without."""
    for n in (1, 2, 3):
        yield from laws.never_empty(n)
        if empty:
            yield from laws.sometimes_empty(n)
