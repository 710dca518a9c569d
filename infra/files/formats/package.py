"""The size of a file that is a ZIP archive, as those of Word, Excel and OpenDocument are, before it is unpacked."""

from __future__ import annotations

import io
import zipfile

from graphtide.infra.files.types import UnreadableFileError

MAX_UNPACKED_BYTES = 256 << 20


def check_package(raw: bytes) -> None:
    """Raise UnreadableFileError for an archive that unpacks to too much, BadZipFile for another file."""
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        if sum(part.file_size for part in packed.infolist()) > MAX_UNPACKED_BYTES:
            raise UnreadableFileError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; split it")
