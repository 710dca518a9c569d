"""The sources file: its errors name the place, and templates are text alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.infra.settings import load_settings
from graphtide.infra.sources.mapping import load_sources
from graphtide.infra.sources.templates import Fields, Template
from graphtide.services.sources import mapped_sources
from graphtide.streams.errors import Broken, Rejected

GOOD = '[[sources]]\ntopic = "t"\ngraph = "g"\n'


def test_file_is_read_when_it_is_well_formed(tmp_path: Path) -> None:
    """Mappings of topics and of direct values are separate."""
    file = tmp_path / "sources.toml"
    file.write_text(GOOD + 'id = "{id}"\n[[sources]]\ntopic = "documents"\ngraph = "g"\n')
    found = load_sources(str(file))
    assert (list(found.topics()), list(found.direct())) == (["t"], ["g"])
    assert not load_sources("").topics()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[[sources", "is not TOML"),
        (GOOD + GOOD, "two mappings"),
        (GOOD + 'id = "{"\n', "sources.0.id"),
        (GOOD + 'title = "{a!r}"\n', "plain name"),
        (GOOD + 'title = "{a:>9}"\n', "plain name"),
        (GOOD + 'title = "{}"\n', "plain name"),
        (GOOD + 'text = "fixed"\n', "names no field"),
        (GOOD + 'color = "red"\n', "sources.0.color"),
        (GOOD + 'media_type = "text/x"\n', "not readable"),
        (GOOD + '[sources.operations]\nz = "delete"\n', "operations"),
        ('[[sources]]\ntopic = "documents"\ngraph = "{a}"\n', "must be a graph's name"),
        ('[[sources]]\ntopic = "extractions"\ngraph = "g"\n', "a topic of Graphtide itself"),
    ],
)
def test_file_is_refused_with_the_place(tmp_path: Path, text: str, cause: str) -> None:
    """The message names the file and the field."""
    file = tmp_path / "sources.toml"
    file.write_text(text)
    with pytest.raises(Broken, match=cause) as caught:
        load_sources(str(file))
    assert str(file) in str(caught.value)


def test_settings_give_mappings_as_the_file_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JSON list in the environment; a wrong one is refused without its content."""
    monkeypatch.setenv("GRAPHTIDE_SOURCES", '[{"topic": "t", "graph": "g"}]')
    monkeypatch.setenv("GRAPHTIDE_KAFKA", "broker:9092")
    settings = load_settings()
    assert list(mapped_sources(settings).topics()) == ["t"]
    assert not settings.names_cluster
    file = tmp_path / "sources.toml"
    file.write_text(GOOD.replace('"t"', '"u"'))
    assert list(load_sources(str(file), settings.sources).topics()) == ["t", "u"]
    with pytest.raises(Broken, match=r"GRAPHTIDE_SOURCES.*sources\.0\.graph"):
        load_sources("", [{"topic": "t"}])
    monkeypatch.delenv("GRAPHTIDE_KAFKA")
    with pytest.raises(Broken, match="set GRAPHTIDE_KAFKA"):
        mapped_sources(load_settings())


def test_file_is_refused_when_it_is_missing(tmp_path: Path) -> None:
    """The message names the setting."""
    with pytest.raises(Broken, match="GRAPHTIDE_SOURCES_FILE"):
        load_sources(str(tmp_path / "none.toml"))


def test_template_renders_values_and_nothing_more() -> None:
    """Braces in a value are text; a dot reads a field, never an attribute of an object."""
    fields = Fields(
        {"a": "{b} {a.__class__}", "n": None, "d": {"x": [1, {"y": 2.0}]}, "t": True, "f": 2.0, "é.x": 1}, {}
    )
    assert Template("{a}|{n}|{d.x}|{t}|{f}|{é.x}|{{}}|{gone?}").render(fields) == (
        '{b} {a.__class__}||[1,{"y":2.0}]|true|2|1|{}|'
    )
    for path in ("gone", "a.__class__", "d.z", "@type"):
        with pytest.raises(Rejected, match="has no field"):
            Template(f"{{{path}}}").render(fields)
