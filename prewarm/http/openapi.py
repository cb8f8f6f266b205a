"""The route table as an OpenAPI 3.1 document.

Every operation lists its success and, as `default`, the problem that any failure answers with; the schemas are those
that pydantic enforces, so the document promises neither more nor less than the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from prewarm.http.auth import Right
from prewarm.http.problem import PROBLEM_JSON
from prewarm.http.routes import Route

Json = dict[str, Any]
SchemaMode = Literal["validation", "serialization"]
_REFERENCE = "#/components/schemas/{model}"


class ProblemBody(BaseModel):
    """What every failure answers with (RFC 9457)."""

    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str
    instance: str


def document(routes: Sequence[Route[Any]], *, title: str, version: str) -> Json:
    """The whole document, ready to be written as JSON."""
    models: list[tuple[type[BaseModel], SchemaMode]] = [(ProblemBody, "serialization")]
    for route in routes:
        models += [(model, "validation") for model in (route.body, route.query) if model is not None]
        if not isinstance(route.answer, str):
            models.append((route.answer, "serialization"))
    unique = list(dict.fromkeys(models))
    references, definitions = models_json_schema(unique, ref_template=_REFERENCE)
    schemas: Json = dict(definitions.get("$defs", {}))
    paths: Json = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, references, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route[Any], references: Any, schemas: Json) -> Json:
    success: Json = {"description": HTTPStatus(route.status).phrase}
    if route.status != HTTPStatus.NO_CONTENT:
        success["content"] = _content(route, references)
    operation: Json = {
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas)],
        "responses": {
            str(route.status): success,
            "default": {
                "description": "Problem",
                "content": {PROBLEM_JSON: {"schema": references[(ProblemBody, "serialization")]}},
            },
        },
    }
    if route.right is not Right.OPEN:
        operation["security"] = [{}, {"bearer": []}]
    if route.body is not None:
        schema = references[(route.body, "validation")]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def operation_id(route: Route[Any]) -> str:
    """A name for generated clients, made of method and path."""
    words = re.findall(r"[a-z0-9]+", route.path.replace("/v1/", ""))
    return "_".join([route.method.lower(), *words])


def _content(route: Route[Any], references: Any) -> Json:
    if isinstance(route.answer, str):
        schema: Json = {"type": "object"} if route.answer == "application/json" else {"type": "string"}
        return {route.answer: {"schema": schema}}
    return {"application/json": {"schema": references[(route.answer, "serialization")]}}


def _path_parameters(route: Route[Any]) -> Iterable[Json]:
    for name in re.findall(r"{(\w+)", route.path):
        schema = route.parameters.get(name, {"type": "string", "minLength": 1})
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(route: Route[Any], schemas: Json) -> Iterable[Json]:
    if route.query is None:
        return
    model = schemas[route.query.__name__]
    for name, schema in model["properties"].items():
        yield {"name": name, "in": "query", "required": name in model.get("required", ()), "schema": schema}
