"""Keycloak, a real issuer of OpenID Connect, in a process of its own with a realm of the tests.

It is Keycloak's own distribution, whose folder KEYCLOAK_HOME names, or whose ``kc.sh`` is on the path. It is copied, as
it writes into its folder when it starts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from tests.support.pages.ports import free_port

__all__ = ["KEYCLOAK", "NO_KEYCLOAK", "REALM", "Keycloak", "keycloak", "password_of"]

_HOME: Final = os.environ.get("KEYCLOAK_HOME")
KEYCLOAK: Final = Path(_HOME) / "bin" / "kc.sh" if _HOME else Path(shutil.which("kc.sh") or "no kc.sh")
NO_KEYCLOAK: Final = (
    "no Keycloak on this machine: KEYCLOAK_HOME names the unpacked folder of its distribution, which is "
    "org.keycloak:keycloak-quarkus-dist, a zip, for Maven"
)
"""Why a test without it is skipped."""
REALM: Final = "lake"
_ADMIN: Final = "keycloak-admin"
_STARTS_IN: Final = 900
"""Seconds: its first start builds it, which takes a minute on a machine without other work."""


def password_of(name: str) -> str:
    """The password of a person of the realm."""
    return f"password of {name}"


@dataclass
class Keycloak:
    """One Keycloak, with what an administrator does with it.

    Attributes:
        folder: Its copy.
        port: Where it listens.
        log: What it says.
    """

    folder: Path
    port: int
    log: Path
    _process: subprocess.Popen[bytes] | None = None
    _http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(timeout=120, retries=False))

    @property
    def issuer(self) -> str:
        """The URL of the realm of the tests."""
        return f"http://127.0.0.1:{self.port}/realms/{REALM}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        listen = ["--http-host=127.0.0.1", f"--http-port={self.port}"]
        environment = {
            **os.environ,
            "KC_BOOTSTRAP_ADMIN_USERNAME": _ADMIN,
            "KC_BOOTSTRAP_ADMIN_PASSWORD": password_of(_ADMIN),
            "JAVA_OPTS_KC_HEAP": "-Xms128m -Xmx640m",
        }
        command = [str(self.folder / "bin" / "kc.sh"), "start-dev", *listen]
        with self.log.open("ab") as log:
            # A session of its own: its script starts other processes.
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        ends = time.monotonic() + _STARTS_IN
        while not self._answers():
            assert self._process.poll() is None, self.log.read_text("utf-8")
            assert time.monotonic() < ends, self.log.read_text("utf-8")
            time.sleep(0.5)

    def stop(self) -> None:
        """End it; what it keeps, it keeps on the disk."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(120)
            self._process = None

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let it take connections meanwhile, and answer nothing."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._process.pid, signal.SIGCONT)

    def admin(self, method: str, path: str, content: object = None) -> Any:
        """Send a request of an administrator to the realm; return its answer."""
        form = {"client_id": "admin-cli", "grant_type": "password", "username": _ADMIN}
        token = self._sent(
            "POST",
            "/realms/master/protocol/openid-connect/token",
            urlencode(form | {"password": password_of(_ADMIN)}),
            {"Content-Type": "application/x-www-form-urlencoded"},
        )["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return self._sent(method, f"/admin/realms{path}", None if content is None else json.dumps(content), headers)

    def make_realm(self, client: Mapping[str, Any], people: Mapping[str, Sequence[str]]) -> None:
        """Make the realm.

        Args:
            client: The client, with at least its ``clientId``.
            people: The groups of each person.
        """
        groups = sorted({group for each in people.values() for group in each})
        self.admin(
            "POST",
            "",
            {
                "realm": REALM,
                "enabled": True,
                # A session is renewed after 80 % of this.
                "accessTokenLifespan": 40,
                # A refresh token counts once.
                "revokeRefreshToken": True,
                "refreshTokenMaxReuse": 0,
                "groups": [{"name": group} for group in groups],
                "users": [_person(name, each) for name, each in people.items()],
                "clients": [dict(client)],
            },
        )

    def person(self, name: str) -> str:
        """The path of a person."""
        (found,) = self.admin("GET", f"/{REALM}/users?{urlencode({'username': name, 'exact': 'true'})}")
        return f"/{REALM}/users/{found['id']}"

    def group(self, name: str) -> str:
        """The ID of a group."""
        return next(each["id"] for each in self.admin("GET", f"/{REALM}/groups") if each["name"] == name)

    def client(self, client_id: str) -> str:
        """The path of a client."""
        (found,) = self.admin("GET", f"/{REALM}/clients?{urlencode({'clientId': client_id})}")
        return f"/{REALM}/clients/{found['id']}"

    def change_client(self, client_id: str, **changes: Any) -> None:
        """Change settings of a client; of its attributes, those that are named."""
        path = self.client(client_id)
        now = self.admin("GET", path)
        changes["attributes"] = now["attributes"] | changes.get("attributes", {})
        self.admin("PUT", path, now | changes)

    def _answers(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self.port}/realms/master/.well-known/openid-configuration"
            return self._http.request("GET", url, timeout=10).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _sent(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:
        answer = self._http.request(method, f"http://127.0.0.1:{self.port}{path}", body=body, headers=headers)
        assert answer.status < 300, (method, path, answer.status, answer.data[:500])
        return json.loads(answer.data) if answer.data else None


def _person(name: str, groups: Sequence[str]) -> dict[str, Any]:
    return {
        "username": name,
        "enabled": True,
        "firstName": name.title(),
        "lastName": "Test",
        "email": f"{name}@example.org",
        "emailVerified": True,
        "groups": [f"/{group}" for group in groups],
        "credentials": [{"type": "password", "value": password_of(name), "temporary": False}],
    }


@contextmanager
def keycloak(folder: Path) -> Iterator[Keycloak]:
    """Run a Keycloak in a folder, which does not exist yet."""
    shutil.copytree(KEYCLOAK.resolve().parent.parent, folder, ignore=shutil.ignore_patterns("data"))
    made = Keycloak(folder, free_port(), folder / "said.log")
    try:
        made.start()
        yield made
    finally:
        made.stop()
