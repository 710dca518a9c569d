"""Records of schema 1 as stored on topics and in data folders, byte for byte: every version must read them.

When one of these tests fails, existing records cannot be read any more: give the new shape a schema of its own, and
continue to read this one. Records that the code writes today may have more fields; they are not compared.
"""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.communities import CommunityChange
from graphtide.graph.records import (
    ChunkContribution,
    ChunkRow,
    DocumentInfo,
    DocumentRow,
    EdgeRow,
    EntityRow,
    EvidenceRow,
    Extraction,
    Fact,
    GraphDelta,
    LabelRow,
    Mention,
    MentionRow,
    Removals,
    SameAsRow,
    TripleRow,
)
from graphtide.streams.consolidate.maintenance_requests import (
    REPLY,
    REQUEST,
    MaintenanceKind,
    MaintenanceReply,
    MaintenanceRequest,
    parse_reply,
    parse_request,
)
from graphtide.streams.errors import Rejected
from graphtide.streams.follow.delta_codec import decode
from graphtide.streams.follow.delta_records import DeltaPart, assemble_delta, parse_record
from graphtide.streams.follow.freshness import accepted, accepted_in
from graphtide.streams.messages import (
    DeadLetter,
    DeltaNotice,
    DocumentMessage,
    ExtractionMessage,
    GivenEntity,
    GivenFact,
    decode_dead_letter,
    decode_document,
    decode_extraction,
    decode_notice,
    metadata_pairs,
)
from graphtide.streams.ports import ConsumedRecord, Position, Record
from tests.support.records import plain

DOCUMENT = (
    b'{"schema":1,"text":"Ada knew Babbage.","title":"Title","source":"wire","occurred_at":"2024-05",'
    b'"metadata":{"tags":["a",null],"year":1911},'
    b'"entities":[{"name":"Ada","type":"person","description":"a mathematician"}],'
    b'"facts":[{"subject":"Ada","predicate":"knew","object":"Babbage","description":"since 1833","weight":0.5,'
    b'"valid_from":"1833","valid_to":"1852"}]}'
)
EXTRACTION = (
    b'{"schema":1,"graph":"g","doc_id":"d","revision":7,"accepted_ms":99,'
    b'"info":{"title":"T","source":"wire","occurred_at":"2024-05","metadata":{"year":1911}},'
    b'"units":[["000102030405060708090a0b0c0d0e0f","Ada knew Babbage.",1,18,'
    b'[["Ada","person","a mathematician"],["Babbage","person",""]],'
    b'[[0,"knew",1,"since 1833","Ada knew Babbage.",500,"1833","1852"]]]],'
    b'"gaps":[" ","\\n"],"dimensions":2,"vectors":"ADgAOAA8AAAAAAA8ALgAOA=="}'
)
DELETION = b'{"schema":1,"graph":"g","doc_id":"d","revision":8,"accepted_ms":99,"deleted":true}'
LETTER = (
    b'{"schema":1,"graph":"g","doc_id":"d","revision":7,"stage":"extract","reason":"no JSON","attempts":3,'
    b'"original":"/3s="}'
)
NOTICE = b'{"schema":1,"graph":"g","version":4,"nodes":[1,5],"parts":2,"replaced":true}'
ACCEPTED_MS = ("accepted", b"1700000000000,1700000000123")
DELTA = (
    b'{"schema":1,'
    b'"graph":"g","version":4,"snapshot":false,'
    b'"gone":[["old"],[2],[3],[6],[[1,3]],[8],[[5,8]]],'
    b'"documents":[["d",7,"T","wire","2024-05",[["year","1911"]],[9]]],'
    b'"chunks":[[9,"d#0","d",0,"Ada knew Babbage.",4],[10,"d#1","d",1,"No more.",4]],'
    b'"headings":[[0,"A friendship","Two who met."]],'
    b'"chunk_vectors":[2,[1],"ADgAOA=="],'
    b'"labels":[[1,"ada","person",5,1],[4,"babbage","person",7,1]],'
    b'"mentions":[[1,9,"Ada","a mathematician",1]],'
    b'"statements":[[2,1,"knew",4,1,500,4]],"statement_vectors":[2,[],"ALgAOA=="],'
    b'"evidence":[[2,9,"since 1833","Ada knew Babbage.",500,1,"1833","1852"]],"same_as":[[1,4,"acronym",900]],'
    b'"entities":[[5,"Ada","person",[1],1,4],[7,"Babbage","person",[4],1,4]],"entity_vectors":[2,[],"ADwAAAAAADw="],"edges":[[5,7,1,2]],'
    b'"communities":{"nodes":"BQAAAAcAAAA=",'
    b'"communities":"AwAAAAAAAAADAAAAAAAAAA==","children":"AwAAAAAAAAA=",'
    b'"levels":"AAAAAA==","parents":"AAAAAAAAAAA=","removed":"AgAAAAAAAAA="}}'
)
PACKED = (
    b"eAFtU11vozAQ/Cto++qrgIRrgpQHqjxWPZ3UNxRVDt6CVbAjIEFR1f9+sw7ppbpDMh/emdndWfNBQ9VwpylPFNW9PjSUU02KTtwP1jvKl4oGpw"
    b"9D40fK33Q7MIDeMeVlSb41tFNlirXA+olVJmqxw3Ml75la7fBBxlfHjt04BJYh9aDoBVkm2zMeaZwuf8QZgUFn1j22knWSkOisg0DVHN17YK+h"
    b"dhcDAZVYUWF09O54ih71fq9rvie1BCtByNwlFxhae/ZR5/tLFPU0rI11dRAUkeitt+zM0NgDKC+Tj6YGDB7vpQYK2V9PXI2+F06KBNgutnXxq9"
    b"hsYAG1es9t0EM2bTRkDrAQDqpMAVzCx/2lxJvQA0IgizUwe6ajQ3QFlI46Pcp0RltZDaUAHkY98peZqUI+MQB94zWLY/QPyS/U97Kl6qe/VfPJ"
    b"GnZVGGaqkHiw+IqS1WKB/P/xVvSRcAYkqywNBg2641c9149OddV7d+5IreNYqpH+RssBkF3bu/ojXiZhajgV8xhvPCoxTwlfZc7/drSdinBtpz"
    b"ALNvU1FQxWqVAr33VHNxfxQc4bgdDjbyFWctsg5zcUFbMsgltBXC7MW06EbU3P+D9uURJp+RQOAt2gDxpQOfzzZggJuOfOn9hIoJ7lpZDPzz9S"
    b"IQ7C"
)
"""DELTA as a record carries it, in base64."""
REQUESTED = b'{"schema":1,"graph":"g","kind":"verify","id":"1"}'
REPLIED = (
    b'{"schema":1,"graph":"g","kind":"verify","id":"1","version":4,"stored":"aa","recounted":"ab",'
    b'"differences":["x"],"checked":{"labels":2},"failure":""}'
)


def extraction(*times: str) -> Extraction:
    """Return the content of EXTRACTION."""
    ada, babbage, about, whole = (np.array(row, np.float16) for row in ((1, 0), (0, 1), (-0.5, 0.5), (0.5, 0.5)))
    mentions = (Mention("Ada", "person", "a mathematician", ada), Mention("Babbage", "person", "", babbage))
    fact = Fact(0, "knew", 1, "since 1833", "Ada knew Babbage.", 500, about, *times)
    unit = ChunkContribution(bytes(range(16)), "Ada knew Babbage.", 1, 18, whole, mentions, (fact,))
    return Extraction(
        "d", 7, DocumentInfo("T", "wire", "2024-05", metadata_pairs({"year": 1911})), (unit,), (" ", "\n")
    )


def delta() -> GraphDelta:
    """Return the content of DELTA. Vector sums are not sent."""
    ada, babbage, about, whole = (np.array(row, np.float16) for row in ((1, 0), (0, 1), (-0.5, 0.5), (0.5, 0.5)))
    nothing = np.array([], np.float16)
    nodes, levels = np.array([5, 7], np.int32), np.array([0], np.int32)
    threes, three, parents, removed = (np.array(row, np.int64) for row in ((3, 3), (3,), (0,), (2,)))
    return GraphDelta(
        "g",
        4,
        Removals(("old",), (2,), (3,), (6,), ((1, 3),), (8,), ((5, 8),)),
        (DocumentRow("d", 7, DocumentInfo("T", "wire", "2024-05", (("year", "1911"),)), (9,)),),
        (
            ChunkRow(9, "d#0", "d", 0, "Ada knew Babbage.", whole, 4, "A friendship", "Two who met."),
            ChunkRow(10, "d#1", "d", 1, "No more.", nothing, 4),
        ),
        (LabelRow(1, "ada", "person", 5, 1, b""), LabelRow(4, "babbage", "person", 7, 1, b"")),
        (MentionRow(1, 9, "Ada", "a mathematician", 1),),
        (TripleRow(2, 1, "knew", 4, 1, 500, b"", about, 4),),
        (EvidenceRow(2, 9, "since 1833", "Ada knew Babbage.", 500, 1, "1833", "1852"),),
        (SameAsRow(1, 4, "acronym", 900),),
        (EntityRow(5, "Ada", "person", (1,), 1, ada, 4), EntityRow(7, "Babbage", "person", (4,), 1, babbage, 4)),
        (EdgeRow(5, 7, 1, 2),),
        CommunityChange(nodes, threes, three, levels, parents, removed),
    )


def record_of(value: bytes, *headers: tuple[str, bytes]) -> ConsumedRecord:
    return ConsumedRecord(Position(0, 0), 0, Record("g", value, headers))


def test_recorded_documents_are_read() -> None:
    """One has every field; one has the required fields alone, as an early or a foreign publisher writes it."""
    info = DocumentInfo("Title", "wire", "2024-05", metadata_pairs({"year": 1911, "tags": ["a", None]}))
    entities = (GivenEntity("Ada", "person", "a mathematician"),)
    facts = (GivenFact("Ada", "knew", "Babbage", "since 1833", 0.5, "1833", "1852"),)
    wanted = DocumentMessage("g", "d", "Ada knew Babbage.", info, entities, facts)
    assert decode_document("g|d", DOCUMENT) == wanted
    assert decode_document("g|d", b'{"text":"One."}') == DocumentMessage("g", "d", "One.")
    bare = DOCUMENT.replace(b',"valid_from":"1833","valid_to":"1852"', b"").replace(b',"weight":0.5', b"")
    assert decode_document("g|d", bare).facts == (GivenFact("Ada", "knew", "Babbage", "since 1833"),)


def test_recorded_extractions_are_read() -> None:
    """They have times or none (older ones), no `accepted_ms`, a heading of the model; one is a deletion."""
    assert plain(decode_extraction(EXTRACTION)) == plain(ExtractionMessage("g", "d", 7, extraction("1833", "1852"), 99))
    older = EXTRACTION.replace(b',"1833","1852"', b"").replace(b'"accepted_ms":99,', b"")
    assert plain(decode_extraction(older)) == plain(ExtractionMessage("g", "d", 7, extraction()))
    called = EXTRACTION.replace(b'"gaps"', b'"headings":[["A friendship","Two who met."]],"gaps"')
    decoded = decode_extraction(called).extraction
    assert decoded is not None
    [one] = decoded.units
    assert (one.title, one.description) == ("A friendship", "Two who met.")
    assert decode_extraction(DELETION) == ExtractionMessage("g", "d", 8, None, 99)


def test_recorded_letters_notices_and_requests_are_read() -> None:
    """A notice of an early version has neither parts nor a rebuild."""
    assert decode_dead_letter(LETTER) == DeadLetter("g", "d", 7, "extract", "no JSON", 3, b"\xff{")
    assert decode_notice(NOTICE) == DeltaNotice("g", 4, (1, 5), 2, True)
    assert decode_notice(NOTICE[: NOTICE.index(b',"parts"')] + b"}") == DeltaNotice("g", 4, (1, 5))
    asked = ConsumedRecord(Position(0, 0), 0, Record("g", REQUESTED, ((REQUEST, b"1"),)))
    assert parse_request(asked) == MaintenanceRequest("g", MaintenanceKind.VERIFY, "1")
    reply = ConsumedRecord(Position(0, 0), 0, Record("g", REPLIED, ((REPLY, b"1"),)))
    assert parse_reply(reply) == MaintenanceReply(
        "g", MaintenanceKind.VERIFY, "1", 4, "aa", "ab", ("x",), {"labels": 2}
    )


def test_recorded_deltas_are_read() -> None:
    """They are a whole record, one in two parts, and early ones: no headings, no times, no communities."""
    packed = base64.b64decode(PACKED)
    whole = parse_record(record_of(packed, ("part", b"4:1/1")))
    halves = [
        parse_record(record_of(packed[at], ("part", b"4:%d/2" % n))) for n, at in ((1, slice(99)), (2, slice(99, None)))
    ]
    for parts in ([whole], halves):
        assert plain(assemble_delta([part for part in parts if isinstance(part, DeltaPart)])) == plain(delta())
    assert plain(decode(DELTA)) == plain(delta())
    older = DELTA.replace(b'"headings":[[0,"A friendship","Two who met."]],', b"").replace(b',"1833","1852"', b"")
    older = older[: older.index(b',"communities"')] + b"}"
    [evidence], [chunk, other] = delta().evidence, delta().chunks
    bare = (replace(chunk, title="", description=""), other)
    undated = (replace(evidence, valid_from="", valid_to=""),)
    assert plain(decode(older)) == plain(replace(delta(), chunks=bare, evidence=undated, communities=None))


def test_recorded_headers_of_a_notice_are_read() -> None:
    """They hold the times of acceptance; a notice of an early version lacks them and is valid."""
    one = record_of(NOTICE, ACCEPTED_MS)
    assert isinstance(parse_record(one), DeltaNotice) and isinstance(parse_record(record_of(NOTICE)), DeltaNotice)
    assert accepted_in(one.record.headers) == (1_700_000_000_000, 1_700_000_000_123) and accepted_in(()) == ()
    assert accepted((1_700_000_000_123, 1_700_000_000_000)) == (ACCEPTED_MS,)


@pytest.mark.parametrize(
    "headings", [b'[["a","b"],["c","d"]]', b'[["a"]]', b'[["a",7]]', b'[["a\\u0000","b"]]', b"[7]"]
)
def test_extraction_with_headings_that_fit_no_unit_is_rejected(headings: bytes) -> None:
    """Two headings for one unit, half of one, a number, a NUL: none of these can be stored."""
    with pytest.raises(Rejected):
        decode_extraction(EXTRACTION.replace(b'"gaps"', b'"headings":' + headings + b',"gaps"'))


@pytest.mark.parametrize("count", [1, 3])
def test_extraction_with_another_number_of_times_is_rejected(count: int) -> None:
    """A shape that no version wrote is rejected."""
    odd = EXTRACTION.replace(b',"1833","1852"', b',"1833"' * count)
    with pytest.raises(Rejected):
        decode_extraction(odd)
