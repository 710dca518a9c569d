"""The class of the commands, which adds the remedy to an error that newcomers meet: a graph named by its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer import Context

REMEDY = "name a graph by --graph GRAPH, and put a text of several words in quotes"


class HintingCommand(TyperCommand):
    """A command that says how a graph is named when it gets an argument too many."""

    allow_extra_args = True

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the arguments. Raises a UsageError for those that are left over."""
        remaining: list[Any] = super().parse_args(ctx, args)
        if remaining:
            hint = f"; {REMEDY}" if any("--graph" in parameter.opts for parameter in self.params) else ""
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(map(str, remaining))}){hint}")
        return remaining
