"""The route table: one entry says method, path, right, body, query and answer, and everything else follows from it.

The same table makes the aiohttp router and the OpenAPI document, so they cannot disagree. There is no middleware: what
every request needs (rights, strict JSON, errors as problems, latency) is in one closure per route, because a read must
cost little more than a bare aiohttp handler.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ValidationError

from prewarm.domain import InputError
from prewarm.http.auth import Review, Right, check_request
from prewarm.http.problem import ProblemError, problem_of, problem_response
from prewarm.settings import Auth
from prewarm.store import StoreBusyError, StoreDownError

log = logging.getLogger("prewarm.http")

Context = TypeVar("Context")
Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]

BODY_S = 30.0
"""A client that sends more slowly holds a connection for nothing."""
JSON_HEADERS = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class Watch(Protocol):
    """Is told of every answer: route, status, seconds."""

    def __call__(self, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        ...


@dataclass(slots=True)
class Call(Generic[Context]):
    """One request as a handler sees it: the service, the parsed body and query (None where the route has none)."""

    service: Context
    request: web.Request
    body: Any = None
    query: Any = None

    def path(self, name: str) -> str:
        """A decoded part of the path."""
        return self.request.match_info[name]


@dataclass(frozen=True, slots=True)
class Route(Generic[Context]):
    """One operation. `handler` returns what orjson can write, or a finished response."""

    method: str
    path: str
    handler: Callable[[Call[Context]], Awaitable[object]]
    summary: str
    right: Right = Right.READ
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    answer: type[BaseModel] | str = "application/json"
    """The model of the answer, or its media type where it is no JSON."""
    status: int = 200
    tag: str = "functions"
    ready: Callable[[Context, str], bytes | None] | None = None
    """Finished bytes for a raw path, where an earlier request already made them."""
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """JSON schema of each part of the path."""
    spaces: Callable[[Call[Context]], Iterable[str]] | None = None
    """Namespaces that a request concerns; without it that of the key in the path, else all."""


@dataclass(frozen=True, slots=True)
class Border:
    """What lies between the network and the handlers: rights (read at each request, so a reload holds), and a watch."""

    auth: Callable[[], Auth]
    watch: Watch
    review: Review | None = None
    """Who asks a cluster about tokens, where one is named."""


def install(app: web.Application, routes: Iterable[Route[Context]], service: Context, border: Border) -> None:
    """Put the routes into the router, with 405 for other methods on their paths as a problem."""
    by_path: dict[str, list[Route[Context]]] = defaultdict(list)
    for route in routes:
        by_path[route.path].append(route)
    for path, listed in by_path.items():
        # aiohttp's own pattern for a part of the path leaves out braces, which a key may hold.
        resource = app.router.add_resource(re.sub(r"{(\w+)}", r"{\1:[^/]+}", path))
        methods = {route.method for route in listed}
        for route in listed:
            handle = _endpoint(route, service, border)
            resource.add_route(route.method, handle)
            if route.method == "GET":
                resource.add_route("HEAD", handle)
                methods.add("HEAD")
        resource.add_route("*", _refuse_method(", ".join(sorted(methods))))


def close_off(app: web.Application) -> None:
    """After all routes: 404 everywhere else, as a problem."""
    app.router.add_route("*", "/{anything:.*}", _not_found)


def json_response(body: bytes, status: int = 200) -> web.Response:
    """Finished JSON bytes as a response."""
    return web.Response(body=body, status=status, headers=JSON_HEADERS)


def _endpoint(route: Route[Context], service: Context, border: Border) -> Handle:
    name, ready, right = f"{route.method} {route.path}", route.ready, route.right
    auth, watch, clock = border.auth, border.watch, time.perf_counter

    async def endpoint(request: web.Request) -> web.StreamResponse:
        started = clock()
        response: web.StreamResponse
        try:
            token = check_request(request, right, auth())
            body = ready(service, request.raw_path) if ready is not None and token is None else None
            if body is not None:
                response = json_response(body)
            else:
                response = await _answer(route, service, request, None if token is None else (token, border))
        except ProblemError as problem:
            response = problem_response(problem, request.path)
        except web.HTTPRequestEntityTooLarge as error:
            response = problem_response(ProblemError(413, f"body: {error.text}"), request.path)
        except (StoreBusyError, StoreDownError) as error:
            response = problem_response(ProblemError(503, str(error), headers={"Retry-After": "2"}), request.path)
        except InputError as error:
            response = problem_response(ProblemError(400, str(error)), request.path)
        except Exception:  # the outermost loop of a request: logged, counted, told without details
            log.exception("request failed", extra={"route": name})
            response = problem_response(
                ProblemError(500, "the service failed at this request; see its log"), request.path
            )
        watch(name, response.status, clock() - started)
        return response

    return endpoint


async def _answer(
    route: Route[Context], service: Context, request: web.Request, reviewed: tuple[str, Border] | None
) -> web.StreamResponse:
    call = Call(service, request)
    if reviewed is not None:
        await _review(reviewed, Right.OPEN, frozenset())  # nobody's body is read before the token is known
    if route.query is not None:
        call.query = parse_query(route.query, request)
    elif request.query_string:
        raise ProblemError(400, f"{next(iter(request.query), request.query_string)}: unknown field in the query")
    if route.body is not None:
        call.body = await parse_body(route.body, request)
    if reviewed is not None:
        spaces = _key_space(call) if route.spaces is None else route.spaces(call)
        await _review(reviewed, route.right, frozenset(spaces))
    answer = await route.handler(call)
    if isinstance(answer, web.StreamResponse):
        return answer
    if isinstance(answer, bytes):
        return json_response(answer, route.status)
    return json_response(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), route.status)


async def _review(reviewed: tuple[str, Border], right: Right, spaces: frozenset[str]) -> None:
    token, border = reviewed
    if border.review is None:
        raise ProblemError(503, "no cluster reviews tokens at the moment; auth.token_review names a member of a fleet")
    await border.review(token, right, spaces)


def _key_space(call: Call[Any]) -> tuple[str]:
    """The namespace of the key in the path; the empty one, which is all of them, where there is no key."""
    found = call.request.match_info.get("key") or call.request.match_info.get("target") or ""
    return (found.partition("/")[0],)


def parse_query(model: type[BaseModel], request: web.Request) -> BaseModel:
    """The query as a `model`; Problem where a name is unknown, given twice, or its value breaks a rule."""
    given: dict[str, str] = {}
    for name, value in request.query.items():
        if name in given:
            raise ProblemError(400, f"{name}: is given twice")
        given[name] = value
    try:
        return model.model_validate_strings(given)
    except ValidationError as error:
        raise problem_of(error) from None


async def parse_body(model: type[BaseModel], request: web.Request) -> BaseModel:
    """The JSON body as a `model`: 415 unless it is said to be JSON, NaN and unknown fields are faults."""
    if request.content_type != "application/json":
        raise ProblemError(415, f"the body must be application/json, is {request.content_type[:60]}")
    try:
        return model.model_validate_json(await _read(request))
    except ValidationError as error:
        raise problem_of(error) from None


async def _read(request: web.Request) -> bytes:
    """The whole body: 400 where it is not what its headers promise, 408 where it does not come."""
    try:
        if request.content.is_eof():  # all of it came with the headers, as nearly always
            return await request.read()
        async with asyncio.timeout(BODY_S):
            return await request.read()
    except web.RequestPayloadError as error:
        raise ProblemError(400, f"body: cannot be read: {' '.join(str(error).split())[:120]}") from None
    except ConnectionError:  # nobody reads the answer, but it counts as the sender's fault, not as ours
        raise ProblemError(400, "body: the connection ended before all of it was there") from None
    except TimeoutError:
        raise ProblemError(408, f"the body did not come within {BODY_S:g} s", headers={"Connection": "close"}) from None


def _refuse_method(allow: str) -> Handle:
    async def refuse(request: web.Request) -> web.StreamResponse:
        problem = ProblemError(405, f"{request.method} is not possible here, only {allow}", headers={"Allow": allow})
        return problem_response(problem, request.path)

    return refuse


async def _not_found(request: web.Request) -> web.StreamResponse:
    detail = "there is nothing at this path; a function's key is percent-encoded in it: shop%2Fcheckout"
    return problem_response(ProblemError(404, detail), request.path)
