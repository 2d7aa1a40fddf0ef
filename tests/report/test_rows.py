from dataclasses import make_dataclass

import pytest

from flverify._core.errors import FormatError
from flverify.report.rows import RowTable, read_rows


def written(folder, kinds, values):
    row = make_dataclass("Row", kinds, frozen=True)
    path = folder / "table.csv"
    RowTable((row(*values),)).write_csv(path)
    return path, row


@pytest.mark.parametrize("as_text", [True, False])
def test_types_of_columns_may_be_text_or_not(tmp_path, as_text):
    kinds = {"name": str, "round": int, "error": float, "exact": bool}
    listed = [(n, k.__name__ if as_text else k) for n, k in kinds.items()]
    path, row = written(tmp_path, listed, ("a", 2, 0.5, False))
    assert read_rows(path, row).rows == (row("a", 2, 0.5, False),)


@pytest.mark.parametrize("kind", [complex, "complex", "float | None"])
def test_other_types_of_columns_are_refused(tmp_path, kind):
    path, row = written(tmp_path, [("round", int), ("error", kind)], (0, 1.0))
    with pytest.raises(FormatError, match="str, int, float or bool; error is"):
        read_rows(path, row)
