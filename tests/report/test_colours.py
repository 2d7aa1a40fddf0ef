"""Colours of algorithms are told apart by every kind of colour vision, and from white.

The matrices for vision without red, green or blue cones are those of Machado, Oliveira
and Fernandes (2009) for linear light; distances are Euclidean in CIE L*a*b*.
"""

from __future__ import annotations

import numpy as np
import pytest

from flverify.claims.figure4 import ALGORITHMS
from flverify.report.style import _LOOKS

VISIONS = {
    "usual": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
KEPT_APART = 15.0  # in lightness, colour, or both; neighbours of 2 are just told apart
IN_FIGURE_4, IN_GREY = 19.0, 6.5


def linear(colour):
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    ratio = XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distances(names, seen):
    """Distances of all pairs of algorithms, as some vision sees them."""
    places = {name: seen(linear(_LOOKS[name].colour)) for name in names}
    return {
        (one, other): float(np.linalg.norm(places[one] - places[other]))
        for one in names
        for other in names
        if one < other
    }


@pytest.mark.parametrize("vision", VISIONS)
def test_no_two_algorithms_look_alike(vision):
    matrix = np.array(VISIONS[vision])
    found = distances(_LOOKS, lambda light: lab(matrix @ light))
    assert min(found.values()) > KEPT_APART, min(found, key=found.get)
    found = distances(ALGORITHMS, lambda light: lab(matrix @ light))
    assert min(found.values()) > IN_FIGURE_4, min(found, key=found.get)


@pytest.mark.parametrize("names", [ALGORITHMS, ("agnostic_fedavg", "weighted_fedavg")])
def test_figures_that_compare_algorithms_may_be_printed_in_grey(names):
    found = distances(names, lambda light: lab(light)[:1])
    assert min(found.values()) > IN_GREY, min(found, key=found.get)


@pytest.mark.parametrize("name", _LOOKS)
def test_every_colour_has_contrast_to_white(name):
    luminance = XYZ[1] @ linear(_LOOKS[name].colour)
    assert 1.05 / (luminance + 0.05) > 3
