"""Calendars and address books: a document of labelled lines for each entry, whatever its position."""

from __future__ import annotations

import re

import pytest

from graphtide.infra.files.formats.calendar_entries import read_calendar
from graphtide.infra.files.formats.contact_cards import read_cards
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.units import Cell
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import PLAIN, ContextPassage

HEAD, END = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//A//EN\n", "END:VCALENDAR\n"
TRIP = """\
BEGIN:VEVENT
UID:1@school
DTSTART;TZID=Europe/Berlin:20260604T081500
DTEND;TZID=Europe/Berlin:20260604T170000
SUMMARY:Zoo trip
LOCATION:School gym
ORGANIZER;CN=Mr Lindgren:mailto:lindgren@school.example
ATTENDEE;CN=Ana Ruiz:mailto:ana@home.example
ATTENDEE:mailto:bo@home.example
DESCRIPTION:Packed lunch\\, rain jacket\\nNo dogs.
END:VEVENT
"""
FAIR = "BEGIN:VEVENT\nUID:2@school\nDTSTART;VALUE=DATE:20261103\nDTEND;VALUE=DATE:20261106\nSUMMARY:Fair\nEND:VEVENT\n"
CHOIR = (
    "BEGIN:VEVENT\nUID:3@school\nDTSTART:20260105T180000Z\nSUMMARY:Choir\n"
    "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20260701T000000Z\nEND:VEVENT\n"
)
TASK = "BEGIN:VTODO\nUID:4@school\nSUMMARY:Order buses\nDUE;VALUE=DATE:20260501\nSTATUS:COMPLETED\nEND:VTODO\n"
STAN = """\
BEGIN:VCARD
VERSION:3.0
UID:c1
FN:Mirela Stan
N:Stan;Mirela;;;
ORG:Institute of Ornithology;Owls
TITLE:Project lead
TEL;TYPE=CELL:+49 151 555 0143
TEL;TYPE=WORK:+49 30 555 0100
EMAIL:mirela@birds.example
ADR;TYPE=HOME:;;Rheingasse 8;Basel;;4058;Switzerland
BDAY:19840219
NOTE:Allergic to nuts
END:VCARD
"""
MALIK = "BEGIN:VCARD\nVERSION:4.0\nFN:Tariq Malik\nEND:VCARD\n"


def read(text: str, name: str) -> dict[str, FileDocument]:
    return {one.key: one for one in read_bytes(text.encode(), name) if isinstance(one, FileDocument)}


def calendar(*entries: str) -> str:
    return HEAD + "".join(entries) + END


def test_an_event_is_a_document_of_what_it_states() -> None:
    [trip] = read(calendar(TRIP), "a.ics").values()
    assert (trip.key, trip.title, trip.occurred_at, trip.has_id) == ("1@school", "Zoo trip", "2026-06-04", True)
    assert trip.text == (
        "event: Zoo trip\ndate: 2026-06-04\ntime: 08:15 to 17:00 (Europe/Berlin)\nplace: School gym\n"
        "organiser: Mr Lindgren\nattendees: Ana Ruiz, bo@home.example\n\nPacked lunch, rain jacket\nNo dogs."
    )


def test_whole_days_repetitions_and_tasks_are_stated_in_words() -> None:
    found = read(calendar(FAIR, CHOIR, TASK), "a.ics")
    assert found["2@school"].text == "event: Fair\ndate: 2026-11-03\nuntil: 2026-11-05"
    assert "time: 18:00 (UTC)\nrepeats: every 2 weeks on Monday, until 2026-07-01" in found["3@school"].text
    assert found["4@school"].text == "task: Order buses\ndue: 2026-05-01\nstatus: done"


def test_a_changed_occurrence_is_an_entry_of_its_own() -> None:
    moved = CHOIR.replace(
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20260701T000000Z", "RECURRENCE-ID:20260119T180000Z"
    )
    assert set(read(calendar(CHOIR, moved), "a.ics")) == {"3@school", "3@school@20260119T180000Z"}


def test_order_changes_nothing_and_a_second_entry_with_an_id_is_named() -> None:
    assert read(calendar(TRIP, FAIR, CHOIR), "a.ics") == read(calendar(CHOIR, TRIP, FAIR), "a.ics")
    found = list(read_bytes(calendar(TRIP, TRIP.replace("Zoo", "Sea")).encode(), "a.ics"))
    assert isinstance(found[0], RecordProblem) and isinstance(found[1], FileDocument)
    assert (found[0].line, found[1].title) == (1, "Sea trip")


def test_a_card_is_a_document_of_what_it_states() -> None:
    [stan, malik] = read(STAN + MALIK, "a.vcf").values()
    assert (stan.key, stan.title, stan.has_id, malik.has_id) == ("c1", "Mirela Stan", True, False)
    assert stan.text == (
        "name: Mirela Stan\norganisation: Institute of Ornithology, Owls\nrole: Project lead\n"
        "mobile phone: +49 151 555 0143\nwork phone: +49 30 555 0100\nemail: mirela@birds.example\n"
        "address: Rheingasse 8, Basel, 4058, Switzerland\nbirthday: 1984-02-19\n\nAllergic to nuts"
    )


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("", "a.ics", "no event"),
        ("hello", "a.ics", "not a readable"),
        (calendar(), "a.ics", "no event"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", "a.ics", "no event|not a readable"),
        ("hello", "a.vcf", "not a readable"),
        ("", "a.vcf", "no card"),
        (calendar(TRIP), "a.vcf", "no card"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, name: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        list(read_bytes(text.encode(), name))


def test_of_a_property_that_is_there_twice_one_value_counts_and_all_texts_are_kept() -> None:
    """Also of an event within another one, which no calendar has."""
    twice = FAIR.replace("SUMMARY:Fair", "SUMMARY:Fair\nSUMMARY:Feast\nDESCRIPTION:Big.\nDESCRIPTION:Loud.")
    [fair] = read(calendar(twice), "a.ics").values()
    assert fair.title == "Fair" and fair.text.endswith("Big.\n\nLoud.")
    nested = "BEGIN:VEVENT\nSUMMARY:x\n" * 10_000 + "END:VEVENT\n" * 10_000
    assert isinstance(next(read_bytes(nested.encode(), "a.ics")), FileDocument | RecordProblem)


def test_escapes_of_a_card_are_characters() -> None:
    """Icalendar knows no property of a card, so it leaves them in the values."""
    card = MALIK.replace("END:", "TITLE:Handyman\\, Mondays\nNOTE:Ring\\; never text.\\nC:\\\\keys\nEND:")
    [one] = read(card, "a.vcf").values()
    assert one.text == "name: Tariq Malik\nrole: Handyman, Mondays\n\nRing; never text.\nC:\\keys"


def test_a_backslash_is_a_character_in_old_cards() -> None:
    notes = "NOTE:C:\\network\\new\nNOTE:D:\\nails\n"
    [one] = read(f"BEGIN:VCARD\nVERSION:2.1\nFN:B\\no\n{notes}END:VCARD\n", "a.vcf").values()
    assert one.text == "name: B\\no\n\nC:\\network\\new\n\nD:\\nails"


def test_a_long_line_is_named_by_its_beginning() -> None:
    with pytest.raises(UnreadableFileError) as found:
        list(read_bytes(b"hello " * 10_000, "a.vcf"))
    assert len(str(found.value)) < 300


def test_an_id_that_cannot_be_one_is_replaced_by_a_digest() -> None:
    long, odd = (FAIR.replace("2@school", uid) for uid in ("u" * 300, "a\x7fb"))
    for text in (calendar(long), calendar(odd)):
        [(key, fair)] = read(text, "a.ics").items()
        assert len(key) == 16 and not fair.has_id


def test_of_several_rules_the_first_is_stated() -> None:
    twice = CHOIR.replace("RRULE:", "RRULE:FREQ=DAILY\nRRULE:")
    assert "repeats: every day" in read(calendar(twice), "a.ics")["3@school"].text


def test_the_day_before_the_first_one_is_named() -> None:
    first = FAIR.replace("20261103", "00010101").replace("20261106", "00010101")
    found = list(read_bytes(calendar(first, TRIP).encode(), "a.ics"))
    assert isinstance(found[0], RecordProblem) and "cannot be read" in found[0].reason
    assert isinstance(found[1], FileDocument)


@pytest.mark.parametrize("wrong", ["DTSTART:tomorrow", "RRULE:FREQ=NEVER", "DUE:0", "ORGANIZER;CN:x"])
def test_a_wrong_value_costs_its_entry_at_most(wrong: str) -> None:
    broken = FAIR.replace("UID:2@school", f"UID:2@school\n{wrong}")
    found = list(read_bytes(calendar(broken, TRIP).encode(), "a.ics"))
    assert len(found) == 2 and any(isinstance(one, FileDocument) and one.key == "1@school" for one in found)


def card(*lines: str, version: str = "3.0") -> str:
    return "\n".join(["BEGIN:VCARD", f"VERSION:{version}", *lines, "END:VCARD\n"])


def text_of(vcf: str) -> str:
    [one] = read(vcf, "a.vcf").values()
    return one.text


def test_grouped_properties_are_read() -> None:
    """Contacts of Apple writes them for each value that has a label."""
    apple = (
        "item1.TEL;type=CELL;type=VOICE;type=pref:+49 151",
        "item2.EMAIL;type=INTERNET:a@b.c",
        "item2.X-ABLabel:_$!<Other>!$_",
    )
    assert text_of(card("FN:Bo", *apple)) == "name: Bo\nmobile phone: +49 151\nemail: a@b.c"


@pytest.mark.parametrize(
    ("version", "lines", "text"),
    [
        ("4.0", ["FN:Bo", "GEO:geo:1,2", "TEL:311"], "name: Bo\nphone: 311"),
        ("2.1", ["FN:Bo", "TEL;HOME;VOICE:311", "TEL;CELL:312"], "name: Bo\nhome phone: 311\nmobile phone: 312"),
        ("2.1", ["N:Plain;Per"], "name: Plain, Per"),
        ("2.1", ["FN:Bo", "ADR;HOME:;;Rheingasse 8;Basel"], "name: Bo\naddress: Rheingasse 8, Basel"),
        (
            "2.1",
            ["FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCr=", "gen", "NOTE;QUOTED-PRINTABLE:a=0D=0Ab"],
            "name: Jürgen\n\na b",
        ),
    ],
    ids=["geo", "bare types", "short name", "short address", "quoted-printable"],
)
def test_properties_of_other_versions_refuse_no_card(version: str, lines: list[str], text: str) -> None:
    assert text_of(card(*lines, version=version)) == text


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("BEGIN:VCARD\nFN:Ana\n", "no line END:VCARD"),
        (card("TEL:1"), "no name"),
        (card("BEGIN:X", "FN:Ana"), "be read|END"),
    ],
)
def test_a_card_that_cannot_be_read_is_named_and_leaves_the_others(broken: str, reason: str) -> None:
    found = list(read_bytes((MALIK + broken + STAN).encode(), "a.vcf"))
    assert [one.title for one in found if isinstance(one, FileDocument)] == ["Tariq Malik", "Mirela Stan"]
    [problem] = [one for one in found if isinstance(one, RecordProblem)]
    assert problem.line == 2 and re.search(reason, problem.reason)


RULES = [
    ("FREQ=MONTHLY;BYDAY=2TU", "every month on the second Tuesday"),
    ("FREQ=MONTHLY;INTERVAL=3;BYDAY=-1FR", "every 3 months on the last Friday"),
    ("FREQ=MONTHLY;BYDAY=+1MO,-2SU", "every month on the first Monday, the second to last Sunday"),
    ("FREQ=MONTHLY;BYDAY=TU;BYSETPOS=2", "every month on the second Tuesday"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "every month on the last weekday"),
    ("FREQ=MONTHLY;BYMONTHDAY=1,22,-1;COUNT=4", "every month on the first day, the 22nd day, the last day, 4 times"),
    ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "every year on the last Sunday in March"),
    ("FREQ=WEEKLY;BYDAY=MO,WE", "every week on Monday, Wednesday"),
    ("FREQ=MINUTELY;INTERVAL=30;UNTIL=20260105T200000Z", "every 30 minutes, until 2026-01-05 20:00"),
    ("FREQ=HOURLY", "every hour"),
    ("FREQ=SECONDLY", "every second"),
]


def event(*lines: str) -> str:
    """Return the lines of the document of an event, apart from its name and its date."""
    start = () if any(line.startswith("DTSTART") for line in lines) else ("DTSTART;TZID=Europe/Berlin:20260105T180000",)
    whole = "\n".join(["BEGIN:VEVENT", "UID:e", "SUMMARY:Choir", *start, *lines, "END:VEVENT\n"])
    [one] = read(calendar(whole), "a.ics").values()
    return "\n".join(line for line in one.text.split("\n") if not line.startswith(("event: ", "date: ")))


@pytest.mark.parametrize(("rule", "text"), RULES)
def test_a_rule_is_stated_in_words(rule: str, text: str) -> None:
    assert event(f"RRULE:{rule}") == f"time: 18:00 (Europe/Berlin)\nrepeats: {text}"


def test_days_that_are_left_out_of_a_repetition_are_stated() -> None:
    """In the zone of the event: 23:30 in UTC is on the next day in Berlin."""
    left_out = ("EXDATE;TZID=Europe/Berlin:20260112T180000,20260119T180000", "EXDATE:20260125T233000Z")
    stated = "also on 2026-03-01, except on 2026-01-12, 2026-01-19, 2026-01-26"
    assert event("RRULE:FREQ=WEEKLY", "RDATE:20260301T170000Z", *left_out).endswith(f"repeats: every week, {stated}")
    assert "except" not in event(*left_out)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["DURATION:PT1H30M"], "time: 18:00 to 19:30 (Europe/Berlin)"),
        (["DTSTART;VALUE=DATE:20260105", "DURATION:P3D"], "until: 2026-01-07"),
        (["DTSTART;VALUE=DATE:20260105", "DURATION:P1D"], ""),
        (["DURATION:P1DT2H"], "until: 2026-01-06 20:00\ntime: 18:00 (Europe/Berlin)"),
        (["DTEND;TZID=Europe/Berlin:20260107T120000"], "until: 2026-01-07 12:00\ntime: 18:00 (Europe/Berlin)"),
        (["DTEND;TZID=America/New_York:20260105T203000"], "time: 18:00 (Europe/Berlin) to 20:30 (America/New_York)"),
        (["DTEND:20260106T050000Z"], "until: 2026-01-06 05:00 (UTC)\ntime: 18:00 (Europe/Berlin)"),
    ],
)
def test_the_end_is_stated_however_it_is_given(lines: list[str], text: str) -> None:
    assert event(*lines) == text


def test_a_line_that_is_folded_within_a_character_is_read() -> None:
    """The bytes are unfolded before they are decoded."""
    name = "Grüße über Äpfel"
    [fair] = read_calendar(calendar(FAIR.replace("Fair", name)).encode().replace(b"\xc3", b"\xc3\r\n "))
    assert isinstance(fair, FileDocument) and fair.title == name
    [bo] = read_cards(card("FN:Bö Lünd").encode().replace(b"\xc3", b"\xc3\n "))
    assert isinstance(bo, FileDocument) and bo.title == "Bö Lünd"


@pytest.mark.parametrize("name", ["Review: budget", "Sprint 3: retro: what went well", "Re: lunch", "12:30 Lunch"])
def test_name_with_a_colon_keeps_what_the_entry_is(name: str) -> None:
    """In the document, and as the first cell of the row that its labelled lines are."""
    calendar, cards = f"{HEAD}{FAIR.replace('Fair', name)}{END}", STAN.replace("FN:Mirela Stan", f"FN:{name}")
    for made in (read_calendar(calendar), read_cards(cards)):
        [entry] = made
        assert isinstance(entry, FileDocument)
        label, _, value = entry.text.partition("\n")[0].partition(": ")
        assert label and value == name
        split = SemanticChunker().split(entry.text, PLAIN)
        units = units_of([ContextPassage(one.text, doc_id="a", place=one.place) for one in split])
        assert units[0].cells[0] == Cell(label, name)
