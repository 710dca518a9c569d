"""The settings page lists every setting with its default, and no other."""

import re
from pathlib import Path

from pydantic import SecretStr

from graphtide.infra.renamed_settings import RENAMED
from graphtide.infra.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
ROW = re.compile(r"^\| `(\w+)` \| (\S+) \|", re.MULTILINE)


def test_settings_page_names_every_setting_with_its_default() -> None:
    """The table's names and defaults are those of the class."""
    documented = {
        name: default.strip("`") for name, default in ROW.findall(PAGE.read_text().partition("## Renamed")[0])
    }
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    plain = {name: d.get_secret_value() if isinstance(d, SecretStr) else str(d) for name, d in defaults.items()}
    assert documented == {name: default or "none" for name, default in plain.items()}


def test_settings_page_names_every_renamed_setting() -> None:
    """The table of old names is that of the code, and every present name is a setting."""
    table = PAGE.read_text().partition("## Renamed")[2]
    assert dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", table, re.MULTILINE)) == RENAMED
    assert set(RENAMED.values()) <= set(Settings.model_fields)
