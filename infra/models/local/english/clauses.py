"""Clause patterns: the statements that a sentence's items make, with subject, predicate, object, place and time.

Subjects come before the verb, objects and prepositional phrases after it; there is no dependency parser. Covered are
active and passive voice, lists, "X is a Y", "X, the Y of Z,", "who" clauses, participles after a noun ("a ship built in
Bergen") and the dates of a clause. What does not fit a pattern is skipped, never guessed. Each item is visited a
bounded number of times, so the cost is linear in the sentence.
"""

from dataclasses import replace

from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.joining import clause_items
from graphtide.infra.models.local.english.lexical.verbs import VERBS
from graphtide.infra.models.local.english.lexical.words import DIMENSION_NOUNS, ROLES
from graphtide.infra.models.local.english.mentions import Item
from graphtide.infra.models.local.english.references import References, phrase, role_phrase
from graphtide.infra.models.local.english.statements import Dates, ReadStatement, Reference, certainty, worth_stating

NOUNS = frozenset({"name", "date", "quantity", "term", "pronoun"})
_MAX_LIST = 6
_ABOUT_TOPIC = 0.7  # the certainty that a sentence without a subject is about the document's topic
_RANGE_OPENERS = ("from", "between", "since")


class ClauseReader:
    """Reader of the statements of one sentence; ``discourse`` resolves its pronouns."""

    def __init__(self, items: list[Item], discourse: Discourse) -> None:
        self._items = clause_items(items)
        self._discourse = discourse
        self._subjects: list[Reference] = []
        self._outer: list[Reference] | None = None
        self._last: list[Reference] = []
        self._copular = False
        self._when = Dates()
        self._first: Reference | None = None
        self._found: list[ReadStatement] = []
        self._references = References(discourse)
        self._verb_before = ""
        self._clause_subjects: set[str] = set()

    def read(self) -> list[ReadStatement]:
        """Return the statements in reading order; afterwards the discourse knows the sentence's first subject."""
        at = 0
        while at < len(self._items):
            at = self._step(at)
        for reference, role in self._references.roles:
            self._role(reference, "is", role)
        self._remember()
        return self._found

    def _remember(self) -> None:
        """Record the referent of "she" and "it": the subject of this sentence, or its only name of that type."""
        names = {self._discourse.full(item.text) for item in self._items if item.kind == "name"}
        names |= self._references.mentioned
        if self._first is None and not names:
            return
        subject = self._first.name if self._first is not None and not self._first.via else ""
        self._discourse.continue_with(subject)
        clear = subject[:1].isupper() and len(self._clause_subjects) < 2
        self._discourse.finish(subject if clear else "", names)

    def _step(self, at: int) -> int:
        kind = self._items[at].kind
        if kind in NOUNS:
            return self._noun(at)
        if kind == "verb":
            return self._verb(at)
        if kind == "preposition":
            return self._aside(at)
        if kind == "relative":
            return self._relative(at)
        if kind == "comma" and self._outer is not None and self._kind(at + 1) == "verb":
            self._subjects, self._outer = self._outer, None
        if kind == "stop":
            self._subjects, self._outer, self._when = [], None, Dates()
        return at + 1

    def _kind(self, at: int) -> str:
        return self._items[at].kind if at < len(self._items) else ""

    # nouns outside a verb's reach

    def _noun(self, at: int) -> int:
        """Read a subject with its appositions. "No one" and the like are no subjects."""
        if self._items[at].article == "no":
            self._subjects = []
            return at + 1
        if self._items[at].kind == "date":
            self._when.take("in", self._items[at].iso)
            return at + 1
        references, after = self._list(at)
        self._last = references
        self._copular = False
        if references:
            self._subjects = references
            self._first = self._first or references[0]
            if self._kind(after) == "verb" and references[0].name[:1].isupper():
                self._clause_subjects.add(references[0].name)
        return self._apposition(at, after)

    def _apposition(self, at: int, after: int) -> int:
        """Read "X, the capital of Y," and "its captain, X,": state the role, and return the position after it."""
        comma = self._kind(after) == "comma"
        first, second = self._items[after - 1], self._item(after + 1 if comma else after)
        if second is None or second.kind not in ("name", "term"):
            return after
        end = after + 2 if comma else after + 1
        if first.kind == "term" and second.kind == "name" and (first.head in ROLES or (comma and first.article)):
            person = self._references.of(second)
            if person is not None:
                self._role(person, "is", first)
                self._subjects = self._last = [person]
            return self._skip_comma(end) if comma else end
        described = comma and first.kind == "name" and second.kind == "term" and bool(second.article)
        if described and self._kind(end) in ("comma", "stop", "", "relative") and len(self._last) == 1:
            self._role(self._last[0], "is", second)
            return self._skip_comma(end)
        return after

    def _item(self, at: int) -> Item | None:
        return self._items[at] if at < len(self._items) else None

    def _skip_comma(self, at: int) -> int:
        return at + 1 if self._kind(at) == "comma" else at

    def _role(self, who: Reference, verb: str, role: Item) -> None:
        predicate, target = self._role_of(who, verb, role)
        self._state(who, predicate, target, 1.0, Dates())

    def _role_of(self, who: Reference, verb: str, role: Item) -> tuple[str, Reference]:
        """Return "is director of" Y if the role has an owner, else "is" and the role itself."""
        owner = self._references.owner(role)
        if role.head:
            self._discourse.describe(who.name, role.head)
        if owner is not None and owner.name != who.name:
            return f"{verb} {role_phrase(role)} of", owner
        return verb, Reference(phrase(role), "term")

    def _aside(self, at: int) -> int:
        """Read a preposition before the verb: a date counts for the clause, other phrases are skipped."""
        following = self._item(at + 1)
        if following is None or following.kind not in NOUNS:
            return at + 1
        if following.kind == "date":
            self._when.take(self._items[at].text, following.iso)
            return self._skip_comma(at + 2)
        _, after = self._list(at + 1)
        return after

    def _relative(self, at: int) -> int:
        """Read "X, who …": the clause is about the noun just read; the old subject returns after its comma."""
        if self._last and self._kind(at + 1) == "verb":
            self._outer = self._subjects
            self._subjects = self._last
        return at + 1

    def _list(self, at: int) -> tuple[list[Reference], int]:
        """Read "X, Y and Z": return the references from ``at`` on and the position after them."""
        kind = self._items[at].kind
        found = [self._references.of(self._items[at])]
        after = at + 1
        while len(found) < _MAX_LIST:
            step = self._joined(after, kind)
            if not step:
                break
            found.append(self._references.of(self._items[after + step - 1]))
            after += step
        return [reference for reference in found if reference is not None], after

    def _joined(self, at: int, kind: str) -> int:
        """Count the items to the next member of the list: "," or "and" or both, then a noun of the same type."""
        step = 0
        if self._kind(at) == "comma":
            step = 1
        conjunction = self._kind(at + step) == "conjunction" and self._items[at + step].text in ("and", "or")
        step += conjunction
        if (
            not step
            or self._kind(at + step) != kind
            or (self._kind(at + step + 1) == "verb" and not self._plural(at + step + 1))
        ):
            return 0
        if not conjunction and not self._list_goes_on(at + step + 1, kind):
            return 0
        return step + 1

    def _plural(self, at: int) -> bool:
        """Return whether the verb can be plural, so that a list is its subject: "X and Y is" begins a clause with Y."""
        return not self._items[at].text.startswith(("is ", "was ", "has ")) and not self._found

    def _list_goes_on(self, at: int, kind: str) -> bool:
        """Return whether "and" follows a comma within the list; else the comma begins an apposition or an aside."""
        for ahead in range(at, min(at + 2 * _MAX_LIST, len(self._items) - 1)):
            if self._items[ahead].kind == "conjunction":
                return self._items[ahead + 1].kind == kind
            if self._items[ahead].kind not in ("comma", kind):
                return False
        return False

    # verbs

    def _verb(self, at: int) -> int:
        """Read objects and prepositional phrases after a verb, for each subject."""
        verb = self._items[at]
        reduced = verb.participle and self._kind(at + 1) == "preposition" and at > 0 and self._kind(at - 1) in NOUNS
        subjects = self._last if reduced and self._last and not self._copular and self._found else self._subjects
        if at == 0 and not subjects and self._discourse.topic and not _imperative(verb):
            topic = self._discourse.topic
            self._first = Reference(topic, self._discourse.type_of(topic), "", _ABOUT_TOPIC)
            subjects = self._subjects = [self._first]
        self._copular = verb.be
        if self._kind(at - 1) == "preposition" and self._items[at - 1].text == "to" and self._verb_before:
            verb = replace(verb, text=f"{self._verb_before} to {verb.text}")
        self._verb_before = verb.text.partition(" to ")[0]
        after = at + 1
        dates = Dates(self._when.valid_from, self._when.valid_to)
        pending: list[tuple[str, Reference, float]] = []
        direct: Item | None = None
        if self._kind(after) in ("name", "term", "quantity", "pronoun"):
            direct = self._items[after]
            after = self._objects(after, verb, subjects, pending)
        after = self._phrases(after, verb, direct, pending, dates)
        if self._kind(after) == "date" and dates.valid_from is None:
            dates.take("in", self._items[after].iso)
            after += 1
        if not pending and self._when.valid_from and not verb.be:
            pending.append((f"{verb.text} in", Reference(self._when_name(), "date"), 0.9))
        for subject in subjects:
            for predicate, target, weight in pending:
                self._state(subject, predicate, target, weight, dates)
        return after

    def _when_name(self) -> str:
        return next(
            (item.text for item in self._items if item.kind == "date" and item.iso == self._when.valid_from), ""
        )

    def _objects(
        self, at: int, verb: Item, subjects: list[Reference], pending: list[tuple[str, Reference, float]]
    ) -> int:
        item = self._items[at]
        references, after = self._list(at)
        self._last = references or self._last
        if verb.be and item.kind == "term":
            return self._predicate_noun(at, after, verb, subjects, pending)
        if verb.be and item.kind == "name" and subjects and subjects[0].via in ROLES and references:
            for subject in subjects:  # "the director of Y is X" means the same as "X is the director of Y"
                owner = Reference(subject.name, subject.type, "", subject.certainty)
                self._state(references[0], f"{verb.text} {subject.via} of", owner, 1.0)
            return after
        dimension = self._item(after)
        predicate = f"{verb.text} no" if item.article == "no" else verb.text
        if verb.be and item.kind == "quantity" and dimension is not None and dimension.text in DIMENSION_NOUNS:
            after += 1
            predicate = f"has {DIMENSION_NOUNS[dimension.text]}"
        pending.extend((predicate, reference, 1.0) for reference in references)
        return after

    def _predicate_noun(
        self, at: int, after: int, verb: Item, subjects: list[Reference], pending: list[tuple[str, Reference, float]]
    ) -> int:
        """Read "X is a Y", "X is the Y of Z", "X is home to Z"."""
        item = self._items[at]
        if not subjects:
            return after
        self._last = subjects
        pending.append((*self._role_of(subjects[0], verb.text, item), 1.0))
        preposition, following = self._item(after), self._item(after + 1)
        if preposition is None or preposition.kind != "preposition" or following is None or following.kind != "name":
            return after
        target = self._references.of(following)
        if target is not None:
            pending.append((f"{verb.text} {role_phrase(item)} {preposition.text}", target, 0.9))
        return after + 2

    def _phrases(
        self, at: int, verb: Item, direct: Item | None, pending: list[tuple[str, Reference, float]], dates: Dates
    ) -> int:
        """Read the prepositional phrases after a verb and its object; dates also bound the statements' validity."""
        weight = 0.9
        while self._kind(at) == "preposition" and self._kind(at + 1) in NOUNS:
            preposition, item = self._items[at].text, self._items[at + 1]
            references, after = self._list(at + 1)
            after = self._range(preposition, item, after, dates)
            if item.kind == "date":
                if direct is None and not any(r.type == "date" for _, r, _ in pending):
                    spoken = "from" if preposition == "between" else preposition
                    pending.append((_with(verb.text, spoken), Reference(item.text, "date"), weight))
            elif item.kind != "pronoun" and (preposition != "of" or (direct is None and not pending and not verb.be)):
                predicate = _with(self._governing(verb, direct), preposition)
                pending.extend((predicate, reference, weight) for reference in references)
                self._last = references or self._last
            weight = max(0.5, weight - 0.2)
            at = after
        return at

    def _range(self, preposition: str, item: Item, after: int, dates: Dates) -> int:
        """Read "from 1961 to 1970", "between 1961 and 1970": the second date ends what the first began."""
        if item.kind != "date":
            return after
        dates.take(preposition, item.iso)
        following, second = self._item(after), self._item(after + 1)
        if following is None or second is None or second.kind != "date" or preposition not in _RANGE_OPENERS:
            return after
        if following.text not in ("to", "until", "till", "and"):
            return after
        dates.take("to", second.iso)
        return after + 2

    def _governing(self, verb: Item, direct: Item | None) -> str:
        """Return the words before the preposition: with a common object ("led expeditions" to …), without a name."""
        if (
            direct is not None
            and direct.kind == "term"
            and direct.owner in ("", "its", "their")
            and not verb.be
            and direct.head.isalpha()
        ):
            return f"{verb.text} {' '.join(direct.text.lower().partition(' of ')[0].split()[-3:])}"
        return verb.text

    # references

    def _state(
        self, subject: Reference, predicate: str, target: Reference, weight: float, dates: Dates | None = None
    ) -> None:
        if subject.name.casefold() == target.name.casefold() or not worth_stating(subject, target):
            return
        predicate = f"{subject.via} {predicate}" if subject.via else predicate
        predicate = f"{predicate} {target.via} of" if target.via else predicate
        dates = dates or self._when
        sure = certainty(subject, target, weight)
        self._found.append(ReadStatement(subject, predicate, target, sure, dates.valid_from, dates.valid_to))


def _imperative(verb: Item) -> bool:
    """Return whether a sentence that begins with the verb is a command: "Return the raft", but "Returns the raft"."""
    form = VERBS.get(verb.text.partition(" ")[0])
    return form is not None and form.bare


def _with(words: str, preposition: str) -> str:
    return words if words.endswith(f" {preposition}") else f"{words} {preposition}"
