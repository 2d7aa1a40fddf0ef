"""Folders of files that are shipped beside the package, or inside it."""

from __future__ import annotations

from pathlib import Path

from flverify._core.errors import UnknownNameError


def shipped_folder(name: str) -> Path:
    """Return a folder inside an installed package, or beside it in a checkout.

    Raises
    ------
    UnknownNameError
        If neither exists.

    Examples
    --------
    >>> (shipped_folder("proofs") / "ledger.toml").is_file()
    True
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / f"_{name}", package.parent / name):
        if folder.is_dir():
            return folder
    raise UnknownNameError(
        f"the folder {name}/ must be beside the package or inside it; found neither; "
        "reinstall flverify."
    )
