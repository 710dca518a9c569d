"""The command `sync`: passes over a folder or an object store, their results, and the end by Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from graphtide.services.cli.exit_codes import FAILED, CommandError
from graphtide.services.cli.sync.run import sync_once
from graphtide.services.cli.sync.skipped import SkippedNews, SkippedSources
from graphtide.services.cli.sync.types import SyncOptions, SyncResult
from graphtide.services.cli.terminal import progress, result, tell
from graphtide.streams.json_parts import escape_surrogates

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client

INTERRUPTED = 130
POLL_INTERVAL_S = 60.0
"""The interval of a watched URL: a store sends no events, and each listing costs a request per 1,000 files."""
MAX_SHOWN = 20


def run_sync(client: Client, options: SyncOptions, watch: bool, interval_s: float, as_json: bool) -> None:
    """Run one pass, or with `watch` one after every change, or every `interval_s` seconds if that is not 0.

    Raises CommandError when documents failed.
    """
    skipped = SkippedSources()
    done = _run_pass(client, options, as_json)
    _print(done, skipped.take(done), as_json)
    if not watch:
        if done.failed:
            raise CommandError(f"{len(done.failed)} documents failed; each is named above with its reason", FAILED)
        return
    from graphtide.services.cli.sync.tree import LocalTree
    from graphtide.services.cli.sync.watch import watch_by_polling, watch_folder

    def follow() -> None:
        follow_once(client, options, as_json, skipped)

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


def follow_once(client: Client, options: SyncOptions, as_json: bool, skipped: SkippedSources) -> None:
    """Run one pass of a watch, and print its result if it did something, or if what is skipped has changed."""
    done = _run_pass(client, options, as_json)
    news = skipped.take(done)
    if done.did_something or news:
        _print(done, news, as_json)


def _run_pass(client: Client, options: SyncOptions, as_json: bool) -> SyncResult:
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
    return done


def _print(done: SyncResult, news: SkippedNews, as_json: bool) -> None:
    """Print a result with what is newly skipped; JSON has all that is skipped."""
    body = done.as_json() | ({"readable_again": list(news.readable)} if news.readable else {})
    result(body, as_json, lambda console, _body: _show(console, done, news))


def _show(console: Console, done: SyncResult, news: SkippedNews) -> None:
    """Print the summary line, the failed and newly skipped documents with their reasons, and what is readable again."""
    lines = [f"{each.name}: {each.reason}" for each in (*done.failed, *news.skipped)]
    lines += [f"{name}: is readable again" for name in news.readable]
    line = ("would be: " if done.dry_run else "") + done.summary() + (":" if lines else "")
    console.print(line, soft_wrap=True)
    for line in lines[:MAX_SHOWN]:
        console.print(escape_surrogates(f"  {line}"), soft_wrap=True)
    if len(lines) > MAX_SHOWN:
        console.print(f"  … and {len(lines) - MAX_SHOWN} more; --json lists all", soft_wrap=True)
