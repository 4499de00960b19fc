"""Roles and tables as the configuration names them, resolved to rights and places.

Names are those of tables, of folders of tables, or of roots. They are resolved once, links and all, and compared as
places: a link or a second root leads to no other table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from explorer.core.errors import RequestError
from explorer.rights import ROLES, Grant, Place, Roles
from explorer.storage.roots import is_url
from explorer.storage.served_root import parts_of, store_digest
from explorer.storage.served_roots import ServedRoots, TableRef, named_place


@dataclass(frozen=True, slots=True)
class GivenRole:
    """A role as the configuration gives it.

    Attributes:
        role: One of `explorer.rights.ROLES`.
        people, groups: Who has it.
        tables: Names of tables, folders, or roots; empty for all.
    """

    role: str
    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def resolved_roles(given: Sequence[GivenRole], roots: ServedRoots, contact: str = "") -> Roles | None:
    """Return the roles with the places of their tables; None if there are no roles.

    Raises:
        RequestError: A role is not known, is given to nobody, or on a table outside the served roots.
    """
    return Roles(tuple(_grant(number, role, roots) for number, role in enumerate(given, 1)), contact) if given else None


def _grant(number: int, given: GivenRole, roots: ServedRoots) -> Grant:
    field = f"roles[{number}]"
    if given.role not in ROLES:
        near = get_close_matches(given.role, ROLES, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(ROLES)}."
        message = f"{field}.role: {given.role!r} is not a role. {hint}"
        raise RequestError(message, field=field, allowed=tuple(ROLES), nearest=near or None)
    if not any(name.strip() for name in (*given.people, *given.groups)):
        raise RequestError(f'{field} is given to nobody. Add people = ["ana"] or groups = ["sales"].', field=field)
    places = tuple(place_of(named_place(name, roots, f"{field}.tables")) for name in given.tables)
    people, groups = (frozenset(name for name in names if name.strip()) for names in (given.people, given.groups))
    return Grant(given.role, people, groups, places) if given.tables else Grant(given.role, people, groups)


def place_of(ref: TableRef) -> Place:
    """Return where a table is."""
    return place_at(ref.location, ref.storage_options)


def place_at(location: str, options: object) -> Place:
    """Return a location as a place: a URL alone may be of two servers, which differ in their options."""
    return (store_digest(options) if is_url(location) else "", *parts_of(location))
