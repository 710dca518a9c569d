"""Sources of settings, their precedence, and the errors of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.infra.renamed_settings import RENAMED
from graphtide.infra.settings import PREFIX, Settings, SettingsError, load_settings, unknown_variables, warn_once
from graphtide.services.api.schema.limits import RequestLimits


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting leaks in from the machine that runs the tests."""
    for name in (*Settings.model_fields, *RENAMED):
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)
    monkeypatch.delenv(f"{PREFIX}CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    """Return a writer of graphtide.toml in the working folder."""
    file = Path("graphtide.toml")
    file.write_text(text, encoding="utf-8")
    return file


def test_settings_have_defaults_when_nothing_is_said() -> None:
    """With no file and no environment everything has a value, and the service listens on this machine only."""
    settings = load_settings()
    assert (settings.host, settings.port, settings.grpc_port) == ("127.0.0.1", 8080, 50051)


def test_settings_prefer_command_line_over_environment_over_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each source wins over the one below it, setting by setting."""
    write('data = "of-file"\nllm_model = "of-file"\nport = 1\ngrpc_port = 7\n')
    monkeypatch.setenv("GRAPHTIDE_LLM_MODEL", "of-environment")
    monkeypatch.setenv("GRAPHTIDE_PORT", "2")
    settings = load_settings({"port": 3, "data": None})
    assert (settings.port, settings.llm_model, settings.data) == (3, "of-environment", Path("of-file"))
    assert settings.grpc_port == 7


def test_settings_understand_the_environments_name_when_it_stands_in_the_file() -> None:
    """A setting has one name: GRAPHTIDE_LLM_MODEL may be copied to the file as it is."""
    write('GRAPHTIDE_LLM_MODEL = "m"\n')
    assert load_settings().llm_model == "m"


def test_settings_ignore_an_empty_variable_when_the_file_has_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable, as compose files leave it, counts as absent."""
    write("port = 5\n")
    monkeypatch.setenv("GRAPHTIDE_PORT", "")
    assert load_settings().port == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prot = 1\n", "prot is an unknown setting"),
        ("port = 70000\n", "port in graphtide.toml is wrong"),
        ("port = 1\nGRAPHTIDE_PORT = 2\n", "port is set twice"),
        ("port = \n", "is not TOML"),
    ],
)
def test_settings_name_what_is_wrong_when_the_file_is(text: str, expected: str) -> None:
    """The message names the key and the file."""
    write(text)
    with pytest.raises(SettingsError, match=expected):
        load_settings()


def test_settings_name_the_variable_when_the_environment_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable as the user wrote it."""
    monkeypatch.setenv("GRAPHTIDE_PORT", "many")
    with pytest.raises(SettingsError, match="GRAPHTIDE_PORT in the environment is wrong"):
        load_settings()


@pytest.mark.parametrize("name", ["prices", "budgets"])
def test_settings_name_the_variable_when_a_table_is_no_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong JSON value is reported as any other wrong value, not as an error of the library."""
    monkeypatch.setenv(f"GRAPHTIDE_{name.upper()}", "nonsense")
    with pytest.raises(SettingsError, match=f"GRAPHTIDE_{name.upper()} in the environment is wrong: it must be JSON"):
        load_settings()


@pytest.mark.parametrize("value", ["1e999", "-1e999", "nan"])
def test_settings_take_no_number_that_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time, rate or share is infinite."""
    for name, field in Settings.model_fields.items():
        if field.annotation is float:
            with monkeypatch.context() as one, pytest.raises(SettingsError, match=name.upper()):
                one.setenv(f"GRAPHTIDE_{name.upper()}", value)
                load_settings()


def test_unknown_variables_are_those_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt name is found; a setting, or a variable of the command line, is not."""
    for name in ("API_KEYS_FLIE", "PORT", "URL", "API_KEY"):
        monkeypatch.setenv(f"GRAPHTIDE_{name}", "1")
    assert unknown_variables() == ["GRAPHTIDE_API_KEYS_FLIE"]


def test_settings_refuse_when_a_named_file_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file that was named is an error."""
    monkeypatch.setenv("GRAPHTIDE_CONFIG", "nowhere.toml")
    with pytest.raises(SettingsError, match=r"nowhere\.toml cannot be read"):
        load_settings()


def test_settings_keep_secrets_when_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the settings nor an error about them contain a key."""
    monkeypatch.setenv("GRAPHTIDE_LLM_API_KEY", "sk-hidden")
    settings = load_settings()
    assert "sk-hidden" not in f"{settings!r} {settings}"
    assert settings.llm_api_key.get_secret_value() == "sk-hidden"
    write("embedding_api_key = 17\n")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert "17" not in str(refused.value)


def test_settings_default_to_the_limits_when_nothing_is_said() -> None:
    """The limits of the protocols and the settings of the same name have the same defaults."""
    assert RequestLimits.of(load_settings()) == RequestLimits()


VALUES = {
    bool: ("true", True),
    float: ("0.5", 0.5),
    int: ("7", 7),
    str: ("v", "v"),
}
"""A value of each type, as the environment spells it and as it is read."""


@pytest.mark.parametrize("old", RENAMED)
def test_settings_accept_an_old_name_in_every_source_and_name_the_new_one(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old name in the environment, the file or the command sets the present one, and yields one message."""
    new = RENAMED[old]
    assert old not in Settings.model_fields
    written, value = VALUES[type(getattr(Settings(), new))]
    file = f'"{written}"' if isinstance(value, str) else written
    for source in ("environment", "graphtide.toml", "command", f"GRAPHTIDE_{old.upper()} in graphtide.toml"):
        write("")
        given: dict[str, object] = {}
        messages: list[str] = []
        with monkeypatch.context() as patch:
            if source == "environment":
                patch.setenv(f"GRAPHTIDE_{old.upper()}", written)
            elif source == "command":
                given = {old: value}
            else:
                write(f"{source.split(' ')[0] if ' ' in source else old} = {file}\n")
            settings = load_settings(given, on_deprecated=messages.append)
            assert not unknown_variables()
        assert getattr(settings, new) == value
        assert len(messages) == 1 and f"is the old name of {new}" in messages[0] and source[-11:] in messages[0]


@pytest.mark.parametrize("old", RENAMED)
def test_settings_refuse_a_setting_under_both_names(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old and the present name together are refused, in one source or in two, and the message names both."""
    new = RENAMED[old]
    written, value = VALUES[type(getattr(Settings(), new))]
    file = f'"{written}"' if isinstance(value, str) else written
    both = f"{old} in .*{new}.* in .* are the same setting .* remove {old}"
    write(f"{old} = {file}\n{new} = {file}\n")
    with pytest.raises(SettingsError, match=both):
        load_settings()
    write(f"{old} = {file}\n")
    monkeypatch.setenv(f"GRAPHTIDE_{new.upper()}", written)
    with pytest.raises(SettingsError, match=f"(?i){both}"):
        load_settings()
    monkeypatch.setenv(f"GRAPHTIDE_{old.upper()}", written)
    write("")
    with pytest.raises(SettingsError, match=f"(?i){both}"):
        load_settings()


def test_settings_prefer_an_old_variable_over_the_file_and_yield_to_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An old name has the precedence of its source."""
    write("tries_per_minute = 3\n")
    monkeypatch.setenv("GRAPHTIDE_TRIES_PER_MINUTE", "5")
    assert load_settings().failed_auth_per_minute == 5
    assert load_settings({"tries_per_minute": 7}).failed_auth_per_minute == 7


def test_settings_name_a_wrong_value_by_the_name_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error names the variable or the key as the operator wrote it."""
    monkeypatch.setenv("GRAPHTIDE_DRAIN_S", "soon")
    with pytest.raises(SettingsError, match="GRAPHTIDE_DRAIN_S in the environment is wrong"):
        load_settings()
    monkeypatch.delenv("GRAPHTIDE_DRAIN_S")
    write('drain_s = "soon"\n')
    with pytest.raises(SettingsError, match=r"drain_s in graphtide\.toml is wrong"):
        load_settings()


def test_settings_warn_once_of_an_old_name(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Loading the settings again in the same process logs nothing more."""
    warn_once.cache_clear()
    monkeypatch.setenv("GRAPHTIDE_INSECURE", "true")
    assert load_settings().allow_unauthenticated and load_settings().allow_unauthenticated
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "GRAPHTIDE_INSECURE" in caplog.text and "allow_unauthenticated" in caplog.text
