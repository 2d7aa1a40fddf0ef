"""Numbers that a claim declares are in what it prints, or in what it cites."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.shipped import CLAIMS

# numbers of ours, or made of what is printed
OWN = {
    ("agnostic.eq2", "excess", "1/12"): "of one law",
    ("agnostic.uniform-corner", "apart", "1/3"): "of one law",
    ("agnostic.fixedpoint", "most_local_steps", "4"): "how many are tried",
    ("focus.sec5.1.delayed", "fixed_step", "1/2"): "the step size that is tried",
    ("focus.lemma4.step95", "moves", "1/64"): "the square of 1/8",
    ("sgfocus.lemma6.step133", "moves", "128"): "the square of 8 sqrt 2",
    ("sgfocus.lemma6.step133", "rows", "96"): "the square of 4 sqrt 6",
    ("sgfocus.thm4.stepB", "flat", "1/16"): "of the step sizes that (136) asks for",
}

# what is cited by its number
CITED = re.compile(r"\(\d+[a-z]?\)|(lines?|[A-Z][a-z]+) \d+")


def declared(claim):
    """Numbers of the statement as they are written, by name: free, exact or caps."""
    names = {one.constant for one in claim.free} | {*claim.exact, "caps"}
    for name in sorted(names & set(claim.constants)):
        yield from written(name, claim.constants[name])


def written(name, value):
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from written(key, part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from written(name, part)
    elif re.fullmatch(r"-?\d+(/\d+)?", str(value)):
        yield name, str(value)


def printed(claim):
    """Numbers in the statement and in the proposition; \\frac12 has two."""
    text = CITED.sub(" ", f"{claim.statement} {claim.proposition}")
    return {"0", "1", *re.findall(r"\d+", re.sub(r"frac(\d)(\d?)", r" \1 \2 ", text))}


def shown(claim, number):
    return {*re.findall(r"\d+", number)} <= printed(claim)


def unprinted(claims):
    """Numbers that stand neither in their claim nor, by that name, in another one."""
    found = [(k, *one) for k, claim in claims.items() for one in declared(claim)]
    elsewhere = {(n, v) for k, n, v in found if shown(claims[k], v)}
    return [
        (k, n, v)
        for k, n, v in found
        if not shown(claims[k], v) and (n, v) not in elsewhere
    ]


def test_every_number_that_is_declared_is_printed():
    assert set(unprinted(CLAIMS)) == set(OWN)


@pytest.mark.parametrize(
    ("key", "name", "value"),
    [
        ("focus.lemma3.step80c", "factor", "5"),
        ("focus.lemma3.step81b", "convexity", "1/3"),
        ("focus.lemma3.step81b", "convexity", "1/81"),
        ("focus.thm1.pl.step107", "second", "16"),
        ("agnostic.eq2", "power", 4),
    ],
)
def test_a_number_that_is_not_in_print_is_noticed(key, name, value):
    claim = CLAIMS[key]
    changed = replace(claim, constants={**claim.constants, name: value})
    assert set(unprinted({key: changed})) - set(OWN) == {(key, name, str(value))}


def test_an_entry_is_noticed_unless_another_claim_prints_it():
    claim = CLAIMS["focus.thm1.pl.step109"]
    caps = {**claim.constants["caps"], "1/(L N)": "1/5"}
    changed = replace(claim, constants={**claim.constants, "caps": caps})
    beside = {**CLAIMS, claim.id: changed}
    assert set(unprinted(beside)) - set(OWN) == {(claim.id, "1/(L N)", "1/5")}
