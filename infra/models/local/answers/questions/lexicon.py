"""The words by which the kind of a question and the limits on its answer are recognised."""

from __future__ import annotations

import re

from graphtide.infra.models.local.answers.values.measures import COMPARED, EXTREMES
from graphtide.infra.models.local.answers.words import (
    key_of,
    keys_of,
    word_set,
)
from graphtide.infra.models.local.english.lexical.words import NAME_PARTICLES

HOW = {
    "long": ("duration", "length"), "much": ("money",), "many": (), "far": ("length", "duration"), "heavy": ("mass",),
    "deep": ("length",), "tall": ("length",), "wide": ("length",), "thick": ("length",),
    "high": ("length", "money", "share", "temperature"),
    "old": ("duration",), "large": ("area", "length", "count"), "big": ("area", "length", "count"), "full": ("share",),
    "fast": ("duration", "length"), "hot": ("temperature",), "warm": ("temperature",), "cold": ("temperature",),
    "often": ("frequency",), "quickly": ("duration",), "soon": ("duration",), "late": (), "early": (),
    "small": ("area", "length"), "short": ("length", "duration"), "strong": (), "loud": (), "expensive": ("money",),
    "few": (), "little": (), "bright": (), "dangerous": (),
}  # fmt: skip
QUANTITY_NOUNS = {
    "number": ("phone",), "telephone": ("phone",), "phone": ("phone",), "mobile": ("phone",), "extension": (),
    "price": ("money",),
    "cost": ("money",), "costs": ("money",), "salary": ("money",), "budget": ("money",), "fee": ("money",),
    "weight": ("mass",), "length": ("length",), "height": ("length",), "depth": ("length",), "width": ("length",),
    "distance": ("length",), "area": ("area", "count"), "temperature": ("temperature",), "age": ("duration",),
    "duration": ("duration",), "speed": (), "pressure": (), "percentage": ("share",), "share": (), "amount": (),
    "size": (), "limit": (), "threshold": (), "capacity": (), "volume": ("volume",), "maximum": (), "minimum": (),
    "total": (), "score": (), "rate": (), "code": (), "pin": (), "port": (), "sum": ("money",), "deposit": ("money",),
    "rent": ("money",), "value": (), "insured": ("money",),
    "turnover": ("money",), "income": ("money",), "profit": ("money",), "revenue": ("money",),
}  # fmt: skip
DATE_NOUNS = word_set("""date day month year deadline time weekday season evening morning week hour
night afternoon weekend quarter""")
PLACE_NOUNS = word_set("""address place location city town country street room floor shelf building village office
cupboard cabinet drawer locker hall hut shed cellar attic garage barn rack bin bay corner ward berth warehouse
storeroom""")
PERSON_NOUNS = word_set("""person name author owner leader manager director engineer contact customer donor teacher
colleague doctor nurse driver technician assistant trainee volunteer neighbour neighbor electrician plumber""")
AUXILIARIES = word_set("""am is are was were do does did can could may must should has have had will would
am shall might isn't aren't wasn't weren't don't doesn't didn't can't couldn't mustn't shouldn't hasn't haven't hadn't
won't wouldn't""")
TITLES = word_set("""mr mrs ms miss dr prof professor sir""")
COPULAS = word_set("""is are was were""")
STATES = {"open": False, "pending": False, "outstanding": False, "unfinished": False, "done": True, "finished": True}
FINISHED = word_set("done fixed solved resolved repaired finished completed closed complete settled")
UNFINISHED = word_set("open new pending outstanding unfinished unresolved unsolved")
RUNNING = word_set("running active ongoing underway started doing wip") | {"in progress", "in work"}
"""Words of a question, and values of a column for a state, that mean the same."""
ENDS_OF_PERIODS = (
    (keys_of("arrive start begin come join open"), word_set("from since start starts begin arrival arrives joined")),
    (
        keys_of("leave end finish depart go close expire"),
        word_set("to until till end ends departure leaves deadline due finish"),
    ),
)
"""Verbs of a question, and the columns for the first and the last day of a period."""
SUPERLATIVES = (
    EXTREMES
    | {"highest": 1, "most": 1, "longest-serving": 1}
    | dict.fromkeys(("lowest", "least", "fewest", "newest"), -1)
)
SUMMARIES = (
    "summarise", "summarize", "summary", "overview", "came out of", "outcome", "result of", "results of", "finding",
    "findings", "tell me about", "what happened", "problem with", "describe", "explain", "do we know", "is known",
    "catch me up", "status of", "learn about", "learned about",
)  # fmt: skip
TO_DO = (
    "to do", "to be done", "left to do", "remains", "what is still open", "what's still open", "what is outstanding",
    "what is still pending", "what is unfinished",
)  # fmt: skip
BOUNDS = (
    COMPARED
    | dict.fromkeys(("over", "above", "exceeding", "more", "greater", "higher", "later"), 1)
    | dict.fromkeys(("under", "below", "less", "fewer", "lower", "earlier"), -1)
)
CAUSES = word_set("cause causes caused reason reasons")
MONEY_WORDS = word_set("insured cost costs pay paying paid price owe owed owes charge charges earn earns fetch fetched")
CALLING = word_set("telephone phone mobile ring call dial")
CAUSE_FORMS = (
    "for what reason", "for which reason", "on what grounds", "what made", "what led", "what is behind",
    "what was behind", "what stopped", "what kept", "what prevented", "what brought",
)  # fmt: skip
"""Beginnings of questions for a reason without "why"."""
CAUSE_VERBS = word_set("made led behind")
CAUSING = word_set("caused causes triggered")
NEGATIONS = word_set("not never isn't aren't wasn't weren't doesn't don't didn't hasn't haven't cannot can't won't")
BECOMING = ("happens to", "happen to", "happened to", "happens with", "happened with", "become of", "became of")
MODALS = word_set("may can must should could")
BEFORE_OBJECTS = word_set("the a an in on at into with to my our your his her their any")
PERMISSIONS = word_set("allowed permitted forbidden prohibited")
CONDITIONS = word_set("when if while after before during unless without")
SETTINGS = word_set("in on at inside outside within")
ATTRIBUTES = word_set("colour color shape material")
"""Properties that an answer has to state: evidence without them is about something else."""
FINDING = frozenset({"find", "show", "reveal", "learn"})
COMPARATIVES = frozenset({"more", "less", "fewer", "first", "better", "worse", "most", "least"})
NOT_COMPARATIVE = word_set(
    """number water after over other under ever never whether together either neither member paper letter
    winter summer newsletter december september october november customer river tower power user order
    controller manager leader her per for officer engineer partner server router printer computer weather
    quarter per chapter corner dinner offer answer cover register insurer roofer carpenter september master
    filter sister brother mother father daughter teacher poster center folder header rather former latter
    further"""
)
IDENTIFIED = {
    "address": word_set("email e-mail mail"),
    "number": word_set("""booking reservation order membership member serial policy chip account reference invoice
    registration passport licence license tracking ticket confirmation"""),
}
"""Words that name an attribute alone: notes have "booking PL7" without "number"."""
LATEST = (
    "now", "nowadays", "by now", "these days", "correct", "corrected", "right", "really", "actually", "in the end",
    "after all", "final", "finally", "latest", "turned out", "current", "currently", "true", "meanwhile",
)  # fmt: skip
"""Words of a question whose answer replaced another one."""
LATEST_WORDS = word_set("correct corrected right really final finally latest true current meanwhile nowadays")
INDIRECT = re.compile(
    r"(?:(?:please|hi|hello|hey|so|and|well|sorry)\b,?\s)*"
    r"(?:(?:can|could|would|will) (?:you|(?:some|any)(?:body|one)) (?:please )?(?:tell|remind|show) (?:me|us)"
    r"|do (?:you|we) (?:happen to )?know|does (?:some|any)(?:body|one) know|(?:tell|remind) (?:me|us)"
    r"|(?:do you have )?any idea|i (?:want|need|would like) to know|i'd like to know|i wonder|i was wondering)"
    r",?\s(?=(?:who|whom|whose|when|where|why|how|which|what)\b)",
    re.IGNORECASE,
)
"""The frame of an indirect question: "could you tell me when …"."""
CONTRACTED = re.compile(r"\b(who|what|where|when|how|why)'s\b", re.IGNORECASE)
"""A question word with "is": "what's the price"."""
_PARTICLE = rf"(?:(?:{'|'.join(sorted(NAME_PARTICLES))}) )"
POSSESSIVE = re.compile(
    rf"^((?:And )?[Ww]hat (?:is|are|was|were)) ((?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_PARTICLE}{{0,2}}[A-Z][\w-]*"
    rf"(?: {_PARTICLE}{{0,2}}[A-Z][\w-]*)*)'s? ((?:[a-z-]+ ){{0,2}}[a-z-]+)\?$"
)
"""A question for what belongs to a name: "what is Mary Ek's phone number"."""
SENTENCE_END = re.compile(r"(?<!\b[DM]r)(?<!\bMrs)(?<!\bMs)(?<!\bProf)[.?!](?=\s)")
"""The end of a sentence, not the full stop of a title: "which animals does Dr. Sayle treat" is one."""
MAX_OPTION_WORDS, MIN_DEED_WORDS = 8, 4
_IMPLIED = {
    "duration": "long last take need require hour minute day",
    "money": "cost price pay much charge",
    "mass": "heavy weigh weight",
    "length": "long tall high deep wide",
    "phone": "telephone phone number ring call dial",
    "share": "full percentage",
    "area": "large big size area",
    "temperature": "temperature hot cold warm",
}
IMPLIED: dict[str, frozenset[str]] = {kind: frozenset(map(key_of, text.split())) for kind, text in _IMPLIED.items()}
