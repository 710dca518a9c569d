"""Cursors of listings: opaque texts that continue a listing in any process.

A cursor names the listing it belongs to (its operation, graph and filters) by a digest, so it is refused with other
parameters. The check value finds damaged and invented cursors; it protects nothing secret.
"""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import blake2b

from graphtide.streams.errors import Invalid

MAX_CHARS = 4096
CHECK_BYTES = 6

Part = str | int


def encode_cursor(listing: tuple[Part, ...], place: tuple[Part, ...]) -> str:
    """Return the cursor of the place in a listing."""
    body = json.dumps(place, ensure_ascii=True, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_check(listing, body) + body).decode("ascii").rstrip("=")


def decode_cursor(listing: tuple[Part, ...], kinds: tuple[type, ...], cursor: str) -> tuple[Part, ...]:
    """Return the place of a cursor of this listing, with values of `kinds`. Raises Invalid for any other text."""
    try:
        if len(cursor) > MAX_CHARS:
            raise ValueError("too long")
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if _check(listing, raw[CHECK_BYTES:]) != raw[:CHECK_BYTES]:
            raise ValueError("another listing")
        place = json.loads(raw[CHECK_BYTES:])
        if len(place) != len(kinds) or any(type(part) is not kind for part, kind in zip(place, kinds, strict=True)):
            raise ValueError("another kind")
        for part in place:
            str(part).encode()  # half a surrogate pair is no text of a database
    except (ValueError, binascii.Error, TypeError, RecursionError) as error:
        raise Invalid(
            "cursor",
            f"{cursor[:40]!r} is not a cursor of this listing; pass the `next` of its last page with the same filters",
        ) from error
    return tuple(place)


def _check(listing: tuple[Part, ...], body: bytes) -> bytes:
    named = json.dumps(listing, ensure_ascii=True).encode()
    return blake2b(body, digest_size=CHECK_BYTES, key=blake2b(named, digest_size=32).digest()).digest()
