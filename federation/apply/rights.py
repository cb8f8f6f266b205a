"""Who a bearer token belongs to, and what that user may do in a namespace, as the cluster itself says.

TokenReview tells the user, SubjectAccessReview asks RBAC about a resource of ours (`placements.prewarm.dev`) that needs
not exist, so that rights over the service are granted by ordinary roles. Answers are kept for seconds, by the digest of
the token; a review that cannot be had is an error and never a yes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from federation.labels import DOMAIN
from federation.members.api import Api

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
RESOURCE = "placements"
READ, WRITE = "get", "update"
"""Verbs on the resource: to read and to write what concerns a namespace."""


@dataclass(frozen=True, slots=True)
class User:
    """Who a token belongs to, as the cluster sees it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """RBAC's answer with its reason."""

    yes: bool
    why: str = ""


class _Kept(Generic[Key, Value]):
    """Answers by question, for `ttl_s`, at most `most`; the oldest makes way."""

    def __init__(self, ttl_s: float, most: int) -> None:
        self._ttl_s, self._most = ttl_s, most
        self._answers: dict[Key, tuple[float, Value]] = {}

    def find(self, key: Key, now: float) -> tuple[Value] | None:
        """The answer in a tuple (None may be one), None where there is none that is fresh."""
        kept = self._answers.get(key)
        return (kept[1],) if kept is not None and 0 <= now - kept[0] < self._ttl_s else None

    def keep(self, key: Key, value: Value, now: float) -> None:
        """Remember an answer."""
        self._answers.pop(key, None)
        while len(self._answers) >= self._most:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = (now, value)


class Reviewer:
    """Asks one cluster about tokens and rights. `audiences`: what a token must be made for, if that is required."""

    def __init__(
        self,
        api: Api,
        clock: Callable[[], float],
        *,
        ttl_s: float = 10.0,
        most: int = 4_096,
        audiences: tuple[str, ...] = (),
    ) -> None:
        self._api = api
        self._clock = clock
        self._audiences = audiences
        self._users: _Kept[str, User | None] = _Kept(ttl_s, most)
        self._rights: _Kept[tuple[User, str, str], Allowed] = _Kept(ttl_s, most)

    async def user_of(self, token: str) -> User | None:
        """The user of a token, None where the cluster does not know it. MemberError where it cannot be asked."""
        digest, now = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest(), self._clock()
        if kept := self._users.find(digest, now):
            return kept[0]
        spec = {"token": token} | ({"audiences": list(self._audiences)} if self._audiences else {})
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        status = (await self._api.call("POST", TOKEN_REVIEWS, body=body)).get("status") or {}
        user = self._accepted(status)
        self._users.keep(digest, user, now)
        return user

    def _accepted(self, status: dict[str, object]) -> User | None:
        told = status.get("user")
        if status.get("authenticated") is not True or not isinstance(told, dict) or not told.get("username"):
            return None
        got = status.get("audiences")
        if self._audiences and not set(self._audiences) & set(got if isinstance(got, list) else ()):
            return None  # an authenticator that knows no audiences has not checked them
        extra = tuple(sorted((name, tuple(values)) for name, values in (told.get("extra") or {}).items()))
        return User(told["username"], told.get("uid", ""), tuple(told.get("groups") or ()), extra)

    async def allows(self, user: User, verb: str, namespace: str) -> Allowed:
        """Whether `user` may read (`READ`) or write (`WRITE`) in a namespace; the empty one stands for all of them."""
        now = self._clock()
        if kept := self._rights.find((user, verb, namespace), now):
            return kept[0]
        asked = {"group": DOMAIN, "resource": RESOURCE, "verb": verb} | ({"namespace": namespace} if namespace else {})
        extra = {name: list(values) for name, values in user.extra}
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": extra,
            "resourceAttributes": asked,
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = (await self._api.call("POST", ACCESS_REVIEWS, body=body)).get("status") or {}
        answer = Allowed(
            status.get("allowed") is True and status.get("denied") is not True, str(status.get("reason", ""))
        )
        self._rights.keep((user, verb, namespace), answer, now)
        return answer
