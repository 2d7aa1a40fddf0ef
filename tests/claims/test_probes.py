"""What a search for the best value keeps: read back, gone on from, or forgotten."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from flverify._core.errors import InputError
from flverify.claims.probes import Probes
from flverify.claims.registry import claims_in, shipped_claims
from flverify.claims.sharpest import sharpest

FILE = """
from fractions import Fraction

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import Free, claim

READ = Free("c", 0, 4, weaker="smaller", reading="third")


@claim("demo.edge", source=Source("flverify", "example"), statement="", twin={"c": "3"},
       proposition="c is at most 4/3.", constants={"c": "1", "d": {"e": "1"}},
       free=(Free("c", 0, 4, weaker="smaller"), READ))
def edge(k):
    def case(most):
        c = Fraction(k.c)
        one = judge.Case({"c": c, "most": most}, c, most, lambda: (c, most))
        return judge.instances([one], "<=", "it")

    return judge.readings({"third": case(Fraction(4, 3)), "half": case(Fraction(3, 2))})
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE, encoding="utf-8")
    return file


@pytest.fixture
def edge(path):
    return claims_in([path])["demo.edge"]


class Counted:
    """A claim whose checks are counted, and interrupted at one of them."""

    def __init__(self, claim, stop=None):
        self.values, self.stop = [], stop
        self.claim = replace(claim, judged_by=self.judge)
        self.inner = claim.judged_by

    def judge(self, constants):
        if len(self.values) == self.stop:
            raise KeyboardInterrupt
        self.values.append(constants.c)
        return self.inner(constants)


def test_a_search_that_was_interrupted_goes_on_where_it_stopped(edge, tmp_path):
    whole = Counted(edge)
    expected = sharpest(whole.claim, edge.free[1], "1/100").bracket
    assert len(whole.values) > 8
    first, second = Counted(edge, stop=5), Counted(edge)
    with pytest.raises(KeyboardInterrupt):
        search(first.claim, tmp_path)
    begun = []
    found = search(second.claim, tmp_path, begin=begun.append)
    assert first.values + second.values == whole.values
    assert [str(value) for value in begun] == second.values
    assert [(t.value, t.side) for t in found.tried] == [
        (t.value, t.side) for t in expected.tried
    ]


def search(claim, folder, **how):
    probes = Probes(claim, folder / "kept")
    return sharpest(claim, claim.free[1], "1/100", probes=probes, **how).bracket


def test_every_reading_is_in_what_is_kept(edge, tmp_path):
    search(edge, tmp_path)
    again = Counted(edge)
    probes = Probes(again.claim, tmp_path / "kept")
    whole = Probes(edge, tmp_path / "kept").find({"c": "4/3"})
    assert probes.find({"c": "4/3"}) == whole
    assert [*whole.readings] == ["third", "half"]
    assert again.values == []


def test_what_is_kept_is_what_is_found(tmp_path):
    claim = shipped_claims()["focus.lemma3.step80c"]
    found = [claim.check(factor="3"), *(found_at(claim, tmp_path) for _ in range(2))]
    assert found[1] == found[2]
    assert [one.verdict for one in found] == [found[0].verdict] * 3
    assert {str(k): str(v) for k, v in found[0].evidence.items()} == {
        k: str(v) for k, v in found[2].evidence.items()
    }


def found_at(claim, folder):
    return Probes(claim, folder).find({"factor": "3"})


def test_other_constants_are_asked_about_anew(edge, tmp_path):
    counted = Counted(edge)
    probes = Probes(counted.claim, tmp_path / "kept")
    for changed in ({"c": "1"}, {"c": "2"}, {"c": "1", "d": {"e": "2"}}, {"c": "1"}):
        probes.find(changed)
    assert counted.values == ["1", "2", "1"]


def test_a_changed_file_is_judged_anew(path, edge, tmp_path):
    search(edge, tmp_path)
    path.write_text(FILE.replace("(4, 3)", "(5, 3)"), encoding="utf-8")
    changed = claims_in([path])["demo.edge"]
    best = search(changed, tmp_path).best
    assert abs(best.value - 5 / 3) < 0.01


def test_what_is_kept_may_be_forgotten(edge, tmp_path):
    search(edge, tmp_path)
    counted = Counted(edge)
    Probes(counted.claim, tmp_path / "kept", fresh=True).find({"c": "1"})
    assert counted.values == ["1"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept[: len(kept) // 2],
        lambda _: "[]",
        lambda kept: json.dumps({**json.loads(kept), "version": 99}),
        lambda kept: json.dumps({**json.loads(kept), "findings": 3}),
        lambda kept: kept.replace('"REFUTED"', '"MAYBE"').replace('"SUPP', '"'),
        lambda kept: kept.replace('"readings": {', '"readings": {"x": {}, '),
        lambda kept: kept.replace('"REFUTED"', '"SUPPORTED"'),
    ],
    ids=["half", "list", "version", "number", "verdict", "reading", "by hand"],
)
def test_a_damaged_file_counts_as_absent(edge, tmp_path, damage):
    expected = search(edge, tmp_path)
    (file,) = (tmp_path / "kept" / "sharpest").iterdir()
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    counted = Counted(edge)
    assert search(counted.claim, tmp_path).tried == expected.tried
    assert len(counted.values) == len(expected.tried)


def test_where_nothing_can_be_kept_the_search_ends_all_the_same(edge, tmp_path):
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    assert search(edge, tmp_path).closed


@pytest.mark.parametrize("returned", [None, "PROVED", {"verdict": "PROVED"}])
def test_what_is_no_finding_is_not_kept(edge, tmp_path, returned):
    claim = replace(edge, judged_by=lambda _: returned)
    assert Probes(claim, tmp_path / "kept").find({"c": "1"}) == returned
    assert not (tmp_path / "kept").exists()


def test_probes_of_another_claim_are_refused(edge, tmp_path):
    other = Probes(replace(edge, id="demo.other"), tmp_path / "kept")
    with pytest.raises(InputError, match=r"of the claim whose constant.*demo\.other"):
        sharpest(edge, edge.free[1], "1/100", probes=other)
