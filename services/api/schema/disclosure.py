"""Disclosure of the addresses of model endpoints and stores in errors and states.

They are details of readiness: only callers with the action `metrics` see them, and every caller of a service without
credentials. The code that identifies the caller sets `ADDRESSES_SHOWN`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar

ADDRESSES_SHOWN: ContextVar[bool] = ContextVar("graphtide-addresses-shown", default=True)
_ADDRESS = re.compile(r"(?: at)? ?[a-z+]{2,12}://[^\s,;)]+")


def for_caller(text: str) -> str:
    """Return the text, without addresses when the current caller may not see them."""
    return text if ADDRESSES_SHOWN.get() else without_addresses(text)


def without_addresses(text: str) -> str:
    """Return the text without addresses: a gateway may forward it to callers that this process does not know."""
    return _ADDRESS.sub("", text)
