from __future__ import annotations

import gzip
import importlib
import struct

import numpy as np
import pytest

from flverify._core.errors import (
    DomainError,
    FormatError,
    MissingExtraError,
    ShapeError,
)
from flverify.problems import Images, digits, mnist


def idx(values) -> bytes:
    array = np.asarray(values, dtype=np.uint8)
    head = bytes([0, 0, 8, array.ndim])
    return head + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def folder_of(path, pictures, labels, dot="-", end=""):
    pack = gzip.compress if end else bytes
    for stem, values in (
        ("train-images-idx3", pictures),
        ("train-labels-idx1", labels),
    ):
        name = stem.replace("-idx", f"{dot}idx") + f"-ubyte{end}"
        (path / name).write_bytes(pack(idx(values)))
    return path


PICTURES = np.arange(3 * 2 * 2).reshape(3, 2, 2) * 20
LABELS = [7, 0, 9]


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_mnist_is_read_from_its_files(tmp_path, dot, end) -> None:
    found = mnist(folder_of(tmp_path, PICTURES, LABELS, dot, end))
    assert found.name == "mnist"
    assert found.labels.tolist() == LABELS
    first = [0, 20 / 255, 40 / 255, 60 / 255, 1]  # row after row, then the offset
    assert found.features[0].tolist() == pytest.approx(first)
    assert found.features.shape == (3, 5)


def test_mnist_may_be_cut(tmp_path) -> None:
    found = mnist(str(folder_of(tmp_path, PICTURES, LABELS)), 2)
    assert repr(found) == "<Images: mnist, 2 of them>"
    with pytest.raises(DomainError, match="count must be an integer between 1 and 3"):
        mnist(tmp_path, 4)


@pytest.mark.parametrize(
    ("pictures", "labels", "said"),
    [
        (PICTURES, [1, 2], "one label for each"),
        (PICTURES[0], LABELS, "one label for each"),
        (PICTURES, [LABELS], "one label for each"),
        (PICTURES, [1, 2, 10], "labels from 0 to 9"),
    ],
)
def test_files_that_do_not_belong_together(tmp_path, pictures, labels, said) -> None:
    with pytest.raises(FormatError, match=said):
        mnist(folder_of(tmp_path, pictures, labels))


def test_pictures_must_be_bytes(tmp_path) -> None:
    folder_of(tmp_path, PICTURES, LABELS)
    content = bytes([0, 0, 11, 3]) + struct.pack(">3I", 3, 1, 1) + bytes(6)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(FormatError, match="must hold bytes"):
        mnist(tmp_path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(FormatError, match=r"train-images-idx3-ubyte\.gz.*has neither"):
        mnist(tmp_path)


def test_the_digits_are_those_of_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    found = digits()
    assert found.features.shape == (1797, 65)
    assert found.features.min() == 0
    assert found.features.max() == 1
    assert (found.features[:, -1] == 1).all()
    assert np.bincount(found.labels).tolist() == [
        *(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
    ]


def test_without_scikit_learn_the_extra_is_named(monkeypatch) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", nothing)
    with pytest.raises(MissingExtraError, match=r"sklearn.*flverify\[digits\]"):
        digits()


def test_pictures_are_dealt_once_each() -> None:
    rows = np.arange(11.0)[:, None]
    images = Images("eleven", rows, np.arange(11))
    features, labels = images.split(3, seed=1)
    assert features.shape == (3, 3, 1)
    assert (features[..., 0] == labels).all()  # a picture keeps its label
    assert len(set(labels.ravel().tolist())) == 9
    again, other = images.split(3, seed=1)[1], images.split(3, seed=2)[1]
    assert (labels == again).all()
    assert (labels != other).any()


def test_bad_images_are_refused() -> None:
    with pytest.raises(ShapeError, match="one number for each of the 2 rows"):
        Images("two", np.zeros((2, 1)), np.array([1]))
    with pytest.raises(DomainError, match="labels must be integers"):
        Images("two", np.zeros((2, 1)), np.array([0.0, 1.0]))
    with pytest.raises(DomainError, match="finite"):
        Images("one", np.array([[np.nan]]), np.array([1]))
    with pytest.raises(DomainError, match="must not exceed the 2 pictures"):
        Images("two", np.zeros((2, 1)), np.array([0, 1])).split(3, 0)
