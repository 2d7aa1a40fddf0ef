"""Availability logs: which client took part in which round, as comma-separated values.

The first line names the columns `round` and `client`; every other line is one client
in one round, by whole numbers. Rounds without a line are empty.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flverify._core.checks import instance
from flverify._core.errors import FormatError
from flverify._core.exact import Array
from flverify._core.shown import shown

COLUMNS = ("round", "client")
MOST_CELLS = 50_000_000  # rounds times clients that are kept in memory
FEWEST_ROUNDS = 2
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class AvailabilityLog:
    """Who took part, round after round.

    Parameters
    ----------
    mask : (rounds, N) array of bool
    first_round : int
        Number that the log gives the first of these rounds.
    whole : bool
        Whether the number of rounds was told, so that no empty ones are missing at
        the ends.
    """

    mask: Array
    first_round: int
    whole: bool = True

    @property
    def rounds(self) -> int:
        """Number of rounds R, empty ones among them."""
        return int(self.mask.shape[0])

    @property
    def n_clients(self) -> int:
        """Number of clients N, absent ones among them."""
        return int(self.mask.shape[1])

    @property
    def counts(self) -> Array:
        """Rounds of each client, shape (N,)."""
        return np.asarray(self.mask.sum(axis=0))

    @property
    def sizes(self) -> Array:
        """Cohort sizes |S_r|, shape (rounds,)."""
        return np.asarray(self.mask.sum(axis=1))

    @property
    def shares(self) -> Array:
        """I_i/|S| in every round, 0 in empty ones, shape (rounds, N)."""
        return np.asarray(self.mask / np.maximum(self.sizes, 1)[:, None])


def read_log(
    path: Path, n_clients: int | None = None, rounds: int | None = None
) -> AvailabilityLog:
    r"""Read an availability log.

    Parameters
    ----------
    path : path
    n_clients : int, optional
        Number of clients; without it, one more than the largest in the log.
    rounds : int, optional
        Number of rounds. Rounds are then numbered from 0, or from 1 if the log names
        round R but not round 0. Without it the log begins with the smallest round it
        names and ends with the largest.

    Returns
    -------
    log : AvailabilityLog

    Raises
    ------
    InputError
        If the path is none.
    FormatError
        If the file is missing, or a line is not one client of one round, is repeated,
        or lies outside the clients or the rounds; the message has the line's number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "log.csv"
    ...     _ = file.write_text("round,client\n1,0\n1,2\n3,1\n")
    ...     read_log(file).mask.astype(int).tolist()
    [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    """
    instance(path, "path", Path, 'Path("log.csv")')
    entries = list(_entries(path, n_clients))
    if not entries:
        raise FormatError(
            f"an availability log must name a client of a round; {path} has a header "
            "alone; log at least two rounds."
        )
    first, many = _span(path, entries, rounds)
    size = n_clients or 1 + max(client for _, _, client in entries)
    if many * size > MOST_CELLS:
        raise FormatError(
            f"a log must have at most {MOST_CELLS} rounds times clients; {path} has "
            f"{many} rounds and {size} clients; number them without gaps, or cut it."
        )
    if many < FEWEST_ROUNDS:
        raise FormatError(
            f"a log must have at least {FEWEST_ROUNDS} rounds; {path} has {many}; log "
            "more, or tell with --rounds how many there were."
        )
    mask = np.zeros((many, size), dtype=np.bool_)
    for _, place, client in entries:
        mask[place - first, client] = True
    return AvailabilityLog(mask, first, whole=rounds is not None)


def _span(
    path: Path, entries: list[tuple[int, int, int]], rounds: int | None
) -> tuple[int, int]:
    """Return the first round and the number of rounds."""
    named = [place for _, place, _ in entries]
    least, most = min(named), max(named)
    if rounds is None:
        return least, most - least + 1
    first = 1 if least >= 1 and most == rounds else 0
    if most > first + rounds - 1:
        line = next(number for number, place, _ in entries if place == most)
        raise FormatError(
            f"a round must be one of {rounds}, numbered from 0 or from 1; line {line} "
            f"of {path} has {most}; mend it or raise --rounds."
        )
    return first, rounds


def _entries(path: Path, n_clients: int | None) -> Iterator[tuple[int, int, int]]:
    """Yield line number, round and client."""
    seen: dict[tuple[int, int], int] = {}
    places: tuple[int, ...] | None = None
    for number, cells in _lines(path):
        if places is None:
            places = _header(path, number, cells)
            continue
        if len(cells) != len(COLUMNS):
            raise FormatError(
                f"a line must have a round and a client; line {number} of {path} has "
                f"{len(cells)} entries; mend it."
            )
        place, client = (
            _whole(path, number, name, cells[k])
            for name, k in zip(COLUMNS, places, strict=True)
        )
        _require_known(path, number, client, n_clients)
        if (place, client) in seen:
            raise FormatError(
                f"a client must stand once in a round; line {number} of {path} repeats "
                f"round {place}, client {client} of line {seen[place, client]}; remove "
                "one."
            )
        seen[place, client] = number
        yield number, place, client
    if places is None:
        raise FormatError(
            f"an availability log must begin with the line round,client; {path} is "
            "empty; add it."
        )


def _require_known(path: Path, number: int, client: int, n_clients: int | None) -> None:
    if n_clients is not None and client >= n_clients:
        raise FormatError(
            f"a client must be one of 0, ..., {n_clients - 1}; line {number} of {path} "
            f"has {client}; mend it, or change the number of clients."
        )


def _lines(path: Path) -> Iterable[tuple[int, list[str]]]:
    """Return lines with their numbers; blank ones are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            found = [(reader.line_num, [c.strip() for c in cells]) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FormatError(
            f"an availability log must be a text of comma-separated values; {path} "
            f"cannot be read as one: {why}; check the path."
        ) from error
    return [(number, cells) for number, cells in found if any(cells)]


def _header(path: Path, number: int, cells: list[str]) -> tuple[int, ...]:
    if sorted(cells) != sorted(COLUMNS):
        raise FormatError(
            f"an availability log must begin with the line round,client; line {number} "
            f"of {path} is {shown(','.join(cells))}; {_header_mended(cells)}."
        )
    return tuple(cells.index(name) for name in COLUMNS)


def _header_mended(cells: list[str]) -> str:
    """Say what to do: a header that is there already is not to be added."""
    words = re.findall(r"\w+", " ".join(cells))
    small, wanted = sorted(word.lower() for word in words), sorted(COLUMNS)
    if all(map(str.isdecimal, words)):
        return "add the header"
    if len(cells) > len(wanted) and set(wanted) <= set(small):
        return "leave out its other columns"
    if sorted(words) == wanted:
        return "put commas between its columns"
    return "write it in small letters" if small == wanted else "name its columns so"


def _whole(path: Path, number: int, name: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise FormatError(
            f"a {name} must be a whole number; line {number} of {path} has "
            f"{shown(text)}; mend it."
        )
    if text.startswith("-"):
        raise FormatError(
            f"a {name} must not be negative; line {number} of {path} has {text}; mend "
            "it."
        )
    return int(text)
