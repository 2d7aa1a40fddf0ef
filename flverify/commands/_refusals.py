"""Refusals as JSON: with --json each is one object on the standard output too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from flverify._core.errors import RefusedError
from flverify._core.sentences import EXPECTED, sentence

VERSION = 1
FLAG = "--json"
_TOLD = "flverify.refusal_told"


class Reporting(click.Command):
    """A command that tells a refusal as a JSON object too, where one was asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; one that is wrong is a refusal like any other."""
        wanted = self.speaks_json() and asked(args)  # parsing takes the words away
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # whose help the sentence points to
            if wanted:
                self._tell(error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run; whoever reads the standard output alone must learn of a refusal."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads
            raise
        except EXPECTED as error:
            wanted = any(ctx.params.get(name) for name in self._names())
            if wanted and not ctx.meta.get(_TOLD):
                self._tell(error)
            raise

    def speaks_json(self) -> bool:
        """Whether it has an option that asks for JSON, and so tells its refusals."""
        return bool(self._names())

    def _names(self) -> list[str]:
        """Names of the parameter that asks for JSON."""
        return [str(one.name) for one in self.params if FLAG in one.opts]

    def _tell(self, error: Exception) -> None:
        click.echo(refused(str(self.name), sentence(error)))


def refused(kind: str, reason: str, **keys: Any) -> str:
    """Return the JSON text of a refusal; its keys are those of every report."""
    content = {"format": f"flverify/{kind}", "version": VERSION, **keys}
    return json.dumps({**content, "status": "refused", "reason": reason}, indent=2)


def together(reasons: Mapping[str, str]) -> RefusedError:
    """Return one refusal for several algorithms, each reason told once.

    Examples
    --------
    >>> print(together({"focus": "no.", "fedau": "never.", "fedavg": "no."}))
    focus, fedavg: no; fedau: never.
    """
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why.strip().rstrip("."), []).append(name)
    parts = [f"{', '.join(owners)}: {why}" for why, owners in names.items()]
    return RefusedError(f"{'; '.join(parts)}.")


def told(ctx: click.Context) -> None:
    """Say that the object printed already tells of the refusal to come."""
    ctx.meta[_TOLD] = True


def asked(args: list[str]) -> bool:
    """Whether the words of a command line ask for JSON, before they are parsed."""
    options = args[: args.index("--")] if "--" in args else args
    return any(word.partition("=")[0] == FLAG for word in options)
