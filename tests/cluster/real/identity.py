"""Who is who in one cluster: its authority, serving and client certificates, and signed service-account tokens.

Every cluster has an authority of its own, as real fleets have. We hold the key that signs service-account tokens, so
a test can have a token that is about to expire; certificates take any lifetime too.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ISSUER = "https://kubernetes.default.svc"
EXPIRY_LEEWAY_S = 60
"""The API server takes a token this long after its `exp`."""
_SOME_NAME = "client.invalid"  # without any, the extension for names is empty and critical, and Go refuses it


@dataclass(frozen=True, slots=True)
class ClientPair:
    """A client certificate with its chain, and its key, both PEM."""

    certificate: bytes
    key: bytes


class Identity:
    """One cluster's authority and keys, with what the API server reads of them written under `folder`."""

    def __init__(self, folder: Path) -> None:
        """Make all keys and write ca.crt, serving.{crt,key}, front-{ca.crt,client.crt,client.key}, sa.{key,pub}."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._ca = trustme.CA(organization_name="prewarm-tests")
        self._sa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ca_file = self._write("ca.crt", self._ca.cert_pem.bytes())
        self.ca_pem: bytes = self._ca.cert_pem.bytes()
        self._write_pair("serving", _pair(self._ca.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc")))
        front = trustme.CA(organization_name="prewarm-tests-front-proxy")
        self._write("front-ca.crt", front.cert_pem.bytes())
        self._write_pair("front-client", _pair(front.issue_cert(_SOME_NAME, common_name="front-proxy-client")))
        self._write("sa.key", _private_pem(self._sa_key))
        public = self._sa_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._write("sa.pub", public)

    def client_pair(self, user: str, group: str | None = None, *, expires_at: float | None = None) -> ClientPair:
        """A certificate that the API server reads as `user` in `group` (system:masters may do everything)."""
        not_after = None if expires_at is None else datetime.fromtimestamp(expires_at, UTC)
        leaf = self._ca.issue_cert(_SOME_NAME, common_name=user, organization_name=group or user, not_after=not_after)
        return _pair(leaf)

    def account_token(self, namespace: str, name: str, uid: str, *, now: float, valid_s: float) -> str:
        """A signed token of the service account `uid` that the API server refuses `valid_s` after `now`.

        The account must exist. Answers to a token are cached by the API server for up to 10 s, so a token that was just
        used can live that much longer.
        """
        claims = {
            "iss": ISSUER,
            "aud": [ISSUER],
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "iat": int(now) - 3600,
            "nbf": int(now) - 3600,
            "exp": int(now + valid_s - EXPIRY_LEEWAY_S),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
        }
        signed = f"{_b64({'alg': 'RS256', 'typ': 'JWT'})}.{_b64(claims)}"
        signature = self._sa_key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path

    def _write_pair(self, name: str, pair: ClientPair) -> None:
        self._write(f"{name}.crt", pair.certificate)
        self._write(f"{name}.key", pair.key)


def _pair(leaf: trustme.LeafCert) -> ClientPair:
    return ClientPair(b"".join(blob.bytes() for blob in leaf.cert_chain_pems), leaf.private_key_pem.bytes())


def _private_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _b64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=").decode()
