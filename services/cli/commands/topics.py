"""The commands `graphtide topics apply|list`: they talk to the Kafka cluster of the settings, not to the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.terminal import result

if TYPE_CHECKING:
    from graphtide.infra.kafka.address import KafkaAddress
    from graphtide.infra.kafka.topics import TopicState
    from graphtide.services.cli.client import Json

app = typer.Typer(no_args_is_help=True, help="Make and compare the topics on the Kafka cluster; nothing else does.")

Config = Annotated[Path | None, typer.Option(help="A file of settings.  [default: graphtide.toml]")]
Partitions = Annotated[int | None, typer.Option(min=1, max=4_096, help="Partitions, in the place of the table's.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.command()
def apply(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    partitions: Partitions = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make the topics, add partitions, set their settings. Never takes anything away."""
    from graphtide.infra.kafka import topics

    work = topics.compare if dry_run else topics.apply
    _show(_run(lambda address: work(address, partitions), config), as_json, done=not dry_run)


@app.command("list")
def list_topics(config: Config = None, as_json: AsJson = False) -> None:
    """Show the topics as they are on the cluster, and in what they differ from what they should be."""
    from graphtide.infra.kafka import topics

    _show(_run(topics.compare, config), as_json, done=False)


def _run(
    work: Callable[[KafkaAddress], Coroutine[Any, Any, Sequence[TopicState]]], config: Path | None
) -> Sequence[TopicState]:
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.settings import SettingsError, load_settings
    from graphtide.streams.errors import GraphtideError

    try:
        settings = load_settings(None, config)
        if not settings.kafka:
            raise CommandError("no Kafka cluster is configured; set GRAPHTIDE_KAFKA to its bootstrap servers", USAGE)
        return asyncio.run(work(kafka_address(settings)))
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    except GraphtideError as error:
        raise CommandError(str(error)) from error


def _show(states: Sequence[TopicState], as_json: bool, done: bool) -> None:
    from graphtide.services.cli import render as show

    body: Json = {
        "topics": [
            {
                "topic": one.name,
                "partitions": one.partitions,
                "replicas": one.replicas,
                "done" if done else "to_do": list(one.changes),
                "by_hand": list(one.by_hand),
            }
            for one in states
        ]
    }
    result(body, as_json, show.topics)
