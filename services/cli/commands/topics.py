"""The commands `graphtide topics apply|list` on the Kafka cluster in the settings; they do not call the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.parameters import AsJson, Config
from graphtide.services.cli.terminal import result

if TYPE_CHECKING:
    from graphtide.infra.kafka.address import KafkaAddress
    from graphtide.infra.kafka.topics import TopicState
    from graphtide.services.cli.client import Json

app = typer.Typer(
    no_args_is_help=True, help="Create and compare the topics on the Kafka cluster; no other command does."
)

Partitions = Annotated[
    int | None, typer.Option(min=1, max=4_096, help="The number of partitions, instead of the default of each topic.")
]


@app.command()
def apply(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the planned changes without applying them.")
    ] = False,
    partitions: Partitions = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Create the topics, add partitions, set their configuration. Never deletes anything."""
    from graphtide.infra.kafka import topics

    work = topics.compare if dry_run else topics.apply
    _show(_run(lambda address: work(address, partitions), config), as_json, done=not dry_run)


@app.command("list")
def list_topics(config: Config = None, as_json: AsJson = False) -> None:
    """Show the topics on the cluster, and their differences from the required configuration."""
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
                "topic": state.name,
                "partitions": state.partitions,
                "replicas": state.replicas,
                "done" if done else "to_do": list(state.changes),
                "by_hand": list(state.by_hand),
            }
            for state in states
        ]
    }
    result(body, as_json, show.topics)
