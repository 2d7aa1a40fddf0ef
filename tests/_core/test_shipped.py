"""Folders that are shipped, and one that is not."""

import pytest

from flverify._core.errors import UnknownNameError
from flverify._core.shipped import shipped_folder
from flverify.claims.registry import proofs_folder
from flverify.report.figures import figures_folder


def test_folders_stand_beside_the_package_or_inside():
    assert proofs_folder() == shipped_folder("proofs")
    assert figures_folder() == shipped_folder("figures")
    with pytest.raises(UnknownNameError, match="the folder recipes/ must be beside"):
        shipped_folder("recipes")
