"""Refusals as JSON: with --json each is one object on the standard output too."""

from __future__ import annotations

import json
from typing import Any

import click

from flverify._core.sentences import EXPECTED, sentence

VERSION = 1
_TOLD = "flverify.refusal_told"


class Reporting(click.Command):
    """A command that tells a refusal as a JSON object too, where one was asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run; whoever reads the standard output alone must learn of a refusal."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads
            raise
        except EXPECTED as error:
            if ctx.params.get("as_json") and not ctx.meta.get(_TOLD):
                click.echo(refused(str(self.name), sentence(error)))
            raise


def refused(kind: str, reason: str, **keys: Any) -> str:
    """Return the JSON text of a refusal; its keys are those of every report."""
    content = {"format": f"flverify/{kind}", "version": VERSION, **keys}
    return json.dumps({**content, "status": "refused", "reason": reason}, indent=2)


def told(ctx: click.Context) -> None:
    """Say that the object printed already tells of the refusal to come."""
    ctx.meta[_TOLD] = True
