"""A root as it is given: its place, the name that addresses use, the options of its store; and what is inside it.

What is not given comes from the configuration: the options of a place, its name, and the roots where none are named.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from explorer.configuration.in_force import InForce, in_force, texts_of
from explorer.core.errors import RequestError
from explorer.storage.credential_provider import sendable_options
from explorer.storage.roots import folder_of, is_url, meant_by
from explorer.storage.schemes import known_scheme

if TYPE_CHECKING:
    from explorer.configuration.records import Root


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
        """The same for the same place of the same store: an address alone may be of two servers."""
        return self.place, store_digest(self.storage_options)


def store_digest(options: object) -> str:
    """Return what tells stores apart whose addresses are the same, by their options, without what these hold.

    Args:
        options: The options as a mapping, or as anything whose representation is that of the options.
    """
    entries = sorted(options.items()) if isinstance(options, Mapping) else options
    return hashlib.sha256(repr(entries).encode()).hexdigest()


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


def options_of(location: str) -> dict[str, str]:
    """Return the storage options of a location: those of the root that it is in, or of all other places.

    Those of the command line are over them.

    Raises:
        InvalidConfiguration: As of `in_force`.
        RequestError: It is in several roots, and those of the command line do not say which is meant.
    """
    now = in_force()
    if now.file is None:
        return dict(now.storage_options)
    root = _root_of(location, now)
    return options_of_root(root) if root is not None else _over(now.file.values.storage_options)


def options_of_root(root: Root) -> dict[str, str]:
    """Return the storage options of a root of the configuration, those of the command line over its own."""
    return _over(root.storage_options)


def configured_roots() -> list[ServedRoot]:
    """Return the roots of the configuration; none if there is no file."""
    file = in_force().file
    return (
        [] if file is None else [ServedRoot(root.place, root.name, options_of_root(root)) for root in file.values.roots]
    )


def named_roots(places: Sequence[str]) -> list[ServedRoot]:
    """Return places as roots, with the names and options that the configuration has for them.

    Raises:
        RequestError: As of `options_of`.
    """
    return [ServedRoot(place, _name_of(place), options_of(place)) for place in places]


def with_options(roots: GivenRoots, storage_options: Mapping[str, Any] | None) -> list[ServedRoot]:
    """Return roots as records; those that are given as a place alone get the configuration's options, unless given.

    Raises:
        RequestError: As of `options_of`.
    """
    if storage_options is not None:
        return given_roots(roots, storage_options)
    given = [roots] if isinstance(roots, str | os.PathLike | ServedRoot) else roots
    return given_roots([root if isinstance(root, ServedRoot) else named_roots([os.fspath(root)])[0] for root in given])


def _over(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as texts, with those of the command line in place of theirs."""
    return texts_of(options) | dict(in_force().storage_options)


def _name_of(place: str) -> str:
    """Return the name that the configuration gives to a place; empty if it gives none."""
    root = _root_of(place, in_force())
    return root.name if root is not None and parts_of(root.place) == parts_of(place) else ""


def _root_of(location: str, now: InForce) -> Root | None:
    """Return the root of the configuration that a location is in; the innermost, if one is in another.

    Raises:
        RequestError: There are several with other options, as of two servers, and the command line does not say which.
    """
    roots = () if now.file is None else now.file.values.roots
    if not roots:
        return None
    inside: list[Root] = []
    depth = 0
    mine = parts_of(location)
    for root in roots:
        theirs = parts_of(root.place)
        if mine[: len(theirs)] == theirs and len(theirs) >= depth:
            inside, depth = [*(inside if len(theirs) == depth else ()), root], len(theirs)
    meant = [root for root in inside if now.storage_options.items() <= texts_of(root.storage_options).items()]
    if inside and any(root.storage_options != inside[0].storage_options for root in inside) and len(meant) != 1:
        names = " and ".join(root.name or "one without a name" for root in inside)
        raise RequestError(
            f"{location} is in several roots of the configuration, each with its own storage options: {names}. "
            "To choose one, give an option that only this one has, such as --storage-option aws_endpoint=URL.",
            field="storage_option",
            location=location,
        )
    return next(iter(meant or inside), None)
