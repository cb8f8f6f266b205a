"""Access to one member: headers and TLS contexts that are valid now, from whatever its kubeconfig says.

Certificates are looked at again every few seconds; a file that is half written, gone or does not fit its key leaves the
last good context in use and a line in the log, since rotation is never one step on a disk.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import Mapping

from multidict import CIMultiDict, CIMultiDictProxy

from federation.kubeconfig.access import MemberError, MemberSpec
from federation.kubeconfig.credentials import plugin
from federation.kubeconfig.credentials.plugin import Credential
from federation.kubeconfig.credentials.sources import Fixed, Now, PluginSource, Source, TokenFile
from federation.kubeconfig.credentials.tls import Pair, Stamp, context, stamp
from federation.kubeconfig.login import Endpoint, Login, Pem, PluginLimits
from prewarm.domain import PrewarmError

LOOK_S = 10.0
"""How long certificate files are trusted not to have changed."""
log = logging.getLogger("federation.kubeconfig")


class Session:
    """The `Access` of a member that a kubeconfig, a ClusterProfile or the pod's own account describes."""

    def __init__(self, spec: MemberSpec, endpoint: Endpoint, login: Login, *, limits: PluginLimits, now: Now) -> None:
        self.spec = spec
        self._endpoint, self._login, self._now = endpoint, login, now
        self._source = _source(endpoint, login, limits, now)
        self._tls: ssl.SSLContext | None = None
        self._tls_from: tuple[Stamp, Pair | None] | None = None
        self._looked_at: float | None = None
        self._building = asyncio.Lock()

    def __repr__(self) -> str:
        return f"Session({self.spec.id!r})"

    async def headers(self) -> Mapping[str, str]:
        """Authorization and impersonation headers that are valid now, as a multidict. MemberError."""
        credential = await self._credential()
        found = CIMultiDict(self._login.impersonation)
        if credential.token:
            found["Authorization"] = f"Bearer {credential.token}"
        elif self._login.basic:
            pair = ":".join(self._login.basic).encode()
            found["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return CIMultiDictProxy(found)

    async def tls(self) -> ssl.SSLContext | None:
        """The context of a connection made now; None for plain http. MemberError."""
        if not self._endpoint.encrypted:
            return None
        pair = self._pair(await self._credential())
        async with self._building:
            if self._is_due() or self._tls_from is None or self._tls_from[1] != pair:
                await self._build(pair)
            return self._tls

    async def renew(self) -> bool:
        """After a 401: get other credentials at once; False where there are none to get."""
        try:
            renewed = await self._source.renew()
            if self._login.certificate is None:
                return renewed
            before, self._looked_at = self._tls, None
            return await self.tls() is not before or renewed
        except PrewarmError:
            return False  # the next call of headers or tls says why

    async def _credential(self) -> Credential:
        try:
            return await self._source.current()
        except PrewarmError as error:
            raise MemberError(self.spec.id, str(error)) from None

    def _pair(self, credential: Credential) -> Pair | None:
        if credential.certificate is not None:
            place = "the exec plug-in's certificate"
            return Pem(place, credential.certificate), Pem("its key", credential.key)
        if self._login.certificate and self._login.key:
            return self._login.certificate, self._login.key
        return None

    def _is_due(self) -> bool:
        return self._looked_at is None or not 0 <= self._now() - self._looked_at < LOOK_S

    async def _build(self, pair: Pair | None) -> None:
        """A new context where anything it is made of has changed."""
        seen = await asyncio.to_thread(stamp, self._endpoint, pair)
        self._looked_at = self._now()
        if self._tls_from == (seen, pair):
            return
        try:
            self._tls = await asyncio.to_thread(context, self._endpoint, pair)
        except PrewarmError as error:
            if self._tls is None or self._tls_from is None or self._tls_from[1] != pair:
                raise MemberError(self.spec.id, str(error)) from None
            log.warning("%s: keeps its certificates of before: %s", self.spec.id, error)
        else:
            self._tls_from = (seen, pair)


def _source(endpoint: Endpoint, login: Login, limits: PluginLimits, now: Now) -> Source:
    if login.token_file:
        return TokenFile(login.token_file, login.token, now)
    if login.token or not login.plugin:
        return Fixed(Credential(login.token))
    program = login.plugin
    return PluginSource(lambda: plugin.run(program, endpoint, limits), now)
