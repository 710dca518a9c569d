"""ISO dates: one grammar for validation and for reading."""

from __future__ import annotations

import logging
from random import Random

import pytest
from pydantic_core import PydanticCustomError

from graphtide.graph.text.dates import DateRange, date_span
from graphtide.services.api.schema.requests.documents import check_date
from graphtide.streams.messages import decode_document

HOUR = 3600 * 10**6


@pytest.mark.parametrize(
    "text",
    [
        "2024",
        "2024-02",
        "2024-02-29",
        "2024-02-29T10",
        "2024-02-29 10:30",
        "2024-02-29T10:30:59.123Z",
        "0001-01-01T00:00+14:00",
    ],
)
def test_date_that_is_accepted_can_be_read(text: str) -> None:
    """Its span is not empty."""
    read = date_span(check_date(text))
    assert read is not None and read.start < read.end


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2024-01-01T00000000",
            "2024-01-01T000",
            "2024-01-01T00:0",
            "2024-13",
            "2023-02-29",
            "0000",
            "2024-01-01T24:00",
        ),
        *(
            "2024-1-1",
            "20240101",
            "2024-01-01T10:00+25:00",
            "2024-01-01T10:00:60",
            "2024-01-01T10Z+01",
            "2024-01-01T",
            "\u0662024",
        ),
        *(
            "2024-01-01T1.5",
            "2024-01-01T10:00:00.",
            "2024-W01",
            "2024-01-01T10:00-",
            "2024-01-01\n",
            " 2024",
            "2024-01-01T10:00:00.1234567890",
        ),
    ],
)
def test_text_that_is_no_date_is_refused_and_read_as_none(text: str) -> None:
    """Reading raises no error: a store may hold such a text from before it was refused."""
    assert date_span(text) is None and not DateRange.between("2000", "").holds(text)
    with pytest.raises(PydanticCustomError):
        check_date(text)


def test_offset_moves_a_time() -> None:
    """The clock time east of Greenwich is later."""
    east, west, utc = (date_span(f"2024-01-01T10:00{offset}") for offset in ("+02:30", "-0230", "Z"))
    assert east and west and utc
    assert utc.start - east.start == west.start - utc.start == 2.5 * HOUR


def test_every_text_is_accepted_exactly_when_it_can_be_read() -> None:
    """Random texts of the characters of dates, and dates with one changed character, raise no other exception."""
    seed = 20_240_229
    print("seed", seed)
    rng = Random(seed)
    characters, accepted = "0123456789-:.,TZ+ 9W", 0
    for _ in range(30_000):
        text = list("2024-02-28T10:30:59.123456+02:00"[: rng.choice((4, 7, 10, 13, 16, 19, 26, 32))])
        for _ in range(rng.randrange(3)):
            text[rng.randrange(len(text))] = rng.choice(characters)
        written = "".join(text)
        try:
            check_date(written)
        except PydanticCustomError:
            assert date_span(written) is None
            continue
        accepted += 1
        read = date_span(written)
        assert read is not None and read.start < read.end
    assert accepted > 1_000


def test_stored_date_that_cannot_be_read_counts_as_none_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The document is read as stored, so a rebuild gives the same graph."""
    body = b'{"text": "Text.", "occurred_at": "2024-01-01T00000000"}'
    with caplog.at_level(logging.WARNING):
        document = decode_document("g|d", body)
    assert document.info.occurred_at == "2024-01-01T00000000"
    assert "2024-01-01T00000000" in caplog.text and "counts as no date" in caplog.text
