"""Error translation of OpenAI-compatible endpoints, one for embeddings, extraction and answers.

It does not retry. Invariant: no message contains a key (of six characters or more), a user or a
password.

    the endpoint's answer                        raised
    429, 408, 409, 425, 5xx, timeout, no answer  Retryable, with the endpoint's Retry-After
    401, 402, 403, 404, 405                      EndpointMisconfigured, Retryable after a minute: settings are wrong
    any other 4xx (400, 413, 422 …)              Rejected: this text will never be accepted
"""

from __future__ import annotations

import re

import httpx
import openai

from graphtide.infra.models.openai.retry_after import retry_after_s
from graphtide.streams.errors import GraphtideError, Rejected, Retryable

_MISCONFIGURED = frozenset({401, 402, 403, 404, 405})
_MISCONFIGURED_RETRY_S = 60.0
_TRANSIENT = frozenset({408, 409, 425, 429})
_LONGEST_COMPLAINT = 4_000
_SHORTEST_SECRET = 6
"""Length of a key below which it protects nothing: local servers take any word, such as "none" or "x"."""
_UNMISTAKABLE = 16
"""Length from which a key occurs in no other word."""


_NOT_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
"""Compared by name: the client has a transport library of its own, whose classes are not httpx's."""


def costs_nothing(error: openai.OpenAIError) -> bool:
    """Return whether the call was refused or never sent. The charge of any other failure is unknown."""
    return isinstance(error, openai.APIStatusError) or type(error.__cause__).__name__ in _NOT_SENT


class EndpointMisconfigured(Retryable):
    """A refusal of the key, the address or the model: an operator must correct the settings."""


class EndpointErrors:
    """Translator of the client's errors for one endpoint; ``where`` names it in messages."""

    def __init__(self, role: str, base_url: str, api_key: str, timeout_s: float) -> None:
        bare = httpx.URL(base_url).copy_with(username=None, password=None, query=None, fragment=None)
        self.where = f"the {role} endpoint {bare}"
        self._api_key = api_key
        self._timeout_s = timeout_s

    def late(self) -> Retryable:
        """Return the error of an endpoint that did not answer in time."""
        return Retryable(f"{self.where} did not answer within {self._timeout_s:g} s")

    def translated(self, error: openai.OpenAIError) -> GraphtideError:
        """See the module. The caller raises it ``from None``: the client's own message may quote the key."""
        if isinstance(error, openai.APITimeoutError):
            return self.late()
        if not isinstance(error, openai.APIStatusError):
            cause = type(error.__cause__ or error).__name__
            unreached = isinstance(error, openai.APIConnectionError)
            return Retryable(f"{self.where} {'cannot be reached' if unreached else 'gave no answer'} ({cause})")
        status = error.status_code
        if status in _MISCONFIGURED:
            return EndpointMisconfigured(
                f"{self.where} answered {status}: check the base URL, the key and the model", _MISCONFIGURED_RETRY_S
            )
        message = f"{self.where} answered {status}{self._reason(error)}"
        if status in _TRANSIENT or status >= 500:
            return Retryable(message, retry_after_s(error.response.headers))
        return Rejected(message)

    def _reason(self, error: openai.APIStatusError) -> str:
        message = self.message(error)
        return f": {message}" if message else ""

    def complaint(self, error: openai.APIStatusError) -> str:
        """Return the words of a refusal that may name a parameter, for programs: its message, else its whole body.

        Servers with a validator of their own answer in other formats than the API's.
        """
        return self.message(error) or error.response.text[:_LONGEST_COMPLAINT]

    def message(self, error: openai.APIStatusError) -> str:
        """Return the endpoint's own words, short, on one line, without the key; "" if it gave none."""
        body = error.body
        message = body.get("message") if isinstance(body, dict) else None
        if not isinstance(message, str) or not message:
            return ""
        return " ".join(_without_key(message, self._api_key).split())[:200]


def _without_key(message: str, key: str) -> str:
    """Return the message without the key. A short key is removed as a whole word only: it may be part of others."""
    if len(key) < _SHORTEST_SECRET:
        return message
    inside = re.escape(key)
    return re.sub(inside if len(key) >= _UNMISTAKABLE else rf"(?<![\w-]){inside}(?![\w-])", "[key]", message)
