"""The settings: names, defaults, sources and their precedence. Read once, where a process is composed.

In order of precedence: the command line, the environment (GRAPHTIDE_DATA), a file (graphtide.toml), the default. A
setting has one name: `data` in the file is GRAPHTIDE_DATA in the environment. Old names are accepted for one release
with a warning (infra/renamed_settings). Invariants: an unknown name in the file is an error, and secrets are never
printed.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableError

from graphtide.infra.renamed_settings import RENAMED, DuplicateSettingError, Source, deprecations, renamed, spellings

if TYPE_CHECKING:
    from graphtide.graph.retrieval.options.table import ModeOptions

log = logging.getLogger("graphtide")

PREFIX = "GRAPHTIDE_"
FILE = "graphtide.toml"


_OF_COMMANDS = ("API_KEY", "CA_FILE", "CLIENT_CERT", "CONFIG", "URL")
_OF_DEVELOPMENT = ("TEST_", "BENCH_", "BUILD_")


_ORIGIN = r"https?://[A-Za-z0-9.\-\[\]:]+"
ORIGINS = rf"^({_ORIGIN}(, *{_ORIGIN})*)?$"
"""Origins of web pages, separated by commas; no wildcard."""


class SettingsError(Exception):
    """A setting is wrong; the message names it, its source and the valid values."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PriceSetting(_Table):
    """Price of a million tokens of one model, in one currency for all models."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class BudgetSetting(_Table):
    """Amount that one graph may spend per day. 0: unlimited."""

    tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class Settings(BaseSettings):
    """Settings of a process. Sizes are bytes, lengths characters, times seconds. An empty endpoint name disables it."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    data: Path = Path("graphtide-data")
    vectors_in_files: bool = True

    llm_base_url: str = ""
    llm_api_key: SecretStr = SecretStr("")
    llm_model: str = ""
    llm_concurrency: int = Field(default=8, ge=1)
    llm_requests_per_minute: int = Field(default=500, ge=0)
    llm_tokens_per_minute: int = Field(default=200_000, ge=0)
    llm_timeout_s: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    llm_max_output_tokens: int = Field(default=8192, ge=64)
    llm_entity_judge: bool = False
    merge_granularity: Literal["strict", "normal", "broad"] = "normal"
    llm_gleaning: bool = False
    extractor: Literal["rules", "parser"] = "rules"
    answer_model: Literal["minilm", "rules"] = "minilm"
    chunk_tokens: int = Field(default=300, ge=8, le=16_000)
    prompts_dir: str = ""
    functional_predicates_file: str = ""
    prices: dict[str, PriceSetting] = {}
    budget_tokens_per_day: int = Field(default=0, ge=0)
    budget_cost_per_day: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    budgets: dict[str, BudgetSetting] = {}
    budget_blocks_queries: bool = False
    purge_at: str = Field(default="", pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$")
    llm_rating_model: str = ""
    lazy_reports: bool = False
    entity_summaries: bool = True
    report_change_threshold: float = Field(default=0.2, ge=0, le=1, allow_inf_nan=False)
    embedding_base_url: str = ""
    embedding_api_key: SecretStr = SecretStr("")
    embedding_model: str = ""
    reembed: bool = False
    embedding_concurrency: int = Field(default=8, ge=1)
    embedding_requests_per_minute: int = Field(default=0, ge=0)
    embedding_tokens_per_minute: int = Field(default=0, ge=0)
    embedding_timeout_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    rerank_base_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    rerank_api_key: SecretStr = SecretStr("")
    rerank_model: str = ""
    rerank_shape: Literal["cohere", "tei"] = "cohere"
    rerank_candidates: int = Field(default=40, ge=2, le=200)
    rerank_timeout_s: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    rerank_concurrency: int = Field(default=8, ge=1)
    rerank_requests_per_minute: int = Field(default=0, ge=0)

    kafka: str = ""
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    kafka_sasl_username: str = ""
    kafka_sasl_password: SecretStr = SecretStr("")
    kafka_ssl_ca_file: str = ""
    kafka_ssl_cert_file: str = ""
    kafka_ssl_key_file: str = ""
    kafka_prefix: str = ""
    kafka_session_timeout_s: float = Field(default=30.0, ge=1, allow_inf_nan=False)
    sources: list[dict[str, Any]] = []
    sources_file: str = ""
    schema_registry_url: str = Field(default="", pattern=r"^(https?://[^@\s]+)?$")
    schema_registry_user: str = ""
    schema_registry_password: SecretStr = SecretStr("")
    schema_registry_ca_file: str = ""
    bolt: str = ""
    bolt_user: str = ""
    bolt_password: SecretStr = SecretStr("")
    bolt_database: str = ""
    bolt_ca_file: str = ""

    query_target: str = ""
    query_ca_file: str = ""
    replication_factor: int = Field(default=0, ge=0, le=64)
    max_write_models: int = Field(default=256, ge=1)
    idle_graph_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    max_loaded_bytes: int = Field(default=0, ge=0)
    checkpoints_url: str = ""
    graph_changes_topic: bool = False
    legacy_metric_names: bool = False
    metrics_host: str = "127.0.0.1"
    metrics_port: int = Field(default=9464, ge=0, le=65535)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    grpc_port: int = Field(default=50051, ge=0, le=65535)
    shutdown_timeout_s: float = Field(default=20.0, gt=0, allow_inf_nan=False)
    shutdown_delay_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    trusted_proxies: str = ""
    page: bool = True
    cors_origins: str = Field(default="", pattern=ORIGINS)

    allow_unauthenticated: bool = False
    api_keys_file: str = ""
    jwt_key_file: str = ""
    jwt_algorithm: str = "RS256"
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_leeway_s: float = Field(default=30.0, ge=0, le=600, allow_inf_nan=False)
    jwt_permissions_claim: str = "graphtide"
    key_requests_per_second: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    failed_auth_per_minute: int = Field(default=60, ge=1)
    metrics_public: bool = False
    tls_cert_file: str = ""
    tls_key_file: str = ""
    tls_client_ca_file: str = ""

    log_format: Literal["text", "json"] = "text"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    otlp_endpoint: str = Field(default="", pattern=r"^(https?://\S+)?$")
    otlp_sample_ratio: float = Field(default=1.0, ge=0, le=1, allow_inf_nan=False)

    max_body_bytes: int = Field(default=8 << 20, ge=1024)
    max_batch_documents: int = Field(default=1000, ge=1)
    max_batch_bytes: int = Field(default=64 << 20, ge=1024)
    max_facts: int = Field(default=5000, ge=0)
    max_entities: int = Field(default=5000, ge=0)
    max_statements: int = Field(default=250_000, ge=1)
    max_name_chars: int = Field(default=512, ge=1)
    max_description_chars: int = Field(default=8192, ge=1)
    max_metadata_bytes: int = Field(default=64 << 10, ge=2)
    max_question_chars: int = Field(default=8192, ge=1)
    mode_options: dict[str, dict[str, Any]] = {}
    hnsw_m: int = Field(default=16, ge=2, le=128)
    hnsw_ef_construction: int = Field(default=84, ge=2, le=2000)
    hnsw_ef: int = Field(default=128, ge=2, le=2000)
    max_top_k: int = Field(default=100, ge=1)
    max_filter_values: int = Field(default=1000, ge=1)
    max_in_flight: int = Field(default=256, ge=1)
    query_timeout_s: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    body_timeout_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    body_grace_s: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    min_body_bytes_per_s: int = Field(default=1024, ge=0)
    max_arriving_bytes: int = Field(default=256 << 20, ge=1024)
    change_retention_commits: int = Field(default=10_000, ge=0)
    change_retention_hours: float = Field(default=168.0, gt=0, allow_inf_nan=False)
    change_retention_bytes: int = Field(default=256 << 20, ge=1 << 20)
    max_event_streams: int = Field(default=256, ge=1)
    max_event_streams_per_caller: int = Field(default=32, ge=1)

    @field_validator("mode_options")
    @classmethod
    def _check_mode_options(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if value:
            from graphtide.graph.retrieval.options.table import read_mode_options

            read_mode_options(value)
        return value

    @property
    def default_options(self) -> ModeOptions:
        """Return the default options of the modes."""
        from graphtide.graph.retrieval.options.table import read_mode_options

        return read_mode_options(self.mode_options)

    @property
    def asks_entity_judge(self) -> bool:
        """Return whether a language model judges pairs of names."""
        return self.llm_entity_judge and self.merge_granularity != "strict"

    @property
    def asks_predicate_judge(self) -> bool:
        """Return whether a language model judges pairs of predicates."""
        return self.llm_entity_judge and self.merge_granularity == "broad"

    @property
    def names_cluster(self) -> bool:
        """Return True if the settings name a cluster. A broker alone may be that of an embedded service's sources."""
        return bool(self.bolt or (self.kafka and not (self.sources or self.sources_file)))


@cache
def warn_once(message: str) -> None:
    """Log a warning, once per process."""
    log.warning("%s", message)


def load_settings(
    given: Mapping[str, object] | None = None,
    file: Path | None = None,
    on_deprecated: Callable[[str], None] = warn_once,
    origin: str = "the command line",
) -> Settings:
    """Return the settings of this process. Entries of `given`, whose place `origin` names, count as absent if None.

    `file` defaults to GRAPHTIDE_CONFIG, then to graphtide.toml in the working folder, if that exists. A named file must
    exist. `on_deprecated` receives a message per old name. Raises SettingsError.
    """
    chosen = file or Path(os.environ.get(f"{PREFIX}CONFIG") or FILE)
    named = file is not None or bool(os.environ.get(f"{PREFIX}CONFIG"))
    options = {name: value for name, value in (given or {}).items() if value is not None}
    filed = _from_file(chosen) if named or chosen.exists() else {}
    old_variables = {name: os.environ[_variable(name)] for name in RENAMED if _in_environment(name)}
    variables = dict.fromkeys(filter(_in_environment, Settings.model_fields), "") | old_variables
    sources = [Source(f"in {origin}", "", options), Source("in the environment", PREFIX, variables)]
    sources.append(Source(f"in {chosen}", "", filed))
    try:
        for message in deprecations(sources):
            on_deprecated(message)
    except DuplicateSettingError as error:
        raise SettingsError(str(error)) from None
    options, of_environment = renamed(options), renamed(old_variables)
    below = {name: value for name, value in (renamed(filed) | of_environment).items() if name not in options}
    below = {name: value for name, value in below.items() if not _in_environment(name)}
    try:
        return Settings(**below, **options)  # type: ignore[arg-type]
    except UnreadableError as error:
        field = next((name for name in Settings.model_fields if f'"{name}"' in str(error)), "a table")
        raise SettingsError(f"{_variable(field)} in the environment is wrong: it must be JSON") from None
    except ValidationError as error:
        places = dict.fromkeys(below.keys() - of_environment.keys(), str(chosen))
        places |= dict.fromkeys(options, origin)
        raise SettingsError(_complaint(error, places, spellings(sources))) from None  # the cause would print a secret


def unknown_variables() -> list[str]:
    """Return the environment variables with the prefix of settings that are unknown: most likely misspelt."""
    known = {name.upper() for name in (*Settings.model_fields, *RENAMED)} | set(_OF_COMMANDS)
    named = (name.removeprefix(PREFIX) for name in sorted(os.environ) if name.startswith(PREFIX))
    return [PREFIX + name for name in named if name not in known and not name.startswith(_OF_DEVELOPMENT)]


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _in_environment(name: str) -> bool:
    return bool(os.environ.get(_variable(name)))


def _from_file(file: Path) -> dict[str, object]:
    """Return the settings in the file, by their names; GRAPHTIDE_DATA is read as data."""
    try:
        with file.open("rb") as opened:
            found = tomllib.load(opened)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read ({error.strerror}); name another file or remove it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not TOML: {error}") from error
    settings: dict[str, object] = {}
    for key, value in found.items():
        name = key.removeprefix(PREFIX).lower() if key.startswith(PREFIX) else key
        if name not in Settings.model_fields and name not in RENAMED:
            raise SettingsError(f"{file}: {key} is an unknown setting; known are {', '.join(Settings.model_fields)}")
        if name in settings:
            raise SettingsError(f"{file}: {name} is set twice, once as {PREFIX}{name.upper()}; keep one")
        settings[name] = value
    return settings


def _complaint(error: ValidationError, places: Mapping[str, str], spelled: Mapping[str, str]) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    place, written = places.get(name, "the environment"), spelled.get(name, name)
    called = written if name in places else _variable(written)
    return f"{called} in {place} is wrong: {first['msg'].removeprefix('Input ')}"
