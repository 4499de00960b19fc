"""A small issuer of OpenID Connect: real HTTP, real RS256 keys, and what a test lets it do wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

__all__ = ["CLIENT", "SECRET", "Issuer", "issuer"]

CLIENT = "explorer"
SECRET = "client:secret/of the tests"


@dataclass
class Issuer:
    """The issuer, as a test changes it.

    Attributes:
        url: Its URL, which its tokens name.
        claims: Claims of the person who signs in.
        changes: Claims that replace those that would be right; None leaves one out.
        is_down: It answers every request as in ``down``: a status and the content.
        refuses: The error that it answers a person or a client with.
        key, kid: What it signs with; the published keys are in ``published``.
        algorithm: The signature that its tokens have, whatever it publishes.
        refreshed: How often a session was renewed.
    """

    url: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "1", "preferred_username": "ana"})
    changes: dict[str, Any] = field(default_factory=dict)
    is_down: bool = False
    down: tuple[int, dict[str, Any]] = (503, {})
    refuses: str = ""
    key: Any = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    kid: str = "one"
    published: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    lasts: float = 300
    refreshed: int = 0
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)

    def metadata(self) -> dict[str, Any]:
        """What it says of itself."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/end",
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }

    def keys(self) -> dict[str, Any]:
        """Its public keys."""
        published = self.published or {self.kid: self.key.public_key()}
        made = ((kid, jwt.algorithms.RSAAlgorithm.to_jwk(key, as_dict=True)) for kid, key in published.items())
        return {"keys": [{**key, "kid": kid, "use": "sig"} for kid, key in made]}

    def code(self, asked: dict[str, str]) -> str:
        """A code for what a person was sent with."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return code

    def token(self, nonce: str | None) -> str:
        """An ID token."""
        now = time.time()
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + self.lasts, **self.claims}
        claims |= {"nonce": nonce} if nonce is not None else {}
        claims = {name: value for name, value in (claims | self.changes).items() if value is not None}
        key: Any = self.key
        if self.algorithm == "none":
            key = None
        elif self.algorithm.startswith("HS"):
            # The attack on programs that take a public key for a shared secret.
            key = hashlib.sha256(b"anything").hexdigest()
        return jwt.encode(claims, key, algorithm=self.algorithm, headers={"kid": self.kid})

    def tokens(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """The answer of its token endpoint (RFC 6749, sections 4.1.3 and 6; RFC 7636, section 4.6)."""
        expected = base64.b64encode(f"{CLIENT}:{urlencode({'': SECRET})[1:]}".encode()).decode()
        if self.refuses or authorization != f"Basic {expected}":
            return 400, {"error": self.refuses or "invalid_client"}
        if form.get("grant_type") == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return 400, {"error": "invalid_grant"}
            self.refreshed += 1
            return 200, {"id_token": self.token(None), "expires_in": self.lasts}
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proved = asked and base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() == asked["code_challenge"]
        if asked is None or not proved or form.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        refresh = secrets.token_urlsafe(16)
        self.refresh_tokens.add(refresh)
        return 200, {"id_token": self.token(asked["nonce"]), "refresh_token": refresh, "expires_in": self.lasts}


@contextmanager
def issuer() -> Iterator[Issuer]:
    """Run an issuer on this machine."""
    made = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path, asked = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            values = {name: texts[0] for name, texts in asked.items()}
            if made.is_down:
                self._answer(*made.down)
            elif path == "/.well-known/openid-configuration":
                self._answer(200, made.metadata())
            elif path == "/keys":
                self._answer(200, made.keys())
            elif path == "/authorize":
                answer = {"error": made.refuses} if made.refuses else {"code": made.code(values)}
                self.send_response(302)
                self.send_header(
                    "Location", f"{values['redirect_uri']}?{urlencode(answer | {'state': values['state']})}"
                )
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._answer(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: texts[0] for name, texts in parse_qs(body).items()}
            if made.is_down:
                self._answer(*made.down)
            else:
                self._answer(*made.tokens(form, self.headers.get("Authorization", "")))

        def _answer(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
