"""Keys of words: the form in which words of questions and texts are compared.

A key is the stem of a word (Snowball, English), the base form of an irregular verb first; a number without its
separators of thousands; a code such as `SPR-2214` in lower case. Invariant: a key depends on the word alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import snowballstemmer

from graphtide.infra.models.local.english.lexical.verbs import VERBS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list in a string."""
    return frozenset(text.split())


_TOKEN = re.compile(r"[^\W_]+(?:[-.,:'\u2019/&_][^\W_]+)*+")
_PARTS = re.compile(r"[^\W_]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})++")
_STEMMER = snowballstemmer.stemmer("english")
_STEMMING = Lock()
"""Held while a word is stemmed: the stemmer keeps the word in itself, and questions are answered in several threads."""
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())} | {
    word: str(number)
    for number, word in zip(
        range(30, 100, 10), ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], strict=True
    )
}
_FORMS = """
withdraw withdrew withdrawn; hang hung; steal stole stolen; hide hid hidden; bite bit bitten;
tear tore torn;
wake woke woken; forget forgot forgotten;
hit; hurt; sleep slept; sweep swept; spend spent; deal dealt; dig dug; stick stuck;
swing swung; bind bound; feed fed; weave wove woven; sew sewed sewn; shake shook shaken; throw threw thrown; split;
spread; bear bore; find found; sit sat; shut; understand understood; stand stood; teach taught; bring brought;
weigh weight"""
IRREGULAR = {form: forms.split()[0] for forms in _FORMS.split(";") for form in forms.split()}
"""Forms of irregular verbs that the extractor's table lacks, with their base."""
_ABBREVIATIONS = """
tue tues tuesday; wed weds wednesday; thu thur thurs thursday; fri friday; yr yrs year; wk wks week; mth mths month;
hr hrs hour; mins minute; secs second; appt appts appointment; mtg mtgs meeting; dept depts department;
tel telephone; ext extension; govt government; info information; temp temps temperature; approx approximately;
qty quantity; amt amount; ref reference; rep representative; asst assistant; mgr manager; dr doctor; prof professor;
equip equipment; maint maintenance; cert certificate; lab laboratory; incl include; vol volume; sq square; rd road;
config configuration; prod production; db database; repo repository; env environment; auth authentication;
docs document; app application; spec specification; stats statistics; msg message; pw pwd password; acct account;
demo demonstration; ops operations; hq headquarters; hols holiday; capt captain;
vac vacuum; xmas christmas; bday birthday; lib library; uni university; veg vegetable"""
ABBREVIATIONS = {short: words.split()[-1] for words in _ABBREVIATIONS.split(";") for short in words.split()[:-1]}
"""Abbreviations of notes and tables, with the word."""
_CONTRACTIONS = """
    ain't aren't can't cannot couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't shan't
    shouldn't wasn't weren't won't wouldn't ain couldn hadn hasn haven mightn mustn needn shan shouldn wouldn
    i'm i've i'll i'd you're you've you'll you'd he'll he'd she'll she'd it'll we're we've we'll we'd they're they've
    they'll they'd m ve ll re d"""
_REFLEXIVES = "myself yourself himself herself itself ourselves yourselves themselves oneself"
ARTICLES = frozenset({"the", "a", "an"})
STOP_WORDS = word_set(
    """a an the and or but nor if then than of in on at to for by with from as about into onto over under
    between among during through is are was were be been being am do does did doing done has have had having
    can could will would shall should may might must ought it its he she they them him her his hers their
    theirs we us our you your i me my mine this these that those there here who whom whose what which when
    where why how not no nor so too very just also please any some such own same both until till since each
    other up out once 's s t don didn doesn isn aren wasn weren let exactly actually currently now still yet
    ever already much many more most less least"""
    + f"{_CONTRACTIONS} {_REFLEXIVES}"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text at `start`; `capital`: it begins with an upper-case letter; `coded`: it has a digit."""

    text: str
    key: str
    start: int
    capital: bool
    coded: bool


@lru_cache(maxsize=2_000)
def words_of(text: str) -> tuple[Word, ...]:
    """Return the words in order. A compound word is followed by its parts. Linear."""
    return _split(text)


@lru_cache(maxsize=2_000)
def keys_of(text: str) -> frozenset[str]:
    """Return the keys of the words that carry meaning, and of the plain verbs for its phrasal verbs."""
    return _keys(words_of(text))


def passage_keys(text: str) -> frozenset[str]:
    """Return the keys of a passage as `keys_of` does, and keep nothing: a passage of 100 words takes 10 KB. Linear."""
    return _keys(_split(text))


def _keys(words: tuple[Word, ...]) -> frozenset[str]:
    keys = {word.key for word in words if word.text.lower() not in STOP_WORDS}
    for verb, particle in pairwise(words):
        if particle.text in PARTICLES and (verb.key, particle.text) in PHRASAL_VERBS:
            keys.add(PHRASAL_VERBS[verb.key, particle.text])
    return frozenset(keys)


@lru_cache(maxsize=4_000)
def spaced(text: str) -> str:
    """Return the words in lower case with blanks around each, to search for phrases."""
    return f" {' '.join(match.group().lower() for match in _TOKEN.finditer(text))} "


def _split(text: str) -> tuple[Word, ...]:
    return tuple(word for match in _TOKEN.finditer(text) for word in _words(match.group(), match.start()))


def _words(token: str, start: int) -> list[Word]:
    bare = token[:-2] if token.endswith(("'s", "\u2019s")) and len(token) > 2 else token
    whole = _word(bare, start)
    coded = whole.coded
    if bare.isalnum() or _GROUPED.fullmatch(bare):
        return [whole]
    parts = [(part.group(), part.start()) for part in _PARTS.finditer(bare)]
    if coded:
        parts = [(part, at) for part, at in parts if len(part) > 2 and not part.isdigit()]
        if "_" not in bare and "," not in bare and ":" not in bare:
            return [whole]
    return [whole, *(_word(part, start + at) for part, at in parts)]


def _word(text: str, start: int) -> Word:
    shared, key, capital, coded = _spelling(text)
    return Word(shared, key, start, capital, coded)


@lru_cache(maxsize=20_000)
def _spelling(text: str) -> tuple[str, str, bool, bool]:
    """Return a word, the same string at each call, and what does not depend on its place."""
    text = text.replace("\u2019", "'")
    return text, key_of(text), text[0].isupper(), any(char.isdigit() for char in text)


@lru_cache(maxsize=50_000)
def key_of(word: str) -> str:
    """Return the key of a word."""
    lower = word.lower()
    if any(char.isdigit() for char in lower):
        return lower.replace(",", "") if _GROUPED.fullmatch(lower) else lower
    if lower in NUMBER_WORDS:
        return NUMBER_WORDS[lower]
    lower = ABBREVIATIONS.get(lower, lower)
    form = VERBS.get(lower)
    base = IRREGULAR.get(lower) or (lower if form is None else form.base)
    with _STEMMING:
        stem: str = _STEMMER.stemWord(base)
    return stem


_PHRASES = """
go for, go with, opt for, settle on, decide on: choose
look after, take care, see to, deal with: handle
money back: refund
go back, give back, send back, bring back, take back, hand back: return
put off, push back: postpone
call off: cancel
drop out, pull out: leave
set up: establish
throw away, throw out: discard
pick up: collect
hand in, send in: submit
turn down: refuse
break down: fail
run out: expire
take over, buy out, buy up: takeover
come back: return
sort out, fix up: fix
turn off, switch off, shut off: stop
turn on, switch on: start
fill in, fill out: complete
find out: learn
let go, lay off: dismiss
charge of: responsible
blow up: explode
burn down: burn
move in: arrive
move out: leave
go up: rise
go down, come down: fall
turn up, show up: arrive
take place, turn out, end up, go on, come about: happen"""


def _phrasal_verbs() -> dict[tuple[str, str], str]:
    found = {}
    for line in _PHRASES.strip().splitlines():
        phrases, _, plain = line.partition(": ")
        for verb, particle in (phrase.split() for phrase in phrases.split(", ")):
            found[key_of(verb), particle] = key_of(plain)
    return found


PHRASAL_VERBS = _phrasal_verbs()
"""Keys of plain verbs, by the key of the verb and the particle of a phrasal verb that means the same."""
PARTICLES = frozenset(particle for _, particle in PHRASAL_VERBS)


def is_number(word: Word) -> bool:
    """Return whether a word is a number, in figures or spelled out."""
    return word.text[0].isdigit() or word.text.lower() in NUMBER_WORDS
