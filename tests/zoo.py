"""Named settings, small and exact, used by every contract."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import fields
from fractions import Fraction

import numpy as np

from flverify._core.catalogue import load, member_names
from flverify.algorithms import Ball, Box
from flverify.algorithms._algorithm import Algorithm
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

F = Fraction
PLANE = Quadratics(
    [[[2, 1], [1, 3]], [[1, 0], [0, "1/2"]], [["3/2", "-1/2"], ["-1/2", 1]]],
    [[1, 0], [-1, 2], ["1/3", 1]],
)
PAIR = Quadratics([[[1]], [[2]]], [[0], [2]])
LAWS = {
    2: [
        Full(2),
        Bernoulli(["1/2", "1/3"]),
        UniformCohort(2, 1),
        AllOrNothing(2, "2/5"),
    ],
    3: [Full(3), Bernoulli(["1/2", "1/3", "9/10"]), UniformCohort(3, 2)],
}


def algorithms(n_clients):
    """Every variant of every algorithm found by discovery, with its module's name."""
    for member in member_names("flverify.algorithms"):
        module = load("flverify.algorithms", member)
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, Algorithm):
                for example in kind.examples(n_clients):
                    yield member, example


def reference(member):
    """Plain loop of an algorithm."""
    return importlib.import_module(f"flverify.reference.{member}").run


def settings(algorithm):
    """Settings of an algorithm as its plain loop takes them."""
    home = type(algorithm).__module__.rpartition(".")[2]
    known = inspect.signature(reference(home)).parameters
    named = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    return {name: plain(value) for name, value in named.items() if name in known}


def plain(value):
    """A region as the plain loops write it; anything else as it is."""
    if isinstance(value, Ball):
        return ("ball", value.radius)
    if isinstance(value, Box):
        return ("box", value.lower, value.upper)
    return list(value) if isinstance(value, tuple) else value


def as_lists(problem):
    """Hessians and linear terms as nested lists."""
    return problem.hessians.tolist(), problem.linear.tolist()


def floated(problem):
    """The same problem in floats."""
    return Quadratics(
        problem.hessians.astype(np.float64), problem.linear.astype(np.float64)
    )
