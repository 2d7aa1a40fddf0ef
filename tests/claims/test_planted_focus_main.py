"""A wrong constant planted in claims about FOCUS's text and appendices is noticed."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest
import sympy

from flverify.claims import (
    fedavg_averages,
    graph_neighbourhood,
    judge,
    push_pull_runs,
)
from flverify.claims.fedavg_averages import gaps_below
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.schedules import made_before
from flverify.claims.verdict import Verdict

pytestmark = pytest.mark.slow

REFUTED, PROVED, SUPPORTED = Verdict.REFUTED, Verdict.PROVED, Verdict.SUPPORTED
CERTIFIED, OPEN = Verdict.CERTIFIED, Verdict.INCONCLUSIVE
FROM_1, FROM_0 = ("first index k = 1",), ("first index k = 0",)


@pytest.fixture(scope="module")
def proofs():
    files = {}

    def loaded(name):
        if name not in files:
            files[name] = load_file(proofs_folder() / f"{name}.py")
        return files[name]

    return loaded


def verdicts(finding):
    return [reading.verdict for reading in finding.readings.values()]


PROVED_CLAIMS = [
    ("focus_recursions", "dead_step", {"dead": 2}),
    ("focus_recursions", "dead_step", {"stored_before_last": 2}),
    ("focus_observations", "server_selects", {"entry": -1}),
    ("focus_observations", "clients_emptied", {"collects": "cohort"}),
    ("focus_observations", "telescoped", {"reference": 1}),
    ("focus_observations", "masked_difference", {"reference": 1}),
    ("focus_problem", "problem", {"factor": 3}),
    ("focus_problem", "constrained", {"somebody missing": True}),
    ("focus_problem", "constrained", {"f_0": 1}),
    ("focus_problem", "at_consensus", {"factor": 0}),
    ("focus_problem", "sum_of_rows", {"f_0": -1}),
    ("focus_assumptions", "strongly_convex", {"half": "3/4"}),
    ("focus_assumptions", "polyak_lojasiewicz", {"factor": "101/50"}),
    ("focus_decentralised", "fixed_points", {"linked": False}),
    ("fedavg_lemmas", "descent", {"drift": "1/10", "bias": "1/10"}),
]


@pytest.mark.parametrize(("file", "name", "wrong"), PROVED_CLAIMS)
def test_a_wrong_constant_refutes_what_is_proved(proofs, file, name, wrong):
    claim = getattr(proofs(file), name)
    assert claim.check().verdict == PROVED
    assert claim.check(**wrong).verdict == REFUTED


def test_fixed_points_of_push_pull_are_proved_on_any_number_of_nodes(proofs):
    claim = proofs("focus_decentralised").fixed_points
    assert claim.check().scope.startswith("any number of nodes")
    assert "dimension" in claim.control().evidence["counterexample"].values()


def test_the_mean_of_any_number_of_clients_is_strongly_convex(proofs):
    claim = proofs("focus_assumptions").strongly_convex
    assert claim.check().parts["F"].scope == "every N and f_i"
    refuted = claim.check(half="3/4")
    assert refuted.parts["quadratics"].verdict == REFUTED


REFUTED_CLAIMS = [
    ("focus_observations", "client_moves", PROVED),
    ("focus_observations", "rows_move", PROVED),
    ("focus_problem", "fedavg", PROVED),
    ("focus_tables", "round_index", PROVED),
    ("fedavg_appendix", "pull_and_average", PROVED),
    ("fedavg_lemmas", "summed", PROVED),
]


@pytest.mark.parametrize(("file", "name", "mended"), REFUTED_CLAIMS)
def test_what_is_refuted_passes_once_mended(proofs, file, name, mended):
    claim = getattr(proofs(file), name)
    found = claim.check()
    assert found.verdict == REFUTED
    assert claim.control().verdict == mended
    assert found.correction.finding.verdict == mended


READ = [
    ("focus_recursions", "first_table", [REFUTED, REFUTED, PROVED, REFUTED, PROVED]),
    ("focus_recursions", "second_table", [PROVED, REFUTED]),
    ("focus_recursions", "collecting_all", [REFUTED, REFUTED, PROVED]),
    (
        "focus_recursions",
        "box_and_rows",
        [PROVED, REFUTED, REFUTED, PROVED, *[REFUTED] * 4],
    ),
    ("focus_observations", "server_rows", [REFUTED, PROVED]),
    (
        "focus_observations",
        "pulled_distance",
        [REFUTED, REFUTED, PROVED, REFUTED],
    ),
    ("focus_observations", "tracking", [PROVED, PROVED, REFUTED, REFUTED]),
    (
        "focus_observations",
        "sum_of_latest",
        [PROVED, REFUTED, REFUTED, REFUTED, PROVED],
    ),
    ("focus_problem", "limiting_point", [SUPPORTED, REFUTED, PROVED]),
    ("focus_assumptions", "smooth", [REFUTED, CERTIFIED, CERTIFIED]),
    ("focus_assumptions", "bounded_heterogeneity", [PROVED, REFUTED]),
    ("focus_decentralised", "descent_on_a_graph", [REFUTED, REFUTED, PROVED, PROVED]),
    ("focus_decentralised", "eventually", [REFUTED, REFUTED, SUPPORTED]),
    ("focus_tables", "fastest", [PROVED, REFUTED]),
    ("fedavg_appendix", "everybody_works", [PROVED, REFUTED, PROVED, REFUTED]),
    ("fedavg_appendix", "expansion", [PROVED, REFUTED]),
    ("fedavg_appendix", "mismatch", [REFUTED, REFUTED, PROVED, REFUTED]),
    ("fedavg_lemmas", "disagreement", [PROVED, REFUTED, REFUTED, REFUTED, PROVED]),
]


@pytest.mark.parametrize(("file", "name", "expected"), READ)
def test_readings_differ_and_none_survives_the_twin(proofs, file, name, expected):
    claim = getattr(proofs(file), name)
    assert verdicts(claim.check()) == expected
    assert set(verdicts(claim.control())) == {REFUTED}


def test_the_lemma_of_descent_needs_its_constants_up_to_a_percent(proofs):
    claim = proofs("fedavg_lemmas").descent
    for wrong in ({"drift": "99/20"}, {"bias": "99/20"}, {"cap": "101/300"}):
        assert claim.check(**wrong).verdict in (OPEN, REFUTED)


@pytest.mark.parametrize("weights", [(7, 4), (8, 3)])
def test_lemma_2_has_50_from_the_four_squares_of_49(proofs, monkeypatch, weights):
    file = proofs("fedavg_lemmas")
    constants = SimpleNamespace(bound="8", cap="1/4")
    assert file._apart_proof(constants).verdict == PROVED

    def less(moved, apart):
        return weights[0] * moved + weights[1] * apart

    for module in (file, fedavg_averages):
        monkeypatch.setattr(module, "line_50", less)
    assert not file._apart_proof(constants).passes()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_lemma_1_has_45_from_the_coefficients_of_44(proofs, monkeypatch, place):
    file = proofs("fedavg_lemmas")
    printed = file._line_44

    def less(big, step):
        found = [*printed(big, step)]
        found[place] -= step**2 * big / 100
        return tuple(found)

    monkeypatch.setattr(file, "_line_44", less)
    assert not file.descent.check().passes()


def test_the_disagreement_holds_up_to_its_cap_and_no_further(proofs):
    claim = proofs("fedavg_lemmas").disagreement
    proved = next(iter(claim.check().readings.values()))
    assert proved.scope.startswith("every tau")
    assert verdicts(claim.check(cap="13/50"))[0] == OPEN  # the proof stops at 1/4
    assert verdicts(claim.check(bound="1/10"))[0] == REFUTED


def test_the_bound_of_the_mismatch_is_proved_once_mended_and_not_with_less(proofs):
    claim = proofs("fedavg_appendix").mismatch
    mended = claim.check().correction.finding
    assert (mended.verdict, mended.scope) == (PROVED, proofs("fedavg_appendix").EVERY)
    assert verdicts(claim.check(**{"part of the bound": "99/100"}))[2] == REFUTED
    assert gaps_below(1, "every q").passes()
    assert not gaps_below(Fraction(99, 100), "every q").passes()


def test_equal_curvatures_are_as_far_apart_everywhere_and_not_less(proofs):
    file = proofs("focus_assumptions")
    assert file._same_everywhere(Fraction(1)).passes()
    assert not file._same_everywhere(Fraction(99, 100)).passes()


def test_the_index_that_is_averaged_has_to_be_made():
    found = [made_before(i).verdict for i in (-1, 0, 1)]
    assert found == [REFUTED, PROVED, REFUTED]


def test_the_row_of_focus_is_judged_apart_from_other_papers(proofs):
    claim = proofs("focus_tables").rates
    assert claim.check().evidence["part"] == "other rows"
    assert claim.check(rounds="1/2").evidence["part"] == "halved"
    found = claim.check()
    assert found.scope.startswith("given (23), (24); ")
    assert not any(reading.given for reading in found.readings.values())


def test_the_rounds_of_the_row_of_focus_are_counted_to_the_end(proofs):
    """The least R with (1 - a)^R <= eps is at most (1 + 1/a)(1 + log2(1/eps))."""
    parts = proofs("focus_tables").rates.check().parts["FOCUS, given (23)-(24)"].parts
    assert {parts[k].verdict for k in ("halved again", "all rounds")} == {PROVED}
    for a, k in product((Fraction(1), Fraction(1, 3), Fraction(1, 50)), (0, 1, 5)):
        kept, rounds = Fraction(1), 0
        while kept > Fraction(1, 2**k):
            kept, rounds = kept * (1 - a), rounds + 1
        assert rounds <= (1 + 1 / a) * (1 + k)


def test_beta_is_at_most_l_by_a_bound_that_is_proved_beside_it(proofs):
    found = proofs("focus_assumptions").polyak_lojasiewicz.check()
    assert found.parts["|grad F|^2 <= 2 L (F - F*)"].verdict == PROVED


def test_no_count_gives_two_vectors_to_both_scaffold_and_proxskip(proofs):
    claim, none = proofs("focus_tables").rates, [REFUTED] * 3
    two, one = [PROVED, PROVED, REFUTED], [REFUTED, REFUTED, PROVED]
    found = claim.check()
    assert verdicts(found) == [*two, *one]
    assert verdicts(claim.check(vectors=1)) == [*none, *two]
    assert verdicts(claim.check(vectors=4)) == [*one, *none]
    assert set(verdicts(claim.check(vectors=3))) == {REFUTED}
    assert found.parts["SCAFFOLD, option II, one vector up"].verdict == PROVED


def test_the_square_of_a_distance_of_order_eta_is_of_order_eta_squared(proofs):
    claim = proofs("focus_decentralised").descent_on_a_graph
    squared = [REFUTED, REFUTED, REFUTED, PROVED]
    assert verdicts(claim.check(order=2)) == squared


def test_what_fails_in_the_proof_of_lemma_2_is_mended_by_an_index(proofs):
    steps, last = proofs("fedavg_lemma2_steps"), proofs("fedavg_last_steps")
    by_reading = [REFUTED, REFUTED, PROVED]
    assert verdicts(steps.since_consensus.check()) == by_reading
    assert verdicts(steps.wrong_client.check()) == [REFUTED, PROVED, REFUTED]
    found = steps.lipschitz.check()
    assert verdicts(found) == [REFUTED, PROVED, REFUTED]
    assert found.correction.finding.verdict == PROVED
    assert verdicts(steps.lipschitz.control()) == [REFUTED] * 3
    assert verdicts(last.induction.check()) == by_reading
    assert verdicts(last.at_communications.check()) == [REFUTED, PROVED]
    for one in (steps.since_consensus, last.induction):
        assert one.control().verdict == REFUTED
        assert one.check().correction.finding.verdict == PROVED
    mended = steps.since_consensus.check(late=1, first=FROM_1)
    assert mended.verdict == PROVED


@pytest.mark.parametrize(
    "wrong",
    [
        # one iteration later x_{k_0} is common, two later it is not
        {"late": 2, "first": FROM_1},
        # with k = 0 first, tau steps lie between the models that are common
        {"late": 1, "first": FROM_0},
    ],
)
def test_no_other_index_mends_48(proofs, wrong):
    steps = proofs("fedavg_lemma2_steps")
    assert not steps.since_consensus.check(**wrong).passes()


@pytest.mark.parametrize(
    "wrong", [{"later": 1}, {"later": 2}, {"factor": "5"}, {"each": 2}, {"more": 1}]
)
def test_what_51_is_made_of_is_needed_where_it_is_proved(proofs, wrong):
    found = verdicts(proofs("fedavg_last_steps").induction.check(**wrong))
    assert PROVED not in found


@pytest.mark.parametrize("name", ["drift", "bias", "variance"])
def test_each_factor_of_55_is_needed(proofs, name):
    claim = proofs("fedavg_last_steps").at_communications
    less = str(Fraction(claim.constants[name]) * Fraction(99, 100))
    assert verdicts(claim.check(**{name: less}))[1] == REFUTED


def test_both_ways_to_the_rows_of_48_agree(proofs):
    file = proofs("fedavg_lemma2_steps")
    for first, made in file.FIRST.values():
        one = file.Run((0, 1, 5), 3, first, made)
        assert all(one.rows(k) == one.again(k) for k in range(first, 14))


@pytest.mark.parametrize("nodes", [3, 4])
def test_dgd_stays_near_x_on_rings_of_more_nodes(proofs, nodes):
    # columns of sum 1; the neighbourhood shrinks like eta, and not like its square
    W = sympy.Matrix(
        nodes, nodes, lambda i, j: Fraction(1, 2) if (j - i) % nodes < 2 else 0
    )
    h, b = sympy.diag(*range(1, nodes + 1)), sympy.Matrix(range(nodes))
    best = sum(h * b) / sympy.Rational(h.trace())
    gaps = []
    for eta in (sympy.Rational(1, 10**4), sympy.Rational(1, 2 * 10**4)):
        x = (sympy.eye(nodes) - W * (sympy.eye(nodes) - eta * h)).LUsolve(
            eta * W * h * b
        )
        gaps.append(max(abs(v - best) for v in x))
    assert 19 < 10 * gaps[0] / gaps[1] < 21


@pytest.mark.parametrize(("order", "power"), [(1, 1), (1, 2)])
def test_the_neighbourhood_of_dgd_needs_every_link(monkeypatch, order, power):
    near = graph_neighbourhood.fixed_points_near.__wrapped__
    assert near(order, power).verdict == PROVED
    assert not near(order + 2, power).passes()
    for name in ("_gradients", "_between", "_one_link", "_closed"):
        with monkeypatch.context() as planted:
            planted.setattr(graph_neighbourhood, name, lambda: judge.inconclusive("?"))
            assert not near(order, power).passes()


def test_without_loops_no_step_of_push_pull_is_small_enough():
    # characteristic polynomial of the difference, at -1: negative for every eta > 0
    eta, root = sympy.Symbol("eta", positive=True), sympy.Symbol("root")
    step = sympy.Matrix([[-1, eta], [2, -1 - eta]])
    assert sympy.expand(step.charpoly(root).as_expr().subs(root, -1)) == -2 * eta
    for case in push_pull_runs.small_steps():
        assert case.left > 1
        assert case.recheck() == (case.left, 1)
    # with loops half of the step does as well
    assert all(c.left < c.right for c in push_pull_runs.with_loops(Fraction(1, 16)))


@pytest.mark.parametrize("mu", ["-1/100000", "-1/7", "-1", "-9"])
def test_nodes_that_do_not_hear_themselves_go_away_at_every_step(mu):
    """The instances that `ANY_STEP` names, one step size each."""
    mu, turned = Fraction(mu), [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    eta = mu**2 / (2 - mu)
    start, b = [Fraction(1), Fraction(-1)], [1 - mu / eta, mu / eta - 1]
    assert push_pull_runs._ratio(turned, eta, start, b) == (1 - mu, 1)
    off = [b[0] + 1, b[1]]  # no eigenvector, so that no ratio stays
    assert push_pull_runs._ratio(turned, eta, start, off) == (0, 1)
