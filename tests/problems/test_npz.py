from __future__ import annotations

import io
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from flverify._core.errors import DomainError, FlverifyError, FormatError, ShapeError
from flverify.problems import load_problem, npz, ridge_regression


def save(folder: Path, **arrays: object) -> Path:
    path = folder / "problem.npz"
    np.savez(path, **arrays)
    return path


def test_quadratics_in_integers_are_exact(tmp_path: Path) -> None:
    path = save(tmp_path, hessians=[[[1]], [[3]]], linear=[[0], [2]])
    problem = load_problem(path)
    assert problem.exact
    assert problem.minimiser().tolist() == [Fraction(1, 2)]
    assert load_problem(str(path)).exact


def test_quadratics_in_floats(tmp_path: Path) -> None:
    path = save(tmp_path, hessians=np.eye(2)[None], linear=np.ones((1, 2)))
    assert load_problem(path).minimiser().tolist() == [1.0, 1.0]


def test_decimal_text_is_exact(tmp_path: Path) -> None:
    path = save(tmp_path, hessians=np.array([[["0.2"]]]), linear=np.array([["1/3"]]))
    assert load_problem(path).minimiser().tolist() == [Fraction(5, 3)]


@pytest.mark.parametrize("ridge", [None, 2, 0.25, "0.01"])
def test_data(tmp_path: Path, ridge: object) -> None:
    features, targets = [[[1, 2], [3, 1]], [[0, 1], [1, 1]]], [[1, 2], [0, 1]]
    extra = {} if ridge is None else {"regularisation": ridge}
    path = save(tmp_path, features=features, targets=targets, **extra)
    found = load_problem(path)
    expected = ridge_regression(features, targets, 0 if ridge is None else ridge)
    assert found.exact == expected.exact == (ridge != 0.25)
    assert found.hessians.tolist() == expected.hessians.tolist()
    assert found.linear.tolist() == expected.linear.tolist()


def test_compressed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    np.savez_compressed(path, hessians=[[[1]]], linear=[[1]])
    assert load_problem(path).n_clients == 1


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"features": [[[1]]]},
        {"targets": [[1]]},
        {"hessians": [[[1]]]},
        {"hessians": [[[1]]], "targets": [[1]]},
        {"hessians": [[[1]]], "linear": [[1]], "regularisation": 1},
        {"features": [[[1]]], "targets": [[1]], "regularization": 1},
        {"features": [[[1]]], "targets": [[1]], "regularisation": [1]},
        {"features": [[[1]]], "targets": [[1]], "hessians": [[[1]]], "linear": [[1]]},
    ],
)
def test_other_arrays(tmp_path: Path, arrays: dict[str, object]) -> None:
    with pytest.raises(FormatError) as caught:
        load_problem(save(tmp_path, **arrays))
    assert str(caught.value).count(";") == 2


@pytest.mark.parametrize(
    ("arrays", "error"),
    [
        ({"hessians": [[[1]]], "linear": [[1], [2]]}, ShapeError),
        ({"features": [[1]], "targets": [[1]]}, ShapeError),
        ({"hessians": [[[1, 2], [0, 1]]], "linear": [[1, 1]]}, DomainError),
        ({"hessians": [[[np.nan]]], "linear": [[1]]}, DomainError),
        ({"hessians": [[[True]]], "linear": [[1]]}, DomainError),
        ({"hessians": np.array([[["x"]]]), "linear": [[1]]}, DomainError),
        ({"features": [[[1]]], "targets": [[1]], "regularisation": -1}, DomainError),
        ({"features": [[[1]]], "targets": [[1]], "regularisation": True}, DomainError),
    ],
)
def test_arrays_that_do_not_fit(
    tmp_path: Path, arrays: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        load_problem(save(tmp_path, **arrays))


def foreign_files(folder: Path) -> list[Path]:
    contents = {
        "empty.npz": b"",
        "text.npz": b"features,targets\n1,2\n",
        "zeros.npz": bytes(100),
        "magic.npz": b"PK\x03\x04",
        "pickle.npz": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94.",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    np.save(folder / "array.npy", np.eye(2))
    with zipfile.ZipFile(folder / "archive.npz", "w") as archive:
        archive.writestr("hessians", "1")
        archive.writestr("linear.npy", "not an array")
    (folder / "folder.npz").mkdir()
    names = [*contents, "array.npy", "archive.npz", "folder.npz", "missing.npz"]
    return [folder / name for name in names]


def test_foreign_and_missing_files(tmp_path: Path) -> None:
    for path in foreign_files(tmp_path):
        with pytest.raises(FormatError) as caught:
            load_problem(path)
        message = str(caught.value)
        assert path.name in message
        assert message.count(";") == 2
        assert "\n" not in message
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("path", [None, 3, b"x\0y", "x\0y"])
def test_things_that_are_no_path(path: object) -> None:
    with pytest.raises(FormatError):
        load_problem(path)


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.write_text, (self.path, "sprung"))


def test_pickles_are_refused_unread(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    trap = np.array([[[Trap(mark)]]], dtype=object)
    path = save(tmp_path, hessians=trap, linear=[[1]])
    with pytest.raises(FormatError):
        load_problem(path)
    assert not mark.exists()


def with_header(folder: Path, header: bytes) -> Path:
    """An archive whose first array has some text as its header."""
    path = folder / "header.npz"
    with zipfile.ZipFile(path, "w") as archive:
        start = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little")
        archive.writestr("hessians.npy", start + header)
    return path


@pytest.mark.parametrize("header", [b"(" * 2000, b"", b"__import__('os')", b"[" * 9])
def test_a_header_that_is_no_header_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(FormatError, match="cannot be read as one"):
        load_problem(with_header(tmp_path, header))


def test_a_small_archive_of_very_many_zeros_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "zeros.npz"
    arrays = {"hessians": np.zeros((300, 1, 1)), "linear": np.zeros((300, 1))}
    np.savez_compressed(path, **arrays)
    assert load_problem(path).n_clients == 300
    monkeypatch.setattr(npz, "LARGEST", 4000)
    assert path.stat().st_size < 4000
    with pytest.raises(FormatError, match=r"at most 4000 bytes of arrays.*unpacks to"):
        load_problem(path)


def test_damaged_files_never_show_a_traceback_of_others(tmp_path: Path) -> None:
    stored = io.BytesIO()
    np.savez_compressed(stored, hessians=[[[1.5]], [[3.0]]], linear=[[0.5], [2.0]])
    whole = stored.getvalue()
    draw = np.random.default_rng(11)
    path, refused = tmp_path / "damaged.npz", 0
    for trial in range(300):
        content = bytearray(whole)
        if trial % 3 == 0:
            content = content[: draw.integers(0, len(whole))]
        else:
            for place in draw.integers(0, len(whole), size=1 + trial % 5):
                content[place] ^= 1 << int(draw.integers(0, 8))
        path.write_bytes(bytes(content))
        try:
            load_problem(path)
        except FlverifyError:
            refused += 1
    assert refused > 150
