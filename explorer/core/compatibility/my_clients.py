"""Your clients: a TOML file names them, and they come before all others.

    [[client]]
    name = "Trino"           # a client that facts are known of
    version = "2024-08"      # a release, as people write it; may be left out where one version is known
    role = "reader"          # reader, writer or both (default: both)
    owner = "finance"        # contact; free text
    note = "monthly reports"

Invariants: a client, a version or a key that is not known is refused, with those that come close.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, Literal, get_args

import msgspec

from explorer.core.compatibility.client_facts import ClientFacts, Operation
from explorer.core.compatibility.releases import WriterSeen, client_named, known_release
from explorer.core.errors import RequestError
from explorer.core.protocol.limits import check_dotted_names

Role = Literal["reader", "writer", "both"]
_ROLES: Final[tuple[Role, ...]] = get_args(Role)
_OPERATIONS: Final[dict[Role, tuple[Operation, ...]]] = {
    "reader": ("read",),
    "writer": ("write",),
    "both": ("read", "write"),
}
_KEYS: Final = ("name", "version", "role", "owner", "note")
_MOST: Final = 1_000


class MyClient(msgspec.Struct, frozen=True, rename="camel"):
    """A client in use.

    Attributes:
        client: Its name among the facts; of a writer that these do not know, what it calls itself.
        version: Its version as it was given.
        version_from: The known version whose facts hold for it; None if nothing is known of it.
        role: What it does with the table.
        owner, note: As given; empty if not.
        seen: True if no file names it, and it wrote the table.
    """

    client: str
    version: str
    version_from: str | None
    role: Role = "both"
    owner: str = ""
    note: str = ""
    seen: bool = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What it does, as the facts call it."""
        return _OPERATIONS[self.role]

    @property
    def called(self) -> str:
        """Its name and version for people."""
        return f"{self.client} {self.version}".rstrip()


def parse_my_clients(data: bytes, facts: ClientFacts) -> tuple[MyClient, ...]:
    """Read the file.

    Raises:
        RequestError: It is not TOML, lacks something, or names a client, a version, a role or a key that is not known.
    """
    try:
        check_dotted_names("The clients' file", text := data.decode())
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RequestError(f"The clients' file is not TOML: {error}.", expected="[[client]]") from error
    entries = document.get("client")
    if not isinstance(entries, list) or set(document) != {"client"} or len(entries) > _MOST:
        raise RequestError(
            "The clients' file may contain only [[client]] tables, up to 1,000, each with a name and a version.",
            expected="[[client]]",
            found=sorted(document)[:_MOST],
        )
    return tuple(_client(entry, place, facts) for place, entry in enumerate(entries, 1))


def with_writers(mine: Iterable[MyClient], seen: Iterable[WriterSeen]) -> tuple[MyClient, ...]:
    """Add the clients that wrote the table and that no file names."""
    named = tuple(mine)
    known = {(each.client, each.version_from) for each in named if "write" in each.operations}
    unnamed: dict[tuple[str, str | None], MyClient] = {}
    for writer in seen:
        key = (writer.client or writer.engine_info, writer.version_from)
        if key not in known:
            version = writer.version if writer.client is not None else ""
            unnamed.setdefault(key, MyClient(key[0], version, writer.version_from, "writer", seen=True))
    return (*named, *unnamed.values())


def _client(entry: object, place: int, facts: ClientFacts) -> MyClient:
    field = f"client[{place}]"
    if not isinstance(entry, Mapping):
        raise RequestError(f"{field} is not a table.", field=field, expected="[[client]]")
    for key, value in entry.items():
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1)
            raise RequestError(
                f"{field} has a key {key!r}, which is not one of {', '.join(_KEYS)}.",
                field=f"{field}.{key}",
                allowed=list(_KEYS),
                nearest=near[0] if near else None,
            )
        if not isinstance(value, str):
            raise RequestError(f"{field}.{key} is not text.", field=f"{field}.{key}", found=str(value), expected="text")
    if not entry.get("name"):
        raise RequestError(f"{field} has no name.", field=f"{field}.name", expected="the name of a client")
    name, version, role = entry["name"], entry.get("version"), entry.get("role", "both")
    if role not in _ROLES:
        raise RequestError(
            f"{field} has the role {role!r}; it is reader, writer or both.",
            field=f"{field}.role",
            found=role,
            allowed=list(_ROLES),
        )
    client = client_named(name, facts, f"{field}.name")
    release = known_release(client, version, facts, f"{field}.version")
    return MyClient(client, version or release, release, role, entry.get("owner", ""), entry.get("note", ""))
