"""Where a member's credential comes from: fixed, a file that is read again, or a plug-in that is run again.

A plug-in runs at most once at a time however many requests wait for it, in a task of its own, so that a request that
gives up does not end the run that the others (and the next one) need. After a failure it rests, longer each time; what
it failed with is the answer meanwhile. Times are seconds since the epoch by the `now` that is handed in.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from federation.kubeconfig.credentials.plugin import Credential, PluginError
from prewarm.domain import PrewarmError

REREAD_S = 60.0
"""How long a token from a file is used before the file is read again."""
EARLY_S, EARLY_SHARE = 10.0, 0.05
"""A credential is renewed this long, or this share of its life, before its end; whichever is less."""
SETTLE_S = 5.0
"""A request refused this soon after a renewal is taken to have carried the credential before it."""
REST_S, LONGEST_REST_S = 1.0, 60.0
"""After a failed run the plug-in rests so long; doubled with every further one, up to the second."""

Now = Callable[[], float]


class Source(Protocol):
    """Gives credentials that are valid now."""

    async def current(self) -> Credential:
        """The credential to send now. PrewarmError."""
        ...

    async def renew(self) -> bool:
        """After a refusal: whether there is another one now."""
        ...


class Fixed:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """The one there is."""
        return self._credential

    async def renew(self) -> bool:
        """There is no other."""
        return False


class TokenFile:
    """A token in a file, as a cluster keeps fresh for its pods; `token` stands in while the file was never readable."""

    def __init__(self, path: Path, token: str | None, now: Now) -> None:
        self._path, self._token, self._now = path, token, now
        self._read_at: float | None = None

    async def current(self) -> Credential:
        """The file's token, at most `REREAD_S` old; the last one while the file cannot be read. PrewarmError."""
        if self._read_at is None or not 0 <= self._now() - self._read_at < REREAD_S:
            await self._read()
        return Credential(self._token)

    async def renew(self) -> bool:
        """Whether the file holds another token by now."""
        before = self._token
        await self._read()
        return self._token != before

    async def _read(self) -> None:
        try:
            text = (await asyncio.to_thread(self._path.read_text)).strip()
        except (OSError, UnicodeDecodeError) as error:
            text, why = "", getattr(error, "strerror", None) or "is not text"
        else:
            why = "is empty"
        if text and not re.search(r"[\x00-\x20\x7f]", text):
            self._token = text
        elif self._token is None:
            raise PrewarmError(f"tokenFile {self._path}: {'holds spaces or line breaks' if text else why}")
        self._read_at = self._now()


class PluginSource:
    """A plug-in's credential, kept until shortly before its end."""

    def __init__(self, run: Callable[[], Awaitable[Credential]], now: Now) -> None:
        self._run, self._now = run, now
        self._held: Credential | None = None
        self._renew_from = 0.0
        self._failure: PluginError | None = None
        self._rest_s, self._rests_until = REST_S, float("-inf")
        self._forced_at, self._forced_rest_s = float("-inf"), SETTLE_S
        self._task: asyncio.Task[None] | None = None

    async def current(self) -> Credential:
        """A credential that has not ended; runs the plug-in where needed. PluginError."""
        if self._held is None or self._now() >= self._renew_from:
            await self._refresh()
        held = self._held
        if held is not None and (held.expires_at is None or self._now() < held.expires_at):
            return held
        raise self._failure or PluginError("the credential has ended")

    async def renew(self) -> bool:
        """One run for all requests that were refused together; True where it gave another credential.

        A server that refuses every credential does not make the plug-in run for each request: runs asked for in this
        way keep a distance that grows up to `LONGEST_REST_S`.
        """
        since_s = self._now() - self._forced_at
        if self._task is None and 0 <= since_s < self._forced_rest_s:
            return since_s < SETTLE_S and self._held is not None
        before = self._held
        if self._task is None:
            calm = since_s > 2 * LONGEST_REST_S
            self._forced_rest_s = SETTLE_S if calm else min(2 * self._forced_rest_s, LONGEST_REST_S)
            self._forced_at = self._now()
            self._held = None
        await self._refresh()
        return self._held is not None and self._held != before

    async def _refresh(self) -> None:
        if self._task is None:
            if self._now() < self._rests_until:
                return
            self._task = asyncio.create_task(self._fetch(), name="exec plug-in")
        await asyncio.shield(self._task)

    async def _fetch(self) -> None:
        began = self._now()
        try:
            self._accept(await self._run(), began)
        except PluginError as error:
            self._failure = error
            self._rests_until = self._now() + self._rest_s
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
        finally:
            self._task = None

    def _accept(self, credential: Credential, began: float) -> None:
        end = credential.expires_at
        if end is not None and end <= self._now():
            raise PluginError("the exec plug-in gave a credential that has already ended")
        self._held, self._failure, self._rest_s = credential, None, REST_S
        self._renew_from = float("inf") if end is None else end - min(EARLY_S, EARLY_SHARE * (end - began))
