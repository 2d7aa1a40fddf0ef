"""What `rate` and `bias` share: ask the moments engine about every algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from flverify._core.errors import Refusal, RefusedError
from flverify._core.sentences import sentence
from flverify.commands._algorithms import Chosen
from flverify.commands._refusals import together, told
from flverify.commands._setting import Setting, read_setting
from flverify.engines.moments import moments
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.moments import refusal

Record = dict[str, Any]


def answer(
    kind: str,
    wanted: str,
    names: Sequence[str],
    options: Mapping[str, Any],
    read: Callable[[str, Any], Record],
    show: Callable[[Sequence[Record]], None],
) -> None:
    """Ask, print, and end with exit code 2 if no algorithm has an answer.

    Parameters
    ----------
    kind : str
        Name of the report.
    wanted : str
        The value of a record that counts as an answer.
    names : sequence of str
        The algorithms.
    options : mapping
        The options of the setting, with `floats` and `as_json`.
    read, show : callables
        From an algorithm's name and moments to a record, and the table of records.
    """
    setting = read_setting(names, options, floats=options["floats"])
    records = []
    with console.progress(kind, len(setting.algorithms)) as begin:
        for chosen in setting.algorithms:
            begin(chosen.name)
            found = _ask(setting, chosen)
            record = {**read(chosen.name, found), "settings": chosen.settings()}
            records.append(record)
    refused = _refused(records, wanted)
    if options["as_json"]:
        click.echo(_json(kind, setting, records, refused))
        told(click.get_current_context())
    elif refused is None or not all(one["refusal"] for one in records):
        console.fields(setting.lines())
        console.line()
        show(records)
        console.remarks(setting.notes)
    if refused is not None:
        raise refused


def _refused(records: Sequence[Record], wanted: str) -> RefusedError | None:
    """Return the refusal if no algorithm has what was wanted."""
    reasons = {one["algorithm"]: refusal(one, wanted) for one in records}
    if not all(reasons.values()):
        return None
    return together({name: str(why) for name, why in reasons.items()})


def _ask(setting: Setting, chosen: Chosen) -> Any:
    """Return moments or a refusal, which the engine may also raise."""
    try:
        return moments(setting.problem, chosen.algorithm, setting.law)
    except RefusedError as error:
        return Refusal("moments", str(error))


def _json(
    kind: str, setting: Setting, records: Sequence[Record], refused: RefusedError | None
) -> str:
    """With one algorithm its keys also stand at the top level."""
    alone = records[0] if len(records) == 1 else {}
    status = {"status": "refused", "reason": sentence(refused)} if refused else {}
    return envelope(
        kind,
        **status,
        **setting.record(),
        notes=setting.notes,
        algorithms=records,
        **alone,
    )
