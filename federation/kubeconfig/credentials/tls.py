"""TLS as Go does it, from the certificates of one way in; built off the event loop and kept until a file changes.

Python differs from Go where certificates of clusters are concerned: newer versions refuse authorities without key
identifiers, and OpenSSL wants a self-signed root where Go trusts whatever certificate it was given. Both are set Go's
way. Client keys reach OpenSSL through memory that has no name in the file system where the system has such.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from federation.kubeconfig.login import Endpoint, Pem
from prewarm.domain import PrewarmError

Stamp = tuple[bytes | None, ...]
Pair = tuple[Pem, Pem]


def stamp(endpoint: Endpoint, pair: Pair | None) -> Stamp:
    """What changes when the content of a file does; None for one that cannot be read. Reads files.

    Contents and not times, which are too coarse for a rotation of several steps.
    """
    pems = (endpoint.ca, *(pair or ()))
    return tuple(_stamp(pem.path) for pem in pems if pem and pem.data is None and pem.path)


def context(endpoint: Endpoint, pair: Pair | None) -> ssl.SSLContext:
    """A client's context; reads files and takes milliseconds. PrewarmError names the file or field at fault."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if endpoint.insecure else _checking(endpoint.ca)
    if endpoint.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    made.set_alpn_protocols(["http/1.1"])
    if pair is not None:
        _present(made, *pair)
    return made


def _checking(authority: Pem | None) -> ssl.SSLContext:
    if authority is None:
        return ssl.create_default_context()
    data = _read(authority)
    try:
        made = ssl.create_default_context(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise PrewarmError(f"{authority.place}: is not a certificate in PEM") from None
    made.verify_flags = (made.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN) & ~ssl.VERIFY_X509_STRICT
    return made


def _present(made: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    with _named(_read(certificate)) as certificate_file, _named(_read(key)) as key_file:
        try:
            made.load_cert_chain(certificate_file, key_file, password=_no_password)
        except (ssl.SSLError, OSError, ValueError, PrewarmError) as error:
            why = getattr(error, "reason", None) or "not readable"
            raise PrewarmError(f"{certificate.place}, {key.place}: no pair of certificate and key ({why})") from None


def _no_password() -> str:
    """OpenSSL would ask for it on the terminal."""
    raise PrewarmError("the key is encrypted")


def _read(pem: Pem) -> bytes:
    try:
        return pem.read()
    except OSError as error:
        raise PrewarmError(f"{pem.place}: {error.strerror}") from None


@contextmanager
def _named(data: bytes) -> Iterator[str]:
    """A path under which `data` can be opened, by us only."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("pem", os.MFD_CLOEXEC), "wb", buffering=0) as file:  # noqa: PTH123  a descriptor
            file.write(data)
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as named:
            named.write(data)
            named.flush()
            yield named.name


def _stamp(path: Path) -> bytes | None:
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return None
