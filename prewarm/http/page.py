"""The page and its files: read once, served with a policy that lets nothing in from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from aiohttp import web

from prewarm.http.auth import Right
from prewarm.http.problem import ProblemError
from prewarm.http.routes import Call, Route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = (
    "index.html",
    "page.css",
    "icon.svg",
    "app.js",
    "api.js",
    "charts.js",
    "detail.js",
    "dom.js",
    "fleet.js",
    "scorer.js",
)


def read_files() -> dict[str, bytes]:
    """The files of the page by name."""
    folder = files("prewarm.dashboard")
    return {name: (folder / name).read_bytes() for name in _FILES}


def _file(content: bytes, name: str) -> web.Response:
    kind = _TYPES[name.rpartition(".")[2]]
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=HEADERS)


def page_routes() -> list[Route[object]]:
    """`/` and `/assets/NAME`; open to all, since they hold no data."""
    content = read_files()

    async def page(_: Call[object]) -> web.Response:
        return _file(content["index.html"], "index.html")

    async def asset(call: Call[object]) -> web.Response:
        name = call.path("name")
        if name not in content:
            raise ProblemError(404, f"the page has no file {name[:60]!r}")
        return _file(content[name], name)

    show: Callable[[Call[object]], Awaitable[object]] = page
    names: dict[str, object] = {"type": "string", "enum": [name for name in _FILES if name != "index.html"]}
    return [
        Route("GET", "/", show, "The page", right=Right.OPEN, answer="text/html", tag="page"),
        Route(
            "GET",
            "/assets/{name}",
            asset,
            "A file of the page",
            right=Right.OPEN,
            answer="text/plain",
            tag="page",
            parameters={"name": names},
        ),
    ]
