"""Which cases of a test that is marked one_in run by default."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.one_in({n})
@pytest.mark.parametrize("second, third", [(1, 5), (2, 6), (3, 7)])
@pytest.mark.parametrize("first", "abc")
def test_it(first, second, third):
    pass
"""
ONE_IS_SLOW = """
import pytest

@pytest.mark.one_in(9)
@pytest.mark.parametrize("it", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it(it):
    pass
"""


@pytest.fixture
def names(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(source, expression, *chosen):
        pytester.makeconftest("from tests.conftest import pytest_pycollect_makeitem")
        path = pytester.makepyfile(source)
        lines = pytester.runpytest(
            *(f"{path}::{name}" for name in chosen),
            *("--collect-only", "-q", "-m", expression),
        ).outlines
        return {line.split("::")[1] for line in lines if "::" in line}

    return run


@pytest.mark.parametrize(
    ("n", "many"), [(1, 9), (2, 5), (3, 3), (4, 3), (9, 1), (20, 1)]
)
def test_what_is_left_out_is_slow_and_something_stays(names, n, many):
    by_default, slow = (
        names(TESTS.format(n=n), expression) for expression in ("not slow", "slow")
    )
    assert len(by_default) == many
    assert len(by_default | slow) == many + len(slow) == 9


def test_what_is_asked_for_by_name_changes_nothing(names):
    every = names(TESTS.format(n=3), "slow or not slow")
    by_default = names(TESTS.format(n=3), "not slow")
    assert by_default == names(TESTS.format(n=3), "not slow", *by_default)
    assert not names(TESTS.format(n=3), "not slow", *(every - by_default))


def test_a_case_that_is_slow_anyway_is_not_the_one_that_stays(names):
    assert names(ONE_IS_SLOW, "not slow") == {"test_it[1]"}
    assert names(ONE_IS_SLOW, "slow") == {"test_it[2]"}
