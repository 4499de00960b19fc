"""What is known of other clients: which table features each one reads and writes from which version on.

The facts are the rows of ``explorer/assets/client-features.csv``. Invariants: every row has a source and a date; the
rows of a client are in the order of its versions; a fact holds from its version on until a later row of the same
feature; what no row states is unknown.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

Operation = Literal["read", "write"]

PROTOCOL: Final = "protocol"
"""The feature of rows that state protocol versions."""
OTHERS: Final = "*"
"""The feature of rows about every feature that no row of the client names."""


class ClientFact(msgspec.Struct, frozen=True):
    """One row.

    Attributes:
        client, version_from: The client, and the version (or date) from which on the row holds.
        feature: A table feature; ``protocol``: ``read`` and ``write`` are then the highest versions of the protocol
            that it knows (``2+``: at least 2, 0: it never does it); ``*``: every feature without a row of its own.
        when: Empty, ``not in use`` (the table lists the feature and nothing uses it), ``mode id`` (of column mapping),
            ``names kept`` (of column mapping: the files have every column under its own name), ``reader 2`` (column
            mapping by the protocol's version, not as a feature of readers), ``reader 2, names kept`` (both), or
            ``partitions mapped`` (the log has a partition column under another name).
        read, write: ``yes``, ``no``, ``wrong`` (it answers, and wrongly), ``partial``, ``unknown``; empty if the row
            says nothing of it. A ``*`` row may name another client and its version: the library that does it.
        basis: ``stated`` by the source; ``rule``: follows from the source by a rule of the protocol; ``list``: absent
            from a list that the source gives as whole; ``dated``: the source gives a date in place of a release;
            ``mixed``: from pages of different age; ``unverified``: the source was not checked.
        note: Anything else worth knowing.
        source, as_of: The source, and the date of the statement (a year, a month or a day).
    """

    client: str
    version_from: str
    feature: str
    when: str
    read: str
    write: str
    basis: str
    note: str
    source: str
    as_of: str


class Statement(msgspec.Struct, frozen=True):
    """What is known about one feature of one client at one version: the state, as in `ClientFact`, and by whom."""

    state: str
    source: str
    as_of: str


class ClientFacts:
    """The rows, for look-ups; answers about features that rows name are cached, as every plan needs all of them.

    Attributes:
        rows: All rows.
        versions: The versions of each client that rows are about, oldest first; clients in the order of the file.
    """

    def __init__(self, rows: Iterable[ClientFact]) -> None:
        self.rows = tuple(rows)
        self.versions: dict[str, list[str]] = {}
        self._by_key: dict[tuple[str, str, str, str], ClientFact] = {}
        self._origins: dict[tuple[str, str], ClientFact] = {}
        self._answers: dict[tuple[str, str, str, Operation, tuple[str, ...], bool], Statement | None] = {}
        self._named = {row.feature for row in self.rows}
        for row in self.rows:
            versions = self.versions.setdefault(row.client, [])
            if row.version_from not in versions:
                versions.append(row.version_from)
            self._by_key[row.client, row.version_from, row.feature, row.when] = row
            self._origins.setdefault((row.client, row.version_from), row)

    def statement(
        self,
        client: str,
        version: str,
        feature: str,
        operation: Operation,
        *,
        when: tuple[str, ...] = (),
        listed: bool = True,
    ) -> Statement | None:
        """Find what is known; None if nothing is.

        Args:
            client, version: The client, and one of its versions in ``versions``.
            feature: A table feature, or ``protocol``.
            when: The conditions that hold for the table; rows of the first one go before those of the next, and all of
                them before rows without one.
        """
        if feature not in self._named:
            # A table may name any number of features.
            return self._search(client, version, feature, operation, when=when, listed=listed)
        key = (client, version, feature, operation, when, listed)
        if key not in self._answers:
            self._answers[key] = self._search(client, version, feature, operation, when=when, listed=listed)
        return self._answers[key]

    def origin(self, client: str, version: str) -> ClientFact:
        """Return the first row about a version: the source to name where nothing is stated."""
        return self._origins[client, version]

    def _search(
        self, client: str, version: str, feature: str, operation: Operation, *, when: tuple[str, ...], listed: bool
    ) -> Statement | None:
        versions = self.versions[client]
        for release in reversed(versions[: versions.index(version) + 1]):
            for condition in (*when, ""):
                row = self._by_key.get((client, release, feature, condition))
                if row is not None and (own := _statement_of(row, operation)):
                    return own
            others = self._by_key.get((client, release, OTHERS, ""))
            if others is None or not (general := _statement_of(others, operation)):
                continue
            if " " in general.state:
                inherited = self._inherited(general, feature, operation, when, listed)
                if inherited is not None:
                    return inherited
            elif listed:
                return general
        return None

    def _inherited(
        self, library: Statement, feature: str, operation: Operation, when: tuple[str, ...], listed: bool
    ) -> Statement | None:
        """Find the statement on the library that a client uses, at its newest known version up to the one in use."""
        client, _, used = library.state.rpartition(" ")
        reached = [known for known in self.versions.get(client, []) if _number(known) <= _number(used)]
        if not reached:
            return None
        inherited = self.statement(client, reached[-1], feature, operation, when=when, listed=listed)
        if inherited is None:
            return None
        source = f"{library.source} -> {library.state}; {inherited.source}"
        return Statement(inherited.state, source, min(library.as_of, inherited.as_of))


def parse_facts(data: bytes) -> ClientFacts:
    """Read the rows of a CSV file whose columns are the fields of `ClientFact`."""
    rows = csv.DictReader(data.decode().splitlines())
    return ClientFacts(ClientFact(**row) for row in rows)


@lru_cache(maxsize=1)
def client_facts() -> ClientFacts:
    """Return the facts that come with the program."""
    return parse_facts(files("explorer").joinpath("assets", "client-features.csv").read_bytes())


def _statement_of(row: ClientFact, operation: Operation) -> Statement | None:
    state = row.read if operation == "read" else row.write
    if not state:
        return None
    return Statement("unknown" if row.basis == "unverified" else state, row.source, row.as_of)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
