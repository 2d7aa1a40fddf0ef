"""FOCUS, Section 3: the mixing matrices R, A, C, W of a cohort, and Figure 1.

R(S) and C(S) are what the text says of them. The formula for A(S) stands transposed
against its figure and its use, and W(S) has weights 1/|S| where the figure has
1/(|S| + 1), though the same links, beside a diagonal that can be read in two ways.

Conventions: nodes as printed, the server is 0 and the clients are 1 to N; [i, j] is
what node i takes from node j. A proof works on the transcribed formulas
(`flverify.claims.printed_mixing`) for all cohorts at once
(`flverify.claims.any_cohort`); a search runs over the matrices of `flverify.mixing`
for every cohort of up to four clients, with the transcription as the recheck.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from flverify import mixing
from flverify._core.sources import Source
from flverify.claims import cohorts, judge
from flverify.claims.any_cohort import AnyCohort, Entry, OneCohort
from flverify.claims.claim import claim
from flverify.claims.judge import Case
from flverify.claims.mixing_cases import (
    LISTED,
    NONE,
    PAIR,
    PLACES,
    SOME,
    WEIGHT_WORDS,
    Built,
    as_drawn,
    both_ways,
    doubly,
    entry_cases,
    linked,
    of_figure_1,
    sum_cases,
    sums,
    zero_based,
)
from flverify.claims.parts import together
from flverify.claims.printed_mixing import (
    FIGURE_1,
    LABELS,
    average,
    pull,
    push,
    two_way,
    virtual,
)
from flverify.claims.verdict import Finding

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@claim(
    "focus.toy.assign_avg",
    source=Source("focus", "Section 3, display before eq. (4)"),
    statement=r"W_{\rm assign}x=\begin{bmatrix}1&0&0\\1&0&0\\0&0&1\end{bmatrix}"
    r"\begin{bmatrix}x_0\\x_1\\x_2\end{bmatrix}"
    r"=\begin{bmatrix}x_0\\x_0\\x_2\end{bmatrix},\quad "
    r"W_{\rm avg}x=\begin{bmatrix}0&0.5&0.5\\0&1&0\\0&0&1\end{bmatrix}"
    r"\begin{bmatrix}x_0\\x_1\\x_2\end{bmatrix}"
    r"=\begin{bmatrix}(x_1+x_2)/2\\x_1\\x_2\end{bmatrix}",
    proposition="For all x the two products are as printed, and the two matrices are "
    "the pull of client 1 and the average of clients 1 and 2 among two clients.",
    constants={
        "assign": ((1, 0, 0), (1, 0, 0), (0, 0, 1)),
        "avg": ((0, HALF, HALF), (0, 1, 0), (0, 0, 1)),
    },
    twin={"avg": ((0, HALF, THIRD), (0, 1, 0), (0, 0, 1))},
    exact=("assign", "avg"),
)
def toy_products(c: Any) -> Finding:
    """Multiply out, and compare with the package's pull and average."""
    x = sympy.symbols("x_0 x_1 x_2")
    assign, avg = (np.array(rows, dtype=object) for rows in (c.assign, c.avg))
    pair = mixing.aggregation_matrix({0, 1}, 2, reading="figure1")
    return judge.identity(
        [
            ("W_assign x", assign @ x, [x[0], x[0], x[2]]),
            ("W_avg x", avg @ x, [(x[1] + x[2]) / 2, x[1], x[2]]),
            ("client 1 pulls", assign, mixing.pull_matrix({0}, 2)),
            ("the server averages clients 1 and 2", avg, pair),
        ],
        scope="every x, entry by entry of its rows",
    )


@claim(
    "focus.def.stochastic",
    source=Source("focus", "Section 3, after Figure 1"),
    statement=r"W\mathbb{1}=\mathbb{1}\ \text{(row)},\quad \mathbb{1}^{\mathsf T}W="
    r"\mathbb{1}^{\mathsf T}\ \text{(column)},\quad\text{both (doubly stochastic)}",
    proposition="The matrices of Figure 1 are of the kinds written below them, row "
    "and column stochastic are different, products keep the kind, a row stochastic "
    "matrix keeps consensus and a column stochastic one keeps the sum.",
    constants={"labels": LABELS, "total": 1},
    twin={"labels": {**LABELS, "A": "column"}},
    exact=("total",),
)
def stochastic(c: Any) -> Finding:
    """Check the labels of Figure 1 and what the definitions are used for."""
    cohort = OneCohort(PAIR, 4)
    drawn = {key: np.array(rows, dtype=object) for key, rows in FIGURE_1.items()}
    labels = [
        (f"{key}, {name}", total, c.total)
        for key, kind in c.labels.items()
        for name, total in sums(drawn[key], cohort, kind)
    ]
    kinds = (mixing.is_row_stochastic, mixing.is_column_stochastic)
    told = {key: [int(kind(matrix)) for kind in kinds] for key, matrix in drawn.items()}
    return judge.identity(
        [
            *labels,
            ("R is not column stochastic", told["R"], [1, 0]),
            ("C is not row stochastic", told["C"], [0, 1]),
            ("W is both", told["W"], [1, 1]),
            *consequences(3, c.total),
        ],
        scope="Figure 1; consequences for all 3 x 3 matrices of the kind",
    )


def consequences(size: int, total: int) -> list[tuple[str, Any, Any]]:
    """List what row sums do to products, consensus and sums, in symbols."""
    one, other = (row_stochastic(name, size, total) for name in "uv")
    ones = np.array([1] * size, dtype=object)
    y = np.array(sympy.symbols(f"y_1:{size + 1}"), dtype=object)
    return [
        ("products of row stochastic matrices", one @ other @ ones, ones),
        ("products of column stochastic matrices", ones @ one.T @ other.T, ones),
        ("consensus is kept", one @ (y[0] * ones), y[0] * ones),
        ("the sum is kept", ones @ (one.T @ y), y.sum()),
    ]


def row_stochastic(name: str, size: int, total: int) -> Any:
    """Any matrix whose rows have the sum, by free entries."""
    free = sympy.symbols(f"{name}_1:{size * (size - 1) + 1}")
    out = np.empty((size, size), dtype=object)
    out[:, 1:] = np.array(free, dtype=object).reshape(size, size - 1)
    out[:, 0] = [total - sum(row) for row in out[:, 1:].tolist()]
    return out


@claim(
    "focus.eq4.R",
    source=Source("focus", "eq. (4), left"),
    statement=r"R(S_r)[i,j]=\begin{cases}1&\text{if }i\in S_r\text{ and }j=0\\"
    r"1&\text{if }i\notin S_r\text{ and }j=i\\0&\text{otherwise}\end{cases}",
    proposition="R(S) is row stochastic for every S, and R({1, 3}) with N = 4 is the "
    "leftmost matrix of Figure 1.",
    constants={"kind": "row"},
    twin={"kind": "column"},
)
def assign_matrix(c: Any) -> Finding:
    """Check the row sums of every cohort, and Figure 1."""
    return cohort_matrix(
        "R", c.kind, pull, lambda s: mixing.pull_matrix(*zero_based(s)), (SOME, NONE)
    )


def cohort_matrix(
    name: str,
    kind: str,
    entry: Entry,
    package: Built,
    kinds: tuple[AnyCohort, ...],
) -> Finding:
    """Judge the kind of a matrix, and that Figure 1 shows it."""
    drawn = OneCohort(PAIR, 4).matrix(entry)
    pairs = [(f"{name} of Figure 1", drawn, np.array(FIGURE_1[name], dtype=object))]
    for every in kinds:
        for label, total in sums(every.matrix(entry), every, kind):
            pairs.append((label, total, 1))

    def printed(cohort: OneCohort) -> Any:
        return cohort.matrix(entry)

    least = 0 if NONE in kinds else 1
    search = judge.all_of(
        {
            f"{kind} stochastic": judge.instances(
                sum_cases(kind, least, package, printed), "==", LISTED
            ),
            "Figure 1": judge.instances(
                of_figure_1(name, package, printed), "==", "the entries of Figure 1"
            ),
        }
    )
    scope = "every N and every S" if NONE in kinds else "every N and every nonempty S"
    return judge.proof_or_search(judge.identity(pairs, scope), search)


@claim(
    "focus.eq4.A",
    source=Source("focus", "eq. (4), right"),
    statement=r"A(S_r)[i,j]=\begin{cases}1&\text{if }i=j\neq 0\\"
    r"1/|S_r|&\text{if }i\in S_r\text{ and }j=0\\0&\text{otherwise}\end{cases}",
    proposition="A(S) is row stochastic for every nonempty S, and A({1, 3}) with N = 4 "
    "is the second matrix of Figure 1.",
    constants={"participant": "i"},
    twin={"participant": "j"},
)
def average_matrix(c: Any) -> Finding:
    """Check the row sums of every cohort, and Figure 1; then the transpose."""
    found = averages(c.participant)
    if found.passes():
        return found
    return found.corrected(
        r"A(S_r)[i,j]=1/|S_r| \text{ if } j\in S_r \text{ and } i=0", averages("j")
    )


def averages(participant: str) -> Finding:
    """Judge A(S) with the index that must be in S."""

    def package(cohort: OneCohort) -> Any:
        reading = {"i": "printed", "j": "figure1"}[participant]
        return mixing.aggregation_matrix(*zero_based(cohort), reading=reading)

    return cohort_matrix("A", "row", average(participant), package, (SOME,))


@claim(
    "focus.def.C",
    source=Source("focus", "Section 3, display after Figure 1, left"),
    statement=r"C(S_r)[i,j]=\begin{cases}1&\text{if }j\in S_r\text{ and }i=0\\"
    r"1&\text{if }j\notin S_r\text{ and }i=j\\0&\text{otherwise}\end{cases}",
    proposition="C(S) is column stochastic for every S, and C({1, 3}) with N = 4 is "
    "the third matrix of Figure 1.",
    constants={"kind": "column"},
    twin={"kind": "row"},
)
def push_matrix(c: Any) -> Finding:
    """Check the column sums of every cohort, and Figure 1."""
    return cohort_matrix(
        "C", c.kind, push, lambda s: mixing.push_matrix(*zero_based(s)), (SOME, NONE)
    )


LINKED = "(ii), and the rightmost of Figure 1 for its links"


@claim(
    "focus.def.W4",
    source=Source("focus", "Section 3, display after Figure 1, right"),
    statement=r"W(S_r)[i,j]=\begin{cases}1/|S_r|&\text{if }i\in S_r\text{ and }j=0\\"
    r"1/|S_r|&\text{if }j\in S_r\text{ and }i=0\\1-\sum_i W[i,j]&\text{if }i=j\\"
    r"0&\text{otherwise}\end{cases}",
    proposition="W(S) is doubly stochastic for every nonempty S, and W({1, 3}) with "
    "N = 4 corresponds to the rightmost matrix of Figure 1: it is that matrix, or it "
    "has the links of that graph, of which the caption shows a possible matrix.",
    constants={
        "weight": "1/|S|",
        "diagonals": ("others", "all"),
        "letters": ("same", "separate"),
        "linked": "others",
        "figure": "W",
    },
    twin={"linked": "all"},
    no_control="whether W(S) is to be the matrix drawn or one with its links decides; "
    "the twin, whose diagonal's sum runs over all i, fails under every reading",
    reading_twins={LINKED: {"linked": "all"}, f"{LINKED} / links": {"figure": "R"}},
)
def two_way_matrix(c: Any) -> Finding:
    """Judge both readings of the diagonal, of the letter W, and of the figure."""
    found = {
        READINGS_OF_W[diagonal, "separate"]: two_ways(c.weight, diagonal)
        for diagonal in c.diagonals
    }
    if "same" in c.letters:
        found[READINGS_OF_W["others", "same"]] = judge.all_of(
            {
                "the display": two_ways(c.weight, "others"),
                "W of (36)": judge.instances(same_letter(c.weight), "==", "S = {1, 3}"),
            }
        )
    found[LINKED] = linked(c.weight, c.linked, c.figure)
    return judge.readings(found).corrected(
        r"W(S_r)[i,j]=1/(|S_r|+1) \text{ for the pairs } i\neq j \text{ printed, } "
        r"W[j,j]=1-\sum_{i\neq j}W[i,j]",
        two_ways("1/(|S|+1)", "others"),
    )


READINGS_OF_W = {
    ("all", "separate"): "(i) the diagonal's sum runs over all i",
    ("others", "separate"): "(ii) the diagonal's sum runs over i != j",
    ("others", "same"): "(ii), and W(S) of (35) is the same matrix",
}


def two_ways(weight: str, diagonal: str) -> Finding:
    """Judge W(S) with one weight and one reading of its diagonal."""
    package, printed = both_ways(weight, diagonal)
    drawn = np.array(FIGURE_1["W"], dtype=object)
    shown = [("W of Figure 1", printed(OneCohort(PAIR, 4)), drawn)]
    entries = of_figure_1("W", package, printed)
    return judge.all_of(
        {
            "doubly stochastic": doubly(weight, diagonal),
            "Figure 1": judge.proof_or_search(
                judge.identity(shown, "S = {1, 3}, N = 4"),
                judge.instances(entries, "==", "the entries of Figure 1"),
            ),
        }
    )


def same_letter(weight: str) -> Iterator[Case]:
    """W({1, 3}) of the display against W({1, 3}) of (36)."""
    cohort, (word, added) = OneCohort(PAIR, 4), WEIGHT_WORDS[weight]
    found = mixing.doubly_stochastic_matrix(*zero_based(cohort), weight=word)
    yield from entry_cases(
        {"N": 4, "S": cohorts.shown(PAIR), "matrix": "W, against (36)"},
        found,
        mixing.virtual_matrix(*zero_based(cohort)),
        two_way(cohort, added, "others"),
        cohort.matrix(virtual()),
    )


@claim(
    "focus.fig1.matrices",
    source=Source("focus", "Figure 1 and its text"),
    statement=r"\text{For }S_r=\{1,3\}:\ R(S_r),A(S_r),C(S_r),W(S_r)\text{ are }"
    r"\begin{bmatrix}1&0&0&0&0\\1&0&0&0&0\\0&0&1&0&0\\1&0&0&0&0\\0&0&0&0&1"
    r"\end{bmatrix},\begin{bmatrix}0&\frac12&0&\frac12&0\\0&1&0&0&0\\0&0&1&0&0\\"
    r"0&0&0&1&0\\0&0&0&0&1\end{bmatrix},\begin{bmatrix}1&1&0&1&0\\0&0&0&0&0\\"
    r"0&0&1&0&0\\0&0&0&0&0\\0&0&0&0&1\end{bmatrix},\begin{bmatrix}\frac13&\frac13&0&"
    r"\frac13&0\\\frac13&\frac23&0&0&0\\0&0&1&0&0\\\frac13&0&0&\frac23&0\\0&0&0&0&1"
    r"\end{bmatrix}",
    proposition="The four matrices drawn are of the kinds written below them, and "
    "they are what the formulas of the text give for S = {1, 3}.",
    constants={"participant": "i", "weight": "1/|S|", "diagonals": ("others", "all")},
    twin={"participant": "j", "weight": "1/(|S|+1)", "diagonals": ("others",)},
)
def figure(c: Any) -> Finding:
    """Check the labels, then compare with the formulas."""
    word, added = WEIGHT_WORDS[c.weight]
    reading = {"i": "printed", "j": "figure1"}[c.participant]
    cohort = OneCohort(PAIR, 4)
    at = zero_based(cohort)
    labels = [
        (f"{key}, {name}", total, 1)
        for key, kind in LABELS.items()
        for name, total in sums(np.array(FIGURE_1[key], dtype=object), cohort, kind)
    ]
    built = {
        "R": (mixing.pull_matrix(*at), cohort.matrix(pull)),
        "A": (
            mixing.aggregation_matrix(*at, reading=reading),
            cohort.matrix(average(c.participant)),
        ),
        "C": (mixing.push_matrix(*at), cohort.matrix(push)),
    }

    def compared(diagonal: str) -> Finding:
        chosen = {"diagonal": diagonal, "weight": word}
        four = {
            **built,
            "W": (
                mixing.doubly_stochastic_matrix(*at, **chosen),
                two_way(cohort, added, diagonal),
            ),
        }
        parts = {"labels": judge.identity(labels, "the drawn matrices")}
        for name, (found, again) in four.items():
            for place, kept in PLACES.items():
                parts[f"{name} {place}"] = as_drawn(name, found, again, kept)
        return together(parts)

    return judge.readings(
        {READINGS_OF_W[d, "separate"]: compared(d) for d in c.diagonals}
    )
