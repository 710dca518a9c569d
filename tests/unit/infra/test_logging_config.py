"""Format of log lines, and the values removed from them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from graphtide.infra.observability.logging_config import configure, secrets_of
from graphtide.infra.settings import Settings


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Restore the root logger, which belongs to the test run."""
    root, ours = logging.getLogger(), logging.getLogger("graphtide")
    kept = (root.handlers[:], root.level, ours.level)
    yield
    root.handlers[:], root.level = kept[0], kept[1]
    ours.setLevel(kept[2])
    logging.captureWarnings(False)


def written(settings: Settings) -> io.StringIO:
    """Configure the log and return its stream."""
    stream = io.StringIO()
    configure(settings, stream)
    return stream


@pytest.mark.parametrize("shape", ["text", "json"])
@pytest.mark.parametrize("logger", ["graphtide.streams", "uvicorn.error", "grpc._cython.cygrpc"])
def test_line_is_without_secrets_whoever_writes_it(shape: str, logger: str) -> None:
    """Secrets of the settings, and every apparent credential, are removed from message, fields and error."""
    settings = Settings(llm_api_key=SecretStr("sk-hidden-1"), log_format=shape, log_level="DEBUG")  # type: ignore[arg-type]
    stream, token = written(settings), "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln"
    try:
        raise RuntimeError(f"sk-hidden-1 and {token}")
    except RuntimeError:
        logging.getLogger(logger).exception(
            "got %s, Bearer %s", "sk-hidden-1", "abc.def", extra={"path": "bolt://neo4j:hunter22@host/x"}
        )
    logged = stream.getvalue()
    for secret in ("sk-hidden-1", token, "abc.def", "hunter22"):
        assert secret not in logged
    assert "RuntimeError" in logged


def test_json_line_says_what_it_is_about() -> None:
    """JSON lines have the documented names, one object per line, with line breaks escaped."""
    stream = written(Settings(log_format="json"))
    about = {"graph": "notes", "doc_id": "a\nb", "revision": 3}
    logging.getLogger("graphtide.x").info("done\n%s", "really", extra=about)
    line = json.loads(stream.getvalue())
    assert {name: line[name] for name in about} == about
    assert (line["level"], line["logger"], line["message"]) == ("INFO", "graphtide.x", "done\nreally")
    assert line["time"].endswith("Z")


def test_text_line_cannot_be_forged_by_what_it_names() -> None:
    """Line breaks and terminal escapes in a name stay on the line."""
    stream = written(Settings())
    logging.getLogger("graphtide.x").warning("no %s", "a\n2026-01-01 graphtide: all is well\x1b[31m")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_error_that_quotes_a_value_is_told_without_it_above_debug() -> None:
    """The lines of code stay, the quoted text is left out, in causes too. Errors of Graphtide are complete."""
    for level, shown in (("INFO", False), ("DEBUG", True)):
        stream = written(Settings(log_level=level))  # type: ignore[arg-type]
        try:
            try:
                int("Zyxomma")
            except ValueError as error:
                raise KeyError("Zyxomma") from error
        except KeyError:
            logging.getLogger("graphtide.x").exception("failed")
        assert (
            "Zyxomma" in stream.getvalue().replace('int("Zyxomma")', "").replace('KeyError("Zyxomma")', "")
        ) is shown
        assert "test_logging_config.py" in stream.getvalue()


def test_libraries_are_heard_from_warnings_on() -> None:
    """Libraries do not log at DEBUG: some of them print whole requests."""
    stream = written(Settings(log_level="DEBUG"))
    for name in ("openai._base_client", "httpcore", "neo4j.io", "aiokafka"):
        logging.getLogger(name).debug("the whole request")
        logging.getLogger(name).warning("trouble of %s", name)
    assert "whole request" not in stream.getvalue()
    assert stream.getvalue().count("trouble") == 4


def test_secrets_are_all_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is added to the settings is hidden without further code; a short one is not replaced."""
    names = [name for name, field in Settings.model_fields.items() if field.annotation is SecretStr]
    assert names
    settings = Settings(**{name: SecretStr(f"secret-{name}") for name in names})  # type: ignore[arg-type]
    assert set(secrets_of(settings)) == {f"secret-{name}" for name in names}
    assert secrets_of(Settings(llm_api_key=SecretStr("abc"))) == ()
    for name in Settings.model_fields:  # no setting with a secret's name is stored as plain text
        assert not name.endswith(("password", "_secret", "api_key", "token")) or name in names, name
    assert "secret-" not in repr(settings)
