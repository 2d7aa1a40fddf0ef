"""Figure 8 of the FOCUS paper, Appendix F.1: classes of at least a tenth, counted.

`focus.F1.fig8` counts classes by their concentration. Here those are counted that are
at least a tenth of a client's data, and the share of the two largest is averaged.

Conventions: 32 clients, 10 classes of one size, alpha = 0.05; draws of seeds 0 to 19.
Where each class is split over clients the mean count is of pieces that are at least a
tenth of what a client has in the mean.
"""

from __future__ import annotations

from types import SimpleNamespace

from flverify._core.exact import parse_number
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims import sg_focus_race as sg
from flverify.claims.claim import claim
from flverify.claims.dirichlet_counts import TENTH, expected
from flverify.claims.verdict import Finding

MAINLY = 0.8  # four fifths
DIRECTIONS = {
    "(i) per client over classes": "clients",
    "(ii) per class over clients": "classes",
}


@claim(
    "focus.F1.fig8.counts",
    source=Source("focus", "Appendix F.1, Figure 8, shares of at least 10 %"),
    statement=r"\text{the data of each client mainly covers 1-2 classes}\quad"
    r"(\alpha=0.05,\ N=32)",
    proposition="The mean number of classes that are at least a tenth of a client's "
    "data is at most two, and in each of twenty draws at least half of the clients "
    "have at most two such classes and the two largest hold at least four fifths in "
    "the mean.",
    constants={"alpha": "0.05", "clients": 32, "classes": 2},
    twin={"alpha": "1"},
)
def counted(c: SimpleNamespace) -> Finding:
    """Take the mean from the Beta law, and count in twenty draws."""
    return judge.readings(
        {name: _direction(c, word) for name, word in DIRECTIONS.items()}
    )


def _direction(c: SimpleNamespace, word: str) -> Finding:
    alpha = parse_number(c.alpha)
    few, main = 0, 0
    for seed in range(20):
        found = sg.shares(word, float(alpha), c.clients, seed)
        sizes = (found >= float(TENTH)).sum(axis=1)
        few += int(2 * (sizes <= c.classes).sum() >= c.clients)
        main += int(sg.leading(found, c.classes).mean() >= MAINLY)
    scope = f"draws of seeds 0 to 19; alpha = {c.alpha}, {c.clients} clients"
    mean = judge.instances(
        [expected(word, alpha, c.clients, c.classes)], "<=", "the mean over the law"
    )
    return judge.all_of(
        {
            "mean number": mean,
            "number in draws": judge.share(
                f"half of the clients have at most {c.classes}", few, 20, scope
            ),
            "largest shares in draws": judge.share(
                f"the {c.classes} largest hold four fifths", main, 20, scope
            ),
        }
    )
