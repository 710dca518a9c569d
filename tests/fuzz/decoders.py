"""Fuzz targets: every decoder of bytes from outside, each with the errors that it documents.

A target fails when any other error escapes, or when a decoded value changes after it is encoded and decoded again.
`tests/fuzz/coverage_guided.py` runs the targets with atheris; `tests/unit/test_decoders.py` replays the corpora.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from graphtide.graph.text.dates import date_span
from graphtide.infra.backup_folder import MANIFEST as BACKUP_MANIFEST
from graphtide.infra.backup_folder import read_manifest
from graphtide.infra.hnsw.parameters import HnswParameters
from graphtide.infra.hnsw.snapshot import MANIFEST, IndexDamaged, Snapshot
from graphtide.infra.models.replies.citation_checker import CitationChecker, cited_sentences, renumbered
from graphtide.infra.models.replies.extraction_parser import MalformedReply, read
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.services.access import keys, tokens
from graphtide.services.access.credentials import credential_in
from graphtide.services.api.schema.errors import Unauthenticated
from graphtide.services.cli.sources import File, read_file
from graphtide.streams.errors import Broken, Invalid, Rejected
from graphtide.streams.follow.progress import positions, token
from graphtide.streams.messages import (
    decode_dead_letter,
    decode_document,
    decode_extraction,
    decode_notice,
    split_document_key,
)
from tests.fuzz import records_and_stores, requests, tokens_and_files

CORPUS = Path(__file__).parent / "corpus"
_SCRATCH = tempfile.TemporaryDirectory(prefix="graphtide-fuzz-")


def document(data: bytes) -> None:
    with suppress(Rejected):
        message = decode_document("g|doc", data)
        assert decode_document(message.key, message.encode()).encode() == message.encode()


def extraction(data: bytes) -> None:
    with suppress(Rejected):
        message = decode_extraction(data)
        assert decode_extraction(message.encode()).encode() == message.encode()


def dead_letter(data: bytes) -> None:
    with suppress(Rejected):
        letter = decode_dead_letter(data)
        assert decode_dead_letter(letter.encode()).encode() == letter.encode()


def notice(data: bytes) -> None:
    with suppress(Rejected):
        message = decode_notice(data)
        assert decode_notice(message.encode()).encode() == message.encode()


def document_key(data: bytes) -> None:
    with suppress(Rejected):
        split_document_key(_text(data))


def reply(data: bytes) -> None:
    object_of(_text(data))


def extraction_reply(data: bytes) -> None:
    text = _text(data)
    with suppress(MalformedReply):
        read(text, text)


def citations(data: bytes) -> None:
    text, cut = _text(data), len(data) // 2
    whole, pieces = CitationChecker(3), CitationChecker(3)
    expected = whole.take(text) + whole.end()
    assert pieces.take(text[:cut]) + pieces.take(text[cut:]) + pieces.end() == expected
    cited_sentences(text)
    renumbered(text, (1, 2))


def after_token(data: bytes) -> None:
    with suppress(Invalid):
        found = positions(_text(data))
        assert positions(token(found)) == positions(token(positions(token(found))))


def date(data: bytes) -> None:
    found = date_span(_text(data))
    assert found is None or found.start < found.end


def key_file(data: bytes) -> None:
    with suppress(Broken):
        keys.read_keys(_text(data), "keys.toml")


def token_key_file(data: bytes) -> None:
    for algorithm in ("RS256", "HS256", "ES256"):
        with suppress(Broken):
            tokens.read_keys(data.decode("utf-8", "replace"), "jwt.key", algorithm)


def credential(data: bytes) -> None:
    with suppress(Unauthenticated):
        credential_in([("authorization", _text(data))])


def jsonl(data: bytes) -> None:
    _read("source.jsonl", data)


def markdown(data: bytes) -> None:
    _read("source.md", data)


def backup_manifest(data: bytes) -> None:
    folder = _file(BACKUP_MANIFEST, data).parent
    with suppress(Broken):
        read_manifest(folder, "data folder", 10)


def index_manifest(data: bytes) -> None:
    snapshot = Snapshot(_file(MANIFEST, data).parent, 4, HnswParameters())
    for work in (snapshot.version, lambda: snapshot.read(1)):
        with suppress(IndexDamaged):
            work()


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _read(name: str, data: bytes) -> None:
    for one in read_file(File(_file(name, data), "id")):
        assert one.name


def _file(name: str, data: bytes) -> Path:
    path = Path(_SCRATCH.name) / Path(name).stem / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        document,
        extraction,
        dead_letter,
        notice,
        document_key,
        reply,
        extraction_reply,
        citations,
        after_token,
        date,
        key_file,
        token_key_file,
        credential,
        jsonl,
        markdown,
        backup_manifest,
        index_manifest,
        *tokens_and_files.TARGETS,
        *records_and_stores.TARGETS,
        *requests.TARGETS,
    )
}
