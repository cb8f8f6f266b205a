"""SOCKS5 with the name that the certificate is to be checked against, which aiohttp-socks drops (0.12).

Loaded only where a member has such a proxy. Like the class it extends it stands on a method of aiohttp that is not
public; test_transport.py tells when that changes.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from aiohttp import ClientConnectorCertificateError, ClientRequest, ClientTimeout
from aiohttp.client_proto import ResponseHandler
from aiohttp_socks import ProxyConnector
from python_socks.async_.asyncio import Proxy


class SocksConnector(ProxyConnector):
    """Connects through the proxy, which resolves the name, and speaks TLS inside."""

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: list[Any], req: ClientRequest, **kwargs: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        wait: ClientTimeout = kwargs.pop("timeout")
        kwargs.pop("client_error", None)
        host, port = addr_infos[0][4][:2]
        proxy = Proxy(
            self._proxy_type,
            self._proxy_host,
            self._proxy_port,
            self._proxy_username,
            self._proxy_password,
            rdns=self._rdns,
        )
        connected = await proxy.connect(host, port, timeout=wait.sock_connect)
        try:
            return await asyncio.get_running_loop().create_connection(*args, **kwargs, sock=connected)
        except ssl.CertificateError as error:
            raise ClientConnectorCertificateError(req.connection_key, error) from error
