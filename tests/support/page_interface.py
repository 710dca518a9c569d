"""The OpenAPI description of this working tree in a file, from which the page's types are generated.

`python -m tests.support.page_interface FILE` writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from graphtide.services.api.http.app import create_app
from tests.support.application import InMemoryApplication


def write_interface(file: Path) -> None:
    """Write the description as JSON."""
    file.write_text(json.dumps(create_app(InMemoryApplication()).openapi()))


if __name__ == "__main__":
    write_interface(Path(sys.argv[1]))
