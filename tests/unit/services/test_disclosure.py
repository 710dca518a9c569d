"""Addresses of model endpoints in the reasons of statuses and dead letters: for callers with `metrics` alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from graphtide.services.api.schema.disclosure import ADDRESSES_SHOWN
from graphtide.services.application import LetterQuery
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.messages import DeadLetter
from graphtide.streams.ports import LedgerEntry
from tests.e2e.test_graph_deletion import WAIT_S, document, opened

REASON = "the language model endpoint http://models:9/v1 answered 400"


async def test_reason_of_a_status_depends_on_the_caller_also_when_two_ask_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal statuses are computed once; these two are not equal."""
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "a", Random(1))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        latest = application._latest

        async def failed(graph: str, doc_id: str) -> LedgerEntry:
            return replace(await latest(graph, doc_id), reason=REASON)

        monkeypatch.setattr(application, "_latest", failed)

        async def reason(is_shown: bool) -> str:
            ADDRESSES_SHOWN.set(is_shown)
            return (await application.document("g", "a")).reason

        shown, kept = await asyncio.gather(reason(True), reason(False))
        assert shown == REASON
        assert kept == "the language model endpoint answered 400"


async def test_reason_of_a_dead_letter_depends_on_the_caller(tmp_path: Path) -> None:
    """In the list and in a letter itself."""
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "a", Random(1))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        await write_dead_letter(application._runtime.log, DeadLetter("g", "a", 0, "extract", REASON, 1, b"x"))
        for is_shown in (True, False):
            ADDRESSES_SHOWN.set(is_shown)
            [listed] = (await application.dead_letters("g", LetterQuery())).letters
            whole = await application.dead_letter("g", listed.id)
            assert ["models:9" in each.reason for each in (listed, whole)] == [is_shown] * 2
