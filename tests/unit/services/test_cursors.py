"""Cursors of listings: what was encoded comes back, and nothing else is a cursor."""

from __future__ import annotations

import base64
import random

import pytest

from graphtide.services.api.schema.requests.browsing import document_query, entity_query
from graphtide.services.inspection import cursors
from graphtide.services.inspection.cursors import decode_cursor, encode_cursor
from graphtide.streams.errors import Invalid

LISTING = ("documents", "g", "", "")


def test_place_comes_back_for_its_own_listing_alone() -> None:
    """With another graph or filter, or other kinds of values, the cursor is refused."""
    for place in (("a",), ("\U0001f30d \x00|",), (3, -4, "é", "e-1")):
        kinds = tuple(type(part) for part in place)
        cursor = encode_cursor(LISTING, place)
        assert decode_cursor(LISTING, kinds, cursor) == place
        for listing, wanted in (
            ((*LISTING[:3], "x"), kinds),
            (LISTING, (*kinds, str)),
            (LISTING, (float,) * len(kinds)),
        ):
            with pytest.raises(Invalid):
                decode_cursor(listing, wanted, cursor)


def test_damaged_and_forged_cursors_are_refused() -> None:
    """Also those that a client forges with a right check value: a lone surrogate would reach the database."""
    draw = random.Random(7)
    good = encode_cursor(LISTING, ("well",))
    damaged = [good[:at] + draw.choice("ABC-_é=") + good[at + 1 :] for at in range(len(good))]
    bodies = (b'["\\ud800"]', b"[[]]", b"{}", b"[" * 3000, b"[1e999]", b"nul", b"\xff")
    forged = [_forged(body) for body in bodies]
    for cursor in ({*damaged} - {good}) | {*forged, "", "=", "a" * 5000, "\ud800"}:
        with pytest.raises(Invalid):
            decode_cursor(LISTING, (str,), cursor)


def _forged(body: bytes) -> str:
    raw = cursors._check(LISTING, body) + body
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize("name", ["prefix", "source"])
def test_text_that_no_database_stores_is_refused(name: str) -> None:
    """Half a surrogate pair reaches the checks from Python only; HTTP and gRPC cannot send it."""
    with pytest.raises(Invalid) as refused:
        document_query({name: "a\ud800"})
    assert refused.value.field == name
    with pytest.raises(Invalid):
        entity_query({"q": "\udfff"})
