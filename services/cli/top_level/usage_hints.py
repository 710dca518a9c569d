"""The class of the commands, which adds the remedy to errors that newcomers meet: a graph named by its place, and a
graph or a document that does not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from graphtide.services.cli.exit_codes import NOT_FOUND, CommandError
from graphtide.services.cli.parameters import client_of
from graphtide.services.cli.top_level.not_found import remedy_for

if TYPE_CHECKING:
    from typer import Context

REMEDY = "name a graph by --graph GRAPH, and put a text of several words in quotes"


class HintingCommand(TyperCommand):
    """A command that says how a graph is named when it gets an argument too many, and which ones exist when it does
    not.
    """

    allow_extra_args = True

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the arguments. Raises a UsageError for those that are left over."""
        remaining: list[Any] = super().parse_args(ctx, args)
        if remaining:
            hint = f"; {REMEDY}" if any("--graph" in parameter.opts for parameter in self.params) else ""
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(map(str, remaining))}){hint}")
        return remaining

    def invoke(self, ctx: Context) -> Any:  # type: ignore[override]
        """Run the command. Raises CommandError, with a remedy for a graph or document that the service lacks."""
        try:
            return super().invoke(ctx)
        except CommandError as error:
            given = ctx.params
            if error.code != NOT_FOUND or not {"graph", "url"} <= given.keys():
                raise
            with client_of(given["url"]) as client:
                remedy = remedy_for(client, given["graph"], given.get("doc_id", ""))
            raise CommandError(f"{error}; {remedy}" if remedy else str(error), NOT_FOUND) from error
