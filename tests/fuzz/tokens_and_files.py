"""Fuzz targets of credentials and positions that callers send, of index files, and of deltas in parts."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

import jwt
import numpy as np

from graphtide.infra.hnsw.exact import ExactGeneration
from graphtide.infra.hnsw.generation import HnswGeneration
from graphtide.infra.hnsw.parameters import HnswParameters
from graphtide.infra.hnsw.snapshot import MANIFEST, IndexDamaged, Snapshot
from graphtide.services.access.tokens import TokenRules, TokenVerifier
from graphtide.services.api.schema.errors import Unauthenticated
from graphtide.streams.consolidate.maintenance_requests import REPLY, REQUEST, parse_reply, parse_request
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import get_dead_letter, page
from graphtide.streams.errors import Invalid, NotFound, Rejected
from graphtide.streams.follow import delta_codec
from graphtide.streams.follow.delta_records import PART, DeltaPart, assemble_delta, parse_record
from graphtide.streams.follow.freshness import ACCEPTED, accepted_in
from graphtide.streams.ports import ConsumedRecord, Position, Record
from tests.model.memory import MemoryLog

_SCRATCH = tempfile.TemporaryDirectory(prefix="graphtide-fuzz-")
_SECRET = "fuzz" * 8
DIMENSIONS = 4


def delta(data: bytes) -> None:
    with suppress(Rejected):
        delta_codec.decode(data)


def delta_parts(data: bytes) -> None:
    """The first line is the header of a part, the rest its bytes: compressed, so that the codec sees them, and raw."""
    label, _, body = data.partition(b"\n")
    for value in (zlib.compress(body, 1), body):
        with suppress(Rejected):
            found = parse_record(_consumed("g", value, ((PART, label),)))
            if isinstance(found, DeltaPart):
                assemble_delta([found])


def record_headers(data: bytes) -> None:
    """The first line is a header, the rest the value of a request or a reply."""
    label, _, value = data.partition(b"\n")
    accepted_in(((ACCEPTED, label),))
    with suppress(Rejected):
        parse_request(_consumed("g", value, ((REQUEST, label),)))
    with suppress(Rejected):
        parse_reply(_consumed("g", value, ((REPLY, label),)))


def token_header(data: bytes) -> None:
    """The first line is a token's header, the second its claims, both of a token with a valid signature."""
    header, _, claims = data.partition(b"\n")
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, claims))
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed, _SECRET.encode())
    tokens = (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"="), data)
    for verifier in _verifiers():
        for token in tokens:
            with suppress(Unauthenticated):
                verifier.principal(token.decode("utf-8", "replace"))


def dead_letter_position(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    log = MemoryLog(1, lambda: 0)
    with asyncio.Runner() as runner:
        with suppress(Invalid):
            runner.run(page(DeadLetterIndex(log), "g", text))
        with suppress(Invalid, NotFound):
            runner.run(get_dead_letter(DeadLetterIndex(log), "g", text))


def sealed_manifest(data: bytes) -> None:
    """A manifest with a valid checksum, whatever it holds."""
    folder = _snapshot("exact")
    body = data.decode("utf-8", "replace")
    seal = hashlib.sha256(body.encode()).hexdigest()
    before = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_text(json.dumps({"manifest": body, "sha256": seal}))
    try:
        with suppress(IndexDamaged):
            Snapshot(folder, DIMENSIONS, HnswParameters()).version()
        with suppress(IndexDamaged):
            Snapshot(folder, DIMENSIONS, HnswParameters()).read(7)
    finally:
        (folder / MANIFEST).write_bytes(before)


def index_files(data: bytes) -> None:
    """Data files of a snapshot with other bytes than those that were saved: refused before they are interpreted."""
    for kind in ("exact", "hnsw"):
        folder = _snapshot(kind)
        for file in (*folder.glob("*.vectors"), *folder.glob("*.ids")):
            before = file.read_bytes()
            file.write_bytes(data)
            try:
                with suppress(IndexDamaged):
                    Snapshot(folder, DIMENSIONS, HnswParameters()).read(7)
                    assert data == before
            finally:
                file.write_bytes(before)


@cache
def _verifiers() -> tuple[TokenVerifier, ...]:
    """Verifiers with a shared secret, alone and under a key id in a set."""
    folder = Path(_SCRATCH.name)
    (folder / "secret").write_text(_SECRET)
    key = base64.urlsafe_b64encode(_SECRET.encode()).rstrip(b"=").decode()
    (folder / "set").write_text(json.dumps({"keys": [{"kty": "oct", "kid": "k", "k": key}]}))
    rules = (TokenRules(folder / name, "HS256", "issuer", "audience", 0, "graphtide") for name in ("secret", "set"))
    return tuple(map(TokenVerifier, rules))


@cache
def _snapshot(kind: str) -> Path:
    """Return the folder of a saved index with a few vectors, at version 7."""
    folder = Path(_SCRATCH.name) / kind
    parameters = HnswParameters()
    index = ExactGeneration(DIMENSIONS) if kind == "exact" else HnswGeneration(DIMENSIONS, parameters, 16)
    index.put([1, 2, 3], list(np.eye(DIMENSIONS, dtype=np.float32)[:3]))
    snapshot = Snapshot(folder, DIMENSIONS, parameters)
    snapshot.publish(snapshot.write(index), 7)
    return folder


def _consumed(key: str, value: bytes, headers: tuple[tuple[str, bytes], ...]) -> ConsumedRecord:
    return ConsumedRecord(Position(0, 0), 0, Record(key, value, headers))


TARGETS = (
    delta,
    delta_parts,
    record_headers,
    token_header,
    dead_letter_position,
    sealed_manifest,
    index_files,
)
