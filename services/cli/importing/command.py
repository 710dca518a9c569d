"""The command `import`: its progress, its report, and the end by Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from graphtide.infra.imports.stores import open_store
from graphtide.infra.imports.types import UnreadableStoreError
from graphtide.services.cli.exit_codes import FAILED, CommandError
from graphtide.services.cli.importing.run import ImportOptions, ImportResult, import_store
from graphtide.services.cli.terminal import progress, result

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client, Json

INTERRUPTED = 130
MAX_SHOWN = 20


def run_import(client: Client, options: ImportOptions, as_json: bool) -> None:
    """Import a store and print the report. Raises CommandError when it cannot be read, or documents failed."""
    done = ImportResult()
    try:
        with progress(as_json) as bar:
            bar("reading the store", 0)
            import_store(client, open_store(options.path), options, bar, done)
    except UnreadableStoreError as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt as error:
        raise CommandError(
            f"interrupted after {done.published} passages; run the same command again for the rest", INTERRUPTED
        ) from error
    result(done.as_json(), as_json, lambda console, body: _show(console, done, body))
    if done.failed:
        raise CommandError(f"{len(done.failed)} passages failed; each is named above with its reason", FAILED)


def _show(console: Console, done: ImportResult, _body: Json) -> None:
    """Print the counts, what is lost, and the failed passages."""
    counts = f"{done.passages} passages, {done.entities} entities and {done.relations} relations in them"
    verb = "contains" if done.dry_run else f"published {done.published}, unchanged {done.unchanged} of"
    console.print(f"{done.format}: {verb} {counts}", soft_wrap=True)
    for reason, count in sorted(done.lost.items()):
        console.print(f"  not imported: {count} {reason}", soft_wrap=True)
    for problem in done.failed[:MAX_SHOWN]:
        name = problem.name if problem.name.isprintable() else problem.name.encode("unicode_escape").decode()
        console.print(f"  {name}: {problem.reason}", soft_wrap=True)
    if len(done.failed) > MAX_SHOWN:
        console.print(f"  … and {len(done.failed) - MAX_SHOWN} more; --json lists all", soft_wrap=True)
