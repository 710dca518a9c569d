"""Terminal output: results on standard output, everything else on standard error.

The invariant: with --json standard output holds one JSON value and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from graphtide.services.cli.client import Json

Advance = Callable[[int], None]


def tell(sentence: str) -> None:
    """Print one sentence on standard error."""
    sys.stderr.write(sentence + "\n")


def deprecated(old: str, new: str) -> None:
    """Print a notice that a word of the command line has a new name."""
    tell(f"{old} is the old name of {new}, accepted until the next release: use {new}")


def result(body: Json, as_json: bool, show: Callable[[Console, Json], None]) -> None:
    """Print the result, as JSON or with `show`."""
    if as_json:
        sys.stdout.write(json.dumps(body, ensure_ascii=False) + "\n")
        return
    show(console(), body)


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, int], Advance]]:
    """Yield a function that starts a progress bar on standard error from a label and a total. No output when `quiet`.

    A total of 0 means unknown: the bar then shows activity and the elapsed time.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _about, _total: lambda _count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def start(about: str, total: int) -> Advance:
            task = bars.add_task(about, total=total or None)
            return lambda count: bars.advance(task, count)

        yield start
