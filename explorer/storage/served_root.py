"""A root as it is given: the place, the name that addresses use, and the options of its store."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


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
    options = storage_options or {}
    return [
        root if isinstance(root, ServedRoot) else ServedRoot(os.fspath(root), storage_options=options) for root in given
    ]
