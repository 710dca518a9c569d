"""Local servers that the real clients of fsspec reach over a socket: S3 by moto, and what `sync` asks of others.

They run in threads of the test's process.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest


@contextmanager
def s3_server() -> Iterator[Any]:
    """Yield a client of boto3 for a new server, which the environment names for all clients meanwhile."""
    import boto3
    from botocore.loaders import JSONFileLoader
    from moto.server import ThreadedMotoServer

    load = JSONFileLoader.load_file
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test-key-id")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-value")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # Each client would read two descriptions of AWS's services again, for 0.15 s.
        patch.setattr(JSONFileLoader, "load_file", lambda loader, path: _read_once(partial(load, loader), path))
        try:
            yield boto3.client("s3")
        finally:
            server.stop()


_READ: dict[str, Any] = {}


def _read_once(load: Callable[[str], Any], path: str) -> Any:
    if path not in _READ:
        _READ[path] = load(path)
    return _READ[path]


Reply = Callable[[str, Mapping[str, str]], tuple[int, bytes]]


@contextmanager
def json_server(reply: Reply) -> Iterator[str]:
    """Yield the address of a server that answers each GET by `reply(path, query)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            status, body = reply(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 -- the signature of the base class

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def gcs_reply(objects: Mapping[str, bytes]) -> Reply:
    """Return the replies of Google Cloud Storage's JSON interface for one bucket, `bucket`."""

    def details(key: str) -> dict[str, Any]:
        digest = sha1(objects[key], usedforsecurity=False).hexdigest()
        about = {"name": key, "bucket": "bucket", "size": str(len(objects[key])), "etag": digest, "storageClass": "S"}
        return about | {"kind": "storage#object", "updated": "2026-01-01T00:00:00.000Z"}

    def reply(path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        _, _, key = path.partition("/b/bucket/o/")
        if not key:
            prefix = query.get("prefix", "")
            rest = {name: name.removeprefix(prefix) for name in objects if name.startswith(prefix)}
            items = [details(name) for name, inner in rest.items() if "/" not in inner]
            folders = sorted({f"{prefix}{inner.partition('/')[0]}/" for inner in rest.values() if "/" in inner})
            return 200, json.dumps({"kind": "storage#objects", "items": items, "prefixes": folders}).encode()
        if (name := unquote(key)) not in objects:
            return 404, b'{"error": {"code": 404, "message": "Not Found"}}'
        return 200, objects[name] if query.get("alt") == "media" else json.dumps(details(name)).encode()

    return reply


def github_reply(files: Mapping[str, bytes]) -> Reply:
    """Return the replies of GitHub's interface for the trees and contents of one repository."""

    def entry(folder: str, name: str) -> dict[str, Any]:
        path = f"{folder}{name}"
        if path in files:
            digest = sha1(files[path], usedforsecurity=False).hexdigest()
            return {"path": name, "mode": "100644", "type": "blob", "size": len(files[path]), "sha": digest}
        return {"path": name, "mode": "040000", "type": "tree", "sha": f"tree-{path.replace('/', '-')}"}

    def reply(path: str, _query: Mapping[str, str]) -> tuple[int, bytes]:
        kind, _, place = path.removeprefix("/").partition("/")
        if kind == "contents":
            content = base64.b64encode(files[unquote(place)]).decode()
            return 200, json.dumps({"content": content}).encode()
        folder = place.removeprefix("tree-").replace("-", "/") + "/" if place.startswith("tree-") else ""
        names = {name.removeprefix(folder).partition("/")[0] for name in files if name.startswith(folder)}
        return 200, json.dumps({"tree": [entry(folder, name) for name in sorted(names)]}).encode()

    return reply
