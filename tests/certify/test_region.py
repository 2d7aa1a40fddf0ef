"""Regions: every rate against closed forms, exact moments, and its own certificate."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from random import Random

import pytest

from flverify import moments
from flverify._core.errors import (
    DomainError,
    FormatError,
    InputError,
    RefusedError,
    ShapeError,
)
from flverify._core.exact import parse_number
from flverify.algorithms import (
    FedAvg,
    FedDyn,
    Focus,
    GradientDescent,
    ProxSkip,
    Scaffold,
    WeightedFedAvg,
)
from flverify.certify import own_loops, search
from flverify.certify.check import Rejected, check
from flverify.certify.discover import discover
from flverify.certify.ladder import Ladder
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.rates import certify
from flverify.certify.region import Row, region, spaced
from flverify.certify.region import row as region_row
from flverify.certify.region._floor import Floor
from flverify.certify.region.row import find_row
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.stability import stability_boundary
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    SuccessiveSampling,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.report.regions import exact

MU, L = Fraction(1, 10), Fraction(1)
HALF = Bernoulli(["1/2", "1/2"])
STEPS = [Fraction(s) for s in ("1/10", "1/5", "2/5", "11/20", "7/10")]


def row(algorithm, law=HALF, value=1, mu=MU, smoothness=L):
    return Row(Fraction(value), algorithm, law, Fraction(mu), Fraction(smoothness))


def descent(value, clients=2):
    """A row of gradient descent, the fastest there is, at kappa = value."""
    return row(GradientDescent(1), Full(clients), value, L / value)


def found(one, steps=STEPS):
    (out,) = region("p", steps, [one]).found
    return out


@pytest.fixture(scope="module")
def focus():
    return found(row(Focus(1)))


# -- rates -----------------------------------------------------------------------


def test_gradient_descent_is_certified_at_its_closed_form():
    clients, steps = 3, [Fraction(k, 20) for k in (1, 4, 8, 12, 13, 14, 20)]
    one = found(descent(5, clients), steps)
    for cell in one.cells:
        ends = (cell.step_size * clients * h for h in (L / 5, L))
        rate = max((1 - end) ** 2 for end in ends)
        assert cell.quadratic_rate == rate
        assert cell.status == ("certified" if rate < 1 else "unstable")
        if cell.rate is not None:
            assert rate <= cell.rate <= rate + Fraction(1, 10**5)
    assert one.stability_boundary == Fraction(2, clients)
    assert 0 < one.stability_boundary - one.certified_boundary < Fraction(2, 10**4)


def test_where_the_rate_is_one_exactly_a_step_is_unstable():
    one = found(descent(5), [Fraction(1)])  # 2/(N L)
    assert one.stability_boundary == 1
    assert [(c.status, c.quadratic_rate) for c in one.cells] == [("unstable", 1)]


def test_a_bound_far_from_where_was_searched_knows_every_corner():
    # (1 - 4 eta h)^2: at eta = 1/8 the flattest is the worst, at 12/25 the steepest
    rates = QuadraticRates.of(GradientDescent("1/8"), Full(4))
    floor = Floor.of(rates, (MU, L), [Fraction(1, 8)])
    assert floor.at(Fraction(1, 8)) == (1 - MU / 2) ** 2
    assert floor.at(Fraction(12, 25)) == (1 - 4 * Fraction(12, 25) * L) ** 2


@pytest.mark.slow
def test_beyond_the_boundary_what_diverges_is_looked_for_anew():
    # there corners contract, and so does the quadratic that diverged at the boundary
    law, step = Bernoulli(["1/2", "1/5"]), Fraction(5, 4)
    boundary = stability_boundary(Focus(1, 3), law, MU, L)
    assert boundary.step_size < step
    for h in (*product((MU, L), repeat=2), boundary.instance.curvatures):
        quadratics = Quadratics([[[float(v)]] for v in h], [[0.0], [0.0]])
        assert moments(quadratics, Focus(step, 3), law).mean_square_rate < 1
    rates = QuadraticRates.of(Focus(1, 3), law)
    assert Floor.of(rates, (MU, L), [], boundary).at(step) > 1


def test_a_bound_is_the_lower_end_of_what_encloses_a_rate():
    step = Fraction(2, 5)
    rates = QuadraticRates.of(Focus(1), HALF)
    worst = worst_quadratic(Focus(step), HALF, MU, L)
    low, high = rates.at(step).enclosure(worst.instance)
    assert low < high  # the rate is irrational
    assert Floor.of(rates, (MU, L), [step]).at(step) == worst.lower_bound == low


@pytest.mark.slow
def test_bounds_follow_a_worst_quadratic_that_lies_inside():
    law = Bernoulli(["1/2", "1/5"])
    rates = QuadraticRates.of(Focus(1, 3), law)
    boundary = stability_boundary(Focus(1, 3), law, MU, L)
    end = Fraction(str(round(boundary.step_size, 6)))
    steps = [end * k / 12 for k in range(1, 12)]
    floor, insides = Floor.of(rates, (MU, L), steps, boundary), 0
    for number, step in enumerate(steps):
        worst = worst_quadratic(Focus(step, 3), law, MU, L)
        gap = worst.lower_bound - floor.at(step)
        assert 0 <= gap < Fraction(1, 10**4)
        # the whole search is done at five of the eleven
        assert gap == 0 or number not in (0, 2, 5, 8, 10)
        insides += worst.inside
    assert insides == 4
    # what does not contract at the boundary hardly does before it; corners all do
    near = end * Fraction(999, 1000)
    alone = Floor.of(rates, (MU, L), [], boundary)
    corners = replace(alone, pool=())
    assert corners.at(near) < Fraction(995, 1000) < Fraction(9999, 10000)
    assert Fraction(9999, 10000) < alone.at(near) < 1


def test_focus_at_the_points_known_by_hand(focus):
    rates = {cell.step_size: cell.rate for cell in focus.cells}
    for step, rate in (("1/10", "0.959566"), ("1/5", "0.918113")):
        assert 0 <= rates[Fraction(step)] - parse_number(rate) < Fraction(1, 10**5)
    # sqrt(q)^3/(8 L sqrt N) and 3 mu/(27 N L^2), q_min = E[I_i/|S|] = 3/8
    assert focus.printed_cap == Fraction(3, 10) / (27 * 2)
    assert focus.printed_cap**2 < Fraction(3, 8) ** 3 / (64 * 2)


def test_no_certified_rate_lies_below_exact_moments_of_a_quadratic(focus):
    certified = [cell for cell in focus.cells if cell.rate is not None]
    assert len(certified) == 4
    for cell in certified:
        for ends in ((MU, MU), (MU, L), (L, L)):
            quadratics = Quadratics([[[h]] for h in ends], [[0], [0]])
            exact_rate = moments(quadratics, Focus(cell.step_size), HALF)
            assert exact_rate.mean_square_rate <= cell.rate


@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [
        row(Focus(1)),
        row(Focus(1, 2), UniformCohort(4, 1)),
        row(ProxSkip(1, probability="1/5"), AllOrNothing(3, "1/5")),
        row(ProxSkip(1, 2, variant="notebook"), Full(2)),
        row(FedAvg(1, 2), UniformCohort(3, 2)),
    ],
    ids=["focus", "one client", "proxskip", "notebook", "fedavg"],
)
def test_bounds_agree_with_the_whole_search_at_every_step(one):
    steps = [Fraction(s, one.law.n_clients) for s in (Fraction(1, 50), 1, 2)]
    out = found(one, steps)
    for cell in out.cells:
        algorithm = one.algorithm.retuned(cell.step_size)
        worst = worst_quadratic(algorithm, one.law, MU, L)
        assert abs(cell.quadratic_rate - worst.lower_bound) < Fraction(1, 10**6)
        assert cell.rate is None or cell.quadratic_rate <= cell.rate < 1
        assert (cell.status == "unstable") == (cell.quadratic_rate >= 1)
    assert out.contraction == isinstance(one.algorithm, FedAvg)
    boundary = stability_boundary(one.algorithm, one.law, MU, L)
    assert out.stability_boundary == boundary.interval[0]
    assert 0 < out.certified_boundary < out.stability_boundary


def test_rates_agree_with_those_of_one_setting_at_a_time(focus):
    for cell in focus.cells[:4]:
        alone = certify(Focus(cell.step_size), HALF, MU, L)
        assert abs(cell.rate - alone.rate) <= Fraction(2, 10**5)


@pytest.mark.slow
def test_the_certified_boundary_is_certified_and_the_next_step_is_not(focus):
    ladder = Ladder.of(Focus(1), HALF, MU, L)
    assert focus.certified_boundary > Fraction(11, 20)
    assert ladder.certifiable(focus.certified_boundary)
    assert not ladder.certifiable(focus.certified_boundary * Fraction(1001, 1000))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("law", [Full(1), Bernoulli(["1/2", "1/3"])])
def test_a_contraction_is_certified_up_to_the_unstable_steps(law):
    row = Row(Fraction(2), FedAvg("1", 2), law, Fraction(1, 10), Fraction(1))
    found = find_row(row, [Fraction(1, 20), Fraction(1, 5)])
    assert [cell.status for cell in found.cells] == ["certified"] * 2
    assert found.certified_boundary > found.stability_boundary * Fraction(999, 1000)


def test_the_certified_share_is_known_where_both_boundaries_are(focus):
    assert focus.share == focus.certified_boundary / focus.stability_boundary
    for name in ("certified_boundary", "stability_boundary"):
        assert replace(focus, **{name: None}).share is None


@pytest.mark.slow
def test_smoothness_only_scales_the_step_sizes(focus):
    tripled = row(Focus(1), mu=3 * MU, smoothness=3 * L)
    scaled = found(tripled, [step / 3 for step in STEPS])
    assert [cell.status for cell in scaled.cells] == [c.status for c in focus.cells]
    pairs = zip(focus.cells, scaled.cells, strict=True)
    for one, other in pairs:
        assert one.quadratic_rate == other.quadratic_rate
        if one.rate is not None:
            assert abs(one.rate - other.rate) <= Fraction(1, 10**5)
    assert scaled.stability_boundary == focus.stability_boundary / 3


@pytest.mark.parametrize(
    "one",
    [
        row(Focus(1)),
        row(Focus(1, 3), UniformCohort(4, 1), smoothness=2),
        row(Focus(1), Bernoulli(["1/2", "1/3"])),
        row(Scaffold(1, 2), UniformCohort(3, 2)),
        row(ProxSkip(1, probability="1/5"), AllOrNothing(3, "1/5")),
        row(GradientDescent(1), Full(2)),
    ],
)
def test_what_is_moved_to_a_step_size_is_what_is_discovered_there(one):
    ladder = Ladder.of(one.algorithm, one.law, one.strong_convexity, one.smoothness)
    assert ladder.powers is not None
    step = Fraction(3, 70)
    there = one.algorithm.retuned(step)
    setting = search.problem(there, one.law, one.strong_convexity, one.smoothness)
    reading = search.read_round(setting)
    wanted = search.levels(reading, discover(reading))
    found = list(ladder.searches(step))
    assert [(s.space.structure, s.level) for s in found] == wanted


@pytest.mark.one_in(2)
@pytest.mark.parametrize("step", ["1e-6", "1e-4"])
def test_slow_rates_are_certified_as_closely_as_their_distance_from_one(step):
    (slow,) = found(row(Focus(1), mu="1/100"), [Fraction(step)]).cells
    assert 1 - slow.rate > Fraction(98, 100) * (1 - slow.quadratic_rate) > 0


# -- proofs ----------------------------------------------------------------------


def test_every_rate_comes_with_a_certificate_of_its_own(monkeypatch):
    accepted = {}

    def spy(certificate):
        proved = check(certificate)
        step = Fraction(certificate["algorithm"]["settings"]["step_size"])
        accepted[step, proved.rho] = json.dumps(certificate)
        return proved

    monkeypatch.setattr(own_loops, "check", spy)
    cells = [cell for cell in found(row(Focus(1))).cells if cell.rate is not None]
    for cell in cells:
        written = json.loads(accepted[cell.step_size, cell.rate])
        assert check(written).rho == cell.rate
        assert written["law"]["classes"] == [{"clients": 2, "inclusion": "1/2"}]
    assert len(cells) == 4


@pytest.mark.slow
def test_without_the_checkers_consent_nothing_is_certified(monkeypatch):
    def never(certificate):
        raise Rejected("not today")

    monkeypatch.setattr(own_loops, "check", never)
    out = found(row(Focus(1)), STEPS[:1])
    assert [cell.status for cell in out.cells] == ["inconclusive"]
    assert all(cell.rate is None for cell in out.cells)
    assert out.certified_boundary is None
    monkeypatch.setattr(Ladder, "promising", lambda *_: False)  # nor by floats
    assert found(row(Focus(1)), STEPS[:1]).certified_boundary is None


@pytest.mark.slow
def test_a_floor_that_is_too_high_shows(monkeypatch, focus):
    # were the bound no bound, rates would stop short of the smallest
    monkeypatch.setattr(region_row.Floor, "at", lambda *_: Fraction(98, 100))
    raised = found(row(Focus(1)), STEPS[:1])
    assert raised.cells[0].rate > focus.cells[0].rate + Fraction(1, 100)


# -- stores and workers ------------------------------------------------------------

ROWS = [descent(k) for k in (2, 3, 5, 8)]
FEW = [Fraction(1, 10), Fraction(1, 2), Fraction(2)]


@pytest.fixture(scope="module")
def whole():
    return region("kappa", FEW, ROWS)


class Stop:
    """Interrupt when so many rows have begun or come in."""

    def __init__(self, after):
        self.left = after

    def __call__(self, _):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("workers", "after"), [(1, 2), (2, 1)])
def test_an_interrupted_region_taken_up_is_the_uninterrupted_one(
    tmp_path, whole, workers, after
):
    path = tmp_path / "rows"
    with pytest.raises(KeyboardInterrupt):
        region("kappa", FEW, ROWS, workers=workers, store=path, begin=Stop(after))
    lines = path.read_text().splitlines()
    marks = [json.loads(line) for line in lines if "done" in line]
    assert 0 < len(marks) < len(ROWS)
    names = []
    again = {"store": path, "resume": True, "begin": names.append}
    assert region("kappa", FEW, ROWS, **again) == whole
    assert sorted(names) == [f"kappa = {k}" for k in (2, 3, 5, 8)]
    assert path.read_text().startswith("\n".join(lines[: 1 + 2 * len(marks)]))


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 60, 150, 399])
def test_what_is_half_written_is_found_anew(tmp_path, whole, cut):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:2], store=path)
    text = path.read_bytes()
    path.write_bytes(text[:-cut])
    again = region("kappa", FEW, ROWS[:2], store=path, resume=True)
    assert again.found == whole.found[:2]
    # the file is as if nothing had happened
    assert path.read_bytes() == text


def test_a_store_is_never_written_over(tmp_path):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:1], store=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="an interrupted run left it"):
        region("kappa", FEW, ROWS[:1], store=path)
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("resume", [True, False])
def test_a_store_is_written_by_one_run_at_a_time(tmp_path, whole, resume):
    path, said = tmp_path / "rows", []

    def again(_):
        with pytest.raises(InputError, match="one run at a time") as refused:
            region("kappa", FEW, ROWS, store=path, resume=resume)
        said.append(refused)

    assert region("kappa", FEW, ROWS, store=path, begin=again) == whole
    assert len(said) == len(ROWS)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "asked",
    [
        ("kappa", FEW, ROWS[:2]),
        ("n", FEW, ROWS[:1]),
        ("kappa", FEW[:2], ROWS[:1]),
        ("kappa", FEW, [descent(3)]),
        ("kappa", FEW, [descent(2, clients=4)]),
        ("kappa", FEW, [replace(ROWS[0], algorithm=Focus(1))]),
    ],
    ids=["rows", "over", "steps", "value", "law", "algorithm"],
)
def test_a_store_of_another_setting_is_refused(tmp_path, asked):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:1], store=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="taken up with the setting"):
        region(*asked, store=path, resume=True)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_templates_step_size_plays_no_role(tmp_path, whole):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:1], store=path)
    other = replace(ROWS[0], algorithm=GradientDescent("1/7"))
    assert (
        region("kappa", FEW, [other], store=path, resume=True).found
        == (whole.found[:1])
    )


def altered(text):
    return text.replace("certified", "certifiee", 1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "spoil",
    [altered, lambda t: "{}\n" + t, lambda t: "\xff\n" + t, lambda t: t + "[1]\n"],
    ids=["altered", "prefixed", "binary", "no object"],
)
def test_a_damaged_store_is_refused(tmp_path, spoil):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:1], store=path)
    path.write_text(spoil(path.read_text()), encoding="latin-1")
    with pytest.raises((FormatError, InputError), match=r"rows|region"):
        region("kappa", FEW, ROWS[:1], store=path, resume=True)


@pytest.mark.parametrize("ours", [True, False])
def test_of_files_without_a_line_only_the_beginning_of_ours_is_removed(tmp_path, ours):
    path = tmp_path / "rows"
    region("kappa", FEW, ROWS[:1], store=path)
    begun = path.read_text()[:90] if ours else "the only copy of a poem"
    path.write_text(begun)
    again = {"store": path, "resume": True, "begin": Stop(0)}
    with pytest.raises((KeyboardInterrupt, FormatError)) as ended:
        region("kappa", FEW, ROWS[:1], **again)
    assert ended.type is (KeyboardInterrupt if ours else FormatError)
    assert path.exists() == (not ours)
    assert ours or path.read_text() == begun


def test_nothing_is_written_before_a_row_is_finished(tmp_path):
    path = tmp_path / "rows"
    with pytest.raises(KeyboardInterrupt):
        region("kappa", FEW, ROWS, store=path, begin=Stop(0))
    assert not path.exists()


# -- grids -------------------------------------------------------------------------


def test_geometric_grids_have_equal_ratios():
    grid = spaced("1/1000", 2, 7)
    assert (grid[0], grid[-1]) == (Fraction(1, 1000), 2)
    ratios = [float(b / a) for a, b in pairwise(grid)]
    assert ratios == pytest.approx([2000 ** (1 / 6)] * 6, rel=2e-6)


def test_even_grids_are_exact():
    assert spaced("1/3", "5/3", 5, "linear") == tuple(
        Fraction(k, 3) for k in range(1, 6)
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((1, 1, 3), "to a larger one"),
        ((2, 1, 3), "to a larger one"),
        ((0, 1, 3), "must be positive"),
        ((0.5, 1, 3), "rational"),
        ((1, 2, 1), "count must be an integer at least 2"),
        ((1, "1.00001", 30), "different values to 6 digits"),
        ((1, 2, 3, "cubic"), "spacing must be one of"),
    ],
)
def test_bad_grids_are_refused(arguments, says):
    with pytest.raises(DomainError, match=says):
        spaced(*arguments)


@pytest.mark.parametrize(
    ("over", "steps", "rows", "error", "says"),
    [
        ("eta", FEW, ROWS, DomainError, "over must be one of"),
        ("kappa", [], ROWS, ShapeError, "nonempty"),
        ("kappa", FEW, [], ShapeError, "must have a row"),
        ("kappa", FEW[::-1], ROWS, DomainError, "increasing order"),
        ("kappa", [0, 1], ROWS, DomainError, "positive rationals"),
        ("kappa", [0.5], ROWS, DomainError, "positive rationals"),
        ("kappa", FEW, ROWS[::-1], DomainError, "values must be positive"),
        ("tau", FEW, [row(Focus(1, 9))], DomainError, "at most 8 local steps"),
        ("kappa", FEW, [descent(1)], DomainError, "must be below smoothness"),
        ("p", FEW, [row(Focus(1), SuccessiveSampling(["1/2"] * 2, 1))], None, "law"),
        ("p", FEW, [row(WeightedFedAvg(1, ["1/2"] * 2))], None, "must be for one of"),
    ],
)
def test_bad_regions_are_refused_before_anything_is_computed(
    monkeypatch, over, steps, rows, error, says
):
    monkeypatch.setattr(region_row, "Ladder", None)
    with pytest.raises(error or RefusedError, match=says):
        region(over, steps, rows)


def test_the_text_of_a_number_is_read_back_as_the_same():
    draw = Random(7)
    for _ in range(300):
        bottom = draw.choice([10 ** draw.randrange(1, 30), draw.randrange(1, 10**6)])
        value = Fraction(draw.randrange(1, 10**9), bottom)
        assert parse_number(exact(value)) == value
    assert exact(Fraction(3, 10**5)) == "0.00003"
    assert exact(Fraction(1, 180)) == "1/180"


def test_that_no_stability_boundary_is_sought_is_told_to_readers_of_a_table():
    rates = QuadraticRates.of(FedDyn("1/10", 1), Full(1))
    boundary, remark = region_row._stability(rates, Fraction(1, 10), Fraction(1))
    assert boundary is None
    assert remark.startswith("no stability boundary: the step size must be the only")
    assert remark.endswith("; look at one step size at a time")  # others follow


@pytest.mark.parametrize("unit", [10**8, Fraction(1, 10**8)])
@pytest.mark.parametrize(
    ("algorithm", "bound"), [(FedDyn("1/2", 1, 3), 1.2325), (Scaffold("1/3", 2), 0.7)]
)
def test_what_does_not_contract_is_seen_in_all_units(algorithm, bound, unit):
    bounds = []
    for one, scale in ((algorithm, Fraction(1)), (algorithm.rescaled(unit), unit)):
        rates = QuadraticRates.of(one, Bernoulli(["1/2"] * 3))
        floor = Floor.of(rates, (Fraction(scale) / 10, scale), [one.step_size])
        bounds.append([floor.at(one.step_size), floor.at(2 * one.step_size)])
    assert bounds[0] == bounds[1]
    assert bounds[0][1] > bound
