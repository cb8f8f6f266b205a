"""Ids of members: from whatever a context is called to a name that Kubernetes takes as a label value and object name.

An id must be the same after a restart, in another order of the file and whatever else the fleet holds, so it is made of
the context's own name (and its file, where the same name may stand in two) and nothing else. A name that is fit as it
is stays as it is; every other one becomes a readable rest and a digest. A fit name that looks like such a result gets a
digest too, so that the two kinds never meet.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

LONGEST = 63
POD = "in-cluster"
"""Id of the cluster that the service itself runs in."""

_FIT = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DIGEST_HEX = 12
_MADE = re.compile(rf".*-[0-9a-f]{{{_DIGEST_HEX}}}")


def member_id(context: str, source: str | None = None) -> str:
    """The id of `context`; `source` is given where several files may each have a context of this name."""
    if source is None and context != POD and _FIT.fullmatch(context) and not _MADE.fullmatch(context):
        return context
    digest = hashlib.blake2b(f"{source or ''}\0{context}".encode(errors="surrogatepass"), digest_size=_DIGEST_HEX // 2)
    room = LONGEST - _DIGEST_HEX - 1
    return f"{_readable(context, source, room)}-{digest.hexdigest()}"


def _readable(context: str, source: str | None, room: int) -> str:
    if source is None:
        return _slug(context, room) or "member"
    place = _slug(" ".join(re.split(r"[/\\]", re.sub(r"\.(ya?ml|json|conf)$", "", source))[-2:]), room // 2)
    name = _slug(context, room - len(place) - 1) or "member"
    return f"{name}-{place}" if place else name


def _slug(text: str, room: int) -> str:
    """What is left in [a-z0-9-]; of a long text the end, where the names that clouds give tell clusters apart."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    whole = re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")
    part = whole[-room:]
    if len(part) < len(whole) and "-" in part[: room // 2]:
        part = part.partition("-")[2]
    return part.strip("-")
