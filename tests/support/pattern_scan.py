"""Every regular expression of the project's code, and texts that make its search as slow as possible.

Found in the syntax trees of all modules, so a new pattern cannot be missed: each `re.f(...)` call is a pattern, whose
first argument is evaluated in its module. The test must name, with a reason, each argument that cannot be evaluated
there.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from re import _constants as c  # type: ignore[attr-defined] # typeshed leaves the module out
from typing import Any

from tests.support.backtracking import Node, Search

PACKAGES = ("graph", "streams", "infra", "services")
METHODS = frozenset({"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
_FUNCTIONS = METHODS | {"compile"}
_CANDIDATES = "a1 _-.,'\"([{<:;/\\@#*+=!?\n\tAZz0~\0\u00e9\u2019"
MAX_SAMPLES = 6
_REPEATS = (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT)
MAX_LETTERS = 8


@dataclass(frozen=True, slots=True)
class Found:
    """A call of `re`: its place, its pattern (None when built at run time), and the methods called on it."""

    where: str
    source: str
    pattern: re.Pattern[Any] | None
    methods: frozenset[str]


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and file of every module of the packages."""
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            yield ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"), file


def patterns(root: Path) -> list[Found]:
    """Find every regular expression in the packages under `root`. Imports the modules that have one."""
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in modules(root)}
    used = _methods_by_name(trees.values())
    return [found for name, tree in trees.items() if _imports_re(tree) for found in _of_module(name, tree, used)]


def other_engines(root: Path) -> list[str]:
    """List imports that would hide a pattern from the scan: names out of `re`, aliases, engines that backtrack."""
    hidden = []
    for name, file in modules(root):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex", "re2", "sre_compile"):
                hidden.append(f"{name}: from {node.module}")
            if isinstance(node, ast.Import):
                hidden += [f"{name}: {each.name}" for each in node.names if each.name == "regex"]
                hidden += [f"{name}: re as {each.asname}" for each in node.names if each.name == "re" and each.asname]
    return hidden


def _imports_re(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in ast.walk(tree))


def _calls_of_re(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in _FUNCTIONS:
                yield node, node.func.attr


def _methods_by_name(trees: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Collect the methods that are called on any constant, by the name of the constant."""
    used: dict[str, set[str]] = defaultdict(set)
    for node in chain.from_iterable(map(ast.walk, trees)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in METHODS
            and isinstance(node.value, ast.Name | ast.Attribute)
        ):
            used[node.value.id if isinstance(node.value, ast.Name) else node.value.attr].add(node.attr)
    return used


def _of_module(name: str, tree: ast.Module, used: dict[str, set[str]]) -> Iterator[Found]:
    targets = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call, function in _calls_of_re(tree):
        target = targets.get(id(call), "")
        methods = {function} if function != "compile" else used.get(target, set()) or {"finditer"}
        yield Found(
            f"{name}:{target or function}", ast.unparse(call.args[0]), _value(name, call, function), frozenset(methods)
        )


def _value(module: str, call: ast.Call, function: str) -> re.Pattern[Any] | None:
    known = dict(vars(import_module(module)))
    flags = call.args[1:2] if function == "compile" else []
    named = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    try:
        pattern, *flag = (
            eval(compile(ast.Expression(each), module, "eval"), known)  # noqa: S307 -- the project's own source
            for each in (call.args[0], *flags, *named)
        )
    except NameError:
        return None
    return re.compile(pattern, *flag)


# -- texts that slow a search down -------------------------------------------------------------------------------------


def attacks(search: Search) -> list[tuple[str, str, str]]:
    """Yield (beginning, repeated part, end) of texts made from a pattern: any part of it repeated, then a mismatch."""
    nodes = list(search.tree)
    heads_and_pumps = list(_repetitions(search, nodes, ("",)))
    heads_and_pumps += [("", pump) for pump in _beginnings(search, nodes)]
    letters = list(dict.fromkeys(_letters(search, nodes)))[:MAX_LETTERS]
    heads_and_pumps += [("", pump) for pump in [*letters, *(a + b for a, b in product(letters, letters) if a != b)]]
    tails = ("\0", "x")
    return [(head, pump, tail) for (head, pump), tail in product(dict.fromkeys(heads_and_pumps), tails) if pump]


def _repetitions(search: Search, nodes: Sequence[Node], heads: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each repetition's body, after a text that leads to it."""
    for kind, value in nodes:
        if kind in _REPEATS:
            bodies = samples(search, list(value[2]))
            yield from product(heads[:2], [*bodies, *(a + b for a, b in product(bodies, bodies[:3]))])
        for inner in _inside(kind, value):
            yield from _repetitions(search, inner, heads)
        ends = samples(search, [(kind, value)])
        heads = [head + end for head, end in product(heads[:2], ends[:2])] or heads


def _beginnings(search: Search, nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the texts that lead to a repetition: a search that starts there repeatedly rereads the rest each time."""
    for count in range(1, len(nodes) + 1):
        if count == len(nodes) or _repeats(nodes[count]):
            for sample in samples(search, nodes[:count])[:3]:
                yield from (sample, f"{sample} ")
    for kind, value in nodes:
        if not _repeats((kind, value)):
            continue
        for inner in _inside(kind, value):
            yield from _beginnings(search, inner)


def _repeats(node: Node) -> bool:
    kind, value = node
    return kind in _REPEATS or any(any(map(_repeats, inner)) for inner in _inside(kind, value))


def _inside(kind: Any, value: Any) -> list[list[Node]]:
    if kind is c.SUBPATTERN:
        return [list(value[3])]
    if kind is c.BRANCH:
        return [list(each) for each in value[1]]
    if kind in _REPEATS:
        return [list(value[2])]
    if kind in (c.ASSERT, c.ASSERT_NOT):
        return [list(value[1])]
    return [list(value)] if kind is c.ATOMIC_GROUP else []


def samples(search: Search, nodes: Sequence[Node]) -> list[str]:
    """Yield a few texts that the nodes match, ignoring look-around and anchors."""
    found = [""]
    for node in nodes:
        found = list(dict.fromkeys(a + b for a, b in product(found, _samples_of(search, node))))[:MAX_SAMPLES]
    return found


def _samples_of(search: Search, node: Node) -> list[str]:
    kind, value = node
    if kind is c.LITERAL:
        return [chr(value)]
    if kind in (c.NOT_LITERAL, c.ANY, c.IN):
        return _fitting(search, node)
    if kind in _REPEATS:
        minimum, maximum, body = value
        count = min(max(1, minimum), int(maximum), 12)
        return [sample * count for sample in samples(search, list(body))] + ([""] if minimum == 0 else [])
    if kind in (c.ASSERT, c.ASSERT_NOT, c.AT):
        return [""]
    inner = [samples(search, each) for each in _inside(kind, value)]
    return list(dict.fromkeys(chain.from_iterable(inner)))


def _fitting(search: Search, node: Node) -> list[str]:
    kind, value = node
    named = [chr(item[1]) for item in value if item[0] is c.LITERAL] if kind is c.IN else []
    named += [chr(item[1][0]) for item in value if item[0] is c.RANGE] if kind is c.IN else []
    fits = search.fits(node)
    return [letter for letter in dict.fromkeys([*_CANDIDATES[:3], *named, *_CANDIDATES]) if fits(ord(letter))][:4]


def _letters(search: Search, nodes: Sequence[Node]) -> Iterator[str]:
    for kind, value in nodes:
        if kind in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            yield from _samples_of(search, (kind, value))[:3]
        for inner in _inside(kind, value):
            yield from _letters(search, inner)
