"""What the configuration says of places: the options of their stores, and the roots where none are named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from explorer.configuration.in_force import InForce, in_force, texts_of
from explorer.core.errors import RequestError

if TYPE_CHECKING:
    from explorer.configuration.records import Root
    from explorer.storage.served_root import GivenRoots, ServedRoot


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
    from explorer.storage.served_root import ServedRoot

    file = in_force().file
    return (
        [] if file is None else [ServedRoot(root.place, root.name, options_of_root(root)) for root in file.values.roots]
    )


def named_roots(places: Sequence[str]) -> list[ServedRoot]:
    """Return places as roots, with the names and options that the configuration has for them.

    Raises:
        RequestError: As of `options_of`.
    """
    from explorer.storage.served_root import ServedRoot

    return [ServedRoot(place, _name_of(place), options_of(place)) for place in places]


def with_options(roots: GivenRoots, storage_options: Mapping[str, Any] | None) -> list[ServedRoot]:
    """Return roots as records; those that are given as a place alone get the configuration's options, unless given.

    Raises:
        RequestError: As of `options_of`.
    """
    from explorer.storage.served_root import ServedRoot, given_roots

    if storage_options is not None:
        return given_roots(roots, storage_options)
    given = [roots] if isinstance(roots, str | os.PathLike | ServedRoot) else roots
    return given_roots([root if isinstance(root, ServedRoot) else named_roots([os.fspath(root)])[0] for root in given])


def _over(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as texts, with those of the command line in place of theirs."""
    return texts_of(options) | dict(in_force().storage_options)


def _name_of(place: str) -> str:
    """Return the name that the configuration gives to a place; empty if it gives none."""
    from explorer.storage.served_root import parts_of

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
    from explorer.storage.served_root import parts_of

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
            f"{location} is in several roots of the configuration, each with storage options of its own: {names}. Say "
            "which is meant by an option that only this one has, such as --storage-option aws_endpoint=URL.",
            field="storage_option",
            location=location,
        )
    return next(iter(meant or inside), None)
