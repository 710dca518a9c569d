"""Prose check: docstrings, comments, messages, documentation and names in plain technical English.

`python -m tests.lint.prose [FILE …]` names every hit of a pattern below with its place, and exits with 1 if there is
one. A pattern matches words, never parts of names or labels (`:Standing`); code in backticks and fenced blocks is not
prose.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]

PATTERNS = {
    r"stands?|standing(?! questions?\b)": "name the state: is stored, is, applies, exists",
    r"somebody|nobody|anybody|whoever|whomever|of whom": "name the actor: caller, operator, worker, replica",
    r"go(?:es)? on|going on|went on": "continue",
    r"(?:is|are|was|were) away": "unreachable",
    r"likewise": "say what is the same",
    r"at the (?:most|least)": "at most, at least",
    r"say(?:s)? no\b|said so": "refuses, fails, reports",
    r"is no (?:setting|token|name)": "unknown setting, not a token",
    r"in front of|behind it": "before, after",
    r"(?:requests?|tokens?|calls?|times|documents?|records?) a (?:second|minute|hour|day)": "per second, per minute",
    r"(?:be |is |are )told\b": "receives, is configured with, is notified",
    r"thereby|whereof|therein|henceforth": "plain words",
    r"lets? (?:in|go of|stand)\b": "admits, releases, keeps",
    r"dear(?:er|est)?\b": "expensive",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"under way": "in flight, in progress",
}
"""What must not occur, and what to write instead."""

IDENTIFIERS = {
    "said": "attributes, message, text, statement",
    "told": "settings, reported",
    "heard": "announced, received",
    "away": "unreachable, failed",
    "stands": "is_stopped, exists",
    "here": "the noun: degree, origin, parent",
    "shelf": "cache",
    "wish": "request",
    "wishes": "requests",
    "somebody": "the actor",
    "nobody": "the actor",
    "whoever": "the actor",
    "patience_s": "timeout_s",
    "faces": "servers",
    "fellows": "peers",
    "calm": "safe",
    "under_way": "in_flight",
    "mended": "fixed, repaired",
    "upkeep": "maintenance",
    "telling": "content_words, distinctive",
    "held": "the state: stored, cached, expected, assigned, contained, pending",
    "most": "limit, maximum, max_ with the unit",
    "least": "minimum, threshold, min_ with the unit",
    "carried": "inject, headers",
    "looked_at": "considered, checked",
    "withdraw": "remove, invalidate",
    "ANYONE": "UNRESTRICTED",
    "STRANGER": "ANONYMOUS",
}
"""Names that no variable, parameter, attribute, function or class has, and what to write instead."""
_OPENINGS = r"(?:What|Who|Whom|Whose|Whether|Of|For|Likewise|Where|How)\b"
OPENINGS = re.compile(_OPENINGS)
"""Words that a docstring does not open with: a function's opens with a verb, a module's with a noun phrase."""

CODE = re.compile(r"`[^`]*`")
FENCE = re.compile(r"^\s*(?:```|~~~)")
WORDS = [
    (re.compile(rf"(?<![\w`.:/-])(?:{pattern})(?![\w`/-])", re.IGNORECASE), hint) for pattern, hint in PATTERNS.items()
]
# Most files have no hit. A search of the whole text finds those that may have one, and only they are parsed: a file
# without one of these has no hit, while one with it may have none, since the search reads code, too.
MAYBE_WORDS = re.compile(rf"\b(?:{'|'.join(PATTERNS)})(?!\w)")
MAYBE_OPENINGS = re.compile(rf"""["']\\?\s*{_OPENINGS}""")
MAYBE_IDENTIFIERS = re.compile(rf"\b_*(?:{'|'.join(IDENTIFIERS)})_*\b")


@dataclass(frozen=True, slots=True)
class Hit:
    """A hit of a pattern: its place, and the remedy."""

    file: Path
    line: int
    text: str
    hint: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: {self.hint}"


def hits_in(file: Path, text: str) -> Iterator[Hit]:
    """Yield the hits of one file: first of words, then of openings, then of names."""
    if MAYBE_WORDS.search(text.lower()):
        yield from words_in(file, text)
    if file.suffix == ".py":
        has_names = MAYBE_IDENTIFIERS.search(text)
        has_openings = MAYBE_OPENINGS.search(text)
        nodes = list(ast.walk(ast.parse(text))) if has_names or has_openings else []
        if has_openings:
            yield from openings_in(file, nodes)
        if has_names:
            yield from identifiers_in(file, nodes)


def words_in(file: Path, text: str) -> Iterator[Hit]:
    """Yield the hits of the words, in the order of the lines."""
    for number, prose in python_prose(text) if file.suffix == ".py" else markdown_prose(text):
        bare = CODE.sub(lambda found: " " * len(found[0]), prose)
        for pattern, hint in WORDS:
            for found in pattern.finditer(bare):
                yield Hit(file, number, found[0], hint)


def openings_in(file: Path, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    """Yield the docstrings that open with a headless clause."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring and (found := OPENINGS.match(docstring)):
                line = node.body[0].lineno
                yield Hit(file, line, found[0], "open with a verb (functions) or a noun phrase (modules, classes)")


def identifiers_in(file: Path, nodes: Iterable[ast.AST]) -> Iterator[Hit]:
    """Yield the definitions of names that are banned, with or without underscores at their ends."""
    for node in nodes:
        name = _defined(node)
        if hint := IDENTIFIERS.get(name.strip("_")):
            yield Hit(file, getattr(node, "lineno", 0), name, hint)


def _defined(node: ast.AST) -> str:
    """Return the name that a node defines, or ""."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case _:
            return ""


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments and of strings with blanks in them, with their numbers."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)) and " " in token.string
        if token.type == tokenize.COMMENT or is_text:
            for offset, line in enumerate(token.string.split("\n")):
                yield token.start[0] + offset, line


def markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page outside fenced and indented code."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def tracked() -> list[Path]:
    """Return the files that are checked: code and pages, without generated code, lists of English words, and prompts.

    A prompt's words are part of its version, so they change only when the prompt has to.
    """
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    skipped = (
        "tests/fixtures/",
        "tests/data/",
        "tests/fuzz/corpus/",
        "tests/lint/prose.py",
        "tests/unit/test_prose.py",
        "_pb2",
        "english/lexical/words",
        "english/lexical/verbs",
        "answers/thesaurus",
        "answers/values",
        "answers/words",
        "infra/prompts/",
    )
    return [Path(name) for name in listed.stdout.split("\n") if name and not any(part in name for part in skipped)]


class CleanFiles:
    """Digests of files without hits, kept between runs: an unchanged file is not read by the patterns again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._check = sha256(Path(__file__).read_bytes()).digest()
        self._known = set(path.read_text().split()) if path.exists() else set()
        self._used: set[str] = set()

    def hits(self, file: Path) -> list[Hit]:
        """Return the hits of a file."""
        content = (ROOT / file).read_bytes()
        digest = sha256(self._check + str(file).encode() + b"\0" + content).hexdigest()
        found = [] if digest in self._known else list(hits_in(file, content.decode()))
        if not found:
            self._used.add(digest)
        return found

    def save(self) -> None:
        """Write the digests of the files of this run."""
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text("\n".join(sorted(self._used)))


def main() -> int:
    """Print every hit; return the exit code."""
    files = [Path(name) for name in sys.argv[1:]] or tracked()
    clean = CleanFiles(ROOT / ".cache" / "prose")
    found = [hit for file in files if (ROOT / file).exists() for hit in clean.hits(file)]
    clean.save()
    for hit in found:
        print(hit)
    print(f"{len(found)} hits in {len({hit.file for hit in found})} of {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
