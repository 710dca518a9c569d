"""Speakers of messages: each sentence of a message is quoted with who says it, and no other paragraph has a speaker."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.speakers import speakers_of
from graphtide.infra.models.local.answers.segmentation import units_of
from tests.unit.infra.answers.notes import answer, note

FORMS = ["10:05 {}: ", "[2026-06-11 17:22] {}: ", "14/04/2026, 18:30 - {}: ", "{}: "]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [("Ana", "Bo"), ("Ana Ruiz", "Bo Lind")])
async def test_later_sentence_of_a_message_is_quoted_with_its_speaker(form: str, names: tuple[str, str]) -> None:
    """In the answer, and as context of the sentence; the first sentence names the speaker itself."""
    chat = note(
        "chat.txt",
        form.format(names[0]) + "I will book the room. The deposit is 40 euros.",
        form.format(names[1]) + "We bring the projector. The spare lamp is in the cupboard.",
    )
    assert [unit.speaker for unit in units_of([chat])] == ["", names[0], "", names[1]]
    assert (await answer("Where is the spare lamp?", chat)).startswith(f"{names[1]}: The spare lamp")
    assert (await answer("How much is the deposit?", chat)).count(f"{names[0]}:") == 1


def test_label_that_opens_one_paragraph_is_no_speaker() -> None:
    """Nor is a date, an address, a word in small letters or a long beginning."""
    texts = ["Note: The hall is closed. Use the side door.", "See https://x.org: it is there.", "todo: I call Bo."]
    texts += ["Water: I write to the company. They know.", "Hotel: We pay the rooms. Ask Bo."]
    texts += ["What I said of the very long and winding road to Leeds: I like it.", "2026-03-01 we met. I left."]
    assert speakers_of(dict(enumerate(texts))) == {}


def test_labels_of_a_log_are_no_speakers() -> None:
    """Few of its entries have one, or it has figures."""
    texts = ["3 March: Fired the kiln. I slept.", "5 March: Opened it.", "7 March Cones: I bought six. Done."]
    assert speakers_of(dict(enumerate(texts))) == {}
    assert speakers_of({0: "10:05 Test 2: I read it. It is well.", 1: "10:09 Test 3: I read it. Well."}) == {}


def test_label_of_several_messages_is_a_speaker() -> None:
    """Also where it says nothing of itself."""
    texts = ["Ana: The hall is closed. Use the side door.", "Bo: Fine.", "Ana: The key is here."]
    assert speakers_of(dict(enumerate(texts))) == {0: "Ana", 2: "Ana"}


@pytest.mark.parametrize("stamp", ["", "10:30 ", "2026-01-02 10:30 "])
@pytest.mark.parametrize(
    "labels",
    [
        ("Note", "Warning"), ("Q", "A"), ("Agenda", "Lunch"), ("ERROR", "Info"), ("Berlin", "Paris"), ("Total", "Sum"),
        ("Owner", "Status"), ("Florence", "Milan"), ("June", "July"), ("Problem", "Solution"), ("Ana's List", "To buy"),
    ],
)  # fmt: skip
def test_label_that_names_no_person_is_no_speaker(stamp: str, labels: tuple[str, str]) -> None:
    """However often it is there, beside a time, and where the text says "we"; nor beside the label of a person."""
    texts = [f"{stamp}{label}: We know it. The door is open." for label in (*labels, *labels)]
    assert speakers_of(dict(enumerate(texts))) == {}
    if labels[0] not in ("Florence", "June"):
        persons = [f"{stamp}{name}: I know it. It is so." for name in ("Ana", "José") for _ in range(10)]
        found = speakers_of(dict(enumerate([*persons, *texts])))
        assert set(found.values()) == {"Ana", "José"}


@pytest.mark.parametrize("before", ["", "Bo: ", "A: ", "10:31 Bo: "])
def test_reply_stays_with_its_reason_after_a_speaker(before: str) -> None:
    """As at the beginning of a paragraph; after other words "no." ends a sentence."""
    assert [unit.text for unit in units_of([note("a.md", f"{before}No. It costs 3 euros.")])] == [
        f"{before}No. It costs 3 euros."
    ]
    assert len(units_of([note("a.md", f"{before}The answer is no. It costs 3 euros.")])) == 2
