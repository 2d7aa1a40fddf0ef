"""The plain checker: of the same opinion as the other one, and noticed if it errs."""

from __future__ import annotations

import ast
import copy
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from flint import fmpq

from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.certify.check import Rejected, blocks, check, load, plain
from flverify.certify.check._reading import read
from flverify.certify.check.plain import (
    TooManyError,
    _groups,
    _proof,
    _sums,
    check_plainly,
)
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.reference import _vectors
from tests.certify import dense, test_attacks, test_check, test_dense, test_soundness
from tests.certify import test_mutations as mutations

STORED = {
    path.stem: load(path)
    for path in sorted((Path(__file__).parent / "data").glob("*.json"))
}
FOUND = {
    "full": (certify, Focus("1/10", 2), Full(3)),
    "equal": (certify, Focus("1/10", 2), Bernoulli(["1/2"] * 3)),
    "two classes": (certify, Scaffold("1/10"), Bernoulli(["1/2", "1/3", "1/3"])),
    "one of each": (certify, Focus("1/5"), Bernoulli(["1", "1/2", "1/3"])),
    "uniform": (certify, Scaffold("1/10", 2), UniformCohort(3, 2)),
    "eight": (certify, Focus("1/20"), Bernoulli(["1/2"] * 8)),
    "eight of two classes": (
        certify,
        Focus("1/20"),
        Bernoulli(["1/2"] * 3 + ["1/3"] * 5),
    ),
    "thousand": (certify, Scaffold("1/10", 2), UniformCohort(1000, 10)),
    "all or nothing": (certify, Scaffold("1/10"), AllOrNothing(2, "1/3")),
    "duals": (certify, FedDyn("1/2", 1, 2), UniformCohort(3, 2)),
    "coin of two": (
        certify,
        ProxSkip("1/3", probability="1/3"),
        AllOrNothing(2, "1/3"),
    ),
    "notebook": (certify, ProxSkip("1/5", 2, variant="notebook"), Full(3)),
    "descent of two": (certify, GradientDescent("1/2"), Full(2)),
    "one client": (certify, GradientDescent("1/2"), Full(1)),
    "drift": (contraction, FedAvg("1/10", 2), Bernoulli(["1/2"] * 2)),
    "a table": (certify, Mifa("1/10"), UniformCohort(3, 2)),
    "a biased table": (contraction, FedVarp("1/10", 2), Bernoulli(["1/2", "1/3"])),
    "pulled back": (contraction, FedProx("1/10", 1, 2), Bernoulli(["1/2", "1/3"])),
    "drift of classes": (distance, FedAvg("1/10", 2), Bernoulli(["1/2", "1/3"])),
}
TEXTS = mutations.TEXTS  # `check` alone judges these
QUICK, WHOLE = 200, 2000


@cache
def certificate(name):
    if name in mutations.ORIGINALS:
        return mutations.original(name)
    if name in STORED:
        return STORED[name]
    search, algorithm, law = FOUND[name]
    found = search(algorithm, law, "1/10", 1)
    assert found.status == "certified", found.reason
    return found.certificate


def says(judge, certificate):
    """Whether a checker accepts, or why not."""
    try:
        judge(certificate)
    except Rejected as error:
        return str(error)
    return "accepted"


def agree(certificate):
    both = says(check_plainly, certificate), says(check, certificate)
    return both.count("accepted") != 1


def test_no_paper_is_named_for_what_none_prints():
    for name, source in (("notebook", "printed nowhere"), ("coin of two", "Scaffnew")):
        assert source in certificate(name)["algorithm"]["source"]


def reworded(certificate):
    """The certificate with the words that belong to its numbers, and its digest."""
    try:
        words = read(certificate).words
    except Rejected:
        return certificate
    out = copy.deepcopy(certificate)
    out["statement"], out["level"] = words["statement"][1], words["level"][1]
    out["algorithm"]["source"] = words["source"][1]
    return mutations.signed(out)


# ----------------------------------------------------------------- what it accepts


@pytest.fixture(params=[_groups.FEW, 0], ids=["each client", "two apart"], autouse=True)
def few(request, monkeypatch):
    """Everything is tried with each client written out, and with two of a class."""
    monkeypatch.setattr(_groups, "FEW", request.param)
    return request.param


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [*mutations.ORIGINALS, *STORED, *FOUND])
def test_what_was_found_is_accepted(name):
    assert check_plainly(certificate(name)) == check(certificate(name)).rho


@pytest.mark.slow
@pytest.mark.parametrize("few", [_groups.FEW], indirect=True)
def test_what_is_found_in_random_settings_is_accepted(few):
    accepted = []
    for k in range(30):
        setting = test_soundness.some_setting(k)
        found = certify(test_soundness.algorithm(setting), setting.law, setting.mu, 1)
        if found.status == "certified":
            assert check_plainly(found.certificate) == found.rate
            accepted.append(setting)
    assert sum(setting.law.n_clients > few for setting in accepted) > 10


def test_words_and_the_digest_are_left_to_the_other_checker():
    changed = {**certificate("focus"), "statement": "x", "level": "y", "digest": "z"}
    assert says(check, changed) != "accepted"
    assert says(check_plainly, changed) == "accepted"


# ---------------------------------------------------------- the opinion of the other


def disputes(number, seed):
    """The stories of the changed certificates that only one checker accepts."""
    changed = mutations.mutants(number, seed)
    return [story for story, mutant in changed if not agree(reworded(mutant))]


@pytest.mark.slow
def test_hundreds_of_changes_get_the_verdict_of_the_other_checker():
    assert not disputes(QUICK, "plain")


@pytest.mark.slow
def test_thousands_of_changes_get_the_verdict_of_the_other_checker():
    assert not disputes(WHOLE, "plain, all")


MANY = "eight", "eight of two classes", "thousand"


@pytest.mark.slow
@pytest.mark.parametrize("few", [_groups.FEW], indirect=True)
def test_changes_of_many_clients_get_the_verdict_of_the_other_checker(few):
    changed = mutations.mutants(45, "plain, many", MANY, certificate)
    both = Counter()
    for story, mutant in changed:
        new = reworded(mutant)
        verdicts = [says(judge, new) == "accepted" for judge in (check, check_plainly)]
        both[tuple(verdicts)] += 1
        assert verdicts[0] == verdicts[1], story
    assert few < 8
    assert both[False, False] > 25
    assert both[True, True] > 1


def attacks():
    """What the tests of the other checker try on it, and the same at no lower rate."""
    for story, (tricks, _) in test_attacks.CHEAP.items():
        yield story, test_attacks.attacked("focus_slots", test_attacks.LOW, *tricks)
        yield story, test_attacks.attacked("focus_slots", *tricks)
    for test in (
        test_attacks.test_numbers_out_of_range,
        test_attacks.test_numbers_of_another_setting,
    ):
        for name, changes, reason in given(test):
            yield reason, test_attacks.attacked(name, *changes)
    for name, path, value, reason in given(test_check.test_wrong_tables):
        yield reason, test_check.changed(STORED[name], path, value)
    for path, value, reason in given(test_check.test_malformed):
        if path not in {*TEXTS, ("extra",)}:
            yield reason, test_check.changed(STORED["focus_slots"], path, value)


def given(test):
    """Return the cases of a test."""
    [cases] = [mark.args[1] for mark in test.pytestmark if mark.name == "parametrize"]
    return cases


@pytest.mark.slow
def test_attacks_on_the_other_checker_get_its_verdict():
    tried = [*attacks()]
    assert len(tried) > 150
    assert not [story for story, c in tried if not agree(reworded(c))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", test_dense.LOOPS)
def test_any_tables_have_the_forms_of_the_other_checker_or_no_proof(name, few):
    draw, seen = Random(f"plain tables {name}"), Counter()
    for k in range(100):
        c = test_dense.randomised(test_dense.tables(name, draw), f"tables {k}")
        c["algorithm"]["source"] = "any"
        theirs, mine = told(blocks, c), told(forms, c)
        seen[theirs is None, mine is None] += 1
        if theirs and mine:
            for stage, form in mine.items():
                own = np.array(test_dense._signs(theirs[f"{stage}/class 0"]))
                both = (2 if few else 1) * own  # three clients have two deviations
                signs = test_dense._signs(theirs[f"{stage}/mean"]) + both
                found = dense.sign_counts(matrix(form))
                assert (found[0], found[2]) == (signs[0], signs[2])
        elif mine:
            # what does not rest as stated has vectors that only lower a form
            assert any(dense.sign_counts(matrix(form))[0] for form in mine.values())
    assert not seen[False, True]
    assert seen[False, False] > 5


def forms(certificate):
    """The forms of the last clients to be looked at; there is one class here."""
    c = _sums.exact(certificate)
    return dict(_proof.Proof(c, _groups.casts(c.law)[-1]).conditions())


def told(reader, certificate):
    """What a checker forms of a certificate, or None."""
    try:
        return reader(certificate)
    except (Rejected, AttributeError, LookupError, TypeError, ValueError):
        return None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("few", [_groups.FEW], indirect=True)
@pytest.mark.parametrize("name", [*test_dense.STORED, "classes", "option I"])
def test_the_forms_have_the_signs_of_those_of_the_dense_judge(name, few):
    assert few  # the other judge writes out everybody
    # it runs the algorithm's own round, and judges by characteristic polynomials
    c = test_dense.randomised({**certificate(name), "values": []}, f"plain {name}")
    for part in ("decrease", "positivity", "start"):
        c[part] |= {key: [] for key in {"upper", "lower"} & set(c[part])}
    for stage, condition in dense.conditions(c).items():
        mine = dense.sign_counts(matrix(forms(c)[stage]))
        theirs = dense.sign_counts(condition.matrix())
        assert mine[::2] == theirs[::2], stage  # the others are zeros


def matrix(form):
    pairs = {key: dense.exact(x) for key, x in form.items() if len(key) == 2}
    labels = {label: None for pair in pairs for label in pair}
    zero = fmpq(0)
    return [
        [pairs.get((u, v), zero) + pairs.get((v, u), zero) for v in labels]
        for u in labels
    ]


def test_the_judge_of_forms_knows_semidefinite_matrices():
    draw = Random(5)
    told = []
    for k in range(300):
        size, rank = draw.randint(1, 5), draw.randint(1, 5)
        rows = [[draw.randint(-3, 3) for _ in range(rank)] for _ in range(size)]
        signs = [1] * rank if k % 2 else [draw.choice([1, 1, -1]) for _ in range(rank)]
        table = [
            [sum(x * y * s for x, y, s in zip(a, b, signs, strict=True)) for b in rows]
            for a in rows
        ]
        whole = [[fmpq(x) for x in row] for row in table]
        form = _sums.Vector(
            {(u, v): Fraction(table[u][v]) for u in range(size) for v in range(size)}
        )
        fits = says(lambda f: _sums.judge("it", f), form) == "accepted"
        assert fits == (dense.sign_counts(whole)[0] == 0)
        told.append(fits)
    assert min(told.count(True), told.count(False)) > 50


def test_a_value_that_is_left_is_no_form():
    left = _sums.Vector({("f", "call:0", 0): Fraction(1)})
    assert "cancel" in says(lambda form: _sums.judge("it", form), left)


# ---------------------------------------------------------------- what it refuses


def test_many_clients_or_cohorts_are_too_many():
    found = certificate("equal")
    for n in (10**5 + 1, 10**30):
        law = {"kind": "full", "n_clients": n}
        with pytest.raises(TooManyError, match=f"at most 100000 clients .* {n}"):
            check_plainly({**found, "law": law})
    classes = [{"clients": n, "inclusion": "1/2"} for n in (99, 49)]
    with pytest.raises(TooManyError, match="at most 4000 sorts of cohorts"):
        check_plainly({**found, "law": {"kind": "bernoulli", "classes": classes}})


def test_many_gradients_are_too_many():
    c = {**certificate("focus"), "calls": 21}
    with pytest.raises(TooManyError, match="at most 20 gradients"):
        check_plainly(c)


@pytest.mark.parametrize("step", ["1/5", "0"])
def test_more_local_steps_than_can_be_played_end_at_once(step):
    c = copy.deepcopy(certificate("focus"))
    c["algorithm"]["settings"] |= {"local_steps": 10**12, "step_size": step}
    said = says(check_plainly, c)
    assert ("at most 20 local steps" if step != "0" else "must be positive") in said


@pytest.mark.parametrize("setting", ["empty_round", "initial_tracker"])
def test_what_is_played_is_named_and_no_default(setting):
    c = copy.deepcopy(certificate("focus"))
    del c["algorithm"]["settings"][setting]
    assert "settings must give all of" in says(check_plainly, c)


def test_more_gradients_than_stated_are_refused():
    c = copy.deepcopy(certificate("focus"))
    c["algorithm"]["settings"]["local_steps"] = 7
    assert "more gradients" in says(check_plainly, c)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["focus_started", "two classes", "fedavg"])
def test_wrong_types_anywhere_are_rejected(name):
    draw, original = Random(f"plain {name}"), certificate(name)
    for path in list(mutations.everywhere(original))[1:]:
        if path in TEXTS:
            continue
        for value in draw.sample(mutations.WORDS, 2) + draw.sample(mutations.THINGS, 1):
            if repr(value) != repr(mutations.at(original, path)):
                assert refused(original, path, value), (path, value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["focus", "focus_started", "fedavg"])
def test_nothing_instead_of_something_gets_the_verdict_of_the_other_checker(name):
    original = certificate(name)
    for path in set(mutations.everywhere(original)) - TEXTS - {()}:
        for value in ([], {}, None, "", "0"):
            changed = copy.deepcopy(original)
            mutations.at(changed, path[:-1])[path[-1]] = value
            assert agree(reworded(changed)), (path, value)


def refused(original, path, value):
    changed = copy.deepcopy(original)
    mutations.at(changed, path[:-1])[path[-1]] = value
    return says(check_plainly, changed) != "accepted"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["warm", "contraction", "two classes"])
def test_numbers_are_texts_and_indices_are_integers(name):
    original = certificate(name)
    for path in mutations.everywhere(original):
        here = mutations.at(original, path)
        if type(here) is int:
            others = [str(here), float(here), True, -1 - here, here + 10**6]
        elif path not in TEXTS and path in set(mutations.leaves(original)):
            number = Fraction(here)
            others = [float(number), f"{here}.0", f"{here}e0", f" {here}", f"+{here}"]
            others += [int(number)] if number.denominator == 1 else []
        else:
            continue
        for other in others:
            assert refused(original, path, other), (path, other)


NONE = [*mutations.THINGS, [], {}, "", "x", 10**5000]


@pytest.mark.parametrize("value", NONE, ids=lambda value: type(value).__name__)
def test_what_is_no_certificate_is_rejected(value):
    assert says(check_plainly, value) != "accepted"


def test_deep_nesting_is_rejected():
    deep = "1"
    for _ in range(10**5):
        deep = [deep]
    assert says(check_plainly, {**certificate("focus"), "V": deep}) != "accepted"


# ------------------------------------------------------------------ planted faults


def forgetful(law, cast):
    """All cohorts but one; its chance goes to another."""
    (first, p), *rest = plain_cohorts(law, cast)
    if rest:
        return [(rest[0][0], rest[0][1] + p), *rest[1:]]
    return [(first, p)]


def nothing(*_given):
    return _sums.Vector()


def shallow(rows, vectors):
    """Of a V, the form in the means of a few slots alone."""
    return plain_quadratic(rows, vectors) if len(vectors) < 3 else _sums.Vector()


def together(law):
    """Groups in which no two clients of a class are told apart."""
    found = plain_casts(law)[0]
    sizes = {
        q: sum(g.many for g in found if g.q == q) for q in sorted({g.q for g in found})
    }
    return [[_groups.Group(q, n, ((q, 1),)) for q, n in sizes.items()]]


plain_cohorts, plain_quadratic = _groups.cohorts, _sums.quadratic
plain_casts = _groups.casts
above, tangent = _groups.Point.above, _groups.Point.tangent
FAULTS = {
    "a cohort is forgotten": (_proof, "cohorts", forgetful),
    "multipliers have the other sign": (
        _groups.Point,
        "above",
        lambda *given: above(*given) * -1,
    ),
    "bounds are too flat": (
        _groups.Point,
        "tangent",
        lambda b, x, bend: tangent(b, x, bend / 2),
    ),
    "nothing is judged": (plain, "judge", nothing),
    "nothing is required of a proof": (_proof, "demand", nothing),
    "any matrix will do": (_sums, "demand", nothing),
    "nothing is remembered": (_proof.Proof, "rebuilt", lambda _proof, state: state),
    "no inequality is used": (_proof.Proof, "used", nothing),
    "V is a part of V": (_proof, "quadratic", shallow),
}
OF_TWO_APART = {
    "clients are never told apart": (plain, "casts", together),
    "who stands for many is one": (_proof, "_crowd", len),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(monkeypatch, fault):
    notice(monkeypatch, FAULTS[fault])


@pytest.mark.parametrize("fault", OF_TWO_APART)
@pytest.mark.parametrize("few", [0], indirect=True)
def test_a_planted_fault_of_two_apart_is_noticed(monkeypatch, fault, few):
    assert few == 0
    notice(monkeypatch, OF_TWO_APART[fault])


def notice(monkeypatch, fault):
    monkeypatch.setattr(*fault)
    suspects = map(certificate, ["focus", "skip", "warm", "contraction", "eight"])
    mutants = (reworded(c) for _, c in mutations.mutants(80, "faults"))
    assert not all(agree(c) for c in [*suspects, *mutants])


# -------------------------------------------------------------- what it stands on


def test_it_imports_the_standard_library_the_loops_and_one_exception():
    imported = set()
    for path in Path(plain.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.Import) or node.names[0].name == "re"
            if isinstance(node, ast.ImportFrom):
                imported.add((node.level, node.module))
    own = {(1, f"_{name}") for name in ("average", "groups", "proof", "sums")}
    others = {module for level, module in imported - own if level == 0}
    assert {level for level, _ in imported - own} == {0}
    others -= {"flverify.reference", "flverify.certify.check._json"}
    assert {module.partition(".")[0] for module in others} <= sys.stdlib_module_names


def drawn(few, **law):
    """Every list of groups, with the chances of the numbers that take part."""
    law = _sums.exact(law)
    return [(cast, dict(_groups.cohorts(law, cast))) for cast in _groups.casts(law)]


def test_cohorts_of_a_law_are_those_of_the_law(few):
    ((cast, chances), *more) = drawn(
        few, kind="uniform_cohort", n_clients=4, cohort_size=2
    )
    if few:
        assert [g.parts for g in cast] == [((i, 1),) for i in range(4)]
        cohorts = [s for s in product((0, 1), repeat=4) if sum(s) == 2]
        assert (chances, more) == (dict.fromkeys(cohorts, Fraction(1, 6)), [])
    else:
        assert more == []
        assert [g.many for g in cast] == [2, 1, 1]
        assert chances == {
            (2, 0, 0): Fraction(1, 6),
            (1, 1, 0): Fraction(1, 3),
            (1, 0, 1): Fraction(1, 3),
            (0, 1, 1): Fraction(1, 6),
        }
    entry = [{"clients": 1, "inclusion": "1/2"}, {"clients": 2, "inclusion": "1/3"}]
    *_, (cast, chances) = drawn(few, kind="bernoulli", classes=entry)
    assert [g.q for g in cast] == [0, 1, 1]
    assert chances[1, 0, 1] == Fraction(1, 2) * Fraction(2, 3) * Fraction(1, 3)
    assert len(chances) == 8


@pytest.mark.parametrize("sizes", [(7,), (1, 1, 1, 1, 1, 1, 1), (2, 5), (3, 1, 4)])
def test_every_class_of_several_has_two_apart(sizes):
    classes = [{"clients": n, "inclusion": "1/2"} for n in sizes]
    for cast, chances in (found := drawn(6, kind="bernoulli", classes=classes)):
        assert sum(chances.values()) == 1
        for q, n in enumerate(sizes):
            assert sum(g.many for g in cast if g.q == q) == n
    apart = [[g.q for g in cast if len(g.parts) == 2] for cast, _ in found]
    assert apart == ([[q, q] for q, n in enumerate(sizes) if n > 1] or [[]])


def test_who_takes_part_for_sure_is_one_sort_of_cohort():
    classes = [{"clients": 2000, "inclusion": "1"}, {"clients": 1, "inclusion": "1/2"}]
    [(cast, chances)] = drawn(6, kind="bernoulli", classes=classes)
    assert [g.many for g in cast] == [1998, 1, 1, 1]
    assert chances == dict.fromkeys([(1998, 0, 1, 1), (1998, 1, 1, 1)], Fraction(1, 2))


@pytest.mark.parametrize("name", ["thousand", "eight"])
def test_a_loop_that_counts_wrongly_is_noticed(monkeypatch, name):
    whole = certificate(name)
    assert says(check_plainly, whole) == "accepted"
    monkeypatch.setattr(
        _vectors.Clients, "total", lambda _self, each, size: _vectors.total(each, size)
    )
    assert "clients alike must end alike" in says(check_plainly, whole)
    monkeypatch.setattr(_proof, "_alike", lambda *_states: True)
    assert "alike" not in says(check_plainly, whole)


def test_a_start_that_counts_wrongly_is_noticed(monkeypatch):
    entries = {**certificate("focus_started")}
    entries["law"] = {**entries["law"], "n_clients": 8}  # six of them in one group
    entries["eliminated"] = {"tracker": {"stored": "8"}}
    c = _sums.exact(entries)
    [cast] = _groups.casts(c.law)
    assert _proof.Proof(c, cast).started()
    monkeypatch.setattr(
        _vectors.Clients, "total", lambda _self, each, size: _vectors.total(each, size)
    )
    with pytest.raises(Rejected, match="clients alike must start alike"):
        _proof.Proof(c, cast).started()


def test_a_weight_on_a_class_that_is_not_there_is_refused():
    entries = copy.deepcopy(certificate("focus"))
    entries["decrease"]["multipliers"].append([1, "star", "call:0", "1"])
    assert says(check_plainly, entries) == "there must be a class 1"


OUT_OF_RANGE = [
    ("contraction", ("neighbourhood", "weight"), "-1"),
    ("contraction", ("neighbourhood", "constant"), "-1"),
    ("contraction", ("rho",), "1"),
    ("focus", ("rho",), "1"),
    ("focus", ("rho",), "0"),
    ("focus", ("function_class", "strong_convexity"), "0"),
    ("focus", ("function_class", "strong_convexity"), "1"),
]


@pytest.mark.parametrize(("name", "path", "value"), OUT_OF_RANGE)
def test_constants_that_mean_nothing_are_refused(name, path, value):
    # of a negative weight any V would do, as |x - x*|^2 is on the other side then
    entries = copy.deepcopy(certificate(name))
    mutations.at(entries, path[:-1])[path[-1]] = value
    assert says(check_plainly, entries) == "the constants are out of range"


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("all or nothing", ("law", "probability"), "3/2"),
        ("all or nothing", ("law", "probability"), "-1/2"),
        ("all or nothing", ("law", "probability"), "0"),
        ("focus", ("law", "classes", 0, "inclusion"), "3/2"),
        ("focus", ("law", "classes", 0, "inclusion"), "0"),
    ],
)
def test_chances_that_none_can_have_are_refused(name, path, value):
    entries = copy.deepcopy(certificate(name))
    mutations.at(entries, path[:-1])[path[-1]] = value
    assert says(check_plainly, entries) == "the law must be possible"


def test_a_class_without_clients_is_refused():
    entries = certificate("focus")
    [known] = entries["law"]["classes"]
    empty = {"clients": 0, "inclusion": "1/2"}
    law = {**entries["law"], "classes": [known, empty]}
    assert says(check_plainly, {**entries, "law": law}) == "a class must have clients"


def test_nothing_is_judged_if_one_of_two_classes_is_too_large(monkeypatch):
    seen = []
    monkeypatch.setattr(plain, "judge", lambda name, _form: seen.append(name))
    classes = [{"clients": n, "inclusion": "1/2"} for n in (3, 900)]
    law = {"kind": "bernoulli", "classes": classes}
    with pytest.raises(TooManyError):
        check_plainly({**certificate("two classes"), "law": law})
    assert seen == []
