"""The body of a preview from Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphtide.services.sdk.bulk import plain_json
from graphtide.services.sdk.interface import Document
from graphtide.streams.errors import Invalid


def preview_request(
    publish: Sequence[Document], delete: Sequence[str], questions: Sequence[Mapping[str, Any]]
) -> bytes:
    """Return the body as JSON. Raises Invalid for a value that JSON does not have."""
    body = {"publish": plain_json(publish), "delete": list(delete), "questions": plain_json(questions)}
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise Invalid("publish", f"is not JSON: {error}") from error
