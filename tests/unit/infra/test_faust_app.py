"""Faust's files: in the given folder, and none in the working folder."""

from __future__ import annotations

from pathlib import Path

from graphtide.infra.faust.app import extraction_app
from graphtide.infra.kafka.address import KafkaAddress


def test_faust_keeps_its_files_in_the_folder_it_is_given(tmp_path: Path) -> None:
    """Faust's own default is a folder named after the group, in the working folder."""
    folder = tmp_path / "data {of} us" / "faust"
    app = extraction_app(KafkaAddress("127.0.0.1:9"), "extract", 6.0, folder)
    kept = (app.conf.datadir, app.conf.appdir, app.conf.tabledir)
    assert app.conf.datadir == folder
    assert all(path.is_relative_to(folder) for path in kept)
