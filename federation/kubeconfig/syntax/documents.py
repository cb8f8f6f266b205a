"""One kubeconfig file as three tables of entries, and the merging of several files as client-go does it.

The first file that names a cluster, a user or a context wins with its whole entry, so no member is ever put together
from halves of two entries; paths inside an entry are relative to the file that it stands in. What cannot be read of a
section is told in a notice and the rest is kept, since a fleet must not stand still over one entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import yaml

from prewarm.domain import InputError

_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
    """YAML as Go reads it: without dates and without numbers to the base of 60, which are texts there."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag.rsplit(":", 1)[-1] not in ("timestamp", "int", "float")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What one name stands for, and the file that says so; `count` is how often that file says it."""

    value: object
    file: Path
    count: int = 1


@dataclass(frozen=True, slots=True)
class Document:
    """The three tables of one file, or of several merged ones."""

    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]
    contexts: Mapping[str, Entry]
    current_context: str | None = None
    notices: tuple[str, ...] = ()


def parse(data: bytes, file: Path) -> Document:
    """The document in `data`. InputError, naming the file and the line, where it is no kubeconfig at all."""
    tree = load(data, file)
    if tree is None:
        return Document({}, {}, {}, None, (f"{file}: is empty",))
    if not isinstance(tree, dict):
        raise InputError(f"{file}: a kubeconfig must be a mapping")
    version, kind = tree.get("apiVersion") or "v1", tree.get("kind") or "Config"
    if (version, kind) != ("v1", "Config"):
        raise InputError(f"{file}: must be of apiVersion v1 and kind Config, is {version!s:.60} {kind!s:.60}")
    notices: list[str] = []
    tables = {name: _table(tree.get(name), name, file, notices) for name in _SECTIONS}
    if not any(tables.values()) and not notices:
        notices.append(f"{file}: holds no clusters, users or contexts")
    current = tree.get("current-context")
    return Document(
        tables["clusters"],
        tables["users"],
        tables["contexts"],
        current if isinstance(current, str) and current else None,
        tuple(notices),
    )


def merge(documents: Iterable[Document]) -> Document:
    """Several files as one, the first that names something wins."""
    clusters: dict[str, Entry] = {}
    users: dict[str, Entry] = {}
    contexts: dict[str, Entry] = {}
    current: str | None = None
    notices: tuple[str, ...] = ()
    for document in documents:
        clusters = {**document.clusters, **clusters}
        users = {**document.users, **users}
        contexts = {**document.contexts, **contexts}
        current = current or document.current_context
        notices += document.notices
    return Document(clusters, users, contexts, current, notices)


def load(data: bytes, file: Path) -> object:
    """The first YAML or JSON document in `data`. InputError, naming the file and the line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}, line {_line(data[: error.start])}: is not UTF-8") from None
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)  # JSON may be indented by tabs, which YAML forbids
        except ValueError:
            pass
    loader = _Loader(text)
    try:
        return loader.get_data() if loader.check_data() else None
    except yaml.MarkedYAMLError as error:
        line = min(error.problem_mark.line + 1 if error.problem_mark else 1, len(text.splitlines()))
        problem = re.sub(r"(['\"]).*\1", "…", error.problem or "")  # what is quoted may be a secret
        raise InputError(f"{file}, line {line}: is not YAML: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = _line(text[: error.position].encode())
        raise InputError(f"{file}, line {line}: is not YAML: character #x{_code(error.character):04x}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is not YAML: {type(error).__name__}") from None
    finally:
        loader.dispose()


def _table(section: object, name: str, file: Path, notices: list[str]) -> Mapping[str, Entry]:
    if section is None:
        return MappingProxyType({})
    if not isinstance(section, list):
        notices.append(f"{file}: {name} must be a list; nothing of it is used")
        return MappingProxyType({})
    found: dict[str, Entry] = {}
    for i, item in enumerate(section):
        key = item.get("name") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(key, str) or not key:
            notices.append(f"{file}: {name}[{i}] must be a mapping with a name; it is not used")
            continue
        count = found[key].count + 1 if key in found else 1
        found[key] = Entry(item.get(_SECTIONS[name]), file, count)
    return MappingProxyType(found)


def _line(before: bytes) -> int:
    return before.count(b"\n") + 1


def _code(character: object) -> int:
    return ord(character[:1]) if isinstance(character, str) else int(str(character))
