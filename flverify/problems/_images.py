"""Labelled pictures for a classifier: scikit-learn's digits, or MNIST from files."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import (
    DomainError,
    FormatError,
    MissingExtraError,
    ShapeError,
)
from flverify._core.exact import Array
from flverify.problems._arrays import as_float, entries, freeze
from flverify.problems._idx import read_idx

CLASSES = 10
MNIST_FILES = ("train-images", "idx3-ubyte"), ("train-labels", "idx1-ubyte")


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """Pictures as rows of features, with their labels.

    Parameters
    ----------
    name : str
        Of the collection, in one word.
    features : (K, p) array
        Grey values between 0 and 1, and a last column of ones for the offset.
    labels : (K,) array of int
        From 0 to 9.

    Raises
    ------
    ShapeError
        If there is not one label for each row.
    DomainError
        If a feature is not a finite number or a label is not an integer.

    Examples
    --------
    >>> four = Images("four", np.ones((4, 1)), np.array([0, 1, 2, 3]))
    >>> features, labels = four.split(2, seed=0)
    >>> features.shape, sorted(labels.ravel().tolist())
    ((2, 2, 1), [0, 1, 2, 3])
    """

    name: str
    features: Array
    labels: Array

    def __post_init__(self) -> None:
        features = as_float(entries(self.features, "features", 2))
        labels = np.asarray(self.labels)
        if labels.shape != features.shape[:1]:
            raise ShapeError(
                f"labels must hold one number for each of the {len(features)} rows; "
                f"got shape {labels.shape}; reshape them."
            )
        if labels.dtype.kind not in "iu":
            raise DomainError(
                f"labels must be integers; got {labels.dtype}; number the classes."
            )
        object.__setattr__(self, "features", freeze(features))
        object.__setattr__(self, "labels", freeze(labels.astype(np.int64)))

    def split(self, n_clients: int, seed: int) -> tuple[Array, Array]:
        """Deal the pictures at random into equal parts; what is left over is unused.

        Parameters
        ----------
        n_clients : int
            Number of parts N.
        seed : int
            Key of the random stream.

        Returns
        -------
        features, labels : (N, n, p) and (N, n) arrays, n the whole part of K/N

        Raises
        ------
        DomainError
            If there are fewer pictures than clients, or a number is not whole.
        """
        parts = whole(n_clients, "n_clients")
        each = len(self.labels) // parts
        if each == 0:
            raise DomainError(
                f"n_clients must not exceed the {len(self.labels)} pictures; got "
                f"{parts}; choose fewer."
            )
        stream = np.random.Philox(whole(seed, "seed", least=0, most=(1 << 63) - 1))
        order = np.random.Generator(stream).permutation(len(self.labels))
        dealt = order[: each * parts].reshape(parts, each)
        return self.features[dealt], self.labels[dealt]

    def __repr__(self) -> str:
        return f"<Images: {self.name}, {len(self.labels)} of them>"


def digits() -> Images:
    """Return the 1797 hand-written digits of 8 x 8 pixels that scikit-learn holds.

    Raises
    ------
    MissingExtraError
        If scikit-learn cannot be imported.
    """
    try:
        datasets: Any = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise MissingExtraError(
            f"the digits come with scikit-learn, which must be installed; {error}; "
            "install it with pip install 'flverify[digits]'."
        ) from error
    held = datasets.load_digits()
    return Images("digits", _with_ones(held.data / 16), held.target)


def mnist(folder: str | PathLike[str], count: int | None = None) -> Images:
    """Read MNIST's training pictures from their IDX files.

    Parameters
    ----------
    folder : str or path
        It holds train-images-idx3-ubyte and train-labels-idx1-ubyte, each with or
        without .gz; a dot in the place of the second hyphen is accepted too.
    count : int, optional
        Keep only the first so many pictures.

    Raises
    ------
    FormatError
        If a file is missing, damaged, or the two do not belong together.
    DomainError
        If count is not a whole number from 1 to the number of pictures.
    """
    pictures, labels = (read_idx(_found(Path(folder), *n)) for n in MNIST_FILES)
    if pictures.ndim != 3 or labels.shape != pictures.shape[:1]:
        raise FormatError(
            "the files of MNIST must hold pictures and one label for each; got shapes "
            f"{pictures.shape} and {labels.shape}; fetch both anew."
        )
    bytes_ = pictures.dtype == np.uint8 and labels.dtype == np.uint8
    if not bytes_ or labels.max() >= CLASSES:
        raise FormatError(
            "the files of MNIST must hold bytes, the labels from 0 to 9; got "
            f"{pictures.dtype}, and labels of {labels.dtype} up to {labels.max()}; "
            "fetch both anew."
        )
    size = len(labels)
    kept = size if count is None else whole(count, "count", most=size)
    rows = pictures[:kept].reshape(kept, -1) / 255
    return Images("mnist", _with_ones(rows), labels[:kept])


def _with_ones(rows: Array) -> Array:
    return np.hstack([rows, np.ones((len(rows), 1))])


def _found(folder: Path, stem: str, kind: str) -> Path:
    names = [f"{stem}{dot}{kind}{end}" for dot in "-." for end in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FormatError(
        f"the folder must hold {names[0]} or {names[1]}; {str(folder)!r} has neither; "
        "name the folder of MNIST's files."
    )
