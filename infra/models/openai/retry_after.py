"""Parser of the wait that an endpoint requests: the Retry-After header in its forms (RFC 9110, 10.2.3), and OpenAI's
own.

There is no back-off: without a usable header the answer is None, and the caller decides.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 3_600.0  # an endpoint must not be able to park a document for a day


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds to wait, in [0, MAX_WAIT_S], from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP
    date).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return _bounded(seconds)
    try:
        until = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    zoned = until if until.tzinfo else until.replace(tzinfo=UTC)
    return _bounded((zoned - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), MAX_WAIT_S)
