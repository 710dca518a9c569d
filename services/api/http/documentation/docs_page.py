"""The page at /docs: the HTTP interface, from the same description as /openapi.json.

Swagger UI is not used: FastAPI loads its script from a content delivery network, so it fails offline and discloses the
reader to a third party. The invariants: the page loads nothing and runs nothing (its policy forbids both), and all of
its text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font:14px/1.4 ui-monospace,monospace;background:#8881;padding:.1em .3em;border-radius:3px}"
    "pre{padding:.6em;overflow:auto}h3{margin:2rem 0 .2rem}table{border-collapse:collapse}"
    "td{padding:.1rem 1rem .1rem 0;vertical-align:top}.m{color:#06c}:root{color-scheme:light dark}"
)


def page(described: Mapping[str, Any]) -> str:
    """Return the HTML page of an OpenAPI description."""
    return "".join(_page(described))


def _page(described: Mapping[str, Any]) -> Iterator[str]:
    title = escape(described["info"]["title"])
    yield f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<h1>{title}</h1><p>{escape(described['info'].get('summary', ''))} For programs: "
    yield '<a href="openapi.json">openapi.json</a>. If the service needs credentials, send '
    yield "<code>Authorization: Bearer …</code> or <code>X-API-Key: …</code>.</p>"
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield from _operation(method.upper(), path, operation)
    yield "<h2>Bodies</h2>"
    for name, schema in described.get("components", {}).get("schemas", {}).items():
        yield from _schema(name, schema)
    yield "</html>\n"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h3><code><span class="m">{method}</span> {escape(path)}</code></h3>'
    yield f"<p>{escape(operation.get('description', ''))}</p><table>"
    for each in operation.get("parameters", ()):
        yield _row(f"<code>{escape(each['name'])}</code>", f"in the {each['in']}; {each.get('description', '')}")
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield _row("body", f"{kind} of {_kind(content.get('schema', {}))}")
    for status, response in operation.get("responses", {}).items():
        yield _row(f"<code>{escape(str(status))}</code>", str(response.get("description", "")))
    yield "</table>"


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p><table>'
    required = schema.get("required", ())
    for field, value in schema.get("properties", {}).items():
        details = ", ".join(
            filter(None, (_kind(value), "required" * (field in required), value.get("description", "")))
        )
        yield _row(f"<code>{escape(field)}</code>", details)
    yield "</table>"


def _row(name: str, text: str) -> str:
    """Return a table row; `name` is markup, `text` is escaped."""
    return f"<tr><td>{name}<td>{escape(text)}"


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
