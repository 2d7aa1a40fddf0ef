"""The checker with many clients: one client of a kind stands for all of it.

Evidence that this is the round of all clients: every plain loop client by client, the
moments cohort by cohort, and the cost.
"""

import copy
import json
import random
from collections import Counter
from fractions import Fraction
from functools import cache, partial
from inspect import signature
from itertools import product
from time import thread_time

import pytest

from flverify.algorithms import FedAvg, Focus, Scaffold
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, blocks, check
from flverify.certify.check._forms import count, form, inner, vector
from flverify.certify.check._law_outcomes import read_law
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import certify
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.reference import (
    Population,
    fedavg,
    focus,
    gradient_descent,
    proxskip,
    scaffold,
)
from flverify.reference._vectors import members
from tests.certify import dense, test_blocks, test_mutations
from tests.certify.test_check import planted

__all__ = ["planted"]  # a fixture

THIRD = Fraction(1, 3)
WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
LOOPS = {
    "focus": (focus, {"step_size": THIRD}, {}),
    "focus of two steps": (focus, {"step_size": THIRD, "local_steps": 2}, {}),
    "focus skips": (focus, {"step_size": THIRD, "empty_round": "skip"}, {}),
    "focus warm": (focus, {"step_size": THIRD}, WARM),
    "fedavg": (fedavg, {"step_size": THIRD, "local_steps": 2}, {}),
    "fedavg over all": (fedavg, {"step_size": THIRD, "aggregation": "all"}, {}),
    "scaffold": (scaffold, {"step_size": THIRD, "local_steps": 2}, {}),
    "scaffold option I": (scaffold, {"step_size": THIRD, "option": "I"}, {}),
    "proxskip": (proxskip, {"step_size": THIRD, "probability": THIRD}, {}),
    "proxskip of the notebook": (
        proxskip,
        {"step_size": THIRD, "local_steps": 2, "variant": "notebook"},
        {},
    ),
    "gradient descent": (gradient_descent, {"step_size": THIRD}, {}),
}


# ----------------------------------------------------------- kinds and clients


class Clients:
    """Kinds of clients with random quadratics in the plane, and who is of which."""

    def __init__(self, counts, seed):
        self.rng = random.Random(seed)
        self.kind_of = [k for k, n in enumerate(counts) for _ in range(n)]
        self.slopes = [self.number() for _ in counts]
        self.offsets = [[self.number(), self.number()] for _ in counts]

    def number(self):
        return Fraction(self.rng.randint(-9, 9), self.rng.randint(1, 4))

    def of_kind(self, k, x):
        return [self.slopes[k] * v - b for v, b in zip(x, self.offsets[k], strict=True)]

    def of_client(self, i, x):
        return self.of_kind(self.kind_of[i], x)

    def listed(self, state):
        """A state of kinds with every client of a kind written out."""
        return {
            slot: [value[k] for k in self.kind_of]
            if isinstance(value[0], list)
            else value
            for slot, value in state.items()
        }


@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 3, 2), (2, 1, 4)])
@pytest.mark.parametrize("name", LOOPS)
def test_kinds_of_clients_end_where_their_clients_do(name, counts):
    loop, settings, begin = LOOPS[name]
    n = sum(counts)
    own = Clients(counts, name)
    play = partial(loop.play, **settings)
    start = partial(loop.start, **begin)
    kinds = start(own.of_kind, Population(n, counts), [1, 2])
    each = start(own.of_client, n, [1, 2])
    assert own.listed(kinds) == each
    for round_number in range(4):
        chosen = {k for k in range(3) if own.rng.random() < 0.5} - {round_number}
        cohort = {i for i, k in enumerate(own.kind_of) if k in chosen}
        kinds = play(kinds, own.of_kind, Population(n, counts), chosen)
        each = play(each, own.of_client, n, cohort)
        assert own.listed(kinds) == each


@pytest.mark.parametrize("name", LOOPS)
def test_clients_that_change_their_names_end_where_they_did(name):
    loop, settings, begin = LOOPS[name]
    n, order = 5, [3, 0, 4, 1, 2]  # client i is now called order[i]
    own = Clients((1,) * n, f"names {name}")

    def ended(gradient, called):
        state = loop.start(gradient, n, [1, 2], **begin)
        for cohort in ({0, 3}, {1, 2, 3}, set(), {4}, {0, 1, 2, 3, 4}):
            named = {called[i] for i in cohort}
            state = loop.play(state, gradient, n, named, **settings)
        return state

    there = ended(lambda i, x: own.of_client(order.index(i), x), order)
    here = ended(own.of_client, range(n))
    for slot, value in there.items():
        several = isinstance(value[0], list)
        assert here[slot] == ([value[i] for i in order] if several else value)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("name", LOOPS)
def test_an_unknown_number_of_participants_is_any_number(name, marked):
    # five clients of a kind, of whom h take part; one more that does so if marked
    loop, settings, begin = LOOPS[name]
    rng = random.Random(name)
    play = partial(loop.play, **settings)
    begun = loop.start(lambda _i, x: x, 6, [1], **begin)
    values = {
        slot: [[Fraction(rng.randint(-9, 9), 4)] for _ in range(2)]
        if isinstance(value[0], list)
        else [Fraction(rng.randint(-9, 9), 4)]
        for slot, value in begun.items()
    }

    def state(kinds):
        return {
            slot: [value[k] for k in kinds] if isinstance(value[0], list) else value
            for slot, value in values.items()
        }

    def slope(kinds):
        return lambda i, x: [(2 + 3 * kinds[i]) * x[0] + 1]

    others = count(0) - int(marked)
    unknown = Population(6, [1, others, 5 - others])
    cohort = [0, 1] if marked else [1]
    found = play(state([0, 1, 1]), slope([0, 1, 1]), unknown, cohort)
    for h in range(0 if marked else 1, 6):
        listed = [0, *[1] * 5]
        present = [*([0] if marked else []), *range(1, h + 1)]
        each = play(state(listed), slope(listed), 6, present)
        kind_of = [0, *[1] * h, *[2] * (5 - h)]
        size = h + marked

        def at(value, size=size):
            moment = lambda p: Fraction(size) ** (p[0] if p else 0)  # noqa: E731
            return form(value).expected(moment).number()

        for slot, value in each.items():
            if isinstance(value[0], list):
                assert value == [[at(found[slot][k][0])] for k in kind_of]
            else:
                assert value == [at(found[slot][0])]


def test_what_stands_for_several_is_counted_by_its_size_alone():
    both = members(range(2), Population(7, [3, 4]))
    assert (list(both), both.size, bool(both)) == ([0, 1], 7, True)
    with pytest.raises(TypeError, match="size"):
        len(both)
    assert len(members([2, 0], 7)) == 2
    with pytest.raises(ValueError, match="within"):
        members([2], Population(7, [3, 4]))


# ----------------------------------------------------------------- the numbers


S, H, X = count(0), count(1), vector("x")


def test_forms_multiply_and_divide_as_their_values_do():
    assert S * H - H * S == 0
    assert not S - S
    assert (X * H / S) * S == X * H
    assert (S * S / S).expected(lambda p: Fraction(5) ** p[0]).number() == 5
    assert X / 2 + X / 2 == X
    assert X * S != X
    assert X != 0
    assert not (X * S).certain
    assert (X * S / S).certain


@pytest.mark.parametrize(
    "make",
    [
        lambda: X * X,
        lambda: 1 / X,
        lambda: X / H,  # these may be nobody
        lambda: X / (S - 1),
        lambda: X / (S * H),
        lambda: X / 0,
        lambda: X / (S - S),
        lambda: S == 3,
        lambda: S in (H, 1),
        lambda: 0 if 3 - S else 1,
        lambda: inner({}, 1, X, S * X),
        lambda: inner({}, 1, S * X, X),
    ],
)
def test_what_need_not_be_a_number_is_refused(make):
    with pytest.raises(ArithmeticError):
        make()


# ----------------------------------------------------------------- the moments

CLASSES = {
    "one": [(4, "1/3")],
    "one client": [(1, "2/7")],
    "two": [(2, "1/2"), (3, "1/3")],
    "three": [(2, "1/2"), (1, "1/5"), (2, "3/4")],
    "some always": [(2, "1/2"), (2, "1"), (1, "1/3")],
    "always": [(3, "1")],
}


def functions(size, further, anybody):
    """Products of two or three numbers of participants, also over the size."""
    sums = [size, *further]
    over = [1, size, size * size] if anybody else [1]
    for a, b, bottom in product(sums, sums, over):
        yield a * b / bottom
        yield a * b * a / bottom
        yield a / bottom
    yield form(1)


def by_cohorts(entries, first, apart):
    """E of the functions, by who of the two clients with signs is there, and if any."""
    found = {}
    class_of = [q for q, (n, _) in enumerate(entries) for _ in range(n)]
    chances = [Fraction(p) for n, p in entries for _ in range(n)]
    signs = [] if apart is None else [first, first + 1]
    for inside in product((True, False), repeat=len(class_of)):
        weight = Fraction(1)
        for there, p in zip(inside, chances, strict=True):
            weight *= p if there else 1 - p
        further = [
            sum((Fraction(inside[i]) for i in range(len(class_of)) if i not in signs
                 and class_of[i] == q), Fraction(0))
            for q in range(len(entries))
        ]  # fmt: skip
        key = tuple(inside[i] for i in signs), any(inside)
        values = [
            form(x) for x in functions(Fraction(sum(inside)), further, any(inside))
        ]
        old = found.get(key, [0] * len(values))
        found[key] = [o + weight * v for o, v in zip(old, values, strict=True)]
    return {key: values for key, values in found.items() if any(values)}


def by_outcomes(law, apart):
    found = {}
    for outcome in law.outcomes(apart):
        size = sum(outcome.further, form(sum(outcome.marked)))
        anybody = bool(size.terms)
        assert (outcome.marked, anybody) not in found
        found[outcome.marked, anybody] = [
            form(x).expected(outcome.moment)
            for x in functions(size, [form(h) for h in outcome.further], anybody)
        ]
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_moments_are_the_sums_over_all_cohorts(name):
    entries = CLASSES[name]
    law = read_law(
        {
            "kind": "bernoulli",
            "classes": [{"clients": n, "inclusion": p} for n, p in entries],
        }
    )
    first = 0
    for apart, (n, _) in enumerate(entries):
        if n > 1:
            assert by_outcomes(law, apart) == by_cohorts(entries, first, apart)
        first += n
    assert by_outcomes(law, None) == by_cohorts(entries, 0, None)


# ------------------------------------------------------- certificates with N large

MANY = 1000
SETTINGS = {
    "focus": (certify, Focus("1/2500"), Bernoulli(["1/2"] * MANY)),
    "scaffold": (certify, Scaffold("1/9"), Bernoulli(["1/3"] * MANY)),
    "fedavg": (contraction, FedAvg("1/9", 2), Bernoulli(["1/3"] * MANY)),
    "classes": (certify, Focus("1/60"), Bernoulli(["1/2"] * 20 + ["1/5"] * 10)),
    "uniform": (certify, Focus("1/2500"), UniformCohort(MANY, MANY // 2)),
    "full": (certify, Focus("1/2500"), Full(MANY)),
}
BERNOULLI = ["focus", "scaffold", "fedavg", "classes"]


@cache
def written(name):
    search, algorithm, law = SETTINGS[name]
    found = search(algorithm, law, "1/10", 1)
    assert found.status == "certified", found.reason
    return json.dumps(found.certificate)


def original(name):
    return json.loads(written(name))


def accepted(certificate):
    try:
        check({**certificate, "digest": digest(certificate)})
    except Rejected:
        return False
    return True


@pytest.mark.parametrize("name", SETTINGS)
def test_a_thousand_clients_are_checked_soon(name):
    # 0.3 s is asked for; on a busy machine this takes up to 0.1
    certificate = original(name)
    began = thread_time()
    assert accepted(certificate)
    assert thread_time() - began < 1


def test_the_rounds_played_do_not_grow_with_the_clients(monkeypatch):
    played = Counter()

    def counted(n, play, state, gradient, n_clients, cohort, **settings):
        played[n] += 1
        return play(state, gradient, n_clients, cohort, **settings)

    certificate = original("focus")
    loop = focus.play
    for n in (10, 1000, 3000):
        certificate["law"]["classes"][0]["clients"] = n
        certificate["eliminated"]["tracker"]["stored"] = str(n)
        with monkeypatch.context() as patch:
            patch.setattr(focus, "play", _like(loop, partial(counted, n, loop)))
            blocks(certificate)
    # two clients with signs and the empty cohort, by kinds and one by one
    assert played == {10: 10, 1000: 10, 3000: 10}


def _like(loop, other):
    other.__signature__ = signature(loop)
    return other


# the builder takes its moments from the law, and a round of its own
OTHERS = {
    "focus of fifty": (Focus("1/99"), Bernoulli(["1/3"] * 50)),
    "focus of two steps": (Focus("1/99", 2), Bernoulli(["2/3"] * 20)),
    "focus of classes": (Focus("1/99"), Bernoulli(["1/3"] * 30 + ["4/5"] * 20)),
    "scaffold of forty": (Scaffold("1/9", 2, "3/4"), Bernoulli(["1/7"] * 40)),
    "scaffold of three classes": (
        Scaffold("1/9", 1, option="I"),
        Bernoulli(["1/2"] * 3 + ["1/5"] * 4 + ["1"] * 2),
    ),
    "fedavg of thirty": (FedAvg("1/9", 2), Bernoulli(["1/7"] * 30)),
    "fedavg of classes": (FedAvg("1/9", 2), Bernoulli(["1/2"] * 9 + ["1/5"])),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("lifted", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_blocks_of_many_clients_are_those_of_the_builder(monkeypatch, name, lifted):
    monkeypatch.setitem(test_blocks.SETTINGS, name, OTHERS[name])
    test_blocks.test_blocks_agree(name, lifted, 1)


# ------------------------------------------------------------------------ attacks

SMALL = {
    "focus": (certify, Focus("1/9"), Bernoulli(["1/2"] * 5)),
    "two steps": (certify, Focus("1/9", 2), Bernoulli(["1/3"] * 4)),
    "classes": (certify, Focus("1/9"), Bernoulli(["1/2"] * 3 + ["1/5"] * 2)),
    "scaffold": (certify, Scaffold("1/9"), Bernoulli(["1/3"] * 5)),
    "three classes": (
        certify,
        Scaffold("1/9"),
        Bernoulli(["1/2"] * 2 + ["1/5"] * 2 + ["1"]),
    ),
    "drift": (contraction, FedAvg("1/9", 2), Bernoulli(["1/3"] * 4)),
}


def repeated_clients(c, draw):
    """A class twice, or two of its clients in a class of their own."""
    classes = c["law"].get("classes", [])
    if classes and draw.random() < 0.5:
        classes.append(dict(classes[0]))
    elif classes:
        classes[0]["clients"] += 1
        classes.append({**classes[0], "clients": 1})
    for table in (c["V"]["classes"], c["ghost_values"]):
        table.append(copy.deepcopy(table[0]))


def swapped_classes(c, draw):
    """The classes in another order; their numbers, or all that is said of them."""
    classes = c["law"].get("classes", [])
    classes.reverse()
    if draw.random() < 0.5:
        c["V"]["classes"].reverse()


def permuted_coordinates(c, draw):
    """Two coordinates of V exchanged."""
    matrix = draw.choice([m for m in (c["V"]["mean"], *c["V"]["classes"]) if m])
    i, j = draw.randrange(len(matrix)), draw.randrange(len(matrix))
    matrix[i], matrix[j] = matrix[j], matrix[i]
    for row in matrix:
        row[i], row[j] = row[j], row[i]


def negative_multipliers(c, draw):
    part = draw.choice([c[p] for p in ("decrease", "positivity", "start")])
    rows = [row for rows in part.values() if isinstance(rows, list) for row in rows]
    for row in rows:
        row[-1] = str(-Fraction(row[-1]))


def split_multiplier(c, draw):
    """One weight as a larger and a negative one; their sum is what it was."""
    rows = c["decrease"]["multipliers"]
    row = draw.choice(rows)
    rows.append([*row[:3], "-1"])
    row[3] = str(Fraction(row[3]) + 1)


def other_law(c, draw):
    """Another number of clients or another probability, small or large."""
    entry = draw.choice(c["law"]["classes"])
    if draw.random() < 0.5:
        entry["clients"] = draw.choice([1, 2, 3, 4, 6])
        n = sum(e["clients"] for e in c["law"]["classes"])
        if "tracker" in c["eliminated"] and draw.random() < 0.7:
            c["eliminated"]["tracker"]["stored"] = str(n)
    else:
        entry["inclusion"] = draw.choice(["1/100", "1/10", "99/100", "1"])


def other_step(c, draw):
    factor = Fraction(draw.choice([1, 50, 90, 105, 200, 500]), 100)
    table = c["algorithm"]["settings"]
    table["step_size"] = str(Fraction(table["step_size"]) * factor)


ATTACKS = [
    *(repeated_clients, swapped_classes, permuted_coordinates, negative_multipliers),
    *(split_multiplier, other_law, other_law, other_step),
    *(test_mutations.rate, test_mutations.scale, test_mutations.sign),
]


def attacked(number):
    """Verdicts on false certificates, of the dense judge and of the checker."""
    counts, wrong = Counter(), []
    names = list(SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_mutations, "CHANGES", ATTACKS)
        patch.setattr(
            test_mutations, "ORIGINALS", {f"{n} small": SMALL[n] for n in names}
        )
        for story, mutant in test_mutations.mutants(number, seed="attack"):
            assert " small " in story
            said = dense.accepts(mutant), test_mutations.accepted(mutant)
            counts[said] += 1
            if said[0] != said[1]:
                wrong.append((story, said))
    return counts, wrong


@pytest.mark.slow
def test_attacks_are_seen_through():
    counts, wrong = attacked(36)
    assert not wrong
    assert counts[False, False] >= 20


@pytest.mark.slow
def test_six_hundred_attacks():
    counts, wrong = attacked(600)
    assert not wrong
    assert counts[False, False] >= 400


@pytest.mark.parametrize("name", ["focus", "scaffold", "fedavg"])
def test_no_rate_below_that_of_a_quadratic(name):
    # with a thousand clients no list of cohorts can judge, but an instance can
    certificate = original(name)
    lower = Fraction(certificate["rho"]) - Fraction(1, 10**4)
    assert not accepted({**certificate, "rho": str(lower)})


PLANTED = [
    ("prefers one client", "append(y_i)", "append(times(1 + (i == 7), y_i))"),
    (
        "goes on from the last",
        "zeros(d)  # line 6",
        "pushed[-1] if pushed else zeros(d)",
    ),
    ("counts the kinds", "if participants or", "if len(participants) > 3 or"),
    ("looks at the size", "if participants or", "if participants.size == 3 or"),
    ("orders by the size", "if participants or", "if participants.size > 3 or"),
    (
        "forgets how many",
        "participants.total(pushed, d)",
        "[sum(v[0] for v in pushed)]",
    ),
    ("weights by the size", "append(y_i)", "append(times(participants.size, y_i))"),
    ("writes to another", "stored[i] = fresh", "stored[0] = fresh"),
    ("has a lucky round", "if participants or", "if 7 in participants or"),
]


@pytest.mark.parametrize(("story", "old", "new"), PLANTED)
def test_a_loop_that_is_no_round_of_equals_is_noticed(planted, story, old, new):
    certificate = original("classes" if story == "writes to another" else "focus")
    certificate["algorithm"]["settings"]["empty_round"] = "skip"
    assert accepted(certificate)
    planted(focus, old, new)
    assert not accepted(certificate)
