"""Addresses of catalogs, schemas and tables: ``uc://catalog.schema.table``."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from explorer.core.errors import RequestError
from explorer.storage.roots import CATALOG_SCHEME, check_plain

# A part is plain, or in backticks, where two of them stand for one.
_PART: Final = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^.`]+)")
# What no name of a catalog contains: its own rules forbid these, and they would lead to other calls of the API.
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f/\\?#%]")


class CatalogAddress(msgspec.Struct, frozen=True):
    """The address of a catalog server, a catalog, a schema, or a table.

    Attributes:
        parts: Catalog, schema and table, as many as are given.
    """

    parts: tuple[str, ...]

    @property
    def catalog(self) -> str:
        """The name of the catalog."""
        return self.parts[0]

    @property
    def schema(self) -> str:
        """The name of the schema."""
        return self.parts[1]

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.parts[2]

    @property
    def name(self) -> str:
        """The parts with dots between them; those with a dot or a backtick are in backticks."""
        return ".".join(map(_quoted, self.parts))

    @property
    def url(self) -> str:
        """The address as text."""
        return f"{CATALOG_SCHEME}{self.name}"

    def child(self, name: str) -> CatalogAddress:
        """Return the address of a part below."""
        return CatalogAddress((*self.parts, name))


def parse_address(location: str) -> CatalogAddress:
    """Read an address of any depth.

    Raises:
        RequestError: It is not one.
    """
    parts = parse_parts(location, CATALOG_SCHEME)
    if len(parts) > 3:
        raise _invalid(location)
    return CatalogAddress(parts)


def parse_parts(location: str, scheme: str) -> tuple[str, ...]:
    """Read the names in an address, which are separated by dots.

    Args:
        location: The address.
        scheme: How it begins.

    Raises:
        RequestError: It is not one.
    """
    check_plain(location)
    rest = location[len(scheme) :].rstrip("/")
    parts: list[str] = []
    position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or (part.end() < len(rest) and rest[part.end()] != ".") or part.end() + 1 == len(rest):
            raise _invalid(location)
        parts.append(part["plain"] or part["quoted"].replace("``", "`"))
        position = part.end() + 1
    if not all(map(is_name, parts)):
        raise _invalid(location)
    return tuple(parts)


def is_name(text: str) -> bool:
    """Return whether a text can be a part of an address."""
    return text not in {"", ".", ".."} and _FORBIDDEN.search(text) is None


def parse_table(location: str) -> CatalogAddress:
    """Read the address of a table.

    Raises:
        RequestError: It is not one.
    """
    address = parse_address(location)
    if len(address.parts) != 3:
        raise _invalid(location)
    return address


def _quoted(part: str) -> str:
    return f"`{part.replace('`', '``')}`" if "." in part or "`" in part else part


def _invalid(location: str) -> RequestError:
    return RequestError(
        f"{location!r} is not the address of a table in a catalog. Write uc://CATALOG.SCHEMA.TABLE, or "
        "glue://DATABASE.TABLE, with backticks around a name that contains a dot.",
        location=location,
        field="location",
    )
