"""Which tables are served: those under the roots given at the start, and no others.

A table's name is the name of its root and its path below, ``sales/eu/orders``. A name is resolved, symlinks and all,
and must then still be under its root: ``..``, an escaping symlink, an absolute path, a drive letter are all refused.
A table under two roots is listed once, under the root that is nearest to it; its name under the other one works too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from explorer.core.errors import NotAllowed, RequestError, TableNotFound
from explorer.storage.roots import is_url, meant_by
from explorer.storage.served_root import GivenRoots, ServedRoot, given_roots, parts_of, store_digest
from explorer.storage.table_search.folder_tree import FolderTree
from explorer.storage.table_search.search import TableSearch, Unlisted
from explorer.storage.table_search.trees import open_tree

MOST_TABLES: Final = 100_000
"""How many tables a server lists under a root unless it is set."""
_NAMED: Final = 3
# A store may take an escaped slash for a slash.
_ESCAPED: Final = re.compile("%2f|%5c", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table under a root.

    Attributes:
        name: Its served name.
        location: Where it is.
        root: The root that it must stay under.
        storage_options: Those of the root, which may hold secrets.
    """

    name: str
    location: str
    root: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """As of `ServedRoot`: the same for the same table under whatever name."""
        return ServedRoot(self.location, storage_options=self.storage_options).key

    @property
    def store(self) -> str:
        """Tells apart what is read of one location in several stores, or under roots that it may name files of."""
        return f"{store_digest(self.storage_options)} {self.root}"

    @property
    def folder(self) -> str:
        """The served name without its last part."""
        return self.name.rpartition("/")[0]

    @property
    def title(self) -> str:
        """The last part of the served name."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class NamedRoot:
    """A root with the name that is free for it.

    Attributes:
        name: What the names of its tables begin with.
        given: The root as it was given.
        tree: Its folders.
        leave_out: Folders that are roots themselves, by their paths below this one.
        note: A sentence about such folders; empty without them.
    """

    name: str
    given: ServedRoot
    tree: FolderTree
    leave_out: frozenset[str] = frozenset()
    note: str = ""

    def search(self, *, most: int | None = None, known: Collection[str] = ()) -> TableSearch:
        """Return a search for its tables; arguments as of `TableSearch`."""
        return TableSearch(self.tree, most=most, leave_out=self.leave_out, known=known)

    def served(self, each: str | Unlisted) -> TableRef | Unlisted:
        """Return the table of a path that a search found, or why it cannot be served."""
        if isinstance(each, Unlisted):
            return each
        location = self.tree.location(each)
        if not self.takes(each):
            refusal = NotAllowed(
                f"{location} is not listed: its name contains a backslash, a control character or an escaped slash, "
                "which an address cannot hold safely. Rename the folder, or read the table with another command.",
                location=location,
            )
            return Unlisted(location, refusal, each)
        return self.ref(each, location)

    def ref(self, below: str, location: str) -> TableRef:
        """Return the table at a path."""
        name = f"{self.name}/{below}" if below else self.name
        return TableRef(name, location, self.tree.root, self.given.storage_options)

    def takes(self, below: str) -> bool:
        """Return whether a path below the root is plain."""
        plain = "\x00" not in below and "\\" not in below
        if not plain or (is_url(self.given.place) and _ESCAPED.search(below)):
            return False
        return not below or not {"", ".", ".."}.intersection(below.split("/"))


class ServedRoots:
    """The served roots.

    Args:
        roots: Tables, or places that hold tables: folders of this machine, URLs of stores.
        most: How many tables are listed under a root; None for all of them.
        opened: Returns the folders below a root.

    Attributes:
        named: The roots, in the order given.
        most: As given.
        cut: Roots with more tables than were listed the last time.
        unlisted: Folders that could not be listed the last time.

    Raises:
        TableNotFound: A root on this machine does not exist.
        RequestError: A root names no place, or its name or its options do not fit.
    """

    def __init__(
        self,
        roots: GivenRoots,
        *,
        most: int | None = MOST_TABLES,
        opened: Callable[[ServedRoot], FolderTree] = open_tree,
    ) -> None:
        self.most = most
        self.cut: tuple[str, ...] = ()
        self.unlisted: tuple[Unlisted, ...] = ()
        named: dict[str, NamedRoot] = {}
        for root in given_roots(roots):
            tree = opened(root)
            name = _free(_name(root, tree), named)
            named[name] = NamedRoot(name, root, tree)
        self._named = {root.name: _without_inner(root, tuple(named.values())) for root in named.values()}

    @property
    def named(self) -> tuple[NamedRoot, ...]:
        """The roots, in the order given."""
        return tuple(self._named.values())

    @property
    def locations(self) -> tuple[str, ...]:
        """The roots, resolved, in the order given."""
        return tuple(root.tree.root for root in self.named)

    def tables(self) -> Iterator[TableRef]:
        """Yield the tables as they are found; after the last, ``cut`` and ``unlisted`` say what was left out."""
        cut, unlisted = list[str](), list[Unlisted]()
        for root in self.named:
            search = root.search(most=self.most)
            for each in search.steps():
                table = root.served(each)
                if isinstance(table, TableRef):
                    yield table
                else:
                    unlisted.append(table)
            if search.cut:
                cut.append(root.tree.root)
        self.cut, self.unlisted = tuple(cut), tuple(unlisted)

    def locate(self, name: str) -> TableRef:
        """Return the table of a served name; opening it shows whether it exists.

        Raises:
            NotAllowed: The name leads outside the served roots.
        """
        first, _, below = name.partition("/")
        root, below = self._named.get(first), below.removesuffix("/")
        if root is None or not root.takes(below):
            raise self._refused(name)
        try:
            location = root.tree.checked_location(below)
        except NotAllowed as error:
            raise self._refused(name) from error
        return root.ref(below, location)

    def _refused(self, name: str) -> NotAllowed:
        return refused_name(name, list(self._named))


def named_place(name: str, roots: ServedRoots, field: str) -> TableRef:
    """Return the table, the folder, or the root that a setting names; whether it is there is not looked at.

    Args:
        name: Its served name.
        roots: The served roots.
        field: The setting, for errors.

    Raises:
        RequestError: It is not in a served root; ``nearest`` is the name of one that comes close.
    """
    first = name.strip("/").partition("/")[0]
    known = [root.name for root in roots.named]
    if first not in known:
        near = get_close_matches(first, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Served: {', '.join(known)}."
        raise RequestError(f"{field}: no served folder is called {first!r}. {hint}", field=field, nearest=near or None)
    try:
        return roots.locate(name.strip("/"))
    except NotAllowed as error:
        raise RequestError(f"{field}: {name!r} is not inside a served folder.", field=field) from error


def missing_folder(ref: TableRef) -> tuple[Path, str, str | None] | None:
    """Return the first folder on the way to a table of this machine that is not there; None if all are there.

    Of a store nothing is requested.

    Returns:
        The folder that it should be in, its name, and the nearest name of a folder there, if one comes close.
    """
    if is_url(ref.location):
        return None
    folder = Path(ref.root)
    for part in Path(ref.location).relative_to(folder).parts:
        if not (folder / part).is_dir():
            near = get_close_matches(part, [each.name for each in folder.iterdir() if each.is_dir()], 1)
            return folder, part, near[0] if near else None
        folder /= part
    return None


def refused_name(name: str, roots: Sequence[str]) -> NotAllowed:
    """Return the error for a name that leads outside the roots of these names."""
    named = ", ".join(roots[:_NAMED]) + (" and others" if len(roots) > _NAMED else "")
    hint = (
        f"A table's name starts with the name of its served folder: {named}."
        if roots
        else "You may see no table on this server. Ask the people who run it for a role."
    )
    return NotAllowed(f"{name!r} is not in a served folder. {hint}", location=name)


def _name(root: ServedRoot, tree: FolderTree) -> str:
    """Return what the names of a root's tables begin with."""
    if not is_url(root.place):
        folder = Path(tree.root)
        if not folder.is_dir():
            raise TableNotFound(
                f"The root {root.place} is not a folder. Give a folder that holds Delta tables.", location=root.place
            )
        return _checked_name(root) or folder.name or "root"
    return _checked_name(root) or meant_by(root.place).rstrip("/").rpartition("/")[2]


def _checked_name(root: ServedRoot) -> str:
    if root.name in {".", ".."} or re.search(r"[/\\\x00-\x1f]", root.name):
        raise RequestError(
            f"{root.name!r} cannot be the name of the root {root.place}: it is the first part of its tables' names. "
            "Give a name without slashes.",
            field="name",
            location=root.place,
        )
    return root.name


def _free(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else next(f"{name}~{n}" for n in range(2, 10_000) if f"{name}~{n}" not in taken)


def _without_inner(root: NamedRoot, roots: tuple[NamedRoot, ...]) -> NamedRoot:
    """Return a root that leaves out the other roots inside it, so that each table is listed once."""
    mine, inner = _parts(root), dict[str, NamedRoot]()
    place = roots.index(root)
    for other_place, other in enumerate(roots):
        theirs = _parts(other)
        inside = theirs[: len(mine)] == mine and (len(theirs) > len(mine) or other_place < place)
        if other is not root and inside and _same_store(root, other):
            inner["/".join(theirs[len(mine) :])] = other
    if not inner:
        return root
    if "" in inner:
        note = f"{root.name} is the same place as {inner[''].name}. Its tables are listed under {inner[''].name}."
    else:
        names = ", ".join(sorted({other.name for other in inner.values()}))
        note = f"{names} {'is' if len(inner) == 1 else 'are'} inside {root.name}. Tables there are listed once, under "
        note += f"{names}." if len(inner) == 1 else "these names."
    return replace(root, leave_out=frozenset(inner), note=note)


def _same_store(root: NamedRoot, other: NamedRoot) -> bool:
    """Return whether one place is the same for both: the options of a store may name another server."""
    return not is_url(root.given.place) or root.given.storage_options == other.given.storage_options


def _parts(root: NamedRoot) -> tuple[str, ...]:
    """Return the parts of a root's place, links of this machine followed."""
    return parts_of(root.given.place if is_url(root.given.place) else root.tree.root)
