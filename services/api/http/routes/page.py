"""The routes of the page for browsers: the document at `/`, its assets, and the redirect of other clients to /docs.

The invariants: the page runs only its own scripts and connects only to the service that served it (its policy forbids
all else), and no credential is needed to load it, because it contains no data.
"""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from graphtide.services.page.bundle import ASSETS, PageFile, load_bundle

PAGE_ASSET = f"/{ASSETS}/{{file}}"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types graphtide",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_REVALIDATE = "no-cache"
_KEEP = "public, max-age=31536000, immutable"


def page_routes(is_enabled: bool) -> APIRouter:
    """Routes of the page; without it, `/` redirects every client to /docs."""
    router = APIRouter()

    @router.get("/", include_in_schema=False)
    async def root(request: Request) -> Response:
        """Return the page to browsers, which accept HTML, and redirect other clients to the description."""
        bundle = await asyncio.to_thread(load_bundle) if is_enabled else None
        if bundle is None or not accepts_html(request.headers.get("accept", "")):
            return RedirectResponse("/docs", headers={"vary": "accept"})
        return file_response(request, bundle.index, _REVALIDATE, "accept, accept-encoding")

    if is_enabled:

        @router.get(PAGE_ASSET, include_in_schema=False)
        async def asset(request: Request, file: str) -> Response:
            """Return a file of the page, whose name carries the hash of its content."""
            bundle = await asyncio.to_thread(load_bundle)
            if bundle is None or file not in bundle.assets:
                raise HTTPException(404)
            return file_response(request, bundle.assets[file], _KEEP, "accept-encoding")

    return router


def accepts_html(accept: str) -> bool:
    """Return True when the header names HTML, as browsers do; `*/*` alone does not."""
    ranges = (part.partition(";") for part in accept.lower().split(","))
    return any(
        kind.strip() in ("text/html", "application/xhtml+xml") and "q=0" not in parameters.replace(" ", "").split(";")
        for kind, _, parameters in ranges
    )


def file_response(request: Request, file: PageFile, caching: str, vary: str) -> Response:
    """Return a file, compressed if the client accepts that, or 304 if the client has it."""
    is_compressed = "gzip" in request.headers.get("accept-encoding", "").lower()
    tag = f'"{file.digest[:32]}{"-gzip" if is_compressed else ""}"'
    headers = {**_HEADERS, "etag": tag, "cache-control": caching, "vary": vary}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    if is_compressed:
        headers["content-encoding"] = "gzip"
    return Response(file.compressed if is_compressed else file.content, headers=headers, media_type=file.media_type)
