"""Claims judged anew."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import InputError, UnknownNameError
from flverify._core.sources import Source
from flverify.claims import judge, ledger, ledger_file
from flverify.claims.claim import claim
from flverify.claims.store import Store
from flverify.testing import Broken, assert_claim

SOURCE = Source("flverify", "example")
FILE = """
from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim


@claim("mine.sum", source=Source("flverify", "example"), statement="1+1=2",
       proposition="one and one are two", constants={"two": 2}, twin={"two": 3})
def total(c):
    return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")
"""


def made(twin):
    @claim(
        "demo.sum",
        source=SOURCE,
        statement="1+1=2",
        proposition="one and one are two",
        constants={"two": 2},
        twin={"two": twin},
    )
    def total(c):
        return judge.identity([("sum", 1 + 1, c.two)], scope="the two numbers")

    return total


def test_a_verdict_is_earned_anew():
    found = assert_claim(made(3), "PROVED")
    assert found.found.startswith("PROVED")
    assert found.reproduce == "print(claim.check(), claim.control())  # demo.sum"
    with pytest.raises(Broken) as caught:
        assert_claim(made(3), "REFUTED")
    assert caught.value.outcome.found.startswith("PROVED")


def test_a_claim_whose_control_passes_too_is_not_trusted():
    with pytest.raises(Broken, match="its control misbehaves"):
        assert_claim(made(Fraction(2)), "PROVED")


def test_a_shipped_claim_and_one_of_a_file(tmp_path):
    assert assert_claim("agnostic.tacit", "PROVED").reproduce == (
        "flverify show agnostic.tacit"
    )
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    found = assert_claim("mine.sum", "PROVED", path=path)
    assert found.reproduce == f"flverify show mine.sum --file {path}"
    with pytest.raises(UnknownNameError) as caught:
        assert_claim("mine.none", "PROVED", path=path)
    assert f"see `flverify list {path}`" in str(caught.value)


@pytest.mark.slow
def test_neither_ledger_nor_cache_is_read(monkeypatch):
    def never(*args):
        raise AssertionError

    monkeypatch.setattr(ledger, "read", never)
    monkeypatch.setattr(ledger_file, "read", never)
    monkeypatch.setattr(Store, "get", never)
    assert assert_claim("agnostic.tacit", "PROVED")


def test_what_is_no_claim_or_verdict_is_refused(tmp_path):
    with pytest.raises(UnknownNameError):
        assert_claim("agnostic.no.such", "PROVED")
    with pytest.raises(InputError):
        assert_claim("agnostic.tacit", "TRUE")
    with pytest.raises(InputError):
        assert_claim(made(3), "PROVED", path=tmp_path / "mine.py")
