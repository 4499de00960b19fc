"""A root as it is given: its place, the name that addresses use, the options of its store; and what is inside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from explorer.storage.credential_provider import sendable_options
from explorer.storage.roots import folder_of, is_url, meant_by
from explorer.storage.schemes import known_scheme


@dataclass(frozen=True, slots=True)
class ServedRoot:
    """A table, or a place that holds tables.

    Attributes:
        place: A folder, or a URL with one of the schemes of `explorer.storage.schemes`.
        name: What its tables' names begin with; empty takes the last part of the place.
        storage_options: Options of its store. They may hold secrets, so they are in no text and in no comparison.
    """

    place: str
    name: str = ""
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """The same for the same place of the same store: an address alone may be of two servers. It holds secrets."""
        return self.place, repr(sorted(self.storage_options.items()))


GivenRoot: TypeAlias = str | os.PathLike[str] | ServedRoot
"""A root, or its place alone."""
GivenRoots: TypeAlias = Sequence[GivenRoot] | GivenRoot
"""Roots, or one of them."""


def given_roots(roots: GivenRoots, storage_options: Mapping[str, Any] | None = None) -> list[ServedRoot]:
    """Return each of the roots as a record, also where one alone is given.

    Args:
        roots: The roots.
        storage_options: Of those that are given as a place alone.
    """
    given = [roots] if isinstance(roots, str | os.PathLike | ServedRoot) else roots
    options = sendable_options(storage_options)
    return [
        replace(root, storage_options=sendable_options(root.storage_options))
        if isinstance(root, ServedRoot)
        else ServedRoot(os.fspath(root), storage_options=options)
        for root in given
    ]


def parts_of(place: str) -> tuple[str, ...]:
    """Return the storage of a place and the parts of its path: a place is inside another if it begins with its parts.

    However a place is spelled, its parts are the same; links of this machine are not followed.

    Raises:
        RequestError: It names no place.
    """
    if not is_url(place):
        return ("file", *os.path.abspath(os.path.expanduser(folder_of(place))).split(os.sep)[1:])
    scheme, _, path = meant_by(place).partition("://")
    storage = known_scheme(place)
    if storage is None:
        return (scheme.lower(), *filter(None, re.split("[./]", path)))  # an address in a catalog
    return (storage.environment or storage.name, *filter(None, path.split("/")))
