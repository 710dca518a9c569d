"""What a caller may learn of the deployment from errors and states: the addresses of model endpoints and stores.

They are details of readiness, so they are for callers that were given the action `metrics`, and for everybody on a
service without credentials; whoever knows the caller says so in `ADDRESSES_SHOWN`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar

ADDRESSES_SHOWN: ContextVar[bool] = ContextVar("graphtide-addresses-shown", default=True)
_ADDRESS = re.compile(r"(?: at)? ?[a-z+]{2,12}://[^\s,;)]+")


def for_caller(text: str) -> str:
    """The text, without addresses when the caller that is being served may not see them."""
    return text if ADDRESSES_SHOWN.get() else _ADDRESS.sub("", text)
