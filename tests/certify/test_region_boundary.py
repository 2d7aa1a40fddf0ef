"""Where certificates end along a row: by hand-made answers, and where none is clear."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent
from flverify.certify.rates import TOO_SLOW
from flverify.certify.region import Cell, Region, Row, RowFound
from flverify.certify.region._boundary import CLOSE, DOWN, FAR, Ends
from flverify.certify.region._store import Store
from flverify.certify.region.row import find_row
from flverify.certify.solve import Pencil, Solution
from flverify.participation import Bernoulli, Full
from flverify.report.regions import as_csv, record, remarks, show

HALF = Bernoulli(["1/2", "1/2"])
TENTH = Fraction(1, 10)


class Steps:
    """A ladder and a floor at once: which step sizes have what, by comparison."""

    def __init__(self, end, unsure=(), proved=None, slow=(), unstable=None):
        self.end, self.open, self.slow = Fraction(end), unsure, slow
        self.last = self.end if proved is None else Fraction(proved)
        self.unstable = None if unstable is None else Fraction(unstable)
        self.seen = []

    def promising(self, step):
        self.seen.append(step)
        if any(low <= step <= high for low, high in self.open):
            return None
        return step <= self.end

    def certifiable(self, step):
        return step <= self.last

    def at(self, step):
        slow = any(low <= step <= high for low, high in self.slow)
        return 1 - Fraction(1, 10**8) if slow else Fraction(1, 2)


class Unstable(Steps):
    """No quadratic contracts beyond the end."""

    def at(self, step):
        return Fraction(1, 2) if step <= self.end else Fraction(1)


def cell(step, status="certified"):
    rate = Fraction(9, 10) if status == "certified" else None
    why = "the solver stopped" if status == "inconclusive" else ""
    return Cell(Fraction(step), status, rate, "", Fraction(1, 2), why)


def ends(steps, *cells):
    found = Ends(steps, steps)
    largest = found.largest(cells)
    return largest, found.unsure(largest)


# -- bisection -------------------------------------------------------------------


def test_the_end_is_found_between_a_cell_with_and_one_without():
    end = Fraction(2, 7)
    largest, unsure = ends(Steps(end), cell("1/10"), cell("1/2", "not certified"))
    assert 0 <= end - largest <= CLOSE * end
    assert largest == Fraction(f"{float(largest):.7g}")  # of few digits
    assert unsure == 0


def test_it_is_found_below_a_grid_without_any():
    end = Fraction(1, 700)
    steps = Steps(end)
    largest, unsure = ends(steps, cell(1, "not certified"))
    assert 0 <= end - largest <= CLOSE * end
    assert unsure == 0
    assert steps.seen[0] == Fraction(1, 2)


def test_it_is_found_up_to_the_unstable_steps():
    steps = Steps(10, unstable="3/5")
    largest, unsure = ends(steps, cell("1/10"), cell(1, "unstable"))
    assert 0 < Fraction(3, 5) - largest <= CLOSE
    assert unsure == 0


def test_an_island_beyond_the_unstable_steps_is_no_end():
    steps = Steps(10, unstable="3/5")
    largest, _ = ends(steps, cell("1/10"), cell(1, "unstable"), cell(2))
    assert largest < Fraction(3, 5)


def test_without_anything_above_the_last_cell_is_the_end():
    steps = Steps(10)
    assert ends(steps, cell("1/10"), cell("1/5")) == (Fraction(1, 5), 0)
    assert ends(steps) == (None, 0)
    assert steps.seen == []


def test_a_search_below_ends():
    steps = Steps(0)
    assert ends(steps, cell(1, "not certified")) == (None, 0)
    assert len(steps.seen) == DOWN


def test_an_end_that_is_not_proved_is_drawn_back():
    steps = Steps("1/2", proved="9/20")  # a tenth below what floats see
    largest, unsure = ends(steps, cell("1/10"), cell(1, "not certified"))
    assert Fraction(4, 10) < largest <= Fraction(9, 20)
    assert unsure > 0
    steps = Steps("1/2", proved="1/8")  # back past a cell
    assert ends(steps, cell("1/5"), cell(1, "not certified"))[0] == Fraction(1, 5)
    steps = Steps("1/2", proved="2955/10000")  # and no further back than a cell
    assert ends(steps, cell("3/10"), cell(1, "not certified"))[0] == Fraction(3, 10)
    steps = Steps("1/2", proved=0)
    largest, unsure = ends(steps, cell(1, "not certified"))
    assert largest is None
    assert unsure > 0


def test_drawing_back_a_little_leaves_nothing_open():
    proved = Fraction(1, 2) * (1 - 2 * CLOSE)
    steps = Steps("1/2", proved=proved)
    largest, unsure = ends(steps, cell("1/10"), cell(1, "not certified"))
    assert proved - FAR < largest <= proved
    assert unsure == 0


# -- what is open ----------------------------------------------------------------


def test_an_end_where_the_solver_gives_up_is_open():
    given_up = [(Fraction(1, 3), Fraction(2, 3))]
    steps = Steps("2/3", unsure=given_up)
    largest, unsure = ends(steps, cell("1/10"), cell(1, "not certified"))
    assert Fraction(1, 3) - CLOSE < largest < Fraction(1, 3)
    assert unsure > 2


def test_an_end_where_rates_are_not_seen_is_open():
    steps = Steps("1/3", slow=[(Fraction(1, 3), Fraction(2, 3))])
    assert ends(steps, cell("1/10"), cell(1, "not certified"))[1] > 2
    at_all = Steps(0, slow=[(Fraction(0), Fraction(1, 8))])
    assert ends(at_all, cell(1, "not certified")) == (None, DOWN - 2)


def test_where_rates_are_not_seen_no_solver_is_asked():
    steps = Steps(0, slow=[(Fraction(0), Fraction(1, 8))])
    ends(steps, cell(1, "not certified"))
    assert steps.seen == [Fraction(1, 2), Fraction(1, 4)]


def test_an_end_where_quadratics_do_not_contract_is_none_that_is_open():
    steps = Unstable("1/3")
    largest, unsure = ends(steps, cell("1/10"), cell(1, "not certified"))
    assert Fraction(1, 3) - CLOSE < largest <= Fraction(1, 3)
    assert unsure == 0
    assert all(step <= Fraction(1, 3) for step in steps.seen)


def test_what_is_open_beyond_a_clear_end_does_not_matter():
    cells = cell("1/10"), cell("1/2", "not certified"), cell("3/5", "inconclusive")
    assert ends(Steps("1/4"), *cells)[1] == 0
    below = cell("1/20", "inconclusive"), *cells
    assert ends(Steps("1/4"), *below)[1] == 0


def test_an_inconclusive_cell_at_the_end_is_open():
    cells = cell("1/10"), cell("1/2", "inconclusive"), cell("3/5", "not certified")
    largest, unsure = ends(Steps(1), *cells)
    assert Fraction(1, 2) - largest <= CLOSE
    assert unsure == 1
    assert ends(Steps(1), *cells[:2])[1] == 1  # nor with nothing known above it
    assert ends(Steps(1), *cells, cell("7/10", "inconclusive"))[1] == 1
    for step, open_ in (("5001/10000", 0), ("51/100", 1)):
        near = cells[0], cells[1], cell(step, "not certified")
        assert ends(Steps(1), *near)[1] == open_


def test_an_end_that_is_open_just_below_unstable_steps_does_not_matter():
    given_up = [(Fraction(5998, 10000), Fraction(3, 5))]
    steps = Steps(10, unsure=given_up, unstable="3/5")
    largest, unsure = ends(steps, cell("1/10"), cell(1, "unstable"))
    assert largest < given_up[0][0]
    assert None in map(steps.promising, steps.seen[:])
    assert unsure == 0


# -- rows ------------------------------------------------------------------------


def row(algorithm, law=HALF, mu=TENTH):
    return Row(Fraction(2), algorithm, law, Fraction(mu), Fraction(1))


def region(asked, found):
    return Region("n", tuple(c.step_size for c in found.cells), (asked,), (found,))


@pytest.mark.slow
def test_a_solver_that_gives_up_leaves_a_row_open(monkeypatch):
    def gives_up(pencil, _):
        nothing = np.zeros(pencil.fixed.size)
        return Solution("failed", "NumericalError", float("nan"), nothing)

    monkeypatch.setattr(Pencil, "widest_margin", gives_up)
    asked = row(Focus(1))
    found = find_row(asked, [TENTH, Fraction(1, 5), Fraction(1)])
    statuses = [cell.status for cell in found.cells]
    assert statuses == ["inconclusive", "inconclusive", "unstable"]
    reasons = {cell.reason for cell in found.cells[:2]}
    assert reasons == {"the solver stopped with NumericalError"}
    assert found.certified_boundary is None
    assert found.unsure == 2 + DOWN
    said = remarks(region(asked, found))
    assert (
        "n = 2: 2 cells are inconclusive: the solver stopped with NumericalError"
        in said
    )
    last = f"was inconclusive at {2 + DOWN} step sizes: there may be one"
    assert f"n = 2: the search for a certified boundary {last}" in said
    (line,) = record(region(asked, found))
    assert line["cells"][0]["reason"] == "the solver stopped with NumericalError"
    assert "reason" not in line["cells"][2]
    assert "inconclusive" in line["remark"]


def test_rates_that_floats_cannot_see_leave_a_row_open():
    # (1 - 2 eta mu)^2 > 0.999999 at every stable step size
    asked = row(GradientDescent(1), Full(2), Fraction(1, 10**8))
    steps = [Fraction(k, 10) for k in range(1, 12, 2)]
    found = find_row(asked, steps)
    assert all(c.status in ("certified", "inconclusive") for c in found.cells[:5])
    assert found.cells[5].status == "unstable"
    reasons = {c.reason for c in found.cells if c.status == "inconclusive"}
    assert reasons <= {TOO_SLOW}
    end = found.certified_boundary
    assert end is None or end > Fraction(999, 1000) or found.unsure > 0


@pytest.mark.slow
def test_a_row_that_floats_see_well_has_nothing_open():
    asked = row(Focus(1))
    found = find_row(asked, [TENTH, Fraction(59, 100), Fraction(1)])
    assert [c.status for c in found.cells] == ["certified", "not certified", "unstable"]
    assert (found.unsure, found.holes) == (0, ())
    assert not any(cell.reason for cell in found.cells)
    said = remarks(region(asked, found))
    assert len([text for text in said if "asked about" not in text]) == 1
    (line,) = record(region(asked, found))
    assert "remark" not in line


# -- words -----------------------------------------------------------------------


def made(*cells, end="1/2", **rest):
    end = end and Fraction(end)
    found = RowFound(Fraction(2), cells, None, end, None, contraction=False, **rest)
    return region(row(Focus(1)), found)


def test_holes_are_told():
    cells = (
        cell("1/20", "not certified"),
        cell("1/10"),
        cell("1/5", "inconclusive"),
        cell("1/4"),
        cell("3/5", "not certified"),
    )
    one = made(*cells)
    (found,) = one.found
    assert [str(c.step_size) for c in found.holes] == ["1/20", "1/5"]
    text = "no certificate was found at 2 step sizes below the certified boundary"
    assert f"n = 2: {text}" in remarks(one)
    assert text in record(one)[0]["remark"]
    single = made(*cells[1:])
    assert any("at 1 step size below" in text for text in remarks(single))
    whole = made(cell("1/10"), cell("1/2", "not certified"))
    assert whole.found[0].holes == ()


def test_rows_with_holes_are_marked_in_the_table_and_counted_in_the_file(capsys):
    holed = made(cell("1/20", "not certified"), cell("1/10"), cell("1/5", "unstable"))
    whole = made(cell("1/20"), cell("1/10"), cell("3/5", "not certified"))
    for one, mark, count in ((holed, "*", "2"), (whole, "", "0")):
        found = replace(one.found[0], stability_boundary=Fraction(1))
        both = replace(one, found=(found,))
        show(both)
        line = capsys.readouterr().out.splitlines()[-1].split()
        assert line[2:5] == [f"0.5{mark}", "1", f"50.0%{mark}"]
        assert any(text.startswith('"*" marks') for text in remarks(both)) == bool(mark)
        lines = list(csv.DictReader(io.StringIO(as_csv(both))))
        assert {line["holes"] for line in lines} == {count}
        holes = [c.step_size for c in both.found[0].holes]
        assert record(both)[0]["holes"] == holes
        assert len(holes) == int(count)


def test_what_is_certified_beyond_unstable_steps_is_told(capsys):
    cells = cell("1/10"), cell("1/2", "unstable"), cell(1), cell(2), cell(3, "unstable")
    (plain,) = made(*cells, end="1/5").found
    again = replace(plain, stability_boundary=Fraction(1, 4))
    one = replace(made(*cells), found=(again,))
    assert [c.step_size for c in again.again] == [1, 2]
    text = "certificate was found again at 2 step sizes beyond the stability boundary, "
    assert f"n = 2: a {text}1 to 2" in remarks(one)
    assert record(one)[0]["certified_again"] == [1, 2]
    show(one)
    assert capsys.readouterr().out.splitlines()[-1].split()[2:4] == ["0.2", "0.25+"]
    assert any(said.startswith('"+" marks') for said in remarks(one))
    few = replace(one, found=(replace(again, cells=cells[:3]),))
    assert any(said.endswith("boundary, 1") for said in remarks(few))


def test_without_an_island_nothing_is_certified_again(capsys):
    cells = cell("1/10"), cell("2/5"), cell(1, "unstable")
    for end in (None, Fraction(1, 2), Fraction(2, 5) * (1 - Fraction(1, 10**7))):
        (found,) = made(*cells, end="2/5").found
        one = replace(made(*cells), found=(replace(found, stability_boundary=end),))
        assert one.found[0].again == ()
        assert record(one)[0]["certified_again"] == []
        assert not any("beyond others" in said for said in remarks(one))
        show(one)
        assert "+" not in capsys.readouterr().out


def test_large_server_steps_contract_again_beyond_unstable_steps():
    # 4 (1 - u)^2 - 3 at u = eta h, which is within (-1, 1) below 0.29 and above 1.71
    method = FedAvg(1, local_steps=2, server_step_size=4)
    asked = replace(row(method, Full(2)), strong_convexity=Fraction(19, 20))
    steps = [Fraction(s) for s in ("1/10", "1", "9/5", "19/10", "21/10")]
    found = find_row(asked, steps)
    assert [c.step_size for c in found.again] == steps[2:4]
    assert float(found.stability_boundary) == pytest.approx(1 - 0.5**0.5)
    assert found.certified_boundary < found.stability_boundary


def test_none_is_none_at_the_step_sizes_tried():
    said = '"none" means none at the step sizes tried'
    nothing = made(cell("1/10", "not certified"), end=None)
    off_the_grid = made(cell(1, "not certified"))
    island = made(cell("1/10"), end=None)  # beyond where quadratics are unstable
    everything = made(cell("1/10"))
    told = [
        any(said in text for text in remarks(one))
        for one in (nothing, off_the_grid, island, everything)
    ]
    assert told == [True, True, True, False]
    assert nothing.found[0].holes == ()


def test_a_boundary_that_may_lie_higher_is_told():
    text = (
        "the search for a certified boundary was inconclusive at 3 step sizes above it"
    )
    one = made(cell("1/10"), unsure=3)
    assert f"n = 2: {text}: it may lie higher" in remarks(one)
    assert record(one)[0]["remark"] == f"{text}: it may lie higher"
    assert len(remarks(made(cell("1/10")))) == 1


def test_every_remark_of_a_row_is_in_its_record():
    one = made(cell("1/10", "inconclusive"), remark="too many clients", unsure=1)
    (line,) = record(one)
    assert line["remark"].startswith("too many clients; no certificate was found at 1 ")
    assert "; 1 cell is inconclusive: the solver stopped; the search" in line["remark"]
    again = replace(one, found=(replace(one.found[0], remark="", unsure=0),))
    assert "too many" not in record(again)[0]["remark"]


def test_what_is_open_is_kept_in_a_store(tmp_path):
    one = made(cell("1/10", "inconclusive"), unsure=7)
    (found,) = one.found
    setting = tmp_path / "rows", "n", one.step_sizes, one.rows
    Store.open(*setting, False).add(0, found)
    assert Store.open(*setting, True).known == {0: found}


def rated(step, rate):
    return Cell(Fraction(step), "certified", Fraction(rate), "", Fraction(1, 2), "")


@pytest.mark.parametrize(
    ("rates", "end", "said"),
    [
        (("4/5", "9/10", "9/10"), "1/2", "smallest"),
        (("9/10", "9/10", "4/5"), "1/2", "largest"),
        (("9/10", "9/10", "4/5"), "2/5", None),  # there is nothing beyond
        (("9/10", "4/5", "9/10"), "1/2", None),
    ],
)
def test_a_best_rate_at_the_end_of_the_grid_is_told(rates, end, said):
    steps = ("1/10", "1/5", "2/5")
    cells = [rated(step, rate) for step, rate in zip(steps, rates, strict=True)]
    found = [text for text in remarks(made(*cells, end=end)) if "asked about" in text]
    if said is None:
        assert not found
    else:
        assert found == [
            f"for n = 2 the best rate is that of the {said} step size asked about; "
            "beyond it there may be a better one."
        ]


def test_one_step_size_has_no_end_of_a_grid():
    assert not any(
        "asked about" in text for text in remarks(made(rated("1/10", "1/2")))
    )
