"""Function keys (`namespace/name`) made from whatever a trace file calls its functions.

Public traces name functions by hashes, logs by paths or free text; a key must be unique, printable and usable in a URL
path (see `domain.function_key`). The text as it stood in the file is kept beside it, as the trace's label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from prewarm.domain import FunctionKey, function_key

_LONGEST_PART = 240  # leaves room for a number behind it
_UNUSABLE = re.compile(r"[\s/%\x00-\x1f\x7f]+")


def make_key(namespace: str, name: str) -> FunctionKey:
    """`namespace/name` with unusable characters as `_`; an empty part becomes `-`."""
    parts = (_UNUSABLE.sub("_", part)[:_LONGEST_PART] or "-" for part in (namespace, name))
    return function_key("/".join(parts))


def unique_keys(parts: Sequence[tuple[str, str, str]]) -> tuple[FunctionKey, ...]:
    """Keys of (owner, namespace, name) triples: the owner is put in front where two would share a key.

    What still is not unique gets `~2`, `~3` and so on, in the order given.
    """
    short = [make_key(namespace, name) for _, namespace, name in parts]
    times = Counter(short)
    keys = []
    used: Counter[str] = Counter()
    for (owner, namespace, name), key in zip(parts, short, strict=True):
        chosen = key if times[key] == 1 or not owner else make_key(f"{owner}.{namespace}", name)
        base = chosen
        while used[chosen]:
            used[base] += 1
            chosen = function_key(f"{base}~{used[base]}")
        used[chosen] += 1
        keys.append(chosen)
    return tuple(keys)
