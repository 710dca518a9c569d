"""The command `sync`: passes over a folder or an object store, their results, and the end by Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from graphtide.services.cli.exit_codes import FAILED, CommandError
from graphtide.services.cli.sync.run import sync_once
from graphtide.services.cli.sync.types import SyncOptions, SyncResult
from graphtide.services.cli.terminal import progress, result, tell
from graphtide.streams.json_parts import escape_surrogates

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client, Json

INTERRUPTED = 130
POLL_INTERVAL_S = 60.0
"""The interval of a watched URL: a store sends no events, and each listing costs a request per 1,000 files."""
MAX_SHOWN = 20


def run_sync(client: Client, options: SyncOptions, watch: bool, interval_s: float, as_json: bool) -> None:
    """Run one pass, or with `watch` one after every change, or every `interval_s` seconds if that is not 0.

    Raises CommandError when documents failed.
    """
    done = _pass(client, options, as_json, quiet=False)
    if not watch:
        if done.failed:
            raise CommandError(f"{len(done.failed)} documents failed; each is named above with its reason", FAILED)
        return
    from graphtide.services.cli.sync.tree import LocalTree
    from graphtide.services.cli.sync.watch import watch_by_polling, watch_folder

    def follow() -> None:
        _follow(client, options, as_json)

    try:
        if isinstance(options.tree, LocalTree) and not interval_s:
            tell(f"graphtide: watching {options.tree.shown}; Ctrl-C stops")
            watch_folder(options.tree.folder, follow, tell)
        else:
            interval_s = interval_s or POLL_INTERVAL_S
            tell(f"graphtide: listing {options.tree.shown} every {interval_s:g} s; Ctrl-C stops")
            watch_by_polling(interval_s, follow, tell)
    except KeyboardInterrupt:
        tell("graphtide: stopped watching; the graph is as the last summary says")


def _follow(client: Client, options: SyncOptions, as_json: bool) -> None:
    _pass(client, options, as_json, quiet=True)


def _pass(client: Client, options: SyncOptions, as_json: bool, quiet: bool) -> SyncResult:
    """Run one pass and print its result; a quiet one prints only what it did."""
    done = SyncResult()
    try:
        with progress(as_json) as bar:
            sync_once(client, options, bar, done)
    except KeyboardInterrupt as error:
        raise CommandError(
            f"interrupted after {done.summary()}; every document is as before or as in the folder;"
            " run the same command again for the rest",
            INTERRUPTED,
        ) from error
    if not quiet or done.did_something:
        result(done.as_json(), as_json, lambda console, body: _show(console, done, body))
    return done


def _show(console: Console, done: SyncResult, _body: Json) -> None:
    """Print the summary line, and the skipped and failed documents with their reasons."""
    problems = [*done.failed, *done.skipped]
    line = ("would be: " if done.dry_run else "") + done.summary() + (":" if problems else "")
    console.print(line, soft_wrap=True)
    for problem in problems[:MAX_SHOWN]:
        console.print(escape_surrogates(f"  {problem.name}: {problem.reason}"), soft_wrap=True)
    if len(problems) > MAX_SHOWN:
        console.print(f"  … and {len(problems) - MAX_SHOWN} more; --json lists all", soft_wrap=True)
