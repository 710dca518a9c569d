"""A small OpenAI chat-completions endpoint on loopback that answers from recordings, with faults on request.

A real HTTP server in threads, without a model. For a MuSiQue passage that it finds in a prompt it answers with the
recorded extraction, in the schema of the request; for other text with the rule-based extractor's result; a question is
answered with the sentences that fit it best.

As a process: python -m tests.support.llm_server --port 8090 [--latency-ms 20] [--only-json-mode] [--fault NAME ...]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.local.english.lexical.text import sentences_of
from graphtide.infra.models.local.extractor import extract
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.streams.model_ports import ContextPart, ContextPassage
from tests.support.endpoints import Endpoint, Fault, Replying, status
from tests.support.llm_faults import FAULTS
from tests.support.recorded import Json, Recordings

NOTHING = "The documents found do not answer this."
_DOCUMENT = re.compile(r"<document-(\w+)>\nTitle: ([^\n]*)\n\n(.*)\n</document-\1>", re.DOTALL)
_PASSAGE = re.compile(r"<passage-(\w+) (\d+)>\nTitle: ([^\n]*)\n\n(.*?)\n</passage-\1>", re.DOTALL)
_TEXT = re.compile(r"<text-(\w+)>\nTitle: ([^\n]*)\n\n(.*?)\n</text-\1>", re.DOTALL)
_NUMBERS = 500
"""The numbers of the passages that a text may cite here."""


@dataclass(slots=True)
class Seen:
    """One request as the server received it, and the usage its answer reported."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def asked(self) -> str:
        """Return the first message of the user."""
        return next(str(message["content"]) for message in self.body["messages"] if message["role"] == "user")

    @property
    def instructions(self) -> str:
        """Return the prompt's fixed words."""
        return next((str(message["content"]) for message in self.body["messages"] if message["role"] == "system"), "")


@dataclass
class LlmServer(Endpoint[Seen]):
    """``with LlmServer() as server:`` serves ``server.base_url`` until the block ends.

    ``recordings`` None: only rules. A request with a word of ``refuses`` as parameter gets 400, as from endpoints that
    do not know the parameter. ``says`` replaces the answer when it returns something. See `Endpoint`.
    """

    recordings: Recordings | None = None
    latency_s: float = 0.0
    refuses: tuple[str, ...] = ()
    says: Callable[[Seen], str | None] | None = None

    def answering(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    @property
    def read(self) -> list[Seen]:
        """Return the requests to extract from a passage, without those for community reports."""
        return [seen for seen in self.seen if seen.asked.startswith("<document-")]

    def refusal(self, seen: Seen) -> Fault | None:
        if not seen.path.endswith("/chat/completions"):
            return status(404, "no such path")
        for word in self.refuses:
            if word in json.dumps({key: value for key, value in seen.body.items() if key != "messages"}):
                return status(400, f"Unrecognized request argument supplied: {word}")
        return None

    def answer(self, seen: Seen) -> dict[str, Any]:
        """Return the whole answer, as a request without streaming gets it."""
        given = self.says(seen) if self.says else None
        text = self._reply(seen) if given is None else given
        seen.prompt_tokens = sum(count_tokens(str(message["content"])) for message in seen.body["messages"])
        seen.completion_tokens = count_tokens(text)
        usage = {"prompt_tokens": seen.prompt_tokens, "completion_tokens": seen.completion_tokens}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 0,
            "model": seen.body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }

    def _reply(self, seen: Seen) -> str:
        schema = seen.body.get("response_format", {}).get("json_schema", {}).get("name", "")
        if seen.asked.startswith(("<community-", "<entity-")):
            return _report(seen.asked) if seen.asked.startswith("<community-") else _entity(seen.asked)
        if schema == "ratings" or (seen.asked.startswith("<text-") and '"ratings"' in seen.instructions):
            return _ratings(seen.asked)
        if schema == "part_answer" or (seen.asked.startswith("<text-") and '"helpfulness"' in seen.instructions):
            return _part_answer(seen.asked)
        if seen.asked.startswith(("<passage-", "<text-")):
            return _answer(seen.asked)
        if str(seen.body["messages"][-1]["content"]).startswith("Look at the passage once more"):
            return json.dumps({"entities": [], "relations": []})  # recordings miss nothing
        marked = _DOCUMENT.search(seen.asked)
        title, text = (marked[2], marked[3]) if marked else ("", seen.asked)
        recorded = self.recordings.find(text) if self.recordings else None
        called = heading(text, title) if _wants_heading(seen) else {}
        return json.dumps(called | (by_rules(text, title) if recorded is None else recorded), ensure_ascii=False)


def _wants_heading(seen: Seen) -> bool:
    """Return whether a heading is wanted: by the schema that was sent, else by the words of the prompt."""
    sent = seen.body.get("response_format", {}).get("json_schema", {}).get("schema")
    return "title" in sent.get("properties", {}) if sent else '{"title"' in seen.instructions


def heading(text: str, title: str) -> Json:
    """Return the heading this server gives a passage: a title of its own kind, and the first sentence."""
    first = next((text[sentence.start : sentence.end] for sentence in sentences_of(text)), text)
    return {"title": f"On {title or ' '.join(text.split()[:5])}", "description": " ".join(first.split())}


def by_rules(text: str, title: str) -> Json:
    """Return the rule-based extractor's result, in the shape of the request."""
    found = extract(text, title)
    evidence = {end: relation.evidence for relation in found.relations for end in (relation.object, relation.subject)}
    entities: list[Json] = []
    for entity in found.entities:
        named = entity.name if entity.name in text else evidence.get(entity.name, text[:200])
        entities.append(
            {"name": entity.name, "type": entity.type, "description": entity.description, "evidence": named}
        )
    relations: list[Json] = [
        {
            "subject": relation.subject,
            "predicate": relation.predicate,
            "object": relation.object,
            "description": relation.description,
            "strength": relation.weight,
            "evidence": relation.evidence,
            "valid_from": relation.valid_from or "",
            "valid_to": relation.valid_to or "",
        }
        for relation in found.relations
    ]
    return {"entities": entities, "relations": relations}


def _answer(asked: str) -> str:
    """Return the sentences of the passages and texts of a prompt that fit its question best."""
    passages = [ContextPassage(text, title, "", number) for _, number, title, text in _PASSAGE.findall(asked)]
    found = asyncio.run(ExtractiveGenerator().answer(asked.rpartition("Question: ")[2], passages, _texts(asked)))
    return found.text if found.cited else NOTHING


def _part_answer(asked: str) -> str:
    """Return what a text contributes to the question, and the share of the question's words that it contains."""
    found = asyncio.run(ExtractiveGenerator().answer_part(asked.rpartition("Question: ")[2], _texts(asked)[0]))
    return json.dumps({"answer": found.text, "helpfulness": found.rating})


def _report(asked: str) -> str:
    """Return a report of the first statements of a community, each a finding."""
    named = re.search(r"^(?:Entities [^:]*|Part with [^:]*): (.+)$", asked, re.MULTILINE)
    listed = re.findall(r"^\[(\d+)\] (.+)$", asked, re.MULTILINE)[:5]
    findings = [{"text": text.rpartition("\u2014 ")[2], "sources": [int(number)]} for number, text in listed]
    title = f"About {named[1][:80]}" if named else "Untitled"
    return json.dumps({"title": title, "summary": f"{title}, in short.", "rating": len(listed), "findings": findings})


def _entity(asked: str) -> str:
    """Return the first descriptions of an entity, a sentence each."""
    listed = re.findall(r"^\[(\d+)\] (.+)$", asked, re.MULTILINE)[:3]
    return json.dumps({"sentences": [{"text": f"In short: {text}", "sources": [int(n)]} for n, text in listed]})


def _ratings(asked: str) -> str:
    """Rate each text by how many of the question's longer words it contains, at most 5."""
    question = set(re.findall(r"\w{4,}", asked.rpartition("Question: ")[2].lower()))
    texts = re.findall(r"<text-(\w+) \d+>\n(.*?)\n</text-\1>", asked, re.DOTALL)
    rated = [min(5, 2 * len(question & set(re.findall(r"\w{4,}", text.lower())))) for _, text in texts]
    return json.dumps({"ratings": rated})


def _texts(asked: str) -> list[ContextPart]:
    """Return the texts of a prompt. Their numbers are the prompt's, so each may cite any."""
    sources = tuple(ContextPassage("", chunk_id=str(number)) for number in range(1, _NUMBERS))
    return [ContextPart(title, text, sources) for _, title, text in _TEXT.findall(asked)]


def _events(answer: dict[str, Any], usage: bool) -> Iterator[bytes]:
    """Yield the answer as server-sent events, in pieces of a few characters that cut words and citations."""
    choice = answer["choices"][0]
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": answer["model"]}
    text = choice["message"]["content"]
    for at in range(0, len(text), 5):
        delta = {"index": 0, "delta": {"content": text[at : at + 5]}, "finish_reason": None}
        yield _event({**head, "choices": [delta]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if usage and "usage" in answer:
        yield _event({**head, "choices": [], "usage": answer["usage"]})
    yield b"data: [DONE]\n\n"


def _event(data: Json) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _handler(server: LlmServer) -> type[BaseHTTPRequestHandler]:
    class Handler(Replying):
        def reply(self, headers: dict[str, str], body: dict[str, Any]) -> None:
            seen = Seen(self.path, headers, body)
            fault = server.enter(seen)
            try:
                self._respond(seen, fault)
            finally:
                server.leave()

        def _respond(self, seen: Seen, fault: Fault) -> None:
            server.wait(fault)
            if fault.hang or (fault.drop and not seen.body.get("stream")):
                self.hang_up()
            elif fault.body is not None:
                self.whole(fault, fault.body)
            else:
                time.sleep(server.latency_s)
                answer = server.answer(seen)
                changed = answer if fault.edit is None else fault.edit(answer)
                if seen.body.get("stream"):
                    self._stream(seen, fault, changed)
                else:
                    self.whole(fault, json.dumps(changed).encode())

        def _stream(self, seen: Seen, fault: Fault, answer: Any) -> None:
            self.head(Fault(), "text/event-stream", ("Transfer-Encoding", "chunked"))
            usage = bool(seen.body.get("stream_options", {}).get("include_usage"))
            for number, event in enumerate(_events(answer, usage)):
                if fault.drop and number == 3:
                    self.hang_up()
                    return
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.write(b"0\r\n\r\n")

    return Handler


def main() -> None:
    """Serve until the process is ended."""
    options = argparse.ArgumentParser(description="A fake OpenAI-compatible language model.")
    options.add_argument("--port", type=int, default=8090)
    options.add_argument("--latency-ms", type=float, default=0.0)
    options.add_argument("--only-json-mode", action="store_true", help="refuse json_schema, as older servers do")
    options.add_argument(
        "--fault", action="append", default=[], choices=FAULTS, help="spoil a request; may be repeated"
    )
    given = options.parse_args()
    refuses = ("json_schema",) if given.only_json_mode else ()
    with LlmServer(Recordings.load(), given.latency_ms / 1000, refuses, port=given.port) as server:
        server.misbehave(*(FAULTS[name] for name in given.fault))
        print(f"listening on {server.base_url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
