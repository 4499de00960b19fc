"""The served tables that one person may see. The others are as if they were not there, under every name.

Names in roles are those of tables, of folders of tables, or of roots. They are resolved once, those of addresses each
time, and compared as places: a link or a second root leads to no table that the person may not see.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from explorer.activity.event import RecordEntry
from explorer.activity.newest import NewestEntries
from explorer.core.errors import ExplorerError, NotAllowed
from explorer.core.log.log_segment import missing_table
from explorer.given_roles import place_at, place_of
from explorer.rights import EVERYWHERE, PersonalRights, Right
from explorer.storage.roots import AllowedRoots, folder_of, is_url, meant_by
from explorer.storage.served_roots import NamedRoot, ServedRoots, TableRef, refused_name
from explorer.storage.table_search.search import Unlisted
from explorer.web.served_tables import Catalog
from explorer.web.table_list import TableList, TableListing

_MOST_KNOWN: Final = 200_000


class VisibleRoots(ServedRoots):
    """The served roots as one person may see them.

    Args:
        roots: The roots.
        rights: The rights of the person.
    """

    def __init__(self, roots: ServedRoots, rights: PersonalRights) -> None:
        self._roots, self._rights = roots, rights
        self._known: dict[tuple[str, str], bool] = {}
        self.most = roots.most
        self.cut: tuple[str, ...] = ()
        self.unlisted: tuple[Unlisted, ...] = ()
        # Notes name other roots.
        self._named = {root.name: replace(root, note="") for root in roots.named if self.is_visible(root)}

    def is_visible(self, root: NamedRoot) -> bool:
        """Return whether the person may see anything below a root."""
        return self._rights.may_somewhere(Right.SEE, place_at(root.tree.root, root.given.storage_options))

    def takes(self, ref: TableRef) -> bool:
        """Return whether the person may see a table that a search found; where it is, is looked up once."""
        key = ref.name, ref.location
        if (known := self._known.get(key)) is not None:
            return known
        try:
            taken = self._rights.may(Right.SEE, place_of(self._roots.locate(ref.name)))
        except NotAllowed:
            taken = False
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = taken
        return taken

    def takes_folder(self, unlisted: Unlisted) -> bool:
        """Return whether the person may see a folder that could not be listed."""
        return any(
            self._rights.may(Right.SEE, place_at(unlisted.location, root.given.storage_options))
            for root in self.named
            if unlisted.location.startswith(root.tree.root)
        )

    def tables(self) -> Iterator[TableRef]:
        """Yield the tables that the person may see; after the last, what could not be listed is known."""
        yield from filter(self.takes, self._roots.tables())
        self.cut = tuple(root for root in self._roots.cut if root in self.locations)
        self.unlisted = tuple(filter(self.takes_folder, self._roots.unlisted))

    def locate(self, name: str) -> TableRef:
        """Return the table of a served name.

        Raises:
            NotAllowed: The name leads outside the roots that the person may see.
            TableNotFound: The person may not see the table.
        """
        root, below = self._named.get(name.partition("/")[0]), name.partition("/")[2].removesuffix("/")
        if root is None:
            raise refused_name(name, list(self._named))
        try:
            ref = self._roots.locate(name)
        except NotAllowed as error:
            raise refused_name(name, list(self._named)) from error
        if not self._rights.may(Right.SEE, place_of(ref)):
            # The very error of a table that does not exist.
            raise missing_table(root.tree.location(below))
        return ref


class VisibleList(TableList):
    """The list of the served tables as one person may see it.

    Args:
        tables: The list for all.
        roots: The roots as the person may see them.
    """

    def __init__(self, tables: TableList, roots: VisibleRoots) -> None:
        self._tables, self._visible = tables, roots

    def begin(self, *, patience: float = 0.0, resume: bool = False) -> None:
        """Search the roots that were not searched for a while."""
        self._tables.begin(patience=patience, resume=resume)

    def stop(self) -> None:
        """End the search."""
        self._tables.stop()

    def go_on(self) -> None:
        """Search on where the search was ended."""
        self._tables.go_on()

    def again(self) -> None:
        """Search all again."""
        self._tables.again()

    def follow(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the list is another."""
        return self._tables.follow(changed)

    def some_names(self, most: int) -> tuple[str, ...]:
        """Return the names of so many of the tables that were found, at most."""
        return tuple(ref.name for ref in self.listing().refs[:most])

    def listing(self, *, asked: bool = False) -> TableListing:
        """Return the list as it is now; how many folders there are is no secret of those that can be seen alone."""
        full, visible = self._tables.listing(asked=asked), self._visible
        return replace(
            full,
            refs=tuple(filter(visible.takes, full.refs)),
            unlisted=tuple(filter(visible.takes_folder, full.unlisted)),
            listed=0,
            cut=tuple(root for root in full.cut if root in visible.locations),
            waiting="",
        )


class VisibleSources(AllowedRoots):
    """The places from which one person may append rows: those of which the person may read rows.

    Args:
        roots: The roots as the person may see them.
        rights: The rights of the person.
    """

    def __init__(self, roots: VisibleRoots, rights: PersonalRights) -> None:
        super().__init__(roots.locations)
        self._roots, self._rights = roots, rights

    def allow(self, location: str) -> bool:
        """Return True if a path or URL is inside one of the places."""
        if not super().allow(location):
            return False
        if not is_url(location):
            return self._rights.may(Right.ROWS, place_at(os.path.realpath(folder_of(location)), None))
        named = self._roots.named
        inside = (root for root in named if meant_by(location).startswith(root.tree.root))
        places = [place_at(location, root.given.storage_options) for root in inside]
        return bool(places) and all(self._rights.may(Right.ROWS, place) for place in places)


class VisibleEntries(NewestEntries):
    """The newest entries of the record that one person may read: those about tables where the person may, or all.

    Args:
        lines: The lines for all.
        roots: The roots as the person may see them.
        rights: The rights of the person.
    """

    def __init__(self, lines: NewestEntries, roots: VisibleRoots, rights: PersonalRights) -> None:
        self._lines, self._roots, self._rights = lines, roots, rights

    def read(self) -> tuple[RecordEntry, ...]:
        """Return the newest lines, newest first."""
        entries = self._lines.read()
        if self._rights.may(Right.ACTIVITY, EVERYWHERE):
            return entries
        known = {name: self._takes(name) for name in {line.event.table for line in entries}}
        return tuple(line for line in entries if known[line.event.table])

    def is_cut(self, entries: tuple[RecordEntry, ...]) -> bool:  # noqa: ARG002  # as it was read for all
        """Return whether there may be older lines than those that were read."""
        return self._lines.is_cut(self._lines.read())

    def _takes(self, name: str) -> bool:
        try:
            return bool(name) and self._rights.may(Right.ACTIVITY, place_of(self._roots.locate(name)))
        except ExplorerError:
            return False


def visible_catalog(catalog: Catalog, rights: PersonalRights) -> Catalog:
    """Return the served tables as one person may see them; what is read of a table is shared with all others."""
    if not rights.is_restricted:
        return catalog
    roots = VisibleRoots(catalog.roots, rights)
    personal = copy.copy(catalog)
    personal.roots, personal.list = roots, VisibleList(catalog.list, roots)
    personal.allow_commits = catalog.allow_commits and rights.may_somewhere(Right.COMMIT)
    personal.sources = VisibleSources(roots, rights)
    personal.palette_names = catalog.palette_names.of_tables(personal.names)
    if catalog.notices is not None:
        personal.notices = catalog.notices.seen_by(
            lambda ref: rights.may(Right.SEE, place_of(ref)),
            lambda ref: rights.may(Right.NOTICES, place_of(ref)),
            sees_all=rights.may(Right.ACTIVITY, EVERYWHERE),
        )
    if catalog.record is not None:
        seen = rights.may_somewhere(Right.ACTIVITY)
        personal.record = VisibleEntries(catalog.record, roots, rights) if seen else None
    return personal
